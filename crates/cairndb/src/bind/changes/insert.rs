//! INSERT: complete rows, in the table's column order.

use std::sync::Arc;

use cairn_parser::{
    self as ast, AssignmentTarget, Id, Insert, LimitForm, List, Overriding, Query, QueryBody, Row, Span,
};

use super::target::not_given;
use super::updatable::TargetTable;
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::{Clause, Context};
use crate::bind::expressions::arrays::Assigned;
use crate::bind::expressions::coerce::{fixed_context, is_fixed_text, null};
use crate::bind::queries::query::{column_spans, span_at};
use crate::bind::relations::scope::{Env, Scope};
use crate::bind::statement::{BoundInsert, InsertSource};
use crate::catalog::{Column, Table};
use crate::plan::{Expr, Field, LogicalPlan, OnConflict, Returning, fields_of, literal};
use crate::sql::name_text;
use crate::types::{CastContext, DataType, Value, cast, from_text};
use crate::{Error, Result, SqlState};

/// Where values go, and what the other columns get.
pub(in crate::bind) struct Targets<'t> {
    pub(in crate::bind) table: &'t Arc<Table>,
    /// Column positions, in the order of the values. A column is there more than once where the values are parts of what it holds.
    pub(in crate::bind) columns: Vec<usize>,
    /// As the statement names them, if it does.
    names: List<AssignmentTarget>,
    /// By column of the table, made when first needed.
    defaults: Vec<Option<Expr>>,
    overriding: Option<Overriding>,
}

impl<'t> Targets<'t> {
    pub(in crate::bind) fn new(
        table: &'t Arc<Table>,
        columns: Vec<usize>,
        names: List<AssignmentTarget>,
        overriding: Option<Overriding>,
    ) -> Targets<'t> {
        Targets { table, columns, names, defaults: vec![], overriding }
    }

    /// The columns that no value is given for.
    fn gaps(&self) -> Vec<usize> {
        let mut gaps = vec![true; self.table.columns.len()];
        for column in &self.columns {
            if let Some(gap) = gaps.get_mut(*column) {
                *gap = false;
            }
        }
        gaps.iter().enumerate().filter(|(_, gap)| **gap).map(|(column, _)| column).collect()
    }
}

