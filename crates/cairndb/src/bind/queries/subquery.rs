//! Queries inside expressions: scalar, EXISTS, IN, ANY, ALL, and their row forms.

use std::sync::Arc;

use cairn_parser::{self as ast, Id, List, Operator, Query};

use crate::bind::binder::{Binder, Confine};
use crate::bind::context::Context;
use crate::bind::expressions::arrays::wrong_quantifier;
use crate::bind::expressions::expr::not;
use crate::bind::expressions::operators::{Operand, row_of};
use crate::bind::relations::scope::Env;
use crate::functions::{ANY, Function};
use crate::plan::{Expr, Field, LogicalPlan, QuantifiedOp, StandIn, Subquery, SubqueryKind, walk};
use crate::types::{CastContext, DataType};
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    pub(in crate::bind) fn subquery(&mut self, expr: Id<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let tree = self.tree;
        match tree.get(expr) {
            ast::Expr::Subquery { query } => self.scalar_subquery(expr, query, context),
            ast::Expr::Exists { query } => {
                let plan = self.inner_query(query, context)?;
                Ok(make(SubqueryKind::Exists, without_columns(plan)))
            }
            ast::Expr::InQuery { operand, query, negated } => {
                let plan = self.inner_query(query, context)?;
                let lefts = self.left_side(operand, context)?;
                let compared = self.compare_with(lefts, "=", QuantifiedOp::Any, plan);
                let found = compared.map_err(|error| self.at_behind(error, tree.span(operand)))?;
                Ok(if negated { not(found) } else { found })
            }
            _ => Err(Error::internal("not a subquery")),
        }
    }

    /// A query within an expression; SQLSTATE 0A000 where an expression may have none.
    pub(in crate::bind) fn inner_query(&mut self, query: Id<Query>, context: &Context) -> Result<LogicalPlan> {
        if context.clause.refuses_subqueries() {
            let message = format!("cannot use subquery in {}", context.clause.place());
            return Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), self.tree.span(query)));
        }
        let env = context.env.map(|env| Env { within: Some(context), ..*env });
        self.within(Some(Confine::Subquery), |binder| binder.query(query, env.as_ref()))
    }

    fn scalar_subquery(&mut self, expr: Id<ast::Expr>, query: Id<Query>, context: &mut Context) -> Result<Expr> {
        let plan = self.inner_query(query, context)?;
        match plan.fields().as_slice() {
            [only] => Ok(make(SubqueryKind::Scalar { data_type: only.data_type }, plan)),
            _ => {
                let error = Error::new(SqlState::SYNTAX_ERROR, "subquery must return only one column");
                Err(self.at(error, self.tree.span(expr)))
            }
        }
    }

    /// `x op ANY (...)`, `x op ALL (...)`, over a query or an array written out.
    pub(in crate::bind) fn quantified(&mut self, expr: Id<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let tree = self.tree;
        match tree.get(expr) {
            ast::Expr::QuantifiedQuery { left, operator, all, query } => {
                let plan = self.inner_query(query, context)?;
                let lefts = self.left_side(left, context)?;
                let compared = self.compare_with(lefts, self.symbol(operator)?, quantifier(all), plan);
                compared.map_err(|error| self.at(error, tree.span(operator)))
            }
            ast::Expr::Quantified { left, operator, all, right } => match tree.get(right) {
                ast::Expr::Array { items } if !items.is_empty() && !self.has_arrays(items) => {
                    self.quantified_array(left, operator, items, quantifier(all), context)
                }
                _ => self.quantified_over(left, operator, right, quantifier(all), context),
            },
            _ => Err(Error::internal("not ANY or ALL")),
        }
    }

    /// Whether it has arrays within it.
    fn has_arrays(&self, items: List<ast::Expr>) -> bool {
        self.tree.list(items).any(|item| matches!(self.tree.get(item), ast::Expr::Array { .. }))
    }

    fn quantified_array(
        &mut self,
        left: Id<ast::Expr>,
        operator: Id<Operator>,
        elements: List<ast::Expr>,
        quantifier: QuantifiedOp,
        context: &mut Context,
    ) -> Result<Expr> {
        let tree = self.tree;
        let (symbol, place) = (self.symbol(operator)?, Some(tree.span(operator)));
        let input = self.operand(left, context)?;
        let mut bound = Vec::with_capacity(tree.len(elements));
        for element in tree.list(elements) {
            bound.push(self.operand(element, context)?);
        }
        if symbol == "=" && quantifier == QuantifiedOp::Any && !bound.is_empty() {
            return self.any_of_array(input, bound, place);
        }
        if matches!(input.0.data_type(), DataType::Char(_)) {
            bound = self.texts_of_strings(bound)?;
        }
        let input = self.once(input);
        let mut parts = Vec::with_capacity(bound.len());
        for element in bound {
            let used = self.use_of(&input)?;
            let part = self.operator(symbol, vec![used, element], place)?;
            if part.data_type() != DataType::Boolean {
                let error = wrong_quantifier("op ANY/ALL (array) requires operator to yield boolean");
                return Err(self.at(error, tree.span(operator)));
            }
            parts.push(part);
        }
        Ok(input.around(if quantifier == QuantifiedOp::Any { Expr::Or(parts) } else { Expr::And(parts) }))
    }

    /// `(a, b) = (SELECT ...)`: a row of one query.
    pub(in crate::bind) fn row_subquery(
        &mut self,
        lefts: List<ast::Expr>,
        symbol: &str,
        query: Id<Query>,
        context: &mut Context,
    ) -> Result<Expr> {
        let plan = self.inner_query(query, context)?;
        let operands = self.row_items(lefts, context)?;
        // Over the one row that may come, ANY is the comparison. (Where PostgreSQL reports a second row, or answers NULL
        // for none, this answers for the rows there are.)
        self.compare_with(operands, symbol, QuantifiedOp::Any, plan)
    }

    fn left_side(&mut self, left: Id<ast::Expr>, context: &mut Context) -> Result<Vec<Operand>> {
        match row_of(self.tree, left) {
            Some(parts) => self.row_items(parts, context),
            None => Ok(vec![self.operand(left, context)?]),
        }
    }

    fn compare_with(
        &mut self,
        lefts: Vec<Operand>,
        symbol: &str,
        quantifier: QuantifiedOp,
        mut plan: LogicalPlan,
    ) -> Result<Expr> {
        let fields = plan.fields();
        if fields.len() != lefts.len() {
            let message = match fields.len() > lefts.len() {
                true => "subquery has too many columns",
                false => "subquery has too few columns",
            };
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        if lefts.len() > 1 && symbol != "=" {
            return self.compare_rows_with(lefts, symbol, quantifier, plan);
        }
        let (mut left, mut ops, mut types) = (vec![], vec![], vec![]);
        for ((expr, span), field) in lefts.into_iter().zip(&fields) {
            let op = self.operator_for(symbol, expr.data_type(), field.data_type)?;
            left.push(self.argument(expr, op.args.first().copied(), span)?);
            types.push(right_type(&op, field.data_type));
            ops.push(op);
        }
        plan = self.retype(plan, (&types, CastContext::Implicit), &[])?;
        Ok(make(SubqueryKind::Quantified { left, ops, quantifier }, plan))
    }
}

