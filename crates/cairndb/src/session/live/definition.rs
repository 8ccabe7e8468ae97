//! What a live query is: its text, its options, what its values' meaning depends on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::plans::Compiled;
use crate::catalog::{Catalog, SearchPath};
use crate::clock::check_statement;
use crate::exec::{BatchSizes, ExecContext, SpillSpace};
use crate::interrupt::Interrupt;
use crate::plan::OptimizerOptions;
use crate::sql::ParsedStatement;
use crate::state::Reader;
use crate::types::collect;
use crate::types::{DataType, EvalContext};
use crate::{Result, Value};

/// What a query is, whoever watches it.
#[derive(Clone)]
pub(super) struct Definition {
    pub(super) parsed: Arc<ParsedStatement>,
    pub(super) path: Arc<SearchPath>,
    pub(super) options: OptimizerOptions,
    pub(super) surroundings: QueryEnv,
    /// What the values of its parameters were made for.
    pub(super) parameter_types: Vec<DataType>,
    /// What else its plan depends on, as text; `None`: on what is the session's own, and nobody else shares it.
    pub(super) settings: Option<Arc<str>>,
    /// How long a statement of its session may take, and so a change of this.
    pub(super) timeout: Option<Duration>,
}

/// What ends a run before it is done.
#[derive(Clone, Default)]
pub(super) struct Limits {
    pub(super) interrupt: Arc<Interrupt>,
    pub(super) deadline: Option<Instant>,
}

impl Limits {
    pub(super) fn check(&self) -> Result<()> {
        check_statement(&self.interrupt, self.deadline)
    }
}

impl Definition {
    /// Parameters are of the types that the plan asks for; those of another one, where a table was altered, become values of these as
    /// if they were given now.
    pub(super) fn fit_parameters(&mut self, compiled: &Compiled) -> Result<()> {
        let types = &compiled.prepared.parameters;
        if *types != self.parameter_types {
            let QueryEnv { parameters, eval, .. } = &mut self.surroundings;
            *parameters = collect(&&**parameters, types, eval)?.into();
            self.parameter_types.clone_from(types);
        }
        Ok(())
    }
}

/// What an execution of it needs but a state to read. (A reader kept here would keep all pages of its state.)
#[derive(Clone)]
pub(super) struct QueryEnv {
    pub(super) parameters: Arc<[Value]>,
    pub(super) eval: Arc<EvalContext>,
    memory_budget: usize,
    work_mem: usize,
    spill: SpillSpace,
    batch_sizes: BatchSizes,
}

impl QueryEnv {
    /// Those of a statement of a session.
    pub(super) fn of(context: &ExecContext) -> QueryEnv {
        QueryEnv {
            parameters: context.parameters.clone(),
            eval: Arc::new(context.eval.with_calls(None)),
            memory_budget: context.memory_budget,
            work_mem: context.work_mem,
            spill: context.spill.clone(),
            batch_sizes: context.batch_sizes,
        }
    }

    /// Names are those of another catalog from here on.
    pub(super) fn follow(&mut self, catalog: &Arc<Catalog>) {
        Arc::make_mut(&mut self.eval).know_oids(catalog.clone());
    }

    pub(super) fn over(&self, reader: Reader, limits: &Limits) -> ExecContext {
        ExecContext {
            parameters: self.parameters.clone(),
            interrupt: limits.interrupt.clone(),
            deadline: limits.deadline,
            memory_budget: self.memory_budget,
            work_mem: self.work_mem,
            spill: self.spill.clone(),
            batch_sizes: self.batch_sizes,
            ..ExecContext::new(reader, self.eval.clone())
        }
    }
}
