//! What bodies ask of who runs their statements: the session, within the statement that calls them.
//!
//! - A function that may change rows sees what was changed so far, its caller's changes among it; any other reads what its caller reads.
//! - What calls nothing that may change rows has no transaction, and nothing to write to.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use super::CompiledRoutines;
use crate::bind::Variables;
use crate::catalog::{Catalog, ObjectId, Routine};
use crate::columns::Batch;
use crate::command::Direction;
use crate::dml::DeferredMark;
use crate::exec::{Collected, ExecContext, RowStream, ScrolledRows};
use crate::functions::Caller;
use crate::notice::Notice;
use crate::plan::{Expr, Field};
use crate::prepared::Prepared;
use crate::sql::ParsedStatement;
use crate::state::{SaidMark, Savepoint};
use crate::sync::Mutex;
use crate::types::EvalContext;
use crate::{Result, Value};

/// See the module. One for each statement of a session.
pub(crate) trait StatementHost: Caller {
    /// The schema, with what the statement has changed of it.
    fn catalog(&self) -> Arc<Catalog>;

    /// The number of the schema that is seen now: another one for each.
    fn seen(&self) -> u64;

    /// What the calling statement has, without its parameters.
    fn base(&self) -> &ExecContext;

    /// How deep calls are within each other.
    fn depth(&self) -> &AtomicUsize;

    /// How many triggers run within each other.
    fn triggers(&self) -> &AtomicUsize;

    /// A trigger of the table begins to run.
    fn begin_trigger(&self, table: ObjectId);

    /// The last one that began is over.
    fn end_trigger(&self);

    /// The bodies that the session has read.
    fn compiled(&self) -> &CompiledRoutines;

    /// The client is told.
    fn notice(&self, notice: Notice);

    /// For the body of a function, but for its parameters.
    fn context(&self, routine: &Routine, eval: &EvalContext) -> Result<ExecContext>;

    /// What a call's arguments are evaluated in where they call functions that may change rows: none of the others sees it.
    fn frozen_for(&self, args: &[Expr], context: &ExecContext) -> Result<Option<ExecContext>>;

    /// What runs a function that looks names up in schemas of its own; `None`: in those that are searched already.
    fn under_path_of(&self, routine: &Routine, eval: &EvalContext) -> Result<Option<UnderPath>>;

    /// Sees what a function has done to the schema that ran under a path of its own.
    fn catch_up(&self, under: &UnderPath) -> Result<()>;

    /// What runs the functions of another statement, to be over by then, of the same transaction: under the schema as it is by now.
    /// `None`: that is what this one does.
    fn of_statement(&self, deadline: Option<Instant>) -> Result<Option<Arc<dyn StatementHost>>>;

    /// SQLSTATE 0A000 for CALL in a statement that has no transaction.
    fn refuse_call_in_query(&self) -> Result<()>;

    /// Binds and plans a statement.
    fn prepare(&self, parsed: &Arc<ParsedStatement>, variables: &Arc<dyn Variables>) -> Result<Arc<Prepared>>;

    /// Whether a plan is right under the schema as it is now.
    fn is_current(&self, prepared: &Prepared) -> bool;

    /// Whether it is for tables as large as they are now.
    fn fits(&self, prepared: &Prepared) -> Result<bool>;

    /// Runs a statement. `limit`: of a query no more rows are wanted.
    fn run_prepared(&self, prepared: &Prepared, context: &ExecContext, limit: Option<usize>) -> Result<Ran>;

    /// Runs an INSERT once for each row of `parameters`. False, and nothing done: it is something else, or more than the insertion of one
    /// row.
    fn insert_each(&self, prepared: &Prepared, context: &ExecContext, parameters: &Batch) -> Result<bool>;

    /// The rows of a query as they are now, whatever is changed while they are read, and worked out as they are asked for; `None`: they are
    /// expected to be few, or it changes some.
    fn stream(&self, prepared: &Prepared, context: &ExecContext, routine: &Routine) -> Result<Option<RowStream>>;

