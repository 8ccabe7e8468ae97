//! The engine's threads under a model checker, which chooses every interleaving of its locks and atomics:
//!
//! ```text
//! RUSTFLAGS="--cfg cairn_shuttle" cargo test --release --target-dir target/shuttle -p cairn-storage --test shuttle
//! ```
//! `CAIRN_SHUTTLE_RUNS` sets how many interleavings each test tries. Shuttle's atomics are sequentially consistent, so
//! this checks the order of steps, not the memory orderings.
#![cfg(cairn_shuttle)]

use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cairn_storage::io::MemFs;
use cairn_storage::{Environment, Error, Host, Options, Store, TreeId};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};

/// No threads but the test's; time stands nearly still.
#[derive(Debug, Default)]
struct ModelHost(AtomicU64);

impl Host for ModelHost {
    fn now(&self) -> Duration {
        Duration::from_micros(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn sleep(&self, _time: Duration) {
        thread::yield_now();
    }

    fn spawn(&self, _name: &str, _work: Box<dyn FnOnce() + Send>) -> io::Result<Box<dyn FnOnce() + Send>> {
        Ok(Box::new(|| ()))
    }

    fn has_threads(&self) -> bool {
        false
    }
}

fn open() -> Store {
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = 64 * 512;
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 64 << 10;
    options.max_snapshots = 12;
    options.max_pages = 512;
    let env = Environment { files: Arc::new(MemFs::new()), host: Arc::new(ModelHost::default()) };
    Store::open_with("model", options, env).unwrap()
}

fn asked_runs(runs: usize) -> usize {
    std::env::var("CAIRN_SHUTTLE_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(runs)
}

fn check(runs: usize, test: impl Fn() + Send + Sync + 'static) {
    let (runs, test) = (asked_runs(runs), Arc::new(test));
    let again = test.clone();
    run(RandomScheduler::new(runs), move || test());
    run(PctScheduler::new(3, runs), move || again());
}

fn run(scheduler: impl Scheduler + 'static, test: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    // A thread opens the database, which has blocks of the log and pages on its stack.
    config.stack_size = 256 << 10;
    Runner::new(scheduler, config).run(test);
}

fn put(store: &Store, keys: &[u64], value: u8) -> cairn_storage::Result<()> {
    let transaction = store.begin()?;
    for key in keys {
        transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &[value; 100])?;
    }
    transaction.commit(None)
}

fn get(snapshot: &cairn_storage::Snapshot, key: u64) -> Option<Vec<u8>> {
    snapshot.reader().get(TreeId::CATALOG, &key.to_be_bytes()).unwrap()
}

#[test]
fn three_threads_that_commit_together_all_commit_and_see_it() {
    check(1000, || {
        let store = open();
        let threads: Vec<_> = (0..3u64)
            .map(|id| {
                let store = store.clone();
                thread::spawn(move || {
                    put(&store, &[id], id as u8).unwrap();
                    assert_eq!(get(&store.snapshot().unwrap(), id), Some(vec![id as u8; 100]));
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let snapshot = store.snapshot().unwrap();
        assert!((0..3).all(|id| get(&snapshot, id).is_some()));
        assert_eq!(store.stats().commits, 3);
    });
}

#[test]
fn a_snapshot_keeps_its_pages_while_versions_come_and_go() {
    check(500, || {
        let store = open();
        put(&store, &[1, 2], 0).unwrap();
        let writer = {
            let store = store.clone();
            thread::spawn(move || (1..4).for_each(|value| put(&store, &[1, 2], value).unwrap()))
        };
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let store = store.clone();
                thread::spawn(move || {
                    let snapshot = store.snapshot().unwrap();
                    let first = get(&snapshot, 1);
                    thread::yield_now();
                    assert_eq!(get(&snapshot, 2), first);
                    assert_eq!(get(&snapshot, 1), first);
                })
            })
            .collect();
        writer.join().unwrap();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn of_two_that_read_what_the_other_writes_at_most_one_succeeds() {
    check(500, || {
        let store = open();
        put(&store, &[1, 2], 9).unwrap();
        let take = |mine: u64, other: u64| {
            let store = store.clone();
            thread::spawn(move || {
                let transaction = store.begin().unwrap();
                if transaction.reader().get(TreeId::CATALOG, &other.to_be_bytes()).unwrap().is_some() {
                    transaction.delete(TreeId::CATALOG, &mine.to_be_bytes()).unwrap();
                }
                match transaction.commit(None) {
                    Ok(()) | Err(Error::Conflict) => {}
                    Err(error) => panic!("{error}"),
                }
            })
        };
        let threads = [take(1, 2), take(2, 1)];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let snapshot = store.snapshot().unwrap();
        assert!(get(&snapshot, 1).is_some() || get(&snapshot, 2).is_some());
    });
}

#[test]
fn readers_find_pages_that_are_evicted_under_them() {
    // Not by priorities: a reader of the lowest could be kept from letting go of its pages for ever.
    let test = || {
        let store = open();
        let keys: Vec<u64> = (0..300).collect();
        put(&store, &keys, 1).unwrap();
        store.checkpoint().unwrap();
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let store = store.clone();
                thread::spawn(move || {
                    let snapshot = store.snapshot().unwrap();
                    let mut cursor =
                        snapshot.reader().cursor(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded).unwrap();
                    let mut count = 0;
                    while let Some((_, value)) = cursor.next().unwrap() {
                        assert!(value.len() == 100 && value.iter().all(|byte| *byte == value[0]));
                        count += 1;
                    }
                    assert_eq!(count, 300);
                })
            })
            .collect();
        put(&store, &[5, 150, 290], 2).unwrap();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert!(store.stats().pages_evicted > 0 && store.stats().pages_read_ahead > 0);
    };
    run(RandomScheduler::new(asked_runs(40)), test);
}
