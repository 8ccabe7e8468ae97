//! Visits and rewrites the expressions of expressions and logical plans.
//!
//! `depth` counts the rows pushed between the starting point and the place visited: a subquery and the right side of a
//! lateral join each push one. Seen from the starting row, `Column` is that row's at depth 0, and
//! `Outer { level: depth }` is it at a greater depth; `Outer` with a higher level lies outside.

use std::slice;
use std::sync::Arc;

use super::expr::{AggregateCall, Expr, Subquery, SubqueryKind};
use super::window::WindowCall;
use crate::plan::logical::LogicalPlan;

/// The expressions directly inside one, in order.
pub(crate) struct Children<'e> {
    first: Option<&'e Expr>,
    list: slice::Iter<'e, Expr>,
    pairs: slice::Iter<'e, (Expr, Expr)>,
    /// The other of a pair.
    second: Option<&'e Expr>,
    last: Option<&'e Expr>,
}

impl<'e> Children<'e> {
    fn new(first: Option<&'e Expr>, list: &'e [Expr], last: Option<&'e Expr>) -> Children<'e> {
        let pairs = [].iter();
        Children { first, list: list.iter(), pairs, second: None, last }
    }
}

impl<'e> Iterator for Children<'e> {
    type Item = &'e Expr;

    fn next(&mut self) -> Option<&'e Expr> {
        if let Some(next) = self.first.take().or_else(|| self.list.next()).or_else(|| self.second.take()) {
            return Some(next);
        }
        match self.pairs.next() {
            Some((first, second)) => {
                self.second = Some(second);
                Some(first)
            }
            None => self.last.take(),
        }
    }
}

/// The expressions directly inside (not those of a subquery's plan).
pub(crate) fn children(expr: &Expr) -> Children<'_> {
    let none = || Children::new(None, &[], None);
    match expr {
        Expr::Literal { .. }
        | Expr::Column { .. }
        | Expr::Outer { .. }
        | Expr::Parameter { .. }
        | Expr::Shared { .. } => none(),
        Expr::Call { args, .. } | Expr::And(args) | Expr::Or(args) | Expr::Coalesce { args, .. } => {
            Children::new(None, args, None)
        }
        Expr::Cast { input, .. } | Expr::Not(input) | Expr::IsNull(input) => {
            Children { first: Some(&**input), ..none() }
        }
        Expr::IsNotDistinct(left, right) | Expr::Let { value: left, body: right, .. } => {
            Children { first: Some(&**left), last: Some(&**right), ..none() }
        }
        Expr::Case { branches, otherwise, .. } => {
            let pairs = branches.iter();
            Children { pairs, last: otherwise.as_deref(), ..none() }
        }
        Expr::InList { input, list, .. } => Children::new(Some(&**input), list, None),
        Expr::Subquery(subquery) => Children::new(None, kind_children(&subquery.kind), None),
        Expr::Subplan(subplan) => Children::new(None, kind_children(&subplan.kind), None),
        Expr::Sequence { name, value, .. } => Children { first: Some(&**name), last: value.as_deref(), ..none() },
    }
}

fn kind_children(kind: &SubqueryKind) -> &[Expr] {
    match kind {
        SubqueryKind::Quantified { left, .. } => left,
        SubqueryKind::Scalar { .. } | SubqueryKind::Exists => &[],
    }
}

/// As [`Children`], to change them.
pub(crate) struct ChildrenMut<'e> {
    first: Option<&'e mut Expr>,
    list: slice::IterMut<'e, Expr>,
    pairs: slice::IterMut<'e, (Expr, Expr)>,
    /// The other of a pair.
    second: Option<&'e mut Expr>,
    last: Option<&'e mut Expr>,
}

impl<'e> ChildrenMut<'e> {
    fn new(first: Option<&'e mut Expr>, list: &'e mut [Expr], last: Option<&'e mut Expr>) -> ChildrenMut<'e> {
        let pairs = [].iter_mut();
        ChildrenMut { first, list: list.iter_mut(), pairs, second: None, last }
    }
}

impl<'e> Iterator for ChildrenMut<'e> {
    type Item = &'e mut Expr;

    fn next(&mut self) -> Option<&'e mut Expr> {
        if let Some(next) = self.first.take().or_else(|| self.list.next()).or_else(|| self.second.take()) {
            return Some(next);
        }
        match self.pairs.next() {
            Some((first, second)) => {
                self.second = Some(second);
                Some(first)
            }
            None => self.last.take(),
        }
    }
}

