//! What the simulated disk promises to the tests that are built on it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::random::Random;
use super::{CrashStrategy, DiskImage, SimDisk};
use crate::io::{AlignedBuf, BLOCK, Create, File, FileSystem, LockOutcome, OpenHow, SyncMethod};

const SECTOR: usize = 512;

fn db() -> &'static Path {
    Path::new("db")
}

fn create(disk: &SimDisk, path: &str, direct: bool) -> Arc<dyn File> {
    let how = OpenHow { create: Create::New, read_only: false, direct };
    disk.open(Path::new(path), how).unwrap()
}

/// A disk with a file `db` of `bytes` that is durable in every respect.
fn disk_with(bytes: &[u8]) -> (SimDisk, Arc<dyn File>) {
    let mut image = DiskImage::new();
    image.insert(db(), bytes);
    let disk = SimDisk::from_image(&image, 1);
    let file = disk.open(db(), OpenHow { direct: false, ..OpenHow::default() }).unwrap();
    (disk, file)
}

fn random_images(disk: &SimDisk, count: u64) -> impl Iterator<Item = DiskImage> {
    (0..count).map(|seed| disk.crash(CrashStrategy::Random { seed }))
}

fn content(image: &DiskImage) -> Vec<u8> {
    image.bytes(db()).expect("the file survives")
}

#[test]
fn unsynced_writes_are_lost_or_kept_as_the_strategy_says() {
    let (disk, file) = disk_with(&[1; 8192]);
    file.write_at(&[2; 8192], 0).unwrap();
    assert_eq!(content(&disk.crash(CrashStrategy::KeepNone)), [1; 8192]);
    assert_eq!(content(&disk.crash(CrashStrategy::KeepAll)), [2; 8192]);
    assert!(disk.has_crashed());
    assert!(file.read_at(&mut [0], 0).is_err());
}

#[test]
fn synced_writes_survive_every_crash() {
    let (disk, file) = disk_with(&[1; 4096]);
    file.write_at(&[2; 8192], 1000).unwrap();
    file.sync().unwrap();
    let expected = [vec![1; 1000], vec![2; 8192]].concat();
    assert!(random_images(&disk, 200).all(|image| content(&image) == expected));
}

#[test]
fn writes_tear_at_sectors_and_nowhere_else() {
    let (disk, file) = disk_with(&[1; 8192]);
    file.write_at(&[2; 8192], 0).unwrap();
    let mut patterns = BTreeSet::new();
    for image in random_images(&disk, 300) {
        let bytes = content(&image);
        let sectors: Vec<u8> = bytes.chunks(SECTOR).map(|sector| sector[0]).collect();
        assert!(bytes.chunks(SECTOR).all(|sector| sector.iter().all(|byte| byte == &sector[0])));
        patterns.insert(sectors);
    }
    assert!(patterns.contains(&vec![1; 16]) && patterns.contains(&vec![2; 16]));
    assert!(patterns.len() > 50, "only {} ways to tear 16 sectors", patterns.len());
}

#[test]
fn writes_reorder_but_the_later_of_two_kept_ones_wins() {
    let (disk, file) = disk_with(&[0; 1024]);
    file.write_at(&[1; 512], 0).unwrap();
    file.write_at(&[2; 512], 512).unwrap();
    file.write_at(&[3; 512], 0).unwrap();
    let seen: BTreeSet<(u8, u8)> =
        random_images(&disk, 300).map(|image| content(&image)).map(|b| (b[0], b[512])).collect();
    let all: BTreeSet<(u8, u8)> = [0, 1, 3].into_iter().flat_map(|first| [(first, 0), (first, 2)]).collect();
    assert_eq!(seen, all);
    assert_eq!(content(&disk.crash(CrashStrategy::KeepAll))[0], 3);
}

