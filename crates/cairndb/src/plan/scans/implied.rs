//! Whether what is known of a row makes a condition true: which queries an index of some rows can answer.
//!
//! What is found here is certain; that nothing is found says nothing. Known are: the same condition; a comparison with a
//! constant that a nearer one answers; IS NOT NULL of what is compared; OR of which one part is known.

use crate::functions::Operator;
use crate::plan::expressions::equal::same_expr;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{conjuncts, conjuncts_of, is_volatile};
use crate::types::{DataType, Value};

/// Whether every row for which the conditions are true has the predicate true too.
pub(crate) fn is_implied(predicate: &Expr, conditions: &[Expr]) -> bool {
    let known: Vec<&Expr> = conditions.iter().flat_map(conjuncts_of).collect();
    conjuncts(predicate.clone()).iter().all(|part| is_known(part, &known))
}

fn is_known(wanted: &Expr, known: &[&Expr]) -> bool {
    if is_volatile(wanted) {
        return false;
    }
    match wanted {
        Expr::Or(parts) => {
            parts.iter().any(|part| conjuncts_of(part).iter().all(|part| is_known(part, known)))
                || known.iter().any(|known| same_expr(wanted, known) || is_part_of(known, parts))
        }
        _ => known.iter().any(|known| follows(wanted, known)),
    }
}

/// Whether each part of a known OR is among those that are wanted.
fn is_part_of(known: &Expr, wanted: &[Expr]) -> bool {
    let Expr::Or(parts) = known else { return false };
    parts.iter().all(|part| wanted.iter().any(|wanted| follows(wanted, part)))
}

/// Whether `wanted` is true wherever `known` is.
fn follows(wanted: &Expr, known: &Expr) -> bool {
    if same_expr(wanted, known) {
        return true;
    }
    if let Expr::InList { input, list, equal } = known {
        // One of these equals it.
        let equals =
            |value: &Expr| Expr::Call { function: equal.clone(), args: vec![(**input).clone(), value.clone()] };
        return !list.is_empty() && list.iter().all(|value| follows(wanted, &equals(value)));
    }
    match wanted {
        Expr::Not(inner) => match &**inner {
            Expr::IsNull(value) => is_not_null_where(value, known),
            _ => false,
        },
        Expr::InList { input, list, equal } => list.iter().any(|value| {
            let args = vec![(**input).clone(), value.clone()];
            follows(&Expr::Call { function: equal.clone(), args }, known)
        }),
        _ => is_nearer(wanted, known),
    }
}

/// A comparison is not true of NULL.
fn is_not_null_where(value: &Expr, known: &Expr) -> bool {
    match known {
        Expr::Call { function, args } if function.op.is_some_and(Operator::is_comparison) => {
            args.iter().any(|arg| same_expr(bare(arg), bare(value)))
        }
        _ => same_expr(value, known),
    }
}

/// Casts of columns are NULL only where those are.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast { input, .. } => bare(input),
        expr => expr,
    }
}

/// Both compare the same with constants, and `wanted`'s bounds less.
fn is_nearer(wanted: &Expr, known: &Expr) -> bool {
    let (Some(wanted), Some(known)) = (compared(wanted), compared(known)) else { return false };
    if wanted.data_type != known.data_type || !same_expr(wanted.subject, known.subject) {
        return false;
    }
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = known.bound.compare_as(wanted.bound, wanted.data_type);
    let (op, known_op) = (wanted.op, known.op);
    match (op, known_op) {
        (Operator::Equal, Operator::Equal) => order == Equal,
        (Operator::Greater, Operator::Greater) => order != Less,
        (Operator::Greater, Operator::GreaterEqual | Operator::Equal) => order == Greater,
        (Operator::GreaterEqual, Operator::Greater | Operator::GreaterEqual | Operator::Equal) => order != Less,
        (Operator::Less, Operator::Less) => order != Greater,
        (Operator::Less, Operator::LessEqual | Operator::Equal) => order == Less,
        (Operator::LessEqual, Operator::Less | Operator::LessEqual | Operator::Equal) => order != Greater,
        (Operator::NotEqual, Operator::Equal) => order != Equal,
        (Operator::NotEqual, Operator::Greater) => order != Less,
        (Operator::NotEqual, Operator::GreaterEqual) => order == Greater,
        (Operator::NotEqual, Operator::Less) => order != Greater,
        (Operator::NotEqual, Operator::LessEqual) => order == Less,
        _ => false,
    }
}

/// `subject op constant`, the constant not NULL, both of one type.
struct Compared<'e> {
    subject: &'e Expr,
    op: Operator,
    bound: &'e Value,
    data_type: DataType,
}

fn compared(expr: &Expr) -> Option<Compared<'_>> {
    let Expr::Call { function, args } = expr else { return None };
    let [first, second] = args.as_slice() else { return None };
    let op = function.op.filter(|op| op.is_comparison())?;
    let (subject, op, bound, of) = match (first, second) {
        (subject, Expr::Literal { value, data_type }) => (subject, op, value, *data_type),
        (Expr::Literal { value, data_type }, subject) => (subject, op.commuted()?, value, *data_type),
        _ => return None,
    };
    let data_type = subject.data_type().base();
    (!bound.is_null() && of.base() == data_type).then_some(Compared { subject, op, bound, data_type })
}
