//! The records of a report, as they stand in its JSON lines.

use serde::{Deserialize, Serialize};

use super::lines::numbers;
use crate::machine::{Machine, load_average};

/// Which run this was. The first line of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub cairndb: String,
    /// Built with optimizations; what was not says nothing about speed.
    pub optimized: bool,
    pub machine: Machine,
    /// The load average of the minute before; above 0 somebody else was at work.
    pub load_average: Option<f64>,
    /// The words of the command line.
    pub words: Vec<String>,
    /// Seconds since 1970 at the start.
    pub started: u64,
}

impl Run {
    /// This program, here and now.
    pub fn here(words: Vec<String>) -> Run {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Run {
            cairndb: env!("CARGO_PKG_VERSION").to_string(),
            optimized: !cfg!(debug_assertions),
            machine: Machine::here(),
            load_average: load_average(),
            words,
            started: since.map_or(0, |since| since.as_secs()),
        }
    }
}

/// An engine, a floor or a medium, and how it was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRecord {
    pub engine: String,
    pub version: String,
    pub setting: String,
}

/// Whom a measurement is about, and where it was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub workload: String,
    /// `disk` or `tmpfs`.
    pub medium: String,
    pub engine: String,
}

/// The latencies of one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistogramRecord {
    #[serde(flatten)]
    pub subject: Subject,
    pub what: String,
    pub count: u64,
    /// HdrHistogram's V2 format, deflated, in base64; values are nanoseconds.
    pub histogram_ns: String,
    /// The ten worst as they were, worst first.
    #[serde(with = "numbers")]
    pub worst_us: Vec<f64>,
}

/// Latency over time in one round; one entry per step of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CourseRecord {
    #[serde(flatten)]
    pub subject: Subject,
    pub what: String,
    pub step_seconds: f64,
    pub count: Vec<u64>,
    #[serde(with = "numbers")]
    pub mean_us: Vec<f64>,
    #[serde(with = "numbers")]
    pub max_us: Vec<f64>,
}

/// One measure as another rises, for instance latency as throughput does. Rounds add points of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    #[serde(flatten)]
    pub subject: Subject,
    pub what: String,
    pub x_unit: String,
    pub y_unit: String,
    #[serde(with = "numbers")]
    pub x: Vec<f64>,
    #[serde(with = "numbers")]
    pub y: Vec<f64>,
}

/// What the engine itself counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    #[serde(flatten)]
    pub subject: Subject,
    pub what: String,
    pub names: Vec<String>,
    #[serde(with = "numbers")]
    pub values: Vec<f64>,
}
