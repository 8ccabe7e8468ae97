//! Merge joins: which sides of a join come in the order of the keys that they are joined by, and what that costs.

use super::graph::{InOrder, JoinGraph, Way};
use super::method::{Candidate, Method, Pair};
use crate::Result;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::has_subquery;
use crate::plan::logical::{JoinKind, SortKey};
use crate::plan::order::{Order, order_of};
use crate::plan::physical::Estimate;
use crate::plan::planner::{Planned, Planner};
use crate::plan::scans::keys::key_column;
use crate::plan::scans::scan::{Wanted, column_index, groups_of};
use crate::plan::statistics::cost;

/// Sides of fewer rows are not worth a look: whatever joins them takes no time.
const ROWS_MIN: f64 = 1000.0;
/// Of a batch, as a rule.
const BATCH_ROWS: f64 = 1024.0;
/// A unit is planned in so many orders at most.
const ORDERS_MAX: usize = 3;

/// How to merge.
#[derive(Clone, Debug)]
pub(in crate::plan) struct Merge {
    /// The conditions whose keys both sides come in the order of, the left keys' directions with them.
    pub(in crate::plan) keys: Vec<MergeKey>,
    /// The left unit is read in this one of its orders; none: as it is planned anyway.
    pub(in crate::plan) left: Option<usize>,
    /// The same for the right.
    pub(in crate::plan) right: Option<usize>,
}

/// A key of a merge join.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergeKey {
    /// Which of the join's conditions.
    pub(in crate::plan) condition: usize,
    pub(in crate::plan) descending: bool,
    pub(in crate::plan) nulls_first: bool,
}

impl MergeKey {
    pub(in crate::plan) fn of(self, expr: Expr) -> SortKey {
        SortKey { expr, descending: self.descending, nulls_first: self.nulls_first }
    }
}

/// A plan's order, by global columns.
pub(super) fn global_order(planned: &Planned, first: usize) -> Order {
    order_of(&planned.plan).shifted(first)
}

/// The column that a key orders by: itself, or under a cast that keeps the order.
pub(super) fn ordering_column(key: &Expr) -> Option<Expr> {
    let column = match key {
        Expr::Cast { input, .. } => &**input,
        other => other,
    };
    let types = |_: usize| Some(column.data_type());
    key_column(key, &types).and(column_index(column)).map(|_| column.clone())
}

impl<'g> Pair<'g> {
    /// The cheapest merge, if both sides can be had in the order of some keys, and it may be cheaper than `best`.
    pub(in crate::plan) fn merge(&self, rows: f64, orders: (&Order, &Order), best: &Candidate) -> Option<Candidate> {
        let is_on = self.options.merge_joins && self.options.hash_joins && self.options.ordering;
        let is_small = self.left.1.rows < ROWS_MIN || self.right.1.rows < ROWS_MIN;
        if !is_on || is_small || self.way != Way::AsWritten {
            return None;
        }
        let lefts = self.sides(self.left, orders.0);
        let rights = self.sides(self.right, orders.1);
        let least = |sides: &[Side<'_>]| sides.iter().map(|side| side.estimate.total).reduce(f64::min);
        let total = least(&lefts)? + least(&rights)? + (self.left.1.rows + self.right.1.rows) * cost::MERGE;
        let at_least = Estimate { startup: 0.0, total, ..best.estimate };
        if self.graph.cost_of_share(at_least) >= self.graph.cost_of_share(best.estimate) {
            return None;
        }
        let equalities: Vec<(usize, Expr, Expr)> = self.on.iter().enumerate().filter_map(ordered_by(self)).collect();
        if equalities.is_empty() {
            return None;
        }
        let pairs = lefts.iter().flat_map(|left| rights.iter().map(move |right| (left, right)));
        let candidates = pairs.filter_map(|(left, right)| {
            let keys = common_keys(left.order, right.order, &equalities);
            (!keys.is_empty()).then(|| self.merged(rows, keys, left, right))
        });
        candidates.min_by(|a, b| a.estimate.total.total_cmp(&b.estimate.total))
    }

    fn merged(&self, rows: f64, keys: Vec<MergeKey>, left: &Side<'_>, right: &Side<'_>) -> Candidate {
        let (a, b) = (left.estimate, right.estimate);
        let rest = (self.on.len() - keys.len()) as f64 * cost::OPERATOR;
        let residual = rest * a.rows + self.pairs_besides(&keys, a.rows * b.rows) * (rest + cost::ROW / 2.0);
        let total = a.total + b.total + merging(a, b, self.group(&keys, b.rows)) + residual;
        let merge = Merge { keys, left: left.place, right: right.place };
        self.candidate(Method::Merge(merge), a.startup + b.startup, total, rows)
    }

    /// How many pairs of rows that agree in a merge's keys do not agree in the other equalities, which hashing would have looked
    /// for, too.
    fn pairs_besides(&self, keys: &[MergeKey], pairs: f64) -> f64 {
        let is_key = |place: usize| keys.iter().any(|key| key.condition == place);
        let (mut of_keys, mut of_all) = (1.0, 1.0);
        for (place, part) in self.on.iter().enumerate().filter(|(_, part)| self.hash_keys(part).is_some()) {
            let share = self.condition_share(part);
            of_all *= share;
            of_keys *= if is_key(place) { share } else { 1.0 };
        }
        pairs * (of_keys - of_all)
    }

    /// How many right rows agree in a merge's keys, and are looked at together.
    fn group(&self, keys: &[MergeKey], rows: f64) -> f64 {
        if keys.len() == self.on.len() && matches!(self.kind(), JoinKind::Semi | JoinKind::Anti) {
            return 1.0;
        }
        let right = |key: &MergeKey| self.hash_keys(&self.on[key.condition]).map(|(_, right)| right);
        let columns: Vec<Expr> = keys.iter().filter_map(right).filter_map(|key| ordering_column(&key)).collect();
        rows / groups_of(columns.iter(), &self.graph.infos, rows)
    }

    /// A side as it is, and, if it is a unit, in its other orders.
    fn sides<'o>(&self, (units, estimate): (super::graph::Units, Estimate), order: &'o Order) -> Vec<Side<'o>>
    where
        'g: 'o,
    {
        let as_it_is = (!order.keys().is_empty()).then_some(Side { place: None, estimate, order });
        let mut sides: Vec<Side<'o>> = as_it_is.into_iter().collect();
        if units.count_ones() == 1 && units & self.graph.leading == 0 {
            let graph: &'g JoinGraph = self.graph;
            let others = graph.units[units.trailing_zeros() as usize].in_order.iter().enumerate();
            sides.extend(others.map(|(place, other)| Side {
                place: Some(place),
                estimate: other.planned.estimate(),
                order: &other.order,
            }));
        }
        sides
    }

