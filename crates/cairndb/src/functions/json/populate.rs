//! Documents as rows: `json_populate_record`, `json_to_record` and their like for sets.

use std::sync::Arc;

use super::{JSON, JSONB};
use crate::functions::arrays::{Form, form};
use crate::functions::support::wrong_arguments;
use crate::functions::{Function, Volatility};
use crate::types::{
    Array, Composite, CompositeType, DataType, Dimension, Document, EvalContext, JsonKind, Value, from_text,
};
use crate::{Error, Result, SqlState};

/// Which of the functions that make rows of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Populate {
    /// `json` or `jsonb`.
    pub document: DataType,
    /// An array of objects, a row for each.
    pub set: bool,
    /// The first argument is a row that gives the type, and what a document lacks.
    pub has_base: bool,
}

/// The row of a document: a row that gives what the document lacks, the document.
pub fn populated(of: CompositeType, document: DataType) -> Arc<Function> {
    let row = DataType::Composite(of);
    let function = form(Form::Populated, "json_populate", [row, document].into(), row, |function, args, context| {
        let (DataType::Composite(of), [base, document]) = (function.returns, args) else {
            return Err(wrong_arguments(args));
        };
        match document {
            Value::Null => Ok(base.clone()),
            document => row_of(base.as_composite(), Document::of(document)?, of, context),
        }
    });
    Arc::new(Function { volatility: Volatility::Stable, folds: false, ..Function::clone(&function) })
}

fn row_of(base: Option<&Composite>, document: Document<'_>, of: CompositeType, context: &EvalContext) -> Result<Value> {
    match document.kind()? {
        JsonKind::Object => {}
        JsonKind::Array => return super::refuse("cannot call populate_composite on an array"),
        _ => return super::refuse("cannot call populate_composite on a scalar"),
    }
    let mut values = Vec::with_capacity(of.attributes().len());
    for (at, attribute) in of.attributes().iter().enumerate() {
        let before = base.and_then(|base| base.values().get(at));
        values.push(match document.field(&attribute.name)? {
            Some(field) => value_of(before, field, attribute.data_type, context)?,
            None => before.cloned().unwrap_or(Value::Null),
        });
    }
    Ok(Composite::new(of, values).into())
}

fn value_of(before: Option<&Value>, document: Document<'_>, to: DataType, context: &EvalContext) -> Result<Value> {
    let kind = document.kind()?;
    match to {
        DataType::Jsonb if matches!(document, Document::Node(_)) => return Ok(document.to_value()),
        DataType::Json | DataType::Jsonb => {
            let text = crate::types::to_text(&document.to_value(), context);
            return from_text(&text, to, context);
        }
        _ if kind == JsonKind::Null => return Ok(Value::Null),
        DataType::Composite(of) if kind != JsonKind::String => {
            return row_of(before.and_then(Value::as_composite), document, of, context);
        }
        DataType::Array(element) if kind == JsonKind::Array => {
            return array_of(document, element.data_type(), context).map(Value::from);
        }
        DataType::Array(_) if kind != JsonKind::String => {
            return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected JSON array"));
        }
        _ => {}
    }
    match document.to_text()? {
        Value::Text(text) => from_text(&text, to, context),
        other => Ok(other),
    }
}

/// An array of as many dimensions as the document is deep.
fn array_of(document: Document<'_>, element: DataType, context: &EvalContext) -> Result<Array> {
    let (mut lengths, mut values) = (vec![], vec![]);
    level(document, 0, element, context, (&mut lengths, &mut values))?;
    match values.is_empty() {
        true => Ok(Array::empty(element)),
        false => {
            let dimensions: Vec<Dimension> = lengths.iter().map(|&length| Dimension { lower: 1, length }).collect();
            Array::with_dimensions(element, &dimensions, values)
        }
    }
}

fn level(
    document: Document<'_>,
    depth: usize,
    element: DataType,
    context: &EvalContext,
    (lengths, values): (&mut Vec<usize>, &mut Vec<Value>),
) -> Result<()> {
    let malformed = || {
        let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "malformed JSON array").with_detail(detail)
    };
    let elements = document.elements()?;
    match lengths.get(depth) {
        None if depth < crate::types::DIMENSIONS_MAX => lengths.push(elements.len()),
        None => return Err(crate::types::too_many_dimensions(depth + 1)),
        Some(length) if *length != elements.len() => return Err(malformed()),
        Some(_) => {}
    }
    let begun = !values.is_empty();
    for (nth, part) in elements.into_iter().enumerate() {
        let is_array = part.kind()? == JsonKind::Array && element != JSON && element != JSONB;
        let is_deepest = lengths.len() == depth + 1;
        match is_array {
            true if is_deepest && (nth > 0 || begun) => return Err(malformed()),
            true => level(part, depth + 1, element, context, (lengths, values))?,
            false if !is_deepest => return Err(malformed()),
            false => values.push(value_of(None, part, element, context)?),
        }
    }
    Ok(())
}
