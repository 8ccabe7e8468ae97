//! Each limit, what it says when it is reached, and that the connection goes on.

use std::time::{Duration, Instant};

use cairn_storage::{Environment, Options as StorageOptions, Store, TreeId};
use cairndb::{Connection, Database, Options, SqlState, Value};

/// Waiting for the background takes as long as a busy machine makes it.
const PATIENCE: Duration = Duration::from_secs(120);

fn connect(options: Options) -> Connection {
    let conn = Database::open_in_memory_with(options).unwrap().connect().unwrap();
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT n, 'v' FROM generate_series(1, 2000) s(n)",
    )
    .unwrap();
    conn
}

fn count(conn: &Connection) -> i64 {
    conn.query_row("SELECT count(*) FROM t", (), |row| row.get(0)).unwrap()
}

fn code<T>(result: cairndb::Result<T>) -> SqlState {
    result.err().expect("an error").sqlstate()
}

#[test]
fn a_transaction_that_waits_too_long_is_rolled_back_and_told() {
    let conn = connect(Options::default());
    let wait_in_vain = |tx: &Connection| {
        tx.execute("SET idle_in_transaction_session_timeout = '20ms'", ()).unwrap();
        std::thread::sleep(Duration::from_millis(60));
    };
    let tx = conn.begin().unwrap();
    tx.execute("INSERT INTO t VALUES (0, 'mine')", ()).unwrap();
    wait_in_vain(&tx);
    assert_eq!(
        code(tx.execute("INSERT INTO t VALUES (-1, 'mine')", ())),
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
    );
    assert_eq!(code(tx.execute("SELECT 1", ())), SqlState::IN_FAILED_SQL_TRANSACTION);
    tx.rollback().unwrap();
    assert_eq!(count(&conn), 2000);

    // COMMIT does not commit what waited too long, and a savepoint does not bring it back.
    let tx = conn.begin().unwrap();
    tx.execute("DELETE FROM t", ()).unwrap();
    tx.execute("SAVEPOINT s", ()).unwrap();
    wait_in_vain(&tx);
    assert_eq!(code(tx.execute("COMMIT", ())), SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT);
    assert!(tx.execute("ROLLBACK TO SAVEPOINT s", ()).is_err());
    assert!(conn.transaction_failed());
    drop(tx);
    assert_eq!(count(&conn), 2000);
    assert_eq!(
        conn.query_row("SHOW idle_in_transaction_session_timeout", (), |row| row.get::<String>(0)).unwrap(),
        "0"
    );
}

#[test]
fn prepared_statements_by_key_are_at_work_and_are_told_when_time_is_up() {
    let conn = connect(Options::default());
    let mut update = conn.prepare("UPDATE t SET v = 'w' WHERE id = $1").unwrap();
    let mut select = conn.prepare("SELECT v FROM t WHERE id = $1").unwrap();
    assert!(update.is_point() && select.is_point());
    let tx = conn.begin().unwrap();
    tx.execute("SET idle_in_transaction_session_timeout = '300ms'", ()).unwrap();
    // Longer than the limit altogether, but never idle for as long.
    for id in 1..=12 {
        std::thread::sleep(Duration::from_millis(40));
        assert_eq!(update.execute((id,)).unwrap(), 1);
        std::thread::sleep(Duration::from_millis(10));
        select.query_point((id,), |_| ()).unwrap().unwrap();
    }
    tx.execute("SET idle_in_transaction_session_timeout = '20ms'", ()).unwrap();
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(code(update.execute((1,))), SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT);
    tx.rollback().unwrap();

    let tx = conn.begin().unwrap();
    tx.execute("SET transaction_timeout = '20ms'", ()).unwrap();
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(code(select.query_point((1,), |_| ())), SqlState::TRANSACTION_TIMEOUT);
    tx.rollback().unwrap();
}

