//! What a live query has for one who watches it, and has not told yet.
//!
//! What must hold: what is kept is the first result until it is taken, and the net change since (or since what was taken last),
//! so it is never more than twice what the result was and is;
//! whoever brings changes waits for nobody who takes them. (What [wakers](cairn_storage::Wakers) ask for holds, too.)

use std::sync::{Arc, LazyLock};
use std::task::Waker;
use std::time::{Duration, Instant};

use cairn_storage::{Process, wake_all};

use super::result::{RowBytes, Weights};
use crate::Error;
use crate::sync::{self, Condvar, Mutex, MutexGuard};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Subscriber {
    pending: Mutex<Pending>,
    changed: Condvar,
    /// Where it is told something.
    pub(super) process: Process,
}

#[derive(Debug, Default)]
struct Pending {
    /// The whole result as it was at a position, until it was taken.
    first: Option<(Arc<[RowBytes]>, u64)>,
    /// What changed since, or since what was taken last; shared with others who were told the same.
    change: Arc<Weights>,
    position: u64,
    /// The position of what was taken last.
    taken: u64,
    ended: Option<End>,
    /// Nobody takes anything any more.
    is_gone: bool,
    /// Who waits: threads, and a task.
    waiting: usize,
    waker: Option<Waker>,
}

/// Why there are no more changes.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// The database was closed, or who watched it does so no more.
    Closed,
    Failed(Error),
}

/// What several who are told the same have after it who had the same before: they go on sharing it.
#[derive(Default)]
pub(super) struct Together(Option<(Arc<Weights>, Arc<Weights>)>);

impl Together {
    fn append(&mut self, pending: &mut Arc<Weights>, change: &Weights) {
        match &self.0 {
            Some((before, after)) if Arc::ptr_eq(before, pending) => *pending = after.clone(),
            _ => {
                let before = (Arc::strong_count(pending) > 1).then(|| pending.clone());
                Arc::make_mut(pending).append(change);
                if let Some(before) = before {
                    self.0 = Some((before, pending.clone()));
                }
            }
        }
    }
}

/// So that taking allocates nothing.
static NO_CHANGE: LazyLock<Arc<Weights>> = LazyLock::new(Arc::default);

/// What is taken at once.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) rows: TakenRows,
    pub(super) position: u64,
}

#[derive(Debug)]
pub(super) enum TakenRows {
    /// The whole result, in the query's order.
    First(Arc<[RowBytes]>),
    Change(Arc<Weights>),
}

