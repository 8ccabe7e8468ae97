//! Transactions, savepoints, failed transactions, and schema changes inside them.

use std::time::{Duration, Instant};

use crate::common::{connect, fails, rows};
use cairndb::{Connection, Database, Result};

#[test]
fn rollback_undoes_rows_and_schema() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)");
    conn.execute_script(
        "BEGIN; INSERT INTO t VALUES (2); CREATE TABLE u (b int); INSERT INTO u VALUES (7); ALTER TABLE t ADD c text",
    )?;
    assert_eq!(rows(&conn, "SELECT * FROM t, u ORDER BY a"), ["1|NULL|7", "2|NULL|7"]);
    conn.execute("ROLLBACK", ())?;
    assert_eq!(rows(&conn, "SELECT * FROM t"), ["1"]);
    fails(&conn, "SELECT * FROM u", "42P01");
    Ok(())
}

#[test]
fn others_see_a_schema_change_when_it_commits() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY)");
    let other = conn.database().connect()?;
    conn.execute_script("BEGIN; CREATE TABLE u (b int)")?;
    fails(&other, "SELECT * FROM u", "42P01");
    conn.execute("COMMIT", ())?;
    assert!(rows(&other, "SELECT * FROM u").is_empty());
    Ok(())
}

#[test]
fn an_error_fails_the_transaction_until_its_end() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY)");
    conn.execute_script("BEGIN; INSERT INTO t VALUES (1)")?;
    fails(&conn, "SELECT 1 / 0", "22012");
    assert!(conn.in_transaction() && conn.transaction_failed());
    let error = fails(&conn, "SELECT 1", "25P02");
    assert!(error.message().starts_with("current transaction is aborted"));
    fails(&conn, "SAVEPOINT s", "25P02");
    conn.run("COMMIT", |outcome| {
        assert_eq!(outcome.tag(), "ROLLBACK");
        Ok(())
    })?;
    assert!(!conn.in_transaction() && rows(&conn, "SELECT * FROM t").is_empty());
    Ok(())
}

#[test]
fn an_error_while_rows_are_taken_fails_the_transaction_too() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int); INSERT INTO t SELECT 3000 - n FROM generate_series(0, 3000) AS s(n)");
    conn.execute("BEGIN", ())?;
    let mut result = conn.query("SELECT 1 / a FROM t", ())?;
    let error = loop {
        match result.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a division by zero must be noticed"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.sqlstate().0, "22012");
    assert!(conn.transaction_failed());
    Ok(())
}

#[test]
fn savepoints_nest_and_are_returned_to() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY)");
    conn.execute_script(
        "BEGIN; INSERT INTO t VALUES (1); SAVEPOINT one; INSERT INTO t VALUES (2);\
         SAVEPOINT two; INSERT INTO t VALUES (3); CREATE TABLE u (x int)",
    )?;
    fails(&conn, "INSERT INTO t VALUES (3)", "23505");
    conn.execute("ROLLBACK TO SAVEPOINT two", ())?;
    assert_eq!(rows(&conn, "SELECT a FROM t ORDER BY a"), ["1", "2"]);
    fails(&conn, "SELECT * FROM u", "42P01");
    conn.execute_script("ROLLBACK TO two; INSERT INTO t VALUES (4); RELEASE one")?;
    fails(&conn, "ROLLBACK TO two", "3B001");
    conn.execute("ROLLBACK", ())?;
    fails(&conn, "SAVEPOINT outside", "25P01");
    assert!(rows(&conn, "SELECT * FROM t").is_empty());
    Ok(())
}

#[test]
fn odd_transaction_commands_are_warned_about() -> Result<()> {
    let conn = connect("");
    conn.execute_script("COMMIT; BEGIN; BEGIN; ROLLBACK; ROLLBACK")?;
    let mut messages = Vec::new();
    conn.run("COMMIT; BEGIN; BEGIN; ROLLBACK; ROLLBACK", |outcome| {
        messages.extend(outcome.notices().iter().map(|notice| notice.message.clone()));
        Ok(())
    })?;
    let nothing = "there is no transaction in progress";
    assert_eq!(messages, [nothing, "there is already a transaction in progress", nothing]);
    Ok(())
}

