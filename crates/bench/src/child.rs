//! Parts of a workload that need a process of their own: one that is killed, or whose memory is measured.
//!
//! The program runs itself with `--plain`, and reads what the child tells on lines of its standard output.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Result;
use crate::setup::Setup;

/// What a line that is meant for the parent begins with.
const MARK: &str = "=\t";

/// In the child: tells the parent a value.
pub fn tell(name: &str, value: f64) {
    println!("{MARK}{name}\t{value}");
}

/// This program with `--plain`, working in `dir`.
fn command(setup: &Setup, workload: &str, dir: &Path, options: &[String]) -> Command {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("cairn-bench"));
    let mut command = Command::new(program);
    command.args(&setup.args.reached_by).args(["run", workload, "--plain", "--dir"]).arg(dir).args(options);
    command.args(["--seed", &setup.args.seed.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn parse(line: &str) -> Option<(String, f64)> {
    let (name, value) = line.strip_prefix(MARK)?.split_once('\t')?;
    Some((name.to_string(), value.parse().ok()?))
}

/// Runs a child to its end; what it told.
pub fn run(setup: &Setup, workload: &str, dir: &Path, options: &[String]) -> Result<Vec<(String, f64)>> {
    let output = command(setup, workload, dir, options).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{workload} in a process of its own: {}", output.status).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(parse).collect())
}

/// Runs a child until it tells `ready`, and kills it there; what it told.
pub fn kill_when_ready(setup: &Setup, workload: &str, dir: &Path, options: &[String]) -> Result<Vec<(String, f64)>> {
    let mut child = command(setup, workload, dir, options).spawn()?;
    let told = read_until_ready(&mut child);
    let killed = child.kill();
    child.wait()?;
    killed?;
    told
}

fn read_until_ready(child: &mut Child) -> Result<Vec<(String, f64)>> {
    let mut told = Vec::new();
    let output = child.stdout.take().ok_or("no standard output")?;
    for line in BufReader::new(output).lines() {
        match parse(&line?) {
            Some((name, _)) if name == "ready" => return Ok(told),
            Some(value) => told.push(value),
            None => {}
        }
    }
    Err("a process of its own ended before it was ready".into())
}

/// In the child: is ready, and waits for the kill (or the end of the parent).
pub fn wait_for_kill() {
    tell("ready", 1.0);
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_lines_are_read() {
        assert_eq!(parse("=\trows\t12"), Some(("rows".to_string(), 12.0)));
        assert_eq!((parse("rows\t12"), parse("=\trows"), parse("=\trows\tmany")), (None, None, None));
    }
}