#[test]
fn a_prefix_keeps_no_write_after_one_that_it_lost() {
    let (disk, file) = disk_with(&[0; 4096]);
    for sector in 0..8 {
        file.write_at(&[1; SECTOR], sector * SECTOR as u64).unwrap();
    }
    let mut lengths = BTreeSet::new();
    for seed in 0..100 {
        let bytes = content(&disk.crash(CrashStrategy::Prefix { seed }));
        let kept = bytes.iter().take_while(|&&byte| byte == 1).count();
        assert!(bytes[kept..].iter().all(|&byte| byte == 0));
        lengths.insert(kept);
    }
    assert!(lengths.len() >= 8, "{lengths:?}");
}

#[test]
fn a_durable_write_makes_its_own_range_durable_and_no_other() {
    let (disk, file) = disk_with(&[0; 4096]);
    file.write_at(&[1; 1024], 0).unwrap();
    file.write_durable_at(&[2; 512], 512).unwrap();
    file.write_at(&[3; 512], 1024).unwrap();
    let bytes = content(&disk.crash(CrashStrategy::KeepNone));
    assert_eq!([bytes[0], bytes[512], bytes[1024]], [0, 2, 0]);
    let seen: BTreeSet<[u8; 3]> =
        random_images(&disk, 100).map(|image| content(&image)).map(|b| [b[0], b[512], b[1024]]).collect();
    assert_eq!(seen, BTreeSet::from([[0, 2, 0], [0, 2, 3], [1, 2, 0], [1, 2, 3]]));
}

#[test]
fn an_unsynced_extension_may_be_lost_or_show_zeros() {
    let (disk, file) = disk_with(&[1; 512]);
    file.write_at(&[2; 512], 512).unwrap();
    file.set_len(2048).unwrap();
    assert_eq!(content(&disk.crash(CrashStrategy::KeepNone)), [1; 512]);
    let seen: BTreeSet<(usize, Option<u8>)> =
        random_images(&disk, 200).map(|image| content(&image)).map(|b| (b.len(), b.get(512).copied())).collect();
    let expected = [(512, None), (1024, Some(0)), (1024, Some(2)), (2048, Some(0)), (2048, Some(2))];
    assert_eq!(seen, BTreeSet::from(expected));
}

#[test]
fn a_durable_write_past_the_end_brings_the_length_it_needs() {
    let (disk, file) = disk_with(&[]);
    file.set_len(4096).unwrap();
    file.write_durable_at(&[1; 512], 1024).unwrap();
    file.write_durable_at(&[2; 512], 8192).unwrap();
    let bytes = content(&disk.crash(CrashStrategy::KeepNone));
    assert_eq!(bytes.len(), 8704);
    assert_eq!([bytes[1024], bytes[8192]], [1, 2]);
}

#[test]
fn a_cut_after_which_something_was_made_durable_cannot_take_it_away() {
    let (disk, file) = disk_with(&[1; 4096]);
    file.write_at(&[2; 512], 3000).unwrap();
    file.set_len(0).unwrap();
    file.set_len(4096).unwrap();
    file.write_durable_at(&[3; 512], 1024).unwrap();
    for image in random_images(&disk, 100) {
        let bytes = content(&image);
        assert_eq!(bytes[1024..1536], [3; 512]);
        assert!(bytes[..1024].iter().all(|&byte| byte == 0), "cut bytes came back");
    }
}

#[test]
fn after_a_failed_sync_the_data_is_gone_whatever_later_syncs_say() {
    let mut reads = BTreeSet::new();
    let mut survived = BTreeSet::new();
    for seed in 0..60 {
        let mut image = DiskImage::new();
        image.insert(db(), &[1; 512]);
        let disk = SimDisk::from_image(&image, seed);
        let file = disk.open(db(), OpenHow::default()).unwrap();
        file.write_at(&[2; 512], 0).unwrap();
        disk.fail_sync(1);
        assert!(file.sync().is_err());
        file.sync().unwrap();
        let mut byte = [0];
        file.read_at(&mut byte, 0).unwrap();
        let kept: BTreeSet<u8> = random_images(&disk, 20).map(|image| content(&image)[0]).collect();
        assert_eq!(kept.len(), 1, "decided at the failed sync, for good");
        reads.insert((byte[0], kept.first().copied()));
        survived.extend(kept);
    }
    assert_eq!(survived, BTreeSet::from([1, 2]));
    assert!(reads.contains(&(2, Some(1))), "a reader saw what is not on the disk");
    assert!(reads.contains(&(1, Some(1))), "a reader saw that it is gone");
}

