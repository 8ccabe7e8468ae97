//! Filling an index of a table that has rows: its entries are sorted and appended, which takes a fraction of the time
//! that inserting them one by one does, and leaves full pages.

use std::ops::Bound;
use std::sync::Arc;

use super::context::Ddl;
use crate::catalog::{Index, Table};
use crate::dml::{DmlContext, Entries};
use crate::exec::EntrySorter;
use crate::inverted::ListBuilder;
use crate::plan::estimated_rows;
use crate::state::Reader;
use crate::system::oid_of;
use crate::types::{Built, RunningBuild};
use crate::{Error, Result, SqlState};

/// How often a build looks whether it is to stop.
pub(super) const INTERRUPT_ROWS: u32 = 1024;

impl Ddl<'_> {
    /// Fills an empty index from the table's rows; SQLSTATE 23505 where it is unique and they are not.
    pub(super) fn build_index(&self, table: &Table, index: &Index) -> Result<()> {
        let known =
            self.catalog.table_by_id(table.id).and_then(|table| table.indexes.iter().find(|of| of.id == index.id));
        let (command, id) = known.map_or(("CREATE INDEX", 0), |known| ("REINDEX", oid_of(known.id)));
        self.calling_rows(|dml| build_index(dml, dml.tx.reader(), (table, index), (command, id)))
    }
}

/// Fills an empty index in the transaction from the table's rows in another state, or its own. `told`: what is done, and the number of
/// an index that was there before.
pub(super) fn build_index(
    dml: &DmlContext<'_>,
    rows: &Reader,
    (table, index): (&Table, &Index),
    told: (&'static str, i64),
) -> Result<()> {
    let build = Building { dml, rows, table, index, running: listed(dml, rows, table, told)? };
    match index.is_inverted() {
        true => build.inverted(),
        false => build.ordered(),
    }
}

/// Tells of the build for as long as it runs.
fn listed(
    dml: &DmlContext<'_>,
    rows: &Reader,
    table: &Table,
    (command, index): (&'static str, i64),
) -> Result<RunningBuild> {
    let builds = dml.exec.eval.channels.as_ref().map(|session| session.builds()).transpose()?;
    let rows = estimated_rows(&Arc::new(table.clone()), rows)? as u64;
    Ok(builds.unwrap_or_default().begin(Built { command, table: oid_of(table.id), index, rows }))
}

/// An index that is being built.
struct Building<'a> {
    dml: &'a DmlContext<'a>,
    rows: &'a Reader,
    table: &'a Table,
    index: &'a Index,
    running: RunningBuild,
}

impl Building<'_> {
    fn ordered(&self) -> Result<()> {
        let (dml, table, index) = (self.dml, self.table, self.index);
        if index.is_deferrable() {
            self.refuse_duplicates(&index.immediate())?;
        }
        let mut last = Vec::new();
        self.each_entry(index, |entry, row_key| {
            // Only entries of unique indexes without NULL have values; only these can be there twice.
            if !row_key.is_empty() {
                if last == entry {
                    return Err(duplicate_entry(dml, self.rows, (table, index), row_key));
                }
                last.clear();
                last.extend_from_slice(entry);
            }
            Ok(dml.tx.put(index.tree, entry, row_key)?)
        })
    }

    /// SQLSTATE 23505 where two rows have the same key in a unique index.
    fn refuse_duplicates(&self, index: &Index) -> Result<()> {
        let mut last = Vec::new();
        self.each_entry(index, |entry, row_key| {
            if !row_key.is_empty() && last == entry {
                return Err(duplicate_entry(self.dml, self.rows, (self.table, index), row_key));
            }
            last.clear();
            last.extend_from_slice(entry);
            Ok(())
        })
    }

    /// Items with their rows become lists.
    fn inverted(&self) -> Result<()> {
        let mut lists = ListBuilder::default();
        let mut put = |key: &[u8], list: &[u8]| Ok(self.dml.tx.put(self.index.tree, key, list)?);
        self.each_entry(self.index, |item, row_key| lists.add(item, row_key, &mut put))?;
        lists.finish(&mut put)
    }

    /// The entries that the rows make in an index, in order.
    fn each_entry(&self, index: &Index, mut each: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let mut done = 0;
        self.sorted_entries(index)?.for_each(|entry, row_key| {
            each(entry, row_key)?;
            done += 1;
            self.running.wrote(done);
            Ok(())
        })
    }

    fn sorted_entries(&self, index: &Index) -> Result<EntrySorter> {
        let exec = self.dml.exec;
        let mut entries = Entries::of(self.table, index, self.dml.catalog)?;
        let mut sorter = EntrySorter::new(exec);
        let mut cursor = self.rows.cursor(self.table.tree, Bound::Unbounded, Bound::Unbounded)?;
        let (mut read, mut made) = (0u64, 0);
        self.running.begin();
        while let Some((key, value)) = cursor.next()? {
            if read.is_multiple_of(INTERRUPT_ROWS.into()) {
                exec.check()?;
            }
            entries.each_of_row(key, value, exec, |entry, row_key| {
                made += 1;
                sorter.add(entry, row_key)
            })?;
            read += 1;
            self.running.read(read);
        }
        self.running.read_all(made);
        Ok(sorter)
    }
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
