//! What wants its rows in an order, and is planned with an eye to the order that they come in anyway: sorts, windows, groups,
//! different rows.

use super::expressions::expr::{AggregateCall, Expr};
use super::expressions::refs::{conjuncts, is_volatile};
use super::expressions::walk;
use super::expressions::window::WindowCall;
use super::joins::graph::is_graph;
use super::logical::{Field, LogicalPlan, SortKey};
use super::order::{is_plain, order_of};
use super::physical::PhysicalNode as N;
use super::planner::{ExprCost, Planned, Planner};
use super::scans::access::TableShape;
use super::scans::scan::{Wanted, Without, column_index, groups_of};
use super::statistics::cost;
use super::statistics::estimate::{ColumnInfo, selectivity_of_all};
use crate::Result;

impl Planner<'_> {
    /// Sorts, unless the input can be read in that order at less cost; `kept`: how many rows are wanted.
    pub(super) fn sort(&mut self, input: LogicalPlan, keys: Vec<SortKey>, kept: Option<f64>) -> Result<Planned> {
        let (input, covered) = self.ordered(input, Wanted::sorted(&keys, kept))?;
        if covered == keys.len() { Ok(input) } else { self.sorted(input, keys, covered) }
    }

    /// A sort over what is planned, whose rows come in the order of the first `presorted` keys.
    fn sorted(&mut self, input: Planned, keys: Vec<SortKey>, presorted: usize) -> Result<Planned> {
        let keys = self.keys(keys)?;
        let below = input.estimate();
        let cost = ExprCost::of(keys.iter().map(|key| &key.expr));
        let groups = self.groups(&keys[..presorted], &input);
        let each = below.rows / groups;
        let sorting = groups * (cost.row * each + cost::sort(each, each));
        let first = if presorted > 0 { below.startup + (below.total - below.startup) / groups } else { below.total };
        let startup = first + cost.once + sorting / groups;
        let total = below.total + cost.once + sorting + below.rows * cost::OPERATOR;
        let fields = input.plan.fields.clone();
        let node = N::Sort { input: input.plan, keys, presorted };
        Ok(Planned::new(node, fields, input.columns, startup, total, below.rows))
    }

    /// How many runs of rows that agree in these keys there are; 1 without any.
    pub(super) fn groups(&self, keys: &[SortKey], input: &Planned) -> f64 {
        groups_of(keys.iter().map(|key| &key.expr), &input.columns, input.rows())
    }

    /// Plans the input with an eye to an order; how many of its keys it comes out in.
    pub(super) fn ordered(&mut self, plan: LogicalPlan, wanted: Wanted<'_>) -> Result<(Planned, usize)> {
        if let Some(shape) = TableShape::of(&plan) {
            return self.scan(&shape, Some(wanted));
        }
        let planned = match plan {
            LogicalPlan::Project { input, exprs, fields } => {
                return self.ordered_project(*input, exprs, fields, wanted);
            }
            join if is_graph(&join) => return self.ordered_join(join, wanted),
            LogicalPlan::Filter { input, predicate } => {
                let parts = conjuncts(predicate);
                let rows = wanted.rows.and_then(|rows| rows_before(&input, &parts, rows));
                let (input, _) = self.ordered(*input, Wanted { rows, ..wanted })?;
                self.filter(input, parts)?
            }
            LogicalPlan::Aggregate { input, group_by, aggregates, fields } => {
                self.aggregate(*input, group_by, aggregates, fields, Some(wanted))?
            }
            LogicalPlan::Distinct { input, on } if on.is_empty() => self.distinct(*input, on, Some(wanted))?,
            other => self.lower(other)?,
        };
        let covered = self.covered(&planned, wanted);
        Ok((planned, covered))
    }

    /// How many of the keys that are wanted a plan's rows come in.
    pub(super) fn covered(&self, planned: &Planned, wanted: Wanted<'_>) -> usize {
        if self.options.ordering { wanted.covered_by(&order_of(&planned.plan)) } else { 0 }
    }

    fn ordered_project(
        &mut self,
        input: LogicalPlan,
        exprs: Vec<Expr>,
        fields: Vec<Field>,
        wanted: Wanted<'_>,
    ) -> Result<(Planned, usize)> {
        let through = |key: &SortKey| match exprs.get(column_index(&key.expr)?)? {
            // An index may be of an expression.
            expr if !is_volatile(expr) => Some(SortKey { expr: expr.clone(), ..key.clone() }),
            _ => None,
        };
        let Some(keys) = wanted.keys.iter().map(through).collect::<Option<Vec<SortKey>>>() else {
            let input = self.lower(input)?;
            return Ok((self.project(input, exprs, fields)?, 0));
        };
        let (input, covered) = self.ordered(input, Wanted { keys: &keys, ..wanted })?;
        Ok((self.project(input, exprs, fields)?, covered))
    }

    /// The input of what takes rows that agree in `alike` together, in an order that has them so if that costs less than
    /// hashing. The result's rows, of which `alike` are the first columns, may be wanted in an order, too.
    pub(super) fn gathered(
        &mut self,
        input: LogicalPlan,
        alike: &[Expr],
        wanted: Option<Wanted<'_>>,
    ) -> Result<Planned> {
        if alike.is_empty() || !self.options.ordering || !alike.iter().all(is_plain) {
            return self.lower(input);
        }
        let through = |key: &SortKey| {
            let expr = alike.get(column_index(&key.expr)?)?.clone();
            Some(SortKey { expr, ..key.clone() })
        };
        let above = wanted.filter(|wanted| wanted.gathered == 0);
        let first = above.and_then(|above| above.keys.iter().map(through).collect::<Option<Vec<_>>>());
        let rows = first.as_ref().and(above).and_then(|above| above.rows);
        let gathered = if first.is_some() { 0 } else { alike.len() };
        let mut keys = first.unwrap_or_default();
        let others =
            alike.iter().filter(|expr| !keys.iter().any(|key| super::expressions::equal::same_expr(&key.expr, expr)));
        let others: Vec<SortKey> = others.map(ascending).collect();
        keys.extend(others);
        Ok(self.ordered(input, Wanted { keys: &keys, gathered, rows, without: Without::Hash })?.0)
    }

    /// Window functions over the input, sorted for them unless it comes so.
    pub(super) fn window(
        &mut self,
        input: LogicalPlan,
        partition_by: Vec<Expr>,
        order_by: Vec<SortKey>,
        calls: Vec<WindowCall>,
        fields: Vec<Field>,
    ) -> Result<Planned> {
        let keys: Vec<SortKey> = partition_by.iter().map(ascending).chain(order_by.iter().cloned()).collect();
        let gathered = if self.options.ordering { partition_by.len() } else { 0 };
        let (input, covered) = self.ordered(input, Wanted { gathered, ..Wanted::sorted(&keys, None) })?;
        let input = if covered == keys.len() { input } else { self.sorted(input, keys, covered)? };
        let below = input.estimate();
        let (partition_by, order_by) = (self.exprs(partition_by)?, self.keys(order_by)?);
        let calls = self.window_calls(calls)?;
        let keys = partition_by.iter().chain(order_by.iter().map(|key| &key.expr));
        let cost = ExprCost::of(keys.chain(calls.iter().flat_map(WindowCall::exprs)));
        let each = cost.row + cost::OPERATOR * calls.len() as f64;
        let mut columns = input.columns;
        columns.extend(calls.iter().map(|call| ColumnInfo::computed(call.function.returns(), below.rows)));
        let node = N::Window { input: input.plan, partition_by, order_by, calls };
        let (startup, total) = (below.startup + cost.once, below.total + cost.once + below.rows * each);
        Ok(Planned::new(node, fields, columns, startup, total, below.rows))
    }

    /// DISTINCT, whose result may be wanted in an order, and DISTINCT ON.
    pub(super) fn distinct(
        &mut self,
        input: LogicalPlan,
        on: Vec<Expr>,
        wanted: Option<Wanted<'_>>,
    ) -> Result<Planned> {
        if !on.is_empty() {
            let input = self.lower(input)?;
            return self.distinct_on(input, on);
        }
        if super::rewrites::unique::rows_differ(&input) && self.options.rewrites {
            return match wanted {
                Some(wanted) => Ok(self.ordered(input, wanted)?.0),
                None => self.lower(input),
            };
        }
        let fields = input.fields().into_iter().enumerate();
        let columns = fields.map(|(index, field)| Expr::Column { index, data_type: field.data_type });
        let columns = columns.collect::<Vec<_>>();
        let loose = if wanted.is_none() { self.loose(&input)? } else { None };
        let gathered = self.gathered(input, &columns, wanted)?;
        let different = self.different(gathered);
        let is_less = |loose: &Planned| loose.estimate().total < different.estimate().total;
        Ok(loose.filter(is_less).unwrap_or(different))
    }

    fn distinct_on(&mut self, input: Planned, on: Vec<Expr>) -> Result<Planned> {
        let below = input.estimate();
        let fields = input.plan.fields.clone();
        let rows = groups_of(on.iter(), &input.columns, below.rows);
        let sorted = self.options.ordering && order_of(&input.plan).gathers(&on);
        let telling = if sorted { below.rows * cost::OPERATOR } else { cost::hash_groups(below.rows, rows) };
        let total = below.total + telling;
        let node = N::DistinctOn { input: input.plan, on: self.exprs(on)?, sorted };
        Ok(Planned::new(node, fields, input.columns, below.startup, total, rows))
    }

    /// Each different row once.
    pub(super) fn different(&self, input: Planned) -> Planned {
        let below = input.estimate();
        let fields = input.plan.fields.clone();
        let columns = fields.iter().enumerate();
        let columns = columns.map(|(index, field)| Expr::Column { index, data_type: field.data_type });
        let columns: Vec<Expr> = columns.collect();
        let rows = groups_of(columns.iter(), &input.columns, below.rows);
        let sorted = self.options.ordering && order_of(&input.plan).gathers(&columns);
        let telling = if sorted { below.rows * cost::OPERATOR } else { cost::hash_groups(below.rows, rows) };
        let total = below.total + telling;
        let node = N::Distinct { input: input.plan, sorted };
        Planned::new(node, fields, input.columns, below.startup, total, rows)
    }

    /// Whether groups can be aggregated one behind the other: their rows come together, and may be taken twice.
    pub(super) fn comes_grouped(&self, input: &Planned, group_by: &[Expr], aggregates: &[AggregateCall]) -> bool {
        self.options.ordering
            && !group_by.is_empty()
            && !walks_volatile(aggregates)
            && order_of(&input.plan).gathers(group_by)
    }
}

