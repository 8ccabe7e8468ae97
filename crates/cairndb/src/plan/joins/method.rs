//! What a join of two sets of units costs by each method, and how many rows it gives.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::graph::{Between, JoinGraph, Unit, Units, Way};
use super::merge::Merge;
use crate::catalog::{Index, IndexColumn};
use crate::functions::{Function, Operator};
use crate::plan::expressions::equal::same_expr;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{has_subquery, is_volatile, mapped, used_columns};
use crate::plan::logical::JoinKind;
use crate::plan::options::OptimizerOptions;
use crate::plan::order::Order;
use crate::plan::physical::Estimate;
use crate::plan::scans::keys::{Equals, KeyPart, compared, equals};
use crate::plan::statistics::cost;
use crate::plan::statistics::estimate::{join_equality, selectivity, table_rows, unique_keys};
use crate::types::DataType;

/// How to join.
#[derive(Clone, Debug)]
pub(super) enum Method {
    /// Build the right side, probe with the left.
    Hash,
    /// With the sides exchanged: build the left side, keep its rows.
    HashRight,
    Merge(Merge),
    NestedLoop,
    Index(IndexLookup),
    /// See `asked.rs`.
    Asking,
}

/// Looking a unit up by a key made from the left row.
#[derive(Clone, Debug)]
pub(super) struct IndexLookup {
    pub(in crate::plan) index: Option<Arc<Index>>,
    /// Over global columns, in the key columns' types.
    pub(in crate::plan) keys: Vec<Expr>,
    /// As in `PhysicalNode::IndexJoin`.
    pub(in crate::plan) to: Option<Expr>,
    /// Positions of the join's conditions that the keys answer.
    pub(in crate::plan) answered: Vec<usize>,
    /// The same for the unit's own conditions.
    pub(super) own_answered: Vec<usize>,
    pub(in crate::plan) unique: bool,
    /// Rows found for each key.
    matches: f64,
    covering: bool,
}

impl IndexLookup {
    /// What reading one of the rows found costs.
    fn entry_cost(&self) -> f64 {
        match (&self.index, self.covering) {
            (None, _) => cost::ROW,
            (Some(_), true) => cost::ENTRY + cost::COVERED,
            (Some(_), false) => cost::ENTRY + cost::LOOKUP + cost::ROW,
        }
    }

    /// Of one lookup.
    pub(in crate::plan) fn estimate(&self, width: f64) -> Estimate {
        let total = cost::LOOKUP + self.matches * self.entry_cost();
        Estimate { startup: 0.0, total, rows: self.matches.max(1.0), width }
    }
}

/// A join considered.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(in crate::plan) way: Way,
    pub(super) method: Method,
    pub(in crate::plan) estimate: Estimate,
}

/// Two sets about to be joined.
pub(super) struct Pair<'g> {
    pub(super) graph: &'g JoinGraph,
    pub(in crate::plan) options: &'g OptimizerOptions,
    pub(in crate::plan) left: (Units, Estimate),
    pub(in crate::plan) right: (Units, Estimate),
    pub(in crate::plan) way: Way,
    pub(in crate::plan) on: Vec<Expr>,
    pub(in crate::plan) after: Vec<Expr>,
    /// Cost of the subqueries in the conditions, for each row.
    subqueries: f64,
    /// Cost of those in `after`, for each row of the join.
    subqueries_after: f64,
}

