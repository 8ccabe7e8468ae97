//! Rows that come one by one from outside, as one statement.

use std::sync::Arc;

use super::DmlContext;
use super::foreign_keys::ForeignKeys;
use super::insert::Inserter;
use super::row::RowInsert;
use crate::catalog::{Table, TriggerEvent};
use crate::{Result, Value};

/// Inserts rows; references are looked up when all are there.
pub(crate) struct Feed<'a> {
    table: &'a Arc<Table>,
    inserter: Inserter<'a>,
    keys: ForeignKeys<'a>,
}

impl<'a> Feed<'a> {
    pub(crate) fn new(program: &'a RowInsert, context: &'a DmlContext<'a>) -> Result<Feed<'a>> {
        let (table, mut keys) = (&program.rules.target.table, ForeignKeys::new(context));
        keys.before_statement(table, TriggerEvent::Insert, &[])?;
        Ok(Feed { table, inserter: Inserter::new(program, context), keys })
    }

    /// A complete row, in the table's order.
    pub(crate) fn insert(&mut self, row: &[Value]) -> Result<()> {
        self.inserter.insert(row, &mut self.keys)
    }

    /// How many rows there were.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.keys.after_statement(self.table, TriggerEvent::Insert, &Arc::default())?;
        let affected = self.inserter.affected();
        self.keys.finish().map(|()| affected)
    }
}
