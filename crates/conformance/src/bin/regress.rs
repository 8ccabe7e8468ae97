//! Runs PostgreSQL's own regression scripts here and in PostgreSQL, statement by statement, and counts what agrees.
//!
//! `regress [--source FOLDER] [--examples N] [--file SCRIPT] [NAME...]`: FOLDER is PostgreSQL 15's source (or
//! `CAIRN_POSTGRESQL_SOURCE`, `apt-get source postgresql-15`), NAME a script without its `.sql`; all scripts without one.
//! `--file`: a script that lies anywhere.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cairn_conformance::engine::{CairnEngine, Engine, PostgresEngine, PostgresServer};
use cairn_conformance::regress::{Place, Report, Statement, compare_script, read_script};

#[derive(Default)]
struct Arguments {
    source: Option<PathBuf>,
    examples: usize,
    files: Vec<PathBuf>,
    names: Vec<String>,
}

/// Scripts that need a server's users, files, locales or libraries, and so say nothing of SQL here.
const LEFT_OUT: &[&str] = &["test_setup", "tablespace", "collate.icu.utf8", "collate.linux.utf8", "infinite_recurse"];

/// A statement that takes longer says nothing, and is stopped.
const PATIENCE: &str = "SET statement_timeout = '20s'";

fn main() -> ExitCode {
    match run(&arguments()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Arguments {
    let source = std::env::var_os("CAIRN_POSTGRESQL_SOURCE").map(PathBuf::from);
    let mut arguments = Arguments { source, ..Arguments::default() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--source" => arguments.source = words.next().map(PathBuf::from),
            "--examples" => arguments.examples = words.next().and_then(|word| word.parse().ok()).unwrap_or(3),
            "--file" => arguments.files.extend(words.next().map(PathBuf::from)),
            _ => arguments.names.push(word),
        }
    }
    arguments
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let source = arguments.source.as_ref().map(|source| source.join("src/test/regress"));
    let folder = source.clone().unwrap_or_default();
    let place = Place { folder: &folder };
    let read = |path: &Path| {
        let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(read_script(&String::from_utf8_lossy(&bytes), place))
    };
    let server = PostgresServer::start().map_err(|error| error.to_string())?;
    let mut all = Report::default();
    for path in &arguments.files {
        one(&server, &path.display().to_string(), &[], &read(path)?, arguments, &mut all)?;
    }
    if arguments.files.is_empty() {
        let scripts = source.ok_or("where is PostgreSQL's source? (--source, or CAIRN_POSTGRESQL_SOURCE)")?.join("sql");
        let setup = read(&scripts.join("test_setup.sql"))?;
        for name in names(&scripts, arguments)? {
            one(&server, &name, &setup, &read(&scripts.join(format!("{name}.sql")))?, arguments, &mut all)?;
        }
    }
    println!("{:<28}{all}\n{}", "all", all.explain(0));
    Ok(())
}

fn names(scripts: &Path, arguments: &Arguments) -> Result<Vec<String>, String> {
    if !arguments.names.is_empty() {
        return Ok(arguments.names.clone());
    }
    let entries = std::fs::read_dir(scripts).map_err(|error| format!("{}: {error}", scripts.display()))?;
    let name = |path: PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".sql")?.to_owned());
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| name(entry.path())).collect();
    names.retain(|name| !LEFT_OUT.contains(&name.as_str()));
    names.sort();
    Ok(names)
}

fn one(
    server: &PostgresServer,
    name: &str,
    setup: &[Statement],
    script: &[Statement],
    arguments: &Arguments,
    all: &mut Report,
) -> Result<(), String> {
    let postgres = PostgresEngine::create_with_types(server).map_err(|error| error.to_string())?;
    let cairn = CairnEngine::create().map_err(|error| error.to_string())?;
    let mut reference = postgres.session().map_err(|error| error.to_string())?;
    let mut ours = cairn.session().map_err(|error| error.to_string())?;
    reference.run(PATIENCE).map_err(|error| error.to_string())?;
    ours.run(PATIENCE).map_err(|error| error.to_string())?;
    let report = compare_script(setup, script, reference.as_mut(), ours.as_mut());
    let report = report.map_err(|error| error.to_string())?;
    println!("{name:<28}{report}\n{}", report.explain(arguments.examples));
    all.merge(&report);
    Ok(())
}
