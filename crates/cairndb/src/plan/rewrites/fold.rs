//! Constant folding: what does not depend on rows is computed once, while planning.
//!
//! An expression whose evaluation fails stays as it is, so that the error appears only if a row meets it.

use std::sync::Arc;

use super::fold_dates::as_dates;
use crate::functions::{self, EvalContext, Function, Operator};
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{is_boolean, is_null_literal};
use crate::plan::expressions::walk;
use crate::plan::logical::LogicalPlan;
use crate::types::{DataType, Value, cast_is_fixed, names_fixed_moment};

/// Folds every expression of the plan.
pub(in crate::plan) fn fold_plan(plan: &mut LogicalPlan) {
    for expr in walk::node_exprs_mut(plan) {
        fold(expr);
    }
    match plan {
        LogicalPlan::Filter { predicate: condition, .. } | LogicalPlan::Join { on: Some(condition), .. } => {
            fold_condition(condition);
        }
        _ => {}
    }
    for (input, _) in walk::inputs_mut(plan) {
        fold_plan(input);
    }
}

/// Folds one expression, from the leaves up.
pub(in crate::plan) fn fold(expr: &mut Expr) {
    if matches!(expr, Expr::Column { .. } | Expr::Literal { .. } | Expr::Parameter { .. }) {
        return;
    }
    for child in walk::children_mut(expr) {
        fold(child);
    }
    if let Expr::Subquery(subquery) = expr {
        fold_plan(std::sync::Arc::make_mut(&mut subquery.plan));
    }
    if let Some(folded) = folded(expr) {
        *expr = folded;
    }
}

/// The expression with these values for its parameters, and calls of nothing but constants computed. (Where there are not enough,
/// it keeps them.) Nothing else is folded: what fails in a row still does.
pub(crate) fn with_parameters(expr: &Expr, parameters: &[Value]) -> Expr {
    let mut expr = expr.clone();
    set_parameters(&mut expr, parameters);
    expr
}

fn set_parameters(expr: &mut Expr, parameters: &[Value]) {
    let is_constant = |expr: &Expr| matches!(expr, Expr::Literal { .. });
    let set = match expr {
        Expr::Parameter { index, data_type, .. } => {
            parameters.get(*index).map(|value| Expr::Literal { value: value.clone(), data_type: *data_type })
        }
        _ => {
            for child in walk::children_mut(expr) {
                set_parameters(child, parameters);
            }
            match expr {
                Expr::Call { args, .. } if args.iter().all(is_constant) => folded(expr),
                Expr::Cast { input, .. } if is_constant(input) => folded(expr),
                _ => None,
            }
        }
    };
    if let Some(set) = set {
        *expr = set;
    }
}

/// Folds what matters only where it is true: what never is goes, whatever would fail beside it (PostgreSQL's
/// `canonicalize_qual`).
fn fold_condition(expr: &mut Expr) {
    match expr {
        Expr::And(parts) | Expr::Or(parts) => {
            parts.iter_mut().for_each(fold_condition);
            let parts = std::mem::take(parts);
            *expr = fold_logic(parts, matches!(expr, Expr::And(_)));
        }
        _ if is_never(expr, true) => *expr = boolean(false),
        _ => {}
    }
}

/// Whether the expression cannot be `truth`, whatever its operands are.
fn is_never(expr: &Expr, truth: bool) -> bool {
    match expr {
        Expr::Literal { value: Value::Boolean(value), .. } => *value != truth,
        Expr::Literal { value: Value::Null, .. } => true,
        Expr::Not(input) => is_never(input, !truth),
        Expr::And(parts) if truth => parts.iter().any(|part| is_never(part, truth)),
        Expr::Or(parts) if !truth => parts.iter().any(|part| is_never(part, truth)),
        Expr::And(parts) | Expr::Or(parts) => parts.iter().all(|part| is_never(part, truth)),
        _ => false,
    }
}

fn folded(expr: &mut Expr) -> Option<Expr> {
    match expr {
        Expr::Call { function, args } => fold_call(function, args).or_else(|| as_dates(function, args)),
        Expr::Cast { input, to } => fold_cast(input, *to),
        Expr::And(parts) => Some(fold_logic(std::mem::take(parts), true)),
        Expr::Or(parts) => Some(in_list(fold_logic(std::mem::take(parts), false))),
        Expr::Not(input) => fold_not(input),
        Expr::IsNull(input) => match &**input {
            Expr::Literal { value, .. } => Some(boolean(matches!(value, Value::Null))),
            _ => None,
        },
        Expr::Case { branches, otherwise, data_type } => fold_case(branches, otherwise, *data_type),
        Expr::Coalesce { args, data_type } => fold_coalesce(args, *data_type),
        // As for any strict function, the list is not even evaluated.
        Expr::InList { input, list, equal } if equal.strict && is_null_literal(input) && !list.is_empty() => {
            Some(null(DataType::Boolean))
        }
        Expr::InList { input, list, equal } if list.len() == 1 => {
            let input = std::mem::replace(&mut **input, null(DataType::Boolean));
            let element = list.pop()?;
            Some(Expr::Call { function: equal.clone(), args: vec![input, element] })
        }
        _ => None,
    }
}

/// A literal of type boolean.
pub(in crate::plan) fn boolean(value: bool) -> Expr {
    Expr::Literal { value: Value::Boolean(value), data_type: DataType::Boolean }
}

/// A literal NULL.
pub(in crate::plan) fn null(data_type: DataType) -> Expr {
    Expr::Literal { value: Value::Null, data_type }
}

