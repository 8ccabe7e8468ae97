//! DELETE of all rows of a large table on its own replaces its trees: nothing else of it may be seen.

use std::thread;
use std::time::Duration;

use cairndb::{Connection, Database};

use crate::common::{connect, fails, opened, rows};

/// Far more rows than those from which on a table is large.
const ROWS: u64 = 40_000;

const TABLE: &str = "
    CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, b text);
    CREATE INDEX t_a ON t (a); CREATE UNIQUE INDEX t_b ON t (b);
    INSERT INTO t SELECT n, n % 100, 'row number ' || n FROM generate_series(1, 40000) n;";

/// Bytes that the log takes for what is done.
fn logged(database: &Database, work: impl FnOnce()) -> u64 {
    let written = || database.stats().log_bytes_written;
    let before = written();
    work();
    written() - before
}

fn delete(conn: &Connection) -> u64 {
    conn.execute("DELETE FROM t", ()).unwrap()
}

/// What no row is left of.
fn is_empty(conn: &Connection) -> bool {
    let counts = "SELECT count(*), (SELECT count(*) FROM t WHERE a = 7), (SELECT count(*) FROM t WHERE b > 'row')";
    rows(conn, &format!("{counts} FROM t")) == ["0|0|0"]
}

#[test]
fn rows_and_entries_are_gone_and_counted_and_the_log_has_no_row() {
    let (database, conn) = opened(TABLE);
    assert!(logged(&database, || assert_eq!(delete(&conn), ROWS)) < 20_000);
    assert!(is_empty(&conn));
    assert_eq!(delete(&conn), 0);
    // Keys are free again, and are kept.
    conn.execute("INSERT INTO t SELECT n, n, 'row number ' || n FROM generate_series(1, 10) n", ()).unwrap();
    fails(&conn, "INSERT INTO t VALUES (11, 1, 'row number 5')", "23505");
    assert_eq!(rows(&conn, "SELECT id FROM t WHERE a = 7"), ["7"]);
    assert_eq!(rows(&conn, "SELECT id FROM t WHERE b = 'row number 9'"), ["9"]);
    database.verify().unwrap();
}

#[test]
fn what_looks_at_the_rows_sees_each_of_them() {
    let log = "CREATE TABLE gone (n int);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO gone VALUES (old.id); RETURN old; END';";
    let of_rows = "CREATE TRIGGER g AFTER DELETE ON t FOR EACH ROW EXECUTE FUNCTION note()";
    let conn = connect(&format!("{TABLE} {log} {of_rows}"));
    assert_eq!(delete(&conn), ROWS);
    assert_eq!(rows(&conn, "SELECT count(*), sum(n) FROM gone"), ["40000|800020000"]);

    let conn = connect(&format!("{TABLE} CREATE TABLE c (t int REFERENCES t); INSERT INTO c VALUES (40000)"));
    fails(&conn, "DELETE FROM t", "23503");
    assert_eq!(rows(&conn, "SELECT count(*) FROM t"), ["40000"]);
    conn.execute("TRUNCATE c", ()).unwrap();
    assert_eq!(delete(&conn), ROWS);

    let conn = connect(TABLE);
    let returned = "DELETE FROM t RETURNING id";
    assert_eq!(rows(&conn, &format!("WITH d AS ({returned}) SELECT count(*), sum(id) FROM d")), ["40000|800020000"]);
    assert!(is_empty(&conn));

    let conn = connect(&format!(
        "{TABLE} CREATE MATERIALIZED VIEW v WITH (maintained = commit) AS SELECT a, count(*) FROM t GROUP BY a"
    ));
    assert_eq!(rows(&conn, "SELECT count(*) FROM v"), ["100"]);
    assert_eq!(delete(&conn), ROWS);
    assert_eq!(rows(&conn, "SELECT count(*) FROM v"), ["0"]);
}