/// As [`children`], to change them.
pub(crate) fn children_mut(expr: &mut Expr) -> ChildrenMut<'_> {
    let none = || ChildrenMut::new(None, &mut [], None);
    match expr {
        Expr::Literal { .. }
        | Expr::Column { .. }
        | Expr::Outer { .. }
        | Expr::Parameter { .. }
        | Expr::Shared { .. } => none(),
        Expr::Call { args, .. } | Expr::And(args) | Expr::Or(args) | Expr::Coalesce { args, .. } => {
            ChildrenMut::new(None, args, None)
        }
        Expr::Cast { input, .. } | Expr::Not(input) | Expr::IsNull(input) => {
            ChildrenMut { first: Some(&mut **input), ..none() }
        }
        Expr::IsNotDistinct(left, right) | Expr::Let { value: left, body: right, .. } => {
            ChildrenMut { first: Some(&mut **left), last: Some(&mut **right), ..none() }
        }
        Expr::Case { branches, otherwise, .. } => {
            let pairs = branches.iter_mut();
            ChildrenMut { pairs, last: otherwise.as_deref_mut(), ..none() }
        }
        Expr::InList { input, list, .. } => ChildrenMut::new(Some(&mut **input), list, None),
        Expr::Subquery(subquery) => ChildrenMut::new(None, kind_children_mut(&mut subquery.kind), None),
        Expr::Subplan(subplan) => ChildrenMut::new(None, kind_children_mut(&mut subplan.kind), None),
        Expr::Sequence { name, value, .. } => {
            ChildrenMut { first: Some(&mut **name), last: value.as_deref_mut(), ..none() }
        }
    }
}

fn kind_children_mut(kind: &mut SubqueryKind) -> &mut [Expr] {
    match kind {
        SubqueryKind::Quantified { left, .. } => left,
        SubqueryKind::Scalar { .. } | SubqueryKind::Exists => &mut [],
    }
}

fn aggregate_exprs(call: &AggregateCall) -> impl Iterator<Item = &Expr> {
    call.args.iter().chain(&call.filter).chain(call.order_by.iter().map(|key| &key.expr))
}

fn aggregate_exprs_mut(call: &mut AggregateCall) -> impl Iterator<Item = &mut Expr> {
    call.args.iter_mut().chain(&mut call.filter).chain(call.order_by.iter_mut().map(|key| &mut key.expr))
}

/// The expressions of one aggregate call.
pub(crate) fn of_aggregate(call: &AggregateCall) -> Vec<&Expr> {
    aggregate_exprs(call).collect()
}

/// As [`of_aggregate`], to change them.
pub(crate) fn of_aggregate_mut(call: &mut AggregateCall) -> Vec<&mut Expr> {
    aggregate_exprs_mut(call).collect()
}

/// The expressions of the plan's top node.
pub(crate) fn node_exprs(plan: &LogicalPlan) -> Vec<&Expr> {
    match plan {
        LogicalPlan::Values { rows, .. } => rows.iter().flatten().collect(),
        LogicalPlan::Filter { predicate, .. } => vec![predicate],
        LogicalPlan::Project { exprs, .. } => exprs.iter().collect(),
        LogicalPlan::Join { on, .. } => on.iter().collect(),
        LogicalPlan::Aggregate { group_by, aggregates, .. } => {
            group_by.iter().chain(aggregates.iter().flat_map(aggregate_exprs)).collect()
        }
        LogicalPlan::Window { partition_by, order_by, calls, .. } => {
            let order = order_by.iter().map(|key| &key.expr);
            partition_by.iter().chain(order).chain(calls.iter().flat_map(WindowCall::exprs)).collect()
        }
        LogicalPlan::Sort { keys, .. } => keys.iter().map(|key| &key.expr).collect(),
        LogicalPlan::Limit { limit, offset, ties, .. } => {
            limit.iter().chain(offset).chain(ties.iter().map(|key| &key.expr)).collect()
        }
        LogicalPlan::Distinct { on, .. } => on.iter().collect(),
        LogicalPlan::TableFunction { call, .. } => vec![call],
        LogicalPlan::Scan { .. }
        | LogicalPlan::SystemScan { .. }
        | LogicalPlan::SetOperation { .. }
        | LogicalPlan::With { .. }
        | LogicalPlan::RecursiveWith { .. }
        | LogicalPlan::Modify { .. }
        | LogicalPlan::CteScan { .. } => vec![],
    }
}

