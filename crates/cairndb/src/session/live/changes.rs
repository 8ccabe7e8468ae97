//! What differs between two durable states, as rows of tables: made once for all live queries that a step concerns.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::{Changed, KeyRanges, Snapshot, Step, TreeId};

use crate::Result;
use crate::catalog::Table;
use crate::exec::{ChangedReader, RowChanges, changed_rows, entry_row_key};
use crate::plan::ChangedRows;

/// Beyond so many entries, or bytes of them, queries are run again.
const ENTRIES: usize = 1 << 16;
const BYTES: usize = 16 << 20;

/// So many batches of changed rows are kept for others that read the same columns.
const KEPT: usize = 16;

/// What stood under a key, and what stands there now.
#[derive(Debug)]
struct ChangedEntry {
    key: Box<[u8]>,
    older: Option<Box<[u8]>>,
    newer: Option<Box<[u8]>>,
}

/// Columns of a table's changed rows, and the weight: `None` where no row differs in them.
type Rows = Option<Arc<RowChanges>>;

/// See the module.
pub(super) struct Changes {
    pub(super) older: Option<Snapshot>,
    pub(super) newer: Snapshot,
    trees: BTreeMap<TreeId, Vec<ChangedEntry>>,
    bytes: usize,
    entries: usize,
    /// Not all of them are here: too many, or not known.
    is_incomplete: bool,
    /// Of a few tables, by their columns.
    rows: RefCell<Vec<(TreeId, Vec<usize>, Rows)>>,
}

impl Changes {
    pub(super) fn of(step: &Step) -> Changes {
        Changes::none(step.older().cloned(), step.newer().clone())
    }

    fn none(older: Option<Snapshot>, newer: Snapshot) -> Changes {
        Changes {
            older,
            newer,
            trees: BTreeMap::new(),
            bytes: 0,
            entries: 0,
            is_incomplete: false,
            rows: RefCell::default(),
        }
    }

