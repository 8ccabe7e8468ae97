//! The engine agrees with itself, and the questions that show it are right: PostgreSQL answers them consistently.
//!
//! `CAIRN_CONSISTENCY=N` checks N seeds instead of the ordinary number, `CAIRN_SEED=N` begins elsewhere.

use std::cell::Cell;

use cairn_conformance::differential::{Consistency, check_consistency, check_forced, check_reopened};
use cairn_conformance::engine::{CairnEngine, Failure, PostgresEngine, PostgresServer};
use cairndb::Options;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// Checks this many seeds, prints how many answers were compared, and fails where any two differ or where fewer were
/// compared than `least` for each seed.
fn check(what: &str, seeds: u64, least: u64, one: impl Fn(u64) -> Result<Consistency, Failure>) {
    let (first, seeds) = (number("CAIRN_SEED", 1), number("CAIRN_CONSISTENCY", seeds));
    let mut all = Consistency::default();
    for seed in first..first.saturating_add(seeds) {
        let report = one(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        all.compared += report.compared;
        all.failed += report.failed;
        all.violations.extend(report.violations.into_iter().map(|text| format!("seed {seed}: {text}")));
    }
    println!("{what}: {} answers compared over {seeds} seeds, {} undecided", all.compared, all.failed);
    let shown: Vec<String> = all.violations.iter().take(5).cloned().collect();
    assert!(all.violations.is_empty(), "{} violations\n{}", all.violations.len(), shown.join("\n\n"));
    assert!(all.compared as u64 >= seeds * least, "only {} answers were compared", all.compared);
}

#[test]
fn predicates_partition_rows_groups_and_aggregates_and_indexes_change_no_answer() {
    check("partitions", 40, 120, |seed| check_consistency(seed, &CairnEngine::create()?));
}

#[test]
fn no_optimizer_rule_no_batch_size_and_no_spilling_changes_an_answer() {
    let spilled = Cell::new(0);
    check("settings", 40, 400, |seed| {
        let spilling = CairnEngine::create_with(Options::default().work_mem(1))?;
        let report = check_forced(seed, &CairnEngine::create()?, &spilling);
        spilled.set(spilled.get() + spilling.spilled_bytes());
        report
    });
    println!("settings: {} bytes spilled", spilled.get());
    assert!(spilled.get() > 0, "nothing spilled");
}

#[test]
fn a_transaction_sees_what_is_there_after_its_commit_and_after_reopening() {
    check("reopened", 25, 80, |seed| {
        let folder = tempfile::tempdir().unwrap();
        check_reopened(seed, || CairnEngine::open(&folder.path().join("db")))
    });
}

#[test]
fn the_questions_hold_in_postgresql() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    for seed in 1..=3 {
        let engine = PostgresEngine::create(&server).unwrap();
        let report = check_consistency(seed, &engine).unwrap();
        assert_eq!(report.violations, [""; 0], "seed {seed}");
        assert!(report.compared > 120, "seed {seed}: {}", report.compared);
    }
}
