//! What a row must satisfy by itself, and the words for rows that do not.

use super::Target;
use crate::catalog::Table;
use crate::exec::{ExecContext, eval_row};
use crate::types::{DataType, cast_assign, to_text};
use crate::{Error, Result, SqlState, Value};

/// Makes strings fit `varchar(n)` and `char(n)` (SQLSTATE 22001 where they do not).
pub(super) fn fit_lengths(table: &Table, row: &mut [Value], context: &ExecContext) -> Result<()> {
    for (column, value) in table.columns.iter().zip(row) {
        let limit = match column.data_type {
            DataType::Varchar(Some(limit)) | DataType::Char(limit) => limit as usize,
            _ => continue,
        };
        let Value::Text(text) = &*value else { continue };
        let fits = match column.data_type {
            DataType::Char(_) => text.chars().count() == limit,
            _ => text.len() <= limit || text.chars().count() <= limit,
        };
        if !fits {
            *value = cast_assign(value, DataType::Text, column.data_type, &context.eval)?;
        }
    }
    Ok(())
}

/// NOT NULL, then CHECK, as PostgreSQL orders them.
pub(crate) fn check_row(target: &Target, row: &[Value], context: &ExecContext) -> Result<()> {
    check_not_null(&target.table, row, context)?;
    for (check, condition) in target.table.checks.iter().zip(&target.checks) {
        if matches!(eval_row(condition, row, context)?, Value::Boolean(false)) {
            return Err(check_violation(&target.table, &check.name, row, context));
        }
    }
    Ok(())
}

fn check_not_null(table: &Table, row: &[Value], context: &ExecContext) -> Result<()> {
    match table.columns.iter().zip(row).find(|(column, value)| column.not_null && value.is_null()) {
        None => Ok(()),
        Some((column, _)) => Err(Error::new(
            SqlState::NOT_NULL_VIOLATION,
            format!(
                "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                column.name, table.name
            ),
        )
        .with_detail(failing_row(row, context))),
    }
}

fn check_violation(table: &Table, check: &str, row: &[Value], context: &ExecContext) -> Error {
    let message = format!("new row for relation \"{}\" violates check constraint \"{check}\"", table.name);
    Error::new(SqlState::CHECK_VIOLATION, message).with_detail(failing_row(row, context)).with_constraint(check)
}

/// `Failing row contains (1, null, x).`, long values cut as PostgreSQL does.
fn failing_row(row: &[Value], context: &ExecContext) -> String {
    const SHOWN: usize = 64;
    let mut shown = Vec::with_capacity(row.len());
    for value in row {
        let text = value_text(value, context);
        shown.push(match text.char_indices().find(|(at, ch)| at + ch.len_utf8() > SHOWN) {
            Some((cut, _)) => format!("{}...", &text[..cut]),
            None => text,
        });
    }
    format!("Failing row contains ({}).", shown.join(", "))
}

fn value_text(value: &Value, context: &ExecContext) -> String {
    if value.is_null() { "null".to_string() } else { to_text(value, &context.eval) }
}

/// `a, b`: the names of key columns.
pub(crate) fn key_names(table: &Table, columns: &[usize]) -> String {
    let names: Vec<&str> =
        columns.iter().filter_map(|&c| table.columns.get(c)).map(|column| column.name.as_str()).collect();
    names.join(", ")
}

/// `Key (a, b)=(1, 2)`: the beginning of many details.
pub(crate) fn key_detail<'v>(
    table: &Table,
    columns: &[usize],
    values: impl Iterator<Item = &'v Value>,
    context: &ExecContext,
) -> String {
    let values: Vec<String> = values.map(|value| value_text(value, context)).collect();
    format!("Key ({})=({})", key_names(table, columns), values.join(", "))
}

/// SQLSTATE 23505 for a whole row of the table.
pub(crate) fn duplicate_key(
    table: &Table,
    constraint: &str,
    columns: &[usize],
    row: &[Value],
    context: &ExecContext,
) -> Error {
    let values = columns.iter().map(|&column| &row[column]);
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    Error::new(SqlState::UNIQUE_VIOLATION, message)
        .with_detail(format!("{} already exists.", key_detail(table, columns, values, context)))
        .with_constraint(constraint)
}
