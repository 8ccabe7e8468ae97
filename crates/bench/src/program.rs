//! From the command line to what was asked for.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::report::{Report, Run};
use crate::setup::Setup;
use crate::{Result, args, table, terminal};

/// Runs the program: `name` is the words that reached it (`cairn-bench`, or `cairn bench`), `words` what follows them.
///
/// Prints to the terminal. The exit code is 0 for success, 1 where something failed, 2 for wrong usage.
pub fn main(name: &[&str], words: impl Iterator<Item = OsString>) -> ExitCode {
    let outcome = match args::read(name, words) {
        Command::Run(args) => run(args).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{}: {error}", name.join(" "));
        ExitCode::FAILURE
    })
}

fn run(args: Args) -> Result<()> {
    let setup = Setup::new(args)?;
    let report = measure(&setup)?;
    match &setup.args.json {
        Some(path) => write(path, &report.to_lines()?),
        None => Ok(()),
    }
}

/// Runs the workloads, each followed by its table.
fn measure(setup: &Setup) -> Result<Report> {
    let mut report = Report::new(Run::here(setup.args.words.clone()));
    println!("{}", report.run().machine);
    for medium in setup.media() {
        report.setting(medium.name, medium.filesystem());
    }
    for workload in setup.args.workloads() {
        println!("\n== {}: {}", workload.name, workload.about);
        (workload.run)(setup, &mut report)?;
        terminal::done();
        print!("{}", table::render(&report, workload.name));
    }
    Ok(report)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()).into())
}
