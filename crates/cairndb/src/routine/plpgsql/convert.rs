//! Values on their way to variables: as assignments do it, and where SQL knows no way, by their texts.

use crate::Result;
use crate::types::{CastContext, DataType, EvalContext, Value, can_cast, cast, cast_assign, to_text};

/// The value as one of another type.
pub(super) fn converted(value: Value, from: DataType, to: DataType, eval: &EvalContext) -> Result<Value> {
    if from == to || value.is_null() {
        return Ok(value);
    }
    if can_cast(from, to, CastContext::Assignment) {
        return cast_assign(&value, from, to, eval);
    }
    if from.is_string() {
        return cast(&value, from, to, eval);
    }
    let text = Value::text(to_text(&value, eval));
    cast(&text, DataType::Text, to, eval)
}

/// The value as PostgreSQL writes it.
pub(super) fn shown(value: &Value, eval: &EvalContext) -> String {
    to_text(value, eval)
}
