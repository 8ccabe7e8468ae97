//! Procedures that end their transaction: beside other sessions, when they fail, when they are stopped.

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use cairndb::{Connection, DataType, Database, Error, FunctionOptions, Options, Result, SqlState, params};

fn number(conn: &Connection, sql: &str) -> i64 {
    conn.query_row(sql, (), |row| row.get(0)).expect(sql)
}

fn failure(conn: &Connection, sql: &str) -> Error {
    conn.execute(sql, ()).expect_err(sql)
}

fn code(conn: &Connection, sql: &str) -> &'static str {
    failure(conn, sql).sqlstate().0
}

fn with_account() -> (Database, Connection) {
    let database = Database::open_in_memory().expect("opens");
    let conn = database.connect().expect("connects");
    conn.execute_script("CREATE TABLE account (id int PRIMARY KEY, n int); INSERT INTO account VALUES (1, 0), (2, 0)")
        .expect("creates");
    (database, conn)
}

/// `interfere()`: another session adds to the account that no one else writes to, the first `times` times that it is called.
fn with_interference(conn: &Connection, times: i32) {
    let other = std::sync::Mutex::new(conn.database().connect().expect("connects"));
    let left = AtomicI32::new(times);
    let interfere = move |_: &cairndb::Arguments<'_>| -> Result<i32> {
        if left.fetch_sub(1, Ordering::Relaxed) > 0 {
            other.lock().expect("locks").execute("UPDATE account SET n = n + 100 WHERE id = 1", ())?;
        }
        Ok(0)
    };
    conn.create_function("interfere", &[], DataType::Integer, FunctionOptions::default(), interfere).expect("creates");
}

#[test]
fn what_is_committed_is_seen_by_others_before_the_procedure_is_over() {
    let (database, conn) = with_account();
    let other = std::sync::Mutex::new(database.connect().expect("connects"));
    let look = move |_: &cairndb::Arguments<'_>| {
        other.lock().expect("locks").query_row("SELECT n FROM account WHERE id = 1", (), |row| row.get::<i32>(0))
    };
    conn.create_function("look", &[], DataType::Integer, FunctionOptions::default(), look).expect("creates");
    conn.execute_script(
        "CREATE TABLE seen (n int);
         DO $$ BEGIN
             UPDATE account SET n = 1;
             INSERT INTO seen VALUES (look());
             COMMIT;
             INSERT INTO seen VALUES (look());
             COMMIT;
             UPDATE account SET n = 2;
             ROLLBACK;
             INSERT INTO seen SELECT n FROM account WHERE id = 1;
         END $$",
    )
    .expect("runs");
    let seen: Vec<i32> = conn.query_as("SELECT n FROM seen", ()).expect("selects").map(Result::unwrap).collect();
    assert_eq!(seen, [0, 1, 1]);
}

#[test]
fn until_its_first_commit_a_body_runs_again_where_another_was_in_its_way() {
    let (_database, conn) = with_account();
    with_interference(&conn, 3);
    let body = "DO $$ DECLARE before int; BEGIN
        ROLLBACK;
        SELECT n INTO before FROM account WHERE id = 1;
        PERFORM interfere();
        UPDATE account SET n = before + 1 WHERE id = 1;
        COMMIT;
        UPDATE account SET n = n + 1 WHERE id = 2;
    END $$";
    conn.execute(body, ()).expect("runs");
    assert_eq!(number(&conn, "SELECT n::bigint FROM account WHERE id = 1"), 301);
    assert_eq!(number(&conn, "SELECT n::bigint FROM account WHERE id = 2"), 1);
}

#[test]
fn after_its_first_commit_a_conflict_is_the_callers_and_what_was_committed_stays() {
    let (_database, conn) = with_account();
    with_interference(&conn, 1);
    let body = "DO $$ DECLARE before int; BEGIN
        UPDATE account SET n = n + 1 WHERE id = 2;
        COMMIT;
        SELECT n INTO before FROM account WHERE id = 1;
        PERFORM interfere();
        UPDATE account SET n = before + 1 WHERE id = 1;
    END $$";
    let error = failure(&conn, body);
    assert_eq!(error.sqlstate(), SqlState::SERIALIZATION_FAILURE);
    assert!(error.hint().is_some_and(|hint| hint.contains("committed before stays")), "{error:?}");
    assert_eq!(number(&conn, "SELECT n::bigint FROM account WHERE id = 2"), 1);
    assert_eq!(number(&conn, "SELECT n::bigint FROM account WHERE id = 1"), 100);
    conn.execute(body, ()).expect("runs when it is called again");
    assert_eq!(number(&conn, "SELECT sum(n) FROM account"), 103);
}

