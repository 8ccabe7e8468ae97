//! One row by key, seen in the bound plan: what need not be planned to know how it is read.
//!
//! Invariant: whatever is found here the planner would read by the same key, with the same rest of the conditions, for
//! both look for keys as [`only_point`] does. What a rewrite could change, or costs decide, is not found here.
//! `point/tests.rs` compares the two ways.

use std::sync::Arc;

use super::access::{PointKey, only_point};
use crate::catalog::{Index, Table};
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{cheapest_first, conjunction, conjuncts_of, is_volatile_or_asks};
use crate::plan::logical::LogicalPlan;
use crate::plan::options::OptimizerOptions;
use crate::plan::rewrites::fold::fold;

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
    if !options.rewrites || !options.indexes || filtered_scan(plan).is_none() {
        return None;
    }
    fold_filtered_scan(plan);
    let (table, columns, predicate) = filtered_scan(plan)?;
    let conditions = conjuncts_of(predicate);
    let in_order = columns.iter().enumerate().all(|(place, column)| place == *column);
    if !in_order || conditions.iter().any(|condition| is_rewritten(condition)) {
        return None;
    }
    let PointKey { index, key, answered } = only_point(table, columns, &conditions)?;
    let rest = conditions.into_iter().enumerate().filter(|(place, _)| !answered.contains(place));
    let filter = conjunction(cheapest_first(rest.map(|(_, condition)| condition.clone()).collect()));
    Some(KeyedRow { table: table.clone(), index, key, filter })
}

/// Folds the expressions of what [`filtered_scan`] looks at.
fn fold_filtered_scan(plan: &mut LogicalPlan) {
    match plan {
        LogicalPlan::Project { input, exprs, .. } => {
            exprs.iter_mut().for_each(fold);
            fold_filtered_scan(input);
        }
        LogicalPlan::Filter { predicate, .. } => fold(predicate),
        _ => {}
    }
}

/// The table, its columns and the condition of a scan under a filter, perhaps under a projection.
fn filtered_scan(plan: &LogicalPlan) -> Option<(&Arc<Table>, &[usize], &Expr)> {
    let plan = match plan {
        LogicalPlan::Project { input, .. } => input,
        plan => plan,
    };
    let LogicalPlan::Filter { input, predicate } = plan else { return None };
    let LogicalPlan::Scan { table, columns, .. } = &**input else { return None };
    Some((table, columns, predicate))
}

/// Whether planning does more with the condition than to look for keys in it.
fn is_rewritten(condition: &Expr) -> bool {
    matches!(condition, Expr::Literal { .. } | Expr::Or(_)) || is_volatile_or_asks(condition)
}
