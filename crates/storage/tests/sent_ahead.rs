//! Transactions of which the log has a part before their commit, while memory has a copy of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use cairn_storage::broken::{self, Broken};
use cairn_storage::{Environment, Options, Store, Transaction, TreeId};

const TREE: TreeId = TreeId::CATALOG;
const SEGMENT: usize = 64 << 10;

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("cairn-ahead-{name}-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn open(&self) -> Store {
        open(&self.0)
    }

    /// What a crash would leave now, opened.
    fn crashed(&self) -> (Folder, Store) {
        let name = self.0.file_name().unwrap().to_string_lossy().into_owned();
        let copy = Folder(self.0.with_file_name(format!("{name}-crashed")));
        let _ = fs::remove_dir_all(&copy.0);
        fs::create_dir_all(&copy.0).unwrap();
        let files = || ["data", "data-log"].map(|name| fs::read(self.0.join(name)).unwrap());
        // Both as they were at one time: a checkpoint may be under way.
        let mut taken = files();
        while let now = files()
            && now != taken
        {
            taken = now;
        }
        for (name, bytes) in ["data", "data-log"].iter().zip(taken) {
            fs::write(copy.0.join(name), bytes).unwrap();
        }
        let store = copy.open();
        (copy, store)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(folder: &Path) -> Store {
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = 4096 * 512;
    options.log_segment_bytes = SEGMENT;
    options.log_limit_bytes = 16 * SEGMENT as u64;
    options.checkpoint_log_bytes = 2 * SEGMENT as u64;
    Store::open_with(folder.join("data"), options, Environment::real()).unwrap()
}

fn put(transaction: &Transaction, keys: std::ops::Range<u32>, value: u8) {
    keys.for_each(|key| transaction.put(TREE, &key.to_be_bytes(), &[value; 100]).unwrap());
}

fn value(store: &Store, key: u32) -> Option<u8> {
    let value = store.snapshot().unwrap().reader().get(TREE, &key.to_be_bytes()).unwrap();
    value.map(|value| value[0])
}

/// So many commits of others that the log goes round.
fn fill_log(store: &Store) {
    for i in 0..3000u32 {
        let other = store.begin().unwrap();
        other.put(TREE, &(1_000_000 + i % 100).to_be_bytes(), &[9; 500]).unwrap();
        other.commit(None).unwrap();
    }
}

#[test]
fn the_log_has_most_of_a_transaction_before_its_commit() {
    let folder = Folder::new("most");
    let store = folder.open();
    let transaction = store.begin().unwrap();
    put(&transaction, 0..500, 1);
    let before = store.stats().log_bytes_written;
    // 50 KB, and a limit of a sixty-fourth of a segment.
    let mut waited = 0;
    while store.stats().log_bytes_written < 30_000 {
        assert!(waited < 1000, "the log was not written: {before}");
        std::thread::sleep(std::time::Duration::from_millis(5));
        waited += 1;
    }
    assert_eq!(value(&folder.crashed().1, 0), None, "nothing of it counts before its commit");
    transaction.commit(None).unwrap();
    let crashed = folder.crashed();
    assert!((0..500).all(|key| value(&crashed.1, key) == Some(1)));
    assert_eq!(crashed.1.verify().unwrap().leaked_pages, 0);
}

#[test]
fn what_was_taken_back_is_not_there_after_a_crash() {
    let folder = Folder::new("back");
    let store = folder.open();
    let transaction = store.begin().unwrap();
    put(&transaction, 0..100, 1);
    let savepoint = transaction.savepoint().unwrap();
    put(&transaction, 0..500, 2);
    transaction.rollback_to(&savepoint).unwrap();
    put(&transaction, 90..101, 3);
    transaction.commit(None).unwrap();
    let crashed = folder.crashed();
    for store in [&store, &crashed.1] {
        assert!((0..90).all(|key| value(store, key) == Some(1)));
        assert!((90..101).all(|key| value(store, key) == Some(3)));
        assert!((101..500).all(|key| value(store, key).is_none()));
        assert_eq!(store.verify().unwrap().leaked_pages, 0);
    }
}

/// One that lasts while others fill the log does not stand in their way, and commits all the same.
#[test]
fn parts_that_the_log_gave_up_go_again() {
    let folder = Folder::new("again");
    let store = folder.open();
    let transaction = store.begin().unwrap();
    put(&transaction, 0..100, 1);
    fill_log(&store);
    put(&transaction, 100..120, 2);
    fill_log(&store);
    // So that none comes soon, which would have the commit: a crash must need its record.
    store.checkpoint().unwrap();
    transaction.commit(None).unwrap();
    let crashed = folder.crashed();
    for store in [&store, &crashed.1] {
        assert!((0..100).all(|key| value(store, key) == Some(1)));
        assert!((100..120).all(|key| value(store, key) == Some(2)));
        assert_eq!(store.verify().unwrap().leaked_pages, 0);
    }
    // As others come: once a version says that the log is free again.
    let abandoned = store.begin().unwrap();
    put(&abandoned, 0..120, 7);
    drop(abandoned);
    fill_log(&store);
    assert_eq!(value(&folder.crashed().1, 0), Some(1));
}

#[test]
fn parts_that_are_taken_for_there_are_noticed() {
    broken::must_be_caught(Broken::GivenUpUnnoticed, parts_that_the_log_gave_up_go_again);
}