impl Binder<'_> {
    pub(in crate::bind) fn insert(&mut self, insert: Id<Insert>) -> Result<BoundInsert> {
        let insert = self.tree.get(insert);
        self.within_with(insert.with, |binder| binder.plain_insert(&insert), |bound| bound.source.as_plan())
    }

    fn plain_insert(&mut self, insert: &Insert) -> Result<BoundInsert> {
        let changed = self.target_table(insert.table, "insert into")?;
        let columns = match insert.columns.is_empty() {
            true => changed.columns(),
            false => self.insert_columns(&changed.seen, insert.columns)?,
        };
        let mut targets = Targets::new(&changed.seen, columns, insert.columns, insert.overriding);
        let source = match insert.source {
            None => InsertSource::Plan(self.default_row(&mut targets)?),
            Some(query) => match self.plain_values(query) {
                Some(rows) => self.insert_values(rows, &mut targets)?,
                None => InsertSource::Plan(self.insert_query(query, &mut targets)?),
            },
        };
        let (on_conflict, returning) = self.behind_rows(insert, &changed)?;
        Ok(BoundInsert { source, on_conflict, returning, view_checks: changed.checks(), table: changed.table })
    }

    /// ON CONFLICT and RETURNING, which see the table's columns.
    fn behind_rows(
        &mut self,
        insert: &Insert,
        changed: &TargetTable,
    ) -> Result<(Option<OnConflict>, Option<Returning>)> {
        if insert.conflict.is_none() && insert.returning.is_none() {
            return Ok((None, None));
        }
        let scope = self.target_scope(changed, insert.alias, changed.table.columns.len());
        let on_conflict = match insert.conflict {
            None => None,
            Some(clause) => Some(self.on_conflict(clause, changed, &scope)?),
        };
        // (One with a column of that name has no other.)
        let target = scope.relations.first().filter(|target| target.columns().all(|(name, _)| name != "xmax"));
        self.inserts = target.map(|relation| relation.alias.clone());
        let returning = self.returning(insert.returning, &scope, changed);
        self.inserts = None;
        Ok((on_conflict, returning?))
    }

    pub(super) fn insert_columns(&self, table: &Table, names: List<AssignmentTarget>) -> Result<Vec<usize>> {
        if names.is_empty() {
            return Ok((0..table.columns.len()).collect());
        }
        let tree = self.tree;
        let mut columns = Vec::with_capacity(tree.len(names));
        let mut wholes = vec![];
        for target in tree.list(names) {
            let column = self.target_column(table, target)?;
            let is_part = self.sets_part(target);
            if if is_part { wholes.contains(&column) } else { columns.contains(&column) } {
                let name = name_text(tree, tree.get(target).column);
                return Err(self.at(Error::repeated_column(name), tree.span(target)));
            }
            columns.push(column);
            wholes.extend(Some(column).filter(|_| !is_part));
        }
        Ok(columns)
    }

    /// The rows of `VALUES (...), (...)` with nothing around them.
    fn plain_values(&self, query: Id<Query>) -> Option<List<Row>> {
        let query = self.tree.get(query);
        let plain = query.with.is_none()
            && query.order_by.is_empty()
            && query.limit.is_none()
            && query.limit_form == LimitForm::Plain
            && query.offset.is_none();
        match self.tree.get(query.body) {
            QueryBody::Values { rows } if plain && !self.begins_with_star(rows) => Some(rows),
            _ => None,
        }
    }

    /// `VALUES (NEW.*)`: as many values as the row has.
    fn begins_with_star(&self, rows: List<Row>) -> bool {
        let first = self.tree.nth(rows, 0).map(|row| self.tree.get(row).values);
        let is_star = |value| matches!(self.tree.get(value), ast::Expr::All { .. });
        first.is_some_and(|values| self.tree.list(values).any(is_star))
    }

    /// A row of nothing but defaults.
    pub(super) fn defaults_row(&mut self, targets: &mut Targets) -> Result<Vec<Expr>> {
        targets.columns.clear();
        self.complete_row(vec![], targets)
    }

    /// A row of these values, where there are no others.
    pub(in crate::bind) fn only_row(
        &mut self,
        values: List<ast::Expr>,
        targets: &mut Targets,
        context: &mut Context,
    ) -> Result<Vec<Expr>> {
        let width = self.tree.len(values);
        if width != targets.columns.len() {
            let extra = self.tree.nth(values, targets.columns.len());
            self.check_width(width, targets, extra.map(|value| self.tree.span(value)))?;
        }
        targets.columns.truncate(width);
        let gaps = targets.gaps();
        self.insert_row(values, targets, &gaps, context)
    }

    fn default_row(&mut self, targets: &mut Targets) -> Result<LogicalPlan> {
        let row = self.defaults_row(targets)?;
        Ok(LogicalPlan::Values { rows: vec![row], fields: fields_of(targets.table) })
    }

    fn insert_values(&mut self, rows: List<Row>, targets: &mut Targets) -> Result<InsertSource> {
        let tree = self.tree;
        let width = self.values_width(rows);
        if width != targets.columns.len() {
            let first = tree.list(rows).next().map_or(List::EMPTY, |row| tree.get(row).values);
            let extra = tree.nth(first, targets.columns.len());
            self.check_width(width, targets, extra.map(|value| tree.span(value)))?;
        }
        targets.columns.truncate(width);
        let gaps = targets.gaps();
        let scope = Scope::default();
        let env = Env { scope: &scope, outer: None, within: None };
        let clause = if tree.len(rows) == 1 { Clause::OnlyRow } else { Clause::Values };
        let mut context = Context::new(Some(&env), clause);
        // Within WITH, rows belong to a plan.
        if self.ctes.is_empty()
            && !tree.list(targets.names).any(|target| self.sets_part(target))
            && let Some(constants) = self.constant_rows(rows, targets, &gaps, &mut context)?
            && context.series.is_empty()
        {
            return Ok(InsertSource::Constants(constants));
        }
        context.series.clear();
        let mut bound = Vec::with_capacity(tree.len(rows));
        for row in tree.list(rows) {
            let values = tree.get(row).values;
            self.check_row_width(values, width)?;
            bound.push(self.insert_row(values, targets, &gaps, &mut context)?);
        }
        let fields = fields_of(targets.table);
        if context.series.is_empty() {
            return Ok(InsertSource::Plan(LogicalPlan::Values { rows: bound, fields }));
        }
        let Some(mut exprs) = bound.pop() else { return Err(Error::internal("an INSERT without rows")) };
        let nothing = LogicalPlan::Values { rows: vec![vec![]], fields: vec![] };
        let input = Box::new(self.with_series(nothing, context.series, exprs.iter_mut())?);
        Ok(InsertSource::Plan(LogicalPlan::Project { input, exprs, fields }))
    }

    /// `extra`: the first value that has no column.
    fn check_width(&self, width: usize, targets: &Targets, extra: Option<Span>) -> Result<()> {
        let message = match width.cmp(&targets.columns.len()) {
            std::cmp::Ordering::Greater if targets.names.is_empty() && self.computed.is_some() => {
                return Err(self.not_given(targets.table));
            }
            std::cmp::Ordering::Greater => "INSERT has more expressions than target columns",
            std::cmp::Ordering::Less if !targets.names.is_empty() => "INSERT has more target columns than expressions",
            _ => return Ok(()),
        };
        let lacking = self.tree.nth(targets.names, width).map(|name| self.tree.span(name));
        let span = extra.or(lacking).unwrap_or(NOWHERE);
        Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span))
    }

    /// There is a value for a column of a view that can be read only: the first of them is told.
    fn not_given(&self, view: &Table) -> Error {
        let (names, what) = self.computed.clone().unwrap_or_default();
        let name = names.first().map_or("", String::as_str);
        not_given(&what, name, &view.name)
    }

    /// A row, made in place: there may be very many.
    fn insert_row(
        &mut self,
        values: List<ast::Expr>,
        targets: &mut Targets,
        gaps: &[usize],
        context: &mut Context,
    ) -> Result<Vec<Expr>> {
        let (tree, table) = (self.tree, targets.table);
        let mut row = Vec::with_capacity(table.columns.len());
        for (position, value) in tree.list(values).enumerate() {
            let index = targets.columns.get(position).copied().unwrap_or_default();
            let bound = match tree.nth(targets.names, position).filter(|target| self.sets_part(*target)) {
                None => self.insert_value(value, index, targets, context)?,
                Some(target) => {
                    let before = row.get(index).filter(|_| targets.columns[..position].contains(&index)).cloned();
                    self.insert_part((index, before), target, &Assigned::Written(value), targets, context)?
                }
            };
            put(&mut row, index, bound);
        }
        for gap in gaps {
            put(&mut row, *gap, self.default_of(*gap, targets)?);
        }
        Ok(row)
    }

    /// What a column holds with a value in a part of it; `before`: what values before this one made, of nothing without them.
    fn insert_part(
        &mut self,
        (index, before): (usize, Option<Expr>),
        target: Id<AssignmentTarget>,
        value: &Assigned,
        targets: &mut Targets,
        context: &mut Context,
    ) -> Result<Expr> {
        let column = column_at(targets.table, index)?;
        if self.ignores_given(column, targets, self.tree.span(target))? {
            return self.default_of(index, targets);
        }
        let before = before.unwrap_or_else(|| null(column.data_type));
        self.with_part((before, &column.name), target, value, context)
    }

    pub(super) fn insert_value(
        &mut self,
        value: Id<ast::Expr>,
        index: usize,
        targets: &mut Targets,
        context: &mut Context,
    ) -> Result<Expr> {
        let tree = self.tree;
        let column = column_at(targets.table, index)?;
        let syntax = tree.get(value);
        if syntax == ast::Expr::Default || self.ignores_given(column, targets, tree.span(value))? {
            return self.default_of(index, targets);
        }
        if let Some(value) = self.plain_constant(syntax, column.data_type) {
            return Ok(literal(value, column.data_type));
        }
        let (bound, span) = self.operand(value, context)?;
        self.assignment(bound, column.data_type, &column.name, span)
    }

    /// What `assignment` makes of a constant, where that is plain to see; most values of long INSERTs are such.
    pub(super) fn plain_constant(&self, syntax: ast::Expr, to: DataType) -> Option<Value> {
        let tree = self.tree;
        Some(match (syntax, to) {
            (ast::Expr::Null, _) => Value::Null,
            (ast::Expr::Integer { text } | ast::Expr::Number { text }, _) => plain_number(tree.text(text), 1, to)?,
            (ast::Expr::Unary { operator, operand }, _) if tree.written(operator) == "-" => match tree.get(operand) {
                ast::Expr::Integer { text } | ast::Expr::Number { text } => plain_number(tree.text(text), -1, to)?,
                _ => return None,
            },
            (ast::Expr::String { text }, DataType::Text | DataType::Varchar(_)) => Value::text(tree.text(text)),
            (ast::Expr::String { text }, _) => plain_text(tree.text(text), to)?,
            (ast::Expr::Boolean { value }, DataType::Boolean) => Value::Boolean(value),
            _ => return None,
        })
    }

    /// Whether a value given for this column is to be ignored; an error where it is not allowed.
    fn ignores_given(&self, column: &Column, targets: &Targets, span: Span) -> Result<bool> {
        let name = &column.name;
        let refused = |is: &str| {
            let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
            Error::new(SqlState::GENERATED_ALWAYS, message).with_detail(format!("Column \"{name}\" is {is}."))
        };
        let error = match (column.identity, targets.overriding) {
            _ if column.generated.is_some() => refused("a generated column"),
            (Some(_), Some(Overriding::User)) => return Ok(true),
            (Some(_), _)
                if targets.table.version_column().is_some_and(|at| targets.table.columns[at].name == *name) =>
            {
                refused("the version of a collection's document").with_hint("Use OVERRIDING USER VALUE to ignore it.")
            }
            (Some(identity), None) if identity.always => refused("an identity column defined as GENERATED ALWAYS")
                .with_hint("Use OVERRIDING SYSTEM VALUE to override."),
            _ => return Ok(false),
        };
        Err(self.at(error, span))
    }

    pub(super) fn default_of(&mut self, index: usize, targets: &mut Targets) -> Result<Expr> {
        if let Some(Some(default)) = targets.defaults.get(index) {
            return Ok(default.clone());
        }
        let default = self.column_default(column_at(targets.table, index)?)?;
        if targets.defaults.len() <= index {
            targets.defaults.resize(index + 1, None);
        }
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

    fn insert_query(&mut self, query: Id<Query>, targets: &mut Targets) -> Result<LogicalPlan> {
        let plan = self.untyped_query(query, None)?;
        let given = plan.fields();
        let spans = column_spans(self.tree, query);
        self.check_width(given.len(), targets, spans.get(targets.columns.len()).copied())?;
        targets.columns.truncate(given.len());
        let wanted = targets.columns.iter().map(|index| column_at(targets.table, *index));
        let wanted: Vec<&Column> = wanted.collect::<Result<_>>()?;
        let tree = self.tree;
        let parts: Vec<Option<Id<AssignmentTarget>>> = (0..wanted.len())
            .map(|position| tree.nth(targets.names, position).filter(|target| self.sets_part(*target)))
            .collect();
        let types: Vec<DataType> = (given.iter().zip(&wanted).zip(&parts))
            .map(|((field, column), part)| {
                let steps: Vec<_> = part.map_or_else(Vec::new, |target| tree.list(tree.get(target).steps).collect());
                settled(field, self.part_type(column.data_type, &steps).unwrap_or(column.data_type))
            })
            .collect();
        let plan = self.retype(plan, (&types, CastContext::Assignment), &spans)?;
        let mut values: Vec<(usize, Expr)> = Vec::with_capacity(types.len());
        for (position, (data_type, column)) in types.into_iter().zip(wanted).enumerate() {
            let index = targets.columns.get(position).copied().unwrap_or_default();
            let value = Expr::Column { index: position, data_type };
            if let Some(target) = parts[position] {
                let before = values.iter().position(|(known, _)| *known == index).map(|at| values.swap_remove(at).1);
                let value = Assigned::Bound((value, span_at(&spans, position)));
                let mut context = Context::new(None, Clause::Values);
                values.push((index, self.insert_part((index, before), target, &value, targets, &mut context)?));
                continue;
            }
            if self.ignores_given(column, targets, tree.span(query))? {
                values.push((index, self.default_of(index, targets)?));
                continue;
            }
            values.push((index, self.assignment(value, column.data_type, &column.name, span_at(&spans, position))?));
        }
        let exprs = self.complete_row(values, targets)?;
        Ok(LogicalPlan::Project { input: Box::new(plan), exprs, fields: fields_of(targets.table) })
    }
}

