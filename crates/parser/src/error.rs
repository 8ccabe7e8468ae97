//! What is wrong with a text, where, and what its author may have meant.

use std::fmt;

use crate::hints::Hint;

/// How much of a text an error quotes. PostgreSQL quotes a token whole, however long it is.
const QUOTED_BYTES_MAX: usize = 200;

/// A refusal: SQLSTATE, message, place, and a hint where one is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The five characters of the SQLSTATE.
    pub sqlstate: &'static str,
    /// PostgreSQL's words.
    pub message: String,
    /// Byte offset in the text.
    pub position: u32,
    /// What the author may have meant.
    pub hint: Option<Hint>,
}

/// A result whose error costs a pointer.
pub type Result<T> = std::result::Result<T, Box<ParseError>>;

/// `syntax_error`
pub const SYNTAX_ERROR: &str = "42601";
/// `feature_not_supported`
pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
/// `statement_too_complex`
pub const STATEMENT_TOO_COMPLEX: &str = "54001";
/// `program_limit_exceeded`
pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
/// `invalid_escape_sequence`
pub const INVALID_ESCAPE_SEQUENCE: &str = "22025";
/// `character_not_in_repertoire`
pub const CHARACTER_NOT_IN_REPERTOIRE: &str = "22021";
/// `undefined_parameter`
pub const UNDEFINED_PARAMETER: &str = "42P02";
/// `windowing_error`
pub const WINDOWING_ERROR: &str = "42P20";
/// `invalid_parameter_value`
pub const INVALID_PARAMETER_VALUE: &str = "22023";

impl ParseError {
    /// An error at a byte of the text.
    pub fn new(sqlstate: &'static str, message: impl Into<String>, position: u32) -> Box<ParseError> {
        Box::new(ParseError { sqlstate, message: message.into(), position, hint: None })
    }

    /// `<what> at or near "<text>"`, or `at end of input` where the text is empty.
    pub fn near(what: &str, text: &str, position: u32) -> Box<ParseError> {
        let message = match text {
            "" => format!("{what} at end of input"),
            text => format!("{what} at or near \"{}\"", quoted(text)),
        };
        ParseError::new(SYNTAX_ERROR, message, position)
    }

    /// The same error with a hint.
    pub fn with_hint(mut self: Box<ParseError>, hint: Hint) -> Box<ParseError> {
        self.hint = Some(hint);
        self
    }
}

/// The beginning of `text`, NUL bytes made visible.
fn quoted(text: &str) -> String {
    let mut end = text.len().min(QUOTED_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].replace('\0', "\\x00")
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}
