//! Expressions over one row: CHECK conditions, WHERE beside the key, computed values.
//!
//! A walk over the expression that lends strings instead of copying them and keeps the arguments of calls on the stack,
//! so that it allocates only where a function makes a string. The functions are the catalogue's own; what goes wrong in
//! them is a [`Miss::General`]: the general path comes to the same error and words it.

use std::cmp::Ordering;

use super::Miss;
use super::datum::{Columns, Datum};
use crate::Value;
use crate::api::Params;
use crate::functions::{self, Function, Operator};
use crate::plan::{Expr, walk};
use crate::types::{DataType, EvalContext, ValueRef, compare_f64};

/// What an expression may depend on besides the row.
#[derive(Clone, Copy)]
pub(in crate::api) struct Env<'a> {
    /// Every value fits the type that the statement gives the parameter.
    pub(super) params: &'a dyn Params,
    pub(super) eval: &'a EvalContext,
}

/// A row of no columns.
pub(super) struct NoColumns;

impl Columns for NoColumns {
    fn column(&self, _index: usize) -> Result<Datum<'_>, Miss> {
        Err(Miss::General)
    }
}

/// Whether [`eval`] knows everything in the expression.
pub(super) fn is_evaluable(expr: &Expr) -> bool {
    let mut known = true;
    walk::walk(expr, 0, &mut |expr, _| {
        known &= !matches!(expr, Expr::Outer { .. } | Expr::Subquery(_) | Expr::Subplan(_) | Expr::Sequence { .. });
    });
    known
}

/// Whether a column of the row is in the expression.
pub(super) fn has_columns(expr: &Expr) -> bool {
    let mut found = false;
    walk::walk(expr, 0, &mut |expr, _| found |= matches!(expr, Expr::Column { .. }));
    found
}

/// The value of `expr` for the row.
pub(super) fn eval<'a>(expr: &'a Expr, row: &'a dyn Columns, env: Env<'a>) -> Result<Datum<'a>, Miss> {
    match expr {
        Expr::Literal { value, .. } => Ok(Datum::Lent(value.into())),
        Expr::Column { index, .. } => row.column(*index),
        Expr::Parameter { index, data_type } => {
            env.params.value(*index).fit(*data_type).map(Datum::Lent).ok_or(Miss::General)
        }
        Expr::Call { function, args } => call(function, args, row, env),
        Expr::Cast { input, to } => cast(input, *to, row, env),
        Expr::And(args) => logic(args, false, row, env),
        Expr::Or(args) => logic(args, true, row, env),
        Expr::Not(input) => Ok(match eval(input, row, env)?.get() {
            ValueRef::Boolean(value) => boolean(!value),
            _ => Datum::Lent(ValueRef::Null),
        }),
        Expr::IsNull(input) => Ok(boolean(eval(input, row, env)?.is_null())),
        Expr::IsNotDistinct(left, right) => {
            let (left, right) = (eval(left, row, env)?.into_value(), eval(right, row, env)?.into_value());
            Ok(boolean(left == right))
        }
        Expr::Case { branches, otherwise, .. } => {
            for (condition, result) in branches {
                if is_true(&eval(condition, row, env)?) {
                    return eval(result, row, env);
                }
            }
            otherwise.as_deref().map_or(Ok(Datum::Lent(ValueRef::Null)), |otherwise| eval(otherwise, row, env))
        }
        Expr::Coalesce { args, .. } => coalesce(args, row, env),
        Expr::InList { input, list, equal } => in_list(input, list, equal, row, env),
        Expr::Outer { .. } | Expr::Subquery(_) | Expr::Subplan(_) | Expr::Sequence { .. } => Err(Miss::General),
    }
}

/// Whether a condition holds (NULL does not).
pub(super) fn is_true(value: &Datum<'_>) -> bool {
    matches!(value.get(), ValueRef::Boolean(true))
}

fn boolean(value: bool) -> Datum<'static> {
    Datum::Lent(ValueRef::Boolean(value))
}

