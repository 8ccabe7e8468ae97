//! What PostgreSQL 15 takes and refuses, statement by statement.

use cairn_parser::{Options, ParseError, Placeholders, parse_statement, parse_statements};

fn first_error(text: &str) -> Option<Box<ParseError>> {
    parse_statements(text, Options::default()).find_map(Result::err)
}

#[test]
fn what_postgresql_takes_is_parsed() {
    for statement in include_str!("accepted.sql").lines() {
        if let Some(error) = first_error(statement) {
            panic!("{error} at byte {}\n{statement}", error.position);
        }
    }
}

/// Each statement has PostgreSQL's SQLSTATE, message and place in the line below it.
#[test]
fn what_postgresql_refuses_is_refused_with_its_words_and_place() {
    let lines: Vec<&str> = include_str!("refused.txt").lines().collect();
    for pair in lines.chunks(2) {
        let error = first_error(pair[0]).unwrap_or_else(|| panic!("accepted: {}", pair[0]));
        let told = format!("{} {} @{}", error.sqlstate, error.message, error.position + 1);
        assert_eq!(told, pair[1].trim(), "{}", pair[0]);
    }
}

#[test]
fn a_script_goes_on_behind_an_error() {
    let script = "SELECT 1; SELECT FROM WHERE 'x;'; ; SELECT 2 -- ;\n;; SELECT 3 4; SELECT 5";
    let told: Vec<_> = parse_statements(script, Options::default()).map(|parsed| parsed.is_ok()).collect();
    assert_eq!(told, [true, false, true, false, true]);
}

#[test]
fn spans_count_in_the_whole_script() {
    let script = "SELECT 1; SELECT (a + b) * c FROM t";
    let last = parse_statements(script, Options::default()).last().expect("a statement").expect("it parses");
    assert_eq!(last.tree.written(last.statement), "SELECT (a + b) * c FROM t");
}

/// Printing loses nothing, and prints what was printed the same way.
#[test]
fn what_is_printed_parses_to_the_same_tree() {
    for statement in include_str!("accepted.sql").lines() {
        for parsed in parse_statements(statement, Options::default()) {
            let parsed = parsed.expect("accepted");
            let printed = parsed.tree.print(parsed.statement);
            let again = parse_statements(&printed, Options::default()).next().expect("a statement");
            let again = again.unwrap_or_else(|error| panic!("{error}\n{statement}\n{printed}"));
            let roots = (parsed.tree.reference(parsed.statement), again.tree.reference(again.statement));
            assert!(parsed.tree.same(roots.0, &again.tree, roots.1), "{statement}\n{printed}");
            assert_eq!(again.tree.print(again.statement), printed, "{statement}");
        }
    }
}

#[test]
fn parameters_are_numbered_in_one_way() {
    let placeholders = Placeholders { question_marks: true, names: true };
    let options = Options { placeholders, ..Options::default() };
    let told = |text: &str| match parse_statement(text, options) {
        Ok(parsed) => parsed.map(|parsed| parsed.tree.parameters().to_string()).unwrap_or_default(),
        Err(error) => format!("{} @{}", error.sqlstate, error.position + 1),
    };
    for (text, outcome) in [
        ("SELECT $2, $1, '?', \"?\" -- ?", "2"),
        ("SELECT ?, ? + ?", "3"),
        ("SELECT :a, :b + :a", "2"),
        ("SELECT $1, ?", "42601 @12"),
        ("SELECT ?, $1", "42601 @11"),
        ("SELECT :a, $1", "42601 @12"),
        ("SELECT $1, :a", "42601 @12"),
        ("SELECT ?, :a", "42601 @11"),
        ("SELECT :a, ?", "42601 @12"),
        ("SELECT $0", "42P02 @8"),
        ("SELECT $65535", "65535"),
        ("SELECT $65536", "42P02 @8"),
        ("SELECT $99999999999", "42P02 @8"),
    ] {
        assert_eq!(told(text), outcome, "{text}");
    }
}
