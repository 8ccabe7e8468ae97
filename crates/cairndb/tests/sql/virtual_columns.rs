//! Virtual columns beyond what scenarios see: in a file that is opened again, in live queries and views that are kept current, in
//! the schema as data.

use std::collections::BTreeMap;
use std::time::Duration;

use cairndb::{Database, Options};

const TABLE: &str = "CREATE TABLE t (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) VIRTUAL NOT NULL, \
                     c int GENERATED ALWAYS AS (a * 3) STORED)";

#[test]
fn a_file_keeps_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cairn");
    {
        let db = Database::open(&path).unwrap();
        let conn = db.connect().unwrap();
        conn.execute_script(&format!("{TABLE}; INSERT INTO t VALUES (1, 5)")).unwrap();
        db.close().unwrap();
    }
    let db = Database::open_with(&path, Options::default()).unwrap();
    let conn = db.connect().unwrap();
    conn.execute("UPDATE t SET a = 6", ()).unwrap();
    assert_eq!(conn.query_row_as::<(i64, i64)>("SELECT b, c FROM t WHERE id = 1", ()).unwrap(), (12, 18));
    crate::common::fails(&conn, "UPDATE t SET a = NULL", "23502");
    let schema = conn.schema().unwrap();
    let columns = &schema.table("t").unwrap().columns;
    let told: Vec<_> = columns.iter().map(|column| (column.generated.as_deref(), column.is_virtual)).collect();
    let expected = [(None, false), (None, false), (Some("(a * 2)"), true), (Some("(a * 3)"), false)];
    assert_eq!(told, expected);
    assert!(db.verify_constraints().unwrap().is_empty());
}

#[test]
fn results_and_views_that_are_kept_follow_them() {
    let db = Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    conn.execute_script(TABLE).unwrap();
    for (name, how) in [("by_commit", "commit"), ("behind", "after")] {
        let sql = format!(
            "CREATE MATERIALIZED VIEW {name} WITH (maintained = {how}) AS SELECT b, count(*) AS n FROM t GROUP BY b"
        );
        conn.execute(&sql, ()).unwrap();
    }
    let mut live = conn.live("SELECT id, b FROM t WHERE b > 10 ORDER BY id", ()).unwrap();
    assert_eq!(live.key(), Some(&[0][..]));
    let mut rows = BTreeMap::new();
    conn.execute("INSERT INTO t VALUES (1, 5), (2, 6), (3, 6)", ()).unwrap();
    conn.execute("UPDATE t SET a = 7 WHERE b = 10", ()).unwrap();
    conn.execute("DELETE FROM t WHERE id = 3", ()).unwrap();
    let expected = "14 1, 12 1".to_owned();
    let of = |view: &str| {
        let sql = format!("SELECT string_agg(b || ' ' || n, ', ' ORDER BY b DESC) FROM {view}");
        conn.query_row_as::<Option<String>>(&sql, ()).unwrap().unwrap_or_default()
    };
    assert_eq!(of("by_commit"), expected);
    let is_there = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        of("behind") == expected
    });
    assert!(is_there, "{}", of("behind"));
    while let Some(change) = live.next_change_within(Duration::from_millis(200)).unwrap().item() {
        let of = |row: cairndb::Row<'_>| (row.get::<i64>(0).unwrap(), row.get::<i64>(1).unwrap());
        for row in change.removed() {
            rows.remove(&of(row).0);
        }
        rows.extend(change.added().chain(change.updated().map(|(_, new)| new)).map(of));
    }
    assert_eq!(rows, BTreeMap::from([(1, 14), (2, 12)]));
}

/// Values that rest on what they are: another type's, and what commits keep.
#[test]
fn what_rests_on_them_is_computed_again() {
    let db = Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) VIRTUAL, c text);
         INSERT INTO t (id, a, c) VALUES (1, 5, 'x'), (2, 6, 'y');
         ALTER TABLE t ALTER c TYPE int USING b",
    )
    .unwrap();
    let text = |sql: &str| conn.query_row_as::<Option<String>>(sql, ()).unwrap().unwrap_or_default();
    assert_eq!(text("SELECT string_agg(c::text, ',' ORDER BY id) FROM t"), "10,12");
    conn.execute_script(
        "CREATE TABLE s (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED);
         INSERT INTO s VALUES (1, 1), (2, 2)",
    )
    .unwrap();
    for (table, before, after) in [("t", "22", "600"), ("s", "6", "200")] {
        let script =
            format!("CREATE MATERIALIZED VIEW m WITH (maintained = commit) AS SELECT sum(b) AS n FROM {table}");
        conn.execute(&script, ()).unwrap();
        assert_eq!(text("SELECT n::text FROM m"), before, "{table}");
        conn.execute(&format!("ALTER TABLE {table} ALTER b SET EXPRESSION AS (a * 100)"), ()).unwrap();
        conn.execute(&format!("DELETE FROM {table} WHERE id = 1"), ()).unwrap();
        assert_eq!(text("SELECT n::text FROM m"), after, "{table}");
        conn.execute("DROP MATERIALIZED VIEW m", ()).unwrap();
    }
}
