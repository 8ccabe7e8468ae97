//! A statement that changes rows, with all that it runs in.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use super::Session;
use super::execute::State;
use super::shared::Shared;
use crate::Result;
use crate::catalog::Catalog;
use crate::dml::{Deferred, Done, InserterBuffers, Programs, Statement};
use crate::exec::{ExecContext, Step, until_done};
#[cfg(test)]
use crate::exec::{Hesitation, on_another_thread};
use crate::plan::PhysicalPlan;
use crate::prepared::Prepared;
use crate::state::Transaction;

/// See the module. Nothing of it is lent: who has it can go on with it, on any thread. One that is let go before its end leaves
/// rows in its transaction, which is to be rolled back then.
pub(super) struct ChangingStatement {
    statement: Statement,
    programs: Compiled,
    tx: Arc<Transaction>,
    catalog: Arc<Catalog>,
    exec: ExecContext,
    deferred: Option<Arc<Deferred>>,
    shared: Arc<Shared>,
    room: Cell<InserterBuffers>,
    #[cfg(test)]
    hesitation: Hesitation,
}

/// A statement's row programs.
enum Compiled {
    Kept(Arc<Programs>),
    Own(Programs),
}

impl Deref for Compiled {
    type Target = Programs;

    fn deref(&self) -> &Programs {
        match self {
            Compiled::Kept(programs) => programs,
            Compiled::Own(programs) => programs,
        }
    }
}

impl ChangingStatement {
    /// Nothing is changed yet. It takes the session's room for rows.
    pub(super) fn begin(
        session: &Session,
        tx: &Arc<Transaction>,
        (prepared, plan): (&Prepared, &Arc<PhysicalPlan>),
        state: &State<'_>,
        exec: ExecContext,
    ) -> Result<ChangingStatement> {
        let programs = match prepared.inserts_constants() {
            // It is run once, mostly, and what inserts a row is the catalog's.
            true => Compiled::Own(Programs::of(plan, &prepared.catalog)?),
            false => Compiled::Kept(prepared.programs()?.clone()),
        };
        let statement = Statement::begin(plan, &programs, &session.dml_context(tx, (state, &exec)), prepared.calls())?;
        Ok(ChangingStatement {
            statement,
            programs,
            tx: tx.clone(),
            catalog: state.catalog.clone(),
            exec,
            deferred: state.tx.and_then(|(_, deferred)| deferred.cloned()),
            shared: session.shared().clone(),
            room: Cell::new(session.insert_room.take()),
            #[cfg(test)]
            hesitation: Hesitation::of_thread(),
        })
    }

    /// Goes on, until it is over, or until the end of a turn (`None`: there is none). Not to be asked again once it failed.
    pub(super) fn step(&mut self, end: Option<Instant>) -> Step<Done> {
        let within = (self.deferred.as_deref(), &self.room);
        let context = self.shared.dml(&self.tx, &self.catalog, &self.exec, within);
        self.statement.step(&self.programs, &context, end)
    }

    /// Goes on to the end: whoever waits for it has a thread for that.
    pub(super) fn run(&mut self) -> Result<Done> {
        until_done(|| self.step_somewhere())
    }

    #[cfg(not(test))]
    fn step_somewhere(&mut self) -> Step<Done> {
        self.step(None)
    }

    /// Where operators hesitate, it stops as soon as it can, and another thread may take the next step.
    #[cfg(test)]
    fn step_somewhere(&mut self) -> Step<Done> {
        let end = self.hesitation.hesitates().then(crate::sync::now);
        match self.hesitation.moves() {
            true => on_another_thread(|| self.step(end)),
            false => self.step(end),
        }
    }

    /// It is over: what it leaves to the next.
    pub(super) fn take_room(&self) -> InserterBuffers {
        self.room.take()
    }
}
