//! Functions and procedures that SQL made (`catalog::Routine`), and how they run.
//!
//! - A body is parsed when it is first called in a session, and kept ([`Compiled`]) until the function is another one. What
//!   it says is bound by the one binder, its variables being parameters with names, and planned like any other statement.
//! - It runs within the statement that calls it: in its transaction, under its time, memory and interrupt. Whoever
//!   evaluates a call finds who runs it in its `EvalContext` ([`Caller`]).
//! - Calls within calls are bounded ([`DEPTH_MAX`], SQLSTATE 54001).

mod call;
mod compiled;
mod plpgsql;
mod sql_body;
mod variables;

use std::fmt::Debug;
use std::sync::Arc;

pub(crate) use call::{check_body, run_block, run_call};
pub(crate) use compiled::{Compiled, CompiledRoutines};
pub(crate) use plpgsql::Shape;
pub(crate) use variables::{Parameters, Variables};

use crate::catalog::{Routine, Table, Trigger, TriggerEvent};
use crate::types::EvalContext;
use crate::{Result, Value};

/// Functions within functions.
pub(crate) const DEPTH_MAX: usize = 1000;

/// A trigger that is to run.
pub(crate) struct Firing<'a> {
    pub(crate) routine: &'a Arc<Routine>,
    pub(crate) trigger: &'a Trigger,
    pub(crate) table: &'a Table,
    pub(crate) schema: &'a str,
    /// Of the rows.
    pub(crate) shape: &'a Arc<Shape>,
    pub(crate) event: TriggerEvent,
    pub(crate) old: Option<Vec<Value>>,
    pub(crate) new: Option<Vec<Value>>,
}

/// Runs functions for who evaluates their calls.
pub(crate) trait Caller: Debug + Send + Sync {
    /// The value of a call.
    fn value(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Value>;

    /// Runs a trigger's function; the row that it returns.
    fn fire(&self, firing: Firing<'_>, eval: &EvalContext) -> Result<Option<Vec<Value>>>;

    /// How many triggers run within each other.
    fn trigger_depth(&self) -> usize;

    /// The row that a call gives as a value; `None`: it gives none.
    fn row(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Option<Vec<Value>>>;

    /// The rows of a call.
    fn rows(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Vec<Vec<Value>>>;
}
