//! Scans give only the columns that somebody uses.
//!
//! Columns are pruned before access paths are chosen; a condition that the chosen path answers by its key ranges asks
//! for no column any more. Done for scans directly below a projection or an aggregation, in a finished plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{add_used_columns, map_columns};
use crate::plan::expressions::walk;
use crate::plan::number::{children_mut, node_exprs_mut};
use crate::plan::physical::{PhysicalNode as N, PhysicalPlan};
use crate::plan::scans::access::tells_all;

/// Narrows the scans of a whole plan; those inside subplans stay.
pub(in crate::plan) fn narrow(plan: &mut PhysicalPlan) {
    if matches!(plan.node, N::Project { .. } | N::Aggregate { .. }) {
        narrow_input(plan);
    }
    for child in children_mut(&mut plan.node) {
        narrow(Arc::make_mut(child));
    }
}

pub(in crate::plan) fn has_subplan(expr: &Expr) -> bool {
    matches!(expr, Expr::Subplan(_) | Expr::Subquery(_)) || walk::children(expr).any(has_subplan)
}

/// Subplans refer to columns from further inside than is looked at here.
fn is_simple(exprs: &[&mut Expr]) -> bool {
    !exprs.iter().any(|expr| has_subplan(expr))
}

fn narrow_input(plan: &mut PhysicalPlan) {
    let mut used = BTreeSet::new();
    let mut exprs = node_exprs_mut(&mut plan.node);
    if !is_simple(&exprs) {
        return;
    }
    exprs.iter_mut().for_each(|expr| add_used_columns(expr, &mut used));
    let Some(kept) = children_mut(&mut plan.node).pop().and_then(|input| narrow_scan(Arc::make_mut(input), used))
    else {
        return;
    };
    for expr in node_exprs_mut(&mut plan.node) {
        map_columns(expr, &|column| position(&kept, column));
    }
}

pub(in crate::plan) fn position(kept: &[usize], column: usize) -> usize {
    kept.iter().position(|&kept| kept == column).unwrap_or(column)
}

/// Leaves the scan only the `used` columns and those of its filter: the places of those, if any went.
fn narrow_scan(scan: &mut PhysicalPlan, mut used: BTreeSet<usize>) -> Option<Vec<usize>> {
    let (N::TableScan { columns, filter, .. }
    | N::IndexScan { columns, filter, .. }
    | N::ItemScan { columns, filter, .. }) = &mut scan.node
    else {
        return None;
    };
    if let Some(filter) = filter {
        if has_subplan(filter) {
            return None;
        }
        add_used_columns(filter, &mut used);
    }
    let kept: Vec<usize> = (0..columns.len()).filter(|column| used.contains(column)).collect();
    if kept.len() == columns.len() {
        return None;
    }
    if let Some(filter) = filter {
        map_columns(filter, &|column| position(&kept, column));
    }
    *columns = kept.iter().map(|&column| columns[column]).collect();
    scan.fields = kept.iter().map(|&column| scan.fields[column].clone()).collect();
    if let N::IndexScan { table, index, columns, covering, .. } = &mut scan.node {
        *covering |= tells_all(table, index, columns);
    }
    Some(kept)
}