fn call<'a>(
    function: &'static Function,
    args: &'a [Expr],
    row: &'a dyn Columns,
    env: Env<'a>,
) -> Result<Datum<'a>, Miss> {
    match args {
        [] => apply(function, &[], env),
        [one] => apply(function, &[eval(one, row, env)?.into_value()], env),
        [left, right] => binary(function, eval(left, row, env)?, eval(right, row, env)?, env),
        _ => {
            let args = args.iter().map(|arg| eval(arg, row, env).map(Datum::into_value));
            apply(function, &args.collect::<Result<Vec<_>, _>>()?, env)
        }
    }
}

fn binary<'a>(function: &'static Function, left: Datum<'a>, right: Datum<'a>, env: Env<'a>) -> Result<Datum<'a>, Miss> {
    if let Some(operator) = function.op
        && let Some(order) = compare(function, left.get(), right.get())
        && let Some(holds) = holds(operator, order)
    {
        return Ok(boolean(holds));
    }
    apply(function, &[left.into_value(), right.into_value()], env)
}

fn apply<'a>(function: &'static Function, args: &[Value], env: Env<'a>) -> Result<Datum<'a>, Miss> {
    if function.strict && args.iter().any(Value::is_null) {
        return Ok(Datum::Lent(ValueRef::Null));
    }
    (function.eval)(args, env.eval).map(Datum::Own).map_err(|_| Miss::General)
}

/// The order of two values of the function's argument types, where it can be told from what is lent, as
/// [`Value::compare`] tells it.
fn compare(function: &Function, left: ValueRef<'_>, right: ValueRef<'_>) -> Option<Ordering> {
    use ValueRef::*;
    match (left, right) {
        // `char(n)` compares without its blanks.
        (Text(_), Text(_)) if function.args.iter().any(|arg| matches!(arg, DataType::Char(_))) => None,
        (Text(a), Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Double(a), Double(b)) => Some(compare_f64(a, b)),
        (Numeric(a), Numeric(b)) => Some(a.cmp(b)),
        (Date(a), Date(b)) => Some(a.cmp(&b)),
        (Timestamp(a), Timestamp(b)) | (TimestampTz(a), TimestampTz(b)) => Some(a.cmp(&b)),
        _ => Some(left.as_i64()?.cmp(&right.as_i64()?)),
    }
}

fn holds(operator: Operator, order: Ordering) -> Option<bool> {
    Some(match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterEqual => order.is_ge(),
        _ => return None,
    })
}

fn cast<'a>(input: &'a Expr, to: DataType, row: &'a dyn Columns, env: Env<'a>) -> Result<Datum<'a>, Miss> {
    let value = eval(input, row, env)?;
    if value.is_null() {
        return Ok(value);
    }
    let cast = functions::cast(&value.into_value(), input.data_type(), to, env.eval);
    cast.map(Datum::Own).map_err(|_| Miss::General)
}

/// AND (`decisive` false) or OR (`decisive` true): stops at the first decisive argument.
fn logic<'a>(args: &'a [Expr], decisive: bool, row: &'a dyn Columns, env: Env<'a>) -> Result<Datum<'a>, Miss> {
    let mut unknown = false;
    for arg in args {
        match eval(arg, row, env)?.get() {
            ValueRef::Boolean(value) if value == decisive => return Ok(boolean(decisive)),
            ValueRef::Boolean(_) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { Datum::Lent(ValueRef::Null) } else { boolean(!decisive) })
}

fn coalesce<'a>(args: &'a [Expr], row: &'a dyn Columns, env: Env<'a>) -> Result<Datum<'a>, Miss> {
    for arg in args {
        let value = eval(arg, row, env)?;
        if !value.is_null() {
            return Ok(value);
        }
    }
    Ok(Datum::Lent(ValueRef::Null))
}

fn in_list<'a>(
    input: &'a Expr,
    list: &'a [Expr],
    equal: &'static Function,
    row: &'a dyn Columns,
    env: Env<'a>,
) -> Result<Datum<'a>, Miss> {
    let input = eval(input, row, env)?;
    let mut unknown = false;
    for element in list {
        match binary(equal, Datum::Lent(input.get()), eval(element, row, env)?, env)?.get() {
            ValueRef::Boolean(true) => return Ok(boolean(true)),
            ValueRef::Boolean(false) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { Datum::Lent(ValueRef::Null) } else { boolean(false) })
}
