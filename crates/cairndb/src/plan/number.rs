//! Numbers the nodes and subplans of a finished physical plan.

use std::sync::Arc;

use super::expressions::expr::Expr;
use super::expressions::walk;
use super::expressions::window::WindowCall;
use super::physical::{KeyRange, ModifiedRows, PhysicalNode as N, PhysicalPlan};

/// Gives every node and every subplan its id, in the order in which `EXPLAIN` shows them.
pub(super) fn assign(plan: &mut PhysicalPlan) {
    number(plan, &mut Counters::default());
}

/// Nodes and subplans of a whole plan.
pub(super) fn count(plan: &PhysicalPlan) -> (usize, usize) {
    let mut plan = plan.clone();
    let mut counters = Counters::default();
    number(&mut plan, &mut counters);
    (counters.nodes, counters.subplans)
}

#[derive(Default)]
struct Counters {
    nodes: usize,
    subplans: usize,
}

fn number(plan: &mut PhysicalPlan, counters: &mut Counters) {
    plan.id = counters.nodes;
    counters.nodes += 1;
    for expr in node_exprs_mut(&mut plan.node) {
        number_expr(expr, counters);
    }
    for child in children_mut(&mut plan.node) {
        number(Arc::make_mut(child), counters);
    }
}

fn number_expr(expr: &mut Expr, counters: &mut Counters) {
    if let Expr::Subplan(subplan) = expr {
        subplan.id = counters.subplans;
        counters.subplans += 1;
        number(Arc::make_mut(&mut subplan.plan), counters);
    }
    for child in walk::children_mut(expr) {
        number_expr(child, counters);
    }
}

fn range_exprs(range: &KeyRange) -> impl Iterator<Item = &Expr> {
    let bounds = range.lower.iter().chain(&range.upper).map(|bound| &bound.value);
    range.prefix.iter().chain(bounds)
}

fn range_exprs_mut(range: &mut KeyRange) -> impl Iterator<Item = &mut Expr> {
    let bounds = range.lower.iter_mut().chain(&mut range.upper).map(|bound| &mut bound.value);
    range.prefix.iter_mut().chain(bounds)
}

/// The expressions of one physical node.
pub(super) fn node_exprs(node: &N) -> Vec<&Expr> {
    match node {
        N::Values { rows } => rows.iter().flatten().collect(),
        N::TableScan { ranges, filter, .. } => ranges.iter().flat_map(range_exprs).chain(filter).collect(),
        N::IndexScan { ranges, filter, both, .. } => {
            let others = both.iter().flat_map(|(_, ranges)| ranges);
            ranges.iter().chain(others).flat_map(range_exprs).chain(filter).collect()
        }
        N::ItemScan { items, filter, .. } => items.each().into_iter().map(|item| &item.value).chain(filter).collect(),
        N::PointGet { key, filter, .. } => key.iter().chain(filter).collect(),
        N::Filter { predicate, .. } => vec![predicate],
        N::Project { exprs, .. } => exprs.iter().collect(),
        N::HashJoin { left_keys, right_keys, residual, .. } => {
            left_keys.iter().chain(right_keys).chain(residual).collect()
        }
        N::MergeJoin { left_keys, right_keys, residual, .. } => {
            left_keys.iter().map(|key| &key.expr).chain(right_keys).chain(residual).collect()
        }
        N::NestedLoopJoin { on, .. } => on.iter().collect(),
        N::IndexJoin { keys, to, residual, .. } => keys.iter().chain(to).chain(residual).collect(),
        N::Aggregate { group_by, aggregates, .. } => {
            group_by.iter().chain(aggregates.iter().flat_map(walk::of_aggregate)).collect()
        }
        N::Window { partition_by, order_by, calls, .. } => {
            let order = order_by.iter().map(|key| &key.expr);
            partition_by.iter().chain(order).chain(calls.iter().flat_map(WindowCall::exprs)).collect()
        }
        N::Sort { keys, .. } => keys.iter().map(|key| &key.expr).collect(),
        N::TopN { keys, limit, offset, .. } => {
            keys.iter().map(|key| &key.expr).chain(std::iter::once(limit)).chain(offset).collect()
        }
        N::Limit { limit, offset, ties, .. } => {
            limit.iter().chain(offset).chain(ties.iter().map(|key| &key.expr)).collect()
        }
        N::DistinctOn { on, .. } => on.iter().collect(),
        N::SystemScan { only, .. } => only.iter().map(|(_, value)| value).collect(),
        N::TableFunction { call } => vec![call],
        N::Distinct { .. }
        | N::Append { .. }
        | N::SetOperation { .. }
        | N::Cte { .. }
        | N::RecursiveCte { .. }
        | N::Modify { .. }
        | N::CteScan { .. } => vec![],
    }
}

