//! Indexes made of a table that has rows are those that its rows would have made one by one, in fewer pages.

use std::thread;
use std::time::{Duration, Instant};

use crate::common::typed_rows;
use cairndb::{Connection, Database, Options, SqlState, Value};

const ROWS: &str = "INSERT INTO t SELECT n, (n * 7919) % 10007, CASE WHEN n % 7 > 0 THEN 'name ' || (n * 31) % 4001 END
    FROM generate_series(1, 9000) AS s(n)";
const INDEXES: &str = "CREATE INDEX plain ON t (n);
    CREATE INDEX several ON t (s DESC NULLS LAST, n);
    CREATE UNIQUE INDEX single ON t (n DESC, id);
    CREATE UNIQUE INDEX nulls ON t (s, n)";

fn table(options: Options) -> (Database, Connection) {
    let db = Database::open_in_memory_with(options).unwrap();
    let conn = db.connect().unwrap();
    conn.execute("CREATE TABLE t (id int PRIMARY KEY, n int, s text)", ()).unwrap();
    (db, conn)
}

#[test]
fn answers_are_those_of_an_index_that_was_there_before_its_rows() {
    let (_before_db, before) = table(Options::default());
    before.execute_script(INDEXES).unwrap();
    before.execute(ROWS, ()).unwrap();
    for work_mem in [64 << 20, 16 << 10] {
        let (db, after) = table(Options::default().work_mem(work_mem));
        after.execute(ROWS, ()).unwrap();
        let spilled = db.stats().spill_bytes_written;
        after.execute_script(INDEXES).unwrap();
        assert_eq!(db.stats().spill_bytes_written > spilled, work_mem < 1 << 20);
        for sql in [
            "SELECT n FROM t WHERE n > 9000 ORDER BY n",
            "SELECT id, n FROM t WHERE n BETWEEN 17 AND 300 ORDER BY n DESC, id",
            "SELECT id FROM t WHERE s = 'name 31' ORDER BY n",
            "SELECT s, n FROM t WHERE s > 'name 39' ORDER BY s DESC, n",
            "SELECT count(*) FROM t WHERE s IS NULL",
        ] {
            assert_eq!(typed_rows(&after, sql), typed_rows(&before, sql), "{sql}");
        }
        // The indexes are kept up from here on.
        for conn in [&before, &after] {
            conn.execute_script("BEGIN; DELETE FROM t WHERE n % 3 = 1; UPDATE t SET n = n + 1 WHERE n < 500").unwrap();
        }
        let sql = "SELECT n, id FROM t WHERE n < 600 ORDER BY n, id";
        assert_eq!(typed_rows(&after, sql), typed_rows(&before, sql));
        before.execute("ROLLBACK", ()).unwrap();
    }
}

#[test]
fn a_key_that_is_there_twice_is_named_and_nothing_is_left() {
    for work_mem in [64 << 20, 16 << 10] {
        let (_db, conn) = table(Options::default().work_mem(work_mem));
        conn.execute(ROWS, ()).unwrap();
        conn.execute_script("UPDATE t SET n = NULL, s = NULL WHERE id < 100; UPDATE t SET n = 77 WHERE id = 8000")
            .unwrap();
        conn.execute("DELETE FROM t WHERE n = 77 AND id <> 8000", ()).unwrap();
        conn.execute("INSERT INTO t VALUES (9500, 77, 'again')", ()).unwrap();
        for sql in ["CREATE UNIQUE INDEX u ON t (n)", "ALTER TABLE t ADD CONSTRAINT u UNIQUE (n)"] {
            let error = conn.execute(sql, ()).unwrap_err();
            assert_eq!(error.sqlstate().0, "23505");
            assert_eq!(error.message(), "could not create unique index \"u\"");
            assert_eq!(error.detail(), Some("Key (n)=(77) is duplicated."));
        }
        conn.execute("DELETE FROM t WHERE id = 9500", ()).unwrap();
        conn.execute("CREATE UNIQUE INDEX u ON t (n)", ()).unwrap();
        assert_eq!(conn.execute("INSERT INTO t VALUES (9500, 77, 'x')", ()).unwrap_err().sqlstate().0, "23505");
        assert_eq!(conn.execute("INSERT INTO t VALUES (9500, NULL, 'x')", ()).unwrap(), 1);
    }
}

