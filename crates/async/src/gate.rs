//! A bounded number of places, for which tasks wait.
//!
//! What must hold: a place that comes free wakes one who waits, and if he is no longer there, or could not be woken, the next.
//! (What [wakers](Wakers) ask for holds, too.)

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use cairndb::Result;

use crate::error::{closed, full};
use cairndb::internals::{Wakers, wake_caught};

/// See the module.
pub(crate) struct Gate(Mutex<Places>);

struct Places {
    free: usize,
    is_closed: bool,
    waiting: Wakers,
}

impl Gate {
    pub(crate) fn new(places: usize) -> Arc<Gate> {
        Arc::new(Gate(Mutex::new(Places { free: places, is_closed: false, waiting: Wakers::default() })))
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place.
    pub(crate) fn enter(self: &Arc<Gate>) -> Enter {
        Enter { gate: self.clone(), id: None }
    }

    /// A place, if there is one that nobody waits for; SQLSTATE 53300 otherwise.
    pub(crate) fn enter_now(self: &Arc<Gate>) -> Result<Place> {
        let mut places = self.places();
        if places.is_closed {
            return Err(closed());
        }
        places.free = places.free.checked_sub(1).ok_or_else(full)?;
        Ok(Place(self.clone()))
    }

    /// Nobody gets a place any more.
    pub(crate) fn close(&self) {
        let mut places = self.places();
        places.is_closed = true;
        let all = places.waiting.take_all();
        drop(places);
        for waker in all {
            wake_caught(waker);
        }
    }

    /// Wakes the first who waits, if there is a place.
    fn wake_one<'a>(&'a self, mut places: MutexGuard<'a, Places>) {
        while places.free > 0
            && let Some(first) = places.waiting.take_first()
        {
            drop(places);
            if wake_caught(first) {
                return;
            }
            places = self.places();
        }
    }
}

/// A place; dropping it gives it back.
pub(crate) struct Place(Arc<Gate>);

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.0.places();
        places.free += 1;
        self.0.wake_one(places);
    }
}

/// From [`Gate::enter`].
pub(crate) struct Enter {
    gate: Arc<Gate>,
    /// Once it waits.
    id: Option<u64>,
}

impl Future for Enter {
    type Output = Result<Place>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Place>> {
        let (gate, waker) = (self.gate.clone(), context.waker().clone());
        let mut places = gate.places();
        if places.is_closed {
            return Poll::Ready(Err(closed()));
        }
        if places.free > 0 {
            places.free -= 1;
            let before = self.id.take().and_then(|id| places.waiting.take(id));
            drop(places);
            let place = Place(gate);
            drop(before);
            return Poll::Ready(Ok(place));
        }
        let before = places.waiting.put(&mut self.id, waker);
        drop(places);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut places = self.gate.places();
        match places.waiting.take(id) {
            Some(waker) => {
                drop(places);
                drop(waker);
            }
            // He was woken for a place that he does not take: it is the next one's.
            None => self.gate.wake_one(places),
        }
    }
}
