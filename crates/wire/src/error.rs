//! What clients do wrong, in PostgreSQL's words.

use cairndb::{Error, SqlState};

/// SQLSTATE 08P01.
pub(crate) fn violation(message: impl Into<String>) -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, message)
}

/// SQLSTATE 08P01, behind which nothing that comes can be understood.
pub(crate) fn fatal_violation(message: impl Into<String>) -> Error {
    violation(message)
        .with_hint("The client speaks another protocol than PostgreSQL's 3.0, or is not in step; connect anew.")
}

/// SQLSTATE 0A000.
pub(crate) fn refused(what: &str, hint: &str) -> Error {
    Error::unsupported(what).with_hint(hint)
}

/// SQLSTATE 25P02.
pub(crate) fn aborted() -> Error {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    Error::new(SqlState::IN_FAILED_SQL_TRANSACTION, message)
}

/// SQLSTATE 25P01.
pub(crate) fn outside(what: &str) -> Error {
    Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, format!("{what} can only be used in transaction blocks"))
}

/// SQLSTATE 26000.
pub(crate) fn no_statement(name: &str) -> Error {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
}

/// SQLSTATE 34000.
pub(crate) fn no_portal(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}
