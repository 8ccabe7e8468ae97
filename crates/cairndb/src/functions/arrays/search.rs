//! `array_position`, `array_positions`, `array_remove`, `array_replace`: NULL is found like any other value.

use super::array_of;
use super::construct::integers;
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::functions::{Declared, Function};
use crate::types::{Array, DataType, Dimension, EvalContext, Value};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    use Declared::{Compatible as One, CompatibleArray as Many};
    let integer = Declared::Type(DataType::Integer);
    catalogue.add_polymorphic("array_position", &[Many, One], integer, position).called_on_null();
    catalogue.add_polymorphic("array_position", &[Many, One, integer], integer, position).called_on_null();
    let several = Declared::Type(integers());
    catalogue.add_polymorphic("array_positions", &[Many, One], several, positions).called_on_null();
    catalogue.add_polymorphic("width_bucket", &[One, Many], integer, width_bucket);
    catalogue.add_polymorphic("array_remove", &[Many, One], Many, remove).called_on_null();
    catalogue.add_polymorphic("array_replace", &[Many, One, One], Many, replace).called_on_null();
}

fn same(array: &Array, value: &Value, other: &Value) -> bool {
    value.compare_as(other, array.element()).is_eq()
}

/// The subscripts of a value in an array of one dimension.
fn found<'a>(array: &'a Array, value: &'a Value) -> Result<impl Iterator<Item = i32> + 'a> {
    if array.dimensions().len() > 1 {
        return Err(Error::unsupported("searching for elements in multidimensional arrays"));
    }
    let lower = array.dimensions().first().map_or(1, |dimension| dimension.lower);
    let at = (lower..).zip(array.values()).filter(|(_, other)| same(array, other, value));
    Ok(at.map(|(subscript, _)| subscript))
}

fn position(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let (array, value, from) = match args {
        [Value::Null, ..] => return Ok(Value::Null),
        [array, value] => (array_of(array)?, value, i32::MIN),
        [Value::Array(array), value, Value::Null] => {
            // A search that needs no position finds nothing.
            drop(found(array, value)?);
            if array.values().is_empty() || value.is_null() && !array.values().iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "initial position must not be null"));
        }
        [array, value, Value::Integer(from)] => (array_of(array)?, value, *from),
        _ => return Err(wrong_arguments(args)),
    };
    Ok(found(array, value)?.find(|at| *at >= from).map_or(Value::Null, Value::Integer))
}

fn positions(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Null, _] => Ok(Value::Null),
        [array, value] => {
            let at = found(array_of(array)?, value)?.map(Value::Integer).collect();
            Ok(Array::new(DataType::Integer, at).into())
        }
        _ => Err(wrong_arguments(args)),
    }
}

fn remove(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [array, value] = args else { return Err(wrong_arguments(args)) };
    let Some(array) = array.as_array() else { return Ok(Value::Null) };
    if array.dimensions().len() > 1 {
        return Err(Error::unsupported("removing elements from multidimensional arrays"));
    }
    let kept: Vec<Value> = array.values().iter().filter(|other| !same(array, other, value)).cloned().collect();
    let lower = array.dimensions().first().map_or(1, |dimension| dimension.lower);
    let length = kept.len();
    Array::with_dimensions(array.element(), &[Dimension { lower, length }], kept).map(Value::from)
}

fn replace(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [array, old, new] = args else { return Err(wrong_arguments(args)) };
    let Some(array) = array.as_array() else { return Ok(Value::Null) };
    let changed = |value: &Value| Ok(if same(array, value, old) { new.clone() } else { value.clone() });
    array.map(array.element(), changed).map(Value::from)
}

/// How many of the thresholds, which are in order, a value has reached. SQLSTATE 2202E, 22004.
fn width_bucket(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [value, Value::Array(thresholds)] = args else { return Err(wrong_arguments(args)) };
    if thresholds.dimensions().len() > 1 {
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "thresholds must be one-dimensional array"));
    }
    if thresholds.values().iter().any(Value::is_null) {
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "thresholds array must not contain NULLs"));
    }
    let reached = thresholds.values().partition_point(|threshold| value.compare(threshold).is_ge());
    Ok(Value::Integer(i32::try_from(reached).unwrap_or(i32::MAX)))
}
