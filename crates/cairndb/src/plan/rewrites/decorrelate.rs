//! Subqueries into joins.
//!
//! - A conjunct `EXISTS (q)` becomes a semi join, `NOT EXISTS (q)` an anti join, `x IN (q)` a semi join on `x = column`.
//! - `x NOT IN (q)` becomes an anti join only where neither side can be NULL: otherwise one NULL decides about all rows,
//!   and the hashed subplan knows how.
//! - A correlated scalar aggregate whose correlation is by `=` becomes a left join with the aggregate grouped by the
//!   inner sides. At most one group matches a row; where none does, aggregates are NULL and counts are made 0 again,
//!   which is what aggregating no rows gives. Only aggregates whose arguments cannot fail are moved, because groups are
//!   computed that no row asks for. Whether that is done, and whether the rows that are grouped are first reduced to
//!   those that are asked for, is decided for each of them by what the whole statement then costs.
//! - A lateral join whose correlation can be pulled out becomes an ordinary one.
//!
//! Everything else stays a subquery of its expression.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cte::take_with;
use super::pull::{Pulled, join_condition, pull};
use crate::functions::{AggregateKind, Function, Operator};
use crate::plan::expressions::expr::{AggregateCall, Expr, QuantifiedOp, Subquery, SubqueryKind};
use crate::plan::expressions::nulls::{may_be_null, nullable_columns};
use crate::plan::expressions::refs::{
    conjunction, conjuncts, drop_level, expr_uses_outer_row, filtered, has_subquery, identity, is_volatile,
    is_volatile_plan, substitute, used_columns, uses_outer_row,
};
use crate::plan::expressions::walk;
use crate::plan::logical::{Field, JoinKind, LogicalPlan};
use crate::plan::maintained::askers::askers;
use crate::types::{DataType, Value};

/// What becomes of a correlated scalar aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) enum Scalar {
    /// A join with all groups.
    Grouped,
    /// A join with the groups that some row asks for.
    GroupedForAskers,
    /// It stays as it is, and runs for each row.
    AsWritten,
}

/// What to do, and what was done.
pub(in crate::plan) struct Decorrelation<'c> {
    choices: &'c [Scalar],
    /// The scalar aggregates met so far that could be turned into joins, whether or not they were.
    pub(in crate::plan) scalars: usize,
    /// Inside one of them, whose own are not counted.
    inside: bool,
}

impl<'c> Decorrelation<'c> {
    /// `choices`: for each of the scalar aggregates in the order in which they are met; all groups for those that follow.
    pub(in crate::plan) fn new(choices: &'c [Scalar]) -> Self {
        Decorrelation { choices, scalars: 0, inside: false }
    }

    fn choose(&mut self) -> Scalar {
        if self.inside {
            return Scalar::Grouped;
        }
        self.scalars += 1;
        self.choices.get(self.scalars - 1).copied().unwrap_or(Scalar::Grouped)
    }

    /// Rewrites the whole plan, from the leaves up.
    pub(in crate::plan) fn plan(&mut self, mut plan: LogicalPlan) -> LogicalPlan {
        for (input, _) in walk::inputs_mut(&mut plan) {
            take_with(input, |input| self.plan(input));
        }
        match plan {
            LogicalPlan::Filter { input, predicate } => self.filter(*input, predicate),
            LogicalPlan::Project { input, exprs, fields } => self.project(*input, exprs, fields),
            LogicalPlan::Join { kind, left, right, on, lateral: true } => self.lateral(kind, *left, *right, on),
            other => other,
        }
    }

    fn filter(&mut self, input: LogicalPlan, predicate: Expr) -> LogicalPlan {
        let (with, without): (Vec<_>, Vec<_>) = conjuncts(predicate).into_iter().partition(has_subquery);
        let columns = identity(&input);
        let fields = input.fields();
        let mut input = filtered(input, without);
        let mut kept = vec![];
        for part in with {
            match self.semi_join(input, part) {
                Ok(joined) => input = joined,
                Err((unchanged, part)) => {
                    input = unchanged;
                    kept.push(part);
                }
            }
        }
        for part in &mut kept {
            take_with(&mut input, |input| self.scalars_of(input, part));
        }
        let plan = filtered(input, kept);
        if plan.width() == columns.len() {
            return plan;
        }
        LogicalPlan::Project { input: Box::new(plan), exprs: columns, fields }
    }

