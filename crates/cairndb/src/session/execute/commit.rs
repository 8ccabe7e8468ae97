//! How a statement's transaction begins and commits: for as long as the statement may wait, and again where another got in its way.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cairn_storage::{self as storage, Durability, Losses};

use crate::catalog::{Catalog, Index};
use crate::clock::check_statement;
use crate::inverted::settle;
use crate::session::Session;
use crate::session::control::sole;
use crate::state::Transaction;
use crate::sync;
use crate::{Error, Result, SqlState};

/// How often a statement on its own runs before its conflict is the caller's problem.
const ATTEMPTS: u32 = 100;

/// SQLSTATE 40001 in PostgreSQL's words; other errors as they are.
pub(crate) fn conflict(error: storage::Error) -> Error {
    match error {
        storage::Error::Conflict => {
            let message = "could not serialize access due to concurrent update";
            Error::new(SqlState::SERIALIZATION_FAILURE, message).with_hint("The transaction might succeed if retried.")
        }
        error => error.into(),
    }
}

/// Runs `work` until it does not end in a conflict, a bounded number of times.
pub(crate) fn retry<T>(mut work: impl FnMut() -> Result<T>) -> Result<T> {
    for attempt in 1..ATTEMPTS {
        match work() {
            Err(error) if error.sqlstate() == SqlState::SERIALIZATION_FAILURE => back_off(attempt),
            done => return done,
        }
    }
    work()
}

/// The more often a statement lost, the longer it leaves the field to the others.
fn back_off(attempt: u32) {
    match attempt {
        0..4 => sync::yield_now(),
        _ => sync::sleep(std::time::Duration::from_micros(u64::from(attempt) * 20)),
    }
}

impl Session {
    /// Begins a transaction, which may have to wait for its turn where it lost often, and for room in the log: for as long as the
    /// statement may.
    pub(in crate::session) fn begin_in_time(&self, lost: &Losses, deadline: Option<Instant>) -> Result<Transaction> {
        // Of a statement that failed, or runs again.
        self.channels().forget();
        let in_time = || check_statement(&self.interrupt, deadline);
        let tx = self.shared().store.begin_patiently(lost, self.channels().clone(), &|| in_time().is_err())?;
        if lost.times() > 0 {
            in_time()?;
        }
        self.with_temporary(tx)
    }

    /// Commits a transaction, which may have to wait for another's turn: for as long as the statement may.
    pub(in crate::session) fn commit_in_time(
        &self,
        tx: Transaction,
        durability: Option<Durability>,
        lost: &mut Losses,
        deadline: Option<Instant>,
    ) -> Result<()> {
        let in_time = || check_statement(&self.interrupt, deadline);
        let gives_up = || in_time().is_err();
        let mut telling = self.channels().telling();
        let committed = match self.pipelines.get() {
            // What it tells is told once it is acknowledged: that is waited for.
            _ if let Some(telling) = &mut telling => {
                tx.commit_in_order(durability, lost, &gives_up, &mut |position| telling.appended(position))
            }
            true => tx.commit_async_or_note(durability, lost, &gives_up).map(|(position, ticket)| {
                self.pending.set(ticket);
                position
            }),
            false => tx.commit_or_note(durability, lost, &gives_up),
        };
        match committed {
            Err(error @ storage::Error::GivenUp) => in_time().and(Err(error.into())),
            done => {
                let position = done.map_err(conflict)?;
                self.committed.set(position.unwrap_or(self.committed.get()));
                telling.into_iter().for_each(|telling| telling.acknowledged(position));
                self.channels().locks.go_back(0);
                match self.routines.views.swap(false, Ordering::Relaxed) {
                    true => self.shared().follow_views(),
                    false => Ok(()),
                }
            }
        }
    }

    /// Commits a statement's own transaction.
    pub(super) fn commit_alone(
        &self,
        tx: Arc<Transaction>,
        catalog: &Catalog,
        waiting: (&mut Losses, Option<Instant>),
    ) -> Result<()> {
        self.end_cursors_of_statement();
        self.commit_own(tx, waiting)?;
        self.settle_indexes(catalog.inverted_indexes());
        Ok(())
    }

    /// Commits a transaction that is not the user's.
    pub(in crate::session) fn commit_own(
        &self,
        tx: Arc<Transaction>,
        (lost, deadline): (&mut Losses, Option<Instant>),
    ) -> Result<()> {
        self.before_commit(&tx)?;
        let durability = self.state.borrow().settings.durability;
        let committed = self.commit_in_time(sole(tx)?, durability, lost, deadline);
        self.state.borrow_mut().see_temporary()?;
        committed
    }

    /// Puts in order those inverted indexes of which much was changed. What goes wrong with that goes wrong again with whoever
    /// comes next; the statement is done.
    #[inline]
    pub(in crate::session) fn settle_indexes(&self, indexes: &[Arc<Index>]) {
        for index in indexes {
            if index.inverted.as_ref().is_some_and(|inverted| inverted.unsettled.take_due()) {
                let _ = settle(&self.shared().store, index.tree, &|| self.interrupt.load(Ordering::Relaxed));
            }
        }
    }
}
