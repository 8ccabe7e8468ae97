//! Expressions with a syntax of their own: CASE, EXTRACT, SUBSTRING, TRIM, POSITION, OVERLAY, AT TIME ZONE. All but
//! CASE are calls of ordinary functions.

use sqlparser::ast::{self, Spanned};
use sqlparser::tokenizer::Span;

use super::binder::Binder;
use super::context::Context;
use super::expr::keyword;
use super::operators::Operand;
use crate::plan::Expr;
use crate::{Error, Result};

impl Binder<'_> {
    pub(super) fn form(&mut self, expr: &ast::Expr, context: &mut Context) -> Result<Expr> {
        use ast::Expr as E;
        let span = expr.span();
        match expr {
            E::Extract { field, expr, .. } => {
                let field = (keyword(&field.to_string().replace('\'', "")), span);
                let arg = self.operand(expr, context)?;
                self.call("extract", vec![field, arg], span)
            }
            E::Ceil { expr, field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) } => {
                self.call_on("ceil", &[expr], context, span)
            }
            E::Floor { expr, field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) } => {
                self.call_on("floor", &[expr], context, span)
            }
            E::Position { expr, r#in } => self.call_on("position", &[r#in, expr], context, span),
            E::Substring { expr, substring_from, substring_for, .. } => {
                self.substring(expr, substring_from.as_deref(), substring_for.as_deref(), context)
            }
            E::Trim { .. } => self.trim(expr, context),
            E::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut args: Vec<&ast::Expr> = vec![expr, overlay_what, overlay_from];
                args.extend(overlay_for.as_deref());
                self.call_on("overlay", &args, context, span)
            }
            E::AtTimeZone { timestamp, time_zone } => self.call_on("timezone", &[time_zone, timestamp], context, span),
            E::Collate { expr, .. } => self.expr(expr, context),
            E::Tuple(_) => Err(self.at(Error::unsupported("a row as a value"), span)),
            other => Err(self.at(Error::unsupported(describe(other)), span)),
        }
    }

    pub(super) fn operand(&mut self, expr: &ast::Expr, context: &mut Context) -> Result<Operand> {
        Ok((self.expr(expr, context)?, expr.span()))
    }

    fn call_on(&mut self, name: &str, args: &[&ast::Expr], context: &mut Context, span: Span) -> Result<Expr> {
        let mut bound = Vec::with_capacity(args.len());
        for arg in args {
            bound.push(self.operand(arg, context)?);
        }
        self.call(name, bound, span)
    }

    fn substring(
        &mut self,
        input: &ast::Expr,
        from: Option<&ast::Expr>,
        length: Option<&ast::Expr>,
        context: &mut Context,
    ) -> Result<Expr> {
        let span = input.span();
        let mut args = vec![self.operand(input, context)?];
        match (from, length) {
            (Some(from), _) => args.push(self.operand(from, context)?),
            (None, _) => args.push((self.number("1", span)?, span)),
        }
        if let Some(length) = length {
            args.push(self.operand(length, context)?);
        }
        self.call("substring", args, span)
    }

    fn trim(&mut self, expr: &ast::Expr, context: &mut Context) -> Result<Expr> {
        let ast::Expr::Trim { trim_where, trim_what, expr: input, trim_characters } = expr else {
            return Err(Error::internal("not TRIM"));
        };
        let name = match trim_where {
            Some(ast::TrimWhereField::Leading) => "ltrim",
            Some(ast::TrimWhereField::Trailing) => "rtrim",
            Some(ast::TrimWhereField::Both) | None => "btrim",
        };
        let mut args = vec![self.operand(input, context)?];
        let listed = trim_characters.iter().flatten();
        for what in trim_what.as_deref().into_iter().chain(listed) {
            args.push(self.operand(what, context)?);
        }
        self.call(name, args, expr.span())
    }

    pub(super) fn case(&mut self, expr: &ast::Expr, context: &mut Context) -> Result<Expr> {
        let ast::Expr::Case { operand, conditions, else_result, .. } = expr else {
            return Err(Error::internal("not CASE"));
        };
        let operand = match operand {
            Some(operand) => {
                let (bound, span) = self.operand(operand, context)?;
                Some((self.known(bound)?, span))
            }
            None => None,
        };
        let mut whens = Vec::with_capacity(conditions.len());
        // PostgreSQL looks at ELSE first when it decides on the type.
        let mut results = vec![];
        if let Some(otherwise) = else_result {
            results.push(self.operand(otherwise, context)?);
        }
        for when in conditions {
            whens.push(self.when(operand.as_ref(), &when.condition, context)?);
            results.push(self.operand(&when.result, context)?);
        }
        let (mut results, data_type) = self.unify("CASE", results)?;
        let otherwise = else_result.as_ref().map(|_| Box::new(results.remove(0)));
        Ok(Expr::Case { branches: whens.into_iter().zip(results).collect(), otherwise, data_type })
    }

    fn when(&mut self, operand: Option<&Operand>, condition: &ast::Expr, context: &mut Context) -> Result<Expr> {
        let (bound, span) = self.operand(condition, context)?;
        match operand {
            Some((operand, at)) => {
                let operand = (self.duplicate(operand)?, *at);
                self.operator("=", vec![operand, (bound, span)])
            }
            None => self.condition(bound, "CASE/WHEN", span),
        }
    }
}

/// A short description of syntax that is not supported.
fn describe(expr: &ast::Expr) -> String {
    let text: String = expr.to_string().chars().take(60).collect();
    format!("expression {text}")
}
