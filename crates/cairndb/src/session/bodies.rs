//! CALL and DO. Outside of a transaction block what they run may end its transaction, and goes on in another.
//!
//! - The transactions, one after the other, are on the session's stack here ([`Alone`]), each with the runner that was made for it;
//!   bodies get at them by their [`Control`].
//! - As long as nothing is committed the statement runs again where another got in its way, like any other. From then on it can not:
//!   what was committed stays, and SQLSTATE 40001 is the caller's.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use cairn_storage::Losses;

use super::execute::{EndOfStatement, State, retry};
use super::{Executed, Params, Rows, Session};
use crate::command::{Call, Command, SchemaCommand};
use crate::dml::Deferred;
use crate::exec::ExecContext;
use crate::plan::Field;
use crate::prepared::Prepared;
use crate::routine::{Control, Ending, Ground, Transactions, called_by_client, calls_of, run_block};
use crate::sql::ParsedStatement;
use crate::state::Transaction;
use crate::types::datetime::clock_micros;
use crate::types::{check_count, collect};
use crate::{Error, Result, SqlState};

/// CALL or DO on its own.
struct Alone<'c> {
    session: &'c Session,
    parsed: &'c Arc<ParsedStatement>,
    deadline: Option<Instant>,
    /// Micros since 2000-01-01 UTC.
    started: i64,
    /// How deep calls are within each other, whichever transaction they are in.
    depth: Arc<AtomicUsize>,
    open: RefCell<Option<Open>>,
    lost: RefCell<Losses>,
    /// How many transactions have ended, and whether one of them was committed.
    ended: Cell<u64>,
    has_committed: Cell<bool>,
}

/// The transaction that is open.
struct Open {
    tx: Arc<Transaction>,
    deferred: Arc<Deferred>,
    ground: Ground,
    /// When the transaction began: microseconds since 2000-01-01 UTC.
    started: i64,
}

impl Session {
    /// In a transaction block.
    pub(super) fn run_body_in(
        &self,
        parsed: &Arc<ParsedStatement>,
        params: &dyn Params,
        state: &State<'_>,
    ) -> Result<Executed> {
        let (runner, context) = self.ground(parsed, state)?;
        run(parsed, params, &Ground { host: Arc::new(runner), context, number: 0 }, None)
    }

    /// Outside of one.
    pub(super) fn run_body_alone(&self, parsed: &Arc<ParsedStatement>, params: &dyn Params) -> Result<Executed> {
        let alone = Alone {
            session: self,
            parsed,
            deadline: self.deadline(),
            started: clock_micros(),
            depth: Arc::default(),
            open: RefCell::default(),
            lost: RefCell::default(),
            ended: Cell::new(0),
            has_committed: Cell::new(false),
        };
        let done = retry(|| match alone.run(params) {
            Err(error) if alone.has_committed.get() => Ok(Err(with_hint(error))),
            done => done.map(Ok),
        });
        done?
    }

    /// CALL, without running it.
    pub(super) fn prepare_call(
        &self,
        parsed: &Arc<ParsedStatement>,
        call: &Call,
        state: &State<'_>,
    ) -> Result<Arc<Prepared>> {
        let (runner, _) = self.ground(parsed, state)?;
        called_by_client(&runner, parsed, call.call)
    }

    /// What runs statements in a state.
    fn ground(&self, parsed: &Arc<ParsedStatement>, state: &State<'_>) -> Result<(super::Runner, ExecContext)> {
        let prepared = Prepared::utility(parsed, state.stamp, &state.catalog);
        let context = self.context(&prepared, state, &())?;
        let runner = self.runner(&context, state, &self.state.borrow());
        Ok((runner, context))
    }
}

/// Whether a procedure gives a row to who calls it.
pub(super) fn has_columns(fields: &[Field]) -> bool {
    fields.iter().any(|field| !field.name.is_empty())
}

/// Says that only a part is undone.
fn with_hint(error: Error) -> Error {
    match error.sqlstate() {
        SqlState::SERIALIZATION_FAILURE => {
            error.with_hint("What was committed before stays. The rest might succeed if it is called again.")
        }
        _ => error,
    }
}

