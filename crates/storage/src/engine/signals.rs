//! What the background is asked to do.

use std::time::Duration;

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering};

/// What a thread is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Write the log now: somebody committed without waiting.
    Log = 0,
    /// Write the log within the sync interval.
    Interval = 1,
    /// The log is not idle any more.
    Active = 2,
    /// Log space, frames, drops.
    House = 3,
    Checkpoint = 4,
}

impl Signal {
    /// The thread that it is for: log, house, checkpoint.
    fn thread(self) -> usize {
        match self {
            Signal::Log | Signal::Interval | Signal::Active => 0,
            Signal::House => 1,
            Signal::Checkpoint => 2,
        }
    }
}

/// Requests to the background threads. Raising one that is raised already is one load.
#[derive(Debug)]
pub(crate) struct Signals {
    raised: [AtomicBool; 5],
    stop: AtomicBool,
    lock: Mutex<()>,
    changed: [Condvar; 3],
}

impl Default for Signals {
    fn default() -> Signals {
        Signals {
            raised: std::array::from_fn(|_| AtomicBool::new(false)),
            stop: AtomicBool::new(false),
            lock: Mutex::new(()),
            changed: std::array::from_fn(|_| Condvar::new()),
        }
    }
}

impl Signals {
    #[inline]
    pub(crate) fn raise(&self, signal: Signal) {
        if !self.raised[signal as usize].load(Ordering::Relaxed) {
            self.raise_slowly(signal);
        }
    }

    #[cold]
    fn raise_slowly(&self, signal: Signal) {
        let _lock = self.lock.lock();
        self.raised[signal as usize].store(true, Ordering::Release);
        self.changed[signal.thread()].notify_one();
    }

    pub(crate) fn is_raised(&self, signal: Signal) -> bool {
        self.raised[signal as usize].load(Ordering::Acquire)
    }

    pub(crate) fn take(&self, signal: Signal) -> bool {
        self.raised[signal as usize].swap(false, Ordering::AcqRel)
    }

    pub(crate) fn stop(&self) {
        let _lock = self.lock.lock();
        self.stop.store(true, Ordering::Release);
        self.changed.iter().for_each(Condvar::notify_all);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Sleeps until one of the signals is raised, all of which are for the caller's thread, or for at most so long.
    pub(crate) fn wait(&self, signals: &[Signal], longest: Option<Duration>) {
        let guard = self.lock.lock();
        if self.stopped() || signals.iter().any(|&signal| self.is_raised(signal)) {
            return;
        }
        let changed = &self.changed[signals[0].thread()];
        match longest {
            Some(longest) => drop(changed.wait_for(guard, longest)),
            None => drop(changed.wait(guard)),
        }
    }
}
