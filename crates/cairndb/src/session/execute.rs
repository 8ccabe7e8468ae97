//! Runs one statement: where (snapshot, own transaction, open transaction), with which plan, and how often.
//!
//! - A statement on its own that reads runs on a snapshot; one that writes runs in a transaction of its own, again from
//!   its start when another got in its way.
//! - In an open transaction any error fails the transaction; so a statement needs no savepoint to be atomic.

mod commands;
mod commit;
mod emptying;
mod schema;
mod state;

use std::sync::Arc;
use std::time::Instant;

use cairn_parser::Statement as Syntax;
use cairn_storage::Losses;

pub(crate) use commit::retry;
pub(super) use state::State;

use super::changing::ChangingStatement;
use super::named::refuse_other_columns;
use super::statement_cache::TextHash;
use super::{Executed, Params, Rows, Session};
use crate::catalog::{Catalog, ObjectId, note_all};
use crate::clock;
use crate::command::{self, Command, ExplainRequest};
use crate::dml::{Deferred, DmlContext};
use crate::exec::{self, Kept};
use crate::prepared::{Access, Body, Prepared, explanation, explanation_named};
use crate::sql::{ParsedStatement, parse_one};
use crate::state::Transaction;
use crate::sync;
use crate::{Error, Result, SqlState};

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
    pub(crate) explained: Option<ExplainRequest>,
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

/// Ends what a statement's functions opened, however the statement ends.
pub(super) struct EndOfStatement<'a>(pub(super) &'a Session);

impl Drop for EndOfStatement<'_> {
    fn drop(&mut self) {
        self.0.end_cursors_of_statement();
    }
}

impl Session {
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
        self.forget_interrupt();
        if !is_rollback {
            self.state.borrow().follow_locks();
        }
        let mut result = match self.check_time(is_rollback) {
            Ok(()) => work(),
            Err(error) => Err(error),
        };
        if result.is_ok()
            && let Err(error) = self.settle_settings()
        {
            result = Err(error);
        }
        let state = self.state.borrow();
        if result.is_err() {
            self.channels().take_settings();
            state.fail();
            if state.transaction.is_none() {
                // What it locked, and was about to tell.
                self.channels().forget();
            }
        }
        match &state.transaction {
            Some(open) => open.idle_since.set(sync::now()),
            None => self.channels().forget_number(),
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
        if self.state.borrow().failed() {
            return Err(Error::aborted_transaction());
        }
        if access == Access::Session {
            return self.control_or_session(&statement.parsed, params);
        }
        if access == Access::Schema
            && let Command::Schema(command) = Command::of(&statement.parsed)?
        {
            self.provide_temporary(&command)?;
        }
        if self.state.borrow().transaction.is_some() {
            return self.run_in_open(statement, access, params);
        }
        match access {
            Access::Schema if command::runs_body(&statement.parsed) => self.run_body_alone(&statement.parsed, params),
            Access::Read if let Some(executed) = self.run_on_snapshot(statement, params)? => Ok(executed),
            _ => {
                if access == Access::Write {
                    let prepared = self.with_state(|state| self.plan(statement, state))?;
                    if let Some(executed) = self.run_as_point(statement, &prepared, params)? {
                        return Ok(executed);
                    }
                }
                let (mut lost, deadline) = (Losses::default(), self.deadline());
                retry(|| {
                    let tx = self.begin_in_time(&lost, deadline)?;
                    self.run_alone(tx, statement, access, params, (&mut lost, deadline))
                })
            }
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

    /// Plans the statement without running it, where it is one that has a plan; of another what it takes and gives is found out.
    pub(crate) fn prepare_now(&self, statement: &mut Runnable) -> Result<()> {
        self.plan_now(statement).inspect_err(|_| self.state.borrow().fail())
    }

    /// As `prepare_now`; where it fails, the open transaction does not.
    pub(super) fn plan_now(&self, statement: &mut Runnable) -> Result<()> {
        match Access::of(&statement.parsed) {
            Access::Read | Access::Write => self.with_state(|state| self.plan(statement, state)).map(drop),
            Access::TransactionControl | Access::Session | Access::Schema => self.prepare_command(statement),
        }
    }

    /// `None`: it calls functions that may change rows, so it has to run in a transaction.
    fn run_on_snapshot(&self, statement: &mut Runnable, params: &dyn Params) -> Result<Option<Executed>> {
        let reader = &self.reader_of_now(&self.state.borrow())?;
        let state = State::of_snapshot(self, reader)?;
        if self.plan(statement, &state)?.calls_writers() {
            return Ok(None);
        }
        self.read(statement, &state, params).map(Some)
    }

    /// When a statement that begins now has to be over.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.state.borrow().settings.statement_timeout.and_then(|limit| clock::now().checked_add(limit))
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
        let tx = Arc::new(tx);
        let state = State { has_lost: lost.times() > 0, ..State::alone(self, &tx)? };
        // DO calls functions, whether or not there are any yet.
        let may_call = state.catalog.has_routines() || access == Access::Schema;
        let deferred = may_call.then(Arc::default);
        let state = State { tx: Some((&tx, deferred.as_ref())), ..state };
        self.refuse_write(statement, access, &state)?;
        let executed = match access {
            Access::Schema => self.change_schema(&tx, (&statement.parsed, params), &state)?,
            _ => self.write(&tx, statement, &state, params)?,
        };
        let catalog = self.look_at_owed(state)?;
        self.commit_alone(tx, &catalog, (lost, deadline))?;
        Ok(executed)
    }

    fn run_in_open(&self, statement: &mut Runnable, access: Access, params: &dyn Params) -> Result<Executed> {
        let session = self.state.borrow();
        let Some(open) = session.transaction.as_ref() else { return Err(Error::internal("no open transaction")) };
        let state = State::of_open(self, open)?;
        self.refuse_write(statement, access, &state)?;
        let mut result = match access {
            Access::Read if !self.plan(statement, &state)?.calls_writers() => self.read(statement, &state, params),
            Access::Schema if command::runs_body(&statement.parsed) => {
                self.run_body_in(&statement.parsed, params, &state)
            }
            Access::Schema => self.change_schema(&open.tx, (&statement.parsed, params), &state),
            _ => self.write(&open.tx, statement, &state, params),
        };
        if let Ok(Executed { rows: Some(rows), .. }) = &mut result {
            rows.belong_to(Some(open.part()));
        }
        if access == Access::Schema && result.is_ok() {
            drop(session);
            self.state.borrow_mut().see_temporary()?;
        }
        result
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
                let prepared = Prepared::new(&statement.parsed, *stamp, catalog, &options, reader)?;
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
            return Executed::explained(explanation_named(told, &prepared, &context, None)?);
        }
        match prepared.body()? {
            Body::Plan(plan) => {
                let plan = prepared.plan_for(plan, &context.parameters)?;
                let stream = exec::execute_kept(plan, context, statement.kept.as_ref())?;
                Ok(Executed::rows("SELECT", Rows::stream(stream)))
            }
            Body::Explain(of) => {
                Executed::explained(explanation(of.told, of.statement.clone(), &prepared, &context, None)?)
            }
            _ => Err(Error::internal("a statement that writes was taken for one that reads")),
        }
    }

