//! Wakers of those who wait for something, by their places, in the order in which they came.
//!
//! What must hold: wakers are others' code. They are copied, woken and dropped while nothing is locked, so whatever takes one out
//! hands it to the caller; one that panics harms nobody else; none stays when who waited has gone.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

use crate::broken::{self, Broken};

/// Those who wait, in the order in which they came.
///
/// Wakers are others' code. Nothing here runs it: what is taken out is the caller's to [wake](wake_caught) or to drop, with nothing
/// locked, and nothing stays when who waited has said that he does so no more.
#[derive(Debug, Default)]
pub struct Wakers {
    /// The last place that was given to somebody.
    last: u64,
    waiting: BTreeMap<u64, Waker>,
}

impl Wakers {
    /// Returns the one before. `place`: of who waits, once he has one.
    #[must_use]
    pub fn put(&mut self, place: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let place = *place.get_or_insert_with(|| {
            self.last += 1;
            self.last
        });
        self.waiting.insert(place, waker)
    }

    /// Nobody waits there any more.
    #[must_use]
    pub fn take(&mut self, place: u64) -> Option<Waker> {
        self.waiting.remove(&place)
    }

    /// Who has waited for longest.
    #[must_use]
    pub fn take_first(&mut self) -> Option<Waker> {
        self.waiting.pop_first().map(|(_, waker)| waker)
    }

    /// All of them, the longest waiting first: nobody waits any more.
    pub fn take_all(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.waiting).into_values()
    }
}

/// Wakes; what a waker does wrong is nothing to who wakes it. False: it panicked, and may have woken nobody.
pub fn wake_caught(waker: Waker) -> bool {
    if broken::is(Broken::WakersSpread) {
        waker.wake();
        return true;
    }
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) else { return true };
    // What a panic carries is others' code, too.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(panic);
    }
    false
}

/// [Wakes](wake_caught) all of these, whatever some of them do.
pub fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(|waker| {
        wake_caught(waker);
    });
}
