//! Advisory locks between the connections of a database.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::{fails, rows};
use cairndb::{Connection, Database, Result};

fn value(conn: &Connection, sql: &str) -> String {
    rows(conn, sql).join(",")
}

#[test]
fn a_number_is_locked_by_one_or_shared_by_several() -> Result<()> {
    let database = Database::open_in_memory()?;
    let (a, b, c) = (database.connect()?, database.connect()?, database.connect()?);
    assert_eq!(value(&a, "SELECT pg_advisory_lock(7)"), "");
    assert_eq!(value(&a, "SELECT pg_try_advisory_lock(7)"), "t");
    assert_eq!(value(&b, "SELECT pg_try_advisory_lock(7)"), "f");
    assert_eq!(value(&b, "SELECT pg_try_advisory_lock_shared(7)"), "f");
    // Two numbers of 32 bits are another.
    assert_eq!(value(&b, "SELECT pg_try_advisory_lock(0, 7)"), "t");
    assert_eq!(value(&a, "SELECT pg_advisory_unlock(7)"), "t");
    assert_eq!(value(&b, "SELECT pg_try_advisory_lock(7)"), "f");
    assert_eq!(value(&a, "SELECT pg_advisory_unlock(7)"), "t");
    assert_eq!(value(&a, "SELECT pg_advisory_unlock(7)"), "f");
    assert_eq!(value(&b, "SELECT pg_try_advisory_lock_shared(7)"), "t");
    assert_eq!(value(&c, "SELECT pg_try_advisory_lock_shared(7)"), "t");
    assert_eq!(value(&a, "SELECT pg_try_advisory_lock(7)"), "f");
    assert_eq!(value(&b, "SELECT pg_advisory_unlock(7)"), "f");
    // Who shares it with nobody may have it alone.
    assert_eq!(value(&b, "SELECT pg_advisory_unlock_shared(7)"), "t");
    assert_eq!(value(&c, "SELECT pg_try_advisory_lock(7)"), "t");
    assert_eq!(value(&c, "SELECT pg_advisory_unlock_all()"), "");
    assert_eq!(value(&a, "SELECT pg_try_advisory_lock(7)"), "t");
    drop(a);
    assert_eq!(value(&b, "SELECT pg_try_advisory_lock(7)"), "t");
    Ok(())
}

#[test]
fn a_transactions_go_with_it_or_with_its_savepoint() -> Result<()> {
    let database = Database::open_in_memory()?;
    let (a, b) = (database.connect()?, database.connect()?);
    let is_free = |number: i32| value(&b, &format!("SELECT pg_try_advisory_xact_lock({number})")) == "t";
    a.execute_script("BEGIN; SELECT pg_advisory_xact_lock(1); SAVEPOINT s; SELECT pg_advisory_xact_lock(2); SELECT pg_advisory_lock(3)")?;
    assert!(!is_free(1) && !is_free(2) && !is_free(3));
    a.execute("ROLLBACK TO s", ())?;
    assert!(!is_free(1) && is_free(2) && !is_free(3));
    assert_eq!(value(&a, "SELECT pg_advisory_unlock(1)"), "f");
    a.execute("COMMIT", ())?;
    assert!(is_free(1) && !is_free(3));
    a.execute_script("BEGIN; SELECT pg_advisory_xact_lock(1); ROLLBACK")?;
    assert!(is_free(1));
    // A statement of its own is a transaction.
    a.execute("SELECT pg_advisory_xact_lock(1)", ())?;
    assert!(is_free(1));
    // Also where it fails: it kept the lock until the next one that writes.
    fails(&a, "SELECT pg_advisory_xact_lock(1), 1 / 0", "22012");
    assert!(is_free(1));
    let body = "PERFORM pg_advisory_xact_lock(8); COMMIT; PERFORM pg_advisory_xact_lock(9); RAISE division_by_zero";
    fails(&a, &format!("DO $$ BEGIN {body}; END $$"), "22012");
    assert!(is_free(8) && is_free(9));
    a.execute("BEGIN", ())?;
    a.execute("SELECT pg_advisory_xact_lock(1)", ())?;
    fails(&a, "SELECT 1 / 0", "22012");
    a.execute("ROLLBACK", ())?;
    assert!(is_free(1) && !is_free(3));
    Ok(())
}

#[test]
fn who_waits_gets_it_once_it_is_free_or_is_interrupted() -> Result<()> {
    let database = Database::open_in_memory()?;
    let (a, b) = (database.connect()?, database.connect()?);
    a.execute("SELECT pg_advisory_lock(5)", ())?;
    b.execute("SET statement_timeout = '50ms'", ())?;
    fails(&b, "SELECT pg_advisory_lock(5)", "57014");
    b.execute("SET statement_timeout = 0", ())?;
    let interrupt = b.interrupt_handle();
    let (told, hears) = mpsc::channel();
    let waiting = thread::spawn(move || {
        let interrupted = b.execute("SELECT pg_advisory_lock(5)", ()).map_err(|error| error.sqlstate().0);
        told.send(()).ok();
        let got = b.execute("SELECT pg_advisory_lock(5)", ());
        (interrupted, got.is_ok())
    });
    thread::sleep(Duration::from_millis(50));
    interrupt.interrupt();
    hears.recv_timeout(Duration::from_secs(20)).expect("it is interrupted");
    thread::sleep(Duration::from_millis(30));
    a.execute("SELECT pg_advisory_unlock(5)", ())?;
    assert_eq!(waiting.join().expect("no panic"), (Err("57014"), true));
    Ok(())
}

