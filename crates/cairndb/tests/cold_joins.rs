//! Joins whose look-ups meet pages that are not in memory.

use cairndb::{Connection, Database, Options};

const GROUPS: i64 = 20_000;

fn options() -> Options {
    let mut options = Options::default();
    options.cache_bytes = 4 << 20;
    options
}

fn numbers(conn: &Connection, sql: &str) -> (i64, i64) {
    let row = conn.query(sql, ()).unwrap().into_iter().next().unwrap().unwrap();
    (row.get(0).unwrap(), row.get(1).unwrap())
}

/// Two rows a key's beginning, in 4,000 pages and more; a few of the keys are asked for, in no order, and some that are not there.
fn file(folder: &std::path::Path) -> std::path::PathBuf {
    let path = folder.join("db");
    let database = Database::open_with(&path, options()).unwrap();
    let conn = database.connect().unwrap();
    conn.execute_script(
        "CREATE TABLE parts (a bigint, b bigint, pad text NOT NULL, PRIMARY KEY (a, b));
         CREATE TABLE asked (n bigint PRIMARY KEY, a bigint);
         INSERT INTO parts SELECT g / 2, g % 2, repeat('x', 400) FROM generate_series(0, 39999) AS s(g);
         INSERT INTO asked SELECT g, CASE WHEN g % 10 = 3 THEN NULL ELSE g * 7919 % 20200 END FROM generate_series(0, 79) AS s(g);
         ANALYZE;",
    )
    .unwrap();
    database.checkpoint().unwrap();
    drop(conn);
    database.close().unwrap();
    path
}

#[test]
fn a_join_by_a_part_of_a_key_reads_the_pages_of_the_rows_that_come_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    let database = Database::open_with(&path, options()).unwrap();
    let conn = database.connect().unwrap();
    let expected = (0..80).filter(|n| n % 10 != 3 && n * 7919 % 20_200 < GROUPS).count() as i64 * 2;
    let join = "SELECT count(*), sum(length(pad)) FROM asked JOIN parts ON parts.a = asked.a";
    // What the statement is planned by is read.
    numbers(&conn, "SELECT count(*), min(a) FROM asked");
    conn.query(&format!("EXPLAIN {join}"), ()).unwrap().into_iter().for_each(|row| drop(row.unwrap()));
    let before = database.stats();
    assert_eq!(numbers(&conn, join), (expected, expected * 400));
    let after = database.stats();
    let (alone, ahead) = (after.pages_read - before.pages_read, after.pages_read_ahead - before.pages_read_ahead);
    // (Each of the 72 keys that are asked for has a leaf of its own. Some are read alone: the first before a batch, and what planning reads.)
    assert!(alone < 36 && (40..200).contains(&ahead), "{alone} and {ahead} of {}", after.pages_total);
    // And now they are there.
    assert_eq!(numbers(&conn, join), (expected, expected * 400));
    assert_eq!(database.stats().pages_read, after.pages_read);
}
