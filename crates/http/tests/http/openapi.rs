//! The document that says what there is, beside what there is.

use super::*;

const METHODS: [&str; 5] = ["get", "put", "post", "patch", "delete"];

fn document(served: &Served) -> Value {
    let answer = Client::new(served.client.address, "").get("/openapi.json");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.json()
}

/// Whether a path is asked by a method: what is not is known by its words.
fn is_answered(served: &Served, method: &str, path: &str) -> bool {
    let answer = served.client.ask(&method.to_uppercase(), path, &[("Content-Type", "application/x-none")], "");
    !(answer.body.contains("nothing under this path") || answer.status == 405)
}

fn filled(path: &str) -> String {
    let path = path.replace("{database}", "shop").replace("{collection}", "notes").replace("{id}", "a");
    // A stream would have no end.
    if path.ends_with("/changes") { path + "?since=none" } else { path }
}

#[test]
fn each_path_is_asked_by_the_methods_that_it_says_and_by_no_others() {
    let served = Served::with_notes();
    let document = document(&served);
    let paths = document["paths"].as_object().unwrap();
    // Dropping comes last.
    for method in METHODS {
        for (path, operations) in paths {
            let says = operations.get(method).is_some();
            assert_eq!(is_answered(&served, method, &filled(path)), says, "{method} {path}");
        }
    }
    assert!(!is_answered(&served, "get", "/db/shop/collections/notes/nothing"));
}

/// Every name that it refers to is there, every operation has a name of its own, and every part of a path is described.
#[test]
fn it_is_whole() {
    let served = Served::with_notes();
    let document = document(&served);
    let mut waiting = vec![&document];
    while let Some(value) = waiting.pop() {
        if let Some(to) = value.get("$ref") {
            let pointer = to.as_str().unwrap().strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        waiting.extend(value.as_object().into_iter().flat_map(|object| object.values()));
        waiting.extend(value.as_array().into_iter().flatten());
    }
    let mut names = std::collections::BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let described = operations["parameters"].as_array().map_or(0, Vec::len);
        assert_eq!(path.matches('{').count(), described, "{path}");
        for operation in METHODS.iter().filter_map(|method| operations.get(*method)) {
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{operation}");
            assert!(operation["responses"].get("default").is_some(), "{path}");
        }
    }
    assert!(names.len() > 20, "{names:?}");
}

/// Answers are as their schemas say, by the database's own validator.
#[test]
fn answers_are_as_it_says() {
    let served = Served::with_notes();
    let document = document(&served);
    let conn = served.database.connect().unwrap();
    let check = |name: &str, answer: &Answer| {
        let schema = json!({ "$ref": format!("#/components/schemas/{name}"), "components": document["components"] });
        let asked = (schema.to_string(), answer.body.clone());
        let errors: String = conn
            .query_row("SELECT jsonschema_validation_errors($1::text::json, $2::text::jsonb)::text", asked, |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(errors, "{}", "{name}: {}", answer.body);
    };
    check("Written", &served.client.put(&note("a"), r#"{"n": 1}"#));
    check("Written", &served.client.post(&format!("{NOTES}/documents"), "[]"));
    check("Collection", &served.client.get(NOTES));
    check("Page", &served.client.get(&format!("{NOTES}/documents?limit=1&count=true")));
    check("Problem", &served.client.get(&note("none")));
    check("Problem", &served.client.put(&note("a"), "{"));
    check("Problem", &served.client.post("/db/shop/sql", r#"{"sql": "SELECT * FROM none"}"#));
    // Questions and batches that it lets be asked are taken, and no others.
    let question =
        json!({ "filter": {}, "sort": ["n"], "select": ["n"], "limit": 1, "count": true, "expand": { "n": "notes" } });
    assert_eq!(served.client.post(&format!("{NOTES}/query"), &question.to_string()).status, 200);
    for (name, member) in document["components"]["schemas"]["Question"]["properties"].as_object().unwrap() {
        assert!(question.get(name).is_some() || name == "after", "{name} {member}");
    }
}
