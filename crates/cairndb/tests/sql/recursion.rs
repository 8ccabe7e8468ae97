//! Recursive queries whose step looks at one row alone are worked a row at a time: they answer as others do, in the same order.

use crate::common::{connect, fails, rows};

#[test]
fn rows_come_in_the_order_of_rounds() {
    let conn = connect(
        "CREATE TABLE t (id int PRIMARY KEY, name text); INSERT INTO t SELECT i, 'n' || i FROM generate_series(1, 300) i",
    );
    let steps = [
        ("SELECT 1, 'a'", "SELECT n + 1, t || 'b' FROM r WHERE n < 40"),
        ("SELECT 5, NULL::text", "SELECT n - 1, coalesce(t, '') || n FROM r WHERE n > 0"),
        ("SELECT id, name FROM t WHERE id % 50 = 0", "SELECT n / 2, t || n FROM r WHERE n > 1"),
        ("SELECT id, name FROM t", "SELECT n - 100, t FROM r WHERE n > 100"),
        (
            "SELECT id, name FROM t WHERE id <= 70",
            "SELECT n - 3, t || '-' FROM (SELECT * FROM r WHERE n % 2 = 1) x WHERE n > 3",
        ),
        ("SELECT 1, 'a' WHERE false", "SELECT n + 1, t FROM r"),
        (
            "VALUES (1, 'x'), (2, NULL), (3, 'z')",
            "SELECT n * 10, CASE WHEN n > 50 THEN NULL ELSE t END FROM r WHERE n < 1000",
        ),
    ];
    for (base, step) in steps {
        let asked = |step: &str| format!("WITH RECURSIVE r(n, t) AS ({base} UNION ALL {step}) SELECT n, t FROM r");
        let (found, expected) = (rows(&conn, &asked(step)), rows(&conn, &asked(&volatile(step))));
        assert_eq!(found, expected, "{base} / {step}");
        let counted = |step: &str| {
            format!(
                "WITH RECURSIVE r(n, t) AS ({base} UNION ALL {step}) SELECT count(*), sum(a.n) FROM r a JOIN r b USING (n)"
            )
        };
        assert_eq!(rows(&conn, &counted(step)), rows(&conn, &counted(&volatile(step))), "{base} / {step}");
    }
}

/// The same, with a condition that is always true and that nobody knows to be.
fn volatile(step: &str) -> String {
    match step.contains("WHERE") {
        true => format!("{step} AND random() >= 0"),
        false => format!("{step} WHERE random() >= 0"),
    }
}

#[test]
fn what_nobody_asks_for_does_not_fail() {
    let conn = connect("");
    let counted = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r LIMIT 5";
    assert_eq!(rows(&conn, counted), ["1", "2", "3", "4", "5"]);
    let fails_later = "WITH RECURSIVE r(n) AS (SELECT 10 UNION ALL SELECT n - 1 + 0 / (n - 4) FROM r)";
    assert_eq!(rows(&conn, &format!("{fails_later} SELECT n FROM r LIMIT 7")), ["10", "9", "8", "7", "6", "5", "4"]);
    fails(&conn, &format!("{fails_later} SELECT n FROM r LIMIT 8"), "22012");
    fails(&conn, &format!("{fails_later} SELECT count(*) FROM r"), "22012");
    fails(
        &conn,
        "WITH RECURSIVE r(n) AS (SELECT 2147483000 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "22003",
    );
}

#[test]
fn it_starts_anew_for_each_outer_row_and_each_execution() {
    let conn = connect("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (3), (4)");
    let nested = "SELECT id, (WITH RECURSIVE r(n) AS (SELECT id UNION ALL SELECT n - 1 FROM r WHERE n > 1) SELECT string_agg(n::text, ' ') FROM r) FROM t ORDER BY id";
    assert_eq!(rows(&conn, nested), ["1|1", "3|3 2 1", "4|4 3 2 1"]);
    let depends = "SELECT id, (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < t.id) SELECT max(n) FROM r) FROM t ORDER BY id";
    assert_eq!(rows(&conn, depends), ["1|1", "3|3", "4|4"]);
    let mut counted = conn
        .prepare("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + $1 FROM r WHERE n < $2) SELECT count(*) FROM r")
        .unwrap();
    for (step, upto, expected) in [(1, 100, 100), (2, 100, 51), (1, 5, 5), (1, 3_000, 3_000)] {
        let count: i64 = counted.query_row((step, upto), |row| row.get(0)).unwrap();
        assert_eq!(count, expected);
    }
}
