//! Takes the correlated conditions out of a subquery, so that what is left can be a join's side.
//!
//! The conditions returned are expressions of the subquery: `Column` is its row, `Outer { level: 1 }` the row around it;
//! [`join_condition`] turns them into conditions over both rows.

use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{
    add_used_columns, conjunction, conjuncts, expr_uses_outer_row, filtered, identity, is_volatile, mapped,
    uses_outer_row,
};
use crate::plan::expressions::walk::rewrite;
use crate::plan::logical::{Field, JoinKind, LogicalPlan};

/// A subquery that no longer uses the row around it (its levels still count that row).
pub(super) struct Pulled {
    /// Its first columns are the subquery's; more may follow for the conditions.
    pub(in crate::plan) plan: LogicalPlan,
    /// The conditions taken out.
    pub(in crate::plan) conditions: Vec<Expr>,
}

/// Pulls the correlation out of `plan`, or gives up. With `as_set` the number of equal rows does not matter.
pub(in crate::plan) fn pull(plan: LogicalPlan, as_set: bool) -> Option<Pulled> {
    if !uses_outer_row(&plan) {
        return Some(Pulled { plan, conditions: vec![] });
    }
    match plan {
        LogicalPlan::Filter { input, predicate } => pull_filter(*input, predicate, as_set),
        LogicalPlan::Project { input, exprs, fields } => pull_project(*input, exprs, fields, as_set),
        LogicalPlan::Join { kind, left, right, on, lateral: false } => pull_join(kind, *left, *right, on, as_set),
        LogicalPlan::Sort { input, .. } | LogicalPlan::Distinct { input, .. } if as_set => pull(*input, as_set),
        _ => None,
    }
}

fn pull_filter(input: LogicalPlan, predicate: Expr, as_set: bool) -> Option<Pulled> {
    if is_volatile(&predicate) {
        return None;
    }
    let mut pulled = pull(input, as_set)?;
    let (correlated, own): (Vec<_>, Vec<_>) = conjuncts(predicate).into_iter().partition(expr_uses_outer_row);
    pulled.plan = filtered(pulled.plan, own);
    pulled.conditions.extend(correlated);
    Some(pulled)
}

fn pull_project(input: LogicalPlan, mut exprs: Vec<Expr>, mut fields: Vec<Field>, as_set: bool) -> Option<Pulled> {
    if exprs.iter().any(|expr| expr_uses_outer_row(expr) || is_volatile(expr)) {
        return None;
    }
    let Pulled { plan, conditions } = pull(input, as_set)?;
    let mut used = std::collections::BTreeSet::new();
    conditions.iter().for_each(|condition| add_used_columns(condition, &mut used));
    let used: Vec<usize> = used.into_iter().collect();
    let first = exprs.len();
    let inner = plan.fields();
    for &index in &used {
        let field = inner.get(index)?.clone();
        exprs.push(Expr::Column { index, data_type: field.data_type });
        fields.push(field);
    }
    let place = |index: usize| first + used.binary_search(&index).unwrap_or(0);
    let conditions = conditions.into_iter().map(|condition| mapped(condition, &place)).collect();
    Some(Pulled { plan: LogicalPlan::Project { input: Box::new(plan), exprs, fields }, conditions })
}

fn pull_join(kind: JoinKind, left: LogicalPlan, right: LogicalPlan, on: Option<Expr>, as_set: bool) -> Option<Pulled> {
    let (left_width, right_width) = (left.width(), right.width());
    let inner = kind == JoinKind::Inner;
    let on: Vec<Expr> = on.map(conjuncts).unwrap_or_default();
    if !inner && (!is_left_only(kind) || uses_outer_row(&right) || on.iter().any(expr_uses_outer_row)) {
        return None;
    }
    if on.iter().any(is_volatile) {
        return None;
    }
    let as_set = as_set && inner;
    let (left, right) = (pull(left, as_set)?, pull(right, as_set)?);
    let extra = left.plan.width() - left_width;
    if extra > 0 && matches!(kind, JoinKind::Left) {
        return None;
    }
    // The pulled join's row: left, left's extra, right, right's extra.
    let from_join = |index: usize| if index < left_width { index } else { index + extra };
    let from_right = |index: usize| left_width + extra + index;
    let (correlated, own): (Vec<_>, Vec<_>) =
        on.into_iter().map(|part| mapped(part, &from_join)).partition(expr_uses_outer_row);
    let mut conditions = left.conditions;
    conditions.extend(right.conditions.into_iter().map(|condition| mapped(condition, &from_right)));
    conditions.extend(correlated);
    let plan = LogicalPlan::Join {
        kind,
        left: Box::new(left.plan),
        right: Box::new(right.plan),
        on: conjunction(own),
        lateral: false,
    };
    Some(if extra == 0 || !inner {
        Pulled { plan, conditions }
    } else {
        original_first(plan, conditions, left_width, extra, right_width)
    })
}

fn is_left_only(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
}

/// Moves the left side's extra columns behind the original ones.
fn original_first(
    plan: LogicalPlan,
    conditions: Vec<Expr>,
    left_width: usize,
    extra: usize,
    right_width: usize,
) -> Pulled {
    let columns = identity(&plan);
    let fields = plan.fields();
    let order: Vec<usize> = (0..left_width)
        .chain(left_width + extra..left_width + extra + right_width)
        .chain(left_width..left_width + extra)
        .chain(left_width + extra + right_width..columns.len())
        .collect();
    let place = |index: usize| order.iter().position(|&from| from == index).unwrap_or(index);
    let conditions = conditions.into_iter().map(|condition| mapped(condition, &place)).collect();
    let exprs = order.iter().map(|&index| columns[index].clone()).collect();
    let fields = order.iter().map(|&index| fields[index].clone()).collect();
    Pulled { plan: LogicalPlan::Project { input: Box::new(plan), exprs, fields }, conditions }
}

/// A condition of a subquery as one over the left row (which was pushed around the subquery) and the subquery's row
/// behind it.
pub(super) fn join_condition(mut condition: Expr, left_width: usize) -> Expr {
    rewrite(&mut condition, 0, &mut |expr, depth| match expr {
        Expr::Column { index, data_type } if depth == 0 => {
            Some(Expr::Column { index: left_width + index, data_type: *data_type })
        }
        Expr::Outer { level, index, data_type } if *level == depth => {
            Some(Expr::Outer { level: *level, index: left_width + index, data_type: *data_type })
        }
        Expr::Outer { level, index, data_type } if *level == depth + 1 => Some(match depth {
            0 => Expr::Column { index: *index, data_type: *data_type },
            _ => Expr::Outer { level: depth, index: *index, data_type: *data_type },
        }),
        Expr::Outer { level, index, data_type } if *level > depth + 1 => {
            Some(Expr::Outer { level: level - 1, index: *index, data_type: *data_type })
        }
        _ => None,
    });
    condition
}
