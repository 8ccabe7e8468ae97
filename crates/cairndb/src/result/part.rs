//! What a result belongs to: the transaction that it was asked for in, or the part of that behind a savepoint.
//!
//! - A result ends with its transaction, however that ends, and with the part of it that ROLLBACK TO takes back: who asks it for
//!   more rows is told (SQLSTATE 34000), whether or not they were worked out. One that was read to its end stays as it is.
//! - RELEASE makes what is behind a savepoint a part of what is before it.
//! - While the transaction is failed no result of it gives rows; those that are older than the savepoint it goes back to do again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result, SqlState};

/// See the module. Shared with the results, which may be with another thread.
#[derive(Debug)]
pub(crate) struct Part {
    is_over: AtomicBool,
    /// Of the whole transaction.
    failed: Arc<AtomicBool>,
    /// What it is a part of; `None`: the whole.
    within: Option<Arc<Part>>,
}

impl Part {
    /// What comes behind a savepoint.
    pub(crate) fn behind(within: &Arc<Part>) -> Part {
        Part { is_over: AtomicBool::new(false), failed: within.failed.clone(), within: Some(within.clone()) }
    }

    /// What it is a part of; a whole is one of itself.
    pub(crate) fn within(self: &Arc<Part>) -> Arc<Part> {
        self.within.as_ref().unwrap_or(self).clone()
    }

    /// It ended, or was taken back.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// An error of one of its results is one of the transaction.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        let mut part = Some(self);
        while let Some(now) = part {
            if now.is_over.load(Ordering::Relaxed) {
                return true;
            }
            part = now.within.as_deref();
        }
        false
    }

    /// SQLSTATE 34000 for a result of what is over, 25P02 for one of a transaction that is failed.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_over() {
            let message = "the result does not exist any more: what it was asked for in has ended";
            let hint = "Read results before COMMIT or ROLLBACK, or declare a cursor WITH HOLD.";
            return Err(Error::new(SqlState::INVALID_CURSOR_NAME, message).with_hint(hint));
        }
        match self.failed.load(Ordering::Relaxed) {
            true => Err(Error::aborted_transaction()),
            false => Ok(()),
        }
    }
}

/// A transaction: it ends when this goes, at the latest.
pub(crate) struct Whole(Arc<Part>);

impl Whole {
    /// One that begins now, with the flag that says whether it failed.
    pub(crate) fn new(failed: &Arc<AtomicBool>) -> Whole {
        Whole(Arc::new(Part { is_over: AtomicBool::new(false), failed: failed.clone(), within: None }))
    }

    /// What the results of its first statements belong to.
    pub(crate) fn part(&self) -> Arc<Part> {
        self.0.clone()
    }

    pub(crate) fn end(&self) {
        self.0.end();
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.end();
    }
}

impl Drop for Part {
    /// One by one, for savepoints may be within each other without end.
    fn drop(&mut self) {
        let mut within = self.within.take();
        while let Some(mut part) = within.and_then(Arc::into_inner) {
            within = part.within.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Part, Whole};

    #[test]
    fn what_is_taken_back_ends_what_is_within_it_and_nothing_around() {
        let transaction = Whole::new(&Arc::default());
        let whole = transaction.part();
        let outer = Arc::new(Part::behind(&whole));
        let inner = Part::behind(&outer);
        outer.end();
        assert!(inner.check().is_err_and(|error| error.sqlstate().as_str() == "34000"));
        assert!(whole.check().is_ok());
        whole.fail();
        assert!(whole.check().is_err_and(|error| error.sqlstate().as_str() == "25P02"));
    }

    #[test]
    fn a_million_within_each_other_can_be_dropped() {
        let mut part = Whole::new(&Arc::default()).part();
        (0..1_000_000).for_each(|_| part = Arc::new(Part::behind(&part)));
        drop(part);
    }
}
