//! Filling an index of a table that has rows: its entries are sorted and appended, which takes a fraction of the time
//! that inserting them one by one does, and leaves full pages.

use std::ops::Bound;

use super::context::Ddl;
use crate::catalog::{Index, Table};
use crate::dml::{DmlContext, Entries};
use crate::exec::EntrySorter;
use crate::inverted::ListBuilder;
use crate::state::Reader;
use crate::{Error, Result, SqlState};

/// How often a build looks whether it is to stop.
pub(super) const INTERRUPT_ROWS: u32 = 1024;

impl Ddl<'_> {
    /// Fills an empty index from the table's rows; SQLSTATE 23505 where it is unique and they are not.
    pub(super) fn build_index(&self, table: &Table, index: &Index) -> Result<()> {
        self.calling_rows(|dml| build_index(dml, dml.tx.reader(), table, index))
    }
}

/// Fills an empty index in the transaction from the table's rows in another state, or its own.
pub(super) fn build_index(dml: &DmlContext<'_>, rows: &Reader, table: &Table, index: &Index) -> Result<()> {
    if index.is_inverted() {
        return build_inverted(dml, rows, table, index);
    }
    if index.is_deferrable() {
        refuse_duplicates(dml, rows, table, &index.immediate())?;
    }
    let mut last = Vec::new();
    sorted_entries(dml, rows, table, index)?.for_each(|entry, row_key| {
        // Only entries of unique indexes without NULL have values; only these can be there twice.
        if !row_key.is_empty() {
            if last == entry {
                return Err(duplicate_entry(dml, rows, (table, index), row_key));
            }
            last.clear();
            last.extend_from_slice(entry);
        }
        Ok(dml.tx.put(index.tree, entry, row_key)?)
    })
}

/// SQLSTATE 23505 where two rows have the same key in a unique index.
fn refuse_duplicates(dml: &DmlContext<'_>, rows: &Reader, table: &Table, index: &Index) -> Result<()> {
    let mut last = Vec::new();
    sorted_entries(dml, rows, table, index)?.for_each(|entry, row_key| {
        if !row_key.is_empty() && last == entry {
            return Err(duplicate_entry(dml, rows, (table, index), row_key));
        }
        last.clear();
        last.extend_from_slice(entry);
        Ok(())
    })
}

/// Items with their rows become lists.
fn build_inverted(dml: &DmlContext<'_>, rows: &Reader, table: &Table, index: &Index) -> Result<()> {
    let mut lists = ListBuilder::default();
    let mut put = |key: &[u8], list: &[u8]| Ok(dml.tx.put(index.tree, key, list)?);
    sorted_entries(dml, rows, table, index)?.for_each(|item, row_key| lists.add(item, row_key, &mut put))?;
    lists.finish(&mut put)
}

fn sorted_entries(dml: &DmlContext<'_>, rows: &Reader, table: &Table, index: &Index) -> Result<EntrySorter> {
    let mut entries = Entries::of(table, index, dml.catalog)?;
    let mut sorter = EntrySorter::new(dml.exec);
    let mut cursor = rows.cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    let mut count = 0u32;
    while let Some((key, value)) = cursor.next()? {
        count = count.wrapping_add(1);
        if count.is_multiple_of(INTERRUPT_ROWS) {
            dml.exec.check()?;
        }
        entries.each_of_row(key, value, dml.exec, |entry, row_key| sorter.add(entry, row_key))?;
    }
    Ok(sorter)
}

/// SQLSTATE 23505. `row_key`: of one of the rows that are in each other's way.
pub(super) fn duplicate_entry(
    dml: &DmlContext<'_>,
    rows: &Reader,
    (table, index): (&Table, &Index),
    row_key: &[u8],
) -> Error {
    let detail = || {
        let row = rows.get(table.tree, row_key)?.unwrap_or_default();
        Entries::of(table, index, dml.catalog)?.key_detail(row_key, &row, dml.exec)
    };
    detail().map_or_else(|error| error, |detail| not_unique(&index.name, &detail))
}

/// SQLSTATE 23505 for a unique index that cannot be built: there are several rows of this key.
pub(super) fn not_unique(index: &str, key: &str) -> Error {
    let message = format!("could not create unique index \"{index}\"");
    let detail = format!("{key} is duplicated.");
    Error::new(SqlState::UNIQUE_VIOLATION, message).with_detail(detail).with_constraint(index)
}
