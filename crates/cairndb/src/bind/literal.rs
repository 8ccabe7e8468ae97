//! Literals, parameters, typed literals.

use sqlparser::ast::{self, Interval, UnaryOperator, Value as Literal, ValueWithSpan};
use sqlparser::tokenizer::Span;

use super::binder::Binder;
use super::context::Context;
use crate::plan::Expr;
use crate::types::{DataType, EvalContext, Value, from_text};
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    pub(super) fn value(&mut self, value: &ValueWithSpan) -> Result<Expr> {
        let untyped = |text: &str| Expr::Literal { value: Value::Text(text.into()), data_type: DataType::Unknown };
        Ok(match &value.value {
            Literal::Number(digits, _) => self.number(digits, value.span)?,
            Literal::SingleQuotedString(text)
            | Literal::EscapedStringLiteral(text)
            | Literal::UnicodeStringLiteral(text)
            | Literal::NationalStringLiteral(text) => untyped(text),
            Literal::DollarQuotedString(quoted) => untyped(&quoted.value),
            Literal::Boolean(value) => super::coerce::boolean(*value),
            Literal::Null => Expr::Literal { value: Value::Null, data_type: DataType::Unknown },
            Literal::Placeholder(name) => self.parameter(name)?,
            other => return Err(self.at(Error::unsupported(format!("literal {other}")), value.span)),
        })
    }

    fn parameter(&mut self, name: &str) -> Result<Expr> {
        let number: usize = name.trim_start_matches('$').parse().unwrap_or(0);
        let index = number
            .checked_sub(1)
            .ok_or_else(|| Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter {name}")))?;
        Ok(Expr::Parameter { index, data_type: self.parameters.get(index) })
    }

    /// `integer`, `bigint` or `numeric`, by size and form.
    pub(super) fn number(&mut self, digits: &str, span: Span) -> Result<Expr> {
        let (value, data_type) = match (digits.parse::<i32>(), digits.parse::<i64>()) {
            (Ok(value), _) => (Value::Integer(value), DataType::Integer),
            (_, Ok(value)) => (Value::BigInt(value), DataType::BigInt),
            _ => (self.read(&digits.replace('_', ""), DataType::Numeric(None), span)?, DataType::Numeric(None)),
        };
        Ok(Expr::Literal { value, data_type })
    }

    fn read(&self, text: &str, data_type: DataType, span: Span) -> Result<Value> {
        let context = EvalContext { transaction_timestamp: 0, statement_timestamp: 0, time_zone: "UTC".into() };
        from_text(text, data_type, &context).map_err(|error| self.at(error, span))
    }

    /// A sign before a number belongs to the literal: `-9223372036854775808` is a `bigint`.
    pub(super) fn signed_number(&mut self, op: UnaryOperator, operand: &ast::Expr) -> Option<Result<Expr>> {
        match operand {
            ast::Expr::Value(ValueWithSpan { value: Literal::Number(digits, _), span }) => match op {
                UnaryOperator::Minus => Some(self.number(&format!("-{digits}"), *span)),
                UnaryOperator::Plus => Some(self.number(digits, *span)),
                _ => None,
            },
            _ => None,
        }
    }

    /// `DATE '1998-12-01'` and the like.
    pub(super) fn typed_string(&mut self, typed: &ast::TypedString) -> Result<Expr> {
        let to = self.data_type(&typed.data_type)?;
        let literal = self.value(&typed.value)?;
        self.explicit(literal, to, typed.value.span)
    }

    /// `INTERVAL '3 months'`, `INTERVAL '1' DAY`.
    pub(super) fn interval(&mut self, interval: &Interval, context: &mut Context) -> Result<Expr> {
        let span = sqlparser::ast::Spanned::span(interval.value.as_ref());
        let literal = self.expr(&interval.value, context)?;
        let literal = match (literal, &interval.leading_field) {
            (Expr::Literal { value: Value::Text(text), data_type: DataType::Unknown }, Some(field))
                if text.trim().parse::<f64>().is_ok() =>
            {
                let unit = interval.last_field.as_ref().unwrap_or(field);
                let text = format!("{} {}", text.trim(), unit.to_string().to_lowercase());
                Expr::Literal { value: Value::Text(text.into()), data_type: DataType::Unknown }
            }
            (literal, _) => literal,
        };
        self.explicit(literal, DataType::Interval, span)
    }

    /// A type's name.
    pub(super) fn data_type(&self, data_type: &ast::DataType) -> Result<DataType> {
        DataType::from_ast(data_type)
    }
}
