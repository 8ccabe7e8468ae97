//! What a transaction owes to foreign keys and to UNIQUE and PRIMARY KEY that are looked at when it commits, and the constraint
//! triggers that run then.
//!
//! Only what was wrong when its statement ended is put down; whatever makes something wrong later is put down then. What was
//! put right stays: ROLLBACK TO may bring it back. At COMMIT each is looked at as the rows are then. Triggers stay, too, once
//! they ran: ROLLBACK TO takes back that they did, what was put down since, and what SET CONSTRAINTS said since
//! ([`Deferred::mark`]).

use std::collections::HashMap;

use super::DmlContext;
use super::pending::{PendingChecks, Unsettled};
use super::triggers::{Late, ReadyTriggers, Running};
use crate::catalog::{Deferral, ObjectId, Trigger};
use crate::sync::{Mutex, MutexGuard};
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
    late: Vec<Waiting>,
    /// How many of them ran, and how many of the first at least.
    ran: u64,
    done: usize,
}

/// A trigger, and, once it ran, the how manieth it was.
#[derive(Debug)]
struct Waiting {
    late: Late,
    ran: Option<u64>,
}

/// Where ROLLBACK TO goes back to.
#[derive(Clone, Debug)]
pub(crate) struct DeferredMark {
    all: Option<bool>,
    named: HashMap<ObjectId, bool>,
    late: usize,
    ran: u64,
}

/// Something to be looked at, by a constraint of a table.
#[derive(Clone, Debug)]
pub(super) struct Owed {
    pub(super) table: ObjectId,
    /// The foreign key; of UNIQUE and PRIMARY KEY the index.
    pub(super) key: ObjectId,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// The row under this key refers to one that was missing.
    Reference(Vec<u8>),
    /// Rows referred to these values, which went.
    Orphans(Vec<Value>),
    /// Several rows had these columns in the index.
    Several(Vec<u8>),
}

impl Deferred {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Whether it runs when the transaction commits.
    pub(super) fn puts_off_trigger(&self, trigger: &Trigger) -> bool {
        trigger.deferral.is_some_and(|deferral| self.waits(trigger.id, deferral))
    }

    /// Whether a constraint is looked at when the transaction commits.
    pub(super) fn waits(&self, constraint: ObjectId, deferral: Deferral) -> bool {
        if deferral == Deferral::Never {
            return false;
        }
        let state = self.state();
        state.named.get(&constraint).copied().or(state.all).unwrap_or(deferral == Deferral::Deferred)
    }

    pub(super) fn fire_later(&self, late: Late) {
        self.state().late.push(Waiting { late, ran: None });
    }

    /// To go back to.
    pub(crate) fn mark(&self) -> DeferredMark {
        let state = self.state();
        DeferredMark { all: state.all, named: state.named.clone(), late: state.late.len(), ran: state.ran }
    }

    /// Back to where it was, but for what is owed to foreign keys.
    pub(crate) fn go_back(&self, mark: &DeferredMark) {
        let mut state = self.state();
        state.all = mark.all;
        state.named.clone_from(&mark.named);
        state.late.truncate(mark.late);
        state.done = 0;
        for waiting in &mut state.late {
            waiting.ran = waiting.ran.filter(|ran| *ran <= mark.ran);
        }
    }

    /// The next trigger that has not run, of these constraints (`None`: of all), which counts as having run.
    fn next_late(&self, constraints: Option<&[ObjectId]>) -> Option<Late> {
        let state = &mut *self.state();
        let ran = state.ran + 1;
        while state.late.get(state.done).is_some_and(|waiting| waiting.ran.is_some()) {
            state.done += 1;
        }
        let is_wanted = |late: &Late| constraints.is_none_or(|wanted| wanted.contains(&late.trigger));
        let mut left = state.late[state.done..].iter_mut();
        let next = left.find(|waiting| waiting.ran.is_none() && is_wanted(&waiting.late))?;
        next.ran = Some(ran);
        let late = next.late.clone();
        state.ran = ran;
        Some(late)
    }

    pub(super) fn owe(&self, owed: Owed) {
        self.state().owed.push(owed);
    }

    /// Whether there is something to be looked at.
    pub(crate) fn is_owed(&self) -> bool {
        let state = self.state();
        !state.owed.is_empty() || state.late.iter().any(|waiting| waiting.ran.is_none())
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

    /// Runs the triggers of these constraints (`None`: of all), which may make more of them, and looks at what is owed by
    /// foreign keys, as the rows are then. SQLSTATE 23503.
    pub(crate) fn look(&self, keys: Option<&[ObjectId]>, context: &DmlContext<'_>) -> Result<()> {
        let mut ready = ReadyTriggers::default();
        while let Some(late) = self.next_late(keys) {
            context.exec.check()?;
            Running::new(context, &mut ready).fire_late(late)?;
        }
        drop(ready);
        self.look_at_keys(keys, context)
    }

    fn look_at_keys(&self, keys: Option<&[ObjectId]>, context: &DmlContext<'_>) -> Result<()> {
        let is_wanted = |owed: &&Owed| keys.is_none_or(|keys| keys.contains(&owed.key));
        let owed: Vec<Owed> = self.state().owed.iter().filter(is_wanted).cloned().collect();
        let mut owed_now = Unsettled::default();
        let mut pending = PendingChecks::new(context, &mut owed_now);
        owed.into_iter().try_for_each(|owed| pending.take(owed))?;
        pending.finish_now()
    }

    /// Whether something that is owed by a foreign key of the table would be wrong now.
    pub(crate) fn is_pending(&self, table: ObjectId, context: &DmlContext<'_>) -> bool {
        if self.state().late.iter().any(|waiting| waiting.ran.is_none() && waiting.late.table == table) {
            return true;
        }
        let of_table = |owed: &&Owed| owed.table == table;
        let keys: Vec<ObjectId> = self.state().owed.iter().filter(of_table).map(|owed| owed.key).collect();
        !keys.is_empty() && self.look_at_keys(Some(&keys), context).is_err()
    }
}
