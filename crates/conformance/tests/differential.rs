//! Random statements answered as PostgreSQL and SQLite answer them.
//!
//! `CAIRN_DIFFERENTIAL=N` runs N cases instead of the ordinary number, `CAIRN_SEED=N` begins elsewhere.

use cairn_conformance::differential::{Dialect, Fresh, Rules, Totals, compare_seeds};
use cairn_conformance::engine::{CairnEngine, PostgresEngine, PostgresServer, PrintedEngine, SqliteEngine};
use cairndb::Options;

const POSTGRES_CASES: u64 = 155;
const SPILLING_CASES: u64 = 30;
const PRINTED_CASES: u64 = 30;
const SQLITE_CASES: u64 = 50;
const SHRUNK: usize = 3;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn compare(cases: u64, dialect: Dialect, rules: Rules, reference: &Fresh<'_>) -> Totals {
    let ours: Box<Fresh<'_>> = Box::new(|| Ok(Box::new(CairnEngine::create()?)));
    compare_with(&ours, cases, dialect, rules, reference)
}

fn compare_with(ours: &Fresh<'_>, cases: u64, dialect: Dialect, rules: Rules, reference: &Fresh<'_>) -> Totals {
    let first = number("CAIRN_SEED", 1);
    let seeds = first..first.saturating_add(number("CAIRN_DIFFERENTIAL", cases));
    let totals = compare_seeds(seeds, dialect, rules, reference, ours).unwrap();
    println!("{totals}");
    assert_eq!(totals.different(), 0, "{}\n{totals}", totals.explain(SHRUNK, rules, reference, ours));
    assert!(totals.accepted * 10 > totals.compared * 8, "too few statements succeed: {totals}");
    assert!(totals.undecided * 50 < totals.compared, "too many statements are undecided: {totals}");
    totals
}

#[test]
fn random_statements_answer_as_in_postgresql() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let postgres: Box<Fresh<'_>> = Box::new(|| Ok(Box::new(PostgresEngine::create_with_types(&server)?)));
    let totals = compare(POSTGRES_CASES, Dialect::Postgres, Rules { details: true }, &postgres);
    assert!(totals.compared as u64 > totals.cases as u64 * 100, "{totals}");
}

/// With memory for nothing: whatever can go to temporary files does, from its first byte.
#[test]
fn random_statements_answer_as_in_postgresql_without_memory_for_queries() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let postgres: Box<Fresh<'_>> = Box::new(|| Ok(Box::new(PostgresEngine::create_with_types(&server)?)));
    let ours: Box<Fresh<'_>> = Box::new(|| Ok(Box::new(CairnEngine::create_with(Options::default().work_mem(1))?)));
    compare_with(&ours, SPILLING_CASES, Dialect::Postgres, Rules { details: true }, &postgres);
}

/// We get what the parser prints, PostgreSQL what was written.
#[test]
fn random_statements_as_printed_answer_as_in_postgresql() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    let postgres: Box<Fresh<'_>> = Box::new(|| Ok(Box::new(PostgresEngine::create_with_types(&server)?)));
    let ours: Box<Fresh<'_>> = Box::new(|| Ok(Box::new(PrintedEngine::before(CairnEngine::create()?))));
    compare_with(&ours, PRINTED_CASES, Dialect::Postgres, Rules { details: true }, &postgres);
}

#[test]
fn random_statements_answer_as_in_sqlite_where_the_dialects_agree() {
    let sqlite: Box<Fresh<'_>> = Box::new(|| Ok(Box::new(SqliteEngine)));
    compare(SQLITE_CASES, Dialect::Sqlite, Rules { details: false }, &sqlite);
}
