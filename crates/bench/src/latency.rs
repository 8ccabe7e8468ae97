//! Latencies of one engine in one round: as a histogram, and as a course over time.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use crate::Result;

/// A histogram of nanoseconds with three digits of precision, and the worst few as they were.
#[derive(Debug, Clone)]
pub struct Latencies {
    histogram: Histogram<u64>,
    worst: Vec<u64>,
}

const WORST: usize = 10;
const LONGEST_NANOS: u64 = 600_000_000_000;

impl Latencies {
    pub fn new() -> Result<Latencies> {
        // Bounds, so that recording takes no memory; beyond them only the worst are kept as they were.
        let histogram = Histogram::new_with_bounds(1, LONGEST_NANOS, 3)?;
        Ok(Latencies { histogram, worst: Vec::with_capacity(WORST + 1) })
    }

    /// Times `step`.
    pub fn time<R>(&mut self, step: impl FnOnce() -> Result<R>) -> Result<R> {
        let start = Instant::now();
        let result = step()?;
        self.add(start.elapsed());
        Ok(result)
    }

    pub fn add(&mut self, took: Duration) {
        let nanos = took.as_nanos() as u64;
        self.histogram.saturating_record(nanos);
        if self.worst.len() < WORST || self.worst.last().is_some_and(|least| nanos > *least) {
            let at = self.worst.partition_point(|worse| *worse >= nanos);
            self.worst.insert(at, nanos);
            self.worst.truncate(WORST);
        }
    }

    pub fn merge(&mut self, other: &Latencies) -> Result<()> {
        self.histogram.add(&other.histogram)?;
        self.worst.extend(&other.worst);
        self.worst.sort_unstable_by(|a, b| b.cmp(a));
        self.worst.truncate(WORST);
        Ok(())
    }

    /// The latency, in microseconds, that this share of all stays at or below.
    pub fn quantile_us(&self, share: f64) -> f64 {
        self.histogram.value_at_quantile(share) as f64 / 1e3
    }

    pub fn mean_us(&self) -> f64 {
        self.histogram.mean() / 1e3
    }

    pub fn max_us(&self) -> f64 {
        self.worst.first().map_or(0.0, |worst| *worst as f64 / 1e3)
    }

    /// The ten worst, in microseconds, worst first.
    pub fn worst_us(&self) -> Vec<f64> {
        self.worst.iter().map(|nanos| *nanos as f64 / 1e3).collect()
    }

    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The histogram of nanoseconds in HdrHistogram's V2 format, deflated, in base64: its tools read it too.
    pub fn encoded(&self) -> Result<String> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes)?;
        Ok(BASE64.encode(bytes))
    }

    /// From what [`encoded`](Latencies::encoded) wrote and the worst, in microseconds.
    pub fn decoded(text: &str, worst_us: &[f64]) -> Result<Latencies> {
        let bytes = BASE64.decode(text)?;
        let histogram = Deserializer::new().deserialize(&mut bytes.as_slice())?;
        let worst = worst_us.iter().map(|us| (us * 1e3).round() as u64).collect();
        Ok(Latencies { histogram, worst })
    }
}

/// Latency over time: for each step of time, how many, their mean, and the longest.
#[derive(Debug, Clone)]
pub struct Course {
    step: Duration,
    steps: Vec<Step>,
}

/// What began in one step of time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Step {
    pub count: u64,
    pub sum_us: f64,
    pub max_us: f64,
}

impl Course {
    /// In steps of this length, for instance a tenth of a second.
    pub fn new(step: Duration) -> Course {
        Course { step, steps: Vec::new() }
    }

    /// Notes one that began `at` this time after the start. Allocates when a step begins that is later than all before.
    pub fn add(&mut self, at: Duration, took: Duration) {
        let number = (at.as_nanos() / self.step.as_nanos().max(1)) as usize;
        if number >= self.steps.len() {
            self.steps.resize(number + 1, Step::default());
        }
        let us = took.as_nanos() as f64 / 1e3;
        let step = &mut self.steps[number];
        step.count += 1;
        step.sum_us += us;
        step.max_us = step.max_us.max(us);
    }

    pub fn step(&self) -> Duration {
        self.step
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn keeps_the_ten_worst_in_order() {
        let mut latencies = Latencies::new().unwrap();
        (1..=100).rev().chain(200..=203).for_each(|at| latencies.add(us(at)));
        assert_eq!(latencies.worst_us(), [203.0, 202.0, 201.0, 200.0, 100.0, 99.0, 98.0, 97.0, 96.0, 95.0]);
        assert_eq!((latencies.count(), latencies.max_us()), (104, 203.0));
        assert!((latencies.quantile_us(0.5) - 52.0).abs() < 1.0);
    }

    #[test]
    fn a_histogram_survives_writing_and_reading() {
        let mut latencies = Latencies::new().unwrap();
        (1..=5000).for_each(|at| latencies.add(us(at * 7)));
        let again = Latencies::decoded(&latencies.encoded().unwrap(), &latencies.worst_us()).unwrap();
        assert_eq!(again.histogram, latencies.histogram);
        assert_eq!(again.worst, latencies.worst);
        assert!(Latencies::decoded("AAAA", &[]).is_err() && Latencies::decoded("%", &[]).is_err());
    }

    #[test]
    fn a_course_keeps_empty_steps_and_the_longest_of_each() {
        let mut course = Course::new(us(100));
        for (at, took) in [(0, 5), (99, 9), (350, 4)] {
            course.add(us(at), us(took));
        }
        let shown: Vec<_> = course.steps().iter().map(|step| (step.count, step.sum_us, step.max_us)).collect();
        assert_eq!(shown, [(2, 14.0, 9.0), (0, 0.0, 0.0), (0, 0.0, 0.0), (1, 4.0, 4.0)]);
    }
}
