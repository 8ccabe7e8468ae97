//! What filters become, and what is no filter.

use super::{Asked, Filter, condition};
use crate::documents::id::IdKind;

fn sql(filter: &str) -> String {
    let mut asked = Asked::new(IdKind::Text);
    let filter = Filter::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error:?}"));
    condition(&filter, &mut asked).unwrap_or_else(|error| panic!("{filter:?}: {error:?}"))
}

#[test]
fn filters_become_sql() {
    for (filter, wanted) in [
        ("{}", "true"),
        (r#"{"a": 1}"#, "((doc -> 'a') = $1)"),
        (r#"{"a": {"$eq": {"b": 1}}}"#, "((doc -> 'a') = $1)"),
        (r#"{"a.b": 1, "c": 2}"#, r#"(((doc #> '{"a","b"}') = $1) AND ((doc -> 'c') = $2))"#),
        (r#"{"0": 1}"#, r#"((doc #> '{"0"}') = $1)"#),
        (r#"{"it's": 1}"#, "((doc -> 'it''s') = $1)"),
        (r#"{"a\\.b": 1}"#, "((doc -> 'a.b') = $1)"),
        (r#"{"a": {"$gt": 3}}"#, "((doc -> 'a') > $1 AND jsonb_typeof((doc -> 'a')) = 'number')"),
        (r#"{"a": {"$in": [1, null]}}"#, "((doc -> 'a') IN ($1, $2))"),
        (r#"{"a": {"$nin": []}}"#, "(false IS NOT TRUE)"),
        (r#"{"a": {"$exists": false}}"#, "(((doc -> 'a') IS NOT NULL) IS NOT TRUE)"),
        (r#"{"$or": [{"a": 1}, {"b": 2}]}"#, "(((doc -> 'a') = $1) OR ((doc -> 'b') = $2))"),
        (r#"{"a": {"$elemMatch": {"$eq": "x"}}}"#, "((doc -> 'a') @> $1)"),
        (r#"{"$id": "x"}"#, "(id = $1)"),
        (r#"{"$id": 7}"#, "false"),
        (
            r#"{"a": {"$regex": "^x", "$options": "i"}}"#,
            "(jsonb_typeof((doc -> 'a')) = 'string' AND ((doc -> 'a') #>> '{}') ~* $1)",
        ),
    ] {
        assert_eq!(sql(filter), wanted, "{filter}");
    }
}

#[test]
fn what_is_no_filter_is_refused_by_name() {
    let deep =
        |open: &str, close: &str, count: usize| format!("{}{{\"a\": 1}}{}", open.repeat(count), close.repeat(count));
    let many = format!("{{\"a\": {{\"$in\": [{}]}}}}", vec!["1"; 2000].join(","));
    for (filter, part) in [
        ("[]", "an object"),
        ("1", "an object"),
        (r#"{"$where": "1"}"#, "$where"),
        (r#"{"a": {"$near": 1}}"#, "$near"),
        (r#"{"a": {"$gt": null}}"#, "null"),
        (r#"{"a": {"$lt": [1]}}"#, "an array"),
        (r#"{"a": {"$gt": 1, "b": 2}}"#, "\"b\""),
        (r#"{"a": 1, "a": 2}"#, "twice"),
        (r#"{"a": {"$gt": 1, "$gt": 2}}"#, "twice"),
        (r#"{"$or": []}"#, "$or"),
        (r#"{"$or": {"a": 1}}"#, "$or"),
        (r#"{"a": {"$in": 1}}"#, "$in"),
        (r#"{"a": {"$exists": "true"}}"#, "$exists"),
        (r#"{"a": {"$not": 1}}"#, "$not"),
        (r#"{"a": {"$regex": 1}}"#, "$regex"),
        (r#"{"a": {"$regex": "x", "$options": "g"}}"#, "\"g\""),
        (r#"{"a": {"$options": "i"}}"#, "$options"),
        (r#"{"a..b": 1}"#, "\"a..b\""),
        (r#"{"": 1}"#, "path"),
        (r#"{"a\\x": 1}"#, "path"),
        (r#"{"$id": null}"#, "$id"),
        (r#"{"$version": "1"}"#, "$version"),
        (r#"{"$id": {"$regex": "x"}}"#, "$regex"),
        (&deep("{\"$not\": ", "}", 40), "deeper"),
        (&deep("{\"$and\": [", "]}", 40), "deeper"),
        (&many, "1024"),
    ] {
        let error = Filter::parse(filter).unwrap_err();
        assert!(error.sqlstate().0 == "22023" && error.message().contains(part), "{filter}: {error:?}");
    }
    assert_eq!(Filter::parse("{").unwrap_err().sqlstate().0, "22P02");
    assert_eq!(Filter::parse(&deep("{\"$and\": [", "]}", 4000)).unwrap_err().sqlstate().0, "54001");
}

/// Whatever bytes come, a filter is read or refused, and what is read becomes SQL that parses.
#[test]
fn no_text_makes_anything_but_a_filter_or_an_error() {
    let seeds = [
        r#"{"a.b": {"$gt": 3, "$lte": 1e400}, "$or": [{"x": {"$exists": true}}, {"$not": {"y": [1, "é"]}}]}"#,
        r#"{"t": {"$elemMatch": {"k": {"$regex": "a'b\\\\", "$options": "i"}, "n": {"$nin": [null, {}]}}}}"#,
        r#"{"$id": {"$in": ["a", 1]}, "$version": {"$gte": 2}, "it's \"q\"": {"$ne": "$1"}, "a\\\\b.\\.": 0}"#,
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut read = 0;
    for _ in 0..20_000 {
        let mut text: Vec<char> = seeds[random(seeds.len())].chars().collect();
        for _ in 0..=random(4) {
            let at = random(text.len());
            match random(4) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, ['{', '"', '$', '\\', '\'', '.', '0', '\u{0}', ']'][random(9)]),
                2 => text.swap(at, random(seeds[0].len()).min(at)),
                _ => text.truncate(at.max(1)),
            }
            if text.is_empty() {
                text.push('{');
            }
        }
        let text: String = text.into_iter().collect();
        let Ok(filter) = Filter::parse(&text) else { continue };
        let mut asked = Asked::new(IdKind::Text);
        let Ok(sql) = condition(&filter, &mut asked) else { continue };
        read += 1;
        let sql = format!("SELECT {sql}");
        let parsed = crate::sql::parse_one(&sql);
        assert!(parsed.is_ok(), "{text}: {sql}: {parsed:?}");
    }
    assert!(read > 100, "{read} were filters");
}
