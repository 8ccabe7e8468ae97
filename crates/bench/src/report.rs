//! What was measured: one series of values, a value per round, for each measure of each engine.

use crate::latency::Latencies;

/// Which end of a measure is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Lower,
    Higher,
}

/// Where a value belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub workload: &'static str,
    /// `disk` or `tmpfs`.
    pub medium: &'static str,
}

/// The values of one measure of one engine.
#[derive(Debug, Clone)]
pub struct Series {
    pub place: Place,
    pub engine: &'static str,
    pub measure: String,
    pub unit: &'static str,
    pub better: Better,
    /// In the order of the rounds.
    pub rounds: Vec<f64>,
}

/// Anything else worth keeping of a run, for the JSON lines: the worst latencies, latency over time.
#[derive(Debug, Clone)]
pub struct Detail {
    pub place: Place,
    pub engine: &'static str,
    pub name: String,
    pub values: Vec<f64>,
}

/// All of a run.
#[derive(Debug)]
pub struct Report {
    machine: String,
    series: Vec<Series>,
    details: Vec<Detail>,
    settings: Vec<(&'static str, String)>,
}

impl Report {
    pub fn new(machine: String) -> Report {
        Report { machine, series: Vec::new(), details: Vec::new(), settings: Vec::new() }
    }

    pub fn machine(&self) -> &str {
        &self.machine
    }

    pub fn series(&self) -> &[Series] {
        &self.series
    }

    pub fn details(&self) -> &[Detail] {
        &self.details
    }

    pub fn settings(&self) -> &[(&'static str, String)] {
        &self.settings
    }

    /// Notes an engine's setting; says whether it is new.
    pub fn setting(&mut self, engine: &'static str, setting: String) -> bool {
        let known = self.settings.iter().any(|(name, known)| *name == engine && *known == setting);
        if !known {
            self.settings.push((engine, setting));
        }
        !known
    }

    /// Adds one round's value.
    pub fn add(&mut self, place: Place, engine: &'static str, measure: &str, unit: &'static str, value: f64) {
        let same = |s: &&mut Series| s.place == place && s.engine == engine && s.measure == measure;
        match self.series.iter_mut().find(same) {
            Some(series) => series.rounds.push(value),
            None => {
                let better = if unit.ends_with("/s") || unit == "x" { Better::Higher } else { Better::Lower };
                let (measure, rounds) = (measure.to_string(), vec![value]);
                self.series.push(Series { place, engine, measure, unit, better, rounds });
            }
        }
    }

    /// Adds one round's percentiles, in microseconds, each named after `what`.
    pub fn add_latencies(&mut self, place: Place, engine: &'static str, what: &str, of: &Latencies, shares: &[f64]) {
        for share in shares {
            let measure = format!("{what} p{}", share * 100.0);
            self.add(place, engine, &measure, "us", of.quantile_us(*share));
        }
    }

    pub fn add_detail(&mut self, place: Place, engine: &'static str, name: &str, values: Vec<f64>) {
        self.details.push(Detail { place, engine, name: name.to_string(), values });
    }

    /// The same measure of another engine.
    pub fn counterpart(&self, of: &Series, engine: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.place == of.place && s.measure == of.measure && s.engine == engine)
    }
}

impl Series {
    pub fn median(&self) -> f64 {
        median(&self.rounds)
    }

    pub fn min(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn max(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// The median over the rounds of this value divided by the other's of the same round.
    pub fn ratio_to(&self, other: &Series) -> f64 {
        let ratios: Vec<f64> = self.rounds.iter().zip(&other.rounds).map(|(mine, theirs)| mine / theirs).collect();
        median(&ratios)
    }
}

/// NaN of nothing.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[half],
        _ => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds() {
        let mut report = Report::new(String::new());
        let place = Place { workload: "w", medium: "disk" };
        for (mine, theirs) in [(1.0, 2.0), (10.0, 20.0), (3.0, 6.0)] {
            report.add(place, "a", "p50", "us", mine);
            report.add(place, "b", "p50", "us", theirs);
        }
        let series = &report.series()[0];
        assert_eq!(series.ratio_to(report.counterpart(series, "b").unwrap()), 0.5);
        assert_eq!((series.median(), series.min(), series.max()), (3.0, 1.0, 10.0));
    }
}
