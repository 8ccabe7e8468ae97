//! Queries that go on in temporary files give the rows, in the order, that they give in memory.

use cairndb::{Connection, Database, Options, Result, Value};

fn filled(options: Options) -> (Database, Connection) {
    let db = Database::open_in_memory_with(options).unwrap();
    let conn = db.connect().unwrap();
    conn.execute_script(
        "CREATE TABLE big (id int PRIMARY KEY, grp int, name text, price numeric(10, 2), note text);
         INSERT INTO big SELECT n, (n * 7919) % 1009, 'name ' || (n * 31) % 4001, (n * 17 % 1000) / 7.0,
             CASE WHEN n % 5 = 0 THEN NULL ELSE repeat('x', n % 50) END FROM generate_series(1, 6000) AS s(n);
         CREATE TABLE other (k int, v text);
         INSERT INTO other SELECT (n * 13) % 1500, 'v' || n FROM generate_series(1, 3000) AS s(n);
         INSERT INTO other VALUES (NULL, 'nothing'), (NULL, NULL);",
    )
    .unwrap();
    (db, conn)
}

fn rows(conn: &Connection, sql: &str) -> Result<Vec<Vec<Value>>> {
    let mut rows = conn.query(sql, ())?;
    let mut all = vec![];
    while let Some(row) = rows.next()? {
        all.push(row.values().to_vec());
    }
    Ok(all)
}

/// What a database with next to no memory answers, compared with one that has enough.
fn assert_same(queries: &[&str]) {
    let (_, plenty) = filled(Options::default());
    let (scarce_db, scarce) = filled(Options::default().work_mem(8 << 10));
    for sql in queries {
        let before = scarce_db.stats().spill_bytes_written;
        let (expected, found) = (rows(&plenty, sql).unwrap(), rows(&scarce, sql).unwrap());
        assert!(expected == found, "{sql}: {} and {} rows, or their values, differ", expected.len(), found.len());
        assert!(scarce_db.stats().spill_bytes_written > before, "{sql} spilled nothing");
    }
}

#[test]
fn sorting() {
    assert_same(&[
        "SELECT * FROM big ORDER BY name, id DESC",
        "SELECT id FROM big ORDER BY grp % 3, note NULLS FIRST",
        "SELECT id, price FROM big ORDER BY price DESC, length(note) NULLS LAST",
        "SELECT id FROM big ORDER BY note DESC LIMIT 2500 OFFSET 1000",
        "SELECT id FROM big ORDER BY upper(name) LIMIT 10 OFFSET 5995",
        "SELECT count(*) FROM (SELECT id FROM big ORDER BY name LIMIT 0) s, (SELECT 1 FROM big ORDER BY note) t",
    ]);
}

#[test]
fn with_queries() {
    assert_same(&[
        "WITH w AS MATERIALIZED (SELECT id, note FROM big) SELECT count(*), sum(a.id) FROM w a, w b WHERE a.id = b.id + 1",
        "WITH RECURSIVE r(n, t) AS (SELECT 1, repeat('a', 50) UNION ALL SELECT n + 1, t FROM r WHERE n < 3000)
         SELECT count(*), sum(n), max(length(t)) FROM r",
    ]);
}

#[test]
fn joins_of_every_kind() {
    assert_same(&[
        "SELECT b.id, o.v FROM big b JOIN other o ON b.grp = o.k",
        "SELECT b.id, o.v FROM big b LEFT JOIN other o ON b.grp = o.k AND o.v > b.name",
        "SELECT b.id, o.* FROM big b RIGHT JOIN other o ON b.grp = o.k AND b.id > 3000",
        "SELECT b.id, o.* FROM (SELECT * FROM big WHERE id % 3 = 0) b FULL JOIN other o ON b.grp = o.k AND b.id > 100",
        "SELECT id FROM big b WHERE EXISTS (SELECT 1 FROM other o WHERE o.k = b.grp AND o.v <> b.name)",
        "SELECT v FROM other o WHERE NOT EXISTS (SELECT 1 FROM big b WHERE b.grp = o.k)",
        "SELECT k, v FROM other o WHERE NOT EXISTS (SELECT 1 FROM big b WHERE b.grp = o.k AND b.name <> o.v)",
        "SELECT k, v FROM other o WHERE EXISTS (SELECT 1 FROM big b WHERE b.grp = o.k)",
        "SELECT v FROM other o WHERE EXISTS (SELECT 1 FROM big b WHERE b.grp = o.k AND b.name <> o.v)",
        "SELECT a.id, b.id FROM big a JOIN big b ON a.name = b.name AND a.note = b.note WHERE a.id < 4000",
        "SELECT count(*), min(b.id) FROM big b JOIN other o ON coalesce(b.note, 'none') = coalesce(repeat('x', o.k % 50), 'none')",
    ]);
}

#[test]
fn a_join_that_runs_for_each_outer_row() {
    assert_same(&[
        "SELECT n, (SELECT count(*) FROM big b JOIN other o ON b.grp = o.k + n) FROM generate_series(1, 3) s(n)",
    ]);
}

#[test]
fn grouping() {
    assert_same(&[
        "SELECT name, count(*), sum(price), avg(id::float8), max(note) FROM big GROUP BY name",
        "SELECT id % 2500 AS k, upper(name), count(note) FILTER (WHERE id > 99), count(DISTINCT grp) FROM big GROUP BY 1, 2",
        "SELECT note, string_agg(name, ',' ORDER BY id DESC) FROM big GROUP BY note, grp HAVING count(*) > 1",
        "SELECT grp, name, count(*) FROM big GROUP BY ROLLUP (grp, name)",
        "SELECT n, (SELECT max(c) FROM (SELECT count(*) AS c FROM big GROUP BY grp + n * 0) t) FROM generate_series(1, 3) s(n)",
    ]);
}

