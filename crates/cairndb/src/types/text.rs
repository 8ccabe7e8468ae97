//! Text forms of values, in and out.

use super::{DataType, EvalContext, Value};
use crate::{Error, Result};

/// Reads a value of `data_type` (modifiers enforced as by an explicit cast) from its text form.
pub fn from_text(_text: &str, _data_type: DataType, _context: &EvalContext) -> Result<Value> {
    Err(Error::unsupported("text input"))
}

/// The text form of a value; empty for NULL.
pub fn to_text(value: &Value, context: &EvalContext) -> String {
    let mut out = String::new();
    write_text(value, context, &mut out);
    out
}

/// Appends the text form of a value; nothing for NULL.
pub fn write_text(_value: &Value, _context: &EvalContext, _out: &mut String) {}
