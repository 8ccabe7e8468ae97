//! Moves predicates to where they remove rows soonest, and makes outer joins inner where a predicate says so.
//!
//! A predicate does not pass: LIMIT, DISTINCT ON (unless over its columns), an aggregate (unless over its groups), windows (unless over
//! their partitions' columns), the
//! NULL-extended side of an outer join. A volatile predicate stays where it was written, and none moves through a
//! volatile expression. `strict` are output columns whose NULLs are filtered out above in any case.

use std::collections::BTreeSet;

use super::closure;
use super::cte::take_with;
use super::factor::{factor_or, restriction};
use super::flatten::copies;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::nulls::rejects;
use crate::plan::expressions::refs::{
    conjunction, conjuncts, drop_level, filtered, has_correlated_subquery, has_subquery, identity, is_boolean,
    is_null_literal, is_volatile, mapped, raised_outer, substitute, used_columns, uses_outer_row,
};
use crate::plan::expressions::walk;
use crate::plan::logical::{Field, JoinKind, LogicalPlan, SetOperator};

type Columns = BTreeSet<usize>;

/// Pushes down all predicates of the plan.
pub(in crate::plan) fn push_down(plan: LogicalPlan) -> LogicalPlan {
    push(plan, vec![], &Columns::new())
}

fn push(plan: LogicalPlan, mut conditions: Vec<Expr>, strict: &Columns) -> LogicalPlan {
    if conditions.iter().any(never_true) {
        return nothing(&plan);
    }
    match plan {
        LogicalPlan::Filter { input, predicate } => {
            let parts = conjuncts(predicate).into_iter().flat_map(factor_or);
            let (stay, move_on): (Vec<_>, Vec<_>) = parts.partition(is_volatile);
            conditions.splice(0..0, move_on.into_iter().filter(|part| !is_boolean(part, true)));
            filtered(push(*input, conditions, strict), stay)
        }
        LogicalPlan::Project { input, exprs, fields } => push_project(*input, exprs, fields, conditions, strict),
        LogicalPlan::Join { kind, left, right, on, lateral } => {
            let join = Join { kind, left: *left, right: *right, on: on.map(conjuncts).unwrap_or_default(), lateral };
            join.push(conditions, strict)
        }
        LogicalPlan::Aggregate { input, group_by, aggregates, fields } => {
            let groups = group_by.len();
            let (down, stay): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|condition| {
                groups > 0
                    && !copies(&[condition], &group_by)
                    && used_columns(condition).iter().all(|&column| column < groups && is_movable(&group_by[column]))
            });
            let down = down.into_iter().map(|condition| substituted(condition, &group_by)).collect();
            let input = Box::new(push(*input, down, &Columns::new()));
            filtered(LogicalPlan::Aggregate { input, group_by, aggregates, fields }, stay)
        }
        LogicalPlan::Window { input, partition_by, order_by, calls, fields } => {
            // What is asked of a partition as a whole is asked before.
            let (down, stay): (Vec<_>, Vec<_>) = conditions
                .into_iter()
                .partition(|condition| used_columns(condition).iter().all(|&column| is_key(&partition_by, column)));
            let input = Box::new(push(*input, down, &Columns::new()));
            filtered(LogicalPlan::Window { input, partition_by, order_by, calls, fields }, stay)
        }
        LogicalPlan::Sort { input, keys } => {
            LogicalPlan::Sort { input: Box::new(push(*input, conditions, strict)), keys }
        }
        LogicalPlan::Distinct { input, on } => {
            let (down, stay): (Vec<_>, Vec<_>) = conditions
                .into_iter()
                .partition(|condition| on.is_empty() || used_columns(condition).iter().all(|&c| is_key(&on, c)));
            let input = Box::new(push(*input, down, &Columns::new()));
            filtered(LogicalPlan::Distinct { input, on }, stay)
        }
        LogicalPlan::SetOperation { op, all, left, right } => push_set(op, all, *left, *right, conditions),
        LogicalPlan::With { id, name, materialized, definition, body } => LogicalPlan::With {
            id,
            name,
            materialized,
            definition: Box::new(push_down(*definition)),
            body: Box::new(push(*body, conditions, strict)),
        },
        mut other => {
            for (input, _) in walk::inputs_mut(&mut other) {
                take_with(input, push_down);
            }
            filtered(other, conditions)
        }
    }
}

fn never_true(condition: &Expr) -> bool {
    is_boolean(condition, false) || is_null_literal(condition)
}

/// No rows, of the plan's shape.
fn nothing(plan: &LogicalPlan) -> LogicalPlan {
    LogicalPlan::Values { rows: vec![], fields: plan.fields() }
}

fn is_key(on: &[Expr], column: usize) -> bool {
    on.iter().any(|expr| matches!(expr, Expr::Column { index, .. } if *index == column))
}

fn is_movable(expr: &Expr) -> bool {
    !is_volatile(expr) && !has_subquery(expr)
}

