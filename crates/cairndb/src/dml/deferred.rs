//! What a transaction owes to foreign keys that are looked at when it commits.
//!
//! Only what was wrong when its statement ended is put down; whatever makes something wrong later is put down then. What was
//! put right stays: ROLLBACK TO may bring it back. At COMMIT each is looked at as the rows are then.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::DmlContext;
use super::foreign_keys::ForeignKeys;
use crate::catalog::{Deferral, ForeignKey, ObjectId};
use crate::{Result, Value};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Deferred(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    owed: Vec<Owed>,
    /// What SET CONSTRAINTS ALL said last; true: DEFERRED.
    all: Option<bool>,
    /// What it said of single ones since.
    named: HashMap<ObjectId, bool>,
}

/// Something to be looked at, by a foreign key of a table.
#[derive(Clone, Debug)]
pub(super) struct Owed {
    pub(super) table: ObjectId,
    /// The foreign key.
    pub(super) key: ObjectId,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// The row under this key refers to one that was missing.
    Reference(Vec<u8>),
    /// Rows referred to these values, which went.
    Orphans(Vec<Value>),
}

impl Deferred {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is looked at when the transaction commits.
    pub(super) fn puts_off(&self, key: &ForeignKey) -> bool {
        if key.deferral == Deferral::Never {
            return false;
        }
        let state = self.state();
        state.named.get(&key.id).copied().or(state.all).unwrap_or(key.deferral == Deferral::Deferred)
    }

    pub(super) fn owe(&self, owed: Owed) {
        self.state().owed.push(owed);
    }

    /// Whether there is something to be looked at.
    pub(crate) fn is_owed(&self) -> bool {
        !self.state().owed.is_empty()
    }

    /// SET CONSTRAINTS; `None`: ALL.
    pub(crate) fn set(&self, keys: Option<&[ObjectId]>, deferred: bool) {
        match keys {
            Some(keys) => self.state().named.extend(keys.iter().map(|key| (*key, deferred))),
            None => {
                let mut state = self.state();
                state.all = Some(deferred);
                state.named.clear();
            }
        }
    }

    /// Looks at what is owed by these foreign keys (`None`: by all), as the rows are now. SQLSTATE 23503.
    pub(crate) fn look(&self, keys: Option<&[ObjectId]>, context: &DmlContext<'_>) -> Result<()> {
        let is_wanted = |owed: &&Owed| keys.is_none_or(|keys| keys.contains(&owed.key));
        let owed: Vec<Owed> = self.state().owed.iter().filter(is_wanted).cloned().collect();
        let mut foreign_keys = ForeignKeys::new(context);
        owed.into_iter().try_for_each(|owed| foreign_keys.take(owed))?;
        foreign_keys.finish()
    }

    /// Whether something that is owed by a foreign key of the table would be wrong now.
    pub(crate) fn is_pending(&self, table: ObjectId, context: &DmlContext<'_>) -> bool {
        let of_table = |owed: &&Owed| owed.table == table;
        let keys: Vec<ObjectId> = self.state().owed.iter().filter(of_table).map(|owed| owed.key).collect();
        !keys.is_empty() && self.look(Some(&keys), context).is_err()
    }
}