    /// What differs in these ranges, of what `is_told` asks for.
    ///
    /// # Errors
    ///
    /// `is_told`'s.
    pub(super) fn between(
        older: &Snapshot,
        newer: &Snapshot,
        ranges: &KeyRanges,
        is_told: &mut dyn FnMut(Changed<'_>) -> Result<bool>,
    ) -> Result<Changes> {
        let mut changes = Changes::none(Some(older.clone()), newer.clone());
        let mut failed = None;
        let found = older.each_difference(newer, ranges, &mut |changed| {
            match is_told(changed) {
                Ok(true) => changes.note(changed),
                Ok(false) => {}
                Err(error) => failed = Some(error),
            }
            failed.is_none() && !changes.is_incomplete
        });
        // What can not be told is found out by who reads it.
        changes.is_incomplete |= found.is_err();
        failed.map_or(Ok(changes), Err)
    }

    /// Nothing differs.
    pub(super) fn are_none(&self) -> bool {
        self.entries == 0 && self.is_complete()
    }

    pub(super) fn note(&mut self, changed: Changed<'_>) {
        let Changed::Entry(tree, key, older, newer) = changed else {
            self.is_incomplete = true;
            return;
        };
        self.entries += 1;
        self.bytes += key.len() + older.map_or(0, <[u8]>::len) + newer.map_or(0, <[u8]>::len);
        self.is_incomplete |= self.entries > ENTRIES || self.bytes > BYTES;
        if !self.is_incomplete {
            let entry = ChangedEntry { key: key.into(), older: older.map(Box::from), newer: newer.map(Box::from) };
            self.trees.entry(tree).or_default().push(entry);
        }
    }

    /// Something could not be told.
    pub(super) fn note_incomplete(&mut self) {
        self.is_incomplete = true;
    }

    /// Whether all that was told is here.
    pub(super) fn is_complete(&self) -> bool {
        !self.is_incomplete && self.older.is_some()
    }

    /// The rows of a table that differ in these columns, as they were with weight -1 and as they are with weight 1: all that
    /// were told, for who is interested in all of the table. `None`: it can not be told which they are.
    pub(super) fn all_rows(&self, of: &ChangedRows, reader: &ChangedReader) -> Result<Option<Rows>> {
        let ChangedRows { table, columns, .. } = of;
        let is_it = |(tree, of, _): &&(TreeId, Vec<usize>, Rows)| *tree == table.tree && of == columns;
        if let Some((_, _, known)) = self.rows.borrow().iter().find(is_it) {
            return Ok(Some(known.clone()));
        }
        let Some(more) = self.found_by_indexes(table, &|_, _| true)? else { return Ok(None) };
        let rows =
            changed_rows(reader, self.entries_of(table).iter().chain(&more).map(ChangedEntry::parts))?.map(Arc::new);
        let mut known = self.rows.borrow_mut();
        if known.len() < KEPT {
            known.push((table.tree, columns.to_vec(), rows.clone()));
        }
        Ok(Some(rows))
    }

    /// As `all_rows`, for who is interested in some keys of the table and its indexes. Those rows that he heard of by an index
    /// are among what he read: their keys are put into `read`.
    pub(super) fn rows_within(
        &self,
        ranges: &KeyRanges,
        table: &Arc<Table>,
        reader: &ChangedReader,
        read: &mut KeyRanges,
    ) -> Result<Option<Rows>> {
        let is_told = |tree, key: &[u8]| ranges.hold(tree, key);
        let Some(more) = self.found_by_indexes(table, &is_told)? else { return Ok(None) };
        for entry in &more {
            read.add(table.tree, Bound::Included(&entry.key), Bound::Included(&entry.key));
        }
        let own = self.entries_of(table).iter().filter(|entry| is_told(table.tree, &entry.key));
        Ok(Some(changed_rows(reader, own.chain(&more).map(ChangedEntry::parts))?.map(Arc::new)))
    }

    fn entries_of(&self, table: &Table) -> &[ChangedEntry] {
        self.trees.get(&table.tree).map_or(&[], Vec::as_slice)
    }

    /// Rows of which only entries of indexes were told. `None`: it can not be known which.
    fn found_by_indexes(
        &self,
        table: &Arc<Table>,
        is_told: &dyn Fn(TreeId, &[u8]) -> bool,
    ) -> Result<Option<Vec<ChangedEntry>>> {
        let Some(older) = &self.older else { return Ok(None) };
        let own = self.entries_of(table).iter().filter(|entry| is_told(table.tree, &entry.key));
        let mut known: Vec<&[u8]> = own.map(|entry| &*entry.key).collect();
        known.sort_unstable();
        let mut found = BTreeMap::<Vec<u8>, ChangedEntry>::new();
        for index in &table.indexes {
            let Some(entries) = self.trees.get(&index.tree) else { continue };
            for entry in entries.iter().filter(|entry| is_told(index.tree, &entry.key)) {
                if index.inverted.is_some() {
                    return Ok(None);
                }
                for value in [&entry.older, &entry.newer].into_iter().flatten() {
                    let key = entry_row_key(table, index, &entry.key, value)?;
                    if known.binary_search(&key).is_err() && !found.contains_key(key) {
                        let read = |state: &Snapshot| -> Result<Option<Box<[u8]>>> {
                            Ok(state.reader().get(table.tree, key)?.map(Vec::into_boxed_slice))
                        };
                        let (older, newer) = (read(older)?, read(&self.newer)?);
                        found.insert(key.to_vec(), ChangedEntry { key: key.into(), older, newer });
                    }
                }
            }
        }
        Ok(Some(found.into_values().collect()))
    }
}

impl ChangedEntry {
    fn parts(&self) -> (&[u8], Option<&[u8]>, Option<&[u8]>) {
        (&self.key, self.older.as_deref(), self.newer.as_deref())
    }
}
