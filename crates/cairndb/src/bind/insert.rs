//! INSERT: complete rows, in the table's column order.

use sqlparser::ast::{self, Insert, ObjectName, ObjectNamePart, OnInsert, Query, SetExpr, Spanned, TableObject};
use sqlparser::tokenizer::Span;

use super::binder::{Binder, fold};
use super::context::{Clause, Context};
use super::query::{column_spans, span_at};
use super::scope::{Env, Scope};
use super::statement::BoundInsert;
use super::target::is_default;
use crate::catalog::{Column, Table};
use crate::plan::{Expr, Field, LogicalPlan};
use crate::sql::Overriding;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// Where values go, and what the other columns get.
struct Targets<'t> {
    table: &'t Table,
    /// Column positions, in the order of the values.
    columns: Vec<usize>,
    /// Whether the statement named them.
    named: bool,
    names: &'t [ObjectName],
    /// One per column of the table, made when first needed.
    defaults: Vec<Option<Expr>>,
    overriding: Option<Overriding>,
}

impl Binder<'_> {
    pub(super) fn insert(&mut self, insert: &Insert, overriding: Option<Overriding>) -> Result<BoundInsert> {
        let TableObject::TableName(name) = &insert.table else {
            return Err(Error::unsupported("INSERT INTO a function"));
        };
        refuse_extensions(insert)?;
        let table = self.target_table(name, "insert into")?;
        let mut targets = Targets {
            table: &table,
            columns: self.insert_columns(&table, &insert.columns)?,
            named: !insert.columns.is_empty(),
            names: &insert.columns,
            defaults: vec![None; table.columns.len()],
            overriding,
        };
        let source = match &insert.source {
            None => self.default_row(&mut targets)?,
            Some(query) => match plain_values(query) {
                Some(values) => self.insert_values(values, &mut targets)?,
                None => self.insert_query(query, &mut targets)?,
            },
        };
        let mut given = targets.columns.clone();
        given.sort_unstable();
        let alias = insert.table_alias.as_ref().map(|alias| fold(&alias.alias));
        let name = alias.clone().unwrap_or_else(|| table.name.clone());
        let scope = Scope::of_table(name, alias.is_none(), &table, table.columns.len());
        let on_conflict = match &insert.on {
            None => None,
            Some(OnInsert::OnConflict(clause)) => Some(self.on_conflict(clause, &table, &scope)?),
            Some(_) => return Err(Error::unsupported("ON DUPLICATE KEY UPDATE")),
        };
        let returning = self.returning(insert.returning.as_ref(), &scope)?;
        Ok(BoundInsert { source, given, on_conflict, returning, table })
    }

    fn insert_columns(&self, table: &Table, names: &[ObjectName]) -> Result<Vec<usize>> {
        if names.is_empty() {
            return Ok((0..table.columns.len()).collect());
        }
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let Some(ObjectNamePart::Identifier(ident)) = name.0.last() else {
                return Err(Error::unsupported("this column name"));
            };
            let column = self.target_column(table, ident)?;
            if columns.contains(&column) {
                let message = format!("column \"{}\" specified more than once", fold(ident));
                return Err(self.at(Error::new(SqlState::DUPLICATE_COLUMN, message), ident.span));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    fn default_row(&mut self, targets: &mut Targets) -> Result<LogicalPlan> {
        targets.columns.clear();
        let row = self.complete_row(vec![], targets)?;
        Ok(LogicalPlan::Values { rows: vec![row], fields: fields_of(targets.table) })
    }

    fn insert_values(&mut self, values: &ast::Values, targets: &mut Targets) -> Result<LogicalPlan> {
        let width = values.rows.first().map_or(0, |row| row.len());
        let extra = values.rows.first().and_then(|row| row.get(targets.columns.len()));
        self.check_width(width, targets, extra.map(Spanned::span))?;
        targets.columns.truncate(width);
        let scope = Scope::default();
        let env = Env { scope: &scope, outer: None };
        let mut context = Context::new(Some(&env), Clause::Values);
        let mut rows = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            if row.len() != width {
                let error = Error::new(SqlState::SYNTAX_ERROR, "VALUES lists must all be the same length");
                return Err(row.first().map_or(error.clone(), |value| self.at(error, value.span())));
            }
            rows.push(self.insert_row(row, targets, &mut context)?);
        }
        Ok(LogicalPlan::Values { rows, fields: fields_of(targets.table) })
    }

    /// `extra`: the first value that has no column.
    fn check_width(&self, width: usize, targets: &Targets, extra: Option<Span>) -> Result<()> {
        let message = match width.cmp(&targets.columns.len()) {
            std::cmp::Ordering::Greater => "INSERT has more expressions than target columns",
            std::cmp::Ordering::Less if targets.named => "INSERT has more target columns than expressions",
            _ => return Ok(()),
        };
        let lacking = targets.names.get(width).map(super::binder::name_span);
        let span = extra.or(lacking).unwrap_or(Span::empty());
        Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span))
    }

    fn insert_row(&mut self, row: &[ast::Expr], targets: &mut Targets, context: &mut Context) -> Result<Vec<Expr>> {
        let mut values = Vec::with_capacity(row.len());
        for (position, value) in row.iter().enumerate() {
            let index = targets.columns.get(position).copied().unwrap_or_default();
            let column = column_at(targets.table, index)?;
            if is_default(value) || self.ignores_given(column, targets, value.span())? {
                values.push((index, self.default_of(index, targets)?));
                continue;
            }
            let bound = self.expr(value, context)?;
            values.push((index, self.assignment(bound, column.data_type, &column.name, value.span())?));
        }
        self.complete_row(values, targets)
    }

    /// Whether a value given for this column is to be ignored; an error where it is not allowed.
    fn ignores_given(&self, column: &Column, targets: &Targets, span: Span) -> Result<bool> {
        match (column.identity, targets.overriding) {
            (Some(_), Some(Overriding::User)) => Ok(true),
            (Some(identity), None) if identity.always => {
                let name = &column.name;
                let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
                let error = Error::new(SqlState::GENERATED_ALWAYS, message)
                    .with_detail(format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS."))
                    .with_hint("Use OVERRIDING SYSTEM VALUE to override.");
                Err(self.at(error, span))
            }
            _ => Ok(false),
        }
    }

    fn default_of(&mut self, index: usize, targets: &mut Targets) -> Result<Expr> {
        if let Some(Some(default)) = targets.defaults.get(index) {
            return Ok(default.clone());
        }
        let default = self.column_default(column_at(targets.table, index)?)?;
        if let Some(slot) = targets.defaults.get_mut(index) {
            *slot = Some(default.clone());
        }
        Ok(default)
    }

    /// Values in the table's column order, defaults in the gaps.
    fn complete_row(&mut self, values: Vec<(usize, Expr)>, targets: &mut Targets) -> Result<Vec<Expr>> {
        let mut row: Vec<Option<Expr>> = vec![None; targets.table.columns.len()];
        for (index, value) in values {
            if let Some(slot) = row.get_mut(index) {
                *slot = Some(value);
            }
        }
        let complete = row.into_iter().enumerate().map(|(index, value)| match value {
            Some(value) => Ok(value),
            None => self.default_of(index, targets),
        });
        complete.collect()
    }

    fn insert_query(&mut self, query: &Query, targets: &mut Targets) -> Result<LogicalPlan> {
        let plan = self.untyped_query(query, None)?;
        let given = plan.fields();
        let spans = column_spans(&query.body);
        self.check_width(given.len(), targets, spans.get(targets.columns.len()).copied())?;
        targets.columns.truncate(given.len());
        let wanted = targets.columns.iter().map(|index| column_at(targets.table, *index));
        let wanted: Vec<&Column> = wanted.collect::<Result<_>>()?;
        let types: Vec<DataType> = given.iter().zip(&wanted).map(|(field, column)| settled(field, column)).collect();
        let plan = self.retype(plan, &types, &spans)?;
        let mut values = Vec::with_capacity(types.len());
        for (position, (data_type, column)) in types.into_iter().zip(wanted).enumerate() {
            let index = targets.columns.get(position).copied().unwrap_or_default();
            if self.ignores_given(column, targets, query.span())? {
                values.push((index, self.default_of(index, targets)?));
                continue;
            }
            let value = Expr::Column { index: position, data_type };
            values.push((index, self.assignment(value, column.data_type, &column.name, span_at(&spans, position))?));
        }
        let exprs = self.complete_row(values, targets)?;
        Ok(LogicalPlan::Project { input: Box::new(plan), exprs, fields: fields_of(targets.table) })
    }
}

/// Untyped literals of the query take the column's type.
fn settled(field: &Field, column: &Column) -> DataType {
    if field.data_type == DataType::Unknown { column.data_type.base() } else { field.data_type }
}

fn column_at(table: &Table, index: usize) -> Result<&Column> {
    table.columns.get(index).ok_or_else(|| Error::internal("a column's position"))
}

pub(super) fn fields_of(table: &Table) -> Vec<Field> {
    let field = |column: &Column| Field { name: column.name.clone(), data_type: column.data_type };
    table.columns.iter().map(field).collect()
}

/// The rows of `VALUES (...), (...)` with nothing around them.
fn plain_values(query: &Query) -> Option<&ast::Values> {
    let plain =
        query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
    match &*query.body {
        SetExpr::Values(values) if plain => Some(values),
        _ => None,
    }
}

fn refuse_extensions(insert: &Insert) -> Result<()> {
    let odd = insert.or.is_some()
        || insert.ignore
        || insert.overwrite
        || insert.replace_into
        || !insert.assignments.is_empty()
        || insert.partitioned.is_some();
    if odd { Err(Error::unsupported("this form of INSERT of another SQL dialect")) } else { Ok(()) }
}
