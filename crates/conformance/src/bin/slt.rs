//! Runs logic test scripts and groups their failures by cause.
//!
//! `slt [--postgres] [--sample] [--every N] [--filter TEXT] [--without TEXT] [FILE...]`
//! `slt --record FILE...` turns bare statements into a scenario with PostgreSQL's answers, on standard output.

use std::collections::HashSet;
use std::fs;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use cairn_conformance::engine::{CairnEngine, PostgresEngine, PostgresServer};
use cairn_conformance::slt::{Dialect, FileReport, Sample, SampleFile, Selection, Summary, record, run_script};

fn label(dialect: Dialect, server: Option<&PostgresServer>) -> &'static str {
    // SQLite's suite knows no CairnDB: it is to behave as PostgreSQL.
    if dialect == Dialect::Classic || server.is_some() { "postgresql" } else { "cairndb" }
}

#[derive(Default)]
struct Arguments {
    postgres: bool,
    sample: bool,
    record: bool,
    every: usize,
    filter: String,
    without: Option<String>,
    files: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = arguments();
    let summary = if arguments.record { record_all(&arguments.files) } else { run(&arguments) };
    match summary {
        Ok(summary) => {
            eprintln!("{}{}\n{summary}", summary.per_file(), summary.categories());
            if summary.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Arguments {
    let mut arguments = Arguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--postgres" => arguments.postgres = true,
            "--sample" => arguments.sample = true,
            "--record" => arguments.record = true,
            "--every" => arguments.every = words.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            "--filter" => arguments.filter = words.next().unwrap_or_default(),
            "--without" => arguments.without = words.next(),
            _ => arguments.files.push(word),
        }
    }
    arguments
}

/// Prints the scenarios; there is nothing to sum up.
fn record_all(files: &[String]) -> Result<Summary, String> {
    let server = PostgresServer::start().map_err(|error| error.to_string())?;
    for name in files {
        let text = fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
        let engine = PostgresEngine::create_with_types(&server).map_err(|error| error.to_string())?;
        print!("{}", record(&text, &engine).map_err(|error| error.to_string())?);
    }
    Ok(Summary::default())
}

fn run(arguments: &Arguments) -> Result<Summary, String> {
    let mut files = Vec::new();
    if arguments.sample {
        let sample = Sample::read(&Sample::folder()).map_err(|error| error.to_string())?;
        files.extend(sample.ok_or("the sample is not here")?.files);
    }
    for name in &arguments.files {
        let text = fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
        files.push(SampleFile { name: name.clone(), text, known_failures: HashSet::new() });
    }
    files.retain(|file| file.name.contains(&arguments.filter));
    files.retain(|file| arguments.without.as_ref().is_none_or(|text| !file.name.contains(text)));
    let server = if arguments.postgres { Some(PostgresServer::start().map_err(|e| e.to_string())?) } else { None };
    Ok(run_all(&files, arguments.every, server.as_ref()))
}

fn run_all(files: &[SampleFile], every: usize, server: Option<&PostgresServer>) -> Summary {
    let (summary, next) = (Mutex::new(Summary::default()), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let started = Instant::now();
                    let report = run_file(file, every, server);
                    eprintln!("{:>8.1?} {}", started.elapsed(), file.name);
                    match report {
                        Ok(report) => summary.lock().unwrap_or_else(|e| e.into_inner()).add(file.name.clone(), report),
                        Err(error) => eprintln!("{}: {error}", file.name),
                    }
                }
            });
        }
    });
    summary.into_inner().unwrap_or_else(|e| e.into_inner())
}

fn run_file(file: &SampleFile, every: usize, server: Option<&PostgresServer>) -> Result<FileReport, String> {
    let dialect = if file.name.ends_with(".test") { Dialect::Classic } else { Dialect::Scenario };
    let selection = Selection { known_failures: file.known_failures.clone(), every };
    let label = label(dialect, server);
    let report = match server {
        Some(server) => {
            let engine = PostgresEngine::create(server).map_err(|error| error.to_string())?;
            run_script(&file.text, label, dialect, &selection, &engine)
        }
        None => {
            let engine = CairnEngine::create().map_err(|error| error.to_string())?;
            run_script(&file.text, label, dialect, &selection, &engine)
        }
    };
    report.map_err(|error| error.to_string())
}
