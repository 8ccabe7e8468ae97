//! Counts over many scripts, and failures grouped by their category.

use std::collections::BTreeMap;
use std::fmt;

use super::{FileReport, Mismatch};

/// What became of many scripts.
#[derive(Default)]
pub struct Summary {
    files: Vec<(String, FileReport)>,
}

const SHOWN_PER_CATEGORY: usize = 3;
const SHOWN_CHARACTERS: usize = 600;

impl Summary {
    /// Adds a script's report.
    pub fn add(&mut self, name: String, report: FileReport) {
        self.files.push((name, report));
        self.files.sort_by(|a, b| a.0.cmp(&b.0));
    }

    /// Records run and as expected.
    pub fn passed(&self) -> usize {
        self.files.iter().map(|(_, report)| report.passed).sum()
    }

    /// Records run and not as expected.
    pub fn failed(&self) -> usize {
        self.files.iter().map(|(_, report)| report.failures.len()).sum()
    }

    /// Records not run.
    pub fn skipped(&self) -> usize {
        self.files.iter().map(|(_, report)| report.skipped).sum()
    }

    /// A line per script.
    pub fn per_file(&self) -> String {
        let line = |(name, report): &(String, FileReport)| {
            format!(
                "{:>7} passed {:>6} skipped {:>6} failed  {name}\n",
                report.passed,
                report.skipped,
                report.failures.len()
            )
        };
        self.files.iter().map(line).collect()
    }

    /// Failures by category, most frequent first, with the first few of each.
    pub fn categories(&self) -> String {
        let mut groups: BTreeMap<&str, Vec<(&str, &Mismatch)>> = BTreeMap::new();
        for (name, report) in &self.files {
            for failure in &report.failures {
                groups.entry(&failure.category).or_default().push((name, failure));
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, failures)| std::cmp::Reverse(failures.len()));
        groups.into_iter().map(|(category, failures)| group(category, &failures)).collect()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, failed) = (self.passed(), self.failed());
        let ran = passed + failed;
        write!(
            f,
            "{} scripts: {ran} records run, {passed} passed, {failed} failed, {} skipped",
            self.files.len(),
            self.skipped()
        )
    }
}

fn group(category: &str, failures: &[(&str, &Mismatch)]) -> String {
    let mut text = format!("\n== {} x {category}\n", failures.len());
    for (name, failure) in failures.iter().take(SHOWN_PER_CATEGORY) {
        text += &format!(
            "{name}:{}\n{}\n-- expected\n{}\n-- actual\n{}\n",
            failure.line,
            shortened(&failure.sql),
            shortened(&failure.expected),
            shortened(&failure.actual)
        );
    }
    text
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{} ...", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}
