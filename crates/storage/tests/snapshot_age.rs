//! Snapshots past `max_snapshot_age` are ended: their readers are told, never shown a page that was reused, and the file
//! stops growing.

use std::ops::Bound::Unbounded;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cairn_storage::{Error, Options, Reader, Store, TreeId};

const TREE: TreeId = TreeId::CATALOG;

/// Waiting for the background takes as long as a busy machine makes it.
const PATIENCE: Duration = Duration::from_secs(120);

fn options(age: Duration) -> Options {
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = 512 * 256;
    options.max_snapshot_age = Some(age);
    options
}

fn key(i: u32) -> Vec<u8> {
    i.to_be_bytes().to_vec()
}

/// Gives every key the same value, which says which generation it is of; every 50th value is long.
fn write_generation(store: &Store, keys: u32, generation: u32) {
    let transaction = store.begin().unwrap();
    for i in 0..keys {
        let length = if i % 50 == 0 { 300 } else { 10 };
        transaction.put(TREE, &key(i), &generation.to_be_bytes().repeat(length)).unwrap();
    }
    transaction.commit(None).unwrap();
}

/// Reads every value; all must be of one generation.
fn scan(reader: &Reader) -> Result<usize, Error> {
    let mut cursor = reader.cursor(TREE, Unbounded, Unbounded)?;
    let (mut generation, mut count) = (None, 0);
    while let Some((_, value)) = cursor.next()? {
        let first: [u8; 4] = *generation.get_or_insert_with(|| value[..4].try_into().unwrap());
        assert!(value.as_chunks::<4>().0.iter().all(|word| *word == first), "a value of another generation");
        count += 1;
    }
    Ok(count)
}

