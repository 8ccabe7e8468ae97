//! Transactions that free pages, in a database that is as full as it may be (`max_pages`).
//!
//! Copy on write takes pages before it gives any back: who deletes, empties or drops something may take ids that are kept for
//! that (`page/supply.rs`), where it finds no others. What deletes an entry is known for what it is; of what belongs to it (a
//! table's entry in the catalog, a count) the caller says so ([`Transaction::free_pages`](super::Transaction::free_pages)).

use super::parts::patiently;
use super::state::State;
use crate::broken::{self, Broken};
use crate::engine::{Engine, GivesUp, Op, Ops};
use crate::page::SlotId;
use crate::tree::TreeEdit;
use crate::{Error, Result};

/// What of a transaction frees pages.
#[derive(Debug, Default)]
pub(super) struct Freeing {
    /// From where on in its operations it does now.
    from: Option<u64>,
    /// How many bytes of them, from the first on, do.
    until: u64,
}

impl State {
    /// See [`Transaction::free_pages`](super::Transaction::free_pages).
    pub(super) fn free_pages(&mut self, begins: bool) {
        let length = self.ops.length();
        let Freeing { from, until } = &mut self.freeing;
        *until = (*until).min(length);
        match (begins, *from) {
            (true, None) => *from = Some(length),
            (false, Some(began)) => {
                if began <= *until {
                    *until = length;
                }
                *from = None;
            }
            _ => {}
        }
    }

    /// Whether all that it did frees pages.
    pub(super) fn only_frees(&self) -> bool {
        let Freeing { from, until } = self.freeing;
        let until = if from.is_some_and(|from| from <= until) { self.ops.length() } else { until };
        let is_deletion = |op| matches!(op, Ok(Op::Delete { .. } | Op::Drop { .. }));
        until >= self.ops.length() || (self.ops.sent() == 0 && Ops::new(self.ops.bytes()).all(is_deletion))
    }

    /// Whether what is done now does.
    pub(super) fn is_freeing(&self) -> bool {
        self.freeing.from.is_some()
    }

    /// Runs a change that found no page id again: once the next checkpoint has let go of what the last one had, and then,
    /// where it frees pages, with the ids that are kept for that.
    #[cold]
    pub(super) fn change_when_full(
        &mut self,
        engine: &Engine,
        slot: SlotId,
        at: usize,
        frees: bool,
        run: &mut dyn FnMut(&mut TreeEdit<'_>) -> Result<()>,
    ) -> Result<()> {
        if !broken::is(Broken::FullForGood) {
            patiently(self.parts.patience(), |gives_up| engine.look_for_pages(gives_up))?;
        }
        let mut change = |state: &mut State| {
            let pages = &engine.pages;
            engine.with_pages(slot, |pin| run(&mut state.edit(at, pages, pin)))
        };
        match change(self) {
            Err(error) if frees && error.is_of_pages() => {
                self.trees[at].created.frees = true;
                let changed = change(self);
                self.trees[at].created.frees = false;
                changed
            }
            changed => changed,
        }
    }
}

impl Engine {
    /// Frees what can be freed: pages of what was dropped, and what only the newest checkpoint has. Not under the commit lock.
    /// Fails only for who has given up meanwhile.
    #[cold]
    pub(crate) fn look_for_pages(&self, gives_up: GivesUp<'_>) -> Result<()> {
        // If there is no room for a checkpoint either, whoever needs pages is told.
        let only_given_up = |done: Result<()>| {
            done.or_else(|error| match error {
                Error::GivenUp => Err(error),
                _ => Ok(()),
            })
        };
        only_given_up(self.work_off_drops_for(gives_up))?;
        only_given_up(self.wait_for_checkpoint(1, gives_up))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, Store, TreeId};

    #[test]
    fn a_transaction_frees_as_long_as_nothing_else_was_done() {
        let store = Store::open_in_memory(Options::default()).unwrap();
        let transaction = store.begin().unwrap();
        let only_frees = || transaction.private.lock().unwrap().only_frees();
        transaction.free_pages(true).unwrap();
        transaction.put(TreeId::CATALOG, b"a", b"1").unwrap();
        assert!(only_frees());
        transaction.free_pages(false).unwrap();
        assert!(only_frees());
        transaction.free_pages(true).unwrap();
        transaction.put(TreeId::CATALOG, b"b", b"1").unwrap();
        transaction.free_pages(false).unwrap();
        assert!(only_frees());
        let savepoint = transaction.savepoint().unwrap();
        transaction.put(TreeId::CATALOG, b"c", b"1").unwrap();
        assert!(!only_frees());
        transaction.free_pages(true).unwrap();
        transaction.put(TreeId::CATALOG, b"d", b"1").unwrap();
        assert!(!only_frees());
        transaction.rollback_to(&savepoint).unwrap();
        assert!(only_frees());
    }
}
