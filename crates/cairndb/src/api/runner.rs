//! Runs the statements of functions: within the statement that calls them, in its transaction.
//!
//! - A function that may change rows sees what was changed so far, its caller's changes among it; any other reads what its
//!   caller reads.
//! - What calls nothing that may change rows has no transaction, and nothing to write to.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::database::Shared;
use super::notice::Notices;
use super::prepared::{Body, Prepared};
use crate::bind::ParameterTypes;
use crate::catalog::{Catalog, CatalogStamp, Routine, note_all};
use crate::dml::{self, Deferred, DmlContext};
use crate::exec::{self, ExecContext};
use crate::plan::{Field, OptimizerOptions};
use crate::routine::{CompiledRoutines, Variables};
use crate::sql::ParsedStatement;
use crate::state::Transaction;
use crate::types::EvalContext;
use crate::{Error, Result, SqlState, Value};

/// See the module. One for each statement of a connection.
pub(crate) struct Runner {
    pub(super) shared: Weak<Shared>,
    /// `None`: the statement only reads.
    pub(super) tx: Option<Weak<Transaction>>,
    /// What it reads, and under which limits; its own caller is nobody.
    pub(super) base: ExecContext,
    pub(super) stamp: CatalogStamp,
    pub(super) catalog: Arc<Catalog>,
    pub(super) options: OptimizerOptions,
    pub(super) deferred: Option<Arc<Deferred>>,
    pub(super) read_only: bool,
    pub(super) session: Arc<RoutineSession>,
    pub(super) depth: AtomicUsize,
    /// That plans rest on the schema was noted in the transaction.
    pub(super) noted: AtomicBool,
}

/// What functions have of their session.
#[derive(Debug, Default)]
pub(crate) struct RoutineSession {
    pub(super) compiled: CompiledRoutines,
    pub(super) notices: Notices,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Runner")
    }
}

/// A statement of a function's body, with its plan once it ran.
#[derive(Debug)]
pub(crate) struct Planned {
    parsed: Arc<ParsedStatement>,
    prepared: Mutex<Option<Arc<Prepared>>>,
}

/// What a statement of a body did.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) fields: Vec<Field>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Planned {
    pub(crate) fn new(parsed: ParsedStatement) -> Planned {
        Planned { parsed: Arc::new(parsed), prepared: Mutex::default() }
    }
}

impl Runner {
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.clone()
    }

    pub(crate) fn depth(&self) -> &AtomicUsize {
        &self.depth
    }

    pub(crate) fn compiled(&self) -> &CompiledRoutines {
        &self.session.compiled
    }

    fn transaction(&self) -> Result<Option<Arc<Transaction>>> {
        let ended = || Error::internal("a function runs outside of its statement");
        self.tx.as_ref().map(|tx| tx.upgrade().ok_or_else(ended)).transpose()
    }

    /// For the body of a function, but for its parameters.
    pub(crate) fn context(&self, routine: &Routine, eval: &EvalContext) -> Result<ExecContext> {
        let mut context = ExecContext { eval: Arc::new(eval.clone()), ..self.base.clone() };
        if let (true, Some(tx)) = (routine.may_write(), self.transaction()?) {
            context.reader = tx.reader().clone();
        }
        Ok(context)
    }

    fn prepared(&self, statement: &Planned, variables: &Arc<dyn Variables>) -> Result<Arc<Prepared>> {
        let mut known = statement.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = &*known
            && prepared.is_current(self.stamp, &self.catalog, &self.options)
        {
            return Ok(prepared.clone());
        }
        let parameters = ParameterTypes::with_variables(variables.clone());
        let parsed = &statement.parsed;
        let prepared = Arc::new(Prepared::with(parsed, self.stamp, &self.catalog, &self.options, parameters)?);
        *known = Some(prepared.clone());
        Ok(prepared)
    }

    /// The columns of a statement's result.
    pub(crate) fn fields_of(&self, statement: &Planned, variables: &Arc<dyn Variables>) -> Result<Vec<Field>> {
        Ok(self.prepared(statement, variables)?.fields().to_vec())
    }

    /// Runs a statement. `limit`: of a query no more rows are wanted.
    pub(crate) fn run(
        &self,
        statement: &Planned,
        variables: &Arc<dyn Variables>,
        context: &ExecContext,
        limit: Option<usize>,
    ) -> Result<Ran> {
        let prepared = self.prepared(statement, variables)?;
        let Body::Plan(plan) = prepared.body()? else {
            let words = crate::command::first_words(&statement.parsed).unwrap_or_default();
            return Err(Error::unsupported(format!("{words} in a function")));
        };
        let fields = plan.fields.clone();
        if !prepared.writes() {
            let mut stream = exec::execute(plan.clone(), context.clone())?;
            let mut rows = Vec::new();
            while let Some(batch) = stream.next_batch()? {
                rows.extend((0..batch.len()).map(|row| batch.row(row)));
                if limit.is_some_and(|limit| rows.len() >= limit) {
                    break;
                }
            }
            rows.truncate(limit.unwrap_or(usize::MAX));
            return Ok(Ran { fields, rows });
        }
        let tx = self.transaction()?.ok_or_else(|| no_changes(&statement.parsed))?;
        if self.read_only && !prepared.writes_only_temporary() {
            return Err(super::execute::read_only_violation(&statement.parsed));
        }
        let shared = self.shared.upgrade().ok_or_else(|| Error::internal("the database is closed"))?;
        if !self.noted.swap(true, Ordering::Relaxed) {
            note_all(tx.reader().database())?;
        }
        let dml = DmlContext {
            tx: &tx,
            catalog: &self.catalog,
            exec: context,
            store: &shared.store,
            row_numbers: &shared.row_numbers,
            deferred: self.deferred.as_deref(),
        };
        let done = dml::run(plan, &dml, prepared.calls_writers())?;
        Ok(Ran { fields, rows: done.rows })
    }
}

/// A function that is said to change nothing does.
fn no_changes(parsed: &ParsedStatement) -> Error {
    let name = super::execute::verb_of(parsed);
    let message = format!("{name} is not allowed in a non-volatile function");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}
