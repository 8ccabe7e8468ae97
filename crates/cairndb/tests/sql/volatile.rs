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
