//! The values of one measure of one engine, a value per round.

use serde::{Deserialize, Serialize};

use super::Subject;
use super::lines::numbers;

/// Which end of a measure is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Lower,
    Higher,
}

impl Better {
    /// Rates and shares want to be high; times, sizes and counts low.
    pub fn of_unit(unit: &str) -> Better {
        if unit.ends_with("/s") || unit == "x" { Better::Higher } else { Better::Lower }
    }
}

/// One measure of one engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    #[serde(flatten)]
    pub subject: Subject,
    pub measure: String,
    pub unit: String,
    pub better: Better,
    /// In the order of the rounds.
    #[serde(with = "numbers")]
    pub rounds: Vec<f64>,
}

impl Series {
    pub fn engine(&self) -> &str {
        &self.subject.engine
    }

    pub fn median(&self) -> f64 {
        median(&self.rounds)
    }

    pub fn min(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn max(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// The same measure in the same place, of whichever engine.
    pub fn is_beside(&self, other: &Series) -> bool {
        let place = |series: &Series| (series.subject.workload.clone(), series.subject.medium.clone());
        self.measure == other.measure && place(self) == place(other)
    }

    /// This value divided by the other's of the same round, round by round.
    pub fn ratios_to(&self, other: &Series) -> Vec<f64> {
        self.rounds.iter().zip(&other.rounds).map(|(mine, theirs)| mine / theirs).collect()
    }

    /// The median over the rounds of this value divided by the other's of the same round.
    pub fn ratio_to(&self, other: &Series) -> f64 {
        median(&self.ratios_to(other))
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
