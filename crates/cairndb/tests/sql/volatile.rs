//! What a volatile expression gives is computed once for each row, however often the query names it.

use cairndb::{Database, Result};

/// Each query names `nextval` in several places that mean one value, and runs over three rows.
#[test]
fn a_volatile_expression_that_is_grouped_sorted_or_selected_again_runs_once_for_each_row() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(
        "CREATE TABLE numbered (id serial, n int); CREATE TABLE three (n int); INSERT INTO three VALUES (1), (2), (3)",
    )?;
    let next = "nextval('numbered_id_seq')";
    let queries = [
        format!("SELECT {next} FROM three"),
        format!("SELECT {next}, count(*) FROM three GROUP BY {next}"),
        format!("SELECT {next} AS v, count(*) FROM three GROUP BY v"),
        format!("SELECT {next}, count(*) FROM three GROUP BY 1 HAVING count(*) > 0"),
        format!("SELECT {next} + n AS v FROM three GROUP BY {next} + n"),
        format!("SELECT {next} AS v FROM three ORDER BY v"),
        format!("SELECT {next} AS v FROM three ORDER BY 1 DESC LIMIT 2"),
        format!("SELECT DISTINCT {next} FROM three"),
        format!("SELECT v, v + 1 FROM (SELECT {next} AS v FROM three) x"),
        format!("SELECT v, count(*) FROM (SELECT {next} AS v FROM three) x GROUP BY v ORDER BY v"),
        format!("WITH x AS (SELECT {next} AS v FROM three) SELECT a.v FROM x a, x b WHERE a.v = b.v"),
    ];
    for query in queries {
        let before: i64 = conn.query_row(&format!("SELECT {next}"), (), |row| row.get(0))?;
        let mut rows = conn.query(&query, ())?;
        while rows.next()?.is_some() {}
        drop(rows);
        let after: i64 = conn.query_row(&format!("SELECT {next}"), (), |row| row.get(0))?;
        assert_eq!(after - before - 1, 3, "{query}");
    }
    Ok(())
}

/// As often as PostgreSQL 15 works them out. (Where a side lies on disk they are worked out for more pairs.)
#[test]
fn conditions_of_joins_are_asked_of_pairs_that_somebody_asks_for() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(
        "CREATE TABLE a (id int PRIMARY KEY, x int); CREATE TABLE b (id int PRIMARY KEY, a_id int, y int);
         INSERT INTO a SELECT g, g FROM generate_series(1, 20) g;
         INSERT INTO b SELECT g, (g + 1) / 2, g FROM generate_series(1, 40) g;
         CREATE INDEX ON b (a_id); ANALYZE; CREATE SEQUENCE s;
         CREATE FUNCTION f(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN i; END $$",
    )?;
    let asked = [
        ("a LEFT JOIN b ON b.a_id = a.id AND f(a.x + b.y) > 5", 5),
        ("a LEFT JOIN b ON f(a.x + b.y) > 5", 6),
        ("a RIGHT JOIN b ON b.a_id = a.id AND f(a.x + b.y) > 0", 2),
        ("a FULL JOIN b ON b.a_id = a.id AND f(a.x + b.y) > 0", 2),
        ("a JOIN b ON b.a_id = a.id AND f(a.x + b.y) > 0", 2),
    ];
    for (join, calls) in asked {
        conn.query_row("SELECT setval('s', 1, false)", (), |row| row.get::<i64>(0))?;
        let mut rows = conn.query(&format!("SELECT a.id, b.id FROM {join} LIMIT 2"), ())?;
        while rows.next()?.is_some() {}
        drop(rows);
        let told: i64 = conn.query_row("SELECT nextval('s') - 1", (), |row| row.get(0))?;
        assert!(told <= calls, "{join}: {told} calls, not {calls}");
    }
    Ok(())
}
