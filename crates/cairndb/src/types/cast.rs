//! Conversions of values between types.

use super::{DataType, EvalContext, Value};
use crate::{Error, Result};

/// Converts a value as an explicit `CAST` does: strings are cut to `varchar(n)` and `char(n)`.
pub fn cast(_value: &Value, _from: DataType, _to: DataType, _context: &EvalContext) -> Result<Value> {
    Err(Error::unsupported("cast"))
}

/// Converts a value as storing it in a column of type `to` does: too long a string is an error (22001).
pub fn cast_assign(value: &Value, from: DataType, to: DataType, context: &EvalContext) -> Result<Value> {
    cast(value, from, to, context)
}
