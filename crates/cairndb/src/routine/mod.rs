//! Functions and procedures that SQL made (`functions::Routine`), and how they run.
//!
//! - A body is parsed when it is first called in a session, and kept ([`Compiled`]) until the function is another one. What
//!   it says is bound by the one binder, its variables being parameters with names, and planned like any other statement.
//! - It runs within the statement that calls it: in its transaction, under its time, memory and interrupt. Whoever
//!   evaluates a call finds who runs it in its `EvalContext` ([`Caller`](crate::functions::Caller)).
//! - Calls within calls are bounded ([`DEPTH_MAX`], SQLSTATE 54001).

mod call;
mod compiled;
mod domains;
mod host;
mod plpgsql;
mod sql_body;
mod transactions;

use std::sync::Arc;

pub(crate) use call::{called_by_client, check_body, run_block, run_call};
pub(crate) use compiled::{Compiled, CompiledRoutines};
use host::Planned;
pub(crate) use host::{BlockSavepoint, Ran, StatementHost, UnderPath};
pub(crate) use transactions::{Control, Ending, Ground, Transactions};

use crate::functions::Calls;

/// Functions within functions.
pub(crate) const DEPTH_MAX: usize = 1000;

/// The calls of a statement that this runs.
pub(crate) fn calls_of(host: Arc<dyn StatementHost>) -> Calls {
    let reader = host.base().reader.clone();
    Calls { caller: host, reader }
}
