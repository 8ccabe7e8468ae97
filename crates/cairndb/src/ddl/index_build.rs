//! Filling an index of a table that has rows: its entries are sorted and appended, which takes a fraction of the time
//! that inserting them one by one does, and leaves full pages.

use std::ops::Bound;

use super::context::Ddl;
use crate::catalog::{Index, Table, TableLayout};
use crate::dml::{DmlContext, key_detail};
use crate::exec::EntrySorter;
use crate::state::Reader;
use crate::{Error, Result, SqlState, Value};

/// How often a build looks whether it is to stop.
pub(super) const INTERRUPT_ROWS: u32 = 1024;

impl Ddl<'_> {
    /// Fills an empty index from the table's rows; SQLSTATE 23505 where it is unique and they are not.
    pub(super) fn build_index(&self, table: &Table, index: &Index) -> Result<()> {
        build_index(self.dml, self.dml.tx.reader(), table, index)
    }
}

/// Fills an empty index in the transaction from the table's rows in another state, or its own.
pub(super) fn build_index(dml: &DmlContext<'_>, rows: &Reader, table: &Table, index: &Index) -> Result<()> {
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

fn sorted_entries(dml: &DmlContext<'_>, rows: &Reader, table: &Table, index: &Index) -> Result<EntrySorter> {
    let mut entries = Entries::of(table, index);
    let (mut entry, mut sorter) = (Vec::new(), EntrySorter::new(dml.exec));
    let mut cursor = rows.cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    let mut count = 0u32;
    while let Some((key, value)) = cursor.next()? {
        count = count.wrapping_add(1);
        if count.is_multiple_of(INTERRUPT_ROWS) {
            dml.exec.check()?;
        }
        let row_key = entries.of_row(key, value, &mut entry)?;
        sorter.add(&entry, row_key)?;
    }
    Ok(sorter)
}

/// Makes index entries of stored rows.
pub(super) struct Entries<'a> {
    table: &'a Table,
    index: &'a Index,
    layout: TableLayout,
    columns: Vec<usize>,
    row: Vec<Value>,
}

impl<'a> Entries<'a> {
    pub(super) fn of(table: &'a Table, index: &'a Index) -> Entries<'a> {
        let row = vec![Value::Null; table.columns.len()];
        Entries { table, index, layout: TableLayout::new(table), columns: columns_of(index), row }
    }

    /// Writes the key of the row's entry over `out`; its value.
    pub(super) fn of_row<'k>(&mut self, key: &'k [u8], value: &[u8], out: &mut Vec<u8>) -> Result<&'k [u8]> {
        self.layout.decode_some(key, value, &self.columns, &mut self.row)?;
        out.clear();
        Ok(self.index.encode_entry(self.table, &self.row, key, out))
    }
}

/// SQLSTATE 23505. `row_key`: of one of the rows that are in each other's way.
pub(super) fn duplicate_entry(
    dml: &DmlContext<'_>,
    rows: &Reader,
    (table, index): (&Table, &Index),
    row_key: &[u8],
) -> Error {
    let layout = TableLayout::new(table);
    let row = rows.get(table.tree, row_key).map_err(Error::from);
    match row.and_then(|value| layout.decode(row_key, &value.unwrap_or_default())) {
        Ok(row) => not_unique(dml, table, &index.name, &columns_of(index), &row),
        Err(error) => error,
    }
}

/// SQLSTATE 23505 for an index that cannot be built.
pub(super) fn not_unique(dml: &DmlContext<'_>, table: &Table, index: &str, columns: &[usize], row: &[Value]) -> Error {
    let values = columns.iter().map(|&column| &row[column]);
    let message = format!("could not create unique index \"{index}\"");
    Error::new(SqlState::UNIQUE_VIOLATION, message)
        .with_detail(format!("{} is duplicated.", key_detail(table, columns, values, &dml.exec.eval)))
        .with_constraint(index)
}

fn columns_of(index: &Index) -> Vec<usize> {
    index.columns.iter().map(|part| part.column).collect()
}
