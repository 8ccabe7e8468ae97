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
    store.checkpoint().unwrap();
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
    let began = Instant::now();
    loop {
        // What only the last checkpoint has becomes free with the next.
        let _ = store.checkpoint();
        if store.stats().pages_free > 180 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{} pages are free", store.stats().pages_free);
        let _ = put(&store, 0);
        std::thread::sleep(Duration::from_millis(20));
    }
}