/// Each step moves one from an account to the other; whoever looks sees the same sum, and no step is lost or done twice.
#[test]
fn a_procedure_that_commits_in_a_loop_and_writers_beside_it_lose_nothing() {
    let (database, conn) = with_account();
    conn.execute_script(
        "CREATE TABLE step (who int, at int);
         CREATE PROCEDURE move(who int, from_at int, to_at int, INOUT done int) LANGUAGE plpgsql AS $$ BEGIN
             WHILE done < to_at LOOP
                 UPDATE account SET n = n - 1 WHERE id = 1;
                 UPDATE account SET n = n + 1 WHERE id = 2;
                 INSERT INTO step VALUES (who, done);
                 COMMIT;
                 done := done + 1;
             END LOOP;
         END $$",
    )
    .expect("creates");
    thread::scope(|scope| {
        for who in 1..=2 {
            let conn = database.connect().expect("connects");
            scope.spawn(move || {
                let done = || number(&conn, &format!("SELECT count(*) FROM step WHERE who = {who}"));
                while done() < 200 {
                    match conn.execute("CALL move($1, 0, 200, $2)", (who, done() as i32)) {
                        Ok(_) => {}
                        Err(error) => assert_eq!(error.sqlstate(), SqlState::SERIALIZATION_FAILURE, "{error:?}"),
                    }
                }
            });
        }
        let conn = database.connect().expect("connects");
        scope.spawn(move || {
            for _ in 0..200 {
                assert_eq!(number(&conn, "SELECT sum(n) FROM account"), 0);
            }
        });
    });
    assert_eq!(number(&conn, "SELECT n::bigint FROM account WHERE id = 2"), 400);
    assert_eq!(number(&conn, "SELECT count(DISTINCT (who, at)) FROM step"), 400);
}

#[test]
fn a_procedure_is_stopped_between_its_transactions_and_within_them() {
    let (database, conn) = with_account();
    conn.execute("SET statement_timeout = 100", ()).expect("sets");
    for body in [
        "COMMIT",
        "ROLLBACK",
        "UPDATE account SET n = n + 1; COMMIT",
        "PERFORM count(*) FROM generate_series(1, 100); COMMIT",
    ] {
        assert_eq!(code(&conn, &format!("DO $$ BEGIN LOOP {body}; END LOOP; END $$")), "57014", "{body}");
    }
    // What is left of a loop is read under the same limits.
    let endless = "DO $$ DECLARE r record; BEGIN
        FOR r IN SELECT a FROM generate_series(1, 100000) a, generate_series(1, 100000) b LOOP COMMIT; END LOOP; END $$";
    assert_eq!(code(&conn, endless), "57014");
    conn.execute("SET statement_timeout = 0", ()).expect("sets");
    let (handle, before) = (conn.interrupt_handle(), number(&conn, "SELECT sum(n) FROM account"));
    assert!(before > 0, "what was committed stays");
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(100));
            handle.interrupt();
        });
        assert_eq!(code(&conn, "DO $$ BEGIN LOOP UPDATE account SET n = n + 1; COMMIT; END LOOP; END $$"), "57014");
    });
    assert!(number(&database.connect().expect("connects"), "SELECT sum(n) FROM account") > before);
    assert!(!conn.in_transaction());
}

#[test]
fn calls_of_procedures_that_commit_are_bounded_and_may_be_deep() {
    let (_database, conn) = with_account();
    conn.execute_script(
        "CREATE PROCEDURE deep(n int) LANGUAGE plpgsql AS $$ BEGIN
             UPDATE account SET n = account.n + 1 WHERE id = 1;
             COMMIT;
             IF n <> 0 THEN CALL deep(n - 1); END IF;
             UPDATE account SET n = account.n + 1 WHERE id = 2;
             COMMIT;
         END $$",
    )
    .expect("creates");
    conn.execute("CALL deep(200)", ()).expect("runs");
    assert_eq!(number(&conn, "SELECT sum(n) FROM account"), 402);
    assert_eq!(code(&conn, "CALL deep(-1)"), "54001");
    conn.execute("CALL deep(3)", ()).expect("the session is as it was");
    // One that calls others in turn is not deeper for that.
    conn.execute("DO $$ BEGIN FOR i IN 1..3000 LOOP CALL deep(0); END LOOP; END $$", ()).expect("runs");
}