#[test]
fn pages_are_full_where_the_order_of_the_rows_is_another() {
    let size = |statements: [&str; 2]| {
        let dir = std::env::temp_dir().join(format!("cairndb-index-build-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("db");
        let db = Database::open(&path).unwrap();
        let conn = db.connect().unwrap();
        conn.execute("CREATE TABLE t (id int PRIMARY KEY, n int, s text)", ()).unwrap();
        statements.iter().for_each(|sql| conn.execute_script(sql).unwrap());
        drop(conn);
        db.close().unwrap();
        let bytes = std::fs::metadata(&path).unwrap().len();
        std::fs::remove_dir_all(&dir).unwrap();
        bytes
    };
    let (before, after) = (size([INDEXES, ROWS]), size([ROWS, INDEXES]));
    assert!(after * 10 < before * 9, "{before} bytes row by row, {after} bytes at once");
}

#[test]
fn a_rewritten_table_has_its_rows_in_its_new_order_and_all_indexes() {
    let (_db, conn) = table(Options::default().work_mem(16 << 10));
    conn.execute_script(ROWS).unwrap();
    conn.execute_script("ALTER TABLE t DROP CONSTRAINT t_pkey; CREATE INDEX by_s ON t (s)").unwrap();
    let sums = typed_rows(&conn, "SELECT count(*), sum(id), sum(n), count(s) FROM t");
    conn.execute("ALTER TABLE t ADD PRIMARY KEY (n)", ()).unwrap();
    assert_eq!(typed_rows(&conn, "SELECT count(*), sum(id), sum(n), count(s) FROM t"), sums);
    assert_eq!(
        typed_rows(&conn, "SELECT n, id FROM t LIMIT 3"),
        typed_rows(&conn, "SELECT n, id FROM t ORDER BY n LIMIT 3")
    );
    let found = typed_rows(&conn, "SELECT id FROM t WHERE s = 'name 31' ORDER BY id");
    assert_eq!(found, typed_rows(&conn, "SELECT id FROM t WHERE s || '' = 'name 31' ORDER BY id"));
    assert!(!found.is_empty());
}

#[test]
fn a_rewrite_that_makes_keys_equal_names_the_index_and_changes_nothing() {
    let (_db, conn) = table(Options::default());
    conn.execute_script(
        "CREATE TABLE p (x numeric(6, 2) PRIMARY KEY, y numeric(6, 2) UNIQUE);
         INSERT INTO p VALUES (1.2, 5.1), (2, 6), (1.4, 5.3), (7, NULL), (8, NULL)",
    )
    .unwrap();
    for (column, index, value) in [("x", "p_pkey", "1"), ("y", "p_y_key", "5")] {
        let error = conn.execute(&format!("ALTER TABLE p ALTER {column} TYPE int"), ()).unwrap_err();
        assert_eq!(error.sqlstate().0, "23505");
        assert_eq!(error.message(), format!("could not create unique index \"{index}\""));
        assert_eq!(error.detail(), Some(format!("Key ({column})=({value}) is duplicated.").as_str()));
    }
    assert_eq!(typed_rows(&conn, "SELECT count(*) FROM p WHERE x < 1.3 AND y = 5.1"), [[Value::BigInt(1)]]);
}

#[test]
fn an_index_may_have_a_column_of_the_key_twice() {
    let (db, conn) = table(Options::default());
    conn.execute_script(ROWS).unwrap();
    conn.execute("CREATE INDEX twice ON t (id DESC, n, id)", ()).unwrap();
    db.verify().unwrap();
}

const FUNCTION: &str = "CREATE OR REPLACE FUNCTION slow(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS";
const SLOW: &str = "'BEGIN PERFORM pg_sleep(0.002); RETURN $1; END'";

/// What another session is told of the only build: the command, whether it is of the index `kept`, rows in all and those that are done.
type Told = (String, bool, i64, i64);

fn told(conn: &Connection) -> Option<Told> {
    let sql =
        "SELECT command, index_relid = 'kept'::regclass, tuples_total, tuples_done FROM pg_stat_progress_create_index
        WHERE relid = 't'::regclass AND phase = 'building index: scanning table'";
    let mut rows = conn.query(sql, ()).unwrap();
    let row = rows.next().unwrap()?;
    Some((row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap(), row.get(3).unwrap()))
}

/// Interrupts the statement once some rows are done; what was told before.
fn interrupted(db: &Database, statement: &str) -> Told {
    let (conn, other) = (db.connect().unwrap(), db.connect().unwrap());
    let interrupt = conn.interrupt_handle();
    let seen = thread::scope(|scope| {
        let building = scope.spawn(move || conn.execute_script(statement).unwrap_err());
        let end = Instant::now() + Duration::from_secs(60);
        let seen = loop {
            match told(&other) {
                Some(seen) if seen.3 > 2 => break Some(seen),
                _ if building.is_finished() || Instant::now() > end => break None,
                _ => thread::sleep(Duration::from_millis(1)),
            }
        };
        interrupt.interrupt();
        let error = building.join().unwrap();
        assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED, "{error} for {statement}");
        seen
    });
    assert_eq!(told(&other), None, "{statement}");
    seen.unwrap_or_else(|| panic!("nothing was told of {statement}"))
}

#[test]
fn builds_tell_how_far_they_are_and_end_when_they_are_asked_to() {
    let (db, conn) = table(Options::default());
    conn.execute_script(&format!(
        "INSERT INTO t SELECT n, n FROM generate_series(1, 2000) n; {FUNCTION} 'BEGIN RETURN $1; END';
        CREATE INDEX kept ON t (slow(n))"
    ))
    .unwrap();
    let replace = format!("{FUNCTION} {SLOW}");
    let (command, is_kept, total, _) = interrupted(&db, &replace);
    assert_eq!((command.as_str(), is_kept), ("REINDEX", true));
    assert!((1000..4000).contains(&total), "{total} of 2000 rows");
    // A function that is called by no index yet.
    let other = replace.replace("slow", "slower");
    conn.execute(&other, ()).unwrap();
    for statement in [
        "CREATE INDEX fresh ON t (slower(n))",
        "BEGIN; CREATE INDEX fresh ON t (slower(n))",
        "BEGIN; CREATE UNIQUE INDEX fresh ON t (id) WHERE slower(n) > 0",
    ] {
        let (command, is_kept, ..) = interrupted(&db, statement);
        assert_eq!((command.as_str(), is_kept), ("CREATE INDEX", false), "{statement}");
    }
    conn.execute("SET statement_timeout = '100ms'", ()).unwrap();
    for statement in [replace.as_str(), "CREATE INDEX fresh ON t (slower(n))"] {
        let began = Instant::now();
        let error = conn.execute(statement, ()).unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED, "{error} for {statement}");
        assert!(began.elapsed() < Duration::from_secs(3), "{statement}");
    }
    assert_eq!(told(&conn), None);
    db.verify().unwrap();
}
