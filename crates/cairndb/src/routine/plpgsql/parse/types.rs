//! The types of variables: what is written of them, and what the catalog says of that.

use std::sync::Arc;

use cairn_parser::TokenKind;

use super::{Parser, written};
use crate::bind::DomainRules;
use crate::catalog::ObjectName;
use crate::routine::plpgsql::tree::Kind;
use crate::sql::object_name;
use crate::types::{DataType, Shape};
use crate::{Error, Result, SqlState};

/// What types are called.
pub(in crate::routine::plpgsql) trait Types {
    /// A type, and what its values must be, if it is a domain.
    fn data_type(&self, text: &str) -> Result<(DataType, Option<Arc<DomainRules>>)>;
    /// What the values of a table's column must be.
    fn of_column(&self, table: &ObjectName, column: &str) -> Result<Option<Arc<DomainRules>>>;
    /// The row of a table or view.
    fn row(&self, name: &ObjectName) -> Result<Option<Arc<Shape>>>;
}

type Declares = (Kind, Option<Arc<DomainRules>>);

impl Parser<'_> {
    /// What a variable holds, and what its values must be.
    pub(super) fn kind(&mut self) -> Result<Declares> {
        let declares = self.kind_until(&[";", ":=", "=", "default", "not", "collate"])?;
        if self.eat("collate") {
            self.identifier()?;
        }
        Ok(declares)
    }

    /// The same of a type that one of these words ends.
    pub(super) fn kind_until(&mut self, stops: &[&str]) -> Result<Declares> {
        let start = self.at;
        let name = self.dotted_name();
        if let Some(name) = name.as_ref().filter(|_| self.is("%")) {
            let written = self.text[self.tokens[start].start as usize..self.token().start as usize].trim_end();
            self.advance();
            match self.ahead(0).to_ascii_lowercase().as_str() {
                "rowtype" => {
                    self.advance();
                    return Ok((Kind::Row(Some(self.row_of(name, written)?)), None));
                }
                "type" => {
                    self.advance();
                    return self.type_of(name, written);
                }
                _ => {}
            }
        }
        self.at = start;
        let is_set = self.is("setof");
        let text = self.text_until(stops)?;
        if is_set {
            return Err(Error::new(SqlState::SYNTAX_ERROR, format!("invalid type name \"{text}\"")));
        }
        // Such a name means a type before it means a table.
        match (name.as_deref(), self.types.data_type(text)) {
            (Some([name]), _) if name == "record" => Ok((Kind::Row(None), None)),
            (_, Ok((data_type, domain))) => Ok((Kind::of(data_type), domain)),
            (None, Err(error)) => Err(error),
            (Some(name), Err(error)) => match object_name(name.to_vec()).and_then(|name| self.types.row(&name)) {
                Ok(Some(shape)) => Ok((Kind::Row(Some(shape)), None)),
                _ => Err(error),
            },
        }
    }

    /// Names with dots between them, as far as that is what comes.
    fn dotted_name(&mut self) -> Option<Vec<String>> {
        if self.token().kind == TokenKind::Param {
            return Some(vec![written(self.text, self.advance()).to_owned()]);
        }
        let mut names = vec![self.identifier().ok()?];
        while self.eat(".") {
            names.push(self.identifier().ok()?);
        }
        Some(names)
    }

    /// `name%ROWTYPE`
    fn row_of(&self, name: &[String], written: &str) -> Result<Arc<Shape>> {
        let name = object_name(name.to_vec())?;
        if let Some(shape) = self.types.row(&name)? {
            return Ok(shape);
        }
        // A composite type is a relation too.
        match self.types.data_type(written).map(|(data_type, _)| Kind::of(data_type)) {
            Ok(Kind::Row(Some(shape))) => Ok(shape),
            _ => Err(no_relation(&name)),
        }
    }

    /// `name%TYPE`
    fn type_of(&self, name: &[String], written: &str) -> Result<Declares> {
        let variable = match name {
            [name] => self.scopes.find(self.scope, None, name),
            [label, name] => self.scopes.find(self.scope, Some(label), name),
            _ => None,
        };
        if let Some(variable) = variable {
            let declared = &self.variables[variable];
            return Ok((declared.kind.clone(), declared.domain.clone()));
        }
        let Some((column, table)) = name.split_last().filter(|(_, table)| !table.is_empty()) else {
            return self.types.data_type(written).map(|(data_type, domain)| (Kind::of(data_type), domain)).map_err(
                |_| {
                    let message = format!("invalid type name \"{written}%TYPE\"");
                    Error::new(SqlState::SYNTAX_ERROR, message)
                },
            );
        };
        let record = match table {
            [record] => self.scopes.find(self.scope, None, record).map(|at| &self.variables[at].kind),
            _ => None,
        };
        let table = object_name(table.to_vec())?;
        let (shape, domain) = match record {
            Some(Kind::Row(Some(shape))) => (shape.clone(), None),
            _ => {
                let shape = self.types.row(&table)?.ok_or_else(|| no_relation(&table))?;
                (shape, self.types.of_column(&table, column)?)
            }
        };
        let missing = || Error::undefined_column_of(column, table);
        let found = shape.0.iter().find(|(known, _)| known == column);
        found.map(|(_, data_type)| (Kind::of(*data_type), domain)).ok_or_else(missing)
    }
}

fn no_relation(name: &ObjectName) -> Error {
    Error::undefined_relation(name)
}
