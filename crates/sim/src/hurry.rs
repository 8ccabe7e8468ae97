//! Who does not wait for ever: for room in the log that others have, while he changes something or at his commit.
//!
//! What must hold: who has said that he waits no longer is not asked again; what he waited for fails by that, and nothing of it
//! stays. Nobody is told so who did not say it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairn_storage::{Error, Losses, Patience, Result, Transaction};

use crate::clients::Client;
use crate::scheduler;

/// See the module.
#[derive(Debug)]
pub(crate) struct Hurry {
    /// How often it may be asked before it has had enough.
    most: u64,
    asked: AtomicU64,
}

impl Hurry {
    pub(crate) fn has_given_up(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > self.most
    }
}

impl Patience for Hurry {
    fn is_over(&self) -> bool {
        let asked = 1 + self.asked.fetch_add(1, Ordering::Relaxed);
        if asked > self.most + 1 {
            scheduler::current().fail("who waits no longer is asked again".to_owned());
        }
        asked > self.most
    }
}

impl Client {
    /// Begins a transaction, of somebody in a hurry or not.
    pub(crate) fn begin_transaction(&mut self) -> Result<Transaction> {
        let is_hurried = self.world.shape.company.room && self.random.one_in(2);
        let most = if is_hurried { self.random.below(4) } else { 0 };
        self.hurry = is_hurried.then(|| Arc::new(Hurry { most, asked: AtomicU64::new(0) }));
        match self.hurry.clone() {
            Some(hurry) => self.store.begin_patiently(&Losses::default(), hurry, &|| false),
            None => self.store.begin(),
        }
    }

    /// Who gives up is told so, and nobody else.
    pub(crate) fn judge_hurry<T>(&self, hurry: Option<&Hurry>, result: &Result<T>) {
        let (gave_up, is_told) = (hurry.is_some_and(Hurry::has_given_up), matches!(result, Err(Error::GivenUp)));
        if gave_up != is_told {
            let told = result.as_ref().map(drop);
            scheduler::current().fail(format!("who gives up ({gave_up}) is told {told:?}"));
        }
        self.world.note(|did| did.given_up += u64::from(is_told));
    }
}
