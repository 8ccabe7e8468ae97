//! Tables, rows and queries, end to end.

use cairndb::{Connection, Database, Options, Result, SqlState};

fn connect() -> Connection {
    Database::open_in_memory().unwrap().connect().unwrap()
}

#[test]
fn what_is_inserted_can_be_selected() -> Result<()> {
    let conn = connect();
    conn.execute("CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL, n numeric(10,2))", ())?;
    let affected = conn.execute("INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', NULL)", ())?;
    assert_eq!(affected, 2);
    let names = conn.query_map("SELECT name FROM t ORDER BY id DESC", (), |row| row.get::<String>(0))?;
    assert_eq!(names.collect::<Result<Vec<_>>>()?, ["two", "one"]);
    Ok(())
}

#[test]
fn explain_shows_the_plan_and_explain_analyze_runs_it() -> Result<()> {
    let conn = connect();
    conn.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 2)")?;
    let lines = |sql: &str| conn.query_map(sql, (), |row| row.get::<String>(0))?.collect::<Result<Vec<_>>>();
    let plan = lines("EXPLAIN SELECT * FROM t WHERE id = 1")?;
    assert!(plan[0].contains("on t"), "{plan:?}");
    let plan = lines("EXPLAIN (ANALYZE, TIMING OFF) UPDATE t SET n = n + 10")?;
    assert!(plan[0].starts_with("Update on t  (cost=") && plan[1].contains("rows=2"), "{plan:?}");
    assert_eq!(conn.query_row("SELECT sum(n) FROM t", (), |row| row.get::<i64>(0))?, 23);
    let gone = "WITH gone AS (DELETE FROM t WHERE id = 1 RETURNING n) INSERT INTO t SELECT 7, n FROM gone";
    let plan = lines(&format!("EXPLAIN (COSTS OFF) {gone}"))?;
    let shape = ["Insert on t", "  ->  CTE Scan on gone", "        CTE gone", "          ->  Delete on t"];
    assert_eq!(plan[..4], shape);
    let plan = lines(&format!("EXPLAIN (ANALYZE, COSTS OFF) {gone}"))?;
    let deleted = plan.iter().find(|line| line.contains("Delete on t (actual time=") && line.contains(".."));
    assert!(deleted.is_some_and(|line| line.contains("rows=1")), "{plan:?}");
    assert_eq!(conn.query_row("SELECT n FROM t WHERE id = 7", (), |row| row.get::<i64>(0))?, 11);
    let plan = lines("EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*), n + 1 FROM t WHERE id > 1 GROUP BY n")?;
    assert_eq!(plan[1..3], ["  Output: count(*), (t.n + 1)", "  Group Key: t.n"]);
    assert!(plan.contains(&"        Output: t.n".to_string()), "{plan:?}");
    assert!(!lines("EXPLAIN SELECT n FROM t")?.iter().any(|line| line.contains("Output")));
    lines("EXPLAIN DELETE FROM t")?;
    assert_eq!(conn.query_row("SELECT count(*) FROM t", (), |row| row.get::<i64>(0))?, 2);
    Ok(())
}

