//! `||`, `array_append`, `array_prepend`, `array_cat`.

use std::sync::Arc;

use super::{array_of, element_of};
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::functions::{Declared, Function};
use crate::types::{Array, Dimension, EvalContext, Value};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    use Declared::{Compatible as One, CompatibleArray as Many};
    for name in ["||", "array_cat"] {
        catalogue.add_polymorphic(name, &[Many, Many], Many, concatenate).bounded().called_on_null();
    }
    for name in ["||", "array_append"] {
        catalogue.add_polymorphic(name, &[Many, One], Many, append).bounded().called_on_null();
    }
    for name in ["||", "array_prepend"] {
        catalogue.add_polymorphic(name, &[One, Many], Many, prepend).bounded().called_on_null();
    }
}

/// NULL as an array: one without elements.
fn or_empty(function: &Function, value: &Value) -> Result<Arc<Array>> {
    match value {
        Value::Array(array) => Ok(array.clone()),
        _ => Ok(Arc::new(Array::empty(element_of(function)?))),
    }
}

fn append(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [array, value] = args else { return Err(wrong_arguments(args)) };
    let array = or_empty(function, array)?;
    let lower = line(&array)?;
    let values = array.values().iter().chain([value]).cloned().collect();
    made(&array, lower, values)
}

fn prepend(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [value, array] = args else { return Err(wrong_arguments(args)) };
    let array = or_empty(function, array)?;
    let lower = line(&array)?;
    let values = std::iter::once(value).chain(array.values()).cloned().collect();
    made(&array, lower, values)
}

/// The lower bound of an array of one dimension or none.
fn line(array: &Array) -> Result<i32> {
    match array.dimensions() {
        [] => Ok(1),
        [only] => Ok(only.lower),
        _ => Err(Error::new(SqlState::DATA_EXCEPTION, "argument must be empty or one-dimensional array")),
    }
}

fn made(like: &Array, lower: i32, values: Vec<Value>) -> Result<Value> {
    let length = values.len();
    Array::with_dimensions(like.element(), &[Dimension { lower, length }], values).map(Value::from)
}

fn concatenate(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Null, other] | [other, Value::Null] => Ok(other.clone()),
        [left, right] => joined(array_of(left)?, array_of(right)?, args),
        _ => Err(wrong_arguments(args)),
    }
}

/// Of as many dimensions: one behind the other. Of one less: as an element at the beginning or the end.
fn joined(left: &Array, right: &Array, args: &[Value]) -> Result<Value> {
    let (a, b) = (left.dimensions(), right.dimensions());
    let (first, inner, other) = match (a, b) {
        ([], _) => return Ok(args[1].clone()),
        (_, []) => return Ok(args[0].clone()),
        ([first, inner @ ..], [second, other @ ..]) if a.len() == b.len() => {
            (Dimension { length: first.length + second.length, ..*first }, inner, other)
        }
        ([first, inner @ ..], other) if a.len() == b.len() + 1 => {
            (Dimension { length: first.length + 1, ..*first }, inner, other)
        }
        (other, [first, inner @ ..]) if a.len() + 1 == b.len() => {
            (Dimension { length: first.length + 1, ..*first }, inner, other)
        }
        _ => {
            return Err(incompatible(&format!(
                "Arrays of {} and {} dimensions are not compatible for concatenation.",
                a.len(),
                b.len()
            )));
        }
    };
    if inner != other {
        let kind = if a.len() == b.len() { "element dimensions" } else { "dimensions" };
        return Err(incompatible(&format!("Arrays with differing {kind} are not compatible for concatenation.")));
    }
    let dimensions: Vec<Dimension> = std::iter::once(first).chain(inner.iter().copied()).collect();
    let values = left.values().iter().chain(right.values()).cloned().collect();
    Array::with_dimensions(left.element(), &dimensions, values).map(Value::from)
}

fn incompatible(detail: &str) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "cannot concatenate incompatible arrays").with_detail(detail)
}