fn fold_call(function: &Function, args: &[Expr]) -> Option<Expr> {
    // (Names of oids are the catalog's, whoever writes them.)
    if !function.folds || args.iter().any(|arg| arg.data_type().has_reg()) {
        return None;
    }
    if function.strict && args.iter().any(is_null_literal) {
        return Some(null(function.returns));
    }
    let values: Option<Vec<Value>> = args
        .iter()
        .map(|arg| match arg {
            Expr::Literal { value, .. } => Some(value.clone()),
            _ => None,
        })
        .collect();
    let value = function.call(&values?, &immutable_context()).ok()?;
    Some(Expr::Literal { value, data_type: function.returns })
}

/// Immutable functions look at none of it.
fn immutable_context() -> EvalContext {
    EvalContext::default()
}

fn fold_cast(input: &Expr, to: DataType) -> Option<Expr> {
    let Expr::Literal { value, data_type } = input else { return None };
    if matches!(value, Value::Null) {
        return Some(null(to));
    }
    if *data_type == to {
        return Some(input.clone());
    }
    if !is_immutable_cast(value, *data_type, to) {
        return None;
    }
    let value = functions::cast(value, *data_type, to, &immutable_context()).ok()?;
    Some(Expr::Literal { value, data_type: to })
}

/// Casts that touch the session's time zone or the clock (`'today'::date`) are left to run time.
fn is_immutable_cast(value: &Value, from: DataType, to: DataType) -> bool {
    use DataType as T;
    match value {
        Value::Text(text)
            if matches!(
                to,
                T::Date | T::Time(_) | T::TimeTz(_) | T::Timestamp(_) | T::TimestampTz(_) | T::Interval(_)
            ) =>
        {
            names_fixed_moment(text, to)
        }
        _ => !from.has_zone() && !to.has_zone() && cast_is_fixed(from, to),
    }
}

/// AND (`neutral` true) and OR (`neutral` false): nested ones are taken in, neutral parts dropped, and the opposite
/// decides the whole.
fn fold_logic(parts: Vec<Expr>, neutral: bool) -> Expr {
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Expr::And(inner) if neutral => kept.extend(inner),
            Expr::Or(inner) if !neutral => kept.extend(inner),
            part if is_boolean(&part, neutral) => {}
            part if is_boolean(&part, !neutral) => return boolean(!neutral),
            part => kept.push(part),
        }
    }
    match kept.len() {
        0 => boolean(neutral),
        1 => kept.remove(0),
        _ if neutral => Expr::And(kept),
        _ => Expr::Or(kept),
    }
}

/// `c = 1 OR c = 2` as `c IN (1, 2)`, where all branches compare one column with constants by one `=`.
fn in_list(expr: Expr) -> Expr {
    let Expr::Or(parts) = &expr else { return expr };
    let equalities: Option<Vec<_>> = parts.iter().map(column_equals).collect();
    let Some(equalities) = equalities else { return expr };
    let Some(first) = equalities.first() else { return expr };
    if equalities.iter().any(|other| !other.equal.is_same(first.equal) || other.index != first.index) {
        return expr;
    }
    let list = equalities.iter().map(|found| found.value.clone()).collect();
    Expr::InList { input: Box::new(first.column.clone()), list, equal: first.equal.clone() }
}

/// `column = constant`.
struct ColumnEquals<'e> {
    equal: &'e Arc<Function>,
    column: &'e Expr,
    index: usize,
    value: &'e Expr,
}

fn column_equals(expr: &Expr) -> Option<ColumnEquals<'_>> {
    let Expr::Call { function, args } = expr else { return None };
    let [column @ Expr::Column { index, .. }, value] = args.as_slice() else { return None };
    let constant = matches!(value, Expr::Literal { .. } | Expr::Parameter { .. });
    let equal = function;
    (constant && equal.op == Some(Operator::Equal)).then_some(ColumnEquals { equal, column, index: *index, value })
}

fn fold_not(input: &mut Expr) -> Option<Expr> {
    match input {
        Expr::Literal { value: Value::Boolean(value), .. } => Some(boolean(!*value)),
        Expr::Literal { value: Value::Null, .. } => Some(null(DataType::Boolean)),
        Expr::Not(inner) => Some(std::mem::replace(&mut **inner, boolean(true))),
        _ => None,
    }
}

/// Branches that are never taken go; a branch that is always taken ends the list.
fn fold_case(branches: &mut Vec<(Expr, Expr)>, otherwise: &mut Option<Box<Expr>>, data_type: DataType) -> Option<Expr> {
    branches.retain(|(when, _)| !is_boolean(when, false) && !is_null_literal(when));
    if let Some(always) = branches.iter().position(|(when, _)| is_boolean(when, true)) {
        branches.truncate(always + 1);
        *otherwise = branches.pop().map(|(_, then)| Box::new(then));
    }
    if !branches.is_empty() {
        return None;
    }
    let result = otherwise.take().map_or_else(|| null(data_type), |expr| *expr);
    Some(retyped(result, data_type))
}

fn fold_coalesce(args: &mut Vec<Expr>, data_type: DataType) -> Option<Expr> {
    args.retain(|arg| !is_null_literal(arg));
    if let Some(end) = args.iter().position(|arg| matches!(arg, Expr::Literal { .. })) {
        args.truncate(end + 1);
    }
    match args.len() {
        0 => Some(null(data_type)),
        1 => args.pop().map(|only| retyped(only, data_type)),
        _ => None,
    }
}

/// A cast where the type (its modifier, say) differs.
fn retyped(expr: Expr, to: DataType) -> Expr {
    if expr.data_type() == to { expr } else { Expr::Cast { input: Box::new(expr), to } }
}
