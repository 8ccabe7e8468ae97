//! What changed between two runs, beyond noise.
//!
//! Runs on different days meet different weather, so what is compared is CairnDB's ratio to SQLite, or to the medium's
//! floor where SQLite was not measured, each taken within the rounds of its own run; only what has neither is compared as
//! it is. A change counts when its interval excludes 1, and is a regression when it is also worse by more than the limit.

use crate::report::{Measure, Report, Series};
use crate::statistics::{Ratio, Verdict, median};
use crate::table::{align, shown};

/// With three rounds on each side, an interval excludes 1 only if all six values are in order: one case in ten by chance,
/// in either direction. Below, nothing is claimed.
const ROUNDS_TO_CLAIM: usize = 3;

/// One measure in both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Workload, medium, measure and engine.
    pub name: String,
    /// What the values are ratios to; empty: nothing.
    pub to: &'static str,
    pub old: f64,
    pub new: f64,
    /// Of the new to the old, above 1 is better.
    pub gain: Ratio,
    pub verdict: Verdict,
}

/// All measures in both runs, and those that one run lacks.
#[derive(Debug, Default)]
pub struct Comparison {
    pub changes: Vec<Change>,
    pub vanished: Vec<String>,
    pub appeared: Vec<String>,
}

impl Change {
    /// Worse beyond noise, by more than this share.
    pub fn is_regression(&self, limit: f64) -> bool {
        self.verdict == Verdict::Worse && self.gain.median < 1.0 / (1.0 + limit)
    }
}

/// Compares all of CairnDB's measures.
pub fn compare(old: &Report, new: &Report) -> Comparison {
    let (before, after) = (ours(old), ours(new));
    let mut comparison = Comparison::default();
    for (name, measure, series) in &after {
        match before.iter().find(|(known, ..)| known == name) {
            Some((_, old_measure, old_series)) => {
                comparison.changes.extend(change(name, (old_measure, old_series), (measure, series)));
            }
            None => comparison.appeared.push(name.clone()),
        }
    }
    let known = |name: &String| after.iter().any(|(other, ..)| other == name);
    comparison.vanished = before.into_iter().map(|(name, ..)| name).filter(|name| !known(name)).collect();
    comparison
}

/// CairnDB's series with their names and what stands beside them.
fn ours(report: &Report) -> Vec<(String, Measure<'_>, &Series)> {
    let mut found = Vec::new();
    for group in report.groups() {
        for measure in group.measures {
            for series in measure.series.clone().into_iter().filter(|series| Measure::is_ours(series)) {
                let name = format!("{} on {}: {}, {}", group.workload, group.medium, measure.name, series.engine());
                found.push((name, measure.clone(), series));
            }
        }
    }
    found
}

fn change(name: &str, old: (&Measure<'_>, &Series), new: (&Measure<'_>, &Series)) -> Option<Change> {
    let beside = |(measure, series): (&Measure<'_>, &Series), to: &str| -> Option<Vec<f64>> {
        let ratio =
            |other: &Series| series.rounds.iter().zip(&other.rounds).map(|(mine, theirs)| mine / theirs).collect();
        measure.of(to).filter(|_| series.unit != "x").map(ratio)
    };
    let ratios = |to: &'static str| Some((to, beside(old, to)?, beside(new, to)?));
    let plain = || ("", old.1.rounds.clone(), new.1.rounds.clone());
    let (to, before, after) = ratios("sqlite").or_else(|| ratios("floor")).unwrap_or_else(plain);
    let ratio = Ratio::between_runs(&before, &after)?;
    Some(Change {
        name: name.to_string(),
        to,
        old: median(&before),
        new: median(&after),
        gain: ratio.gain(new.1.better),
        verdict: ratio.verdict(new.1.better, ROUNDS_TO_CLAIM),
    })
}

/// What changed, in words; regressions first.
pub fn render(comparison: &Comparison, limit: f64) -> String {
    let of = |wanted: &dyn Fn(&Change) -> bool| comparison.changes.iter().filter(|change| wanted(change)).collect();
    let regression = |change: &Change| change.is_regression(limit);
    let title = format!("Regressions of more than {:.0} %", limit * 100.0);
    let mut text = section(&title, of(&regression));
    text += &section("Worse, within the limit", of(&|change| change.verdict == Verdict::Worse && !regression(change)));
    text += &section("Better", of(&|change| change.verdict == Verdict::Better));
    let count = |verdict| comparison.changes.iter().filter(|change| change.verdict == verdict).count();
    text += &format!("{} measures with no difference shown", count(Verdict::NoDifference));
    text += &format!(", {} with too few rounds to say (at least {ROUNDS_TO_CLAIM})\n", count(Verdict::TooFewRounds));
    text += &list("No longer measured", &comparison.vanished);
    text + &list("Measured for the first time", &comparison.appeared)
}

