//! The command line: which tool runs.

use std::process::ExitCode;

use crate::args::{self, Command, Input, ShellArgs};
use crate::report::Failure;
use crate::{bench, demo, maintenance, shell};

/// Does what the process was asked to on its command line.
pub fn run() -> ExitCode {
    let (cli, inputs) = args::read();
    match dispatch(cli.command, &cli.shell, inputs) {
        Ok(code) => code,
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
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
        Some(Command::Stats { file }) => maintenance::stats(&file)?,
        Some(Command::Bench { words }) => return Ok(bench::run(words)),
    }
    Ok(ExitCode::SUCCESS)
}
