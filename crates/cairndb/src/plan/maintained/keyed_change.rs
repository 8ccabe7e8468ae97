//! The part of a change that reads again what has the keys of changed rows: groups, partitions, rows of a set.
//!
//! What must hold:
//! - A key's parts are compared by `=`, for which there are indexes and hash tables. Keys in which something is NULL are apart, in
//!   plans of their own: whether a part of a key is NULL divides the keys, and so what has them, without rest.
//! - Such a plan gives nothing where no changed row has NULL there, and says so ([`nulls_needed`]): mostly it need not run.

use super::changes::{Fault, before, columns, has, join, union, with_weight};
use crate::functions::exact_overload;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::nulls::nullable_columns;
use crate::plan::logical::{CteId, JoinKind, LogicalPlan, SetOperator};

/// So many parts that may be NULL have plans for each combination.
const APART_MAX: usize = 2;

/// The keys of changed rows that are alike in what is NULL of them.
pub(in crate::plan) struct Keys {
    rows: LogicalPlan,
    nulls: Nulls,
}

/// What is NULL of a key.
enum Nulls {
    /// These parts are, and no others.
    At(Vec<bool>),
    /// One of these parts is, or more.
    Some(Vec<bool>),
}

/// The part of a plan that has these keys, as it was with weight -1 and as it is with weight 1. `nullable`: which parts of them may
/// be NULL. `part`: of the rows that have such keys, in the tables as the second argument makes them.
pub(in crate::plan) fn again(
    changed: Vec<LogicalPlan>,
    nullable: Vec<bool>,
    part: impl Fn(&Keys, &dyn Fn(&LogicalPlan) -> LogicalPlan) -> LogicalPlan,
) -> Vec<LogicalPlan> {
    let Some(keys) = union(changed) else { return vec![] };
    let keys = match keys.fields().len() > nullable.len() {
        true => columns(keys, &(0..nullable.len()).collect::<Vec<_>>()),
        false => keys,
    };
    let mut terms = vec![];
    for nulls in divided(&nullable) {
        let keys = Keys { rows: keys.clone(), nulls };
        if !has(Fault::OldPartKept) {
            terms.push(with_weight(part(&keys, &before), -1));
        }
        terms.push(with_weight(part(&keys, &Clone::clone), 1));
    }
    terms
}

/// All that may be NULL of a key, such that each key is of one of them.
fn divided(nullable: &[bool]) -> Vec<Nulls> {
    let may_be: Vec<usize> = (0..nullable.len()).filter(|at| nullable[*at]).collect();
    let none = vec![false; nullable.len()];
    if may_be.len() > APART_MAX {
        return vec![Nulls::At(none), Nulls::Some(nullable.to_vec())];
    }
    let combination = |bits: usize| {
        let mut nulls = none.clone();
        may_be.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).for_each(|(_, &at)| nulls[at] = true);
        Nulls::At(nulls)
    };
    (0..1 << may_be.len()).map(combination).collect()
}

/// Which of the expressions over the input may be NULL.
pub(in crate::plan) fn may_be_null(exprs: &[Expr], input: &LogicalPlan) -> Vec<bool> {
    let nullable = nullable_columns(input);
    let may_be = |expr: &Expr| !matches!(expr, Expr::Column { index, .. } if !nullable[*index]);
    exprs.iter().map(may_be).collect()
}

