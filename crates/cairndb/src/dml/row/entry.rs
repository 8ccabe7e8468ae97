//! Index entries.

use super::Stop;
use crate::catalog::{Index, Table};
use crate::exec::Columns;
use crate::types::key;

/// An index entry.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(super) key: Vec<u8>,
    /// Unique and without NULL: its value is the row's key, and it must not be there yet.
    pub(super) exclusive: bool,
}

impl Entry {
    /// Writes the entry of a row over this one.
    pub(super) fn encode(
        &mut self,
        table: &Table,
        index: &Index,
        row: &(impl Columns<Stop> + ?Sized),
        row_key: &[u8],
    ) -> Result<(), Stop> {
        self.key.clear();
        self.exclusive = index.encode_entry_with(row_key, &mut self.key, |part, out| {
            let value = row.column(part.column)?;
            let data_type = table.columns[part.column].data_type;
            key::encode_ref(value.get(), data_type, part.descending, part.nulls_first, out);
            Ok::<_, Stop>(value.is_null())
        })?;
        Ok(())
    }

    /// The entry's value.
    pub(super) fn value<'k>(&self, row_key: &'k [u8]) -> &'k [u8] {
        if self.exclusive { row_key } else { &[] }
    }
}

/// Makes room for `count`; what there is beyond stays, with its memory, for who needs more.
#[inline]
pub(super) fn grow<T: Default>(buffers: &mut Vec<T>, count: usize) {
    if buffers.len() < count {
        buffers.resize_with(count, T::default);
    }
}
