//! Databases of a process share the threads of their background, and do not wait for each other.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cairn_storage::io::MemFs;
use cairn_storage::{Environment, Options, RealHost, Store};

use super::files::{Call, WatchedFiles};
use super::put;

/// More than any fixed number of threads would be.
const STUCK: usize = 20;

/// A database whose file takes no write while `is_stuck`, and whose checkpoints are many.
fn open(is_stuck: &Arc<AtomicBool>, waiting: &Arc<AtomicUsize>) -> Store {
    let (is_stuck, waiting) = (is_stuck.clone(), waiting.clone());
    let files = WatchedFiles::new(MemFs::new(), move |path, _, call| {
        if call == Call::Write && path == Path::new("db") && is_stuck.load(Ordering::SeqCst) {
            waiting.fetch_add(1, Ordering::SeqCst);
            while is_stuck.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            waiting.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    });
    let mut options = Options::default();
    (options.log_segment_bytes, options.checkpoint_log_bytes, options.cache_bytes) = (64 << 10, 128 << 10, 1 << 20);
    options.max_pages = 1 << 12;
    let env = Environment { files: Arc::new(files), host: Arc::new(RealHost::default()) };
    Store::open_with("db", options, env).unwrap()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}: waited in vain");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// As much of the log as a checkpoint is made of.
fn write(store: &Store) {
    (0..30).for_each(|_| put(store, b"key", 8_000).unwrap());
}

#[test]
fn disks_that_are_stuck_stop_no_other_database() {
    let (is_stuck, waiting) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let stores: Vec<Store> = (0..STUCK).map(|_| open(&is_stuck, &waiting)).collect();
    is_stuck.store(true, Ordering::SeqCst);
    stores.iter().for_each(write);
    wait_until("checkpoints begin", || waiting.load(Ordering::SeqCst) == STUCK);

    let other = open(&Arc::default(), &Arc::default());
    let before = other.stats().checkpoints;
    // More log than there is at first: it is made longer, too.
    (0..5).for_each(|_| write(&other));
    wait_until("a checkpoint of the other one", || other.stats().checkpoints > before);
    other.close().unwrap();
    assert_eq!(waiting.load(Ordering::SeqCst), STUCK);

    is_stuck.store(false, Ordering::SeqCst);
    stores.into_iter().for_each(|store| store.close().unwrap());
}
