//! Runs one statement: where (snapshot, own transaction, open transaction), with which plan, and how often.
//!
//! - A statement on its own that reads runs on a snapshot; one that writes runs in a transaction of its own, again from
//!   its start when another got in its way.
//! - In an open transaction any error fails the transaction; so a statement needs no savepoint to be atomic.

use std::cell::RefMut;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use cairn_parser::Statement as Syntax;
use cairn_storage::{self as storage, Acknowledge, Durability, Losses};

use super::control::{aborted, sole};
use super::cursors::OF_STATEMENT;
use super::explain::{explain, explain_named};
use super::named::refuse_other_columns;
use super::point::{self, Miss, PointPlan};
use super::prepared::{Access, Body, Prepared};
use super::rows::{FewRows, add_row};
use super::runner::{Runner, next_seen};
use super::sequences::StatementSequences;
use super::session::{OpenTransaction, SessionState};
use super::statement_cache::TextHash;
use super::{Connection, Notice, Params, RowRef, Rows, parameters};
use crate::catalog::{Catalog, CatalogStamp, Index, ObjectId, SearchPath, note_all};
use crate::command::{self, Command, Execute, Told};
use crate::ddl;
use crate::dml::{self, Deferred, DmlContext};
use crate::exec::{self, BatchSizes, ExecContext, Kept, SequenceSource};
use crate::inverted::settle;
use crate::routine::Calls;
use crate::sql::{ParsedStatement, parse_one};
use crate::state::{Reader, Transaction};
use crate::types::datetime::clock_micros;
use crate::{Error, Result, SqlState, Value};

/// How often a statement on its own runs before its conflict is the caller's problem.
const ATTEMPTS: u32 = 100;

/// What a statement did.
pub(crate) struct Executed {
    /// PostgreSQL's command tag, without counts.
    pub(crate) tag: &'static str,
    pub(crate) affected: u64,
    pub(crate) rows: Option<Rows>,
}

impl Executed {
    pub(crate) fn tag(tag: &'static str) -> Executed {
        Executed { tag, affected: 0, rows: None }
    }

    pub(crate) fn rows(tag: &'static str, rows: Rows) -> Executed {
        Executed { tag, affected: 0, rows: Some(rows) }
    }
}

/// A statement and, once it was planned, its plan.
#[derive(Clone)]
pub(crate) struct Runnable {
    pub(crate) parsed: Arc<ParsedStatement>,
    pub(crate) prepared: Option<Arc<Prepared>>,
    /// Of the text that its plan is remembered by; a script's statements are not.
    pub(crate) hash: Option<TextHash>,
    /// What the last execution leaves to the next.
    pub(crate) kept: Option<Kept>,
    /// It is not to be run but explained.
    pub(crate) explained: Option<Told>,
}

impl Runnable {
    /// A statement without a plan, which none is to be remembered of.
    pub(crate) fn new(parsed: Arc<ParsedStatement>) -> Runnable {
        Runnable { parsed, prepared: None, hash: None, kept: None, explained: None }
    }

    /// How it must be run.
    fn access(&self) -> Access {
        match self.explained {
            Some(told) if !told.analyze => Access::Read,
            _ => Access::of(&self.parsed),
        }
    }
}

/// A transaction that functions use, too, and what is looked at when it commits.
type Shared<'a> = (&'a Arc<Transaction>, Option<&'a Arc<Deferred>>);

/// A state to run on: its reader, its catalog.
pub(super) struct State<'a> {
    pub(super) reader: &'a Reader,
    /// What the statement may change rows in.
    pub(super) tx: Option<Shared<'a>>,
    pub(super) stamp: CatalogStamp,
    pub(super) catalog: Arc<Catalog>,
    /// The transaction's timestamp; `None`: the statement's own.
    pub(super) started: Option<i64>,
    pub(super) read_only: bool,
    /// The statement runs again, because another got in its way.
    pub(super) has_lost: bool,
}

/// SQLSTATE 40001 in PostgreSQL's words; other errors as they are.
pub(crate) fn conflict(error: storage::Error) -> Error {
    match error {
        storage::Error::Conflict => {
            let message = "could not serialize access due to concurrent update";
            Error::new(SqlState::SERIALIZATION_FAILURE, message).with_hint("The transaction might succeed if retried.")
        }
        error => error.into(),
    }
}

/// Runs `work` until it does not end in a conflict, a bounded number of times.
pub(crate) fn retry<T>(mut work: impl FnMut() -> Result<T>) -> Result<T> {
    for attempt in 1..ATTEMPTS {
        match work() {
            Err(error) if error.sqlstate() == SqlState::SERIALIZATION_FAILURE => back_off(attempt),
            done => return done,
        }
    }
    work()
}

