//! Rows that are there.

use crate::{Result, Value};

/// Rows that are there, one behind the other.
#[derive(Default)]
pub(crate) struct FewRows {
    values: Vec<Value>,
    len: usize,
}

impl FewRows {
    pub(super) fn of(rows: Vec<Vec<Value>>) -> FewRows {
        FewRows { len: rows.len(), values: rows.into_iter().flatten().collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends a row with this many columns.
    #[inline]
    pub(crate) fn push(&mut self, width: usize, value: impl Fn(usize) -> Result<Value>) -> Result<()> {
        if self.values.capacity() == 0 {
            self.values.reserve_exact(width);
        }
        for column in 0..width {
            self.values.push(value(column)?);
        }
        self.len += 1;
        Ok(())
    }

    pub(super) fn add(&mut self, row: Vec<Value>) {
        self.values.extend(row);
        self.len += 1;
    }

    #[inline]
    pub(super) fn row(&self, at: usize) -> &[Value] {
        let width = self.values.len() / self.len.max(1);
        self.values.get(at * width..(at + 1) * width).unwrap_or(&[])
    }
}
