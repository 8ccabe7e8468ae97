//! `check`: has CairnDB become slower? A small fixed run against a stored baseline of its ratios to SQLite.
//!
//! A ratio taken within a round cancels what the machine does to both sides, and its median over seven rounds forgives
//! three spoilt ones. What is left differs between processors and media by a third or so, so a measure passes up to its limit
//! (1.5 times the baseline for times, 1.1 for sizes, which do not vary); one beyond it is measured once more, and fails only
//! if it is beyond again. A regression to twice the time is a third beyond the limit: it is caught unless the noise of a
//! median hides a quarter, both times. Smaller regressions are for `compare`, on a quiet machine.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::args::{Args, CheckArgs, measure_args};
use crate::report::{Better, Report};
use crate::table::align;
use crate::{Error, Result};

/// What is measured: workloads and their options. Small, but large enough for times that can be told from nothing.
const RUNS: [&str; 2] = ["embedded --quick --rounds 7 --rows 20000 --commits 500", "bulk --rounds 7 --rows 50000"];
const ENGINES: &str = "cairndb,sqlite";
/// What goes into a new baseline: measures that do not jump about, in memory, so that no disk has a say.
const STEADY: [(&str, &str); 12] = [
    ("embedded", "commit p50"),
    ("embedded", "read p50"),
    ("embedded", "join p50"),
    ("embedded", "small read p50"),
    ("embedded", "small join p50"),
    ("embedded", "range of 1000 p50"),
    ("embedded", "keyed aggregate p50"),
    ("embedded", "scan and sum p50"),
    ("embedded", "group over join p50"),
    ("embedded", "size"),
    ("bulk", "insert and close"),
    ("bulk", "size"),
];
const MEDIUM: &str = "tmpfs";
const BUILT_IN: &str = include_str!("../baseline.json");
const MEMORY: &str = "/dev/shm";

/// The stored ratios.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    pub measures: Vec<Expected>,
}

/// One measure's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    pub workload: String,
    pub medium: String,
    pub measure: String,
    /// CairnDB's cost in SQLite's: 0.5 is half the time, or twice the rate.
    pub cost: f64,
    /// How many times that still passes.
    pub limit: f64,
}

/// One measure as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub expected: Expected,
    /// `None`: it was not measured.
    pub cost: Option<f64>,
}

impl Checked {
    /// Its cost in the baseline's.
    fn times(&self) -> Option<f64> {
        self.cost.map(|cost| cost / self.expected.cost)
    }

    /// What vanished does not pass.
    pub fn passes(&self) -> bool {
        self.times().is_some_and(|times| times <= self.expected.limit)
    }
}

/// Runs it; an error names what became slower.
pub fn run(args: &CheckArgs, measure: impl Fn(Args) -> Result<Report>) -> Result<()> {
    if cfg!(debug_assertions) {
        return Err("built without optimizations, so its speed says nothing: build it with --release".into());
    }
    if !Path::new(MEMORY).is_dir() {
        return Err(format!("needs a memory file system at {MEMORY}").into());
    }
    let run = |workload: Option<&str>| all_runs(args, workload, &measure);
    let report = run(None)?;
    if let Some(path) = &args.write {
        return write(path, &baseline_of(&report));
    }
    let mut checked = judge(&baseline(args)?, &report);
    let mut workloads: Vec<String> = failing(&checked).map(|failed| failed.expected.workload.clone()).collect();
    workloads.dedup();
    for workload in workloads {
        println!("\n{workload} is beyond a limit; once more");
        confirm(&mut checked, &run(Some(&workload))?);
    }
    println!("\n{}", render(&checked));
    let failed: Vec<String> = failing(&checked).map(name).collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Error::from(format!("slower than the baseline: {}", failed.join("; "))))
    }
}

fn all_runs(args: &CheckArgs, workload: Option<&str>, measure: &impl Fn(Args) -> Result<Report>) -> Result<Report> {
    let dir = args.dir.display().to_string();
    let everywhere = ["--engines", ENGINES, "--dir", &dir, "--tmpfs", MEMORY];
    let mut all = Report::default();
    for run in RUNS.iter().filter(|run| workload.is_none_or(|workload| run.split(' ').next() == Some(workload))) {
        let words: Vec<String> = run.split(' ').chain(everywhere).map(str::to_string).collect();
        all.merge(measure(measure_args(&words)?)?);
    }
    Ok(all)
}

fn baseline(args: &CheckArgs) -> Result<Baseline> {
    let text = match &args.baseline {
        Some(path) => std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?,
        None => BUILT_IN.to_string(),
    };
    Ok(serde_json::from_str(&text)?)
}

fn write(path: &Path, baseline: &Baseline) -> Result<()> {
    Ok(std::fs::write(path, serde_json::to_string_pretty(baseline)? + "\n")?)
}