/// The more often a statement lost, the longer it leaves the field to the others.
fn back_off(attempt: u32) {
    match attempt {
        0..4 => std::thread::yield_now(),
        _ => std::thread::sleep(std::time::Duration::from_micros(u64::from(attempt) * 20)),
    }
}

/// Ends what a statement's functions opened, however the statement ends.
pub(super) struct EndOfStatement<'a>(pub(super) &'a Connection);

impl Drop for EndOfStatement<'_> {
    fn drop(&mut self) {
        self.0.end_cursors_of_statement();
    }
}

impl Connection {
    /// Runs a statement; its errors fail the open transaction.
    pub(crate) fn run_one(&self, statement: &mut Runnable, params: &dyn Params) -> Result<Executed> {
        self.run_as_statement(command::is_rollback(&statement.parsed), || self.dispatch(statement, params))
    }

    /// Runs what is a statement, by whichever way it was asked for; its errors fail the open transaction. ROLLBACK is always
    /// in time.
    pub(super) fn run_as_statement(
        &self,
        is_rollback: bool,
        work: impl FnOnce() -> Result<Executed>,
    ) -> Result<Executed> {
        self.check_process()?;
        drop(self.state_mut()?);
        if !self.keeps_interrupt {
            self.interrupt.store(false, Ordering::Relaxed);
        }
        if !is_rollback {
            self.state.borrow().follow_locks();
        }
        let result = self.check_time(is_rollback).and_then(|()| work());
        let state = self.state.borrow();
        if result.is_err() {
            state.fail();
            if state.transaction.is_none() {
                // What it locked, and was about to tell.
                self.channels().forget();
            }
        }
        if let Some(open) = &state.transaction {
            open.idle_since.set(Instant::now());
        }
        result
    }

    /// Whether the open transaction has time left.
    fn check_time(&self, is_rollback: bool) -> Result<()> {
        let state = self.state.borrow();
        match &state.transaction {
            Some(open) if !is_rollback => open.check_time(&state.settings.limits),
            _ => Ok(()),
        }
    }

    pub(super) fn dispatch(&self, statement: &mut Runnable, params: &dyn Params) -> Result<Executed> {
        let access = statement.access();
        if access == Access::TransactionControl {
            return self.control_or_session(&statement.parsed, params);
        }
        let state = self.state.borrow_mut();
        if state.failed() {
            return Err(aborted());
        }
        if access == Access::Session {
            drop(state);
            return self.control_or_session(&statement.parsed, params);
        }
        let state = match access {
            Access::Schema => {
                drop(state);
                if let Command::Schema(command) = Command::of(&statement.parsed)? {
                    self.provide_temporary(&command)?;
                }
                self.state.borrow_mut()
            }
            _ => state,
        };
        if state.transaction.is_some() {
            return self.run_in_open(state, statement, access, params);
        }
        drop(state);
        match access {
            Access::Schema if command::runs_body(&statement.parsed) => self.run_body_alone(&statement.parsed, params),
            Access::Read if let Some(executed) = self.run_on_snapshot(statement, params)? => Ok(executed),
            _ => {
                if access == Access::Write
                    && let Some(executed) = self.write_as_point(statement, params)?
                {
                    return Ok(executed);
                }
                let (mut lost, deadline) = (Losses::default(), self.deadline());
                retry(|| {
                    let tx = self.begin_in_time(&lost, deadline)?;
                    self.run_alone(tx, statement, access, params, (&mut lost, deadline))
                })
            }
        }
    }

    /// Runs a statement that writes, in no transaction of the user's, as a point statement, if it is one.
    fn write_as_point(&self, statement: &mut Runnable, params: &dyn Params) -> Result<Option<Executed>> {
        let prepared = self.with_state(|state| self.plan(statement, state))?;
        self.run_as_point(statement, &prepared, params)
    }

    /// Runs what came as text as a point statement, if it is one and nothing is out of the ordinary. Who prepares statements
    /// has tried that before.
    fn run_as_point(&self, statement: &Runnable, prepared: &Prepared, params: &dyn Params) -> Result<Option<Executed>> {
        let session = self.state.borrow();
        let read_only = session.is_read_only();
        let (Some(plan), None) = (prepared.point(), &statement.kept) else { return Ok(None) };
        let is_explained = statement.explained.is_some();
        if params.count() != prepared.parameters.len() || plan.is_write() && read_only || is_explained {
            return Ok(None);
        }
        let (columns, tag) = (prepared.fields(), tag_of(statement.parsed.syntax()));
        let mut buffers = self.point_buffers()?;
        let done = match plan {
            PointPlan::Select(_) | PointPlan::Rows(_) | PointPlan::Aggregate(_) => {
                let mut rows = Ok(FewRows::default());
                let add = |row: RowRef<'_>| add_row(&mut rows, row, columns.len());
                let read = point::read(self, &session, (prepared, plan), params, &mut buffers, add);
                read.map(|_| (0, rows.map(|rows| Rows::few(prepared, rows))))
            }
            _ => {
                let acknowledge = self.acknowledge(&session);
                let written = point::write(self, &session, (prepared, plan), (params, acknowledge), &mut buffers);
                written.map(|(affected, ticket)| {
                    if self.pipelines.get() && ticket.is_some() {
                        self.pending.set(ticket);
                    }
                    let row = (affected > 0).then(|| std::mem::take(&mut buffers.write.returned));
                    (affected, Ok(Rows::buffered(columns.to_vec(), row.into_iter().collect())))
                })
            }
        };
        match done {
            Ok((affected, rows)) => {
                let rows = rows?;
                // Rows of a SELECT may have no columns.
                let has_rows = !columns.is_empty() || !plan.is_write();
                Ok(Some(Executed { tag, affected, rows: has_rows.then_some(rows) }))
            }
            Err(Miss::General | Miss::Unfit) => Ok(None),
            Err(Miss::Error(error)) => Err(error),
        }
    }

