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
pub(crate) use variables::{Parameters, Variables};

use crate::catalog::Routine;
use crate::types::EvalContext;
use crate::{Result, Value};

/// Functions within functions.
pub(crate) const DEPTH_MAX: usize = 1000;

/// Runs functions for who evaluates their calls.
pub(crate) trait Caller: Debug + Send + Sync {
    /// The value of a call.
    fn value(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Value>;

    /// The rows of a call.
    fn rows(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Vec<Vec<Value>>>;
}
