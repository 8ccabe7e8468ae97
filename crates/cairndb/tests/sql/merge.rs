//! MERGE as PostgreSQL 17 has it, and what several connections and other parts of a statement see of it.

use cairndb::{Connection, Database, Error, SqlState};

fn connected(script: &str) -> (Connection, Connection) {
    let database = Database::open_in_memory().expect("opens");
    let connections = (database.connect().expect("connects"), database.connect().expect("connects"));
    connections.0.execute_script(script).expect(script);
    connections
}

/// The rows as text, in an order that does not depend on the plan.
fn rows(conn: &Connection, sql: &str) -> Vec<String> {
    let row = |row: cairndb::Row<'_>| {
        let text = |value: &cairndb::Value| cairndb::to_text(value, &cairndb::EvalContext::now());
        Ok(row
            .values()
            .iter()
            .map(|value| if value.is_null() { "-".to_owned() } else { text(value) })
            .collect::<Vec<_>>()
            .join(" "))
    };
    let mut rows = conn.query_map(sql, (), row).expect(sql).collect::<Result<Vec<String>, Error>>().expect(sql);
    rows.sort();
    rows
}

const TABLES: &str = "CREATE TABLE t (id int PRIMARY KEY, v int); CREATE TABLE s (id int, v int);
     INSERT INTO t VALUES (1, 10), (2, 20), (3, 30); INSERT INTO s VALUES (2, 200), (4, 400);";

#[test]
fn returning_tells_what_was_done_with_the_row_as_it_is_now_and_the_source() {
    let (conn, _) = connected(TABLES);
    let merge = "MERGE INTO t USING s ON t.id = s.id
         WHEN MATCHED THEN UPDATE SET v = t.v + s.v
         WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN DELETE
         WHEN NOT MATCHED BY TARGET THEN INSERT VALUES (s.id, s.v)
         RETURNING merge_action(), t.*, s.v AS given, t.id + 1";
    assert_eq!(rows(&conn, merge), ["DELETE 1 10 - 2", "INSERT 4 400 400 5", "UPDATE 2 220 200 3"]);
    assert_eq!(rows(&conn, "TABLE t"), ["2 220", "3 30", "4 400"]);
}

#[test]
fn rows_without_a_source_are_told_from_those_with_one_of_nulls() {
    for target in ["CREATE TABLE t (id int PRIMARY KEY, v int)", "CREATE TABLE t (id int, v int)"] {
        let (conn, _) = connected(target);
        conn.execute_script("CREATE TABLE s (id int, v int); INSERT INTO t VALUES (1, 1), (2, 2); INSERT INTO s VALUES (NULL, NULL), (1, NULL)")
            .expect("tables");
        let merge = "MERGE INTO t USING s ON t.id = s.id OR s.id IS NULL AND t.id = 2
             WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v RETURNING merge_action(), t.id, t.v";
        assert_eq!(rows(&conn, merge), ["UPDATE 1 -", "UPDATE 2 -"]);
        let merge = "MERGE INTO t USING (SELECT * FROM s WHERE id = 1) s ON t.id = s.id
             WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = -1 RETURNING t.id, t.v";
        assert_eq!(rows(&conn, merge), ["2 -1"]);
    }
}

#[test]
fn merge_action_stands_in_returning_of_merge_only() {
    let (conn, _) = connected(TABLES);
    for text in ["SELECT merge_action()", "DELETE FROM t RETURNING merge_action()"] {
        assert_eq!(conn.execute(text, ()).expect_err(text).sqlstate(), SqlState::SYNTAX_ERROR);
    }
}

#[test]
fn a_merge_within_with_meets_the_state_before_the_statement() {
    let (conn, _) = connected(TABLES);
    let with = "WITH m AS (MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE
             WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v) RETURNING merge_action() AS done, t.id)
         SELECT done, m.id, (SELECT count(*) FROM t) FROM m";
    assert_eq!(rows(&conn, with), ["DELETE 2 3", "INSERT 4 3"]);
    let both = "WITH d AS (DELETE FROM t WHERE id = 1 RETURNING id)
         MERGE INTO t USING (VALUES (1), (3)) x (id) ON t.id = x.id WHEN MATCHED THEN UPDATE SET v = 0 RETURNING t.id";
    // Which of the two comes first is not said; a row that one changed, the other leaves alone.
    rows(&conn, both);
    assert_eq!(rows(&conn, "SELECT id FROM t WHERE id = 3 AND v = 0"), ["3"]);
}

#[test]
fn what_merge_read_counts_when_it_commits() {
    let (one, other) = connected(TABLES);
    one.execute("BEGIN", ()).expect("BEGIN");
    one.execute("MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)", ())
        .expect("merges");
    other.execute("INSERT INTO s VALUES (5, 500)", ()).expect("gets in the way");
    assert_eq!(one.execute("COMMIT", ()).expect_err("lost").sqlstate(), SqlState::SERIALIZATION_FAILURE);
    // On its own it runs again instead.
    let merge = "MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)";
    assert_eq!(one.execute(merge, ()).expect("merges"), 2);
    assert_eq!(one.execute(merge, ()).expect("merges"), 0);
}

#[test]
fn a_failed_merge_changes_nothing() {
    let (conn, _) = connected(TABLES);
    conn.execute("INSERT INTO s VALUES (2, 1)", ()).expect("a duplicate");
    let merge = "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)";
    assert_eq!(conn.execute(merge, ()).expect_err("twice").sqlstate(), SqlState::CARDINALITY_VIOLATION);
    assert_eq!(rows(&conn, "TABLE t"), ["1 10", "2 20", "3 30"]);
}
