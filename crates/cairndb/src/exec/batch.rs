//! Some rows of a result, by column.

use std::sync::Arc;

use super::vector::Vector;
use crate::Value;

/// Rows by column. Columns are shared, never changed. All have `len` values.
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

    pub(crate) fn into_columns(self) -> Vec<Arc<Vector>> {
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

    /// About how many bytes the rows take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.columns.iter().map(|column| column.memory_bytes()).sum()
    }
}

/// A row number within a batch or a materialised result. [`super::rows`] keeps them in range.
#[inline]
pub(crate) fn row_number(row: usize) -> u32 {
    debug_assert!(row < u32::MAX as usize);
    row as u32
}