/// Steps that have no operator of their own (a lookup, a hash table, a sort of a few rows) as well as the others.
#[test]
fn explain_tells_of_every_node_what_was_expected_and_what_happened() -> Result<()> {
    let conn = connect();
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int, s text); CREATE TABLE u (k int, v int);
         INSERT INTO t SELECT g, g % 3, repeat('x', 50) FROM generate_series(1, 3000) g(g);
         INSERT INTO u SELECT g % 500, g FROM generate_series(1, 2000) g(g); ANALYZE",
    )?;
    let lines = |sql: &str| conn.query_map(sql, (), |row| row.get::<String>(0))?.collect::<Result<Vec<_>>>();
    let queries = [
        "SELECT x.s, y.v FROM u y JOIN t x ON x.id = y.v WHERE y.k = 7",
        "SELECT x.n, y.n FROM t x JOIN t y ON x.n = y.id",
        "SELECT n, s FROM t ORDER BY s, n LIMIT 3",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10) SELECT * FROM r a, r b",
        "SELECT count(*) FROM t q WHERE n = (SELECT max(v) FROM u WHERE u.k = q.n) OR id IN (SELECT v FROM u)",
    ];
    let is_node = |line: &&String| line.contains("->  ") || !line.starts_with(' ');
    for query in queries {
        let plan = lines(&format!("EXPLAIN (ANALYZE, SUMMARY OFF, TIMING OFF) {query}"))?;
        let untold = |line: &&String| {
            !line.contains("  (cost=") || !(line.contains(" (actual rows=") || line.contains("(never executed)"))
        };
        let untold: Vec<&String> = plan.iter().filter(is_node).filter(untold).collect();
        assert!(untold.is_empty(), "{untold:#?} of {plan:#?}");
        let quiet = lines(&format!("EXPLAIN (COSTS OFF) {query}"))?;
        assert!(!quiet.iter().any(|line| line.contains("cost=") || line.contains("actual")), "{quiet:#?}");
    }
    let plan = lines(&format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {}", queries[0]))?;
    let told = [
        "Nested Loop (actual rows=4 loops=1)",
        "  ->  Seq Scan on u y (actual rows=4 loops=1)",
        "        Filter: (y.k = 7)",
        "        Rows Removed by Filter: 1996",
        "  ->  Index Scan using t_pkey on t x (actual rows=1 loops=4)",
        "        Index Cond: (id = y.v)",
    ];
    assert_eq!(plan, told);
    let plan = lines(&format!(
        "EXPLAIN (COSTS OFF) {}",
        "SELECT 1 FROM t JOIN t y ON t.n = y.id JOIN (SELECT * FROM t) q ON q.n = y.n"
    ))?;
    for name in ["on t", "on t y", "on t t_1"] {
        assert!(
            plan.iter().any(|line| line.ends_with(name) || line.contains(&format!("{name} "))),
            "{name} in {plan:#?}"
        );
    }
    Ok(())
}

/// Pages that were read ahead passed for those that were in memory.
#[test]
fn explain_tells_pages_that_were_read_from_those_that_were_in_memory() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let open = || Database::open_with(&path, Options::default().cache_bytes(64 << 20))?.connect();
    open()?.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n text); INSERT INTO t SELECT g, repeat('x', 200) FROM generate_series(1, 5000) g",
    )?;
    let conn = open()?;
    let pages = || -> Result<(i64, i64)> {
        let sql = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT count(n), max(id) FROM t WHERE n > 'a'";
        let plan: String = conn.query_row(sql, (), |row| row.get(0))?;
        let of = |name: &str| -> i64 {
            let behind = plan.split(&format!("\"{name}\": ")).nth(1).unwrap_or("-1");
            behind.split([',', '\n']).next().and_then(|number| number.parse().ok()).unwrap_or(-1)
        };
        Ok((of("Shared Hit Blocks"), of("Shared Read Blocks")))
    };
    // 5000 rows of more than 200 bytes have 250 leaves at least. (Planning may have read some of them.)
    let (hit, read) = pages()?;
    assert!(read >= 16, "{hit} hit, {read} read");
    let (hit, read) = pages()?;
    assert!(hit >= 200 && read == 0, "{hit} hit, {read} read, the second time");
    Ok(())
}

#[test]
fn the_caches_size_is_shown_and_not_set() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let show = |conn: &Connection, name: &str| conn.query_row(&format!("SHOW {name}"), (), |row| row.get::<String>(0));
    let database = Database::open_with(folder.path().join("x.cairn"), Options::default().cache_bytes(48 << 20))?;
    let conn = database.connect()?;
    assert_eq!((show(&conn, "cache_bytes")?, show(&conn, "effective_cache_size")?), ("48MB".into(), "48MB".into()));
    let listed = "SELECT setting || unit FROM pg_settings WHERE name = 'cache_bytes'";
    assert_eq!(conn.query_row(listed, (), |row| row.get::<String>(0))?, "49152kB");
    assert_eq!(conn.execute("SET cache_bytes = '1GB'", ()).unwrap_err().sqlstate().0, "55P02");
    conn.execute("SET effective_cache_size = '2GB'", ())?;
    assert_eq!((show(&conn, "cache_bytes")?, show(&conn, "effective_cache_size")?), ("48MB".into(), "2GB".into()));
    assert_eq!(database.stats().cache_bytes, 48 << 20);
    // What nobody chose is a share of the memory.
    let shares = ["a", "b"].map(|name| Database::open(folder.path().join(name)).unwrap());
    let bytes = shares.each_ref().map(|database| database.stats().cache_bytes);
    assert!(bytes.iter().all(|bytes| *bytes >= 16 << 20), "{bytes:?}");
    assert_eq!(Database::open_in_memory()?.stats().cache_bytes, 256 << 20);
    Ok(())
}

