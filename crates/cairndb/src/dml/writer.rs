//! Writes rows of one table together with their index entries.
//!
//! Only entries that change are written. A row whose bytes change in one short stretch is patched, so that the log
//! carries the stretch and not the row.

use cairn_storage::Transaction;

use super::constraints::duplicate_key;
use super::{DmlContext, Target};
use crate::catalog::{Index, row_number_key};
use crate::{Result, Value};

/// Which uniqueness a new row violates, and the key of the row that is there.
pub(crate) struct Duplicate {
    /// `None`: the primary key's; else the position of the index.
    pub(crate) index: Option<usize>,
    pub(crate) existing: Vec<u8>,
}

/// Reusable buffers over one table.
pub(crate) struct Writer<'a> {
    pub(crate) target: &'a Target,
    context: &'a DmlContext<'a>,
    entry: Vec<u8>,
    other_entry: Vec<u8>,
    row: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(target: &'a Target, context: &'a DmlContext<'a>) -> Writer<'a> {
        Writer { target, context, entry: Vec::new(), other_entry: Vec::new(), row: Vec::new() }
    }

    fn tx(&self) -> &'a Transaction {
        self.context.tx
    }

    /// The tree key for a new row: its primary key, or a fresh row number.
    pub(crate) fn new_key(&self, row: &[Value]) -> Result<Vec<u8>> {
        if self.target.layout.has_row_numbers() {
            let number = self.context.row_numbers.next(self.context.store, self.target.table.tree)?;
            return Ok(row_number_key(number).to_vec());
        }
        let mut key = Vec::new();
        self.target.layout.encode_key(row, &mut key);
        Ok(key)
    }

    /// The row that keeps `row` from being inserted under `key`, if any.
    pub(crate) fn find_duplicate(&mut self, key: &[u8], row: &[Value]) -> Result<Option<Duplicate>> {
        let table = &self.target.table;
        let reader = self.tx().reader();
        if !self.target.layout.has_row_numbers() && reader.get_with(table.tree, key, |_| ())?.is_some() {
            return Ok(Some(Duplicate { index: None, existing: key.to_vec() }));
        }
        for (position, index) in table.indexes.iter().enumerate().filter(|(_, index)| index.unique) {
            self.entry.clear();
            let complete = index.encode_columns(table, row, &mut self.entry);
            if !complete {
                continue;
            }
            if let Some(existing) = reader.get(index.tree, &self.entry)? {
                return Ok(Some(Duplicate { index: Some(position), existing }));
            }
        }
        Ok(None)
    }

    /// The key of the row that has the same key in the unique index at `position`.
    pub(super) fn find_in_index(&mut self, position: usize, row: &[Value]) -> Result<Option<Vec<u8>>> {
        let table = &self.target.table;
        let Some(index) = table.indexes.get(position) else { return Ok(None) };
        self.entry.clear();
        let complete = index.encode_columns(table, row, &mut self.entry);
        if complete { Ok(self.tx().reader().get(index.tree, &self.entry)?) } else { Ok(None) }
    }

    /// Inserts a row under `key`; SQLSTATE 23505 where its key is taken.
    pub(crate) fn insert(&mut self, key: &[u8], row: &[Value]) -> Result<()> {
        if let Some(duplicate) = self.find_duplicate(key, row)? {
            return Err(self.duplicate_error(&duplicate, row));
        }
        self.insert_unchecked(key, row)
    }

    /// Inserts a row that [`Writer::find_duplicate`] found nothing against.
    pub(crate) fn insert_unchecked(&mut self, key: &[u8], row: &[Value]) -> Result<()> {
        self.put_row(key, row)?;
        let table = &self.target.table;
        for index in &table.indexes {
            self.entry.clear();
            let value = index.encode_entry(table, row, key, &mut self.entry);
            self.tx().put(index.tree, &self.entry, value)?;
        }
        Ok(())
    }

    fn put_row(&mut self, key: &[u8], row: &[Value]) -> Result<()> {
        self.row.clear();
        self.target.layout.encode_row(row, &mut self.row);
        Ok(self.tx().put(self.target.table.tree, key, &self.row)?)
    }

    pub(crate) fn duplicate_error(&self, duplicate: &Duplicate, row: &[Value]) -> crate::Error {
        let table = &self.target.table;
        match duplicate.index.and_then(|position| table.indexes.get(position)) {
            Some(index) => {
                let columns: Vec<usize> = index.columns.iter().map(|part| part.column).collect();
                duplicate_key(table, &index.name, &columns, row, self.context.exec)
            }
            None => {
                let name = table.primary_key_name.as_deref().unwrap_or(&table.name);
                duplicate_key(table, name, &table.primary_key, row, self.context.exec)
            }
        }
    }

    /// Deletes a row and its entries; whether it was there.
    pub(crate) fn delete(&mut self, key: &[u8], row: &[Value]) -> Result<bool> {
        let table = &self.target.table;
        if !self.tx().delete(table.tree, key)? {
            return Ok(false);
        }
        for index in &table.indexes {
            self.entry.clear();
            index.encode_entry(table, row, key, &mut self.entry);
            self.tx().delete(index.tree, &self.entry)?;
        }
        Ok(true)
    }

    /// Takes away what of the old row would be in the way of new keys: the row itself where its key changes, and
    /// changed entries of indexes. [`Writer::finish_update`] must follow for every row that this was called for.
    pub(crate) fn begin_update(&mut self, old_key: &[u8], old: &[Value], new_key: &[u8], new: &[Value]) -> Result<()> {
        let table = &self.target.table;
        if old_key != new_key {
            self.tx().delete(table.tree, old_key)?;
        }
        for index in &table.indexes {
            if self.entries_differ(index, old_key, old, new_key, new) {
                self.tx().delete(index.tree, &self.entry)?;
            }
        }
        Ok(())
    }

    /// Writes the new row and its changed entries; SQLSTATE 23505 where a key is taken.
    pub(crate) fn finish_update(&mut self, old_key: &[u8], old: &[Value], new_key: &[u8], new: &[Value]) -> Result<()> {
        let table = &self.target.table;
        if old_key == new_key {
            self.overwrite(new_key, new)?;
        } else {
            if self.tx().reader().get_with(table.tree, new_key, |_| ())?.is_some() {
                let duplicate = Duplicate { index: None, existing: Vec::new() };
                return Err(self.duplicate_error(&duplicate, new));
            }
            self.put_row(new_key, new)?;
        }
        for position in 0..table.indexes.len() {
            let index = &table.indexes[position];
            if self.entries_differ(index, old_key, old, new_key, new) {
                self.put_entry(position, new_key, new)?;
            }
        }
        Ok(())
    }

    /// Leaves the old entry's key in `entry` and the new one's in `other_entry`.
    fn entries_differ(&mut self, index: &Index, old_key: &[u8], old: &[Value], new_key: &[u8], new: &[Value]) -> bool {
        let table = &self.target.table;
        self.entry.clear();
        self.other_entry.clear();
        let old_value = index.encode_entry(table, old, old_key, &mut self.entry);
        let new_value = index.encode_entry(table, new, new_key, &mut self.other_entry);
        self.entry != self.other_entry || old_value != new_value
    }

    fn put_entry(&mut self, position: usize, key: &[u8], row: &[Value]) -> Result<()> {
        let table = &self.target.table;
        let index = &table.indexes[position];
        self.entry.clear();
        let value = index.encode_entry(table, row, key, &mut self.entry);
        // Only the entry of a unique index without NULL has a value; only it can be there already.
        if !value.is_empty() && self.tx().reader().get_with(index.tree, &self.entry, |_| ())?.is_some() {
            let duplicate = Duplicate { index: Some(position), existing: Vec::new() };
            return Err(self.duplicate_error(&duplicate, row));
        }
        Ok(self.tx().put(index.tree, &self.entry, value)?)
    }

    /// Replaces the row under a key that stays: by a patch where that is short, not at all where nothing changed.
    fn overwrite(&mut self, key: &[u8], row: &[Value]) -> Result<()> {
        self.row.clear();
        self.target.layout.encode_row(row, &mut self.row);
        let tree = self.target.table.tree;
        let new = &self.row;
        let stretch = self.tx().reader().get_with(tree, key, |old| changed_stretch(old, new))?.flatten();
        match stretch {
            Some(stretch) if stretch.is_empty() => Ok(()),
            Some(stretch) if stretch.len() * 2 <= new.len() => {
                Ok(self.tx().patch(tree, key, stretch.start, &new[stretch])?)
            }
            _ => Ok(self.tx().put(tree, key, new)?),
        }
    }
}

/// The bytes of `new` that differ, from the first to the last; `None`: the lengths differ.
pub(crate) fn changed_stretch(old: &[u8], new: &[u8]) -> Option<std::ops::Range<usize>> {
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
