//! Functions that return rows: `unnest`, `generate_subscripts`, and those that have modules of their own.

use std::sync::Arc;

use super::text::parts;
use crate::functions::json::{JsonRows, rows_of_document};
use crate::functions::support::wrong_arguments;
use crate::functions::{Series, regex};
use crate::types::{Array, EvalContext, Value};
use crate::{Error, Result};

/// A function that returns rows, while it does.
pub enum SetRows {
    /// `generate_series`
    Series(Series),
    /// `unnest`: arrays side by side, and how far it is.
    Unnest(Vec<Option<Arc<Array>>>, usize),
    /// The rows of an array, and how far it is.
    Elements(Arc<Array>, usize),
    /// `generate_subscripts`: the next, the last, and the step.
    Subscripts(i64, i64, i64),
    /// The parts of a document or a text: their values, as many as a row has together.
    Parts(std::vec::IntoIter<Value>, usize),
    /// Rows that are there.
    Rows(std::vec::IntoIter<Vec<Value>>),
}

/// The rows of an array, in their columns: no function that can be called, for its name is none.
pub const ROWS_OF_ARRAY: &str = "";

/// The parts of a text as rows.
pub const STRING_TO_TABLE: &str = "string_to_table";

/// The channels to which the session listens.
pub const LISTENING_CHANNELS: &str = "pg_listening_channels";

/// The elements of an array and their numbers from 1 on, as the information schema has it: what asks for the columns of keys
/// calls it there.
pub const EXPANDED_ARRAY: &str = "information_schema._pg_expandarray";

/// Its name within the schema.
pub const EXPANDED_NAME: &str = "_pg_expandarray";

/// The names of its columns.
pub const EXPANDED_COLUMNS: [&str; 2] = ["x", "n"];

/// There is a function of this name that returns rows.
pub fn is_set_function(name: &str) -> bool {
    is_about_partitions(name)
        || matches!(name, STRING_TO_TABLE | LISTENING_CHANNELS | EXPANDED_ARRAY)
        || matches!(name, "generate_series" | "unnest" | "generate_subscripts" | regex::MATCHES | regex::SPLIT_TO_TABLE)
        || JsonRows::named(name).is_some()
}

/// Tables have no partitions: these find none.
pub fn is_about_partitions(name: &str) -> bool {
    matches!(name, "pg_partition_ancestors" | "pg_partition_tree")
}

impl SetRows {
    /// Begins.
    pub fn start(name: &str, args: &[Value], context: &EvalContext) -> Result<SetRows> {
        match name {
            "generate_series" => Series::new(args, context).map(SetRows::Series),
            "unnest" => {
                let array = |value: &Value| match value {
                    Value::Array(array) => Some(array.clone()),
                    _ => None,
                };
                Ok(SetRows::Unnest(args.iter().map(array).collect(), 0))
            }
            "generate_subscripts" => subscripts(args),
            EXPANDED_ARRAY => expanded(args),
            ROWS_OF_ARRAY => match args {
                [Value::Array(array)] => Ok(SetRows::Elements(array.clone(), 0)),
                _ => Ok(SetRows::Rows(vec![].into_iter())),
            },
            regex::MATCHES | regex::SPLIT_TO_TABLE => Ok(SetRows::Parts(regex::rows(name, args)?.into_iter(), 1)),
            STRING_TO_TABLE => Ok(SetRows::Parts(parts(args)?.unwrap_or_default().into_iter(), 1)),
            LISTENING_CHANNELS => {
                let channels = context.channels.as_ref().map_or_else(Vec::new, |channels| channels.listening());
                let values: Vec<Value> = channels.iter().map(|channel| Value::text(&**channel)).collect();
                Ok(SetRows::Parts(values.into_iter(), 1))
            }
            _ if is_about_partitions(name) => Ok(SetRows::Rows(vec![].into_iter())),
            _ if let Some(answer) = crate::system::answer(name, context) => {
                let (columns, values) = answer?;
                Ok(SetRows::Parts(values.into_iter(), columns))
            }
            _ => match JsonRows::named(name) {
                Some(rows) => {
                    let values = rows_of_document(name, rows, args, context)?;
                    Ok(SetRows::Parts(values.into_iter(), rows.columns().len()))
                }
                None => Err(Error::internal(format!("{name} does not return rows"))),
            },
        }
    }

    /// The next row, appended to `row`; false: there is none.
    pub fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        match self {
            SetRows::Series(series) => {
                let value = series.next_value()?;
                row.extend(value);
                Ok(!row.is_empty())
            }
            SetRows::Unnest(arrays, at) => {
                let values = |array: &Option<Arc<Array>>| array.as_ref().map_or(0, |array| array.values().len());
                if *at >= arrays.iter().map(values).max().unwrap_or(0) {
                    return Ok(false);
                }
                let value = |array: &Option<Arc<Array>>| array.as_ref()?.values().get(*at).cloned();
                row.extend(arrays.iter().map(|array| value(array).unwrap_or(Value::Null)));
                *at += 1;
                Ok(true)
            }
            SetRows::Elements(array, at) => {
                let next = array.values().get(*at).and_then(Value::as_composite);
                row.extend(next.into_iter().flat_map(|row| row.values()).cloned());
                *at += 1;
                Ok(next.is_some())
            }
            SetRows::Parts(values, width) => {
                row.extend(values.by_ref().take(*width));
                Ok(!row.is_empty())
            }
            SetRows::Rows(rows) => {
                let next = rows.next();
                Ok(next.map(|mut values| row.append(&mut values)).is_some())
            }
            SetRows::Subscripts(next, last, step) => {
                let over = if *step > 0 { *next > *last } else { *next < *last };
                if !over {
                    row.push(Value::Integer(*next as i32));
                    *next += *step;
                }
                Ok(!over)
            }
        }
    }
}

/// Of more dimensions than one only the first is counted, and has no elements of its own.
fn expanded(args: &[Value]) -> Result<SetRows> {
    let array = match args {
        [Value::Array(array)] => array,
        [Value::Null] => return Ok(SetRows::Rows(vec![].into_iter())),
        _ => return Err(wrong_arguments(args)),
    };
    let flat = array.dimensions().len() == 1;
    let count = array.dimensions().first().map_or(0, |first| first.upper() - i64::from(first.lower) + 1);
    let row = |at: i64| {
        let element = usize::try_from(at).ok().and_then(|at| array.values().get(at)).filter(|_| flat);
        let number = i32::try_from(at + 1).unwrap_or(i32::MAX);
        vec![element.cloned().unwrap_or(Value::Null), Value::Integer(number)]
    };
    Ok(SetRows::Rows((0..count).map(row).collect::<Vec<_>>().into_iter()))
}

fn subscripts(args: &[Value]) -> Result<SetRows> {
    let (array, nth, reverse) = match args {
        [Value::Array(array), Value::Integer(nth)] => (array, *nth, false),
        [Value::Array(array), Value::Integer(nth), Value::Boolean(reverse)] => (array, *nth, *reverse),
        _ if args.iter().any(Value::is_null) => return Ok(SetRows::Subscripts(1, 0, 1)),
        _ => return Err(wrong_arguments(args)),
    };
    let nth = usize::try_from(nth).ok().and_then(|nth| nth.checked_sub(1));
    Ok(match nth.and_then(|nth| array.dimensions().get(nth)) {
        None => SetRows::Subscripts(1, 0, 1),
        Some(dimension) if reverse => SetRows::Subscripts(dimension.upper(), dimension.lower.into(), -1),
        Some(dimension) => SetRows::Subscripts(dimension.lower.into(), dimension.upper(), 1),
    })
}