/// As [`node_exprs`], to change them.
pub(super) fn node_exprs_mut(node: &mut N) -> Vec<&mut Expr> {
    match node {
        N::Values { rows } => rows.iter_mut().flatten().collect(),
        N::TableScan { ranges, filter, .. } => ranges.iter_mut().flat_map(range_exprs_mut).chain(filter).collect(),
        N::IndexScan { ranges, filter, both, .. } => {
            let others = both.iter_mut().flat_map(|(_, ranges)| ranges);
            ranges.iter_mut().chain(others).flat_map(range_exprs_mut).chain(filter).collect()
        }
        N::ItemScan { items, filter, .. } => {
            items.each_mut().into_iter().map(|item| &mut item.value).chain(filter).collect()
        }
        N::PointGet { key, filter, .. } => key.iter_mut().chain(filter).collect(),
        N::Filter { predicate, .. } => vec![predicate],
        N::Project { exprs, .. } => exprs.iter_mut().collect(),
        N::HashJoin { left_keys, right_keys, residual, .. } => {
            left_keys.iter_mut().chain(right_keys).chain(residual).collect()
        }
        N::MergeJoin { left_keys, right_keys, residual, .. } => {
            left_keys.iter_mut().map(|key| &mut key.expr).chain(right_keys).chain(residual).collect()
        }
        N::NestedLoopJoin { on, .. } => on.iter_mut().collect(),
        N::IndexJoin { keys, to, residual, .. } => keys.iter_mut().chain(to).chain(residual).collect(),
        N::Aggregate { group_by, aggregates, .. } => {
            group_by.iter_mut().chain(aggregates.iter_mut().flat_map(walk::of_aggregate_mut)).collect()
        }
        N::Window { partition_by, order_by, calls, .. } => {
            let order = order_by.iter_mut().map(|key| &mut key.expr);
            partition_by.iter_mut().chain(order).chain(calls.iter_mut().flat_map(WindowCall::exprs_mut)).collect()
        }
        N::Sort { keys, .. } => keys.iter_mut().map(|key| &mut key.expr).collect(),
        N::TopN { keys, limit, offset, .. } => {
            keys.iter_mut().map(|key| &mut key.expr).chain(std::iter::once(limit)).chain(offset).collect()
        }
        N::Limit { limit, offset, ties, .. } => {
            limit.iter_mut().chain(offset).chain(ties.iter_mut().map(|key| &mut key.expr)).collect()
        }
        N::DistinctOn { on, .. } => on.iter_mut().collect(),
        N::SystemScan { only, .. } => only.iter_mut().map(|(_, value)| value).collect(),
        N::TableFunction { call } => vec![call],
        N::Distinct { .. }
        | N::Append { .. }
        | N::SetOperation { .. }
        | N::Cte { .. }
        | N::RecursiveCte { .. }
        | N::Modify { .. }
        | N::CteScan { .. } => vec![],
    }
}

/// The inputs of one physical node, to change them.
pub(super) fn children_mut(node: &mut N) -> Vec<&mut Arc<PhysicalPlan>> {
    match node {
        N::Values { .. } | N::TableScan { .. } | N::IndexScan { .. } | N::ItemScan { .. } | N::PointGet { .. } => {
            vec![]
        }
        N::CteScan { .. } | N::SystemScan { .. } | N::TableFunction { .. } => vec![],
        N::Modify { rows: ModifiedRows::Plan(input) | ModifiedRows::Few(input), .. } => vec![input],
        N::Modify { rows: ModifiedRows::Constants(_), .. } => vec![],
        N::Filter { input, .. }
        | N::Project { input, .. }
        | N::Aggregate { input, .. }
        | N::Window { input, .. }
        | N::Sort { input, .. }
        | N::TopN { input, .. }
        | N::Limit { input, .. }
        | N::Distinct { input, .. }
        | N::DistinctOn { input, .. } => vec![input],
        N::IndexJoin { left, .. } => vec![left],
        N::HashJoin { left, right, .. }
        | N::MergeJoin { left, right, .. }
        | N::NestedLoopJoin { left, right, .. }
        | N::SetOperation { left, right, .. } => vec![left, right],
        N::Append { inputs } => inputs.iter_mut().collect(),
        N::Cte { definition, body, .. } => vec![definition, body],
        N::RecursiveCte { base, step, body, .. } => vec![base, step, body],
    }
}
