//! Arrays as text, as PostgreSQL writes them: `{1,NULL,"a b"}`, `[0:1]={1,2}`, `{{1,2},{3,4}}`.

use std::fmt::Write;

use super::{Array, Dimension};
use crate::types::Value;

/// Appends an array; `element` appends the text of one that is not NULL.
pub(in crate::types) fn write_array_text(array: &Array, element: &dyn Fn(&Value, &mut String), out: &mut String) {
    if array.is_vector {
        return write_vector(&array.values, element, out);
    }
    if array.dimensions.is_empty() {
        return out.push_str("{}");
    }
    if array.dimensions.iter().any(|dimension| dimension.lower != 1) {
        for dimension in &array.dimensions {
            // Writing to a String cannot fail.
            let _ = write!(out, "[{}:{}]", dimension.lower, dimension.upper());
        }
        out.push('=');
    }
    write_level(&array.dimensions, &array.values, element, out);
}

fn write_vector(values: &[Value], element: &dyn Fn(&Value, &mut String), out: &mut String) {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        element(value, out);
    }
}

fn write_level(dimensions: &[Dimension], values: &[Value], element: &dyn Fn(&Value, &mut String), out: &mut String) {
    let Some((dimension, inner)) = dimensions.split_first() else { return };
    out.push('{');
    let each = (values.len() / dimension.length.max(1)).max(1);
    for (nth, part) in values.chunks(each).enumerate() {
        if nth > 0 {
            out.push(',');
        }
        match (inner.is_empty(), part) {
            (true, [Value::Null]) => out.push_str("NULL"),
            (true, [value]) => write_element(value, element, out),
            _ => write_level(inner, part, element, out),
        }
    }
    out.push('}');
}

/// An element, quoted where it would read as something else.
fn write_element(value: &Value, element: &dyn Fn(&Value, &mut String), out: &mut String) {
    let start = out.len();
    element(value, out);
    let text = &out[start..];
    let special = |byte: u8| matches!(byte, b'{' | b'}' | b'"' | b'\\' | b',') || is_space(byte);
    if !text.is_empty() && !text.eq_ignore_ascii_case("NULL") && !text.bytes().any(special) {
        return;
    }
    let text = out.split_off(start);
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// PostgreSQL's `array_isspace`.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}
