//! Whatever the optimizer does, the rows are those of the query run as it is written: full scans, nested loops, no
//! rewriting.

use cairndb::{Connection, Database, Result};

const SWITCHES: [&str; 8] = [
    "enable_rewrites",
    "enable_decorrelation",
    "enable_join_reorder",
    "enable_indexscan",
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_indexjoin",
    "enable_ordering",
];

/// Small tables with NULLs, duplicates and missing partners everywhere.
fn sample() -> Result<Connection> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(
        "CREATE TABLE a (id int PRIMARY KEY, x int, y int, s text);
         CREATE TABLE b (id int PRIMARY KEY, a_id int, x bigint, n numeric(6,2) NOT NULL);
         CREATE TABLE c (k int, l int, v int, PRIMARY KEY (k, l));
         CREATE TABLE d (x int, y text);
         CREATE INDEX a_x ON a (x);
         CREATE INDEX a_y_x ON a (y DESC, x);
         CREATE INDEX b_a ON b (a_id, x);
         CREATE UNIQUE INDEX c_v ON c (v, k);
         CREATE INDEX d_x ON d (x DESC NULLS LAST)",
    )?;
    for n in 0..40 {
        let or_null = |value: i32, every: i32| if n % every == 0 { "NULL".into() } else { value.to_string() };
        let (x, y) = (or_null(n % 7, 11), or_null(n % 5, 9));
        conn.execute(&format!("INSERT INTO a VALUES ({n}, {x}, {y}, 's{}')", n % 4), ())?;
        conn.execute(
            &format!("INSERT INTO b VALUES ({n}, {}, {}, {})", or_null((n * 3) % 50, 6), or_null(n % 6, 8), n % 13),
            (),
        )?;
        conn.execute(&format!("INSERT INTO c VALUES ({}, {n}, {})", n % 10, or_null(n, 5)), ())?;
        conn.execute(&format!("INSERT INTO d VALUES ({}, 's{}')", or_null(n % 8, 7), n % 3), ())?;
    }
    Ok(conn)
}

/// The rows, sorted unless the query orders them; or the error's code.
fn answer(conn: &Connection, sql: &str) -> Vec<String> {
    let collect = || -> Result<Vec<String>> {
        let mut rows = conn.query(sql, ())?;
        let mut lines = vec![];
        let width = rows.columns().len();
        while let Some(row) = rows.next()? {
            lines.push((0..width).map(|column| format!("{:?}", row.value(column))).collect::<Vec<_>>().join(" | "));
        }
        Ok(lines)
    };
    let mut lines = collect().unwrap_or_else(|error| vec![format!("{} {error}", error.sqlstate().0)]);
    if !is_ordered(sql) {
        lines.sort();
    }
    lines
}