#[test]
fn call_takes_parameters_wherever_it_is_said() {
    let (_database, conn) = with_account();
    conn.execute_script(
        "CREATE PROCEDURE add(INOUT a bigint, b text DEFAULT 'x') LANGUAGE plpgsql AS $$ BEGIN
             UPDATE account SET n = add.a; COMMIT; a := a + length(b); END $$;
         CREATE PROCEDURE add_in_block(INOUT a int) LANGUAGE sql AS 'UPDATE account SET n = a; SELECT a + 1'",
    )
    .expect("creates");
    let added = |sql: &str, text: &str| conn.query_row(sql, (41_i64, text), |row| row.get::<i64>(0));
    assert_eq!(added("CALL add($1, $2)", "four").expect("calls"), 45);
    assert_eq!(added("CALL add(b => $2, a => $1)", "six666").expect("calls"), 47);
    let named = conn.query_row("CALL add(:a, :b)", params! { a: 1, b: "1" }, |row| row.get::<i64>("a"));
    assert_eq!(named.expect("calls"), 2);
    let mut prepared = conn.prepare("CALL add($1)").expect("prepares");
    for a in 0..3_i64 {
        assert_eq!(prepared.query_row((a,), |row| row.get::<i64>(0)).expect("calls"), a + 1);
    }
    drop(prepared);
    assert_eq!(failure(&conn, "CALL add($1)").sqlstate().0, "42P02");
    assert_eq!(conn.execute("CALL add($1)", (1, 2)).expect_err("two").sqlstate().0, "08P01");
    assert_eq!(conn.execute("DO 'BEGIN END'", (1,)).expect_err("none").sqlstate().0, "08P01");
    assert_eq!(conn.execute("CALL add($1)", ("no number",)).expect_err("text").sqlstate().0, "22P02");

    let tx = conn.begin().expect("begins");
    let in_block = tx.query_row("CALL add_in_block($1)", (7,), |row| row.get::<i32>(0)).expect("calls");
    assert_eq!(in_block, 8);
    assert_eq!(tx.execute("CALL add($1)", (1_i64,)).expect_err("commits").sqlstate().0, "2D000");
    tx.rollback().expect("rolls back");
    assert_eq!(number(&conn, "SELECT max(n)::bigint FROM account"), 2);
}

/// The file is closed and opened again: what was committed is there, and nothing else.
#[test]
fn what_a_procedure_committed_is_durable_though_it_failed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("procedures.cairn");
    let database = Database::open_with(&path, Options::default()).expect("opens");
    let conn = database.connect().expect("connects");
    conn.execute_script("CREATE TABLE t (a int PRIMARY KEY)").expect("creates");
    let body = "DO $$ BEGIN FOR i IN 1..100 LOOP INSERT INTO t VALUES (i); IF i % 10 = 0 THEN COMMIT; END IF;
        IF i = 55 THEN RAISE division_by_zero; END IF; END LOOP; END $$";
    assert_eq!(code(&conn, body), "22012");
    drop(conn);
    database.close().expect("closes");
    let conn = Database::open(&path).expect("opens again").connect().expect("connects");
    assert_eq!(number(&conn, "SELECT max(a)::bigint FROM t"), 50);
}

#[test]
fn each_commit_notifies() {
    let (database, conn) = with_account();
    let listener = database.connect().expect("connects");
    listener.execute("LISTEN steps", ()).expect("listens");
    conn.execute(
        "DO $$ BEGIN
            PERFORM pg_notify('steps', 'one'); COMMIT;
            PERFORM pg_notify('steps', 'two'); ROLLBACK;
            NOTIFY steps, 'three'; COMMIT;
            NOTIFY steps, 'four';
         END $$",
        (),
    )
    .expect("runs");
    let heard: Vec<String> = listener.notifications().drain().iter().map(|heard| heard.payload().to_owned()).collect();
    assert_eq!(heard, ["one", "three", "four"]);
}

#[test]
fn a_large_loop_in_a_procedure_is_held_within_its_limits() {
    let (_database, conn) = with_account();
    conn.execute_script(
        "CREATE TABLE big AS SELECT g AS a, repeat('x', 100) AS b FROM generate_series(1, 20000) g; ANALYZE big;
         SET work_mem = '64kB'; SET statement_mem = '1MB'",
    )
    .expect("creates");
    let body = "DO $$ DECLARE r record; s bigint := 0; BEGIN
        FOR r IN SELECT a, b FROM big ORDER BY a LOOP s := s + r.a + length(r.b); IF r.a % 5000 = 1 THEN COMMIT; END IF; END LOOP;
        UPDATE account SET n = s; END $$";
    conn.execute(body, ()).expect("runs");
    assert_eq!(number(&conn, "SELECT max(n)::bigint FROM account"), 20000 * 20001 / 2 + 20000 * 100);
}
