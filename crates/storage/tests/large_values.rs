//! Values that take most of the log, beside whatever others commit.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairn_storage::broken::{self, Broken};
use cairn_storage::io::{Create, FileSystem, MemFs, OpenHow};
use cairn_storage::{Durability, Environment, Error, Options, RealHost, Store, TreeId};

const TREE: TreeId = TreeId::CATALOG;
const SEGMENT: usize = 64 << 10;
const LIMIT: usize = 64 * SEGMENT;

fn options() -> Options {
    let mut options = Options::default();
    options.cache_bytes = 256 * 4096;
    options.log_segment_bytes = SEGMENT;
    options.log_limit_bytes = LIMIT as u64;
    options.checkpoint_log_bytes = 4 * SEGMENT as u64;
    options
}

fn open(files: &Arc<MemFs>) -> Store {
    let env = Environment { files: files.clone(), host: Arc::new(RealHost::default()) };
    Store::open_with("large", options(), env).unwrap()
}

/// The files as a crash would leave them now.
fn copy(files: &MemFs) -> Arc<MemFs> {
    let copy = MemFs::new();
    for name in ["large", "large-log"].map(Path::new) {
        let how = |create| OpenHow { create, read_only: false, direct: false };
        let from = files.open(name, how(Create::Never)).unwrap();
        let mut bytes = vec![0; from.len().unwrap() as usize];
        from.read_at(&mut bytes, 0).unwrap();
        copy.open(name, how(Create::New)).unwrap().write_at(&bytes, 0).unwrap();
    }
    Arc::new(copy)
}