/// How many of the input's rows are read until so many passed the conditions; `None`: that is not known. Of groups it never
/// is: nothing tells how many of them a HAVING lets pass.
fn rows_before(input: &LogicalPlan, conditions: &[Expr], passed: f64) -> Option<f64> {
    let share = match TableShape::of(input) {
        Some(shape) => {
            let known = shape.known();
            known.share_of(&conditions.iter().map(|condition| known.seen(condition)).collect::<Vec<_>>())
        }
        None => selectivity_of_all(conditions, &known_columns(input)?),
    };
    Some(passed / share.max(f64::MIN_POSITIVE))
}

/// What is known of columns that are tables', or computed from them row by row.
fn known_columns(plan: &LogicalPlan) -> Option<Vec<ColumnInfo>> {
    match plan {
        LogicalPlan::Scan { .. } => Some(TableShape::of(plan)?.infos()),
        LogicalPlan::Filter { input, .. } | LogicalPlan::Distinct { input, .. } | LogicalPlan::Sort { input, .. } => {
            known_columns(input)
        }
        LogicalPlan::Project { input, exprs, .. } => {
            let below = known_columns(input)?;
            let info = |expr: &Expr| column_index(expr).and_then(|index| below.get(index)).cloned();
            let computed = |expr: &Expr| ColumnInfo::computed(expr.data_type(), f64::INFINITY);
            Some(exprs.iter().map(|expr| info(expr).unwrap_or_else(|| computed(expr))).collect())
        }
        LogicalPlan::Join { kind, left, right, .. } => {
            let mut columns = known_columns(left)?;
            if kind.shows_right() {
                columns.append(&mut known_columns(right)?);
            }
            Some(columns)
        }
        _ => None,
    }
}

fn walks_volatile(aggregates: &[AggregateCall]) -> bool {
    aggregates.iter().any(|call| walk::of_aggregate(call).into_iter().any(is_volatile))
}

pub(super) fn ascending(expr: &Expr) -> SortKey {
    SortKey { expr: expr.clone(), descending: false, nulls_first: false }
}