impl Subscriber {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock()
    }

    /// Before anybody waits.
    pub(super) fn begin(&self, rows: Vec<RowBytes>, position: u64) {
        let mut pending = self.pending();
        pending.first = Some((rows.into(), position));
        pending.position = position;
    }

    /// Whether somebody waits for it, and has to be [woken](Subscriber::wake). `None`: nobody takes anything any more.
    #[must_use]
    pub(super) fn change(&self, change: &Arc<Weights>, position: u64, together: &mut Together) -> Option<bool> {
        let mut pending = self.pending();
        if pending.is_gone {
            return None;
        }
        match pending.change.is_empty() {
            true => pending.change = change.clone(),
            false => together.append(&mut pending.change, change),
        }
        pending.position = position;
        Some(pending.waiting > 0 || pending.waker.is_some())
    }

    pub(super) fn end(&self, end: End) {
        self.pending().ended.get_or_insert(end);
        self.wake();
    }

    pub(super) fn wake(&self) {
        let mut pending = self.pending();
        let (waiting, waker) = (pending.waiting, pending.waker.take());
        drop(pending);
        if waiting > 0 {
            self.changed.notify_all();
        }
        wake_all(waker);
    }

    /// Nobody takes anything any more.
    pub(super) fn leave(&self) {
        let mut pending = self.pending();
        let gone = Pending { is_gone: true, ended: pending.ended.take(), ..Pending::default() };
        let left = std::mem::replace(&mut *pending, gone);
        drop(pending);
        drop(left);
    }

    /// The position of what was told last, taken or not, unless that came to nothing; `None`: there is nothing more to come.
    pub(super) fn told(&self) -> Option<u64> {
        let pending = self.pending();
        let is_all_taken = pending.first.is_none() && pending.change.is_empty();
        pending.ended.is_none().then_some(if is_all_taken { pending.taken } else { pending.position })
    }

    /// What there is, waiting for it until then; `None`: there is nothing.
    pub(super) fn take(&self, until: Option<Instant>) -> Result<Option<Taken>, End> {
        let mut pending = self.pending();
        loop {
            if let Some(taken) = pending.take()? {
                return Ok(Some(taken));
            }
            let left = until.map(|until| until.saturating_duration_since(sync::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            pending.waiting += 1;
            pending = match left {
                None => self.changed.wait(pending),
                Some(left) => self.changed.wait_for(pending, left),
            };
            pending.waiting = pending.waiting.saturating_sub(1);
        }
    }

    /// What there is; else the waker is woken when there is something.
    pub(super) fn poll(&self, waker: &Waker) -> Result<Option<Taken>, End> {
        let waker = waker.clone();
        let mut pending = self.pending();
        let taken = pending.take()?;
        if taken.is_none() {
            let before = pending.waker.replace(waker);
            drop(pending);
            drop(before);
        }
        Ok(taken)
    }
}

impl Pending {
    fn take(&mut self) -> Result<Option<Taken>, End> {
        if let Some((first, position)) = self.first.take() {
            self.taken = position;
            return Ok(Some(Taken { rows: TakenRows::First(first), position }));
        }
        let position = self.position;
        if !self.change.is_empty() {
            self.taken = position;
            let rows = TakenRows::Change(std::mem::replace(&mut self.change, NO_CHANGE.clone()));
            return Ok(Some(Taken { rows, position }));
        }
        match &self.ended {
            Some(end) => Err(end.clone()),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_have_taken_nothing_share_what_they_have_not_taken() {
        let change = |byte: u8| {
            let mut change = Weights::default();
            change.add(RowBytes::from(&[byte][..]), 1);
            Arc::new(change)
        };
        let all = [Subscriber::default(), Subscriber::default(), Subscriber::default()];
        for (position, byte) in (100..).zip([1, 2, 3]) {
            let (change, mut together) = (change(byte), Together::default());
            for subscriber in &all {
                assert_eq!(subscriber.change(&change, position, &mut together), Some(false));
            }
        }
        let pending: Vec<Arc<Weights>> = all.iter().map(|subscriber| subscriber.pending().change.clone()).collect();
        assert!(pending.windows(2).all(|two| Arc::ptr_eq(&two[0], &two[1])));
        assert_eq!(pending[0].in_order().count(), 3);
    }

    #[test]
    fn what_came_to_nothing_before_it_was_taken_was_not_told() {
        let row = RowBytes::from(&b"row"[..]);
        let weight = |weight| {
            let mut change = Weights::default();
            change.add(row.clone(), weight);
            Arc::new(change)
        };
        let subscriber = Subscriber::default();
        subscriber.begin(vec![], 100);
        assert_eq!(subscriber.told(), Some(100));
        assert!(
            subscriber
                .take(None)
                .is_ok_and(|taken| taken.is_some_and(|taken| matches!(taken.rows, TakenRows::First(_))))
        );
        assert_eq!(subscriber.change(&weight(1), 200, &mut Together::default()), Some(false));
        assert_eq!(subscriber.told(), Some(200));
        assert_eq!(subscriber.change(&weight(-1), 300, &mut Together::default()), Some(false));
        assert_eq!(subscriber.told(), Some(100));
        assert_eq!(subscriber.change(&weight(1), 400, &mut Together::default()), Some(false));
        assert!(subscriber.take(None).is_ok_and(|taken| taken.is_some_and(|taken| taken.position == 400)));
        assert_eq!(subscriber.told(), Some(400));
    }
}