    /// The rows of a loop that go on where its transaction ends.
    fn looped(&self, stream: RowStream) -> Arc<Mutex<ScrolledRows>>;

    /// Opens a cursor, over what its function sees now; its name, which is made where none is said.
    fn open_cursor(
        &self,
        name: Option<String>,
        prepared: &Prepared,
        context: &ExecContext,
        routine: &Routine,
        scroll: Option<bool>,
    ) -> Result<String>;

    /// The rows come to, of these fields, and how many.
    fn fetch_cursor(&self, name: &str, direction: Direction) -> Result<(Vec<Field>, Vec<Vec<Value>>, u64)>;

    /// Closes a cursor.
    fn close_cursor(&self, name: &str) -> Result<()>;

    /// A loop goes over it, and its transaction may end.
    fn pin_cursor(&self, name: &str) -> Result<()>;

    /// Where to roll back to; `None`: nothing is changed here.
    fn savepoint(&self) -> Result<Option<BlockSavepoint>>;

    /// Rolls back to there.
    fn rollback_to(&self, savepoint: Option<&BlockSavepoint>) -> Result<()>;
}

/// Where a block with EXCEPTION goes back to.
pub(crate) struct BlockSavepoint {
    pub(crate) state: Savepoint,
    pub(crate) deferred: Option<DeferredMark>,
    pub(crate) said: SaidMark,
    /// The cursors that were open.
    pub(crate) cursors: Vec<String>,
}

/// A host under a function's own search path, and what the function's statements are evaluated in.
pub(crate) struct UnderPath {
    pub(crate) host: Arc<dyn StatementHost>,
    pub(crate) eval: EvalContext,
    /// The schemas that it saw first, and that were seen where it comes from.
    pub(crate) seen: (u64, u64),
}

impl UnderPath {
    /// Whether it sees the schema that is seen where it comes from.
    pub(super) fn is_current(&self, from: &dyn StatementHost) -> bool {
        self.seen.1 == from.seen()
    }
}

/// What a statement of a body did.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) fields: Vec<Field>,
    pub(crate) rows: Collected,
    /// Rows changed, or returned.
    pub(crate) affected: u64,
    /// It changes rows itself.
    pub(crate) changes: bool,
    /// It is a statement that finds or changes rows.
    pub(crate) counts: bool,
}

/// A statement of a function's body, with its plan once it ran.
#[derive(Debug)]
pub(super) struct Planned {
    parsed: Arc<ParsedStatement>,
    prepared: Mutex<Option<Arc<Prepared>>>,
}

impl Planned {
    pub(super) fn new(parsed: ParsedStatement) -> Planned {
        Planned { parsed: Arc::new(parsed), prepared: Mutex::default() }
    }

    fn prepared(&self, host: &dyn StatementHost, variables: &Arc<dyn Variables>) -> Result<Arc<Prepared>> {
        let mut known = self.prepared.lock();
        if let Some(prepared) = &*known
            && host.is_current(prepared)
            && host.fits(prepared)?
        {
            return Ok(prepared.clone());
        }
        let prepared = host.prepare(&self.parsed, variables)?;
        *known = Some(prepared.clone());
        Ok(prepared)
    }

    /// The columns of a query's result; of another statement there are none.
    pub(super) fn fields(&self, host: &dyn StatementHost, variables: &Arc<dyn Variables>) -> Result<Vec<Field>> {
        let prepared = self.prepared(host, variables)?;
        Ok(prepared.plan()?.map_or_else(Vec::new, |plan| plan.fields.clone()))
    }

    /// Runs it. `limit`: of a query no more rows are wanted.
    pub(super) fn run(
        &self,
        host: &dyn StatementHost,
        variables: &Arc<dyn Variables>,
        context: &ExecContext,
        limit: Option<usize>,
    ) -> Result<Ran> {
        host.run_prepared(&*self.prepared(host, variables)?, context, limit)
    }
}
