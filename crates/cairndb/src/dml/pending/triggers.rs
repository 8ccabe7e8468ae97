//! What triggers are told of the statement and of its rows.

use std::collections::VecDeque;
use std::sync::Arc;

use super::PendingChecks;
use crate::catalog::{ObjectId, Table, Timing, TriggerEvent};
use crate::columns::Batch;
use crate::dml::transition::TransitionRows;
use crate::dml::triggers::{Changed, ChangedRows, ReadyTriggers, Running, TableTriggers, has_trigger};
use crate::exec::{Step, Turn};
use crate::{Error, Result, SqlState, Value};

/// What AFTER triggers are to be told, and who was told before.
#[derive(Default)]
pub(super) struct Told {
    /// In this order.
    after: VecDeque<After>,
    /// The tables and events whose BEFORE triggers for statements ran.
    begun: Vec<(ObjectId, TriggerEvent)>,
    ready: ReadyTriggers,
    /// Why a row could not be put down.
    refused: Option<Error>,
}

/// What AFTER triggers are told: of a row, or of a statement that is over.
enum After {
    Row(Changed),
    Rows(ChangedRows),
    Statement { triggers: Arc<TableTriggers>, table: ObjectId, event: TriggerEvent, assigned: Arc<[usize]> },
}

impl PendingChecks<'_> {
    /// Its triggers.
    pub(super) fn running(&mut self) -> Running<'_> {
        let context = self.context;
        Running::new(context, &mut self.owed().told.ready)
    }

    /// BEFORE triggers of a statement that is about to change rows of the table, unless another part of it did before.
    pub(in crate::dml) fn before_statement(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        assigned: &[usize],
    ) -> Result<()> {
        if !has_trigger(table, event, Timing::Before, false) || self.owed().told.begun.contains(&(table.id, event)) {
            return Ok(());
        }
        self.owed().told.begun.push((table.id, event));
        let triggers = TableTriggers::of(table, self.context.catalog)?;
        triggers.statement(event, Timing::Before, assigned, &mut self.running())
    }

    /// AFTER triggers of a statement that has changed rows of the table run behind those of its rows, once for all parts of
    /// the statement.
    pub(in crate::dml) fn after_statement(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        assigned: &Arc<[usize]>,
    ) -> Result<()> {
        if has_trigger(table, event, Timing::After, false) {
            let triggers = TableTriggers::of(table, self.context.catalog)?;
            self.owed().told.after.retain(|after| match after {
                After::Statement { table: of, event: known, .. } => (*of, *known) != (table.id, event),
                After::Row(_) | After::Rows(_) => true,
            });
            let assigned = assigned.clone();
            self.owed().told.after.push_back(After::Statement { triggers, table: table.id, event, assigned });
        }
        Ok(())
    }

    /// INSTEAD OF triggers: the row that they have made, or deleted; `None`: nothing was done.
    pub(in crate::dml) fn instead(
        &mut self,
        triggers: &TableTriggers,
        event: TriggerEvent,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
    ) -> Result<Option<Vec<Value>>> {
        triggers.ask_row((event, Timing::InsteadOf), old, new, &[], &mut self.running())
    }

    /// A row that AFTER triggers are to see.
    pub(super) fn tell(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
        assigned: &Arc<[usize]>,
    ) {
        match self.put_down(table, event, (old, new), assigned) {
            Ok(bytes) => self.keep(bytes),
            Err(error) => self.owed().told.refused = Some(error),
        }
    }

    fn keep(&mut self, bytes: usize) {
        if !self.hold(bytes) {
            let error = Error::new(SqlState::OUT_OF_MEMORY, "out of memory");
            let hint = "A statement with AFTER ROW triggers keeps every row until its end.";
            self.owed().told.refused = Some(error.with_hint(hint));
        }
    }

    /// Rows to which nothing refers were replaced: AFTER ROW triggers are to see them, one after the other, but none that
    /// sees all rows.
    pub(in crate::dml) fn replaced_rows(
        &mut self,
        table: &Arc<Table>,
        old: Batch,
        new: Batch,
        assigned: &Arc<[usize]>,
    ) -> Result<()> {
        let triggers = TableTriggers::of(table, self.context.catalog)?;
        if let Some(changed) = triggers.after_rows(old, new, assigned) {
            self.keep(changed.memory_bytes());
            self.owed().told.after.push_back(After::Rows(changed));
        }
        Ok(())
    }

    /// Keeps a row for the triggers that are to see it; the bytes that it takes.
    fn put_down(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        (mut old, mut new): (Option<Vec<Value>>, Option<Vec<Value>>),
        assigned: &Arc<[usize]>,
    ) -> Result<usize> {
        let triggers = TableTriggers::of(table, self.context.catalog)?;
        triggers.fill(old.iter_mut().chain(&mut new), self.context)?;
        let mut bytes = 0;
        if triggers.sees_tables(event) {
            let all = &mut self.owed().told.ready.rows;
            let at = all.iter().position(|rows| rows.are_of(table.id, event)).unwrap_or_else(|| {
                all.push(TransitionRows::new(table.id, event));
                all.len() - 1
            });
            bytes += all[at].add(triggers.row_type()?, old.as_deref(), new.as_deref());
        }
        if let Some(changed) = triggers.after(event, old, new, assigned) {
            bytes += changed.memory_bytes();
            self.owed().told.after.push_back(After::Row(changed));
        }
        Ok(bytes)
    }

    /// AFTER triggers run.
    pub(super) fn run_told(&mut self, turn: &Turn) -> Step<()> {
        if let Some(refused) = self.owed().told.refused.take() {
            return Err(refused.into());
        }
        while !self.owed().told.after.is_empty() {
            turn.take()?;
            self.context.exec.check()?;
            let Some(after) = self.owed().told.after.pop_front() else { break };
            match after {
                After::Row(changed) => changed.run(&mut self.running())?,
                After::Rows(changed) => changed.run(&mut self.running())?,
                After::Statement { triggers, event, assigned, .. } => {
                    triggers.statement(event, Timing::After, &assigned, &mut self.running())?;
                }
            }
        }
        Ok(())
    }
}
