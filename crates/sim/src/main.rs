//! `cairn-sim`: runs seeds for some minutes, or one seed again.
//!
//! ```text
//! cargo run --release -p cairn-sim -- --minutes 10 [--steps 2000] [--first SEED] [--threads 2]
//! cargo run --release -p cairn-sim -- --seed S [--steps 2000]
//! ```

use std::process::ExitCode;
use std::time::{Duration, Instant};

use cairn_sim::fleet::{Fleet, Tally, any};
use cairn_sim::run::simulate;
use cairn_sim::shape::Shape;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| -> Option<u64> {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse().ok()
    };
    let steps = value("--steps").unwrap_or(2000);
    if let Some(seed) = value("--seed") {
        return replay(seed, steps);
    }
    if let Some(seeds) = value("--seeds") {
        let first = value("--first").unwrap_or(1);
        let fleet = Fleet { first, steps, threads: value("--threads").unwrap_or(2), broken: None, only: any };
        return report(&fleet.run(|begun, _| begun < seeds));
    }
    let Some(minutes) = value("--minutes") else {
        eprintln!("cairn-sim --minutes N | --seeds N | --seed S  [--steps N] [--first SEED] [--threads N]");
        return ExitCode::FAILURE;
    };
    let until = Instant::now() + Duration::from_secs(60 * minutes);
    let fleet = Fleet {
        first: value("--first").unwrap_or(1),
        steps,
        threads: value("--threads").unwrap_or(2),
        broken: None,
        only: any,
    };
    report(&fleet.run(|_, _| Instant::now() < until))
}

fn replay(seed: u64, steps: u64) -> ExitCode {
    let (ran, did) = simulate(seed, steps);
    println!(
        "seed {seed}: {:?}\n{did:?}\n{} steps, {} switches, {:?}, trace {:016x}",
        Shape::of(seed),
        ran.steps,
        ran.switches,
        ran.time,
        ran.trace
    );
    match ran.failure {
        None => ExitCode::SUCCESS,
        Some(failure) => {
            println!("VIOLATION: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn report(tally: &Tally) -> ExitCode {
    println!("{tally}");
    for (seed, failure) in &tally.failures {
        println!("VIOLATION, seed {seed}: {failure}\n  again: cairn-sim --seed {seed}");
    }
    if tally.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
