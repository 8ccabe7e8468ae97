//! System calls per commit of a lone committer in steady state.
//!
//! The program traces itself twice, with N commits and with 2 N; what the second run has more of, divided by N, is what
//! a commit costs. Opening, filling and closing are in both and cancel out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::engine::Kind;
use crate::keys::Keys;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup, close_all};
use crate::terminal::say;
use crate::{Error, Result};

/// Rows of the table.
const ROWS: i64 = 1_000;

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let commits = setup.args.commits.unwrap_or(setup.args.size(10_000, 1_000));
    if setup.args.plain {
        return commit(setup, &setup.disk, commits, report);
    }
    let traced = Traced { setup, commits };
    say(format!("by hand: {}", traced.command(commits, Path::new("FILE")).join(" ")));
    match (traced.run(commits)?, traced.run(2 * commits)?) {
        (Some(once), Some(twice)) => traced.report(&once, &twice, report),
        _ => say("strace is not installed, so nothing was counted"),
    }
    Ok(())
}

fn commit(setup: &Setup, medium: &Medium, commits: u64, report: &mut Report) -> Result<()> {
    let engines = setup.open_filled(&[Kind::Cairn], medium, ROWS, report)?;
    for engine in &engines {
        engine.with_session(&mut |session| {
            let mut keys = Keys::new(setup.args.seed);
            (0..commits).try_for_each(|at| session.update(keys.below(ROWS), at as i64))
        })?;
    }
    close_all(engines)
}

struct Traced<'s> {
    setup: &'s Setup,
    commits: u64,
}

/// Calls by name.
type Counts = BTreeMap<String, u64>;

impl Traced<'_> {
    fn command(&self, commits: u64, to: &Path) -> Vec<String> {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("cairn-bench"));
        let text = |path: &Path| path.display().to_string();
        let (to, program, dir, commits) = (text(to), text(&program), text(&self.setup.args.dir), commits.to_string());
        let traced = ["strace", "-c", "-f", "-o", &to, &program].map(str::to_string);
        let reached_by = self.setup.args.reached_by.iter().cloned();
        let asked = ["run", "syscalls", "--plain", "--dir", &dir, "--commits", &commits].map(str::to_string);
        traced.into_iter().chain(reached_by).chain(asked).collect()
    }

    /// `None`: there is no `strace`.
    fn run(&self, commits: u64) -> Result<Option<Counts>> {
        let to = self.setup.disk.folder()?.join("strace");
        let words = self.command(commits, &to);
        let Some((program, rest)) = words.split_first() else { return Ok(None) };
        let status = match Command::new(program).args(rest).stdout(Stdio::null()).status() {
            Ok(status) => status,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !status.success() {
            return Err(Error::from(format!("{}: {status}", words.join(" "))));
        }
        Ok(Some(parse(&std::fs::read_to_string(to)?)))
    }

    fn report(&self, once: &Counts, twice: &Counts, report: &mut Report) {
        let place = Place { workload: "syscalls", medium: "disk" };
        let mut total = 0.0;
        for (name, count) in twice {
            let more = *count as f64 - once.get(name).copied().unwrap_or(0) as f64;
            let per_commit = more / self.commits as f64;
            total += per_commit;
            if per_commit.abs() >= 0.001 {
                report.add(place, "cairndb", name, "calls per commit", per_commit);
            }
        }
        report.add(place, "cairndb", "all", "calls per commit", total);
    }
}

/// The lines of `strace -c`: percent, seconds, microseconds per call, calls, perhaps errors, name.
fn parse(text: &str) -> Counts {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, calls) = (*words.last()?, words.get(3)?.parse().ok()?);
        (name != "total").then(|| (name.to_string(), calls))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_with_and_without_errors() {
        let text = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 99.00    1.000000          10     10000           pwritev2
  1.00    0.010000          10         7         3 futex
------ ----------- ----------- --------- --------- ----------------
100.00    1.010000          10     10007         3 total
";
        let counts: Vec<_> = parse(text).into_iter().collect();
        assert_eq!(counts, [("futex".to_string(), 7), ("pwritev2".to_string(), 10000)]);
    }
}
