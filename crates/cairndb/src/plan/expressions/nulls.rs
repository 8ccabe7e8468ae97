//! What NULLs do to predicates: which columns may hold them, which predicates cannot be true of them.

use super::expr::{Expr, QuantifiedOp, SubqueryKind};
use super::refs::{is_boolean, is_null_literal};
use super::walk;
use crate::plan::logical::{JoinKind, LogicalPlan};

/// Whether `expr` is NULL for certain where every column accepted by `null` is.
pub(in crate::plan) fn is_null(expr: &Expr, null: &dyn Fn(usize) -> bool) -> bool {
    match expr {
        Expr::Column { index, .. } => null(*index),
        Expr::Call { function, args } => function.strict && args.iter().any(|arg| is_null(arg, null)),
        Expr::Cast { input, .. } | Expr::Not(input) => is_null(input, null),
        Expr::And(parts) | Expr::Or(parts) => !parts.is_empty() && parts.iter().all(|part| is_null(part, null)),
        Expr::Coalesce { args, .. } => args.iter().all(|arg| is_null(arg, null)),
        Expr::InList { input, .. } => is_null(input, null),
        other => is_null_literal(other),
    }
}

/// Whether `predicate` cannot be true where every column accepted by `null` is NULL.
pub(in crate::plan) fn rejects(predicate: &Expr, null: &dyn Fn(usize) -> bool) -> bool {
    match predicate {
        Expr::And(parts) => parts.iter().any(|part| rejects(part, null)),
        Expr::Or(parts) => parts.iter().all(|part| rejects(part, null)),
        Expr::Not(inner) => is_null(inner, null) || matches!(&**inner, Expr::IsNull(input) if is_null(input, null)),
        Expr::Subquery(subquery) => match &subquery.kind {
            SubqueryKind::Quantified { left, quantifier: QuantifiedOp::Any, .. } => {
                left.iter().any(|left| is_null(left, null))
            }
            _ => false,
        },
        other => is_boolean(other, false) || is_null(other, null),
    }
}

/// For each output column, whether it may hold NULL.
pub(in crate::plan) fn nullable_columns(plan: &LogicalPlan) -> Vec<bool> {
    match plan {
        LogicalPlan::Values { rows, fields } => (0..fields.len())
            .map(|column| rows.iter().any(|row| row.get(column).is_none_or(|value| may_be_null(value, &[]))))
            .collect(),
        LogicalPlan::Scan { table, columns, .. } => columns
            .iter()
            // (A row's number is there.)
            .map(|&column| column < table.columns.len() && !table.is_not_null(column))
            .collect(),
        LogicalPlan::Filter { input, predicate } => {
            let rejected = |column| rejects(predicate, &|index| index == column);
            let columns = nullable_columns(input).into_iter().enumerate();
            columns.map(|(column, nullable)| nullable && !rejected(column)).collect()
        }
        LogicalPlan::Sort { input, .. } | LogicalPlan::Limit { input, .. } | LogicalPlan::Distinct { input, .. } => {
            nullable_columns(input)
        }
        LogicalPlan::Project { input, exprs, .. } => {
            let columns = nullable_columns(input);
            exprs.iter().map(|expr| may_be_null(expr, &columns)).collect()
        }
        LogicalPlan::Aggregate { input, group_by, aggregates, .. } => {
            let columns = nullable_columns(input);
            let groups = group_by.iter().map(|expr| may_be_null(expr, &columns));
            groups.chain(aggregates.iter().map(|call| call.aggregate.name != "count")).collect()
        }
        LogicalPlan::Window { input, calls, .. } => {
            let mut columns = nullable_columns(input);
            columns.resize(columns.len() + calls.len(), true);
            columns
        }
        LogicalPlan::Join { kind, left, right, .. } => join_columns(*kind, left, right),
        LogicalPlan::With { body, .. } | LogicalPlan::RecursiveWith { body, .. } => nullable_columns(body),
        LogicalPlan::SetOperation { .. }
        | LogicalPlan::CteScan { .. }
        | LogicalPlan::Modify { .. }
        | LogicalPlan::SystemScan { .. }
        | LogicalPlan::TableFunction { .. } => {
            vec![true; plan.width()]
        }
    }
}

fn join_columns(kind: JoinKind, left: &LogicalPlan, right: &LogicalPlan) -> Vec<bool> {
    let mut columns = nullable_columns(left);
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        columns.fill(true);
    }
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        let outer = matches!(kind, JoinKind::Left | JoinKind::Full);
        columns.extend(nullable_columns(right).into_iter().map(|nullable| nullable || outer));
    }
    columns
}

/// Whether `expr` may be NULL, given which columns may be.
pub(in crate::plan) fn may_be_null(expr: &Expr, columns: &[bool]) -> bool {
    match expr {
        Expr::Literal { .. } => is_null_literal(expr),
        Expr::Column { index, .. } => columns.get(*index).copied().unwrap_or(true),
        Expr::IsNull(_) | Expr::IsNotDistinct(..) => false,
        Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::Cast { .. } | Expr::InList { .. } => {
            walk::children(expr).any(|child| may_be_null(child, columns))
        }
        Expr::Call { function, args } => function.op.is_none() || args.iter().any(|arg| may_be_null(arg, columns)),
        Expr::Coalesce { args, .. } => args.iter().all(|arg| may_be_null(arg, columns)),
        Expr::Subquery(subquery) => !matches!(subquery.kind, SubqueryKind::Exists),
        _ => true,
    }
}
