//! Physical joins: the chosen tree of a join graph, and joins that are no part of a graph.

use std::sync::Arc;

use super::graph::{JoinGraph, Keys, Leader, Units, is_graph, unit_count};
use super::merge::{Merge, ordering_column};
use super::method::{Candidate, IndexLookup, Method, Pair};
use super::order::{Tree, choose};
use crate::Result;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{conjuncts, has_subquery, mapped};
use crate::plan::logical::{Field, JoinKind, LogicalPlan, SortKey};
use crate::plan::order::order_of;
use crate::plan::physical::{PhysicalNode as N, PhysicalPlan};
use crate::plan::planner::{Planned, Planner};
use crate::plan::scans::scan::{Wanted, Without};
use crate::plan::sorted::ascending;
use crate::plan::statistics::cost;
use crate::plan::statistics::estimate::ColumnInfo;

/// More units than a set can have bits are joined as written.
const UNITS_MAX: usize = 120;

/// Of so many units it is tried whether they should lead the joins.
const LEADERS_MAX: usize = 3;

/// What takes less is done in the time that it takes to plan it again, which grows with the pairs of sets of units.
fn worth_planning(units: usize) -> f64 {
    30.0 * 3f64.powi(units.clamp(PLANNED_SOON, UNITS_MAX).saturating_sub(PLANNED_SOON) as i32)
}

/// So few units are planned in no time.
const PLANNED_SOON: usize = 5;

/// A plan, how many of the keys of a wanted order it has, and what it costs in that order.
struct WithOrder {
    planned: Planned,
    covered: usize,
    cost: f64,
}

/// A set of units, joined: which global columns it has, in order.
struct Joined {
    planned: Planned,
    columns: Vec<usize>,
}

impl Joined {
    fn place(&self, column: usize) -> usize {
        self.columns.iter().position(|&own| own == column).unwrap_or(usize::MAX)
    }

    /// Read in one of the orders that its unit has.
    fn in_order(mut self, graph: &JoinGraph, units: Units, order: Option<usize>) -> Joined {
        let unit = graph.units.get(units.trailing_zeros() as usize);
        if let Some(other) = unit.zip(order).and_then(|(unit, order)| unit.in_order.get(order)) {
            self.planned = other.planned.clone();
        }
        self
    }

    /// An expression over global columns as one over these.
    fn localized(&self, expr: Expr) -> Expr {
        mapped(expr, &|column| self.place(column))
    }
}

