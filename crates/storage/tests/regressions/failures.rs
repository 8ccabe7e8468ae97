//! What a database that failed still does, and that a panic is such a failure.

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cairn_storage::broken::{self, Broken};
use cairn_storage::io::SimDisk;
use cairn_storage::{Acknowledge, Environment, Error, Options, PointWriter, Store, TreeId, WriteError};

use super::{open_on, put};

/// Everything that only reads, of a database that holds `key` and not `lost`.
fn assert_reads(store: &Store) {
    let is_there = |found: cairn_storage::Result<Option<Vec<u8>>>| found.unwrap().is_some();
    let snapshot = store.snapshot().unwrap();
    assert!(is_there(snapshot.reader().get(TreeId::CATALOG, b"key")));
    assert!(!is_there(snapshot.reader().get(TreeId::CATALOG, b"lost")));
    let mut cursor = snapshot.reader().cursor(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded).unwrap();
    assert!(cursor.next().unwrap().is_some() && cursor.next().unwrap().is_none());
    let transaction = store.begin().unwrap();
    assert!(is_there(transaction.reader().get(TreeId::CATALOG, b"key")));
    transaction.commit(None).unwrap();
    let mut session = store.session().unwrap();
    let found = session.read::<_, ()>(|reader| Ok(reader.get(TreeId::CATALOG, b"key")?.map(<[u8]>::len)));
    assert_eq!(found.unwrap(), Some(10));
    store.backup_to("copy", &mut |_| ()).unwrap();
    assert!(store.stats().commits > 0);
}

fn assert_refuses(store: &Store, why: &str) {
    let refused = put(store, b"lost", 10);
    assert!(matches!(&refused, Err(Error::Poisoned { cause }) if cause.contains(why)), "{refused:?}");
    let refused = store.checkpoint();
    assert!(matches!(&refused, Err(Error::Poisoned { cause }) if cause.contains(why)), "{refused:?}");
}

#[test]
fn a_database_whose_log_failed_answers_reads() {
    let disk = SimDisk::new(1);
    let store = open_on(&disk).unwrap();
    put(&store, b"key", 10).unwrap();
    disk.fail_sync(1);
    assert!(matches!(put(&store, b"lost", 10), Err(Error::OutcomeUnknown { .. })));
    assert_refuses(&store, "write the log");
    assert_reads(&store);
    assert!(matches!(store.close(), Err(Error::Poisoned { .. })));
}

/// Who had only looked, or had lost to another, was told that the outcome of what it wrote is unknown.
#[test]
fn who_wrote_nothing_is_told_that_the_database_is_read_only() {
    let disk = SimDisk::new(1);
    let store = open_on(&disk).unwrap();
    put(&store, b"key", 10).unwrap();
    let (mut looking, mut failing) = (store.session().unwrap(), store.session().unwrap());
    let loser = store.begin().unwrap();
    loser.reader().get(TreeId::CATALOG, b"key").unwrap();
    loser.put(TreeId::CATALOG, b"other", b"value").unwrap();
    disk.fail_sync(1);
    // Appended, and never durable: all that follow rest on it.
    let late = |writer: &mut PointWriter<'_>| Ok(writer.put(TreeId::CATALOG, b"key", b"late")?);
    let (_, ticket) = store.session().unwrap().write::<_, ()>(Acknowledge::Later, late).unwrap();
    let looked = looking
        .write::<_, ()>(Acknowledge::Now(None), |writer| Ok(writer.get(TreeId::CATALOG, b"key")?.map(<[u8]>::to_vec)));
    let failed = failing.write::<(), ()>(Acknowledge::Now(None), |_| Err(WriteError::Caller(())));
    let lost = loser.commit(None);
    assert!(matches!(looked, Err(WriteError::Storage(Error::Poisoned { .. }))), "{looked:?}");
    assert!(matches!(failed, Err(WriteError::Storage(Error::Poisoned { .. }))), "{failed:?}");
    assert!(matches!(lost, Err(Error::Poisoned { .. })), "{lost:?}");
    assert!(matches!(ticket.wait(), Err(Error::OutcomeUnknown { .. })));
}

/// Set: the next test is to fail.
const SPREAD: &str = "CAIRN_PANICS_SPREAD";

/// Whoever came next panicked too, the threads in the background among them, and dropping the store aborted the process.
#[test]
fn a_panic_in_a_point_writes_closure_makes_the_database_read_only() {
    if std::env::var_os(SPREAD).is_some() {
        broken::choose(Some(Broken::PanicsSpread));
    }
    let env = Environment::in_memory();
    let store = Store::open_with("db", Options::default(), env.clone()).unwrap();
    put(&store, b"key", 10).unwrap();
    let mut session = store.session().unwrap();
    let write = || {
        session.write::<(), ()>(Acknowledge::Now(None), |writer| {
            writer.put(TreeId::CATALOG, b"lost", b"value")?;
            panic!("the caller's own")
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(write)).is_err());
    assert_refuses(&store, "panicked");
    assert_reads(&store);
    drop(session);
    drop(store);
    let store = Store::open_with("db", Options::default(), env).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.reader().get(TreeId::CATALOG, b"key").unwrap().is_some());
    assert!(snapshot.reader().get(TreeId::CATALOG, b"lost").unwrap().is_none());
}

/// In processes of their own, which it aborts; not where the background notices the panic first.
#[test]
fn a_panic_that_spreads_is_noticed() {
    let test = "failures::a_panic_in_a_point_writes_closure_makes_the_database_read_only";
    let fails = |_| {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let output = child.args(["--nocapture", "--exact", test]).env(SPREAD, "1").output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("the caller's own"), "{output:?}");
        !output.status.success()
    };
    assert!((0..30).any(fails));
}

/// Dropping the transaction panicked again, which aborted the process if it was dropped by the first panic.
#[test]
fn a_panic_while_a_transaction_reads_ends_the_transaction_alone() {
    let store = Store::open_with("db", Options::default(), Environment::in_memory()).unwrap();
    put(&store, b"key", 10).unwrap();
    let read = || {
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, b"lost", b"value").unwrap();
        let reader = transaction.reader().clone();
        let read = || reader.get_with(TreeId::CATALOG, b"key", |_| panic!("the caller's own")).map(drop);
        assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
        assert!(matches!(transaction.put(TreeId::CATALOG, b"lost", b"again"), Err(Error::Ended)));
        let _dropped_by_the_panic = transaction;
        panic!("once more")
    };
    let read: Result<(), _> = catch_unwind(AssertUnwindSafe(read));
    assert!(read.is_err());
    assert_reads(&store);
    put(&store, b"another", 10).unwrap();
}
