//! Those who wait for what they were told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::subscriber::Subscriber;
use crate::clock;

/// So long who waits may wait for others to be woken with him; longer where the next query takes longer than it did before.
const TOGETHER: Duration = Duration::from_micros(100);

/// They are woken together: who takes from many finds all of it at once, and falls asleep once.
pub(super) struct Wakes {
    waiting: Vec<Arc<Subscriber>>,
    since: Option<Instant>,
    /// When the clock was read last: once for each query.
    pub(super) now: Instant,
}

impl Default for Wakes {
    fn default() -> Wakes {
        Wakes { waiting: vec![], since: None, now: clock::now() }
    }
}

impl Wakes {
    pub(super) fn add(&mut self, subscriber: &Arc<Subscriber>) {
        self.since.get_or_insert(self.now);
        self.waiting.push(subscriber.clone());
    }

    /// Wakes them if they would wait for too long, the next query taking as long as it did the last time.
    pub(super) fn look(&mut self, next: Duration) {
        if self.since.is_some_and(|since| self.now.duration_since(since) + next >= TOGETHER) {
            self.wake();
        }
    }

    /// Reads the clock; how long it is since it was read last.
    pub(super) fn lap(&mut self) -> Duration {
        let before = std::mem::replace(&mut self.now, clock::now());
        self.now.duration_since(before)
    }

    fn wake(&mut self) {
        self.since = None;
        self.waiting.drain(..).for_each(|subscriber| subscriber.wake());
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        self.wake();
    }
}