    fn write(
        &self,
        tx: &Arc<Transaction>,
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
            Some(open) => open.note(&prepared)?,
            None => prepared.note(tx.reader().database(), state.has_lost)?,
        }
        if let Some(told) = statement.explained {
            let dml = self.dml_context(tx, (state, &context));
            return Executed::explained(explanation_named(told, &prepared, &context, Some(&dml))?);
        }
        let plan = match prepared.body()? {
            Body::Plan(plan) => plan,
            Body::Explain(of) => {
                let dml = self.dml_context(tx, (state, &context));
                let told = explanation(of.told, of.statement.clone(), &prepared, &context, Some(&dml))?;
                return Executed::explained(told);
            }
            Body::Utility => return Err(Error::internal("not a statement that writes rows")),
        };
        if let Some(executed) = self.delete_all(tx, (&statement.parsed, plan), (state, &context))? {
            return Ok(executed);
        }
        let mut changing = ChangingStatement::begin(self, tx, (&prepared, plan), state, context)?;
        let done = changing.run();
        self.insert_room.set(changing.take_room());
        let done = done?;
        let affected = match statement.parsed.syntax() {
            Syntax::Query { .. } => done.affected,
            // A RETURNING with subqueries is a query over what is changed, with a row for each.
            _ => done.affected.max(done.rows.len() as u64),
        };
        let rows = (!plan.fields.is_empty()).then(|| Rows::collected(plan.fields.clone(), done.rows));
        Ok(Executed { tag: tag_of(statement.parsed.syntax()), affected, rows })
    }

    /// Looks at what the open transaction owes to these foreign keys (`None`: to all).
    pub(super) fn look_at_deferred(&self, keys: Option<&[ObjectId]>) -> Result<()> {
        let session = self.state.borrow();
        let Some(open) = session.transaction.as_ref().filter(|open| open.deferred.is_owed()) else { return Ok(()) };
        let state = State::of_open(self, open)?;
        self.look_at(&open.deferred, keys, &state)
    }

    /// Looks at all that a statement's own transaction owes; its catalog.
    pub(super) fn look_at_owed(&self, state: State<'_>) -> Result<Arc<Catalog>> {
        if let Some((_, Some(deferred))) = state.tx
            && deferred.is_owed()
        {
            self.look_at(deferred, None, &state)?;
        }
        Ok(state.catalog)
    }

    fn look_at(&self, deferred: &Deferred, keys: Option<&[ObjectId]>, state: &State<'_>) -> Result<()> {
        self.with_dml(state, |dml| deferred.look(keys, &DmlContext { deferred: None, ..*dml }))
    }

    /// What rows are written with in the state's transaction, by no statement that has a plan.
    pub(super) fn with_dml<T>(&self, state: &State<'_>, work: impl FnOnce(&DmlContext<'_>) -> Result<T>) -> Result<T> {
        let (tx, _) = state.tx.ok_or_else(|| Error::internal("nothing is changed here"))?;
        let prepared = Prepared::utility(&Arc::new(parse_one("COMMIT")?), state.stamp, &state.catalog);
        let context = self.context(&prepared, state, &())?;
        work(&self.dml_context(tx, (state, &context)))
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
            let state = State { read_only: false, ..State::of_open(self, open)? };
            return self.write_in(&open.tx, parsed, &state, work).map(done);
        }
        drop(session);
        let (mut lost, deadline) = (Losses::default(), self.deadline());
        let tx = self.begin_in_time(&lost, deadline)?;
        let tx = Arc::new(tx);
        let state = State { read_only: false, ..State::alone(self, &tx)? };
        let deferred = state.catalog.has_routines().then(Arc::default);
        let state = State { tx: Some((&tx, deferred.as_ref())), ..state };
        let affected = self.write_in(&tx, parsed, &state, work)?;
        let catalog = self.look_at_owed(state)?;
        self.commit_alone(tx, &catalog, (&mut lost, deadline))?;
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
}

/// PostgreSQL's command tag, without counts.
pub(crate) fn tag_of(statement: Syntax) -> &'static str {
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
