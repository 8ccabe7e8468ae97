//! Some rows of a result, by column.

use std::sync::Arc;

use super::vector::{NO_ROW, Vector};
use crate::{Error, Result, SqlState, Value};

/// Rows by column. Columns are shared, never changed. All have `len` values. Text is UTF-8 in those that a query gives
/// ([`Rows::next_batch`](crate::Rows::next_batch)), and in those that a program makes.
///
/// ```
/// use cairndb::{Batch, Data, DataType, Value, Vector};
///
/// let numbers = |items| Vector::from_data(DataType::Integer, Data::I32(items), None);
/// let mut batch = Batch::of(vec![numbers(vec![1, 2])?, numbers(vec![10, 20])?])?;
/// assert_eq!((batch.len(), batch.is_empty(), batch.columns().len()), (2, false, 2));
/// assert_eq!((batch.value(1, 0), batch.row(1)[0].clone()), (Value::Integer(10), Value::Integer(2)));
/// batch.append(&Batch::of(vec![numbers(vec![3])?, numbers(vec![30])?])?)?;
/// let mut row = Vec::new();
/// batch.read_row(2, &mut row);
/// assert_eq!(row, [Value::Integer(3), Value::Integer(30)]);
/// assert!(batch.memory_bytes() >= 24);
/// assert_eq!(batch.into_columns()[1].len(), 3);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch {
    columns: Vec<Arc<Vector>>,
    len: usize,
}

impl Batch {
    /// A batch of `len` rows; each column must have that many values.
    pub(crate) fn new(columns: Vec<Arc<Vector>>, len: usize) -> Batch {
        debug_assert!(columns.iter().all(|column| column.len() == len), "ragged batch");
        Batch { columns, len }
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The columns.
    #[inline]
    pub fn columns(&self) -> &[Arc<Vector>] {
        &self.columns
    }

    /// Checks the text of columns that nobody else has, so that values can be lent without a look at each.
    pub(crate) fn check_text(&mut self) {
        self.columns.iter_mut().filter_map(Arc::get_mut).for_each(Vector::check_text);
    }

    /// As [`Batch::check_text`], of all columns, and with what is none put right: each string is UTF-8 then.
    pub(crate) fn mend_text(&mut self) {
        for column in self.columns.iter_mut().filter(|column| column.has_unchecked_text()) {
            Arc::make_mut(column).mend_text();
        }
    }

    /// The columns, to keep.
    pub fn into_columns(self) -> Vec<Arc<Vector>> {
        self.columns
    }

    /// One value; NULL where there is no such column or row.
    pub fn value(&self, column: usize, row: usize) -> Value {
        self.columns.get(column).map_or(Value::Null, |column| column.value(row))
    }

    /// One row's values.
    pub fn row(&self, row: usize) -> Vec<Value> {
        self.columns.iter().map(|column| column.value(row)).collect()
    }

    /// Writes one row's values over `out`, so that a loop over rows can use one buffer.
    pub fn read_row(&self, row: usize, out: &mut Vec<Value>) {
        out.clear();
        out.extend(self.columns.iter().map(|column| column.value(row)));
    }

    /// The given rows, in that order.
    pub(crate) fn gather(&self, rows: &[u32]) -> Batch {
        Batch { columns: self.columns.iter().map(|column| Arc::new(column.gather(rows))).collect(), len: rows.len() }
    }

    /// The rows from `start`, at most `count`.
    pub(crate) fn slice(&self, start: usize, count: usize) -> Batch {
        let end = start.saturating_add(count).min(self.len);
        if start == 0 && end == self.len {
            return self.clone();
        }
        self.gather(&(start.min(end)..end).map(row_number).collect::<Vec<u32>>())
    }

    /// Adds rows behind these, in place where nobody else has the columns.
    ///
    /// # Errors
    ///
    /// 22023 where the columns are of other types or another number; 54000 where there would be too many rows.
    pub fn append(&mut self, behind: &Batch) -> Result<()> {
        let types = |batch: &Batch| batch.columns.iter().map(|column| column.data_type()).collect::<Vec<_>>();
        let is_alike = self.columns.len() == behind.columns.len()
            && self.columns.iter().zip(&behind.columns).all(|(own, other)| own.data_type() == other.data_type());
        if !is_alike {
            let message = format!("columns of types {:?} behind {:?}", types(behind), types(self));
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        self.append_alike(behind)
    }

    /// As [`Batch::append`], of rows of a statement's own, whose columns lie alike.
    pub(crate) fn append_alike(&mut self, behind: &Batch) -> Result<()> {
        append_columns(&mut self.columns, &behind.columns);
        self.len += behind.len;
        check_count(self.len)
    }

    /// About how many bytes the rows take.
    pub fn memory_bytes(&self) -> usize {
        self.columns.iter().map(|column| column.memory_bytes()).sum()
    }
}

/// Adds values behind those that are there, column by column.
pub(crate) fn append_columns(columns: &mut [Arc<Vector>], behind: &[Arc<Vector>]) {
    columns.iter_mut().zip(behind).for_each(|(to, from)| Arc::make_mut(to).append(from));
}

/// Fails where so many rows cannot be told by number.
pub(crate) fn check_count(rows: usize) -> Result<()> {
    match rows < NO_ROW as usize {
        true => Ok(()),
        false => Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many rows to keep in memory")),
    }
}

/// A row number within a batch or a materialised result. [`check_count`] keeps them in range.
#[inline]
pub(crate) fn row_number(row: usize) -> u32 {
    debug_assert!(row < u32::MAX as usize);
    row as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataType;

    fn numbers(values: std::ops::Range<i32>) -> Batch {
        let values: Vec<Value> = values.map(Value::Integer).collect();
        let len = values.len();
        Batch::new(vec![Arc::new(Vector::from_values(DataType::Integer, &values).unwrap())], len)
    }

    #[test]
    fn rows_are_added_in_place_unless_others_have_the_columns() {
        let mut batch = numbers(0..2);
        let before = batch.clone();
        batch.append_alike(&numbers(2..5)).unwrap();
        assert_eq!((before.len(), before.columns()[0].len()), (2, 2));
        let place = Arc::as_ptr(&batch.columns()[0]);
        batch.append_alike(&numbers(5..9)).unwrap();
        assert_eq!(Arc::as_ptr(&batch.columns()[0]), place, "copied as a whole");
        assert_eq!(
            (0..batch.len()).map(|row| batch.value(0, row)).collect::<Vec<_>>(),
            (0..9).map(Value::Integer).collect::<Vec<_>>()
        );
    }
}
