//! Evaluates a bound expression on one row: CHECK conditions, DEFAULTs, ON CONFLICT, RETURNING, and all of a point
//! statement's.
//!
//! A walk over the expression that lends strings instead of copying them and keeps the arguments of calls on the stack,
//! so that it allocates only where a function makes a string. Queries compile their expressions to batch evaluators
//! instead (`exec/expr`); both say the same, which the tests there try over every type and function.

use std::cmp::Ordering;

use super::datum::{Columns, Datum, Sharing};
use super::expr::{Expr, SequenceOp};
use crate::functions::{self, Function, Operator};
use crate::types::{DataType, EvalContext, ValueRef, compare_blank_padded, compare_f64};
use crate::{Error, Result, Value};

/// What an expression may depend on besides the row, and how it is told that something failed.
pub(crate) trait EvalEnv<'a>: Copy {
    /// Why there is no value.
    type Miss;
    /// The parameter's value; it is of this type.
    fn parameter(self, index: usize, data_type: DataType) -> Result<ValueRef<'a>, Self::Miss>;
    /// Time and time zone.
    fn eval(self) -> &'a EvalContext;
    /// Runs a sequence function.
    fn sequence(self, op: SequenceOp, name: &Value, value: Option<&Value>) -> Result<Value, Self::Miss>;
    /// What comes of an error.
    fn missed(error: Error) -> Self::Miss;
}

/// The value of `expr` for the row, to whose columns `Expr::Column` refers. Subqueries are refused (SQLSTATE 0A000).
pub(crate) fn eval<'e, 'a: 'e, S: EvalEnv<'a>>(
    expr: &'e Expr,
    row: &'e dyn Columns<S::Miss>,
    around: S,
) -> Result<Datum<'e>, S::Miss> {
    match expr {
        Expr::Literal { value, .. } => Ok(Datum::Lent(value.into())),
        Expr::Column { index, .. } => row.column(*index),
        Expr::Parameter { index, data_type, .. } => around.parameter(*index, *data_type).map(Datum::Lent),
        Expr::Call { function, args } => eval_call(function, args, row, around),
        Expr::Cast { input, to } => cast(input, *to, row, around),
        Expr::And(args) => logic(args, false, row, around),
        Expr::Or(args) => logic(args, true, row, around),
        Expr::Not(input) => Ok(match eval(input, row, around)?.get() {
            ValueRef::Boolean(value) => boolean(!value),
            _ => NULL,
        }),
        Expr::IsNull(input) => Ok(boolean(eval(input, row, around)?.is_null())),
        Expr::IsNotDistinct(left, right) => {
            let (a, b) = (eval(left, row, around)?.into_value(), eval(right, row, around)?.into_value());
            Ok(boolean(a.compare_as(&b, left.data_type()).is_eq()))
        }
        Expr::Case { branches, otherwise, .. } => {
            for (condition, result) in branches {
                if eval(condition, row, around)?.is_true() {
                    return eval(result, row, around);
                }
            }
            otherwise.as_deref().map_or(Ok(NULL), |otherwise| eval(otherwise, row, around))
        }
        Expr::Coalesce { args, .. } => {
            for arg in args {
                let value = eval(arg, row, around)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            Ok(NULL)
        }
        Expr::InList { input, list, equal } => in_list(input, list, equal, row, around),
        Expr::Sequence { op, name, value } => {
            let name = eval(name, row, around)?.into_value();
            let value = value.as_ref().map(|value| eval(value, row, around).map(Datum::into_value)).transpose()?;
            around.sequence(*op, &name, value.as_ref()).map(Datum::Own)
        }
        Expr::Let { id, value, body } => eval_let(*id, value, body, row, around),
        Expr::Shared { id, .. } => {
            row.shared(*id).ok_or_else(|| S::missed(Error::internal("a shared value that was not worked out")))
        }
        Expr::Outer { .. } => Err(S::missed(Error::internal("outer column outside of a query"))),
        Expr::Subquery(_) | Expr::Subplan(_) => Err(S::missed(Error::unsupported("a subquery in this place"))),
    }
}

const NULL: Datum<'static> = Datum::Lent(ValueRef::Null);

fn boolean(value: bool) -> Datum<'static> {
    Datum::Lent(ValueRef::Boolean(value))
}

