//! What patches make of documents.

use super::by_id::ById;
use super::patch::patched;
use super::tree::merged;
use crate::Jsonb;

fn json(text: &str) -> Jsonb {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

#[test]
fn merge_patches_do_what_rfc_7396_has_for_examples() {
    for (document, patch, wanted) in [
        (r#"{"a": "b"}"#, r#"{"a": "c"}"#, r#"{"a": "c"}"#),
        (r#"{"a": "b"}"#, r#"{"b": "c"}"#, r#"{"a": "b", "b": "c"}"#),
        (r#"{"a": "b"}"#, r#"{"a": null}"#, "{}"),
        (r#"{"a": "b", "b": "c"}"#, r#"{"a": null}"#, r#"{"b": "c"}"#),
        (r#"{"a": ["b"]}"#, r#"{"a": "c"}"#, r#"{"a": "c"}"#),
        (r#"{"a": "c"}"#, r#"{"a": ["b"]}"#, r#"{"a": ["b"]}"#),
        (r#"{"a": {"b": "c"}}"#, r#"{"a": {"b": "d", "c": null}}"#, r#"{"a": {"b": "d"}}"#),
        (r#"{"a": [{"b": "c"}]}"#, r#"{"a": [1]}"#, r#"{"a": [1]}"#),
        (r#"["a", "b"]"#, r#"["c", "d"]"#, r#"["c", "d"]"#),
        (r#"{"a": "b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a": "foo"}"#, "null", "null"),
        (r#"{"a": "foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e": null}"#, r#"{"a": 1}"#, r#"{"e": null, "a": 1}"#),
        ("[1, 2]", r#"{"a": "b", "c": null}"#, r#"{"a": "b"}"#),
        ("{}", r#"{"a": {"bb": {"ccc": null}}}"#, r#"{"a": {"bb": {}}}"#),
        ("1", r#"{"n": 123456789012345678901234567890.50}"#, r#"{"n": 123456789012345678901234567890.50}"#),
    ] {
        let made = merged(&json(document), &json(patch)).unwrap();
        assert_eq!(made.to_string(), json(wanted).to_string(), "{document} with {patch}");
    }
}

#[test]
fn json_patches_do_what_rfc_6902_has_for_examples() {
    for (document, patch, wanted) in [
        (r#"{"foo": "bar"}"#, r#"[{"op": "add", "path": "/baz", "value": "qux"}]"#, r#"{"baz": "qux", "foo": "bar"}"#),
        (
            r#"{"foo": ["bar", "baz"]}"#,
            r#"[{"op": "add", "path": "/foo/1", "value": "qux"}]"#,
            r#"{"foo": ["bar", "qux", "baz"]}"#,
        ),
        (r#"{"baz": "qux", "foo": "bar"}"#, r#"[{"op": "remove", "path": "/baz"}]"#, r#"{"foo": "bar"}"#),
        (r#"{"foo": ["bar", "qux", "baz"]}"#, r#"[{"op": "remove", "path": "/foo/1"}]"#, r#"{"foo": ["bar", "baz"]}"#),
        (
            r#"{"baz": "qux", "foo": "bar"}"#,
            r#"[{"op": "replace", "path": "/baz", "value": "boo"}]"#,
            r#"{"baz": "boo", "foo": "bar"}"#,
        ),
        (
            r#"{"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}"#,
            r#"[{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]"#,
            r#"{"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}"#,
        ),
        (
            r#"{"foo": ["all", "grass", "cows", "eat"]}"#,
            r#"[{"op": "move", "from": "/foo/1", "path": "/foo/3"}]"#,
            r#"{"foo": ["all", "cows", "eat", "grass"]}"#,
        ),
        (
            r#"{"baz": "qux", "foo": ["a", 2, "c"]}"#,
            r#"[{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2.0}]"#,
            r#"{"baz": "qux", "foo": ["a", 2, "c"]}"#,
        ),
        (
            r#"{"foo": "bar"}"#,
            r#"[{"op": "add", "path": "/child", "value": {"grandchild": {}}}]"#,
            r#"{"foo": "bar", "child": {"grandchild": {}}}"#,
        ),
        (
            r#"{"foo": "bar"}"#,
            r#"[{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}]"#,
            r#"{"foo": "bar", "baz": "qux"}"#,
        ),
        (
            r#"{"/": 9, "~1": 10}"#,
            r#"[{"op": "test", "path": "/~01", "value": 10}, {"op": "replace", "path": "/~1", "value": 8}]"#,
            r#"{"/": 8, "~1": 10}"#,
        ),
        (
            r#"{"foo": ["bar"]}"#,
            r#"[{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]"#,
            r#"{"foo": ["bar", ["abc", "def"]]}"#,
        ),
        (
            r#"{"a": {"b": 1}}"#,
            r#"[{"op": "copy", "from": "/a", "path": "/c"}, {"op": "replace", "path": "/c/b", "value": 2}]"#,
            r#"{"a": {"b": 1}, "c": {"b": 2}}"#,
        ),
        (r#"{"a": 1}"#, r#"[{"op": "replace", "path": "", "value": []}]"#, "[]"),
    ] {
        let made = patched(&json(document), &json(patch)).unwrap_or_else(|error| panic!("{patch}: {error:?}"));
        assert_eq!(made.to_string(), json(wanted).to_string(), "{document} with {patch}");
    }
}

#[test]
fn patches_that_can_not_be_applied_are_errors() {
    for (patch, sqlstate) in [
        (r#"{"op": "remove", "path": "/a"}"#, "22023"),
        (r#"[1]"#, "22023"),
        (r#"[{"path": "/a"}]"#, "22023"),
        (r#"[{"op": "grow", "path": "/a"}]"#, "22023"),
        (r#"[{"op": "add", "path": "/a"}]"#, "22023"),
        (r#"[{"op": "add", "path": "a", "value": 1}]"#, "22023"),
        (r#"[{"op": "add", "path": "/x/y", "value": 1}]"#, "22023"),
        (r#"[{"op": "add", "path": "/l/3", "value": 1}]"#, "22023"),
        (r#"[{"op": "add", "path": "/l/01", "value": 1}]"#, "22023"),
        (r#"[{"op": "replace", "path": "/l/-", "value": 1}]"#, "22023"),
        (r#"[{"op": "remove", "path": "/l/2"}]"#, "22023"),
        (r#"[{"op": "remove", "path": ""}]"#, "22023"),
        (r#"[{"op": "move", "from": "/o", "path": "/o/p"}]"#, "22023"),
        (r#"[{"op": "test", "path": "/a", "value": "1"}]"#, "22000"),
        (r#"[{"op": "test", "path": "/none", "value": null}]"#, "22023"),
    ] {
        let error = patched(&json(r#"{"a": 1, "l": [1, 2], "o": {}}"#), &json(patch)).unwrap_err();
        assert_eq!(error.sqlstate().0, sqlstate, "{patch}: {error:?}");
    }
}

#[test]
fn copies_of_copies_end() {
    // Each is as deep as the one before, and one.
    let deeper = r#"{"op": "copy", "from": "", "path": "/x"}"#;
    let patch = format!("[{}]", vec![deeper; 300].join(","));
    let error = patched(&json(r#"{"a": "some text to copy"}"#), &json(&patch)).unwrap_err();
    assert_eq!(error.sqlstate().0, "54001", "{error:?}");
    let double = r#"{"op": "copy", "from": "/l", "path": "/l/-"}"#;
    let patch = format!("[{}]", vec![double; 200].join(","));
    let error = patched(&json(r#"{"l": ["some text to copy"]}"#), &json(&patch)).unwrap_err();
    assert_eq!(error.sqlstate().0, "22023", "{error:?}");
}

#[test]
fn a_trigger_that_leaves_a_change_out_is_told_and_not_asked_for_ever() {
    let conn = crate::Database::open_in_memory().unwrap().connect().unwrap();
    let notes = conn.create_collection("notes").unwrap();
    notes.put("a", "{}").unwrap();
    conn.execute_script(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER no BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION no()",
    )
    .unwrap();
    let code = |changed: crate::Result<Option<i64>>| changed.unwrap_err().sqlstate();
    assert_eq!(code(notes.update("a", r#"{"n": 1}"#)), crate::SqlState::NO_DATA_FOUND);
    assert_eq!(code(notes.patch("a", r#"[{"op": "add", "path": "/n", "value": 1}]"#)), crate::SqlState::NO_DATA_FOUND);
    assert_eq!(notes.get("a").unwrap().unwrap().doc.to_string(), "{}");
}

/// What servers rest on: once it is planned, each statement about one document is answered where it is asked.
#[test]
fn each_statement_about_one_document_is_answered_where_it_is_asked() {
    let db = crate::Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    // Versions are reserved by who may wait, some ahead.
    conn.create_collection("notes").unwrap().insert("{}").unwrap();
    let plans = crate::PlanCache::new();
    let pooled = crate::Pooled::new(db.connect().unwrap(), &plans);
    let one = crate::NonBlocking::new(db.connect().unwrap(), &plans).unwrap();
    let table = one.collection("notes").expect("the catalog was read").table().to_owned();
    let ask = |what: ById, params: Vec<crate::Value>| {
        let sql = what.sql(&table);
        pooled.connection().prepare(&sql).unwrap();
        one.query(&sql, params).is_some()
    };
    let (id, doc) = (crate::Value::from("a"), crate::Value::from("{}"));
    let asked = [
        (ById::Insert, vec![doc.clone()]),
        (ById::InsertAs, vec![id.clone(), doc.clone()]),
        (ById::Get, vec![id.clone()]),
        (ById::Put, vec![id.clone(), doc.clone()]),
        (ById::Replace, vec![id.clone(), doc.clone()]),
        (ById::ReplaceIf, vec![id.clone(), doc, crate::Value::from(5_i64)]),
        (ById::DeleteIf, vec![id.clone(), crate::Value::from(6_i64)]),
        (ById::Delete, vec![id]),
    ];
    let handed_over: Vec<ById> =
        asked.into_iter().filter(|(what, params)| !ask(*what, params.clone())).map(|(what, _)| what).collect();
    assert_eq!(handed_over, []);
}
