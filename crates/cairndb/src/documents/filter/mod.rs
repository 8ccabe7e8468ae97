//! Which documents are wanted: JSON that says it, and the SQL that it becomes.
//!
//! - Every value of a filter is a parameter, so filters of one shape are one statement; only paths and operators are text.
//! - What is not known is an error by its name; nothing is ignored.
//! - A filter is read in a pass over its text, and its depth and the number of its conditions are bounded ([`parse`]): nothing that somebody
//!   sends makes a statement that can not be planned.
//!
//! `docs/documents.md` says what each operator means.

mod equal;
mod parse;
mod path;
mod sql;
#[cfg(test)]
mod tests;

pub use equal::{Equalities, Looked, Wanted};
pub(crate) use parse::{Filter, Place};
pub(crate) use path::{Path, literal, relation};
pub(crate) use sql::{Asked, condition, value_at};

use crate::{Error, SqlState};

/// What is wrong with a filter, an order or a cursor that somebody sent. SQLSTATE 22023.
pub(crate) fn wrong(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
