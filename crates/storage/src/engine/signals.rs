//! What the background is asked to do, and who comes to do it.
//!
//! What must hold: of each duty at most one thread is at work or on its way. It leaves, or is called, under the same lock: what is
//! asked for is done by one that is there, or calls one.

use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering};

/// What a thread of the background has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Leads log writes when nobody waits for them, and ends snapshots that are too old.
    Log = 0,
    /// Keeps log space and frames ready, and frees what was dropped.
    House = 1,
    Checkpoint = 2,
    /// Reads pages that long walks will come to.
    Fetch = 3,
}

impl Duty {
    /// For messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Duty::Log => "the log",
            Duty::House => "log space and memory",
            Duty::Checkpoint => "checkpoints",
            Duty::Fetch => "reading ahead",
        }
    }
}

/// What the background is asked to do.
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
    fn duty(self) -> Duty {
        match self {
            Signal::Log | Signal::Interval | Signal::Active => Duty::Log,
            Signal::House => Duty::House,
            Signal::Checkpoint => Duty::Checkpoint,
        }
    }
}

/// Has a thread come that performs a duty.
type Call = Box<dyn Fn(Duty) -> io::Result<()> + Send + Sync>;

/// Requests to the background. Raising one that is raised already is one load.
pub(crate) struct Signals {
    raised: [AtomicBool; 5],
    stop: AtomicBool,
    /// Whether a thread is at a duty, or on its way.
    served: Mutex<[bool; 3]>,
    changed: [Condvar; 3],
    /// Unset where nothing runs in the background.
    call: OnceLock<Call>,
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signals").field("raised", &self.raised).field("stop", &self.stop).finish()
    }
}

impl Default for Signals {
    fn default() -> Signals {
        Signals {
            raised: std::array::from_fn(|_| AtomicBool::new(false)),
            stop: AtomicBool::new(false),
            served: Mutex::default(),
            changed: std::array::from_fn(|_| Condvar::new()),
            call: OnceLock::new(),
        }
    }
}

impl Signals {
    #[inline]
    pub(crate) fn raise(&self, signal: Signal) {
        if !self.raised[signal as usize].load(Ordering::Relaxed) {
            // Who raises it again calls again.
            let _ = self.raise_slowly(signal);
        }
    }

    /// As `raise`; fails where no thread is at the duty and none can come.
    #[cold]
    pub(crate) fn raise_slowly(&self, signal: Signal) -> io::Result<()> {
        let duty = signal.duty();
        let mut served = self.served.lock();
        self.raised[signal as usize].store(true, Ordering::Release);
        if served[duty as usize] {
            self.changed[duty as usize].notify_one();
            return Ok(());
        }
        let Some(call) = self.call.get().filter(|_| !self.stopped()) else { return Ok(()) };
        served[duty as usize] = true;
        drop(served);
        call(duty).inspect_err(|_| {
            let mut served = self.served.lock();
            served[duty as usize] = false;
            self.raised[signal as usize].store(false, Ordering::Release);
        })
    }

    /// From now on threads are called like this.
    pub(crate) fn serve_by(&self, call: impl Fn(Duty) -> io::Result<()> + Send + Sync + 'static) {
        let _ = self.call.set(Box::new(call));
    }

    pub(crate) fn is_raised(&self, signal: Signal) -> bool {
        self.raised[signal as usize].load(Ordering::Acquire)
    }

    pub(crate) fn take(&self, signal: Signal) -> bool {
        self.raised[signal as usize].swap(false, Ordering::AcqRel)
    }

    pub(crate) fn stop(&self) {
        let _served = self.served.lock();
        self.stop.store(true, Ordering::Release);
        self.changed.iter().for_each(Condvar::notify_all);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Sleeps until one of the signals is raised, all of which are for the caller's duty, or for at most so long. False: none is, and
    /// he would wait for ever. He is to leave; when one is raised another thread comes.
    #[must_use]
    pub(crate) fn wait(&self, signals: &[Signal], longest: Option<Duration>) -> bool {
        let mut served = self.served.lock();
        if self.stopped() || signals.iter().any(|&signal| self.is_raised(signal)) {
            return true;
        }
        let duty = signals[0].duty() as usize;
        match longest {
            Some(longest) => drop(self.changed[duty].wait_for(served, longest)),
            None => served[duty] = false,
        }
        longest.is_some()
    }
}
