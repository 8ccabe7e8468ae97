//! JSON text, checked and read.

use std::borrow::Cow;

use json_event_parser::{JsonEvent, JsonSyntaxError, SliceJsonParser};

use super::build::too_deep;
use super::{Builder, DEPTH_MAX, Jsonb};
use crate::types::Numeric;
use crate::{Error, Result, SqlState};

/// The value of a text.
pub(in crate::types) fn parse_jsonb(text: &str) -> Result<Jsonb> {
    let mut builder = Builder::default();
    let mut events = Events::of(text)?;
    loop {
        match events.next()? {
            JsonEvent::String(text) => builder.string(storable(&text)?),
            JsonEvent::Number(text) => builder.number(&number(&text)?),
            JsonEvent::Boolean(value) => builder.boolean(value),
            JsonEvent::Null => builder.null(),
            JsonEvent::ObjectKey(key) => builder.key(storable(&key)?),
            JsonEvent::StartArray => builder.begin_array()?,
            JsonEvent::StartObject => builder.begin_object()?,
            JsonEvent::EndArray | JsonEvent::EndObject => builder.end()?,
            JsonEvent::Eof => return builder.finish(),
        }
    }
}

/// The text is JSON.
pub(crate) fn check_json(text: &str) -> Result<()> {
    let (mut events, mut depth) = (Events::of(text)?, 0);
    loop {
        match events.next()? {
            JsonEvent::StartArray | JsonEvent::StartObject if depth == DEPTH_MAX => return Err(too_deep()),
            JsonEvent::StartArray | JsonEvent::StartObject => depth += 1,
            JsonEvent::EndArray | JsonEvent::EndObject => depth -= 1,
            JsonEvent::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// What a string's text with its quotes stands for.
pub(super) fn unquoted(text: &str) -> Result<Cow<'_, str>> {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if let Some(plain) = inner.filter(|inner| !inner.contains('\\')) {
        return Ok(plain.into());
    }
    match Events::of(text)?.next()? {
        JsonEvent::String(string) => Ok(string),
        _ => Err(super::bytes::damaged()),
    }
}

/// A number in JSON's notation.
fn number(text: &str) -> Result<Numeric> {
    Numeric::parse(text)
}

/// PostgreSQL's strings have no byte 0, and so no JSON that is more than its text has one.
fn storable(text: &str) -> Result<&str> {
    if text.contains('\0') {
        let error = Error::new(SqlState::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence");
        return Err(error.with_detail("\\u0000 cannot be converted to text."));
    }
    Ok(text)
}

struct Events<'a>(SliceJsonParser<'a>);

impl<'a> Events<'a> {
    fn of(text: &'a str) -> Result<Events<'a>> {
        // The parser would pass over it.
        if text.starts_with('\u{feff}') {
            return Err(invalid().with_detail("Token \"\u{feff}\" is invalid."));
        }
        Ok(Events(SliceJsonParser::new(text.as_bytes())))
    }

    fn next(&mut self) -> Result<JsonEvent<'a>> {
        self.0.parse_next().map_err(|error| refused(&error))
    }
}

fn refused(error: &JsonSyntaxError) -> Error {
    let place = error.location().start;
    invalid().with_detail(format!("{}, in line {} at byte {}.", error.message(), place.line + 1, place.column + 1))
}

fn invalid() -> Error {
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
}
