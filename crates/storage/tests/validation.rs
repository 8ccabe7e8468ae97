//! Commits whose validation has more to look at than the cache holds, beside others that commit all the time.

use std::ops::Bound::Unbounded;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use cairn_storage::broken;
use cairn_storage::{Environment, Error, Options, Result, Store, Transaction, TreeId};

const TREE: TreeId = TreeId::CATALOG;
/// Far more than any of these takes, and less than for ever.
const LONGEST: Duration = Duration::from_secs(30);

fn store(frames: usize) -> Store {
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = frames * 512;
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 8 << 20;
    options.checkpoint_log_bytes = 1 << 20;
    Store::open_with("validation", options, Environment::in_memory()).unwrap()
}

fn fill(store: &Store, rows: u32, value: u8) {
    let transaction = store.begin().unwrap();
    (0..rows).for_each(|i| transaction.put(TREE, &i.to_be_bytes(), &[value; 100]).unwrap());
    transaction.commit(None).unwrap();
}

fn put(store: &Store, key: &[u8]) {
    let transaction = store.begin().unwrap();
    transaction.put(TREE, key, b"value").unwrap();
    transaction.commit(None).unwrap();
}

/// A transaction that reads every row and adds one.
fn report(store: &Store, rows: usize) -> Transaction {
    let report = store.begin().unwrap();
    let mut cursor = report.reader().cursor(TREE, Unbounded, Unbounded).unwrap();
    assert_eq!(std::iter::from_fn(|| cursor.next().unwrap().map(drop)).count(), rows);
    drop(cursor);
    report.put(TREE, b"report", b"sum").unwrap();
    report
}

fn commit_elsewhere(transaction: Transaction) -> Receiver<Result<()>> {
    let (tell, told) = channel();
    let broken = broken::chosen();
    std::thread::spawn(move || {
        broken::choose(broken);
        tell.send(transaction.commit(None))
    });
    told
}

/// Validation began again from the roots after each page that it missed, and collected whole levels of both trees: where
/// they did not fit, the commit never came back.
#[test]
fn a_report_on_rows_that_were_rewritten_meanwhile_ends_beside_other_commits() {
    for (rows, frames) in [(100, 256), (1000, 4096), (1000, 64)] {
        let store = store(frames);
        fill(&store, rows, 1);
        let told = commit_elsewhere({
            let report = report(&store, rows as usize);
            fill(&store, rows, 2);
            report
        });
        let result = (0..).find_map(|round: u32| {
            put(&store, b"other");
            assert!(Duration::from_millis(round.into()) < LONGEST, "the commit of {rows} rows does not come back");
            told.recv_timeout(Duration::from_millis(1)).ok()
        });
        assert!(matches!(result, Some(Err(Error::Conflict))), "{result:?}");
    }
}

/// As above, but nothing that was read is another value: every page of both states has to be looked at.
#[test]
fn a_report_on_rows_that_were_written_again_as_they_were_commits() {
    let store = store(64);
    fill(&store, 1000, 1);
    // Among the rows, and never read.
    let elsewhere = report_without_last(&store);
    fill(&store, 1000, 1);
    let told = commit_elsewhere(elsewhere);
    let result = (0..).find_map(|round: u32| {
        put(&store, b"other");
        assert!(Duration::from_millis(round.into()) < LONGEST, "the commit does not come back");
        told.recv_timeout(Duration::from_millis(1)).ok()
    });
    assert!(matches!(result, Some(Ok(()))), "{result:?}");
}

#[test]
fn a_validation_that_forgets_its_place_is_noticed() {
    let test = a_report_on_rows_that_were_written_again_as_they_were_commits;
    cairn_storage::broken::must_be_caught(cairn_storage::broken::Broken::ValidationForgets, test);
}

fn report_without_last(store: &Store) -> Transaction {
    let report = store.begin().unwrap();
    let upper = 1000u32.to_be_bytes();
    let mut cursor = report.reader().cursor(TREE, Unbounded, std::ops::Bound::Excluded(&upper[..])).unwrap();
    assert_eq!(std::iter::from_fn(|| cursor.next().unwrap().map(drop)).count(), 1000);
    drop(cursor);
    report.put(TREE, b"report", b"sum").unwrap();
    report
}

/// The smaller of what was read and what was changed decides what validation costs: here few of many changes are near
/// what was read, and few of many reads near what was changed.
#[test]
fn validation_passes_over_what_was_not_read_and_over_what_was_not_changed() {
    let store = store(4096);
    fill(&store, 2000, 1);
    let few = store.begin().unwrap();
    for key in [3u32, 700, 1999] {
        few.reader().get(TREE, &key.to_be_bytes()).unwrap();
    }
    few.put(TREE, b"few", b"").unwrap();
    let many = store.begin().unwrap();
    for key in (0..2000u32).filter(|key| key % 100 != 50) {
        many.reader().get(TREE, &key.to_be_bytes()).unwrap();
    }
    many.put(TREE, b"many", b"").unwrap();
    let change = |from: u32, value: &[u8]| {
        let transaction = store.begin().unwrap();
        (from..2000).step_by(100).for_each(|key| transaction.put(TREE, &key.to_be_bytes(), value).unwrap());
        transaction.commit(None).unwrap();
    };
    change(50, b"new");
    few.commit(None).unwrap();
    many.commit(None).unwrap();

    let unlucky = store.begin().unwrap();
    for key in [3u32, 750, 1999] {
        unlucky.reader().get(TREE, &key.to_be_bytes()).unwrap();
    }
    unlucky.put(TREE, b"unlucky", b"").unwrap();
    change(50, b"newer");
    assert!(matches!(unlucky.commit(None), Err(Error::Conflict)));
}

/// A short transaction that writes without having read finds out about the tree when it is applied.
#[test]
fn a_blind_write_to_a_tree_that_was_dropped_meanwhile_conflicts() {
    let store = store(256);
    let create = store.begin().unwrap();
    let tree = create.create_tree().unwrap();
    create.commit(None).unwrap();
    let blind = store.begin().unwrap();
    blind.put(TREE, b"elsewhere", b"value").unwrap();
    blind.put(tree, b"key", b"value").unwrap();
    let drop = store.begin().unwrap();
    drop.drop_tree(tree).unwrap();
    drop.commit(None).unwrap();
    assert!(matches!(blind.commit(None), Err(Error::Conflict)));
    assert_eq!(store.snapshot().unwrap().reader().get(TREE, b"elsewhere").unwrap(), None);
}
