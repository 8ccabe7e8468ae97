//! Chooses how to read a table, and makes the physical node of it.

use super::access::{AccessPath, TableShape, paths};
use super::both::pairs;
use crate::Result;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::has_subquery;
use crate::plan::logical::{SortKey, scanned_fields};
use crate::plan::number::node_exprs;
use crate::plan::order::Order;
use crate::plan::physical::{Estimate, ItemCondition, KeyBound, KeyRange, PhysicalNode as N};
use crate::plan::planner::{ExprCost, Planned, Planner};
use crate::plan::statistics::cost;
use crate::plan::statistics::estimate::ColumnInfo;

/// Of more ranges it does not matter how large they are.
const ASKED_MAX: usize = 4;

/// An order that is wanted, and of how many rows.
#[derive(Clone, Copy)]
pub(in crate::plan) struct Wanted<'k> {
    pub(in crate::plan) keys: &'k [SortKey],
    /// So many of the keys, the first ones, may come in any order that has equal rows together.
    pub(in crate::plan) gathered: usize,
    /// As many rows (or groups) as will be read, if that is known.
    pub(in crate::plan) rows: Option<f64>,
    pub(in crate::plan) without: Without,
}

/// What is done where rows do not come in the order that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) enum Without {
    /// They are sorted.
    Sort,
    /// Those that are alike are found by hashing.
    Hash,
}

impl<'k> Wanted<'k> {
    /// To be sorted otherwise.
    pub(in crate::plan) fn sorted(keys: &'k [SortKey], rows: Option<f64>) -> Wanted<'k> {
        Wanted { keys, gathered: 0, rows, without: Without::Sort }
    }

    /// How many of the keys rows in this order have, from the first on.
    pub(in crate::plan) fn covered_by(&self, order: &Order) -> usize {
        order.covers(self.keys, self.gathered)
    }

    /// Of how many rows, or groups, as many as are wanted are read.
    pub(in crate::plan) fn results(&self, planned: &Planned) -> f64 {
        match self.without {
            Without::Sort => planned.rows(),
            Without::Hash => groups_of(self.keys.iter().map(|key| &key.expr), &planned.columns, planned.rows()),
        }
    }

    /// What it costs to have as much as is wanted in the order, of which `covered` keys are there, of rows of such columns.
    pub(in crate::plan) fn cost(&self, estimate: Estimate, covered: usize, columns: &[ColumnInfo]) -> f64 {
        let rows = estimate.rows.max(1.0);
        let alike = match self.without {
            Without::Sort => &self.keys[..covered],
            Without::Hash => self.keys,
        };
        let groups = groups_of(alike.iter().map(|key| &key.expr), columns, rows);
        let each = rows / groups;
        let run = |share: f64| estimate.startup + (estimate.total - estimate.startup) * share.clamp(0.0, 1.0);
        match (self.without, covered) {
            (Without::Sort, covered) if covered == self.keys.len() => {
                run(self.rows.map_or(1.0, |wanted| wanted / rows))
            }
            (Without::Sort, 0) => estimate.total + cost::sort(rows, self.rows.unwrap_or(rows)),
            // Group after group is sorted, until there are enough.
            (Without::Sort, _) => {
                let share = self.rows.map_or(1.0, |wanted| ((wanted + each) / rows).min(1.0));
                run(share) + share * (groups * cost::sort(each, each) + rows * cost::OPERATOR)
            }
            (Without::Hash, covered) if covered == self.keys.len() => {
                let share = self.rows.map_or(1.0, |wanted| (wanted * each / rows).min(1.0));
                run(share) + share * rows * cost::OPERATOR
            }
            (Without::Hash, _) => estimate.total + cost::hash_groups(rows, groups),
        }
    }
}

/// How many different values the keys' expressions have together, of `rows` rows.
pub(in crate::plan) fn groups_of<'e>(exprs: impl Iterator<Item = &'e Expr>, columns: &[ColumnInfo], rows: f64) -> f64 {
    let distinct = |expr: &Expr| match column_index(expr).and_then(|index| columns.get(index)) {
        Some(info) => info.distinct,
        None => ColumnInfo::computed(expr.data_type(), rows).distinct,
    };
    exprs.map(distinct).product::<f64>().clamp(1.0, rows.max(1.0))
}

