//! The words for rows that can not be written.

use super::env;
use super::{Env, Stop, Target, Violation};
use crate::catalog::{ForeignKey, Index, Table};
use crate::functions::json::{is_schema_match, schema_errors};
use crate::plan::{Columns, Expr, walk};
use crate::types::{EvalContext, to_text};
use crate::{Error, Result, SqlState, Value};

impl Violation {
    /// As an error of the statement; `row`: the one that was to be written.
    pub(crate) fn worded(self, target: &Target, row: &dyn Columns<Stop>, env: Env<'_>) -> Error {
        let of_domain = matches!(self, Violation::Domain { .. });
        match self.words(target, row, env) {
            // A domain's own say what they are about.
            Ok(error) if of_domain => error,
            Ok(error) => error.with_schema(&*target.schema).with_table(&*target.table.name),
            Err(stop) => stop.into(),
        }
    }

    fn words(self, target: &Target, row: &dyn Columns<Stop>, env: Env<'_>) -> Result<Error, Stop> {
        let eval = env.eval;
        let table = &*target.table;
        let values = |columns: &mut dyn Iterator<Item = usize>| {
            columns.map(|column| Ok(row.column(column)?.into_value())).collect::<Result<Vec<Value>, Stop>>()
        };
        let failing_row = || Ok::<_, Stop>(failing_row(&values(&mut (0..table.columns.len()))?, table, eval));
        Ok(match self {
            Violation::Domain { domain, condition } => {
                let (_, rules) = &target.bound.domains[domain];
                condition.map_or_else(|| rules.null(), |at| rules.violated(at))
            }
            Violation::NotNull(column) => {
                let message = format!(
                    "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                    table.columns[column].name, table.name
                );
                let error = Error::new(SqlState::NOT_NULL_VIOLATION, message).with_detail(failing_row()?);
                error.with_column(&*table.columns[column].name)
            }
            Violation::Check(at) => {
                let check = &table.checks[at].name;
                let message = format!("new row for relation \"{}\" violates check constraint \"{check}\"", table.name);
                let detail = match schema_detail(&target.bound.checks[at], row, env)? {
                    Some(detail) => detail,
                    None => failing_row()?,
                };
                Error::new(SqlState::CHECK_VIOLATION, message).with_detail(detail).with_constraint(check)
            }
            Violation::Duplicate(index) => {
                let of = index.map(|at| target.index(at));
                let key = of.map(|of| of.index).or(table.primary.as_deref());
                let name = key.map_or(&table.name, |key| &key.name);
                let columns: Vec<usize> = key.into_iter().flat_map(Index::positions).collect();
                let value = |&column: &usize| match of {
                    Some(of) => Ok(of.key_value(column, row, env)?.into_value()),
                    None => Ok(row.column(column)?.into_value()),
                };
                let values: Vec<Value> = columns.iter().map(value).collect::<Result<_, Stop>>()?;
                let key = key_detail(table, &columns, values.iter(), eval);
                let message = format!("duplicate key value violates unique constraint \"{name}\"");
                Error::new(SqlState::UNIQUE_VIOLATION, message)
                    .with_detail(format!("{key} already exists."))
                    .with_constraint(name)
            }
            Violation::Missing(at) => {
                let foreign_key = &table.foreign_keys[at];
                let columns = &foreign_key.columns;
                let values = values(&mut columns.iter().copied())?;
                let parent = &target.references[at].parent;
                let detail = match foreign_key.full && values.iter().any(Value::is_null) {
                    true => "MATCH FULL does not allow mixing of null and nonnull key values.".to_owned(),
                    false => {
                        let key = key_detail(table, columns, values.iter(), eval);
                        format!("{key} is not present in table \"{}\".", parent.name)
                    }
                };
                let message = format!(
                    "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                    table.name, foreign_key.name
                );
                Error::new(SqlState::FOREIGN_KEY_VIOLATION, message)
                    .with_detail(detail)
                    .with_constraint(&foreign_key.name)
            }
        })
    }
}

/// What a JSON schema in a condition has against the row's document.
fn schema_detail(condition: &Expr, row: &dyn Columns<Stop>, env: Env<'_>) -> Result<Option<String>, Stop> {
    let mut calls = vec![];
    walk::walk(condition, 0, &mut |expr, _| {
        if let Expr::Call { function, args } = expr
            && is_schema_match(function)
        {
            calls.push(args.clone());
        }
    });
    for args in calls {
        let given =
            args.iter().map(|arg| Ok(env::eval(arg, row, env)?.into_value())).collect::<Result<Vec<_>, Stop>>()?;
        let errors = if given.iter().any(Value::is_null) { vec![] } else { schema_errors(&given)? };
        if !errors.is_empty() {
            return Ok(Some(errors.join("\n")));
        }
    }
    Ok(None)
}

/// SQLSTATE 23503: `child` still refers by the foreign key to these values of `parent`.
pub(crate) fn still_referenced(
    parent: &Table,
    child: &Table,
    foreign_key: &ForeignKey,
    values: &[Value],
    eval: &EvalContext,
) -> Error {
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        parent.name, foreign_key.name, child.name
    );
    let key = key_detail(parent, &foreign_key.referenced_columns, values.iter(), eval);
    Error::new(SqlState::FOREIGN_KEY_VIOLATION, message)
        .with_detail(format!("{key} is still referenced from table \"{}\".", child.name))
        .with_constraint(&foreign_key.name)
        .with_table(&*child.name)
}

/// `Failing row contains (1, null, x).`, long values cut as PostgreSQL does.
pub(crate) fn failing_row(row: &[Value], table: &Table, eval: &EvalContext) -> String {
    const SHOWN: usize = 64;
    let mut shown = Vec::with_capacity(row.len());
    for (value, column) in row.iter().zip(&table.columns) {
        let text = if column.is_virtual { "virtual".to_owned() } else { value_text(value, eval) };
        shown.push(match text.char_indices().find(|(at, ch)| at + ch.len_utf8() > SHOWN) {
            Some((cut, _)) => format!("{}...", &text[..cut]),
            None => text,
        });
    }
    format!("Failing row contains ({}).", shown.join(", "))
}

fn value_text(value: &Value, eval: &EvalContext) -> String {
    if value.is_null() { "null".to_string() } else { to_text(value, eval) }
}

/// `Key (a, b)=(1, 2)`: the beginning of many details.
pub(crate) fn key_detail<'v>(
    table: &Table,
    columns: &[usize],
    values: impl Iterator<Item = &'v Value>,
    eval: &EvalContext,
) -> String {
    named_key(columns.iter().map(|&column| table.key_name(column)), values, eval)
}

/// The same of a key whose columns have these names.
pub(super) fn named_key<'v>(
    names: impl Iterator<Item = String>,
    values: impl Iterator<Item = &'v Value>,
    eval: &EvalContext,
) -> String {
    let values: Vec<String> = values.map(|value| value_text(value, eval)).collect();
    format!("Key ({})=({})", names.collect::<Vec<_>>().join(", "), values.join(", "))
}
