//! The ways in: whole statements, and single expressions over a table's row.

use sqlparser::ast::{self, SetExpr, Statement};

use super::binder::{Binder, fold};
use super::context::{Clause, Context};
use super::scope::{Env, Scope};
use super::statement::{BoundExplain, BoundStatement};
use super::{ParameterTypes, with};
use crate::catalog::{Catalog, Table};
use crate::plan::{Expr, LogicalPlan};
use crate::sql::{self, Overriding, ParsedStatement, with_deep_stack};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// Resolves a statement against a catalog. Parameter types that are not known yet are inferred.
pub fn bind_statement(
    parsed: &ParsedStatement,
    catalog: &Catalog,
    parameters: &mut ParameterTypes,
) -> Result<BoundStatement> {
    with_deep_stack(parsed.depth, || {
        let mut binder = Binder::new(catalog, parameters, Some(&parsed.source));
        let bound = binder.statement(&parsed.statement, parsed.overriding)?;
        parameters.finish(parsed.parameters);
        Ok(bound)
    })?
}

/// A CHECK condition over the table's columns, as a boolean.
pub fn bind_check(condition: &str, table: &Table, catalog: &Catalog) -> Result<Expr> {
    let scope = Scope::of_table(table.name.clone(), true, &std::sync::Arc::new(table.clone()), table.columns.len());
    alone(condition, catalog, |binder, ast| {
        let env = Env { scope: &scope, outer: None };
        let bound = binder.expr(ast, &mut Context::new(Some(&env), Clause::Check))?;
        if contains_subquery(&bound) {
            let message = "cannot use subquery in check constraint";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        binder.condition(bound, "CHECK", ast::Spanned::span(ast))
    })
}

/// A column's default, converted to the column's type (as far as assignment does; see `BoundInsert::source`).
pub fn bind_default(default: &str, data_type: DataType, catalog: &Catalog) -> Result<Expr> {
    alone(default, catalog, |binder, ast| binder.default_value(ast, data_type, "default"))
}

fn alone<T: Send>(
    text: &str,
    catalog: &Catalog,
    bind: impl FnOnce(&mut Binder, &ast::Expr) -> Result<T> + Send,
) -> Result<T> {
    let (ast, depth) = sql::parse_expression(text)?;
    with_deep_stack(depth, || {
        let mut parameters = ParameterTypes::default();
        let bound = bind(&mut Binder::new(catalog, &mut parameters, None), &ast)?;
        match parameters.types() {
            [] => Ok(bound),
            _ => Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1")),
        }
    })?
}

fn contains_subquery(expr: &Expr) -> bool {
    let mut found = false;
    crate::plan::walk::walk(expr, 0, &mut |expr, _| found |= matches!(expr, Expr::Subquery(_)));
    found
}

impl Binder<'_> {
    fn statement(&mut self, statement: &Statement, overriding: Option<Overriding>) -> Result<BoundStatement> {
        match statement {
            Statement::Query(query) => match &*query.body {
                SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) => {
                    self.with_change(query, inner, overriding)
                }
                _ => Ok(BoundStatement::Query(self.query(query, None)?)),
            },
            Statement::Insert(insert) => Ok(BoundStatement::Insert(Box::new(self.insert(insert, overriding)?))),
            Statement::Update(update) => Ok(BoundStatement::Update(Box::new(self.update(update)?))),
            Statement::Delete(delete) => Ok(BoundStatement::Delete(Box::new(self.delete(delete)?))),
            Statement::Explain { .. } => self.explain(statement, overriding),
            _ => Ok(BoundStatement::Utility),
        }
    }

    /// `WITH ... INSERT | UPDATE | DELETE`.
    fn with_change(
        &mut self,
        query: &ast::Query,
        inner: &Statement,
        overriding: Option<Overriding>,
    ) -> Result<BoundStatement> {
        let definitions = match &query.with {
            Some(with) => self.with(with, None)?,
            None => vec![],
        };
        let mut bound = self.statement(inner, overriding)?;
        let source = match &mut bound {
            BoundStatement::Insert(insert) => &mut insert.source,
            BoundStatement::Update(update) => &mut update.source,
            BoundStatement::Delete(delete) => &mut delete.source,
            _ => return Err(Error::internal("a change to data")),
        };
        let body = std::mem::replace(source, LogicalPlan::Values { rows: vec![], fields: vec![] });
        *source = with::wrap(definitions, body);
        Ok(bound)
    }

    fn explain(&mut self, statement: &Statement, overriding: Option<Overriding>) -> Result<BoundStatement> {
        let Statement::Explain { analyze, verbose, statement, options, .. } = statement else {
            return Err(Error::internal("not EXPLAIN"));
        };
        let mut explain = BoundExplain {
            analyze: *analyze,
            verbose: *verbose,
            costs: true,
            timing: true,
            statement: BoundStatement::Utility,
        };
        for option in options.iter().flatten() {
            self.explain_option(option, &mut explain)?;
        }
        explain.statement = self.statement(statement, overriding)?;
        Ok(BoundStatement::Explain(Box::new(explain)))
    }

    fn explain_option(&self, option: &ast::UtilityOption, explain: &mut BoundExplain) -> Result<()> {
        let on = match option.arg.as_ref().map(|arg| arg.to_string().to_lowercase()) {
            None => true,
            Some(arg) => !matches!(arg.as_str(), "off" | "false" | "0"),
        };
        match fold(&option.name).as_str() {
            "analyze" => explain.analyze = on,
            "verbose" => explain.verbose = on,
            "costs" => explain.costs = on,
            "timing" => explain.timing = on,
            "buffers" | "summary" | "settings" | "wal" | "format" => {}
            other => {
                let message = format!("unrecognized EXPLAIN option \"{other}\"");
                return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), option.name.span));
            }
        }
        Ok(())
    }
}