impl Planner<'_> {
    /// The cheapest way to read the table. With an order wanted, the cost of sorting counts where the path does not
    /// give it; the second result says how many of its keys the path gives.
    pub(in crate::plan) fn scan(&mut self, shape: &TableShape, wanted: Option<Wanted<'_>>) -> Result<(Planned, usize)> {
        let infos = shape.infos();
        let mut best: Option<(f64, AccessPath, Direction)> = None;
        let paths = self.paths(shape);
        self.note_ranges(shape, &paths, wanted.is_some());
        for path in paths {
            let direction = wanted.map_or(Direction::default(), |wanted| self.direction(shape, &path, wanted));
            let cost =
                wanted.map_or(path.estimate.total, |wanted| wanted.cost(path.estimate, direction.covered, &infos));
            // At most one row by key is never worth less than a scan of a table that was small at the last ANALYZE.
            let better = |(least, chosen, _): &(f64, AccessPath, _)| match (path.point, chosen.point) {
                (a, b) if a == b => cost < *least,
                (point, _) => point,
            };
            if best.as_ref().is_none_or(better) {
                best = Some((cost, path, direction));
            }
        }
        let (cost, path, direction) = best.ok_or_else(|| crate::Error::internal("a table without access path"))?;
        let in_parts = |wanted: Wanted<'_>| wanted.cost(path.estimate, 0, &infos) - path.estimate.total;
        if !path.point
            && let Some(parts) = self.any_of(shape, cost - wanted.map_or(0.0, in_parts))?
        {
            return Ok((parts, 0));
        }
        Ok((self.scan_node(shape, path, direction.reverse)?, direction.covered))
    }

    /// Notes the ranges of parameters that one of the paths answers, where the best path, or a join above it, may hang on them: of a table
    /// on its own that lies in the order of the only key that answers anything it does not.
    fn note_ranges(&mut self, shape: &TableShape, paths: &[AccessPath], is_ordered: bool) {
        let answers = |path: &AccessPath| !path.answered.is_empty() || !path.narrowed.is_empty();
        let may_choose = is_ordered || paths.iter().any(|path| path.index.is_some() && answers(path));
        if !may_choose && !self.may_join {
            return;
        }
        let of_parameters = |condition: &Expr| match condition {
            Expr::Call { args, .. } => args.iter().any(|arg| matches!(arg, Expr::Parameter { .. })),
            _ => false,
        };
        if !shape.conditions.iter().any(of_parameters) {
            return;
        }
        let known = shape.known();
        let is_answered =
            |place: &usize| paths.iter().any(|path| path.answered.contains(place) || path.narrowed.contains(place));
        for range in (0..shape.conditions.len()).filter(is_answered).filter_map(|place| known.asked_range(place)) {
            if self.asked.len() < ASKED_MAX && !self.asked.iter().any(|noted| noted.is_like(&range)) {
                self.asked.push(range);
            }
        }
    }

    /// All paths, and those of two indexes.
    fn paths(&self, shape: &TableShape) -> Vec<AccessPath> {
        let mut paths = paths(shape, self.options.indexes);
        if self.options.indexes && self.options.rewrites {
            paths.extend(pairs(shape, &paths));
        }
        paths
    }

    /// Which way to read a path for an order, and how many of its keys that gives.
    fn direction(&self, shape: &TableShape, path: &AccessPath, wanted: Wanted<'_>) -> Direction {
        if !self.options.indexes {
            return Direction::default();
        }
        let order = path.order(shape);
        let forward = wanted.covered_by(&order);
        // (Rows of posting lists come in the order of their keys only.)
        let backward = if path.items.is_some() { 0 } else { wanted.covered_by(&order.reversed()) };
        let direction = Direction { reverse: backward > forward, covered: forward.max(backward) };
        // (An index that gives the whole order is a matter of `indexes` alone.)
        let is_whole = direction.covered == wanted.keys.len() && wanted.without == Without::Sort;
        if self.options.ordering || is_whole { direction } else { Direction::default() }
    }

    /// The node that follows one path.
    pub(super) fn scan_node(&mut self, shape: &TableShape, path: AccessPath, reverse: bool) -> Result<Planned> {
        let rest = shape.conditions.iter().enumerate().filter(|(place, _)| !path.answered.contains(place));
        let filter = self.predicate(rest.map(|(_, condition)| condition.clone()).collect())?;
        let ranges = path.ranges.into_iter().map(|range| self.range(range)).collect::<Result<Vec<_>>>()?;
        let both = match path.both {
            Some((index, ranges)) => {
                Some((index, ranges.into_iter().map(|range| self.range(range)).collect::<Result<Vec<_>>>()?))
            }
            None => None,
        };
        let (table, columns) = (shape.table.clone(), shape.columns.clone());
        let fields = scanned_fields(&table, &columns);
        let node = match (path.index, path.items) {
            (index, _) if path.point => {
                let key = ranges.into_iter().next().map(|range| range.prefix).unwrap_or_default();
                N::PointGet { table, index, columns, key, filter }
            }
            (Some(index), Some(items)) => {
                let mut item = |item: &ItemCondition| {
                    Ok::<_, crate::Error>(ItemCondition { value: self.expr(item.value.clone())?, ..item.clone() })
                };
                let items = items.try_map(&mut item)?;
                N::ItemScan { table, index, columns, items, filter }
            }
            (None, _) => N::TableScan { table, columns, fields: vec![], ranges, filter, reverse },
            (Some(index), None) => {
                let covering = path.covering;
                N::IndexScan { table, index, columns, ranges, filter, reverse, covering, firsts: 0, both }
            }
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

/// Which way a path is read, and how many of the keys that are wanted it gives.
#[derive(Clone, Copy, Default)]
struct Direction {
    reverse: bool,
    covered: usize,
}

/// A plain column's index.
pub(in crate::plan) fn column_index(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column { index, .. } => Some(*index),
        _ => None,
    }
}
