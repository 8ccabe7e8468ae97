//! INSERT of many rows at once: all of them or none, and what is wrong with one is told as for a single row.

use crate::common::typed_rows;
use cairndb::{Connection, Database, Value};

fn connection() -> (Database, Connection) {
    let db = Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    let schema = "CREATE TABLE t (id int PRIMARY KEY, u int UNIQUE, s text NOT NULL, d numeric(6, 2), x bytea);
        CREATE INDEX by_s ON t (s, id DESC);
        CREATE TABLE free (a int, b text);
        CREATE INDEX by_b ON free (b)";
    conn.execute_script(schema).unwrap();
    (db, conn)
}

#[test]
fn rows_inserted_at_once_are_those_inserted_one_by_one() {
    let ((_a, at_once), (_b, one_by_one)) = (connection(), connection());
    let row = |n: i32| {
        let u = if n % 3 == 0 { "NULL".to_string() } else { (n * 7 % 2003).to_string() };
        format!("({}, {u}, 'it''s {}', {}.5, NULL)", n * 1009 % 2003, n % 11, -n)
    };
    let all: Vec<String> = (0..2003).map(row).collect();
    assert_eq!(at_once.execute(&format!("INSERT INTO t VALUES {}", all.join(", ")), ()).unwrap(), 2003);
    all.iter().for_each(|row| assert_eq!(one_by_one.execute(&format!("INSERT INTO t VALUES {row}"), ()).unwrap(), 1));
    for conn in [&at_once, &one_by_one] {
        conn.execute("INSERT INTO free SELECT id, s FROM t ORDER BY u DESC, id", ()).unwrap();
    }
    for sql in [
        "SELECT * FROM t ORDER BY id",
        "SELECT id FROM t WHERE u BETWEEN 100 AND 400 ORDER BY u",
        "SELECT id, s FROM t WHERE s = 'it''s 3' ORDER BY s, id DESC",
        "SELECT a, b FROM free",
        "SELECT a FROM free WHERE b > 'it''s 8' ORDER BY b, a",
    ] {
        assert_eq!(typed_rows(&at_once, sql), typed_rows(&one_by_one, sql), "{sql}");
    }
}

#[test]
fn a_row_that_is_not_as_the_table_wants_it_is_told_and_nothing_is_left() {
    let (_db, conn) = connection();
    conn.execute("INSERT INTO t VALUES (1, 10, 'a', 1.5, NULL)", ()).unwrap();
    let cases = [
        ("(2, 20, 'b', NULL, NULL), (1, 30, 'c', NULL, NULL)", "23505", "Key (id)=(1) already exists."),
        ("(2, 20, 'b', NULL, NULL), (3, 10, 'c', NULL, NULL)", "23505", "Key (u)=(10) already exists."),
        ("(2, 20, 'b', NULL, NULL), (2, 30, 'c', NULL, NULL)", "23505", "Key (id)=(2) already exists."),
        ("(2, 20, 'b', NULL, NULL), (3, 20, 'c', NULL, NULL)", "23505", "Key (u)=(20) already exists."),
        ("(2, 20, 'b', NULL, NULL), (1, 10, 'c', NULL, NULL)", "23505", "Key (id)=(1) already exists."),
        (
            "(2, 20, 'b', NULL, NULL), (3, 30, NULL, NULL, NULL)",
            "23502",
            "Failing row contains (3, 30, null, null, null).",
        ),
    ];
    for (values, code, detail) in cases {
        let error = conn.execute(&format!("INSERT INTO t VALUES {values}"), ()).unwrap_err();
        assert_eq!((error.sqlstate().0, error.detail()), (code, Some(detail)), "{values}");
        assert_eq!(typed_rows(&conn, "SELECT id, u, s FROM t WHERE u > 0").len(), 1);
    }
    conn.execute("INSERT INTO t VALUES (2, NULL, 'b', NULL, NULL), (3, NULL, 'c', NULL, NULL)", ()).unwrap();
}

#[test]
fn rows_of_parameters_take_theirs() {
    let (_db, conn) = connection();
    let mut insert = conn.prepare("INSERT INTO free VALUES ($1, $2), ($3, $2), (-1, $4)").unwrap();
    insert.execute((1, "a", 3, "d")).unwrap();
    let text = |s: &str| Value::text(s);
    let expected = [[Value::Integer(-1), text("d")], [Value::Integer(1), text("a")], [Value::Integer(3), text("a")]];
    assert_eq!(typed_rows(&conn, "SELECT a, b FROM free ORDER BY a"), expected);
}
