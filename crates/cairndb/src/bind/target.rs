//! What INSERT, UPDATE and DELETE share: the table, its columns, defaults, assignments, RETURNING.

use std::sync::Arc;

use sqlparser::ast::{self, Assignment, AssignmentTarget, Ident, ObjectName, SelectItem, Spanned};
use sqlparser::tokenizer::Span;

use super::binder::{Binder, dotted, fold, name_span, plain_name};
use super::coerce::{null, text};
use super::context::{Clause, Context};
use super::nearest::nearest;
use super::operators::{row_of, unnested};
use super::scope::{Env, Scope};
use super::statement::Returning;
use crate::catalog::{Column, Table};
use crate::plan::{Expr, Field, LogicalPlan, SequenceOp};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// The pseudo column of a table without primary key: its hidden row number.
const ROW_NUMBER: usize = usize::MAX;

impl Binder<'_> {
    /// The table that a statement changes.
    pub(super) fn target_table(&self, name: &ObjectName, verb: &str) -> Result<Arc<Table>> {
        let plain = plain_name(name).map(|(plain, _)| plain).unwrap_or_else(|| dotted(name));
        if let Some(table) = self.catalog.table(&plain).filter(|_| plain_name(name).is_some()) {
            return Ok(Arc::clone(table));
        }
        if self.catalog.view(&plain).is_some() {
            let message = format!("cannot {verb} view \"{plain}\"");
            let error = Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
            return Err(self.at(error, name_span(name)));
        }
        Err(self.no_relation(name))
    }

    /// A column of the table by its name.
    pub(super) fn target_column(&self, table: &Table, ident: &Ident) -> Result<usize> {
        let name = fold(ident);
        table.columns.iter().position(|column| column.name == name).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
            let error = Error::new(SqlState::UNDEFINED_COLUMN, message);
            let names = table.columns.iter().map(|column| (column.name.as_str(), &column.name));
            let error = match nearest(&name, names).as_slice() {
                [near] => error.with_hint(format!("Perhaps you meant the column \"{near}\".")),
                _ => error,
            };
            self.at(error, ident.span)
        })
    }

    /// What a column holds where no value is given.
    pub(super) fn column_default(&mut self, column: &Column) -> Result<Expr> {
        if let Some(identity) = column.identity {
            let sequence = self.catalog.sequences.values().find(|sequence| sequence.id == identity.sequence);
            let sequence = sequence.ok_or_else(|| Error::internal("an identity column without its sequence"))?;
            let next = Expr::Sequence { op: SequenceOp::NextVal, name: Box::new(text(&sequence.name)), value: None };
            return self.assignment(next, column.data_type, &column.name, Span::empty());
        }
        let Some(default) = &column.default else { return Ok(null(column.data_type)) };
        let (ast, _) = crate::sql::parse_expression(default)?;
        self.isolated(|binder| binder.default_value(&ast, column.data_type, &column.name))
    }

    /// A default expression as the column's type.
    pub(super) fn default_value(&mut self, ast: &ast::Expr, to: DataType, column: &str) -> Result<Expr> {
        let bound = self.expr(ast, &mut Context::new(None, Clause::Default))?;
        let from = bound.data_type();
        self.coerce(bound, to, crate::types::CastContext::Assignment, ast.span())?.ok_or_else(|| {
            let message = format!(
                "column \"{column}\" is of type {} but default expression is of type {}",
                to.type_name(),
                from.type_name()
            );
            Error::new(SqlState::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression.")
        })
    }

    /// The scan and the names of an updated or deleted table: its columns, then its hidden row number if it has one.
    pub(super) fn target_scan(&self, table: &Arc<Table>, alias: Option<&ast::TableAlias>) -> (LogicalPlan, Scope) {
        let columns: Vec<usize> = match table.primary_key.as_slice() {
            [] => (0..table.columns.len()).chain([ROW_NUMBER]).collect(),
            _ => (0..table.columns.len()).collect(),
        };
        let name = alias.map_or_else(|| table.name.clone(), |alias| fold(&alias.name));
        let scope = Scope::of_table(name, alias.is_none(), table, columns.len());
        (LogicalPlan::Scan { table: Arc::clone(table), columns }, scope)
    }

    /// SET: positions and converted values.
    pub(super) fn assignments(
        &mut self,
        table: &Table,
        assignments: &[Assignment],
        context: &mut Context,
    ) -> Result<Vec<(usize, Expr)>> {
        let mut bound: Vec<(usize, Expr)> = vec![];
        for assignment in assignments {
            match &assignment.target {
                AssignmentTarget::ColumnName(name) => {
                    let value = self.set_one(table, name, &assignment.value, context)?;
                    self.add_assignment(table, value, name, &mut bound)?;
                }
                AssignmentTarget::Tuple(names) => {
                    for (name, value) in names.iter().zip(self.set_row(table, names, &assignment.value, context)?) {
                        self.add_assignment(table, value, name, &mut bound)?;
                    }
                }
            }
        }
        Ok(bound)
    }

    fn add_assignment(
        &self,
        table: &Table,
        value: (usize, Expr),
        name: &ObjectName,
        bound: &mut Vec<(usize, Expr)>,
    ) -> Result<()> {
        if bound.iter().any(|(column, _)| *column == value.0) {
            let column = table.columns.get(value.0).map_or("", |column| column.name.as_str());
            let message = format!("multiple assignments to same column \"{column}\"");
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), name_span(name)));
        }
        bound.push(value);
        Ok(())
    }

    fn set_one(
        &mut self,
        table: &Table,
        name: &ObjectName,
        value: &ast::Expr,
        context: &mut Context,
    ) -> Result<(usize, Expr)> {
        let index = self.set_column(table, name)?;
        let column = table.columns.get(index).ok_or_else(|| Error::internal("a column's position"))?;
        if is_default(value) {
            return Ok((index, self.column_default(column)?));
        }
        self.refuse_generated(column, name_span(name))?;
        let expr = self.expr(value, context)?;
        Ok((index, self.assignment(expr, column.data_type, &column.name, value.span())?))
    }

    fn refuse_generated(&self, column: &Column, span: Span) -> Result<()> {
        if column.identity.is_none_or(|identity| !identity.always) {
            return Ok(());
        }
        let message = format!("column \"{}\" can only be updated to DEFAULT", column.name);
        let error = Error::new(SqlState::GENERATED_ALWAYS, message)
            .with_detail(format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name));
        Err(self.at(error, span))
    }

    fn set_column(&self, table: &Table, name: &ObjectName) -> Result<usize> {
        match name.0.as_slice() {
            [ast::ObjectNamePart::Identifier(ident)] => self.target_column(table, ident),
            [ast::ObjectNamePart::Identifier(first), ..] => self.target_column(table, first),
            _ => Err(Error::unsupported("this SET target")),
        }
    }

    /// `(a, b) = (1, 2)`, `= ROW(1, 2)` or `= (SELECT ...)`.
    fn set_row(
        &mut self,
        table: &Table,
        names: &[ObjectName],
        value: &ast::Expr,
        context: &mut Context,
    ) -> Result<Vec<(usize, Expr)>> {
        if let ast::Expr::Subquery(query) = unnested(value) {
            return self.set_from_query(table, names, query, context);
        }
        let single = std::slice::from_ref(value);
        let values = row_of(value).unwrap_or(single);
        if values.len() != names.len() {
            let message = "number of columns does not match number of values";
            return Err(self.at_parenthesis(Error::new(SqlState::SYNTAX_ERROR, message), value.span()));
        }
        names.iter().zip(values).map(|(name, value)| self.set_one(table, name, value, context)).collect()
    }

    /// Each column is a scalar subquery of its own.
    fn set_from_query(
        &mut self,
        table: &Table,
        names: &[ObjectName],
        query: &ast::Query,
        context: &mut Context,
    ) -> Result<Vec<(usize, Expr)>> {
        let plan = self.query(query, context.env)?;
        let fields = plan.fields();
        if fields.len() != names.len() {
            let message = "number of columns does not match number of values";
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), query.span()));
        }
        let mut bound = Vec::with_capacity(names.len());
        for (position, (name, field)) in names.iter().zip(fields).enumerate() {
            let index = self.set_column(table, name)?;
            let column = table.columns.get(index).ok_or_else(|| Error::internal("a column's position"))?;
            self.refuse_generated(column, name_span(name))?;
            let value = super::subquery::scalar_column(plan.clone(), position, field);
            bound.push((index, self.assignment(value, column.data_type, &column.name, query.span())?));
        }
        Ok(bound)
    }

    /// RETURNING over a row with these names.
    pub(super) fn returning(&mut self, items: Option<&Vec<SelectItem>>, scope: &Scope) -> Result<Option<Returning>> {
        let Some(items) = items else { return Ok(None) };
        let env = Env { scope, outer: None };
        let outputs = self.outputs(items, &mut Context::new(Some(&env), Clause::Returning))?;
        let (mut exprs, mut fields) = (vec![], vec![]);
        for output in outputs {
            let expr = self.known(output.expr)?;
            fields.push(Field { name: output.name, data_type: expr.data_type() });
            exprs.push(expr);
        }
        Ok(Some(Returning { exprs, fields }))
    }
}

/// The keyword DEFAULT in place of a value.
pub(super) fn is_default(value: &ast::Expr) -> bool {
    matches!(value, ast::Expr::Identifier(ident)
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}
