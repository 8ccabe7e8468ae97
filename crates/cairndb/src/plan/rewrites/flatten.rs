//! Subquery flattening: projections move above joins and filters and into one another, so that the joins of derived
//! tables and views are planned together with those of the query around them.
//!
//! A projection moves only if none of its expressions is volatile or has a subquery. An expression that is more than a
//! column is not copied: a projection that another uses twice stays. Above the optional side of an outer join only
//! plain columns move (an expression could be not NULL where the row is missing).

use super::cte::take_with;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{add_used_columns, has_subquery, identity, is_volatile, mapped, substitute};
use crate::plan::expressions::walk;
use crate::plan::logical::{Field, JoinKind, LogicalPlan};

/// Flattens the whole plan, from the leaves up.
pub(in crate::plan) fn flatten(mut plan: LogicalPlan) -> LogicalPlan {
    for (input, _) in walk::inputs_mut(&mut plan) {
        take_with(input, flatten);
    }
    match plan {
        LogicalPlan::Filter { input, predicate } => flatten_filter(*input, predicate),
        LogicalPlan::Project { input, exprs, fields } => merge(*input, exprs, fields),
        LogicalPlan::Join { .. } => flatten_join(plan),
        other => other,
    }
}

fn is_movable(exprs: &[Expr]) -> bool {
    exprs.iter().all(|expr| !is_volatile(expr) && !has_subquery(expr))
}

fn is_plain(exprs: &[Expr]) -> bool {
    exprs.iter().all(|expr| matches!(expr, Expr::Column { .. }))
}

/// Whether replacing the columns in `users` by `exprs` computes anything twice. (Without this rule an expression could
/// double with every level of nested queries.)
pub(super) fn copies(users: &[&Expr], exprs: &[Expr]) -> bool {
    let mut uses = vec![0usize; exprs.len()];
    for user in users {
        walk::walk(user, 0, &mut |expr, depth| match expr {
            Expr::Column { index, .. } if depth == 0 => uses.iter_mut().skip(*index).take(1).for_each(|n| *n += 1),
            Expr::Outer { level, index, .. } if depth > 0 && *level == depth => {
                uses.iter_mut().skip(*index).take(1).for_each(|n| *n += 2);
            }
            _ => {}
        });
    }
    uses.iter().zip(exprs).any(|(&uses, expr)| uses > 1 && !is_cheap(expr))
}

fn is_cheap(expr: &Expr) -> bool {
    matches!(expr, Expr::Column { .. } | Expr::Outer { .. } | Expr::Literal { .. } | Expr::Parameter { .. })
}

fn flatten_filter(input: LogicalPlan, mut predicate: Expr) -> LogicalPlan {
    match input {
        LogicalPlan::Project { input, exprs, fields }
            if is_movable(&exprs) && !is_volatile(&predicate) && !copies(&[&predicate], &exprs) =>
        {
            substitute(&mut predicate, &exprs);
            let input = Box::new(LogicalPlan::Filter { input, predicate });
            LogicalPlan::Project { input, exprs, fields }
        }
        input => LogicalPlan::Filter { input: Box::new(input), predicate },
    }
}

fn merge(input: LogicalPlan, mut exprs: Vec<Expr>, fields: Vec<Field>) -> LogicalPlan {
    match input {
        LogicalPlan::Project { input: inner, exprs: below, .. }
            if is_movable(&below) && !copies(&exprs.iter().collect::<Vec<_>>(), &below) =>
        {
            exprs.iter_mut().for_each(|expr| substitute(expr, &below));
            LogicalPlan::Project { input: inner, exprs, fields }
        }
        input => LogicalPlan::Project { input: Box::new(input), exprs, fields },
    }
}

/// The projection on a join's side, if it may move above the join, and what is below it.
fn take_project(side: &mut LogicalPlan, plain_only: bool) -> Option<Vec<Expr>> {
    let LogicalPlan::Project { exprs, .. } = side else { return None };
    if !is_movable(exprs) || (plain_only && !is_plain(exprs)) {
        return None;
    }
    let taken = std::mem::take(exprs);
    take_with(side, |side| match side {
        LogicalPlan::Project { input, .. } => *input,
        other => other,
    });
    Some(taken)
}

fn flatten_join(plan: LogicalPlan) -> LogicalPlan {
    let fields = plan.fields();
    let LogicalPlan::Join { kind, mut left, mut right, mut on, lateral } = plan else { return plan };
    let columns = (identity(&left), identity(&right));
    let left_optional = matches!(kind, JoinKind::Right | JoinKind::Full);
    let right_optional = matches!(kind, JoinKind::Left | JoinKind::Full);
    // ON is evaluated for more pairs than there are rows: nothing but plain columns moves into it.
    let plain_left = left_optional || used_in(&on, 0, columns.0.len());
    let plain_right = right_optional || used_in(&on, columns.0.len(), usize::MAX);
    let left_exprs = if lateral { None } else { take_project(&mut left, plain_left) };
    let right_exprs = take_project(&mut right, plain_right);
    if left_exprs.is_none() && right_exprs.is_none() {
        return LogicalPlan::Join { kind, left, right, on, lateral };
    }
    let width = left.width();
    let right_exprs = right_exprs.unwrap_or(columns.1).into_iter().map(|expr| {
        let expr = mapped(expr, &|column| column + width);
        // A lateral side's levels count the left row.
        if lateral { lowered(expr) } else { expr }
    });
    let mut exprs = left_exprs.unwrap_or(columns.0);
    exprs.extend(right_exprs);
    if let Some(on) = &mut on {
        substitute(on, &exprs);
    }
    exprs.truncate(fields.len());
    let input = Box::new(LogicalPlan::Join { kind, left, right, on, lateral });
    LogicalPlan::Project { input, exprs, fields }
}

fn used_in(on: &Option<Expr>, from: usize, to: usize) -> bool {
    let mut used = std::collections::BTreeSet::new();
    on.iter().for_each(|on| add_used_columns(on, &mut used));
    used.into_iter().any(|column| from <= column && column < to)
}

/// An expression of a lateral side's top row, seen from the joined row.
fn lowered(mut expr: Expr) -> Expr {
    walk::rewrite(&mut expr, 0, &mut |expr, depth| match expr {
        Expr::Outer { level, index, data_type } if *level == depth + 1 => Some(match depth {
            0 => Expr::Column { index: *index, data_type: *data_type },
            _ => Expr::Outer { level: depth, index: *index, data_type: *data_type },
        }),
        Expr::Outer { level, index, data_type } if *level > depth + 1 => {
            Some(Expr::Outer { level: level - 1, index: *index, data_type: *data_type })
        }
        _ => None,
    });
    expr
}
