//! Indexes made anew from the rows that were saved, sorted, in transactions of bounded size.

use std::ops::Bound;

use cairn_storage::{Store, Transaction, TreeId};

use super::uncertain::UncertainRows;
use crate::Result;
use crate::catalog::{Catalog, Index, Table};
use crate::dml::Entries;
use crate::exec::{EntrySorter, ExecContext};
use crate::inverted::{ListBuilder, note_key};
use crate::verify::expected;

/// Bytes put into the database per transaction.
const STEP: usize = 256 << 10;

/// Writes to a database in steps.
struct Steps<'a> {
    store: &'a Store,
    transaction: Option<Transaction>,
    bytes: usize,
}

impl Steps<'_> {
    fn next(&mut self, bytes: usize) -> Result<&Transaction> {
        self.bytes += bytes + 16;
        if self.bytes >= STEP {
            self.bytes = 0;
            self.commit()?;
        }
        Ok(match &mut self.transaction {
            Some(open) => open,
            none => none.insert(self.store.begin()?),
        })
    }

    fn commit(&mut self) -> Result<()> {
        Ok(self.transaction.take().map_or(Ok(()), |transaction| transaction.commit(None))?)
    }
}

/// Fills the table's indexes; returns how many rows it has. Rows that are not as unique as an index wants them are taken
/// out of the table, all but the first.
pub(super) fn build(
    store: &Store,
    (table, catalog): (&Table, &Catalog),
    context: &ExecContext,
    apart: &mut UncertainRows<'_>,
) -> Result<u64> {
    let mut steps = Steps { store, transaction: None, bytes: 0 };
    let mut duplicates = Vec::new();
    for index in &table.indexes {
        clear(&mut steps, context, index.tree)?;
        let entries = expected((table, index), catalog, context)?;
        match index.is_inverted() {
            true => fill_inverted(&mut steps, entries, index)?,
            false => fill(&mut steps, entries, index, &mut duplicates)?,
        }
    }
    steps.commit()?;
    duplicates.sort_unstable();
    duplicates.dedup();
    duplicates.iter().try_for_each(|key| take_out((store, context), (table, catalog), key, apart))?;
    count(store, table)
}

/// Indexes that are not known to be such were saved like tables.
fn clear(steps: &mut Steps<'_>, context: &ExecContext, tree: TreeId) -> Result<()> {
    let mut cursor = context.reader.cursor(tree, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, _)) = cursor.next()? {
        steps.next(key.len())?.delete(tree, key)?;
    }
    Ok(())
}

fn fill(steps: &mut Steps<'_>, entries: EntrySorter, index: &Index, duplicates: &mut Vec<Vec<u8>>) -> Result<()> {
    let mut last = Vec::new();
    entries.for_each(|entry, row_key| {
        // Only entries of unique indexes without NULL have values; only these can be there twice.
        if !row_key.is_empty() {
            if last == entry {
                duplicates.push(row_key.to_vec());
                return Ok(());
            }
            last.clear();
            last.extend_from_slice(entry);
        }
        Ok(steps.next(entry.len() + row_key.len())?.put(index.tree, entry, row_key)?)
    })
}

fn fill_inverted(steps: &mut Steps<'_>, items: EntrySorter, index: &Index) -> Result<()> {
    let mut lists = ListBuilder::default();
    let mut put = |key: &[u8], list: &[u8]| Ok(steps.next(key.len() + list.len())?.put(index.tree, key, list)?);
    items.for_each(|item, row_key| lists.add(item, row_key, &mut put))?;
    lists.finish(&mut put)
}

/// Removes a row, and those entries of indexes that are its own.
fn take_out(
    (store, context): (&Store, &ExecContext),
    (table, catalog): (&Table, &Catalog),
    key: &[u8],
    apart: &mut UncertainRows<'_>,
) -> Result<()> {
    let transaction = store.begin()?;
    let Some(value) = transaction.reader().get(table.tree, key)? else { return Ok(()) };
    apart.push(table, key, &value, "another row has the same values in a unique index", None)?;
    transaction.delete(table.tree, key)?;
    for index in &table.indexes {
        let mut entries = Entries::of(table, index, catalog)?;
        if index.is_inverted() {
            entries.each_of_row(key, &value, context, |item, row_key| {
                let mut note = Vec::new();
                let value = note_key(item, row_key, false, &mut note);
                Ok(transaction.put(index.tree, &note, value)?)
            })?;
            continue;
        }
        if let Some((entry, row_key)) = entries.of_row(key, &value, context)?
            && transaction.reader().get(index.tree, entry)?.as_deref() == Some(row_key)
        {
            transaction.delete(index.tree, entry)?;
        }
    }
    Ok(transaction.commit(None)?)
}

fn count(store: &Store, table: &Table) -> Result<u64> {
    let snapshot = store.snapshot()?;
    let mut cursor = snapshot.reader().cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    let mut rows = 0;
    while cursor.next()?.is_some() {
        rows += 1;
    }
    Ok(rows)
}