/// CairnDB's cost in SQLite's, rounds paired.
fn cost(report: &Report, workload: &str, medium: &str, measure: &str) -> Option<f64> {
    let groups = report.groups();
    let group = groups.iter().find(|group| group.workload == workload && group.medium == medium)?;
    let measure = group.measures.iter().find(|known| known.name == measure)?;
    let ratio = measure.ratio(measure.of("cairndb")?, "sqlite")?.median;
    Some(if measure.better == Better::Lower { ratio } else { 1.0 / ratio })
}

fn baseline_of(report: &Report) -> Baseline {
    let expected = |(workload, measure): (&str, &str)| {
        let cost = cost(report, workload, MEDIUM, measure)?;
        Some(Expected {
            workload: workload.to_string(),
            medium: MEDIUM.to_string(),
            measure: measure.to_string(),
            cost: (cost * 1e3).round() / 1e3,
            limit: if measure == "size" { 1.1 } else { 1.5 },
        })
    };
    Baseline { measures: STEADY.into_iter().filter_map(expected).collect() }
}

/// Every measure of the baseline as it is now.
fn judge(baseline: &Baseline, report: &Report) -> Vec<Checked> {
    let checked = |expected: &Expected| Checked {
        cost: cost(report, &expected.workload, &expected.medium, &expected.measure),
        expected: expected.clone(),
    };
    baseline.measures.iter().map(checked).collect()
}

/// Of what failed, the better of both runs counts.
fn confirm(checked: &mut [Checked], again: &Report) {
    for failed in checked.iter_mut().filter(|checked| !checked.passes()) {
        let Expected { workload, medium, measure, .. } = &failed.expected;
        let second = cost(again, workload, medium, measure);
        failed.cost = failed.cost.into_iter().chain(second).min_by(f64::total_cmp);
    }
}

fn failing(checked: &[Checked]) -> impl Iterator<Item = &Checked> {
    checked.iter().filter(|checked| !checked.passes())
}

fn name(checked: &Checked) -> String {
    let Expected { workload, medium, measure, .. } = &checked.expected;
    format!("{workload} on {medium}, {measure}")
}

fn render(checked: &[Checked]) -> String {
    let head = ["measure", "baseline", "now", "x baseline", "limit", ""].map(str::to_string).to_vec();
    let line = |checked: &Checked| {
        let shown =
            |value: Option<f64>| value.map_or_else(|| "not measured".to_string(), |value| format!("{value:.2}"));
        let Expected { cost, limit, .. } = checked.expected;
        let word = if checked.passes() { "ok" } else { "SLOWER" };
        let numbers = [format!("{cost:.2}"), shown(checked.cost), shown(checked.times()), format!("{limit:.2}")];
        std::iter::once(name(checked)).chain(numbers).chain([word.to_string()]).collect()
    };
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(checked.iter().map(line)).collect();
    format!("CairnDB's cost in SQLite's, below 1 is better\n{}", align(&lines, &[0, 5]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Place;

    /// A run in which CairnDB costs this many times what it costs in the baseline, in noise of a tenth.
    fn report(times: f64) -> Report {
        let mut report = Report::default();
        for round in 0..7 {
            let noise = 1.0 + 0.1 * f64::from((round * 3) % 7 - 3) / 3.0;
            let place = Place { workload: "embedded", medium: "tmpfs" };
            report.add(place, "cairndb", "commit p50", "us", 50.0 * times * noise);
            report.add(place, "sqlite", "commit p50", "us", 100.0);
            let place = Place { workload: "bulk", medium: "tmpfs" };
            report.add(place, "cairndb", "insert and close", "rows/s", 2e6 / times / noise);
            report.add(place, "sqlite", "insert and close", "rows/s", 1e6);
        }
        report
    }

    fn failures(times: f64) -> usize {
        failing(&judge(&baseline_of(&report(1.0)), &report(times))).count()
    }

    #[test]
    fn twice_the_time_is_caught_in_every_measure_and_a_third_more_in_none() {
        assert_eq!((failures(2.0), failures(1.33), failures(1.0), failures(0.3)), (2, 0, 0, 0));
    }

    #[test]
    fn what_was_beyond_the_limit_once_only_passes() {
        let mut checked = judge(&baseline_of(&report(1.0)), &report(2.0));
        confirm(&mut checked, &report(1.1));
        assert_eq!(failing(&checked).count(), 0);
        let mut checked = judge(&baseline_of(&report(1.0)), &report(2.0));
        confirm(&mut checked, &report(1.9));
        assert_eq!(failing(&checked).count(), 2);
    }

    #[test]
    fn what_is_no_longer_measured_does_not_pass() {
        let baseline = baseline_of(&report(1.0));
        assert_eq!(failing(&judge(&baseline, &Report::default())).count(), 2);
    }

    #[test]
    fn the_stored_baseline_names_what_the_runs_measure() {
        let baseline: Baseline = serde_json::from_str(BUILT_IN).unwrap();
        assert_eq!(baseline.measures.len(), STEADY.len());
        for expected in &baseline.measures {
            assert!(RUNS.iter().any(|run| run.starts_with(&format!("{} ", expected.workload))), "{expected:?}");
            assert!(expected.cost > 0.0 && (1.05..=1.6).contains(&expected.limit), "{expected:?}");
        }
    }
}
