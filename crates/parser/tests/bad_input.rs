//! Texts that are meant to hurt: an error with its place, in linear time, on a small stack.

use std::thread;
use std::time::{Duration, Instant};

use cairn_parser::{Options, ParseError, parse_statements};

/// Parses in a thread whose stack is small, and tells what was wrong first.
fn on_a_small_stack(text: String) -> Option<Box<ParseError>> {
    let parse = move || parse_statements(&text, Options::default()).find_map(Result::err);
    thread::Builder::new().stack_size(128 << 10).spawn(parse).expect("a thread").join().expect("no panic")
}

fn nested(open: &str, middle: &str, close: &str, depth: usize) -> String {
    format!("SELECT {}{middle}{}", open.repeat(depth), close.repeat(depth))
}

/// What may hold itself, by its beginning and its end.
const NESTS: &[(&str, &str, &str)] = &[
    ("(", "1", ")"),
    ("(SELECT ", "1", ")"),
    ("((SELECT ", "1", "))"),
    ("ARRAY(SELECT ", "1", ")"),
    ("EXISTS (SELECT ", "1", ")"),
    ("1 IN (SELECT ", "1", ")"),
    ("1 = ANY (SELECT ", "1", ")"),
    ("* FROM (SELECT ", "1", ") x"),
    ("* FROM a JOIN (b JOIN (SELECT ", "1", ") c ON x) ON y"),
    ("1 UNION (SELECT ", "1", ")"),
    ("CASE WHEN a THEN ", "1", " END"),
    ("CASE WHEN ", "1", " THEN 2 END"),
    ("f(a, ", "1", ")"),
    ("coalesce(", "1", ")"),
    ("CAST(", "1", " AS int)"),
    ("trim(", "1", ")"),
    ("substring(a, ", "1", ")"),
    ("extract(year FROM ", "1", ")"),
    ("xmlforest(", "1", ")"),
    ("ARRAY[", "1", "]"),
    ("ROW(", "1", ")"),
    ("a[", "1", "]"),
    ("(a, ", "1", ")"),
    ("1 IN (", "1", ")"),
    ("1 = ANY (", "1", ")"),
    ("NOT ", "1", ""),
    ("- ", "1", ""),
    ("@ ", "1", ""),
    ("1 + (", "1", ")"),
    ("1::numeric(", "1", ")"),
    ("f(a ORDER BY ", "1", ")"),
    ("f(a) FILTER (WHERE ", "1", ")"),
    ("f(a) OVER (ORDER BY ", "1", ")"),
    ("a BETWEEN (", "1", ") AND 2"),
    ("1 GROUP BY GROUPING SETS (", "a", ")"),
    ("(WITH x AS (SELECT ", "1", ") SELECT 1)"),
];

#[test]
fn nesting_without_end_is_refused_with_its_place() {
    for (open, middle, close) in NESTS {
        let text = nested(open, middle, close, 100_000);
        let error = on_a_small_stack(text).unwrap_or_else(|| panic!("accepted: {open}"));
        assert_eq!(error.sqlstate, if open.starts_with("1 GROUP") { "42601" } else { "54001" }, "{open}: {error}");
        assert!(error.position > 0, "{open}");
    }
}

#[test]
fn what_people_nest_is_read_on_a_small_stack() {
    for (open, middle, close) in NESTS {
        for depth in [1, 10, 25] {
            let text = nested(open, middle, close, depth);
            let refused = on_a_small_stack(text);
            let once = open.starts_with("1 GROUP") && depth > 1;
            assert!(refused.is_none() || once, "{depth} times {open}: {}", refused.expect("an error"));
        }
    }
}

#[test]
fn unclosed_nesting_is_refused_on_a_small_stack() {
    for (open, ..) in NESTS {
        for depth in [10, 60, 100_000] {
            assert!(on_a_small_stack(nested(open, "", "", depth)).is_some(), "{depth} times {open}");
        }
    }
}

#[test]
fn operators_without_end_are_refused_and_lists_are_not() {
    for operator in [" + ", " || ", " * ", "::int + ", " COLLATE x + ", " AT TIME ZONE "] {
        let error = on_a_small_stack(format!("SELECT {}1", format!("a{operator}").repeat(100_000)));
        assert_eq!(error.expect("too deep").sqlstate, "54001", "{operator}");
    }
    for operator in [" AND ", " OR ", ", "] {
        assert_eq!(on_a_small_stack(format!("SELECT {}1", format!("a{operator}").repeat(100_000))), None);
    }
}

