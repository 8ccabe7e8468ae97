//! The values of one measure of one engine, a value per round.

use serde::{Deserialize, Serialize};

use super::Subject;
use super::lines::numbers;
use crate::statistics::median;

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
}