impl Planner<'_> {
    /// Plans a tree of joins (and filters above and between them).
    pub(in crate::plan) fn join(&mut self, plan: LogicalPlan) -> Result<Planned> {
        if is_graph(&plan) && unit_count(&plan) <= UNITS_MAX {
            return Ok(self.join_graph(plan, None)?.0);
        }
        match plan {
            LogicalPlan::Join { kind, left, right, on, lateral } => self.single_join(kind, *left, *right, on, lateral),
            LogicalPlan::Filter { input, predicate } => {
                let input = self.lower(*input)?;
                self.filter(input, conjuncts(predicate))
            }
            _ => Err(crate::Error::internal("a join that is none")),
        }
    }

    /// As [`Planner::join`], with an eye to an order; how many of its keys the rows come in.
    pub(in crate::plan) fn ordered_join(&mut self, plan: LogicalPlan, wanted: Wanted<'_>) -> Result<(Planned, usize)> {
        match unit_count(&plan) <= UNITS_MAX {
            true => self.join_graph(plan, Some(wanted)),
            false => Ok((self.join(plan)?, 0)),
        }
    }

    fn join_graph(&mut self, plan: LogicalPlan, wanted: Option<Wanted<'_>>) -> Result<(Planned, usize)> {
        let fields = plan.fields();
        let (mut graph, output) = JoinGraph::build(self, plan)?;
        let tree = self.best_tree(&graph)?;
        let joined = self.whole_join(&graph, &tree, &output, &fields)?;
        let Some(wanted) = wanted.filter(|_| self.options.ordering) else { return Ok((joined, 0)) };
        let mut best = self.with_order(joined, wanted);
        let is_ordered = best.covered == wanted.keys.len() && wanted.rows.is_none();
        if is_ordered || best.cost < worth_planning(graph.units.len()) {
            return Ok((best.planned, best.covered));
        }
        graph.share = wanted.rows.map(|rows| (rows / wanted.results(&best.planned)).clamp(0.0, 1.0));
        for leader in self.leaders(&graph, &output, wanted)? {
            let before = graph.lead(leader);
            let tree = self.best_tree(&graph)?;
            // As the query is written, another one leads.
            if 1 << tree.first() == graph.leading {
                let joined = self.whole_join(&graph, &tree, &output, &fields)?;
                let ordered = self.with_order(joined, wanted);
                if ordered.cost < best.cost {
                    best = ordered;
                }
            }
            graph.lead(before);
        }
        Ok((best.planned, best.covered))
    }

    fn with_order(&self, planned: Planned, wanted: Wanted<'_>) -> WithOrder {
        let covered = self.covered(&planned, wanted);
        let cost = wanted.cost(planned.estimate(), covered, &planned.columns);
        WithOrder { planned, covered, cost }
    }

    /// The units that can be read in the wanted order, or in the first keys' of it, to lead the joins.
    fn leaders(&mut self, graph: &JoinGraph, output: &[usize], wanted: Wanted<'_>) -> Result<Vec<Leader>> {
        // A condition with a subquery would be planned twice, and its own subqueries four times.
        let of_units = graph.units.iter().flat_map(|unit| &unit.on);
        if of_units.chain(graph.conditions.iter().map(|condition| &condition.expr)).any(has_subquery) {
            return Ok(vec![]);
        }
        let mut leaders = vec![];
        for place in 0..graph.units.len() {
            let keys = graph.own_keys(place, output, wanted);
            let shape = graph.units[place].shape.as_ref().filter(|shape| !shape.conditions.iter().any(has_subquery));
            let Some(shape) = shape.filter(|_| !keys.is_empty() && leaders.len() < LEADERS_MAX) else { continue };
            // How many of its rows are read is not known before they are joined; few, if the order is of any use.
            let gathered = wanted.gathered.min(keys.len());
            let own = Wanted { gathered, ..Wanted::sorted(&keys, Some(1.0)) };
            let (planned, covered) = self.scan(shape, Some(own))?;
            if covered > 0 {
                leaders.push(Leader { place, planned, leading: 1 << place });
            }
        }
        Ok(leaders)
    }

    fn best_tree(&self, graph: &JoinGraph) -> Result<Tree> {
        let tree = choose(graph, self.options)?;
        tree.ok_or_else(|| crate::Error::internal("a join of nothing"))
    }

    fn whole_join(&mut self, graph: &JoinGraph, tree: &Tree, output: &[usize], fields: &[Field]) -> Result<Planned> {
        let mut joined = self.tree(graph, tree)?;
        let all = tree.units();
        let rest = graph.conditions.iter().filter(|condition| condition.units == 0 || condition.units & !all != 0);
        let rest: Vec<Expr> = rest.map(|condition| joined.localized(condition.expr.clone())).collect();
        joined.planned = self.filter(joined.planned, rest)?;
        let exprs = output
            .iter()
            .zip(fields)
            .map(|(&column, field)| Expr::Column { index: joined.place(column), data_type: field.data_type });
        let exprs = exprs.collect();
        self.project(joined.planned, exprs, fields.to_vec())
    }

    fn tree(&mut self, graph: &JoinGraph, tree: &Tree) -> Result<Joined> {
        match tree {
            Tree::Unit(unit) => {
                let unit = &graph.units[*unit];
                let columns = (unit.first..unit.first + unit.width()).collect();
                Ok(Joined { planned: unit.planned.clone(), columns })
            }
            Tree::Keys(unit) => match &graph.units[*unit].keys {
                Some(Keys { planned, columns }) => Ok(Joined { planned: planned.clone(), columns: columns.clone() }),
                None => Err(crate::Error::internal("a semi join without keys")),
            },
            Tree::Join { left, right, chosen } => {
                let sets = (left.units(), right.units());
                let (left, right) = (self.tree(graph, left)?, self.tree(graph, right)?);
                self.pair(graph, sets, left, right, chosen)
            }
        }
    }

    fn pair(
        &mut self,
        graph: &JoinGraph,
        sets: (Units, Units),
        left: Joined,
        right: Joined,
        chosen: &Candidate,
    ) -> Result<Joined> {
        let estimates = (left.planned.estimate(), right.planned.estimate());
        let options = self.options;
        let pair = Pair::new(graph, options, (sets.0, estimates.0), (sets.1, estimates.1), chosen.way);
        let joined = match &chosen.method {
            Method::Hash => self.hash_join(&pair, pair.kind(), left, right)?,
            Method::HashRight => self.hash_join(&pair.swapped(), exchanged(pair.kind()), right, left)?,
            Method::Merge(merge) => self.merge_join(graph, &pair, left, right, merge)?,
            Method::NestedLoop => self.nested_loop(&pair, left, right)?,
            Method::Index(lookup) => self.index_join(&pair, left, right, lookup)?,
            Method::Asking => self.asking_join(&pair, left, right)?,
        };
        let (node, columns, infos) = joined;
        let fields = columns.iter().map(|&column| graph.fields[column].clone()).collect();
        let estimate = chosen.estimate;
        let planned = Planned::new(node, fields, infos, estimate.startup, estimate.total, estimate.rows);
        let looked_up = matches!(chosen.method, Method::Index(_)).then(|| pair.right_unit()?.shape.as_ref());
        let alias = looked_up.flatten().and_then(|shape| shape.alias.clone());
        let joined = Joined { planned: planned.called(alias), columns };
        let after = pair.after.iter().map(|part| joined.localized(part.clone())).collect();
        let Joined { planned, columns } = joined;
        Ok(Joined { planned: self.filter(planned, after)?, columns })
    }

    fn hash_join(&mut self, pair: &Pair<'_>, kind: JoinKind, left: Joined, right: Joined) -> Result<Made> {
        let (mut left_keys, mut right_keys, mut rest) = (vec![], vec![], vec![]);
        for part in &pair.on {
            match pair.hash_keys(part) {
                Some((a, b)) => {
                    left_keys.push(left.localized(a));
                    right_keys.push(right.localized(b));
                }
                None => rest.push(part.clone()),
            }
        }
        let both = both_sides(&left, &right);
        let residual = self.residual(rest, &both)?;
        let (columns, infos) = output(kind, &left, &right);
        let (left, right) = (left.planned.plan, right.planned.plan);
        Ok((N::HashJoin { kind, left, right, left_keys, right_keys, residual }, columns, infos))
    }

    fn merge_join(
        &mut self,
        graph: &JoinGraph,
        pair: &Pair<'_>,
        left: Joined,
        right: Joined,
        merge: &Merge,
    ) -> Result<Made> {
        let left = left.in_order(graph, pair.left.0, merge.left);
        let right = right.in_order(graph, pair.right.0, merge.right);
        let (mut left_keys, mut right_keys) = (vec![], vec![]);
        for key in &merge.keys {
            let keys = pair.on.get(key.condition).and_then(|part| pair.hash_keys(part));
            let (a, b) = keys.ok_or_else(|| crate::Error::internal("a merge by no equality"))?;
            left_keys.push(key.of(left.localized(a)));
            right_keys.push(key.of(right.localized(b)));
        }
        // What was told of the order of sets is told by the plans now.
        if !comes_by(&left.planned, &left_keys) || !comes_by(&right.planned, &right_keys) {
            return self.hash_join(pair, pair.kind(), left, right);
        }
        let is_key = |place: usize| merge.keys.iter().any(|key| key.condition == place);
        let rest = pair.on.iter().enumerate().filter(|(place, _)| !is_key(*place)).map(|(_, part)| part.clone());
        let residual = self.residual(rest.collect(), &both_sides(&left, &right))?;
        let (columns, infos) = output(pair.kind(), &left, &right);
        Ok((
            merge_node(pair.kind(), left.planned.plan, right.planned.plan, left_keys, right_keys, residual),
            columns,
            infos,
        ))
    }

    fn nested_loop(&mut self, pair: &Pair<'_>, left: Joined, right: Joined) -> Result<Made> {
        let kind = pair.kind();
        let on = self.residual(pair.on.clone(), &both_sides(&left, &right))?;
        let (columns, infos) = output(kind, &left, &right);
        let (left, right) = (left.planned.plan, right.planned.plan);
        Ok((N::NestedLoopJoin { kind, left, right, on, lateral: false }, columns, infos))
    }

    fn asking_join(&mut self, pair: &Pair<'_>, left: Joined, right: Joined) -> Result<Made> {
        let place = |column| left.place(column);
        let (columns, infos) = output(pair.kind(), &left, &right);
        let right = match pair.asked_of_system(&place) {
            Some(conditions) => self.filter(right.planned, conditions)?,
            None => {
                let shape = pair.asked_shape(&place);
                self.scan(&shape.ok_or_else(|| crate::Error::internal("a table that can not be asked"))?, None)?.0
            }
        };
        let (left, right) = (left.planned.plan, right.plan);
        Ok((N::NestedLoopJoin { kind: pair.kind(), left, right, on: None, lateral: true }, columns, infos))
    }

    fn index_join(&mut self, pair: &Pair<'_>, left: Joined, right: Joined, lookup: &IndexLookup) -> Result<Made> {
        let kind = pair.kind();
        let unit = pair.right_unit().ok_or_else(|| crate::Error::internal("a lookup in several tables"))?;
        let shape = unit.shape.as_ref().ok_or_else(|| crate::Error::internal("a lookup in no table"))?;
        let on = pair.on.iter().enumerate().filter(|(place, _)| !lookup.answered.contains(place));
        let mut rest: Vec<Expr> = on.map(|(_, part)| part.clone()).collect();
        let own = shape.conditions.iter().enumerate().filter(|(place, _)| !lookup.own_answered.contains(place));
        rest.extend(own.map(|(_, condition)| mapped(condition.clone(), &|column| column + unit.first)));
        let residual = self.residual(rest, &both_sides(&left, &right))?;
        let keys = lookup.keys.iter().map(|key| left.localized(key.clone())).collect();
        let to = lookup.to.clone().map(|to| self.expr(left.localized(to))).transpose()?;
        let (columns, infos) = output(kind, &left, &right);
        let node = N::IndexJoin {
            kind,
            left: left.planned.plan,
            table: shape.table.clone(),
            index: lookup.index.clone(),
            columns: shape.columns.clone(),
            keys: self.exprs(keys)?,
            to,
            unique: lookup.unique,
            residual,
            covering: lookup.index.as_ref().is_some_and(|index| crate::plan::scans::access::is_covering(shape, index)),
            inner: lookup.estimate(unit.planned.estimate().width),
        };
        Ok((node, columns, infos))
    }

    fn residual(&mut self, parts: Vec<Expr>, both: &[usize]) -> Result<Option<Expr>> {
        let place = |column: usize| both.iter().position(|&own| own == column).unwrap_or(usize::MAX);
        let parts = parts.into_iter().map(|part| mapped(part, &place)).collect();
        self.predicate(parts)
    }

    /// The sides of a join outside a graph, and whether both come in the order of its keys.
    fn sides(
        &mut self,
        left: LogicalPlan,
        right: LogicalPlan,
        on: &[Expr],
        lateral: bool,
    ) -> Result<(Planned, Planned, bool)> {
        let width = left.width();
        let keys = on.iter().filter_map(|part| local_hash_keys(part, width));
        let columns = keys.filter_map(|keys| columns_of(&keys)).map(|(a, b)| (ascending(&a), ascending(&b)));
        let (left_keys, right_keys): (Vec<SortKey>, Vec<SortKey>) = columns.unzip();
        let is_on = self.options.merge_joins && self.options.hash_joins && self.options.ordering && !lateral;
        if !is_on || left_keys.is_empty() {
            return Ok((self.lower(left)?, self.lower(right)?, false));
        }
        let wanted = |keys| Wanted { without: Without::Hash, ..Wanted::sorted(keys, None) };
        let (left, of_left) = self.ordered(left, wanted(&left_keys))?;
        let (right, of_right) = self.ordered(right, wanted(&right_keys))?;
        let is_told = of_left == left_keys.len() && of_right == right_keys.len();
        let merged = is_told && comes_by(&left, &left_keys) && comes_by(&right, &right_keys);
        Ok((left, right, merged))
    }

    /// A join outside a graph: lateral or full, or one too many.
    fn single_join(
        &mut self,
        kind: JoinKind,
        left: LogicalPlan,
        right: LogicalPlan,
        on: Option<Expr>,
        lateral: bool,
    ) -> Result<Planned> {
        let parts = on.map(conjuncts).unwrap_or_default();
        let (left, right, merged) = self.sides(left, right, &parts, lateral)?;
        let width = left.plan.fields.len();
        let share = crate::plan::statistics::estimate::selectivity_of_all(
            &parts,
            &[left.columns.clone(), right.columns.clone()].concat(),
        );
        let (a, b) = (left.estimate(), right.estimate());
        let least = if matches!(kind, JoinKind::Inner | JoinKind::Semi) { 1.0 } else { a.rows };
        let rows = (a.rows * b.rows * share).max(least);
        let (columns, fields) = single_output(kind, &left, &right);
        let keys = parts.iter().map(|part| local_hash_keys(part, width));
        let keys: Vec<_> = keys.map(|keys| keys.filter(|keys| !merged || columns_of(keys).is_some())).collect();
        if !lateral && self.options.hash_joins && keys.iter().any(Option::is_some) {
            let rest = parts.into_iter().zip(&keys).filter(|(_, keys)| keys.is_none()).map(|(part, _)| part);
            let residual = self.predicate(rest.collect())?;
            let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = keys.into_iter().flatten().unzip();
            if merged {
                let [left_keys, right_keys] = [left_keys, right_keys].map(|keys| keys.iter().map(ascending).collect());
                let total = a.total + b.total + (a.rows + b.rows) * cost::MERGE;
                let node = merge_node(kind, left.plan, right.plan, left_keys, right_keys, residual);
                return Ok(Planned::new(node, fields, columns, a.startup + b.startup, total, rows));
            }
            let startup = b.total + b.rows * cost::HASH_BUILD;
            let total = startup + a.total + a.rows * cost::HASH_PROBE;
            let node = N::HashJoin { kind, left: left.plan, right: right.plan, left_keys, right_keys, residual };
            return Ok(Planned::new(node, fields, columns, startup, total, rows));
        }
        let on = self.predicate(parts)?;
        let total = match lateral {
            true => a.total + a.rows * (cost::RESTART + b.total),
            false => a.total + b.total + a.rows * b.rows * cost::OPERATOR,
        };
        let node = N::NestedLoopJoin { kind, left: left.plan, right: right.plan, on, lateral };
        Ok(Planned::new(node, fields, columns, a.startup, total, rows))
    }
}

