//! Cursors and named statements, where one connection and small results do not show what they do.

use cairndb::{Connection, Database, SqlState};

fn numbers(conn: &Connection, fetch: &str) -> Vec<i64> {
    let rows = conn.query_map(fetch, (), |row| row.get::<i64>(0)).expect(fetch);
    rows.collect::<cairndb::Result<_>>().expect(fetch)
}

fn error(conn: &Connection, sql: &str) -> SqlState {
    conn.execute(sql, ()).expect_err(sql).sqlstate()
}

fn many() -> (Database, Connection) {
    let database = Database::open_in_memory().expect("opens");
    let conn = database.connect().expect("connects");
    conn.execute_script(
        "CREATE TABLE t (a bigint PRIMARY KEY, b text);
         INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 20000) AS s(g);",
    )
    .expect("a table");
    (database, conn)
}

#[test]
fn what_a_cursor_passed_goes_to_disk_where_scroll_is_said_and_away_where_it_is_not() {
    let (_database, conn) = many();
    conn.execute("SET work_mem = '64kB'", ()).expect("work_mem");
    conn.execute_script(
        "BEGIN; DECLARE s SCROLL CURSOR FOR SELECT a, b FROM t ORDER BY a; DECLARE u CURSOR FOR SELECT a, b FROM t ORDER BY a",
    )
    .expect("cursors");
    assert_eq!(numbers(&conn, "FETCH LAST FROM s"), [20000]);
    assert_eq!(numbers(&conn, "FETCH ABSOLUTE 7 FROM s"), [7]);
    assert_eq!(numbers(&conn, "FETCH ABSOLUTE 15000 FROM s"), [15000]);
    assert_eq!(numbers(&conn, "FETCH BACKWARD 15000 FROM s").len(), 14999);
    assert_eq!(numbers(&conn, "FETCH 12 FROM u").len(), 12);
    assert_eq!(numbers(&conn, "FETCH PRIOR FROM u"), [11]);
    assert_eq!(numbers(&conn, "FETCH FORWARD ALL FROM u").len(), 20000 - 11);
    assert_eq!(error(&conn, "FETCH ABSOLUTE 1 FROM u"), SqlState("55000"));
}

#[test]
fn a_held_cursor_gives_what_was_there_when_it_was_declared() {
    let (database, conn) = many();
    let other = database.connect().expect("connects");
    conn.execute("SET work_mem = '64kB'", ()).expect("work_mem");
    for (begin, commit) in [("BEGIN", "COMMIT"), ("SELECT 1", "SELECT 1")] {
        conn.execute(begin, ()).expect(begin);
        conn.execute("DECLARE h NO SCROLL CURSOR WITH HOLD FOR SELECT a FROM t ORDER BY a", ()).expect("h");
        assert_eq!(numbers(&conn, "FETCH 3 FROM h"), [1, 2, 3]);
        conn.execute(commit, ()).expect(commit);
        other
            .execute_script(
                "DELETE FROM t WHERE a > 10; INSERT INTO t SELECT g FROM generate_series(11, 20000) AS s(g)",
            )
            .expect("changes");
        other.execute("TRUNCATE t", ()).expect("goes");
        assert_eq!(numbers(&conn, "FETCH ALL FROM h"), (4..=20000).collect::<Vec<i64>>());
        assert_eq!(error(&conn, "FETCH PRIOR FROM h"), SqlState("55000"));
        conn.execute("CLOSE h", ()).expect("CLOSE");
        other.execute("INSERT INTO t SELECT g FROM generate_series(1, 20000) AS s(g)", ()).expect("comes back");
    }
}

#[test]
fn what_a_cursor_read_counts_as_read_by_its_transaction() {
    let (database, conn) = many();
    let other = database.connect().expect("connects");
    conn.execute_script("BEGIN; DECLARE c CURSOR FOR SELECT a FROM t WHERE a < 5 ORDER BY a").expect("a cursor");
    assert_eq!(numbers(&conn, "FETCH ALL FROM c"), [1, 2, 3, 4]);
    conn.execute("INSERT INTO t VALUES (-1, 'x')", ()).expect("a row");
    other.execute("DELETE FROM t WHERE a = 2", ()).expect("gets in the way");
    assert_eq!(error(&conn, "COMMIT"), SqlState::SERIALIZATION_FAILURE);
    assert_eq!(error(&conn, "FETCH c"), SqlState("34000"));
}

#[test]
fn a_cursor_outlives_what_is_done_to_its_table() {
    let (_database, conn) = many();
    conn.execute_script("BEGIN; DECLARE c CURSOR FOR SELECT a, b FROM t ORDER BY a").expect("a cursor");
    assert_eq!(numbers(&conn, "FETCH 2 FROM c"), [1, 2]);
    conn.execute_script(
        "ALTER TABLE t DROP COLUMN b; ALTER TABLE t ADD COLUMN c int DEFAULT 3; TRUNCATE t; DROP TABLE t",
    )
    .expect("is gone");
    assert_eq!(numbers(&conn, "FETCH ALL FROM c").len(), 19998);
    conn.execute("ROLLBACK", ()).expect("rolls back");
}

