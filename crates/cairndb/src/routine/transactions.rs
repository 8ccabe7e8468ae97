//! COMMIT and ROLLBACK in procedures: who owns the transaction, and how a body asks for its end.
//!
//! - A transaction is the session's ([`Transactions`]); bodies have no more of it than what runs their statements ([`Ground`]).
//!   Whoever has ended it goes on from another, and so does each body around it, once the call that did so is over.
//! - The right to end it ([`Control`]) goes from CALL or DO on their own to the body, and by CALL from body to body. What is called
//!   by a query has none: that query is in the middle of something. Neither has a block with EXCEPTION, which may have to go back.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::calls_of;
use crate::catalog::Routine;
use crate::exec::ExecContext;
use crate::routine::StatementHost;
use crate::{Error, Result, SqlState, Value};

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Commit,
    Rollback,
}

/// What statements run in: a host of the open transaction, and what it gives them, without parameters.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) host: Arc<dyn StatementHost>,
    pub(crate) context: ExecContext,
    /// How many transactions of the statement have ended before.
    pub(crate) number: u64,
}

/// Ends transactions, and begins those that follow.
pub(crate) trait Transactions {
    /// Ends the open one; what runs statements in the next.
    fn end(&self, ending: Ending) -> Result<Ground>;

    /// What runs statements now, where that is another one than this.
    fn newer(&self, number: u64) -> Result<Option<Ground>>;
}

/// What is in the way of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A block with EXCEPTION.
    Handler,
    /// A loop over the rows of a statement that changes some.
    Changes,
}

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Control<'a> {
    transactions: &'a dyn Transactions,
    obstacle: Option<Obstacle>,
    number: u64,
}

impl Ground {
    /// For the body of a function, with these parameters.
    pub(crate) fn context(&self, routine: &Routine, parameters: Arc<[Value]>) -> Result<ExecContext> {
        let eval = self.context.eval.with_calls(Some(calls_of(self.host.clone())));
        Ok(ExecContext { parameters, ..self.host.context(routine, &eval)? })
    }
}

impl<'a> Control<'a> {
    pub(crate) fn new(transactions: &'a dyn Transactions, number: u64) -> Control<'a> {
        Control { transactions, obstacle: None, number }
    }

    /// Behind an obstacle more.
    pub(crate) fn behind(self, obstacle: Obstacle) -> Control<'a> {
        let known = self.obstacle.filter(|known| *known == Obstacle::Handler);
        Control { obstacle: known.or(Some(obstacle)), ..self }
    }

    /// That of a procedure that is called here.
    pub(crate) fn handed_on(self) -> Option<Control<'a>> {
        (self.obstacle != Some(Obstacle::Handler)).then_some(self)
    }

    /// As it was before, wherever it is by now.
    pub(crate) fn as_before(self, before: Control<'a>) -> Control<'a> {
        Control { obstacle: before.obstacle, ..self }
    }

    /// SQLSTATE 2D000, or 55000 in a loop, where something is in the way.
    pub(crate) fn end(&mut self, ending: Ending) -> Result<Ground> {
        let verb = match ending {
            Ending::Commit => "commit",
            Ending::Rollback => "roll back",
        };
        match self.obstacle {
            Some(Obstacle::Handler) => return Err(refused(&format!("cannot {verb} while a subtransaction is active"))),
            Some(Obstacle::Changes) => {
                let message = "cannot perform transaction commands inside a cursor loop that is not read-only";
                return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
            }
            None => {}
        }
        let ground = self.transactions.end(ending)?;
        self.number = ground.number;
        Ok(ground)
    }

    /// After a call: where it has left, if that is another ground.
    pub(crate) fn follow(&mut self) -> Result<Option<Ground>> {
        let ground = self.transactions.newer(self.number)?;
        self.number = ground.as_ref().map_or(self.number, |ground| ground.number);
        Ok(ground)
    }

    /// For work on another thread: what it asks of the transactions is done here, by [`Asks::serve`].
    pub(super) fn relayed(&self) -> (Relayed, Asks) {
        let (sender, asks) = channel();
        (Relayed { relay: Relay(sender), obstacle: self.obstacle, number: self.number }, Asks(asks))
    }
}

/// SQLSTATE 2D000.
fn refused(message: &str) -> Error {
    Error::new(SqlState::INVALID_TRANSACTION_TERMINATION, message)
}

/// SQLSTATE 2D000: whoever asks has no right to.
pub(crate) fn no_control() -> Error {
    refused("invalid transaction termination").with_hint(
        "Only procedures that CALL runs outside of a transaction block, and DO there, can end their transaction: by themselves, \
         not in functions, nor under a search path of their own.",
    )
}

type Ask = Box<dyn FnOnce(&dyn Transactions) + Send>;

/// The other end of [`Asks`].
struct Relay(Sender<Ask>);

/// A control that was taken to another thread.
pub(super) struct Relayed {
    relay: Relay,
    obstacle: Option<Obstacle>,
    number: u64,
}

/// What the work on another thread asks.
pub(super) struct Asks(Receiver<Ask>);

impl Relayed {
    pub(super) fn control(&self) -> Control<'_> {
        Control { transactions: &self.relay, obstacle: self.obstacle, number: self.number }
    }
}

impl Asks {
    /// Does what is asked, until the work is over.
    pub(super) fn serve(self, control: &Control<'_>) {
        self.0.into_iter().for_each(|ask| ask(control.transactions));
    }
}

impl Relay {
    fn ask<T: Send + 'static>(&self, what: impl FnOnce(&dyn Transactions) -> Result<T> + Send + 'static) -> Result<T> {
        let (sender, answer) = channel();
        let gone = || Error::internal("nobody ends transactions");
        let ask: Ask = Box::new(move |transactions| drop(sender.send(what(transactions))));
        self.0.send(ask).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

impl Transactions for Relay {
    fn end(&self, ending: Ending) -> Result<Ground> {
        self.ask(move |transactions| transactions.end(ending))
    }

    fn newer(&self, number: u64) -> Result<Option<Ground>> {
        self.ask(move |transactions| transactions.newer(number))
    }
}
