//! The engine agrees with itself: see `differential::check_consistency`.
//!
//! `CAIRN_CONSISTENCY=N` checks N seeds instead of the ordinary number.

use cairn_conformance::differential::{Consistency, check_consistency};
use cairn_conformance::engine::{CairnEngine, Engine, PostgresEngine, PostgresServer};

const SEEDS: u64 = 40;

fn check(seeds: u64, fresh: impl Fn() -> Box<dyn Engine>) -> Consistency {
    let mut all = Consistency::default();
    for seed in 1..=seeds {
        let report = check_consistency(seed, fresh().as_ref()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        all.compared += report.compared;
        all.failed += report.failed;
        all.violations.extend(report.violations.into_iter().map(|text| format!("seed {seed}: {text}")));
    }
    println!("{} questions compared, {} failed with a data exception", all.compared, all.failed);
    all
}

#[test]
fn predicates_partition_rows_and_indexes_change_no_answer() {
    let seeds = std::env::var("CAIRN_CONSISTENCY").ok().and_then(|value| value.parse().ok()).unwrap_or(SEEDS);
    let all = check(seeds, || Box::new(CairnEngine::create().unwrap()));
    let shown: Vec<String> = all.violations.iter().take(5).cloned().collect();
    assert!(all.violations.is_empty(), "{} violations\n{}", all.violations.len(), shown.join("\n\n"));
    assert!(all.compared as u64 > seeds * 60, "only {} questions were compared", all.compared);
}

/// The questions themselves are right: PostgreSQL answers them consistently.
#[test]
fn the_questions_hold_in_postgresql() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    for seed in 1..=3 {
        let engine = PostgresEngine::create(&server).unwrap();
        let report = check_consistency(seed, &engine).unwrap();
        assert_eq!(report.violations, [""; 0], "seed {seed}");
        assert!(report.compared > 60, "seed {seed}");
    }
}
