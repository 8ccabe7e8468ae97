//! What is worked out of a row's change before anything is written.

use std::ops::Range;

use crate::Value;
use crate::dml::row::Lookup;
use crate::dml::row::entry::Entry;

/// What is worked out of one row's change.
#[derive(Debug, Default)]
pub(crate) struct ChangeBuffers {
    /// The row as it was.
    pub(super) old: Vec<u8>,
    /// One per assignment; NULL where the value is lent.
    pub(super) values: Vec<Value>,
    /// The new values' bytes as rows have them, one after the other.
    pub(super) bytes: Vec<u8>,
    /// Where each assignment's lie; `None`: NULL.
    pub(super) ranges: Vec<Option<Range<usize>>>,
    /// Where in the row which of them go, for patching.
    pub(super) patches: Vec<(usize, Range<usize>)>,
    pub(super) row: Vec<u8>,
    /// The row's key from now on, where that can change.
    pub(super) new_key: Vec<u8>,
    pub(super) write: RowWrite,
    /// Old and new entries, at least one per index that the change looks at.
    pub(super) entries: Vec<(Entry, Entry)>,
    /// At least one per reference that the change looks at, and the old row's.
    pub(crate) lookups: Vec<Lookup>,
    pub(super) old_lookup: Lookup,
    /// There was such a row, whether it was changed or not.
    pub(super) is_there: bool,
}

impl ChangeBuffers {
    /// Whether there was such a row, be it changed or not.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there
    }

    /// About how many bytes it takes beside itself.
    pub(crate) fn memory_bytes(&self) -> usize {
        let entries = self.entries.len() * size_of::<(Entry, Entry)>();
        let values = self.values.len() * size_of::<Value>();
        entries + values + self.old.len() + self.bytes.len() + self.row.len() + self.new_key.len()
    }
}

/// How the row's bytes are to be changed.
#[derive(Debug, Default)]
pub(super) enum RowWrite {
    /// Write every value at its place.
    Patch,
    /// Write this stretch of the new row.
    Stretch(Range<usize>),
    /// Write the new row.
    #[default]
    Replace,
    /// Write the new row, under the new key.
    Move,
}

impl RowWrite {
    pub(super) fn is_move(&self) -> bool {
        matches!(self, RowWrite::Move)
    }
}

impl ChangeBuffers {
    /// The row's key once it is changed.
    pub(crate) fn key_after<'k>(&'k self, key: &'k [u8]) -> &'k [u8] {
        if self.write.is_move() { &self.new_key } else { key }
    }
}

/// The bytes of `new` that differ, from the first to the last; `None`: the lengths differ.
pub(super) fn changed_stretch(old: &[u8], new: &[u8]) -> Option<Range<usize>> {
    if old.len() != new.len() {
        return None;
    }
    let Some(first) = old.iter().zip(new).position(|(a, b)| a != b) else { return Some(0..0) };
    let last = old.iter().zip(new).rposition(|(a, b)| a != b).unwrap_or(first);
    Some(first..last + 1)
}

#[cfg(test)]
mod tests {
    use super::changed_stretch;

    #[test]
    fn the_changed_stretch_spans_first_to_last_difference() {
        assert_eq!(changed_stretch(b"abcdef", b"abXdYf"), Some(2..5));
        assert_eq!(changed_stretch(b"abc", b"abc"), Some(0..0));
        assert_eq!(changed_stretch(b"abc", b"ab"), None);
    }
}