    fn project(&mut self, mut input: LogicalPlan, mut exprs: Vec<Expr>, fields: Vec<Field>) -> LogicalPlan {
        for expr in &mut exprs {
            if has_subquery(expr) {
                take_with(&mut input, |input| self.scalars_of(input, expr));
            }
        }
        LogicalPlan::Project { input: Box::new(input), exprs, fields }
    }

    fn lateral(&mut self, kind: JoinKind, left: LogicalPlan, right: LogicalPlan, on: Option<Expr>) -> LogicalPlan {
        let keep = LogicalPlan::Join {
            kind,
            left: Box::new(left.clone()),
            right: Box::new(right.clone()),
            on: on.clone(),
            lateral: true,
        };
        if !matches!(kind, JoinKind::Inner | JoinKind::Left) || is_volatile_plan(&right) {
            return keep;
        }
        let (left_fields, right_fields) = (left.fields(), right.fields());
        let Some(pulled) = pull(right, false) else { return keep };
        let mut parts: Vec<Expr> = on.map(conjuncts).unwrap_or_default();
        let conditions = pulled.conditions.into_iter();
        parts.extend(conditions.map(|condition| join_condition(condition, left_fields.len())));
        let mut right = pulled.plan;
        drop_level(&mut right);
        let extended = right.width() > right_fields.len();
        let plan = join(kind, left, right, parts);
        let fields = [left_fields, right_fields].concat();
        if !extended {
            return plan;
        }
        let exprs = identity(&plan).into_iter().take(fields.len()).collect();
        LogicalPlan::Project { input: Box::new(plan), exprs, fields }
    }

    /// The input joined so that the conjunct `part` holds; or both unchanged.
    #[allow(clippy::result_large_err)]
    fn semi_join(&mut self, input: LogicalPlan, part: Expr) -> Result<LogicalPlan, (LogicalPlan, Expr)> {
        let Some((subquery, negated)) = as_condition(&part) else { return Err((input, part)) };
        if is_volatile(&part) {
            return Err((input, part));
        }
        let joined = match &subquery.kind {
            SubqueryKind::Exists => exists_side(&subquery.plan),
            SubqueryKind::Quantified { left, ops, quantifier } => {
                quantified_side(&input, left, ops, *quantifier, negated, &subquery.plan)
            }
            SubqueryKind::Scalar { .. } => None,
        };
        let anti = negated || matches!(subquery.kind, SubqueryKind::Quantified { quantifier: QuantifiedOp::All, .. });
        let Some((Pulled { plan: mut right, conditions }, mut on)) = joined else { return Err((input, part)) };
        drop_level(&mut right);
        let right = self.plan(right);
        let width = input.width();
        on.extend(conditions.into_iter().map(|condition| join_condition(condition, width)));
        Ok(join(if anti { JoinKind::Anti } else { JoinKind::Semi }, input, right, on))
    }

    /// Joins the input with the correlated scalar aggregates in `expr`, which then refers to the new columns.
    fn scalars_of(&mut self, mut input: LogicalPlan, expr: &mut Expr) -> LogicalPlan {
        if let Expr::Subquery(subquery) = expr {
            let width = input.width();
            let side = match subquery.kind {
                SubqueryKind::Scalar { .. } => scalar_side(&subquery.plan, width),
                _ => None,
            };
            let Some(mut side) = side else { return input };
            match self.choose() {
                Scalar::AsWritten => return input,
                Scalar::GroupedForAskers => side.keep_asked(&input),
                Scalar::Grouped => {}
            }
            let inside = std::mem::replace(&mut self.inside, true);
            let right = self.plan(side.right);
            self.inside = inside;
            *expr = side.value;
            return join(JoinKind::Left, input, right, side.on);
        }
        for child in walk::children_mut(expr) {
            input = self.scalars_of(input, child);
        }
        input
    }
}

fn join(kind: JoinKind, left: LogicalPlan, right: LogicalPlan, on: Vec<Expr>) -> LogicalPlan {
    LogicalPlan::Join { kind, left: Box::new(left), right: Box::new(right), on: conjunction(on), lateral: false }
}

/// `q` or `NOT q` for a boolean subquery.
fn as_condition(part: &Expr) -> Option<(&Subquery, bool)> {
    match part {
        Expr::Subquery(subquery) => Some((subquery, false)),
        Expr::Not(inner) => match &**inner {
            Expr::Subquery(subquery) => Some((subquery, true)),
            _ => None,
        },
        _ => None,
    }
}

