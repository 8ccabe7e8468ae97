//! A tree of joins taken apart: units to join, and the conditions between them.
//!
//! Columns of all units are numbered through ("global" columns); sets of units are bit masks. A unit of an outer, semi
//! or anti join may be joined once everything that its ON refers to is there: with that rule these joins commute with
//! inner ones and with each other, because conditions on a NULL-extended side that reject NULLs have made that join
//! inner before, and conditions that do not are applied after it. A semi join by equalities may be had as an inner join
//! with the different rows of its unit, which then comes in any order.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::merge::global_order;
use super::method::hashable;
use crate::Result;
use crate::functions::Function;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{conjuncts, has_correlated_subquery, is_volatile, mapped, used_columns};
use crate::plan::logical::{Field, JoinKind, LogicalPlan, SortKey};
use crate::plan::order::Order;
use crate::plan::physical::Estimate;
use crate::plan::planner::{Planned, Planner};
use crate::plan::rewrites::closure::column_equality;
use crate::plan::rewrites::unique::is_unique;
use crate::plan::scans::access::TableShape;
use crate::plan::scans::scan::{Wanted, column_index};
use crate::plan::statistics::estimate::ColumnInfo;

/// A set of units.
pub(super) type Units = u128;

/// Something to join.
pub(super) struct Unit {
    /// How it is joined; `Inner` for all that can come first.
    pub(in crate::plan) kind: JoinKind,
    pub(in crate::plan) planned: Planned,
    /// Of its rows, by global columns.
    pub(in crate::plan) order: Order,
    /// The same rows in the orders of columns that they are joined by.
    pub(in crate::plan) in_order: Vec<InOrder>,
    /// For looking it up by key.
    pub(in crate::plan) shape: Option<TableShape>,
    /// Global number of its first column.
    pub(in crate::plan) first: usize,
    /// The condition of a join that is not inner, over global columns.
    pub(in crate::plan) on: Vec<Expr>,
    /// What `on` refers to besides the unit.
    pub(in crate::plan) required: Units,
    /// Cost of the subqueries in `on`, for each row.
    subqueries: f64,
    /// Of a semi join by equalities alone: its different rows, each of which a row finds once at most. With them the
    /// semi join is an inner one, and may come first.
    pub(in crate::plan) keys: Option<Keys>,
}

/// A unit's rows in some order.
pub(super) struct InOrder {
    pub(in crate::plan) planned: Planned,
    /// By global columns.
    pub(in crate::plan) order: Order,
}

/// The different rows of a semi join's unit, as far as the join asks for them.
pub(in crate::plan) struct Keys {
    pub(in crate::plan) planned: Planned,
    /// The global columns of a row.
    pub(in crate::plan) columns: Vec<usize>,
}

/// A unit that leads the joins, or none does (0), and how it is read.
pub(super) struct Leader {
    pub(in crate::plan) place: usize,
    pub(in crate::plan) planned: Planned,
    pub(in crate::plan) leading: Units,
}

/// What a join of two sets takes them for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    AsWritten,
    /// The left set is the unit of a semi join, of which each different row is taken once.
    LeftKeys,
    /// The same of the right set.
    RightKeys,
}

impl Unit {
    pub(in crate::plan) fn width(&self) -> usize {
        self.planned.plan.fields.len()
    }
}

/// Columns that are equal by one `=`.
pub(super) struct EqualColumns {
    pub(in crate::plan) function: Arc<Function>,
    /// Global columns with their types.
    pub(in crate::plan) members: Vec<Expr>,
    pub(in crate::plan) units: Units,
}

/// A condition of several units, or of one that is not joined by an inner join.
pub(super) struct Condition {
    pub(in crate::plan) expr: Expr,
    pub(in crate::plan) units: Units,
    /// Cost of the subqueries in it, for each row.
    subqueries: f64,
}

/// The conditions that become applicable when two sets are joined.
#[derive(Default)]
pub(super) struct Between {
    /// Of the join itself.
    pub(in crate::plan) on: Vec<Expr>,
    /// To be checked after it.
    pub(in crate::plan) after: Vec<Expr>,
    /// Cost of the subqueries in `on`, for each row that the join looks at.
    pub(in crate::plan) subqueries: f64,
    /// Cost of the subqueries in `after`, for each row that the join gives.
    pub(super) subqueries_after: f64,
}

