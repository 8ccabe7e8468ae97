//! Transition tables: the rows of a statement, for triggers that see all of them.

use crate::catalog::{ObjectId, TriggerEvent};
use crate::types::{Array, Composite, CompositeType, DataType};
use crate::{Result, Value};

/// The rows of a statement that has changed a table, for triggers that see all of them.
#[derive(Debug)]
pub(super) struct TransitionRows {
    table: ObjectId,
    event: TriggerEvent,
    old: Vec<Value>,
    new: Vec<Value>,
    /// As functions see them, once somebody asked.
    given: Option<TableRows>,
}

/// Arrays of rows: as they were, and as they are.
pub(super) type TableRows = [Option<Value>; 2];

impl TransitionRows {
    pub(super) fn new(table: ObjectId, event: TriggerEvent) -> TransitionRows {
        TransitionRows { table, event, old: Vec::new(), new: Vec::new(), given: None }
    }

    pub(super) fn are_of(&self, table: ObjectId, event: TriggerEvent) -> bool {
        self.table == table && self.event == event
    }

    /// One more, of the table's row type; the bytes that it takes.
    pub(super) fn add(&mut self, of: CompositeType, old: Option<&[Value]>, new: Option<&[Value]>) -> usize {
        let whole = |row: &[Value]| Value::from(Composite::new(of, row.to_vec()));
        self.old.extend(old.map(whole));
        self.new.extend(new.map(whole));
        old.iter().chain(&new).map(|row| (row.len() + 4) * size_of::<Value>()).sum()
    }

    /// As functions see them.
    pub(super) fn given(&mut self, row_type: impl FnOnce() -> Result<CompositeType>) -> Result<TableRows> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        let of = DataType::Composite(row_type()?);
        let array = |rows: &mut Vec<Value>| Some(Array::new(of, std::mem::take(rows)).into());
        let given = [array(&mut self.old), array(&mut self.new)];
        self.given = Some(given.clone());
        Ok(given)
    }
}
