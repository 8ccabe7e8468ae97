//! Databases that are as full as they may be (`max_pages`): what frees pages works there, and gives room for more.

use std::sync::Arc;

use cairn_storage::broken::{self, Broken};
use cairn_storage::io::MemFs;
use cairn_storage::{Acknowledge, Environment, Error, Options, QuietHost, Result, Store, TreeId};

fn options(max_pages: u32) -> Options {
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = 256 * 512;
    options.max_pages = max_pages;
    options.log_segment_bytes = 64 << 10;
    options.log_limit_bytes = 64 * (64 << 10);
    options.checkpoint_log_bytes = 1 << 20;
    options.close_compact_bytes = 0;
    options
}

/// Without threads of its own: nothing becomes free by the way.
fn open(files: &Arc<MemFs>, max_pages: u32) -> Store {
    let env = Environment { files: files.clone(), host: Arc::new(QuietHost::default()) };
    Store::open_with("full", options(max_pages), env).unwrap()
}

fn insert(store: &Store, tree: TreeId, from: u32, many: u32) -> Result<()> {
    let transaction = store.begin()?;
    (from..from + many).try_for_each(|key| transaction.put(tree, &key.to_be_bytes(), &[key as u8; 100]))?;
    transaction.commit(None)
}

/// A tree of as many rows as there is room for, by so many in a transaction; and an index of it in another order.
struct Filled {
    store: Store,
    rows: TreeId,
    others: TreeId,
    count: u32,
}

fn fill(files: &Arc<MemFs>, max_pages: u32, at_once: u32) -> Filled {
    let store = open(files, max_pages);
    let transaction = store.begin().unwrap();
    let (rows, others) = (transaction.create_tree().unwrap(), transaction.create_tree().unwrap());
    transaction.commit(None).unwrap();
    insert(&store, others, 0, 10).unwrap();
    let mut count = 0;
    let error = loop {
        match insert(&store, rows, count, at_once) {
            Ok(()) => count += at_once,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    assert_eq!(error.sqlstate(), "53100");
    // Those who only need one more row each come to the end, too.
    while insert(&store, rows, count, 1).is_ok() {
        count += 1;
    }
    assert!(count > max_pages, "{count} rows");
    // From here on it has all pages that are in use, too.
    store.checkpoint().unwrap();
    Filled { store, rows, others, count }
}

fn is_well(store: &Store) {
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}

const SIZES: [(u32, u32); 4] = [(64, 1), (64, 10), (500, 50), (3000, 500)];

#[test]
fn one_row_after_the_other_is_deleted() {
    for (max_pages, at_once) in SIZES {
        let files = Arc::new(MemFs::new());
        let Filled { store, rows, count, .. } = fill(&files, max_pages, at_once);
        // First from leaves far from each other, each in a commit of its own.
        let scattered = (0..count).step_by(7).chain((0..count).filter(|key| key % 7 != 0));
        for key in scattered {
            let transaction = store.begin().unwrap();
            assert!(transaction.delete(rows, &key.to_be_bytes()).unwrap());
            transaction.commit(None).unwrap();
        }
        store.keep_house().unwrap();
        insert(&store, rows, 0, count / 2).unwrap();
        is_well(&store);
    }
}

#[test]
fn ids_that_nobody_keeps_for_who_deletes_are_noticed() {
    broken::must_be_caught(Broken::IdsUnkept, one_row_after_the_other_is_deleted);
}

#[test]
fn checkpoints_without_ids_are_noticed() {
    broken::must_be_caught(Broken::ListsUnkept, one_row_after_the_other_is_deleted);
}

#[test]
fn who_does_not_look_for_ids_is_noticed() {
    broken::must_be_caught(Broken::FullForGood, one_row_after_the_other_is_deleted);
}

#[test]
fn all_rows_are_deleted_at_once() {
    for (max_pages, at_once) in SIZES {
        let files = Arc::new(MemFs::new());
        let Filled { store, rows, count, .. } = fill(&files, max_pages, at_once);
        let transaction = store.begin().unwrap();
        for key in 0..count {
            assert!(transaction.delete(rows, &key.to_be_bytes()).unwrap());
        }
        transaction.commit(None).unwrap();
        store.keep_house().unwrap();
        insert(&store, rows, 0, count / 2).unwrap();
        is_well(&store);
    }
}

#[test]
fn a_tree_is_dropped_with_what_goes_with_it() {
    for (max_pages, at_once) in SIZES {
        let files = Arc::new(MemFs::new());
        let Filled { store, rows, others, count } = fill(&files, max_pages, at_once);
        let transaction = store.begin().unwrap();
        transaction.free_pages(true).unwrap();
        // As a catalog's entries.
        transaction.put(others, &3u32.to_be_bytes(), &[9; 100]).unwrap();
        let again = transaction.create_tree().unwrap();
        transaction.put(others, &100u32.to_be_bytes(), &again.0.to_be_bytes()).unwrap();
        transaction.drop_tree(rows).unwrap();
        transaction.free_pages(false).unwrap();
        transaction.commit(None).unwrap();
        store.keep_house().unwrap();
        insert(&store, again, 0, count / 2).unwrap();
        is_well(&store);
    }
}

#[test]
fn a_point_write_that_deletes_or_fails_leaves_the_database_as_it_is() {
    for (max_pages, at_once) in SIZES {
        let files = Arc::new(MemFs::new());
        let Filled { store, rows, others, count } = fill(&files, max_pages, at_once);
        let mut session = store.session().unwrap();
        for key in 0..20u32 {
            let put = session.write::<(), ()>(Acknowledge::Now(None), |writer| {
                for other in 0..8 {
                    writer.put(others, &(1000 * key + other).to_be_bytes(), &[1; 90])?;
                }
                writer.put(rows, &(count + key).to_be_bytes(), &[1; 100])?;
                Ok(())
            });
            assert!(put.is_ok() || store.begin().unwrap().put(others, b"x", b"y").is_ok(), "it is read-only");
        }
        drop(session);
        is_well(&store);
    }
}

/// It fills up, closes, and opens with what it has, and with a limit that is lower by now.
#[test]
fn a_full_database_is_opened_and_emptied() {
    let files = Arc::new(MemFs::new());
    let Filled { store, rows, count, .. } = fill(&files, 500, 50);
    store.close().unwrap();
    let store = open(&files, 500);
    assert!(insert(&store, rows, count, 100).is_err());
    for key in 0..count {
        let transaction = store.begin().unwrap();
        transaction.delete(rows, &key.to_be_bytes()).unwrap();
        transaction.commit(None).unwrap();
    }
    store.keep_house().unwrap();
    insert(&store, rows, 0, count / 2).unwrap();
    is_well(&store);
}
