//! Errors of the one side as errors of the other.

use arrow_schema::ArrowError;
use cairndb::{Error, SqlState};

/// What Arrow says of an error of ours: code, message, detail and hint.
pub(crate) fn told(error: Error) -> ArrowError {
    // (A C string ends at a zero byte.)
    let parts = [error.detail(), error.hint()].into_iter().flatten();
    let text =
        parts.fold(format!("{}: {}", error.sqlstate().as_str(), error.message()), |text, part| text + " " + part);
    ArrowError::ExternalError(text.replace('\0', "\u{fffd}").into())
}

/// 22P03: what came is no Arrow.
pub(crate) fn malformed(error: &ArrowError) -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "what came as Arrow's arrays is none")
        .with_detail(error.to_string())
}

/// 22008, 22003: Arrow has no such value.
pub(crate) fn beyond(code: SqlState, message: String) -> Error {
    Error::new(code, message).with_hint("Cast the column to text.")
}
