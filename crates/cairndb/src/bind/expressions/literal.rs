//! Literals, parameters, typed literals.

use cairn_parser::{self as ast, BaseType, Id, Span, Text};

use std::cell::RefCell;
use std::sync::Arc;

use super::coerce::fixed_context;
use crate::bind::binder::Binder;
use crate::catalog::UserType;
use crate::error::Feature;
use crate::plan::Expr;
use crate::sql::type_of_syntax;
use crate::types::{DataType, Value, from_text};
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    /// A string, which takes its type from where it stands.
    pub(in crate::bind) fn string(&self, text: Text) -> Expr {
        untyped(self.tree.text(text))
    }

    pub(in crate::bind) fn parameter(&mut self, number: u32) -> Result<Expr> {
        if let Some(variables) = self.parameters.variables.clone().filter(|all| !all.leaves_parameters()) {
            let name = format!("${number}");
            if let Some(row) = self.variable_named(&name)? {
                return Ok(row);
            }
            let found = variables.find(&[&name])?;
            let missing = || Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${number}"));
            let (index, data_type) = found.ok_or_else(missing)?;
            return Ok(Expr::parameter(index, self.parameters.variable(index, data_type)));
        }
        let index = (number as usize)
            .checked_sub(1)
            .ok_or_else(|| Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${number}")))?;
        Ok(Expr::parameter(index, self.parameters.get(index)))
    }

    /// `integer`, `bigint` or `numeric`, by size and form.
    pub(in crate::bind) fn number(&mut self, digits: &str, span: Span) -> Result<Expr> {
        let (value, data_type) = match digits.parse::<i64>() {
            Ok(value) => match i32::try_from(value) {
                Ok(value) => (Value::Integer(value), DataType::Integer),
                Err(_) => (Value::BigInt(value), DataType::BigInt),
            },
            Err(_) => (self.read(digits, DataType::Numeric(None), span)?, DataType::Numeric(None)),
        };
        Ok(Expr::Literal { value, data_type })
    }

    fn read(&self, text: &str, data_type: DataType, span: Span) -> Result<Value> {
        from_text(text, data_type, fixed_context()).map_err(|error| self.at(error, span))
    }

    /// A sign before a number belongs to the literal: `-9223372036854775808` is a `bigint`.
    pub(super) fn signed_number(&mut self, sign: &str, operand: Id<ast::Expr>) -> Option<Result<Expr>> {
        let (ast::Expr::Integer { text } | ast::Expr::Number { text }) = self.tree.get(operand) else { return None };
        let (digits, span) = (self.tree.text(text), self.tree.span(operand));
        match sign {
            "-" => Some(self.number(&format!("-{digits}"), span)),
            "+" => Some(self.number(digits, span)),
            _ => None,
        }
    }

    /// `DATE '1998-12-01'`, `INTERVAL '3 months'`, `INTERVAL '1' DAY`.
    pub(super) fn typed_string(&mut self, data_type: Id<ast::TypeName>, literal: Id<ast::Expr>) -> Result<Expr> {
        let tree = self.tree;
        let ast::Expr::String { text } = tree.get(literal) else { return Err(Error::internal("not a string")) };
        let (text, span) = (tree.text(text), tree.span(literal));
        self.note(|noted| noted.add_string(span, text));
        match tree.get(data_type) {
            // Not of length 1 as elsewhere: of any length. `N'text'` is this too.
            ast::TypeName { base: BaseType::Character, modifiers, .. } if modifiers.is_empty() => {
                self.explicit(untyped(text), DataType::Char(0), span)
            }
            _ => {
                let (to, domain) = self.column_type(data_type)?;
                let value = self.explicit(untyped(text), to, span)?;
                domain.map_or(Ok(value.clone()), |domain| self.of_domain(value, &domain))
            }
        }
    }

    /// A type's name, and the domain that it is of.
    pub(in crate::bind) fn column_type(
        &self,
        data_type: Id<ast::TypeName>,
    ) -> Result<(DataType, Option<Arc<UserType>>)> {
        let (span, domain) = (self.tree.span(data_type), RefCell::new(None));
        let users = |schema: Option<&str>, name: &str| {
            let found = self.users_type(schema, name, span)?;
            domain.replace(found.filter(|of| of.domain().is_some()).cloned());
            match found {
                Some(of) => Ok(Some(of.data_type)),
                None => self.type_of_rows(schema, name),
            }
        };
        let found = type_of_syntax(self.tree, data_type, &users).map_err(|error| self.at(error, span))?;
        let domain = domain.into_inner();
        match domain.is_some() && !self.tree.get(data_type).bounds.is_empty() {
            true => Err(self.at(Error::lacking(Feature::ArraysOfDomains, "an array of a domain"), span)),
            false => Ok((found, domain)),
        }
    }

    /// A type that a user made: the one that a definition knows, or what the name means now.
    fn users_type(&self, schema: Option<&str>, name: &str, span: Span) -> Result<Option<&Arc<UserType>>> {
        if let Some(reference) = self.definition.and_then(|definition| definition.reference_at(span.start))
            && let Some(of) = self.catalog.type_by_id(reference.object)
        {
            self.rests.borrow_mut().add_type(of.schema, &of.name, Some(of));
            return Ok(Some(of));
        }
        let found = self.catalog.user_type(schema, name, |schema, found| {
            self.rests.borrow_mut().add_type(schema, name, found);
        })?;
        found.into_iter().for_each(|of| self.note_type(span, of));
        Ok(found)
    }
}

/// A text that takes the type that is wanted of it.
pub(in crate::bind) fn untyped(text: &str) -> Expr {
    Expr::Literal { value: Value::Text(text.into()), data_type: DataType::Unknown }
}
