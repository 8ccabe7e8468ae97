//! Groups of documents, and documents that others name.

use super::*;

fn served() -> Served {
    let served = Served::with_notes();
    served.client.put("/db/shop/collections/people", "");
    for (id, name) in [("ada", "Ada"), ("bob", "Bob")] {
        served.client.put(&format!("/db/shop/collections/people/documents/{id}"), &json!({ "name": name }).to_string());
    }
    for (id, doc) in [
        ("a", json!({ "by": "ada", "n": 1, "read": ["bob", "ada", "eve"] })),
        ("b", json!({ "by": "ada", "n": 2, "read": [] })),
        ("c", json!({ "by": "eve", "n": 4.5 })),
        ("d", json!({ "n": "x" })),
    ] {
        served.client.put(&note(id), &doc.to_string());
    }
    served
}

#[test]
fn groups_are_told_with_what_is_worked_out_of_them() {
    let served = served();
    let ask = |question: Value| served.client.post(&format!("{NOTES}/aggregate"), &question.to_string());
    let by = json!({ "who": "by" });
    let all = ask(json!({ "group": by, "fields": { "n": { "$count": true }, "sum": { "$sum": "n" } } }));
    same(
        &all.json(),
        json!({"groups": [{"who": "ada", "n": 2, "sum": 3}, {"who": "eve", "n": 1, "sum": 4.5}, {"n": 1, "sum": null}]}),
    );
    let one = ask(json!({
        "filter": { "by": { "$exists": true } }, "group": by, "fields": { "most": { "$max": "n" }, "said": { "$count": "read" } },
        "having": { "most": { "$lt": 4 } }, "sort": ["-most"],
    }));
    same(&one.json(), json!({"groups": [{"who": "ada", "most": 2, "said": 2}]}));
    let cut =
        ask(json!({ "group": by, "fields": { "mean": { "$avg": "n" }, "least": { "$min": "n" } }, "limit": 2 })).json();
    assert_eq!((cut["groups"].as_array().unwrap().len(), &cut["more"]), (2, &json!(true)));
    for wrong in [
        r#"{}"#,
        r#"{"group": {"a": "n", "a": "by"}}"#,
        r#"{"fields": {"a": {"$sum": "n"}, "a": {"$sum": "by"}}}"#,
        r#"{"fields": {"a": {"$sum": "n", "$avg": "n"}}}"#,
        r#"{"fields": {"a": {"$count": false}}}"#,
        r#"{"fields": {"a": {"$median": "n"}}}"#,
        r#"{"group": {"$a": "n"}}"#,
        r#"{"group": {"a": "n"}, "having": {"$id": 1}}"#,
        r#"{"group": {"a": "n"}, "limit": 0}"#,
        r#"{"group": {"a": "n"}, "limit": 10001}"#,
        r#"{"group": {"a": "n"}, "skip": 1}"#,
        r#"{"group": ["a"]}"#,
        r#"{"fields": {"a": {"$count": true, "$most": 1}}}"#,
        r#"{"fields": {"a": {"$most": {"a": 1}}}}"#,
    ] {
        let answer = served.client.post(&format!("{NOTES}/aggregate"), wrong);
        assert_eq!(told(&answer), of(400, "22023"), "{wrong}");
    }
    assert_eq!(told(&served.client.post("/db/shop/collections/none/aggregate", r#"{"group": {"a": "a"}}"#)).0, 404);
}

#[test]
fn what_documents_name_is_told_beside_them() {
    let served = served();
    let ask = |question: Value| served.client.post(&format!("{NOTES}/query"), &question.to_string());
    let page = ask(json!({ "expand": { "by": "people", "read": "people" }, "select": ["n"], "sort": ["$id"] })).json();
    let told = |at: usize| page["documents"][at].clone();
    same(&told(0)["expanded"]["by"]["doc"], json!({"name": "Ada"}));
    let etag = served.client.get("/db/shop/collections/people/documents/ada").etag().to_owned();
    assert_eq!(format!("\"{}\"", told(0)["expanded"]["by"]["etag"].as_str().unwrap()), etag);
    let read: Vec<Value> = told(0)["expanded"]["read"].as_array().unwrap().iter().map(|of| of["id"].clone()).collect();
    assert_eq!(read, ["bob", "ada"]);
    same(&told(0)["doc"], json!({"n": 1}));
    same(&told(1)["expanded"]["read"], json!([]));
    same(&told(2)["expanded"], json!({}));
    let listed = served.client.get(&format!("{NOTES}/documents?expand=by:people&limit=1")).json();
    assert_eq!(listed["documents"][0]["expanded"]["by"]["id"], "ada");
    assert!(ask(json!({})).json()["documents"][0].get("expanded").is_none());
    assert_eq!(self::told(&ask(json!({ "expand": { "by": "none" } }))), of(404, "42P01"));
    assert_eq!(self::told(&ask(json!({ "expand": { "a..b": "people" } }))), of(400, "22023"));
    assert_eq!(self::told(&served.client.get(&format!("{NOTES}/documents?expand=by"))), of(400, "22023"));
    assert_eq!(self::told(&served.client.get(&format!("{NOTES}/documents?count=maybe"))), of(400, "22023"));
    // A token for some collections reaches no others by what they name.
    let (secret, mut token) = token("some", &[Scope::Read]);
    token.collections = vec!["notes".to_owned()];
    served.http.reload(Options { tokens: vec![token], ..Options::default() }).unwrap();
    let some = served.client.with(&secret);
    let question = json!({ "expand": { "by": "people" } }).to_string();
    assert_eq!(self::told(&some.post(&format!("{NOTES}/query"), &question)), of(403, "42501"));
    assert_eq!(some.get(&format!("{NOTES}/documents")).status, 200);
    same(&some.get("/db/shop/collections").json(), json!({"collections": ["notes"]}));
}
