//! `cairn`: CairnDB's shell and tools.

mod args;
mod bench;
mod copy;
mod demo;
mod maintenance;
mod output;
mod place;
mod progress;
mod report;
mod shell;
mod signals;
mod words;

use std::process::ExitCode;

use args::{Command, Input, ShellArgs};
use report::Failure;

fn main() -> ExitCode {
    let (cli, inputs) = args::read();
    match run(cli.command, &cli.shell, inputs) {
        Ok(code) => code,
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Option<Command>, shell: &ShellArgs, inputs: Vec<Input>) -> Result<ExitCode, Failure> {
    match command {
        None => return shell::run(shell, inputs),
        Some(Command::Demo(args)) => demo::run(&args)?,
        Some(Command::Verify { file }) => maintenance::verify(&file)?,
        Some(Command::Backup { file, target }) => maintenance::backup(&file, &target)?,
        Some(Command::Compact { file }) => maintenance::compact(&file)?,
        Some(Command::Salvage { file, target }) => maintenance::salvage(&file, &target)?,
        Some(Command::Stats { file }) => maintenance::stats(&file)?,
        Some(Command::Bench { words }) => return Ok(bench::run(words)),
    }
    Ok(ExitCode::SUCCESS)
}
