//! INSERT, UPDATE and DELETE of a view's rows by INSTEAD OF triggers: each row is theirs, nothing is stored here.
//!
//! A row of the source is what it is for a table of the view's columns: the whole row; for UPDATE the new values behind it; then
//! what else RETURNING sees. Each trigger is given what the one before made of the row; one that returns NULL has done nothing,
//! the row is not counted, and no other trigger sees it.

use std::sync::Arc;

use super::changing::Work;
use super::pending::PendingChecks;
use super::row::{Affected, BatchRow, Env, LentRow, Stop, check_views, fitted};
use super::source::{Place, Source};
use super::triggers::TableTriggers;
use super::{DmlContext, DmlResult};
use crate::catalog::{Table, TriggerEvent};
use crate::exec::Step;
use crate::plan::{Columns, Datum, Modification, ModificationKind};
use crate::types::ValueRef;
use crate::{Result, Value};

/// What INSTEAD OF triggers of a view are asked to do.
#[derive(Debug)]
pub(crate) struct InsteadPlan {
    /// Its table is the view as they see it.
    of: Arc<Modification>,
    event: TriggerEvent,
    /// Of UPDATE: the columns whose new values stand behind the row.
    assigned: Arc<[usize]>,
}

/// How far triggers were asked.
pub(super) struct Asking {
    place: Place,
    triggers: Arc<TableTriggers>,
    result: DmlResult,
}

/// A row as it was, and as it is to be, where there is such.
type OldAndNew = (Option<Vec<Value>>, Option<Vec<Value>>);

/// A row and what the source has behind it, from a place on.
struct Beside<'a> {
    row: &'a [Value],
    source: BatchRow<'a>,
    extra_at: usize,
}

impl Columns<Stop> for Beside<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        match self.row.get(index) {
            Some(value) => Ok(Datum::Lent(ValueRef::from(value))),
            None => self.source.column(index - self.row.len() + self.extra_at),
        }
    }
}

impl InsteadPlan {
    pub(super) fn new(of: &Arc<Modification>) -> InsteadPlan {
        let event = match of.kind {
            ModificationKind::Insert { .. } => TriggerEvent::Insert,
            ModificationKind::Delete => TriggerEvent::Delete,
            ModificationKind::Update { .. } | ModificationKind::Merge { .. } => TriggerEvent::Update,
        };
        InsteadPlan { assigned: of.assigned(), event, of: of.clone() }
    }

    /// INSERT of rows that come one by one.
    pub(super) fn feed(face: Arc<Table>) -> InsteadPlan {
        let kind = ModificationKind::Insert { on_conflict: None };
        InsteadPlan::new(&Arc::new(Modification { table: face, kind, returning: None, view_checks: Vec::new() }))
    }

    /// What is to be done with the rows.
    pub(super) fn triggers(&self, context: &DmlContext<'_>) -> Result<Arc<TableTriggers>> {
        TableTriggers::of(&self.of.table, context.catalog)
    }

    /// One of the rows that come one by one; whether the triggers took it.
    pub(super) fn take_row(
        &self,
        row: BatchRow<'_>,
        triggers: &TableTriggers,
        context: &DmlContext<'_>,
        pending: &mut PendingChecks<'_>,
    ) -> Result<bool> {
        let (old, new) = self.rows_of(row, context)?;
        Ok(pending.instead(triggers, self.event, old, new)?.is_some())
    }

    pub(super) fn begin(&self, context: &DmlContext<'_>) -> Result<Asking> {
        let result = DmlResult::new(context, self.of.returning.as_ref());
        // A trigger that changes the view, too, has its own.
        Ok(Asking { place: Place::default(), triggers: self.triggers(context)?, result })
    }

    pub(super) fn step(&self, at: &mut Asking, source: &Source<'_>, work: &mut Work<'_>) -> Step<DmlResult> {
        let Work { context, pending, turn, .. } = work;
        let Asking { place, triggers, result } = at;
        source.for_each_row((context.exec, turn), place, |_, row| {
            let (old, new) = self.rows_of(row, context)?;
            let Some(done) = pending.instead(triggers, self.event, old.clone(), new)? else { return Ok(()) };
            let env = Env::of(context.exec);
            check_views(&self.of.view_checks, &self.of.table, &done.as_slice(), env)?;
            self.return_row((row, old.as_deref(), &done), env, &mut result.returned)?;
            result.add()?;
            Ok(())
        })?;
        Ok(std::mem::take(result))
    }

    /// The row as it was, and as it is to be.
    fn rows_of<'b>(&self, row: impl LentRow<'b>, context: &DmlContext<'_>) -> Result<OldAndNew> {
        let width = self.of.table.columns.len();
        let given: Vec<Value> = (0..width).map(|column| row.copy(column)).collect();
        let (old, mut new) = match self.event {
            TriggerEvent::Insert => (None, given),
            TriggerEvent::Delete => return Ok((Some(given), None)),
            _ => (Some(given.clone()), given),
        };
        for (at, &column) in self.assigned.iter().enumerate() {
            new[column] = row.copy(width + at);
        }
        for (value, column) in new.iter_mut().zip(&self.of.table.columns) {
            if let Some(fitted) = fitted(ValueRef::from(&*value), column.data_type, &context.exec.eval)? {
                *value = fitted;
            }
        }
        Ok((old, Some(new)))
    }

    /// What RETURNING says of a row that the triggers have seen to.
    fn return_row(
        &self,
        (source, old, done): (BatchRow<'_>, Option<&[Value]>, &[Value]),
        env: Env<'_>,
        out: &mut Vec<Value>,
    ) -> Result<()> {
        let Some(returning) = &self.of.returning else { return Ok(()) };
        let extra_at = self.of.table.columns.len() + self.assigned.len();
        let row = Beside { row: done, source, extra_at };
        let old = old.as_ref().map(|old| old as &dyn Columns<Stop>);
        let new = (self.event != TriggerEvent::Delete).then_some(&row as &dyn Columns<Stop>);
        Ok(Affected { row: &row, old, new }.returning(&returning.exprs, env, out)?)
    }
}
