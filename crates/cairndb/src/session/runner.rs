//! Runs the statements of functions: within the statement that calls them, in its transaction.
//!
//! - A function that may change rows sees what was changed so far, its caller's changes among it; any other reads what its
//!   caller reads.
//! - What calls nothing that may change rows has no transaction, and nothing to write to.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use super::Notice;
use super::channels::{SaidMark, SessionChannels};
use super::control::deferrable_keys;
use super::locked;
use super::names::Names;
use super::sequences::{SessionSequences, StatementSequences};
use super::shared::Shared;
use super::temporary::Temporary;
use crate::bind::{BoundExplain, Callees, ParameterTypes, Variables};
use crate::catalog::{Catalog, CatalogStamp, ObjectId, ObjectName, Routine, SearchPath, note_all};
use crate::command::{self, Command, Execute, SchemaCommand, SessionCommand, TransactionCommand};
use crate::ddl;
use crate::dml::{self, Deferred, DeferredMark, DmlContext, InsertRoom};
use crate::exec::{self, Batch, Collected, ExecContext, Keep, RowStream, ScrolledRows, SequenceSource};
use crate::notice::Notices;
use crate::plan::{Expr, Field, OptimizerOptions, PhysicalNode, PhysicalPlan};
use crate::prepared::{Body, Prepared, explanation};
use crate::routine::{Calls, CompiledRoutines};
use crate::sql::ParsedStatement;
use crate::state::{Reader, Savepoint, Transaction};
use crate::types::{EvalContext, ShownSettings};
use crate::{Error, Result, SqlState, Value};

/// To read so many rows while others are changed, pages are kept; fewer are read at once.
const MANY: f64 = 1000.0;

/// See the module. One for each statement of a connection.
pub(crate) struct Runner {
    pub(super) shared: Weak<Shared>,
    /// `None`: the statement only reads.
    pub(super) tx: Option<Weak<Transaction>>,
    /// What it reads, and under which limits; its own caller is nobody.
    pub(super) base: ExecContext,
    /// The schema, with what was changed of it since.
    pub(super) now: Mutex<(CatalogStamp, Arc<Catalog>)>,
    /// Another number for each schema that a runner sees: what was found to be current needs no second look.
    pub(super) seen: AtomicU64,
    pub(super) options: OptimizerOptions,
    pub(super) deferred: Option<Arc<Deferred>>,
    pub(super) read_only: bool,
    pub(super) session: Arc<RoutineSession>,
    pub(super) sequences: Arc<Mutex<SessionSequences>>,
    pub(super) temporary: Option<Arc<Temporary>>,
    /// Shared with the runners of the statement's other transactions.
    pub(super) depth: Arc<AtomicUsize>,
    pub(super) triggers: AtomicUsize,
    /// The tables whose triggers are running.
    pub(super) busy: Mutex<Vec<ObjectId>>,
    /// That plans rest on the schema was noted in the transaction.
    pub(super) noted: AtomicBool,
    /// Of the cursors that are opened.
    pub(super) cursor_depth: usize,
}

/// Where a block with EXCEPTION goes back to.
pub(crate) struct RoutineSavepoint {
    state: Savepoint,
    deferred: Option<DeferredMark>,
    said: SaidMark,
    cursors: Vec<String>,
}

/// What functions have of their session.
#[derive(Debug)]
pub(crate) struct RoutineSession {
    pub(super) compiled: CompiledRoutines,
    pub(super) channels: Arc<SessionChannels>,
    pub(super) notices: Notices,
    /// What DECLARE and functions opened, and what PREPARE made.
    pub(super) names: Arc<Names>,
    /// The transaction has made, filled or dropped materialized views that follow.
    pub(super) views: AtomicBool,
    /// Loops over queries, for the transaction's end to read on to theirs.
    loops: Mutex<Vec<Weak<Mutex<ScrolledRows>>>>,
    /// How many cursors got a name that nobody said.
    pub(super) portals: AtomicU64,
    /// The search paths of functions that have their own: plans rest on the very same.
    paths: Mutex<HashMap<ObjectId, Arc<SearchPath>>>,
    /// What the last INSERT within a function has left.
    insert_room: Mutex<InsertRoom>,
}

