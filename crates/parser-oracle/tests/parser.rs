//! Our parser takes and refuses what PostgreSQL's grammar does, with its words and places. What it prints is taken by
//! PostgreSQL too, and parses to the same tree.

use std::io::Write;

use cairn_parser::token::{KEYWORDS, KeywordClass, split_statements};
use cairn_parser::{Options, parse_statements};
use cairn_parser_oracle::compare::Comparison;
use cairn_parser_oracle::derive::Derivation;
use cairn_parser_oracle::grammar_file::GrammarFile;
use cairn_parser_oracle::mutate::{Random, joined, mutated};
use cairn_parser_oracle::{Grammar, ours, statements};

/// Statements made in an ordinary run, half of them spoiled.
const MADE: usize = 200_000;
const AT_ONCE: usize = 2_000;

fn tell(what: &str, told: impl std::fmt::Display) {
    // Not by a macro, whose output is shown of failed tests only.
    let _ = writeln!(std::io::stderr(), "{what}: {told}");
}

fn our_grammar() -> GrammarFile {
    let class = |class: KeywordClass| match class {
        KeywordClass::Unreserved => "unreserved_keyword",
        KeywordClass::ColumnName => "column_keyword",
        KeywordClass::TypeFunctionName => "type_keyword",
        KeywordClass::Reserved => "reserved",
    };
    let keywords = KEYWORDS.iter().map(|keyword| (class(keyword.class), keyword.name));
    let bare = KEYWORDS.iter().filter(|keyword| keyword.bare_label).map(|keyword| ("bare_keyword", keyword.name));
    ours::grammar(include_str!("../../parser/src/utility/commands.grammar"), keywords.chain(bare))
}

fn compare_made(file: &GrammarFile, start: &str, seed: u64) -> Option<(Comparison, Vec<String>)> {
    let mut grammar = Grammar::start_for_test()?;
    let number = |variable: &str| std::env::var(variable).ok()?.parse().ok();
    let made = number("CAIRN_GRAMMAR_STATEMENTS").map_or(MADE, |number| number as usize);
    let seed = number("CAIRN_SEED").unwrap_or(seed);
    let start = file.find(start).expect("the rule");
    let (mut derivation, mut random) = (Derivation::new(file, seed), Random::new(seed));
    let mut comparison = Comparison::default();
    for _ in 0..made / AT_ONCE {
        let texts: Vec<String> = (0..AT_ONCE)
            .map(|number| {
                let tokens = derivation.tokens(start);
                if number % 2 == 0 { joined(&tokens, &mut random) } else { mutated(&tokens, &mut random) }
            })
            .collect();
        comparison.add(&mut grammar, &texts).expect("PostgreSQL answers");
        let printed: Vec<String> = texts.iter().flat_map(|text| check_printed(text)).step_by(4).collect();
        comparison.add(&mut grammar, &printed).expect("PostgreSQL answers");
    }
    Some((comparison, derivation.never_taken()))
}

/// What is taken prints to what parses to the same tree, and prints the same again. Returns what was printed.
fn check_printed(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for parsed in parse_statements(text, Options::default()).map_while(Result::ok) {
        let printed = parsed.tree.print(parsed.statement);
        let again = match parse_statements(&printed, Options::default()).next() {
            Some(Ok(again)) => again,
            other => panic!("{:?}\n{text}\n{printed}", other.map(|parsed| parsed.map(|_| ()))),
        };
        let roots = (parsed.tree.reference(parsed.statement), again.tree.reference(again.statement));
        assert!(parsed.tree.same(roots.0, &again.tree, roots.1), "another tree\n{text}\n{printed}");
        assert_eq!(again.tree.print(again.statement), printed, "{text}");
        all.push(printed);
    }
    all
}

#[test]
fn statements_made_from_the_grammar_and_spoiled_are_judged_alike() {
    let file = our_grammar();
    let Some((comparison, never)) = compare_made(&file, ours::STATEMENT, 1) else { return };
    tell("made from our grammar", &comparison);
    assert_eq!(comparison.verdicts.count, 0, "{comparison}");
    // Not all places of spoiled statements are PostgreSQL's yet: at most one in 500 is another.
    assert!(comparison.messages.count * 500 <= comparison.compared, "{comparison}");
    if comparison.compared >= 200_000 {
        assert_eq!(never, Vec::<String>::new(), "alternatives that no statement was made of");
    }
}

