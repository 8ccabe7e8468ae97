//! One row of a result: its values lie in a batch, or are there.

use std::cell::{Cell, OnceCell};

use super::FromRow;
use crate::columns::Batch;
use crate::plan::Field;
use crate::types::{FromValue, ValueRef};
use crate::{Error, Result, SqlState, Value};

/// A row of a batch. Its values are read where they lie, and copied only if all are asked for.
pub(crate) struct BatchRow {
    pub(crate) batch: Option<Batch>,
    pub(crate) at: usize,
    values: OnceCell<Vec<Value>>,
    /// The last row's buffer.
    spare: Cell<Vec<Value>>,
}

impl BatchRow {
    pub(crate) fn new() -> BatchRow {
        BatchRow { batch: None, at: 0, values: OnceCell::new(), spare: Cell::default() }
    }

    /// Moves to the next row of the batch, if there is one.
    #[inline]
    pub(crate) fn step(&mut self) -> bool {
        if self.values.get().is_some() {
            self.keep_buffer();
        }
        self.at += 1;
        self.batch.as_ref().is_some_and(|batch| self.at < batch.len())
    }

    // Apart, as `Rows::advance`, so that going from row to row is little enough to stand where it is called.
    #[inline(never)]
    fn keep_buffer(&mut self) {
        if let Some(values) = self.values.take() {
            self.spare.set(values);
        }
    }

    /// Comes to the first row of a batch.
    pub(crate) fn begin(&mut self, mut batch: Batch) {
        batch.check_text();
        self.batch = Some(batch);
        self.at = 0;
    }

    /// How many rows of the batch were not come to.
    pub(crate) fn left(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.len().saturating_sub(self.at + 1))
    }

    /// Those, which it has no more.
    pub(crate) fn rest(&mut self) -> Option<Batch> {
        let left = self.left();
        let batch = self.batch.take().filter(|_| left > 0)?;
        Some(batch.slice(batch.len() - left, left))
    }

    pub(crate) fn value(&self, index: usize) -> Value {
        self.batch.as_ref().map_or(Value::Null, |batch| batch.value(index, self.at))
    }

    #[inline]
    pub(crate) fn value_ref(&self, index: usize) -> ValueRef<'_> {
        match self.batch.as_ref().and_then(|batch| batch.columns().get(index)) {
            // Text that is not UTF-8 can only be shown as an owned value.
            Some(column) => {
                column.value_ref_or(self.at, || self.values().get(index).map_or(ValueRef::Null, ValueRef::from))
            }
            None => ValueRef::Null,
        }
    }

    pub(crate) fn values(&self) -> &[Value] {
        self.values.get_or_init(|| {
            let mut values = self.spare.take();
            if let Some(batch) = &self.batch {
                batch.read_row(self.at, &mut values);
            }
            values
        })
    }
}

/// One row of [`Rows`](crate::Rows).
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let (sum, text) = conn.query_row("SELECT 40 + 2 AS sum, 'x' AS text, NULL AS nothing", (), |row| {
///     assert_eq!((row.get_str(1), row.get_str(2)), (Some("x"), None));
///     assert!(row.value_ref(2).is_null() && row.value(2).is_null());
///     assert_eq!((row.values().len(), row.columns()[0].name.as_str()), (3, "sum"));
///     row.read::<(i32, String, Option<bool>)>().map(|(sum, text, _)| (sum, text))
/// })?;
/// assert_eq!((sum, text.as_str()), (42, "x"));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub(crate) columns: &'a [Field],
    pub(crate) values: RowValues<'a>,
}

/// Where they are.
#[derive(Clone, Copy)]
pub(crate) enum RowValues<'a> {
    Own(&'a [Value]),
    Batch(&'a BatchRow),
}

impl<'a> Row<'a> {
    pub(crate) fn new(columns: &'a [Field], values: &'a [Value]) -> Row<'a> {
        Row { columns, values: RowValues::Own(values) }
    }

    /// The value of a column, by position from 0 or by name.
    pub fn get<T: FromValue>(&self, column: impl RowIndex) -> Result<T> {
        let index = column.position(self.columns)?;
        match self.values {
            RowValues::Own(values) => T::from_value(values.get(index).unwrap_or(&Value::Null)),
            RowValues::Batch(row) => T::from_value(&row.value(index)),
        }
    }

    /// The whole row as a tuple or a struct.
    pub fn read<T: FromRow>(&self) -> Result<T> {
        T::from_row(self)
    }

    /// The value of a column by position; NULL beyond the last.
    pub fn value(&self, index: usize) -> &'a Value {
        self.values().get(index).unwrap_or(&Value::Null)
    }

    /// The value of a column by position, lent instead of copied; NULL beyond the last.
    #[inline]
    pub fn value_ref(&self, index: usize) -> ValueRef<'a> {
        match self.values {
            RowValues::Own(values) => values.get(index).map_or(ValueRef::Null, ValueRef::from),
            RowValues::Batch(row) => row.value_ref(index),
        }
    }

    /// Borrowed text of a text column; `None` for NULL and for other types.
    #[inline]
    pub fn get_str(&self, index: usize) -> Option<&'a str> {
        match self.value_ref(index) {
            ValueRef::Text(text) | ValueRef::Json(text) => Some(text),
            ValueRef::Enum(value) => Some(value.label()),
            _ => None,
        }
    }

    /// All values.
    pub fn values(&self) -> &'a [Value] {
        match self.values {
            RowValues::Own(values) => values,
            RowValues::Batch(row) => row.values(),
        }
    }

    /// The columns.
    #[inline]
    pub fn columns(&self) -> &'a [Field] {
        self.columns
    }
}

/// How a column is named: position or name.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let same = conn.query_row("SELECT 1 AS a", (), |row| Ok(row.get::<i32>(0)? == row.get::<i32>("a")?))?;
/// assert!(same);
/// # Ok::<(), cairndb::Error>(())
/// ```
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