#[test]
fn a_transaction_that_takes_too_long_ends_in_a_statement_or_before_the_next() {
    let conn = connect(Options::default());
    conn.execute("SET transaction_timeout = '30ms'", ()).unwrap();
    let endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r) SELECT count(*) FROM r";
    assert_eq!(code(conn.execute(endless, ())), SqlState::TRANSACTION_TIMEOUT);
    conn.execute("SET transaction_timeout = 0", ()).unwrap();
    let tx = conn.begin().unwrap();
    tx.execute("SET transaction_timeout = '50ms'", ()).unwrap();
    assert_eq!(code(tx.execute(endless, ())), SqlState::TRANSACTION_TIMEOUT);
    tx.rollback().unwrap();
    let tx = conn.begin().unwrap();
    tx.execute("SET transaction_timeout = '50ms'", ()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(code(tx.commit()), SqlState::TRANSACTION_TIMEOUT);
    conn.execute("ROLLBACK", ()).unwrap();
    assert_eq!(count(&conn), 2000);
}

#[test]
fn a_query_and_a_transaction_on_a_snapshot_that_is_too_old_are_told() {
    let conn = connect(Options::default().max_snapshot_age(Duration::from_millis(20)));
    let other = conn.database().connect().unwrap();
    let mut rows = other.query("SELECT * FROM t ORDER BY id", ()).unwrap();
    rows.next().unwrap();
    let tx = other.begin().unwrap();
    tx.execute("INSERT INTO t VALUES (-5, 'mine')", ()).unwrap();
    conn.execute("UPDATE t SET v = 'new'", ()).unwrap();
    let begun = Instant::now();
    while conn.database().stats().snapshots_ended < 2 {
        assert!(begun.elapsed() < PATIENCE, "nothing was ended");
        std::thread::sleep(Duration::from_millis(2));
    }
    let error = loop {
        match rows.next() {
            Ok(Some(row)) => assert_eq!(row.get::<String>(1).unwrap(), "v"),
            Ok(None) => panic!("a scan of an ended snapshot came to its end"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.sqlstate(), SqlState::SNAPSHOT_TOO_OLD);
    assert_eq!(code(tx.query_row("SELECT count(*) FROM t", (), |row| row.get::<i64>(0))), SqlState::SNAPSHOT_TOO_OLD);
    tx.rollback().unwrap();
    assert_eq!(count(&other), 2000);
}

#[test]
fn a_transaction_with_too_many_changes_is_refused() {
    let conn = connect(Options::default().max_transaction_bytes(100_000));
    let error =
        conn.execute("INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(3000, 9000) s(n)", ()).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::CONFIGURATION_LIMIT_EXCEEDED);
    assert!(error.message().contains("max_transaction_bytes"), "{error}");
    assert_eq!(count(&conn), 2000);
    conn.execute("INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(3000, 3100) s(n)", ()).unwrap();
    assert_eq!(count(&conn), 2101);
}

#[test]
fn tables_have_1600_columns_at_most() {
    let conn = connect(Options::default());
    let columns = |count: usize| (0..count).map(|i| format!("c{i} int")).collect::<Vec<_>>().join(", ");
    assert_eq!(code(conn.execute(&format!("CREATE TABLE wide ({})", columns(1601)), ())), SqlState::TOO_MANY_COLUMNS);
    conn.execute(&format!("CREATE TABLE wide ({})", columns(1600)), ()).unwrap();
    assert_eq!(code(conn.execute("ALTER TABLE wide ADD COLUMN more int", ())), SqlState::TOO_MANY_COLUMNS);
    let values = (0..1601).map(|i| format!("{i} AS c{i}")).collect::<Vec<_>>().join(", ");
    assert_eq!(code(conn.execute(&format!("CREATE TABLE wider AS SELECT {values}"), ())), SqlState::TOO_MANY_COLUMNS);
}

/// 120 units are ordered greedily; with the time of a statement over, planning is.
#[test]
fn planning_takes_no_longer_than_a_statement_may() {
    let conn = connect(Options::default());
    let tables: Vec<String> = (0..110).map(|n| format!("one t{n}")).collect();
    let query = format!("SELECT count(*) FROM {}", tables.join(" CROSS JOIN "));
    conn.execute_script("CREATE TABLE one (a int); INSERT INTO one VALUES (1)").unwrap();
    conn.execute("SET statement_timeout = '20ms'", ()).unwrap();
    let begun = Instant::now();
    assert_eq!(code(conn.prepare(&query)), SqlState::QUERY_CANCELED);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    conn.execute("RESET statement_timeout", ()).unwrap();
    let found: i64 = conn.query_row(&query, (), |row| row.get(0)).unwrap();
    assert_eq!(found, 1);
}

/// Each of them would take minutes or hours, in one call.
#[test]
fn functions_of_extensions_take_no_longer_than_a_statement_may() {
    let conn = connect(Options::default());
    let words = "SELECT string_agg(to_hex(n * 7919 + 1048576), ' ') AS w FROM generate_series(1, 60000) n";
    conn.execute(&format!("CREATE TABLE long AS {words}"), ()).unwrap();
    for call in [
        "crypt('secret', '$2a$31$abcdefghijklmnopqrstuu')",
        "word_similarity(w, w || ' beyond')",
        "strict_word_similarity(w, w || ' beyond')",
        "w <<-> w",
    ] {
        conn.execute("SET statement_timeout = '300ms'", ()).unwrap();
        let begun = Instant::now();
        assert_eq!(
            code(conn.query_row(&format!("SELECT {call} FROM long"), (), |_| Ok(()))),
            SqlState::QUERY_CANCELED,
            "{call}"
        );
        assert!(begun.elapsed() < Duration::from_secs(30), "{call}: {:?}", begun.elapsed());
    }
}

/// Items of a WITH beside each other are no depth.
#[test]
fn two_hundred_queries_of_a_with_stand_beside_each_other() {
    let conn = connect(Options::default());
    let alone: Vec<String> = (0..200).map(|n| format!("w{n} AS (SELECT {n} AS n)")).collect();
    let sum = |with: &str| -> i64 {
        let query = format!("WITH {with} SELECT w0.n + w199.n FROM w0, w199");
        conn.query_row(&query, (), |row| row.get(0)).unwrap()
    };
    assert_eq!(sum(&alone.join(", ")), 199);
    let next = |n: usize| format!("w{n} AS (SELECT n + 1 AS n FROM w{})", n - 1);
    let chained: Vec<String> = std::iter::once("w0 AS (SELECT 0 AS n)".to_owned()).chain((1..200).map(next)).collect();
    assert_eq!(sum(&chained.join(", ")), 199);
}

#[test]
fn text_nesting_and_parameters_are_bounded() {
    let conn = connect(Options::default());
    let nested = |depth: usize| format!("SELECT {}1{}", "abs(".repeat(depth), ")".repeat(depth));
    assert_eq!(code(conn.execute(&nested(500), ())), SqlState::STATEMENT_TOO_COMPLEX);
    conn.execute(&nested(50), ()).unwrap();
    let long = format!("SELECT '{}'", "x".repeat(64 << 20));
    assert_eq!(code(conn.execute(&long, ())), SqlState::PROGRAM_LIMIT_EXCEEDED);
    assert!(conn.prepare("SELECT $70000::int").is_err());
    assert_eq!(conn.query_row("SELECT 1", (), |row| row.get::<Value>(0)).unwrap(), Value::Integer(1));
}

/// Numbers of temporary relations begin where those of others end: a table that got one lay in the session's own store.
#[test]
fn a_database_that_has_had_all_tables_it_can_have_says_so() {
    let store = Store::open_with("many", StorageOptions::default(), Environment::in_memory()).unwrap();
    let conn = Database::over(store.clone(), Options::default()).unwrap().connect().unwrap();
    conn.execute_script("CREATE TABLE t (n int)").unwrap();
    let transaction = store.begin().unwrap();
    transaction.ensure_tree(TreeId((1 << 30) - 2)).unwrap();
    transaction.commit(None).unwrap();
    conn.execute_script("CREATE TABLE last (n int); INSERT INTO last VALUES (1)").unwrap();
    for more in ["CREATE TABLE more (n int)", "CREATE INDEX more ON last (n)", "TRUNCATE last"] {
        let refused = conn.execute(more, ()).unwrap_err();
        assert_eq!(refused.sqlstate().0, "54000", "{more}: {refused}");
    }
    conn.execute_script("CREATE TEMP TABLE own (n int); INSERT INTO own SELECT n FROM last").unwrap();
    let all: i64 = conn.query_row("SELECT count(*) FROM last JOIN own USING (n)", (), |row| row.get(0)).unwrap();
    assert_eq!(all, 1);
}
