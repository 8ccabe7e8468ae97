//! `json_array_elements`, `json_each`, `json_object_keys`: a row for each part.

use super::path::query;
use super::{BOOLEAN, JSON, JSONB, TEXT};
use crate::functions::support::wrong_arguments;
use crate::types::{DataType, Document, EvalContext, JsonKind, Value};
use crate::{Error, Result, SqlState};

/// Which parts, of which type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonRows {
    document: DataType,
    parts: Parts,
    /// Values as `->>` gives them.
    as_text: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    Elements,
    Pairs,
    Keys,
    /// What a path finds; whether it may ask for the session's time zone.
    Path {
        zoned: bool,
    },
}

impl JsonRows {
    /// The function of this name; `None`: it is another kind of function.
    pub fn named(name: &str) -> Option<JsonRows> {
        let (document, rest) = match name.strip_prefix("jsonb_") {
            Some(rest) => (JSONB, rest),
            None => (JSON, name.strip_prefix("json_")?),
        };
        let (parts, as_text) = match rest {
            "array_elements" => (Parts::Elements, false),
            "array_elements_text" => (Parts::Elements, true),
            "each" => (Parts::Pairs, false),
            "each_text" => (Parts::Pairs, true),
            "object_keys" => (Parts::Keys, false),
            "path_query" if document == JSONB => (Parts::Path { zoned: false }, false),
            "path_query_tz" if document == JSONB => (Parts::Path { zoned: true }, false),
            _ => return None,
        };
        Some(JsonRows { document, parts, as_text })
    }

    /// The types of its arguments; how many there are at least.
    pub fn arguments(self) -> (&'static [DataType], usize) {
        static PATH: [DataType; 4] = [JSONB, DataType::JsonPath, JSONB, BOOLEAN];
        match (self.parts, self.document) {
            (Parts::Path { .. }, _) => (&PATH, 2),
            (_, JSON) => (&[JSON], 1),
            _ => (&[JSONB], 1),
        }
    }

    /// The names and types of its columns; a name of `None`: the function's own.
    pub fn columns(self) -> Vec<(Option<&'static str>, DataType)> {
        let value = if self.as_text { TEXT } else { self.document };
        match self.parts {
            Parts::Elements => vec![(Some("value"), value)],
            Parts::Pairs => vec![(Some("key"), TEXT), (Some("value"), value)],
            Parts::Keys => vec![(None, TEXT)],
            Parts::Path { .. } => vec![(None, JSONB)],
        }
    }

    fn value(self, document: Document<'_>) -> Result<Value> {
        if self.as_text { document.to_text() } else { Ok(document.to_value()) }
    }
}

/// The rows of a document, one value after the other.
pub fn rows_of_document(name: &str, rows: JsonRows, args: &[Value], eval: &EvalContext) -> Result<Vec<Value>> {
    if let Parts::Path { zoned } = rows.parts {
        return query(args, zoned, eval);
    }
    let argument = match args {
        [Value::Null] => return Ok(vec![]),
        [argument] => argument,
        _ => return Err(wrong_arguments(args)),
    };
    let document = Document::of(argument)?;
    let (kind, wanted) =
        (document.kind()?, if rows.parts == Parts::Elements { JsonKind::Array } else { JsonKind::Object });
    if kind != wanted {
        return Err(wrong_kind(name, rows, kind));
    }
    match rows.parts {
        Parts::Elements => document.elements()?.into_iter().map(|element| rows.value(element)).collect(),
        Parts::Keys => Ok(document.pairs()?.into_iter().map(|(key, _)| Value::text(key.as_ref())).collect()),
        Parts::Path { .. } => Ok(vec![]),
        Parts::Pairs => {
            let mut values = vec![];
            for (key, value) in document.pairs()? {
                values.push(Value::text(key.as_ref()));
                values.push(rows.value(value)?);
            }
            Ok(values)
        }
    }
}

/// PostgreSQL's words differ from function to function.
fn wrong_kind(name: &str, rows: JsonRows, kind: JsonKind) -> Error {
    let message = match (rows.parts, rows.document, kind) {
        (Parts::Elements, JSONB, JsonKind::Object) => "cannot extract elements from an object".to_owned(),
        (Parts::Elements, JSONB, _) => "cannot extract elements from a scalar".to_owned(),
        (Parts::Elements, _, JsonKind::Object) => format!("cannot call {name} on a non-array"),
        (Parts::Elements, ..) => format!("cannot call {name} on a scalar"),
        (Parts::Pairs, JSON, JsonKind::Array) => "cannot deconstruct an array as an object".to_owned(),
        (Parts::Pairs, JSON, _) => "cannot deconstruct a scalar".to_owned(),
        (Parts::Pairs, ..) => format!("cannot call {name} on a non-object"),
        (Parts::Keys | Parts::Path { .. }, _, JsonKind::Array) => format!("cannot call {name} on an array"),
        (Parts::Keys | Parts::Path { .. }, ..) => format!("cannot call {name} on a scalar"),
    };
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
