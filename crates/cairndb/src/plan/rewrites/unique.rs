//! Which results cannot hold a row twice.

use crate::catalog::Table;
use crate::plan::expressions::expr::Expr;
use crate::plan::logical::{JoinKind, LogicalPlan, SetOperator};
use crate::plan::scans::access::TableShape;
use crate::plan::statistics::estimate::unique_keys;

/// Whether all rows of the plan differ for certain.
pub(in crate::plan) fn rows_differ(plan: &LogicalPlan) -> bool {
    let all: Vec<usize> = (0..plan.width()).collect();
    is_unique(plan, &all)
}

/// Whether no two rows agree in `columns` (where NULLs agree with each other).
pub(in crate::plan) fn is_unique(plan: &LogicalPlan, columns: &[usize]) -> bool {
    if let Some(shape) = TableShape::of(plan) {
        return holds_key(&shape, columns);
    }
    match plan {
        LogicalPlan::Values { rows, .. } => rows.len() < 2,
        LogicalPlan::Filter { input, .. } | LogicalPlan::Sort { input, .. } | LogicalPlan::Limit { input, .. } => {
            is_unique(input, columns)
        }
        LogicalPlan::Project { input, exprs, .. } => {
            let through = columns.iter().filter_map(|&column| match exprs.get(column) {
                Some(Expr::Column { index, .. }) => Some(*index),
                _ => None,
            });
            is_unique(input, &through.collect::<Vec<_>>())
        }
        LogicalPlan::Window { input, .. } => {
            let width = input.width();
            is_unique(input, &columns.iter().copied().filter(|column| *column < width).collect::<Vec<_>>())
        }
        LogicalPlan::Aggregate { group_by, .. } => (0..group_by.len()).all(|group| columns.contains(&group)),
        LogicalPlan::Distinct { input, on } => {
            let width = input.width();
            (on.is_empty() && (0..width).all(|column| columns.contains(&column))) || is_unique(input, columns)
        }
        LogicalPlan::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => is_unique(left, columns),
        LogicalPlan::SetOperation { op: SetOperator::Union, all: false, left, .. } => {
            (0..left.width()).all(|column| columns.contains(&column))
        }
        _ => false,
    }
}

/// A key without NULLs is among the columns.
fn holds_key(shape: &TableShape, columns: &[usize]) -> bool {
    let shown: Vec<usize> = columns.iter().filter_map(|&column| shape.columns.get(column).copied()).collect();
    let not_null = |column: &usize| shape.table.is_not_null(*column);
    shown.contains(&Table::ROW_NUMBER)
        || unique_keys(&shape.table).any(|key| key.iter().all(|column| shown.contains(column) && not_null(column)))
}