impl RoutineSession {
    pub(super) fn of(channels: &Arc<SessionChannels>) -> Arc<RoutineSession> {
        Arc::new(RoutineSession {
            compiled: CompiledRoutines::default(),
            channels: channels.clone(),
            notices: Notices::default(),
            names: Arc::default(),
            views: AtomicBool::default(),
            loops: Mutex::default(),
            portals: AtomicU64::default(),
            paths: Mutex::default(),
            insert_room: Mutex::default(),
        })
    }

    /// The rows of a loop whose transaction may end before it does.
    pub(crate) fn looped(&self, stream: RowStream) -> Arc<Mutex<ScrolledRows>> {
        let rows = Arc::new(Mutex::new(ScrolledRows::new(stream, Keep::Nothing)));
        let mut loops = locked(&self.loops);
        loops.retain(|known| known.strong_count() > 0);
        loops.push(Arc::downgrade(&rows));
        rows
    }

    /// Before a transaction ends within loops: reads what they have left.
    pub(super) fn hold_loops(&self, reader: &Reader) -> Result<()> {
        let loops: Vec<_> = locked(&self.loops).drain(..).collect();
        loops.iter().filter_map(Weak::upgrade).try_for_each(|rows| locked(&rows).hold(reader))
    }
}

/// A runner under a function's own search path, and what the function's statements are evaluated in.
pub(crate) struct UnderPath {
    pub(crate) runner: Arc<Runner>,
    pub(crate) eval: EvalContext,
    /// The schemas that it saw first, and that were seen where it comes from.
    seen: (u64, u64),
}

impl UnderPath {
    /// Whether it sees the schema that is seen where it comes from.
    pub(crate) fn is_current(&self, from: &Runner) -> bool {
        self.seen.1 == from.seen()
    }
}

/// The settings of a session under another search path.
#[derive(Debug)]
struct OtherPath {
    path: Arc<SearchPath>,
    others: Option<Arc<dyn ShownSettings>>,
}

impl ShownSettings for OtherPath {
    fn shown(&self, name: &str) -> Option<String> {
        match name {
            "search_path" => Some(self.path.to_string()),
            _ => self.others.as_ref()?.shown(name),
        }
    }
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
    pub(crate) rows: Collected,
    /// Rows changed, or returned.
    pub(crate) affected: u64,
    /// It changes rows itself.
    pub(crate) changes: bool,
    /// It is a statement that finds or changes rows.
    pub(crate) counts: bool,
}

impl Planned {
    pub(crate) fn new(parsed: ParsedStatement) -> Planned {
        Planned { parsed: Arc::new(parsed), prepared: Mutex::default() }
    }
}