    /// How a point write of this connection is acknowledged.
    fn acknowledge(&self, session: &SessionState) -> Acknowledge {
        let durability = session.settings.durability;
        match durability.unwrap_or(session.settings.default_durability) {
            Durability::Full | Durability::Group if self.pipelines.get() => Acknowledge::Later,
            _ => Acknowledge::Now(durability),
        }
    }

    fn control_or_session(&self, parsed: &Arc<ParsedStatement>, params: &dyn Params) -> Result<Executed> {
        match Command::of(parsed)? {
            Command::Transaction(command) => self.control(&command),
            Command::Session(command) => self.session_command(&command),
            Command::Prepared(command) => self.prepared_command(parsed, &command),
            Command::Cursor(command) => self.cursor_command(parsed, &command, params),
            Command::Channel(command) => self.channel_command(&command),
            Command::Subscribe(query) => self.subscribe(parsed, query, params),
            Command::Copy(copy) => self.copy_alone(&copy),
            Command::Schema(_) => Err(Error::internal("a schema change was taken for a session's command")),
        }
    }

    /// Plans the statement without running it, where it is one that has a plan.
    pub(super) fn prepare_now(&self, statement: &mut Runnable) -> Result<()> {
        if !matches!(Access::of(&statement.parsed), Access::Read | Access::Write) {
            return Ok(());
        }
        let planned = self.with_state(|state| self.plan(statement, state));
        planned.inspect_err(|_| self.state.borrow().fail()).map(drop)
    }

    /// The state that a statement would see now.
    pub(super) fn with_state<T>(&self, work: impl FnOnce(&State<'_>) -> Result<T>) -> Result<T> {
        let session = self.state.borrow();
        let Some(open) = &session.transaction else {
            let reader = &self.reader_of_now(&session)?;
            let (stamp, catalog) = self.catalog_at(reader)?;
            let read_only = session.is_read_only();
            return work(&State { reader, tx: None, stamp, catalog, started: None, read_only, has_lost: false });
        };
        if open.failed() {
            return Err(aborted());
        }
        let database = open.tx.reader().database();
        let stamp = CatalogStamp::of(database, self.shared().trees)?;
        let catalog = self.seen(self.shared().catalog_of_transaction(database, stamp)?);
        let (started, read_only) = (Some(open.started), open.read_only);
        work(&State { reader: open.tx.reader(), tx: None, stamp, catalog, started, read_only, has_lost: false })
    }

    /// `None`: it calls functions that may change rows, so it has to run in a transaction.
    fn run_on_snapshot(&self, statement: &mut Runnable, params: &dyn Params) -> Result<Option<Executed>> {
        let (reader, read_only) = {
            let session = self.state.borrow();
            (&self.reader_of_now(&session)?, session.is_read_only())
        };
        let (stamp, catalog) = self.catalog_at(reader)?;
        let state = State { reader, tx: None, stamp, catalog, started: None, read_only, has_lost: false };
        if self.plan(statement, &state)?.calls_writers() {
            return Ok(None);
        }
        self.read(statement, &state, params).map(Some)
    }

    /// Reads what is committed now.
    fn reader_of_now(&self, session: &SessionState) -> Result<Reader> {
        let snapshot = self.shared().store.snapshot()?;
        Ok(match session.temporary_store() {
            None => Reader::from(snapshot.reader()),
            Some(temporary) => Reader::new(snapshot.reader(), Some(temporary.store().snapshot()?.reader())),
        })
    }

    /// The catalog in a state, as this session sees it.
    pub(super) fn catalog_at(&self, reader: &Reader) -> Result<(CatalogStamp, Arc<Catalog>)> {
        let (stamp, catalog) = self.shared().catalog(reader.database())?;
        Ok((stamp, self.seen(catalog)))
    }

    /// The catalog as this session sees it.
    pub(super) fn seen(&self, catalog: Arc<Catalog>) -> Arc<Catalog> {
        let session = self.state.borrow();
        let path = &session.settings.search_path;
        if Arc::ptr_eq(catalog.path(), path) {
            return catalog;
        }
        let mut seen = session.seen.borrow_mut();
        match &*seen {
            Some((of, seen)) if Arc::ptr_eq(of, &catalog) && Arc::ptr_eq(seen.path(), path) => seen.clone(),
            _ => {
                let now = Arc::new(catalog.under(path));
                *seen = Some((catalog, now.clone()));
                now
            }
        }
    }

    /// When a statement that begins now has to be over.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.state.borrow().settings.statement_timeout.and_then(|limit| exec::clock::now().checked_add(limit))
    }

