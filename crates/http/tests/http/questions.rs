//! Queries, batches and SQL.

use super::*;

fn filled() -> Served {
    let served = Served::with_notes();
    let docs: Vec<String> =
        (0..10).map(|n| format!(r#"{{"id": "n{n}", "doc": {{"n": {n}, "even": {}}}}}"#, n % 2 == 0)).collect();
    let docs = format!("[{}]", docs.join(","));
    assert_eq!(served.client.post(&format!("{NOTES}/bulk?ids=true"), &docs).status, 201);
    served
}

fn ids(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    let documents = body["documents"].as_array().unwrap_or_else(|| panic!("{body}"));
    documents.iter().map(|document| document["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_filter_finds_in_an_order_and_by_pages() {
    let served = filled();
    let client = &served.client;
    let query = |body: &str| client.post(&format!("{NOTES}/query"), body);
    let first = query(r#"{"filter": {"even": true}, "sort": ["-n"], "limit": 3, "count": true, "select": ["n"]}"#);
    assert_eq!(ids(&first), ["n8", "n6", "n4"]);
    same(&first.json()["count"], json!(5));
    same(&first.json()["documents"][0]["doc"], json!({"n": 8}));
    let etag = first.json()["documents"][0]["etag"].as_str().unwrap().to_owned();
    assert_eq!(client.get(&note("n8")).etag(), format!("\"{etag}\""));
    let next = first.json()["next"].clone();
    let rest = query(&json!({"filter": {"even": true}, "sort": ["-n"], "limit": 3, "after": next}).to_string());
    assert_eq!((ids(&rest), rest.json().get("next")), (vec!["n2".to_owned(), "n0".to_owned()], None));
    let path = |query: &str| client.get(&format!("{NOTES}/documents?{query}"));
    assert_eq!(ids(&path("filter=%7B%22n%22:%7B%22$gte%22:8%7D%7D&sort=-n&limit=5")), ["n9", "n8"]);
    assert_eq!(ids(&path("")).len(), 10);
    // Ids and versions are columns, in orders as in filters.
    assert_eq!(ids(&path("sort=-$id&limit=2")), ["n9", "n8"]);
    assert_eq!(ids(&path("sort=-$version&limit=2")), ["n9", "n8"]);
    let second = path("sort=even,-$version&limit=4").json()["next"].as_str().unwrap().to_owned();
    let rest = query(&json!({"sort": ["even", "-$version"], "limit": 3, "after": second}).to_string());
    assert_eq!(ids(&rest), ["n1", "n8", "n6"]);
    for (query, code) in [
        ("sort=$ids", "22023"),
        ("filter=%7B%22n%22:%7B%22$no%22:8%7D%7D", "22023"),
        ("filter=x", "22P02"),
        ("limit=-1", "22023"),
        ("limit=1000000", "22023"),
        ("after=x", "22023"),
        ("sort=a..b", "22023"),
        ("x=1", "22023"),
    ] {
        assert_eq!(told(&path(query)), of(400, code), "{query}");
    }
    for body in [r#"{"filter": {"a": 1, "a": 2}}"#, r#"{"limit": "x"}"#, r#"{"filters": {}}"#] {
        assert_eq!(told(&query(body)), of(400, "22023"), "{body}");
    }
    let deep = format!(r#"{{"filter": {}1{}}}"#, r#"{"$not": {"a": "#.repeat(5000), "}}".repeat(5000));
    assert_eq!(told(&query(&deep)).0, 413);
}

#[test]
fn a_batch_is_done_whole_or_not_at_all() {
    let served = filled();
    let client = &served.client;
    client.put("/db/shop/collections/log", "");
    let etag = client.get(&note("n1")).etag().trim_matches('"').to_owned();
    let batch =
        |operations: serde_json::Value| client.post("/db/shop/batch", &json!({"operations": operations}).to_string());
    let done = batch(json!([
        {"op": "insert", "collection": "log", "doc": {"what": "moved"}},
        {"op": "put", "collection": "notes", "id": "n1", "doc": [1], "if_match": etag},
        {"op": "merge", "collection": "notes", "id": "n2", "patch": {"even": null}},
        {"op": "patch", "collection": "notes", "id": "n3", "patch": [{"op": "remove", "path": "/even"}]},
        {"op": "delete", "collection": "notes", "id": "n4"},
    ]));
    assert_eq!(done.status, 200, "{done:?}");
    same(&done.json()["results"][4], json!({"id": "n4", "deleted": true}));
    assert_eq!(client.get(&note("n1")).body, "[1]");
    assert_eq!(done.json()["results"][1]["etag"], client.get(&note("n1")).etag().trim_matches('"'));
    assert_eq!([client.get(&note("n2")).body, client.get(&note("n3")).body], [r#"{"n": 2}"#, r#"{"n": 3}"#]);
    let insert = json!({"op": "insert", "collection": "log", "doc": {}});
    for (wrong, expected) in [
        (json!({"op": "put", "collection": "notes", "id": "n1", "doc": 2, "if_match": etag}), of(412, "27000")),
        (json!({"op": "delete", "collection": "notes", "id": "none"}), of(404, "P0002")),
        (json!({"op": "insert", "collection": "notes", "id": "n1", "doc": 1}), of(409, "23505")),
        (json!({"op": "put", "collection": "notes", "doc": 1}), of(400, "22023")),
        (json!({"op": "put", "collection": "none", "id": "a", "doc": 1}), of(404, "42P01")),
        (json!({"op": "drop", "collection": "notes"}), of(400, "22023")),
    ] {
        assert_eq!(told(&batch(json!([insert, wrong]))), expected, "{wrong}");
    }
    assert_eq!(served.rows("SELECT count(*) FROM log"), 1, "nothing of those");
}

fn sql(client: &Client, accept: &str, body: serde_json::Value) -> Answer {
    client.ask("POST", "/db/shop/sql", &[("Content-Type", "application/json"), ("Accept", accept)], body.to_string())
}

#[test]
fn a_statement_is_run_with_its_parameters_and_told_in_three_forms() {
    let served = filled();
    let run = |accept: &str, text: &str| sql(&served.client, accept, json!({"sql": text}));
    let made = run("*/*", "CREATE TABLE t (id int PRIMARY KEY, name text, price numeric, of jsonb)");
    same(&made.json(), json!({"command": "CREATE TABLE", "affected": 0}));
    let insert = r#"{"sql": "INSERT INTO t VALUES ($1, $2, $3, $4)", "params": [1, "a,\"b", 12345678901234567890.10, {"x": [1]}]}"#;
    let inserted = served.client.post("/db/shop/sql", insert);
    same(&inserted.json(), json!({"command": "INSERT", "affected": 1}));
    assert_eq!(run("*/*", "INSERT INTO t VALUES (2)").status, 200);
    let read = "SELECT id, name, price, of FROM t ORDER BY id";
    let json = run("application/json", read);
    assert!(
        json.body.contains(r#""rows":[[1,"a,\"b",12345678901234567890.10,{"x": [1]}],[2,null,null,null]]}"#),
        "{json:?}"
    );
    same(&json.json()["columns"][2], json!({"name": "price", "type": "numeric"}));
    let lines = run("application/x-ndjson", read);
    assert_eq!(lines.body.lines().nth(1), Some(r#"{"id":2,"name":null,"price":null,"of":null}"#));
    let csv = run("text/csv", read);
    assert_eq!(csv.body, "id,name,price,of\r\n1,\"a,\"\"b\",12345678901234567890.10,\"{\"\"x\"\": [1]}\"\r\n2,,,\r\n");
    let many = run("application/x-ndjson", "SELECT g FROM generate_series(1, 100000) g");
    assert_eq!(many.body.lines().count(), 100_000);
    for (text, status, code) in [
        ("SELEC 1", 400, "42601"),
        ("SELECT 1; SELECT 2", 400, "42601"),
        ("BEGIN", 400, "0A000"),
        ("SET work_mem = '1MB'", 400, "0A000"),
        ("SELECT 1/0", 400, "22012"),
        ("COPY t TO '/tmp/x'", 403, "42501"),
        ("INSERT INTO t VALUES (1)", 409, "23505"),
    ] {
        assert_eq!(told(&run("*/*", text)), of(status, code), "{text}");
    }
    assert_eq!(run("image/png", "SELECT 1").status, 406);
}

#[test]
fn sql_needs_its_own_scope_and_reads_only_without_write() {
    let (reads, reader) = token("reader", &[Scope::Sql]);
    let (writes, writer) = token("writer", &[Scope::Read, Scope::Write]);
    let served = Served::with(Options { tokens: vec![reader, writer], ..Options::default() }, Default::default());
    served.client.put(NOTES, "");
    let run = |secret: &str, text: &str| sql(&served.client.with(secret), "*/*", json!({"sql": text}));
    assert_eq!(run(&reads, "SELECT count(*) FROM notes").status, 200);
    for text in ["INSERT INTO notes (doc) VALUES ('{}')", "DROP TABLE notes", "SELECT nextval('notes_version_seq')"] {
        assert_eq!(told(&run(&reads, text)), of(403, "25006"), "{text}");
    }
    assert_eq!(told(&run(&writes, "SELECT 1")), of(403, "42501"));
    assert_eq!(served.rows("SELECT count(*) FROM notes"), 0);
}
