//! From logical to physical, node by node (joins: `joins/`).

use std::sync::Arc;

use super::expressions::expr::{AggregateCall, Expr};
use super::expressions::refs::{conjuncts, is_volatile, map_columns};
use super::joins::graph::is_graph;
use super::logical::{CteId, Field, LogicalPlan, SetOperator, SortKey};
use super::physical::{ModifiedRows, PhysicalNode as N};
use super::planner::{CteInfo, ExprCost, Planned, Planner};
use super::scans::access::TableShape;
use super::scans::scan::{Wanted, column_index, groups_of};
use super::statistics::cost;
use super::statistics::estimate::ColumnInfo;
use crate::Result;
use crate::types::Value;

/// Rows that a recursive query's rounds are taken to multiply its base by.
pub(super) const ROUNDS: f64 = 10.0;

impl Planner<'_> {
    /// The physical plan of `plan`.
    pub(super) fn lower(&mut self, plan: LogicalPlan) -> Result<Planned> {
        self.options.check()?;
        if let Some(shape) = TableShape::of(&plan) {
            return Ok(self.scan(&shape, None)?.0);
        }
        if is_graph(&plan) {
            return self.join(plan);
        }
        let fields = plan.fields();
        match plan {
            LogicalPlan::Values { rows, .. } => self.values(rows, fields),
            LogicalPlan::Filter { input, predicate } => {
                let input = self.lower(*input)?;
                self.filter(input, conjuncts(predicate))
            }
            LogicalPlan::Project { input, exprs, .. } => {
                let input = self.lower(*input)?;
                self.project(input, exprs, fields)
            }
            LogicalPlan::Join { .. } => self.join(plan),
            LogicalPlan::Aggregate { input, group_by, aggregates, .. } => {
                self.aggregate(*input, group_by, aggregates, fields, None)
            }
            LogicalPlan::Window { input, partition_by, order_by, calls, .. } => {
                self.window(*input, partition_by, order_by, calls, fields)
            }
            LogicalPlan::Sort { input, keys } => self.sort(*input, keys, None),
            LogicalPlan::Limit { input, limit, offset, ties } => self.limit(*input, limit, offset, ties),
            LogicalPlan::Distinct { input, on } => self.distinct(*input, on, None),
            LogicalPlan::SetOperation { op, all, left, right } => self.set_operation(op, all, *left, *right, fields),
            LogicalPlan::With { id, name, definition, body, .. } => {
                let definition = self.lower(*definition)?;
                self.define(id, &name, definition.rows(), &definition);
                let body = self.lower(*body)?;
                let (first, rest) = (definition.estimate(), body.estimate());
                let node = N::Cte { id, name, definition: definition.plan, body: body.plan };
                let total = first.total + rest.total;
                Ok(Planned::new(node, fields, body.columns, rest.startup, total, rest.rows))
            }
            LogicalPlan::RecursiveWith { id, name, base, step, all, body } => {
                let base = self.lower(*base)?;
                self.define(id, &name, base.rows(), &base);
                let step = self.lower(*step)?;
                self.define(id, &name, base.rows() * ROUNDS, &base);
                let body = self.lower(*body)?;
                let rest = body.estimate();
                let total = base.estimate().total + step.estimate().total * ROUNDS + rest.total;
                let node = N::RecursiveCte { id, name, base: base.plan, step: step.plan, all, body: body.plan };
                Ok(Planned::new(node, fields, body.columns, rest.startup, total, rest.rows))
            }
            LogicalPlan::CteScan { id, alias, .. } => {
                let known = self.ctes.get(&id).cloned();
                let CteInfo { name, rows, columns } = known.unwrap_or_else(|| unknown_cte(id, &fields));
                let total = rows * cost::ROW;
                Ok(Planned::new(N::CteScan { id, name }, fields, columns, 0.0, total, rows).called(alias))
            }
            LogicalPlan::Modify { change, input } => {
                let input = self.lower(*input)?;
                let below = input.estimate();
                let node = N::Modify { change, rows: ModifiedRows::of(input.plan) };
                let columns = computed(&fields, below.rows);
                let gives_rows = !fields.is_empty();
                let mut planned = Planned::new(node, fields, columns, below.startup, below.total, below.rows);
                if !gives_rows {
                    let estimate = &mut Arc::make_mut(&mut planned.plan).estimate;
                    (estimate.rows, estimate.width) = (0.0, 0.0);
                }
                Ok(planned)
            }
            LogicalPlan::SystemScan { relation, columns, .. } => {
                let rows = relation.estimate();
                let infos = computed(&fields, rows);
                let node = N::SystemScan { relation, columns, only: None };
                Ok(Planned::new(node, fields, infos, 0.0, rows * cost::ROW, rows))
            }
            LogicalPlan::TableFunction { call, .. } => {
                let rows = 1000.0;
                let columns = computed(&fields, rows);
                let node = N::TableFunction { call: self.expr(call)? };
                Ok(Planned::new(node, fields, columns, 0.0, rows * cost::ROW, rows))
            }
            LogicalPlan::Scan { .. } => Err(crate::Error::internal("a scan without shape")),
        }
    }

    fn define(&mut self, id: CteId, name: &str, rows: f64, like: &Planned) {
        self.ctes.insert(id, CteInfo { name: name.to_owned(), rows, columns: like.columns.clone() });
    }

    fn values(&mut self, rows: Vec<Vec<Expr>>, fields: Vec<Field>) -> Result<Planned> {
        let count = rows.len() as f64;
        let columns = computed(&fields, count);
        let rows = rows.into_iter().map(|row| self.exprs(row)).collect::<Result<Vec<_>>>()?;
        let cost = ExprCost::of(rows.iter().flatten());
        Ok(Planned::new(N::Values { rows }, fields, columns, 0.0, cost.once + cost.row + count * cost::ROW, count))
    }

    /// Keeps the rows for which all `parts` are true.
    pub(super) fn filter(&mut self, mut input: Planned, parts: Vec<Expr>) -> Result<Planned> {
        self.ask_for_one(&mut input, &parts)?;
        let share: f64 = super::statistics::estimate::selectivity_of_all(&parts, &input.columns);
        let Some(predicate) = self.predicate(parts)? else { return Ok(input) };
        let cost = ExprCost::of([&predicate]);
        let below = input.estimate();
        let fields = input.plan.fields.clone();
        let node = N::Filter { input: input.plan, predicate };
        let total = below.total + cost.once + below.rows * cost.row;
        Ok(Planned::new(node, fields, input.columns, below.startup + cost.once, total, below.rows * share))
    }

    /// Computes the output columns; a projection of plain columns below is looked through.
    pub(super) fn project(&mut self, input: Planned, mut exprs: Vec<Expr>, fields: Vec<Field>) -> Result<Planned> {
        let columns = exprs.iter().map(|expr| match column_index(expr).and_then(|index| input.columns.get(index)) {
            Some(info) => info.clone(),
            None => ColumnInfo::computed(expr.data_type(), input.rows()),
        });
        let columns = columns.collect();
        let below = input.estimate();
        let input = match &input.plan.node {
            N::Project { input: inner, exprs: plain } if plain.iter().all(|expr| column_index(expr).is_some()) => {
                let place = |index: usize| plain.get(index).and_then(column_index).unwrap_or(index);
                exprs.iter_mut().for_each(|expr| map_columns(expr, &place));
                inner.clone()
            }
            _ => input.plan,
        };
        let exprs = self.exprs(exprs)?;
        let cost = ExprCost::of(&exprs);
        let total = below.total + cost.once + below.rows * cost.row;
        if is_identity(&exprs, input.fields.len()) && input.fields == fields {
            return Ok(Planned { plan: input, columns });
        }
        let node = N::Project { input, exprs };
        Ok(Planned::new(node, fields, columns, below.startup + cost.once, total, below.rows))
    }

    /// Groups, whose rows may be wanted in an order.
    pub(super) fn aggregate(
        &mut self,
        input: LogicalPlan,
        group_by: Vec<Expr>,
        mut aggregates: Vec<AggregateCall>,
        fields: Vec<Field>,
        wanted: Option<Wanted<'_>>,
    ) -> Result<Planned> {
        let few = match self.end_of_index(&input, &group_by, &aggregates)? {
            Some(row) => Some(row),
            None => self.distinct_values(&input, &group_by, &mut aggregates)?,
        };
        let input = match few {
            Some(rows) => rows,
            None => self.gathered(input, &group_by, wanted)?,
        };
        let below = input.estimate();
        let groups = groups_of(group_by.iter(), &input.columns, below.rows);
        let mut columns: Vec<ColumnInfo> = group_by
            .iter()
            .map(|expr| match column_index(expr).and_then(|index| input.columns.get(index)) {
                Some(info) => info.clone(),
                None => ColumnInfo::computed(expr.data_type(), groups),
            })
            .collect();
        columns.extend(aggregates.iter().map(|call| {
            let computed = ColumnInfo::computed(call.aggregate.returns, groups);
            ColumnInfo { distinct: groups, ..computed }
        }));
        let (group_by, aggregates) = (self.exprs(group_by)?, self.aggregates(aggregates)?);
        let arguments = aggregates.iter().flat_map(super::expressions::walk::of_aggregate);
        let cost = ExprCost::of(group_by.iter().chain(arguments));
        let each = cost.row + cost::OPERATOR * aggregates.len() as f64;
        let sorted = self.comes_grouped(&input, &group_by, &aggregates);
        let finding = match (group_by.is_empty(), sorted) {
            (true, _) => 0.0,
            (false, true) => below.rows * cost::OPERATOR,
            (false, false) => cost::hash_groups(below.rows, groups),
        };
        let total = below.total + cost.once + below.rows * each + finding + groups * cost::ROW;
        let startup = if sorted { below.startup + cost.once } else { total - groups * cost::ROW };
        let node = N::Aggregate { input: input.plan, group_by, aggregates, sorted };
        Ok(Planned::new(node, fields, columns, startup, total, groups))
    }

    fn limit(
        &mut self,
        input: LogicalPlan,
        limit: Option<Expr>,
        offset: Option<Expr>,
        ties: Vec<SortKey>,
    ) -> Result<Planned> {
        let wanted =
            limit.as_ref().map(|limit| row_count(Some(limit)) + offset.as_ref().map_or(0.0, |o| row_count(Some(o))));
        let input = match input {
            LogicalPlan::Sort { input, keys } => self.sort(*input, keys, wanted)?,
            // The projection of an ORDER BY's extra columns lies between. (What is volatile is worked out for rows that OFFSET
            // passes as well.)
            LogicalPlan::Project { input, exprs, fields }
                if matches!(*input, LogicalPlan::Sort { .. })
                    && !((offset.is_some() || !ties.is_empty()) && exprs.iter().any(is_volatile)) =>
            {
                let LogicalPlan::Sort { input, keys } = *input else {
                    return Err(crate::Error::internal("a sort that is none"));
                };
                let sorted = self.sort(*input, keys, wanted)?;
                let sorted = self.top(sorted, &limit, &offset, ties)?;
                return self.project(sorted, exprs, fields);
            }
            other => self.lower(other)?,
        };
        self.top(input, &limit, &offset, ties)
    }

    /// LIMIT; over a sort, a `TopN`.
    fn top(
        &mut self,
        input: Planned,
        limit: &Option<Expr>,
        offset: &Option<Expr>,
        mut ties: Vec<SortKey>,
    ) -> Result<Planned> {
        for key in &mut ties {
            let expr = std::mem::replace(&mut key.expr, Expr::And(vec![]));
            key.expr = self.expr(expr)?;
        }
        let (limit, offset) = (self.optional(limit.clone())?, self.optional(offset.clone())?);
        let below = input.estimate();
        let skipped = offset.as_ref().map_or(0.0, |offset| row_count(Some(offset)));
        let rows = limit.as_ref().map_or(f64::MAX, |limit| row_count(Some(limit)));
        let rows = rows.min((below.rows - skipped).max(1.0));
        let read = (rows + skipped).min(below.rows);
        let fields = input.plan.fields.clone();
        if let (N::Sort { input: unsorted, keys, presorted }, Some(limit), true) =
            (&input.plan.node, limit.clone(), ties.is_empty())
        {
            let (keys, presorted) = (keys.clone(), *presorted);
            let startup = Wanted::sorted(&keys, Some(read)).cost(unsorted.estimate, presorted, &input.columns);
            let node = N::TopN { input: unsorted.clone(), keys, presorted, limit, offset };
            return Ok(Planned::new(node, fields, input.columns, startup, startup + rows * cost::OPERATOR, rows));
        }
        let total = below.startup + (below.total - below.startup) * (read / below.rows.max(1.0));
        let node = N::Limit { input: input.plan, limit, offset, ties };
        Ok(Planned::new(node, fields, input.columns, below.startup, total, rows))
    }

    fn set_operation(
        &mut self,
        op: SetOperator,
        all: bool,
        left: LogicalPlan,
        right: LogicalPlan,
        fields: Vec<Field>,
    ) -> Result<Planned> {
        if op == SetOperator::Union {
            let mut inputs = vec![];
            self.append_inputs(left, all, &mut inputs)?;
            self.append_inputs(right, all, &mut inputs)?;
            return Ok(append(inputs, all, fields));
        }
        let (left, right) = (self.lower(left)?, self.lower(right)?);
        let (a, b) = (left.estimate(), right.estimate());
        let startup = b.total + b.rows * cost::HASH_BUILD;
        let rows = if op == SetOperator::Intersect { a.rows.min(b.rows) } else { a.rows };
        let node = N::SetOperation { op, all, left: left.plan, right: right.plan };
        let total = startup + a.total + a.rows * cost::HASH_PROBE;
        Ok(Planned::new(node, fields, left.columns, startup, total, rows))
    }

    /// Takes nested UNIONs in: UNION ALL in any UNION, and UNION in UNION, whose duplicates go in the end anyway.
    fn append_inputs(&mut self, plan: LogicalPlan, all: bool, inputs: &mut Vec<Planned>) -> Result<()> {
        match plan {
            LogicalPlan::SetOperation { op: SetOperator::Union, all: inner, left, right } if inner || !all => {
                self.append_inputs(*left, all, inputs)?;
                self.append_inputs(*right, all, inputs)
            }
            other => {
                inputs.push(self.lower(other)?);
                Ok(())
            }
        }
    }
}