/// A value of a column of this type. Strings are made to fit when they are stored.
/// A string as a column's type, where it means the same whatever the clock and the time zone say, and nothing is wrong
/// with it.
fn plain_text(text: &str, to: DataType) -> Option<Value> {
    match to {
        DataType::Numeric(_) => plain_numeric(text, to),
        to if to.is_string() || !is_fixed_text(text, to) => None,
        to => from_text(text, to, fixed_context()).ok(),
    }
}

fn plain_numeric(text: &str, to: DataType) -> Option<Value> {
    let value = from_text(text, DataType::Numeric(None), fixed_context()).ok()?;
    match to {
        DataType::Numeric(None) => Some(value),
        to => cast(&value, DataType::Numeric(None), to, fixed_context()).ok(),
    }
}

/// Puts a value at its column's place. Most come in order.
fn put(row: &mut Vec<Expr>, index: usize, value: Expr) {
    if row.len() < index {
        row.resize_with(index, || null(DataType::Unknown));
    }
    match row.get_mut(index) {
        Some(slot) => *slot = value,
        None => row.push(value),
    }
}

/// A number as a column's type, where nothing is lost and nothing can fail. (A decimal number's nearest double is the
/// same whether it was a `numeric` before or not, except at the ends of the range.)
fn plain_number(text: &str, sign: i32, to: DataType) -> Option<Value> {
    match to {
        DataType::Integer => Some(Value::Integer(sign * text.parse::<i32>().ok()?)),
        DataType::BigInt => Some(Value::BigInt(i64::from(sign) * text.parse::<i64>().ok()?)),
        DataType::Double => {
            let value = text.parse().ok().filter(|value: &f64| value.is_normal())?;
            Some(Value::Double(f64::from(sign) * value))
        }
        DataType::Numeric(_) if sign < 0 => plain_numeric(&format!("-{text}"), to),
        DataType::Numeric(_) => plain_numeric(text, to),
        _ => None,
    }
}

/// Untyped literals of the query take the column's type.
fn settled(field: &Field, wanted: DataType) -> DataType {
    if field.data_type == DataType::Unknown { wanted.base() } else { field.data_type }
}

pub(super) fn column_at(table: &Table, index: usize) -> Result<&Column> {
    table.columns.get(index).ok_or_else(|| Error::internal("a column's position"))
}
