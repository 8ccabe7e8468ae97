//! Rows that come one by one from outside, as one statement.

use super::DmlContext;
use super::foreign_keys::ForeignKeys;
use super::insert::Inserter;
use super::row::RowInsert;
use crate::{Result, Value};

/// Inserts rows; references are looked up when all are there.
pub(crate) struct Feed<'a> {
    inserter: Inserter<'a>,
    keys: ForeignKeys<'a>,
}

impl<'a> Feed<'a> {
    pub(crate) fn new(program: &'a RowInsert, context: &'a DmlContext<'a>) -> Feed<'a> {
        Feed { inserter: Inserter::new(program, context), keys: ForeignKeys::new(context) }
    }

    /// A complete row, in the table's order.
    pub(crate) fn insert(&mut self, row: &[Value]) -> Result<()> {
        self.inserter.insert(row, &mut self.keys)
    }

    /// How many rows there were.
    pub(crate) fn finish(self) -> Result<u64> {
        let affected = self.inserter.affected();
        self.keys.finish().map(|()| affected)
    }
}
