//! CREATE VIEW.

use std::collections::BTreeMap;

use cairn_parser::token::quoted;
use cairn_parser::{Id, Query};

use super::context::Ddl;
use crate::bind::{ParameterTypes, bind_view_query, definition_fields, named_as_view, refuse_unchecked, resolve_query};
use crate::catalog::{Catalog, Definition, ObjectId, Relation, View, already_exists};
use crate::command::{Command, CreateView, ExplainMade, Makes, SchemaCommand};
use crate::plan::Field;
use crate::sql::{ParsedStatement, parse_one};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_view(&mut self, create: &CreateView) -> Result<&'static str> {
        let mut schema = self.schema_for(&create.name, create.temporary)?;
        let name = create.name.name.clone();
        let (query, fields) = match create.recursive {
            true => self.recursive_query(create)?,
            false => self.view_query(self.parsed, create.query)?,
        };
        if !schema.is_temporary() && query.references().iter().any(|reference| reference.object.is_temporary()) {
            schema = self.schema_for(&create.name, true)?;
            self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("view \"{name}\" will be a temporary view"));
        }
        if create.has_security_options {
            let message = "security_barrier and security_invoker do nothing: there is one role, which sees all rows";
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message.to_owned());
        }
        let columns = view_columns(create, &fields)?;
        let (id, triggers, defaults) = match self.catalog.relation_in(schema, &name) {
            None => {
                self.refuse_type_of_name(schema, &name)?;
                (self.store.allocate_id(schema)?, Vec::new(), BTreeMap::new())
            }
            Some(Relation::View(old)) if create.or_replace => {
                self.refuse_busy(old.id, &name, "CREATE OR REPLACE VIEW")?;
                self.check_replacement(old, &columns, &fields)?;
                (old.id, old.triggers.clone(), old.defaults.clone())
            }
            Some(_) if create.or_replace => {
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view")));
            }
            _ => return Err(already_exists(&name)),
        };
        let replaces = self.catalog.view_by_id(id).is_some();
        let check = create.check;
        self.store.put_view(&View { id, schema, name, columns, defaults, query, triggers, check, change: 0 })?;
        self.reload()?;
        if replaces {
            self.refuse_cycle(id)?;
            self.keep_anew(id)?;
        }
        self.verify_check_option(id)?;
        Ok("CREATE VIEW")
    }

    /// The query as a view keeps it, printed and with every `*` written out, and its columns.
    pub(super) fn view_query(&self, parsed: &ParsedStatement, query: Id<Query>) -> Result<(Definition, Vec<Field>)> {
        let mut parameters = ParameterTypes::default();
        let text = bind_view_query(parsed, query, &self.catalog, &mut parameters)?;
        refuse_parameters(&parameters)?;
        let written = parse_one(&text)?;
        let query = match Command::of(&written)? {
            Command::Schema(SchemaCommand::CreateView(view)) => view.query,
            Command::Schema(
                SchemaCommand::CreateMaterializedView(view)
                | SchemaCommand::Explain(ExplainMade { makes: Makes::View(view), .. }),
            ) => view.query,
            _ => return Err(Error::internal("a view is not created")),
        };
        resolve_query(written.tree.print(query), &self.catalog, self.maker())
    }

    /// CREATE RECURSIVE VIEW v (c) AS q: WITH RECURSIVE v (c) AS (q) SELECT c FROM v.
    fn recursive_query(&self, create: &CreateView) -> Result<(Definition, Vec<Field>)> {
        let (name, query) = (quoted(&create.name.name), self.parsed.tree.print(create.query));
        let columns: Vec<String> = create.columns.iter().map(|column| quoted(column).to_string()).collect();
        let columns = columns.join(", ");
        let text = format!(
            "CREATE VIEW {name} AS WITH RECURSIVE {name} ({columns}) AS ({query}) SELECT {columns} FROM {name}"
        );
        let parsed = parse_one(&text)?;
        match Command::of(&parsed)? {
            Command::Schema(SchemaCommand::CreateView(view)) => self.view_query(&parsed, view.query),
            _ => Err(Error::internal("a view is not created")),
        }
    }

    /// OR REPLACE keeps the columns that are there, with their types; it may add some at the end.
    fn check_replacement(&self, old: &View, columns: &[String], fields: &[Field]) -> Result<()> {
        let invalid = |message: String| Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        let before = view_fields(&self.catalog, old)?;
        if columns.len() < before.len() {
            return invalid("cannot drop columns from view".to_string());
        }
        for (old, (name, field)) in before.iter().zip(columns.iter().zip(fields)) {
            if old.name != *name {
                return invalid(format!("cannot change name of view column \"{}\" to \"{name}\"", old.name));
            }
            if old.data_type != field.data_type {
                return invalid(format!(
                    "cannot change data type of view column \"{name}\" from {} to {}",
                    old.data_type, field.data_type
                ));
            }
        }
        Ok(())
    }

    /// SQLSTATE 0A000 for WITH CHECK OPTION of a view whose rows no statement can change.
    pub(super) fn verify_check_option(&self, id: ObjectId) -> Result<()> {
        match self.catalog.view_by_id(id).filter(|view| view.check.is_some()) {
            Some(view) => refuse_unchecked(view, &self.catalog),
            None => Ok(()),
        }
    }

    /// A view that was replaced by one that reads itself, by whatever way, would never end.
    fn refuse_cycle(&self, id: ObjectId) -> Result<()> {
        self.catalog.view_by_id(id).map_or(Ok(()), |view| view_fields(&self.catalog, view).map(drop))
    }
}

pub(super) fn refuse_parameters(parameters: &ParameterTypes) -> Result<()> {
    match parameters.types() {
        [] => Ok(()),
        _ => Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1")),
    }
}

/// A view's columns, by binding it.
pub(super) fn view_fields(catalog: &Catalog, view: &View) -> Result<Vec<Field>> {
    named_as_view(view, definition_fields(&view.query, catalog)?)
}

fn view_columns(create: &CreateView, fields: &[Field]) -> Result<Vec<String>> {
    if create.columns.len() > fields.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    let given = create.columns.iter().cloned();
    let rest = fields.iter().skip(create.columns.len()).map(|field| field.name.clone());
    let columns: Vec<String> = given.chain(rest).collect();
    for (field, name) in fields.iter().zip(&columns) {
        if field.data_type == DataType::Void || matches!(field.data_type, DataType::Composite(of) if of.is_record()) {
            super::create_table_as::check_storable(name, field.data_type)?;
        }
    }
    for (at, name) in columns.iter().enumerate() {
        if columns[..at].contains(name) {
            return Err(Error::repeated_column(name));
        }
    }
    Ok(columns)
}
