//! Explicit transactions as a guard.

use std::ops::Deref;

use super::Connection;
use crate::Result;

/// A transaction on a connection, which it derefs to. Dropping it rolls back.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.execute("CREATE TABLE t (a int)", ())?;
/// let tx = conn.begin()?;
/// tx.execute("INSERT INTO t VALUES (1)", ())?;
/// tx.rollback()?;
/// assert_eq!(conn.query_row("SELECT count(*) FROM t", (), |row| row.get::<i64>(0))?, 0);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Transaction<'c> {
    connection: &'c Connection,
    open: bool,
}

impl<'c> Transaction<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Transaction<'c> {
        Transaction { connection, open: true }
    }

    /// Makes the transaction's changes durable and visible; SQLSTATE 40001 where another transaction got in its way.
    pub fn commit(mut self) -> Result<()> {
        self.open = false;
        self.connection.session.commit_now()
    }

    /// Undoes the transaction's changes.
    pub fn rollback(mut self) -> Result<()> {
        self.open = false;
        self.connection.session.rollback_now()
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            // A rollback cannot fail in a way that a drop could tell.
            let _ = self.connection.session.rollback_now();
        }
    }
}
