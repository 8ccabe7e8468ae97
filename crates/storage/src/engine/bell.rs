//! Wakes those who wait for commits of some kind.
//!
//! What must hold:
//! - Where nobody listens, who rings looks at one word.
//! - Who listens, then asks how often the bell was rung, then looks for what he waits for, and then waits for it to be rung
//!   again, misses nothing: it is rung after what it is rung for can be seen.
//! - Wakers are others' code: they are copied, run and dropped without the lock, one that panics harms nobody else, and none
//!   stays when its listener has gone. Leaving one costs the same however many there are.

use std::task::Waker;
use std::time::Duration;

use crate::Wait;
use crate::broken::{self, Broken};
use crate::sync::{AtomicU32, Condvar, Mutex, Ordering};
use crate::wakers::{self, Wakers};

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
    /// Of tasks, each woken once, by the places of their listeners.
    wakers: Wakers,
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

    /// Nobody waits in this place any more.
    pub(crate) fn forget(&self, place: u64) {
        if broken::is(Broken::WakersKept) {
            return;
        }
        let forgotten = self.state.lock().wakers.take(place);
        // What belongs to a waker ends without the lock.
        drop(forgotten);
    }

    /// One more listens, until this is dropped.
    pub(crate) fn listening(&self) -> Listening<'_> {
        self.listen();
        Listening(self)
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
        let wakers = state.wakers.take_all();
        drop(state);
        self.rung.notify_all();
        wakers::wake_all(wakers);
    }

    /// How often it was rung for somebody.
    pub(crate) fn times(&self) -> u64 {
        self.state.lock().times
    }

    /// Sleeps until it is rung more often than `times`, for at most so long, or (rarely) for no reason.
    pub(crate) fn wait(&self, times: u64, longest: Option<Duration>) {
        let state = self.state.lock();
        if state.times == times {
            drop(Wait::Commits.during(|| match longest {
                Some(longest) => self.rung.wait_for(state, longest),
                None => self.rung.wait(state),
            }));
        }
    }

    /// Has the waker woken when it is rung more often than `times`; false if it was. `place`: the listener's, once it has one.
    pub(crate) fn wake(&self, times: u64, place: &mut Option<u64>, waker: &Waker) -> bool {
        let waker = waker.clone();
        let mut state = self.state.lock();
        if state.times != times {
            // The copy ends behind the lock.
            return false;
        }
        let before = state.wakers.put(place, waker);
        drop(state);
        drop(before);
        true
    }
}

/// From [`Bell::listening`].
pub(crate) struct Listening<'a>(&'a Bell);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::{Wake, Waker};

    use super::Bell;
    use crate::broken::{Broken, must_be_caught};

    /// Counts, or panics.
    #[derive(Default)]
    struct Task {
        woken: AtomicU64,
        panics: bool,
    }

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            assert!(!self.panics, "a waker that panics");
            self.woken.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn wakers_that_panic() {
        let bell = Bell::default();
        bell.listen();
        let tasks = [true, false, true, false].map(|panics| Arc::new(Task { panics, ..Task::default() }));
        for task in &tasks {
            assert!(bell.wake(0, &mut None, &Waker::from(task.clone())));
        }
        bell.ring();
        assert_eq!(tasks.map(|task| task.woken.load(Ordering::SeqCst)), [0, 1, 0, 1]);
        assert!(!bell.wake(0, &mut None, Waker::noop()), "it was rung");
    }

    fn listeners_that_go() {
        let (bell, task) = (Bell::default(), Arc::new(Task::default()));
        bell.listen();
        let waker = Waker::from(task.clone());
        for _ in 0..51_000 {
            let mut place = None;
            // Polled again, it has one waker all the same.
            assert!(bell.wake(0, &mut place, &waker) && bell.wake(0, &mut place, &waker));
            bell.forget(place.expect("a place"));
        }
        assert_eq!(Arc::strong_count(&task), 2, "wakers are kept");
        bell.ring();
        assert_eq!(task.woken.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_waker_that_panics_is_nothing_to_others() {
        wakers_that_panic();
        must_be_caught(Broken::WakersSpread, wakers_that_panic);
    }

    #[test]
    fn no_waker_stays_when_its_listener_goes() {
        listeners_that_go();
        must_be_caught(Broken::WakersKept, listeners_that_go);
    }
}
