//! Calls of functions that SQL made: who runs them, for who evaluates them. What runs them is above (`routine`).

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use super::routine::Routine;
use super::trigger::{TriggerCall, TriggerRunner};
use crate::state::Reader;
use crate::types::{EvalContext, FunctionCalls, OidNames};
use crate::{Error, Result, Value};

/// The calls of a statement.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    pub(crate) caller: Arc<dyn Caller>,
    /// What the statement reads, and with it the functions that it calls and that are not to see what it changes: those that
    /// change nothing.
    pub(crate) reader: Reader,
}

impl FunctionCalls for Calls {
    fn oid_names(&self) -> Arc<dyn OidNames> {
        self.caller.oid_names()
    }
}

impl EvalContext {
    /// Who runs the schema's functions, with what the statement reads; `None`: nobody does.
    pub(crate) fn known_calls(&self) -> Option<&Calls> {
        let calls: &dyn Any = &**self.calls.as_ref()?;
        calls.downcast_ref()
    }

    /// The same; SQLSTATE 0A000 where nobody does.
    pub(crate) fn calls(&self) -> Result<&Calls> {
        self.known_calls().ok_or_else(|| Error::unsupported("a function of the schema's in this place"))
    }

    /// Who runs the schema's functions; SQLSTATE 0A000 where nobody does.
    pub(crate) fn caller(&self) -> Result<&Arc<dyn Caller>> {
        Ok(&self.calls()?.caller)
    }

    /// The same, of a statement that reads this.
    pub(crate) fn reading(&self, reader: &Reader) -> EvalContext {
        let of = |calls: &Calls| Calls { caller: calls.caller.clone(), reader: reader.clone() };
        self.with_calls(self.known_calls().map(of))
    }

    /// The same, with these calls of the schema's functions.
    pub(crate) fn with_calls(&self, calls: Option<Calls>) -> EvalContext {
        self.with_function_calls(calls.map(|calls| Arc::new(calls) as Arc<dyn FunctionCalls>))
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
    fn trigger(self: Arc<Self>, call: &Arc<TriggerCall>, eval: &EvalContext) -> Result<Box<dyn TriggerRunner>>;

    /// How many triggers run within each other.
    fn trigger_depth(&self) -> usize;

    /// The row that a call gives as a value; `None`: it gives none.
    fn row(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Option<Vec<Value>>>;

    /// The rows of a call.
    fn rows(&self, routine: &Arc<Routine>, args: &[Value], eval: &EvalContext) -> Result<Vec<Vec<Value>>>;
}
