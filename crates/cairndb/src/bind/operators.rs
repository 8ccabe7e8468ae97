//! Operators of two operands: logic, comparison (of rows too), arithmetic, patterns, BETWEEN, IN lists.

use sqlparser::ast::{self, BinaryOperator, Spanned};
use sqlparser::tokenizer::Span;

use super::binder::Binder;
use super::context::Context;
use super::expr::{conjunction, not};
use crate::plan::Expr;
use crate::types::Value;
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    pub(super) fn binary(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
        context: &mut Context,
    ) -> Result<Expr> {
        match op {
            BinaryOperator::And | BinaryOperator::Or => self.chain([left, right], op, context),
            _ => match (row_of(left), row_of(right)) {
                (Some(lefts), Some(rights)) => self
                    .row_comparison(lefts, symbol(op)?, rights, context)
                    .map_err(|error| self.at_operator(error, left.span(), right.span())),
                (Some(lefts), None) => match unnested(right) {
                    ast::Expr::Subquery(query) => self.row_subquery(lefts, symbol(op)?, query, context),
                    _ => self.operands(left, symbol(op)?, right, context),
                },
                _ => self.operands(left, symbol(op)?, right, context),
            },
        }
    }

    fn operands(&mut self, left: &ast::Expr, symbol: &str, right: &ast::Expr, context: &mut Context) -> Result<Expr> {
        let bound = (self.expr(left, context)?, self.expr(right, context)?);
        self.operator(symbol, vec![(bound.0, left.span()), (bound.1, right.span())])
    }

    /// A chain of AND or OR, flattened without recursion along the chain.
    fn chain(&mut self, ends: [&ast::Expr; 2], op: &BinaryOperator, context: &mut Context) -> Result<Expr> {
        let (mut pending, mut operands) = (vec![ends[1], ends[0]], vec![]);
        while let Some(next) = pending.pop() {
            match unnested(next) {
                ast::Expr::BinaryOp { left, op: inner, right } if inner == op => pending.extend([&**right, &**left]),
                operand => operands.push(self.chain_operand(operand, op, context)?),
            }
        }
        Ok(if *op == BinaryOperator::And { Expr::And(operands) } else { Expr::Or(operands) })
    }

    fn chain_operand(&mut self, operand: &ast::Expr, op: &BinaryOperator, context: &mut Context) -> Result<Expr> {
        let bound = self.expr(operand, context)?;
        self.condition(bound, if *op == BinaryOperator::And { "AND" } else { "OR" }, operand.span())
    }

    /// `(a, b) = (c, d)` and the orderings, from the left.
    fn row_comparison(
        &mut self,
        lefts: &[ast::Expr],
        symbol: &str,
        rights: &[ast::Expr],
        context: &mut Context,
    ) -> Result<Expr> {
        if lefts.len() != rights.len() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions"));
        }
        let mut pairs = Vec::with_capacity(lefts.len());
        for (left, right) in lefts.iter().zip(rights) {
            let left = (self.expr(left, context)?, left.span());
            let right = (self.expr(right, context)?, right.span());
            pairs.push((left, right));
        }
        self.compare_rows(symbol, pairs)
    }

    fn compare_rows(&mut self, symbol: &str, pairs: Vec<(Operand, Operand)>) -> Result<Expr> {
        match symbol {
            "=" | "<>" => {
                let mut parts = Vec::with_capacity(pairs.len());
                for (left, right) in pairs {
                    parts.push(self.operator(symbol, vec![left, right])?);
                }
                Ok(if symbol == "=" { conjunction(parts) } else { Expr::Or(parts) })
            }
            "<" | "<=" | ">" | ">=" => self.order_rows(symbol, pairs),
            _ => Err(Error::unsupported(format!("operator {symbol} for rows"))),
        }
    }

    /// `(a, b) < (c, d)`: `a < c OR (a = c AND b < d)`, built from the last pair.
    fn order_rows(&mut self, symbol: &str, mut pairs: Vec<(Operand, Operand)>) -> Result<Expr> {
        let strict = symbol.trim_end_matches('=').to_owned();
        let Some((left, right)) = pairs.pop() else { return Err(Error::internal("a row without columns")) };
        let mut result = self.operator(symbol, vec![left, right])?;
        while let Some((left, right)) = pairs.pop() {
            let copies = [(self.duplicate(&left.0)?, left.1), (self.duplicate(&right.0)?, right.1)];
            let before = self.operator(&strict, copies.into())?;
            let equal = self.operator("=", vec![left, right])?;
            result = Expr::Or(vec![before, Expr::And(vec![equal, result])]);
        }
        Ok(result)
    }

    pub(super) fn between(
        &mut self,
        input: &ast::Expr,
        negated: bool,
        low: &ast::Expr,
        high: &ast::Expr,
        context: &mut Context,
    ) -> Result<Expr> {
        let span = input.span();
        let input = self.expr(input, context)?;
        let copy = self.duplicate(&input)?;
        let low = (self.expr(low, context)?, low.span());
        let above = self.operator(if negated { "<" } else { ">=" }, vec![(input, span), low])?;
        let high = (self.expr(high, context)?, high.span());
        let below = self.operator(if negated { ">" } else { "<=" }, vec![(copy, span), high])?;
        Ok(if negated { Expr::Or(vec![above, below]) } else { Expr::And(vec![above, below]) })
    }

    pub(super) fn like(&mut self, expr: &ast::Expr, context: &mut Context) -> Result<Expr> {
        use ast::Expr as E;
        match expr {
            E::Like { negated, any: false, expr, pattern, escape_char } => {
                let symbol = if *negated { "!~~" } else { "~~" };
                self.pattern(symbol, expr, pattern, escape_char.as_deref(), context)
            }
            E::ILike { negated, any: false, expr, pattern, escape_char } => {
                let symbol = if *negated { "!~~*" } else { "~~*" };
                self.pattern(symbol, expr, pattern, escape_char.as_deref(), context)
            }
            E::SimilarTo { .. } => Err(Error::unsupported("SIMILAR TO")),
            _ => Err(Error::unsupported("LIKE ANY")),
        }
    }

    fn pattern(
        &mut self,
        symbol: &str,
        input: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        context: &mut Context,
    ) -> Result<Expr> {
        let mut operands = vec![self.operand(input, context)?, self.operand(pattern, context)?];
        // With ESCAPE the operator has a third operand.
        if let Some(escape) = escape {
            operands.push(self.operand(escape, context)?);
        }
        self.operator(symbol, operands)
    }

    pub(super) fn in_list(
        &mut self,
        input: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        context: &mut Context,
    ) -> Result<Expr> {
        let found = match row_of(input) {
            Some(row) => self.row_in_list(row, list, context)?,
            None => self.scalar_in_list(input, list, context)?,
        };
        Ok(if negated { not(found) } else { found })
    }

    fn row_in_list(&mut self, row: &[ast::Expr], list: &[ast::Expr], context: &mut Context) -> Result<Expr> {
        let mut parts = Vec::with_capacity(list.len());
        for element in list {
            let Some(other) = row_of(element) else {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions"));
            };
            parts.push(self.row_comparison(row, "=", other, context)?);
        }
        Ok(if parts.len() == 1 { conjunction(parts) } else { Expr::Or(parts) })
    }

    fn scalar_in_list(&mut self, input: &ast::Expr, list: &[ast::Expr], context: &mut Context) -> Result<Expr> {
        let span = input.span();
        let input = self.expr(input, context)?;
        let mut elements = Vec::with_capacity(list.len());
        for element in list {
            elements.push((self.expr(element, context)?, element.span()));
        }
        self.any_of((input, span), elements)
    }

    /// `input = any of elements`: one comparison where the elements agree on a type, else one for each.
    pub(super) fn any_of(&mut self, input: Operand, elements: Vec<Operand>) -> Result<Expr> {
        let mut types = vec![(input.0.data_type(), input.1)];
        types.extend(elements.iter().map(|(element, span)| (element.data_type(), *span)));
        let Ok(common) = self.common_type("IN", &types) else {
            return self.any_of_different(input, elements);
        };
        let probe = Expr::Literal { value: Value::Null, data_type: common };
        let sides = [input, (probe, Span::empty())];
        let equal = self.find_operator("=", &sides)?;
        let [(input, span), _] = sides;
        let input = self.argument(input, equal.args.first().copied(), span)?;
        let mut list = Vec::with_capacity(elements.len());
        for (element, span) in elements {
            let element = self.implicit(element, common, span)?;
            list.push(self.argument(element, equal.args.get(1).copied(), span)?);
        }
        Ok(Expr::InList { input: Box::new(input), list, equal })
    }

    fn any_of_different(&mut self, input: Operand, elements: Vec<Operand>) -> Result<Expr> {
        let mut parts = Vec::with_capacity(elements.len());
        for element in elements {
            let copy = (self.duplicate(&input.0)?, input.1);
            parts.push(self.operator("=", vec![copy, element])?);
        }
        Ok(Expr::Or(parts))
    }
}

