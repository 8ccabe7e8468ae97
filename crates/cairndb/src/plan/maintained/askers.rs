//! Which values columns of a plan can have, as a plan of its own: the least part of it that has the columns.
//!
//! What is left out (joins with other tables, anti joins, conditions over them) would only take rows away, or repeat them:
//! the result has every row's values, and maybe more. It is evaluated besides the plan, so nothing volatile is in it, and
//! nothing that need not give the same rows twice.

use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{
    conjuncts_of, filtered, has_subquery, is_volatile, is_volatile_plan, mapped, used_columns,
};
use crate::plan::logical::{JoinKind, LogicalPlan};
use crate::plan::scans::scan::column_index;

/// A plan, and where in its row the wanted columns are.
pub(super) type Askers = (LogicalPlan, Vec<usize>);

/// The values of these columns of `plan`, if they can be had.
pub(in crate::plan) fn askers(plan: &LogicalPlan, wanted: &[usize]) -> Option<Askers> {
    part_with(plan, wanted, vec![])
}

/// As [`askers`], under conditions over the plan's row.
fn part_with(plan: &LogicalPlan, wanted: &[usize], mut conditions: Vec<Expr>) -> Option<Askers> {
    match plan {
        LogicalPlan::Filter { input, predicate } => {
            add_repeatable(&mut conditions, predicate);
            part_with(input, wanted, conditions)
        }
        LogicalPlan::Project { input, exprs, .. } => {
            let below = |column: usize| exprs.get(column).and_then(column_index);
            let wanted = wanted.iter().map(|&column| below(column)).collect::<Option<Vec<_>>>()?;
            conditions.retain(|condition| used_columns(condition).into_iter().all(|column| below(column).is_some()));
            let conditions = conditions.into_iter().map(|part| mapped(part, &|column| below(column).unwrap_or(column)));
            part_with(input, &wanted, conditions.collect())
        }
        LogicalPlan::Join { kind: JoinKind::Inner, left, right, on, lateral: false } => {
            on.iter().for_each(|on| add_repeatable(&mut conditions, on));
            let width = left.width();
            if wanted.iter().all(|&column| column < width) {
                return part_with(left, wanted, within(conditions, 0..width));
            }
            if wanted.iter().all(|&column| column >= width) {
                let wanted: Vec<usize> = wanted.iter().map(|column| column - width).collect();
                return part_with(right, &wanted, within(conditions, width..usize::MAX));
            }
            whole(plan, wanted, conditions)
        }
        LogicalPlan::Join { kind: JoinKind::Semi, left, right, on: Some(on), lateral: false }
            if !is_volatile(on) && !has_subquery(on) && !is_volatile_plan(right) =>
        {
            let width = left.width();
            let asked: Vec<usize> = used_columns(on).into_iter().filter(|&column| column < width).collect();
            let all: Vec<usize> = wanted.iter().chain(&asked).copied().collect();
            let (left, places) = part_with(left, &all, conditions)?;
            let (wanted, asked_at) = places.split_at(wanted.len());
            let new_width = left.width();
            let place = |column: usize| match asked.iter().position(|&asked| asked == column) {
                Some(at) => asked_at[at],
                None => column - width + new_width,
            };
            let (left, right, on) = (Box::new(left), right.clone(), Some(mapped(on.clone(), &place)));
            let join = LogicalPlan::Join { kind: JoinKind::Semi, left, right, on, lateral: false };
            Some((join, wanted.to_vec()))
        }
        LogicalPlan::Join { kind: JoinKind::Left | JoinKind::Semi | JoinKind::Anti, left, lateral: false, .. } => {
            let width = left.width();
            let is_left = wanted.iter().all(|&column| column < width);
            if is_left { part_with(left, wanted, within(conditions, 0..width)) } else { None }
        }
        LogicalPlan::Scan { .. } | LogicalPlan::CteScan { .. } => whole(plan, wanted, conditions),
        _ => None,
    }
}

fn whole(plan: &LogicalPlan, wanted: &[usize], conditions: Vec<Expr>) -> Option<Askers> {
    is_repeatable(plan).then(|| (filtered(plan.clone(), conditions), wanted.to_vec()))
}

/// Whether the plan is joins of stored rows.
fn is_repeatable(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Scan { .. } | LogicalPlan::CteScan { .. } => true,
        LogicalPlan::Filter { input, predicate } => {
            is_repeatable(input) && !is_volatile(predicate) && !has_subquery(predicate)
        }
        LogicalPlan::Join { left, right, on, lateral: false, .. } => {
            let is_plain = on.as_ref().is_none_or(|on| !is_volatile(on) && !has_subquery(on));
            is_plain && is_repeatable(left) && is_repeatable(right)
        }
        _ => false,
    }
}

fn add_repeatable(conditions: &mut Vec<Expr>, predicate: &Expr) {
    let parts = conjuncts_of(predicate).into_iter();
    conditions.extend(parts.filter(|part| !is_volatile(part) && !has_subquery(part)).cloned());
}

/// The conditions over these columns alone, which become the first ones.
fn within(conditions: Vec<Expr>, columns: std::ops::Range<usize>) -> Vec<Expr> {
    let conditions = conditions.into_iter();
    let own = conditions.filter(|condition| used_columns(condition).iter().all(|column| columns.contains(column)));
    own.map(|condition| mapped(condition, &|column| column - columns.start)).collect()
}
