//! What a connection keeps of a transaction that is gone, and ranges without rows, decide nothing they should not.

use cairndb::{Connection, Database, Result};

fn run(conn: &Connection, definition: &str) -> Result<i64> {
    conn.execute("BEGIN", ())?;
    conn.execute(definition, ())?;
    conn.execute("INSERT INTO t SELECT 7", ())?;
    let count = conn.query_row("SELECT count(*) FROM t", (), |row| row.get::<i64>(0))?;
    conn.execute("ROLLBACK", ())?;
    Ok(count)
}

/// Two transactions on the same state, with as many changes of the catalog, had the same stamp of it: the second ran the
/// first one's plan, on a tree that was never there.
#[test]
fn a_plan_of_a_schema_that_was_rolled_back_is_not_used_again() {
    let db = Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    for definition in ["CREATE TABLE t (a bigint)", "CREATE TABLE t (b integer)", "CREATE TABLE t (c bigint)"] {
        assert_eq!(run(&conn, definition).unwrap(), 1, "{definition}");
    }
}

/// A condition that no row can meet, behind what was read, ended what was compared at the commit.
#[test]
fn a_range_of_nothing_hides_no_conflict() -> Result<()> {
    let db = Database::open_in_memory()?;
    let (conn, other) = (db.connect()?, db.connect()?);
    conn.execute("CREATE TABLE r (id bigint PRIMARY KEY, n bigint)", ())?;
    conn.execute("INSERT INTO r SELECT i, 0 FROM generate_series(1, 100) AS s(i)", ())?;
    conn.execute("BEGIN", ())?;
    let between = |lower: i64, upper: i64| {
        let sql = "SELECT coalesce(sum(n), 0)::bigint FROM r WHERE id BETWEEN $1 AND $2";
        conn.query_row(sql, (lower, upper), |row| row.get::<i64>(0))
    };
    let sum = between(1, 40)? + between(50, 30)?;
    conn.execute("INSERT INTO r VALUES (200, $1)", (sum,))?;
    other.execute("UPDATE r SET n = 5 WHERE id = 35", ())?;
    assert_eq!(conn.execute("COMMIT", ()).unwrap_err().sqlstate().0, "40001");
    Ok(())
}
