//! Functions and procedures that SQL made (`catalog::Routine`), and how they run.
//!
//! - A body is parsed when it is first called in a session, and kept ([`Compiled`]) until the function is another one. What
//!   it says is bound by the one binder, its variables being parameters with names, and planned like any other statement.
//! - It runs within the statement that calls it: in its transaction, under its time, memory and interrupt. Whoever
//!   evaluates a call finds who runs it in its `EvalContext` ([`Caller`]).
//! - Calls within calls are bounded ([`DEPTH_MAX`], SQLSTATE 54001).

mod call;
mod compiled;
mod domains;
mod host;
mod plpgsql;
mod sql_body;
mod transactions;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

pub(crate) use call::{called_procedure, check_body, run_block, run_call};
pub(crate) use compiled::{Compiled, CompiledRoutines};
use host::Planned;
pub(crate) use host::{BlockSavepoint, Ran, StatementHost, UnderPath};
pub(crate) use plpgsql::Shape;
pub(crate) use transactions::{Control, Ending, Ground, Transactions};

use crate::catalog::{Routine, Table, Trigger, TriggerEvent};
use crate::columns::Batch;
use crate::state::Reader;
use crate::types::{EvalContext, OidNames};
use crate::{Result, Value};

/// Functions within functions.
pub(crate) const DEPTH_MAX: usize = 1000;

/// A trigger of a table with the function that it calls.
#[derive(Debug)]
pub(crate) struct TriggerCall {
    pub(crate) trigger: Arc<Trigger>,
    pub(crate) routine: Arc<Routine>,
    pub(crate) table: Arc<Table>,
    pub(crate) schema: String,
    /// Of the table's rows, as functions see them.
    pub(crate) shape: Arc<Shape>,
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
pub(crate) trait TriggerRunner {
    /// Runs the trigger's function; the row that it returns.
    fn fire(&mut self, firing: Firing) -> Result<Option<Vec<Value>>>;

    /// Runs it for each of these rows, as they were and as they are, where nobody cares for what it returns. False, and nothing
    /// done: that is no less work than to do it one by one.
    fn fire_all(&mut self, event: TriggerEvent, rows: (&Batch, &Batch)) -> Result<bool>;
}

/// The calls of a statement.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    pub(crate) caller: Arc<dyn Caller>,
    /// What the statement reads, and with it the functions that it calls and that are not to see what it changes: those that
    /// change nothing.
    pub(crate) reader: Reader,
}

impl Calls {
    pub(crate) fn of(host: Arc<dyn StatementHost>) -> Calls {
        let reader = host.base().reader.clone();
        Calls { caller: host, reader }
    }
}

/// Runs functions for who evaluates their calls.
pub(crate) trait Caller: Debug + Send + Sync {
    /// The same for another statement of its transaction, which is to be over by then; `None`: there is nothing to tell them apart.
    fn for_statement(&self, deadline: Option<Instant>) -> Result<Option<Arc<dyn Caller>>>;

    /// What oids are called as far as the statements that have run have got.
    fn oid_names(&self) -> Arc<dyn OidNames>;

    /// The value of a call.
    fn value(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Value>;

    /// Makes ready to run a trigger's function.
    fn trigger<'a>(&'a self, call: &Arc<TriggerCall>, eval: &EvalContext) -> Result<Box<dyn TriggerRunner + 'a>>;

    /// How many triggers run within each other.
    fn trigger_depth(&self) -> usize;

    /// The row that a call gives as a value; `None`: it gives none.
    fn row(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Option<Vec<Value>>>;

    /// The rows of a call.
    fn rows(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Vec<Vec<Value>>>;
}