impl Runner {
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.now().1
    }

    /// What the calling statement has, without its parameters.
    pub(crate) fn base(&self) -> &ExecContext {
        &self.base
    }

    pub(crate) fn depth(&self) -> &AtomicUsize {
        &self.depth
    }

    /// A trigger of the table begins to run.
    pub(crate) fn begin_trigger(&self, table: ObjectId) {
        self.triggers.fetch_add(1, Ordering::Relaxed);
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).push(table);
    }

    /// The last one that began is over.
    pub(crate) fn end_trigger(&self) {
        self.triggers.fetch_sub(1, Ordering::Relaxed);
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).pop();
    }

    /// How many triggers run within each other.
    pub(crate) fn triggers(&self) -> &AtomicUsize {
        &self.triggers
    }

    pub(crate) fn compiled(&self) -> &CompiledRoutines {
        &self.session.compiled
    }

    /// The rows of a loop that go on where its transaction ends.
    pub(crate) fn looped(&self, stream: RowStream) -> Arc<Mutex<ScrolledRows>> {
        self.session.looped(stream)
    }

    pub(crate) fn notice(&self, notice: Notice) {
        self.session.notices.add(notice);
    }

    fn transaction(&self) -> Result<Option<Arc<Transaction>>> {
        let ended = || Error::internal("a function runs outside of its statement");
        self.tx.as_ref().map(|tx| tx.upgrade().ok_or_else(ended)).transpose()
    }

    /// For the body of a function, but for its parameters.
    pub(crate) fn context(&self, routine: &Routine, eval: &EvalContext) -> Result<ExecContext> {
        let reads = match self.transaction()? {
            Some(tx) if routine.may_write() => eval.reading(tx.reader()),
            _ => eval.clone(),
        };
        let reader = reads.calls()?.reader.clone();
        Ok(ExecContext { reader, eval: Arc::new(reads), ..self.base.clone() })
    }

    /// What a call's arguments are evaluated in where they call functions that may change rows: none of the others sees it.
    pub(crate) fn frozen_for(&self, args: &[Expr], context: &ExecContext) -> Result<Option<ExecContext>> {
        match self.transaction()? {
            Some(tx) if args.iter().any(|arg| Callees::of(arg) == Callees::Writers) => {
                Ok(Some(context.reading(tx.reader_of_now()?)))
            }
            _ => Ok(None),
        }
    }

    /// The catalog and its stamp as this statement has changed it.
    pub(crate) fn now(&self) -> (CatalogStamp, Arc<Catalog>) {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        (now.0, now.1.clone())
    }

    /// The number of the schema that is seen now.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// What runs a function that looks names up in schemas of its own; `None`: in those that are searched already.
    pub(crate) fn under_path_of(&self, routine: &Routine, eval: &EvalContext) -> Result<Option<UnderPath>> {
        if routine.search_path.is_empty() {
            return Ok(None);
        }
        let (_, catalog) = self.now();
        let wanted = SearchPath { schemas: routine.search_path.clone(), ..SearchPath::clone(catalog.path()) };
        if wanted == **catalog.path() {
            return Ok(None);
        }
        let path = self.path_of(routine.id, wanted);
        let catalog = Arc::new(catalog.under(&path));
        let mut runner = ddl::Session::runner(self, &catalog)?;
        runner.base.sequences = Some(ddl::Session::sequences(self, &catalog));
        let (runner, others) = (Arc::new(runner), eval.settings.clone());
        // (Nobody has called it where a body is only looked at.)
        let reader = eval.calls.as_ref().map_or_else(|| self.base.reader.clone(), |calls| calls.reader.clone());
        let mut eval = eval.with_calls(Some(Calls { caller: runner.clone(), reader }));
        eval.settings = Some(Arc::new(OtherPath { path, others }));
        let seen = (runner.seen(), self.seen());
        Ok(Some(UnderPath { runner, eval, seen }))
    }

    /// The path, the same as last time where it says the same.
    fn path_of(&self, routine: ObjectId, wanted: SearchPath) -> Arc<SearchPath> {
        let mut paths = self.session.paths.lock().unwrap_or_else(PoisonError::into_inner);
        match paths.get(&routine) {
            Some(known) if **known == wanted => known.clone(),
            _ => {
                let path = Arc::new(wanted);
                paths.insert(routine, path.clone());
                path
            }
        }
    }

    /// Sees what a function has done to the schema that ran under a path of its own.
    pub(crate) fn catch_up(&self, under: &UnderPath) -> Result<()> {
        match self.transaction()? {
            Some(tx) if under.runner.seen() != under.seen.0 => self.see_changes(&tx, &*self.shared()?),
            _ => Ok(()),
        }
    }

    pub(crate) fn is_current(&self, prepared: &Prepared) -> bool {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        prepared.is_current(now.0, &now.1, &self.options)
    }

    /// SQLSTATE 0A000 for CALL in a statement that has no transaction.
    pub(crate) fn refuse_call_in_query(&self) -> Result<()> {
        match self.tx {
            Some(_) => Ok(()),
            None => Err(not_allowed("CALL")),
        }
    }

    /// What statements see that are planned now.
    fn reader(&self) -> Result<Reader> {
        if self.base.reader.is_frozen() {
            return Ok(self.base.reader.clone());
        }
        Ok(self.transaction()?.map_or_else(|| self.base.reader.clone(), |tx| tx.reader().clone()))
    }

    /// Binds and plans a statement.
    pub(crate) fn prepare(
        &self,
        parsed: &Arc<ParsedStatement>,
        variables: &Arc<dyn Variables>,
    ) -> Result<Arc<Prepared>> {
        command::refuse_into(parsed, "SELECT ... INTO in a function")?;
        let (stamp, catalog) = self.now();
        let parameters = ParameterTypes::with_variables(variables.clone());
        let reader = self.reader()?;
        Ok(Arc::new(Prepared::with(parsed, stamp, &catalog, &self.options, &reader, parameters)?))
    }

    fn prepared(&self, statement: &Planned, variables: &Arc<dyn Variables>) -> Result<Arc<Prepared>> {
        let mut known = statement.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = &*known
            && self.is_current(prepared)
            && prepared.fits(&self.reader()?)?
        {
            return Ok(prepared.clone());
        }
        let prepared = self.prepare(&statement.parsed, variables)?;
        *known = Some(prepared.clone());
        Ok(prepared)
    }

    /// The columns of a query's result; of another statement there are none.
    pub(crate) fn fields_of(&self, statement: &Planned, variables: &Arc<dyn Variables>) -> Result<Vec<Field>> {
        let prepared = self.prepared(statement, variables)?;
        Ok(prepared.plan()?.map_or_else(Vec::new, |plan| plan.fields.clone()))
    }

    /// Runs a statement. `limit`: of a query no more rows are wanted.
    pub(crate) fn run(
        &self,
        statement: &Planned,
        variables: &Arc<dyn Variables>,
        context: &ExecContext,
        limit: Option<usize>,
    ) -> Result<Ran> {
        self.run_prepared(&*self.prepared(statement, variables)?, context, limit)
    }

    /// As `run`.
    pub(crate) fn run_prepared(&self, prepared: &Prepared, context: &ExecContext, limit: Option<usize>) -> Result<Ran> {
        let plan = match prepared.body()? {
            Body::Plan(plan) => plan,
            Body::Explain(of) => return self.explain(of, prepared, context),
            Body::Utility => return self.command(prepared, context),
        };
        let fields = plan.fields.clone();
        if !prepared.writes() {
            return query(plan, fields, context, limit);
        }
        let (tx, shared) = self.begin_changes(prepared)?;
        if limit.is_some() && !prepared.changes() {
            // Only functions that it calls change rows: it may end before its last one.
            let context =
                if context.reader.is_frozen() { context.clone() } else { context.reading(tx.reader_of_now()?) };
            return query(plan, fields, &context, limit);
        }
        let (_, catalog) = self.now();
        let done = {
            let room = Cell::new(std::mem::take(&mut *self.insert_room()));
            let done = dml::run(plan, &self.dml(&tx, &catalog, (context, &room), &shared), prepared.calls());
            *self.insert_room() = room.into_inner();
            done?
        };
        let changes = matches!(dml::beneath_returning(plan).node, PhysicalNode::Modify { .. });
        let affected = if changes { done.affected } else { done.rows.len() as u64 };
        Ok(Ran { fields, rows: done.rows, affected, changes, counts: true })
    }

    /// Runs EXPLAIN, whose lines are rows like a query's.
    fn explain(&self, of: &BoundExplain, prepared: &Prepared, context: &ExecContext) -> Result<Ran> {
        self.transaction()?.ok_or_else(|| not_allowed("EXPLAIN"))?;
        let explained =
            |dml: Option<&DmlContext<'_>>| explanation(of.told, of.statement.clone(), prepared, context, dml);
        let (fields, rows) = match of.told.analyze && prepared.writes() {
            false => explained(None)?,
            true => {
                let (tx, shared) = self.begin_changes(prepared)?;
                let (_, catalog) = self.now();
                explained(Some(&self.dml(&tx, &catalog, (context, &Cell::default()), &shared)))?
            }
        };
        // FOUND stays what it was.
        Ok(Ran { affected: rows.len() as u64, fields, rows: rows.into(), ..Ran::default() })
    }

    /// For a statement that changes rows.
    fn begin_changes(&self, prepared: &Prepared) -> Result<(Arc<Transaction>, Arc<Shared>)> {
        let tx = self.transaction()?.ok_or_else(|| no_changes(&prepared.parsed))?;
        if self.read_only && !prepared.writes_only_temporary() {
            return Err(super::execute::read_only_violation(&prepared.parsed));
        }
        let shared = self.shared()?;
        if !self.noted.swap(true, Ordering::Relaxed) {
            note_all(tx.reader().database())?;
        }
        Ok((tx, shared))
    }

    /// The same, where it is one.
    pub(super) fn may_begin_changes(&self, prepared: &Prepared) -> Result<()> {
        if prepared.writes() { self.begin_changes(prepared).map(drop) } else { Ok(()) }
    }

    /// Runs an INSERT once for each row of `parameters`. False, and nothing done: it is something else, or more than the
    /// insertion of one row.
    pub(crate) fn insert_each(&self, prepared: &Prepared, context: &ExecContext, parameters: &Batch) -> Result<bool> {
        let Some(insert) = prepared.plan()?.and_then(|plan| dml::one_row_insert(plan)) else { return Ok(false) };
        let (tx, shared) = self.begin_changes(prepared)?;
        let (_, catalog) = self.now();
        let room = Cell::new(std::mem::take(&mut *self.insert_room()));
        let done = dml::insert_each(insert, &self.dml(&tx, &catalog, (context, &room), &shared), parameters);
        *self.insert_room() = room.into_inner();
        done.map(|()| true)
    }

    /// The rows of a query as they are now, whatever is changed while they are read, and worked out as they are asked for; `None`:
    /// they are expected to be few, or it changes some.
    pub(crate) fn stream(
        &self,
        prepared: &Prepared,
        context: &ExecContext,
        routine: &Routine,
    ) -> Result<Option<RowStream>> {
        let is_asked_for = |plan: &&Arc<PhysicalPlan>| plan.estimate.rows >= MANY || exec::is_volatile(plan);
        let Some(plan) = prepared.plan()?.filter(|plan| !prepared.changes() && is_asked_for(plan)) else {
            return Ok(None);
        };
        self.may_begin_changes(prepared)?;
        let mut context = match self.transaction()? {
            Some(tx) if routine.may_write() => context.reading(tx.reader_of_now()?),
            // What it reads is its caller's, and may change while it is read.
            Some(_) => return Ok(None),
            None => context.clone(),
        };
        context.sparing = true;
        exec::execute(plan.clone(), context).map(Some)
    }

    /// What a cursor reads that a function opens, whatever is changed later.
    pub(super) fn reader_for_cursor(&self, routine: &Routine, callers: Reader) -> Result<Reader> {
        match self.transaction()? {
            Some(tx) if routine.may_write() => Ok(tx.reader_of_now()?),
            _ => Ok(callers),
        }
    }

    fn shared(&self) -> Result<Arc<Shared>> {
        self.shared.upgrade().ok_or_else(|| Error::internal("the database is closed"))
    }

    fn insert_room(&self) -> MutexGuard<'_, InsertRoom> {
        self.session.insert_room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dml<'a>(
        &'a self,
        tx: &'a Transaction,
        catalog: &'a Arc<Catalog>,
        (exec, room): (&'a ExecContext, &'a Cell<InsertRoom>),
        shared: &'a Shared,
    ) -> DmlContext<'a> {
        DmlContext {
            tx,
            catalog,
            exec,
            store: &shared.store,
            row_numbers: &shared.row_numbers,
            deferred: self.deferred.as_deref(),
            room,
        }
    }

    /// Runs a command that changes the schema, or is about channels.
    fn command(&self, prepared: &Prepared, context: &ExecContext) -> Result<Ran> {
        let parsed = &prepared.parsed;
        let words = || command::first_words(parsed).unwrap_or_default();
        let command = match Command::of(parsed)? {
            Command::Schema(command) => command,
            Command::Channel(command) => {
                self.transaction()?.ok_or_else(|| no_changes(parsed))?;
                self.session.channels.command(&command)?;
                return Ok(Ran::default());
            }
            Command::Transaction(TransactionCommand::SetConstraints { names, deferred }) => {
                return self.set_constraints(names.as_deref(), deferred, context);
            }
            Command::Session(SessionCommand::SetTransaction { read_only })
                if read_only.is_none_or(|read_only| read_only == self.read_only) =>
            {
                self.transaction()?.ok_or_else(|| no_changes(parsed))?;
                return Ok(Ran::default());
            }
            Command::Transaction(_) => {
                let message = "unsupported transaction command in PL/pgSQL";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            _ => return Err(Error::unsupported(format!("{} in a function", words()))),
        };
        let tx = self.transaction()?.ok_or_else(|| no_changes(parsed))?;
        if self.read_only {
            return Err(super::execute::read_only_violation(parsed));
        }
        if self.temporary.is_none() && (command.makes_temporary() || self.is_temporary_by_path(&command)) {
            let error = Error::unsupported("the session's first temporary relation made in a function");
            return Err(error.with_hint("Make a temporary table before the function is called."));
        }
        let (shared, (_, catalog)) = (self.shared()?, self.now());
        let trees = shared.trees.ok_or_else(|| Error::internal("the database has no system trees"))?;
        let done = {
            let room = Cell::default();
            let dml = self.dml(&tx, &catalog, (context, &room), &shared);
            ddl::execute(parsed, &dml, trees, &self.options, self, false)?
        };
        for (severity, code, message, detail) in done.notices {
            self.notice(Notice { severity, code, message, detail });
        }
        self.see_changes(&tx, &shared)?;
        let (fields, rows) = done.rows.unwrap_or_default();
        Ok(Ran { affected: done.affected, fields, rows: rows.into(), ..Ran::default() })
    }

    fn set_constraints(&self, names: Option<&[ObjectName]>, deferred: bool, context: &ExecContext) -> Result<Ran> {
        let tx = self.transaction()?.ok_or_else(|| not_allowed("SET CONSTRAINTS"))?;
        let (_, catalog) = self.now();
        let keys = deferrable_keys(names, deferred, &catalog)?;
        if let Some(known) = &self.deferred {
            known.set(keys.as_deref(), deferred);
            if !deferred {
                let (shared, room) = (self.shared()?, Cell::default());
                let dml = self.dml(&tx, &catalog, (context, &room), &shared);
                known.look(keys.as_deref(), &DmlContext { deferred: None, ..dml })?;
            }
        }
        Ok(Ran::default())
    }

    fn is_temporary_by_path(&self, command: &SchemaCommand) -> bool {
        self.now().1.path().begins_temporary() && command.makes_in_path()
    }

    /// Runs the functions of another statement, to be over by then, of the same transaction: under the schema as it is by now.
    /// `None`: that is what this one does.
    pub(crate) fn of_statement(&self, deadline: Option<Instant>) -> Result<Option<Runner>> {
        let ((stamp, catalog), shared) = (self.now(), self.shared()?);
        let changed = match self.transaction()? {
            Some(tx) if CatalogStamp::of(tx.reader().database(), shared.trees)? != stamp => Some(tx),
            _ => None,
        };
        if changed.is_none() && self.base.deadline == deadline {
            return Ok(None);
        }
        let mut next = ddl::Session::runner(self, &catalog)?;
        next.base.deadline = deadline;
        if let Some(tx) = changed {
            next.see_changes(&tx, &shared)?;
            let (_, catalog) = next.now();
            next.base.sequences = Some(ddl::Session::sequences(&next, &catalog));
        }
        Ok(Some(next))
    }

    /// Looks at the schema again, where a command or a rollback has changed it.
    fn see_changes(&self, tx: &Transaction, shared: &Shared) -> Result<()> {
        let database = tx.reader().database();
        let stamp = CatalogStamp::of(database, shared.trees)?;
        let (_, known) = self.now();
        let path = match tx.reader().temporary() {
            Some(temporary) => super::temporary::seen(known.path(), temporary)?,
            None => None,
        };
        let path = path.unwrap_or_else(|| known.path().clone());
        let catalog = Arc::new(shared.catalog_of_transaction(database, stamp)?.under(&path));
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = (stamp, catalog);
        self.seen.store(next_seen(), Ordering::Relaxed);
        Ok(())
    }

    /// Where to roll back to; `None`: nothing is changed here.
    pub(crate) fn savepoint(&self) -> Result<Option<RoutineSavepoint>> {
        let savepoint = self.transaction()?.map(|tx| tx.savepoint()).transpose()?;
        let deferred = self.deferred.as_ref().map(|deferred| deferred.mark());
        let (said, cursors) = (self.session.channels.mark(), self.open_cursors());
        Ok(savepoint.map(|state| RoutineSavepoint { state, deferred, said, cursors }))
    }

    pub(crate) fn rollback_to(&self, savepoint: Option<&RoutineSavepoint>) -> Result<()> {
        let (Some(savepoint), Some(tx)) = (savepoint, self.transaction()?) else { return Ok(()) };
        self.close_cursors_but(&savepoint.cursors);
        tx.rollback_to(&savepoint.state)?;
        self.session.channels.go_back(savepoint.said);
        if let (Some(deferred), Some(mark)) = (&self.deferred, &savepoint.deferred) {
            deferred.go_back(mark);
        }
        let shared = self.shared()?;
        if CatalogStamp::of(tx.reader().database(), shared.trees)? == self.now().0 {
            return Ok(());
        }
        self.see_changes(&tx, &shared)
    }
}