/// The right side for EXISTS. Without correlation it stays a subplan, which stops at its first row.
fn exists_side(plan: &LogicalPlan) -> Option<(Pulled, Vec<Expr>)> {
    let pulled = pull(only_existence(plan.clone()), true)?;
    (!pulled.conditions.is_empty()).then_some((pulled, vec![]))
}

/// Drops what does not change whether there is a row.
fn only_existence(plan: LogicalPlan) -> LogicalPlan {
    match plan {
        LogicalPlan::Project { input, .. } | LogicalPlan::Sort { input, .. } | LogicalPlan::Distinct { input, .. } => {
            only_existence(*input)
        }
        LogicalPlan::Aggregate { input, group_by, .. } if !group_by.is_empty() => only_existence(*input),
        LogicalPlan::Limit { input, limit: Some(limit), offset: None, .. } if is_positive(&limit) => {
            only_existence(*input)
        }
        other => other,
    }
}

fn is_positive(limit: &Expr) -> bool {
    matches!(limit, Expr::Literal { value: Value::BigInt(1..) | Value::Integer(1..), .. })
}

/// The right side for `left = ANY (plan)`, or its negation.
fn quantified_side(
    input: &LogicalPlan,
    left: &[Expr],
    ops: &[Arc<Function>],
    quantifier: QuantifiedOp,
    negated: bool,
    plan: &LogicalPlan,
) -> Option<(Pulled, Vec<Expr>)> {
    let wanted = match (quantifier, negated) {
        (QuantifiedOp::Any, _) => Operator::Equal,
        (QuantifiedOp::All, false) if ops.len() == 1 => Operator::NotEqual,
        _ => return None,
    };
    if ops.iter().any(|op| op.op != Some(wanted)) || left.iter().any(has_subquery) {
        return None;
    }
    let pulled = pull(plan.clone(), true)?;
    let anti = negated || quantifier == QuantifiedOp::All;
    let nullable = nullable_columns(&pulled.plan);
    if anti && (nullable.iter().take(left.len()).any(|&column| column) || any_null(input, left)) {
        return None;
    }
    let width = input.width();
    let types = pulled.plan.fields();
    let mut on = vec![];
    for (index, (value, op)) in left.iter().zip(ops).enumerate() {
        let equal = crate::functions::exact_overload("=", &op.args)?;
        let column = Expr::Column { index: width + index, data_type: types.get(index)?.data_type };
        on.push(Expr::Call { function: equal, args: vec![value.clone(), column] });
    }
    Some((pulled, on))
}

fn any_null(input: &LogicalPlan, exprs: &[Expr]) -> bool {
    let columns = nullable_columns(input);
    exprs.iter().any(|expr| may_be_null(expr, &columns))
}

/// A scalar aggregate as a join's right side.
struct ScalarSide {
    right: LogicalPlan,
    on: Vec<Expr>,
    /// The subquery's value, over the joined row.
    value: Expr,
}

impl ScalarSide {
    /// Groups only the rows whose keys some row of the join's left side has.
    fn keep_asked(&mut self, left: &LogicalPlan) {
        let width = left.width();
        let used: BTreeSet<usize> = self.on.iter().flat_map(used_columns).filter(|&column| column < width).collect();
        let used: Vec<usize> = used.into_iter().collect();
        let Some((asking, places)) = askers(left, &used) else { return };
        let LogicalPlan::Aggregate { input, group_by, .. } = &mut self.right else { return };
        let grouped = input.width();
        // A condition's columns: the left side's, which `asking` has, and the groups' keys, of which the input has the
        // expressions.
        let types = identity(left);
        let mut columns = types.clone();
        for (column, place) in used.into_iter().zip(places) {
            columns[column] = Expr::Column { index: grouped + place, data_type: types[column].data_type() };
        }
        columns.extend(group_by.iter().cloned());
        let mut on = self.on.clone();
        on.iter_mut().for_each(|part| substitute(part, &columns));
        take_with(input, |input| join(JoinKind::Semi, input, asking, on));
    }
}

