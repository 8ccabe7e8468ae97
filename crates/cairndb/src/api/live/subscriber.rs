//! What a live query has for one who watches it, and has not told yet.
//!
//! What must hold: what is kept is the first result until it is taken, and the net change since (or since what was taken last),
//! so it is never more than twice what the result was and is;
//! whoever brings changes waits for nobody who takes them.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::result::{RowBytes, Weights};
use crate::Error;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Subscriber {
    pending: Mutex<Pending>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    /// The whole result as it was at a position, until it was taken.
    first: Option<(Arc<[RowBytes]>, u64)>,
    /// What changed since, or since what was taken last.
    change: Weights,
    position: u64,
    ended: Option<End>,
    /// Nobody takes anything any more.
    is_gone: bool,
    waker: Option<Waker>,
}

/// Why there are no more changes.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// The database was closed.
    Closed,
    Failed(Error),
}

/// What is taken at once.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) is_first: bool,
    pub(super) added: Vec<RowBytes>,
    pub(super) removed: Vec<RowBytes>,
    pub(super) position: u64,
}

impl Subscriber {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, rows: Vec<RowBytes>, position: u64) {
        self.put(|pending| {
            pending.first = Some((rows.into(), position));
            pending.position = position;
        });
    }

    pub(super) fn change(&self, change: &Weights, position: u64) {
        self.put(|pending| {
            pending.change.append(change);
            pending.position = position;
        });
    }

    pub(super) fn end(&self, end: End) {
        self.put(|pending| {
            pending.ended.get_or_insert(end);
        });
    }

    fn put(&self, put: impl FnOnce(&mut Pending)) {
        let mut pending = self.pending();
        put(&mut pending);
        let waker = pending.waker.take();
        drop(pending);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Nobody takes anything any more.
    pub(super) fn leave(&self) {
        let mut pending = self.pending();
        *pending = Pending { is_gone: true, ..Pending::default() };
    }

    /// The position of what was told last, taken or not; `None`: there is nothing more to come.
    pub(super) fn told(&self) -> Option<u64> {
        let pending = self.pending();
        pending.ended.is_none().then_some(pending.position)
    }

    pub(super) fn is_gone(&self) -> bool {
        self.pending().is_gone
    }

    /// What there is, waiting for it until then; `None`: there is nothing.
    pub(super) fn take(&self, until: Option<Instant>) -> Result<Option<Taken>, End> {
        let mut pending = self.pending();
        loop {
            if let Some(taken) = pending.take()? {
                return Ok(Some(taken));
            }
            pending = match until {
                None => self.changed.wait(pending).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left == Duration::ZERO {
                        return Ok(None);
                    }
                    self.changed.wait_timeout(pending, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// What there is; else the waker is woken when there is something.
    pub(super) fn poll(&self, waker: &Waker) -> Result<Option<Taken>, End> {
        let mut pending = self.pending();
        let taken = pending.take()?;
        if taken.is_none() {
            pending.waker = Some(waker.clone());
        }
        Ok(taken)
    }
}

impl Pending {
    fn take(&mut self) -> Result<Option<Taken>, End> {
        if let Some((first, position)) = self.first.take() {
            return Ok(Some(Taken { is_first: true, added: first.to_vec(), removed: Vec::new(), position }));
        }
        let position = self.position;
        if !self.change.is_empty() {
            let change = std::mem::take(&mut self.change);
            let (mut added, mut removed) = (Vec::new(), Vec::new());
            for (row, weight) in change.in_order() {
                let into = if weight > 0 { &mut added } else { &mut removed };
                into.extend((0..weight.unsigned_abs()).map(|_| row.clone()));
            }
            return Ok(Some(Taken { is_first: false, added, removed, position }));
        }
        match &self.ended {
            Some(end) => Err(end.clone()),
            None => Ok(None),
        }
    }
}