#[test]
fn read_only_transactions_refuse_writes() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int); CREATE SEQUENCE s");
    for sql in ["INSERT INTO t VALUES (1)", "CREATE TABLE u (a int)", "SELECT nextval('s')"] {
        conn.execute("BEGIN READ ONLY", ())?;
        fails(&conn, sql, "25006");
        conn.execute("ROLLBACK", ())?;
    }
    Ok(())
}

#[test]
fn the_guard_and_the_closure_roll_back_unless_all_went_well() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY)");
    {
        let tx = conn.begin()?;
        tx.execute("INSERT INTO t VALUES (1)", ())?;
    }
    let failed = conn.transaction(|tx| {
        tx.execute("INSERT INTO t VALUES (2)", ())?;
        tx.execute("INSERT INTO t VALUES (2)", ())
    });
    assert_eq!(failed.unwrap_err().sqlstate().0, "23505");
    assert!(!conn.in_transaction());
    conn.transaction(|tx| tx.execute("INSERT INTO t VALUES (3)", ()))?;
    let tx = conn.begin()?;
    tx.execute("INSERT INTO t VALUES (4)", ())?;
    assert_eq!(conn.begin().err().map(|error| error.sqlstate().0), Some("25001"));
    tx.commit()?;
    assert_eq!(rows(&conn, "SELECT a FROM t ORDER BY a"), ["3", "4"]);
    Ok(())
}

#[test]
fn a_statement_never_sees_its_own_changes() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 1), (2, 2)");
    assert_eq!(conn.execute("INSERT INTO t SELECT a + 10, b FROM t", ())?, 2);
    assert_eq!(conn.execute("UPDATE t SET b = (SELECT max(b) FROM t) + b", ())?, 4);
    assert_eq!(rows(&conn, "SELECT a, b FROM t ORDER BY a"), ["1|3", "2|4", "11|3", "12|4"]);
    assert_eq!(conn.execute("DELETE FROM t WHERE b < (SELECT max(b) FROM t)", ())?, 2);
    Ok(())
}

#[test]
fn settings_return_with_the_transaction() -> Result<()> {
    let conn = connect("");
    conn.execute_script("SET timezone = 'Europe/Paris'; BEGIN; SET LOCAL timezone = 'UTC'")?;
    assert_eq!(rows(&conn, "SHOW timezone"), ["UTC"]);
    conn.execute("COMMIT", ())?;
    assert_eq!(rows(&conn, "SHOW timezone"), ["Europe/Paris"]);
    conn.execute_script("BEGIN; SET timezone = 'Asia/Tokyo'; ROLLBACK")?;
    assert_eq!(rows(&conn, "SHOW TIME ZONE"), ["Europe/Paris"]);
    fails(&conn, "SET timezone = 'Mars/Olympus'", "22023");
    fails(&conn, "SET nonsense = 1", "42704");
    Ok(())
}

#[test]
fn a_running_statement_can_be_stopped() -> Result<()> {
    let conn = connect("");
    let endless = "SELECT count(*) FROM generate_series(1, 100000000) AS a(n), generate_series(1, 1000) AS b(n)";
    conn.execute("SET statement_timeout = '50ms'", ())?;
    let error = fails(&conn, endless, "57014");
    assert_eq!(error.message(), "canceling statement due to statement timeout");
    conn.execute("SET statement_timeout = 0", ())?;
    let handle = conn.interrupt_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        handle.interrupt();
    });
    let error = fails(&conn, endless, "57014");
    assert_eq!(error.message(), "canceling statement due to user request");
    stopper.join().unwrap();
    assert_eq!(rows(&conn, "SELECT 1"), ["1"]);
    Ok(())
}