#[test]
fn parameters_go_to_declare_and_an_interrupt_stops_a_fetch() {
    let (_database, conn) = many();
    conn.execute("BEGIN", ()).expect("BEGIN");
    conn.execute("DECLARE c CURSOR FOR SELECT a FROM t WHERE a > $1 ORDER BY a", (19998,)).expect("a cursor");
    assert_eq!(numbers(&conn, "FETCH ALL FROM c"), [19999, 20000]);
    conn.execute("DECLARE long CURSOR FOR SELECT x.a FROM t x, t y, t z WHERE x.a + y.a + z.a = 0", ())
        .expect("a cursor");
    conn.set_statement_timeout(Some(std::time::Duration::from_millis(20))).expect("a limit");
    assert_eq!(error(&conn, "FETCH long"), SqlState("57014"));
    conn.execute("ROLLBACK", ()).expect("rolls back");
}

#[test]
fn cursors_that_call_functions_do_not_keep_their_transaction_from_ending() {
    let (_database, conn) = many();
    conn.execute_script(
        "CREATE FUNCTION twice(n bigint) RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) * 0 + n * 2 FROM t';
         BEGIN; DECLARE c CURSOR FOR SELECT twice(a) FROM t WHERE a < 4 ORDER BY a;
         DECLARE h CURSOR WITH HOLD FOR SELECT twice(a) FROM t WHERE a < 4 ORDER BY a;",
    )
    .expect("cursors");
    assert_eq!(numbers(&conn, "FETCH 2 FROM c"), [2, 4]);
    assert_eq!(numbers(&conn, "FETCH 1 FROM h"), [2]);
    conn.execute("COMMIT", ()).expect("commits");
    assert_eq!(numbers(&conn, "FETCH ALL FROM h"), [4, 6]);
}

/// Not that of DECLARE, which is long over.
#[test]
fn functions_of_a_cursor_have_the_time_of_who_asks_for_its_rows() {
    let (_database, conn) = many();
    conn.execute_script(
        "CREATE FUNCTION up_to(n bigint) RETURNS bigint STABLE LANGUAGE plpgsql AS
             'BEGIN RETURN (SELECT count(*) FROM t WHERE a <= n AND a < 3); END';
         BEGIN",
    )
    .expect("a function");
    let limit = std::time::Duration::from_millis(500);
    conn.set_statement_timeout(Some(limit)).expect("a limit");
    conn.execute("DECLARE c CURSOR FOR SELECT up_to(a) FROM t WHERE a < 3 ORDER BY a", ()).expect("a cursor");
    std::thread::sleep(limit + std::time::Duration::from_millis(50));
    assert_eq!(numbers(&conn, "FETCH ALL FROM c"), [1, 2]);
    conn.execute("ROLLBACK", ()).expect("rolls back");
}

#[test]
fn a_cursor_from_before_its_tables_key_was_altered_says_no_row() {
    let db = Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL); INSERT INTO t VALUES (1, 2), (2, 1);
         BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH c;
         ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (a)",
    )
    .unwrap();
    assert_eq!(error(&conn, "DELETE FROM t WHERE CURRENT OF c").0, "24000");
}

/// Queries in RETURNING do not change what the statement is.
#[test]
fn a_change_whose_returning_asks_queries_is_the_same_change() {
    let db = Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    conn.execute_script(
        "CREATE TABLE tr (id int PRIMARY KEY, v int); INSERT INTO tr VALUES (1, 1), (2, 2);
         CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN UPDATE tr SET v = v + 100 WHERE id = NEW.id + 1; RETURN NEW; END $$;
         CREATE TRIGGER b BEFORE UPDATE ON tr FOR EACH ROW EXECUTE FUNCTION other();
         CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2)",
    )
    .unwrap();
    let state = |sql: &str| conn.execute(sql, ()).map(drop).unwrap_err().sqlstate();
    assert_eq!(state("UPDATE tr SET v = v + 1 RETURNING id").0, "27000");
    assert_eq!(state("UPDATE tr SET v = v + 1 RETURNING id, (SELECT 1)").0, "27000");
    let block = "DO $$ DECLARE k int; BEGIN UPDATE t SET v = v + 1 RETURNING (SELECT 7) INTO k; END $$";
    assert_eq!(state(block).0, "P0003");
    for sql in [
        "WITH a AS (SELECT 1 AS n) INSERT INTO t VALUES (4, 4) RETURNING id - (SELECT n FROM a)",
        "WITH a AS (SELECT 3 AS n) UPDATE t SET v = v + 1 WHERE id = 1 RETURNING (SELECT n FROM a)",
    ] {
        assert_eq!(conn.query_row_as::<i32>(sql, ()).unwrap(), 3, "{sql}");
    }
    assert_eq!(state("WITH a AS (SELECT 3 AS n) UPDATE tr SET v = v + 1 RETURNING (SELECT n FROM a)").0, "27000");
    let own = "INSERT INTO t VALUES (5, 5) RETURNING (WITH a AS (SELECT id + 1 AS n) SELECT n FROM a)";
    assert_eq!(conn.query_row_as::<i32>(own, ()).unwrap(), 6);
}
