//! Composite values from text: `(1,"a b",)`.

use super::output::is_space;
use super::{Composite, CompositeType};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

/// Reads a row; `read` reads an attribute's text.
pub(in crate::types) fn parse_composite(
    text: &str,
    of: CompositeType,
    read: &dyn Fn(&str, DataType) -> Result<Value>,
) -> Result<Composite> {
    if of.is_record() {
        let message = "input of anonymous composite types is not implemented";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let malformed = |detail: &str| {
        let message = format!("malformed record literal: \"{text}\"");
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
    };
    let Some(mut rest) = text.trim_start_matches(is_space).strip_prefix('(') else {
        return Err(malformed("Missing left parenthesis."));
    };
    let attributes = of.attributes();
    let mut values = Vec::with_capacity(attributes.len());
    for (nth, attribute) in attributes.iter().enumerate() {
        if nth > 0 {
            rest = rest.strip_prefix(',').ok_or_else(|| malformed("Too few columns."))?;
        }
        values.push(match rest.starts_with([',', ')']) {
            true => Value::Null,
            false => {
                let (item, behind) = item(rest).ok_or_else(|| malformed("Unexpected end of input."))?;
                rest = behind;
                read(&item, attribute.data_type)?
            }
        });
    }
    let Some(rest) = rest.strip_prefix(')') else { return Err(malformed("Too many columns.")) };
    match rest.trim_start_matches(is_space) {
        "" => Ok(Composite::new(of, values)),
        _ => Err(malformed("Junk after right parenthesis.")),
    }
}

/// The text of one attribute, and what stands behind it.
fn item(text: &str) -> Option<(String, &str)> {
    let (mut out, mut quoted) = (String::new(), false);
    let mut chars = text.char_indices().peekable();
    loop {
        let &(at, c) = chars.peek()?;
        if !quoted && matches!(c, ',' | ')') {
            return Some((out, &text[at..]));
        }
        chars.next();
        match c {
            '\\' => out.push(chars.next()?.1),
            '"' if quoted && chars.peek().is_some_and(|(_, next)| *next == '"') => {
                chars.next();
                out.push('"');
            }
            '"' => quoted = !quoted,
            c => out.push(c),
        }
    }
}
