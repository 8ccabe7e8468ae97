//! What begins as a pattern says is found by an index, of every type of text and in every form of key, and what is found is what a
//! scan finds.

use crate::common::{connect, rows};
use cairndb::{Connection, Result};

/// Keys, by the type of their column.
const KEYS: [(&str, &str, &str); 8] = [
    ("text", "s", "s"),
    ("varchar(9)", "s", "s"),
    ("name", "s", "s"),
    ("text", "s", "s DESC"),
    ("text", "s", "s, id"),
    ("text", "lower(s)", "lower(s)"),
    ("beginning", "s", "s"),
    ("char(9)", "s", "s"),
];

const TEXTS: [&str; 16] = [
    "",
    "a",
    "ab",
    "ab ",
    "abc",
    "Abc",
    "abd",
    "a%",
    "a_c",
    "a\\b",
    "b",
    "a\u{e000}",
    "a\u{d7ff}",
    "a\u{10ffff}",
    "a\nb",
    "(ab)",
];

const PATTERNS: [(&str, &[&str]); 4] = [
    (
        "LIKE",
        &["", "ab", "ab%", "a\\%%", "a\\_c", "a_c", "%b", "a%c", "ab%%", "a\u{d7ff}%", "a\u{10ffff}%", "Ab%", "a\\\\%"],
    ),
    (
        "~",
        &[
            "^ab",
            "^(ab)$",
            "^ab$",
            "^a.c",
            "^a\\_",
            "^ab*",
            "^abc?",
            "^ab+$",
            "^a|b",
            "ab",
            "^\\(ab\\)$",
            "^(a|b)$",
            "(?i)^ab",
        ],
    ),
    ("^@", &["", "a", "ab", "a%", "a\u{d7ff}"]),
    ("NOT LIKE", &["ab%", "%"]),
];

fn tables() -> Result<Connection> {
    let conn = connect("CREATE DOMAIN beginning AS text CHECK (VALUE <> 'no')");
    for (at, (data_type, _, key)) in KEYS.iter().enumerate() {
        conn.execute_script(&format!(
            "CREATE TABLE t{at} (id int PRIMARY KEY, s {data_type}); INSERT INTO t{at} SELECT i, 'x' || i FROM generate_series(1, 3000) i;
             CREATE INDEX i{at} ON t{at} ({key})"
        ))?;
        for (id, text) in (5000..).zip(TEXTS) {
            conn.execute(&format!("INSERT INTO t{at} VALUES ($1, $2::text)"), (id, text))?;
        }
        conn.execute(&format!("INSERT INTO t{at} VALUES (9000, NULL)"), ())?;
        conn.execute(&format!("ANALYZE t{at}"), ())?;
    }
    Ok(conn)
}

#[test]
fn an_index_finds_what_a_pattern_matches() -> Result<()> {
    let conn = tables()?;
    let mut asked = vec![];
    for (at, (data_type, key, _)) in KEYS.iter().enumerate() {
        for (operator, patterns) in PATTERNS {
            for pattern in patterns {
                let question = format!("SELECT id, s FROM t{at} WHERE {key} {operator} '{pattern}' ORDER BY id");
                let found = rows(&conn, &question);
                let scanned = rows(
                    &conn,
                    &question.replace(" WHERE ", " WHERE (random() > 2) IS FALSE AND id + 0 > 0 AND ").replace(
                        &format!("{key} {operator}"),
                        &format!("(CASE WHEN id > 0 THEN {key} END) {operator}"),
                    ),
                );
                assert_eq!(found, scanned, "{data_type}: {question}");
                let plan = rows(&conn, &format!("EXPLAIN {question}")).join("\n");
                if plan.contains("Index Cond") {
                    asked.push((at, operator, *pattern));
                }
            }
        }
    }
    let of_text =
        asked.iter().filter(|(at, ..)| *at == 0).map(|(_, operator, pattern)| format!("{operator} {pattern}"));
    let expected = [
        "LIKE ",
        "LIKE ab",
        "LIKE ab%",
        "LIKE a\\%%",
        "LIKE a\\_c",
        "LIKE a_c",
        "LIKE a%c",
        "LIKE ab%%",
        "LIKE a\u{d7ff}%",
        "LIKE a\u{10ffff}%",
        "LIKE Ab%",
        "LIKE a\\\\%",
        "~ ^ab",
        "~ ^(ab)$",
        "~ ^ab$",
        "~ ^a.c",
        "~ ^a\\_",
        "~ ^ab*",
        "~ ^abc?",
        "~ ^ab+$",
        "~ ^\\(ab\\)$",
        "^@ a",
        "^@ ab",
        "^@ a%",
        "^@ a\u{d7ff}",
    ];
    assert_eq!(of_text.collect::<Vec<_>>(), expected);
    for (at, key) in KEYS.iter().enumerate().skip(1) {
        let count = asked.iter().filter(|(of, ..)| *of == at).count();
        // (Of `char(n)` a pattern sees blanks that its keys have not.)
        let is_padded = key.0.starts_with("char");
        assert!(if is_padded { count == 0 } else { count >= 20 }, "{key:?}: {count}");
    }
    Ok(())
}

/// A beginning that all of the pattern says leaves nothing to ask again.
#[test]
fn a_plan_says_what_of_a_pattern_its_index_answers() -> Result<()> {
    let conn = tables()?;
    let plan =
        |condition: &str| rows(&conn, &format!("EXPLAIN (COSTS off) SELECT id FROM t0 WHERE {condition}")).join("\n");
    for (condition, lines) in [
        ("s LIKE 'ab%'", "Index Cond: ((s >= 'ab'::text) AND (s < 'ac'::text))"),
        ("s ~ '^(ab)$'", "Index Cond: (s = 'ab'::text)"),
        ("starts_with(s, 'ab')", "Index Cond: ((s >= 'ab'::text) AND (s < 'ac'::text))"),
    ] {
        let plan = plan(condition);
        assert!(plan.contains(lines) && !plan.contains("Filter"), "{condition}: {plan}");
    }
    let partly = plan("s LIKE 'ab%c'");
    assert!(partly.contains("Index Cond") && partly.contains("Filter: (s ~~ 'ab%c'"), "{partly}");
    Ok(())
}