#[test]
fn a_file_goes_on_after_a_failed_sync() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        let file = create(&disk, "db", false);
        disk.sync_directory(db()).unwrap();
        file.write_at(&[1; 1024], 0).unwrap();
        disk.fail_sync(1);
        assert!(file.sync().is_err());
        file.write_at(&[2; 512], 512).unwrap();
        file.sync().unwrap();
        let bytes = content(&disk.crash(CrashStrategy::KeepNone));
        assert_eq!(bytes.len(), 1024);
        assert_eq!(bytes[512..], [2; 512]);
    }
}

#[test]
fn a_failed_durable_write_may_have_written_some_sectors() {
    let mut patterns = BTreeSet::new();
    for seed in 0..100 {
        let mut image = DiskImage::new();
        image.insert(db(), &[0; 2048]);
        let disk = SimDisk::from_image(&image, seed);
        let file = disk.open(db(), OpenHow::default()).unwrap();
        disk.fail_sync(1);
        assert!(file.write_durable_at(&[1; 2048], 0).is_err());
        patterns.insert(content(&disk.crash(CrashStrategy::KeepNone)).chunks(SECTOR).map(|s| s[0]).collect::<Vec<_>>());
    }
    assert!(patterns.len() > 4, "{patterns:?}");
}

#[test]
fn entries_of_a_directory_are_durable_only_after_it_is_synced() {
    let disk = SimDisk::new(1);
    let file = create(&disk, "db", false);
    file.write_durable_at(b"data", 0).unwrap();
    let before = SimDisk::clone(&disk).crash(CrashStrategy::KeepNone);
    assert_eq!(before.paths().count(), 0);

    let (disk, file) = disk_with(b"old");
    disk.rename(db(), Path::new("older")).unwrap();
    let new = create(&disk, "db", false);
    new.write_durable_at(b"new", 0).unwrap();
    disk.remove(Path::new("older")).unwrap();
    assert_eq!(content(&disk.crash(CrashStrategy::KeepNone)), b"old");
    assert_eq!(content(&disk.crash(CrashStrategy::KeepAll)), b"new");
    let names = |image: DiskImage| image.paths().map(|path| path.display().to_string()).collect::<Vec<_>>();
    let seen: BTreeSet<Vec<String>> = random_images(&disk, 200).map(names).collect();
    assert!(seen.contains(&vec!["db".to_owned(), "older".to_owned()]), "{seen:?}");
    assert!(seen.contains(&vec!["older".to_owned()]) && seen.contains(&vec![]), "{seen:?}");
    drop(file);
}

#[test]
fn a_synced_directory_keeps_its_entries_and_no_other_directory_does() {
    let disk = SimDisk::new(1);
    create(&disk, "a/db", false);
    create(&disk, "b/db", false);
    disk.sync_directory(Path::new("a/db")).unwrap();
    let image = disk.crash(CrashStrategy::KeepNone);
    assert_eq!(image.paths().collect::<Vec<_>>(), [Path::new("a/db")]);
}

#[test]
fn a_synced_entry_is_not_undone_by_what_was_synced_before_it() {
    let disk = SimDisk::new(1);
    create(&disk, "db", false);
    disk.sync_directory(db()).unwrap();
    disk.remove(db()).unwrap();
    disk.sync_directory(db()).unwrap();
    assert!(random_images(&disk, 50).all(|image| image.paths().count() == 0));
}

#[test]
fn a_machine_crashes_in_the_middle_of_the_operation_asked_for() {
    let (disk, file) = disk_with(&[0; 1024]);
    disk.crash_at(1);
    file.write_durable_at(&[1; 512], 0).unwrap();
    assert!(file.write_durable_at(&[2; 512], 512).is_err());
    assert!(disk.has_crashed() && file.len().is_err() && disk.exists(db()).is_err());
    let seen: BTreeSet<(u8, u8)> =
        random_images(&disk, 50).map(|image| content(&image)).map(|b| (b[0], b[512])).collect();
    assert_eq!(seen, BTreeSet::from([(1, 0), (1, 2)]));
}