#[test]
fn distinct_rows_and_set_operations() {
    assert_same(&[
        "SELECT DISTINCT name, grp FROM big",
        "SELECT DISTINCT note, price FROM big WHERE id > 50",
        "SELECT DISTINCT ON (lower(name)) lower(name), id FROM big ORDER BY lower(name), id DESC",
        "SELECT grp FROM big EXCEPT SELECT k FROM other WHERE k % 3 = 0",
        "SELECT grp FROM big EXCEPT ALL SELECT k FROM other",
        "SELECT k FROM other INTERSECT SELECT grp FROM big",
        "SELECT grp FROM big INTERSECT ALL SELECT k FROM other",
        "SELECT name FROM big UNION SELECT v FROM other",
    ]);
}

#[test]
fn quotas_are_told_with_what_to_raise() {
    let (_, conn) = filled(Options::default().work_mem(8 << 10));
    conn.execute("SET temp_file_limit = '100kB'", ()).unwrap();
    let error = rows(&conn, "SELECT * FROM big ORDER BY name").unwrap_err();
    assert_eq!(error.sqlstate().0, "53400");
    assert_eq!(error.message(), "temporary file size exceeds temp_file_limit (100kB)");
    assert!(error.hint().unwrap().contains("work_mem"));
    conn.execute("SET temp_file_limit = -1", ()).unwrap();
    assert_eq!(rows(&conn, "SELECT * FROM big ORDER BY name").unwrap().len(), 6_000);

    conn.execute("SET statement_mem = '64kB'", ()).unwrap();
    let error = rows(&conn, "SELECT string_agg(name, ',') FROM big").unwrap_err();
    assert_eq!(error.sqlstate().0, "53200");
    assert!(error.hint().unwrap().contains("statement_mem"));
}

#[test]
fn a_folder_that_is_not_there_is_an_io_error_of_the_statement_alone() {
    let (_, conn) = filled(Options::default().temp_directory("/nowhere/at all"));
    conn.execute("SET work_mem = '64kB'", ()).unwrap();
    let error = rows(&conn, "SELECT * FROM big ORDER BY name").unwrap_err();
    assert_eq!(error.sqlstate().0, "58030");
    assert_eq!(rows(&conn, "SELECT count(id) FROM big").unwrap(), [[Value::BigInt(6_000)]]);
}

#[test]
fn explain_analyze_tells_memory_and_disk() {
    let (_, conn) = filled(Options::default());
    let explained = |conn: &Connection| {
        let lines = rows(conn, "EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM big ORDER BY name").unwrap();
        lines.iter().map(|line| line[0].to_string()).collect::<Vec<_>>().join("\n")
    };
    let kept = explained(&conn);
    assert!(kept.contains("Memory: ") && !kept.contains("Disk: "), "{kept}");
    conn.execute("SET work_mem = '64kB'", ()).unwrap();
    let spilled = explained(&conn);
    assert!(spilled.contains("Memory: ") && spilled.contains("kB  Temporary Files: "), "{spilled}");
}

/// What a change reads before it writes, and what statements of functions give, is spooled like all else.
#[test]
fn changes_and_the_statements_of_functions() {
    let (_, plenty) = filled(Options::default());
    let (scarce_db, scarce) = filled(Options::default().work_mem(8 << 10));
    let functions = "CREATE FUNCTION total() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
         DECLARE r record; s bigint := 0;
         BEGIN FOR r IN SELECT id, note FROM big, generate_series(1, 5) LOOP s := s + r.id + coalesce(length(r.note), 0); END LOOP; RETURN s; END $$;
         CREATE FUNCTION asks() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN total(); END $$;
         CREATE FUNCTION doubled() RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE r record; s bigint := 0;
         BEGIN FOR r IN UPDATE big SET price = price * 2 RETURNING id LOOP s := s + r.id; END LOOP; RETURN s; END $$";
    [&plenty, &scarce].iter().for_each(|conn| conn.execute_script(functions).unwrap());
    let steps = [
        "UPDATE big SET price = price + 1, note = note || 'y'",
        "UPDATE big SET id = id + 10000",
        "UPDATE big SET name = other.v FROM other WHERE big.id = other.k + 10000",
        "DELETE FROM big WHERE id % 3 = 0",
        "INSERT INTO big SELECT id - 10000, grp, name, price, note FROM big",
        "MERGE INTO big USING (SELECT k, min(v) AS v FROM other GROUP BY k) o ON id = k WHEN MATCHED AND k % 2 = 0 THEN UPDATE SET name = v WHEN MATCHED THEN DELETE",
        "CREATE TABLE copied AS WITH c AS (UPDATE big SET grp = grp + 1 RETURNING *) SELECT * FROM c",
        "SELECT asks()",
        "SELECT doubled()",
    ];
    for step in steps {
        let before = scarce_db.stats().spill_bytes_written;
        let (expected, found) = (rows(&plenty, step).unwrap(), rows(&scarce, step).unwrap());
        assert!(scarce_db.stats().spill_bytes_written > before, "{step} spilled nothing");
        assert!(expected == found, "{step}: {expected:?}, {found:?}");
        let all = "SELECT count(*), sum(id), sum(grp), min(name), max(name), sum(price), sum(length(note)) FROM big";
        assert!(rows(&plenty, all).unwrap() == rows(&scarce, all).unwrap(), "{step}");
    }
}
