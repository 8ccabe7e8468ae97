//! Queries inside expressions: scalar, EXISTS, IN, ANY, ALL, and their row forms.

use std::sync::Arc;

use sqlparser::ast::{self, BinaryOperator, Query, Spanned};
use sqlparser::tokenizer::Span;

use super::binder::Binder;
use super::context::Context;
use super::expr::not;
use super::operators::{Operand, row_of, symbol, unnested};
use crate::functions::{ANY, Function};
use crate::plan::{Expr, Field, LogicalPlan, QuantifiedOp, Subquery, SubqueryKind};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    pub(super) fn subquery(&mut self, expr: &ast::Expr, context: &mut Context) -> Result<Expr> {
        match expr {
            ast::Expr::Subquery(query) => self.scalar_subquery(query, context),
            ast::Expr::Exists { subquery, negated } => {
                let plan = self.query(subquery, context.env)?;
                Ok(negated_if(*negated, make(SubqueryKind::Exists, plan)))
            }
            ast::Expr::InSubquery { expr, subquery, negated } => {
                let plan = self.query(subquery, context.env)?;
                let lefts = self.left_side(expr, context)?;
                let compared = self.compare_with(lefts, "=", QuantifiedOp::Any, plan);
                Ok(negated_if(*negated, self.at_result(compared, expr.span(), subquery.span())?))
            }
            _ => Err(Error::internal("not a subquery")),
        }
    }

    fn scalar_subquery(&mut self, query: &Query, context: &mut Context) -> Result<Expr> {
        let plan = self.query(query, context.env)?;
        match plan.fields().as_slice() {
            [only] => Ok(make(SubqueryKind::Scalar { data_type: only.data_type }, plan)),
            _ => {
                let error = Error::new(SqlState::SYNTAX_ERROR, "subquery must return only one column");
                Err(self.at_parenthesis(error, query.span()))
            }
        }
    }

    /// `x op ANY (...)`, `x op ALL (...)`, over a query or an array written out.
    pub(super) fn quantified(&mut self, expr: &ast::Expr, context: &mut Context) -> Result<Expr> {
        let (left, op, right, quantifier) = match expr {
            ast::Expr::AnyOp { left, compare_op, right, .. } => (left, compare_op, right, QuantifiedOp::Any),
            ast::Expr::AllOp { left, compare_op, right } => (left, compare_op, right, QuantifiedOp::All),
            _ => return Err(Error::internal("not ANY or ALL")),
        };
        match unnested(right) {
            ast::Expr::Subquery(query) => {
                let plan = self.query(query, context.env)?;
                let lefts = self.left_side(left, context)?;
                let compared = self.compare_with(lefts, symbol(op)?, quantifier, plan);
                self.at_result(compared, left.span(), query.span())
            }
            ast::Expr::Array(array) => self.quantified_array(left, op, &array.elem, quantifier, context),
            other => Err(self.at(Error::unsupported("ANY or ALL of an array"), other.span())),
        }
    }

    fn quantified_array(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        elements: &[ast::Expr],
        quantifier: QuantifiedOp,
        context: &mut Context,
    ) -> Result<Expr> {
        let input = self.operand(left, context)?;
        let mut bound = Vec::with_capacity(elements.len());
        for element in elements {
            bound.push(self.operand(element, context)?);
        }
        if *op == BinaryOperator::Eq && quantifier == QuantifiedOp::Any && !bound.is_empty() {
            return self.any_of(input, bound);
        }
        let mut parts = Vec::with_capacity(bound.len());
        for element in bound {
            let copy = (self.duplicate(&input.0)?, input.1);
            parts.push(self.operator(symbol(op)?, vec![copy, element])?);
        }
        Ok(if quantifier == QuantifiedOp::Any { Expr::Or(parts) } else { Expr::And(parts) })
    }

    /// `(a, b) = (SELECT ...)`: a row of one query.
    pub(super) fn row_subquery(
        &mut self,
        lefts: &[ast::Expr],
        symbol: &str,
        query: &Query,
        context: &mut Context,
    ) -> Result<Expr> {
        let plan = self.query(query, context.env)?;
        let mut operands = Vec::with_capacity(lefts.len());
        for left in lefts {
            operands.push(self.operand(left, context)?);
        }
        // Over the one row that may come, ANY is the comparison. (Where PostgreSQL reports a second row, or answers NULL
        // for none, this answers for the rows there are.)
        self.compare_with(operands, symbol, QuantifiedOp::Any, plan)
    }

    /// An error of the comparison belongs to its operator.
    fn at_result(&self, result: Result<Expr>, left: Span, right: Span) -> Result<Expr> {
        result.map_err(|error| self.at_operator(error, left, right))
    }

    fn left_side(&mut self, left: &ast::Expr, context: &mut Context) -> Result<Vec<Operand>> {
        match row_of(left) {
            Some(parts) => parts.iter().map(|part| self.operand(part, context)).collect(),
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
        let (mut left, mut ops, mut types) = (vec![], vec![], vec![]);
        for ((expr, span), field) in lefts.into_iter().zip(&fields) {
            let op = self.operator_for(symbol, expr.data_type(), field.data_type)?;
            left.push(self.argument(expr, op.args.first().copied(), span)?);
            types.push(right_type(op, field.data_type));
            ops.push(op);
        }
        plan = self.retype(plan, &types, &[])?;
        Ok(make(SubqueryKind::Quantified { left, ops, quantifier }, plan))
    }
}

/// The type that the query's column takes for the comparison.
fn right_type(op: &'static Function, given: DataType) -> DataType {
    match op.args.get(1) {
        Some(declared) if *declared != ANY && declared.base() != given.base() => *declared,
        _ => given,
    }
}

fn make(kind: SubqueryKind, plan: LogicalPlan) -> Expr {
    Expr::Subquery(Box::new(Subquery { kind, plan: Arc::new(plan) }))
}

fn negated_if(negated: bool, expr: Expr) -> Expr {
    if negated { not(expr) } else { expr }
}

/// One column of a query as a scalar subquery.
pub(super) fn scalar_column(plan: LogicalPlan, index: usize, field: Field) -> Expr {
    let data_type = field.data_type;
    let exprs = vec![Expr::Column { index, data_type }];
    let plan = LogicalPlan::Project { input: Box::new(plan), exprs, fields: vec![field] };
    make(SubqueryKind::Scalar { data_type }, plan)
}
