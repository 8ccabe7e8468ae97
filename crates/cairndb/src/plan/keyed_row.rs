//! One row by key, seen in the bound plan: what need not be planned to know how it is read.
//!
//! Invariant: whatever is found here the planner would read by the same key, with the same rest of the conditions, for
//! both look for keys as [`only_point`] does. What a rewrite could change, or costs decide, is not found here.
//! `api/point/tests.rs` compares the two ways.

use std::sync::Arc;

use super::access::{PointKey, TableShape, only_point};
use super::expr::Expr;
use super::fold::fold_plan;
use super::logical::LogicalPlan;
use super::options::OptimizerOptions;
use super::refs::{conjunction, has_subquery, is_volatile};
use crate::catalog::{Index, Table};

/// At most one row of a table, by the whole of a unique key.
#[derive(Debug)]
pub(crate) struct KeyedRow {
    /// The table; expressions are over its columns.
    pub(crate) table: Arc<Table>,
    /// Whose key it is; none: the primary key.
    pub(crate) index: Option<Arc<Index>>,
    /// One value for each column of the key.
    pub(crate) key: Vec<Expr>,
    /// What else is asked of the row.
    pub(crate) filter: Option<Expr>,
}

/// The row that the plan reads, if it is a projection (or nothing) over a table's columns under conditions that give a
/// whole unique key. What is computed of it is not looked at. Folds the plan's constants, as planning does first.
pub(crate) fn keyed_row(plan: &mut LogicalPlan, options: &OptimizerOptions) -> Option<KeyedRow> {
    if !options.rewrites || !options.indexes || !is_filtered_table(plan) {
        return None;
    }
    fold_plan(plan);
    let input = match plan {
        LogicalPlan::Project { input, .. } => &**input,
        plan => plan,
    };
    let shape = TableShape::of(input)?;
    let in_order = shape.columns.iter().enumerate().all(|(place, column)| place == *column);
    if !in_order || shape.conditions.iter().any(is_rewritten) {
        return None;
    }
    let PointKey { index, key, answered } = only_point(&shape)?;
    let rest = shape.conditions.into_iter().enumerate().filter(|(place, _)| !answered.contains(place));
    let filter = conjunction(rest.map(|(_, condition)| condition).collect());
    Some(KeyedRow { table: shape.table, index, key, filter })
}

/// A scan under a filter, perhaps under a projection.
fn is_filtered_table(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Project { input, .. } => is_filtered_scan(input),
        plan => is_filtered_scan(plan),
    }
}

fn is_filtered_scan(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Filter { input, .. } if matches!(**input, LogicalPlan::Scan { .. }))
}

/// Whether planning does more with the condition than to look for keys in it.
fn is_rewritten(condition: &Expr) -> bool {
    matches!(condition, Expr::Literal { .. } | Expr::Or(_)) || is_volatile(condition) || has_subquery(condition)
}