    /// Begins a transaction, which may have to wait for its turn where it lost often, and for room in the log: for as long as the
    /// statement may.
    pub(super) fn begin_in_time(&self, lost: &Losses, deadline: Option<Instant>) -> Result<Transaction> {
        // Of a statement that failed, or runs again.
        self.channels().forget();
        let in_time = || exec::check_statement(&self.interrupt, deadline);
        let tx = self.shared().store.begin_patiently(lost, self.channels().clone(), &|| in_time().is_err())?;
        if lost.times() > 0 {
            in_time()?;
        }
        self.with_temporary(tx)
    }

    /// SQLSTATE 25006: the transaction is READ ONLY, and the statement changes what is not temporary.
    fn refuse_write(&self, statement: &mut Runnable, access: Access, state: &State<'_>) -> Result<()> {
        let writes = match access {
            _ if !state.read_only => false,
            Access::Schema => !command::is_harmless(&statement.parsed),
            Access::Write => !self.plan(statement, state)?.writes_only_temporary(),
            _ => false,
        };
        if writes { Err(read_only_violation(&statement.parsed)) } else { Ok(()) }
    }

    /// Commits a transaction, which may have to wait for another's turn: for as long as the statement may.
    pub(super) fn commit_in_time(
        &self,
        tx: Transaction,
        durability: Option<Durability>,
        lost: &mut Losses,
        deadline: Option<Instant>,
    ) -> Result<()> {
        let in_time = || exec::check_statement(&self.interrupt, deadline);
        let gives_up = || in_time().is_err();
        let mut telling = self.channels().telling();
        let committed = match self.pipelines.get() {
            // What it tells is told once it is acknowledged: that is waited for.
            _ if let Some(telling) = &mut telling => {
                tx.commit_in_order(durability, lost, &gives_up, &mut |position| telling.appended(position))
            }
            true => tx.commit_async_or_note(durability, lost, &gives_up).map(|(position, ticket)| {
                self.pending.set(ticket);
                position
            }),
            false => tx.commit_or_note(durability, lost, &gives_up),
        };
        match committed {
            Err(error @ storage::Error::GivenUp) => in_time().and(Err(error.into())),
            done => {
                let position = done.map_err(conflict)?;
                self.committed.set(position.unwrap_or(self.committed.get()));
                telling.into_iter().for_each(|telling| telling.acknowledged(position));
                self.channels().locks.go_back(0);
                match self.routines.views.swap(false, Ordering::Relaxed) {
                    true => self.shared().follow_views(),
                    false => Ok(()),
                }
            }
        }
    }

    /// In a transaction of its own.
    fn run_alone(
        &self,
        tx: Transaction,
        statement: &mut Runnable,
        access: Access,
        params: &dyn Params,
        (lost, deadline): (&mut Losses, Option<Instant>),
    ) -> Result<Executed> {
        let _ending = EndOfStatement(self);
        let (stamp, catalog) = self.catalog_at(tx.reader())?;
        let (tx, has_lost) = (Arc::new(tx), lost.times() > 0);
        // DO calls functions, whether or not there are any yet.
        let may_call = catalog.has_routines() || access == Access::Schema;
        let deferred = may_call.then(Arc::default);
        let (reader, shared) = (tx.reader(), Some((&tx, deferred.as_ref())));
        let read_only = self.state.borrow().is_read_only();
        let state = State { reader, tx: shared, stamp, catalog, started: None, read_only, has_lost };
        self.refuse_write(statement, access, &state)?;
        let executed = match access {
            Access::Schema => self.change_schema(&tx, &statement.parsed, &state)?,
            _ => self.write(&tx, statement, &state, params)?,
        };
        let owed = deferred.as_ref().filter(|deferred| deferred.is_owed());
        owed.map_or(Ok(()), |deferred| self.look_at(deferred, None, &state))?;
        let catalog = state.catalog.clone();
        drop(state);
        self.commit_alone(tx, (lost, deadline))?;
        self.settle_indexes(catalog.inverted_indexes());
        Ok(executed)
    }

