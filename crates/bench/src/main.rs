//! `cairn-bench`: CairnDB beside the embedded databases that people would pick instead, in one run on their machine.
//!
//! ```text
//! args --> setup (engines, media) --> workload::<name> --> report (table, JSON lines)
//!                                       rounds: engine, engine, ..., floor; engine, engine, ..., floor; ...
//! ```
//!
//! What must hold:
//! - Every engine of a comparison acknowledges with the same durability, and its setting is printed.
//! - Engines take turns round by round, so that a machine whose speed drifts treats all alike; ratios are taken within
//!   a round, and the medians of rounds are reported with their spread.
//! - The medium's floor is measured in the same rounds.
//! - CairnDB is used through its public SQL API, as any program would.

mod args;
mod engine;
mod floor;
mod json;
mod keys;
mod latency;
mod machine;
mod report;
mod rows;
mod setup;
mod table;
mod workload;

use std::process::ExitCode;

/// Whatever an engine, a file or the command line says went wrong.
type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T, E = Error> = std::result::Result<T, E>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cairn-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let Some(args) = args::Args::parse(std::env::args().skip(1))? else {
        print!("{}", args::usage());
        return Ok(());
    };
    let setup = setup::Setup::new(args)?;
    let mut report = report::Report::new(machine::describe());
    println!("{}", report.machine());
    for workload in setup.args.workloads() {
        println!("\n== {}: {}", workload.name, workload.about);
        (workload.run)(&setup, &mut report)?;
        print!("{}", table::render(&report, workload.name));
    }
    match &setup.args.json {
        Some(path) => Ok(std::fs::write(path, json::lines(&report))?),
        None => Ok(()),
    }
}
