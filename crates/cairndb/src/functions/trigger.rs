//! Triggers as their functions know them.

use std::sync::Arc;

use super::routine::Routine;
use crate::columns::Batch;
use crate::types::{ObjectId, Shape};
use crate::{Result, Value};

/// What a trigger is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TriggerEvent {
    Insert,
    Update,
    Delete,
    Truncate,
}

impl TriggerEvent {
    pub(crate) const ALL: [TriggerEvent; 4] =
        [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete, TriggerEvent::Truncate];

    /// As TG_OP has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
            TriggerEvent::Truncate => "TRUNCATE",
        }
    }
}

/// A trigger of a table as its function is told of it.
#[derive(Debug)]
pub(crate) struct TriggerCall {
    pub(crate) routine: Arc<Routine>,
    /// Its name.
    pub(crate) name: String,
    /// As TG_WHEN has it.
    pub(crate) timing: &'static str,
    pub(crate) per_row: bool,
    pub(crate) args: Vec<String>,
    /// REFERENCING: what the rows of the whole statement are called, as they were and as they are.
    pub(crate) transition_tables: [Option<String>; 2],
    /// The table or view, its name, and that of its schema.
    pub(crate) table: ObjectId,
    pub(crate) table_name: String,
    pub(crate) schema: String,
    /// Of the table's rows, as functions see them.
    pub(crate) shape: Arc<Shape>,
}

impl TriggerCall {
    /// Whether it sees all rows of a statement.
    pub(crate) fn sees_tables(&self) -> bool {
        self.transition_tables.iter().any(Option::is_some)
    }
}

/// What a trigger is told of.
#[derive(Debug)]
pub(crate) struct Firing {
    pub(crate) event: TriggerEvent,
    pub(crate) old: Option<Vec<Value>>,
    pub(crate) new: Option<Vec<Value>>,
    /// All rows of the statement as they were and as they are, as arrays, where it asks for them.
    pub(crate) tables: [Option<Value>; 2],
}

/// A trigger that runs once or more within a statement; what one time needs is kept for the next.
pub(crate) trait TriggerRunner: Send {
    /// Runs the trigger's function; the row that it returns.
    fn fire(&mut self, firing: Firing) -> Result<Option<Vec<Value>>>;

    /// Runs it for each of these rows, as they were and as they are, where nobody cares for what it returns. False, and nothing
    /// done: that is no less work than to do it one by one.
    fn fire_all(&mut self, event: TriggerEvent, rows: (&Batch, &Batch)) -> Result<bool>;
}