#[test]
fn every_option_of_explain_changes_what_is_told_or_is_refused() -> Result<()> {
    let conn = connect();
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, g FROM generate_series(1, 500) g",
    )?;
    let text = |options: &str| -> Result<String> {
        let sql = format!("EXPLAIN ({options}) SELECT sum(n) FROM t WHERE id > 7");
        let lines = conn.query_map(&sql, (), |row| row.get::<String>(0))?.collect::<Result<Vec<_>>>()?;
        Ok(lines.join("\n"))
    };
    let told = |options: &str, wanted: &str| -> Result<()> {
        let found = text(options)?;
        assert!(found.contains(wanted), "{wanted} with {options}: {found}");
        Ok(())
    };
    told("ANALYZE", "Execution Time: ")?;
    assert!(!text("ANALYZE, SUMMARY OFF")?.contains("Time: "));
    told("SUMMARY", "Planning Time: ")?;
    assert!(!text("SUMMARY")?.contains("Execution Time"));
    told("ANALYZE, TIMING OFF", "(actual rows=493 loops=1)")?;
    told("ANALYZE, BUFFERS", "Buffers: shared hit=")?;
    told("ANALYZE, BUFFERS, FORMAT JSON", "\"Shared Hit Blocks\": ")?;
    told("ANALYZE, BUFFERS, FORMAT YAML", "Shared Hit Blocks: ")?;
    assert!(!text("ANALYZE")?.contains("Buffers"));
    assert!(!text("SETTINGS")?.contains("Settings"));
    conn.execute("SET enable_hashjoin = off", ())?;
    told("SETTINGS", "Settings: enable_hashjoin = 'off'")?;
    told("SETTINGS, FORMAT JSON", "\"enable_hashjoin\": \"off\"")?;
    told("SETTINGS, FORMAT YAML", "  Settings: \n    enable_hashjoin: \"off\"")?;
    for (options, code) in [
        ("TIMING", "22023"),
        ("ANALYZE, WAL", "0A000"),
        ("FORMAT XML", "0A000"),
        ("FORMAT HTML", "22023"),
        ("GENERIC_PLAN", "42601"),
        ("MEMORY", "42601"),
    ] {
        assert_eq!(text(options).unwrap_err().sqlstate().0, code, "{options}");
    }
    Ok(())
}

#[test]
fn explain_answers_with_documents_that_have_postgresqls_names() -> Result<()> {
    let conn = connect();
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, g % 3 FROM generate_series(1, 30) g(g)",
    )?;
    let query = "WITH c AS MATERIALIZED (SELECT n FROM t WHERE id > 3) SELECT a.n, count(*) FROM c a JOIN c b USING (n) \
                 GROUP BY a.n ORDER BY 2 DESC, a.n LIMIT 2";
    let document =
        conn.query_row(&format!("EXPLAIN (ANALYZE, FORMAT JSON) {query}"), (), |row| row.get::<String>(0))?;
    let part = |path: &str| -> Result<Option<String>> {
        let sql = format!("SELECT jsonb_path_query_first($1::jsonb, '{path}') #>> '{{}}'");
        conn.query_row(&sql, (document.as_str(),), |row| row.get::<Option<String>>(0))
    };
    assert_eq!(part("$[0].Plan.\"Node Type\"")?.as_deref(), Some("Limit"));
    assert_eq!(part("$[0].Plan.\"Actual Rows\"")?.as_deref(), Some("2"));
    assert_eq!(
        part("$[0].**.Plans[*] ? (@.\"Subplan Name\" == \"CTE c\").\"Parent Relationship\"")?.as_deref(),
        Some("InitPlan")
    );
    assert_eq!(part("$[0].** ? (@.\"Node Type\" == \"Sort\").\"Sort Key\".size()")?.as_deref(), Some("2"));
    assert_eq!(part("$[0].** ? (@.\"Relation Name\" == \"t\").\"Alias\"")?.as_deref(), Some("t"));
    assert!(part("$[0].\"Execution Time\"")?.is_some());
    let yaml = conn.query_row(&format!("EXPLAIN (COSTS OFF, FORMAT YAML) {query}"), (), |row| row.get::<String>(0))?;
    assert!(yaml.starts_with("- Plan: \n    Node Type: \"Limit\"\n"), "{}", yaml);
    assert!(yaml.contains("\n      - Node Type: \"Sort\"\n"), "{}", yaml);
    Ok(())
}

