//! Chooses how to read a table, and makes the physical node of it.

use super::access::{AccessPath, TableShape, gives_order, paths};
use super::cost;
use super::expr::Expr;
use super::logical::{SortKey, scanned_fields};
use super::number::node_exprs;
use super::physical::{Estimate, ItemCondition, KeyBound, KeyRange, PhysicalNode as N};
use super::planner::{ExprCost, Planned, Planner};
use super::refs::has_subquery;
use crate::Result;

/// An order that is wanted, and of how many rows.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'k> {
    pub(super) keys: &'k [SortKey],
    /// As many rows as will be read, if that is known.
    pub(super) rows: Option<f64>,
}

impl Wanted<'_> {
    /// What it costs to read as much as is wanted of what comes in the order.
    pub(super) fn cost_of_ordered(&self, estimate: Estimate) -> f64 {
        let share = self.rows.map_or(1.0, |rows| (rows / estimate.rows.max(1.0)).clamp(0.0, 1.0));
        estimate.startup + (estimate.total - estimate.startup) * share
    }
}

impl Planner<'_> {
    /// The cheapest way to read the table. With an order wanted, the cost of sorting counts where the path does not
    /// give it; the second result says whether it does.
    pub(super) fn scan(&mut self, shape: &TableShape, wanted: Option<Wanted<'_>>) -> Result<(Planned, bool)> {
        let mut best: Option<(f64, AccessPath, Option<bool>)> = None;
        for path in paths(shape, self.options.indexes) {
            let order = wanted.and_then(|wanted| gives_order(shape, &path, wanted.keys));
            let order = order.filter(|_| self.options.indexes);
            let cost = cost_with_order(&path, wanted, order.is_some());
            // At most one row by key is never worth less than a scan of a table that was small at the last ANALYZE.
            let better = |(least, chosen, _): &(f64, AccessPath, _)| match (path.point, chosen.point) {
                (a, b) if a == b => cost < *least,
                (point, _) => point,
            };
            if best.as_ref().is_none_or(better) {
                best = Some((cost, path, order));
            }
        }
        let (_, path, order) = best.ok_or_else(|| crate::Error::internal("a table without access path"))?;
        let sorted = order.is_some();
        Ok((self.scan_node(shape, path, order.unwrap_or(false))?, sorted))
    }

    /// The node that follows one path.
    fn scan_node(&mut self, shape: &TableShape, path: AccessPath, reverse: bool) -> Result<Planned> {
        let rest = shape.conditions.iter().enumerate().filter(|(place, _)| !path.answered.contains(place));
        let filter = self.predicate(rest.map(|(_, condition)| condition.clone()).collect())?;
        let ranges = path.ranges.into_iter().map(|range| self.range(range)).collect::<Result<Vec<_>>>()?;
        let (table, columns) = (shape.table.clone(), shape.columns.clone());
        let fields = scanned_fields(&table, &columns);
        let node = match path.index {
            index if path.point => {
                let key = ranges.into_iter().next().map(|range| range.prefix).unwrap_or_default();
                N::PointGet { table, index, columns, key, filter }
            }
            Some(index) if !path.items.is_empty() => {
                let item = |item: ItemCondition| Ok(ItemCondition { value: self.expr(item.value)?, ..item });
                let items = path.items.into_iter().map(item).collect::<Result<_>>()?;
                N::ItemScan { table, index, columns, items, filter }
            }
            None => N::TableScan { table, columns, fields: vec![], ranges, filter, reverse },
            Some(index) => N::IndexScan { table, index, columns, ranges, filter, reverse, covering: path.covering },
        };
        let estimate = path.estimate;
        let once = ExprCost::of(node_exprs(&node)).once;
        let subqueries = match &node {
            N::TableScan { filter, .. }
            | N::IndexScan { filter, .. }
            | N::ItemScan { filter, .. }
            | N::PointGet { filter, .. } => ExprCost::of(filter.as_ref().filter(|filter| has_subquery(filter))).row,
            _ => 0.0,
        };
        let startup = estimate.startup + once;
        let total = estimate.total + once + subqueries * path.matched;
        Ok(Planned::new(node, fields, shape.infos(), startup, total, estimate.rows).called(shape.alias.clone()))
    }

    fn range(&mut self, range: KeyRange) -> Result<KeyRange> {
        Ok(KeyRange {
            prefix: self.exprs(range.prefix)?,
            lower: self.bound(range.lower)?,
            upper: self.bound(range.upper)?,
        })
    }

    fn bound(&mut self, bound: Option<KeyBound>) -> Result<Option<KeyBound>> {
        bound.map(|bound| Ok(KeyBound { value: self.expr(bound.value)?, ..bound })).transpose()
    }
}

fn cost_with_order(path: &AccessPath, wanted: Option<Wanted<'_>>, ordered: bool) -> f64 {
    let estimate = path.estimate;
    match wanted {
        None => estimate.total,
        Some(wanted) if ordered => wanted.cost_of_ordered(estimate),
        Some(Wanted { rows, .. }) => estimate.total + cost::sort(estimate.rows, rows.unwrap_or(estimate.rows)),
    }
}

/// A plain column's index.
pub(super) fn column_index(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column { index, .. } => Some(*index),
        _ => None,
    }
}
