//! What equalities imply: from `a = b` and `a = 5` follows `b = 5`.
//!
//! Only equalities between plain columns by one and the same `=` are followed, which is transitive for every type.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::functions::{Function, Operator};
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{has_subquery, is_constant};

/// `column = column`, by an `=` that takes one type.
pub(in crate::plan) fn column_equality(condition: &Expr) -> Option<(&Arc<Function>, &Expr, &Expr)> {
    let (function, first, second) = equality(condition)?;
    let columns = matches!((first, second), (Expr::Column { .. }, Expr::Column { .. }));
    columns.then_some((function, first, second))
}

fn equality(condition: &Expr) -> Option<(&Arc<Function>, &Expr, &Expr)> {
    let Expr::Call { function, args } = condition else { return None };
    let [first, second] = args.as_slice() else { return None };
    let one_type = function.args.first() == function.args.get(1);
    (function.op == Some(Operator::Equal) && one_type).then_some((function, first, second))
}

/// `column = constant` in either order.
fn constant_equality(condition: &Expr) -> Option<(&Arc<Function>, usize, &Expr)> {
    let (function, first, second) = equality(condition)?;
    let (column, value) = match (first, second) {
        (Expr::Column { index, .. }, value) | (value, Expr::Column { index, .. }) => (*index, value),
        _ => return None,
    };
    let constant = is_constant(value) && !has_subquery(value);
    constant.then_some((function, column, value))
}

/// The conditions, with constants passed on to equal columns. An equality of two columns that both have the constant
/// says nothing more, and is dropped.
pub(super) fn close(conditions: Vec<Expr>) -> Vec<Expr> {
    let mut constants: BTreeMap<usize, (Arc<Function>, Expr)> = BTreeMap::new();
    for condition in &conditions {
        if let Some((function, column, value)) = constant_equality(condition) {
            constants.entry(column).or_insert_with(|| (function.clone(), value.clone()));
        }
    }
    if constants.is_empty() {
        return conditions;
    }
    let mut kept = conditions;
    loop {
        let before = kept.len();
        let (mut next, mut added) = (Vec::with_capacity(before), vec![]);
        for condition in kept {
            match implied(&condition, &constants) {
                None => next.push(condition),
                Some(new) => {
                    for (column, function, value, target) in new {
                        constants.insert(column, (function.clone(), value.clone()));
                        added.push(Expr::Call { function, args: vec![target, value] });
                    }
                }
            }
        }
        let done = added.is_empty();
        next.extend(added);
        kept = next;
        if done {
            return kept;
        }
    }
}

type Implied = (usize, Arc<Function>, Expr, Expr);

/// For an equality of two columns of which one has a constant: the new equality of the other, if it has none.
/// `None`: the condition stays.
fn implied(condition: &Expr, constants: &BTreeMap<usize, (Arc<Function>, Expr)>) -> Option<Vec<Implied>> {
    let (function, first, second) = column_equality(condition)?;
    let (Expr::Column { index: a, .. }, Expr::Column { index: b, .. }) = (first, second) else { return None };
    let same = |entry: &&(Arc<Function>, Expr)| entry.0.is_same(function);
    match (constants.get(a).filter(same), constants.get(b).filter(same)) {
        (Some((_, value)), None) if !constants.contains_key(b) => {
            Some(vec![(*b, function.clone(), value.clone(), second.clone())])
        }
        (None, Some((_, value))) if !constants.contains_key(a) => {
            Some(vec![(*a, function.clone(), value.clone(), first.clone())])
        }
        (Some((_, one)), Some((_, other))) if format!("{one:?}") == format!("{other:?}") => Some(vec![]),
        _ => None,
    }
}