#[test]
fn time_is_linear_in_the_text() {
    let texts = [
        ("SELECT '", "a"),
        ("SELECT E'", "\\n"),
        ("SELECT \"", "a"),
        ("SELECT $$", "$a"),
        ("SELECT $a$", "$a"),
        ("SELECT /*", "/*"),
        ("SELECT ", "--\n"),
        ("SELECT ", "+"),
        ("SELECT ", "@-"),
        ("SELECT ", "U&'a' "),
        ("SELECT 'a'\n", "'b'\n"),
        ("SELECT ", ";"),
        ("SELECT ", "1;2 "),
        ("VALUES (1)", ",(1)"),
        ("SELECT 1", "e1"),
        ("SELECT * FROM a", " JOIN b"),
        ("SELECT * FROM ", "("),
        ("(", "("),
        ("CREATE TABLE t (a int", ", a int DEFAULT 1"),
        ("CREATE TABLE t (a int DEFAULT ", "("),
        ("ALTER TABLE t ADD a int", ", ADD a int"),
        ("DROP TABLE a", ", a"),
        ("GRANT SELECT ON t TO a", ", a"),
        ("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC ", "SELECT 1; "),
        ("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC ", "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC "),
        ("CREATE RULE r AS ON INSERT TO t DO (", "INSERT INTO t VALUES (1);"),
        ("CREATE SCHEMA s ", "CREATE TABLE t (a int) "),
        ("CREATE TYPE e AS ENUM ('a'", ", 'a'"),
        ("", "EXPLAIN "),
        ("", "PREPARE p AS "),
        ("SET a TO b", ", b"),
        ("COPY t (a", ", a"),
    ];
    for (head, piece) in texts {
        let start = Instant::now();
        on_a_small_stack(format!("{head}{}", piece.repeat(100_000)));
        // Seconds would be minutes if any of these took quadratic time.
        assert!(start.elapsed() < Duration::from_secs(10), "{head}{piece}... took {:?}", start.elapsed());
    }
}

/// As much as is taken at all, at the speed of a few hundred thousand bytes.
#[test]
fn sixty_four_mebibytes_are_read_or_refused_in_linear_time() {
    const LENGTH: usize = 64 << 20;
    for (head, piece, tail) in [
        ("SELECT '", "abcdefgh", "'"),
        ("SELECT '", "abcdefgh", ""),
        ("SELECT /*", " abc */ /*", "*/ 1"),
        ("SELECT $$", "abc $ def ", "$$"),
        ("INSERT INTO t VALUES (1)", ", (1, 'a text', NULL, 2.5, '2026-01-01')", ""),
        ("", "SELECT a FROM t WHERE id = 7; ", ""),
        ("", ";", ""),
        ("SELECT ", "(", ""),
        ("SELECT 1", " + 1", ""),
    ] {
        let pieces = (LENGTH - head.len() - tail.len()) / piece.len();
        let text = format!("{head}{}{tail}", piece.repeat(pieces));
        let start = Instant::now();
        let error = on_a_small_stack(text);
        // At a hundredth of the speed that constants are read with; a quadratic way would take hours.
        assert!(start.elapsed() < Duration::from_secs(60), "{head}{piece}... took {:?}", start.elapsed());
        assert!(error.is_none_or(|error| error.position > 0), "{head}{piece}");
    }
}

#[test]
fn odd_bytes_are_errors_with_a_place() {
    let cases = [
        ("SELECT \0", 7, "42601"),
        ("SELECT 'ab' \0", 12, "42601"),
        ("SELECT 'a\0b'", 7, "22021"),
        ("SELECT 'a'\n'b\0'", 7, "22021"),
        ("SELECT 'a''\0b', 'c'", 7, "22021"),
        ("SELECT E'\\n\0'", 7, "22021"),
        ("SELECT U&'\0'", 7, "22021"),
        ("SELECT $x$a\0b$x$", 7, "22021"),
        ("SELECT 1 AS \"a\0b\"", 12, "22021"),
        ("SELECT E'\\ud83d'", 15, "42601"),
        ("SELECT E'\\udc00'", 9, "42601"),
        ("SELECT E'\\xff'", 7, "22021"),
        ("SELECT E'\\0'", 7, "22021"),
        ("SELECT U&'\\d83d'", 15, "42601"),
        ("SELECT \\", 7, "42601"),
    ];
    for (text, position, sqlstate) in cases {
        let error = on_a_small_stack(text.to_owned()).unwrap_or_else(|| panic!("accepted: {text}"));
        assert_eq!((error.position, error.sqlstate), (position, sqlstate), "{text:?}: {error}");
    }
}

#[test]
fn statements_cut_anywhere_do_no_harm() {
    for statement in include_str!("accepted.sql").lines() {
        for (end, _) in statement.char_indices() {
            let error = parse_statements(&statement[..end], Options::default()).find_map(Result::err);
            assert!(error.is_none_or(|error| error.position as usize <= end), "{}", &statement[..end]);
        }
    }
}

#[test]
fn a_text_that_is_too_long_is_refused_at_once() {
    let options = Options { text_bytes_max: 10, ..Options::default() };
    let errors: Vec<_> = parse_statements("SELECT 1234567", options).collect();
    assert!(matches!(errors.as_slice(), [Err(error)] if error.sqlstate == "54000"));
}

#[test]
fn rows_of_constants_take_at_most_twelve_bytes_for_a_byte() {
    for row in ["(1,2,'a')", "(1)", "(1,2,3,4,5,6)", "(NULL,1)", "('a','b')"] {
        let text = format!("INSERT INTO t VALUES {}", vec![row; 20_000].join(","));
        let parsed = parse_statements(&text, Options::default()).next().expect("a statement").expect("it parses");
        assert!(parsed.tree.bytes() <= 12 * text.len(), "{row}: {} for {}", parsed.tree.bytes(), text.len());
    }
}
