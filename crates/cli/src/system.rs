//! The operating system's shell.

use std::process::Command;

/// A command for it.
pub fn command(text: &str) -> Command {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut run = Command::new(shell);
    run.args([flag, text]);
    run
}
