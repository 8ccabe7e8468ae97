//! Queries: WITH, the body, ORDER BY and LIMIT around it; VALUES; set operations.

use sqlparser::ast::{self, LimitClause, OrderBy, OrderByKind, Query, SetExpr, SetQuantifier, Spanned};
use sqlparser::tokenizer::Span;

use super::binder::{Binder, fold};
use super::context::{Clause, Context};
use super::scope::{Env, Scope};
use crate::plan::{Expr, Field, LogicalPlan, SetOperator, SortKey};
use crate::types::{CastContext, DataType};
use crate::{Error, Result, SqlState};

/// LIMIT and OFFSET, bound.
#[derive(Default)]
pub(super) struct Window {
    pub(super) limit: Option<Expr>,
    pub(super) offset: Option<Expr>,
}

impl Binder<'_> {
    /// A query whose columns all have types.
    pub(super) fn query(&mut self, query: &Query, outer: Option<&Env>) -> Result<LogicalPlan> {
        let plan = self.untyped_query(query, outer)?;
        self.typed(plan)
    }

    /// Columns that nothing has given a type yet are text.
    pub(super) fn typed(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let fields = plan.fields();
        if fields.iter().all(|field| field.data_type != DataType::Unknown) {
            return Ok(plan);
        }
        let types: Vec<DataType> = fields.iter().map(|field| known_type(field.data_type)).collect();
        self.retype(plan, &types, &[])
    }

    /// A query whose literal columns may still be untyped, for who reads it decides.
    pub(super) fn untyped_query(&mut self, query: &Query, outer: Option<&Env>) -> Result<LogicalPlan> {
        refuse_extensions(query)?;
        let in_sight = self.ctes.len();
        let definitions = match &query.with {
            Some(with) => self.with(with, outer)?,
            None => vec![],
        };
        let body = self.body(query, outer);
        self.ctes.truncate(in_sight);
        Ok(super::with::wrap(definitions, body?))
    }

    fn body(&mut self, query: &Query, outer: Option<&Env>) -> Result<LogicalPlan> {
        let keys = order_keys(query.order_by.as_ref())?;
        let window = self.window(query, outer)?;
        match &*query.body {
            SetExpr::Select(select) => self.select(select, keys, window, outer),
            other => {
                let plan = self.set_expr(other, outer)?;
                let sorted = self.sort_output(plan, keys)?;
                Ok(limited(sorted, window))
            }
        }
    }

    pub(super) fn set_expr(&mut self, body: &SetExpr, outer: Option<&Env>) -> Result<LogicalPlan> {
        match body {
            SetExpr::Select(select) => self.select(select, &[], Window::default(), outer),
            SetExpr::Query(query) => self.untyped_query(query, outer),
            SetExpr::Values(values) => self.values(values, outer),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let (op, all) = (set_operator(op)?, is_all(*set_quantifier)?);
                let left_plan = self.set_expr(left, outer)?;
                let right_plan = self.set_expr(right, outer)?;
                self.set_operation(op, all, left_plan, right_plan, [&column_spans(left), &column_spans(right)])
            }
            SetExpr::Table(table) => {
                let message = format!("TABLE {} here", table.table_name.as_deref().unwrap_or_default());
                Err(Error::unsupported(message))
            }
            _ => Err(Error::unsupported("a data-modifying statement inside a query")),
        }
    }

    pub(super) fn set_operation(
        &mut self,
        op: SetOperator,
        all: bool,
        left: LogicalPlan,
        right: LogicalPlan,
        [left_spans, right_spans]: [&[Span]; 2],
    ) -> Result<LogicalPlan> {
        let name = set_name(op);
        let (lefts, rights) = (left.fields(), right.fields());
        if lefts.len() != rights.len() {
            let message = format!("each {name} query must have the same number of columns");
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span_at(right_spans, 0)));
        }
        let mut types = Vec::with_capacity(lefts.len());
        for (column, (left, right)) in lefts.iter().zip(&rights).enumerate() {
            let sides =
                [(left.data_type, span_at(left_spans, column)), (right.data_type, span_at(right_spans, column))];
            types.push(self.common_type(name, &sides)?);
        }
        let left = self.retype(left, &types, left_spans)?;
        let right = self.retype(right, &types, right_spans)?;
        Ok(LogicalPlan::SetOperation { op, all, left: Box::new(left), right: Box::new(right) })
    }

    /// VALUES as a query: each column's rows agree on a type.
    fn values(&mut self, values: &ast::Values, outer: Option<&Env>) -> Result<LogicalPlan> {
        let scope = Scope::default();
        let env = Env { scope: &scope, outer };
        let mut context = Context::new(Some(&env), Clause::Values);
        let mut rows = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            let mut bound = Vec::with_capacity(row.len());
            for value in row.iter() {
                bound.push((self.expr(value, &mut context)?, value.span()));
            }
            rows.push(bound);
        }
        let width = rows.first().map_or(0, Vec::len);
        if let Some(odd) = values.rows.iter().find(|row| row.len() != width) {
            let error = Error::new(SqlState::SYNTAX_ERROR, "VALUES lists must all be the same length");
            return Err(odd.first().map_or(error.clone(), |value| self.at(error, value.span())));
        }
        self.unify_rows(rows, width)
    }

    fn unify_rows(&mut self, rows: Vec<Vec<(Expr, Span)>>, width: usize) -> Result<LogicalPlan> {
        let mut fields = Vec::with_capacity(width);
        for column in 0..width {
            let of_column = rows.iter().filter_map(|row| row.get(column));
            let types: Vec<(DataType, Span)> = of_column.map(|(expr, span)| (expr.data_type(), *span)).collect();
            let untyped = types.iter().all(|(data_type, _)| *data_type == DataType::Unknown);
            let data_type = if untyped { DataType::Unknown } else { self.common_type("VALUES", &types)? };
            fields.push(Field { name: format!("column{}", column + 1), data_type });
        }
        let mut converted = Vec::with_capacity(rows.len());
        for row in rows {
            let mut values = Vec::with_capacity(width);
            for ((expr, span), field) in row.into_iter().zip(&fields) {
                values.push(match field.data_type {
                    DataType::Unknown => expr,
                    data_type => self.implicit(expr, data_type, span)?,
                });
            }
            converted.push(values);
        }
        Ok(LogicalPlan::Values { rows: converted, fields })
    }

    /// ORDER BY of what is not a plain SELECT: output names and positions only.
    fn sort_output(&mut self, plan: LogicalPlan, keys: &[ast::OrderByExpr]) -> Result<LogicalPlan> {
        if keys.is_empty() {
            return Ok(plan);
        }
        let plan = self.typed(plan)?;
        let fields = plan.fields();
        let mut sort = Vec::with_capacity(keys.len());
        for key in keys {
            let index = self.output_column(&key.expr, &fields)?.ok_or_else(|| {
                let error =
                    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                        .with_detail("Only result column names can be used, not expressions or functions.");
                self.at(error, key.expr.span())
            })?;
            let data_type = fields.get(index).map_or(DataType::Unknown, |field| field.data_type);
            sort.push(self.sort_key(Expr::Column { index, data_type }, key)?);
        }
        Ok(LogicalPlan::Sort { input: Box::new(plan), keys: sort })
    }

    fn output_column(&self, key: &ast::Expr, fields: &[Field]) -> Result<Option<usize>> {
        if let Some(position) = self.position(key, "ORDER BY", fields.len())? {
            return Ok(Some(position));
        }
        let ast::Expr::Identifier(ident) = key else { return Ok(None) };
        let name = fold(ident);
        let found = fields.iter().position(|field| field.name == name);
        found.map(Some).ok_or_else(|| {
            let error = Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"));
            self.at(error, ident.span)
        })
    }

    /// A key that is an integer literal stands for an output column; other literals are errors.
    pub(super) fn position(&self, key: &ast::Expr, clause: &str, columns: usize) -> Result<Option<usize>> {
        let ast::Expr::Value(value) = key else { return Ok(None) };
        let number = match &value.value {
            ast::Value::Number(digits, _) => digits.parse::<usize>().ok(),
            ast::Value::Placeholder(_) => return Ok(None),
            _ => None,
        };
        let Some(number) = number else {
            let error = Error::new(SqlState::SYNTAX_ERROR, format!("non-integer constant in {clause}"));
            return Err(self.at(error, value.span));
        };
        match number.checked_sub(1).filter(|index| *index < columns) {
            Some(index) => Ok(Some(index)),
            None => {
                let message = format!("{clause} position {number} is not in select list");
                Err(self.at(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message), value.span))
            }
        }
    }

    /// A sort key with its direction. NULLs are larger than everything unless said otherwise.
    pub(super) fn sort_key(&self, expr: Expr, key: &ast::OrderByExpr) -> Result<SortKey> {
        let descending = match &key.options.sort {
            None | Some(ast::OrderBySort::Asc) => false,
            Some(ast::OrderBySort::Desc) => true,
            Some(ast::OrderBySort::Using(operator)) => match operator.to_string().as_str() {
                "<" => false,
                ">" => true,
                other => return Err(Error::unsupported(format!("ORDER BY USING {other}"))),
            },
        };
        Ok(SortKey { expr, descending, nulls_first: key.options.nulls_first.unwrap_or(descending) })
    }

    fn window(&mut self, query: &Query, outer: Option<&Env>) -> Result<Window> {
        let (mut limit, mut offset) = match &query.limit_clause {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(_) => {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "LIMIT #,# syntax is not supported")
                    .with_hint("Use separate LIMIT and OFFSET clauses."));
            }
        };
        let one = ast::Expr::value(ast::Value::Number("1".into(), false));
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent {
                return Err(Error::unsupported("FETCH FIRST ... WITH TIES or PERCENT"));
            }
            limit = Some(fetch.quantity.as_ref().unwrap_or(&one));
        }
        let scope = Scope::default();
        let env = Env { scope: &scope, outer };
        let mut window = Window::default();
        if let Some(limit) = limit.take() {
            window.limit = Some(self.row_count(limit, Clause::Limit, "LIMIT", &env)?);
        }
        if let Some(offset) = offset.take() {
            window.offset = Some(self.row_count(offset, Clause::Offset, "OFFSET", &env)?);
        }
        Ok(window)
    }

    fn row_count(&mut self, expr: &ast::Expr, clause: Clause, name: &str, env: &Env) -> Result<Expr> {
        let bound = self.expr(expr, &mut Context::new(Some(env), clause))?;
        let from = bound.data_type();
        let converted = self.coerce(bound, DataType::BigInt, CastContext::Assignment, expr.span())?;
        converted.filter(|_| from.is_numeric() || from == DataType::Unknown).ok_or_else(|| {
            let message = format!("argument of {name} must be type bigint, not type {}", from.type_name());
            self.at(Error::new(SqlState::DATATYPE_MISMATCH, message), expr.span())
        })
    }

    /// The same rows with columns of these types; `spans` is where the columns were written, as far as known.
    pub(super) fn retype(&mut self, plan: LogicalPlan, types: &[DataType], spans: &[Span]) -> Result<LogicalPlan> {
        let fields = plan.fields();
        if fields.iter().map(|field| field.data_type).eq(types.iter().copied()) {
            return Ok(plan);
        }
        match plan {
            LogicalPlan::Project { input, exprs, fields } => {
                let exprs = self.retype_row(exprs, types, spans)?;
                Ok(LogicalPlan::Project { input, exprs, fields: retyped(fields, types) })
            }
            LogicalPlan::Values { rows, fields } => {
                let rows = rows.into_iter().map(|row| self.retype_row(row, types, &[])).collect::<Result<_>>()?;
                Ok(LogicalPlan::Values { rows, fields: retyped(fields, types) })
            }
            LogicalPlan::Limit { input, limit, offset } => {
                let input = Box::new(self.retype(*input, types, spans)?);
                Ok(LogicalPlan::Limit { input, limit, offset })
            }
            plan => self.retype_around(plan, fields, types, spans),
        }
    }

    fn retype_row(&mut self, row: Vec<Expr>, types: &[DataType], spans: &[Span]) -> Result<Vec<Expr>> {
        let converted = row.into_iter().zip(types).enumerate().map(|(column, (expr, to))| {
            let span = span_at(spans, column);
            self.coerce(expr, *to, CastContext::Assignment, span)?.ok_or_else(|| {
                let message = format!("cannot convert to type {}", to.type_name());
                self.at(Error::new(SqlState::CANNOT_COERCE, message), span)
            })
        });
        converted.collect()
    }

    fn retype_around(
        &mut self,
        plan: LogicalPlan,
        fields: Vec<Field>,
        types: &[DataType],
        spans: &[Span],
    ) -> Result<LogicalPlan> {
        let columns = fields.iter().enumerate();
        let exprs = columns.map(|(index, field)| Expr::Column { index, data_type: field.data_type }).collect();
        let exprs = self.retype_row(exprs, types, spans)?;
        Ok(LogicalPlan::Project { input: Box::new(plan), exprs, fields: retyped(fields, types) })
    }
}

