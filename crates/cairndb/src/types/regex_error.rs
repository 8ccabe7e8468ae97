//! What is wrong with a regular expression, in PostgreSQL's words where it has some.

use crate::{Error, SqlState};

/// SQLSTATE 2201B
pub(crate) fn invalid_regex(error: &regex::Error) -> Error {
    let text = error.to_string();
    let reason = match text.lines().last().unwrap_or("").trim_start_matches("error: ") {
        "unclosed character class" => "brackets [] not balanced",
        "unclosed group" | "unopened group" => "parentheses () not balanced",
        "repetition operator missing expression" => "quantifier operand invalid",
        "invalid character class range, the start must be <= the end" => "invalid character range",
        other if other.contains("exceeds size limit") => "regular expression is too complex",
        other => other,
    };
    Error::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {reason}"))
}
