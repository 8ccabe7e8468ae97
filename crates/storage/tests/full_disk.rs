//! Full disks: the log gives back what it does not need, a database that fits is opened and goes on, and what was dropped becomes
//! free whatever else does not work.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cairn_storage::broken::{self, Broken};
use cairn_storage::io::{CrashStrategy, DiskImage, SimDisk};
use cairn_storage::{Environment, Error, Options, QuietHost, RealHost, Result, Store, TreeId};

const TREE: TreeId = TreeId::CATALOG;
const SEGMENT: usize = 64 << 10;
const ROWS: u32 = 100;

fn options() -> Options {
    let mut options = Options::default();
    options.cache_bytes = 64 * 4096;
    options.log_segment_bytes = SEGMENT;
    options.log_limit_bytes = 64 * SEGMENT as u64;
    options.checkpoint_log_bytes = 16 * SEGMENT as u64;
    options
}

/// Without threads: what happens is the same each time.
fn open(disk: &SimDisk) -> Result<Store> {
    let env = Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
    Store::open_with("full", options(), env)
}

fn put(store: &Store, key: u32) -> Result<()> {
    let transaction = store.begin()?;
    transaction.put(TREE, &key.to_be_bytes(), &[key as u8; 400])?;
    transaction.commit(None)
}

fn count(store: &Store) -> u32 {
    let snapshot = store.snapshot().unwrap();
    (0..2 * ROWS).filter(|key| snapshot.reader().get(TREE, &key.to_be_bytes()).unwrap().is_some()).count() as u32
}

/// The parts of a large transaction fill the log until the disk is full.
fn fill(store: &Store) -> Error {
    let transaction = store.begin().unwrap();
    let error = (1000..100_000u32).find_map(|key| transaction.put(TREE, &key.to_be_bytes(), &[1; 400]).err()).unwrap();
    std::mem::forget(transaction);
    error
}

/// A database of some rows, on a disk that has room for so many blocks more.
fn small(blocks: u64) -> (SimDisk, Store, u64) {
    let disk = SimDisk::new(blocks);
    let store = open(&disk).unwrap();
    (0..ROWS).for_each(|key| put(&store, key).unwrap());
    store.checkpoint().unwrap();
    let capacity = disk.space_used() + blocks * 4096;
    disk.set_capacity(Some(capacity));
    (disk, store, capacity)
}

/// Does something on a disk that has so much room; where that is too little, once more with as much more as it says it needs.
fn with_what_is_needed<R>(disk: &SimDisk, capacity: &mut u64, mut work: impl FnMut() -> Result<R>) -> R {
    for _ in 0..3 {
        match work() {
            Ok(done) => return done,
            Err(Error::DiskFull { needed, .. }) if needed > 0 => *capacity += needed.next_multiple_of(4096),
            Err(error) => panic!("{error}"),
        }
        disk.set_capacity(Some(*capacity));
    }
    work().unwrap_or_else(|error| panic!("with what it needs, and more: {error}"))
}

fn disk_of(image: &DiskImage, seed: u64, capacity: u64) -> SimDisk {
    let disk = SimDisk::from_image(image, seed);
    disk.set_capacity(Some(capacity));
    disk
}

/// As a crash leaves it when such a transaction has filled it.
fn filled(blocks: u64) -> (DiskImage, u64) {
    let (disk, store, capacity) = small(blocks);
    let error = fill(&store);
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    (disk.crash(CrashStrategy::KeepAll), capacity)
}

