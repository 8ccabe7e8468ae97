//! Column pruning: only columns that somebody uses are read and carried.
//!
//! [`prune`] returns the plan and which of its former output columns are left (at least the required ones, ascending).

use std::collections::BTreeSet;

use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{
    add_used_columns, is_volatile, map_columns, map_outer_columns, outer_columns_used,
};
use crate::plan::expressions::walk;
use crate::plan::logical::{JoinKind, LogicalPlan, SetOperator};

type Columns = BTreeSet<usize>;

/// Prunes a plan of which all output columns are wanted.
pub(in crate::plan) fn prune_all(plan: LogicalPlan) -> LogicalPlan {
    let all = (0..plan.width()).collect();
    prune(plan, &all).0
}

fn boxed(plan: LogicalPlan) -> Box<LogicalPlan> {
    Box::new(prune_all(plan))
}

/// Where a former column is now.
fn place(kept: &[usize]) -> impl Fn(usize) -> usize + '_ {
    |column| kept.binary_search(&column).unwrap_or(column)
}

fn with_used<'e>(required: &Columns, exprs: impl IntoIterator<Item = &'e Expr>) -> Columns {
    let mut all = required.clone();
    exprs.into_iter().for_each(|expr| add_used_columns(expr, &mut all));
    all
}

fn prune(plan: LogicalPlan, required: &Columns) -> (LogicalPlan, Vec<usize>) {
    match plan {
        LogicalPlan::Scan { table, columns, indexes, alias } => {
            let kept: Vec<usize> = (0..columns.len()).filter(|column| required.contains(column)).collect();
            let columns = kept.iter().map(|&column| columns[column]).collect();
            (LogicalPlan::Scan { table, columns, indexes, alias }, kept)
        }
        LogicalPlan::SystemScan { relation, columns, fields } => {
            let kept: Vec<usize> = (0..columns.len()).filter(|column| required.contains(column)).collect();
            let columns = kept.iter().map(|&column| columns[column]).collect();
            let fields = kept.iter().map(|&column| fields[column].clone()).collect();
            (LogicalPlan::SystemScan { relation, columns, fields }, kept)
        }
        LogicalPlan::Project { input, exprs, fields } => {
            let keep = |column: usize, expr: &Expr| required.contains(&column) || is_volatile(expr);
            let kept: Vec<usize> = exprs.iter().enumerate().filter(|(c, e)| keep(*c, e)).map(|(c, _)| c).collect();
            let mut exprs: Vec<Expr> = kept.iter().map(|&column| exprs[column].clone()).collect();
            let fields = kept.iter().map(|&column| fields[column].clone()).collect();
            let (input, below) = prune(*input, &with_used(&Columns::new(), &exprs));
            exprs.iter_mut().for_each(|expr| map_columns(expr, &place(&below)));
            (LogicalPlan::Project { input: Box::new(input), exprs, fields }, kept)
        }
        LogicalPlan::Filter { input, mut predicate } => {
            let (input, kept) = prune(*input, &with_used(required, [&predicate]));
            map_columns(&mut predicate, &place(&kept));
            (LogicalPlan::Filter { input: Box::new(input), predicate }, kept)
        }
        LogicalPlan::Sort { input, mut keys } => {
            let (input, kept) = prune(*input, &with_used(required, keys.iter().map(|key| &key.expr)));
            keys.iter_mut().for_each(|key| map_columns(&mut key.expr, &place(&kept)));
            (LogicalPlan::Sort { input: Box::new(input), keys }, kept)
        }
        LogicalPlan::Limit { input, limit, offset, mut ties } => {
            let (input, kept) = prune(*input, &with_used(required, ties.iter().map(|key| &key.expr)));
            ties.iter_mut().for_each(|key| map_columns(&mut key.expr, &place(&kept)));
            (LogicalPlan::Limit { input: Box::new(input), limit, offset, ties }, kept)
        }
        LogicalPlan::Distinct { input, mut on } if !on.is_empty() => {
            let (input, kept) = prune(*input, &with_used(required, &on));
            on.iter_mut().for_each(|expr| map_columns(expr, &place(&kept)));
            (LogicalPlan::Distinct { input: Box::new(input), on }, kept)
        }
        LogicalPlan::Join { kind, left, right, on, lateral } => prune_join(kind, *left, *right, on, lateral, required),
        LogicalPlan::Aggregate { .. } => prune_aggregate(plan, required),
        LogicalPlan::Window { .. } => prune_window(plan, required),
        LogicalPlan::SetOperation { op: SetOperator::Union, all: true, left, right } => {
            let kept: Vec<usize> = required.iter().copied().collect();
            let (left, right) = (Box::new(exactly(*left, required)), Box::new(exactly(*right, required)));
            (LogicalPlan::SetOperation { op: SetOperator::Union, all: true, left, right }, kept)
        }
        LogicalPlan::With { id, name, materialized, definition, body } => {
            let (body, kept) = prune(*body, required);
            let definition = boxed(*definition);
            (LogicalPlan::With { id, name, materialized, definition, body: Box::new(body) }, kept)
        }
        LogicalPlan::RecursiveWith { id, name, base, step, all, body } => {
            let (body, kept) = prune(*body, required);
            let (base, step, body) = (boxed(*base), boxed(*step), Box::new(body));
            (LogicalPlan::RecursiveWith { id, name, base, step, all, body }, kept)
        }
        mut other => {
            for (input, _) in walk::inputs_mut(&mut other) {
                super::cte::take_with(input, prune_all);
            }
            let kept = (0..other.width()).collect();
            (other, kept)
        }
    }
}