    /// Commits a statement's own transaction.
    fn commit_alone(&self, tx: Arc<Transaction>, (lost, deadline): (&mut Losses, Option<Instant>)) -> Result<()> {
        self.end_cursors_of_statement();
        self.commit_own(tx, (lost, deadline))
    }

    /// Commits a transaction that is not the user's.
    pub(super) fn commit_own(
        &self,
        tx: Arc<Transaction>,
        (lost, deadline): (&mut Losses, Option<Instant>),
    ) -> Result<()> {
        self.before_commit(&tx)?;
        let durability = self.state.borrow().settings.durability;
        let committed = self.commit_in_time(sole(tx)?, durability, lost, deadline);
        self.state.borrow_mut().see_temporary()?;
        committed
    }

    /// Puts in order those inverted indexes of which much was changed. What goes wrong with that goes wrong again with whoever
    /// comes next; the statement is done.
    #[inline]
    pub(super) fn settle_indexes(&self, indexes: &[Arc<Index>]) {
        for index in indexes {
            if index.inverted.as_ref().is_some_and(|inverted| inverted.unsettled.take_due()) {
                let _ = settle(&self.shared().store, index.tree, &|| self.interrupt.load(Ordering::Relaxed));
            }
        }
    }

    /// Changes the schema in a transaction by a command that is not the user's.
    pub(super) fn change_schema_in(
        &self,
        tx: &Transaction,
        path: &Arc<SearchPath>,
        command: &Arc<ParsedStatement>,
    ) -> Result<()> {
        let database = tx.reader().database();
        let stamp = CatalogStamp::of(database, self.shared().trees)?;
        let catalog = Arc::new(self.shared().catalog_of_transaction(database, stamp)?.under(path));
        let reader = tx.reader();
        let state = State { reader, tx: None, stamp, catalog, started: None, read_only: false, has_lost: false };
        self.change_schema(tx, command, &state).map(drop)
    }

    fn run_in_open(
        &self,
        mut session: RefMut<'_, SessionState>,
        statement: &mut Runnable,
        access: Access,
        params: &dyn Params,
    ) -> Result<Executed> {
        let Some(open) = session.transaction.as_mut() else { return Err(Error::internal("no open transaction")) };
        let database = open.tx.reader().database();
        let stamp = CatalogStamp::of(database, self.shared().trees)?;
        let catalog = match &open.catalog {
            Some((known, catalog)) if *known == stamp => catalog.clone(),
            _ => self.shared().catalog_of_transaction(database, stamp)?,
        };
        open.catalog = Some((stamp, catalog.clone()));
        drop(session);
        let catalog = self.seen(catalog);
        let session = self.state.borrow();
        let Some(open) = session.transaction.as_ref() else { return Err(Error::internal("no open transaction")) };
        let state = State {
            reader: open.tx.reader(),
            tx: Some((&open.tx, Some(&open.deferred))),
            stamp,
            catalog,
            started: Some(open.started),
            read_only: open.read_only,
            has_lost: false,
        };
        self.refuse_write(statement, access, &state)?;
        let mut executed = match access {
            Access::Read if !self.plan(statement, &state)?.calls_writers() => self.read(statement, &state, params)?,
            Access::Schema if command::runs_body(&statement.parsed) => {
                self.run_body_in(&statement.parsed, params, &state)?
            }
            Access::Schema => self.change_schema(&open.tx, &statement.parsed, &state)?,
            _ => self.write(&open.tx, statement, &state, params)?,
        };
        executed.rows = executed.rows.map(|rows| rows.belonging_to(Some(open.part())));
        if access == Access::Schema {
            drop(session);
            self.state.borrow_mut().see_temporary()?;
        }
        Ok(executed)
    }

    /// The statement's plan, made now unless it has one that still fits.
    pub(super) fn plan(&self, statement: &mut Runnable, state: &State<'_>) -> Result<Arc<Prepared>> {
        let options = &self.state.borrow().settings.optimizer;
        match &statement.prepared {
            Some(prepared)
                if prepared.is_current(state.stamp, &state.catalog, options) && prepared.fits(state.reader)? =>
            {
                Ok(prepared.clone())
            }
            known => {
                if let (Some(known), Some(_)) = (known, statement.hash)
                    && let Some(newer) = self.newer_plan(known.parsed.text(), known)
                    && newer.is_current(state.stamp, &state.catalog, options)
                    && newer.fits(state.reader)?
                {
                    if statement.kept.is_some() {
                        refuse_other_columns(newer.fields(), known.fields(), &state.catalog)?;
                    }
                    statement.prepared = Some(newer.clone());
                    return Ok(newer);
                }
                let State { stamp, catalog, reader, .. } = state;
                let options = options.within(&self.interrupt, self.deadline());
                let prepared = Arc::new(Prepared::new(&statement.parsed, *stamp, catalog, &options, reader)?);
                // (Of a text that is given anew each time nobody knows what it gave before.)
                if let (Some(known), Some(_)) = (known, &statement.kept) {
                    refuse_other_columns(prepared.fields(), known.fields(), catalog)?;
                }
                statement.prepared = Some(prepared.clone());
                if let Some(hash) = statement.hash {
                    self.remember(hash, &prepared);
                }
                Ok(prepared)
            }
        }
    }