/// The log had taken all, each opening extended it into what was given back, and no checkpoint found room.
#[test]
fn a_database_that_fits_is_opened_and_goes_on() {
    for blocks in [0, 1, 2, 3, 5, 11, 15, 16, 17, 18, 30, 31, 32, 33, 47, 50] {
        let (image, before) = filled(blocks);
        let (mut capacity, disk) = (before, disk_of(&image, blocks, before));
        for round in 0..2 {
            let store = with_what_is_needed(&disk, &mut capacity, || open(&disk));
            assert_eq!(count(&store), ROWS + round, "{blocks}");
            with_what_is_needed(&disk, &mut capacity, || put(&store, ROWS + round));
            with_what_is_needed(&disk, &mut capacity, || store.checkpoint());
            with_what_is_needed(&disk, &mut capacity, || store.clone().close());
            drop(store);
            assert!(disk.snapshot(Path::new("full-log")).is_none());
        }
        assert!(capacity == before || blocks < 8, "{blocks} blocks more, but {} bytes were needed", capacity - before);
    }
}

#[test]
fn a_log_that_keeps_all_is_noticed() {
    broken::must_be_caught(Broken::LogKeepsAll, a_database_that_fits_is_opened_and_goes_on);
}

/// Once more room is there, it is the checkpoint's before it is the log's.
#[test]
fn who_filled_the_disk_goes_on_without_reopening() {
    for blocks in [0, 3, 17, 31, 50] {
        let (disk, store, capacity) = small(blocks);
        let transaction = store.begin().unwrap();
        assert!((1000..100_000u32).any(|key| transaction.put(TREE, &key.to_be_bytes(), &[1; 400]).is_err()));
        drop(transaction);
        // As the background does.
        store.checkpoint().unwrap();
        let mut more_than = capacity;
        (0..3).for_each(|more| {
            with_what_is_needed(&disk, &mut more_than, || put(&store, ROWS + more));
            with_what_is_needed(&disk, &mut more_than, || store.checkpoint());
        });
        assert_eq!(count(&store), ROWS + 3);
        assert!(more_than == capacity || blocks < 8, "{blocks} blocks more, but {more_than} of {capacity}");
    }
}

/// The same files, killed again and again on the full disk.
#[test]
fn a_full_disk_is_survived_again_and_again() {
    for blocks in [9, 11, 17, 30] {
        let (mut image, capacity) = filled(blocks);
        for life in 0..6 {
            let disk = disk_of(&image, u64::from(life), capacity);
            let store = open(&disk).unwrap_or_else(|error| panic!("{blocks} blocks more, life {life}: {error}"));
            assert_eq!(count(&store), ROWS + life);
            put(&store, ROWS + life).unwrap();
            assert!(matches!(fill(&store), Error::DiskFull { .. }));
            image = disk.crash(CrashStrategy::KeepAll);
        }
    }
}

/// Whatever a crash keeps of it, what is there afterwards is opened, and has everything.
fn everything_is_there(disk: &SimDisk, capacity: u64, rows: u32) {
    for strategy in [CrashStrategy::KeepNone, CrashStrategy::KeepAll, CrashStrategy::Random { seed: capacity }] {
        let (disk, mut capacity) = (disk_of(&disk.crash(strategy), 1, capacity), capacity);
        let store = with_what_is_needed(&disk, &mut capacity, || open(&disk));
        assert!((rows..=rows + 1).contains(&count(&store)));
        with_what_is_needed(&disk, &mut capacity, || put(&store, ROWS + 1));
        with_what_is_needed(&disk, &mut capacity, || store.clone().close());
    }
}

#[test]
fn a_crash_while_a_full_disk_is_opened_loses_nothing() {
    let (image, capacity) = filled(17);
    for after in 0.. {
        let disk = disk_of(&image, after, capacity);
        disk.crash_at(disk.operation_count() + after);
        let done = open(&disk).and_then(|store| {
            put(&store, ROWS)?;
            store.checkpoint()
        });
        let has_crashed = disk.has_crashed();
        everything_is_there(&disk, capacity, ROWS);
        if !has_crashed {
            return done.unwrap();
        }
    }
}

