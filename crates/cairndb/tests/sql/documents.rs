//! Documents as Rust gives and takes them.

use cairndb::{Database, Jsonb, Result, Value};

#[test]
fn documents_come_and_go_as_texts_and_as_values() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script("CREATE TABLE t (id int PRIMARY KEY, b jsonb, j json)")?;
    let document: Jsonb = r#"{"b": 1, "a": [null, 1.50]}"#.parse()?;
    assert_eq!(conn.execute("INSERT INTO t VALUES ($1, $2, $3)", (1, document.clone(), "{\"x\":  1}"))?, 1);
    assert_eq!(conn.execute("INSERT INTO t VALUES ($1, $2, $3)", (2, "[1,  2]", Option::<&str>::None))?, 1);
    let error = conn.execute("INSERT INTO t VALUES ($1, $2, NULL)", (3, "[1,")).unwrap_err();
    assert_eq!(error.sqlstate().0, "22P02");
    assert_eq!("[".parse::<Jsonb>().unwrap_err().sqlstate().0, "22P02");

    // Through the point path, lent and owned, and through the general one.
    let text = r#"{"a": [null, 1.50], "b": 1}"#;
    let mut by_key = conn.prepare("SELECT b, j FROM t WHERE id = $1")?;
    by_key.query_point((1,), |row| {
        assert_eq!(row.get_str(1), Some("{\"x\":  1}"));
        assert_eq!(row.get::<Value>(0).unwrap(), Value::Jsonb(document.clone()));
    })?;
    assert_eq!(by_key.query_row((1,), |row| row.get::<String>(0))?, text);
    assert_eq!(by_key.query_row((2,), |row| row.get::<Jsonb>(0))?.to_string(), "[1, 2]");
    assert_eq!(by_key.query_row((2,), |row| row.get::<Option<String>>(1))?, None);
    let all = conn.query_map("SELECT b::json, b ->> 'b' FROM t ORDER BY id", (), |row| {
        Ok((row.get::<String>(0)?, row.get::<Option<String>>(1)?))
    })?;
    let all = all.collect::<Result<Vec<_>>>()?;
    assert_eq!(all, [(text.to_owned(), Some("1".to_owned())), ("[1, 2]".to_owned(), None)]);

    // A change by key: the whole document, and a part of it.
    let mut whole = conn.prepare("UPDATE t SET b = $2 WHERE id = $1")?;
    assert_eq!(whole.execute((2, r#"{"k": {"n": 1}}"#))?, 1);
    let mut part = conn.prepare("UPDATE t SET b = jsonb_set(b, '{k,n}', $2) WHERE id = $1")?;
    assert_eq!(part.execute((2, "[7]"))?, 1);
    let mut found = conn.prepare("SELECT id FROM t WHERE b @> $1 AND b ? $2")?;
    assert_eq!(found.query_row((r#"{"k": {"n": [7]}}"#, "k"), |row| row.get::<i32>(0))?, 2);
    let mut marks = conn.prepare("SELECT b ? ?, b ?| ARRAY[?, 'z'] FROM t WHERE id = ?")?;
    assert_eq!(marks.query_row(("k", "y", 2), |row| Ok((row.get::<bool>(0)?, row.get::<bool>(1)?)))?, (true, false));
    Ok(())
}

/// No text that is read is so deep, but functions could make what recursion over it has no stack for.
#[test]
fn what_functions_make_is_no_deeper_than_what_is_read() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    let nested = |step: &str, of: &str, times: u32| {
        format!(
            "WITH RECURSIVE r (n, j) AS (SELECT 1, {of} UNION ALL SELECT n + 1, {step} FROM r WHERE n < {times})
             SELECT j::text FROM r WHERE n = {times}"
        )
    };
    let (json, jsonb) = ("'[1]'::json", "'[1]'::jsonb");
    for (step, of) in [
        ("jsonb_build_array(j)", jsonb),
        ("jsonb_build_object('a', j)", jsonb),
        ("'[]'::jsonb || jsonb_build_array(j)", jsonb),
        ("jsonb_set('[[0]]', '{0,0}', j)", jsonb),
        ("to_jsonb(ARRAY[j])", jsonb),
        ("json_build_array(j)", json),
        ("to_json(ARRAY[j])", json),
    ] {
        let read = |times: u32| conn.query_row(&nested(step, of, times), (), |row| row.get::<String>(0));
        assert!(read(100)?.len() > 200, "{step}");
        assert_eq!(read(1_200).unwrap_err().sqlstate().0, "54001", "{step}");
    }
    let deep = format!("{}1{}", "[".repeat(255), "]".repeat(255));
    conn.execute_script("CREATE TABLE t (id int PRIMARY KEY, b jsonb)")?;
    conn.execute("INSERT INTO t VALUES (1, $1)", (deep.as_str(),))?;
    let same = conn.query_row(
        "SELECT count(DISTINCT b || '[]'), max(length(jsonb_pretty(jsonb_strip_nulls(b)))), bool_and(b @> b AND b = b)
         FROM t WHERE b = $1::text::jsonb AND b @? '$.**'",
        (deep.as_str(),),
        |row| Ok((row.get::<i64>(0)?, row.get::<bool>(2)?)),
    )?;
    assert_eq!(same, (1, true));
    for path in ["1 + ".repeat(100_000) + "1", "$".to_owned() + &".a".repeat(100_000), "(".repeat(100_000)] {
        let error = conn.query_row("SELECT $1::text::jsonpath::text", (path.as_str(),), |row| row.get::<String>(0));
        assert_eq!(error.unwrap_err().sqlstate().0, "54001");
    }
    let longest = "-$.a.b.c + 1".to_owned() + &" + 1".repeat(150);
    conn.query_row("SELECT ('{}'::jsonb @? $1::text::jsonpath)::text", (longest.as_str(),), |row| {
        row.get::<Option<String>>(0)
    })?;
    Ok(())
}

#[test]
fn a_path_within_a_path_stops_when_its_statement_is_interrupted() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    // Each element is compared with each: far more pairs than the time allows.
    conn.execute_script(
        "CREATE TABLE t AS SELECT jsonb_agg(i) AS j FROM generate_series(1, 20000) i; SET statement_timeout = '50ms'",
    )?;
    for query in [
        "SELECT jsonb_path_query_array(j, '$[*] ? ($[*] > 30000 || @ < 0)') FROM t",
        "SELECT jsonb_path_exists(j, '$[*] ? ($[*] > 30000)', '{}', true) FROM t",
        "SELECT q FROM t, jsonb_path_query(j, '$[*] ? (exists ($[*] ? (@ > 30000)))') q",
    ] {
        let began = std::time::Instant::now();
        assert_eq!(conn.execute(query, ()).unwrap_err().sqlstate().0, "57014", "{query}");
        assert!(began.elapsed().as_secs() < 5, "{query} took {:?}", began.elapsed());
    }
    Ok(())
}
