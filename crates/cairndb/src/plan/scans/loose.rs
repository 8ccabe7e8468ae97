//! The different values of columns that an index begins with: of the entries that begin with the same, the first one.
//!
//! Where the executor meets many in a row it looks for the next value in the tree, in place of going through them
//! (`exec/scan/firsts.rs`). The condition's columns may stand before those that are asked for, if each has one value.

use super::access::{AccessPath, TableShape, paths, table_width};
use super::scan::groups_of;
use crate::Result;
use crate::functions::AggregateKind;
use crate::plan::expressions::expr::{AggregateCall, Expr};
use crate::plan::expressions::refs::has_subquery;
use crate::plan::logical::LogicalPlan;
use crate::plan::physical::PhysicalNode as N;
use crate::plan::planner::{Planned, Planner};
use crate::plan::statistics::cost;

impl Planner<'_> {
    /// The different values of the one column that all aggregates are of, each said to be DISTINCT, if that costs less than
    /// telling them apart here; they need not be DISTINCT any more.
    pub(in crate::plan) fn distinct_values(
        &mut self,
        input: &LogicalPlan,
        group_by: &[Expr],
        aggregates: &mut [AggregateCall],
    ) -> Result<Option<Planned>> {
        let Some(column) = only_distinct(aggregates).filter(|_| group_by.is_empty()).cloned() else { return Ok(None) };
        let Some(shape) = TableShape::of(input).filter(|shape| !shape.conditions.iter().any(has_subquery)) else {
            return Ok(None);
        };
        let (whole, _) = self.scan(&shape, None)?;
        let different = groups_of(std::iter::once(&column), &whole.columns, whole.rows());
        let limit = whole.estimate().total + cost::hash_groups(whole.rows(), different);
        let found = self.firsts(&shape, std::slice::from_ref(&column), limit)?;
        if found.is_some() {
            aggregates.iter_mut().for_each(|call| call.distinct = false);
        }
        Ok(found)
    }

    /// The rows that a plan of plain columns of a table would give, each once, if an index has them so.
    pub(in crate::plan) fn loose(&mut self, input: &LogicalPlan) -> Result<Option<Planned>> {
        let (below, exprs, fields) = match input {
            LogicalPlan::Project { input, exprs, fields } => (&**input, exprs, fields),
            _ => return Ok(None),
        };
        let is_column = |expr: &Expr| matches!(expr, Expr::Column { .. });
        let Some(shape) = TableShape::of(below).filter(|_| exprs.iter().all(is_column)) else { return Ok(None) };
        if shape.conditions.iter().any(has_subquery) {
            return Ok(None);
        }
        let Some(scan) = self.firsts(&shape, exprs, f64::MAX)? else { return Ok(None) };
        self.project(scan, exprs.clone(), fields.clone()).map(Some)
    }

    /// One row of a table for each combination of these columns' values.
    fn firsts(&mut self, shape: &TableShape, columns: &[Expr], limit: f64) -> Result<Option<Planned>> {
        if !self.options.indexes || !self.options.rewrites || !self.options.ordering {
            return Ok(None);
        }
        let infos = shape.infos();
        let mut best: Option<(f64, f64, AccessPath, usize)> = None;
        for path in paths(shape, true) {
            let Some(parts) = leading_parts(shape, &path, columns) else { continue };
            let groups = groups_of(columns.iter(), &infos, path.matched);
            let through = path.matched * (cost::sequential(1.0, table_width(&shape.table).min(16.0)) + cost::ENTRY);
            let total = cost::LOOKUP + through.min(groups * cost::LOOKUP) + groups * cost::COVERED;
            if total < best.as_ref().map_or(limit, |(least, ..)| *least) {
                best = Some((total, groups, path, parts));
            }
        }
        let Some((total, groups, path, parts)) = best else { return Ok(None) };
        let mut planned = self.scan_node(shape, path, false)?;
        let plan = std::sync::Arc::make_mut(&mut planned.plan);
        let N::IndexScan { firsts, .. } = &mut plan.node else { return Ok(None) };
        *firsts = parts;
        (plan.estimate.total, plan.estimate.rows) = (total, groups);
        planned.columns.iter_mut().for_each(|column| *column = column.clone().within(groups));
        Ok(Some(planned))
    }
}

/// With how many of its parts the path's keys say all that the columns are, if they do, and its entries are all rows asked for.
fn leading_parts(shape: &TableShape, path: &AccessPath, columns: &[Expr]) -> Option<usize> {
    let is_whole = path.covering && path.answered.len() == shape.conditions.len() && path.items.is_none();
    let [range] = path.ranges.as_slice() else { return None };
    if !is_whole || path.point || path.index.is_none() || range.prefix.len() != path.fixed {
        return None;
    }
    let mut wanted = vec![];
    for column in columns {
        let Expr::Column { index, .. } = column else { return None };
        wanted.push(*shape.columns.get(*index)?);
    }
    let free = path.key.get(path.fixed..)?;
    let parts = free.iter().take_while(|part| wanted.contains(&part.column)).count();
    let told = &path.key[..path.fixed + parts];
    let all = wanted.iter().all(|column| told.iter().any(|part| part.column == *column));
    (all && parts > 0).then_some(told.len())
}

/// The column that all the aggregates are of, if all are DISTINCT and of it alone.
fn only_distinct(aggregates: &[AggregateCall]) -> Option<&Expr> {
    let mut only: Option<&Expr> = None;
    for AggregateCall { aggregate, args, distinct, filter, order_by } in aggregates {
        let is_known = matches!(aggregate.kind, AggregateKind::Count | AggregateKind::Sum | AggregateKind::Avg);
        let ([column @ Expr::Column { index, .. }], true, None, true, true) =
            (args.as_slice(), *distinct, filter, order_by.is_empty(), is_known)
        else {
            return None;
        };
        if only.is_some_and(|only| !matches!(only, Expr::Column { index: known, .. } if known == index)) {
            return None;
        }
        only = Some(column);
    }
    only
}
