//! Result rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::FromValue;
use crate::exec::{Batch, RowStream};
use crate::plan::Field;
use crate::{Error, Result, SqlState, Value};

/// The rows of a query, produced as they are asked for.
pub struct Rows {
    columns: Vec<Field>,
    current: Vec<Value>,
    source: RowSource,
    count: u64,
    /// Set when an error occurs: the transaction that the query belongs to has failed.
    transaction_failed: Option<Arc<AtomicBool>>,
}

enum RowSource {
    Buffered(std::vec::IntoIter<Vec<Value>>),
    Stream { stream: Box<RowStream>, batch: Option<Batch>, at: usize },
}

impl Rows {
    pub(crate) fn buffered(columns: Vec<Field>, rows: Vec<Vec<Value>>) -> Rows {
        Rows::new(columns, RowSource::Buffered(rows.into_iter()))
    }

    pub(crate) fn stream(columns: Vec<Field>, stream: RowStream) -> Rows {
        Rows::new(columns, RowSource::Stream { stream: Box::new(stream), batch: None, at: 0 })
    }

    fn new(columns: Vec<Field>, source: RowSource) -> Rows {
        Rows { columns, current: Vec::new(), source, count: 0, transaction_failed: None }
    }

    /// The result of a statement that returns no rows.
    pub(crate) fn empty() -> Rows {
        Rows::buffered(Vec::new(), Vec::new())
    }

    /// Runs to the end, for the errors on the way.
    pub(crate) fn exhaust(&mut self) -> Result<()> {
        while self.next()?.is_some() {}
        Ok(())
    }

    /// Errors of these rows fail the transaction whose flag this is.
    pub(crate) fn in_transaction(mut self, failed: Arc<AtomicBool>) -> Rows {
        self.transaction_failed = Some(failed);
        self
    }

    /// The output columns.
    pub fn columns(&self) -> &[Field] {
        &self.columns
    }

    /// How many rows were given out so far.
    pub fn count_so_far(&self) -> u64 {
        self.count
    }

    /// The next row; it lives until the next call. After an error there are no more rows.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        match self.advance() {
            Ok(true) => self.count += 1,
            Ok(false) => return Ok(None),
            Err(error) => {
                self.source = RowSource::Buffered(Vec::new().into_iter());
                if let Some(failed) = &self.transaction_failed {
                    failed.store(true, Ordering::Relaxed);
                }
                return Err(error);
            }
        }
        Ok(Some(Row { columns: &self.columns, values: &self.current }))
    }

    /// Fills `current` with the next row; whether there was one.
    fn advance(&mut self) -> Result<bool> {
        match &mut self.source {
            RowSource::Buffered(rows) => match rows.next() {
                Some(row) => self.current = row,
                None => return Ok(false),
            },
            RowSource::Stream { stream, batch, at } => {
                while batch.as_ref().is_none_or(|batch| *at >= batch.len()) {
                    *at = 0;
                    *batch = stream.next_batch()?;
                    if batch.is_none() {
                        return Ok(false);
                    }
                }
                if let Some(batch) = batch {
                    batch.read_row(*at, &mut self.current);
                    *at += 1;
                }
            }
        }
        Ok(true)
    }

    /// An iterator over the rows, each turned into a value by `map`.
    pub fn mapped<T, F: FnMut(Row<'_>) -> Result<T>>(self, map: F) -> Mapped<F> {
        Mapped { rows: self, map }
    }
}

/// From [`Rows::mapped`].
pub struct Mapped<F> {
    rows: Rows,
    map: F,
}

impl<T, F: FnMut(Row<'_>) -> Result<T>> Iterator for Mapped<F> {
    type Item = Result<T>;
    fn next(&mut self) -> Option<Result<T>> {
        match self.rows.next() {
            Ok(Some(row)) => Some((self.map)(row)),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// One row of [`Rows`].
#[derive(Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [Field],
    values: &'a [Value],
}

impl<'a> Row<'a> {
    pub(super) fn new(columns: &'a [Field], values: &'a [Value]) -> Row<'a> {
        Row { columns, values }
    }

    /// The value of a column, by position from 0 or by name.
    pub fn get<T: FromValue>(&self, column: impl RowIndex) -> Result<T> {
        let index = column.position(self.columns)?;
        T::from_value(self.value(index))
    }

    /// The value of a column by position; NULL beyond the last.
    pub fn value(&self, index: usize) -> &'a Value {
        self.values.get(index).unwrap_or(&Value::Null)
    }

    /// Borrowed text of a text column; `None` for NULL and for other types.
    pub fn get_str(&self, index: usize) -> Option<&'a str> {
        match self.value(index) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// All values.
    pub fn values(&self) -> &'a [Value] {
        self.values
    }

    /// The columns.
    pub fn columns(&self) -> &'a [Field] {
        self.columns
    }
}

/// How a column is named: position or name.
pub trait RowIndex {
    /// The position; SQLSTATE 42703 where there is none.
    fn position(&self, columns: &[Field]) -> Result<usize>;
}

impl RowIndex for usize {
    fn position(&self, columns: &[Field]) -> Result<usize> {
        if *self < columns.len() {
            return Ok(*self);
        }
        let message = format!("there is no column at index {self}: the row has {}", columns.len());
        Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
    }
}

impl RowIndex for &str {
    fn position(&self, columns: &[Field]) -> Result<usize> {
        columns.iter().position(|field| field.name == *self).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{self}\" does not exist in the result"))
        })
    }
}
