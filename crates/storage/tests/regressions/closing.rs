//! A database that is closed while it is in use.

use std::time::Duration;

use cairn_storage::{Environment, Error, Options, Store, TreeId};

use super::put;

fn small() -> Options {
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = 64 * 512;
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 256 << 10;
    options
}

/// A checkpoint of `compact` could come between the last checkpoint and the log's removal: `close` said that all was well,
/// and the database was not clean and had no log.
#[test]
fn a_database_that_was_closed_beside_compactions_opens_again() {
    for round in 0..150 {
        let env = Environment::in_memory();
        let store = Store::open_with("db", small(), env.clone()).unwrap();
        (0..50u32).for_each(|i| put(&store, &i.to_be_bytes(), 100).unwrap());
        let other = store.clone();
        let compactor = std::thread::spawn(move || {
            let error = std::iter::from_fn(|| other.compact().err().map(Some).or(Some(None))).flatten().next();
            assert!(matches!(error, Some(Error::Closed)), "{error:?}");
        });
        std::thread::sleep(Duration::from_micros(500 + round % 50 * 40));
        store.close().unwrap();
        compactor.join().unwrap();
        let store = Store::open_with("db", small(), env).unwrap();
        assert_eq!(store.verify().unwrap().entries, 50);
    }
}

/// It said that it was read-only after a failure.
#[test]
fn a_closed_database_says_that_it_is_closed_and_answers_reads() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    put(&store, b"key", 10).unwrap();
    let (other, begun) = (store.clone(), store.begin().unwrap());
    begun.put(TreeId::CATALOG, b"begun", b"before").unwrap();
    store.close().unwrap();
    assert!(matches!(begun.commit(None), Err(Error::Closed)));
    assert!(matches!(put(&other, b"key", 10), Err(Error::Closed)));
    assert!(matches!(other.checkpoint(), Err(Error::Closed)));
    assert!(matches!(other.compact(), Err(Error::Closed)));
    let snapshot = other.snapshot().unwrap();
    assert!(snapshot.reader().get(TreeId::CATALOG, b"key").unwrap().is_some());
    assert!(snapshot.reader().get(TreeId::CATALOG, b"begun").unwrap().is_none());
    drop(snapshot);
    assert!(matches!(other.close(), Err(Error::Closed)));
}
