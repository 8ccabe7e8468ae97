//! Questions about, and changes to, the columns that expressions refer to.

use std::collections::BTreeSet;

use super::expr::Expr;
use super::walk::{rewrite, rewrite_plan, walk, walk_plan};
use crate::plan::logical::LogicalPlan;
use crate::types::Value;

/// The columns of the current row that `expr` uses, also from inside subqueries.
pub(crate) fn used_columns(expr: &Expr) -> BTreeSet<usize> {
    let mut used = BTreeSet::new();
    add_used_columns(expr, &mut used);
    used
}

/// Whether the value is one for all rows: it uses none of the current row's columns, and is not volatile.
pub(in crate::plan) fn is_constant(expr: &Expr) -> bool {
    let mut constant = true;
    walk(expr, 0, &mut |expr, depth| constant &= own_column(expr, depth).is_none() && !is_volatile_itself(expr));
    constant
}

/// Adds [`used_columns`] to `used`.
pub(in crate::plan) fn add_used_columns(expr: &Expr, used: &mut BTreeSet<usize>) {
    walk(expr, 0, &mut |expr, depth| used.extend(own_column(expr, depth)));
}

/// The columns of the row pushed directly around `plan` that it uses.
pub(in crate::plan) fn outer_columns_used(plan: &LogicalPlan, used: &mut BTreeSet<usize>) {
    walk_plan(plan, 1, &mut |expr, depth| used.extend(own_column(expr, depth)));
}

/// The columns of outer rows that a plan uses, as (level, index).
pub(in crate::plan) fn outer_columns(plan: &LogicalPlan) -> Vec<(usize, usize)> {
    let mut found = BTreeSet::new();
    walk_plan(plan, 0, &mut |expr, depth| {
        if let Expr::Outer { level, index, .. } = expr
            && *level > depth
        {
            found.insert((level - depth, *index));
        }
    });
    found.into_iter().collect()
}

/// The index, if `expr` is a column of the row at depth 0.
fn own_column(expr: &Expr, depth: usize) -> Option<usize> {
    match expr {
        Expr::Column { index, .. } if depth == 0 => Some(*index),
        Expr::Outer { level, index, .. } if depth > 0 && *level == depth => Some(*index),
        _ => None,
    }
}

/// Renumbers the columns of the current row.
pub(crate) fn map_columns(expr: &mut Expr, map: &dyn Fn(usize) -> usize) {
    rewrite(expr, 0, &mut |expr, depth| renumbered(expr, depth, map));
}

/// As [`map_columns`], by value.
pub(in crate::plan) fn mapped(mut expr: Expr, map: &dyn Fn(usize) -> usize) -> Expr {
    map_columns(&mut expr, map);
    expr
}

/// Renumbers the columns that `plan` uses of the row pushed directly around it.
pub(in crate::plan) fn map_outer_columns(plan: &mut LogicalPlan, map: &dyn Fn(usize) -> usize) {
    rewrite_plan(plan, 1, &mut |expr, depth| renumbered(expr, depth, map));
}

fn renumbered(expr: &Expr, depth: usize, map: &dyn Fn(usize) -> usize) -> Option<Expr> {
    match expr {
        Expr::Column { index, data_type } if depth == 0 => {
            Some(Expr::Column { index: map(*index), data_type: *data_type })
        }
        Expr::Outer { level, index, data_type } if depth > 0 && *level == depth => {
            Some(Expr::Outer { level: *level, index: map(*index), data_type: *data_type })
        }
        _ => None,
    }
}

/// Replaces the current row's columns by expressions over another row at the same place.
pub(in crate::plan) fn substitute(expr: &mut Expr, columns: &[Expr]) {
    rewrite(expr, 0, &mut |expr, depth| {
        let column = own_column(expr, depth)?;
        Some(raised(columns.get(column)?.clone(), depth))
    });
}

/// The same value, written for a place where `by` more rows are pushed.
pub(crate) fn raised(mut expr: Expr, by: usize) -> Expr {
    if by > 0 {
        rewrite(&mut expr, 0, &mut |expr, depth| match expr {
            Expr::Column { index, data_type } if depth == 0 => {
                Some(Expr::Outer { level: by, index: *index, data_type: *data_type })
            }
            Expr::Outer { level, index, data_type } if *level >= depth.max(1) => {
                Some(Expr::Outer { level: level + by, index: *index, data_type: *data_type })
            }
            _ => None,
        });
    }
    expr
}

/// An expression of one node, written for a node in a plan around which `by` more rows are pushed; its own columns
/// stay columns.
pub(in crate::plan) fn raised_outer(mut expr: Expr, by: usize) -> Expr {
    rewrite(&mut expr, 0, &mut |expr, depth| match expr {
        Expr::Outer { level, index, data_type } if *level > depth => {
            Some(Expr::Outer { level: level + by, index: *index, data_type: *data_type })
        }
        _ => None,
    });
    expr
}

/// Rewrites a plan for a place where `by` more rows are pushed.
pub(in crate::plan) fn raise_plan(plan: &mut LogicalPlan, by: usize) {
    if by > 0 {
        rewrite_plan(plan, 0, &mut |expr, depth| match expr {
            Expr::Outer { level, index, data_type } if *level > depth => {
                Some(Expr::Outer { level: level + by, index: *index, data_type: *data_type })
            }
            _ => None,
        });
    }
}

/// Rewrites a plan for a place where the row directly around it is no longer pushed; it must not use that row.
pub(in crate::plan) fn drop_level(plan: &mut LogicalPlan) {
    rewrite_plan(plan, 0, &mut dropped_level);
}