/// (Apart: what it keeps would be room on the stack of every expression.)
#[inline(never)]
fn eval_let<'e, 'a: 'e, S: EvalEnv<'a>>(
    id: usize,
    value: &'e Expr,
    body: &'e Expr,
    row: &'e dyn Columns<S::Miss>,
    around: S,
) -> Result<Datum<'e>, S::Miss> {
    let value = eval(value, row, around)?.into_value();
    eval(body, &Sharing { row, id, value }, around).map(|made| Datum::Own(made.into_value()))
}

fn eval_call<'e, 'a: 'e, S: EvalEnv<'a>>(
    function: &Function,
    args: &'e [Expr],
    row: &'e dyn Columns<S::Miss>,
    around: S,
) -> Result<Datum<'e>, S::Miss> {
    match args {
        [] => apply(function, &[], around),
        [one] => apply(function, &[eval(one, row, around)?.into_value()], around),
        [left, right] => binary(function, eval(left, row, around)?, eval(right, row, around)?, around),
        _ => {
            let args = args.iter().map(|arg| eval(arg, row, around).map(Datum::into_value));
            apply(function, &args.collect::<Result<Vec<_>, _>>()?, around)
        }
    }
}

fn binary<'a, S: EvalEnv<'a>>(
    function: &Function,
    left: Datum<'_>,
    right: Datum<'_>,
    around: S,
) -> Result<Datum<'static>, S::Miss> {
    if let Some(operator) = function.op
        && let Some(order) = compare(function, left.get(), right.get())
        && let Some(holds) = holds(operator, order)
    {
        return Ok(boolean(holds));
    }
    apply(function, &[left.into_value(), right.into_value()], around)
}

fn apply<'a, S: EvalEnv<'a>>(function: &Function, args: &[Value], around: S) -> Result<Datum<'static>, S::Miss> {
    function.call(args, around.eval()).map(Datum::Own).map_err(S::missed)
}

/// The order of two values of the function's argument types, where it can be told from what is lent, as
/// [`Value::compare`] tells it.
fn compare(function: &Function, left: ValueRef<'_>, right: ValueRef<'_>) -> Option<Ordering> {
    use ValueRef::*;
    match (left, right) {
        (Text(a), Text(b)) if function.args.iter().any(|arg| matches!(arg, DataType::Char(_))) => {
            Some(compare_blank_padded(a, b))
        }
        (Text(a), Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Double(a), Double(b)) => Some(compare_f64(a, b)),
        (Numeric(a), Numeric(b)) => Some(a.compare(b)),
        (Date(a), Date(b)) => Some(a.cmp(&b)),
        (TimeTz(a), TimeTz(b)) | (Timestamp(a), Timestamp(b)) | (TimestampTz(a), TimestampTz(b)) => Some(a.cmp(&b)),
        (Enum(a), Enum(b)) => Some(a.key().cmp(&b.key())),
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

fn cast<'e, 'a: 'e, S: EvalEnv<'a>>(
    input: &'e Expr,
    to: DataType,
    row: &'e dyn Columns<S::Miss>,
    around: S,
) -> Result<Datum<'e>, S::Miss> {
    let value = eval(input, row, around)?;
    if value.is_null() {
        return Ok(value);
    }
    let cast = functions::cast(&value.into_value(), input.data_type(), to, around.eval());
    cast.map(Datum::Own).map_err(S::missed)
}

/// AND (`decisive` false) or OR (`decisive` true): stops at the first decisive argument.
fn logic<'e, 'a: 'e, S: EvalEnv<'a>>(
    args: &'e [Expr],
    decisive: bool,
    row: &'e dyn Columns<S::Miss>,
    around: S,
) -> Result<Datum<'e>, S::Miss> {
    let mut unknown = false;
    for arg in args {
        match eval(arg, row, around)?.get() {
            ValueRef::Boolean(value) if value == decisive => return Ok(boolean(decisive)),
            ValueRef::Boolean(_) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { NULL } else { boolean(!decisive) })
}

fn in_list<'e, 'a: 'e, S: EvalEnv<'a>>(
    input: &'e Expr,
    list: &'e [Expr],
    equal: &Function,
    row: &'e dyn Columns<S::Miss>,
    around: S,
) -> Result<Datum<'e>, S::Miss> {
    let input = eval(input, row, around)?;
    let mut unknown = false;
    for element in list {
        match binary(equal, Datum::Lent(input.get()), eval(element, row, around)?, around)?.get() {
            ValueRef::Boolean(true) => return Ok(boolean(true)),
            ValueRef::Boolean(false) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { NULL } else { boolean(false) })
}
