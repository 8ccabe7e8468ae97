//! A query that is shown: what is known of it beside the query itself, for who asks while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::definition::Limits;
use super::query::{Done, Query, Relevant};
use super::subscriber::Subscriber;
use crate::Result;
use crate::clock;
use crate::interrupt::Interrupt;
use crate::sync::{self, Mutex, MutexGuard};

/// Queries that are the same in all of this share one maintenance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) text: Box<str>,
    /// Values and types of the parameters.
    pub(super) parameters: Box<str>,
    /// The settings of the session.
    pub(super) settings: Arc<str>,
}

/// A query and who watches it.
pub(super) struct Shown {
    pub(super) id: u64,
    pub(super) identity: Option<Identity>,
    pub(super) query: Mutex<Query>,
    /// Apart, for who asks while the query runs.
    pub(super) relevant: Mutex<Arc<Relevant>>,
    pub(super) done: Mutex<Done>,
    /// How long it is expected to take until it is in a newer state, in nanoseconds.
    pub(super) expected: AtomicU64,
    /// Since when it is behind.
    pub(super) waits: Mutex<Option<Instant>>,
    pub(super) subscribers: Mutex<Vec<Arc<Subscriber>>>,
    /// Nobody watches it any more: what it runs ends.
    pub(super) interrupt: Arc<Interrupt>,
    /// How long a change may take.
    pub(super) timeout: Option<Duration>,
}

/// Between two looks at a query that somebody else runs.
const LOOK: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(2)];

impl Shown {
    /// How long it is expected to take until it is in a newer state.
    pub(super) fn expected(&self) -> Duration {
        Duration::from_nanos(self.expected.load(Ordering::Relaxed))
    }

    pub(super) fn expect(&self, time: Duration) {
        self.expected.store(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn waits_since(&self) -> Option<Instant> {
        *self.waits.lock()
    }

    /// It is behind from now on, if it is not already.
    pub(super) fn wait(&self) {
        self.waits.lock().get_or_insert_with(clock::now);
    }

    /// It is in the state that it was to be brought to.
    pub(super) fn is_brought(&self) {
        *self.waits.lock() = None;
    }

    /// Those of a change that begins now, and has so long.
    pub(super) fn limits(&self, now: Instant, piece: Option<Duration>) -> Limits {
        let time = self.timeout.into_iter().chain(piece).min();
        Limits { interrupt: self.interrupt.clone(), deadline: time.and_then(|time| now.checked_add(time)) }
    }

    /// Waits for who runs it, for as long as the limits allow.
    pub(super) fn lock_within(&self, limits: &Limits) -> Result<MutexGuard<'_, Query>> {
        let [mut pause, longest] = LOOK;
        loop {
            if let Some(query) = self.query.try_lock() {
                return Ok(query);
            }
            limits.check()?;
            sync::sleep(pause);
            pause = longest.min(pause * 2);
        }
    }
}
