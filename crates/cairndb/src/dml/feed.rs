//! Rows that come from outside, as one statement.

use std::sync::Arc;

use super::DmlContext;
use super::insert::{Inserter, InserterState, OfRow};
use super::instead::InsteadPlan;
use super::pending::{PendingChecks, Unsettled};
use super::row::RowInsert;
use super::source::rows_of;
use super::triggers::TableTriggers;
use crate::Result;
use crate::catalog::{Table, TriggerEvent};
use crate::columns::Batch;
use crate::plan::Held;

/// Inserts rows; references are looked up when all are there.
pub(crate) struct Feed<'a> {
    table: Arc<Table>,
    way: Way<'a>,
    context: &'a DmlContext<'a>,
    owed: Unsettled,
}

/// Where rows go.
enum Way<'a> {
    Table(&'a RowInsert, InserterState),
    /// To the triggers of a view; how many they took.
    Instead(InsteadPlan, Arc<TableTriggers>, u64),
}

impl<'a> Feed<'a> {
    pub(crate) fn new(program: &'a RowInsert, context: &'a DmlContext<'a>) -> Result<Feed<'a>> {
        let way = Way::Table(program, InserterState::of(program));
        Feed::of(program.rules.target.table.clone(), way, context)
    }

    /// Into a view, by its triggers. `face`: what they see of it.
    pub(crate) fn instead(face: &Arc<Table>, context: &'a DmlContext<'a>) -> Result<Feed<'a>> {
        let plan = InsteadPlan::feed(face.clone());
        let triggers = plan.triggers(context)?;
        Feed::of(face.clone(), Way::Instead(plan, triggers, 0), context)
    }

    fn of(table: Arc<Table>, way: Way<'a>, context: &'a DmlContext<'a>) -> Result<Feed<'a>> {
        let mut owed = Unsettled::default();
        PendingChecks::new(context, &mut owed).before_statement(&table, TriggerEvent::Insert, &[])?;
        Ok(Feed { table, way, context, owed })
    }

    /// Whether nobody is asked for a row who could tell that something was computed for the next one already.
    pub(crate) fn allows_ahead(&self) -> bool {
        match &self.way {
            Way::Table(program, _) => program.is_evaluable(Held::Transaction),
            Way::Instead(..) => false,
        }
    }

    /// Complete rows, in the table's order, whose text is known to be text. The first that can not be inserted is told.
    pub(crate) fn insert(&mut self, rows: &Batch) -> Result<(), OfRow> {
        let Feed { way, context, owed, .. } = self;
        let mut pending = PendingChecks::new(context, owed);
        match way {
            Way::Table(program, own) => Inserter::new(program, context, own).insert_batch(rows, &mut pending),
            Way::Instead(plan, triggers, affected) => rows_of(rows, 0).try_for_each(|row| {
                let taken = plan.take_row(row, triggers, context, &mut pending).map_err(|error| (error, row.row))?;
                *affected += u64::from(taken);
                Ok(())
            }),
        }
    }

    /// How many rows there were.
    pub(crate) fn finish(mut self) -> Result<u64> {
        let mut pending = PendingChecks::new(self.context, &mut self.owed);
        pending.after_statement(&self.table, TriggerEvent::Insert, &Arc::default())?;
        let affected = match &self.way {
            Way::Table(_, own) => own.affected(),
            Way::Instead(.., affected) => *affected,
        };
        pending.finish_now().map(|()| affected)
    }
}
