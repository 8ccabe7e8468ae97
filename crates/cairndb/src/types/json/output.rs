//! `jsonb` as text.

use super::{Json, Node};
use crate::Result;
use std::fmt::Write;

/// Appends the text as PostgreSQL writes it.
pub(crate) fn write_node(node: Node<'_>, out: &mut String) -> Result<()> {
    match node.read()? {
        Json::Array(items) => {
            out.push('[');
            for (at, element) in items.elements().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_node(element?, out)?;
            }
            out.push(']');
        }
        Json::Object(items) => {
            out.push('{');
            for (at, pair) in items.pairs().enumerate() {
                let (key, value) = pair?;
                out.push_str(if at == 0 { "" } else { ", " });
                write_quoted(key, out);
                out.push_str(": ");
                write_node(value, out)?;
            }
            out.push('}');
        }
        scalar => write_scalar(&scalar, out),
    }
    Ok(())
}

pub(super) fn write_scalar(scalar: &Json<'_>, out: &mut String) {
    match scalar {
        Json::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
        // Writing to a String cannot fail.
        Json::Number(value) => _ = value.write_text(out),
        Json::String(text) => write_quoted(text, out),
        Json::Null | Json::Array(_) | Json::Object(_) => out.push_str("null"),
    }
}

/// Appends it with a line for each part, four blanks deeper than what it is a part of (`jsonb_pretty`).
pub(crate) fn write_pretty(node: Node<'_>, depth: usize, out: &mut String) -> Result<()> {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n("    ", depth));
    };
    match node.read()? {
        Json::Array(items) => {
            out.push('[');
            for (at, element) in items.elements().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                line(depth + 1, out);
                write_pretty(element?, depth + 1, out)?;
            }
            line(depth, out);
            out.push(']');
        }
        Json::Object(items) => {
            out.push('{');
            for (at, pair) in items.pairs().enumerate() {
                let (key, value) = pair?;
                out.push_str(if at == 0 { "" } else { "," });
                line(depth + 1, out);
                write_quoted(key, out);
                out.push_str(": ");
                write_pretty(value, depth + 1, out)?;
            }
            line(depth, out);
            out.push('}');
        }
        scalar => write_scalar(&scalar, out),
    }
    Ok(())
}

/// Appends a string with its quotes.
pub(crate) fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
}
