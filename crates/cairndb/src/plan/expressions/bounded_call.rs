//! How long the arguments of a call may be, and so, how long it may take.
//!
//! A product of two `numeric`, and LIKE, take as long as the product of two lengths (`functions/cost.rs`). Where an argument
//! is short, by what is written or by its type, they take a few passes over the other.

use super::expr::Expr;
use crate::functions::{Cost, Function, Operator};
use crate::types::{DataType, Value};

/// So long may be both: as many digits as a declared `numeric` has.
const SHORT: usize = 1000;
/// So long may be one, where nobody knows how long the other is.
const FEW: usize = 64;

/// Whether a call takes no longer than some passes over its arguments.
pub(super) fn is_bounded_call(function: &Function, args: &[Expr]) -> bool {
    let within = |arg: &Expr, most: usize| length(arg).is_some_and(|length| length <= most);
    match (function.cost, args) {
        (Cost::Bounded, _) => true,
        (Cost::Unknown, _) => false,
        _ if args.iter().all(|arg| within(arg, SHORT)) => true,
        (Cost::Product, [left, right]) => within(left, FEW) || within(right, FEW),
        (Cost::Quotient, [_, right]) => within(right, FEW),
        _ => false,
    }
}

/// How many digits or letters an expression's value has at most, as far as it says so.
fn length(expr: &Expr) -> Option<usize> {
    use DataType as T;
    match (expr.data_type(), expr) {
        (_, Expr::Literal { value: Value::Text(text), .. }) => Some(text.len()),
        (_, Expr::Literal { value: Value::Numeric(number), .. }) => Some(number.to_string().len()),
        (T::SmallInt | T::Integer | T::BigInt, _) => Some(20),
        (T::Numeric(Some((precision, scale))), _) => Some(usize::from(precision) + usize::from(scale.unsigned_abs())),
        (T::Numeric(None), Expr::Cast { input, .. }) => length(input),
        (T::Numeric(None), Expr::Call { function, args }) => {
            let adds_up = matches!(function.op, Some(Operator::Add | Operator::Subtract | Operator::Multiply));
            adds_up.then(|| args.iter().map(length).sum())?
        }
        _ => None,
    }
}