fn substituted(mut condition: Expr, columns: &[Expr]) -> Expr {
    substitute(&mut condition, columns);
    condition
}

fn push_project(
    input: LogicalPlan,
    exprs: Vec<Expr>,
    fields: Vec<Field>,
    conditions: Vec<Expr>,
    strict: &Columns,
) -> LogicalPlan {
    let (down, stay): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|condition| {
        used_columns(condition).iter().all(|&column| exprs.get(column).is_some_and(is_movable))
            && !copies(&[condition], &exprs)
    });
    let down = down.into_iter().map(|condition| substituted(condition, &exprs)).collect();
    let strict = strict.iter().filter_map(|&column| match exprs.get(column) {
        Some(Expr::Column { index, .. }) => Some(*index),
        _ => None,
    });
    let input = Box::new(push(input, down, &strict.collect()));
    filtered(LogicalPlan::Project { input, exprs, fields }, stay)
}

fn push_set(op: SetOperator, all: bool, left: LogicalPlan, right: LogicalPlan, conditions: Vec<Expr>) -> LogicalPlan {
    let (stay, down): (Vec<_>, Vec<_>) = conditions.into_iter().partition(has_subquery);
    let none = Columns::new();
    let left = Box::new(push(left, down.clone(), &none));
    let right = Box::new(push(right, down, &none));
    filtered(LogicalPlan::SetOperation { op, all, left, right }, stay)
}

/// A join being taken apart.
struct Join {
    kind: JoinKind,
    left: LogicalPlan,
    right: LogicalPlan,
    on: Vec<Expr>,
    lateral: bool,
}

/// Where a condition over both rows can go.
#[derive(PartialEq)]
enum Side {
    Left,
    Right,
    Both,
    Neither,
}

impl Join {
    fn left_width(&self) -> usize {
        self.left.width()
    }

    fn side(condition: &Expr, width: usize) -> Side {
        let used = used_columns(condition);
        match (used.iter().any(|&column| column < width), used.iter().any(|&column| column >= width)) {
            (true, true) => Side::Both,
            (true, false) => Side::Left,
            (false, true) => Side::Right,
            (false, false) => Side::Neither,
        }
    }

    fn push(mut self, mut conditions: Vec<Expr>, strict: &Columns) -> LogicalPlan {
        if self.lateral && !uses_outer_row(&self.right) {
            drop_level(&mut self.right);
            self.lateral = false;
        }
        self.on = self.on.into_iter().flat_map(factor_or).collect();
        self.simplify(&conditions, strict);
        match self.kind {
            JoinKind::Inner => {
                let (stay, on): (Vec<_>, Vec<_>) = self.on.drain(..).partition(is_volatile);
                conditions.splice(0..0, on);
                if stay.is_empty() && !self.lateral {
                    lift_inner(&mut self.left, &mut conditions, 0);
                    let width = self.left_width();
                    lift_inner(&mut self.right, &mut conditions, width);
                    conditions = closure::close(conditions);
                }
                self.on = stay;
                self.push_inner(conditions, strict)
            }
            JoinKind::Right => push(self.flipped(), conditions, strict),
            JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti => {
                let join = self.rebuilt(vec![], vec![], &Columns::new(), &Columns::new());
                filtered(join, conditions)
            }
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => self.push_left(conditions, strict),
        }
    }

    /// Makes an outer join less outer where NULLs of its optional side cannot survive what is above.
    fn simplify(&mut self, conditions: &[Expr], strict: &Columns) {
        let width = self.left_width();
        let rejected = |side: &dyn Fn(usize) -> bool| {
            strict.iter().any(|&column| side(column)) || conditions.iter().any(|condition| rejects(condition, side))
        };
        let optional_right = matches!(self.kind, JoinKind::Left | JoinKind::Full);
        let optional_left = matches!(self.kind, JoinKind::Right | JoinKind::Full);
        let right_needed = optional_right && rejected(&|column| column >= width);
        let left_needed = optional_left && rejected(&|column| column < width);
        self.kind = match (self.kind, left_needed, right_needed) {
            (JoinKind::Left, _, true) | (JoinKind::Right, true, _) | (JoinKind::Full, true, true) => JoinKind::Inner,
            (JoinKind::Full, true, false) => JoinKind::Left,
            (JoinKind::Full, false, true) => JoinKind::Right,
            (kind, ..) => kind,
        };
    }

    fn push_inner(mut self, conditions: Vec<Expr>, strict: &Columns) -> LogicalPlan {
        let width = self.left_width();
        let strict = with_rejected(&conditions, strict, width + self.right.width());
        let (mut to_left, mut to_right) = (vec![], vec![]);
        for condition in conditions {
            match Self::side(&condition, width) {
                Side::Left => to_left.push(condition),
                Side::Right => to_right.push(condition),
                Side::Neither if !has_subquery(&condition) => {
                    to_left.push(condition.clone());
                    to_right.push(condition);
                }
                Side::Neither | Side::Both => {
                    to_left.extend(restriction(&condition, &|column| column < width));
                    to_right.extend(restriction(&condition, &|column| column >= width));
                    self.on.push(condition);
                }
            }
        }
        let (left_strict, right_strict) = split(&strict, width);
        self.rebuilt(to_left, to_right, &left_strict, &right_strict)
    }

