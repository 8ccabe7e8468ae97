//! The command line: which tool runs.

use std::path::Path;
use std::process::ExitCode;

use crate::args::{self, Command, Import, Input, ShellArgs};
use crate::report::{Failure, warn};
use crate::{bench, console, demo, described, documents, dump, import, maintenance, serve, shell, token, watch};

/// Does what the process was asked to on its command line.
pub fn run() -> ExitCode {
    let (cli, inputs) = args::read();
    match dispatch(cli.command, &cli.shell, inputs) {
        Ok(code) => code,
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            warn(&failure);
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Option<Command>, shell: &ShellArgs, inputs: Vec<Input>) -> Result<ExitCode, Failure> {
    match command {
        None => return shell::run(shell, inputs),
        Some(Command::Demo(args)) => demo::run(&args)?,
        Some(Command::Verify { file, constraints }) => return maintenance::verify(&file, constraints),
        Some(Command::Backup { file, target }) => maintenance::backup(&file, &target)?,
        Some(Command::Compact { file }) => maintenance::compact(&file)?,
        Some(Command::Salvage { file, target }) => return maintenance::salvage(&file, &target),
        Some(Command::Import(Import::Sqlite { file, into, keep_case })) => {
            return import_sqlite(&file, &into, keep_case);
        }
        Some(Command::Import(Import::Postgres { dump, into })) => return import::postgres(&dump, &into),
        Some(Command::Import(Import::Ndjson(asked))) => documents::import(&asked)?,
        Some(Command::Export(asked)) => documents::export(&asked)?,
        Some(Command::Dump { file, output, schema_only }) => dump::run(&file, output.as_deref(), schema_only)?,
        Some(Command::Watch { file, query, format }) => watch::run(&file, &query, format)?,
        Some(Command::Serve(args)) => serve::run(&args)?,
        Some(Command::Token(command)) => token::run(&command)?,
        Some(Command::Console(args)) => console::run(&args)?,
        Some(Command::Stats { file }) => maintenance::stats(&file)?,
        Some(Command::Completions { shell }) => described::completions(shell)?,
        Some(Command::Man { folder }) => described::manual(&folder)?,
        Some(Command::Bench { words }) => return Ok(bench::run(words)),
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "sqlite")]
fn import_sqlite(file: &Path, into: &Path, keep_case: bool) -> Result<ExitCode, Failure> {
    import::sqlite(file, into, keep_case)
}

/// Says how to build it in.
#[cfg(not(feature = "sqlite"))]
fn import_sqlite(_: &Path, _: &Path, _: bool) -> Result<ExitCode, Failure> {
    Err(Failure::Message("this build reads no SQLite files; the feature `sqlite` builds that in".to_string()))
}