    pub(super) fn context(&self, prepared: &Prepared, state: &State<'_>, params: &dyn Params) -> Result<ExecContext> {
        let session = self.state.borrow();
        let now = clock_micros();
        let eval = session.eval(state.started.unwrap_or(now), now);
        let parameters = parameters::collect(params, &prepared.parameters, &eval)?;
        let limits = &session.settings.limits;
        let begun = || session.transaction.as_ref().map_or_else(Instant::now, |open| open.begun);
        let deadline = session.settings.statement_timeout.and_then(|limit| exec::clock::now().checked_add(limit));
        self.channels().locks.begin_statement(deadline);
        let mut context = ExecContext {
            reader: state.reader.clone(),
            parameters: if parameters.is_empty() { Arc::default() } else { parameters.into() },
            eval: Arc::new(eval),
            interrupt: self.interrupt.clone(),
            deadline,
            transaction_deadline: limits.transaction_timeout.and_then(|limit| begun().checked_add(limit)),
            sequences: Some(self.sequences_under(&state.catalog, state.read_only)),
            memory_budget: limits.statement_mem,
            work_mem: limits.work_mem,
            spill: self.spill.with_limit(limits.temp_file_limit),
            batch_sizes: BatchSizes::up_to(prepared.options.batch_rows),
            one_by_one: false,
            sparing: false,
            analyze: false,
            buffers: false,
        };
        if state.catalog.has_routines() {
            let runner = Arc::new(self.runner(&context, state, &session));
            context.eval = Arc::new(context.eval.with_calls(Some(Calls::of(runner))));
        }
        Ok(context)
    }

    /// Runs the functions that a statement calls.
    pub(super) fn runner(&self, context: &ExecContext, state: &State<'_>, session: &SessionState) -> Runner {
        Runner {
            shared: Arc::downgrade(self.shared()),
            tx: state.tx.map(|(tx, _)| Arc::downgrade(tx)),
            base: ExecContext { parameters: Arc::default(), analyze: false, ..context.clone() },
            now: Mutex::new((state.stamp, state.catalog.clone())),
            seen: AtomicU64::new(next_seen()),
            options: session.settings.optimizer.clone(),
            deferred: state.tx.and_then(|(_, deferred)| deferred.cloned()),
            read_only: state.read_only,
            session: self.routines.clone(),
            sequences: self.sequences.clone(),
            temporary: session.temporary.clone(),
            depth: Arc::default(),
            triggers: AtomicUsize::new(0),
            busy: Mutex::default(),
            noted: AtomicBool::new(false),
            cursor_depth: session.transaction.as_ref().map_or(OF_STATEMENT, OpenTransaction::depth),
        }
    }

    fn sequences_under(&self, catalog: &Arc<Catalog>, read_only: bool) -> Arc<dyn SequenceSource> {
        let mut last = self.statement_sequences.borrow_mut();
        if let Some(last) = &*last
            && Arc::ptr_eq(&last.catalog, catalog)
            && last.read_only == read_only
        {
            return last.clone();
        }
        let (shared, session) = (Arc::downgrade(self.shared()), self.sequences.clone());
        let temporary = self.state.borrow().temporary.clone();
        let catalog = catalog.clone();
        let made =
            Arc::new(StatementSequences { shared, catalog, session, temporary, read_only, known: OnceLock::new() });
        *last = Some(made.clone());
        made
    }

    fn read(&self, statement: &mut Runnable, state: &State<'_>, params: &dyn Params) -> Result<Executed> {
        let prepared = self.plan(statement, state)?;
        if let Some(executed) = self.run_as_point(statement, &prepared, params)? {
            return Ok(executed);
        }
        // What is changed while the rows are read is not seen by them.
        let reader = state.tx.map(|(tx, _)| tx.reader_until_done()).transpose()?;
        let state =
            &State { reader: reader.as_ref().unwrap_or(state.reader), catalog: state.catalog.clone(), ..*state };
        let context = self.context(&prepared, state, params)?;
        if let Some(told) = statement.explained {
            return explain_named(told, &prepared, &context, None);
        }
        match prepared.body()? {
            Body::Plan(plan) => {
                let stream = exec::execute_kept(plan.clone(), context, statement.kept.as_ref())?;
                Ok(Executed::rows("SELECT", Rows::stream(stream)))
            }
            Body::Explain(of) => explain(of.told, of.statement.clone(), &prepared, &context, None),
            _ => Err(Error::internal("a statement that writes was taken for one that reads")),
        }
    }