#[test]
fn statements_of_the_repository_are_judged_alike() {
    let Some(mut grammar) = Grammar::start_for_test() else { return };
    let texts: Vec<String> = statements::of_the_repository().into_iter().collect();
    assert!(texts.len() > 1_000, "the repository's statements were not found");
    let mut comparison = Comparison::default();
    comparison.add(&mut grammar, &texts).expect("PostgreSQL answers");
    let printed: Vec<String> = texts.iter().flat_map(|text| check_printed(text)).collect();
    comparison.add(&mut grammar, &printed).expect("PostgreSQL answers");
    tell("of the repository", &comparison);
    assert_eq!((comparison.verdicts.count, comparison.messages.count), (0, 0), "{comparison}");
}

#[test]
fn a_share_of_sqlites_logic_tests_is_judged_alike() {
    let texts: Vec<String> = statements::of_the_sample().expect("readable").into_iter().step_by(20).collect();
    if texts.is_empty() {
        return tell("LEFT OUT", "the sample of SQLite's logic tests is not here");
    }
    let Some(mut grammar) = Grammar::start_for_test() else { return };
    let mut comparison = Comparison::default();
    comparison.add(&mut grammar, &texts).expect("PostgreSQL answers");
    let printed: Vec<String> = texts.iter().step_by(10).flat_map(|text| check_printed(text)).collect();
    comparison.add(&mut grammar, &printed).expect("PostgreSQL answers");
    tell("of SQLite's logic tests", &comparison);
    assert_eq!((comparison.verdicts.count, comparison.messages.count), (0, 0), "{comparison}");
}

/// PostgreSQL's own grammar and regression scripts, where `CAIRN_POSTGRESQL_SOURCE` is the folder of its source.
#[test]
fn postgresqls_sources_are_judged_alike() {
    let Some(folder) = std::env::var_os("CAIRN_POSTGRESQL_SOURCE").map(std::path::PathBuf::from) else {
        return tell("LEFT OUT", "PostgreSQL's grammar and scripts: CAIRN_POSTGRESQL_SOURCE is not set");
    };
    let file = std::fs::read_to_string(folder.join("src/backend/parser/gram.y")).expect("PostgreSQL's grammar");
    let Some((comparison, _)) = compare_made(&GrammarFile::parse(&file), "stmt", 1) else { return };
    tell("made from PostgreSQL's grammar", &comparison);
    let Some(mut grammar) = Grammar::start_for_test() else { return };
    let mut scripts = Comparison::default();
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("src/test/regress/sql")).expect("scripts").flatten().collect();
    files.sort_by_key(std::fs::DirEntry::path);
    for file in files {
        let script = std::fs::read(file.path()).expect("readable");
        let texts = script_statements(&String::from_utf8_lossy(&script));
        scripts.add(&mut grammar, &texts).expect("PostgreSQL answers");
        let printed: Vec<String> = texts.iter().flat_map(|text| check_printed(text)).collect();
        scripts.add(&mut grammar, &printed).expect("PostgreSQL answers");
    }
    tell("of PostgreSQL's scripts", &scripts);
    assert_eq!((scripts.verdicts.count, scripts.messages.count), (0, 0), "{scripts}");
    assert_eq!(comparison.verdicts.count, 0, "{comparison}");
}

/// A script's statements without what is psql's: its commands, the rows of COPY, statements with its variables.
fn script_statements(script: &str) -> Vec<String> {
    let mut sql = String::new();
    let mut rows = false;
    for line in script.lines() {
        let command = line.find('\\').filter(|at| !line[..*at].contains(['\'', '-']));
        match (rows, command) {
            (true, _) => rows = line != "\\.",
            (false, Some(at)) => sql.push_str(&format!("{};\n", &line[..at])),
            (false, None) => {
                sql.push_str(line);
                sql.push('\n');
                let lower = line.to_ascii_lowercase();
                rows = lower.starts_with("copy ") && lower.contains("from stdin") && lower.trim_end().ends_with(';');
            }
        }
    }
    let has_variable = |text: &str| {
        let mut previous = ' ';
        text.chars().zip(text.chars().skip(1)).any(|(colon, next)| {
            let is =
                colon == ':' && previous != ':' && (next.is_ascii_alphabetic() || matches!(next, '\'' | '"' | '_'));
            previous = colon;
            is
        })
    };
    split_statements(&sql).map(|statement| statement.text.to_owned()).filter(|text| !has_variable(text)).collect()
}
