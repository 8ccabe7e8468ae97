//! CREATE VIEW, and which views rest on what.

use sqlparser::ast;

use super::context::Ddl;
use super::names::{already_exists, fold, relation_name};
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::catalog::{Catalog, RelationKind, View};
use crate::plan::{Field, LogicalPlan};
use crate::sql::{ParsedStatement, parse_one};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_view(&mut self, create: &ast::CreateView, parsed: &ParsedStatement) -> Result<&'static str> {
        if create.materialized || create.temporary {
            return Err(Error::unsupported("a materialized or temporary view"));
        }
        let name = relation_name(&create.name)?;
        let query = create.query.to_string();
        let fields = self.bind_query(&create.query, parsed)?.fields();
        let columns = view_columns(create, &fields)?;
        let id = match (self.catalog.view(&name), self.catalog.relation_kind(&name)) {
            (_, None) => self.store.allocate_id()?,
            (Some(old), _) if create.or_replace => {
                self.check_replacement(old, &columns, &fields)?;
                old.id
            }
            (None, Some(_)) if create.or_replace => {
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view")));
            }
            _ if create.if_not_exists => return Ok("CREATE VIEW"),
            _ => return Err(already_exists(&name)),
        };
        self.store.put_view(&View { id, name, columns, query })?;
        self.reload()?;
        self.refuse_cycles()?;
        Ok("CREATE VIEW")
    }

    /// Binds a query inside a statement.
    pub(super) fn bind_query(&self, query: &ast::Query, parsed: &ParsedStatement) -> Result<LogicalPlan> {
        let statement = ast::Statement::Query(Box::new(query.clone()));
        let parsed = ParsedStatement { statement, ..parsed.clone() };
        let mut parameters = ParameterTypes::default();
        let bound = bind_statement(&parsed, &self.catalog, &mut parameters)?;
        if !parameters.types().is_empty() {
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        match bound {
            BoundStatement::Query(plan) => Ok(plan),
            _ => Err(Error::internal("a query was bound as something else")),
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

    /// A view that was replaced by one that reads itself would never end.
    fn refuse_cycles(&self) -> Result<()> {
        self.catalog.views.values().try_for_each(|view| view_fields(&self.catalog, view).map(drop))
    }

    /// The views that do not bind any more under `catalog`: they rest on what it lacks.
    pub(super) fn broken_views(&self, catalog: &Catalog) -> Vec<String> {
        let views = catalog
            .views
            .values()
            .filter(|view| self.catalog.views.contains_key(&view.name) && view_fields(catalog, view).is_err());
        views.map(|view| view.name.clone()).collect()
    }

    /// SQLSTATE 0A000 where a view would be left behind by a change that keeps the objects it rests on.
    pub(super) fn refuse_broken_views(&mut self, what: &str) -> Result<()> {
        self.reload()?;
        match self.broken_views(&self.catalog).first() {
            None => Ok(()),
            Some(view) => Err(Error::unsupported(format!("{what} that a view depends on"))
                .with_detail(format!("view {view} depends on it"))),
        }
    }
}

/// A view's columns, by binding it.
pub(super) fn view_fields(catalog: &Catalog, view: &View) -> Result<Vec<Field>> {
    let parsed = parse_one(&view.query)?;
    match bind_statement(&parsed, catalog, &mut ParameterTypes::default())? {
        BoundStatement::Query(plan) => {
            let mut fields = plan.fields();
            fields.iter_mut().zip(&view.columns).for_each(|(field, name)| field.name.clone_from(name));
            Ok(fields)
        }
        _ => Err(Error::internal("a view is not a query")),
    }
}

fn view_columns(create: &ast::CreateView, fields: &[Field]) -> Result<Vec<String>> {
    if create.columns.len() > fields.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    let given = create.columns.iter().map(|column| fold(&column.name));
    let rest = fields.iter().skip(create.columns.len()).map(|field| field.name.clone());
    let columns: Vec<String> = given.chain(rest).collect();
    for (at, name) in columns.iter().enumerate() {
        if columns[..at].contains(name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
    }
    Ok(columns)
}

/// Whether a name is a relation that rows can be read from.
pub(super) fn is_readable(kind: RelationKind) -> bool {
    matches!(kind, RelationKind::Table | RelationKind::View)
}
