//! Materialized views, where PostgreSQL can not be asked: what is told beside the error, what CONCURRENTLY leaves alone, what
//! others see meanwhile, and that files keep them.

use crate::common::{connect, fails, rows};
use cairndb::schema::RelationKind;
use cairndb::{Database, Result};

const SALES: &str = "CREATE TABLE sale (id int PRIMARY KEY, shop text, amount int);
     INSERT INTO sale VALUES (1, 'a', 10), (2, 'b', 4), (3, 'a', 1);
     CREATE MATERIALIZED VIEW total AS SELECT shop, sum(amount) AS amount FROM sale GROUP BY shop ORDER BY shop";

#[test]
fn one_without_rows_says_what_to_do() -> Result<()> {
    let conn = connect("CREATE MATERIALIZED VIEW v AS SELECT 1 AS a WITH NO DATA; CREATE UNIQUE INDEX ON v (a)");
    let all = ["SELECT * FROM v", "SELECT a FROM v WHERE a = 1", "SELECT count(*) FROM v WHERE a = 1"];
    let joined = ["SELECT v.a FROM (VALUES (1)) x (a) JOIN v ON v.a = x.a", "SELECT (SELECT max(a) FROM v)"];
    for sql in all.into_iter().chain(joined) {
        let error = fails(&conn, sql, "55000");
        assert_eq!(error.message(), "materialized view \"v\" has not been populated");
        assert_eq!(error.hint(), Some("Use the REFRESH MATERIALIZED VIEW command."));
    }
    let mut prepared = conn.prepare("SELECT a FROM v WHERE a = $1")?;
    let mut read = || prepared.query_row([1], |row| row.get::<i32>(0));
    assert_eq!(read().expect_err("refused").sqlstate().0, "55000");
    conn.execute_script("REFRESH MATERIALIZED VIEW v")?;
    assert_eq!(read()?, 1);
    conn.execute_script("REFRESH MATERIALIZED VIEW v WITH NO DATA")?;
    assert_eq!(read().expect_err("refused").sqlstate().0, "55000");
    Ok(())
}

#[test]
fn concurrently_leaves_rows_alone_that_are_as_they_were() -> Result<()> {
    let conn = connect(SALES);
    conn.execute_script(
        "CREATE UNIQUE INDEX ON total (shop); CREATE INDEX ON total (amount);
         UPDATE sale SET amount = 5 WHERE shop = 'a'; INSERT INTO sale VALUES (4, '', 7);
         REFRESH MATERIALIZED VIEW CONCURRENTLY total",
    )?;
    // A row that comes goes behind those that are there.
    assert_eq!(rows(&conn, "SELECT * FROM total"), ["b|4", "|7", "a|10"]);
    assert_eq!(rows(&conn, "SELECT shop FROM total WHERE amount = 10"), ["a"]);
    conn.execute_script("REFRESH MATERIALIZED VIEW total")?;
    assert_eq!(rows(&conn, "SELECT * FROM total"), ["|7", "a|10", "b|4"]);
    Ok(())
}

#[test]
fn concurrently_compares_more_rows_than_memory_holds() -> Result<()> {
    let conn = connect(
        "SET work_mem = '64kB';
         CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT i, i % 7 FROM generate_series(1, 20000) i;
         CREATE MATERIALIZED VIEW v AS SELECT id, n FROM t; CREATE UNIQUE INDEX ON v (id);
         UPDATE t SET n = 100 WHERE id % 5 = 0; DELETE FROM t WHERE id % 3 = 0;
         INSERT INTO t SELECT i, 1 FROM generate_series(20001, 20100) i;
         REFRESH MATERIALIZED VIEW CONCURRENTLY v",
    );
    let same = "SELECT count(*) FROM (TABLE v EXCEPT ALL TABLE t) x";
    assert_eq!(rows(&conn, same), ["0"]);
    assert_eq!(rows(&conn, "SELECT count(*) FROM (TABLE t EXCEPT ALL TABLE v) x"), ["0"]);
    conn.database().verify().expect("is whole");
    Ok(())
}

#[test]
fn a_refresh_that_fails_changes_nothing() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 1)");
    conn.execute_script(
        "CREATE MATERIALIZED VIEW v AS SELECT a, 10 / b AS b FROM t; CREATE UNIQUE INDEX v_a ON v (a)",
    )?;
    conn.execute("INSERT INTO t VALUES (2, 0)", ())?;
    fails(&conn, "REFRESH MATERIALIZED VIEW v", "22012");
    fails(&conn, "REFRESH MATERIALIZED VIEW CONCURRENTLY v", "22012");
    conn.execute("UPDATE t SET a = 1, b = 1", ())?;
    let error = fails(&conn, "REFRESH MATERIALIZED VIEW v", "23505");
    assert_eq!(error.message(), "could not create unique index \"v_a\"");
    let error = fails(&conn, "REFRESH MATERIALIZED VIEW CONCURRENTLY v", "21000");
    assert_eq!(error.detail(), Some("Row: (1,10)"));
    assert_eq!(rows(&conn, "SELECT * FROM v"), ["1|10"]);
    Ok(())
}

#[test]
fn readers_keep_what_they_began_with() -> Result<()> {
    let conn = connect(SALES);
    let other = conn.database().connect()?;
    other.execute_script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    let sum = "SELECT sum(amount) FROM total";
    assert_eq!(rows(&other, sum), ["15"]);
    conn.execute_script("DELETE FROM sale WHERE id = 1; REFRESH MATERIALIZED VIEW total")?;
    assert_eq!((rows(&conn, sum), rows(&other, sum)), (vec!["5".to_owned()], vec!["15".to_owned()]));
    other.execute_script("COMMIT")?;
    assert_eq!(rows(&other, sum), ["5"]);
    Ok(())
}

#[test]
fn files_keep_them() -> Result<()> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file.cairn");
    {
        let database = Database::open(&path)?;
        let conn = database.connect()?;
        conn.execute_script(SALES)?;
        conn.execute_script(
            "CREATE UNIQUE INDEX ON total (shop); CREATE MATERIALIZED VIEW none AS TABLE sale WITH NO DATA;
             COMMENT ON MATERIALIZED VIEW total IS 'sold'",
        )?;
        drop(conn);
        database.close()?;
    }
    let database = Database::open(&path)?;
    let conn = database.connect()?;
    assert_eq!(rows(&conn, "SELECT * FROM total ORDER BY shop"), ["a|11", "b|4"]);
    fails(&conn, "SELECT * FROM none", "55000");
    conn.execute_script("REFRESH MATERIALIZED VIEW none; REFRESH MATERIALIZED VIEW CONCURRENTLY total")?;
    assert_eq!(rows(&conn, "SELECT count(*) FROM none"), ["3"]);
    let schema = conn.schema()?;
    let total = schema.relation("total").expect("a materialized view");
    assert_eq!(total.comment.as_deref(), Some("sold"));
    let RelationKind::MaterializedView(table, query) = &total.kind else { panic!("{:?}", total.kind) };
    assert_eq!((table.columns.len(), table.indexes.len()), (2, 1));
    assert!(query.starts_with("SELECT shop, sum(amount) AS amount FROM sale"), "{query}");
    assert!(schema.table("total").is_none());
    database.verify().expect("is whole");
    Ok(())
}
