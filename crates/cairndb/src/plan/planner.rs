//! The planner's state, and expressions on their way into the physical plan.

use std::collections::HashMap;
use std::sync::Arc;

use super::expressions::expr::{AggregateCall, Expr, Subquery};
use super::expressions::refs::{cheapest_first, conjuncts, has_subquery, outer_columns};
use super::expressions::walk;
use super::expressions::window::WindowCall;
use super::logical::{Field, SortKey};
use super::optimize;
use super::options::OptimizerOptions;
use super::physical::{Estimate, PhysicalNode, PhysicalPlan, Subplan};
use super::statistics::asked::AskedRange;
use super::statistics::cost;
use super::statistics::estimate::ColumnInfo;
use crate::Result;

/// A physical plan and what is known of its columns.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) plan: Arc<PhysicalPlan>,
    pub(super) columns: Vec<ColumnInfo>,
}

impl Planned {
    /// A node of `rows` rows; startup and total cost include the inputs'.
    pub(super) fn new(
        node: PhysicalNode,
        fields: Vec<Field>,
        columns: Vec<ColumnInfo>,
        startup: f64,
        total: f64,
        rows: f64,
    ) -> Planned {
        let width = columns.iter().fold(0.0, |sum, column| sum + column.width);
        let rows = rows.max(1.0);
        let columns = columns.into_iter().map(|column| column.within(rows)).collect();
        let estimate = Estimate { startup, total: total.max(startup), rows, width };
        Planned { plan: Arc::new(PhysicalPlan { id: 0, fields, estimate, node, alias: None }), columns }
    }

    /// The relation that the node reads goes by this name in the query.
    pub(super) fn called(mut self, alias: Option<Arc<str>>) -> Planned {
        if alias.is_some() {
            Arc::make_mut(&mut self.plan).alias = alias;
        }
        self
    }

    pub(super) fn estimate(&self) -> Estimate {
        self.plan.estimate
    }

    pub(super) fn rows(&self) -> f64 {
        self.plan.estimate.rows
    }
}

/// A CTE in scope.
#[derive(Clone, Debug)]
pub(super) struct CteInfo {
    pub(super) name: String,
    pub(super) rows: f64,
    pub(super) columns: Vec<ColumnInfo>,
}

/// Chooses physical nodes.
pub(super) struct Planner<'a> {
    pub(super) options: &'a OptimizerOptions,
    /// By id, those met so far.
    pub(super) ctes: HashMap<super::logical::CteId, CteInfo>,
    /// Subqueries are being planned for their cost only: what is inside them is not looked at for that a second time,
    /// or planning would take time exponential in the nesting.
    costing: bool,
    /// The statement has joins, or queries in expressions, which may become joins.
    pub(super) may_join: bool,
    /// Ranges of parameters that the plan may hang on.
    pub(super) asked: Vec<AskedRange>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(options: &'a OptimizerOptions) -> Self {
        Planner { options, ctes: HashMap::new(), costing: false, may_join: false, asked: vec![] }
    }

    pub(super) fn exprs(&mut self, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.expr(expr)).collect()
    }

    pub(super) fn optional(&mut self, expr: Option<Expr>) -> Result<Option<Expr>> {
        expr.map(|expr| self.expr(expr)).transpose()
    }

    pub(super) fn keys(&mut self, keys: Vec<SortKey>) -> Result<Vec<SortKey>> {
        keys.into_iter().map(|key| Ok(SortKey { expr: self.expr(key.expr)?, ..key })).collect()
    }

    pub(super) fn aggregates(&mut self, mut calls: Vec<AggregateCall>) -> Result<Vec<AggregateCall>> {
        for expr in calls.iter_mut().flat_map(walk::of_aggregate_mut) {
            self.replace_subqueries(expr)?;
        }
        Ok(calls)
    }

    pub(super) fn window_calls(&mut self, mut calls: Vec<WindowCall>) -> Result<Vec<WindowCall>> {
        for expr in calls.iter_mut().flat_map(WindowCall::exprs_mut) {
            self.replace_subqueries(expr)?;
        }
        Ok(calls)
    }

    /// The expression with its subqueries planned.
    pub(super) fn expr(&mut self, mut expr: Expr) -> Result<Expr> {
        self.replace_subqueries(&mut expr)?;
        Ok(expr)
    }

    /// A predicate of these conjuncts.
    pub(super) fn predicate(&mut self, parts: Vec<Expr>) -> Result<Option<Expr>> {
        let parts = parts.into_iter().flat_map(conjuncts).collect();
        self.optional(super::expressions::refs::conjunction(cheapest_first(parts)))
    }

    /// What the subqueries in logical expressions cost for each row.
    pub(super) fn subquery_cost(&mut self, exprs: &[Expr]) -> Result<f64> {
        let dear: Vec<Expr> = exprs.iter().filter(|expr| has_subquery(expr)).cloned().collect();
        if self.costing || dear.is_empty() {
            return Ok(cost::RESTART * dear.len() as f64);
        }
        self.costing = true;
        let planned = self.exprs(dear);
        self.costing = false;
        Ok(ExprCost::of(&planned?).row)
    }

    fn replace_subqueries(&mut self, expr: &mut Expr) -> Result<()> {
        for child in walk::children_mut(expr) {
            self.replace_subqueries(child)?;
        }
        if let Expr::Subquery(subquery) = expr {
            let Subquery { kind, plan } = (**subquery).clone();
            let plan = optimize::rewritten(Arc::unwrap_or_clone(plan), self.options);
            let depends_on = outer_columns(&plan);
            let plan = self.lower(plan)?.plan;
            *expr = Expr::Subplan(Box::new(Subplan { id: 0, kind, plan, depends_on }));
        }
        Ok(())
    }
}

/// What evaluating expressions costs: once, and for each row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExprCost {
    pub(super) once: f64,
    pub(super) row: f64,
}

impl ExprCost {
    /// Of physical expressions.
    pub(super) fn of<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> ExprCost {
        let mut cost = ExprCost::default();
        exprs.into_iter().for_each(|expr| cost.add(expr));
        cost
    }

    fn add(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal { .. } | Expr::Column { .. } | Expr::Outer { .. } | Expr::Parameter { .. } => {}
            Expr::Subplan(subplan) if subplan.depends_on.is_empty() => {
                self.once += subplan.plan.estimate.total;
                self.row += cost::OPERATOR;
            }
            Expr::Subplan(subplan) => self.row += cost::RESTART + subplan.plan.estimate.total,
            _ => self.row += cost::OPERATOR,
        }
        walk::children(expr).for_each(|child| self.add(child));
    }
}
