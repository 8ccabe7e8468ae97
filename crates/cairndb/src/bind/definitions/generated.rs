//! What columns are computed from: generated ones whenever a row changes, others once, when they get another type.

use cairn_parser::{self as ast, Id};

use super::definition::{noting, numbers_of, settled};
use super::index::{in_parentheses, mutable_part};
use crate::bind::binder::Binder;
use crate::bind::context::Clause;
use crate::bind::entry::{alone, over_columns};
use crate::bind::relations::virtuals::Virtuals;
use crate::catalog::{Catalog, Column, RowExpression, Table};
use crate::plan::{Expr, walk};
use crate::sql;
use crate::types::{CastContext, DataType, EvalContext};
use crate::{Error, Result, SqlState};

/// What a column's values are computed from, over the table's columns, as the column's type.
pub(crate) fn bind_generated(
    expression: &RowExpression,
    column: &Column,
    table: &Table,
    catalog: &Catalog,
) -> Result<Expr> {
    alone(&expression.definition, catalog, |binder, expr| generated(binder, expr, column, table))
}

/// The expression of a text with what the names in it mean now.
pub(crate) fn resolve_generated(
    text: String,
    column: &Column,
    table: &Table,
    (catalog, maker): (&Catalog, Option<&EvalContext>),
) -> Result<RowExpression> {
    let parsed = sql::parse_expression(&text)?;
    let (definition, bound) = settled(in_parentheses(&parsed.tree, parsed.expr), maker, |text| {
        let parsed = sql::parse_expression(text)?;
        noting(&parsed.tree, parsed.depth, catalog, |binder| generated(binder, parsed.expr, column, table))
    })?;
    // Asked once: columns are what they are if more is known to be mutable later.
    if let Some(part) = mutable_part(&bound) {
        let error = Error::new(SqlState::INVALID_OBJECT_DEFINITION, "generation expression is not immutable");
        return Err(error.with_detail(part));
    }
    // As PostgreSQL 18: another definition of the function would be other values of rows that nobody changed.
    if column.is_virtual && definition.references().iter().any(|known| catalog.routine_by_id(known.object).is_some()) {
        let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, "generation expression uses user-defined function");
        let detail = "Virtual generated columns that make use of user-defined functions are not yet supported.";
        return Err(error.with_detail(detail).with_hint("Say STORED."));
    }
    let columns = numbers_of(&bound, table);
    Ok(RowExpression { definition, columns })
}

/// USING of ALTER COLUMN TYPE, over the table's columns, as the column's new type.
pub(crate) fn bind_using(
    text: String,
    (column, to): (&Column, DataType),
    table: &Table,
    catalog: &Catalog,
) -> Result<Expr> {
    let mut bound = alone(&text.as_str().into(), catalog, |binder, expr| {
        let (bound, span) = over_columns(binder, expr, table, Clause::Transform)?;
        binder.coerce(bound, to, CastContext::Assignment, span)?.ok_or_else(|| {
            let message = format!(
                "result of USING clause for column \"{}\" cannot be cast automatically to type {to}",
                column.name
            );
            Error::new(SqlState::DATATYPE_MISMATCH, message).with_hint("You might need to add an explicit cast.")
        })
    })?;
    if table.has_virtual() {
        Virtuals::of(table, catalog)?.put_into(&mut bound);
    }
    Ok(bound)
}

fn generated(binder: &mut Binder<'_>, expr: Id<ast::Expr>, column: &Column, table: &Table) -> Result<Expr> {
    let (bound, _) = over_columns(binder, expr, table, Clause::Generated)?;
    refuse_generated(&bound, table)?;
    binder.as_default(bound, expr, column.data_type, &column.name)
}

/// SQLSTATE 42P17 where another generated column, or the column itself, is used.
fn refuse_generated(expr: &Expr, table: &Table) -> Result<()> {
    let mut used = None;
    walk::walk(expr, 0, &mut |expr, _| {
        if let Expr::Column { index, .. } = expr {
            used = used.or_else(|| table.columns.get(*index).filter(|column| column.generated.is_some()));
        }
    });
    let Some(column) = used else { return Ok(()) };
    let message = format!("cannot use generated column \"{}\" in column generation expression", column.name);
    Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
        .with_detail("A generated column cannot reference another generated column."))
}
