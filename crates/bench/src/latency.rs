//! Latencies of one engine in one round.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_ten_worst_in_order() {
        let mut latencies = Latencies::new().unwrap();
        (1..=100).rev().chain(200..=203).for_each(|us| latencies.add(Duration::from_micros(us)));
        assert_eq!(latencies.worst_us(), [203.0, 202.0, 201.0, 200.0, 100.0, 99.0, 98.0, 97.0, 96.0, 95.0]);
        assert_eq!((latencies.count(), latencies.max_us()), (104, 203.0));
        assert!((latencies.quantile_us(0.5) - 52.0).abs() < 1.0);
    }
}
