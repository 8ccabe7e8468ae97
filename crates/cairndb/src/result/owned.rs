//! Rows of one's own, and as other types.

use super::rows::Columns;
use super::{FromRow, Row, RowIndex, Rows};
use crate::plan::Field;
use crate::types::FromValue;
use crate::{Result, Value};

/// From [`Rows::mapped`].
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let squares = conn.query_map("SELECT n FROM generate_series(1, 3) AS n", (), |row| Ok(row.get::<i32>(0)?.pow(2)))?;
/// assert_eq!(squares.collect::<Result<Vec<_>, _>>()?, [1, 4, 9]);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Mapped<F> {
    pub(super) rows: Rows,
    pub(super) map: F,
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

/// From [`Rows::read_as`].
pub type RowsAs<T> = Mapped<fn(Row<'_>) -> Result<T>>;

pub(super) fn read_row<T: FromRow>(row: Row<'_>) -> Result<T> {
    T::from_row(&row)
}

/// A row of one's own, as iterating over [`Rows`] gives it.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// for row in conn.query("SELECT n, n * n AS square FROM generate_series(1, 3) AS s(n)", ())? {
///     let row = row?;
///     assert_eq!(row.get::<i32>("square")?, row.get::<i32>(0)?.pow(2));
/// }
/// # Ok::<(), cairndb::Error>(())
/// ```
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let mut rows = conn.query("SELECT 1 AS a, 'x' AS b", ())?.into_iter();
/// let row = rows.next().expect("one")?;
/// assert_eq!((row.get::<i32>("a")?, row.columns().len(), row.values().len()), (1, 2, 2));
/// assert_eq!(row.as_row().get::<String>("b")?, "x");
/// assert_eq!(row.into_values()[1], cairndb::Value::text("x"));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone)]
pub struct OwnedRow {
    columns: Columns,
    values: Vec<Value>,
}

impl OwnedRow {
    /// The row, lent.
    pub fn as_row(&self) -> Row<'_> {
        Row::new(self.columns.fields(), &self.values)
    }

    /// The value of a column, by position from 0 or by name.
    pub fn get<T: FromValue>(&self, column: impl RowIndex) -> Result<T> {
        self.as_row().get(column)
    }

    /// The columns.
    pub fn columns(&self) -> &[Field] {
        self.columns.fields()
    }

    /// All values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// All values, to keep.
    pub fn into_values(self) -> Vec<Value> {
        self.values
    }
}

impl std::fmt::Debug for OwnedRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.columns().iter().map(|field| &field.name).zip(&self.values)).finish()
    }
}

/// From iterating over [`Rows`], which copies each row; [`Rows::next`] lends them.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let rows: cairndb::IntoRows = conn.query("VALUES (1), (2)", ())?.into_iter();
/// assert_eq!(rows.count(), 2);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct IntoRows(Rows);

impl IntoIterator for Rows {
    type Item = Result<OwnedRow>;
    type IntoIter = IntoRows;

    fn into_iter(self) -> IntoRows {
        IntoRows(self)
    }
}

impl Iterator for IntoRows {
    type Item = Result<OwnedRow>;

    fn next(&mut self) -> Option<Result<OwnedRow>> {
        let values = match self.0.next().transpose()? {
            Ok(row) => row.values().to_vec(),
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(OwnedRow { columns: self.0.shape(), values }))
    }
}
