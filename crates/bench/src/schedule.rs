//! An open loop: requests are due at set times, whether or not the ones before are done.
//!
//! What is measured is the *sojourn time*, from when a request was due to when it was done, so that a stall is charged
//! to every request that it delays. (A closed loop, which sends the next request when the last one returned, would
//! charge it to one.)

use std::time::{Duration, Instant};

/// The times at which requests are due: evenly, at a rate.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    start: Instant,
    nanos_each: f64,
    /// How many there are.
    pub requests: u64,
}

impl Schedule {
    /// Requests at `rate` a second for `time`, from now on.
    pub fn new(rate: f64, time: Duration) -> Schedule {
        let requests = (rate * time.as_secs_f64()).ceil().max(1.0) as u64;
        Schedule { start: Instant::now(), nanos_each: 1e9 / rate, requests }
    }

    /// When this request is due.
    pub fn due(&self, request: u64) -> Instant {
        self.start + Duration::from_nanos((request as f64 * self.nanos_each) as u64)
    }

    /// How many requests are due by `now`.
    pub fn due_by(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.start).as_nanos() as f64;
        self.requests.min((since / self.nanos_each) as u64 + 1)
    }

    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// Sleeping longer than asked for is usual by about this much.
const OVERSLEPT: Duration = Duration::from_micros(80);

/// Waits until `due`. `exactly`: spins for the last stretch, which only one thread can do without taking the processor
/// from those that work; the others oversleep a little.
pub fn wait_until(due: Instant, exactly: bool) {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if !exactly {
            std::thread::sleep(left);
        } else if left > OVERSLEPT {
            std::thread::sleep(left - OVERSLEPT);
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_at_their_rate_and_no_more_than_there_are() {
        let schedule = Schedule::new(1000.0, Duration::from_millis(100));
        assert_eq!(schedule.requests, 100);
        assert_eq!(schedule.due(50) - schedule.due(0), Duration::from_millis(50));
        assert_eq!(schedule.due_by(schedule.due(50) + Duration::from_nanos(1)), 51);
        assert_eq!(schedule.due_by(schedule.due(0)), 1);
        assert_eq!(schedule.due_by(schedule.due(0) + Duration::from_secs(9)), 100);
    }
}