/// An operand and its place.
pub(super) type Operand = (Expr, Span);

/// Without parentheses around.
pub(super) fn unnested(mut expr: &ast::Expr) -> &ast::Expr {
    while let ast::Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// The parts of `(a, b)` or `ROW(a, b)`.
pub(super) fn row_of(expr: &ast::Expr) -> Option<&[ast::Expr]> {
    match unnested(expr) {
        ast::Expr::Tuple(parts) => Some(parts),
        _ => None,
    }
}

/// The catalogue's name of an operator.
pub(super) fn symbol(op: &BinaryOperator) -> Result<&str> {
    use BinaryOperator as B;
    Ok(match op {
        B::Plus => "+",
        B::Minus => "-",
        B::Multiply => "*",
        B::Divide => "/",
        B::Modulo => "%",
        B::StringConcat => "||",
        B::Gt => ">",
        B::Lt => "<",
        B::GtEq => ">=",
        B::LtEq => "<=",
        B::Eq => "=",
        B::NotEq => "<>",
        B::BitwiseOr => "|",
        B::BitwiseAnd => "&",
        B::BitwiseXor | B::PGBitwiseXor => "#",
        B::PGBitwiseShiftLeft => "<<",
        B::PGBitwiseShiftRight => ">>",
        B::PGExp => "^",
        B::PGRegexMatch => "~",
        B::PGRegexIMatch => "~*",
        B::PGRegexNotMatch => "!~",
        B::PGRegexNotIMatch => "!~*",
        B::PGLikeMatch => "~~",
        B::PGILikeMatch => "~~*",
        B::PGNotLikeMatch => "!~~",
        B::PGNotILikeMatch => "!~~*",
        B::PGStartsWith => "^@",
        B::Custom(symbol) => symbol,
        B::PGCustomBinaryOperator(parts) => parts.last().map_or("", String::as_str),
        other => return Err(Error::unsupported(format!("operator {other}"))),
    })
}