    fn write(
        &self,
        tx: &Transaction,
        statement: &mut Runnable,
        state: &State<'_>,
        params: &dyn Params,
    ) -> Result<Executed> {
        let prepared = self.plan(statement, state)?;
        // To put constants into form costs a point statement more than all else here.
        if state.started.is_some()
            && !prepared.inserts_constants()
            && let Some(executed) = self.run_as_point(statement, &prepared, params)?
        {
            return Ok(executed);
        }
        let context = self.context(&prepared, state, params)?;
        match &self.state.borrow().transaction {
            Some(open) => prepared.note_in(open)?,
            None => prepared.note(tx.reader().database(), state.has_lost)?,
        }
        let dml = self.dml_context(tx, (state, &context));
        if let Some(told) = statement.explained {
            return explain_named(told, &prepared, &context, Some(&dml));
        }
        let body = prepared.body()?;
        if let Body::Explain(of) = body {
            return explain(of.told, of.statement.clone(), &prepared, &context, Some(&dml));
        }
        let Body::Plan(plan) = body else { return Err(Error::internal("not a statement that writes rows")) };
        let done = dml::run(plan, &dml, prepared.calls())?;
        let affected = match statement.parsed.syntax() {
            Syntax::Query { .. } => done.affected,
            // A RETURNING with subqueries is a query over what is changed, with a row for each.
            _ => done.affected.max(done.rows.len() as u64),
        };
        let rows = (!plan.fields.is_empty()).then(|| Rows::collected(plan.fields.clone(), done.rows));
        Ok(Executed { tag: tag_of(statement.parsed.syntax()), affected, rows })
    }

    fn dml_context<'a>(
        &'a self,
        tx: &'a Transaction,
        (state, exec): (&'a State<'_>, &'a ExecContext),
    ) -> DmlContext<'a> {
        let shared = self.shared();
        DmlContext {
            tx,
            catalog: &state.catalog,
            exec,
            store: &shared.store,
            row_numbers: &shared.row_numbers,
            deferred: state.tx.and_then(|(_, deferred)| Some(&**deferred?)),
            room: &self.insert_room,
        }
    }

    /// Looks at what the open transaction owes to these foreign keys (`None`: to all).
    pub(super) fn look_at_deferred(&self, keys: Option<&[ObjectId]>) -> Result<()> {
        let session = self.state.borrow();
        let Some(open) = session.transaction.as_ref().filter(|open| open.deferred.is_owed()) else { return Ok(()) };
        let database = open.tx.reader().database();
        let stamp = CatalogStamp::of(database, self.shared().trees)?;
        let catalog = self.seen(self.shared().catalog_of_transaction(database, stamp)?);
        let (reader, started) = (open.tx.reader(), Some(open.started));
        let (tx, read_only) = (Some((&open.tx, Some(&open.deferred))), open.read_only);
        let state = State { reader, tx, stamp, catalog, started, read_only, has_lost: false };
        self.look_at(&open.deferred, keys, &state)
    }

    pub(super) fn look_at(&self, deferred: &Deferred, keys: Option<&[ObjectId]>, state: &State<'_>) -> Result<()> {
        let Some((tx, _)) = state.tx else { return Ok(()) };
        let prepared = Prepared::utility(&Arc::new(parse_one("COMMIT")?), state.stamp, &state.catalog);
        let context = self.context(&prepared, state, &())?;
        let dml = DmlContext { deferred: None, ..self.dml_context(tx, (state, &context)) };
        deferred.look(keys, &dml)
    }

    /// Writes rows by other means than a plan: in the open transaction, or in one of its own, once.
    pub(super) fn write_by(
        &self,
        parsed: &Arc<ParsedStatement>,
        name: &'static str,
        work: impl FnOnce(&DmlContext<'_>) -> Result<u64>,
    ) -> Result<Executed> {
        let done = |affected| Executed { tag: "COPY", affected, rows: None };
        let session = self.state.borrow();
        if session.is_read_only() {
            let message = format!("cannot execute {name} in a read-only transaction");
            return Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message));
        }
        if let Some(open) = &session.transaction {
            let database = open.tx.reader().database();
            let stamp = CatalogStamp::of(database, self.shared().trees)?;
            let catalog = self.seen(self.shared().catalog_of_transaction(database, stamp)?);
            let (reader, started) = (open.tx.reader(), Some(open.started));
            let shared = Some((&open.tx, Some(&open.deferred)));
            let state = State { reader, tx: shared, stamp, catalog, started, read_only: false, has_lost: false };
            return self.write_in(&open.tx, parsed, &state, work).map(done);
        }
        drop(session);
        let (mut lost, deadline) = (Losses::default(), self.deadline());
        let tx = self.begin_in_time(&lost, deadline)?;
        let (stamp, catalog) = self.catalog_at(tx.reader())?;
        let tx = Arc::new(tx);
        let deferred = catalog.has_routines().then(Arc::default);
        let (reader, shared) = (tx.reader(), Some((&tx, deferred.as_ref())));
        let state = State { reader, tx: shared, stamp, catalog, started: None, read_only: false, has_lost: false };
        let affected = self.write_in(&tx, parsed, &state, work)?;
        let owed = deferred.as_ref().filter(|deferred: &&Arc<Deferred>| deferred.is_owed());
        owed.map_or(Ok(()), |deferred| self.look_at(deferred, None, &state))?;
        let catalog = state.catalog.clone();
        drop(state);
        self.commit_alone(tx, (&mut lost, deadline))?;
        self.settle_indexes(catalog.inverted_indexes());
        Ok(done(affected))
    }

    fn write_in(
        &self,
        tx: &Transaction,
        parsed: &Arc<ParsedStatement>,
        state: &State<'_>,
        work: impl FnOnce(&DmlContext<'_>) -> Result<u64>,
    ) -> Result<u64> {
        note_all(tx.reader().database())?;
        let context = self.context(&Prepared::utility(parsed, state.stamp, &state.catalog), state, &())?;
        work(&self.dml_context(tx, (state, &context)))
    }

    fn change_schema(&self, tx: &Transaction, command: &Arc<ParsedStatement>, state: &State<'_>) -> Result<Executed> {
        let prepared = Prepared::utility(command, state.stamp, &state.catalog);
        let context = self.context(&prepared, state, &())?;
        let shared = self.shared();
        let trees = shared.trees.ok_or_else(|| Error::internal("the database has no system trees"))?;
        let session = self.state.borrow();
        let dml = self.dml_context(tx, (state, &context));
        let options = session.settings.optimizer.clone();
        let is_alone = state.started.is_none();
        let around = Around { connection: self, context: &context, state };
        let done = ddl::execute(command, &dml, trees, &options, &around, is_alone)?;
        for (severity, code, message, detail) in done.notices {
            self.notice_with(Notice { severity, code, message, detail });
        }
        let rows = done.rows.map(|(fields, rows)| Rows::buffered(fields, rows));
        Ok(Executed { tag: done.tag, affected: done.affected, rows })
    }
}