/// The joins of one tree.
#[derive(Default)]
pub(super) struct JoinGraph {
    pub(in crate::plan) units: Vec<Unit>,
    /// The unit of each global column.
    owners: Vec<usize>,
    pub(in crate::plan) equal: Vec<EqualColumns>,
    /// Other conditions.
    pub(in crate::plan) conditions: Vec<Condition>,
    /// What the semi joins that have keys ask for, where those are joined like any other unit; with the semi join's unit.
    keys: Vec<(Units, Condition)>,
    /// A unit whose order the result is to have: it is the first of those on the left side of every join, and stays there.
    pub(in crate::plan) leading: Units,
    /// Which share of the rows will be read; none: all.
    pub(in crate::plan) share: Option<f64>,
    /// Output columns of all units, by global column.
    pub(in crate::plan) fields: Vec<Field>,
    /// What is known of each global column.
    pub(in crate::plan) infos: Vec<ColumnInfo>,
}

/// What is collected before the units are planned.
struct Draft {
    plan: LogicalPlan,
    kind: JoinKind,
    on: Vec<Expr>,
    width: usize,
}

#[derive(Default)]
struct Collector {
    drafts: Vec<Draft>,
    owners: Vec<usize>,
    conditions: Vec<Expr>,
}

impl Collector {
    /// Takes the tree apart; the global columns of its output.
    fn collect(&mut self, plan: LogicalPlan) -> Vec<usize> {
        match plan {
            plan if !is_graph(&plan) => self.unit(plan, JoinKind::Inner),
            LogicalPlan::Filter { input, predicate } => {
                let columns = self.collect(*input);
                let parts = conjuncts(predicate).into_iter();
                self.conditions.extend(parts.map(|part| mapped(part, &|column| columns[column])));
                columns
            }
            LogicalPlan::Join { kind: JoinKind::Inner, left, right, on, .. } => {
                let mut columns = self.collect(*left);
                columns.extend(self.collect(*right));
                let parts = on.map(conjuncts).unwrap_or_default().into_iter();
                self.conditions.extend(parts.map(|part| mapped(part, &|column| columns[column])));
                columns
            }
            LogicalPlan::Join { kind, left, right, on, .. } => {
                let mut columns = self.collect(*left);
                let width = columns.len();
                columns.extend(self.unit(*right, kind));
                let on = on.map(conjuncts).unwrap_or_default().into_iter();
                let on = on.map(|part| mapped(part, &|column| columns[column])).collect();
                if let Some(draft) = self.drafts.last_mut() {
                    draft.on = on;
                }
                if kind != JoinKind::Left {
                    columns.truncate(width);
                }
                columns
            }
            other => self.unit(other, JoinKind::Inner),
        }
    }

    fn unit(&mut self, plan: LogicalPlan, kind: JoinKind) -> Vec<usize> {
        let width = plan.width();
        let first = self.owners.len();
        self.owners.extend(std::iter::repeat_n(self.drafts.len(), width));
        self.drafts.push(Draft { plan, kind, on: vec![], width });
        (first..first + width).collect()
    }
}

/// Whether the plan is a join that a graph can hold, or a filter over one.
pub(in crate::plan) fn is_graph(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Filter { input, predicate } => is_graph(input) && !is_volatile(predicate),
        LogicalPlan::Join { kind: JoinKind::Inner, on, lateral: false, .. } => !on.as_ref().is_some_and(is_volatile),
        LogicalPlan::Join { kind, lateral: false, .. } => {
            matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
        }
        _ => false,
    }
}

/// How many units the tree has.
pub(super) fn unit_count(plan: &LogicalPlan) -> usize {
    match plan {
        plan if !is_graph(plan) => 1,
        LogicalPlan::Filter { input, .. } => unit_count(input),
        LogicalPlan::Join { kind: JoinKind::Inner, left, right, .. } => unit_count(left) + unit_count(right),
        LogicalPlan::Join { left, .. } => unit_count(left) + 1,
        _ => 1,
    }
}

