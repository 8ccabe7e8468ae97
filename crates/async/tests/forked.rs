//! A child of `fork` has no workers: see the storage crate's test of the same name.
#![cfg(unix)]

#[allow(dead_code)]
#[path = "../../storage/tests/forked/forking.rs"]
mod forking;

use cairndb::{Result, SqlState};
use cairndb_async::{Database, Options};
use forking::{await_child, database, end_child, forks, in_process_of_its_own, names};
use pollster::block_on;

#[track_caller]
fn refused<T>(result: Result<T>) {
    let Err(error) = result else { panic!("it was done") };
    assert_eq!(error.sqlstate(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
    assert!(error.to_string().contains("fork()"), "{error}");
}

#[test]
#[ignore = "a process that forks"]
fn with_an_asynchronous_database() {
    let path = database();
    let db = block_on(Database::open_with(&path, Options::default())).unwrap();
    block_on(db.execute("CREATE TABLE t (id int PRIMARY KEY, n int)", ())).unwrap();
    for id in 0..2 {
        block_on(db.execute("INSERT INTO t VALUES ($1, 1)", (id,))).unwrap();
    }
    let before = names(&path);
    let other = db.clone();
    let mut asked = Box::pin(other.query("SELECT count(*) FROM t, generate_series(1, 10000000)", ()));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(asked.as_mut().poll(&mut context).is_pending());
    let Some(process) = forks() else {
        end_child(|| {
            assert!(block_on(asked).is_err());
            for sql in ["INSERT INTO t VALUES ($1, 1)", "SELECT n FROM t WHERE id = $1", "DELETE FROM t WHERE n > $1"] {
                refused(block_on(db.execute(sql, (5,))));
                refused(block_on(db.query(sql, (5,))));
            }
            refused(block_on(db.transaction(async |tx| tx.execute("INSERT INTO t VALUES (7, 1)", ()).await)));
            drop(db.clone());
            refused(block_on(db.close()));
        })
    };
    await_child(process);
    drop(asked);
    assert_eq!(names(&path), before);
    block_on(db.execute("INSERT INTO t VALUES ($1, 1)", (2,))).unwrap();
    block_on(db.close()).unwrap();
    assert_eq!(names(&path), ["x.cairn"]);
}

#[test]
fn a_child_is_refused_everything() {
    in_process_of_its_own(env!("CARGO_TARGET_TMPDIR"), "with_an_asynchronous_database");
}