#[test]
fn a_recording_gives_the_same_images_as_a_machine_that_crashed_there() {
    let run = |disk: &SimDisk| -> io::Result<()> {
        let file = disk.open(db(), OpenHow { create: Create::New, ..OpenHow::default() })?;
        disk.sync_directory(db())?;
        file.write_at(&[1; 3000], 0)?;
        file.write_durable_at(&[2; 700], 2500)?;
        let _ = file.sync();
        file.write_at(&[3; 3000], 100)?;
        file.set_len(1000)?;
        disk.rename(db(), Path::new("renamed"))
    };
    let disk = SimDisk::new(9);
    disk.start_recording();
    disk.fail_sync(3);
    run(&disk).unwrap();
    let mut points = disk.take_recording().crash_points();
    assert_eq!(points.recording().describe(2), "write 3000 bytes to db at 0");
    let mut count = 0;
    while let Some(at) = points.advance() {
        let crashed = SimDisk::new(9);
        crashed.crash_at(at);
        crashed.fail_sync(3);
        let _ = run(&crashed);
        for strategy in CrashStrategy::family(at, 20) {
            assert_eq!(points.image(strategy), crashed.crash(strategy), "at {at}");
        }
        count += 1;
    }
    assert_eq!(count, 9, "eight operations and the end");
}

#[test]
fn crash_points_can_be_shared_among_threads_by_skipping() {
    let (disk, file) = disk_with(&[0; 512]);
    disk.start_recording();
    for round in 0..20 {
        file.write_durable_at(&[round; 512], 0).unwrap();
    }
    let points = disk.take_recording().crash_points();
    let mut late = points.clone();
    late.skip_to(15);
    assert_eq!(late.advance(), Some(15));
    assert_eq!(content(&late.image(CrashStrategy::KeepNone))[0], 14);
    assert_eq!(late.unsynced(), 1);
    let mut all = points;
    assert_eq!(std::iter::from_fn(|| all.advance()).collect::<Vec<_>>(), (0..=20).collect::<Vec<_>>());
}

#[test]
fn faults_strike_where_and_when_asked() {
    let (disk, file) = disk_with(&[7; 8192]);
    disk.fail_reads(db(), 4096..4097);
    disk.fail_writes(db(), 0..512);
    assert!(file.read_at(&mut [0; 10], 4090).is_err());
    assert!(file.read_at(&mut [0; 10], 4097).is_ok());
    assert!(file.write_at(&[1], 511).is_err());
    assert!(file.write_at(&[1], 512).is_ok());
    disk.clear_faults();
    assert!(file.read_at(&mut [0; 10], 4090).is_ok());
    disk.fail_randomly(500_000, 0);
    let failures = (0..200).filter(|_| file.read_at(&mut [0], 0).is_err()).count();
    assert!((50..150).contains(&failures), "{failures}");
}

#[test]
fn a_full_disk_takes_what_fits_and_recovers_when_there_is_space() {
    let (disk, file) = disk_with(&[7; 4096]);
    disk.set_capacity(Some(3 * 4096));
    let error = file.write_durable_at(&[8; 4 * 4096], 0).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(file.len().unwrap(), 3 * 4096);
    file.write_durable_at(&[9; 4096], 0).unwrap();
    file.set_len(1 << 20).unwrap();
    assert!(file.write_at(&[1], 1 << 19).is_err(), "a hole needs space to be written");
    disk.set_capacity(None);
    file.write_at(&[1], 1 << 19).unwrap();
}