fn scalar_side(plan: &LogicalPlan, width: usize) -> Option<ScalarSide> {
    if !uses_outer_row(plan) || is_volatile_plan(plan) {
        return None;
    }
    let (value, aggregate) = match plan {
        LogicalPlan::Project { input, exprs, .. } => (exprs.first()?.clone(), &**input),
        aggregate @ LogicalPlan::Aggregate { fields, .. } => {
            (Expr::Column { index: 0, data_type: fields.first()?.data_type }, aggregate)
        }
        _ => return None,
    };
    let LogicalPlan::Aggregate { input, group_by, aggregates, fields } = aggregate else { return None };
    if !group_by.is_empty() || has_subquery(&value) || !aggregates.iter().all(is_movable) {
        return None;
    }
    let pulled = pull((**input).clone(), false)?;
    let keys = pulled.conditions.iter().map(equality).collect::<Option<Vec<Key>>>()?;
    let mut on = vec![];
    for (position, key) in keys.iter().enumerate() {
        let inner = Expr::Column { index: position, data_type: key.inner.data_type() };
        let args = if key.inner_first { vec![inner, key.outer.clone()] } else { vec![key.outer.clone(), inner] };
        on.push(join_condition(Expr::Call { function: key.function.clone(), args }, width));
    }
    let group_fields = keys.iter().map(|key| Field { name: "?column?".into(), data_type: key.inner.data_type() });
    let fields = group_fields.chain(fields.iter().cloned()).collect();
    let count = keys.len();
    let mut right = LogicalPlan::Aggregate {
        input: Box::new(pulled.plan),
        group_by: keys.into_iter().map(|key| key.inner).collect(),
        aggregates: aggregates.clone(),
        fields,
    };
    drop_level(&mut right);
    Some(ScalarSide { right, on, value: join_condition(over_groups(value, aggregates, count), width) })
}

/// The value over the grouped aggregate's row: aggregates follow `groups` keys, and counts of nothing are 0.
fn over_groups(mut value: Expr, aggregates: &[AggregateCall], groups: usize) -> Expr {
    walk::rewrite(&mut value, 0, &mut |expr, depth| match expr {
        Expr::Column { index, data_type } if depth == 0 => {
            let column = Expr::Column { index: groups + index, data_type: *data_type };
            let zero = Expr::Literal { value: Value::BigInt(0), data_type: DataType::BigInt };
            Some(match aggregates.get(*index).map(|call| call.aggregate.kind) {
                Some(AggregateKind::Count | AggregateKind::CountRows) => {
                    Expr::Coalesce { args: vec![column, zero], data_type: *data_type }
                }
                _ => column,
            })
        }
        _ => None,
    });
    value
}

/// An aggregate that may be computed for groups that nobody asks for.
fn is_movable(call: &AggregateCall) -> bool {
    call.aggregate.kind != AggregateKind::Other
        && walk::of_aggregate(call).into_iter().all(|expr| cannot_fail(expr) && !expr_uses_outer_row(expr))
}

/// Whether evaluating `expr` never raises an error.
fn cannot_fail(expr: &Expr) -> bool {
    let itself = match expr {
        Expr::Call { function, .. } => match function.op {
            Some(Operator::Add | Operator::Subtract | Operator::Multiply) => {
                matches!(function.returns, DataType::Numeric(_))
            }
            Some(op) => op.is_comparison() || op == Operator::Concat,
            None => false,
        },
        Expr::Cast { input, to } => is_widening(input.data_type(), *to),
        Expr::Subquery(_) | Expr::Subplan(_) | Expr::Sequence { .. } => false,
        _ => true,
    };
    itself && walk::children(expr).all(cannot_fail)
}

fn is_widening(from: DataType, to: DataType) -> bool {
    use DataType as T;
    matches!(
        (from, to),
        (T::SmallInt, T::Integer | T::BigInt)
            | (T::Integer, T::BigInt)
            | (T::SmallInt | T::Integer | T::BigInt | T::Numeric(_), T::Numeric(None))
            | (T::SmallInt | T::Integer | T::BigInt | T::Real, T::Double)
            | (T::Varchar(_) | T::Text, T::Text | T::Varchar(None))
            | (T::Cidr, T::Inet)
    )
}

/// A correlation `inner = outer`.
struct Key {
    function: Arc<Function>,
    inner: Expr,
    outer: Expr,
    inner_first: bool,
}

fn equality(condition: &Expr) -> Option<Key> {
    let Expr::Call { function, args } = condition else { return None };
    let [first, second] = args.as_slice() else { return None };
    if function.op != Some(Operator::Equal) || has_subquery(condition) {
        return None;
    }
    let inner_first = expr_uses_outer_row(second);
    let (inner, outer) = if inner_first { (first, second) } else { (second, first) };
    if expr_uses_outer_row(inner) || !used_columns(outer).is_empty() {
        return None;
    }
    Some(Key { function: function.clone(), inner: inner.clone(), outer: outer.clone(), inner_first })
}
