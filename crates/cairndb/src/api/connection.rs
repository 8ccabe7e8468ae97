//! A connection: where statements run, and the session's state.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Database, Durability, Mapped, Notice, Outcome, Params, Row, Rows, Statement, Transaction};
use crate::catalog::Catalog;
use crate::{Error, Result, SqlState};

/// A connection to a database. `Send`, used by one thread at a time.
pub struct Connection {
    database: Database,
    interrupt: Arc<AtomicBool>,
}

/// Stops the statement that a connection is running, from another thread. Cheap to clone.
#[derive(Clone)]
pub struct InterruptHandle(Arc<AtomicBool>);

impl InterruptHandle {
    /// The running statement fails with SQLSTATE 57014; nothing happens when none is running.
    pub fn interrupt(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    pub(crate) fn new(database: Database) -> Result<Connection> {
        Ok(Connection { database, interrupt: Arc::default() })
    }

    /// The database this is a connection to.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Runs one statement; the number of rows it inserted, updated or deleted.
    pub fn execute(&self, _sql: &str, _params: impl Params) -> Result<u64> {
        Err(Error::unsupported("execute"))
    }

    /// Runs a query (or a statement with RETURNING).
    pub fn query(&self, _sql: &str, _params: impl Params) -> Result<Rows> {
        Err(Error::unsupported("query"))
    }

    /// Runs a query that must give at least one row, and converts the first. No row: SQLSTATE P0002.
    pub fn query_row<T>(&self, sql: &str, params: impl Params, map: impl FnOnce(Row<'_>) -> Result<T>) -> Result<T> {
        self.query_optional(sql, params, map)?.ok_or_else(|| Error::new(SqlState("P0002"), "query returned no rows"))
    }

    /// Runs a query and converts its first row, if it gives one.
    pub fn query_optional<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnOnce(Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut rows = self.query(sql, params)?;
        rows.next()?.map(map).transpose()
    }

    /// Runs a query; an iterator over its rows, each converted by `map`.
    pub fn query_map<T, F: FnMut(Row<'_>) -> Result<T>>(
        &self,
        sql: &str,
        params: impl Params,
        map: F,
    ) -> Result<Mapped<F>> {
        Ok(self.query(sql, params)?.mapped(map))
    }

    /// Prepares one statement. Statements are cached by their text, so preparing again is cheap.
    pub fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        Statement::new(self, sql)
    }

    /// Runs all statements of a text, ignoring their results. Stops at the first error, whose position counts from the
    /// start of the whole text.
    pub fn execute_script(&self, sql: &str) -> Result<()> {
        self.run(sql, |_| Ok(()))
    }

    /// Runs the statements of a text one by one and hands each outcome to `each`. Stops at the first error, the
    /// statement's or the callback's; an error's position counts from the start of the whole text.
    pub fn run(&self, _sql: &str, _each: impl FnMut(&mut Outcome<'_>) -> Result<()>) -> Result<()> {
        Err(Error::unsupported("run"))
    }

    /// Begins a transaction; dropping the guard rolls it back.
    pub fn begin(&self) -> Result<Transaction<'_>> {
        self.execute("BEGIN", ())?;
        Ok(Transaction::new(self))
    }

    /// Runs `body` in a transaction and commits it; rolls back when it fails. When another transaction got in the way
    /// (SQLSTATE 40001) the whole body runs again, so it must not keep anything from a failed run.
    pub fn transaction<T>(&self, mut body: impl FnMut(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let tx = self.begin()?;
        let value = body(&tx)?;
        tx.commit().map(|()| value)
    }

    /// Whether a transaction is open, failed ones included.
    pub fn in_transaction(&self) -> bool {
        false
    }

    /// Whether the open transaction has failed and only ROLLBACK is accepted.
    pub fn transaction_failed(&self) -> bool {
        false
    }

    /// A handle with which other threads can stop this connection's running statement.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.interrupt.clone())
    }

    /// The longest a statement may run (SQLSTATE 57014 beyond); `None`: no limit.
    pub fn set_statement_timeout(&self, _limit: Option<Duration>) {}

    /// What the acknowledgement of this connection's commits means.
    pub fn set_durability(&self, _durability: Durability) {}

    /// The warnings and notices since the last call.
    pub fn take_notices(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// The schema as this connection sees it now.
    pub fn catalog(&self) -> Result<Arc<Catalog>> {
        Ok(Arc::default())
    }
}
