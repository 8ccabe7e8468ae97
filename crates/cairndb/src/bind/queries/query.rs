//! Queries: WITH, the body, ORDER BY and LIMIT around it; VALUES; set operations.

use cairn_parser::{
    self as ast, Direction, Id, LimitForm, List, NullsOrder, Query, QueryBody, SetOperation, Span, Tree,
};

use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::{Clause, Context};
use crate::bind::expressions::coerce::null;
use crate::bind::relations::scope::{Env, Scope};
use crate::plan::{Expr, Field, LogicalPlan, SetOperator, SortKey};
use crate::sql::name_text;
use crate::types::{CastContext, DataType};
use crate::{Error, Result, SqlState};

/// LIMIT and OFFSET, bound.
#[derive(Default)]
pub(super) struct RowLimits {
    pub(in crate::bind) limit: Option<Expr>,
    pub(in crate::bind) offset: Option<Expr>,
    pub(super) with_ties: bool,
}

impl Binder<'_> {
    /// A query whose columns all have types.
    pub(in crate::bind) fn query(&mut self, query: Id<Query>, outer: Option<&Env>) -> Result<LogicalPlan> {
        let plan = self.untyped_query(query, outer)?;
        self.typed(plan)
    }

    /// Columns that nothing has given a type yet are text.
    pub(in crate::bind) fn typed(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if !plan.has_field(|data_type| data_type == DataType::Unknown) {
            return Ok(plan);
        }
        let types: Vec<DataType> = plan.fields().iter().map(|field| known_type(field.data_type)).collect();
        self.retype(plan, (&types, CastContext::Implicit), &[])
    }

    /// A query whose literal columns may still be untyped, for who reads it decides.
    pub(in crate::bind) fn untyped_query(&mut self, query: Id<Query>, outer: Option<&Env>) -> Result<LogicalPlan> {
        let query = self.tree.get(query);
        let in_sight = self.ctes.len();
        let definitions = match query.with {
            Some(with) => self.with(with, outer)?,
            None => vec![],
        };
        let body = self.body(&query, outer);
        self.ctes.truncate(in_sight);
        Ok(crate::bind::relations::with::wrap(definitions, body?))
    }

    fn body(&mut self, query: &Query, outer: Option<&Env>) -> Result<LogicalPlan> {
        let limits = self.limits(query, outer)?;
        let plan = match self.tree.get(query.body) {
            QueryBody::Select { .. } | QueryBody::Table { .. } => {
                return self.select(query, limits, outer);
            }
            QueryBody::Values { rows } => {
                self.locking_beside(query.locking, Some("cannot be applied to VALUES"))?;
                self.values(rows, outer)?
            }
            QueryBody::SetOperation { .. } => {
                self.locking_beside(query.locking, Some("is not allowed with UNION/INTERSECT/EXCEPT"))?;
                self.set_operations(query.body, outer)?
            }
        };
        let sorted = self.sort_output(plan, query.order_by)?;
        let keys = if let LogicalPlan::Sort { keys, .. } = &sorted { keys.clone() } else { vec![] };
        Ok(limited(sorted, limits, &keys))
    }

    /// The types that the columns of both sides of a set operation agree on.
    pub(super) fn common_types(
        &self,
        (op, all): (SetOperator, bool),
        [lefts, rights]: [&[Field]; 2],
        [left_spans, right_spans]: [&[Span]; 2],
    ) -> Result<Vec<DataType>> {
        let name = set_name(op);
        if lefts.len() != rights.len() {
            let message = format!("each {name} query must have the same number of columns");
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span_at(right_spans, 0)));
        }
        let mut types = Vec::with_capacity(lefts.len());
        for (column, (left, right)) in lefts.iter().zip(rights).enumerate() {
            let sides =
                [(left.data_type, span_at(left_spans, column)), (right.data_type, span_at(right_spans, column))];
            let common = self.common_type(name, &sides)?;
            if !all {
                self.check_equality(common, sides[0].1)?;
            }
            types.push(common);
        }
        Ok(types)
    }

    /// VALUES as a query: each column's rows agree on a type.
    fn values(&mut self, rows: List<ast::Row>, outer: Option<&Env>) -> Result<LogicalPlan> {
        let tree = self.tree;
        let scope = Scope::default();
        let env = Env { scope: &scope, outer, within: None };
        let mut context = Context::new(Some(&env), Clause::Values);
        let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(tree.len(rows));
        for row in tree.list(rows) {
            let values = tree.get(row).values;
            let exprs = self.row_items(values, &mut context)?.into_iter().map(|(value, _)| value);
            bound.push(exprs.collect());
            if bound.last().map(Vec::len) != bound.first().map(Vec::len) {
                return Err(self.ragged(values));
            }
        }
        let width = bound.first().map_or(0, Vec::len);
        self.unify_rows(rows, bound, width)
    }

    /// How many values the first row of VALUES has.
    pub(in crate::bind) fn values_width(&self, rows: List<ast::Row>) -> usize {
        let first = self.tree.list(rows).next();
        first.map_or(0, |row| self.tree.len(self.tree.get(row).values))
    }

    /// Every row of VALUES has as many values as the first.
    pub(in crate::bind) fn check_row_width(&self, values: List<ast::Expr>, width: usize) -> Result<()> {
        if self.tree.len(values) == width { Ok(()) } else { Err(self.ragged(values)) }
    }

    fn ragged(&self, values: List<ast::Expr>) -> Error {
        let error = Error::new(SqlState::SYNTAX_ERROR, "VALUES lists must all be the same length");
        self.at(error, self.tree.nth(values, 0).map_or(NOWHERE, |value| self.tree.span(value)))
    }

    fn unify_rows(&mut self, syntax: List<ast::Row>, mut rows: Vec<Vec<Expr>>, width: usize) -> Result<LogicalPlan> {
        let tree = self.tree;
        let mut fields = Vec::with_capacity(width);
        for column in 0..width {
            let data_type = self.values_type(syntax, &rows, column)?;
            for (row, syntax) in rows.iter_mut().zip(tree.list(syntax)) {
                let Some(value) = row.get_mut(column).filter(|value| value.data_type() != data_type) else { continue };
                let untyped = std::mem::replace(value, null(data_type));
                *value = self.implicit(untyped, data_type, self.value_span(syntax, column))?;
            }
            fields.push(Field { name: format!("column{}", column + 1), data_type });
        }
        Ok(LogicalPlan::Values { rows, fields })
    }

    /// The type that a column's values agree on; of nothing but untyped literals: none yet.
    fn values_type(&self, syntax: List<ast::Row>, rows: &[Vec<Expr>], column: usize) -> Result<DataType> {
        let types = || rows.iter().filter_map(|row| row.get(column)).map(Expr::data_type);
        let first = types().next().unwrap_or(DataType::Unknown);
        if types().all(|data_type| data_type == first) {
            return Ok(first);
        }
        let spans = self.tree.list(syntax).map(|row| self.value_span(row, column));
        let types: Vec<(DataType, Span)> = types().zip(spans).collect();
        self.common_type("VALUES", &types)
    }

    fn value_span(&self, row: Id<ast::Row>, column: usize) -> Span {
        let value = self.tree.nth(self.tree.get(row).values, column);
        value.map_or(NOWHERE, |value| self.tree.span(value))
    }

    /// ORDER BY of what is not a plain SELECT: output names and positions only.
    fn sort_output(&mut self, plan: LogicalPlan, keys: List<ast::SortKey>) -> Result<LogicalPlan> {
        if keys.is_empty() {
            return Ok(plan);
        }
        let tree = self.tree;
        let plan = self.typed(plan)?;
        let fields = plan.fields();
        let mut sort = Vec::with_capacity(tree.len(keys));
        for key in tree.list(keys) {
            let expr = tree.get(key).expr;
            let index = self.output_column(expr, &fields)?.ok_or_else(|| {
                let error =
                    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                        .with_detail("Only result column names can be used, not expressions or functions.");
                self.at(error, tree.span(expr))
            })?;
            let data_type = fields.get(index).map_or(DataType::Unknown, |field| field.data_type);
            sort.push(self.sort_key(Expr::Column { index, data_type }, key)?);
        }
        Ok(LogicalPlan::Sort { input: Box::new(plan), keys: sort })
    }

    fn output_column(&self, key: Id<ast::Expr>, fields: &[Field]) -> Result<Option<usize>> {
        if let Some(position) = self.position(key, "ORDER BY", fields.len())? {
            return Ok(Some(position));
        }
        let Some(name) = self.plain_column(key) else { return Ok(None) };
        let found = fields.iter().position(|field| field.name == name);
        found.map(Some).ok_or_else(|| {
            let error = Error::undefined_column(name);
            self.at(error, self.tree.span(key))
        })
    }

    /// The name, where the expression is nothing but an unqualified column.
    pub(in crate::bind) fn plain_column(&self, expr: Id<ast::Expr>) -> Option<&str> {
        let tree = self.tree;
        let ast::Expr::Column { names } = tree.get(expr) else { return None };
        let mut names = tree.list(names);
        names.next().filter(|_| names.next().is_none()).map(|name| name_text(tree, name))
    }

    /// A key that is an integer literal stands for an output column; other literals are errors.
    pub(in crate::bind) fn position(&self, key: Id<ast::Expr>, clause: &str, columns: usize) -> Result<Option<usize>> {
        let tree = self.tree;
        let digits = |text| tree.text(text).parse::<i64>().ok();
        let number = match tree.get(key) {
            ast::Expr::Integer { text } => digits(text),
            ast::Expr::Unary { operator, operand } if tree.written(operator) == "-" => match tree.get(operand) {
                ast::Expr::Integer { text } => digits(text).map(|number| -number),
                _ => return Ok(None),
            },
            ast::Expr::Number { .. }
            | ast::Expr::String { .. }
            | ast::Expr::BitString { .. }
            | ast::Expr::HexString { .. }
            | ast::Expr::Boolean { .. }
            | ast::Expr::Null => None,
            _ => return Ok(None),
        };
        let Some(number) = number else {
            let error = Error::new(SqlState::SYNTAX_ERROR, format!("non-integer constant in {clause}"));
            return Err(self.at(error, tree.span(key)));
        };
        match usize::try_from(number - 1).ok().filter(|index| *index < columns) {
            Some(index) => Ok(Some(index)),
            None => {
                let message = format!("{clause} position {number} is not in select list");
                Err(self.at(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message), tree.span(key)))
            }
        }
    }

    /// A sort key with its direction. NULLs are larger than everything unless said otherwise.
    pub(in crate::bind) fn sort_key(&self, expr: Expr, key: Id<ast::SortKey>) -> Result<SortKey> {
        let tree = self.tree;
        let ast::SortKey { expr: sorted, direction, operator, nulls } = tree.get(key);
        self.check_order(expr.data_type(), tree.span(sorted))?;
        let descending = match operator {
            None => direction == Some(Direction::Descending),
            Some(operator) => match self.symbol(operator)? {
                "<" => false,
                ">" => true,
                other => {
                    return Err(self.at(Error::unsupported(format!("ORDER BY USING {other}")), tree.span(operator)));
                }
            },
        };
        Ok(SortKey { expr, descending, nulls_first: nulls.map_or(descending, |nulls| nulls == NullsOrder::First) })
    }

    fn limits(&mut self, query: &Query, outer: Option<&Env>) -> Result<RowLimits> {
        let scope = Scope::default();
        let env = Env { scope: &scope, outer, within: None };
        let mut limits = RowLimits::default();
        if let Some(limit) = query.limit {
            limits.with_ties = query.limit_form == LimitForm::WithTies;
            limits.limit = Some(self.row_count(limit, Clause::Limit, "LIMIT", &env)?);
        }
        if let Some(offset) = query.offset {
            limits.offset = Some(self.row_count(offset, Clause::Offset, "OFFSET", &env)?);
        }
        Ok(limits)
    }

    fn row_count(&mut self, expr: Id<ast::Expr>, clause: Clause, name: &str, env: &Env) -> Result<Expr> {
        let span = self.tree.span(expr);
        let bound = self.expr(expr, &mut Context::new(Some(env), clause))?;
        let from = bound.data_type();
        let converted = self.coerce(bound, DataType::BigInt, CastContext::Assignment, span)?;
        converted.filter(|_| from.is_numeric() || from == DataType::Unknown).ok_or_else(|| {
            let message = format!("argument of {name} must be type bigint, not type {}", from.type_name());
            self.at(Error::new(SqlState::DATATYPE_MISMATCH, message), span)
        })
    }

    /// The same rows with columns of these types; `spans` is where the columns were written, as far as known.
    pub(in crate::bind) fn retype(
        &mut self,
        plan: LogicalPlan,
        (types, context): (&[DataType], CastContext),
        spans: &[Span],
    ) -> Result<LogicalPlan> {
        let fields = plan.fields();
        if fields.iter().map(|field| field.data_type).eq(types.iter().copied()) {
            return Ok(plan);
        }
        match plan {
            LogicalPlan::Project { input, exprs, fields } => {
                let exprs = self.retype_row(exprs, (types, context), spans)?;
                Ok(LogicalPlan::Project { input, exprs, fields: retyped(fields, types) })
            }
            LogicalPlan::Values { rows, fields } => {
                let rows =
                    rows.into_iter().map(|row| self.retype_row(row, (types, context), &[])).collect::<Result<_>>()?;
                Ok(LogicalPlan::Values { rows, fields: retyped(fields, types) })
            }
            LogicalPlan::Limit { input, limit, offset, ties } if ties.is_empty() => {
                let input = Box::new(self.retype(*input, (types, context), spans)?);
                Ok(LogicalPlan::Limit { input, limit, offset, ties })
            }
            plan => self.retype_around(plan, fields, (types, context), spans),
        }
    }

    fn retype_row(
        &mut self,
        row: Vec<Expr>,
        (types, context): (&[DataType], CastContext),
        spans: &[Span],
    ) -> Result<Vec<Expr>> {
        let converted = row.into_iter().zip(types).enumerate().map(|(column, (expr, to))| {
            let span = span_at(spans, column);
            self.coerce(expr, *to, context, span)?.ok_or_else(|| {
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
        (types, context): (&[DataType], CastContext),
        spans: &[Span],
    ) -> Result<LogicalPlan> {
        let columns = fields.iter().enumerate();
        let exprs = columns.map(|(index, field)| Expr::Column { index, data_type: field.data_type }).collect();
        let exprs = self.retype_row(exprs, (types, context), spans)?;
        Ok(LogicalPlan::Project { input: Box::new(plan), exprs, fields: retyped(fields, types) })
    }
}

/// Where a query's columns are written; empty where that is not one place.
pub(in crate::bind) fn column_spans(tree: &Tree, query: Id<Query>) -> Vec<Span> {
    let mut query = query;
    loop {
        return match tree.get(tree.get(query).body) {
            QueryBody::Select { targets, .. } => tree.list(targets).map(|target| tree.span(target)).collect(),
            QueryBody::Values { rows } => {
                let first = tree.list(rows).next().map_or(List::EMPTY, |row| tree.get(row).values);
                tree.list(first).map(|value| tree.span(value)).collect()
            }
            QueryBody::Table { .. } => vec![],
            QueryBody::SetOperation { left, .. } => {
                query = left;
                continue;
            }
        };
    }
}

pub(in crate::bind) fn span_at(spans: &[Span], column: usize) -> Span {
    spans.get(column).copied().unwrap_or(NOWHERE)
}

fn retyped(fields: Vec<Field>, types: &[DataType]) -> Vec<Field> {
    fields.into_iter().zip(types).map(|(field, data_type)| Field { data_type: *data_type, ..field }).collect()
}

fn known_type(data_type: DataType) -> DataType {
    if data_type == DataType::Unknown { DataType::Text } else { data_type }
}

/// The plan within LIMIT and OFFSET; `order` is the one that it is in.
pub(super) fn limited(plan: LogicalPlan, limits: RowLimits, order: &[SortKey]) -> LogicalPlan {
    match limits {
        RowLimits { limit: None, offset: None, .. } => plan,
        RowLimits { limit, offset, with_ties } => {
            let ties = if with_ties { order.to_vec() } else { vec![] };
            LogicalPlan::Limit { input: Box::new(plan), limit, offset, ties }
        }
    }
}

pub(super) fn set_operator(operation: SetOperation) -> SetOperator {
    match operation {
        SetOperation::Union => SetOperator::Union,
        SetOperation::Intersect => SetOperator::Intersect,
        SetOperation::Except => SetOperator::Except,
    }
}

fn set_name(op: SetOperator) -> &'static str {
    match op {
        SetOperator::Union => "UNION",
        SetOperator::Intersect => "INTERSECT",
        SetOperator::Except => "EXCEPT",
    }
}