fn dropped_level(expr: &Expr, depth: usize) -> Option<Expr> {
    match expr {
        Expr::Outer { level, index, data_type } if *level > depth + 1 => {
            Some(Expr::Outer { level: level - 1, index: *index, data_type: *data_type })
        }
        _ => None,
    }
}

/// Whether the plan uses the row directly around it.
pub(in crate::plan) fn uses_outer_row(plan: &LogicalPlan) -> bool {
    let mut used = BTreeSet::new();
    outer_columns_used(plan, &mut used);
    !used.is_empty()
}

/// Whether an expression of a plan's node uses the row directly around that plan.
pub(in crate::plan) fn expr_uses_outer_row(expr: &Expr) -> bool {
    let mut found = false;
    walk(expr, 0, &mut |expr, depth| {
        found |= matches!(expr, Expr::Outer { level, .. } if *level == depth + 1);
    });
    found
}

/// Whether evaluating it twice may give different answers or effects.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    let mut found = false;
    walk(expr, 0, &mut |expr, _| found |= is_volatile_itself(expr));
    found
}

/// Whether it is a call of a function of the schema's.
pub(crate) fn calls_routine(call: &Expr) -> bool {
    matches!(call, Expr::Call { function, .. } if function.routine().is_some())
}

/// The name of the function that is called.
pub(crate) fn called(call: &Expr) -> &str {
    if let Expr::Call { function, .. } = call { &function.name } else { "" }
}

/// Whether anything in the plan is volatile.
pub(crate) fn is_volatile_plan(plan: &LogicalPlan) -> bool {
    let mut found = false;
    walk_plan(plan, 0, &mut |expr, _| found |= is_volatile_itself(expr));
    found
}

/// Whether an expression of the plan may look at what is in no row of its input: by a subquery, or a function of the schema's or one that is not
/// IMMUTABLE.
pub(crate) fn looks_elsewhere(plan: &LogicalPlan) -> bool {
    let mut found = false;
    walk_plan(plan, 0, &mut |expr, _| {
        found |= is_subquery(expr)
            || matches!(expr, Expr::Call { function, .. } if !function.is_immutable() || function.calls_routines());
    });
    found
}

fn is_volatile_itself(expr: &Expr) -> bool {
    match expr {
        Expr::Sequence { .. } => true,
        Expr::Call { function, .. } => function.is_volatile(),
        _ => false,
    }
}

/// Whether a subquery is inside that runs anew for each row.
pub(in crate::plan) fn has_correlated_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::Subquery(subquery) if uses_outer_row(&subquery.plan))
        || super::walk::children(expr).any(has_correlated_subquery)
}

/// Whether something inside is volatile, or a subquery.
pub(in crate::plan) fn is_volatile_or_asks(expr: &Expr) -> bool {
    let mut found = false;
    walk(expr, 0, &mut |expr, _| found |= is_volatile_itself(expr) || is_subquery(expr));
    found
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::Subquery(_) | Expr::Subplan(_))
}

/// Whether a subquery is inside.
pub(in crate::plan) fn has_subquery(expr: &Expr) -> bool {
    let mut found = false;
    walk(expr, 0, &mut |expr, _| found |= is_subquery(expr));
    found
}

/// Splits at AND.
pub(in crate::plan) fn conjuncts(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::And(parts) => parts.into_iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// As [`conjuncts`], of an expression that stays.
pub(in crate::plan) fn conjuncts_of(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::And(parts) => parts.iter().flat_map(conjuncts_of).collect(),
        other => vec![other],
    }
}

/// Conjuncts in the order in which they are evaluated: those with the fewest operators first, as in PostgreSQL, and those
/// that run a query for each row last.
pub(in crate::plan) fn cheapest_first(mut parts: Vec<Expr>) -> Vec<Expr> {
    if parts.len() > 1 {
        parts.sort_by_cached_key(|part| (has_correlated_subquery(part), operators(part)));
    }
    parts
}

/// How many operators are evaluated for a row, subqueries aside.
fn operators(expr: &Expr) -> usize {
    let itself = match expr {
        Expr::Literal { .. }
        | Expr::Column { .. }
        | Expr::Outer { .. }
        | Expr::Parameter { .. }
        | Expr::Let { .. }
        | Expr::Shared { .. } => 0,
        _ => 1,
    };
    itself + super::walk::children(expr).map(operators).sum::<usize>()
}

/// Joins by AND; nothing for none.
pub(in crate::plan) fn conjunction(mut parts: Vec<Expr>) -> Option<Expr> {
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(Expr::And(parts)),
    }
}

/// The plan with a filter on top, if there is anything to filter.
pub(in crate::plan) fn filtered(input: LogicalPlan, parts: Vec<Expr>) -> LogicalPlan {
    match conjunction(parts) {
        None => input,
        Some(predicate) => LogicalPlan::Filter { input: Box::new(input), predicate },
    }
}

/// Whether `expr` is the literal `value` of type boolean.
pub(in crate::plan) fn is_boolean(expr: &Expr, value: bool) -> bool {
    matches!(expr, Expr::Literal { value: Value::Boolean(found), .. } if *found == value)
}

/// Whether `expr` is a literal NULL.
pub(in crate::plan) fn is_null_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal { value: Value::Null, .. })
}

/// Column references to every output column of `plan`.
pub(in crate::plan) fn identity(plan: &LogicalPlan) -> Vec<Expr> {
    let fields = plan.fields();
    fields.iter().enumerate().map(|(index, field)| Expr::Column { index, data_type: field.data_type }).collect()
}
