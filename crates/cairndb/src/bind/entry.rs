//! The ways in: whole statements, and single expressions over a table's row.

use cairn_parser::{self as ast, Id, Statement};

use super::ParameterTypes;
use super::binder::Binder;
use super::context::{Clause, Context};
use super::relations::scope::{Env, Scope};
use super::relations::star::Stars;
use super::relations::virtuals::Virtuals;
use super::statement::{BoundExplain, BoundStatement};
use crate::catalog::{Catalog, Definition, Table, already_exists, no_schema};
use crate::command::{CreateTableAs, Explain, Explained, Makes, RowsOf};
use crate::plan::{Expr, LogicalPlan};
use crate::sql::{self, ParsedStatement, try_with_deep_stack};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// Resolves a statement against a catalog. Parameter types that are not known yet are inferred.
pub fn bind_statement(
    parsed: &ParsedStatement,
    catalog: &Catalog,
    parameters: &mut ParameterTypes,
) -> Result<BoundStatement> {
    try_with_deep_stack(parsed.depth, || {
        let declared: Vec<DataType> = parsed.declared.iter().map(|of| catalog.now(*of)).collect();
        parameters.declare(&declared);
        let mut binder = Binder::new(catalog, parameters, &parsed.tree, Some(parsed), parsed.depth);
        let bound = binder.whole(parsed)?;
        let rests = binder.rests.take();
        parameters.finish(parsed.parameters);
        parameters.rests = rests;
        Ok(bound)
    })
}

