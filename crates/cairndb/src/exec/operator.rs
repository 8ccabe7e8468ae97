//! What every operator is: a source of batches that can stop and go on, on any thread, and start over.

use super::collected::Collected;
use super::context::{Cx, Shared, Turn};
use super::spill::BatchList;
use crate::columns::Batch;
use crate::plan::{ConstantRows, Expr, Modification};
use crate::{Error, Result, Value};

/// Why there is no answer.
pub(crate) enum NoAnswer {
    /// Ask again later: nothing was lost, and nothing will come twice.
    NotYet,
    /// It failed, and is not to be asked again.
    Failed(Error),
}

impl From<Error> for NoAnswer {
    fn from(error: Error) -> NoAnswer {
        NoAnswer::Failed(error)
    }
}

impl From<cairn_storage::Error> for NoAnswer {
    fn from(error: cairn_storage::Error) -> NoAnswer {
        NoAnswer::Failed(error.into())
    }
}

/// An answer, or why there is none.
pub(crate) type Step<T> = std::result::Result<T, NoAnswer>;

/// A running plan node.
///
/// Pull model: a parent asks its inputs for batches. Columns of a batch are dense (no selection vectors between
/// operators): whoever drops rows gathers the rest.
///
/// An input may answer "not yet", which `?` hands on to who asked: so whatever an operator has when it asks an input
/// lies in its own fields, in which it goes on when it is asked again, perhaps on another thread.
pub(crate) trait Operator: Send {
    /// The next rows, at least one; `None` at the end (and not to be called again before [`Operator::reset`]).
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>>;

    /// Tells that no more than so many rows will be asked for, until it starts over: a hint, for who reads in batches.
    fn want(&mut self, _rows: usize) {}

    /// Goes past some of the next rows, at most so many, without making anything of them; how many. 0: it can not, or there are
    /// none. Only for rows whose making can not fail and does nothing.
    fn skip(&mut self, _rows: usize, _cx: Cx<'_>) -> Step<usize> {
        Ok(0)
    }

    /// Starts over: the next rows are the first again, under the outer rows that `next` is then given.
    fn reset(&mut self, cx: Cx<'_>);

    /// Ends an execution: lets go of the state that was read, and of everything that was worked out from it. False: the
    /// operator is not made for another execution.
    fn park(&mut self) -> bool {
        false
    }

    /// Takes over the parameters of another execution, after [`Operator::park`]. False: it must be built anew.
    fn rebind(&mut self, _parameters: &[Value]) -> bool {
        false
    }
}

/// Who changes rows for the operators of a statement.
pub(crate) trait Writes {
    /// Changes rows as the statement says, from batches or from rows that are there; what RETURNING makes of them. It knows
    /// how far it is: who is told "not yet", at the end of the turn, asks again with the same rows.
    fn change(&self, change: &Modification, rows: SourceRows<'_>, turn: &Turn) -> Step<Collected>;

    /// Whether each of the rows is to be changed before the next one is asked for, which may look for it.
    fn follows(&self) -> bool;
}

/// The rows that a change starts from.
pub(crate) enum SourceRows<'a> {
    /// All of them, with what they are charged to.
    Batches(&'a BatchList, &'a Shared),
    /// As they come.
    Lazy(&'a mut dyn FnMut() -> Step<Option<Batch>>),
    Constants(&'a ConstantRows),
    Few(&'a [Vec<Expr>]),
}

/// An operator of any kind.
pub(crate) type BoxOperator = Box<dyn Operator>;

/// Goes on until there is an answer: for who waits for it.
pub(crate) fn until_done<T>(mut step: impl FnMut() -> Step<T>) -> Result<T> {
    loop {
        match step() {
            Ok(answer) => return Ok(answer),
            Err(NoAnswer::Failed(error)) => return Err(error),
            Err(NoAnswer::NotYet) => {}
        }
    }
}

/// Asks until there is an answer: for who cannot go on in the middle of what it does.
pub(crate) fn next_now(operator: &mut BoxOperator, cx: Cx<'_>) -> Result<Option<Batch>> {
    let turn = cx.shared.begin_turn(None);
    let answer = until_done(|| operator.next(cx).or_else(|none| cx.check().map_err(NoAnswer::from).and(Err(none))));
    cx.shared.begin_turn(turn);
    answer
}