/// The columns that the keys of an equality order by.
fn columns_of((left, right): &(Expr, Expr)) -> Option<(Expr, Expr)> {
    ordering_column(left).zip(ordering_column(right))
}

/// Whether the plan's rows come in the order of a merge's keys.
fn comes_by(planned: &Planned, keys: &[SortKey]) -> bool {
    let order = order_of(&planned.plan);
    let columns = keys.iter().map(|key| Some(SortKey { expr: ordering_column(&key.expr)?, ..key.clone() }));
    columns.collect::<Option<Vec<_>>>().is_some_and(|keys| order.covers(&keys, 0) == keys.len())
}

fn merge_node(
    kind: JoinKind,
    left: Arc<PhysicalPlan>,
    right: Arc<PhysicalPlan>,
    left_keys: Vec<SortKey>,
    right_keys: Vec<SortKey>,
    residual: Option<Expr>,
) -> N {
    let columns: Option<Vec<Expr>> = right_keys.iter().map(|key| ordering_column(&key.expr)).collect();
    let right_differs = columns.is_some_and(|columns| order_of(&right).has_one_of_each(&columns));
    let right_keys = right_keys.into_iter().map(|key| key.expr).collect();
    N::MergeJoin { kind, left, right, left_keys, right_keys, right_differs, residual }
}

