//! From logical to physical, node by node.

use std::collections::HashMap;
use std::sync::Arc;

use super::expr::{AggregateCall, Expr, Subquery};
use super::logical::{LogicalPlan, SetOperator, SortKey};
use super::options::OptimizerOptions;
use super::physical::{Estimate, KeyRange, PhysicalNode as N, PhysicalPlan, Subplan};
use super::walk;
use crate::Result;

/// Chooses physical nodes.
pub(super) struct Planner<'a> {
    #[allow(dead_code)]
    options: &'a OptimizerOptions,
    /// Names of the CTEs met so far.
    ctes: HashMap<usize, String>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(options: &'a OptimizerOptions) -> Self {
        Planner { options, ctes: HashMap::new() }
    }

    /// The physical plan of `plan`.
    pub(super) fn lower(&mut self, plan: LogicalPlan) -> Result<PhysicalPlan> {
        let fields = plan.fields();
        let node = self.node(plan)?;
        Ok(PhysicalPlan { id: 0, fields, estimate: Estimate::default(), node })
    }

    fn input(&mut self, plan: Box<LogicalPlan>) -> Result<Arc<PhysicalPlan>> {
        Ok(Arc::new(self.lower(*plan)?))
    }

    fn node(&mut self, plan: LogicalPlan) -> Result<N> {
        Ok(match plan {
            LogicalPlan::Values { rows, .. } => {
                N::Values { rows: rows.into_iter().map(|row| self.exprs(row)).collect::<Result<_>>()? }
            }
            LogicalPlan::Scan { table, columns } => {
                N::TableScan { table, columns, ranges: vec![KeyRange::default()], filter: None, reverse: false }
            }
            LogicalPlan::Filter { input, predicate } => {
                N::Filter { input: self.input(input)?, predicate: self.expr(predicate)? }
            }
            LogicalPlan::Project { input, exprs, .. } => {
                N::Project { input: self.input(input)?, exprs: self.exprs(exprs)? }
            }
            LogicalPlan::Join { kind, left, right, on, lateral } => N::NestedLoopJoin {
                kind,
                left: self.input(left)?,
                right: self.input(right)?,
                on: self.optional(on)?,
                lateral,
            },
            LogicalPlan::Aggregate { input, group_by, aggregates, .. } => N::HashAggregate {
                input: self.input(input)?,
                group_by: self.exprs(group_by)?,
                aggregates: self.aggregates(aggregates)?,
            },
            LogicalPlan::Sort { input, keys } => N::Sort { input: self.input(input)?, keys: self.keys(keys)? },
            LogicalPlan::Limit { input, limit, offset } => {
                N::Limit { input: self.input(input)?, limit: self.optional(limit)?, offset: self.optional(offset)? }
            }
            LogicalPlan::Distinct { input, on } if on.is_empty() => N::Distinct { input: self.input(input)? },
            LogicalPlan::Distinct { input, on } => N::DistinctOn { input: self.input(input)?, on: self.exprs(on)? },
            LogicalPlan::SetOperation { op: SetOperator::Union, all, left, right } => {
                let fields = left.fields();
                let append = N::Append { inputs: vec![self.input(left)?, self.input(right)?] };
                if all {
                    append
                } else {
                    let estimate = Estimate::default();
                    N::Distinct { input: Arc::new(PhysicalPlan { id: 0, fields, estimate, node: append }) }
                }
            }
            LogicalPlan::SetOperation { op, all, left, right } => {
                N::SetOperation { op, all, left: self.input(left)?, right: self.input(right)? }
            }
            LogicalPlan::With { id, name, definition, body } => {
                self.ctes.insert(id, name.clone());
                N::Cte { id, name, definition: self.input(definition)?, body: self.input(body)? }
            }
            LogicalPlan::RecursiveWith { id, name, base, step, all, body } => {
                self.ctes.insert(id, name.clone());
                N::RecursiveCte {
                    id,
                    name,
                    base: self.input(base)?,
                    step: self.input(step)?,
                    all,
                    body: self.input(body)?,
                }
            }
            LogicalPlan::CteScan { id, .. } => N::CteScan { id, name: self.ctes.get(&id).cloned().unwrap_or_default() },
            LogicalPlan::TableFunction { name, args, .. } => N::TableFunction { name, args: self.exprs(args)? },
        })
    }

    fn exprs(&mut self, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.expr(expr)).collect()
    }

    fn optional(&mut self, expr: Option<Expr>) -> Result<Option<Expr>> {
        expr.map(|expr| self.expr(expr)).transpose()
    }

    fn keys(&mut self, keys: Vec<SortKey>) -> Result<Vec<SortKey>> {
        keys.into_iter().map(|key| Ok(SortKey { expr: self.expr(key.expr)?, ..key })).collect()
    }

    fn aggregates(&mut self, mut calls: Vec<AggregateCall>) -> Result<Vec<AggregateCall>> {
        for expr in calls.iter_mut().flat_map(walk::of_aggregate_mut) {
            self.replace_subqueries(expr)?;
        }
        Ok(calls)
    }

    /// The expression with its subqueries planned.
    fn expr(&mut self, mut expr: Expr) -> Result<Expr> {
        self.replace_subqueries(&mut expr)?;
        Ok(expr)
    }

    fn replace_subqueries(&mut self, expr: &mut Expr) -> Result<()> {
        for child in walk::children_mut(expr) {
            self.replace_subqueries(child)?;
        }
        if let Expr::Subquery(subquery) = expr {
            let Subquery { kind, plan } = (**subquery).clone();
            let depends_on = outer_columns(&plan);
            let plan = Arc::new(self.lower(Arc::unwrap_or_clone(plan))?);
            *expr = Expr::Subplan(Box::new(Subplan { id: 0, kind, plan, depends_on }));
        }
        Ok(())
    }
}

/// The columns of outer rows that a plan uses, as (level, index).
fn outer_columns(plan: &LogicalPlan) -> Vec<(usize, usize)> {
    let mut found = std::collections::BTreeSet::new();
    walk::walk_plan(plan, 0, &mut |expr, depth| {
        if let Expr::Outer { level, index, .. } = expr
            && *level > depth
        {
            found.insert((level - depth, *index));
        }
    });
    found.into_iter().collect()
}