/// As [`node_exprs`], to change them.
pub(crate) fn node_exprs_mut(plan: &mut LogicalPlan) -> Vec<&mut Expr> {
    match plan {
        LogicalPlan::Values { rows, .. } => rows.iter_mut().flatten().collect(),
        LogicalPlan::Filter { predicate, .. } => vec![predicate],
        LogicalPlan::Project { exprs, .. } => exprs.iter_mut().collect(),
        LogicalPlan::Join { on, .. } => on.iter_mut().collect(),
        LogicalPlan::Aggregate { group_by, aggregates, .. } => {
            group_by.iter_mut().chain(aggregates.iter_mut().flat_map(aggregate_exprs_mut)).collect()
        }
        LogicalPlan::Window { partition_by, order_by, calls, .. } => {
            let order = order_by.iter_mut().map(|key| &mut key.expr);
            partition_by.iter_mut().chain(order).chain(calls.iter_mut().flat_map(WindowCall::exprs_mut)).collect()
        }
        LogicalPlan::Sort { keys, .. } => keys.iter_mut().map(|key| &mut key.expr).collect(),
        LogicalPlan::Limit { limit, offset, ties, .. } => {
            limit.iter_mut().chain(offset).chain(ties.iter_mut().map(|key| &mut key.expr)).collect()
        }
        LogicalPlan::Distinct { on, .. } => on.iter_mut().collect(),
        LogicalPlan::TableFunction { call, .. } => vec![call],
        LogicalPlan::Scan { .. }
        | LogicalPlan::SystemScan { .. }
        | LogicalPlan::SetOperation { .. }
        | LogicalPlan::With { .. }
        | LogicalPlan::RecursiveWith { .. }
        | LogicalPlan::Modify { .. }
        | LogicalPlan::CteScan { .. } => vec![],
    }
}

/// The plan's inputs, each with the number of rows pushed for it (1 for a lateral right side).
pub(crate) fn inputs(plan: &LogicalPlan) -> Vec<(&LogicalPlan, usize)> {
    match plan {
        LogicalPlan::Values { .. }
        | LogicalPlan::Scan { .. }
        | LogicalPlan::CteScan { .. }
        | LogicalPlan::SystemScan { .. }
        | LogicalPlan::TableFunction { .. } => vec![],
        LogicalPlan::Filter { input, .. }
        | LogicalPlan::Project { input, .. }
        | LogicalPlan::Aggregate { input, .. }
        | LogicalPlan::Window { input, .. }
        | LogicalPlan::Sort { input, .. }
        | LogicalPlan::Limit { input, .. }
        | LogicalPlan::Distinct { input, .. }
        | LogicalPlan::Modify { input, .. } => vec![(input, 0)],
        LogicalPlan::Join { left, right, lateral, .. } => vec![(left, 0), (right, usize::from(*lateral))],
        LogicalPlan::SetOperation { left, right, .. } => vec![(left, 0), (right, 0)],
        LogicalPlan::With { definition, body, .. } => vec![(definition, 0), (body, 0)],
        LogicalPlan::RecursiveWith { base, step, body, .. } => vec![(base, 0), (step, 0), (body, 0)],
    }
}

/// As [`inputs`], to change them.
pub(crate) fn inputs_mut(plan: &mut LogicalPlan) -> Vec<(&mut LogicalPlan, usize)> {
    match plan {
        LogicalPlan::Values { .. }
        | LogicalPlan::Scan { .. }
        | LogicalPlan::CteScan { .. }
        | LogicalPlan::SystemScan { .. }
        | LogicalPlan::TableFunction { .. } => vec![],
        LogicalPlan::Filter { input, .. }
        | LogicalPlan::Project { input, .. }
        | LogicalPlan::Aggregate { input, .. }
        | LogicalPlan::Window { input, .. }
        | LogicalPlan::Sort { input, .. }
        | LogicalPlan::Limit { input, .. }
        | LogicalPlan::Distinct { input, .. }
        | LogicalPlan::Modify { input, .. } => vec![(input, 0)],
        LogicalPlan::Join { left, right, lateral, .. } => vec![(left, 0), (right, usize::from(*lateral))],
        LogicalPlan::SetOperation { left, right, .. } => vec![(left, 0), (right, 0)],
        LogicalPlan::With { definition, body, .. } => vec![(definition, 0), (body, 0)],
        LogicalPlan::RecursiveWith { base, step, body, .. } => vec![(base, 0), (step, 0), (body, 0)],
    }
}

