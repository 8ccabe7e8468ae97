//! What only an asynchronous database can fail with.

use std::any::Any;

use cairndb::{Error, SqlState};

/// PostgreSQL's `admin_shutdown`.
pub(crate) const SHUTDOWN: SqlState = SqlState::ADMIN_SHUTDOWN;

pub(crate) fn closed() -> Error {
    Error::new(SHUTDOWN, "the database is closed, or being closed")
}

/// PostgreSQL's `too_many_connections`.
pub(crate) fn full() -> Error {
    Error::new(SqlState::TOO_MANY_CONNECTIONS, "as many statements as may wait for the database do")
        .with_hint("Ask again a little later.")
}

pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    Error::new(SqlState::INTERNAL_ERROR, format!("a worker panicked: {}", text.unwrap_or("it did not say why")))
}

pub(crate) fn leaves_something() -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "the statement would change a session, and there is none")
        .with_hint("Run it in `transaction` or `call`, or for all connections in `Options::on_connect`.")
}

pub(crate) fn is_over() -> Error {
    Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, "the transaction is over")
}
