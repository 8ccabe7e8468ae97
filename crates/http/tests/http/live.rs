//! Queries whose results are kept current.

use serde_json::json;

use super::listener::Listener;
use super::*;

fn watch(client: &Client, query: &str) -> Result<Listener, Answer> {
    Listener::at(client, &format!("/db/shop/live?{query}"), "")
}

fn next(listener: &mut Listener) -> (String, Value) {
    let event = listener.next().expect("an event");
    (event.kind, event.data)
}

#[test]
fn a_query_tells_its_result_and_then_what_becomes_of_it() {
    let served = Served::with_notes();
    let conn = served.database.connect().unwrap();
    conn.execute_script("CREATE TABLE t (id int PRIMARY KEY, n numeric); INSERT INTO t VALUES (1, 1.50), (2, 2)")
        .unwrap();
    let mut listener =
        watch(&served.client, "sql=SELECT%20id%2C%20n%20FROM%20t%20WHERE%20n%20%3C%20%241&params=%5B10%5D").unwrap();
    let columns = json!({"columns": [{"name": "id", "type": "integer"}, {"name": "n", "type": "numeric"}], "key": [0]});
    assert_eq!(next(&mut listener), ("columns".to_owned(), columns));
    let (kind, result) = next(&mut listener);
    assert_eq!((kind.as_str(), result["added"].as_array().map(Vec::len)), ("result", Some(2)));
    // What others write by any way, one event a commit.
    conn.execute_script(
        "BEGIN; INSERT INTO t VALUES (3, 3); UPDATE t SET n = 7 WHERE id = 2; DELETE FROM t WHERE id = 1; COMMIT",
    )
    .unwrap();
    let change = json!({"added": [[3, 3]], "removed": [[1, 1.5]], "updated": [[[2, 2], [2, 7]]]});
    assert_eq!(next(&mut listener), ("change".to_owned(), change));
    // What the query does not see is told to nobody: the next event is of what follows.
    conn.execute("INSERT INTO t VALUES (4, 100)", ()).unwrap();
    conn.execute("DELETE FROM t WHERE id = 3", ()).unwrap();
    assert_eq!(next(&mut listener).1["removed"], json!([[3, 3]]));
    conn.execute("DROP TABLE t", ()).unwrap();
    assert_eq!(next(&mut listener).0, "error");
    assert!(listener.next().is_none());
}

#[test]
fn many_rows_are_told_in_parts() {
    let served = Served::with_notes();
    served
        .database
        .connect()
        .unwrap()
        .execute_script("CREATE TABLE t AS SELECT n FROM generate_series(1, 2500) s(n)")
        .unwrap();
    let mut listener = watch(&served.client, "sql=SELECT%20n%20FROM%20t").unwrap();
    next(&mut listener);
    let parts: Vec<(usize, bool)> = (0..3)
        .map(|_| next(&mut listener).1)
        .map(|part| (part["added"].as_array().unwrap().len(), part["more"] == json!(true)))
        .collect();
    assert_eq!(parts, [(1000, true), (1000, true), (500, false)]);
}

#[test]
fn it_is_for_who_may_run_sql_and_changes_nothing() {
    let (reads, reader) = token("reader", &[Scope::Read, Scope::Write]);
    let served = Served::with(Options { tokens: vec![reader], ..Options::default() }, Default::default());
    served.client.put(NOTES, "");
    let refused = |query: &str| told(&watch(&served.client, query).err().expect("it is refused"));
    for (query, status, code) in [
        ("", 400, "22023"),
        ("sql=SELECT%20%2A%20FROM%20none", 404, "42P01"),
        ("sql=SELECT%201&params=%5B", 400, "22P02"),
        ("sql=SELECT%201&other=1", 400, "22023"),
        ("sql=SELECT%20nextval%28%27notes_version_seq%27%29", 400, "0A000"),
        ("sql=DROP%20TABLE%20notes", 400, "42601"),
        ("sql=INSERT%20INTO%20notes%20%28doc%29%20VALUES%20%28%27%7B%7D%27%29%20RETURNING%20id", 400, "42601"),
    ] {
        assert_eq!(refused(query), of(status, code), "{query}");
    }
    assert_eq!(served.rows("SELECT count(*) FROM notes"), 0);
    let answer = watch(&served.client.with(&reads), "sql=SELECT%201").err().expect("it is refused");
    assert_eq!(told(&answer), of(403, "42501"));
    // As a body.
    assert_eq!(told(&served.client.post("/db/shop/live", r#"{"sql": "SELECT * FROM none"}"#)), of(404, "42P01"));
}