/// Calls `visit` on every expression in `expr`, itself first, with its depth; subqueries included.
pub(crate) fn walk(expr: &Expr, depth: usize, visit: &mut dyn FnMut(&Expr, usize)) {
    visit(expr, depth);
    for child in children(expr) {
        walk(child, depth, visit);
    }
    if let Expr::Subquery(subquery) = expr {
        walk_plan(&subquery.plan, depth + 1, visit);
    }
}

/// Calls `visit` on every expression in the plan.
pub(crate) fn walk_plan(plan: &LogicalPlan, depth: usize, visit: &mut dyn FnMut(&Expr, usize)) {
    for expr in node_exprs(plan) {
        walk(expr, depth, visit);
    }
    for (input, pushed) in inputs(plan) {
        walk_plan(input, depth + pushed, visit);
    }
}

/// Replaces expressions from the top: where `replace` returns one, its inside is not visited again.
pub(crate) fn rewrite(expr: &mut Expr, depth: usize, replace: &mut dyn FnMut(&Expr, usize) -> Option<Expr>) {
    if let Some(new) = replace(expr, depth) {
        *expr = new;
        return;
    }
    for child in children_mut(expr) {
        rewrite(child, depth, replace);
    }
    if let Expr::Subquery(subquery) = expr {
        let Subquery { plan, .. } = &mut **subquery;
        rewrite_plan(Arc::make_mut(plan), depth + 1, replace);
    }
}

/// As [`rewrite`], for every expression in the plan.
pub(crate) fn rewrite_plan(
    plan: &mut LogicalPlan,
    depth: usize,
    replace: &mut dyn FnMut(&Expr, usize) -> Option<Expr>,
) {
    for expr in node_exprs_mut(plan) {
        rewrite(expr, depth, replace);
    }
    for (input, pushed) in inputs_mut(plan) {
        rewrite_plan(input, depth + pushed, replace);
    }
}

/// What of a plan decides which stages of the optimizer have something to do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// The longest path down through plans and expressions.
    pub(crate) depth: usize,
    /// Joins.
    pub(crate) joins: bool,
    /// WITH queries.
    pub(crate) with: bool,
    /// Queries in expressions.
    pub(crate) subqueries: bool,
    /// A projection (or a grouping) that another reads, or a filter.
    pub(crate) nested: bool,
}

impl Facts {
    /// Of a plan, queries in its expressions included.
    pub(crate) fn of(plan: &LogicalPlan) -> Facts {
        let mut facts = Facts::default();
        facts.depth = facts.add_plan(plan, false);
        facts
    }

    /// The plan's depth; `below`: under a projection or a filter.
    fn add_plan(&mut self, plan: &LogicalPlan, below: bool) -> usize {
        let computes = matches!(plan, LogicalPlan::Project { .. } | LogicalPlan::Aggregate { .. });
        self.nested |= below && computes;
        match plan {
            LogicalPlan::Join { .. } => self.joins = true,
            LogicalPlan::With { .. } | LogicalPlan::RecursiveWith { .. } => self.with = true,
            _ => {}
        }
        let exprs = node_exprs(plan).into_iter().map(|expr| self.add_expr(expr)).max().unwrap_or(0);
        let below = below || computes || matches!(plan, LogicalPlan::Filter { .. });
        let inputs = inputs(plan).into_iter();
        let inputs = inputs.map(|(input, _)| self.add_plan(input, below)).max().unwrap_or(0);
        1 + exprs.max(inputs)
    }

    fn add_expr(&mut self, expr: &Expr) -> usize {
        let below = children(expr).map(|child| self.add_expr(child)).max().unwrap_or(0);
        let subquery = match expr {
            Expr::Subquery(subquery) => {
                self.subqueries = true;
                self.add_plan(&subquery.plan, false)
            }
            _ => 0,
        };
        1 + below.max(subquery)
    }
}