/// Reads a row and loses it to another so often that its next transaction gets a turn, which lasts for 100 ms and twice as
/// long as the longest try took.
fn lose(loser: &Connection, other: &Connection, longest: Duration) -> Result<()> {
    for tried in 0..8 {
        loser.execute("BEGIN", ())?;
        rows(loser, "SELECT b FROM t WHERE a = 1");
        loser.execute("UPDATE t SET b = 1 WHERE a = 2", ())?;
        // The first one is not timed.
        std::thread::sleep(if tried == 1 { longest } else { Duration::ZERO });
        other.execute("UPDATE t SET b = b + 1 WHERE a = 1", ())?;
        fails(loser, "COMMIT", "40001");
    }
    Ok(())
}

/// They waited for all of the other's turn, whatever the statement's limit.
#[test]
fn a_commit_that_waits_for_anothers_turn_can_be_stopped() -> Result<()> {
    let db = Database::open_in_memory()?;
    let (first, second, other) = (db.connect()?, db.connect()?, db.connect()?);
    other.execute_script("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 0), (2, 0)")?;
    lose(&first, &other, Duration::from_millis(1500))?;
    let changes = "UPDATE t SET b = -1 WHERE a = 1";
    let mut by_key = second.prepare("UPDATE t SET b = $1 WHERE a = $2")?;
    first.execute("BEGIN", ())?;
    let asked = Instant::now();
    second.execute("SET statement_timeout = '50ms'", ())?;
    let in_time = "canceling statement due to statement timeout";
    let error = by_key.execute((-1, 1)).unwrap_err();
    assert_eq!((error.sqlstate().0, error.message()), ("57014", in_time));
    assert_eq!(fails(&second, changes, "57014").message(), in_time);
    second.execute("BEGIN", ())?;
    second.execute(changes, ())?;
    assert_eq!(fails(&second, "COMMIT", "57014").message(), in_time);
    second.execute("SET statement_timeout = 0", ())?;
    let handle = second.interrupt_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        handle.interrupt();
    });
    assert_eq!(fails(&second, changes, "57014").message(), "canceling statement due to user request");
    stopper.join().unwrap();
    assert!(asked.elapsed() < Duration::from_millis(2500), "{:?}", asked.elapsed());
    assert_eq!(rows(&first, "SELECT b FROM t WHERE a = 1"), ["8"]);
    first.execute("UPDATE t SET b = 1 WHERE a = 2", ())?;
    first.execute("COMMIT", ())?;
    // Nobody is in the way any more.
    assert_eq!(by_key.execute((9, 1))?, 1);
    assert_eq!(rows(&other, "SELECT b FROM t ORDER BY a"), ["9", "1"]);
    Ok(())
}

/// Whoever waited for a turn, after many lost tries, waited for all of it, whatever the statement's limit.
#[test]
fn a_statement_that_waits_for_its_turn_can_be_stopped() -> Result<()> {
    let db = Database::open_in_memory()?;
    let (first, second, other) = (db.connect()?, db.connect()?, db.connect()?);
    other.execute_script("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 0), (2, 0)")?;
    for loser in [&first, &second] {
        lose(loser, &other, Duration::from_millis(150))?;
    }
    first.execute("BEGIN", ())?;
    second.execute("SET statement_timeout = '50ms'", ())?;
    let asked = Instant::now();
    let error = fails(&second, "BEGIN", "57014");
    assert_eq!(error.message(), "canceling statement due to statement timeout");
    second.execute("SET statement_timeout = 0", ())?;
    let handle = second.interrupt_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        handle.interrupt();
    });
    let error = fails(&second, "BEGIN", "57014");
    assert_eq!(error.message(), "canceling statement due to user request");
    stopper.join().unwrap();
    assert!(asked.elapsed() < Duration::from_millis(350), "{:?}", asked.elapsed());
    // Its turn comes all the same.
    first.execute("ROLLBACK", ())?;
    second.execute("BEGIN", ())?;
    second.execute("ROLLBACK", ())?;
    Ok(())
}