/// The log has places that it does not need, and the next checkpoint finds no other room.
#[test]
fn a_crash_while_the_log_gives_places_back_loses_nothing() {
    let (image, capacity) = filled(50);
    for after in 0.. {
        let disk = disk_of(&image, after, capacity);
        let store = open(&disk).unwrap();
        put(&store, ROWS).unwrap();
        store.checkpoint().unwrap();
        disk.set_capacity(Some(disk.space_used()));
        // Much log, and few pages; the last of them in the segment that was entered last.
        (0..150).map(|at| at % 10).chain(ROWS + 2..ROWS + 22).for_each(|key| put(&store, key).unwrap());
        let before = disk.snapshot(Path::new("full-log")).unwrap().len();
        disk.crash_at(disk.operation_count() + after);
        let done = store.checkpoint();
        let has_crashed = disk.has_crashed();
        everything_is_there(&disk, capacity, ROWS + 21);
        if !has_crashed {
            let given = before - disk.snapshot(Path::new("full-log")).unwrap().len();
            assert!(given >= SEGMENT, "the log gave back {given} bytes");
            return done.unwrap();
        }
    }
}

#[test]
fn a_log_that_is_cut_before_the_file_says_so_is_noticed() {
    broken::must_be_caught(Broken::CutUnnoted, a_crash_while_the_log_gives_places_back_loses_nothing);
}

#[test]
fn a_log_that_is_cut_by_what_is_in_use_is_noticed() {
    broken::must_be_caught(Broken::CutInUse, a_crash_while_the_log_gives_places_back_loses_nothing);
}

/// All of the log is needed, and what is free is too little for a checkpoint: the log took that, each time that there was more.
#[test]
fn a_log_that_is_needed_as_a_whole_does_not_grow_before_a_checkpoint_and_what_that_needs_is_told() {
    let (disk, store, _) = small(200);
    // Changes of all rows, so that each page is to be written; then others take what is left of the disk, and the log fills up.
    (0..ROWS).for_each(|key| put(&store, key).unwrap());
    disk.set_capacity(Some(disk.space_used()));
    let error = (0..5000u32).find_map(|at| put(&store, at % ROWS).err()).unwrap();
    assert!(matches!(error, Error::DiskFull { needed: 1.., .. }), "{error}");
    let image = disk.crash(CrashStrategy::KeepAll);
    let used = SimDisk::from_image(&image, 1).space_used();
    let mut opened = false;
    for more in 0..200 {
        let disk = disk_of(&image, more, used + more * 4096);
        match open(&disk) {
            Ok(store) => {
                assert_eq!(count(&store), ROWS);
                put(&store, ROWS).unwrap();
                store.checkpoint().unwrap();
                opened = true;
                break;
            }
            Err(Error::DiskFull { needed, .. }) => assert!(needed > 0),
            Err(error) => panic!("{error}"),
        }
        let log = disk.snapshot(Path::new("full-log")).unwrap().len();
        assert!(log <= image.bytes(Path::new("full-log")).unwrap().len(), "the log has grown by what there was");
    }
    assert!(opened);
}

#[test]
fn a_log_that_grows_first_is_noticed() {
    broken::must_be_caught(
        Broken::GrowsFirst,
        a_log_that_is_needed_as_a_whole_does_not_grow_before_a_checkpoint_and_what_that_needs_is_told,
    );
}

