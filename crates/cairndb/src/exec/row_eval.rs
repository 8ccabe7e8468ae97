//! An expression on one row in what an execution has.

use super::context::ExecContext;
use crate::plan::{Datum, EvalEnv, Expr, SequenceOp, eval};
use crate::types::{DataType, EvalContext, ValueRef};
use crate::{Error, Result, Value};

impl<'a> EvalEnv<'a> for &'a ExecContext {
    type Miss = Error;

    fn parameter(self, index: usize, _: DataType) -> Result<ValueRef<'a>> {
        ExecContext::parameter(self, index).map(Into::into)
    }

    fn eval(self) -> &'a EvalContext {
        &self.eval
    }

    fn sequence(self, op: SequenceOp, name: &Value, value: Option<&Value>) -> Result<Value> {
        sequence(op, name, value, self)
    }

    fn missed(error: Error) -> Error {
        error
    }
}

/// The value of `expr` for `row`, to whose columns `Expr::Column` refers. Subqueries are refused (SQLSTATE 0A000).
pub fn eval_row(expr: &Expr, row: &[Value], context: &ExecContext) -> Result<Value> {
    eval(expr, &row, context).map(Datum::into_value)
}

/// Draws `count` numbers from a sequence, as many calls of nextval do one after the other. Those that were drawn before an error are
/// in `drawn`.
pub(crate) fn draw(name: &str, count: usize, context: &ExecContext, drawn: &mut Vec<i64>) -> Result<()> {
    let (source, end) = (context.sequence_source()?, drawn.len() + count);
    while drawn.len() < end {
        context.check()?;
        source.next_values(name, end - drawn.len(), drawn)?;
    }
    Ok(())
}

/// Runs a sequence function; NULL arguments give NULL.
pub(crate) fn sequence(op: SequenceOp, name: &Value, value: Option<&Value>, context: &ExecContext) -> Result<Value> {
    let Value::Text(name) = name else { return Ok(Value::Null) };
    let source = context.sequence_source()?;
    let result = match (op, value) {
        (SequenceOp::Next, _) => source.next_value(name)?,
        (SequenceOp::Current, _) => source.current_value(name)?,
        (SequenceOp::Last, _) => source.value_of_session()?,
        (SequenceOp::Set | SequenceOp::SetNext, Some(Value::BigInt(value))) => {
            source.set_value(name, *value, op == SequenceOp::Set)?
        }
        (SequenceOp::Set | SequenceOp::SetNext, Some(Value::Null)) => return Ok(Value::Null),
        (SequenceOp::Set | SequenceOp::SetNext, _) => return Err(Error::internal("setval without a bigint value")),
        (SequenceOp::LastValue, _) => source.state(name)?.last_value,
        (SequenceOp::LogCount, _) => source.state(name)?.log_cnt,
        (SequenceOp::IsCalled, _) => return Ok(Value::Boolean(source.state(name)?.is_called)),
    };
    Ok(Value::BigInt(result))
}
