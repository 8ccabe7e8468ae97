//! Rows that come one by one from outside, as one statement.

use std::sync::Arc;

use super::DmlContext;
use super::insert::Inserter;
use super::instead::InsteadPlan;
use super::pending::PendingChecks;
use super::row::RowInsert;
use super::triggers::TableTriggers;
use crate::catalog::{Table, TriggerEvent};
use crate::{Result, Value};

/// Inserts rows; references are looked up when all are there.
pub(crate) struct Feed<'a> {
    table: Arc<Table>,
    way: Way<'a>,
    context: &'a DmlContext<'a>,
    pending: PendingChecks<'a>,
}

/// Where rows go.
enum Way<'a> {
    Table(Box<Inserter<'a>>),
    /// To the triggers of a view; how many they took.
    Instead(InsteadPlan, Arc<TableTriggers>, u64),
}

impl<'a> Feed<'a> {
    pub(crate) fn new(program: &'a RowInsert, context: &'a DmlContext<'a>) -> Result<Feed<'a>> {
        let way = Way::Table(Box::new(Inserter::new(program, context)));
        Feed::of(program.rules.target.table.clone(), way, context)
    }

    /// Into a view, by its triggers. `face`: what they see of it.
    pub(crate) fn instead(face: &Arc<Table>, context: &'a DmlContext<'a>) -> Result<Feed<'a>> {
        let plan = InsteadPlan::feed(face.clone());
        let triggers = plan.triggers(context)?;
        Feed::of(face.clone(), Way::Instead(plan, triggers, 0), context)
    }

    fn of(table: Arc<Table>, way: Way<'a>, context: &'a DmlContext<'a>) -> Result<Feed<'a>> {
        let mut pending = PendingChecks::new(context);
        pending.before_statement(&table, TriggerEvent::Insert, &[])?;
        Ok(Feed { table, way, context, pending })
    }

    /// A complete row, in the table's order.
    pub(crate) fn insert(&mut self, row: &[Value]) -> Result<()> {
        match &mut self.way {
            Way::Table(inserter) => inserter.insert(row, &mut self.pending),
            Way::Instead(plan, triggers, affected) => {
                *affected += u64::from(plan.take_row(row, triggers, self.context, &mut self.pending)?);
                Ok(())
            }
        }
    }

    /// How many rows there were.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.pending.after_statement(&self.table, TriggerEvent::Insert, &Arc::default())?;
        let affected = match &self.way {
            Way::Table(inserter) => inserter.affected(),
            Way::Instead(.., affected) => *affected,
        };
        self.pending.finish().map(|()| affected)
    }
}