fn run(
    parsed: &ParsedStatement,
    params: &dyn Params,
    ground: &Ground,
    control: Option<Control<'_>>,
) -> Result<Executed> {
    let Ground { host, context, .. } = ground;
    match Command::of(parsed)? {
        Command::Schema(SchemaCommand::Do(block)) => {
            check_count(params.count(), 0)?;
            run_block(host, &block.body, &context.eval, control)?;
            Ok(Executed::tag("DO"))
        }
        Command::Schema(SchemaCommand::Call(call)) => {
            let prepared = called_by_client(&**host, parsed, call.call)?;
            let eval = context.eval.with_calls(Some(calls_of(host.clone())));
            let parameters = collect(params, &prepared.parameters, &eval)?.into();
            let context = ExecContext { parameters, eval: Arc::new(eval), ..context.clone() };
            let ran = host.call_procedure(&prepared, &context, control)?;
            let rows = has_columns(&ran.fields).then(|| Rows::collected(ran.fields, ran.rows));
            Ok(Executed { rows, ..Executed::tag("CALL") })
        }
        _ => Err(Error::internal("neither CALL nor DO")),
    }
}

impl Alone<'_> {
    /// One try.
    fn run(&self, params: &dyn Params) -> Result<Executed> {
        let _ending = EndOfStatement(self.session);
        let ground = self.begin()?;
        let done = run(self.parsed, params, &ground, Some(Control::new(self, ground.number)));
        drop(ground);
        let done = done.and_then(|executed| {
            self.session.end_cursors_of_statement();
            self.commit()?;
            Ok(executed)
        });
        self.open.take();
        done
    }

    fn begin(&self) -> Result<Ground> {
        let session = self.session;
        let tx = Arc::new(session.begin_in_time(&self.lost.borrow(), self.deadline)?);
        let deferred: Arc<Deferred> = Arc::default();
        let has_lost = self.lost.borrow().times() > 0;
        let number = self.ended.get();
        let started = if number == 0 { self.started } else { clock_micros() };
        let ground = {
            let shared = Some((&tx, Some(&deferred)));
            let state = State { tx: shared, started: Some(started), has_lost, ..State::alone(session, &tx)? };
            let (mut runner, mut context) = session.ground(self.parsed, &state)?;
            let eval = Arc::new(context.eval.at(started, self.started));
            for context in [&mut runner.base, &mut context] {
                (context.deadline, context.eval) = (self.deadline, eval.clone());
            }
            runner.depth = self.depth.clone();
            Ground { host: Arc::new(runner), context, number }
        };
        *self.open.borrow_mut() = Some(Open { tx, deferred, ground: ground.clone(), started });
        Ok(ground)
    }

    /// Commits the open transaction.
    fn commit(&self) -> Result<()> {
        let session = self.session;
        let Some(Open { tx, deferred, started, .. }) = self.open.take() else {
            return Err(Error::internal("no transaction"));
        };
        let catalog = {
            let (shared, started) = (Some((&tx, Some(&deferred))), Some(started));
            session.look_at_owed(State { tx: shared, started, ..State::alone(session, &tx)? })?
        };
        session.commit_own(tx, (&mut self.lost.borrow_mut(), self.deadline))?;
        session.settle_indexes(catalog.inverted_indexes());
        Ok(())
    }

    /// Commits in the middle of the statement, which goes on from what it has done: that is waited for.
    fn commit_and_wait(&self) -> Result<()> {
        let pipelines = self.session.pipelines.replace(false);
        let committed = self.commit();
        self.session.pipelines.set(pipelines);
        committed?;
        self.has_committed.set(true);
        *self.lost.borrow_mut() = Losses::default();
        Ok(())
    }

    fn roll_back(&self) -> Result<()> {
        self.session.channels().forget();
        self.open.take();
        self.session.state.borrow_mut().see_temporary()
    }
}

impl Transactions for Alone<'_> {
    fn end(&self, ending: Ending) -> Result<Ground> {
        let tx = self.open.borrow().as_ref().map(|open| open.tx.clone());
        let tx = tx.ok_or_else(|| Error::internal("no transaction"))?;
        self.session.hold_loops(tx.reader())?;
        drop(tx);
        match ending {
            Ending::Commit => self.commit_and_wait()?,
            Ending::Rollback => self.roll_back()?,
        }
        self.ended.set(self.ended.get() + 1);
        self.begin()
    }

    fn newer(&self, number: u64) -> Result<Option<Ground>> {
        match &*self.open.borrow() {
            Some(open) => Ok((open.ground.number != number).then(|| open.ground.clone())),
            None => Err(Error::internal("no transaction")),
        }
    }
}
