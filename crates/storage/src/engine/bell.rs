//! Wakes those who wait for commits of some kind.
//!
//! What must hold:
//! - Where nobody listens, who rings looks at one word.
//! - Who listens, then asks how often the bell was rung, then looks for what he waits for, and then waits for it to be rung
//!   again, misses nothing: it is rung after what it is rung for can be seen.

use std::task::Waker;
use std::time::Duration;

use crate::sync::{AtomicU32, Condvar, Mutex, Ordering};

/// See the module.
#[derive(Debug)]
pub(crate) struct Bell {
    listeners: AtomicU32,
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    times: u64,
    /// Of tasks, each woken once.
    wakers: Vec<Waker>,
}

impl Default for Bell {
    fn default() -> Bell {
        Bell { listeners: AtomicU32::new(0), state: Mutex::default(), rung: Condvar::new() }
    }
}

impl Bell {
    /// One more listens.
    pub(crate) fn listen(&self) {
        self.listeners.fetch_add(1, Ordering::SeqCst);
    }

    /// One fewer.
    pub(crate) fn leave(&self) {
        self.listeners.fetch_sub(1, Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.listeners.load(Ordering::SeqCst) > 0
    }

    #[inline]
    pub(crate) fn ring(&self) {
        if self.is_on() {
            self.wake_all();
        }
    }

    #[cold]
    fn wake_all(&self) {
        let mut state = self.state.lock();
        state.times += 1;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.rung.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// How often it was rung for somebody.
    pub(crate) fn times(&self) -> u64 {
        self.state.lock().times
    }

    /// Sleeps until it is rung more often than `times`, for at most so long, or (rarely) for no reason.
    pub(crate) fn wait(&self, times: u64, longest: Option<Duration>) {
        let state = self.state.lock();
        if state.times == times {
            drop(match longest {
                Some(longest) => self.rung.wait_for(state, longest),
                None => self.rung.wait(state),
            });
        }
    }

    /// Has the waker woken when it is rung more often than `times`; false if it was.
    pub(crate) fn wake(&self, times: u64, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        if state.times != times {
            return false;
        }
        if !state.wakers.iter().any(|known| known.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
        true
    }
}
