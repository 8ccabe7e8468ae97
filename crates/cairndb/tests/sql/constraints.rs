//! NOT NULL, CHECK, UNIQUE and PRIMARY KEY: what is refused, in PostgreSQL's words, and that nothing of it stays.

use crate::common::{connect, fails, rows};
use cairndb::Result;

#[test]
fn not_null_names_the_column_and_shows_the_row() -> Result<()> {
    let conn = connect("CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL)");
    let error = fails(&conn, "INSERT INTO t VALUES (1, NULL)", "23502");
    assert_eq!(error.message(), "null value in column \"name\" of relation \"t\" violates not-null constraint");
    assert_eq!(error.detail(), Some("Failing row contains (1, null)."));
    fails(&conn, "INSERT INTO t (name) VALUES ('x')", "23502");
    assert!(rows(&conn, "SELECT * FROM t").is_empty());
    Ok(())
}

#[test]
fn a_check_that_is_unknown_passes_and_one_that_is_false_fails() -> Result<()> {
    let conn =
        connect("CREATE TABLE t (a int CHECK (a > 0), b int, CONSTRAINT sum CHECK (a + b < 10), CHECK (a <> b))");
    conn.execute("INSERT INTO t VALUES (1, NULL), (NULL, 99), (1, 2)", ())?;
    let error = fails(&conn, "INSERT INTO t VALUES (-1, 2)", "23514");
    assert_eq!(error.message(), "new row for relation \"t\" violates check constraint \"t_a_check\"");
    assert_eq!(error.detail(), Some("Failing row contains (-1, 2)."));
    assert_eq!(fails(&conn, "UPDATE t SET b = 20 WHERE b = 2", "23514").constraint(), Some("sum"));
    assert_eq!(fails(&conn, "INSERT INTO t VALUES (3, 3)", "23514").constraint(), Some("t_check"));
    Ok(())
}

#[test]
fn duplicates_name_the_constraint_and_the_key() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int, b text, c int UNIQUE, PRIMARY KEY (a, b))");
    conn.execute("INSERT INTO t VALUES (1, 'x', 1), (1, 'y', NULL), (2, 'x', NULL)", ())?;
    let error = fails(&conn, "INSERT INTO t VALUES (1, 'x', 2)", "23505");
    assert_eq!(error.message(), "duplicate key value violates unique constraint \"t_pkey\"");
    assert_eq!(error.detail(), Some("Key (a, b)=(1, x) already exists."));
    let error = fails(&conn, "INSERT INTO t VALUES (3, 'x', 1)", "23505");
    assert_eq!((error.constraint(), error.detail()), (Some("t_c_key"), Some("Key (c)=(1) already exists.")));
    assert_eq!(rows(&conn, "SELECT count(*) FROM t"), ["3"]);
    Ok(())
}

#[test]
fn a_failed_statement_leaves_nothing() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY, b int UNIQUE); INSERT INTO t VALUES (5, 5)");
    fails(&conn, "INSERT INTO t VALUES (1, 1), (2, 2), (5, 6)", "23505");
    fails(&conn, "INSERT INTO t VALUES (1, 1), (2, 2), (6, 5)", "23505");
    assert_eq!(rows(&conn, "SELECT * FROM t"), ["5|5"]);
    conn.execute("INSERT INTO t VALUES (1, 1)", ())?;
    assert_eq!(rows(&conn, "SELECT a FROM t WHERE b = 1"), ["1"]);
    Ok(())
}

#[test]
fn keys_may_pass_through_each_other_within_a_statement() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY, b int UNIQUE); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    assert_eq!(conn.execute("UPDATE t SET a = a + 1, b = 4 - b", ())?, 3);
    assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY a"), ["2|3", "3|2", "4|1"]);
    fails(&conn, "UPDATE t SET a = 2 WHERE a = 3", "23505");
    fails(&conn, "UPDATE t SET b = 7", "23505");
    assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY a"), ["2|3", "3|2", "4|1"]);
    Ok(())
}

#[test]
fn strings_must_fit_their_column() -> Result<()> {
    let conn = connect("CREATE TABLE t (v varchar(3), c char(3))");
    conn.execute("INSERT INTO t VALUES ('äöü', 'a')", ())?;
    let error = fails(&conn, "INSERT INTO t VALUES ('abcd', 'a')", "22001");
    assert_eq!(error.message(), "value too long for type character varying(3)");
    conn.execute("INSERT INTO t VALUES ('abc   ', 'abc  ')", ())?;
    fails(&conn, "UPDATE t SET c = 'abcd'", "22001");
    assert_eq!(rows(&conn, "SELECT c, length(v) FROM t ORDER BY c"), ["a  |3", "abc|3"]);
    Ok(())
}

#[test]
fn a_table_without_primary_key_keeps_equal_rows_apart() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (1, 'x'), (2, 'y')");
    assert_eq!(conn.execute("UPDATE t SET b = 'z' WHERE a = 1", ())?, 2);
    assert_eq!(conn.execute("DELETE FROM t WHERE a = 2", ())?, 1);
    assert_eq!(rows(&conn, "SELECT * FROM t"), ["1|z", "1|z"]);
    Ok(())
}

#[test]
fn an_index_finds_rows_after_every_kind_of_change() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY, b int, c text); CREATE INDEX t_b ON t (b DESC, c)");
    conn.execute("INSERT INTO t SELECT n, n % 5, 'c' || n FROM generate_series(1, 50) AS s(n)", ())?;
    conn.execute("UPDATE t SET b = 77 WHERE a <= 10", ())?;
    conn.execute("UPDATE t SET a = a + 1000 WHERE b = 1", ())?;
    conn.execute("DELETE FROM t WHERE a = 3", ())?;
    conn.execute("UPDATE t SET b = NULL WHERE a = 4", ())?;
    for filter in ["b = 77", "b = 1", "b IS NULL", "b > 2 AND b < 70", "b = 2 AND c >= 'c3'"] {
        let by_index = rows(&conn, &format!("SELECT a FROM t WHERE {filter} ORDER BY a"));
        conn.execute("SET enable_indexscan = off", ())?;
        let by_scan = rows(&conn, &format!("SELECT a FROM t WHERE {filter} ORDER BY a"));
        conn.execute("SET enable_indexscan = on", ())?;
        assert_eq!(by_index, by_scan, "{filter}");
    }
    assert_eq!(rows(&conn, "SELECT count(*) FROM t WHERE b = 77"), ["8"]);
    Ok(())
}
