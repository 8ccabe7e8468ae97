//! `SIMILAR TO`: SQL's patterns as regular expressions, in PostgreSQL's words (`similar_to_escape`).

use crate::functions::catalogue::Catalogue;
use crate::functions::support::{call, wrong_arguments};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;

pub(super) fn register(catalogue: &mut Catalogue) {
    let (one, pair, three) = const { (&[TEXT], &[TEXT, TEXT], &[TEXT, TEXT, TEXT]) };
    catalogue.add(
        "similar_to_escape",
        one,
        TEXT,
        call!((Text pattern) expression(pattern, "\\", false).map(Value::text)),
    );
    let escaped = call!((Text pattern, Text escape) expression(pattern, escape, false).map(Value::text));
    catalogue.add("similar_to_escape", pair, TEXT, escaped);
    // The old name: an escape that is NULL is none that was said.
    catalogue
        .add("similar_escape", pair, TEXT, |args, _| match args {
            [Value::Null, _] => Ok(Value::Null),
            [Value::Text(pattern), Value::Null] => expression(pattern, "\\", false).map(Value::text),
            [Value::Text(pattern), Value::Text(escape)] => expression(pattern, escape, false).map(Value::text),
            _ => Err(wrong_arguments(args)),
        })
        .called_on_null();
    catalogue.add(
        "substring",
        three,
        TEXT,
        call!((Text text, Text pattern, Text escape) super::first_group(text, &expression(pattern, escape, true)?)),
    );
}

/// Where in a class of characters (`[...]`) a pattern is.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    /// At its beginning, where `]` is a character like others.
    Begin,
    /// Behind the `^` there, likewise.
    Negated,
    Inside,
}

/// An escaped quote divides a pattern for SUBSTRING: what stands between two is what it gives, what stands before is as short
/// as can be. PostgreSQL says the latter by the `?` behind that part, which binds all that is in it; `is_first_short`: each of
/// its quantifiers says so, as our libraries want it.
fn expression(pattern: &str, escape: &str, is_first_short: bool) -> Result<String> {
    let mut escapes = escape.chars();
    let (escape, None) = (escapes.next(), escapes.next()) else {
        let error = Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string");
        return Err(error.with_hint("Escape string must be empty or one character."));
    };
    let mut out = String::with_capacity(pattern.len() + 16);
    out.push_str("^(?:");
    let (mut is_escaped, mut quotes) = (false, 0);
    let (mut depth, mut class) = (0_usize, Class::Inside);
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        if is_escaped {
            is_escaped = false;
            match (c, quotes) {
                ('"', 0) if depth == 0 => out.push_str("){1,1}?("),
                ('"', 1) if depth == 0 => out.push_str("){1,1}(?:"),
                ('"', _) if depth == 0 => {
                    let message = "SQL regular expression may not contain more than two escape-double-quote separators";
                    return Err(Error::new(SqlState::INVALID_USE_OF_ESCAPE_CHARACTER, message));
                }
                _ => {
                    out.extend(['\\', c]);
                    class = Class::Inside;
                    continue;
                }
            }
            quotes += 1;
        } else if Some(c) == escape {
            is_escaped = true;
        } else if depth > 0 {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            match c {
                ']' if class == Class::Inside => depth -= 1,
                '[' => depth += 1,
                _ => {}
            }
            class = if c == '^' && class == Class::Begin { Class::Negated } else { Class::Inside };
        } else {
            match c {
                '[' => {
                    out.push('[');
                    (depth, class) = (1, Class::Begin);
                }
                '%' => out.push_str(".*"),
                '_' => out.push('.'),
                '(' => out.push_str("(?:"),
                '\\' | '.' | '^' | '$' => out.extend(['\\', c]),
                c => out.push(c),
            }
            let is_short = is_first_short && quotes == 0 && matches!(c, '%' | '*' | '+' | '?' | '}');
            if is_short && rest.peek() != Some(&'?') {
                out.push('?');
            }
        }
    }
    out.push_str(")$");
    Ok(out)
}