fn section(title: &str, changes: Vec<&Change>) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let head = ["measure", "old", "new", "unit", "change", "95 %"].map(str::to_string).to_vec();
    let lines: Vec<_> = std::iter::once(head).chain(changes.into_iter().map(line)).collect();
    format!("{title}\n{}\n", align(&lines, &[0, 3, 5]))
}

fn line(change: &Change) -> Vec<String> {
    let Ratio { median: gain, low, high, .. } = change.gain;
    let unit = if change.to.is_empty() { String::new() } else { format!("x {}", change.to) };
    let (gained, from, to) = (percent(gain), percent(low), percent(high));
    vec![change.name.clone(), shown(change.old), shown(change.new), unit, gained, format!("{from} to {to}")]
}

/// How much better; negative is worse.
fn percent(gain: f64) -> String {
    format!("{:+.0} %", (gain - 1.0) * 100.0)
}

fn list(title: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("{title}: {}\n", names.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Place;

    const PLACE: Place = Place { workload: "commit", medium: "disk" };

    /// A run whose commits take this many times SQLite's, in weather of its own.
    fn run(times: f64, weather: f64, rounds: usize) -> Report {
        let mut report = Report::default();
        for round in 0..rounds {
            let sqlite = 100.0 * weather * (1.0 + round as f64);
            let noise = 1.0 + 0.01 * (round % 3) as f64;
            report.add(PLACE, "cairndb", "commit p50", "us", sqlite * times * noise);
            report.add(PLACE, "cairndb", "commits", "commits/s", 1e6 / (sqlite * times * noise));
            report.add(PLACE, "sqlite", "commit p50", "us", sqlite);
            report.add(PLACE, "sqlite", "commits", "commits/s", 1e6 / sqlite);
        }
        report
    }

    fn regressions(old: &Report, new: &Report) -> usize {
        compare(old, new).changes.iter().filter(|change| change.is_regression(0.1)).count()
    }

    #[test]
    fn a_loss_of_a_fifth_is_a_regression_in_times_and_in_rates() {
        assert_eq!(regressions(&run(0.5, 1.0, 5), &run(0.6, 1.0, 5)), 2);
    }

    #[test]
    fn a_slower_machine_a_small_loss_and_a_gain_are_not() {
        assert_eq!(regressions(&run(0.5, 1.0, 5), &run(0.5, 3.0, 5)), 0);
        assert_eq!(regressions(&run(0.5, 1.0, 5), &run(0.53, 1.0, 5)), 0);
        assert_eq!(regressions(&run(0.5, 1.0, 5), &run(0.2, 1.0, 5)), 0);
    }

    #[test]
    fn two_rounds_are_too_few_to_accuse() {
        let comparison = compare(&run(0.5, 1.0, 2), &run(5.0, 1.0, 2));
        assert!(comparison.changes.iter().all(|change| change.verdict == Verdict::TooFewRounds));
    }

    #[test]
    fn what_only_one_run_has_is_named() {
        let comparison = compare(&run(0.5, 1.0, 5), &Report::default());
        assert_eq!(comparison.vanished, ["commit on disk: commit p50, cairndb", "commit on disk: commits, cairndb"]);
        let shown = render(&comparison, 0.1);
        assert!(shown.contains("No longer measured: commit on disk: commit p50"), "{shown}");
        assert_eq!(compare(&Report::default(), &run(0.5, 1.0, 5)).appeared.len(), 2);
    }

    #[test]
    fn regressions_are_shown_first_with_their_interval() {
        let shown = render(&compare(&run(0.5, 1.0, 5), &run(1.0, 1.0, 5)), 0.1);
        assert!(shown.starts_with("Regressions of more than 10 %"), "{shown}");
        assert!(shown.contains("x sqlite") && shown.contains("-50 %"), "{shown}");
    }

    #[test]
    fn without_sqlite_the_floor_is_what_ratios_are_to() {
        let with_floor = |ours: f64| {
            let mut report = Report::default();
            for round in 0..5 {
                report.add(PLACE, "cairndb", "commit p50", "us", ours * (1.0 + f64::from(round)));
                report.add(PLACE, "floor", "commit p50", "us", 10.0 * (1.0 + f64::from(round)));
            }
            report
        };
        let changes = compare(&with_floor(11.0), &with_floor(22.0)).changes;
        assert_eq!((changes[0].to, changes[0].old, changes[0].is_regression(0.1)), ("floor", 1.1, true));
    }
}