/// Where a query's columns are written; empty where that is not one place.
pub(super) fn column_spans(body: &SetExpr) -> Vec<Span> {
    match body {
        SetExpr::Select(select) => select.projection.iter().map(Spanned::span).collect(),
        SetExpr::Query(query) => column_spans(&query.body),
        SetExpr::SetOperation { left, .. } => column_spans(left),
        SetExpr::Values(values) => values.rows.first().map_or(vec![], |row| row.iter().map(Spanned::span).collect()),
        _ => vec![],
    }
}

pub(super) fn span_at(spans: &[Span], column: usize) -> Span {
    spans.get(column).copied().unwrap_or(Span::empty())
}

fn retyped(fields: Vec<Field>, types: &[DataType]) -> Vec<Field> {
    fields.into_iter().zip(types).map(|(field, data_type)| Field { data_type: *data_type, ..field }).collect()
}

fn known_type(data_type: DataType) -> DataType {
    if data_type == DataType::Unknown { DataType::Text } else { data_type }
}

/// The plan within LIMIT and OFFSET.
pub(super) fn limited(plan: LogicalPlan, window: Window) -> LogicalPlan {
    match window {
        Window { limit: None, offset: None } => plan,
        Window { limit, offset } => LogicalPlan::Limit { input: Box::new(plan), limit, offset },
    }
}

