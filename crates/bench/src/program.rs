//! From the command line to what was asked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::args::{Args, Command, CompareArgs, ReportArgs};
use crate::report::{Report, Run};
use crate::setup::Setup;
use crate::{Result, args, check, compare, count, documents, flamegraph, page, sync, table, terminal};

/// Runs the program: `name` is the words that reached it (`cairn-bench`, or `cairn bench`), `words` what follows them.
///
/// Prints to the terminal. The exit code is 0 for success, 1 where something failed, 2 for wrong usage; those of `compare`
/// are in its help.
pub fn main(name: &[&str], words: impl Iterator<Item = OsString>) -> ExitCode {
    let (outcome, failure) = match args::read(name, words) {
        Command::Run(args) => (run(*args), 1),
        Command::Report(args) => (report(&args), 1),
        Command::Compare(args) => (compare(&args), 2),
        Command::Check(args) => (check::run(&args, |args| measure(&Setup::new(args)?)).map(|()| ExitCode::SUCCESS), 1),
        Command::Count(args) => (count::run(&args), 1),
        Command::Documents(args) => (documents::run(&args).map(|()| ExitCode::SUCCESS), 1),
        Command::Sync(args) => (sync::run(&args).map(|()| ExitCode::SUCCESS), 1),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{}: {error}", name.join(" "));
        ExitCode::from(failure)
    })
}

fn run(args: Args) -> Result<ExitCode> {
    let setup = Setup::new(args)?;
    let title = format!("cairn-bench {}", setup.args.words.join(" "));
    let report = flamegraph::around(setup.args.flamegraph.as_deref(), &title, || measure(&setup))?;
    if let Some(path) = &setup.args.json {
        write(path, &report.to_lines()?)?;
    }
    if let Some(path) = &setup.args.html {
        write(path, &page::page(&report)?)?;
    }
    Ok(ExitCode::SUCCESS)
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
        let measured = (workload.run)(setup, &mut report);
        terminal::done();
        measured?;
        print!("{}", table::render(&report, workload.name));
    }
    Ok(report)
}

fn report(args: &ReportArgs) -> Result<ExitCode> {
    let report = read_all(&args.files)?;
    println!("{}", report.run().machine);
    print!("{}", table::render_all(&report));
    if let Some(path) = &args.html {
        write(path, &page::page(&report)?)?;
    }
    if let Some(path) = &args.svg {
        let rows = page::Rows::of(&report).only(&args.only);
        write(path, &page::picture(&report, &rows).ok_or("nothing in these files compares CairnDB with SQLite")?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    if old.run().machine != new.run().machine {
        println!("These are different machines: {}; {}\n", old.run().machine, new.run().machine);
    }
    let comparison = compare::compare(&old, &new);
    let limit = args.limit / 100.0;
    print!("{}", compare::render(&comparison, limit));
    let regressed = comparison.changes.iter().any(|change| change.is_regression(limit));
    Ok(if regressed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The runs of several files as one.
fn read_all(files: &[PathBuf]) -> Result<Report> {
    let mut all = Report::default();
    for file in files {
        all.merge(read(file)?);
    }
    Ok(all)
}

fn read(path: &Path) -> Result<Report> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
    Ok(Report::parse(&text).map_err(|error| named(&error))?)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()).into())
}