impl JoinGraph {
    /// Takes the tree apart and plans its units. Also returns the global columns of the tree's output.
    pub(in crate::plan) fn build(planner: &mut Planner<'_>, plan: LogicalPlan) -> Result<(JoinGraph, Vec<usize>)> {
        let mut collector = Collector::default();
        let output = collector.collect(plan);
        let mut graph = JoinGraph { owners: collector.owners, ..JoinGraph::default() };
        let single = graph.sort_conditions(&collector.drafts, collector.conditions);
        let mut first = 0;
        for ((position, draft), own) in collector.drafts.into_iter().enumerate().zip(single) {
            let own = own.into_iter().map(|part| mapped(part, &|column| column - first)).collect();
            let key = if planner.options.reorder_joins { graph.key_of(position, &draft) } else { vec![] };
            let plan = crate::plan::expressions::refs::filtered(draft.plan, own);
            let on_units = draft.on.iter().fold(0, |units, part| units | graph.units_of(part));
            let shape = TableShape::of(&plan);
            graph.fields.extend(plan.fields());
            let own: Vec<usize> = key.iter().map(|column| column - first).collect();
            let differ = is_unique(&plan, &own);
            let planned = planner.lower(plan)?;
            let keys = (!key.is_empty()).then(|| planner.keys_of(&planned, (key, &own), differ)).transpose()?;
            graph.infos.extend(planned.columns.iter().cloned());
            let required = on_units & !(1 << position);
            let subqueries = planner.subquery_cost(&draft.on)?;
            if keys.is_some() {
                let condition =
                    |part: &Expr| Condition { expr: part.clone(), units: graph.units_of(part), subqueries: 0.0 };
                let conditions: Vec<_> = draft.on.iter().map(|part| (1 << position, condition(part))).collect();
                graph.keys.extend(conditions);
            }
            graph.units.push(Unit {
                kind: draft.kind,
                order: global_order(&planned, first),
                in_order: vec![],
                planned,
                shape,
                first,
                on: draft.on,
                required,
                subqueries,
                keys,
            });
            first += draft.width;
        }
        for condition in &mut graph.conditions {
            condition.subqueries = planner.subquery_cost(std::slice::from_ref(&condition.expr))?;
        }
        planner.plan_orders(&mut graph)?;
        Ok((graph, output))
    }

    /// The columns, of a semi join's unit, of which the condition says what each equals, and nothing else; none if it says
    /// more.
    fn key_of(&self, position: usize, draft: &Draft) -> Vec<usize> {
        let unit: Units = 1 << position;
        let within = |columns: &BTreeSet<usize>| columns.iter().all(|&column| self.unit_of(column) == unit);
        let outside = |columns: &BTreeSet<usize>| columns.iter().all(|&column| self.unit_of(column) != unit);
        let own_column = |part: &Expr| {
            hashable(part, &|columns| (outside(columns), within(columns)))?;
            let Expr::Call { args, .. } = part else { return None };
            args.iter().filter_map(column_index).find(|&column| self.unit_of(column) == unit)
        };
        let given: Option<BTreeSet<usize>> = draft.on.iter().map(own_column).collect();
        given.filter(|_| draft.kind == JoinKind::Semi).into_iter().flatten().collect()
    }

    /// Sorts the conditions into equalities, those of several units, and (returned) those of each inner unit alone.
    fn sort_conditions(&mut self, drafts: &[Draft], conditions: Vec<Expr>) -> Vec<Vec<Expr>> {
        let mut single: Vec<Vec<Expr>> = drafts.iter().map(|_| vec![]).collect();
        for condition in conditions {
            let units = self.units_of(&condition);
            let units = units | self.reducers_before(drafts, &condition, units);
            let only = (units.count_ones() == 1).then(|| units.trailing_zeros() as usize);
            match only.filter(|&unit| drafts[unit].kind == JoinKind::Inner) {
                Some(unit) => single[unit].push(condition),
                None if self.is_inner_equality(drafts, &condition) => self.add_equality(condition, units),
                None => self.conditions.push(Condition { expr: condition, units, subqueries: 0.0 }),
            }
        }
        self.add_equalities_within_units(&mut single);
        single
    }

    /// The semi and anti joins that drop rows of these units, if the condition runs a query for each row: it is checked
    /// after them.
    fn reducers_before(&self, drafts: &[Draft], condition: &Expr, units: Units) -> Units {
        if units == 0 || !has_correlated_subquery(condition) {
            return 0;
        }
        let reduces = |draft: &Draft, place: usize| {
            let on = draft.on.iter().fold(0, |on, part| on | self.units_of(part)) & !(1 << place);
            matches!(draft.kind, JoinKind::Semi | JoinKind::Anti) && on != 0 && on & !units == 0
        };
        let reducers = drafts.iter().enumerate().filter(|(place, draft)| reduces(draft, *place));
        reducers.fold(0, |reducers, (place, _)| reducers | 1 << place)
    }