/// Resolves what EXECUTE gives for a parameter, as its type.
pub(crate) fn bind_argument(
    parsed: &ParsedStatement,
    (expr, number): (Id<ast::Expr>, usize),
    to: DataType,
    catalog: &Catalog,
) -> Result<Expr> {
    try_with_deep_stack(parsed.depth, || {
        let mut parameters = ParameterTypes::default();
        let mut binder = Binder::new(catalog, &mut parameters, &parsed.tree, Some(parsed), parsed.depth);
        let bound = binder.expr(expr, &mut Context::new(None, Clause::Execute))?;
        let (from, span) = (bound.data_type(), parsed.tree.span(expr));
        let fit = binder.coerce(bound, to, crate::types::CastContext::Assignment, span)?;
        no_parameters(&parameters)?;
        fit.ok_or_else(|| {
            let (from, to) = (from.type_name(), to.type_name());
            let message = format!("parameter ${number} of type {from} cannot be coerced to the expected type {to}");
            Error::new(SqlState::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression.")
                .at(parsed.position_of(span.start as usize))
        })
    })
}

/// Resolves the query that gives a new table its rows, and its INTO, which names the table.
pub(crate) fn bind_rows_of(
    parsed: &ParsedStatement,
    (query, into): (Id<ast::Query>, Option<Id<ast::Into>>),
    catalog: &Catalog,
    parameters: &mut ParameterTypes,
) -> Result<LogicalPlan> {
    try_with_deep_stack(parsed.depth, || {
        let declared: Vec<DataType> = parsed.declared.iter().map(|of| catalog.now(*of)).collect();
        parameters.declare(&declared);
        let mut binder = Binder::new(catalog, parameters, &parsed.tree, Some(parsed), parsed.depth);
        (binder.into, binder.top) = (into, parsed.tree.get(query).with);
        let bound = binder.query(query, None)?;
        let rests = binder.rests.take();
        parameters.finish(parsed.parameters);
        parameters.rests = rests;
        Ok(bound)
    })
}

/// Resolves a view's query within a statement. The statement's text with every `*` written out.
pub fn bind_view_query(
    parsed: &ParsedStatement,
    query: Id<ast::Query>,
    catalog: &Catalog,
    parameters: &mut ParameterTypes,
) -> Result<String> {
    try_with_deep_stack(parsed.depth, || {
        let mut binder = Binder::new(catalog, parameters, &parsed.tree, Some(parsed), parsed.depth);
        binder.stars = Some(Stars::default());
        binder.query(query, None)?;
        let stars = binder.stars.take().unwrap_or_default();
        parameters.finish(parsed.parameters);
        Ok(stars.written_out(parsed.tree.source(), parsed.tree.span(parsed.statement)))
    })
}

/// A CHECK condition over the table's columns that are not virtual, as a boolean.
pub fn bind_check(condition: &Definition, table: &Table, catalog: &Catalog) -> Result<Expr> {
    let mut bound = alone(condition, catalog, |binder, expr| check_condition(binder, expr, table))?;
    if table.has_virtual() {
        Virtuals::of(table, catalog)?.put_into(&mut bound);
    }
    Ok(bound)
}

pub(super) fn check_condition(binder: &mut Binder<'_>, expr: Id<ast::Expr>, table: &Table) -> Result<Expr> {
    let (bound, span) = over_columns(binder, expr, table, Clause::Check)?;
    binder.condition(bound, "CHECK", span)
}

/// An expression over a table's columns, without subqueries, and where it stands.
pub(super) fn over_columns(
    binder: &mut Binder<'_>,
    expr: Id<ast::Expr>,
    table: &Table,
    clause: Clause,
) -> Result<(Expr, ast::Span)> {
    let schema = binder.schema_of(table.schema);
    let scope = Scope::of_table(table.name.clone(), schema, &std::sync::Arc::new(table.clone()), table.columns.len());
    let env = Env { scope: &scope, outer: None, within: None };
    binder.operand(expr, &mut Context::new(Some(&env), clause))
}

/// A column's default, converted to the column's type (as far as assignment does; see `BoundInsert::source`).
pub fn bind_default(default: &Definition, data_type: DataType, catalog: &Catalog) -> Result<Expr> {
    alone(default, catalog, |binder, expr| binder.default_value(expr, data_type, "default"))
}

pub(super) fn alone<T: Send>(
    definition: &Definition,
    catalog: &Catalog,
    bind: impl FnOnce(&mut Binder<'_>, Id<ast::Expr>) -> Result<T> + Send,
) -> Result<T> {
    // Its text is not the user's: an error's place in it would be told as one in his statement.
    let text = &definition.text;
    let parsed = sql::parse_expression(text).map_err(|error| {
        let message = format!("the stored expression {text} can not be read: {}", error.message());
        let hint = "An older version wrote it. Drop the constraint or the default, and say it anew.";
        Error::new(error.sqlstate(), message).with_hint(hint)
    })?;
    try_with_deep_stack(parsed.depth, || {
        let mut parameters = ParameterTypes::default();
        let mut binder = Binder::new(catalog, &mut parameters, &parsed.tree, None, parsed.depth);
        binder.definition = Some(definition);
        let bound = bind(&mut binder, parsed.expr)?;
        no_parameters(&parameters).map(|()| bound)
    })
}

/// SQLSTATE 42P02 where a definition has parameters.
pub(super) fn no_parameters(parameters: &ParameterTypes) -> Result<()> {
    match parameters.types() {
        [] => Ok(()),
        _ => Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1")),
    }
}

impl Binder<'_> {
    fn whole(&mut self, parsed: &ParsedStatement) -> Result<BoundStatement> {
        match parsed.command() {
            Some(command) if command.name() == "explain" => self.explain(&Explain::of(parsed)?),
            _ => self.statement(parsed.statement),
        }
    }

    fn statement(&mut self, statement: Id<Statement>) -> Result<BoundStatement> {
        let tree = self.tree;
        self.top = match tree.get(statement) {
            Statement::Query { query } => tree.get(query).with,
            Statement::Insert { insert } => tree.get(insert).with,
            Statement::Update { update } => tree.get(update).with,
            Statement::Delete { delete } => tree.get(delete).with,
            Statement::Merge { merge } => tree.get(merge).with,
            Statement::Utility { .. } => None,
        };
        Ok(match tree.get(statement) {
            Statement::Query { query } => {
                let plan = self.query(query, None)?;
                BoundStatement::Query(self.shown(plan))
            }
            Statement::Insert { insert } => {
                let mut bound = self.insert(insert)?;
                self.show_returned(&mut bound.returning);
                BoundStatement::Insert(Box::new(bound))
            }
            Statement::Update { update } => {
                let mut bound = self.update(update)?;
                self.show_returned(&mut bound.returning);
                BoundStatement::Update(Box::new(bound))
            }
            Statement::Delete { delete } => {
                let mut bound = self.delete(delete)?;
                self.show_returned(&mut bound.returning);
                BoundStatement::Delete(Box::new(bound))
            }
            Statement::Merge { merge } => {
                let mut bound = self.merge_into(merge)?;
                self.show_returned(&mut bound.returning);
                BoundStatement::Merge(Box::new(bound))
            }
            Statement::Utility { .. } => BoundStatement::Utility,
        })
    }

    fn explain(&mut self, explain: &Explain) -> Result<BoundStatement> {
        let told = explain.told;
        let (statement, of) = match &explain.explained {
            Explained::Statement(_, Some(Makes::Table(_) | Makes::View(_))) if told.analyze => {
                return Ok(BoundStatement::Utility);
            }
            Explained::Statement(statement, of) => (*statement, of.as_ref()),
            Explained::Execute(_) | Explained::TableOfExecute(_) => return Ok(BoundStatement::Utility),
        };
        if let Some((name, may_be_there)) = of.and_then(Makes::relation) {
            if let Some(schema) = name.schema.as_deref().filter(|schema| self.catalog.schema(schema).is_none()) {
                return Err(no_schema(schema));
            }
            if !may_be_there && self.catalog.relation(name).is_some() {
                return Err(already_exists(&name.name));
            }
        }
        if let Some(Makes::Table(CreateTableAs { rows: RowsOf::Query(_, into), .. })) = of {
            self.into = *into;
        }
        let mut statement = match (self.tree.get(statement), of) {
            (Statement::Query { query }, Some(Makes::View(_) | Makes::Cursor(_))) => {
                BoundStatement::Query(self.query(query, None)?)
            }
            _ => self.statement(statement)?,
        };
        statement.be_explained();
        Ok(BoundStatement::Explain(Box::new(BoundExplain { told, statement })))
    }
}