/// While the log could not grow nothing of what was dropped became free.
#[test]
fn what_was_dropped_is_freed_while_the_log_can_not_grow() {
    let disk = SimDisk::new(7);
    let host = Arc::new(RealHost::default());
    let store = Store::open_with("full", options(), Environment { files: Arc::new(disk.clone()), host }).unwrap();
    let made = store.begin().unwrap();
    let tree = made.create_tree().unwrap();
    made.commit(None).unwrap();
    for batch in 0..20u32 {
        let transaction = store.begin().unwrap();
        (0..100).for_each(|key| transaction.put(tree, &(batch * 100 + key).to_be_bytes(), &[7; 400]).unwrap());
        transaction.commit(None).unwrap();
    }
    // The file has free pages for a checkpoint: whether the log has places to spare that could make room for one is up to the threads.
    let spare = store.begin().unwrap();
    let gone = spare.create_tree().unwrap();
    (0..100u32).for_each(|key| spare.put(gone, &key.to_be_bytes(), &[7; 400]).unwrap());
    spare.commit(None).unwrap();
    store.checkpoint().unwrap();
    let dropped = store.begin().unwrap();
    dropped.drop_tree(gone).unwrap();
    dropped.commit(None).unwrap();
    while store.stats().drops_left > 0 || store.stats().pages_free < 9 {
        put(&store, 0).unwrap();
        store.checkpoint().unwrap();
    }
    // Writes to the log's end fail, and stay so: no space is ever given back.
    let log = Path::new("full-log");
    let places = |disk: &SimDisk| (disk.snapshot(log).unwrap().len() - 4096) / SEGMENT;
    disk.set_capacity(Some(disk.space_used()));
    while (store.stats().log_bytes_live as usize / SEGMENT) + 1 < places(&disk) {
        put(&store, 0).unwrap();
    }
    let dropped = store.begin().unwrap();
    dropped.drop_tree(tree).unwrap();
    dropped.commit(None).unwrap();
    let in_use = |store: &Store| store.stats().pages_total - store.stats().pages_free;
    let (before, began) = (in_use(&store), Instant::now());
    loop {
        // What only the last checkpoint has becomes free with the next.
        let _ = store.checkpoint();
        if in_use(&store) + 180 < before {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{} of {before} pages are in use", in_use(&store));
        let _ = put(&store, 0);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A tree of its own, and rows of it until the disk, which has room for so many blocks more, is full; a checkpoint more then fails,
/// and leaves what it wrote.
fn filled_tree(blocks: u64) -> (SimDisk, Store, TreeId) {
    let disk = SimDisk::new(blocks);
    let store = open(&disk).unwrap();
    let made = store.begin().unwrap();
    let tree = made.create_tree().unwrap();
    made.commit(None).unwrap();
    disk.set_capacity(Some(disk.space_used() + blocks * 4096));
    let rows = |from: u32| {
        let transaction = store.begin()?;
        (from..from + 20).try_for_each(|key| transaction.put(tree, &key.to_be_bytes(), &[1; 400]))?;
        transaction.commit(None)
    };
    let error = (0..10_000).step_by(20).find_map(|from| rows(from).err()).unwrap();
    assert!(matches!(error, Error::DiskFull { .. }), "{blocks}: {error}");
    let _ = store.checkpoint();
    (disk, store, tree)
}

/// What checkpoints without room had written stayed in the file, and once it was free there was still no room for another.
#[test]
fn a_full_disk_whose_data_is_dropped_has_room_for_a_checkpoint() {
    let mut dropped = 0;
    for blocks in (0..300).step_by(3) {
        let (disk, store, tree) = filled_tree(blocks);
        let drops = store.begin().unwrap();
        if drops.drop_tree(tree).and_then(|()| drops.commit(None)).is_err() {
            continue;
        }
        dropped += 1;
        store.keep_house().unwrap_or_else(|error| panic!("{blocks} blocks more: {error}"));
        store.close().unwrap_or_else(|error| panic!("{blocks} blocks more: {error}"));
        open(&disk).unwrap().close().unwrap();
    }
    assert!(dropped > 20, "{dropped}");
}

#[test]
fn a_file_that_keeps_all_is_noticed() {
    broken::must_be_caught(Broken::FileKeepsAll, a_full_disk_whose_data_is_dropped_has_room_for_a_checkpoint);
}

/// Wherever it is that the room ends: in the new file, its log, a page, or the last checkpoint.
#[test]
fn a_backup_that_finds_no_room_leaves_nothing() {
    let (disk, store, _) = small(0);
    let used = disk.space_used();
    let is_there = |name: &&str| disk.snapshot(Path::new(name)).is_some();
    let names = ["copy", "copy-log", "copy-unfinished", "copy-unfinished-log", "copy-unfinished-new"];
    let fits = |blocks: u64| {
        disk.set_capacity(Some(used + blocks * 4096));
        let made = store.backup_to("copy", &mut |_| ());
        let is_room = |error: &Error| matches!(error, Error::DiskFull { .. });
        assert!(made.as_ref().err().is_none_or(is_room), "{blocks} blocks more: {made:?}");
        if made.is_err() {
            let left: Vec<&str> = names.into_iter().filter(is_there).collect();
            assert_eq!((left, disk.space_used()), (vec![], used), "{blocks} blocks more");
        }
        made.is_ok()
    };
    let needed = (0..200).find(|&blocks| fits(blocks)).unwrap();
    assert!(needed > 20, "{needed}");
    Store::open_with(
        "copy",
        options(),
        Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) },
    )
    .map(|copy| assert_eq!(count(&copy), ROWS))
    .unwrap();
}

/// A large transaction needed the log, which could not grow, beside a file most of which was free.
#[test]
fn the_log_grows_in_the_room_of_what_was_deleted() {
    let (disk, store, _) = small(0);
    disk.set_capacity(None);
    (ROWS..4 * ROWS).for_each(|key| put(&store, key).unwrap());
    store.checkpoint().unwrap();
    // Behind what is deleted lies something that stays.
    (0..4 * ROWS - 1).for_each(|key| {
        let transaction = store.begin().unwrap();
        transaction.delete(TREE, &key.to_be_bytes()).unwrap();
        transaction.commit(None).unwrap();
    });
    (0..2).for_each(|_| {
        put(&store, 4 * ROWS).unwrap();
        store.checkpoint().unwrap();
    });
    disk.set_capacity(Some(disk.space_used()));
    let log = |disk: &SimDisk| disk.snapshot(Path::new("full-log")).unwrap().len();
    let before = log(&disk);
    let transaction = store.begin().unwrap();
    // Many operations, and few pages.
    let told = (0..100_000u32).find_map(|_| transaction.put(TREE, b"key", &[1; 400]).err());
    assert!(matches!(told, Some(Error::DiskFull { .. })), "{told:?}");
    assert!(log(&disk) > before, "{told:?}: the log stayed as it was, of {before} bytes");
}

#[test]
fn a_log_that_does_not_get_what_the_file_has_is_noticed() {
    broken::must_be_caught(Broken::FileKeepsAll, the_log_grows_in_the_room_of_what_was_deleted);
}

/// Checkpoints that find no room give back what is free; what the last one has, or a snapshot, is there as it was.
fn what_is_held_is_not_given_back() {
    for blocks in [30, 60, 100] {
        let (disk, store, _) = small(0);
        disk.set_capacity(Some(disk.space_used() + blocks * 4096));
        let snapshot = store.snapshot().unwrap();
        let told = (0..20_000u32).find_map(|at| put(&store, ROWS + at % 400).err());
        assert!(matches!(told, Some(Error::DiskFull { .. })), "{told:?}");
        let _ = store.checkpoint();
        let seen = |key: u32| snapshot.reader().get(TREE, &key.to_be_bytes()).unwrap();
        (0..ROWS).for_each(|key| assert_eq!(seen(key), Some(vec![key as u8; 400]), "{blocks}"));
        assert_eq!(seen(ROWS), None);
        for strategy in [CrashStrategy::KeepAll, CrashStrategy::Random { seed: blocks }] {
            let left = SimDisk::from_image(&disk.crash(strategy), blocks);
            let store = open(&left).unwrap();
            assert!(count(&store) >= ROWS, "{blocks}");
            store.verify().unwrap();
        }
    }
}

#[test]
fn a_full_disk_keeps_what_checkpoints_and_snapshots_hold() {
    what_is_held_is_not_given_back();
}

#[test]
fn holes_where_pages_are_held_are_noticed() {
    broken::must_be_caught(Broken::HolesInUse, what_is_held_is_not_given_back);
}
