//! What a database takes at rest.

use std::sync::Arc;

use cairn_storage::io::MemFs;
use cairn_storage::{Environment, Options, RealHost, Store, TreeId};

const TREE: TreeId = TreeId::CATALOG;

fn options() -> Options {
    let mut options = Options::default();
    options.page_size = 512;
    options.log_segment_bytes = 64 << 10;
    options.checkpoint_log_bytes = 256 << 10;
    options
}

/// Without pattern (multiples of an odd number would fill all leaves evenly, and split them all at once): the finalizer of
/// SplitMix64.
fn scattered(i: u64) -> u64 {
    let a = (i ^ i >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let b = (a ^ a >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    b ^ b >> 31
}

/// Rows in random order, in many transactions: each checkpoint finds most pages copied since the last.
fn fill(store: &Store) {
    for batch in 0..40u64 {
        let transaction = store.begin().unwrap();
        for i in batch * 500..(batch + 1) * 500 {
            transaction.put(TREE, &scattered(i).to_be_bytes(), &[i as u8; 40]).unwrap();
        }
        transaction.commit(None).unwrap();
    }
}

/// Pages of the closed database, and how many of them are free.
fn closed(options: &Options) -> (u64, u64) {
    let files = Arc::new(MemFs::new());
    let env = || Environment { files: files.clone(), host: Arc::new(RealHost::default()) };
    let store = Store::open_with("space", options.clone(), env()).unwrap();
    fill(&store);
    store.close().unwrap();
    let store = Store::open_with("space", options.clone(), env()).unwrap();
    let verified = store.verify().unwrap();
    assert_eq!((verified.entries, verified.leaked_pages), (20_000, 0));
    let stats = store.stats();
    (stats.pages_total, stats.pages_free)
}

#[test]
fn a_small_database_gives_free_space_back_when_it_is_closed() {
    let (total, free) = closed(&options());
    assert!(free * 10 < total, "{free} of {total} pages are free");
}

#[test]
fn a_database_above_the_limit_is_not_gone_through() {
    let mut options = options();
    options.close_compact_bytes = 0;
    let (total, free) = closed(&options);
    assert!(free * 4 > total, "{free} of {total} pages are free");
}

/// All leaves were looked at in one go, and each that was not in memory counted: with four times more of them than the cache has
/// frames, it counted as full.
#[test]
fn a_database_much_larger_than_the_cache_is_compacted() {
    let env = Environment { files: Arc::new(MemFs::new()), host: Arc::new(RealHost::default()) };
    let mut options = options();
    options.cache_bytes = 64 * 512;
    let store = Store::open_with("space", options, env).unwrap();
    fill(&store);
    store.compact().unwrap();
    // What is free now lies before nearly everything.
    let transaction = store.begin().unwrap();
    for i in 0..40u64 {
        transaction.delete(TREE, &scattered(i).to_be_bytes()).unwrap();
    }
    transaction.commit(None).unwrap();
    store.compact().unwrap();
    let stats = store.stats();
    assert!(stats.pages_total > 1_000 && stats.pages_free < 20, "{stats:?}");
    assert_eq!(store.verify().unwrap().entries, 19_960);
}
