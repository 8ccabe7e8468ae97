//! The background's duties of one database: each is done on a thread of the host's, which comes when there is something to do
//! ([`Host::serve`](crate::Host::serve)) and goes when there is nothing. A database that nobody uses has none.
//!
//! What must hold:
//! - Of one duty one thread is at work at a time (`Signals`), but of reading ahead several (`Fetches`). What a duty remembers from one
//!   time to the next is here.
//! - Who ends the duties waits for the threads of this database, and no others; afterwards none begins, and none has the engine. One
//!   that comes to be the last to use the database closes it itself, and does not wait for itself.
//! - A panic in background work makes the database read-only.

use std::io;
use std::sync::{Arc, Weak};

use super::background::{HouseKept, LogKept};
use crate::engine::{Duty, Engine};
use crate::sync::{Condvar, Mutex};

#[cfg(not(any(cairn_shuttle, cairn_loom)))]
use crate::seam::{ThreadId, this_thread};

#[cfg(any(cairn_shuttle, cairn_loom))]
use models::{ThreadId, this_thread};

#[cfg(any(cairn_shuttle, cairn_loom))]
mod models {
    pub(super) use crate::sync::thread::ThreadId;

    pub(super) fn this_thread() -> ThreadId {
        crate::sync::thread::current().id()
    }
}

/// See the module.
pub(super) struct Duties {
    engine: Weak<Engine>,
    threads: Mutex<Threads>,
    over: Condvar,
    pub(super) log: Mutex<LogKept>,
    pub(super) house: Mutex<HouseKept>,
}

#[derive(Default)]
struct Threads {
    is_over: bool,
    at_work: Vec<ThreadId>,
}

impl Duties {
    pub(super) fn of(engine: &Arc<Engine>) -> Arc<Duties> {
        Arc::new(Duties {
            engine: Arc::downgrade(engine),
            threads: Mutex::default(),
            over: Condvar::new(),
            log: Mutex::default(),
            house: Mutex::default(),
        })
    }

    /// Has a thread come for a duty that nobody is at.
    pub(super) fn begin(self: &Arc<Duties>, duty: Duty) -> io::Result<()> {
        let Some(engine) = self.engine.upgrade() else { return Ok(()) };
        let duties = self.clone();
        engine.env.host.serve(Box::new(move || duties.perform(duty)))
    }

    fn perform(self: Arc<Duties>, duty: Duty) {
        let Some(_at_work) = AtWork::arrive(&self) else { return };
        // The engine goes before that does.
        if let Some(engine) = self.engine.upgrade() {
            // Without that one, who reads reads for himself.
            let poison = (duty != Duty::Fetch).then(|| PoisonOnPanic(&engine, duty));
            super::background::perform(duty, &engine, &self);
            std::mem::forget(poison);
        }
    }

    /// No thread is at work any more, but maybe the caller. (One that is still to come does nothing: it is not waited for, as it may
    /// stand in line behind the caller.)
    pub(super) fn end(&self) {
        let caller = this_thread();
        let mut threads = self.threads.lock();
        threads.is_over = true;
        while threads.at_work.iter().any(|thread| *thread != caller) {
            threads = self.over.wait(threads);
        }
    }
}

/// A thread at work.
struct AtWork(Arc<Duties>, ThreadId);

impl AtWork {
    /// None where it is over.
    fn arrive(duties: &Arc<Duties>) -> Option<AtWork> {
        let mut threads = duties.threads.lock();
        if threads.is_over {
            return None;
        }
        threads.at_work.push(this_thread());
        Some(AtWork(duties.clone(), this_thread()))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut threads = self.0.threads.lock();
        if let Some(at) = threads.at_work.iter().position(|thread| *thread == self.1) {
            threads.at_work.swap_remove(at);
        }
        drop(threads);
        self.0.over.notify_all();
    }
}

struct PoisonOnPanic<'a>(&'a Engine, Duty);

impl Drop for PoisonOnPanic<'_> {
    fn drop(&mut self) {
        self.0.publisher.life.fail(format!("the background work on {} panicked", self.1.name()));
        self.0.tickets.wake_all();
    }
}