impl Binder<'_> {
    /// Rows are ordered by their columns together: whether TRUE is among, or is all of, what comparing with each row gives.
    fn compare_rows_with(
        &mut self,
        lefts: Vec<Operand>,
        symbol: &str,
        quantifier: QuantifiedOp,
        plan: LogicalPlan,
    ) -> Result<Expr> {
        let plan = self.typed(plan)?;
        let mut pairs = Vec::with_capacity(lefts.len());
        for ((index, field), (mut left, span)) in plan.fields().iter().enumerate().zip(lefts) {
            seen_from_within(&mut left)?;
            let right = Expr::Column { index, data_type: field.data_type };
            pairs.push(((left, span), (right, span)));
        }
        let compared = self.compare_rows(symbol, pairs, None)?;
        let fields = vec![Field { name: "?column?".to_owned(), data_type: DataType::Boolean }];
        let plan = LogicalPlan::Project { input: Box::new(plan), exprs: vec![compared], fields };
        let equal = self.operator_for("=", DataType::Boolean, DataType::Boolean)?;
        let left = vec![crate::bind::expressions::coerce::boolean(true)];
        Ok(make(SubqueryKind::Quantified { left, ops: vec![equal], quantifier }, plan))
    }
}

/// An expression as those of a query within see it.
fn seen_from_within(expr: &mut Expr) -> Result<()> {
    let mut is_window = false;
    walk::rewrite(expr, 0, &mut |expr, depth| match *expr {
        Expr::Column { index, data_type } if depth == 0 => {
            is_window |= StandIn::of(index).is_some_and(|of| of.is_window() || of.is_rows());
            Some(Expr::Outer { level: 1, index, data_type })
        }
        Expr::Outer { level, index, data_type } if level >= depth && level > 0 => {
            Some(Expr::Outer { level: level + 1, index, data_type })
        }
        _ => None,
    });
    let what = "a window function in a row that is compared with a subquery's";
    if is_window { Err(Error::unsupported(what)) } else { Ok(()) }
}

/// The type that the query's column takes for the comparison.
fn right_type(op: &Function, given: DataType) -> DataType {
    match op.args.get(1) {
        Some(declared) if *declared != ANY && declared.base() != given.base() => *declared,
        _ => given,
    }
}

fn make(kind: SubqueryKind, plan: LogicalPlan) -> Expr {
    Expr::Subquery(Box::new(Subquery { kind, plan: Arc::new(plan) }))
}

fn quantifier(all: bool) -> QuantifiedOp {
    if all { QuantifiedOp::All } else { QuantifiedOp::Any }
}

/// One column of a query as a scalar subquery.
pub(in crate::bind) fn scalar_column(plan: LogicalPlan, index: usize, field: Field) -> Expr {
    let data_type = field.data_type;
    let exprs = vec![Expr::Column { index, data_type }];
    let plan = LogicalPlan::Project { input: Box::new(plan), exprs, fields: vec![field] };
    make(SubqueryKind::Scalar { data_type }, plan)
}

/// A query of which only whether it has a row is asked: its columns are not worked out, in whatever order its rows would come.
fn without_columns(plan: LogicalPlan) -> LogicalPlan {
    match plan {
        LogicalPlan::Project { input, .. } | LogicalPlan::Sort { input, .. } | LogicalPlan::Distinct { input, .. } => {
            without_columns(*input)
        }
        other => other,
    }
}
