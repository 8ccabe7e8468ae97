//! One program under a counter of instructions.

use std::path::Path;
use std::process::{Command, Stdio};

use super::operations::Operation;
use crate::Result;
use crate::setup::Medium;

/// What to run: this program or another build of it.
pub struct Counted<'c> {
    pub program: &'c Path,
    pub medium: &'c Medium,
}

impl Counted<'_> {
    /// Instructions that one of `operation` takes: of a run with twice as many, what it has more. Opening, filling and
    /// closing are in both and cancel out. All threads count, so that moving work to another one hides nothing.
    pub fn instructions(&self, operation: &Operation) -> Result<f64> {
        let once = self.run(operation, operation.times)?;
        let twice = self.run(operation, 2 * operation.times)?;
        Ok((twice as f64 - once as f64) / (operation.times * operation.each) as f64)
    }

    fn run(&self, operation: &Operation, times: i64) -> Result<u64> {
        let dir = self.medium.folder()?;
        let mut command = Command::new("valgrind");
        command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]).arg(self.program);
        command.args(["count", "--plain", operation.name, "--times", &times.to_string(), "--dir"]).arg(&dir);
        let output =
            command.stdin(Stdio::null()).stdout(Stdio::null()).output().map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => "valgrind is not installed, so nothing can be counted".to_string(),
                _ => format!("valgrind: {error}"),
            })?;
        std::fs::remove_dir_all(&dir)?;
        let told = String::from_utf8_lossy(&output.stderr);
        let counted = total(&told).filter(|_| output.status.success());
        Ok(counted.ok_or_else(|| format!("{} count {}: {told}", self.program.display(), operation.name))?)
    }
}

/// The number on cachegrind's line of instructions.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().rev().find(|line| line.contains("I ") && line.contains("refs:"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_as_old_and_new_versions_write_it() {
        let old = "==12== Command: true\n==12== \n==12== I   refs:      127,755\n";
        assert_eq!((total(old), total("==1== I refs:  9\n"), total("==1== nothing")), (Some(127_755), Some(9), None));
    }
}