fn order_keys(order_by: Option<&OrderBy>) -> Result<&[ast::OrderByExpr]> {
    match order_by.map(|order_by| &order_by.kind) {
        None => Ok(&[]),
        Some(OrderByKind::Expressions(keys)) => Ok(keys),
        Some(OrderByKind::All(_)) => Err(Error::unsupported("ORDER BY ALL")),
    }
}

fn set_operator(op: &ast::SetOperator) -> Result<SetOperator> {
    match op {
        ast::SetOperator::Union => Ok(SetOperator::Union),
        ast::SetOperator::Intersect => Ok(SetOperator::Intersect),
        ast::SetOperator::Except => Ok(SetOperator::Except),
        ast::SetOperator::Minus => Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"MINUS\"")),
    }
}

fn set_name(op: SetOperator) -> &'static str {
    match op {
        SetOperator::Union => "UNION",
        SetOperator::Intersect => "INTERSECT",
        SetOperator::Except => "EXCEPT",
    }
}

fn is_all(quantifier: SetQuantifier) -> Result<bool> {
    match quantifier {
        SetQuantifier::All => Ok(true),
        SetQuantifier::Distinct | SetQuantifier::None => Ok(false),
        _ => Err(Error::unsupported("UNION BY NAME")),
    }
}

fn refuse_extensions(query: &Query) -> Result<()> {
    // FOR UPDATE needs nothing: transactions are serializable.
    let odd = query.for_clause.is_some()
        || query.settings.is_some()
        || query.format_clause.is_some()
        || !query.pipe_operators.is_empty();
    if odd { Err(Error::unsupported("this clause of another SQL dialect")) } else { Ok(()) }
}
