//! Times ordinary queries here, in PostgreSQL and in SQLite, in turns, hot, one process each, and says where we are slower.
//!
//! `sweep [--rounds N] [--only WORD] FILE...` (files: `crates/conformance/sweep`). PostgreSQL without parallel workers, with
//! `shared_buffers` of 1 GB and `work_mem` of 64 MB, vacuumed; SQLite in memory; CairnDB in a file of the temporary folder with its
//! defaults. The ratio is to the better of the two in the same round: median, least, greatest.

use std::process::ExitCode;

use cairn_conformance::engine::{CairnEngine, Engine, PostgresEngine, PostgresServer, SqliteEngine};
use cairn_conformance::sweep::{Contender, DataSet, Timed, parse, run_query};

/// Beyond it a query is shown as slower.
const LIMIT: f64 = 1.2;
const POSTGRES: &[&str] = &[
    "shared_buffers=1GB",
    "work_mem=64MB",
    "max_parallel_workers_per_gather=0",
    "default_transaction_isolation=read committed",
];

struct Arguments {
    rounds: usize,
    only: Option<String>,
    files: Vec<String>,
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { rounds: 5, only: None, files: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => {
                let rounds = words.next().and_then(|word| word.parse().ok()).filter(|rounds| *rounds > 0);
                arguments.rounds = rounds.ok_or("--rounds takes a number")?;
            }
            "--only" => arguments.only = Some(words.next().ok_or("--only takes a word")?),
            _ if word.starts_with('-') => {
                return Err(format!("{word}: there is no such option; --rounds N, --only WORD"));
            }
            _ => arguments.files.push(word),
        }
    }
    if arguments.files.is_empty() { Err("which file? crates/conformance/sweep has some".into()) } else { Ok(arguments) }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let server = PostgresServer::start_with(POSTGRES).map_err(|error| error.to_string())?;
    for file in &arguments.files {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        for set in parse(&text).map_err(|error| format!("{file}: {error}"))? {
            run_set(&set, &server, arguments)?;
        }
    }
    Ok(())
}

fn run_set(set: &DataSet, server: &PostgresServer, arguments: &Arguments) -> Result<(), String> {
    let wanted = |name: &str| arguments.only.as_deref().is_none_or(|word| name.contains(word));
    if !set.queries.iter().any(|query| wanted(&query.name)) {
        return Ok(());
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let named = |error: cairn_conformance::engine::Failure| format!("{}: {error}", set.name);
    let ours = CairnEngine::open(&folder.path().join("sweep.cairn")).map_err(named)?;
    let postgres = PostgresEngine::create(server).map_err(named)?;
    let mut contenders = [
        Contender { name: "CairnDB", session: ours.session().map_err(named)?, is_sqlite: false },
        Contender { name: "PostgreSQL", session: postgres.session().map_err(named)?, is_sqlite: false },
        Contender { name: "SQLite", session: SqliteEngine.session().map_err(named)?, is_sqlite: true },
    ];
    for contender in &mut contenders {
        let name = contender.name;
        let took = contender.load(set).map_err(|error| format!("{name}, {}: {error}", set.name))?;
        eprintln!("{}: {name} loaded in {:.1} s", set.name, took.as_secs_f64());
    }
    contenders[1].session.run("VACUUM ANALYZE").map_err(named)?;
    contenders[2].session.run("PRAGMA case_sensitive_like = OFF").map_err(named)?;
    println!("{:48} {:>9} {:>10} {:>9}  ratio", set.name, "CairnDB", "PostgreSQL", "SQLite");
    for query in set.queries.iter().filter(|query| wanted(&query.name)) {
        print_timed(&query.name, &run_query(query, &mut contenders, arguments.rounds)?);
    }
    Ok(())
}

fn print_timed(name: &str, timed: &Timed) {
    let shown = |contender| timed.median(contender).map_or("-".to_owned(), |ms| format!("{ms:.2}"));
    let (least, median, greatest) = timed.ratios().unwrap_or((f64::NAN, f64::NAN, f64::NAN));
    let slower = if median > LIMIT { "  slower" } else { "" };
    let differs = if timed.agree { "" } else { "  the answers differ" };
    println!(
        "{name:48} {:>9} {:>10} {:>9}  {median:.2} ({least:.2} to {greatest:.2}){slower}{differs}",
        shown(0),
        shown(1),
        shown(2)
    );
}
