//! `ARRAY[...]`, `array_fill`, and arrays of arrays.

use std::sync::Arc;

use super::{Form, array_of, element_of, form};
use crate::functions::catalogue::Catalogue;
use crate::functions::support::{no_array_type, wrong_arguments};
use crate::functions::{Declared, Function};
use crate::types::{Array, DataType, Dimension, EvalContext, Value, cast_assign, count_of, too_many_dimensions};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    let numbers = Declared::Type(integers());
    catalogue.add_polymorphic("array_fill", &[Declared::Element, numbers], Declared::Array, fill).called_on_null();
    let with_bounds = [Declared::Element, numbers, numbers];
    catalogue.add_polymorphic("array_fill", &with_bounds, Declared::Array, fill).called_on_null();
}

/// `integer[]`
pub(super) fn integers() -> DataType {
    DataType::Integer.array().unwrap_or(DataType::Unknown)
}

/// `ARRAY[...]` of elements of a type: where that is an array type, of arrays of one dimension less.
pub fn constructor(element: DataType) -> Option<Arc<Function>> {
    let element = element.base();
    let eval = if element.is_array() { of_arrays } else { of_elements };
    let function = form(Form::Constructor, "ARRAY", [element].into(), element.array()?, eval);
    Some(Arc::new(Function { variadic: true, ..Function::clone(&function) }))
}

/// An array or a row stored where strings have a length: too long a one is an error, as it is outside of arrays.
pub fn fitted(from: DataType, to: DataType) -> Option<Arc<Function>> {
    let limited = to.element().is_some_and(has_length);
    let is_row = matches!((from, to), (DataType::Composite(_), DataType::Composite(_)));
    (from != to && (from.is_array() && limited || is_row)).then(|| fit(from, to))
}

/// A value stored in a field of a type whose strings have a length.
pub fn fitted_part(from: DataType, to: DataType) -> Option<Arc<Function>> {
    (from.is_string() && has_length(to)).then(|| fit(from, to))
}

fn has_length(data_type: DataType) -> bool {
    matches!(data_type, DataType::Varchar(Some(_)) | DataType::Char(_))
}

fn fit(from: DataType, to: DataType) -> Arc<Function> {
    let eval = |function: &Function, args: &[Value], context: &EvalContext| match args {
        [value] => cast_assign(value, function.args[0], function.returns, context),
        _ => Err(wrong_arguments(args)),
    };
    form(Form::Fitted, "fit", [from].into(), to, eval)
}

fn of_elements(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    Ok(Array::new(element_of(function)?, args.to_vec()).into())
}

fn of_arrays(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let element = element_of(function)?;
    let mismatch = || {
        let message = "multidimensional arrays must have array expressions with matching dimensions";
        Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
    };
    stack(element, args, mismatch).map(Value::from)
}

/// Arrays of the same dimensions as the parts of one. NULL is an array without elements.
fn stack(element: DataType, parts: &[Value], mismatch: impl Fn() -> Error) -> Result<Array> {
    let filled = |part: &&Value| part.as_array().is_some_and(|array| !array.dimensions().is_empty());
    let Some(first) = parts.iter().find(filled).and_then(Value::as_array) else { return Ok(Array::empty(element)) };
    if first.dimensions().len() == crate::types::DIMENSIONS_MAX {
        return Err(too_many_dimensions(first.dimensions().len() + 1));
    }
    let mut values = vec![];
    for part in parts {
        let array = part.as_array().filter(|array| array.dimensions() == first.dimensions()).ok_or_else(&mismatch)?;
        values.extend_from_slice(array.values());
    }
    let outer = Dimension { lower: 1, length: parts.len() };
    let dimensions: Vec<Dimension> = std::iter::once(outer).chain(first.dimensions().iter().copied()).collect();
    Array::with_dimensions(element, &dimensions, values)
}

/// What `array_agg` of arrays makes.
pub(in crate::functions) fn stack_collected(element: DataType, parts: &[Value]) -> Result<Array> {
    let refuse = |message: &str| Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
    let mismatch = || refuse("cannot accumulate arrays of different dimensionality");
    let first = parts.first().and_then(Value::as_array).map(Array::dimensions);
    // The first one that does not fit is told.
    for part in parts {
        let Some(array) = part.as_array() else {
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays"));
        };
        if array.dimensions().is_empty() {
            return Err(refuse("cannot accumulate empty arrays"));
        }
        if first.is_some_and(|first| first != array.dimensions()) {
            return Err(mismatch());
        }
    }
    stack(element, parts, mismatch)
}

/// `array_fill(value, lengths [, lower bounds])`
fn fill(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    if let Some(array) = function.args.first().filter(|value| value.is_array()) {
        return Err(no_array_type(*array));
    }
    let (value, shape) = args.split_first().ok_or_else(|| wrong_arguments(args))?;
    if shape.iter().any(Value::is_null) {
        let message = "dimension array or low bound array cannot be null";
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    let lengths = numbers_of(array_of(&shape[0])?)?;
    let lower = match shape.get(1) {
        Some(lower) => numbers_of(array_of(lower)?)?,
        None => vec![1; lengths.len()],
    };
    let wrong_subscripts = |detail: &str| {
        Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts").with_detail(detail))
    };
    if lower.len() != lengths.len() {
        return wrong_subscripts("Low bound array has different size than dimensions array.");
    }
    if let Some(length) = lengths.iter().find(|length| **length < 0) {
        let message = format!("array size exceeds the maximum allowed ({})", crate::types::ELEMENTS_MAX);
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).with_detail(format!("A length is {length}.")));
    }
    let pairs = lengths.iter().zip(lower);
    let dimensions: Vec<_> = pairs.map(|(&length, lower)| Dimension { lower, length: length as usize }).collect();
    let count = count_of(&dimensions)?;
    crate::functions::support::check_length(count.saturating_mul(size_of::<Value>()))?;
    let values = vec![value.clone(); count];
    Array::with_dimensions(element_of(function)?, &dimensions, values).map(Value::from)
}

fn numbers_of(array: &Array) -> Result<Vec<i32>> {
    if array.dimensions().len() > 1 {
        let error = Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts");
        return Err(error.with_detail("Dimension array must be one dimensional."));
    }
    let number = |value: &Value| match value {
        Value::Integer(number) => Ok(*number),
        _ => Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "dimension values cannot be null")),
    };
    array.values().iter().map(number).collect()
}