impl<'g> Pair<'g> {
    pub(in crate::plan) fn new(
        graph: &'g JoinGraph,
        options: &'g OptimizerOptions,
        mut left: (Units, Estimate),
        mut right: (Units, Estimate),
        way: Way,
    ) -> Pair<'g> {
        let Between { on, after, subqueries, subqueries_after } = graph.between(left.0, right.0, way);
        let side = match way {
            Way::AsWritten => None,
            Way::LeftKeys => Some(&mut left),
            Way::RightKeys => Some(&mut right),
        };
        if let Some(side) = side
            && let Some(keys) = graph.outer_unit(side.0).and_then(|unit| unit.keys.as_ref())
        {
            side.1 = keys.planned.estimate();
        }
        Pair { graph, options, left, right, way, on, after, subqueries, subqueries_after }
    }

    pub(in crate::plan) fn kind(&self) -> JoinKind {
        let outer = self.graph.outer_unit(self.right.0).filter(|_| self.way == Way::AsWritten);
        outer.map_or(JoinKind::Inner, |unit| unit.kind)
    }

    /// The only unit on the right.
    pub(super) fn right_unit(&self) -> Option<&'g Unit> {
        let graph = self.graph;
        (self.right.0.count_ones() == 1).then(|| &graph.units[self.right.0.trailing_zeros() as usize])
    }

    /// The cheapest method; `rows` if the result's size is known already, `orders` those of the sides.
    pub(in crate::plan) fn best(&self, rows: Option<f64>, orders: (&Order, &Order)) -> Candidate {
        let rows = rows.unwrap_or_else(|| self.rows());
        let hashable = self.options.hash_joins && self.on.iter().any(|part| self.hash_keys(part).is_some());
        // Where hashing is possible a nested loop gains little on small inputs, and loses without bound when an
        // estimate was wrong.
        let mut best = if hashable { self.hash(rows) } else { self.nested_loop(rows) };
        let mut consider = |candidate: Candidate| {
            if self.graph.cost_of_share(candidate.estimate) < self.graph.cost_of_share(best.estimate) {
                best = candidate;
            }
        };
        // (A semi or anti join keeps the left side's order all the same.)
        let may_exchange = match self.kind() {
            JoinKind::Left => self.left.0 & self.graph.leading == 0,
            kind => kind != JoinKind::Inner,
        };
        if hashable && may_exchange {
            consider(self.hash_right(rows));
        }
        if self.options.indexes && self.options.index_joins {
            self.lookups().into_iter().for_each(|lookup| consider(self.index(lookup, rows)));
            self.asking(rows).into_iter().for_each(&mut consider);
        }
        // Last: what it would cost at least is known before its keys are looked for.
        match hashable.then(|| self.merge(rows, orders, &best)).flatten() {
            Some(merge) if self.graph.cost_of_share(merge.estimate) < self.graph.cost_of_share(best.estimate) => merge,
            _ => best,
        }
    }

    pub(super) fn candidate(&self, method: Method, startup: f64, total: f64, rows: f64) -> Candidate {
        let width = match self.kind() {
            JoinKind::Semi | JoinKind::Anti => self.left.1.width,
            _ => self.left.1.width + self.right.1.width,
        };
        let checked = rows / self.after_share().max(0.01);
        let after = (self.after.len() as f64 * cost::OPERATOR + self.subqueries_after) * checked
            + self.subqueries * rows.max(self.left.1.rows);
        let total = total + rows * cost::ROW / 2.0 + after;
        Candidate { way: self.way, method, estimate: Estimate { startup, total, rows, width } }
    }

    fn nested_loop(&self, rows: f64) -> Candidate {
        let ((_, left), (_, right)) = (self.left, self.right);
        let each = cost::OPERATOR * (1.0 + self.on.len() as f64);
        let pairs = left.rows * right.rows * if self.kind() == JoinKind::Semi { 0.5 } else { 1.0 };
        let total = left.total + right.total + right.rows * cost::ENTRY + pairs * each;
        self.candidate(Method::NestedLoop, left.startup + right.startup, total, rows)
    }

    fn hash(&self, rows: f64) -> Candidate {
        let ((_, left), (_, right)) = (self.left, self.right);
        let built = right.total + right.rows * cost::HASH_BUILD + cost::sequential(right.rows, right.width);
        let residual = self.on.len().saturating_sub(1) as f64 * cost::OPERATOR;
        let total = built + left.total + left.rows * (cost::HASH_PROBE + residual);
        self.candidate(Method::Hash, built + left.startup, total, rows)
    }

    fn hash_right(&self, rows: f64) -> Candidate {
        let ((_, left), (_, right)) = (self.left, self.right);
        let built = left.total + left.rows * cost::HASH_BUILD + cost::sequential(left.rows, left.width);
        let residual = self.on.len().saturating_sub(1) as f64 * cost::OPERATOR;
        let total = built + right.total + right.rows * (cost::HASH_PROBE + residual);
        let startup = if self.kind() == JoinKind::Left { built + right.startup } else { total };
        self.candidate(Method::HashRight, startup, total, rows)
    }

    fn index(&self, lookup: IndexLookup, rows: f64) -> Candidate {
        let left = self.left.1;
        let seen = match self.kind() {
            JoinKind::Semi | JoinKind::Anti => lookup.matches.min(2.0),
            _ => lookup.matches,
        };
        let total = left.total + left.rows * (cost::LOOKUP + seen * (lookup.entry_cost() + cost::OPERATOR));
        self.candidate(Method::Index(lookup), left.startup, total, rows)
    }

    /// The keys of both sides, if the condition is an equality that hashing can answer.
    pub(super) fn hash_keys(&self, condition: &Expr) -> Option<(Expr, Expr)> {
        hashable(condition, &|used| {
            let within = |side: Units| used.iter().all(|&column| self.graph.unit_of(column) & side != 0);
            (within(self.left.0), within(self.right.0))
        })
    }

    /// The same join seen from the other side.
    pub(in crate::plan) fn swapped(&self) -> Pair<'g> {
        Pair { left: self.right, right: self.left, on: self.on.clone(), after: vec![], ..*self }
    }

    /// Every key of the right unit's table that the condition gives values for.
    fn lookups(&self) -> Vec<IndexLookup> {
        let in_table = self.right_unit().filter(|_| self.way != Way::RightKeys);
        let Some(shape) = in_table.and_then(|unit| unit.shape.as_ref()) else { return vec![] };
        let table = &shape.table;
        let mut found = vec![];
        found.extend(self.lookup(None, table.row_key(), true));
        let ordered = table.indexes.iter().enumerate().filter(|(_, index)| !index.is_inverted());
        for (at, index) in ordered.filter(|(at, _)| shape.is_within(*at)) {
            found.extend(self.lookup(Some((at, index)), &index.columns, index.unique));
        }
        found
    }

    /// By a key of the table, or of the index at a position.
    fn lookup(&self, index: Option<(usize, &Arc<Index>)>, key: &[IndexColumn], unique: bool) -> Option<IndexLookup> {
        let shape = self.right_unit()?.shape.as_ref()?;
        let (at, index) = index.unzip();
        let mut lookup = IndexLookup {
            index: index.cloned(),
            keys: vec![],
            to: None,
            answered: vec![],
            own_answered: vec![],
            unique: false,
            matches: table_rows(&shape.table),
            covering: index.is_some_and(|index| crate::plan::scans::access::is_covering(shape, index)),
        };
        for column in key {
            if !self.extend_lookup(&mut lookup, at, column.column) || lookup.to.is_some() {
                break;
            }
        }
        if lookup.answered.is_empty() && lookup.to.is_none() {
            return None;
        }
        let is_whole = unique && lookup.keys.len() == key.len();
        lookup.unique = is_whole && lookup.to.is_none();
        if is_whole {
            lookup.matches = lookup.matches.min(1.0);
        }
        Some(lookup)
    }

    /// Adds a value for the next key column, or expression, from the join's conditions or the unit's own.
    fn extend_lookup(&self, lookup: &mut IndexLookup, index: Option<usize>, column: usize) -> bool {
        let Some(unit) = self.right_unit() else { return false };
        let Some(shape) = unit.shape.as_ref() else { return false };
        let key = index.and_then(|index| shape.expression(index, column));
        let key = key.map(|key| mapped(key, &|column| column + unit.first));
        let share = 1.0 / shape.distinct(column).max(1.0);
        let value = |part: &Expr| self.lookup_value(part, unit, (column, key.as_ref()));
        let found = self.on.iter().enumerate().find_map(|(place, part)| Some((place, value(part)?)));
        if let Some((place, value)) = found {
            let (value, to, exact) = match value {
                Equals::One(value) => (value, None, true),
                Equals::Span { from, to, exact } => (from, Some(to), exact),
            };
            lookup.keys.push(value);
            lookup.to = to;
            lookup.answered.extend(exact.then_some(place));
            lookup.matches *= share;
            return true;
        }
        let keyed = shape.keyed(index);
        let types = |position: usize| shape.table.key_type(*keyed.columns.get(position)?);
        let own = keyed.conditions.iter().enumerate().find_map(|(place, condition)| {
            let found = crate::plan::scans::keys::key_condition(condition, &types)?;
            let KeyPart::Equal(value) = found.key else { return None };
            let fits = keyed.columns.get(found.column) == Some(&column);
            (fits && !has_subquery(&value)).then_some((place, value))
        });
        let Some((place, value)) = own else { return false };
        lookup.keys.push(value);
        lookup.own_answered.push(place);
        lookup.matches *= share;
        true
    }

    /// The left side's expression that the condition says the unit's column equals, or an index's expression over it.
    fn lookup_value(&self, condition: &Expr, unit: &Unit, key: (usize, Option<&Expr>)) -> Option<Equals> {
        let Expr::Call { function, args } = condition else { return None };
        let [first, second] = args.as_slice() else { return None };
        if function.op != Some(Operator::Equal) || is_volatile(condition) || has_subquery(condition) {
            return None;
        }
        self.one_sided(first, second, unit, key)
            .or_else(|| self.one_sided(second, first, unit, key))
            .or_else(|| self.equal_member(condition, unit, key.0))
    }

    fn one_sided(
        &self,
        side: &Expr,
        value: &Expr,
        unit: &Unit,
        (column, expression): (usize, Option<&Expr>),
    ) -> Option<Equals> {
        let shape = unit.shape.as_ref()?;
        let data_type = shape.table.key_type(column)?;
        let (compared, cast) = compared(side);
        let is_it = match (expression, compared) {
            (Some(expression), compared) => same_expr(compared, expression),
            (None, Expr::Column { index, .. }) => {
                let position = index.checked_sub(unit.first)?;
                shape.columns.get(position) == Some(&column)
            }
            _ => false,
        };
        if !is_it || self.graph.units_of(value) & !self.left.0 != 0 {
            return None;
        }
        equals(value, data_type, cast.unwrap_or(data_type.base()))
    }

    /// Where several of the unit's columns are equal to the left's, any of them will do.
    fn equal_member(&self, condition: &Expr, unit: &Unit, column: usize) -> Option<Equals> {
        let Expr::Call { args, .. } = condition else { return None };
        let [Expr::Column { index: left, .. }, Expr::Column { .. }] = args.as_slice() else { return None };
        if self.kind() != JoinKind::Inner {
            return None;
        }
        let has = |members: &[Expr], wanted: usize| {
            members.iter().any(|member| matches!(member, Expr::Column { index, .. } if *index == wanted))
        };
        let position = unit.shape.as_ref()?.columns.iter().position(|&own| own == column)?;
        let own = unit.first + position;
        let equal = self.graph.equal.iter().find(|equal| has(&equal.members, *left) && has(&equal.members, own))?;
        let key = equal.members.iter().find(|member| matches!(member, Expr::Column { index, .. } if *index == own))?;
        self.one_sided(key, &args[0], unit, (column, None))
    }

    /// The rows of the result.
    pub(in crate::plan) fn rows(&self) -> f64 {
        let (left, right) = (self.left.1.rows, self.right.1.rows);
        let share: f64 = self.share().clamp(0.0, 1.0);
        let rows = match self.kind() {
            JoinKind::Left => (left * right * share).max(left),
            JoinKind::Semi => left * self.matched_share(share),
            JoinKind::Anti => left * (1.0 - self.matched_share(share)).max(0.05),
            _ => left * right * share,
        };
        (rows * self.after_share()).max(1.0)
    }

    /// The share of the join's rows that pass the conditions checked after it.
    fn after_share(&self) -> f64 {
        self.after.iter().map(|part| selectivity(part, &self.graph.infos)).product()
    }

    /// The share of left rows with a match: as many values as the right side has of the left's, however often it has
    /// them.
    fn matched_share(&self, share: f64) -> f64 {
        let (mut values, mut equal) = (1.0, 1.0);
        for part in &self.on {
            if let Some((Expr::Column { .. }, Expr::Column { index, .. })) = self.hash_keys(part) {
                values *= self.graph.infos[index].distinct;
                equal *= self.condition_share(part);
            }
        }
        let by_values = if values > 1.0 { equal * values.min(self.right.1.rows) } else { 1.0 };
        (share * self.right.1.rows).min(by_values).clamp(0.01, 1.0)
    }

    /// The selectivity of the conditions, in which equalities that cover a unique key of a table count as that key.
    fn share(&self) -> f64 {
        let shares: Vec<f64> = self.on.iter().map(|part| self.condition_share(part)).collect();
        let product: f64 = shares.iter().product();
        let equalities = |share: &dyn Fn(usize) -> bool| -> f64 {
            shares.iter().enumerate().filter(|(place, _)| share(*place)).map(|(_, share)| share).product()
        };
        let mut best = product;
        for unit in self.units() {
            if let Some((covered, rows)) = self.covered_key(unit) {
                let others = equalities(&|place| !covered.contains(&place));
                best = best.max(others / rows);
            }
        }
        best
    }

    fn units(&self) -> impl Iterator<Item = &'g Unit> + '_ {
        let both = self.left.0 | self.right.0;
        let graph = self.graph;
        graph.units.iter().enumerate().filter(move |(place, _)| both & (1 << place) != 0).map(|(_, unit)| unit)
    }

    pub(super) fn condition_share(&self, condition: &Expr) -> f64 {
        let infos = &self.graph.infos;
        match self.hash_keys(condition) {
            Some((Expr::Column { index: a, .. }, Expr::Column { index: b, .. })) => join_equality(&infos[a], &infos[b]),
            _ => selectivity(condition, infos),
        }
    }

    /// The equalities that cover a unique key of the unit's table, and the table's rows, where the key has several
    /// columns.
    fn covered_key(&self, unit: &Unit) -> Option<(Vec<usize>, f64)> {
        let shape = unit.shape.as_ref()?;
        let places: Vec<Option<usize>> = self
            .on
            .iter()
            .map(|part| {
                let (left, right) = self.hash_keys(part)?;
                [left, right].iter().find_map(|key| match key {
                    Expr::Column { index, .. } => {
                        let position = index.checked_sub(unit.first)?;
                        shape.columns.get(position).copied()
                    }
                    _ => None,
                })
            })
            .collect();
        let key = unique_keys(&shape.table)
            .find(|key| key.len() > 1 && key.iter().all(|column| places.contains(&Some(*column))))?;
        let covered = places.iter().enumerate().filter(|(_, column)| column.is_some_and(|c| key.contains(&c)));
        Some((covered.map(|(place, _)| place).collect(), table_rows(&shape.table)))
    }
}