impl Keys {
    /// The rows of `state` for which the expressions have the values of one of the keys.
    pub(in crate::plan) fn rows(&self, state: LogicalPlan, exprs: &[Expr]) -> LogicalPlan {
        let width = state.fields().len();
        let key = |at: usize| Expr::Column { index: at, data_type: exprs[at].data_type() };
        let (nulls, some) = match &self.nulls {
            Nulls::At(nulls) => (nulls, false),
            Nulls::Some(nulls) => (nulls, true),
        };
        let tested: Vec<usize> = (0..exprs.len()).filter(|at| nulls[*at]).collect();
        let test = |is_null: &dyn Fn(usize) -> Expr| {
            let tests: Vec<Expr> = tested.iter().map(|&at| Expr::IsNull(Box::new(is_null(at)))).collect();
            if some { all(tests, Expr::Or) } else { all(tests, Expr::And) }
        };
        let (state, keys) = (filtered(state, test(&|at| exprs[at].clone())), filtered(self.rows.clone(), test(&key)));
        let same = |at: usize| {
            let key = Expr::Column { index: width + at, data_type: exprs[at].data_type() };
            let base = exprs[at].data_type().base();
            match exact_overload("=", &[base, base]) {
                Some(function) if !nulls[at] => Expr::Call { function, args: vec![exprs[at].clone(), key] },
                _ => Expr::IsNotDistinct(Box::new(exprs[at].clone()), Box::new(key)),
            }
        };
        let compared = (0..exprs.len()).filter(|at| some || !nulls[*at]).map(same).collect();
        join(JoinKind::Semi, state, keys, all(compared, Expr::And))
    }
}

fn all(mut parts: Vec<Expr>, together: fn(Vec<Expr>) -> Expr) -> Option<Expr> {
    if parts.len() > 1 { Some(together(parts)) } else { parts.pop() }
}

fn filtered(input: LogicalPlan, predicate: Option<Expr>) -> LogicalPlan {
    match predicate {
        Some(predicate) => LogicalPlan::Filter { input: Box::new(input), predicate },
        None => input,
    }
}

/// Columns of changed rows, by the number of these: where none of them is NULL anywhere, the plan gives no rows. `None`: that is not
/// known of any.
pub(super) fn nulls_needed(plan: &LogicalPlan) -> Option<Vec<(CteId, usize)>> {
    use LogicalPlan as P;
    match plan {
        P::Filter { input, predicate } => nulls_passing(predicate, input).or_else(|| nulls_needed(input)),
        P::Project { input, .. } | P::Sort { input, .. } | P::Distinct { input, .. } => nulls_needed(input),
        P::Aggregate { input, group_by, .. } if !group_by.is_empty() => nulls_needed(input),
        P::Window { input, .. } => nulls_needed(input),
        P::Join { kind: JoinKind::Inner | JoinKind::Semi, left, right, .. } => {
            nulls_needed(left).or_else(|| nulls_needed(right))
        }
        P::Join { kind: JoinKind::Left | JoinKind::Anti, left, .. } => nulls_needed(left),
        P::SetOperation { op: SetOperator::Union, left, right, .. } => {
            Some([nulls_needed(left)?, nulls_needed(right)?].concat())
        }
        P::SetOperation { left, .. } => nulls_needed(left),
        _ => None,
    }
}

/// The same of rows for which the condition holds.
fn nulls_passing(predicate: &Expr, input: &LogicalPlan) -> Option<Vec<(CteId, usize)>> {
    match predicate {
        Expr::IsNull(of) => match &**of {
            Expr::Column { index, .. } => source(input, *index),
            _ => None,
        },
        Expr::And(parts) => parts.iter().find_map(|part| nulls_passing(part, input)),
        Expr::Or(parts) => {
            let of_parts = parts.iter().map(|part| nulls_passing(part, input)).collect::<Option<Vec<_>>>()?;
            Some(of_parts.concat())
        }
        _ => None,
    }
}

/// The columns of changed rows that a column's values are. `None`: they are others, too.
fn source(plan: &LogicalPlan, column: usize) -> Option<Vec<(CteId, usize)>> {
    use LogicalPlan as P;
    match plan {
        P::CteScan { id: id @ CteId::Changed(_), .. } => Some(vec![(*id, column)]),
        P::Filter { input, .. } | P::Sort { input, .. } | P::Distinct { input, .. } => source(input, column),
        P::Project { input, exprs, .. } => match &exprs[column] {
            Expr::Column { index, .. } => source(input, *index),
            _ => None,
        },
        P::SetOperation { op: SetOperator::Union, left, right, .. } => {
            Some([source(left, column)?, source(right, column)?].concat())
        }
        P::Join { kind: JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti, left, .. }
            if column < left.fields().len() =>
        {
            source(left, column)
        }
        P::Join { kind: JoinKind::Inner, left, right, .. } => source(right, column - left.fields().len()),
        _ => None,
    }
}
