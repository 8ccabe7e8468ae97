//! What was dropped is freed in the background, a few pages at a time: nothing waits for it, and what was freed stays so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cairn_storage::io::{CrashStrategy, DiskImage, SimDisk};
use cairn_storage::{Environment, Options, QuietHost, RealHost, Store, TreeId};

const ROWS: u64 = 30_000;

fn options() -> Options {
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = 256 * 512;
    options.log_segment_bytes = 64 << 10;
    options.checkpoint_log_bytes = 256 << 10;
    options
}

/// Without threads: what is freed is freed where the test says so.
fn open_on(disk: &SimDisk) -> Store {
    let env = Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
    Store::open_with("drops", options(), env).unwrap()
}

/// The same with its background.
fn open_with_threads(disk: &SimDisk) -> Store {
    let env = Environment { files: Arc::new(disk.clone()), host: Arc::new(RealHost::default()) };
    Store::open_with("drops", options(), env).unwrap()
}

fn fill(store: &Store, tree: TreeId, rows: u64) {
    for piece in 0..rows.div_ceil(500) {
        let transaction = store.begin().unwrap();
        for row in piece * 500..rows.min((piece + 1) * 500) {
            // Some of them in pages of their own.
            let length = if row % 100 == 7 { 1500 } else { 40 };
            transaction.put(tree, &row.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), &vec![1; length]).unwrap();
        }
        transaction.commit(None).unwrap();
    }
}

/// A disk with a large tree that was dropped and of which no page is free yet, and how many are in use.
fn dropped() -> (SimDisk, u64) {
    let disk = SimDisk::new(1);
    let store = open_on(&disk);
    let transaction = store.begin().unwrap();
    let tree = transaction.create_tree().unwrap();
    transaction.commit(None).unwrap();
    fill(&store, tree, ROWS);
    let transaction = store.begin().unwrap();
    transaction.drop_tree(tree).unwrap();
    transaction.put(TreeId::CATALOG, b"kept", b"1").unwrap();
    transaction.commit(None).unwrap();
    store.checkpoint().unwrap();
    let stats = store.stats();
    let pages = stats.pages_total - stats.pages_free;
    assert!(pages > 3000, "{pages} pages");
    let image = killed(&disk, store);
    (SimDisk::from_image(&image, 2), pages)
}

/// What a kill of the process leaves.
fn killed(disk: &SimDisk, store: Store) -> DiskImage {
    let image = disk.crash(CrashStrategy::KeepAll);
    std::mem::forget(store);
    image
}

#[test]
fn opening_frees_nothing_and_the_background_all() {
    let (disk, pages) = dropped();
    let store = open_on(&disk);
    let opened = store.stats();
    assert!(opened.pages_read < 100, "{} pages read while it was opened", opened.pages_read);
    assert_eq!((opened.drops_left, opened.dropped_pages_freed), (1, 0));
    let store = open_with_threads(&SimDisk::from_image(&killed(&disk, store), 3));
    let began = Instant::now();
    while store.stats().drops_left > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", store.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
    store.checkpoint().unwrap();
    let stats = store.stats();
    assert!(stats.dropped_pages_freed * 10 > pages * 9, "{} of {pages} pages freed", stats.dropped_pages_freed);
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}