    /// Columns of one unit that equal the same other column equal each other. With this, one equality for each join of
    /// two sets is enough.
    fn add_equalities_within_units(&self, single: &mut [Vec<Expr>]) {
        for equal in &self.equal {
            for (place, member) in equal.members.iter().enumerate() {
                let unit = self.units_of(member).trailing_zeros() as usize;
                let mut before = equal.members[..place].iter();
                if let Some(first) = before.find(|other| self.units_of(other) == 1 << unit) {
                    let args = vec![first.clone(), member.clone()];
                    single[unit].push(Expr::Call { function: equal.function.clone(), args });
                }
            }
        }
    }

    fn is_inner_equality(&self, drafts: &[Draft], condition: &Expr) -> bool {
        let inner = |column: &usize| drafts[self.owners[*column]].kind == JoinKind::Inner;
        column_equality(condition).is_some() && used_columns(condition).iter().all(inner)
    }

    fn add_equality(&mut self, condition: Expr, units: Units) {
        let Some((function, first, second)) = column_equality(&condition) else { return };
        let mut merged =
            EqualColumns { function: function.clone(), members: vec![first.clone(), second.clone()], units };
        let (touched, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.equal).into_iter().partition(|equal| {
            equal.function.is_same(function)
                && equal.members.iter().any(|member| same_column(member, first) || same_column(member, second))
        });
        self.equal = rest;
        for equal in touched {
            merged.units |= equal.units;
            for member in equal.members {
                if !merged.members.iter().any(|other| same_column(other, &member)) {
                    merged.members.push(member);
                }
            }
        }
        self.equal.push(merged);
    }

    /// The units that an expression over global columns refers to.
    pub(super) fn units_of(&self, expr: &Expr) -> Units {
        used_columns(expr).into_iter().fold(0, |units, column| units | 1 << self.owners[column])
    }

    /// The unit of a global column.
    pub(super) fn unit_of(&self, column: usize) -> Units {
        1 << self.owners[column]
    }

    /// The keys of a wanted order, as far as the unit has columns for them: of its own, or such that equal them. Of those that
    /// may come in any order, those that it has.
    pub(super) fn own_keys(&self, place: usize, output: &[usize], wanted: Wanted<'_>) -> Vec<SortKey> {
        let unit = &self.units[place];
        let own = |global: usize| {
            let is_own = |column: &usize| self.owners.get(*column) == Some(&place);
            let has =
                |equal: &&EqualColumns| equal.members.iter().filter_map(column_index).any(|column| column == global);
            let equal = self.equal.iter().find(has);
            let members = equal.into_iter().flat_map(|equal| equal.members.iter().filter_map(column_index));
            std::iter::once(global).chain(members).find(is_own).map(|column| column - unit.first)
        };
        let key = |key: &SortKey| {
            let index = own(*output.get(column_index(&key.expr)?)?)?;
            let data_type = unit.planned.plan.fields.get(index)?.data_type;
            Some(SortKey { expr: Expr::Column { index, data_type }, ..key.clone() })
        };
        if unit.kind != JoinKind::Inner {
            return vec![];
        }
        let (gathered, then) = wanted.keys.split_at(wanted.gathered.min(wanted.keys.len()));
        let mut keys: Vec<SortKey> = gathered.iter().filter_map(key).collect();
        if keys.len() == gathered.len() {
            keys.extend(then.iter().map_while(key));
        }
        keys
    }

    /// What it costs to read as much as will be read.
    pub(super) fn cost_of_share(&self, estimate: Estimate) -> f64 {
        estimate.startup + (estimate.total - estimate.startup) * self.share.unwrap_or(1.0)
    }

    /// Has a unit, read so, lead the joins; what led before, and how that unit was read.
    pub(super) fn lead(&mut self, leader: Leader) -> Leader {
        let before = std::mem::replace(&mut self.leading, leader.leading);
        let unit = &mut self.units[leader.place];
        unit.order = global_order(&leader.planned, unit.first);
        let planned = std::mem::replace(&mut unit.planned, leader.planned);
        Leader { place: leader.place, planned, leading: before }
    }

