//! The simulation's ordinary share of seeds, and that a seed replays exactly.

use cairn_sim::fleet::{Fleet, any};
use cairn_sim::run::simulate;

/// Seeds tried, and the steps that each takes at least.
const SEEDS: u64 = 1500;
const STEPS: u64 = 2000;

fn asked(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 1..9 {
        let (first, did) = simulate(seed, STEPS);
        let (again, did_again) = simulate(seed, STEPS);
        assert_eq!(first.failure, None, "seed {seed}");
        assert_eq!((first, did), (again, did_again), "seed {seed}");
    }
    assert_ne!(simulate(1, STEPS).0.trace, simulate(2, STEPS).0.trace);
}

#[test]
fn no_seed_violates_anything() {
    let (first, seeds) = (asked("CAIRN_SIM_FIRST", 1), asked("CAIRN_SIM_SEEDS", SEEDS));
    let fleet = Fleet { first, steps: STEPS, threads: 2, broken: None, only: any };
    let tally = fleet.run(|begun, failed| begun < seeds && failed < 5);
    println!("{tally}");
    assert_eq!(tally.failures, [], "again: cargo run -p cairn-sim -- --seed S");
    assert!(tally.steps_min >= STEPS);
    assert!(tally.crossed > seeds / 20, "too few runs reach the limits");
}
