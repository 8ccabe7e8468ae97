//! `a[1]`, `a[1:2]`, `SET a[1] = x`, `trim_array`.

use std::sync::Arc;

use super::{Form, array_of, form};
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::functions::{ANY, Declared, Function};
use crate::types::{Array, DataType, EvalContext, Subscript, Value};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    let count = Declared::Type(DataType::Integer);
    catalogue.add_polymorphic("trim_array", &[Declared::Array, count], Declared::Array, trim);
}

/// `a[i][j]`: the array and its subscripts.
pub fn element_at(array: DataType, subscripts: usize) -> Option<Arc<Function>> {
    let args = std::iter::once(array.base()).chain(std::iter::repeat_n(DataType::Integer, subscripts)).collect();
    Some(form(Form::Element, "array_element", args, array.element()?.base(), get))
}

/// `n[i]` of a `name`, whose letters are counted from 0.
pub fn letter_of_name() -> Arc<Function> {
    let args = [DataType::Name, DataType::Integer];
    form(Form::Letter, "name_letter", args.into(), DataType::InternalChar, |_, args, _| match args {
        [Value::Text(name), Value::Integer(at @ 0..64)] => {
            let letter = name.as_bytes().get(*at as usize).filter(|letter| letter.is_ascii());
            Ok(Value::from(letter.map_or_else(String::new, |letter| char::from(*letter).to_string())))
        }
        _ => Ok(Value::Null),
    })
}

/// `a[i:j][k:l]`: the array and its bounds, two for each dimension; one that is left out is a boolean.
pub fn slice_of(array: DataType, subscripts: usize) -> Arc<Function> {
    let args = std::iter::once(array.base()).chain(std::iter::repeat_n(ANY, 2 * subscripts)).collect();
    form(Form::Slice, "array_slice", args, array.base(), slice)
}

/// The array with an element replaced: the array, the element, the subscripts.
pub fn with_element(array: DataType, subscripts: usize) -> Option<Arc<Function>> {
    let pair = [array.base(), array.element()?.base()];
    let args = pair.into_iter().chain(std::iter::repeat_n(DataType::Integer, subscripts)).collect();
    Some(form(Form::WithElement, "array_set_element", args, array.base(), replace))
}

/// The array with a slice replaced: the array, an array of its new elements, the bounds as `slice_of` takes them.
pub fn with_slice(array: DataType, subscripts: usize) -> Arc<Function> {
    let pair = [array.base(), array.base()];
    let args = pair.into_iter().chain(std::iter::repeat_n(ANY, 2 * subscripts)).collect();
    form(Form::WithSlice, "array_set_slice", args, array.base(), replace_slice)
}

fn subscripts_of(args: &[Value]) -> Option<Vec<i32>> {
    let number = |value: &Value| match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    };
    args.iter().map(number).collect()
}

fn get(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let (array, subscripts) = args.split_first().ok_or_else(|| wrong_arguments(args))?;
    Ok(match (array.as_array(), subscripts_of(subscripts)) {
        (Some(array), Some(subscripts)) => array.get(&subscripts).clone(),
        _ => Value::Null,
    })
}

fn slice(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let (array, bounds) = args.split_first().ok_or_else(|| wrong_arguments(args))?;
    let Some(array) = array.as_array().filter(|_| !bounds.iter().any(Value::is_null)) else { return Ok(Value::Null) };
    Ok(array.slice(&bounds_of(bounds)).into())
}

/// One for each dimension of a slice.
fn bounds_of(args: &[Value]) -> Vec<Subscript> {
    let bound = |value: &Value| match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    };
    args.as_chunks().0.iter().map(|[lower, upper]| Subscript { lower: bound(lower), upper: bound(upper) }).collect()
}

fn null_subscript() -> Error {
    Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "array subscript in assignment must not be null")
}

fn replace_slice(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [array, value, bounds @ ..] = args else { return Err(wrong_arguments(args)) };
    if bounds.iter().any(Value::is_null) {
        return Err(null_subscript());
    }
    // Nothing to assign from leaves the array as it is.
    let Some(source) = value.as_array() else { return Ok(array.clone()) };
    let empty = || Array::empty(function.returns.element().unwrap_or(ANY));
    let array = array.as_array().cloned().unwrap_or_else(empty);
    array.with_slice(&bounds_of(bounds), source).map(Value::from)
}

fn replace(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [array, value, subscripts @ ..] = args else { return Err(wrong_arguments(args)) };
    let Some(subscripts) = subscripts_of(subscripts) else { return Err(null_subscript()) };
    let empty = || Array::empty(function.returns.element().unwrap_or(ANY));
    let array = array.as_array().cloned().unwrap_or_else(empty);
    array.with_element(&subscripts, value.clone()).map(Value::from)
}

fn trim(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [array, Value::Integer(count)] = args else { return Err(wrong_arguments(args)) };
    let array = array_of(array)?;
    let length = array.dimensions().first().map_or(0, |dimension| dimension.length);
    let Some(kept) = usize::try_from(*count).ok().and_then(|count| length.checked_sub(count)) else {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    };
    let Some(first) = array.dimensions().first() else { return Ok(args[0].clone()) };
    let upper = i64::from(first.lower) + kept as i64 - 1;
    Ok(array.slice(&[Subscript { lower: None, upper: Some(upper as i32) }]).into())
}
