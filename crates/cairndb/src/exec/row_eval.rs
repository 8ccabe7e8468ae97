//! Evaluates a bound expression on one row: CHECK conditions, DEFAULTs, ON CONFLICT assignments.
//!
//! A plain walk over the expression, for places that handle a row at a time. Queries compile their expressions to
//! batch evaluators instead ([`super::expr`]); both must say the same.

use super::context::ExecContext;
use crate::functions::{self, Function};
use crate::plan::{Expr, SequenceOp};
use crate::{Error, Result, Value};

/// The value of `expr` for `row`, to whose columns `Expr::Column` refers. Subqueries are refused (SQLSTATE 0A000).
pub fn eval_row(expr: &Expr, row: &[Value], context: &ExecContext) -> Result<Value> {
    match expr {
        Expr::Literal { value, .. } => Ok(value.clone()),
        Expr::Column { index, .. } => {
            row.get(*index).cloned().ok_or_else(|| Error::internal(format!("no column {index} in the row")))
        }
        Expr::Parameter { index, .. } => context.parameter(*index).cloned(),
        Expr::Outer { .. } => Err(Error::internal("outer column outside of a query")),
        Expr::Subquery(_) | Expr::Subplan(_) => Err(Error::unsupported("a subquery in this place")),
        Expr::Call { function, args } => {
            let args = args.iter().map(|arg| eval_row(arg, row, context)).collect::<Result<Vec<_>>>()?;
            call(function, &args, context)
        }
        Expr::Cast { input, to } => {
            let value = eval_row(input, row, context)?;
            functions::cast(&value, input.data_type(), *to, &context.eval)
        }
        Expr::And(args) => fold_logic(args, false, row, context),
        Expr::Or(args) => fold_logic(args, true, row, context),
        Expr::Not(input) => match eval_row(input, row, context)? {
            Value::Boolean(value) => Ok(Value::Boolean(!value)),
            _ => Ok(Value::Null),
        },
        Expr::IsNull(input) => Ok(Value::Boolean(matches!(eval_row(input, row, context)?, Value::Null))),
        Expr::IsNotDistinct(left, right) => {
            let (left, right) = (eval_row(left, row, context)?, eval_row(right, row, context)?);
            Ok(Value::Boolean(left == right))
        }
        Expr::Case { branches, otherwise, .. } => eval_case(branches, otherwise.as_deref(), row, context),
        Expr::Coalesce { args, .. } => {
            for arg in args {
                let value = eval_row(arg, row, context)?;
                if !matches!(value, Value::Null) {
                    return Ok(value);
                }
            }
            Ok(Value::Null)
        }
        Expr::InList { input, list, equal } => eval_in(input, list, equal, row, context),
        Expr::Sequence { op, name, value } => {
            let name = eval_row(name, row, context)?;
            let value = value.as_ref().map(|value| eval_row(value, row, context)).transpose()?;
            sequence(*op, &name, value.as_ref(), context)
        }
    }
}

/// Calls a function as SQL does: a strict one is not called with NULL.
pub(crate) fn call(function: &Function, args: &[Value], context: &ExecContext) -> Result<Value> {
    if function.strict && args.iter().any(|arg| matches!(arg, Value::Null)) {
        return Ok(Value::Null);
    }
    (function.eval)(args, &context.eval)
}

/// AND (`decisive` false) or OR (`decisive` true): stops at the first decisive argument.
fn fold_logic(args: &[Expr], decisive: bool, row: &[Value], context: &ExecContext) -> Result<Value> {
    let mut unknown = false;
    for arg in args {
        match eval_row(arg, row, context)? {
            Value::Boolean(value) if value == decisive => return Ok(Value::Boolean(decisive)),
            Value::Boolean(_) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { Value::Null } else { Value::Boolean(!decisive) })
}

fn eval_case(
    branches: &[(Expr, Expr)],
    otherwise: Option<&Expr>,
    row: &[Value],
    context: &ExecContext,
) -> Result<Value> {
    for (condition, result) in branches {
        if matches!(eval_row(condition, row, context)?, Value::Boolean(true)) {
            return eval_row(result, row, context);
        }
    }
    otherwise.map_or(Ok(Value::Null), |otherwise| eval_row(otherwise, row, context))
}

fn eval_in(input: &Expr, list: &[Expr], equal: &Function, row: &[Value], context: &ExecContext) -> Result<Value> {
    let mut pair = [eval_row(input, row, context)?, Value::Null];
    let mut unknown = false;
    for element in list {
        pair[1] = eval_row(element, row, context)?;
        match call(equal, &pair, context)? {
            Value::Boolean(true) => return Ok(Value::Boolean(true)),
            Value::Boolean(false) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { Value::Null } else { Value::Boolean(false) })
}

/// Runs a sequence function; NULL arguments give NULL.
pub(crate) fn sequence(op: SequenceOp, name: &Value, value: Option<&Value>, context: &ExecContext) -> Result<Value> {
    let Value::Text(name) = name else { return Ok(Value::Null) };
    let source = context.sequence_source()?;
    let result = match (op, value) {
        (SequenceOp::NextVal, _) => source.next_value(name)?,
        (SequenceOp::CurrVal, _) => source.current_value(name)?,
        (SequenceOp::SetVal, Some(Value::BigInt(value))) => source.set_value(name, *value)?,
        (SequenceOp::SetVal, Some(Value::Null)) => return Ok(Value::Null),
        (SequenceOp::SetVal, _) => return Err(Error::internal("setval without a bigint value")),
    };
    Ok(Value::BigInt(result))
}
