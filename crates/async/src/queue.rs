//! What the workers are to do, in the order in which it came.
//!
//! Whoever puts something here has a place for it ([`Gate`](crate::gate::Gate)), so it does not grow beyond that; but for what
//! transactions leave to be undone, one each.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::worker::Worker;

/// Something to do.
pub(crate) type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// See the module.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job behind the others; gives it back where the workers are about to end.
    pub(crate) fn put(&self, job: Job) -> Result<(), Job> {
        let mut state = self.state();
        if state.is_closed {
            return Err(job);
        }
        state.jobs.push_back(job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for a job; `None`: all are done, and there will be none.
    pub(crate) fn take(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Accepts no more; what there is will be done.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }
}