/// Repeats `work` until it fails, and returns the error.
fn until_error(mut work: impl FnMut() -> Result<(), Error>) -> Error {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Err(error) = work() {
            return error;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("nothing was ended");
}

#[test]
fn an_outdated_snapshot_is_ended_and_its_pages_are_used_again() {
    let store = Store::open_in_memory(options(Duration::from_millis(20))).unwrap();
    write_generation(&store, 500, 0);
    let stuck = store.snapshot().unwrap();
    let mut cursor = stuck.reader().cursor(TREE, Unbounded, Unbounded).unwrap();
    cursor.next().unwrap();
    write_generation(&store, 500, 1);
    let error = until_error(|| stuck.reader().get(TREE, &key(7)).map(drop));
    assert!(matches!(error, Error::SnapshotTooOld));
    assert_eq!(error.sqlstate(), "72000");
    assert!(store.stats().snapshots_ended >= 1);
    assert!(matches!(until_error(|| cursor.next().map(drop)), Error::SnapshotTooOld));
    assert!(matches!(scan(stuck.reader()), Err(Error::SnapshotTooOld)));
    assert!(matches!(
        stuck.diff(&store.snapshot().unwrap(), TREE, Unbounded, Unbounded, |_, _, _| true),
        Err(Error::SnapshotTooOld)
    ));

    // It is still there, and the file does not grow any more.
    for generation in 2..6 {
        write_generation(&store, 500, generation);
    }
    let pages = store.stats().pages_total;
    for generation in 6..40 {
        write_generation(&store, 500, generation);
    }
    assert!(store.stats().pages_total <= pages + pages / 4, "{} pages became {}", pages, store.stats().pages_total);
    assert_eq!(scan(store.snapshot().unwrap().reader()).unwrap(), 500);
    drop((cursor, stuck));
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}

#[test]
fn a_snapshot_of_the_newest_version_does_not_age() {
    let store = Store::open_in_memory(options(Duration::from_millis(5))).unwrap();
    write_generation(&store, 100, 0);
    let snapshot = store.snapshot().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(scan(snapshot.reader()).unwrap(), 100);
    assert_eq!(store.stats().snapshots_ended, 0);
}

#[test]
fn without_a_limit_a_snapshot_lives_on() {
    let mut options = options(Duration::ZERO);
    options.max_snapshot_age = None;
    let store = Store::open_in_memory(options).unwrap();
    write_generation(&store, 100, 0);
    let snapshot = store.snapshot().unwrap();
    (1..50).for_each(|generation| write_generation(&store, 100, generation));
    assert_eq!(scan(snapshot.reader()).unwrap(), 100);
}

#[test]
fn a_transaction_on_an_ended_snapshot_can_only_be_rolled_back() {
    let store = Store::open_in_memory(options(Duration::from_millis(20))).unwrap();
    write_generation(&store, 300, 0);
    let transaction = store.begin().unwrap();
    transaction.put(TREE, b"mine", &[0; 4]).unwrap();
    assert_eq!(scan(transaction.reader()).unwrap(), 301);
    write_generation(&store, 300, 1);
    assert!(matches!(until_error(|| transaction.reader().get(TREE, &key(1)).map(drop)), Error::SnapshotTooOld));
    assert!(matches!(transaction.put(TREE, &key(2), b"x"), Err(Error::SnapshotTooOld)));
    assert!(matches!(transaction.commit(None), Err(Error::SnapshotTooOld)));
    assert_eq!(store.snapshot().unwrap().reader().get(TREE, b"mine").unwrap(), None);
    let again = store.begin().unwrap();
    again.put(TREE, b"mine", b"2").unwrap();
    again.commit(None).unwrap();
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}

/// Scans, look-ups and transactions run into their end at every possible place; none may see a page of another version.
#[test]
fn readers_that_are_ended_at_any_time_see_one_version_or_an_error() {
    const KEYS: u32 = 200;
    let store = Store::open_in_memory(options(Duration::from_millis(1))).unwrap();
    write_generation(&store, KEYS, 0);
    let done = AtomicBool::new(false);
    let outcomes = std::thread::scope(|scope| {
        let reader = || {
            let (mut whole, mut ended) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                let snapshot = store.snapshot().unwrap();
                for _ in 0..20 {
                    match scan(snapshot.reader()) {
                        Ok(count) => whole += usize::from(count == KEYS as usize),
                        Err(Error::SnapshotTooOld) => ended += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            (whole, ended)
        };
        let readers = [scope.spawn(reader), scope.spawn(reader), scope.spawn(reader)];
        let begun = Instant::now();
        let mut generation = 1;
        while (store.stats().snapshots_ended < 30 || generation < 100) && begun.elapsed() < PATIENCE {
            write_generation(&store, KEYS, generation);
            generation += 1;
        }
        done.store(true, Ordering::Relaxed);
        readers.map(|reader| reader.join().unwrap())
    });
    assert!(
        outcomes.iter().any(|(whole, _)| *whole > 0) && outcomes.iter().any(|(_, ended)| *ended > 0),
        "{outcomes:?}"
    );
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}

#[test]
fn a_backup_is_neither_ended_nor_refused_by_the_limits() {
    let directory = std::env::temp_dir().join(format!("cairn-limits-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut options = options(Duration::from_millis(5));
    options.max_transaction_bytes = 200 << 10;
    let store = Store::open(directory.join("db"), options).unwrap();
    for part in 0..6_u32 {
        let transaction = store.begin().unwrap();
        (0..100).for_each(|i| transaction.put(TREE, &key(part * 100 + i), &[7; 1500]).unwrap());
        transaction.commit(None).unwrap();
    }
    let outdate = |_| {
        let transaction = store.begin().unwrap();
        transaction.put(TREE, &key(3), b"changed meanwhile").unwrap();
        transaction.commit(None).unwrap();
        std::thread::sleep(Duration::from_millis(60));
    };
    store.backup_to(directory.join("copy"), &mut { outdate }).unwrap();
    let copy = Store::open(directory.join("copy"), Options::default()).unwrap();
    let snapshot = copy.snapshot().unwrap();
    for i in 0..600 {
        assert_eq!(snapshot.reader().get(TREE, &key(i)).unwrap(), Some(vec![7; 1500]));
    }
    drop((snapshot, copy, store));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_transaction_over_its_limit_is_refused_and_leaves_nothing() {
    let mut options = Options::default();
    options.max_transaction_bytes = 10_000;
    let store = Store::open_in_memory(options).unwrap();
    let transaction = store.begin().unwrap();
    let error = until_error(|| (0..50_u32).try_for_each(|i| transaction.put(TREE, &key(i), &[1; 100])));
    assert!(matches!(error, Error::TransactionTooLarge { limit: 10_000 }), "{error}");
    assert_eq!(error.sqlstate(), "53400");
    drop(transaction);
    assert_eq!(store.snapshot().unwrap().reader().get(TREE, &key(0)).unwrap(), None);
    let small = store.begin().unwrap();
    small.put(TREE, &key(0), b"fits").unwrap();
    small.commit(None).unwrap();
}
