//! What every operator is: a source of batches that can start over.

use super::batch::Batch;
use super::context::Cx;
use crate::bind::ConstantRows;
use crate::dml::Change;
use crate::{Result, Value};

/// A running plan node.
///
/// Pull model: a parent asks its inputs for batches. Columns of a batch are dense (no selection vectors between
/// operators): whoever drops rows gathers the rest.
pub(crate) trait Operator {
    /// The next rows, at least one; `None` at the end (and not to be called again before [`Operator::reset`]).
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>>;

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
    /// Changes rows as the statement says, from batches or from rows that are there; what RETURNING makes of them.
    fn change(&self, change: &Change, rows: SourceRows<'_>) -> Result<Vec<Vec<Value>>>;
}

/// The rows that a change starts from.
pub(crate) enum SourceRows<'a> {
    Batches(Vec<Batch>),
    Constants(&'a ConstantRows),
}

/// An operator of any kind.
pub(crate) type BoxOperator = Box<dyn Operator>;