/// Whether ORDER BY stands outside all parentheses.
fn is_ordered(sql: &str) -> bool {
    let mut depth = 0;
    let outside = sql.chars().filter(|&c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    outside.collect::<String>().contains("ORDER BY")
}

fn set(conn: &Connection, switches: &[&str], to: &str) -> Result<()> {
    switches.iter().try_for_each(|switch| conn.execute(&format!("SET {switch} = {to}"), ()).map(drop))
}

/// Compares every way to plan each query with the naive one.
fn agree(conn: &Connection, queries: &[&str]) -> Result<()> {
    compare(conn, queries)?;
    conn.execute("ANALYZE", ())?;
    compare(conn, queries)
}

fn compare(conn: &Connection, queries: &[&str]) -> Result<()> {
    let mut wrong = vec![];
    for sql in queries {
        set(conn, &SWITCHES, "off")?;
        let expected = answer(conn, sql);
        for off in std::iter::once(None).chain(SWITCHES.iter().map(Some)) {
            set(conn, &SWITCHES, "on")?;
            if let Some(off) = off {
                set(conn, &[off], "off")?;
            }
            let found = answer(conn, sql);
            if found != expected {
                wrong.push(format!("{sql}\n  without {off:?}: {found:?}\n  expected: {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn analyze_tells_the_planner_how_many_rows_there_are() -> Result<()> {
    let conn = sample()?;
    let estimate = || -> Result<String> {
        let lines = conn.query_map("EXPLAIN SELECT * FROM d", (), |row| row.get::<String>(0))?;
        Ok(lines.collect::<Result<Vec<_>>>()?.join("\n"))
    };
    assert!(estimate()?.contains("rows=1000"), "a guess before: {}", estimate()?);
    conn.execute("ANALYZE d", ())?;
    assert!(estimate()?.contains("rows=40"), "the count after: {}", estimate()?);
    Ok(())
}

/// The table of a hash join was kept for the next outer row, and with it the keys of the first one.
#[test]
fn joins_whose_keys_are_of_an_outer_row_agree() -> Result<()> {
    agree(
        &sample()?,
        &[
            "SELECT n, (SELECT count(*) FROM a JOIN d ON a.y = d.x + n) FROM generate_series(1, 3) s(n)",
            "SELECT n, (SELECT count(*) FROM a JOIN d ON a.y + n = d.x) FROM generate_series(1, 3) s(n)",
            "SELECT n, (SELECT sum(d.x) FROM a LEFT JOIN d ON a.y * n = d.x * n) FROM generate_series(0, 3) s(n)",
        ],
    )
}

#[test]
fn orders_that_rows_come_in_anyway_are_orders() -> Result<()> {
    let queries = [
        "SELECT k, count(*), sum(v), min(l) FROM c GROUP BY k",
        "SELECT k, l, count(v) FROM c GROUP BY l, k",
        "SELECT k, count(DISTINCT v), string_agg(l::text, ',' ORDER BY l DESC), max(v) FILTER (WHERE l > 9) FROM c GROUP BY k",
        "SELECT x, count(*) FROM a GROUP BY x ORDER BY x",
        "SELECT x, id FROM a WHERE x > 1 ORDER BY x, id",
        "SELECT x, id FROM a WHERE x = 3 ORDER BY id DESC",
        "SELECT x, id FROM a WHERE x IN (3, 1) ORDER BY x, id",
        "SELECT x, count(*) FROM a WHERE x = ANY (ARRAY[4, 1, 3]) GROUP BY x ORDER BY x DESC",
        "SELECT k, sum(v) FROM c WHERE k > 3 GROUP BY k HAVING count(*) > 3 ORDER BY k LIMIT 3",
        "SELECT c.k, c.l, a.s FROM c JOIN a ON a.id = c.v ORDER BY c.k, c.l",
        "SELECT c.k, c.l, a.s FROM c JOIN a ON a.id = c.v ORDER BY c.k, c.l LIMIT 5",
        "SELECT c.k, c.l, a.s FROM c LEFT JOIN a ON a.id = c.v ORDER BY c.k DESC, c.l DESC LIMIT 5 OFFSET 2",
        "SELECT a.id, b.id FROM a JOIN b ON b.a_id = a.id WHERE b.n > 3 ORDER BY a.id, b.id LIMIT 7",
        "SELECT a.id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id) ORDER BY a.id LIMIT 4",
        "SELECT a.id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id) ORDER BY a.id DESC LIMIT 4",
        "SELECT a.id, sum(b.n), count(*) FROM a JOIN b ON b.a_id = a.id GROUP BY a.id ORDER BY a.id",
        "SELECT c.k, count(a.s), sum(a.y) FROM c LEFT JOIN a ON a.id = c.v GROUP BY c.k",
        "SELECT * FROM (SELECT k, max(v) AS m FROM c GROUP BY k) q JOIN d ON d.x = q.k ORDER BY q.k, q.m, d.y",
        "SELECT DISTINCT k FROM c ORDER BY k DESC",
        "SELECT DISTINCT k, l FROM c ORDER BY k, l LIMIT 6",
        "SELECT DISTINCT ON (k) k, v FROM c ORDER BY k, l",
        "SELECT k, l, row_number() OVER (PARTITION BY k ORDER BY l), rank() OVER (ORDER BY k) FROM c",
        "SELECT k, l, sum(v) OVER (PARTITION BY k ORDER BY l) FROM c WHERE k < 5 ORDER BY k, l",
        "SELECT k, n, sum(n) OVER (ORDER BY k) FROM (SELECT k, count(*) AS n FROM c GROUP BY k) q ORDER BY k",
        "WITH q AS (SELECT k, l FROM c) SELECT k, count(*) FROM q GROUP BY k ORDER BY k",
        "SELECT y, count(*) FROM a GROUP BY y ORDER BY y DESC",
        "SELECT k, sum((SELECT count(*) FROM d WHERE d.x = c.k)) FROM c GROUP BY k",
        // An index's entries end with the table's key.
        "SELECT x, id FROM a ORDER BY x DESC, id DESC LIMIT 9",
        "SELECT y, x, id FROM a ORDER BY y DESC, x, id",
        "SELECT y, x, id FROM a WHERE y = 2 ORDER BY x DESC, id DESC",
        // What has one value, and what equals something else.
        "SELECT id, y FROM a WHERE y = 3 ORDER BY y, id DESC LIMIT 4",
        "SELECT a.id, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.a_id, b.x, b.id LIMIT 8",
        "SELECT a.id, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.a_id DESC, a.id LIMIT 8",
        "SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id ORDER BY a.id, b.x, b.id LIMIT 11",
        "SELECT a.id, b.a_id FROM a LEFT JOIN b ON b.a_id = a.id ORDER BY b.a_id, a.id, b.id LIMIT 11",
        "SELECT a.x, a.id FROM a WHERE a.x = a.y ORDER BY a.y, a.id",
        "SELECT a.x, a.id FROM a WHERE a.x IS NULL ORDER BY a.x DESC, a.id",
        // The rows of each left row in the order of the right side's key.
        "SELECT c.k, c.l, b.id FROM c JOIN b ON b.a_id = c.l ORDER BY c.k, c.l, b.x, b.id LIMIT 12",
        "SELECT a.id, c.k, c.l FROM a JOIN c ON c.k = a.id ORDER BY a.id, c.l LIMIT 12",
        "SELECT a.id, c.k, c.l FROM a LEFT JOIN c ON c.k = a.id ORDER BY a.id, c.k, c.l",
        "SELECT a.id, d.y, d.x FROM a JOIN d ON d.x = a.id ORDER BY a.id, d.x, d.y",
        "SELECT c.k, c.l, d.x FROM c, d WHERE c.v > d.x ORDER BY c.k, c.l, d.x DESC NULLS LAST LIMIT 9",
        // In part.
        "SELECT x, s, id FROM a ORDER BY x, s, id DESC",
        "SELECT x, s, id FROM a ORDER BY x DESC, s, id LIMIT 6 OFFSET 3",
        "SELECT k, v, l FROM c ORDER BY k, v DESC NULLS LAST, l LIMIT 13",
        "SELECT a.id, b.n, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY a.id, b.n DESC, b.id LIMIT 5",
        "SELECT k, l, v, row_number() OVER (PARTITION BY k ORDER BY v, l) FROM c ORDER BY k, l",
        "SELECT k, v, l FROM c ORDER BY k FETCH FIRST 7 ROWS WITH TIES",
        // Groups and different rows, of which few are read.
        "SELECT k, count(*), sum(v) FROM c GROUP BY k ORDER BY k DESC LIMIT 2",
        "SELECT l, k, count(*) FROM c GROUP BY l, k ORDER BY k, l LIMIT 3",
        "SELECT DISTINCT x FROM a ORDER BY x NULLS FIRST LIMIT 3",
        "SELECT DISTINCT l, k FROM c ORDER BY k DESC, l DESC LIMIT 3",
        "SELECT DISTINCT ON (x) x, id FROM a ORDER BY x, id DESC",
        "SELECT DISTINCT ON (y, x) y, x, id FROM a ORDER BY x, y, id",
        "SELECT a.id, count(*), min(b.n) FROM a JOIN b ON b.a_id = a.id GROUP BY a.id ORDER BY a.id LIMIT 3",
        "SELECT b.a_id, count(*) FROM a JOIN b ON b.a_id = a.id GROUP BY b.a_id ORDER BY b.a_id DESC LIMIT 3",
        "SELECT q.x, q.n FROM (SELECT x, count(*) AS n FROM a GROUP BY x) q WHERE q.n > 3 ORDER BY q.x",
        "SELECT x, count(*) FROM (SELECT DISTINCT x, y FROM a) q GROUP BY x ORDER BY x",
    ];
    agree(&sample()?, &queries)
}

/// Of 50 rows with a key, and 40 of each: runs that are cut anywhere, rows that are skipped, values that come in no order.
#[test]
fn rows_that_are_sorted_run_after_run_are_those_that_are_sorted_at_once() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(
        "CREATE TABLE r (g int, n int, s text, PRIMARY KEY (g, n));
         INSERT INTO r SELECT i / 40, i, 's' || i * 7 % 11 FROM generate_series(0, 399) AS t(i);
         INSERT INTO r SELECT 100, i, 's' || i * 7 % 1000 FROM generate_series(0, 1299) AS t(i);
         INSERT INTO r SELECT i, 0, 's' || i * 7 % 3 FROM generate_series(200, 700) AS t(i);
         ANALYZE",
    )?;
    let queries = [
        "SELECT g, s, n FROM r ORDER BY g, s, n DESC",
        "SELECT g, s, n FROM r ORDER BY g DESC, s DESC, n",
        "SELECT g, s, n FROM r ORDER BY g, s LIMIT 25 OFFSET 30",
        "SELECT g, s, n FROM r ORDER BY g, s LIMIT 100 OFFSET 1650",
        "SELECT g, s, n FROM r WHERE g >= 100 ORDER BY g, s, n LIMIT 1500 OFFSET 10",
        "SELECT g, s, n FROM r ORDER BY g, s LIMIT 0",
        "SELECT g, (SELECT string_agg(s, ',') FROM (SELECT s FROM r i WHERE i.g < o.g ORDER BY i.g, s LIMIT 3) q)
         FROM r o WHERE n = 0 AND g < 4000 ORDER BY g LIMIT 5",
    ];
    for (rows, memory) in [("0", "64MB"), ("1", "64MB"), ("3", "64MB"), ("0", "64kB")] {
        conn.execute_script(&format!("SET batch_rows = {rows}; SET work_mem = '{memory}'"))?;
        for sql in queries {
            let answers = ["on", "off"].map(|to| {
                set(&conn, &["enable_ordering"], to).expect("a switch");
                answer(&conn, sql)
            });
            assert_eq!(answers[0], answers[1], "{sql}");
        }
        set(&conn, &["enable_ordering"], "on")?;
    }
    let plan = answer(&conn, "EXPLAIN SELECT g, s, n FROM r ORDER BY g, s LIMIT 5").join("\n");
    assert!(plan.contains("Incremental Sort") && plan.contains("Presorted Key: g"), "{plan}");
    Ok(())
}

#[test]
fn groups_that_come_together_are_those_that_are_found_by_hashing() -> Result<()> {
    let conn = sample()?;
    // Groups of one row, of a few, of more than a batch; more of them than are kept in memory.
    conn.execute_script(
        "CREATE TABLE wide (g bigint, n int, s text, v numeric, PRIMARY KEY (g, n));
         INSERT INTO wide SELECT CASE WHEN i < 6000 THEN i WHEN i < 9000 THEN i / 3 + 10000 ELSE i / 2500 + 50000 END,
             i, 's' || i % 3, CASE WHEN i % 5 > 0 THEN i % 100 / 7.0 END FROM generate_series(1, 20000) AS r(i);
         CREATE INDEX wide_s ON wide (s DESC, n)",
    )?;
    let queries = [
        "SELECT g, count(*), sum(n), min(s), max(v), avg(v) FROM wide GROUP BY g",
        "SELECT g, count(DISTINCT s), array_agg(n ORDER BY n DESC), count(v) FILTER (WHERE n % 2 = 0) FROM wide GROUP BY g",
        "SELECT s, count(*), sum(v) FROM wide WHERE s > 's' GROUP BY s ORDER BY s DESC",
        "SELECT count(*), sum(c), max(g) FROM (SELECT g, count(*) AS c FROM wide GROUP BY g HAVING count(*) > 1) q",
        "SELECT g, n, count(*) FROM wide WHERE n % 7 = 0 GROUP BY g, n",
        "SELECT g, (SELECT count(*) FROM (SELECT h.g FROM wide h WHERE h.g < 4 GROUP BY h.g) q WHERE q.g < w.g)
         FROM wide w WHERE g < 6 GROUP BY g ORDER BY g",
    ];
    for rows in ["0", "1", "3"] {
        conn.execute(&format!("SET batch_rows = {rows}"), ())?;
        for sql in queries {
            let answers = ["on", "off"].map(|to| {
                set(&conn, &["enable_ordering"], to).expect("a switch");
                answer(&conn, sql)
            });
            assert_eq!(answers[0], answers[1], "{sql}");
        }
        set(&conn, &["enable_ordering"], "on")?;
    }
    let plan = answer(&conn, "EXPLAIN SELECT g, sum(v) FROM wide GROUP BY g").join("\n");
    assert!(plan.contains("GroupAggregate"), "{plan}");
    Ok(())
}

#[test]
fn scans_with_any_access_path_agree() -> Result<()> {
    agree(
        &sample()?,
        &[
            "SELECT * FROM a WHERE id = 7",
            "SELECT * FROM a WHERE id = 7 AND x > 100",
            "SELECT * FROM a WHERE id > 5 AND id <= 9 AND s = 's1'",
            "SELECT id FROM a WHERE x = 3",
            "SELECT id, x FROM a WHERE x IN (3, 1, 3, NULL)",
            "SELECT id FROM a WHERE x < 3",
            "SELECT id FROM a WHERE x <= 3 AND x > 1 AND 5 > x",
            "SELECT id FROM a WHERE y = 2 AND x >= 3",
            "SELECT id FROM a WHERE y < 2",
            "SELECT id FROM a WHERE y > 2 AND x = 1",
            "SELECT id FROM a WHERE x IS NULL",
            "SELECT id FROM a WHERE x = NULL",
            "SELECT id FROM a WHERE x = 1 OR x = 2 OR y = 4",
            "SELECT id FROM a WHERE x = 1 AND x = 2",
            "SELECT id FROM a WHERE NOT (x = 1)",
            "SELECT id FROM b WHERE a_id = 3 AND x = 3",
            "SELECT id FROM b WHERE x = 3 AND n > 4.5",
            "SELECT * FROM c WHERE k = 3 AND l IN (3, 13, 99)",
            "SELECT * FROM c WHERE k IN (1, 2) AND l > 10",
            "SELECT v, k FROM c WHERE v = 8 AND k = 8",
            "SELECT * FROM c WHERE k = 3 ORDER BY l DESC",
            "SELECT * FROM a ORDER BY id DESC LIMIT 5",
            "SELECT x, id FROM a ORDER BY x, id LIMIT 12 OFFSET 3",
            "SELECT y, x, id FROM a ORDER BY y DESC, x, id",
            "SELECT y, x, id FROM a ORDER BY y, x DESC, id",
            "SELECT x FROM d ORDER BY x DESC NULLS LAST LIMIT 7",
            "SELECT x FROM d ORDER BY x DESC LIMIT 7",
            "SELECT x FROM d ORDER BY x NULLS FIRST",
            "SELECT DISTINCT x, s FROM a",
            "SELECT DISTINCT id FROM a WHERE x > 2",
            "SELECT DISTINCT ON (x) x, id FROM a ORDER BY x, id DESC",
            "SELECT count(*), sum(x), min(y), max(id) FROM a WHERE x > 100",
            "SELECT max(id), min(x) FROM a",
            "SELECT 1 FROM a WHERE 1 = 2",
            "SELECT id FROM a WHERE x > (SELECT avg(x) FROM a)",
            "SELECT id FROM a WHERE id = (SELECT max(id) FROM b)",
            "SELECT 1 / (x - x) FROM a WHERE x IS NULL",
            "SELECT id FROM a WHERE x <> 0 AND 10 / x > 2 ORDER BY id",
            "SELECT CASE WHEN x = 0 THEN -1 ELSE 10 / x END FROM a",
        ],
    )
}

#[test]
fn joins_in_any_order_agree() -> Result<()> {
    agree(
        &sample()?,
        &[
            "SELECT a.id, b.id FROM a JOIN b ON b.a_id = a.id",
            "SELECT a.id, b.id FROM a, b WHERE b.a_id = a.id AND a.x = 3",
            "SELECT a.id, b.id FROM a, b WHERE b.x = a.x AND a.y = 3 AND b.n < 5",
            "SELECT count(*) FROM a, b, c WHERE a.x = b.x AND b.x = c.k",
            "SELECT count(*) FROM a, b, c, d WHERE a.x = b.x AND a.x = c.k AND d.x = a.x AND d.y = a.s",
            "SELECT a.id, c.l FROM a, c WHERE a.x = c.k AND a.y = c.k",
            "SELECT a.id, c.l FROM a, c WHERE a.x = c.k AND a.y = c.k AND a.x = 4",
            "SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id",
            "SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id AND b.n > 5",
            "SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id AND a.x > 3",
            "SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.n > 5",
            "SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.id IS NULL",
            "SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE coalesce(b.x, 3) = 3",
            "SELECT a.id, b.id, c.l FROM a LEFT JOIN b ON b.a_id = a.id LEFT JOIN c ON c.k = b.x AND c.l = a.id",
            "SELECT a.id, b.id, c.l FROM a LEFT JOIN b ON b.a_id = a.id JOIN c ON c.k = a.x",
            "SELECT a.id, b.id, c.l FROM a LEFT JOIN b ON b.a_id = a.id JOIN c ON c.k = b.x",
            "SELECT a.id, t.id FROM a LEFT JOIN (SELECT b.id, b.a_id, c.l FROM b JOIN c ON c.k = b.x) t ON t.a_id = a.id",
            "SELECT a.id, t.z FROM a LEFT JOIN (SELECT b.a_id, 1 AS z FROM b) t ON t.a_id = a.id",
            "SELECT a.id, t.z FROM a LEFT JOIN (SELECT b.a_id, 1 AS z FROM b) t ON t.a_id = a.id WHERE t.z IS NULL",
            "SELECT a.id, t.z FROM a LEFT JOIN (SELECT b.a_id, coalesce(x, 0) AS z FROM b) t ON t.a_id = a.id AND t.z = 0",
            "SELECT a.id, b.id FROM a RIGHT JOIN b ON b.a_id = a.id",
            "SELECT a.id, b.id FROM a RIGHT JOIN b ON b.a_id = a.id WHERE a.x = 2",
            "SELECT a.id, b.id FROM a RIGHT JOIN b ON b.a_id = a.id AND a.x = 2 WHERE b.n < 3",
            "SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id",
            "SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id WHERE a.x = 1",
            "SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id WHERE b.n > 7 AND a.x < 5",
            "SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id WHERE a.id IS NULL OR b.id IS NULL",
            "SELECT a.id, b.id FROM a CROSS JOIN b WHERE a.id < 3 AND b.id > 37",
            "SELECT a.id, b.id FROM a JOIN b ON a.id < b.id AND a.x > b.x WHERE b.n = 3",
            "SELECT a.id, b.id FROM a, b WHERE (a.id = b.a_id AND a.x = 1) OR (a.id = b.a_id AND b.x = 2)",
            "SELECT a.id, b.id FROM a, b WHERE (a.x = 1 AND b.x = 2) OR (a.x = 2 AND b.x = 1)",
            "SELECT a1.id, a2.id FROM a a1 JOIN a a2 ON a1.x = a2.y AND a2.x = a1.y",
            "SELECT a.id, c.l FROM a LEFT JOIN c ON c.k = a.x AND c.v = 7",
            "SELECT x.id FROM (SELECT id, x + y AS z FROM a) x JOIN b ON b.x = x.z WHERE x.z > 2",
            "SELECT t.x, t.n, b.id FROM (SELECT x, count(*) AS n FROM a GROUP BY x) t JOIN b ON b.x = t.x WHERE t.n > 5",
            "SELECT * FROM (SELECT x, count(*) AS n FROM a GROUP BY x) t WHERE x = 3",
            "SELECT a.id FROM a NATURAL JOIN b",
            "SELECT * FROM (SELECT id FROM a UNION ALL SELECT a_id FROM b) u WHERE id = 9",
            "SELECT * FROM (SELECT x FROM a UNION SELECT x FROM b) u WHERE x > 3",
            "SELECT * FROM (SELECT x FROM a INTERSECT SELECT x FROM d) u WHERE x > 3",
            "SELECT * FROM (SELECT x FROM a EXCEPT ALL SELECT x FROM d) u WHERE x < 3",
            "SELECT * FROM (SELECT x, id FROM a ORDER BY id LIMIT 10) t WHERE x = 3",
            "SELECT a.id, l.id FROM a, LATERAL (SELECT b.id FROM b WHERE b.a_id = a.id) l",
            "SELECT a.id, l.id FROM a LEFT JOIN LATERAL (SELECT b.id, b.x + a.x AS z FROM b WHERE b.a_id = a.id) l ON l.z > 3",
            "SELECT a.id, l.id FROM a, LATERAL (SELECT b.id FROM b WHERE b.x = a.x ORDER BY b.id DESC LIMIT 2) l",
            "SELECT a.id, l.n FROM a, LATERAL (SELECT count(*) AS n FROM b WHERE b.x = a.x) l",
        ],
    )
}

#[test]
fn subqueries_as_joins_agree() -> Result<()> {
    agree(
        &sample()?,
        &[
            "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id)",
            "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id AND b.n > 4)",
            "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x > a.x AND b.n < a.y)",
            "SELECT id FROM a WHERE EXISTS (SELECT DISTINCT b.x FROM b WHERE b.x = a.x ORDER BY 1 LIMIT 3)",
            "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = a.x LIMIT 0)",
            "SELECT id FROM a WHERE EXISTS (SELECT max(n) FROM b WHERE b.x = a.x)",
            "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.n > 100)",
            "SELECT id FROM a WHERE x IN (SELECT x FROM b)",
            "SELECT id FROM a WHERE x NOT IN (SELECT x FROM b)",
            "SELECT id FROM a WHERE x NOT IN (SELECT x FROM b WHERE x IS NOT NULL AND x < 4)",
            "SELECT id FROM a WHERE id NOT IN (SELECT id FROM b WHERE n > 5)",
            "SELECT id FROM a WHERE id NOT IN (SELECT a_id FROM b)",
            "SELECT id FROM a WHERE x IN (SELECT x FROM b WHERE b.n > a.y)",
            "SELECT id FROM a WHERE x NOT IN (SELECT x FROM b WHERE b.a_id = a.id)",
            "SELECT id FROM a WHERE (x, y) IN (SELECT k, l FROM c)",
            "SELECT id FROM a WHERE (x, y) NOT IN (SELECT k, v FROM c)",
            "SELECT id FROM a WHERE x = ANY (SELECT k FROM c WHERE l < 3)",
            "SELECT id FROM a WHERE x > ALL (SELECT k FROM c WHERE c.l = a.id)",
            "SELECT id FROM a WHERE x <> ALL (SELECT k FROM c WHERE k < 4)",
            "SELECT id FROM a WHERE x IN (SELECT x FROM b WHERE x IN (SELECT k FROM c WHERE v > 10))",
            "SELECT id FROM a WHERE x > 1 OR EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id)",
            "SELECT id, EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id) FROM a",
            "SELECT id, x IN (SELECT x FROM b) FROM a",
            "SELECT id, (SELECT count(*) FROM b WHERE b.a_id = a.id) FROM a",
            "SELECT id, (SELECT sum(n) FROM b WHERE b.a_id = a.id) FROM a",
            "SELECT id, (SELECT sum(n) + count(*) FROM b WHERE b.x = a.x AND b.n > 2) FROM a",
            "SELECT id, (SELECT coalesce(max(n), -1) FROM b WHERE b.a_id = a.id) FROM a",
            "SELECT id, (SELECT count(*) + a.x FROM b WHERE b.a_id = a.id) FROM a",
            "SELECT id, (SELECT n FROM b WHERE b.id = a.x) FROM a",
            "SELECT id, (SELECT n FROM b WHERE b.x = a.x) FROM a",
            "SELECT id FROM a WHERE x < (SELECT avg(n) FROM b WHERE b.x = a.x)",
            "SELECT id FROM a WHERE 0 = (SELECT count(*) FROM b WHERE b.a_id = a.id)",
            "SELECT id FROM a WHERE x = (SELECT min(k) FROM c WHERE c.l > a.id AND c.k = a.x)",
            "SELECT a.id, b.id FROM a, b WHERE a.x = b.x AND b.n = (SELECT min(n) FROM b b2 WHERE b2.x = a.x)",
            "SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id AND EXISTS (SELECT 1 FROM c WHERE c.k = b.x)",
            "SELECT x, count(*) FROM a GROUP BY x HAVING count(*) > (SELECT count(*) FROM b WHERE b.x = a.x)",
            "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id AND NOT EXISTS (SELECT 1 FROM c WHERE c.k = b.x AND c.l = a.id))",
            "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b, c WHERE b.a_id = a.id AND c.k = b.x AND c.v > a.y)",
            "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM (SELECT a_id, x + 1 AS z FROM b) t JOIN c ON c.k = t.z WHERE t.a_id = a.id)",
            "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b LEFT JOIN c ON c.k = b.x WHERE b.a_id = a.id AND c.l IS NULL)",
            "SELECT id FROM a WHERE EXISTS (SELECT x FROM b WHERE b.x = a.x GROUP BY x)",
            "SELECT id FROM a WHERE EXISTS (SELECT x FROM b WHERE b.x = a.x GROUP BY x HAVING count(*) > 6)",
            "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id UNION SELECT 1 FROM c WHERE c.l = a.x)",
            "SELECT id FROM a ORDER BY (SELECT count(*) FROM b WHERE b.x = a.x), id",
            "WITH t AS (SELECT x, count(*) AS n FROM a GROUP BY x) SELECT * FROM t WHERE n > 4",
            "WITH t AS (SELECT x, count(*) AS n FROM a GROUP BY x) SELECT * FROM t t1, t t2 WHERE t1.n = t2.n",
            "WITH t AS (SELECT id FROM a WHERE x = 1) SELECT id FROM b WHERE a_id IN (SELECT id FROM t)",
            "WITH t AS (SELECT id FROM a), u AS (SELECT id + 1 AS id FROM t) SELECT * FROM u WHERE id < 5",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10) SELECT r.n, a.x FROM r JOIN a ON a.id = r.n",
            "SELECT (SELECT sum(q.n) FROM (SELECT n FROM b WHERE b.a_id = a.id) q) FROM a",
            "SELECT id FROM a WHERE (SELECT (SELECT max(c.v) FROM c WHERE c.k = b.x AND c.l > a.id) FROM b WHERE b.id = a.id) > 5",
        ],
    )
}

/// Tables of very different sizes, so that semi and anti joins begin from the side that is not written first.
#[test]
fn semi_and_anti_joins_from_either_side_agree() -> Result<()> {
    let conn = sample()?;
    conn.execute_script(
        "CREATE TABLE many (id int PRIMARY KEY, k int, l bigint, t text);
         CREATE TABLE more (k int, l int, v int);
         CREATE INDEX more_k_l ON more (k, l);
         INSERT INTO many SELECT n, nullif(n % 97, 13), nullif(n % 11, 3), 's' || n % 5 FROM generate_series(1, 1500) s(n);
         INSERT INTO more SELECT nullif(n % 300, 13), nullif(n % 7, 3), n % 50 FROM generate_series(1, 2500) s(n)",
    )?;
    let reads = "Hash Right Semi Join|Hash Right Anti Join";
    let queries = [
        "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM many WHERE many.k = a.x)",
        "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM many WHERE many.k = a.id)",
        "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM many WHERE many.k = a.x AND many.l > a.y)",
        "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM many WHERE many.k = a.x AND many.l = a.y AND many.t <> a.s)",
        "SELECT id FROM a WHERE x IN (SELECT k FROM many WHERE l = 4) ORDER BY id DESC",
        "SELECT id FROM many WHERE k IN (SELECT x FROM a WHERE y = 2)",
        "SELECT id FROM many WHERE id IN (SELECT x FROM a)",
        "SELECT id FROM many WHERE (k, l) IN (SELECT x, y FROM a)",
        "SELECT id FROM many WHERE (k, k) IN (SELECT x, y FROM a)",
        "SELECT id FROM many WHERE k + 1 IN (SELECT x FROM a WHERE y = 2)",
        "SELECT k, v FROM more WHERE k IN (SELECT x FROM a WHERE y = 2)",
        "SELECT k, v FROM more WHERE (k, l) IN (SELECT x, y FROM a WHERE id < 20)",
        "SELECT k, v FROM more WHERE l IN (SELECT x FROM a WHERE a.id = more.k)",
        "SELECT count(*) FROM more, many WHERE more.k = many.k AND many.id IN (SELECT x FROM a WHERE y < 4)",
        "SELECT count(*) FROM more, many WHERE more.k = many.id AND more.k IN (SELECT x FROM a) AND many.l IN (SELECT y FROM a)",
        "SELECT count(*), sum(v) FROM more WHERE (k, l) IN (SELECT many.id, a.y FROM a, many WHERE a.x = many.k)",
        "SELECT many.id, d.y FROM many LEFT JOIN d ON d.x = many.l WHERE many.k IN (SELECT y FROM a WHERE s = 's1')",
        "SELECT many.id, d.y FROM many LEFT JOIN d ON d.x = many.l AND d.y = 's1' WHERE d.y IN (SELECT s FROM a WHERE x = 1)",
        "SELECT many.id FROM many LEFT JOIN d ON d.x = many.id WHERE coalesce(d.x, 7) IN (SELECT x FROM a WHERE y = 1)",
        "SELECT id FROM many WHERE k IN (SELECT x FROM a WHERE y = 2) AND NOT EXISTS (SELECT 1 FROM more WHERE more.k = many.k AND more.v = many.l)",
        "SELECT id FROM many WHERE k IN (SELECT x FROM a WHERE y = 2) AND l NOT IN (SELECT id FROM b WHERE id < 5)",
        "SELECT (SELECT count(*) FROM many WHERE k IN (SELECT x FROM a WHERE a.y = d.x)) FROM d",
        "SELECT (SELECT count(*) FROM a WHERE NOT EXISTS (SELECT 1 FROM many WHERE many.k = a.x + d.x)) FROM d",
    ];
    agree(&conn, &queries)?;
    let plans =
        queries.iter().map(|sql| conn.query_map(&format!("EXPLAIN {sql}"), (), |row| row.get::<String>(0))?.collect());
    let plans: Vec<String> = plans.collect::<Result<Vec<Vec<String>>>>()?.concat();
    assert!(reads.split('|').all(|wanted| plans.iter().any(|line| line.contains(wanted))), "{plans:#?}");
    Ok(())
}

/// Each is decided about by itself: all groups, the groups that are asked for, or one row after the other.
#[test]
fn scalar_aggregates_in_any_way_agree() -> Result<()> {
    let conn = sample()?;
    conn.execute_script(
        "CREATE TABLE big (id int PRIMARY KEY, k int, l int, v numeric(8,2));
         CREATE INDEX big_k ON big (k, l);
         INSERT INTO big SELECT n, nullif(n % 500, 13), nullif(n % 7, 3), n % 50 FROM generate_series(1, 4000) s(n)",
    )?;
    let queries = [
        "SELECT id, (SELECT sum(v) FROM big WHERE big.k = a.id) FROM a WHERE id = 5",
        "SELECT id, (SELECT sum(v) FROM big WHERE big.k = a.id) FROM a",
        "SELECT id, (SELECT sum(v) FROM big WHERE big.k = a.id), (SELECT count(*) FROM big WHERE big.l = a.x) FROM a",
        "SELECT id, (SELECT sum(v) FROM big b2 WHERE b2.l = big.l) FROM big WHERE k IN (SELECT x FROM a WHERE y = 1)",
        "SELECT b.id FROM a, b WHERE a.id = b.a_id AND a.s = 's1' AND b.n < (SELECT avg(v) FROM big WHERE big.k = a.x)",
        "SELECT b.id FROM a, b WHERE a.id = b.a_id AND b.n < (SELECT avg(v) FROM big WHERE big.k = a.x AND big.l = b.x)",
        "SELECT b.id FROM a LEFT JOIN b ON a.id = b.a_id WHERE a.y = 1 AND 9 > (SELECT count(*) FROM big WHERE big.k = b.x)",
        "SELECT id FROM a WHERE x IN (SELECT x FROM b WHERE n > 3 AND n < (SELECT avg(v) FROM big WHERE k = b.a_id AND l = b.x))",
        "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND n < (SELECT max(v) FROM big WHERE k = b.a_id))",
        "WITH t AS MATERIALIZED (SELECT * FROM a WHERE y = 2) SELECT id, (SELECT sum(v) FROM big WHERE k = t.x) FROM t",
        "SELECT q.z, (SELECT sum(v) FROM big WHERE k = q.z) FROM (SELECT x + 1 AS z FROM a WHERE y = 2) q",
        "SELECT q.x, (SELECT sum(v) FROM big WHERE k = q.x) FROM (SELECT DISTINCT x FROM a WHERE y = 2) q",
        "SELECT id, (SELECT count(*) FROM big WHERE k = a.x AND v > (SELECT avg(n) FROM b WHERE b.x = big.l)) FROM a WHERE y = 2",
        "SELECT id, (SELECT max((SELECT sum(v) FROM big WHERE k = b.x)) FROM b WHERE b.a_id = a.id) FROM a WHERE y < 3",
    ];
    agree(&conn, &queries)
}

/// Random queries over the sample, the same ones in every run.
struct Generator(u64);

impl Generator {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    /// A number column of a table under an alias.
    fn column(&mut self, alias: &str) -> String {
        let columns: &[&str] = match &alias[..1] {
            "a" => &["id", "x", "y"],
            "b" => &["id", "a_id", "x", "n"],
            "c" => &["k", "l", "v"],
            _ => &["x"],
        };
        format!("{alias}.{}", self.pick(columns))
    }

    fn condition(&mut self, aliases: &[String], depth: usize) -> String {
        let alias = aliases[self.below(aliases.len())].clone();
        let other = aliases[self.below(aliases.len())].clone();
        let left = self.column(&alias);
        let op = self.pick(&["=", "=", "=", "<", ">=", "<>"]);
        match self.below(if depth == 0 { 7 } else { 12 }) {
            0 | 1 => format!("{left} {op} {}", self.below(12)),
            2 => format!("{left} IN ({}, {}, NULL)", self.below(9), self.below(9)),
            3 => format!("{left} IS {}NULL", self.pick(&["", "NOT "])),
            4 => format!("({left} = {} OR {} > {})", self.below(9), self.column(&other), self.below(20)),
            5 | 6 => format!("{left} {op} {}", self.column(&other)),
            7 => format!("NOT ({})", self.condition(aliases, depth - 1)),
            8 => {
                let (common, one, two) =
                    (self.condition(aliases, 0), self.condition(aliases, 0), self.condition(aliases, 0));
                format!("(({common} AND {one}) OR ({common} AND {two}))")
            }
            9 => {
                let inner = self.source(aliases.len() + 10);
                let on = self.condition(&[inner.1.clone(), alias], 0);
                format!("{}EXISTS (SELECT 1 FROM {} WHERE {on})", self.pick(&["", "NOT "]), inner.0)
            }
            10 => {
                let inner = self.source(aliases.len() + 20);
                let (column, filter) = (self.column(&inner.1), self.condition(&[inner.1.clone(), alias], 0));
                format!("{left} {}IN (SELECT {column} FROM {} WHERE {filter})", self.pick(&["", "NOT "]), inner.0)
            }
            _ => {
                let inner = self.source(aliases.len() + 30);
                let (value, key, outer) = (self.column(&inner.1), self.column(&inner.1), self.column(&alias));
                let aggregate = self.pick(&["min", "max", "sum", "count"]);
                format!("{left} {op} (SELECT {aggregate}({value}) FROM {} WHERE {key} = {outer})", inner.0)
            }
        }
    }

    /// A table, or a query over one, and its alias.
    fn source(&mut self, number: usize) -> (String, String) {
        let table = self.pick(&["a", "b", "c", "d"]);
        let alias = format!("{table}{number}");
        match self.below(4) {
            0 => {
                let filter = self.condition(&[table.to_owned()], 0);
                (format!("(SELECT * FROM {table} WHERE {filter}) {alias}"), alias)
            }
            _ => (format!("{table} {alias}"), alias),
        }
    }

    fn query(&mut self) -> String {
        let (mut from, first) = self.source(0);
        let mut aliases = vec![first];
        for number in 1..=self.below(3) {
            let (source, alias) = self.source(number);
            let left = aliases.clone();
            aliases.push(alias.clone());
            let join = self.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
            let partner = left[self.below(left.len())].clone();
            let on = format!("{} = {}", self.column(&partner), self.column(&alias));
            // PostgreSQL joins fully by equalities only.
            let more =
                if join == "FULL JOIN" { String::new() } else { format!(" AND {}", self.condition(&aliases, 0)) };
            from = format!("{from} {join} {source} ON {on}{}", if self.below(3) == 0 { more } else { String::new() });
        }
        let count = self.below(3);
        let filters: Vec<String> = (0..count).map(|_| self.condition(&aliases, 1)).collect();
        let filter = if filters.is_empty() { String::new() } else { format!(" WHERE {}", filters.join(" AND ")) };
        let columns: Vec<String> = aliases.clone().iter().map(|alias| self.column(alias)).collect();
        match self.below(5) {
            0 => format!("SELECT {}, count(*) FROM {from}{filter} GROUP BY 1", columns[0]),
            1 => format!("SELECT DISTINCT {} FROM {from}{filter}", columns.join(", ")),
            2 => format!("SELECT max({}), count(*) FROM {from}{filter}", columns[0]),
            _ => format!("SELECT {} FROM {from}{filter}", columns.join(", ")),
        }
    }
}

#[test]
fn random_queries_agree() -> Result<()> {
    let conn = sample()?;
    let count = std::env::var("CAIRN_RANDOM_QUERIES").ok().and_then(|count| count.parse().ok()).unwrap_or(100);
    let mut generator = Generator(0x5EED_CA1E);
    let queries: Vec<String> = (0..count).map(|_| generator.query()).collect();
    agree(&conn, &queries.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Where only parts of documents are asked for, the scan gives those; whoever asks for the document as well gets it once.
#[test]
fn scans_read_parts_of_documents() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(
        r#"CREATE TABLE document (id int PRIMARY KEY, body jsonb);
           CREATE INDEX document_n ON document (((body ->> 'n')::int));
           INSERT INTO document SELECT i, format('{"n": %s, "text": "%s"}', i, repeat('x', 700))::jsonb
               FROM generate_series(1, 1000) i"#,
    )?;
    let scan = |query: &str| -> Result<String> {
        let mut rows = conn.query(&format!("EXPLAIN (VERBOSE, COSTS off) {query}"), ())?;
        let mut lines = vec![];
        while let Some(row) = rows.next()? {
            lines.push(row.get::<String>(0)?);
        }
        let at = lines.iter().position(|line| line.contains("Scan")).unwrap_or(0);
        Ok(lines[at..].join("\n"))
    };
    for (query, output) in [
        (
            "SELECT sum((body ->> 'n')::int) FROM document",
            "Seq Scan on document\n        Output: (document.body ->> 'n'::text)",
        ),
        (
            "SELECT body -> 'n' ->> 0 FROM document WHERE body ->> 'text' <> ''",
            "Filter: ((document.body ->> 'text'::text) <> ''::text)",
        ),
        ("SELECT body, body ->> 'n' FROM document", "Output: document.body"),
    ] {
        let plan = scan(query)?;
        assert!(plan.contains(output), "{query}\n{plan}");
    }
    Ok(())
}

/// What a LIMIT wants of a filter's rows is not what the filter wants of its input's.
#[test]
fn a_limit_is_not_handed_through_conditions_as_if_every_row_passed() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(
        "CREATE TABLE a (id int PRIMARY KEY, x int, y int, z text);
         INSERT INTO a SELECT i, i * 7919 % 2000, i % 10, 'z' || i FROM generate_series(0, 19999) AS t(i);
         CREATE INDEX a_x ON a (x);
         ANALYZE",
    )?;
    let plan = |sql: &str| answer(&conn, &format!("EXPLAIN {sql}")).join("\n");
    let having = "SELECT x, sum(y) FROM a GROUP BY x HAVING sum(y) < 0 ORDER BY x LIMIT 5";
    assert!(!plan(having).contains("Index"), "{}", plan(having));
    let rare = "SELECT * FROM (SELECT *, random() r, random() s FROM a) a WHERE r = 0.5 AND s = 0.5 ORDER BY x LIMIT 5";
    assert!(!plan(rare).contains("Index"), "{}", plan(rare));
    // Where they all pass, or every third, the index gives the first few.
    for all in ["SELECT x, sum(y) FROM a GROUP BY x ORDER BY x LIMIT 5", &rare.replace("r = 0.5 AND s =", "r <")] {
        assert!(plan(all).contains("Index"), "{}", plan(all));
    }
    Ok(())
}

/// Duplicates on both sides, NULLs, keys of several columns and of types that compare alike, indexes in either direction.
#[test]
fn merged_rows_are_those_that_are_joined_by_hashing() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(
        "CREATE TABLE l (id int PRIMARY KEY, k int, d int, s text NOT NULL, n numeric(6, 2));
         CREATE TABLE r (id bigint PRIMARY KEY, k bigint, d int, s varchar(9), n numeric(8, 3));
         CREATE TABLE p (k int, i int, v int, PRIMARY KEY (k, i));
         INSERT INTO l SELECT i, CASE WHEN i % 9 > 0 THEN i / 3 END, i % 50, 's' || i % 700, i % 300 / 4.0 FROM generate_series(1, 2400) AS t(i);
         INSERT INTO r SELECT i * 2, CASE WHEN i % 7 > 0 THEN i / 2 END, i % 60, 's' || i % 900, i % 400 / 4.0 FROM generate_series(1, 1900) AS t(i);
         INSERT INTO p SELECT i / 4, i % 4, i FROM generate_series(1, 3000) AS t(i);
         CREATE INDEX l_k ON l (k);
         CREATE INDEX r_k ON r (k, d);
         CREATE INDEX l_s ON l (s);
         CREATE INDEX r_s ON r (s);
         CREATE INDEX l_d ON l (d DESC, k);
         CREATE INDEX r_d ON r (d DESC, k);
         CREATE INDEX l_n ON l (n);
         CREATE INDEX r_n ON r (n);
         ANALYZE",
    )?;
    let merged = [
        "SELECT l.id, r.id, l.k, r.k FROM l JOIN r ON r.id = l.id",
        "SELECT l.id, r.id FROM l JOIN r ON r.id = l.id WHERE l.d > r.d ORDER BY l.id",
        "SELECT l.id, l.d, r.d FROM l LEFT JOIN r ON r.id = l.id AND r.d < l.d",
        "SELECT l.id, r.id, r.d FROM l FULL JOIN r ON r.id = l.id",
        "SELECT l.id, r.id, r.d FROM l FULL JOIN r ON r.id = l.id AND l.d = r.d + 20",
        "SELECT p.k, l.id, sum(p.v) FROM l JOIN p ON p.k = l.id GROUP BY p.k, l.id ORDER BY p.k",
        "SELECT l.id, p.i, p.v FROM l JOIN p ON p.k = l.id ORDER BY l.id, p.i",
        "SELECT p.k, p.i FROM p JOIN l ON p.k = l.id JOIN r ON r.id = l.id",
        "SELECT l.id, l.n FROM l WHERE EXISTS (SELECT 1 FROM p WHERE p.k = l.id AND p.v % 4 > l.d % 4)",
        "SELECT l.id, l.n FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.id = l.id AND r.n > l.n)",
    ];
    let others = [
        "SELECT count(*), sum(l.id), sum(r.id) FROM l JOIN r ON r.k = l.k",
        "SELECT count(*), sum(l.id), sum(r.d) FROM l LEFT JOIN r ON r.k = l.k AND r.d % 2 = 0",
        "SELECT count(*), sum(l.id), sum(r.d) FROM l FULL JOIN r ON r.k = l.k",
        "SELECT count(*), min(l.s), max(r.s) FROM l JOIN r ON r.s = l.s",
        "SELECT count(*), sum(l.n), sum(r.n) FROM l JOIN r ON r.n = l.n",
        "SELECT count(*), sum(l.k), sum(r.k) FROM l JOIN r ON r.d = l.d AND r.k = l.k",
        "SELECT l.d, l.k, count(*) FROM l JOIN r ON r.d = l.d GROUP BY l.d, l.k ORDER BY l.d DESC, l.k LIMIT 40",
        "SELECT count(*) FROM l a JOIN l b ON a.d = b.d AND a.k = b.k",
        "SELECT n, (SELECT sum(p.v) FROM l JOIN p ON p.k = l.id WHERE l.id < n) FROM generate_series(1, 3) s(n)",
    ];
    for rows in ["0", "7"] {
        conn.execute(&format!("SET batch_rows = {rows}"), ())?;
        for sql in merged.iter().chain(&others) {
            let answers = ["on", "off"].map(|to| {
                set(&conn, &["enable_mergejoin"], to).expect("a switch");
                answer(&conn, sql)
            });
            assert!(answers[0] == answers[1], "{sql}");
            assert!(!answers[0].is_empty(), "{sql}");
        }
        set(&conn, &["enable_mergejoin"], "on")?;
    }
    for sql in merged {
        let plan = answer(&conn, &format!("EXPLAIN {sql}")).join("\n");
        assert!(plan.contains("Merge"), "{sql}\n{plan}");
    }
    Ok(())
}
