//! Who besides a transaction itself sees its private pages: savepoints, and cursors opened on its own changes.
//!
//! Taking a root seals what was made before, under a new stamp: the holder sees pages born before that stamp, and no
//! others. So a page born at or after every holder's stamp is the transaction's alone.

use std::sync::{Arc, Weak};

/// The stamps of those who hold roots.
#[derive(Debug)]
pub(super) struct Holds {
    /// The first stamp of the transaction: everything born before is in the state it began with.
    began: u64,
    /// Ascending. Savepoints that were dropped are dead here.
    savepoints: Vec<(u64, Weak<()>)>,
    cursors: Vec<u64>,
}

/// Kept by a savepoint for as long as it can be rolled back to.
pub(super) type HoldToken = Arc<()>;

impl Holds {
    pub(super) fn new(began: u64) -> Holds {
        Holds { began, savepoints: Vec::new(), cursors: Vec::new() }
    }

    pub(super) fn began(&self) -> u64 {
        self.began
    }

    /// Pages born before this are seen by somebody.
    pub(super) fn seen_before(&mut self) -> u64 {
        while self.savepoints.last().is_some_and(|(_, token)| token.strong_count() == 0) {
            self.savepoints.pop();
        }
        let savepoint = self.savepoints.last().map_or(0, |(stamp, _)| *stamp);
        self.cursors.iter().copied().fold(self.began.max(savepoint), u64::max)
    }

    pub(super) fn savepoint(&mut self, stamp: u64) -> HoldToken {
        let token = Arc::new(());
        self.savepoints.push((stamp, Arc::downgrade(&token)));
        token
    }

    pub(super) fn cursor(&mut self, stamp: u64) {
        self.cursors.push(stamp);
    }

    pub(super) fn let_go(&mut self, stamp: u64) {
        if let Some(at) = self.cursors.iter().position(|&held| held == stamp) {
            self.cursors.swap_remove(at);
        }
    }

    /// Whether a cursor may still look at private pages.
    pub(super) fn any_cursor(&self) -> bool {
        !self.cursors.is_empty()
    }
}
