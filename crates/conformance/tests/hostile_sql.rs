//! No text makes the engine panic, overflow the stack or hang: it answers, or says what is wrong.

use std::time::{Duration, Instant};

use cairn_conformance::differential::{Case, Dialect, Random};
use cairn_conformance::engine::{CairnEngine, Engine, Session};

/// Far more than any of these needs, and far less than exponential time.
const PATIENCE: Duration = Duration::from_secs(20);

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("SELECT {}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// Runs a statement on a thread with the small stack that user threads have.
fn survives(sql: String) {
    let shown: String = sql.chars().take(60).collect();
    // What a stack overflow leaves no chance to say.
    println!("{shown} ({} bytes)", sql.len());
    let started = Instant::now();
    let run = move || {
        let engine = CairnEngine::create().unwrap();
        let mut session = engine.session().unwrap();
        session.run("CREATE TABLE t (a integer, b text)").unwrap();
        session.run(&sql).map(|answer| answer.rows.len())
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap();
    let outcome = thread.join().unwrap_or_else(|_| panic!("panicked: {shown}"));
    assert!(started.elapsed() < PATIENCE, "{:?} for {shown}: {outcome:?}", started.elapsed());
    if let Err(failure) = outcome {
        assert_ne!(failure.sqlstate, "XX000", "{shown}: {failure}");
    }
}

#[test]
fn absurd_nesting_is_refused() {
    for depth in [30, 300, 100_000] {
        for (open, inner, close) in [
            ("(", "1", ")"),
            ("((SELECT ", "1", "))"),
            ("NOT ", "true", ""),
            ("- ", "1", ""),
            ("abs(", "1", ")"),
            ("CASE WHEN true THEN ", "1", " END"),
            ("CASE ", "1", " WHEN 1 THEN 1 END"),
            ("CAST(", "1", " AS integer)"),
            ("(1, ", "1", ")"),
            ("EXISTS (SELECT ", "1", ")"),
            ("1 IN (", "1", ")"),
            ("coalesce(1, ", "1", ")"),
            ("[", "1", "]"),
            ("a[", "1", "]"),
            ("{", "1", "}"),
            ("ARRAY[", "1", "]"),
            ("/*", "1", "*/"),
            ("1 + (SELECT 1 WHERE ", "true", ")"),
            ("* FROM (SELECT ", "1", ") x"),
            ("1 FROM (", "t", ")"),
            ("1 FROM (t JOIN ", "t", " ON true)"),
            ("(VALUES (", "1", "))"),
        ] {
            survives(nested(open, inner, close, depth));
        }
    }
}

#[test]
fn absurdly_long_chains_answer_or_are_refused() {
    for length in [100, 30_000] {
        for link in
            [" + 1", " AND true", " OR false", " || 'a'", " = 1", " IS NULL", "::integer", ", 1", " UNION ALL SELECT 1"]
        {
            survives(format!("SELECT 1{}", link.repeat(length)));
        }
        survives(format!("SELECT 1 IN (1{})", ", 1".repeat(length)));
        survives(format!("SELECT true{}", " AND true".repeat(length)));
        survives(format!("SELECT false{}", " OR false".repeat(length)));
        survives(format!("SELECT 'a'{}", " || 'a'".repeat(length)));
        survives(format!("VALUES (1){}", ", (1)".repeat(length)));
        survives(format!("SELECT * FROM t{} LIMIT 1", ", t".repeat(length)));
        survives(format!("SELECT {} FROM t", vec!["a"; length].join(", ")));
        survives(format!("SELECT a FROM t ORDER BY {}", vec!["a"; length].join(", ")));
        survives(format!("SELECT 1{}", " -- x\n".repeat(length)));
        survives(format!("SELECT '{}'", "''".repeat(length)));
        survives(";".repeat(length));
        let expressions: Vec<String> = (0..length).map(|i| format!("w{i} AS (SELECT 1)")).collect();
        survives(format!("WITH {} SELECT 1", expressions.join(", ")));
    }
}

#[test]
fn odd_texts_answer_or_are_refused() {
    for sql in [
        "",
        ";",
        "'",
        "\"",
        "$$",
        "$a$ x",
        "/*",
        "--",
        "\0",
        "SELECT \u{1f980}",
        "SELECT '\u{1f980}",
        "SELECT 1e999999999",
        "SELECT 1e99999",
        "SELECT 99999999999999999999999999999999999999999999::numeric",
        "SELECT E'\\x'",
        "SELECT U&'\\d800'",
        "SELECT '99999999999999 years'::interval",
        "SELECT DATE '99999999999-01-01'",
        "SELECT repeat('a', 2147483647)",
        "SELECT lpad('a', 2147483647)",
        "SELECT 10::numeric ^ 100000",
        "SELECT power(10::numeric, 1000000)",
        "SELECT round(1.5, 2147483647)",
        "SELECT round(1.5, -2147483648)",
        "SELECT substr('abc', 2147483647, 2147483647)",
        "SELECT substr('abc', -2147483648, 2147483647)",
        "SELECT left('abc', -2147483648)",
        "SELECT right('abc', -2147483648)",
        "SELECT split_part('a', 'a', -2147483648)",
        "SELECT 1 << 2147483647",
        "SELECT (-9223372036854775808) / (-1)",
        "SELECT (-9223372036854775808) % (-1)",
        "SELECT INTERVAL '1 day' * 1e300",
        "SELECT INTERVAL '1 day' / 0",
        "SELECT DATE '2024-01-01' + 2147483647",
        "SELECT DATE '2024-01-01' - 2147483647",
        "SELECT INTERVAL '178956970 years'",
        "SELECT TIMESTAMP '294276-12-31' + INTERVAL '1 year'",
        "SELECT make_date(2147483647, 1, 1)",
        "SELECT chr(-1)",
        "SELECT 'a' LIKE '\\'",
        "SELECT 'a' LIKE '%\\'",
        "SELECT 'x' LIKE repeat('%x', 1000)",
        "SELECT repeat('x', 5000) LIKE repeat('%x', 2000) || 'y'",
        "SELECT to_char(1, repeat('9', 100000))",
        "SELECT * FROM generate_series(1, 9223372036854775807) LIMIT 1",
        "CREATE TABLE x (a numeric(2000, 3000))",
        "CREATE TABLE x (a varchar(0))",
        "CREATE TABLE x (a char(2147483647))",
        "SELECT a FROM t LIMIT 99999999999999999999",
        "SELECT a FROM t LIMIT 9223372036854775807 OFFSET 9223372036854775807",
        "SELECT $99999999999",
        "SELECT ?",
    ] {
        survives(sql.to_owned());
    }
}

/// Statements of the generator with tokens dropped, doubled and exchanged.
#[test]
fn mutilated_statements_answer_or_are_refused() {
    let mut random = Random::new(99);
    for seed in 1..=12 {
        let case = Case::generate(seed, Dialect::Postgres);
        let engine = CairnEngine::create().unwrap();
        let mut session = engine.session().unwrap();
        for step in &case.steps {
            let _ = session.run(&step.sql);
            run_mutilated(&mut random, session.as_mut(), &step.sql);
        }
    }
}

fn run_mutilated(random: &mut Random, session: &mut dyn Session, sql: &str) {
    let mut tokens: Vec<&str> = sql.split_inclusive([' ', '(', ')', ',']).collect();
    for _ in 0..=random.below(2) {
        let (at, other) = (random.below(tokens.len()), random.below(tokens.len()));
        match random.below(3) {
            0 if tokens.len() > 1 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[other]),
            _ => tokens.swap(at, other),
        }
    }
    let text = tokens.concat();
    if let Err(failure) = session.run(&text) {
        assert_ne!(failure.sqlstate, "XX000", "{text}: {failure}");
    }
}