    /// The order that the join's rows come in.
    pub(in crate::plan) fn order(&self, chosen: &Candidate, left: &Order) -> Order {
        let kind = self.kind();
        let left = match &chosen.method {
            _ if chosen.way != Way::AsWritten => return Order::default(),
            Method::HashRight if kind == JoinKind::Left => return Order::default(),
            Method::Merge(Merge { left: Some(place), .. }) => {
                let unit = &self.graph.units[self.left.0.trailing_zeros() as usize];
                unit.in_order.get(*place).map_or_else(Order::default, |other| other.order.clone())
            }
            _ => left.clone(),
        };
        let on: Vec<(Expr, Expr)> = self.on.iter().filter_map(|part| self.hash_keys(part)).collect();
        left.joined(kind, None, false, &on)
    }
}

/// What merging costs besides having the sides, of which the right one has its rows in groups of equal keys.
pub(super) fn merging(left: Estimate, right: Estimate, group: f64) -> f64 {
    // A group that goes on behind a batch is copied.
    let copied = right.rows * (group / BATCH_ROWS).min(1.0);
    (left.rows + right.rows) * cost::MERGE + copied * cost::ROW / 2.0 + cost::sequential(copied, right.width)
}

/// A side of a join in one of its orders.
struct Side<'o> {
    place: Option<usize>,
    estimate: Estimate,
    order: &'o Order,
}

/// The columns that an equality compares, the left one first.
fn ordered_by(pair: &Pair<'_>) -> impl FnMut((usize, &Expr)) -> Option<(usize, Expr, Expr)> {
    |(place, condition)| {
        let (left, right) = pair.hash_keys(condition)?;
        Some((place, ordering_column(&left)?, ordering_column(&right)?))
    }
}

/// The equalities whose columns both sides come in the order of.
fn common_keys(left: &Order, right: &Order, equalities: &[(usize, Expr, Expr)]) -> Vec<MergeKey> {
    let (mut keys, mut of_right) = (vec![], vec![]);
    for own in left.keys() {
        let is_new = |place: usize| keys.iter().all(|key: &MergeKey| key.condition != place);
        let mut found =
            equalities.iter().filter(|(place, column, _)| is_new(*place) && left.is_same(column, &own.expr));
        let Some((condition, _, column)) = found.next() else { break };
        let key = MergeKey { condition: *condition, descending: own.descending, nulls_first: own.nulls_first };
        of_right.push(key.of(column.clone()));
        if right.covers(&of_right, 0) < of_right.len() {
            break;
        }
        keys.push(key);
    }
    keys
}

impl Planner<'_> {
    /// Plans each unit in the orders of the columns that it is joined by, where it does not come so.
    pub(super) fn plan_orders(&mut self, graph: &mut JoinGraph) -> Result<()> {
        let options = self.options;
        if !(options.merge_joins && options.ordering && options.hash_joins) || graph.units.len() < 2 {
            return Ok(());
        }
        let mut columns: Vec<Expr> = graph.equal.iter().flat_map(|equal| equal.members.iter().cloned()).collect();
        for part in graph.units.iter().flat_map(|unit| &unit.on) {
            if let Expr::Call { args, .. } = part {
                columns.extend(args.iter().filter_map(ordering_column));
            }
        }
        for place in 0..graph.units.len() {
            let unit = &graph.units[place];
            let shape = unit.shape.as_ref().filter(|shape| !shape.conditions.iter().any(has_subquery));
            let Some(shape) = shape.filter(|_| unit.planned.rows() >= ROWS_MIN) else { continue };
            let is_own = |column: &&Expr| graph.units_of(column) == 1 << place;
            let mut found: Vec<InOrder> = vec![];
            for column in columns.iter().filter(is_own) {
                let key = |expr| [SortKey { expr, descending: false, nulls_first: false }];
                let global = key(column.clone());
                let is_there = |order: &Order| order.covers(&global, 0) > 0;
                if is_there(&unit.order) || found.iter().any(|own| is_there(&own.order)) || found.len() == ORDERS_MAX {
                    continue;
                }
                let local = key(crate::plan::expressions::refs::mapped(column.clone(), &|column| column - unit.first));
                let (planned, covered) = self.scan(shape, Some(Wanted::sorted(&local, None)))?;
                if covered > 0 {
                    let order = global_order(&planned, unit.first);
                    found.push(InOrder { planned, order });
                }
            }
            graph.units[place].in_order = found;
        }
        Ok(())
    }
}
