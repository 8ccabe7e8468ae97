//! A child of `fork` is refused everything of a database that its parent has open, and leaves it as it is: see the storage crate's
//! test of the same name.
#![cfg(unix)]

#[allow(dead_code)]
#[path = "../../storage/tests/forked/forking.rs"]
mod forking;

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cairndb::{Database, Next, Options, Result, SqlState};
use forking::{await_child, database, end_child, forks, in_process_of_its_own, names, run_with};

#[track_caller]
fn refused<T>(result: Result<T>) {
    let Err(error) = result else { panic!("it was done") };
    assert!(error.to_string().contains("fork()"), "{error}");
    assert_eq!(error.sqlstate(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
}

const TABLES: &str = "CREATE TABLE t (id int PRIMARY KEY, n int) WITH (change_feed = on);
    CREATE TABLE wide (n int);
    INSERT INTO wide SELECT * FROM generate_series(1, 20000);
    INSERT INTO t VALUES (1, 10), (2, 20);
    CREATE MATERIALIZED VIEW v WITH (maintained = after) AS SELECT count(*) AS n FROM t;";

#[test]
#[ignore = "a process that forks"]
fn with_all_of_a_database() {
    let path = database();
    let db = Database::open_with(&path, Options::default()).unwrap();
    db.answer_backups().unwrap();
    let conn = db.connect().unwrap();
    conn.execute_script(TABLES).unwrap();
    let (open, begun, reading, sorting) =
        (db.connect().unwrap(), db.connect().unwrap(), db.connect().unwrap(), db.connect().unwrap());
    open.execute_script(
        "CREATE TEMPORARY TABLE mine (id int); BEGIN; INSERT INTO mine VALUES (1); UPDATE t SET n = 11 WHERE id = 1",
    )
    .unwrap();
    let transaction = begun.begin().unwrap();
    transaction.execute("SELECT pg_advisory_lock(1)", ()).unwrap();
    let mut rows = reading.query("SELECT n FROM wide", ()).unwrap();
    rows.next().unwrap();
    sorting.execute("SET work_mem = '64kB'", ()).unwrap();
    let mut sorted = sorting.query("SELECT n FROM wide ORDER BY n", ()).unwrap();
    sorted.next().unwrap();
    let mut read = conn.prepare("SELECT n FROM t WHERE id = $1").unwrap();
    let mut write = conn.prepare("UPDATE t SET n = n + 1 WHERE id = $1").unwrap();
    let mut live = conn.live("SELECT n FROM t", ()).unwrap();
    live.next_change().unwrap();
    let called = conn.live("SELECT n FROM wide", ()).unwrap().on_change(|_| ()).unwrap();
    conn.listen("news").unwrap();
    let mut news = conn.notifications();
    let mut changes = db.changes(None).unwrap();
    let token = conn.change_token().unwrap();
    let pool = db.pool(2);
    let lent = pool.get().unwrap();
    let position = conn.position().unwrap();
    let ticket = write.execute_async((2,)).unwrap();
    let before = names(&path);
    assert!(before.iter().any(|name| name == "x.cairn-socket"), "{before:?}");

    let Some(process) = forks() else {
        end_child(|| {
            let soon = Duration::from_millis(1);
            let mut context = Context::from_waker(Waker::noop());
            for connection in [&conn, &open, &begun, &lent] {
                for sql in
                    ["SELECT 1", "SELECT n FROM t WHERE id = 1", "SELECT * FROM mine", "INSERT INTO t VALUES (3, 1)"]
                {
                    refused(connection.execute(sql, ()));
                    refused(connection.query(sql, ()));
                    refused(connection.execute_script(sql));
                    refused(connection.prepare(sql));
                }
                for sql in ["BEGIN", "COMMIT", "ROLLBACK", "SET work_mem = '1MB'", "SHOW work_mem", "NOTIFY news, 'x'"]
                {
                    refused(connection.execute(sql, ()));
                }
                refused(connection.begin());
                refused(connection.copy_in("COPY t FROM STDIN", &b"4\t4\n"[..]));
                refused(connection.live("SELECT n FROM t", ()));
                refused(connection.listen("others"));
                refused(connection.set_statement_timeout(None));
                refused(connection.wait_for(position, soon));
                refused(connection.wait_for_view("v", position, soon));
                refused(connection.view_position("v"));
                refused(connection.change_token());
                refused(connection.schema());
            }
            refused(read.query((1,)));
            refused(read.query_point((1,), |_| ()));
            refused(write.execute((1,)));
            refused(write.execute_async((1,)));
            refused((0..20000).try_for_each(|_| rows.next().map(drop)));
            refused((0..20000).try_for_each(|_| sorted.next().map(drop)));
            refused(live.next_change());
            refused(live.next_change_within(soon));
            assert!(matches!(live.poll_change(&mut context), Poll::Ready(Err(_))));
            let _ = live.statistics();
            live.stop_handle().stop();
            assert_eq!(news.next_notification(), None);
            assert_eq!(news.next_notification_within(soon), Next::End);
            assert!(news.poll_notification(&mut context).is_ready() && news.has_ended() && news.drain().is_empty());
            assert!(conn.notifications().next_notification().is_none());
            refused(changes.next_change());
            assert!(matches!(changes.poll_change(&mut context), Poll::Ready(Err(_))));
            changes.stop_handle().stop();
            refused(db.changes(Some(token)));
            let is_durable = ticket.is_durable();
            match ticket.wait() {
                Ok(_) => assert!(is_durable),
                refusal => refused(refusal),
            }
            refused(pool.get());
            refused(db.connect());
            refused(db.checkpoint());
            refused(db.verify());
            refused(db.verify_constraints());
            refused(db.compact());
            refused(db.backup_to(path.with_extension("copy")));
            refused(db.answer_backups());
            assert!(db.misplaced().is_none());
            let _ = db.stats();
            let another = Database::open(&path).err().expect("the parent has it");
            assert_eq!(another.sqlstate(), SqlState::OBJECT_IN_USE);
            // One in memory is the child's own.
            let own = Database::open_in_memory().unwrap();
            own.connect().unwrap().execute_script(TABLES).unwrap();
            own.close().unwrap();
            refused(db.clone().close());
            drop((read, write, transaction, rows, sorted, live, called, news, changes, lent, pool));
        })
    };
    await_child(process);
    assert_eq!(names(&path), before);
    run_with(&path, "a_second_process");
    // Nothing of the parent's has changed.
    open.execute("COMMIT", ()).unwrap();
    drop(transaction);
    ticket.wait().unwrap();
    conn.execute("UPDATE t SET n = n + 100 WHERE id = 1", ()).unwrap();
    assert!(matches!(live.next_change_within(Duration::from_secs(20)), Ok(Next::Item(_))));
    assert!(changes.next_change().unwrap().is_some());
    conn.execute("NOTIFY news, 'parent'", ()).unwrap();
    assert_eq!(news.next_notification().expect("it was told").payload(), "parent");
    let count = |rows: &mut cairndb::Rows| {
        let mut count = 1;
        while rows.next().unwrap().is_some() {
            count += 1;
        }
        count
    };
    assert_eq!((count(&mut rows), count(&mut sorted)), (20000, 20000));
    Database::request_backup(&path, path.with_extension("copy"), |_| {}).unwrap();
    drop((read, write, rows, sorted));

    // What was opened goes with the last that has it.
    let Some(process) = forks() else {
        end_child(|| {
            drop((conn, open, begun, reading, sorting, lent));
            drop((live, called, news, changes, pool, db));
        })
    };
    await_child(process);
    assert_eq!(names(&path).len(), before.len() + 1, "and the copy");
    run_with(&path, "a_second_process");
    drop((live, called, news, changes, lent, pool));
    drop((conn, open, begun, reading, sorting));
    db.close().unwrap();
    // The thread of the callback lets go of the database a moment after its guard is dropped, and the lock goes with the last.
    let until = std::time::Instant::now() + Duration::from_secs(5);
    while names(&path) != ["x.cairn", "x.copy"] && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(names(&path), ["x.cairn", "x.copy"]);
    let db = Database::open(&path).unwrap();
    db.verify().unwrap();
    let all = db.connect().unwrap().query_as::<(i32, i32)>("SELECT id, n FROM t ORDER BY id", ()).unwrap();
    assert_eq!(all.collect::<Result<Vec<_>>>().unwrap(), [(1, 111), (2, 21)]);
}

#[test]
#[ignore = "another process"]
fn a_second_process() {
    let error = Database::open(database()).err().expect("the child gave back the parent's lock");
    assert_eq!(error.sqlstate(), SqlState::OBJECT_IN_USE);
}

#[test]
fn a_child_is_refused_everything_and_leaves_everything_as_it_is() {
    in_process_of_its_own(env!("CARGO_TARGET_TMPDIR"), "with_all_of_a_database");
}

/// Made by the clock, they differ from its parent's by who makes them alone.
#[test]
#[ignore = "a process that forks"]
fn with_uuids_of_the_clock() {
    let node = || {
        let db = Database::open_in_memory().unwrap();
        let uuid = db.connect().unwrap().query_row_as::<String>("SELECT uuid_generate_v1()::text", ()).unwrap();
        uuid[19..].to_owned()
    };
    let own = node();
    assert_eq!(node(), own);
    let Some(process) = forks() else { end_child(|| assert_ne!(node(), own)) };
    await_child(process);
}

#[test]
fn a_child_makes_uuids_of_its_own() {
    in_process_of_its_own(env!("CARGO_TARGET_TMPDIR"), "with_uuids_of_the_clock");
}