    /// The conditions that become applicable when `left` and `right` are joined.
    pub(in crate::plan) fn between(&self, left: Units, right: Units, way: Way) -> Between {
        let both = left | right;
        let outer = self.outer_unit(right).filter(|_| way == Way::AsWritten);
        let of_keys = self.keys.iter().filter(|(unit, _)| outer.is_none() || *unit != right);
        let all = self.conditions.iter().chain(of_keys.map(|(_, condition)| condition));
        let applicable = all.filter(|Condition { units, .. }| {
            *units != 0 && units & !both == 0 && units & !left != 0 && (outer.is_some() || units & !right != 0)
        });
        let mut between = Between::default();
        for condition in applicable {
            between.after.push(condition.expr.clone());
            between.subqueries_after += condition.subqueries;
        }
        match outer {
            Some(unit) => {
                between.on = unit.on.clone();
                between.subqueries = unit.subqueries;
            }
            None => {
                between.subqueries = std::mem::take(&mut between.subqueries_after);
                between.on = self.equal.iter().filter_map(|equal| self.equality_between(equal, left, right)).collect();
                between.on.append(&mut between.after);
            }
        }
        between
    }

    /// The unit, if the set is one that is not joined by an inner join.
    pub(super) fn outer_unit(&self, units: Units) -> Option<&Unit> {
        let unit = (units.count_ones() == 1).then(|| &self.units[units.trailing_zeros() as usize])?;
        (unit.kind != JoinKind::Inner).then_some(unit)
    }

    fn equality_between(&self, equal: &EqualColumns, left: Units, right: Units) -> Option<Expr> {
        let member = |side: Units| equal.members.iter().find(|member| self.units_of(member) & side != 0);
        if equal.units & left == 0 || equal.units & right == 0 {
            return None;
        }
        Some(Expr::Call { function: equal.function.clone(), args: vec![member(left)?.clone(), member(right)?.clone()] })
    }

    /// Whether some condition ties the two sets together.
    pub(super) fn is_connected(&self, left: Units, right: Units, way: Way) -> bool {
        if let (Some(unit), Way::AsWritten) = (self.outer_unit(right), way) {
            return unit.required != 0;
        }
        let ties = |units: Units| units & left != 0 && units & right != 0;
        let becomes_known = |condition: &Condition| condition.units & !(left | right) == 0 && ties(condition.units);
        self.equal.iter().any(|equal| ties(equal.units))
            || self.conditions.iter().any(becomes_known)
            || self.keys.iter().any(|(_, condition)| becomes_known(condition))
    }

    /// How `right` may be joined to `left`, if at all.
    pub(in crate::plan) fn ways(&self, left: Units, right: Units) -> impl Iterator<Item = Way> {
        let has_keys = |unit: Option<&Unit>| unit.is_some_and(|unit| unit.keys.is_some());
        let (of_left, of_right) = (self.outer_unit(left), self.outer_unit(right));
        let is_met = of_right.is_none_or(|unit| unit.required & !left == 0);
        let as_written = of_left.is_none() && is_met;
        let left_keys = has_keys(of_left) && of_right.is_none();
        // Where a semi join is possible it is no worse.
        let right_keys = has_keys(of_right) && of_left.is_none() && !is_met;
        let ways = [(as_written, Way::AsWritten), (left_keys, Way::LeftKeys), (right_keys, Way::RightKeys)];
        let keeps_order = right & self.leading == 0;
        ways.into_iter().filter(move |(is_possible, _)| *is_possible && keeps_order).map(|(_, way)| way)
    }
}

impl Planner<'_> {
    /// The different values of these columns, global and of the unit's own row; `differ`: of two rows they never are the same.
    fn keys_of(&mut self, unit: &Planned, (columns, own): (Vec<usize>, &[usize]), differ: bool) -> Result<Keys> {
        let fields: Vec<Field> = own.iter().map(|&column| unit.plan.fields[column].clone()).collect();
        let exprs = own.iter().zip(&fields);
        let exprs = exprs.map(|(&index, field)| Expr::Column { index, data_type: field.data_type }).collect();
        let shown = self.project(unit.clone(), exprs, fields)?;
        let planned = if differ { shown } else { self.different(shown) };
        Ok(Keys { planned, columns })
    }
}

fn same_column(a: &Expr, b: &Expr) -> bool {
    matches!((a, b), (Expr::Column { index: a, .. }, Expr::Column { index: b, .. }) if a == b)
}