#[test]
fn a_flipped_bit_stays_flipped() {
    let (disk, file) = disk_with(&[0; 100]);
    assert!(disk.flip_bit(db(), 8 * 50 + 3));
    assert!(!disk.flip_bit(db(), 800));
    let mut byte = [0];
    file.read_at(&mut byte, 50).unwrap();
    assert_eq!(byte, [8]);
    assert_eq!(disk.snapshot(db()).unwrap()[50], 8);
    assert_eq!(content(&disk.crash(CrashStrategy::KeepNone))[50], 8);
}

#[test]
fn durable_writes_past_the_cache_must_be_aligned() {
    let disk = SimDisk::new(1);
    let file = create(&disk, "db", true);
    assert_eq!((file.sync_method(), file.alignment()), (SyncMethod::DirectDsync, BLOCK));
    let block = AlignedBuf::zeroed(BLOCK);
    assert!(file.write_durable_at(&block, 0).is_ok());
    assert!(file.write_durable_at(&block[..512], 0).is_err());
    assert!(file.write_durable_at(&block, 512).is_err());
    assert_eq!(file.choose_sync_method(SyncMethod::WriteSync, &block, 0).unwrap(), SyncMethod::WriteSync);
    assert!(file.write_durable_at(&[1, 2, 3], 5).is_ok());
}

#[test]
fn one_user_holds_the_lock() {
    let disk = SimDisk::new(1);
    let held = disk.lock(db()).unwrap();
    assert!(matches!(disk.lock(db()).unwrap(), LockOutcome::Busy { pid: Some(_) }));
    drop(held);
    assert!(matches!(disk.lock(db()).unwrap(), LockOutcome::Held(_)));
}

#[test]
fn a_file_keeps_its_lock_by_a_second_name_and_without_the_mark() {
    let disk = SimDisk::new(1);
    let how = OpenHow { create: Create::New, read_only: false, direct: false };
    let file = disk.open(db(), how).unwrap();
    let held = disk.lock(db()).unwrap();
    let (link, away) = (Path::new("link"), Path::new("away"));
    disk.link(db(), link);
    assert!(matches!(disk.lock(link).unwrap(), LockOutcome::Busy { .. }));
    disk.move_lock(db(), None);
    assert!(matches!(disk.lock(db()).unwrap(), LockOutcome::Busy { .. }));
    assert_eq!(disk.rename_new(db(), link).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    disk.rename_new(db(), away).unwrap();
    assert_eq!([db(), link, away].map(|name| file.has_name(name).unwrap()), [false, true, true]);
    drop(held);
    let made = disk.lock_made(away).unwrap();
    assert!(matches!(disk.lock(link).unwrap(), LockOutcome::Busy { .. }));
    drop(made);
    assert!(matches!(disk.lock(link).unwrap(), LockOutcome::Held(_)));
}

#[test]
fn the_call_that_is_asked_to_fails_whatever_it_is() {
    let disk = SimDisk::new(1);
    let how = OpenHow { create: Create::IfMissing, read_only: false, direct: false };
    let file = disk.open(db(), how).unwrap();
    file.write_at(&[1; 10], 0).unwrap();
    let calls: [&dyn Fn() -> bool; 9] = [
        &|| disk.open(db(), how).is_err(),
        &|| disk.exists(db()).is_err(),
        &|| disk.rename(db(), db()).is_err(),
        &|| disk.sync_directory(db()).is_err(),
        &|| disk.lock(db()).is_err(),
        &|| file.len().is_err(),
        &|| file.read_at(&mut [0; 5], 0).is_err(),
        &|| file.write_at(&[2], 0).is_err(),
        &|| file.sync().is_err(),
    ];
    for failing in 0..calls.len() as u64 {
        disk.fail_call(failing + 1);
        let failed: Vec<u64> = (0..).zip(&calls).filter(|(_, call)| call()).map(|(number, _)| number).collect();
        // Each open file hears of a failed sync.
        assert!(failed == [failing] || failing == 8, "{failed:?} for {failing}");
    }
    assert_eq!(disk.fault_counts().calls, calls.len() as u64);
}

/// One byte per sector stands for all of it: what may be there after a crash.
#[derive(Clone, Default)]
struct Possible(BTreeSet<u8>);

#[test]
fn every_image_of_a_random_run_is_possible_and_keeps_what_was_promised() {
    const SECTORS: u64 = 16;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let (disk, file) = disk_with(&vec![0; SECTORS as usize * SECTOR]);
        disk.start_recording();
        let mut history = vec![vec![Possible([0].into()); SECTORS as usize]];
        for round in 1..=60_u8 {
            let mut now = history.last().unwrap().clone();
            let first = random.below(SECTORS);
            let count = 1 + random.below(SECTORS - first);
            let sectors = &mut now[first as usize..(first + count) as usize];
            let bytes = vec![round; count as usize * SECTOR];
            match random.below(8) {
                0..4 => {
                    file.write_at(&bytes, first * SECTOR as u64).unwrap();
                    sectors.iter_mut().for_each(|sector| sector.0.extend([round]));
                }
                4..7 => {
                    file.write_durable_at(&bytes, first * SECTOR as u64).unwrap();
                    sectors.iter_mut().for_each(|sector| sector.0 = [round].into());
                }
                _ => {
                    file.sync().unwrap();
                    let seen = disk.snapshot(db()).unwrap();
                    let durable = seen.chunks(SECTOR).map(|sector| Possible([sector[0]].into()));
                    now = durable.collect();
                }
            }
            history.push(now);
        }
        let mut points = disk.take_recording().crash_points();
        while let Some(at) = points.advance() {
            // The operation in flight may have taken effect, sector by sector.
            let before = &history[at as usize];
            let after = history.get(at as usize + 1).unwrap_or(before);
            for strategy in CrashStrategy::family(seed ^ at, 5) {
                for (sector, bytes) in content(&points.image(strategy)).chunks(SECTOR).enumerate() {
                    let possible = before[sector].0.contains(&bytes[0]) || after[sector].0.contains(&bytes[0]);
                    assert!(possible, "seed {seed}, point {at}, {strategy:?}, sector {sector}: {}", bytes[0]);
                }
            }
        }
    }
}