#[test]
fn waiting_in_a_circle_is_told() -> Result<()> {
    let database = Database::open_in_memory()?;
    let sessions: Vec<Connection> = (0..3).map(|_| database.connect()).collect::<Result<_>>()?;
    for (number, session) in sessions.iter().enumerate() {
        session.execute(&format!("SELECT pg_advisory_lock({number})"), ())?;
    }
    let waiting: Vec<_> = (0..3)
        .zip(sessions)
        .map(|(number, session)| {
            thread::spawn(move || {
                let next = format!("SELECT pg_advisory_lock({})", (number + 1) % 3);
                let got = session.execute(&next, ()).map_err(|error| error.sqlstate().0);
                // Whoever is told gives way.
                drop(session);
                got.is_err_and(|state| state == "40P01")
            })
        })
        .collect();
    let told = waiting.into_iter().filter_map(|waiting| waiting.join().ok()).filter(|told| *told).count();
    assert_eq!(told, 1);
    Ok(())
}

#[test]
fn a_pool_hands_on_no_connection_that_has_locked_something() -> Result<()> {
    let database = Database::open_in_memory()?;
    let pool = database.pool(2);
    pool.get()?.execute("SELECT pg_advisory_lock(1)", ())?;
    assert_eq!(value(&database.connect()?, "SELECT pg_try_advisory_lock(1)"), "t");
    Ok(())
}

/// `waits` begins to wait for the number 1, which `has` has, and gets it when `has` has committed a row.
fn row_behind_lock(has: &Connection, waits: Connection) -> Result<Connection> {
    has.execute_script("BEGIN; SELECT pg_advisory_xact_lock(1)")?;
    let waiting = thread::spawn(move || {
        waits.execute("SELECT pg_advisory_xact_lock(1)", ())?;
        Ok(waits)
    });
    thread::sleep(Duration::from_millis(100));
    has.execute_script("INSERT INTO t VALUES (1); COMMIT")?;
    waiting.join().expect("a thread")
}

#[test]
fn who_got_a_lock_sees_what_was_committed_under_it() -> Result<()> {
    let database = Database::open_in_memory()?;
    let (a, b) = (database.connect()?, database.connect()?);
    a.execute_script("CREATE TABLE t (n int); CREATE TABLE other (n int)")?;
    b.execute("BEGIN", ())?;
    let b = row_behind_lock(&a, b)?;
    assert_eq!(value(&b, "SELECT count(*) FROM t"), "1");
    b.execute_script("INSERT INTO t SELECT count(*) + 1 FROM t; COMMIT")?;
    // What it wrote itself goes on with it.
    b.execute_script("BEGIN; INSERT INTO other VALUES (5)")?;
    let b = row_behind_lock(&a, b)?;
    assert_eq!(value(&b, "SELECT count(*), (SELECT n FROM other) FROM t"), "3|5");
    b.execute("COMMIT", ())?;
    assert_eq!(value(&a, "SELECT n FROM other"), "5");
    Ok(())
}

#[test]
fn what_was_read_before_a_lock_stays_as_it_was_read() -> Result<()> {
    let database = Database::open_in_memory()?;
    let (a, b) = (database.connect()?, database.connect()?);
    a.execute_script("CREATE TABLE t (n int)")?;
    b.execute("BEGIN", ())?;
    assert_eq!(value(&b, "SELECT count(*) FROM t"), "0");
    let b = row_behind_lock(&a, b)?;
    assert_eq!(value(&b, "SELECT count(*) FROM t"), "0");
    b.execute("INSERT INTO t VALUES (2)", ())?;
    fails(&b, "COMMIT", "40001");
    assert_eq!(value(&a, "SELECT count(*) FROM t"), "1");
    Ok(())
}

#[test]
fn a_cursor_reads_what_it_would_have_read_before_a_lock() -> Result<()> {
    let database = Database::open_in_memory()?;
    let (a, b) = (database.connect()?, database.connect()?);
    a.execute_script("CREATE TABLE t (n int)")?;
    b.execute_script("BEGIN; DECLARE c CURSOR FOR SELECT * FROM t")?;
    let b = row_behind_lock(&a, b)?;
    assert!(rows(&b, "FETCH ALL FROM c").is_empty());
    b.execute_script("ROLLBACK")
}

/// A pool's interrupt is renewed for each use of a connection: what waits looked at the first one.
#[test]
fn a_renewed_interrupt_ends_who_waits() -> Result<()> {
    let database = Database::open_in_memory()?;
    let holder = database.connect()?;
    holder.execute("SELECT pg_advisory_lock(1)", ())?;
    for waiting in ["SELECT pg_advisory_lock(1)", "SELECT pg_sleep(20)"] {
        let mut pooled = cairndb::Pooled::new(database.connect()?, &cairndb::PlanCache::default());
        let handle = pooled.renew_interrupt();
        let started = std::time::Instant::now();
        let code = std::thread::scope(|scope| {
            let waits =
                scope.spawn(move || pooled.connection().execute(waiting, ()).err().map(|error| error.sqlstate().0));
            std::thread::sleep(std::time::Duration::from_millis(50));
            handle.interrupt();
            waits.join().expect("an answer")
        });
        assert_eq!(code, Some("57014"), "{waiting}");
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{waiting}: {:?}", started.elapsed());
    }
    Ok(())
}
