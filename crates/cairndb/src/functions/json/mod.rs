//! Functions and operators of `json` and `jsonb`, as PostgreSQL has them.

mod access;
mod change;
mod construct;
mod contain;
mod describe;
mod field;
mod path;
mod populate;
mod rows;
mod schema;
mod subscript;
mod write;

pub(crate) use field::Field;
pub use populate::{Populate, populated};
pub(crate) use schema::{check_schema, is_schema_match, schema_errors};
pub use subscript::{element_at, with_element};
pub use write::write_json;
pub(super) use write::{made, push_key, push_value, write_key, write_value};

use super::catalogue::Catalogue;
use crate::types::{Array, DataType, Document, Value};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    access::register(catalogue);
    change::register(catalogue);
    construct::register(catalogue);
    contain::register(catalogue);
    describe::register(catalogue);
    path::register(catalogue);
    rows::register(catalogue);
    schema::register(catalogue);
}

const JSON: DataType = DataType::Json;
const JSONB: DataType = DataType::Jsonb;
const TEXT: DataType = DataType::Text;
const INTEGER: DataType = DataType::Integer;
const BOOLEAN: DataType = DataType::Boolean;

/// `text[]`
fn texts() -> DataType {
    TEXT.array().unwrap_or(TEXT)
}

/// The strings of a `text[]`; `None`: one of them is NULL.
fn strings(array: &Array) -> Option<Vec<&str>> {
    array.values().iter().map(Value::as_str).collect()
}

/// A part, or NULL.
fn part(found: Option<Document<'_>>) -> Value {
    found.map_or(Value::Null, Document::to_value)
}

/// A part's text, or NULL.
fn part_text(found: Option<Document<'_>>) -> Result<Value> {
    found.map_or(Ok(Value::Null), Document::to_text)
}

fn refuse<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}
