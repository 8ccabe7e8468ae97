//! Scans that read leaves where they lie: what the shape of rows and conditions must not change.

use cairndb::{Connection, Database, Result};

fn numbers(conn: &Connection, sql: &str) -> Result<Vec<i64>> {
    let mut rows = conn.query(sql, ())?;
    let mut found = vec![];
    while let Some(row) = rows.next()? {
        found.push(row.get(0)?);
    }
    Ok(found)
}

/// Rows with and without NULLs, short and far longer than a page, in turn.
fn mixed_table() -> Result<Connection> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute("CREATE TABLE t (id bigint PRIMARY KEY, a int, d date, v text, n numeric(10,2))", ())?;
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, $2, date '2000-01-01' + $3::int, $4, $5::numeric)")?;
    conn.execute("BEGIN", ())?;
    for id in 0..2000_i64 {
        let number = (id % 7 != 0).then_some(id as i32 % 100);
        let text = match id % 331 {
            0 => "long ".repeat(4000),
            short => "x".repeat(short as usize % 200),
        };
        insert.execute((id, number, id as i32 % 365, text, id.to_string()))?;
    }
    conn.execute("COMMIT", ())?;
    Ok(conn)
}

#[test]
fn conditions_checked_on_stored_bytes_agree_with_those_that_are_not() -> Result<()> {
    let conn = mixed_table()?;
    let pairs = [
        ("a < 50", "a + 0 < 50"),
        ("a >= 98 OR a = 3", "a + 0 >= 98 OR a + 0 = 3"),
        ("a > 10 AND a <= 12 AND d > date '2000-03-01'", "a + 0 > 10 AND a + 0 <= 12 AND d + 0 > date '2000-03-01'"),
        ("a = 5", "a + 0 = 5"),
        ("5 < a", "5 < a + 0"),
        ("a < 9223372036854775807", "a + 0 < 9223372036854775807"),
        ("NOT a < 50", "NOT a + 0 < 50"),
        ("d < date '2000-02-01' + interval '1 day'", "d + 0 < date '2000-02-02'"),
        ("d >= timestamp '2000-02-01 12:00'", "d + 0 > date '2000-02-01'"),
    ];
    for (direct, hidden) in pairs {
        let select = |condition: &str| numbers(&conn, &format!("SELECT id FROM t WHERE {condition}"));
        let found = select(direct)?;
        assert_eq!(found, select(hidden)?, "{direct}");
        assert!(!found.is_empty(), "{direct}");
    }
    Ok(())
}

#[test]
fn every_row_is_seen_once_whatever_is_read_of_it() -> Result<()> {
    let conn = mixed_table()?;
    assert_eq!(numbers(&conn, "SELECT count(*) FROM t")?, [2000]);
    assert_eq!(numbers(&conn, "SELECT count(a) FROM t")?, [2000 - 286]);
    assert_eq!(numbers(&conn, "SELECT sum(id)::bigint FROM t")?, [1999 * 2000 / 2]);
    assert_eq!(numbers(&conn, "SELECT sum(n)::bigint FROM t")?, [1999 * 2000 / 2]);
    assert_eq!(numbers(&conn, "SELECT id FROM t")?, (0..2000).collect::<Vec<_>>());
    assert_eq!(numbers(&conn, "SELECT id FROM t ORDER BY id DESC")?, (0..2000).rev().collect::<Vec<_>>());
    let longest: i64 = conn.query_row("SELECT max(length(v)) FROM t", (), |row| row.get(0))?;
    assert_eq!(longest, 20_000);
    Ok(())
}

/// The columns of a condition that the key range answers are read no more.
#[test]
fn a_range_gives_the_columns_asked_for() -> Result<()> {
    let conn = mixed_table()?;
    let mut rows = conn.query("SELECT v, a FROM t WHERE id >= 330 AND id < 333", ())?;
    let mut found = vec![];
    while let Some(row) = rows.next()? {
        let text = row.get_str(0).map(str::len);
        found.push((text, row.get::<Option<i32>>(1)?, row.values().len()));
    }
    assert_eq!(found, [(Some(130), Some(30), 2), (Some(20_000), Some(31), 2), (Some(1), Some(32), 2)]);
    Ok(())
}

/// An open cursor of a transaction goes on over what it began with, also where the statement's own changes replace its
/// pages.
#[test]
fn a_scan_in_a_transaction_does_not_see_later_changes() -> Result<()> {
    let conn = mixed_table()?;
    conn.execute("BEGIN", ())?;
    conn.execute("UPDATE t SET a = 1 WHERE a IS NULL", ())?;
    let mut rows = conn.query("SELECT id, a FROM t", ())?;
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        assert!(row.get::<Option<i32>>(1)?.is_some_and(|a| a < 1000));
        seen += 1;
        if seen == 20 {
            conn.execute("UPDATE t SET a = a + 1000, v = 'changed'", ())?;
        }
    }
    assert_eq!(seen, 2000);
    drop(rows);
    conn.execute("ROLLBACK", ())?;
    Ok(())
}
