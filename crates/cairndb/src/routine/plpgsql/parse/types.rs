//! The types of variables: what is written of them, and what the catalog says of that.

use std::sync::Arc;

use super::Parser;
use crate::bind::DomainRules;
use crate::routine::plpgsql::tree::{Kind, Shape};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// What types are called.
pub(in crate::routine::plpgsql) trait Types {
    /// A type, and what its values must be, if it is a domain.
    fn data_type(&self, text: &str) -> Result<(DataType, Option<Arc<DomainRules>>)>;
    /// What the values of a table's column must be.
    fn of_column(&self, table: &str, column: &str) -> Result<Option<Arc<DomainRules>>>;
    /// The row of a table or view.
    fn row(&self, name: &str) -> Result<Option<Arc<Shape>>>;
}

impl Parser<'_> {
    /// What a variable holds, and what its values must be.
    pub(super) fn kind(&mut self) -> Result<(Kind, Option<Arc<DomainRules>>)> {
        let text = self.text_until(&[";", ":=", "=", "default", "not", "collate"])?;
        if self.eat("collate") {
            self.identifier()?;
        }
        let squeezed: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let lower = squeezed.to_ascii_lowercase();
        if lower == "record" {
            return Ok((Kind::Row(None), None));
        }
        let unknown = |name: &str| {
            let message = format!("relation \"{name}\" does not exist");
            Error::new(SqlState::UNDEFINED_TABLE, message)
        };
        let without = |suffix: &str| {
            let at = lower.len().checked_sub(suffix.len())?;
            (lower.is_char_boundary(at) && lower[at..] == *suffix)
                .then(|| squeezed[..at].trim_end().trim_end_matches('%').trim_end())
        };
        if let Some(table) = without("%rowtype").or_else(|| without("% rowtype")) {
            let shape = self.types.row(table)?.ok_or_else(|| unknown(table))?;
            return Ok((Kind::Row(Some(shape)), None));
        }
        if let Some(of) = without("%type").or_else(|| without("% type")) {
            return self.type_of(of);
        }
        match self.types.data_type(&squeezed) {
            Ok((data_type, domain)) => Ok((Kind::of(data_type), domain)),
            Err(error) => match self.types.row(&squeezed) {
                Ok(Some(shape)) => Ok((Kind::Row(Some(shape)), None)),
                _ => Err(error),
            },
        }
    }

    /// `name%TYPE`
    fn type_of(&self, name: &str) -> Result<(Kind, Option<Arc<DomainRules>>)> {
        let plain = name.to_ascii_lowercase();
        if let Some(variable) = self.scopes.find(self.scope, None, &plain) {
            let declared = &self.variables[variable];
            return Ok((declared.kind.clone(), declared.domain.clone()));
        }
        let (table, column) = plain.rsplit_once('.').unwrap_or(("", &plain));
        let column = column.trim_matches('"');
        let missing = || {
            let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
            Error::new(SqlState::UNDEFINED_COLUMN, message)
        };
        if table.is_empty() {
            let message = format!("invalid type name \"{name}%TYPE\"");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let (shape, domain) = match self.scopes.find(self.scope, None, table).map(|at| &self.variables[at].kind) {
            Some(Kind::Row(Some(shape))) => (Some(shape.clone()), None),
            _ => (self.types.row(table)?, self.types.of_column(table, column)?),
        };
        let none = || Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{table}\" does not exist"));
        let shape = shape.ok_or_else(none)?;
        let found = shape.0.iter().find(|(known, _)| known == column);
        found.map(|(_, data_type)| (Kind::Value(*data_type), domain)).ok_or_else(missing)
    }
}
