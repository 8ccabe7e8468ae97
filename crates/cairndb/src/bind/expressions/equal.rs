//! Whether two aggregates' calls are the same: for repeated aggregates.

use crate::plan::{AggregateCall, is_volatile, same_expr, walk};

/// The same call of the same aggregate, of arguments that give the same values each time.
pub(in crate::bind) fn same_call(left: &AggregateCall, right: &AggregateCall) -> bool {
    let (exprs, others) = (walk::of_aggregate(left), walk::of_aggregate(right));
    let ordering = |call: &AggregateCall| -> Vec<(bool, bool)> {
        call.order_by.iter().map(|key| (key.descending, key.nulls_first)).collect()
    };
    left.aggregate.is_same(&right.aggregate)
        && left.distinct == right.distinct
        && (left.args.len(), left.filter.is_some()) == (right.args.len(), right.filter.is_some())
        && ordering(left) == ordering(right)
        && exprs.len() == others.len()
        && !exprs.iter().any(|expr| is_volatile(expr))
        && exprs.iter().zip(others).all(|(a, b)| same_expr(a, b))
}
