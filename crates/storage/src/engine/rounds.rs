//! Which checkpoint somebody waits for: one that runs already may have begun too early to free anything for him.
//!
//! What must hold: a checkpoint has its number before it looks at anything, under the checkpoint's lock, and is over when nothing
//! of it is left to do, however it went. Who waits does not hold that lock, and can give up.

use std::time::Duration;

use crate::sync::{Condvar, Mutex};
use crate::{Error, Result};

#[derive(Debug, Default)]
pub(crate) struct Rounds {
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The last that was begun.
    begun: u64,
    /// The last that is over, and the last that did what it was to.
    over: u64,
    done: u64,
    /// How the last failed that did not.
    failure: Option<Error>,
    /// Whether there is a thread that makes checkpoints when it is asked.
    is_served: bool,
}

impl Rounds {
    /// A thread makes checkpoints from now on, or does no more.
    pub(crate) fn serve(&self, is_served: bool) {
        self.state.lock().is_served = is_served;
    }

    /// The number of the first that begins after this; `None`: nobody makes any.
    pub(crate) fn next(&self) -> Option<u64> {
        let state = self.state.lock();
        state.is_served.then_some(state.begun + 1)
    }

    /// Under the checkpoint's lock.
    pub(crate) fn begin(&self) {
        self.state.lock().begun += 1;
    }

    /// Under the checkpoint's lock.
    pub(crate) fn end(&self, outcome: &Result<()>) {
        let mut state = self.state.lock();
        state.over = state.begun;
        match outcome {
            Ok(()) => state.done = state.begun,
            Err(error) => state.failure = Some(error.clone()),
        }
        drop(state);
        self.over.notify_all();
    }

    /// What came of this one, or of one after it; waits for it for so long. `None`: it is not over.
    pub(crate) fn outcome(&self, number: u64, longest: Duration) -> Option<Result<()>> {
        let mut state = self.state.lock();
        if state.over < number {
            state = self.over.wait_for(state, longest);
        }
        match (state.over >= number, state.done >= number) {
            (false, _) => None,
            (true, true) => Some(Ok(())),
            (true, false) => state.failure.clone().map(Err),
        }
    }
}
