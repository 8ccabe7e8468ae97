//! The command line as shells complete it and as manuals have it, made of its own description.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::report::{Failure, say};

/// Writes the script that has a shell complete `cairn`'s arguments to standard output.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cairn", &mut script);
    say(String::from_utf8_lossy(&script).trim_end())
}

/// Writes a manual page for `cairn` and for each of its commands into a folder, which is made.
pub fn manual(folder: &Path) -> Result<(), Failure> {
    let told = |error: std::io::Error| Failure::file(folder, &error);
    std::fs::create_dir_all(folder).map_err(told)?;
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder).map_err(told)
}