/// Somebody who commits a little again and again, in a tree of his own, until he is dropped.
struct Other {
    is_over: Arc<AtomicBool>,
    commits: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Other {
    fn begin(store: &Store, bytes: usize) -> Other {
        let made = store.begin().unwrap();
        let tree = made.create_tree().unwrap();
        made.commit(None).unwrap();
        let (is_over, commits) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (told, counted, store) = (is_over.clone(), commits.clone(), store.clone());
        let broken = broken::chosen();
        let work = move || {
            broken::choose(broken);
            while !told.load(Ordering::Relaxed) {
                let transaction = store.begin().unwrap();
                transaction.put(tree, b"n", &vec![counted.load(Ordering::Relaxed) as u8; bytes]).unwrap();
                transaction.commit(None).unwrap();
                counted.fetch_add(1, Ordering::Relaxed);
            }
        };
        Other { is_over, commits, thread: Some(std::thread::spawn(work)) }
    }

    fn wait_for(&self, more: u64) {
        let from = self.commits.load(Ordering::Relaxed);
        while self.commits.load(Ordering::Relaxed) < from + more {
            std::thread::yield_now();
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the other was refused");
        }
    }
}

fn store_large(store: &Store, key: &[u8], bytes: usize) -> Result<(), Error> {
    let transaction = store.begin().unwrap();
    transaction.put(TREE, key, &vec![key[0]; bytes])?;
    transaction.commit(None)
}

fn has(store: &Store, key: &[u8], bytes: usize) -> bool {
    let value = store.snapshot().unwrap().reader().get(TREE, key).unwrap();
    value.is_some_and(|value| value.len() == bytes && value.iter().all(|byte| *byte == key[0]))
}

/// The parts of a commit were given up by a version that was cut meanwhile, eight times over.
#[test]
fn a_value_of_most_of_the_log_is_stored_beside_commits_of_others() {
    let files = Arc::new(MemFs::new());
    let store = open(&files);
    let other = Other::begin(&store, 300);
    other.wait_for(10);
    // Until they came between each other.
    let mut met = 0;
    for round in 0..100 {
        let (key, bytes) = [(b"a", LIMIT / 16), (b"b", LIMIT / 4), (b"c", LIMIT / 2), (b"d", LIMIT * 3 / 4)][round % 4];
        let before = (store.stats().log_bytes_written, other.commits.load(Ordering::Relaxed));
        store_large(&store, key, bytes).unwrap();
        assert!(has(&store, key, bytes));
        let others = other.commits.load(Ordering::Relaxed) - before.1;
        let written = store.stats().log_bytes_written - before.0;
        assert!(written < (bytes * 5 / 4) as u64 + (others + 1) * 600, "{written} bytes of log for {bytes}");
        met += u32::from(others > 5);
        if met > 8 && round % 4 == 3 {
            break;
        }
    }
    drop(other);
    std::mem::forget(store);
    let store = open(&copy(&files));
    assert!(has(&store, b"d", LIMIT * 3 / 4) && has(&store, b"a", LIMIT / 16));
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}

#[test]
fn parts_of_a_commit_that_are_given_up_are_noticed() {
    broken::must_be_caught(Broken::CommitGivenUp, a_value_of_most_of_the_log_is_stored_beside_commits_of_others);
}

/// Others wait for the segments that a commit under way needs, instead of filling the log and having it ended.
#[test]
fn others_do_not_take_the_log_that_a_commit_still_needs() {
    let files = Arc::new(MemFs::new());
    let store = open(&files);
    let others = [Other::begin(&store, 3000), Other::begin(&store, 20_000)];
    others.iter().for_each(|other| other.wait_for(3));
    for round in 0..8u8 {
        store_large(&store, &[round], LIMIT * 3 / 4).unwrap();
        assert!(has(&store, &[round], LIMIT * 3 / 4));
    }
}

#[test]
fn log_that_is_kept_for_nobody_is_noticed() {
    broken::must_be_caught(Broken::LogUnkept, others_do_not_take_the_log_that_a_commit_still_needs);
}

#[test]
fn two_that_have_no_room_in_the_log_together_come_one_after_the_other() {
    let store = open(&Arc::new(MemFs::new()));
    std::thread::scope(|scope| {
        for key in [b"a", b"b", b"c"] {
            let store = &store;
            scope.spawn(move || {
                for _ in 0..3 {
                    store_large(store, key, LIMIT / 2 + LIMIT / 8).unwrap();
                }
            });
        }
    });
    assert!([b"a", b"b", b"c"].iter().all(|key| has(&store, *key, LIMIT / 2 + LIMIT / 8)));
}

/// It is not the last operation: it is sent while the transaction goes on.
#[test]
fn operations_may_follow_a_large_one() {
    let store = open(&Arc::new(MemFs::new()));
    let other = Other::begin(&store, 300);
    other.wait_for(10);
    for round in 0..4 {
        let transaction = store.begin().unwrap();
        transaction.put(TREE, b"a", &vec![b'a'; LIMIT / 2]).unwrap();
        let before = store.stats().log_bytes_written;
        let began = other.commits.load(Ordering::Relaxed);
        for i in 0..50u8 {
            transaction.put(TREE, &[b'x', i], &[round; 200]).unwrap();
        }
        transaction.commit(None).unwrap();
        let others = (other.commits.load(Ordering::Relaxed) - began + 10) * 600;
        let written = store.stats().log_bytes_written - before;
        assert!(written < (LIMIT / 2 * 5 / 4) as u64 + others, "{written} bytes of log");
        assert!(has(&store, b"a", LIMIT / 2));
    }
}

#[test]
fn what_can_not_fit_in_the_log_is_refused_before_anything_is_written() {
    let store = open(&Arc::new(MemFs::new()));
    let (before, pages) = (store.stats().log_bytes_written, store.stats().pages_total);
    for bytes in [LIMIT, 2 * LIMIT] {
        let error = store_large(&store, b"a", bytes).unwrap_err();
        assert!(
            matches!(error, Error::LogTooSmall { limit, needed } if limit == LIMIT as u64 && needed > limit),
            "{error}"
        );
        assert_eq!(error.sqlstate(), "53400");
    }
    assert_eq!(store.stats().log_bytes_written, before);
    assert!(store.stats().pages_total < pages + 16, "its pages were written");
    // Many small ones are, as soon as they are too many, or when the log is full of them: they fill it less well.
    let transaction = store.begin().unwrap();
    let error = (0..u32::MAX).find_map(|i| transaction.put(TREE, &i.to_be_bytes(), &[1; 900]).err()).unwrap();
    assert!(matches!(error, Error::OutlivedLog | Error::LogTooSmall { .. }), "{error}");
    drop(transaction);
    store_large(&store, b"a", LIMIT / 2).unwrap();
}

#[test]
fn a_commit_that_no_one_waits_for_may_be_large() {
    let store = open(&Arc::new(MemFs::new()));
    for mode in [Durability::Off, Durability::Interval, Durability::Group] {
        let transaction = store.begin().unwrap();
        transaction.put(TREE, b"a", &vec![b'a'; LIMIT * 3 / 4]).unwrap();
        transaction.commit(Some(mode)).unwrap();
    }
    assert!(has(&store, b"a", LIMIT * 3 / 4));
}

fn open_with(files: &Arc<MemFs>, options: Options) -> Store {
    let env = Environment { files: files.clone(), host: Arc::new(RealHost::default()) };
    Store::open_with("large", options, env).unwrap()
}

/// The log may have been larger when it was stored. (Backups failed, and so did a salvage, of all there was.)
#[test]
fn a_backup_and_a_salvage_have_values_that_the_log_could_not_take_now() {
    let files = Arc::new(MemFs::new());
    let store = open(&files);
    store_large(&store, b"a", LIMIT / 2).unwrap();
    store_large(&store, b"b", 100).unwrap();
    store.close().unwrap();
    let mut options = options();
    options.log_limit_bytes = 4 * SEGMENT as u64;
    let store = open_with(&files, options.clone());
    assert!(matches!(store_large(&store, b"c", LIMIT / 2), Err(Error::LogTooSmall { .. })));
    store.backup_to("copy", &mut |_| {}).unwrap();
    store.close().unwrap();
    let env = Environment { files: files.clone(), host: Arc::new(RealHost::default()) };
    let salvage = cairn_storage::salvage_with("large", "saved", options.clone(), env.clone(), &mut |_, _| ()).unwrap();
    assert!(salvage.losses.is_empty());
    drop(salvage);
    for name in ["copy", "saved"] {
        let store = Store::open_with(name, options.clone(), env.clone()).unwrap();
        assert!(has(&store, b"a", LIMIT / 2) && has(&store, b"b", 100), "{name}");
    }
}

/// Of a log of large segments, which it was opened with before, four may be more than the limit that is asked for now. (There was
/// room for none, and what goes to the log in parts was refused.)
#[test]
fn a_log_of_large_segments_goes_on_under_a_smaller_limit() {
    let files = Arc::new(MemFs::new());
    let store = open(&files);
    store_large(&store, b"a", 100).unwrap();
    let left = copy(&files);
    drop(store);
    let mut options = options();
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 64 << 10;
    options.checkpoint_log_bytes = 32 << 10;
    let store = open_with(&left, options);
    for round in 0..100u8 {
        store_large(&store, &[round], 20_000).unwrap();
    }
    store_large(&store, b"a", 3 * SEGMENT / 2).unwrap();
    assert!(has(&store, b"a", 3 * SEGMENT / 2));
}
