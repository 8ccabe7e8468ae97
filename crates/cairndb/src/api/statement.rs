//! Prepared statements.

use super::connection::exhaust;
use super::execute::{Executed, Runnable};
use super::{Connection, Params, RowRef, Rows, Ticket};
use crate::Result;
use crate::plan::Field;
use crate::types::DataType;

/// A prepared statement: parsed, bound and planned once, planned again when the schema changed.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.execute("CREATE TABLE t (id bigint PRIMARY KEY, n int)", ())?;
/// let mut insert = conn.prepare("INSERT INTO t VALUES ($1, $2)")?;
/// for id in 0..10i64 {
///     insert.execute((id, 2 * id))?;
/// }
/// let mut select = conn.prepare("SELECT n FROM t WHERE id = $1")?;
/// assert_eq!(select.query_point((4i64,), |row| row.get_i64(0))?, Some(Some(8)));
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Statement<'c> {
    connection: &'c Connection,
    sql: String,
    runnable: Runnable,
}

impl<'c> Statement<'c> {
    pub(crate) fn new(connection: &'c Connection, sql: &str) -> Result<Statement<'c>> {
        let mut runnable = connection.runnable(sql)?;
        connection.prepare_now(&mut runnable)?;
        let statement = Statement { connection, sql: sql.to_string(), runnable };
        connection.remember(sql, None, statement.runnable.prepared.as_ref());
        Ok(statement)
    }

    fn run(&mut self, params: &dyn Params) -> Result<Executed> {
        let before = self.runnable.prepared.clone();
        let executed = self.connection.run_one(&mut self.runnable, params);
        self.connection.remember(&self.sql, before.as_ref(), self.runnable.prepared.as_ref());
        executed
    }

    /// Runs the statement; the number of rows it inserted, updated or deleted.
    pub fn execute(&mut self, params: impl Params) -> Result<u64> {
        exhaust(self.run(&params)?)
    }

    /// As [`Statement::execute`], without waiting for durability. Commits become durable in order.
    pub fn execute_async(&mut self, params: impl Params) -> Result<Ticket> {
        self.execute(params).map(|affected| Ticket::new(affected, None))
    }

    /// Runs a query.
    pub fn query(&mut self, params: impl Params) -> Result<Rows> {
        Ok(self.run(&params)?.rows.unwrap_or_else(Rows::empty))
    }

    /// Runs a query and hands its first row to `read`, without copying it where the statement reads one row by key.
    pub fn query_point<R>(&mut self, params: impl Params, read: impl FnOnce(RowRef<'_>) -> R) -> Result<Option<R>> {
        let mut rows = self.query(params)?;
        Ok(rows.next()?.map(|row| read(RowRef::values(row))))
    }

    /// The result's columns; empty where the statement returns no rows.
    pub fn columns(&self) -> &[Field] {
        self.runnable.prepared.as_ref().map_or(&[], |prepared| prepared.fields())
    }

    /// The types of the parameters.
    pub fn parameter_types(&self) -> &[DataType] {
        self.runnable.prepared.as_ref().map_or(&[], |prepared| &prepared.parameters)
    }
}