#[test]
fn a_scan_reads_no_more_rows_than_a_limit_asks_for() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int);
         INSERT INTO t SELECT i, i % 50 FROM generate_series(1, 5000) i;
         CREATE INDEX t_n ON t (n)",
    )?;
    let read = |query: &str, scan: &str| -> Result<String> {
        let sql = format!("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) {query}");
        let plan = conn.query_map(&sql, (), |row| row.get::<String>(0))?.collect::<Result<Vec<_>>>()?;
        let line = plan.iter().find(|line| line.contains(scan)).unwrap_or_else(|| panic!("{scan} in {plan:?}"));
        Ok(line.split("actual ").nth(1).unwrap_or_default().to_owned())
    };
    for (query, scan, rows) in [
        ("SELECT id, n + 1 FROM t WHERE id >= 100 ORDER BY id LIMIT 1000", "Scan", 1000),
        ("SELECT * FROM t LIMIT 3 OFFSET 4", "Scan", 7),
        ("SELECT id FROM t WHERE n = 7 LIMIT 20", "Index", 20),
        ("SELECT * FROM t LIMIT 3000", "Scan", 3000),
    ] {
        let told = read(query, scan)?;
        assert!(told.contains(&format!("rows={rows} ")), "{query}: {told}");
    }
    assert_eq!(
        conn.query_row("SELECT count(*) FROM (SELECT 1 FROM t WHERE id IN (1, 9, 4000) LIMIT 3) q", (), |row| row
            .get::<i64>(0))?,
        3
    );
    Ok(())
}

#[test]
fn closing_ends_changes_for_all_handles_and_the_last_gives_the_file_free() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let database = Database::open(&path)?;
    let (other, conn) = (database.clone(), database.connect()?);
    conn.execute_script(
        "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)",
    )?;
    let busy = other.connect()?;
    let mut insert = busy.prepare("INSERT INTO t VALUES ($1)")?;
    database.close()?;
    let state = |result: Result<u64>| result.unwrap_err().sqlstate().to_string();
    assert_eq!(state(conn.execute("COMMIT", ())), "55000");
    conn.execute("ROLLBACK", ())?;
    assert_eq!(state(conn.execute("INSERT INTO t VALUES (3)", ())), "55000");
    assert_eq!(state(insert.execute((4,))), "55000");
    let count: i64 = other.connect()?.query_row("SELECT count(*) FROM t", (), |row| row.get(0))?;
    assert_eq!(count, 1);
    assert_eq!(state(other.checkpoint().map(|()| 0)), "55000");
    let error = Database::open(&path).err().expect("a handle is there");
    assert_eq!(error.sqlstate().as_str(), "55006");
    assert!(error.message().contains("a handle of it is open here"), "{error}");
    assert_eq!(state(other.close().map(|()| 0)), "55000");
    drop(insert);
    drop((busy, conn));
    let count: i64 = Database::open(&path)?.connect()?.query_row("SELECT count(*) FROM t", (), |row| row.get(0))?;
    assert_eq!(count, 1);
    Ok(())
}

#[test]
fn who_may_not_write_a_file_is_told_where_he_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let writing = Database::open(&path).unwrap();
    let refused = |options: Options| Database::open_with(&path, options).err().expect("it is another's");
    for options in [Options::default(), Options::default().read_only(true)] {
        assert_eq!((refused(options.clone()).sqlstate(), refused(options).hint()), (SqlState::OBJECT_IN_USE, None));
    }
    drop(writing);
    let reading = Database::open_with(&path, Options::default().read_only(true)).unwrap();
    let told = refused(Options::default());
    assert!(told.hint().is_some_and(|hint| hint.contains("--read-only")), "{told:?}");
    drop(Database::open_with(&path, Options::default().read_only(true)).unwrap());
    drop(reading);
    drop(Database::open(&path).unwrap());
}
