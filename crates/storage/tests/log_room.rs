//! Room in the log near its limit: large commits beside many of a few parts, and beside small ones.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cairn_storage::io::MemFs;
use cairn_storage::{Environment, Error, Options, RealHost, Store, TreeId};

const SEGMENT: usize = 64 << 10;
const LIMIT: usize = 64 * SEGMENT;

fn open() -> Store {
    let mut options = Options::default();
    options.cache_bytes = 2048 * 4096;
    options.log_segment_bytes = SEGMENT;
    options.log_limit_bytes = LIMIT as u64;
    options.checkpoint_log_bytes = 4 * SEGMENT as u64;
    let env = Environment { files: Arc::new(MemFs::new()), host: Arc::new(RealHost::default()) };
    Store::open_with(Path::new("room"), options, env).unwrap()
}

fn put(store: &Store, tree: TreeId, bytes: usize) -> Result<(), Error> {
    let transaction = store.begin()?;
    transaction.put(tree, b"key", &vec![7; bytes])?;
    transaction.commit(None)
}

fn trees(store: &Store, count: usize) -> Vec<TreeId> {
    let made = store.begin().unwrap();
    let trees = (0..count).map(|_| made.create_tree().unwrap()).collect();
    made.commit(None).unwrap();
    trees
}

/// Sets it when it is dropped, by a panic too.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` while a thread for each tree stores values of so many bytes in it, one after the other.
fn beside(store: &Store, trees: &[TreeId], bytes: usize, work: impl FnOnce()) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Over(&over);
        for tree in trees {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    put(store, *tree, bytes).unwrap();
                }
            });
        }
        work();
    });
}

/// They took what was kept, and each ended the other.
#[test]
fn a_large_commit_and_many_of_a_few_parts_are_stored_all() {
    for (share, count, bytes) in [(12, 32, 60_000), (10, 64, 30_000)] {
        let store = open();
        let trees = trees(&store, count);
        beside(&store, &trees, bytes, || {
            (0..6).for_each(|_| put(&store, TreeId::CATALOG, LIMIT / 16 * share).unwrap());
        });
    }
}

/// Each wrote into the segments that were kept for the large one, so that these were too few.
#[test]
fn a_large_commit_is_stored_beside_many_that_write_into_its_segments() {
    let store = open();
    let trees = trees(&store, 16);
    beside(&store, &trees, 7_000, || {
        (0..8).for_each(|_| put(&store, TreeId::CATALOG, LIMIT / 16 * 8).unwrap());
    });
}

/// Who stored the next large one was always there first.
#[test]
fn a_small_commit_waits_for_one_large_one_however_many_follow() {
    let store = open();
    let trees = trees(&store, 5);
    let (over, stored) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _over = Over(&over);
        for tree in &trees[1..] {
            let (store, over, stored) = (&store, &over, &stored);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    put(store, *tree, LIMIT / 16 * 12).unwrap();
                    stored.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut most = 0;
        for _ in 0..80 {
            let before = stored.load(Ordering::Relaxed);
            put(&store, trees[0], 100).unwrap();
            most = most.max(stored.load(Ordering::Relaxed) - before);
        }
        // Of each of the four threads: one that was stored before, and not yet counted; of all: those that it waits for, which
        // are one that has its room, and one that is first in line.
        assert!(most <= 8, "{most} large ones were stored while a small one waited");
    });
}

/// A transaction that has its turn needs room while a large one, which holds most of the log, waits for the turn.
#[test]
fn who_waits_for_a_turn_keeps_no_room_from_its_owner() {
    let store = open();
    let trees = trees(&store, 2);
    let owner = store.begin().unwrap();
    assert!(owner.take_turn(&trees[..1], Duration::from_secs(5), &|| false).unwrap());
    let began = Instant::now();
    std::thread::scope(|scope| {
        let large = scope.spawn(|| put(&store, trees[0], LIMIT / 16 * 10));
        std::thread::sleep(Duration::from_millis(100));
        owner.put(trees[1], b"key", &vec![7; 6 * SEGMENT]).unwrap();
        owner.commit(None).unwrap();
        large.join().unwrap().unwrap();
    });
    assert!(began.elapsed() < Duration::from_secs(2), "until the turn was over: {:?}", began.elapsed());
}