#[test]
fn who_reads_what_was_there_still_does_and_who_watches_is_told() {
    let (database, conn) = opened(TABLE);
    let reads = database.connect().unwrap();
    reads.execute_script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1 FROM t WHERE id = 1").unwrap();
    let mut live = conn.live("SELECT count(*) FROM t", ()).unwrap();
    let mut told = || {
        let change = live.next_change_within(Duration::from_secs(30)).unwrap().item().expect("a change");
        change
            .added()
            .chain(change.updated().map(|(_, new)| new))
            .map(|row| row.values()[0].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(told(), ["40000"]);
    let mut prepared = conn.prepare("SELECT b FROM t WHERE id = $1").unwrap();
    assert_eq!(delete(&conn), ROWS);
    assert_eq!(told(), ["0"]);
    assert_eq!(rows(&reads, "SELECT count(*), sum(id), count(b) FROM t"), ["40000|800020000|40000"]);
    reads.execute("COMMIT", ()).unwrap();
    assert!(is_empty(&reads));
    let mut is_there = || prepared.query((5,)).unwrap().next().unwrap().is_some();
    assert!(!is_there());
    conn.execute("INSERT INTO t VALUES (5, 5, 'five')", ()).unwrap();
    assert!(is_there());
}

#[test]
fn in_a_transaction_it_is_taken_back() {
    let conn = connect(TABLE);
    conn.execute_script("BEGIN; DELETE FROM t; INSERT INTO t VALUES (1, 1, 'one'); ROLLBACK").unwrap();
    assert_eq!(rows(&conn, "SELECT count(*), sum(id) FROM t"), ["40000|800020000"]);
    conn.execute_script("BEGIN; DELETE FROM t; INSERT INTO t VALUES (1, 1, 'one'); COMMIT").unwrap();
    assert_eq!(rows(&conn, "SELECT id, b FROM t"), ["1|one"]);
}

#[test]
fn who_has_written_meanwhile_in_a_transaction_of_its_own_is_lost_by_nobody() {
    let (database, conn) = opened(TABLE);
    let writes = database.connect().unwrap();
    writes.execute_script("BEGIN; INSERT INTO t VALUES (50000, 1, 'late')").unwrap();
    assert_eq!(delete(&conn), ROWS);
    // Its trees are not there any more: it is to begin again, as it is told.
    fails(&writes, "COMMIT", "40001");
    writes.execute("INSERT INTO t VALUES (50000, 1, 'late')", ()).unwrap();
    assert_eq!(rows(&conn, "SELECT id FROM t"), ["50000"]);
    database.verify().unwrap();
}

#[test]
fn rows_that_come_while_all_go_are_either_counted_or_there() {
    const ROUNDS: i32 = 6;
    const AT_ONCE: i32 = 8_000;
    let (database, conn) = opened("CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL); CREATE INDEX t_a ON t (a)");
    // Each writes pieces that are large, and now and then a row, on its own and in transactions.
    let writer = &|first: i32| {
        let conn = database.connect().unwrap();
        let mut written = 0;
        let mut insert = |from: i32, count: i32| loop {
            let sql = format!("INSERT INTO t SELECT n, n % 7 FROM generate_series({from}, {}) n", from + count - 1);
            match conn.execute(&sql, ()) {
                Ok(inserted) => break written += inserted,
                Err(error) => assert_eq!(error.sqlstate().0, "40001", "{error:?}"),
            }
        };
        for round in 0..ROUNDS {
            let from = first + round * (AT_ONCE + 2);
            insert(from, AT_ONCE);
            insert(from + AT_ONCE, 1);
            let script = format!("BEGIN; INSERT INTO t VALUES ({}, 0); COMMIT", from + AT_ONCE + 1);
            while let Err(error) = conn.execute_script(&script) {
                assert_eq!(error.sqlstate().0, "40001", "{error:?}");
                let _ = conn.execute("ROLLBACK", ());
            }
        }
        written + ROUNDS as u64
    };
    let (written, deleted) = thread::scope(|scope| {
        let writers = [1, 1_000_000].map(|first| scope.spawn(move || writer(first)));
        let mut deleted = 0;
        while writers.iter().any(|writer| !writer.is_finished()) {
            deleted += delete(&conn);
        }
        (writers.map(|writer| writer.join().unwrap()).iter().sum::<u64>(), deleted)
    });
    let left: u64 = rows(&conn, "SELECT count(*) FROM t")[0].parse().unwrap();
    assert_eq!(written, 2 * ROUNDS as u64 * (AT_ONCE as u64 + 2));
    assert_eq!(deleted + left, written);
    assert_eq!(rows(&conn, "SELECT count(*) FROM t WHERE a >= 0"), [left.to_string()]);
    database.verify().unwrap();
}

#[test]
fn it_is_counted_as_a_reading_of_the_whole_table() {
    let conn = connect(TABLE);
    let read = "SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relname = 't'";
    let before = rows(&conn, read);
    assert_eq!(delete(&conn), ROWS);
    let number = |row: &str| row.split('|').map(|number| number.parse::<u64>().unwrap()).collect::<Vec<_>>();
    let (before, after) = (number(&before[0]), number(&rows(&conn, read)[0]));
    assert_eq!([after[0] - before[0], after[1] - before[1]], [1, ROWS]);
}
