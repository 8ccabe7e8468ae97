//! Rules of collections, as somebody attacks them who shows a JSON Web Token.

use std::time::{Duration, Instant};

use super::jwt::{at, believing, by_secret, hs256, token_of};
use super::listener::Listener;
use super::*;

const OWN: &str = "doc -> 'owner' = claims -> 'sub'";
const UPDATE: &str = "doc -> 'owner' = claims -> 'sub' AND old.doc -> 'owner' = doc -> 'owner'";

/// A server with documents of Ada and Bob, which each sees alone.
fn served() -> Served {
    let served = Served::with(believing(by_secret()), cairn_server::Options::default());
    served.client.put(NOTES, "");
    set(&served, &json!({ "list": OWN, "view": OWN, "create": OWN, "update": UPDATE, "delete": OWN }));
    for (id, doc) in [
        ("a1", json!({ "owner": "ada", "n": 1 })),
        ("a2", json!({ "owner": "ada", "n": 3 })),
        ("b1", json!({ "owner": "bob", "n": 2, "secret": "x" })),
    ] {
        served.client.put(&note(id), &doc.to_string());
    }
    served
}

fn set(served: &Served, rules: &Value) {
    let answer = served.client.put(&format!("{NOTES}/rules"), &rules.to_string());
    assert_eq!(answer.status, 204, "{answer:?}");
}

fn of_ada(served: &Served) -> Client {
    served.client.with(&token_of("ada"))
}

/// A method, headers, and a body.
type Attempt<'a> = (&'a str, Vec<(&'a str, &'a str)>, &'a str);

/// What a client is told, but for the id that it asked for.
fn blind(answer: &Answer, id: &str) -> (u16, String, Vec<String>) {
    let names = answer.headers.iter().map(|(name, _)| name.clone()).filter(|name| name != "date").collect();
    (answer.status, answer.body.replace(id, "?"), names)
}