/// The kind of a join whose sides change places.
fn exchanged(kind: JoinKind) -> JoinKind {
    match kind {
        JoinKind::Semi => JoinKind::RightSemi,
        JoinKind::Anti => JoinKind::RightAnti,
        _ => JoinKind::Right,
    }
}

type Made = (N, Vec<usize>, Vec<ColumnInfo>);

fn both_sides(left: &Joined, right: &Joined) -> Vec<usize> {
    [left.columns.clone(), right.columns.clone()].concat()
}

fn output(kind: JoinKind, left: &Joined, right: &Joined) -> (Vec<usize>, Vec<ColumnInfo>) {
    match kind {
        JoinKind::Semi | JoinKind::Anti => (left.columns.clone(), left.planned.columns.clone()),
        JoinKind::RightSemi | JoinKind::RightAnti => (right.columns.clone(), right.planned.columns.clone()),
        _ => (both_sides(left, right), [left.planned.columns.clone(), right.planned.columns.clone()].concat()),
    }
}

fn single_output(kind: JoinKind, left: &Planned, right: &Planned) -> (Vec<ColumnInfo>, Vec<Field>) {
    let fields = |planned: &Planned| -> Vec<Field> { planned.plan.fields.clone() };
    match kind {
        JoinKind::Semi | JoinKind::Anti => (left.columns.clone(), fields(left)),
        _ => ([left.columns.clone(), right.columns.clone()].concat(), [fields(left), fields(right)].concat()),
    }
}

/// The keys of an equality between the two sides, the right one over the right row alone.
fn local_hash_keys(condition: &Expr, width: usize) -> Option<(Expr, Expr)> {
    super::method::hashable(condition, &|used| {
        let left = used.iter().all(|&column| column < width);
        let right = used.iter().all(|&column| column >= width);
        (left, right)
    })
    .map(|(left, right)| (left, mapped(right, &|column| column - width)))
}
