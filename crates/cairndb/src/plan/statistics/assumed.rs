//! Ranges between parameters, of which a plan for any values has to guess how many rows they have: a guess of a twentieth of a table
//! asks for a hash join, where the ten rows that most executions ask for are looked up. So a statement has two plans, one for
//! any values and one for ranges that are narrow, and each execution takes the one that its values ask for ("choose plan" of
//! Graefe and Ward, Dynamic Query Evaluation Plans, SIGMOD 1989).

use std::sync::Arc;

use super::estimate::{ColumnInfo, RANGE_LEAST, RANGE_PAIR_UNKNOWN, share_between};
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::walk;
use crate::plan::logical::LogicalPlan;
use crate::plan::physical::{KeyRange, PhysicalNode as N, PhysicalPlan};
use crate::plan::rewrites::fold::with_parameters;
use crate::types::Value;

/// A narrow range has so many rows at most, or so small a share of the table's as statistics hardly tell.
const NARROW_ROWS: f64 = 100.0;
const NARROW_SHARE: f64 = 2.0 * RANGE_LEAST;

/// See the module.
#[derive(Debug)]
pub(crate) struct GuessedRanges(Vec<Guessed>);

#[derive(Debug)]
struct Guessed {
    column: ColumnInfo,
    lower: Expr,
    upper: Expr,
    /// That the guess comes to.
    rows: f64,
}

impl GuessedRanges {
    /// Those of a plan for any values; `None` where there are none, or nothing depends on how many rows they have.
    pub(crate) fn of(plan: &PhysicalPlan) -> Option<GuessedRanges> {
        let mut found = vec![];
        let joins = add(plan, &mut found);
        (joins && !found.is_empty()).then_some(GuessedRanges(found))
    }

    /// Whether all of them are narrow for these parameters.
    pub(crate) fn are_narrow(&self, parameters: &[Value]) -> bool {
        self.0.iter().all(|range| range.is_narrow(parameters).unwrap_or(false))
    }
}

impl Guessed {
    fn of(range: &KeyRange, column: impl FnOnce() -> Option<ColumnInfo>, rows: f64) -> Option<Guessed> {
        let (lower, upper) = (&range.lower.as_ref()?.value, &range.upper.as_ref()?.value);
        let is_asked = |bound: &Expr| matches!(bound, Expr::Parameter { .. });
        if !is_asked(lower) || !is_asked(upper) {
            return None;
        }
        Some(Guessed { column: column()?, lower: lower.clone(), upper: upper.clone(), rows })
    }

    /// `None`: nothing is known of the column, or of the values.
    fn is_narrow(&self, parameters: &[Value]) -> Option<bool> {
        let [lower, upper] = [&self.lower, &self.upper].map(|bound| match with_parameters(bound, parameters) {
            Expr::Literal { value, .. } => Some(value),
            _ => None,
        });
        let share = share_between(&self.column, &lower?, &upper?)?;
        Some(share <= NARROW_SHARE || self.rows * share / RANGE_PAIR_UNKNOWN <= NARROW_ROWS)
    }
}

/// Adds the ranges of the plan's scans; whether it has joins that might be made in another way.
fn add(plan: &PhysicalPlan, found: &mut Vec<Guessed>) -> bool {
    let (table, key, ranges) = match &plan.node {
        N::TableScan { table, ranges, .. } => (table, table.row_key(), ranges),
        N::IndexScan { table, index, ranges, .. } => (table, &*index.columns, ranges),
        _ => {
            let joins = matches!(plan.node, N::HashJoin { .. } | N::MergeJoin { .. });
            return plan.children().into_iter().fold(joins, |joins, input| add(input, found) | joins);
        }
    };
    if let [range] = ranges.as_slice() {
        let column = || Some(ColumnInfo::of_table(table, key.get(range.prefix.len())?.column));
        found.extend(Guessed::of(range, column, plan.estimate.rows));
    }
    false
}

/// Has estimates take the parameters for these values; what the plan answers is the same for all.
pub(crate) fn assume(plan: &mut LogicalPlan, parameters: &[Value]) {
    walk::rewrite_plan(plan, 0, &mut |expr, _| match expr {
        Expr::Parameter { index, data_type, .. } => {
            let assumed = parameters.get(*index).cloned().map(Arc::new);
            Some(Expr::Parameter { index: *index, data_type: *data_type, assumed })
        }
        _ => None,
    });
}