    /// `Left`, `Semi`, `Anti`: the left side is filtered by what is above, the right side by its part of `on`.
    fn push_left(mut self, conditions: Vec<Expr>, strict: &Columns) -> LogicalPlan {
        let width = self.left_width();
        // What runs a query for each row waits until the join has dropped the rows that have no match.
        let reduces = self.kind != JoinKind::Left;
        let (mut to_left, stay): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|condition| {
            matches!(Self::side(condition, width), Side::Left | Side::Neither)
                && !(reduces && has_correlated_subquery(condition))
        });
        let mut to_right = vec![];
        for part in std::mem::take(&mut self.on) {
            match Self::side(&part, width) {
                Side::Right if !is_volatile(&part) => to_right.push(part),
                Side::Left if self.kind == JoinKind::Semi && !is_volatile(&part) => to_left.push(part),
                _ => self.on.push(part),
            }
        }
        let (left_strict, _) = split(strict, width);
        // A match needs `on` to be true, so the right side's rows that it rejects may go early.
        let right_strict = with_rejected(&self.on, &Columns::new(), width + self.right.width());
        let (_, right_strict) = split(&right_strict, width);
        filtered(self.rebuilt(to_left, to_right, &left_strict, &right_strict), stay)
    }

    fn rebuilt(self, to_left: Vec<Expr>, to_right: Vec<Expr>, left: &Columns, right: &Columns) -> LogicalPlan {
        let width = self.left_width();
        let levels = usize::from(self.lateral);
        let to_right = to_right
            .into_iter()
            .map(|condition| raised_outer(mapped(condition, &|column| column - width), levels))
            .collect();
        LogicalPlan::Join {
            kind: self.kind,
            left: Box::new(push(self.left, to_left, left)),
            right: Box::new(push(self.right, to_right, right)),
            on: conjunction(self.on),
            lateral: self.lateral,
        }
    }

    /// A right join as a left join, under a projection that restores the columns' order.
    fn flipped(self) -> LogicalPlan {
        let (left, right) = (self.left_width(), self.right.width());
        let fields = [self.left.fields(), self.right.fields()].concat();
        let place = |column: usize| if column < left { column + right } else { column - left };
        let on = self.on.into_iter().map(|part| mapped(part, &place)).collect();
        let join = LogicalPlan::Join {
            kind: JoinKind::Left,
            left: Box::new(self.right),
            right: Box::new(self.left),
            on: conjunction(on),
            lateral: false,
        };
        let columns = identity(&join);
        let exprs = (0..fields.len()).map(|column| columns[place(column)].clone()).collect();
        LogicalPlan::Project { input: Box::new(join), exprs, fields }
    }
}

/// The columns of which some condition rejects NULLs, and `strict`.
fn with_rejected(conditions: &[Expr], strict: &Columns, width: usize) -> Columns {
    let mut all = strict.clone();
    for condition in conditions {
        let used = used_columns(condition).into_iter();
        all.extend(used.filter(|&column| column < width && rejects(condition, &|index| index == column)));
    }
    all
}

fn split(columns: &Columns, width: usize) -> (Columns, Columns) {
    let right = columns.iter().filter(|&&column| column >= width).map(|column| column - width).collect();
    (columns.iter().copied().filter(|&column| column < width).collect(), right)
}

/// Takes the conditions of the inner joins and filters at the top of `plan` up, so that they are seen together.
fn lift_inner(plan: &mut LogicalPlan, conditions: &mut Vec<Expr>, offset: usize) {
    match plan {
        LogicalPlan::Filter { predicate, .. } if !is_volatile(predicate) => {
            take_with(plan, |plan| match plan {
                LogicalPlan::Filter { mut input, predicate } => {
                    let parts = conjuncts(predicate).into_iter().flat_map(factor_or);
                    conditions.extend(parts.map(|part| mapped(part, &|column| column + offset)));
                    lift_inner(&mut input, conditions, offset);
                    *input
                }
                other => other,
            });
        }
        LogicalPlan::Join { kind: JoinKind::Inner, left, right, on, lateral: false }
            if !on.as_ref().is_some_and(is_volatile) =>
        {
            let parts = on.take().map(conjuncts).unwrap_or_default().into_iter().flat_map(factor_or);
            conditions.extend(parts.map(|part| mapped(part, &|column| column + offset)));
            lift_inner(left, conditions, offset);
            let width = left.width();
            lift_inner(right, conditions, offset + width);
        }
        _ => {}
    }
}