/// The plan with the required columns and no other.
fn exactly(plan: LogicalPlan, required: &Columns) -> LogicalPlan {
    let fields = plan.fields();
    let (plan, kept) = prune(plan, required);
    if kept.len() == required.len() {
        return plan;
    }
    let place = place(&kept);
    let fields: Vec<_> = required.iter().filter_map(|&column| fields.get(column).cloned()).collect();
    let columns = required.iter().zip(&fields);
    let exprs = columns.map(|(&c, field)| Expr::Column { index: place(c), data_type: field.data_type }).collect();
    LogicalPlan::Project { input: Box::new(plan), exprs, fields }
}

fn prune_join(
    kind: JoinKind,
    left: LogicalPlan,
    mut right: LogicalPlan,
    mut on: Option<Expr>,
    lateral: bool,
    required: &Columns,
) -> (LogicalPlan, Vec<usize>) {
    let width = left.width();
    let used = with_used(required, &on);
    let mut from_left: Columns = used.iter().copied().filter(|&column| column < width).collect();
    let from_right: Columns = used.iter().filter(|&&column| column >= width).map(|column| column - width).collect();
    if lateral {
        outer_columns_used(&right, &mut from_left);
    }
    let (left, left_kept) = prune(left, &from_left);
    if lateral {
        map_outer_columns(&mut right, &place(&left_kept));
    }
    let (right, right_kept) = prune(right, &from_right);
    let both: Vec<usize> = left_kept.iter().copied().chain(right_kept.iter().map(|column| column + width)).collect();
    if let Some(on) = &mut on {
        map_columns(on, &place(&both));
    }
    let kept = if matches!(kind, JoinKind::Semi | JoinKind::Anti) { left_kept } else { both };
    (LogicalPlan::Join { kind, left: Box::new(left), right: Box::new(right), on, lateral }, kept)
}

fn prune_aggregate(plan: LogicalPlan, required: &Columns) -> (LogicalPlan, Vec<usize>) {
    let all = plan.width();
    let LogicalPlan::Aggregate { input, mut group_by, aggregates, fields } = plan else {
        return (plan, (0..all).collect());
    };
    let groups = group_by.len();
    let kept: Vec<usize> = (0..all).filter(|column| *column < groups || required.contains(column)).collect();
    let fields = kept.iter().map(|&column| fields[column].clone()).collect();
    let mut aggregates: Vec<_> =
        kept.iter().filter(|&&column| column >= groups).map(|&column| aggregates[column - groups].clone()).collect();
    let used = group_by.iter().chain(aggregates.iter().flat_map(walk::of_aggregate));
    let (input, below) = prune(*input, &with_used(&Columns::new(), used));
    let exprs = group_by.iter_mut().chain(aggregates.iter_mut().flat_map(walk::of_aggregate_mut));
    exprs.for_each(|expr| map_columns(expr, &place(&below)));
    (LogicalPlan::Aggregate { input: Box::new(input), group_by, aggregates, fields }, kept)
}

/// Only the calls that somebody uses are left; a window without is none.
fn prune_window(plan: LogicalPlan, required: &Columns) -> (LogicalPlan, Vec<usize>) {
    let all = plan.width();
    let LogicalPlan::Window { input, mut partition_by, mut order_by, calls, fields } = plan else {
        return (plan, (0..all).collect());
    };
    let width = input.width();
    let from_input: Columns = required.range(..width).copied().collect();
    let wanted: Vec<usize> = required.range(width..).copied().collect();
    if wanted.is_empty() {
        return prune(*input, &from_input);
    }
    let mut calls: Vec<_> = wanted.iter().map(|&column| calls[column - width].clone()).collect();
    let keys = partition_by.iter().chain(order_by.iter().map(|key| &key.expr));
    let used = with_used(&from_input, keys.chain(calls.iter().flat_map(|call| call.exprs())));
    let (input, below) = prune(*input, &used);
    let keys = partition_by.iter_mut().chain(order_by.iter_mut().map(|key| &mut key.expr));
    keys.chain(calls.iter_mut().flat_map(|call| call.exprs_mut())).for_each(|expr| map_columns(expr, &place(&below)));
    let kept: Vec<usize> = below.into_iter().chain(wanted).collect();
    let fields = kept.iter().map(|&column| fields[column].clone()).collect();
    (LogicalPlan::Window { input: Box::new(input), partition_by, order_by, calls, fields }, kept)
}
