//! Tables are planned as large as they are, and by what is in them, without ANALYZE.

use cairndb::{Connection, Database, Options, Result};

/// The rows that the first node of the plan that names `node` is expected to give.
fn expected(conn: &Connection, node: &str, sql: &str) -> Result<f64> {
    let mut rows = conn.query(&format!("EXPLAIN {sql}"), ())?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        if line.contains(node) {
            let rows = line.split("rows=").nth(1).and_then(|rest| rest.split(' ').next());
            return Ok(rows.and_then(|rows| rows.parse().ok()).expect("a number of rows"));
        }
    }
    panic!("no {node} in {sql}")
}

fn assert_near(expected: f64, right: f64) {
    assert!(expected > right / 1.5 && expected < right * 1.5, "{expected} in place of {right}");
}

const ROWS: &str = "INSERT INTO t SELECT g, g % 7, CASE WHEN g % 4 = 0 THEN 1 ELSE g END, repeat('x', g % 50), NULL
    FROM generate_series(1, 50000) AS s(g)";

fn tables(conn: &Connection) -> Result<()> {
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, few int, skewed int, s text, nothing int); CREATE TABLE u (id int PRIMARY KEY)",
    )
}

#[test]
fn what_nobody_analyzed_is_as_large_as_it_is() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    tables(&conn)?;
    assert_eq!(expected(&conn, "t", "SELECT * FROM t")?, 1000.0);
    conn.execute("INSERT INTO t SELECT g FROM generate_series(1, 5000) AS s(g)", ())?;
    assert_near(expected(&conn, "t", "SELECT * FROM t")?, 5000.0);
    conn.execute_script("DELETE FROM t")?;
    assert_eq!(expected(&conn, "t", "SELECT * FROM t")?, 1000.0);
    conn.execute_script(ROWS)?;
    assert_near(expected(&conn, "t", "SELECT * FROM t")?, 50_000.0);
    // By which table the join begins, and what is built.
    assert_near(expected(&conn, "Nested Loop", "SELECT * FROM t JOIN u USING (id)")?, 1000.0);
    // As the transaction sees it, which may take it back.
    conn.execute_script("BEGIN; DELETE FROM t WHERE id > 20000")?;
    assert_near(expected(&conn, "t", "SELECT * FROM t")?, 20_000.0);
    conn.execute_script("ROLLBACK")?;
    assert_near(expected(&conn, "t", "SELECT * FROM t")?, 50_000.0);
    // A table by another name, a view of it, a temporary table.
    conn.execute_script("ALTER TABLE t RENAME TO other; CREATE VIEW t AS SELECT * FROM other WHERE id > 0")?;
    assert_near(expected(&conn, "other", "SELECT * FROM t")?, 50_000.0);
    conn.execute_script("CREATE TEMPORARY TABLE mine AS SELECT id FROM other")?;
    assert_near(expected(&conn, "mine", "SELECT * FROM mine")?, 50_000.0);
    Ok(())
}

#[test]
fn conditions_are_estimated_by_a_few_rows_that_are_read_at_once() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    tables(&conn)?;
    conn.execute_script(ROWS)?;
    let estimates = |conn: &Connection| -> Result<()> {
        for (condition, right) in [
            ("few = 3", 7143.0),
            ("skewed = 1", 12_500.0),
            ("id <= 10000", 10_000.0),
            ("nothing IS NULL", 50_000.0),
            ("few IN (1, 2)", 14_286.0),
        ] {
            assert_near(expected(conn, "t", &format!("SELECT * FROM t WHERE {condition}"))?, right);
        }
        assert!(expected(conn, "t", "SELECT * FROM t WHERE skewed = 77")? < 20.0);
        assert_near(expected(conn, "Aggregate", "SELECT few, count(*) FROM t GROUP BY few")?, 7.0);
        // Of rows that lie together, and of as many as there are.
        assert_near(expected(conn, "Aggregate", "SELECT id, count(*) FROM t GROUP BY id")?, 50_000.0);
        Ok(())
    };
    estimates(&conn)?;
    // The same without it: what is found there is as good.
    conn.execute("ANALYZE t", ())?;
    estimates(&conn)?;
    // The table becomes another one; what ANALYZE found is not believed any more.
    conn.execute_script("INSERT INTO t SELECT g, 3 FROM generate_series(50001, 200000) AS s(g)")?;
    assert_near(expected(&conn, "t", "SELECT * FROM t WHERE few = 3")?, 157_143.0);
    assert_near(expected(&conn, "t", "SELECT * FROM t WHERE id > 150000")?, 50_000.0);
    Ok(())
}

#[test]
fn as_many_rows_of_another_kind_are_noticed() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    tables(&conn)?;
    conn.execute_script(ROWS)?;
    assert_near(expected(&conn, "t", "SELECT * FROM t WHERE few = 3")?, 7143.0);
    conn.execute_script("UPDATE t SET few = 3")?;
    assert_near(expected(&conn, "t", "SELECT * FROM t WHERE few = 3")?, 50_000.0);
    Ok(())
}

#[test]
fn a_database_that_was_just_opened_reads_no_more_than_it_must() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.cairn");
    {
        let conn = Database::open(&path)?.connect()?;
        tables(&conn)?;
        conn.execute_script(ROWS)?;
    }
    let conn = Database::open_with(&path, Options::default().read_only(true))?.connect()?;
    assert_near(expected(&conn, "t", "SELECT * FROM t")?, 50_000.0);
    assert_near(expected(&conn, "t", "SELECT * FROM t WHERE few = 3")?, 7143.0);
    Ok(())
}

#[test]
fn groups_whose_rows_lie_together_are_not_taken_for_few() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(
        "CREATE TABLE lines (o int, n int, v int, PRIMARY KEY (o, n));
         INSERT INTO lines SELECT g / 4, g % 4, g FROM generate_series(1, 100000) AS s(g)",
    )?;
    let groups = expected(&conn, "Aggregate", "SELECT o, sum(v) FROM lines GROUP BY o")?;
    assert!(groups > 25_000.0 / 3.0, "{groups} in place of 25,000");
    Ok(())
}
