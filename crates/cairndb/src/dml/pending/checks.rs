//! What one statement owes, and what is owed when it is over.

use std::collections::VecDeque;
use std::sync::Arc;

use super::actions::Actions;
use super::double_keys::Several;
use super::references::{Missing, Orphans, References};
use super::triggers::Told;
use crate::catalog::{Deferral, ObjectId, Table, Timing, TriggerEvent};
use crate::dml::DmlContext;
use crate::dml::deferred::{Owed, What};
use crate::dml::row::{Lookup, RowObserver, Rules, Stop, Trees};
use crate::dml::triggers::TableTriggers;
use crate::exec::{Step, Turn, until_done};
use crate::{Error, Result, Value};

/// What one statement owes so far. It refers to nothing of who runs the statement, so it waits with it. Most statements never owe
/// anything: of those it is a word.
#[derive(Default)]
pub(in crate::dml) struct Unsettled(Option<Box<Owing>>);

/// What there is of it.
#[derive(Default)]
pub(super) struct Owing {
    pub(super) references: References,
    pub(super) actions: Actions,
    pub(super) several: VecDeque<Several>,
    pub(super) told: Told,
    /// Bytes of what is kept until the statement's end.
    pub(super) held: usize,
}

/// See the module `pending`: what is owed, and what it is looked at in.
pub(in crate::dml) struct PendingChecks<'a> {
    pub(super) context: &'a DmlContext<'a>,
    owed: &'a mut Unsettled,
}

impl RowObserver for PendingChecks<'_> {
    fn guarded(&mut self, table: &Arc<Table>, index: usize, key: &[u8]) -> Result<(), Stop> {
        self.guard(table, index, key)
    }

    fn refers(&mut self, trees: &mut dyn Trees, rules: &Rules, key: &[u8], lookups: &[Lookup]) -> Result<(), Stop> {
        for (&position, lookup) in rules.references.iter().zip(lookups) {
            self.refers_by(trees, &rules.target, position, key, lookup)?;
        }
        Ok(())
    }

    fn replaced(&mut self, table: &Arc<Table>, old: Vec<Value>, new: Option<Vec<Value>>, assigned: &Arc<[usize]>) {
        if !table.triggers.is_empty() {
            let event = if new.is_some() { TriggerEvent::Update } else { TriggerEvent::Delete };
            if table.referenced_by.is_empty() {
                return self.tell(table, event, Some(old), new, assigned);
            }
            self.tell(table, event, Some(old.clone()), new.clone(), assigned);
        }
        if !table.referenced_by.is_empty() {
            self.owed().actions.cause(table, old, new);
        }
    }

    fn inserted(&mut self, table: &Arc<Table>, new: Vec<Value>) {
        self.tell(table, TriggerEvent::Insert, None, Some(new), &Arc::default());
    }

    fn before(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
        assigned: &[usize],
    ) -> Result<Option<Vec<Value>>, Stop> {
        let triggers = TableTriggers::of(table, self.context.catalog)?;
        Ok(triggers.ask_row((event, Timing::Before), old, new, assigned, &mut self.running())?)
    }
}

impl<'a> PendingChecks<'a> {
    pub(in crate::dml) fn new(context: &'a DmlContext<'a>, owed: &'a mut Unsettled) -> PendingChecks<'a> {
        PendingChecks { context, owed }
    }

    pub(super) fn owed(&mut self) -> &mut Owing {
        self.owed.0.get_or_insert_default()
    }

    /// Counts bytes that are kept until the statement's end; false: they are too many.
    pub(super) fn hold(&mut self, bytes: usize) -> bool {
        let owed = self.owed();
        owed.held += bytes;
        owed.held <= self.context.exec.memory_budget
    }

    /// Looks at what an INSERT owes, unless that is nothing, as if it were over: another one follows.
    pub(in crate::dml) fn settle_insert(&mut self) -> Result<()> {
        let owes = |owed: &Owing| !owed.references.missing.is_empty() || !owed.several.is_empty();
        if !self.owed.0.as_deref().is_some_and(owes) {
            return Ok(());
        }
        until_done(|| self.settle_keys(&Turn::default()))
    }

    /// Acts on every event, then checks what is left; then AFTER triggers run. What is done is owed no more: where the turn is
    /// over before the last, it goes on from there.
    pub(in crate::dml) fn finish(&mut self, turn: &Turn) -> Step<()> {
        if self.owed.0.is_none() {
            return Ok(());
        }
        // The rows of foreign keys' actions come behind the statement's own.
        self.settle_keys(turn)?;
        self.run_told(turn)
    }

    /// The same, to its end.
    pub(in crate::dml) fn finish_now(mut self) -> Result<()> {
        until_done(|| self.finish(&Turn::default()))
    }

    fn settle_keys(&mut self, turn: &Turn) -> Step<()> {
        self.owed().references.found.clear();
        self.act_on_events(turn)?;
        self.settle_double_keys(turn)?;
        self.settle_missing(turn)?;
        self.settle_orphans(turn)
    }

    /// The error, unless the constraint of the table is looked at when the transaction commits.
    pub(super) fn settle(
        &self,
        error: Error,
        table: ObjectId,
        (key, deferral): (ObjectId, Deferral),
        what: impl FnOnce() -> What,
    ) -> Result<()> {
        match self.context.deferred.filter(|deferred| deferred.waits(key, deferral)) {
            Some(deferred) => {
                deferred.owe(Owed { table, key, what: what() });
                Ok(())
            }
            None => Err(error),
        }
    }

    /// What a statement before has put off, to be looked at now. A constraint that is gone asks nothing any more.
    pub(in crate::dml) fn take(&mut self, owed: Owed) -> Result<()> {
        let Some(child) = self.context.catalog.table_by_id(owed.table) else { return Ok(()) };
        if let What::Several(key) = owed.what {
            let index = child.indexes.iter().position(|index| index.id == owed.key);
            self.owed().several.extend(index.map(|index| Several { table: child.clone(), index, key }));
            return Ok(());
        }
        let Some(position) = child.foreign_keys.iter().position(|key| key.id == owed.key) else { return Ok(()) };
        match owed.what {
            What::Several(_) => {}
            What::Reference(key) => {
                let (target, lookup) = (self.target(child)?, Lookup::default());
                self.owed().references.missing.push_back(Missing { target, position, key, lookup });
            }
            What::Orphans(values) => {
                let parent = self.table(child.foreign_keys[position].referenced_table)?.clone();
                self.owed().references.orphans.push_back(Orphans { parent, child: child.clone(), position, values });
            }
        }
        Ok(())
    }
}

/// Values by keys, of which there are few: a statement that has none makes nothing.
pub(super) struct Few<K, V>(Vec<(K, V)>);

impl<K, V> Default for Few<K, V> {
    fn default() -> Few<K, V> {
        Few(Vec::new())
    }
}

impl<K: PartialEq, V> Few<K, V> {
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        self.0.push((key, value));
    }

    pub(super) fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let at = self.0.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.0.push((key, V::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
