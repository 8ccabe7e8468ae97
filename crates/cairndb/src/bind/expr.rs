//! Scalar expressions: the dispatcher, and the forms that fit a few lines.

use sqlparser::ast::{self, Spanned, UnaryOperator};
use sqlparser::tokenizer::Span;

use super::binder::Binder;
use super::coerce::{boolean, text};
use super::context::Context;
use crate::plan::Expr;
use crate::{Error, Result};

impl Binder<'_> {
    /// Binds an expression. What is still untyped in the result takes its type from where it stands.
    pub(super) fn expr(&mut self, expr: &ast::Expr, context: &mut Context) -> Result<Expr> {
        use ast::Expr as E;
        match expr {
            E::Identifier(_) | E::CompoundIdentifier(_) => self.column(expr, context),
            E::Value(value) => self.value(value),
            E::Nested(inner) => self.expr(inner, context),
            E::BinaryOp { left, op, right } => self.binary(left, op, right, context),
            E::UnaryOp { op, expr } => self.unary(*op, expr, context),
            E::Function(function) => self.function(function, context),
            E::Cast { kind, expr, data_type, .. } => self.cast(kind, expr, data_type, context),
            E::Case { .. } => self.case(expr, context),
            E::Subquery(_) | E::Exists { .. } | E::InSubquery { .. } => self.subquery(expr, context),
            E::AnyOp { .. } | E::AllOp { .. } => self.quantified(expr, context),
            E::InList { expr, list, negated } => self.in_list(expr, list, *negated, context),
            E::TypedString(typed) => self.typed_string(typed),
            E::Interval(interval) => self.interval(interval, context),
            _ => self.predicate(expr, context),
        }
    }

    /// Tests that end in IS, LIKE, BETWEEN.
    fn predicate(&mut self, expr: &ast::Expr, context: &mut Context) -> Result<Expr> {
        use ast::Expr as E;
        match expr {
            E::IsNull(input) => Ok(Expr::IsNull(Box::new(self.null_test(input, context)?))),
            E::IsNotNull(input) => Ok(not(Expr::IsNull(Box::new(self.null_test(input, context)?)))),
            E::IsTrue(input) => self.truth_test(input, Some(true), "IS TRUE", context),
            E::IsNotTrue(input) => Ok(not(self.truth_test(input, Some(true), "IS NOT TRUE", context)?)),
            E::IsFalse(input) => self.truth_test(input, Some(false), "IS FALSE", context),
            E::IsNotFalse(input) => Ok(not(self.truth_test(input, Some(false), "IS NOT FALSE", context)?)),
            E::IsUnknown(input) => self.truth_test(input, None, "IS UNKNOWN", context),
            E::IsNotUnknown(input) => Ok(not(self.truth_test(input, None, "IS NOT UNKNOWN", context)?)),
            E::IsDistinctFrom(left, right) => Ok(not(self.not_distinct(left, right, context)?)),
            E::IsNotDistinctFrom(left, right) => self.not_distinct(left, right, context),
            E::Between { expr, negated, low, high } => self.between(expr, *negated, low, high, context),
            E::Like { .. } | E::ILike { .. } | E::SimilarTo { .. } => self.like(expr, context),
            _ => self.form(expr, context),
        }
    }

    fn column(&mut self, expr: &ast::Expr, context: &mut Context) -> Result<Expr> {
        let (bound, span) = match expr {
            ast::Expr::Identifier(ident) => (self.resolve(context.env, ident)?, ident.span),
            ast::Expr::CompoundIdentifier(idents) => {
                let span = idents.first().map_or(Span::empty(), |ident| ident.span);
                (self.resolve_qualified(context.env, idents)?, span)
            }
            _ => return Err(Error::internal("not a column")),
        };
        if let (Expr::Column { index, .. }, false) = (&bound, context.in_aggregate) {
            context.mentions.entry(*index).or_insert(span);
        }
        Ok(bound)
    }

    fn unary(&mut self, op: UnaryOperator, operand: &ast::Expr, context: &mut Context) -> Result<Expr> {
        // A sign binds tighter than `^` here, and looser in the parser.
        if let (UnaryOperator::Plus | UnaryOperator::Minus, ast::Expr::BinaryOp { left, op: power, right }) =
            (op, operand)
            && *power == ast::BinaryOperator::PGExp
        {
            let signed = ast::Expr::UnaryOp { op, expr: left.clone() };
            return self.binary(&signed, power, right, context);
        }
        if let Some(number) = self.signed_number(op, operand) {
            return number;
        }
        let span = operand.span();
        let bound = self.expr(operand, context)?;
        match op {
            UnaryOperator::Not => Ok(not(self.condition(bound, "NOT", span)?)),
            UnaryOperator::Plus => self.operator("+", vec![(bound, span)]),
            UnaryOperator::Minus => self.operator("-", vec![(bound, span)]),
            UnaryOperator::BitwiseNot => self.operator("~", vec![(bound, span)]),
            UnaryOperator::PGSquareRoot => self.operator("|/", vec![(bound, span)]),
            UnaryOperator::PGAbs => self.operator("@", vec![(bound, span)]),
            other => Err(Error::unsupported(format!("operator {other}"))),
        }
    }

    fn cast(
        &mut self,
        kind: &ast::CastKind,
        operand: &ast::Expr,
        to: &ast::DataType,
        context: &mut Context,
    ) -> Result<Expr> {
        if !matches!(kind, ast::CastKind::Cast | ast::CastKind::DoubleColon) {
            return Err(Error::unsupported("TRY_CAST"));
        }
        let bound = self.expr(operand, context)?;
        let to = self.data_type(to).map_err(|error| self.at(error, to_span(operand)))?;
        match kind {
            ast::CastKind::DoubleColon => self.cast_to(bound, to, operand.span()),
            _ => self.explicit(bound, to, operand.span()),
        }
    }

    fn null_test(&mut self, operand: &ast::Expr, context: &mut Context) -> Result<Expr> {
        let bound = self.expr(operand, context)?;
        self.known(bound)
    }

    /// `x IS TRUE`, `IS FALSE`, `IS UNKNOWN`: never NULL themselves.
    fn truth_test(
        &mut self,
        operand: &ast::Expr,
        value: Option<bool>,
        name: &str,
        context: &mut Context,
    ) -> Result<Expr> {
        let bound = self.expr(operand, context)?;
        let bound = Box::new(self.condition(bound, name, operand.span())?);
        Ok(match value {
            Some(value) => Expr::IsNotDistinct(bound, Box::new(boolean(value))),
            None => Expr::IsNull(bound),
        })
    }

    fn not_distinct(&mut self, left: &ast::Expr, right: &ast::Expr, context: &mut Context) -> Result<Expr> {
        let operands = [self.expr(left, context)?, self.expr(right, context)?];
        let [left_span, right_span] = [left.span(), right.span()];
        let [left, right] = operands;
        // `=` decides which types compare and how both sides are converted.
        let equal = self.operator("=", vec![(left, left_span), (right, right_span)])?;
        match equal {
            Expr::Call { args, .. } => match <[Expr; 2]>::try_from(args) {
                Ok([left, right]) => Ok(Expr::IsNotDistinct(Box::new(left), Box::new(right))),
                Err(_) => Err(Error::internal("a comparison of two")),
            },
            _ => Err(Error::internal("a comparison is a call")),
        }
    }
}

/// Logical negation.
pub(super) fn not(expr: Expr) -> Expr {
    Expr::Not(Box::new(expr))
}

/// The conjunction of conditions; none is true.
pub(super) fn conjunction(mut conditions: Vec<Expr>) -> Expr {
    match (conditions.pop(), conditions.is_empty()) {
        (None, _) => boolean(true),
        (Some(only), true) => only,
        (Some(last), false) => {
            conditions.push(last);
            Expr::And(conditions)
        }
    }
}

/// A type stands after what it converts; its own place is not in the tree.
fn to_span(operand: &ast::Expr) -> Span {
    let end = operand.span().end;
    Span::new(end, end)
}

/// A keyword argument, such as EXTRACT's field.
pub(super) fn keyword(name: &str) -> Expr {
    text(&name.to_lowercase())
}
