//! Compares CairnDB with PostgreSQL or SQLite on random statements and groups the differences by kind.
//!
//! `differential [--seed N] [--cases N] [--shrink N] [--sqlite] [--self]`; `--self` puts PostgreSQL in CairnDB's place.

use std::process::ExitCode;

use cairn_conformance::differential::{Case, Dialect, Fresh, Rules, compare_seeds};
use cairn_conformance::engine::{CairnEngine, PostgresEngine, PostgresServer, SqliteEngine};

#[derive(Default)]
struct Arguments {
    seed: u64,
    cases: u64,
    shrink: u64,
    itself: bool,
    sqlite: bool,
    list: bool,
}

fn main() -> ExitCode {
    match run(&arguments()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Arguments {
    let mut arguments = Arguments { seed: 1, cases: 50, ..Arguments::default() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
        match word.as_str() {
            "--seed" => arguments.seed = number(),
            "--cases" => arguments.cases = number(),
            "--shrink" => arguments.shrink = number(),
            "--self" => arguments.itself = true,
            "--sqlite" => arguments.sqlite = true,
            "--list" => arguments.list = true,
            other => eprintln!("ignored: {other}"),
        }
    }
    arguments
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let dialect = if arguments.sqlite { Dialect::Sqlite } else { Dialect::Postgres };
    if arguments.list {
        Case::generate(arguments.seed, dialect).steps.iter().for_each(|step| println!("{}", step.shown()));
        return Ok(true);
    }
    let server = PostgresServer::start().map_err(|error| error.to_string())?;
    let postgres: Box<Fresh<'_>> = Box::new(|| Ok(Box::new(PostgresEngine::create_with_types(&server)?)));
    let cairn: Box<Fresh<'_>> = Box::new(|| Ok(Box::new(CairnEngine::create()?)));
    let sqlite: Box<Fresh<'_>> = Box::new(|| Ok(Box::new(SqliteEngine)));
    let reference = if arguments.sqlite { &sqlite } else { &postgres };
    let ours = if arguments.itself { &postgres } else { &cairn };
    let rules = Rules { details: !arguments.sqlite };
    let seeds = arguments.seed..arguments.seed.saturating_add(arguments.cases);
    let totals = compare_seeds(seeds, dialect, rules, reference, ours).map_err(|error| error.to_string())?;
    totals.refused.iter().for_each(|(reason, count)| println!("refused {count:>6} x {reason}"));
    println!("{}", totals.explain(arguments.shrink as usize, rules, reference, ours));
    println!("{totals}");
    Ok(totals.different() == 0)
}
