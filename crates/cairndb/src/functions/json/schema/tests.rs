use super::compile::compile;
use crate::types::Jsonb;

fn errors(schema: &str, document: &str) -> Vec<String> {
    let schema: Jsonb = schema.parse().unwrap();
    compile(schema.root()).unwrap().errors(&document.parse().unwrap()).unwrap()
}

fn holds(schema: &str, document: &str) -> bool {
    let schema: Jsonb = schema.parse().unwrap();
    let schema = compile(schema.root()).unwrap();
    let document: Jsonb = document.parse().unwrap();
    let holds = schema.matches(&document).unwrap();
    assert_eq!(holds, schema.errors(&document).unwrap().is_empty(), "{document}");
    holds
}

/// Each keyword with documents that hold and that do not.
#[test]
fn keywords_ask_what_the_specification_says() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("true", &["1", "null"], &[]),
        ("false", &[], &["1", "null"]),
        (r#"{"type": "integer"}"#, &["1", "1.0", "-3e2"], &["1.5", "\"1\"", "null"]),
        (r#"{"type": ["number", "null"]}"#, &["1.5", "null"], &["true", "[]"]),
        (r#"{"const": {"a": [1.0]}}"#, &[r#"{"a": [1]}"#], &[r#"{"a": [1, 1]}"#, "1"]),
        (r#"{"enum": [1, "a", null]}"#, &["1.00", "\"a\"", "null"], &["2", "\"A\"", "false"]),
        (r#"{"minimum": 1, "exclusiveMaximum": 3}"#, &["1", "2.999", "\"0\""], &["0.999", "3"]),
        (r#"{"exclusiveMinimum": 1, "maximum": 3}"#, &["1.001", "3"], &["1", "3.001"]),
        (r#"{"multipleOf": 0.01}"#, &["0.07", "4.35", "1e300", "null"], &["0.075"]),
        (r#"{"minLength": 2, "maxLength": 3}"#, &["\"äö\"", "\"abc\"", "7"], &["\"ä\"", "\"abcd\""]),
        (r#"{"pattern": "^\\d+$"}"#, &["\"12\"", "12"], &["\"\"", "\"1a\"", "\"١\""]),
        (r#"{"pattern": "^[\\D]$"}"#, &["\"١\"", "\"a\""], &["\"1\""]),
        (r#"{"pattern": "^[^\\D]$"}"#, &["\"1\""], &["\"١\"", "\"a\""]),
        (r#"{"pattern": "^[\\d\\W\\b]+$"}"#, &["\"1ü-\"", "\"\\b\""], &["\"a\"", "\"_\""]),
        (r#"{"pattern": "^(?!a)\\w\\/[^]$"}"#, &["\"b/ü\""], &["\"a/u\"", "\"b/\""]),
        (r#"{"pattern": "[a\\-z[&&~]\\u0041"}"#, &["\"-A\"", "\"[A\"", "\"&A\""], &["\"bA\""]),
        (r#"{"prefixItems": [{"type": "string"}], "items": false}"#, &["[]", "[\"a\"]", "1"], &["[1]", "[\"a\", 1]"]),
        (r#"{"items": {"type": "string"}}"#, &["[]", "[\"a\", \"b\"]"], &["[\"a\", 1]"]),
        (
            r#"{"items": [{"type": "string"}], "additionalItems": {"type": "null"}}"#,
            &["[\"a\", null]"],
            &["[\"a\", 1]"],
        ),
        (r#"{"contains": {"const": 1}}"#, &["[2, 1]", "\"1\""], &["[]", "[2]"]),
        (r#"{"contains": {"const": 1}, "minContains": 0, "maxContains": 1}"#, &["[]", "[1]"], &["[1, 1]"]),
        (
            r#"{"minItems": 1, "maxItems": 2, "uniqueItems": true}"#,
            &["[1, 2]", "[[1], [2]]"],
            &["[]", "[1, 2, 3]", "[1, 1.0]"],
        ),
        (
            r#"{"required": ["a"], "maxProperties": 2, "minProperties": 1}"#,
            &[r#"{"a": null}"#, "[]"],
            &["{}", r#"{"a": 1, "b": 2, "c": 3}"#],
        ),
        (
            r#"{"properties": {"a": {"type": "string"}, "bb": true}, "patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": false}"#,
            &[r#"{"a": "", "bb": [], "x_y": 1}"#, "{}"],
            &[r#"{"a": 1}"#, r#"{"c": 1}"#, r#"{"x_y": "1"}"#],
        ),
        (r#"{"propertyNames": {"maxLength": 1}}"#, &[r#"{"a": "long"}"#], &[r#"{"ab": 1}"#]),
        (r#"{"dependentRequired": {"a": ["b"]}}"#, &["{}", r#"{"b": 1}"#, r#"{"a": 1, "b": 1}"#], &[r#"{"a": 1}"#]),
        (r#"{"dependentSchemas": {"a": {"minProperties": 2}}}"#, &["{}", r#"{"a": 1, "b": 1}"#], &[r#"{"a": 1}"#]),
        (
            r#"{"dependencies": {"a": ["b"], "c": false}}"#,
            &["{}", r#"{"a": 1, "b": 1}"#],
            &[r#"{"a": 1}"#, r#"{"c": 1}"#],
        ),
        (r#"{"allOf": [{"minimum": 1}, {"maximum": 2}]}"#, &["1", "2", "\"\""], &["0", "3"]),
        (r#"{"anyOf": [{"type": "string"}, {"minimum": 3}]}"#, &["3", "\"a\"", "null"], &["2"]),
        (r#"{"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}"#, &["2", "3"], &["5", "6", "null"]),
        (r#"{"not": {"type": "null"}}"#, &["1"], &["null"]),
        (
            r#"{"if": {"properties": {"k": {"const": "a"}}, "required": ["k"]}, "then": {"required": ["x"]}, "else": {"required": ["y"]}}"#,
            &[r#"{"k": "a", "x": 1}"#, r#"{"k": "b", "y": 1}"#],
            &[r#"{"k": "a", "y": 1}"#, r#"{"x": 1}"#],
        ),
        (
            r##"{"$defs": {"tree/~%": {"properties": {"kids": {"items": {"$ref": "#/$defs/tree~1~0%25"}}, "n": {"type": "integer"}}}}, "$ref": "#/$defs/tree~1~0%25"}"##,
            &[r#"{"n": 1, "kids": [{"n": 2, "kids": []}]}"#],
            &[r#"{"kids": [{"kids": [{"n": "x"}]}]}"#],
        ),
        (
            r##"{"$id": "https://example.com/a.json", "$defs": {"a": {"type": "null"}}, "$ref": "https://example.com/a.json#/$defs/a"}"##,
            &["null"],
            &["1"],
        ),
        (
            r##"{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": true}, "$ref": "#/definitions/a", "type": "null"}"##,
            &["1"],
            &[],
        ),
        (r#"{"title": "t", "format": "email", "x-mine": 3, "default": 7, "$comment": "c"}"#, &["\"no address\""], &[]),
    ];
    for (schema, good, bad) in cases {
        for document in *good {
            assert!(holds(schema, document), "{schema} {document}");
        }
        for document in *bad {
            assert!(!holds(schema, document), "{schema} {document}");
        }
    }
}

#[test]
fn what_does_not_hold_is_told_with_its_place() {
    let schema = r#"{"type": "object", "required": ["name", "age"], "additionalProperties": false,
        "properties": {"name": {"type": "string"}, "age": {"minimum": 0}, "a/b~": {"items": {"type": ["null", "integer"]}}}}"#;
    let document = r#"{"name": 7, "age": -1, "a/b~": [1, null, "x"], "more": 1}"#;
    let expected = [
        "/age: -1 is less than 0",
        "/a~1b~0/2: \"x\" is not null or an integer",
        "(root): there may be no property \"more\"",
        "/name: 7 is not a string",
    ];
    let mut told = errors(schema, document);
    told.sort_unstable();
    let mut expected = expected.map(str::to_owned);
    expected.sort_unstable();
    assert_eq!(told, expected);
    assert_eq!(errors(schema, "{}").len(), 2);
    let long = format!("[{}1]", "1, ".repeat(100));
    assert_eq!(errors(r#"{"items": {"type": "null"}}"#, &long).len(), 20);
}

#[test]
fn what_is_no_schema_and_what_is_not_understood_is_refused() {
    let code = |schema: &str| {
        let schema: Jsonb = schema.parse().unwrap();
        compile(schema.root()).err().map(|error| error.sqlstate().0.to_owned())
    };
    for schema in [
        "1",
        r#"{"type": "text"}"#,
        r#"{"type": 1}"#,
        r#"{"minLength": -1}"#,
        r#"{"minLength": 1.5}"#,
        r#"{"multipleOf": 0}"#,
        r#"{"pattern": "("}"#,
        r#"{"required": "a"}"#,
        r#"{"properties": {"a": 1}}"#,
        r#"{"allOf": {}}"#,
        r##"{"$ref": "#/$defs/a"}"##,
        r##"{"$ref": "#/%ff"}"##,
        r##"{"$ref": 1}"##,
        r##"{"$schema": 1}"##,
    ] {
        assert_eq!(code(schema).as_deref(), Some("22023"), "{schema}");
    }
    for schema in [
        r#"{"$ref": "https://example.com/other.json"}"#,
        r##"{"$ref": "#name"}"##,
        r#"{"unevaluatedProperties": false}"#,
        r##"{"$dynamicRef": "#a"}"##,
        r#"{"properties": {"a": {"$id": "b"}}}"#,
        r#"{"$schema": "http://json-schema.org/draft-04/schema#"}"#,
    ] {
        assert_eq!(code(schema).as_deref(), Some("0A000"), "{schema}");
    }
}

/// Schemas that ask for ever, or for as many looks as there are subsets.
#[test]
fn a_schema_asks_no_more_than_a_document_is_long() {
    let told = |schema: &str, document: &str| {
        let schema: Jsonb = schema.parse().unwrap();
        compile(schema.root()).unwrap().matches(&document.parse().unwrap()).unwrap_err().sqlstate().0.to_owned()
    };
    assert_eq!(told(r##"{"$ref": "#"}"##, "1"), "54001");
    let doubling: String = (0..60)
        .map(|n| format!(r##""{n}": {{"oneOf": [{{"$ref": "#/$defs/{0}"}}, {{"$ref": "#/$defs/{0}"}}]}}, "##, n + 1))
        .collect();
    let schema = format!(r##"{{"$defs": {{{doubling} "60": true}}, "$ref": "#/$defs/0"}}"##);
    assert_eq!(told(&schema, "1"), "54001");
    assert_eq!(told(r#"{"pattern": "^((a|aa)+)+\\1x$"}"#, &format!("\"{}b\"", "a".repeat(40))), "54001");
    let chain: String = (0..20_000).map(|n| format!(r##""{n}": {{"$ref": "#/$defs/{}"}}, "##, n + 1)).collect();
    assert_eq!(told(&format!(r##"{{"$defs": {{{chain} "20000": true}}, "$ref": "#/$defs/0"}}"##), "1"), "54001");
    // As deep as a document may be.
    let deep = format!("{}1{}", "[".repeat(255), "]".repeat(255));
    assert!(!holds(r##"{"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]}"##, &deep));
}
