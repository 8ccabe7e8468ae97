//! Rows as bytes.

use super::{DataType, Value};
use crate::{Error, Result};

/// How rows of certain column types lie in bytes, worked out once.
#[derive(Clone, Debug)]
pub struct RowLayout {
    types: Box<[DataType]>,
}

impl RowLayout {
    /// The layout of rows with these columns.
    pub fn new(types: &[DataType]) -> RowLayout {
        RowLayout { types: types.into() }
    }
    /// Appends the row's bytes.
    pub fn encode(&self, _values: &[Value], _out: &mut Vec<u8>) {}
    /// One column of a row.
    pub fn decode_column(&self, _bytes: &[u8], _column: usize) -> Result<Value> {
        Err(Error::unsupported("rows"))
    }
    /// Where a fixed-width column lies in a row that has no null bitmap.
    pub fn fixed_offset(&self, _column: usize) -> Option<usize> {
        None
    }
    /// A column's bytes as stored; `None`: NULL.
    pub fn column_bytes<'a>(&self, _bytes: &'a [u8], _column: usize) -> Option<&'a [u8]> {
        None
    }
    /// The column types.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }
}