#[test]
fn what_is_out_of_sight_is_as_what_is_not_there() {
    let served = served();
    let ada = of_ada(&served);
    let etag = served.client.get(&note("b1")).etag().to_owned();
    let tags = ["*", etag.as_str()];
    let json = ("Content-Type", "application/json");
    let merge = ("Content-Type", "application/merge-patch+json");
    let patch = ("Content-Type", "application/json-patch+json");
    let doc = r#"{"owner": "ada"}"#;
    let mut attempts: Vec<Attempt<'_>> = vec![
        ("GET", vec![], ""),
        ("HEAD", vec![], ""),
        ("DELETE", vec![], ""),
        ("PATCH", vec![merge], "{}"),
        ("PATCH", vec![patch], r#"[{"op": "test", "path": "/secret", "value": "x"}]"#),
        ("PATCH", vec![patch], r#"[{"op": "test", "path": "/secret", "value": "y"}]"#),
        ("PATCH", vec![patch], r#"[{"op": "copy", "from": "/secret", "path": "/a"}]"#),
        ("PUT", vec![json], r#"{"owner": "bob"}"#),
        ("PUT", vec![json, ("If-None-Match", "*")], r#"{"owner": "bob"}"#),
    ];
    for tag in tags {
        attempts.push(("GET", vec![("If-Match", tag)], ""));
        attempts.push(("GET", vec![("If-None-Match", tag)], ""));
        attempts.push(("DELETE", vec![("If-Match", tag)], ""));
        attempts.push(("PUT", vec![json, ("If-Match", tag)], doc));
        attempts.push(("PATCH", vec![merge, ("If-Match", tag)], "{}"));
        attempts.push(("PATCH", vec![patch, ("If-Match", tag)], "[]"));
    }
    for (method, headers, body) in &attempts {
        let quoted: Vec<(&str, String)> = headers
            .iter()
            .map(|(name, value)| {
                (*name, if *value == etag { format!("\"{}\"", value.trim_matches('"')) } else { (*value).to_owned() })
            })
            .collect();
        let headers: Vec<(&str, &str)> = quoted.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let [hidden, none] = ["b1", "zz"].map(|id| blind(&ada.ask(method, &note(id), &headers, body), id));
        assert_eq!(hidden, none, "{method} {headers:?} {body}");
        assert!([403, 404, 412].contains(&hidden.0), "{method} {headers:?} {hidden:?}");
    }
    let changed =
        served.rows("SELECT count(*) FROM notes WHERE id = 'b1' AND doc ->> 'owner' = 'bob' AND doc ->> 'n' = '2'");
    assert_eq!((changed, served.rows("SELECT count(*) FROM notes")), (1, 3));
    // What is in sight is answered as ever.
    let mine = ada.get(&note("a1"));
    assert_eq!(mine.status, 200);
    assert_eq!(ada.ask("GET", &note("a1"), &[("If-None-Match", mine.etag())], "").status, 304);
    assert_eq!(ada.ask("PUT", &note("a1"), &[json, ("If-Match", mine.etag())], doc).status, 200);
    assert_eq!(ada.ask("PUT", &note("a1"), &[json, ("If-Match", mine.etag())], doc).status, 412);
    assert_eq!(told(&ada.put(&note("a1"), r#"{"owner": "bob"}"#)), of(403, "42501"));
    assert_eq!(ada.delete(&note("a1")).status, 204);
}

#[test]
fn questions_are_of_what_is_in_sight() {
    let served = served();
    let ada = of_ada(&served);
    let ids = |question: Value| {
        let answer = ada.post(&format!("{NOTES}/query"), &question.to_string()).json();
        let all = answer["documents"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        (all.iter().map(|of| of["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>(), answer)
    };
    let (all, answer) = ids(json!({ "sort": ["n"], "count": true }));
    assert_eq!((all, answer["count"].as_i64()), (vec!["a1".to_owned(), "a2".to_owned()], Some(2)));
    for filter in [
        json!({ "secret": "x" }),
        json!({ "secret": { "$exists": true } }),
        json!({ "secret": { "$regex": "^x" } }),
        json!({ "$id": "b1" }),
        json!({ "n": { "$gt": 1, "$lt": 3 } }),
        json!({ "owner": { "$in": ["bob"] } }),
        json!({ "$nor": [{ "owner": "ada" }] }),
        json!({ "$or": [{ "secret": "x" }, { "owner": { "$ne": "ada" } }] }),
    ] {
        let (found, answer) = ids(json!({ "filter": filter, "count": true, "sort": ["secret"] }));
        assert_eq!((found.len(), answer["count"].as_i64()), (0, Some(0)), "{filter}");
    }
    // Pages know nothing of what lies between their documents, nor do cursors that somebody makes up.
    let (first, answer) = ids(json!({ "sort": ["n"], "limit": 1 }));
    let (second, last) = ids(json!({ "sort": ["n"], "limit": 1, "after": answer["next"] }));
    assert_eq!((first, second, last.get("next")), (vec!["a1".to_owned()], vec!["a2".to_owned()], None));
    let (found, _) = ids(json!({ "sort": ["-secret"], "after": "[[\"w\"],\"a\"]" }));
    assert!(!found.contains(&"b1".to_owned()));
    // An expression that is none is told where there is something to try it with.
    let regex = |client: &Client, filter: Value| {
        let answer = client.post(&format!("{NOTES}/query"), &json!({ "filter": filter }).to_string());
        (answer.status, answer.body)
    };
    assert_eq!(regex(&ada, json!({ "secret": { "$regex": "(" } })).0, 200);
    let parameters = ada.get(&format!("{NOTES}/documents?filter=%7B%22secret%22:%22x%22%7D&count=true")).json();
    assert_eq!(parameters["count"], 0);
}

#[test]
fn many_at_a_time_are_each_judged() {
    let served = served();
    let ada = of_ada(&served);
    let lines = ("Content-Type", "application/x-ndjson");
    let mixed = "{\"owner\": \"ada\"}\n{\"owner\": \"bob\"}\n";
    for query in ["", "?atomic=false"] {
        let answer = ada.ask("POST", &format!("{NOTES}/bulk{query}"), &[lines], mixed);
        assert_eq!(told(&answer), of(403, "42501"), "{query}");
    }
    assert_eq!(served.rows("SELECT count(*) FROM notes"), 3);
    let good = ada.ask("POST", &format!("{NOTES}/bulk"), &[lines], "{\"owner\": \"ada\"}\n");
    assert_eq!((good.status, good.json()["inserted"].as_i64()), (201, Some(1)));
    // Batches: what one operation may not, none does.
    served.client.put("/db/shop/collections/plain", "");
    let batch = |operations: Value| ada.post("/db/shop/batch", &json!({ "operations": operations }).to_string());
    let first = json!({ "op": "put", "collection": "notes", "id": "new", "doc": { "owner": "ada" } });
    for (second, status) in [
        (json!({ "op": "delete", "collection": "notes", "id": "b1" }), 404),
        (json!({ "op": "delete", "collection": "notes", "id": "zz" }), 404),
        (json!({ "op": "merge", "collection": "notes", "id": "b1", "patch": {} }), 404),
        (
            json!({ "op": "patch", "collection": "notes", "id": "b1", "patch": [{ "op": "test", "path": "/secret", "value": "x" }] }),
            404,
        ),
        (json!({ "op": "put", "collection": "notes", "id": "b1", "doc": { "owner": "bob" } }), 403),
        (json!({ "op": "insert", "collection": "notes", "doc": { "owner": "bob" } }), 403),
        (json!({ "op": "merge", "collection": "notes", "id": "new", "patch": { "owner": "bob" } }), 403),
        (json!({ "op": "insert", "collection": "plain", "doc": {} }), 403),
        (json!({ "op": "insert", "collection": "none", "doc": {} }), 403),
    ] {
        let answer = batch(json!([first, second]));
        assert_eq!(answer.status, status, "{second} {answer:?}");
    }
    assert_eq!(served.rows("SELECT count(*) FROM notes WHERE id = 'new'"), 0);
    assert_eq!(batch(json!([first, { "op": "delete", "collection": "notes", "id": "new" }])).status, 200);
}

#[test]
fn rules_that_fail_cost_or_recurse_refuse() {
    let served = served();
    let ada = of_ada(&served);
    let ask = || {
        let all = [ada.get(&note("b1")), ada.get(&note("a1")), ada.get(&format!("{NOTES}/documents?count=true"))];
        all.map(|answer| (answer.status, answer.body))
    };
    set(&served, &json!({ "list": "1 / ((doc ->> 'n')::int - 2) < 9", "view": "1 / ((doc ->> 'n')::int - 2) < 9" }));
    let [hidden, seen, list] = ask();
    assert_eq!((hidden.0, seen.0, list.0), (403, 200, 403));
    for told in [&hidden.1, &list.1] {
        assert!(!told.contains("division") && !told.contains("22012") && !told.contains("bob"), "{told}");
    }
    // Of a statement that takes too long it is told that it did; a function that never ends has an end.
    let conn = served.database.connect().unwrap();
    conn.execute_script(
        "CREATE FUNCTION deep(n int) RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN deep(n + 1); END $$",
    )
    .unwrap();
    set(&served, &json!({ "list": "deep(1) = 1", "view": "deep(1) = 1" }));
    for (status, body) in ask() {
        assert!(status == 403 && !body.contains("deep"), "{body}");
    }
    let refused = |rules: Value| told(&served.client.put(&format!("{NOTES}/rules"), &rules.to_string()));
    assert_eq!(refused(json!({ "view": "nextval('x') > 0" })).0, 400);
    assert_eq!(refused(json!({ "view": "true) OR (true" })), of(400, "42601"));
    assert_eq!(refused(json!({ "see": "true" })).0, 400);
    // What was not taken has changed nothing.
    assert_eq!(served.client.get(&format!("{NOTES}/rules")).json()["view"], "deep(1) = 1");
    let reader = served.client.with(&token_of("ada"));
    assert_eq!(told(&reader.get(&format!("{NOTES}/rules"))), of(403, "42501"));
    assert_eq!(served.client.delete(&format!("{NOTES}/rules")).status, 204);
    assert_eq!(ask().map(|(status, _)| status), [403, 403, 403]);
}

#[test]
fn what_enters_sight_is_new_and_what_leaves_it_is_gone() {
    let served = served();
    let ada = of_ada(&served);
    let mut heard = Listener::begin(&ada, "", "").unwrap();
    let put = |id: &str, owner: &str, n: i64| {
        served.client.put(&note(id), &json!({ "owner": owner, "n": n }).to_string());
    };
    put("b2", "bob", 1);
    put("b2", "bob", 2);
    put("a3", "ada", 1);
    heard.expect("insert", "a3");
    put("b2", "ada", 3);
    assert_eq!(heard.expect("insert", "b2").data["doc"]["n"], 3);
    put("b2", "ada", 4);
    heard.expect("update", "b2");
    put("b2", "bob", 5);
    let gone = heard.expect("delete", "b2");
    assert_eq!(gone.data, json!({ "id": "b2" }));
    put("b2", "bob", 6);
    served.client.delete(&note("b2"));
    served.client.delete(&note("a3"));
    heard.expect("delete", "a3");
    // A filter is of what is in sight.
    let mut filtered = Listener::begin(&ada, "?filter=%7B%22n%22:%7B%22$gt%22:5%7D%7D", "").unwrap();
    put("b3", "bob", 9);
    put("a4", "ada", 1);
    put("a4", "ada", 9);
    filtered.expect("insert", "a4");
    put("a4", "bob", 9);
    filtered.expect("delete", "a4");
    // Other rules end it.
    set(&served, &json!({ "list": OWN, "view": "true" }));
    put("a1", "ada", 9);
    let end = loop {
        let event = heard.next().unwrap();
        if event.kind == "end" {
            break event;
        }
    };
    assert_eq!(end.data["message"], "the rules of the collection have changed");
    assert!(heard.next().is_none());
    // While nothing happens, too.
    let mut quiet = Listener::begin(&ada, "", "").unwrap();
    served.client.delete(&format!("{NOTES}/rules"));
    let begun = Instant::now();
    assert_eq!(quiet.next().unwrap().kind, "end");
    assert!(begun.elapsed() < Duration::from_secs(15));
    set(&served, &json!({ "list": "true" }));
    assert_eq!(Listener::begin(&ada, "", "").err().unwrap().status, 403);
}

/// How often it was asked of a change who sees it.
fn questions(served: &Served) -> u64 {
    let metrics = served.client.get("/metrics").body;
    let line = metrics.lines().find(|line| line.starts_with("cairn_http_change_questions_total{"));
    line.and_then(|line| line.rsplit_once(' ')).map_or(0, |(_, count)| count.parse().unwrap())
}

/// Streams of the same claims, rules and filter see the same, and it is asked once for all of them.
#[test]
fn a_change_is_judged_once_for_all_who_come_with_the_same_claims() {
    let served = served();
    let (ada, bob) = (of_ada(&served), served.client.with(&token_of("bob")));
    let filter = "?filter=%7B%22n%22:%7B%22$gt%22:5%7D%7D";
    let mut all: Vec<Listener> = (0..20).map(|_| Listener::begin(&ada, "", "").unwrap()).collect();
    let mut others: Vec<Listener> = (0..3).map(|_| Listener::begin(&bob, "", "").unwrap()).collect();
    let mut filtered: Vec<Listener> = (0..3).map(|_| Listener::begin(&ada, filter, "").unwrap()).collect();
    let before = questions(&served);
    for (id, owner, n) in [("q1", "ada", 1), ("q2", "bob", 2), ("q3", "ada", 9), ("q4", "bob", 9)] {
        served.client.put(&note(id), &json!({ "owner": owner, "n": n }).to_string());
    }
    for listener in &mut all {
        listener.expect("insert", "q1");
        listener.expect("insert", "q3");
    }
    for listener in &mut others {
        listener.expect("insert", "q2");
        listener.expect("insert", "q4");
    }
    filtered.iter_mut().for_each(|listener| drop(listener.expect("insert", "q3")));
    // (Of the last change all have been asked when each has heard one more.)
    served.client.put(&note("q5"), &json!({ "owner": "ada", "n": 9 }).to_string());
    all.iter_mut().chain(&mut filtered).for_each(|listener| drop(listener.expect("insert", "q5")));
    served.client.put(&note("q6"), &json!({ "owner": "bob", "n": 9 }).to_string());
    others.iter_mut().for_each(|listener| drop(listener.expect("insert", "q6")));
    // Three kinds of streams, and five or six changes that each has come to.
    let asked = questions(&served) - before;
    assert!((16..=18).contains(&asked), "{asked}");
}

#[test]
fn claims_are_all_that_a_token_says() {
    let served = served();
    let rule =
        "doc -> 'team' IN (SELECT jsonb_array_elements(claims -> 'app' -> 'teams')) OR claims ->> 'role' = 'admin'";
    set(&served, &json!({ "list": rule, "view": rule }));
    served.client.put(&note("t"), r#"{"team": "red"}"#);
    let count = |claims: Value| {
        let client = served.client.with(&hs256(&claims));
        client.get(&format!("{NOTES}/documents?count=true")).json()["count"].as_i64()
    };
    assert_eq!(count(json!({ "exp": at(60), "app": { "teams": ["blue", "red"] } })), Some(1));
    assert_eq!(count(json!({ "exp": at(60), "app": { "teams": ["blue"] } })), Some(0));
    assert_eq!(count(json!({ "exp": at(60) })), Some(0));
    assert_eq!(count(json!({ "exp": at(60), "role": "admin" })), Some(4));
    assert_eq!(count(json!({ "exp": at(60), "role": "' OR true --" })), Some(0));
}

/// People that notes name, of whom each sees himself alone.
fn with_people(served: &Served) {
    let people = "/db/shop/collections/people";
    served.client.put(people, "");
    assert_eq!(served.client.put(&format!("{people}/rules"), &json!({ "view": OWN }).to_string()).status, 204);
    for name in ["ada", "bob"] {
        served.client.put(&format!("{people}/documents/{name}"), &json!({ "owner": name, "secret": name }).to_string());
    }
    served.client.put("/db/shop/collections/plain", "");
}

#[test]
fn what_is_named_is_told_by_its_own_rule() {
    let served = served();
    with_people(&served);
    let ada = of_ada(&served);
    let told = |of: Value, expand: Value| {
        served.client.put(&note("a1"), &json!({ "owner": "ada", "of": of }).to_string());
        let question = json!({ "filter": { "$id": "a1" }, "expand": expand, "select": ["none"] });
        let answer = ada.post(&format!("{NOTES}/query"), &question.to_string());
        let etag = served.client.get(&note("a1")).etag().trim_matches('"').to_owned();
        let version = etag.rsplit_once('-').unwrap().1.to_owned();
        (answer.status, answer.body.replace(&etag, "?").replace(&format!("\"version\":{version}"), "?"))
    };
    let people = json!({ "of": "people" });
    assert!(told(json!("ada"), people.clone()).1.contains("secret"));
    for (hidden, none) in [
        (json!("bob"), json!("zz")),
        (json!(["bob", "ada"]), json!(["zz", "ada"])),
        (json!(["ada", "bob", "bob"]), json!(["ada", "zz"])),
    ] {
        assert_eq!(told(hidden.clone(), people.clone()), told(none, people.clone()), "{hidden}");
    }
    // Collections that no rule opens, and those that are not there: alike, whether something is named or not.
    for of in [json!("ada"), Value::Null] {
        let [plain, none] = ["plain", "none"].map(|name| told(of.clone(), json!({ "of": name })));
        assert_eq!((plain.0, &plain), (403, &none));
    }
    // By way of itself, nobody gets around the rule by which he is shown notes.
    let own = told(json!(["b1", "a2"]), json!({ "of": "notes" })).1;
    let [is_seen, is_hidden] = ["a2", "b1"].map(|id| own.contains(&format!("\"id\":\"{id}\"")));
    assert!(is_seen && !is_hidden && !own.contains("bob"), "{own}");
}

#[test]
fn groups_tell_of_what_is_in_sight_alone() {
    let served = served();
    with_people(&served);
    let ada = of_ada(&served);
    let ask = |client: &Client, collection: &str, question: Value| {
        let answer = client.post(&format!("/db/shop/collections/{collection}/aggregate"), &question.to_string());
        (answer.status, answer.body)
    };
    let fields = json!({ "n": { "$count": true }, "s": { "$sum": "n" }, "l": { "$min": "secret" }, "g": { "$max": "n" }, "h": { "$count": "secret" } });
    let (status, body) = ask(&ada, "notes", json!({ "fields": fields }));
    assert_eq!((status, body.as_str()), (200, r#"{"groups":[{"g": 3, "h": 0, "l": null, "n": 2, "s": 4}]}"#));
    for question in [
        json!({ "group": { "o": "owner" }, "fields": { "n": { "$count": true } } }),
        json!({ "group": { "o": "owner", "s": "secret" } }),
        json!({ "filter": { "secret": { "$exists": true } }, "group": { "o": "owner" }, "having": { "o": { "$regex": "b" } } }),
        json!({ "filter": { "$or": [{ "secret": { "$regex": "(" } }, { "$id": "b1" }] }, "group": { "o": "owner" } }),
    ] {
        let (_, body) = ask(&ada, "notes", question.clone());
        assert!(!body.contains("bob") && !body.contains('x'), "{question} {body}");
    }
    // Of people nobody may make a list, so nobody counts them; what is not there is refused alike.
    let count = json!({ "fields": { "n": { "$count": true } } });
    let [people, plain, none] = ["people", "plain", "none"].map(|name| ask(&ada, name, count.clone()));
    assert_eq!((people.0, &people, &plain), (403, &plain, &none));
    // What is wrong with a question is told before a document is looked at, as to everybody.
    assert_eq!(ask(&ada, "notes", json!({ "group": { "$o": "owner" } })).0, 400);
}

/// A rule that looks at what was written before is asked of each document by itself, with what came before it.
#[test]
fn many_that_are_written_at_once_are_judged_one_after_the_other_where_that_matters() {
    let served = served();
    let ada = of_ada(&served);
    let lines = ("Content-Type", "application/x-ndjson");
    let quota = "(SELECT count(*) FROM notes AS o WHERE o.doc -> 'owner' = claims -> 'sub') < 4 AND doc -> 'owner' = claims -> 'sub'";
    set(&served, &json!({ "list": OWN, "view": OWN, "create": quota }));
    let bulk = |count: usize| {
        let body = "{\"owner\": \"ada\"}\n".repeat(count);
        ada.ask("POST", &format!("{NOTES}/bulk"), &[lines], body)
    };
    // Ada has two, and may have four.
    assert_eq!(told(&bulk(3)), of(403, "42501"));
    assert_eq!((bulk(2).status, bulk(1).status), (201, 403));
    // By a function, too.
    let conn = served.database.connect().unwrap();
    let sql = "CREATE FUNCTION had(who jsonb) RETURNS bigint STABLE LANGUAGE sql AS $$ SELECT count(*) FROM notes WHERE doc -> 'owner' = who $$";
    conn.execute(sql, ()).unwrap();
    set(&served, &json!({ "list": OWN, "view": OWN, "create": "had(claims -> 'sub') < 6" }));
    assert_eq!((bulk(3).status, bulk(2).status, bulk(1).status), (403, 201, 403));
    // What a trigger makes of them is judged, whatever was sent.
    conn.execute_script(
        "CREATE FUNCTION give() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.doc := jsonb_set(NEW.doc, '{owner}', '\"bob\"'); RETURN NEW; END $$;
         CREATE TRIGGER give BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION give()",
    )
    .unwrap();
    set(&served, &json!({ "list": OWN, "view": OWN, "create": OWN }));
    let before = served.rows("SELECT count(*) FROM notes");
    assert_eq!(told(&bulk(2)), of(403, "42501"));
    conn.execute("DROP TRIGGER give ON notes", ()).unwrap();
    assert_eq!((bulk(2).status, served.rows("SELECT count(*) FROM notes")), (201, before + 2));
    // With ids of their own: one that is taken stops all.
    let ids = |ids: &[&str]| {
        let body: String =
            ids.iter().map(|id| format!("{{\"id\": \"{id}\", \"doc\": {{\"owner\": \"ada\"}}}}\n")).collect();
        ada.ask("POST", &format!("{NOTES}/bulk?ids=true"), &[lines], body).status
    };
    assert_eq!((ids(&["n1", "n2"]), ids(&["n3", "n2"]), ids(&["n3"])), (201, 409, 201));
}