/// What a schema change has of its connection.
struct Around<'a> {
    connection: &'a Connection,
    context: &'a ExecContext,
    state: &'a State<'a>,
}

impl ddl::Session for Around<'_> {
    fn sequences(&self, catalog: &Arc<Catalog>) -> Arc<dyn SequenceSource> {
        self.connection.sequences_under(catalog, self.state.read_only)
    }

    fn runner(&self, catalog: &Arc<Catalog>) -> Result<Runner> {
        let stamp = CatalogStamp::of(self.state.reader.database(), self.connection.shared().trees)?;
        let state = State { catalog: catalog.clone(), stamp, ..*self.state };
        Ok(self.connection.runner(self.context, &state, &self.connection.state.borrow()))
    }

    fn is_busy(&self, _: ObjectId) -> bool {
        false
    }

    fn executed(&self, parsed: &ParsedStatement, execute: &Execute) -> Result<(Arc<ParsedStatement>, Vec<Value>)> {
        let (runnable, values) = self.connection.executed(parsed, execute)?;
        Ok((runnable.parsed, values))
    }

    fn keep_feeds(&self) -> Result<()> {
        self.connection.shared().keep_feeds()
    }

    fn follow_views(&self) {
        self.connection.routines.views.store(true, Ordering::Relaxed);
    }
}

/// PostgreSQL's command tag, without counts.
fn tag_of(statement: Syntax) -> &'static str {
    match statement {
        Syntax::Insert { .. } => "INSERT",
        Syntax::Update { .. } => "UPDATE",
        Syntax::Delete { .. } => "DELETE",
        Syntax::Merge { .. } => "MERGE",
        Syntax::Query { .. } | Syntax::Utility { .. } => "SELECT",
    }
}

/// What a statement begins with.
pub(super) fn verb_of(parsed: &ParsedStatement) -> String {
    match parsed.syntax() {
        Syntax::Insert { .. } => "INSERT".to_owned(),
        Syntax::Update { .. } => "UPDATE".to_owned(),
        Syntax::Delete { .. } => "DELETE".to_owned(),
        Syntax::Merge { .. } => "MERGE".to_owned(),
        Syntax::Query { .. } => "SELECT".to_owned(),
        Syntax::Utility { .. } => command::first_words(parsed).unwrap_or_default(),
    }
}

pub(super) fn read_only_violation(parsed: &ParsedStatement) -> Error {
    let verb = verb_of(parsed);
    let name = if verb == "TRUNCATE" { "TRUNCATE TABLE" } else { &verb };
    let message = format!("cannot execute {name} in a read-only transaction");
    Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message)
}