fn append(inputs: Vec<Planned>, all: bool, fields: Vec<Field>) -> Planned {
    let rows: f64 = inputs.iter().map(Planned::rows).sum();
    let total: f64 = inputs.iter().map(|input| input.estimate().total).sum();
    let columns = computed(&fields, rows);
    let columns: Vec<ColumnInfo> = columns.into_iter().map(|info| ColumnInfo { distinct: rows, ..info }).collect();
    let node = N::Append { inputs: inputs.into_iter().map(|input| input.plan).collect() };
    let append = Planned::new(node, fields.clone(), columns.clone(), 0.0, total, rows);
    if all {
        return append;
    }
    let total = total + cost::hash_groups(rows, rows);
    Planned::new(N::Distinct { input: append.plan, sorted: false }, fields, columns, 0.0, total, rows)
}

fn is_identity(exprs: &[Expr], width: usize) -> bool {
    exprs.len() == width && exprs.iter().enumerate().all(|(place, expr)| column_index(expr) == Some(place))
}

fn computed(fields: &[Field], rows: f64) -> Vec<ColumnInfo> {
    fields.iter().map(|field| ColumnInfo::computed(field.data_type, rows)).collect()
}

fn unknown_cte(id: CteId, fields: &[Field]) -> CteInfo {
    let (name, rows) = match id {
        CteId::Changed(number) => (format!("changed_{number}"), 1.0),
        CteId::Query(number) | CteId::Returned(number) => (format!("cte_{number}"), 100.0),
        CteId::Row => ("row".to_owned(), 1.0),
    };
    CteInfo { name, rows, columns: computed(fields, rows) }
}

/// What a LIMIT or OFFSET says, or a guess.
fn row_count(expr: Option<&Expr>) -> f64 {
    match expr {
        Some(Expr::Literal { value: Value::BigInt(rows), .. }) => (*rows).max(0) as f64,
        Some(Expr::Literal { value: Value::Integer(rows), .. }) => f64::from((*rows).max(0)),
        Some(Expr::Literal { value: Value::Null, .. }) => f64::MAX,
        _ => 100.0,
    }
}