/// The type in which both operands of an `=` are hashed: their own if it is one, else one that holds both.
fn common_type(function: &Function) -> Option<Option<DataType>> {
    let (first, second) = (*function.args.first()?, *function.args.get(1)?);
    let floats = |data_type| matches!(data_type, DataType::Real | DataType::Double);
    match (first, second) {
        _ if first == second => Some(None),
        _ if first.is_integer() && second.is_integer() => Some(Some(DataType::BigInt)),
        _ if floats(first) && floats(second) => Some(Some(DataType::Double)),
        _ => None,
    }
}

fn hash_key(expr: &Expr, to: Option<DataType>) -> Expr {
    match to {
        Some(to) if expr.data_type() != to => Expr::Cast { input: Box::new(expr.clone()), to },
        _ => expr.clone(),
    }
}

/// The left and right keys of an equality, where `sides` says whether columns are all of the left or all of the right.
pub(super) fn hashable(condition: &Expr, sides: &dyn Fn(&BTreeSet<usize>) -> (bool, bool)) -> Option<(Expr, Expr)> {
    let Expr::Call { function, args } = condition else { return None };
    let [first, second] = args.as_slice() else { return None };
    if function.op != Some(Operator::Equal) || is_volatile(condition) || has_subquery(condition) {
        return None;
    }
    let used = (used_columns(first), used_columns(second));
    if used.0.is_empty() || used.1.is_empty() {
        return None;
    }
    let (left, right) = match (sides(&used.0), sides(&used.1)) {
        ((true, _), (_, true)) => (first, second),
        ((_, true), (true, _)) => (second, first),
        _ => return None,
    };
    let to = common_type(function)?;
    Some((hash_key(left, to), hash_key(right, to)))
}