/// A number for a schema that a runner sees.
pub(super) fn next_seen() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl ddl::Session for Runner {
    fn sequences(&self, catalog: &Arc<Catalog>) -> Arc<dyn SequenceSource> {
        Arc::new(StatementSequences {
            shared: self.shared.clone(),
            catalog: catalog.clone(),
            session: self.sequences.clone(),
            temporary: self.temporary.clone(),
            read_only: self.read_only,
            known: OnceLock::new(),
        })
    }

    fn keep_feeds(&self) -> Result<()> {
        self.shared()?.keep_feeds()
    }

    fn follow_views(&self) {
        self.session.views.store(true, Ordering::Relaxed);
    }

    fn executed(&self, _: &ParsedStatement, _: &Execute) -> Result<(Arc<ParsedStatement>, Vec<Value>)> {
        Err(Error::unsupported("EXECUTE of a prepared statement in a function"))
    }

    fn is_busy(&self, table: ObjectId) -> bool {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).contains(&table)
    }

    fn runner(&self, catalog: &Arc<Catalog>) -> Result<Runner> {
        let stamp = match self.transaction()? {
            Some(tx) => CatalogStamp::of(tx.reader().database(), self.shared()?.trees)?,
            None => self.now().0,
        };
        Ok(Runner {
            shared: self.shared.clone(),
            tx: self.tx.clone(),
            base: self.base.clone(),
            now: Mutex::new((stamp, catalog.clone())),
            seen: AtomicU64::new(next_seen()),
            busy: Mutex::new(self.busy.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            options: self.options.clone(),
            deferred: self.deferred.clone(),
            read_only: self.read_only,
            session: self.session.clone(),
            sequences: self.sequences.clone(),
            temporary: self.temporary.clone(),
            depth: Arc::new(AtomicUsize::new(self.depth.load(Ordering::Relaxed))),
            triggers: AtomicUsize::new(self.triggers.load(Ordering::Relaxed)),
            noted: AtomicBool::new(false),
            cursor_depth: self.cursor_depth,
        })
    }
}

/// The rows of a query, no more of them than are wanted.
fn query(plan: &Arc<PhysicalPlan>, fields: Vec<Field>, context: &ExecContext, limit: Option<usize>) -> Result<Ran> {
    let context = &ExecContext { sparing: limit.is_some(), ..context.clone() };
    let mut stream = exec::execute(plan.clone(), context.clone())?;
    let mut rows = Collected::default();
    while let Some(batch) = stream.next_batch()? {
        let left = limit.map_or(batch.len(), |limit| batch.len().min(limit - rows.len()));
        if limit.is_none() && rows.is_plain() && !rows.is_empty() {
            rows = rows.listed(context, &fields)?;
        }
        (0..left).try_for_each(|row| rows.push(batch.row(row)))?;
        if limit.is_some_and(|limit| rows.len() >= limit) {
            break;
        }
    }
    let affected = rows.len() as u64;
    Ok(Ran { fields, rows: rows.finish(), affected, changes: false, counts: true })
}

/// A function that is said to change nothing does.
fn no_changes(parsed: &ParsedStatement) -> Error {
    not_allowed(&super::execute::verb_of(parsed))
}

fn not_allowed(name: &str) -> Error {
    let message = format!("{name} is not allowed in a non-volatile function");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}
