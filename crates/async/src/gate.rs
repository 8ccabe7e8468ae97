//! A bounded number of places, for which tasks wait.
//!
//! What must hold: a place that comes free wakes one who waits, and if he is no longer there, the next.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use cairndb::Result;

use crate::error::closed;

/// See the module.
pub(crate) struct Gate(Mutex<Places>);

struct Places {
    free: usize,
    is_closed: bool,
    serial: u64,
    /// In the order in which they came.
    waiting: BTreeMap<u64, Waker>,
}

impl Gate {
    pub(crate) fn new(places: usize) -> Arc<Gate> {
        let waiting = BTreeMap::new();
        Arc::new(Gate(Mutex::new(Places { free: places, is_closed: false, serial: 0, waiting })))
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place.
    pub(crate) fn enter(self: &Arc<Gate>) -> Enter {
        Enter { gate: self.clone(), id: None }
    }

    /// Nobody gets a place any more.
    pub(crate) fn close(&self) {
        let mut places = self.places();
        places.is_closed = true;
        let all = std::mem::take(&mut places.waiting);
        drop(places);
        all.into_values().for_each(Waker::wake);
    }

    /// Wakes the first who waits, if there is a place.
    fn wake_one(&self, mut places: MutexGuard<'_, Places>) {
        let first = if places.free > 0 { places.waiting.pop_first() } else { None };
        drop(places);
        if let Some((_, waker)) = first {
            waker.wake();
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
        let gate = self.gate.clone();
        let mut places = gate.places();
        if places.is_closed {
            return Poll::Ready(Err(closed()));
        }
        if places.free > 0 {
            places.free -= 1;
            if let Some(id) = self.id.take() {
                places.waiting.remove(&id);
            }
            return Poll::Ready(Ok(Place(self.gate.clone())));
        }
        let id = *self.id.get_or_insert_with(|| {
            places.serial += 1;
            places.serial
        });
        places.waiting.insert(id, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut places = self.gate.places();
        // He was woken for a place that he does not take: it is the next one's.
        if places.waiting.remove(&id).is_none() {
            self.gate.wake_one(places);
        }
    }
}
