//! Collections, and documents by their ids.

use super::*;

#[test]
fn a_collection_comes_is_listed_and_goes() {
    let served = Served::new();
    let client = &served.client;
    let made = client.put(NOTES, "");
    assert_eq!((made.status, made.header("location")), (201, Some(NOTES)));
    assert_eq!(client.put(NOTES, "{}").status, 200);
    assert_eq!(told(&client.put(NOTES, r#"{"ids": "uuid"}"#)), of(409, "42P07"));
    assert_eq!(client.put("/db/shop/collections/numbered", r#"{"ids": "bigint", "change_feed": false}"#).status, 201);
    same(&client.get("/db/shop/collections").json(), json!({"collections": ["notes", "numbered"]}));
    same(&client.get("/db/shop/collections/numbered").json(), json!({"name": "numbered", "ids": "bigint"}));
    same(&client.get("/db").json(), json!({"databases": ["shop"]}));
    assert_eq!(served.rows("SELECT count(*) FROM notes"), 0);
    assert_eq!(client.delete("/db/shop/collections/numbered").status, 204);
    assert_eq!(told(&client.delete("/db/shop/collections/numbered")), of(404, "42P01"));
    assert_eq!(told(&client.put("/db/shop/collections/x", r#"{"ids": "inet"}"#)), of(400, "22023"));
    assert_eq!(told(&client.get("/db/none/collections")), of(404, "3D000"));
    assert_eq!(client.post(&format!("{NOTES}/indexes"), r#"{"path": "email", "kind": "unique"}"#).status, 201);
    assert_eq!(client.post(&format!("{NOTES}/documents"), r#"{"email": "a"}"#).status, 201);
    assert_eq!(told(&client.post(&format!("{NOTES}/documents"), r#"{"email": "a"}"#)), of(409, "23505"));
    served.database.connect().unwrap().execute("CREATE TABLE plain (id text PRIMARY KEY)", ()).unwrap();
    assert_eq!(told(&client.get("/db/shop/collections/plain")), of(400, "42809"));
}

#[test]
fn a_document_is_made_read_replaced_changed_and_deleted() {
    let served = Served::with_notes();
    let client = &served.client;
    let made = client.post(&format!("{NOTES}/documents"), r#"{"title": "Tides", "n": 1}"#);
    assert_eq!(made.status, 201);
    let path = made.header("location").unwrap().to_owned();
    assert_eq!(path, note(&id_of(&made)));
    let read = client.get(&path);
    assert_eq!((read.status, read.etag()), (200, made.etag()));
    assert_eq!(read.body, r#"{"n": 1, "title": "Tides"}"#);

    let put = client.put(&path, "[1]");
    assert!(put.status == 200 && put.etag() != made.etag());
    assert_eq!(client.put(&note("own"), "{}").status, 201);
    let merge = [("Content-Type", "application/merge-patch+json")];
    let patched = client.ask("PATCH", &note("own"), &merge, r#"{"a": {"b": 1}}"#);
    assert_eq!(patched.status, 200);
    let patch = [("Content-Type", "application/json-patch+json")];
    let patched = client.ask("PATCH", &note("own"), &patch, r#"[{"op": "add", "path": "/a/c", "value": 2}]"#);
    assert_eq!((patched.status, client.get(&note("own")).body.as_str()), (200, r#"{"a": {"b": 1, "c": 2}}"#));
    assert_eq!(client.delete(&note("own")).status, 204);
    assert_eq!(told(&client.delete(&note("own"))), of(404, "P0002"));
    assert_eq!(told(&client.get(&note("own"))), of(404, "P0002"));
    assert_eq!(told(&client.ask("PATCH", &note("own"), &merge, "{}")), of(404, "P0002"));
    assert_eq!(told(&client.ask("PATCH", &path, &[("Content-Type", "text/plain")], "{}")), of(415, "0A000"));
}

#[test]
fn conditions_are_of_one_state_of_a_document() {
    let served = Served::with_notes();
    let client = &served.client;
    let json = ("Content-Type", "application/json");
    let first = client.put(&note("a"), "{}");
    let first = first.etag();
    let put = |tag: &str, doc: &str| client.ask("PUT", &note("a"), &[json, ("If-Match", tag)], doc);
    let second = put(first, "[2]");
    assert_eq!(second.status, 200);
    assert_eq!(told(&put(first, "[3]")), of(412, "P0002"));
    // A writer of SQL's changes the state, too.
    served.database.connect().unwrap().execute("UPDATE notes SET doc = '[4]'", ()).unwrap();
    assert_eq!(put(second.etag(), "[5]").status, 412);
    let now = client.get(&note("a"));
    assert_eq!(now.body, "[4]");
    assert_eq!(put(&format!("{first}, {}", now.etag()), "[6]").status, 200);
    assert_eq!(put(&format!("W/{}", client.get(&note("a")).etag()), "[7]").status, 412);
    assert_eq!(put("*", "[8]").status, 200);
    let missing = |tag| client.ask("PUT", &note("b"), &[json, ("If-Match", tag)], "{}").status;
    assert_eq!([missing("*"), missing(first)], [412, 412]);
    let new = |id: &str| client.ask("PUT", &note(id), &[json, ("If-None-Match", "*")], "{}").status;
    assert_eq!([new("a"), new("b"), new("b")], [412, 201, 412]);

    let now = client.get(&note("a"));
    let unchanged = client.ask("GET", &note("a"), &[("If-None-Match", now.etag())], "");
    assert_eq!((unchanged.status, unchanged.body.as_str(), unchanged.etag()), (304, "", now.etag()));
    assert_eq!(client.ask("GET", &note("a"), &[("If-None-Match", first)], "").status, 200);
    assert_eq!(client.ask("DELETE", &note("a"), &[("If-Match", first)], "").status, 412);
    assert_eq!(client.ask("DELETE", &note("a"), &[("If-Match", now.etag())], "").status, 204);
    // A document that is made again under the id is another.
    assert_eq!(client.put(&note("a"), "[8]").status, 201);
    assert_eq!(client.ask("DELETE", &note("a"), &[("If-Match", now.etag())], "").status, 412);
    // And so is one of a collection that is made again.
    let tag = client.get(&note("a"));
    assert_eq!(client.delete(NOTES).status, 204);
    assert_eq!(client.put(NOTES, "").status, 201);
    while client.put(&note("a"), "{}").json()["version"].as_i64()
        < tag.etag().trim_matches('"').rsplit('-').next().and_then(|version| version.parse().ok())
    {}
    assert_eq!(put(tag.etag(), "[9]").status, 412);
}

#[test]
fn races_for_one_state_have_one_winner() {
    let served = Served::with_notes();
    let client = &served.client;
    for _ in 0..5 {
        let tag = client.put(&note("a"), "{}").etag().to_owned();
        let try_it = |n: usize| {
            let (client, tag) = (client.with(&client.secret), tag.clone());
            let headers = [("Content-Type", "application/json"), ("If-Match", tag.as_str())];
            client.ask("PUT", &note("a"), &headers, n.to_string()).status
        };
        let won: usize = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..8).map(|n| scope.spawn(move || try_it(n))).collect();
            tries.into_iter().map(|each| usize::from(each.join().unwrap() == 200)).sum()
        });
        assert_eq!(won, 1);
    }
}

#[test]
fn an_id_has_one_url() {
    let served = Served::with_notes();
    let client = &served.client;
    for id in ["a%20b", "a%2Fb", "%C3%A4", "%2E%2E%2F", "a:b", "a+b"] {
        let answer = client.put(&note(id), "{}");
        let is_one = matches!(id, "a%20b" | "a%2Fb" | "%C3%A4");
        assert_eq!(answer.status == 201, is_one, "{id}");
        if is_one {
            assert_eq!(answer.header("location"), Some(note(id).as_str()));
            assert_eq!(client.get(&note(id)).status, 200, "{id}");
        }
    }
    // Other spellings of the same are nothing's.
    for id in ["%61%20b", "a%2fb", "%c3%a4", "a%2Fb/", "a/b"] {
        assert_eq!(client.get(&note(id)).status, 404, "{id}");
    }
    assert_eq!(client.put("/db/shop/collections/numbered", r#"{"ids": "bigint"}"#).status, 201);
    let numbered = |id: &str| format!("/db/shop/collections/numbered/documents/{id}");
    assert_eq!(client.put(&numbered("7"), "{}").status, 201);
    for id in ["07", "%2B7", "7.0", "x", "99999999999999999999"] {
        assert_eq!(told(&client.get(&numbered(id))), of(404, "P0002"), "{id}");
        assert_eq!(client.put(&numbered(id), "{}").status, 404, "{id}");
    }
    assert_eq!(client.put("/db/shop/collections/u", r#"{"ids": "uuid"}"#).status, 201);
    let id = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    let u = |id: &str| format!("/db/shop/collections/u/documents/{id}");
    assert_eq!(client.put(&u(id), "{}").status, 201);
    assert_eq!(client.get(&u(&id.to_uppercase())).status, 404);
}

#[test]
fn numbers_keep_their_digits() {
    let served = Served::with_notes();
    let doc = r#"{"n": 12345678901234567890.123456789012345678901234567890, "small": 1E-400}"#;
    assert_eq!(served.client.put(&note("a"), doc).status, 201);
    let read = served.client.get(&note("a")).body;
    assert!(read.contains("12345678901234567890.123456789012345678901234567890") && read.contains("0.000"), "{read}");
}

#[test]
fn a_schema_is_set_told_and_taken_away() {
    let served = Served::with_notes();
    let path = format!("{NOTES}/schema");
    assert_eq!(told(&served.client.get(&path)), of(404, "P0002"));
    let schema = r#"{"required": ["title"], "properties": {"n": {"minimum": 0}}}"#;
    assert_eq!(served.client.put(&path, schema).status, 204);
    assert_eq!(served.client.get(&path).body, schema);
    let refused = served.client.put(&note("a"), r#"{"title": "x", "n": -1}"#);
    assert_eq!((told(&refused), refused.json()["detail"].as_str()), (of(422, "23514"), Some("/n: -1 is less than 0")));
    assert_eq!(served.client.put(&note("a"), r#"{"title": "x"}"#).status, 201);
    assert_eq!(told(&served.client.put(&path, r#"{"required": ["other"]}"#)), of(422, "23514"));
    assert_eq!(told(&served.client.put(&path, r#"{"type": 1}"#)), of(400, "22023"));
    assert_eq!(served.client.delete(&path).status, 204);
    assert_eq!(served.client.put(&note("b"), "[]").status, 201);
}
