//! Composite values as text, as PostgreSQL writes them: `(1,"a b",)`.

use super::Composite;
use crate::types::Value;

/// Appends a row; `attribute` appends the text of one that is not NULL.
pub(in crate::types) fn write_composite_text(
    row: &Composite,
    attribute: &dyn Fn(&Value, &mut String),
    out: &mut String,
) {
    out.push('(');
    for (nth, value) in row.values().iter().enumerate() {
        if nth > 0 {
            out.push(',');
        }
        if !value.is_null() {
            write_attribute(value, attribute, out);
        }
    }
    out.push(')');
}

/// An attribute, quoted where it would read as something else.
fn write_attribute(value: &Value, attribute: &dyn Fn(&Value, &mut String), out: &mut String) {
    let start = out.len();
    attribute(value, out);
    let text = &out[start..];
    let special = |c: char| matches!(c, '(' | ')' | '"' | '\\' | ',') || is_space(c);
    if !text.is_empty() && !text.contains(special) {
        return;
    }
    let text = out.split_off(start);
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('"');
}

/// C's `isspace`.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}