#[test]
fn images_are_cheap_enough_for_a_hundred_thousand() {
    let (disk, file) = disk_with(&vec![1; 1 << 20]);
    disk.start_recording();
    for round in 0..200_u64 {
        file.write_at(&[round as u8; 8192], (round * 40_960) % (1 << 20)).unwrap();
        if round % 8 == 7 {
            file.sync().unwrap();
        }
    }
    let mut points = disk.take_recording().crash_points();
    let mut distinct = BTreeSet::new();
    let mut images = 0;
    while let Some(at) = points.advance() {
        for strategy in CrashStrategy::family(at, 50) {
            let image = points.image(strategy);
            let disk = SimDisk::from_image(&image, at);
            let mut block = [0; 4096];
            disk.open(db(), OpenHow::default()).unwrap().read_at(&mut block, (at * 40_960) % (1 << 20)).unwrap();
            distinct.insert(block);
            images += 1;
        }
    }
    assert!(images > 10_000 && distinct.len() > 200);
}

/// Linux keeps one count of writeback errors per file, and for each open file how far it was told.
#[test]
fn each_open_file_hears_once_of_data_that_was_lost() {
    let disk = SimDisk::new(1);
    let path = Path::new("log");
    let one = disk.open(path, OpenHow { create: Create::New, ..OpenHow::default() }).unwrap();
    let other = disk.open(path, OpenHow::default()).unwrap();
    one.write_at(&[1; 4096], 0).unwrap();
    disk.fail_sync(1);
    assert!(other.sync().is_err());
    assert!(one.sync().is_err(), "whose data it was hears of it, too");
    assert!(one.sync().is_ok() && other.sync().is_ok(), "and is not told again");
    let late = disk.open(path, OpenHow::default()).unwrap();
    assert!(late.sync().is_ok());

    disk.fail_writeback_randomly(1_000_000);
    one.write_at(&[2; 4096], 0).unwrap();
    disk.clear_faults();
    assert_eq!(disk.fault_counts().writebacks, 1);
    assert!(other.sync().is_err() && one.sync().is_err());
}
