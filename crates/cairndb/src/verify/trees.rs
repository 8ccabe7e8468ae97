//! Checking a database: the storage engine's pages, then every index against its table, both ways at once: the entries that
//! the rows ask for, sorted, beside those that the index has.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::Reader;

use crate::api::Shared;
use crate::bind::{BoundGroups, bound_groups};
use crate::catalog::{Catalog, Index, Table, TableLayout, load};
use crate::dml::Entries;
use crate::dml::row::{BatchRow, LentRow, group_entry};
use crate::exec::{self, EntrySorter, ExecContext};
use crate::inverted::Postings;
use crate::plan::{OptimizerOptions, optimize};
use crate::types::EvalContext;
use crate::{Error, Result};

/// What a verification looked at.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (a int PRIMARY KEY, b int); CREATE INDEX ON t (b); INSERT INTO t VALUES (1, 2)")?;
/// let found = db.verify()?;
/// assert_eq!((found.indexes, found.index_entries), (1, 1));
/// assert!(found.trees > 1 && found.pages > 1 && found.entries > 1);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Trees, and the pages and entries in them.
    pub trees: u64,
    /// Pages of trees and long values.
    pub pages: u64,
    /// Entries of leaves.
    pub entries: u64,
    /// Free pages.
    pub free_pages: u64,
    /// Indexes that were compared with their tables.
    pub indexes: u64,
    /// Entries of these.
    pub index_entries: u64,
}

/// Checks the newest state.
pub(crate) fn verify(shared: &Shared) -> Result<Verified> {
    let cairn_storage::Verified { trees, pages, entries, free_pages, .. } = shared.store.verify()?;
    let mut found = Verified { trees, pages, entries, free_pages, ..Verified::default() };
    let snapshot = shared.store.snapshot()?;
    let reader = snapshot.reader();
    let mut context = ExecContext::new(reader.into(), Arc::new(EvalContext::now()));
    context.spill = shared.spill_space();
    let catalog = load(reader)?;
    for table in catalog.tables() {
        match table.is_kept_by_commits() {
            true => check_groups(table, &catalog, &context)?,
            false => check_rows(reader, table, &TableLayout::new(table))?,
        }
        for index in &table.indexes {
            found.indexes += 1;
            found.index_entries += check_index((table, index), &catalog, &context)?;
        }
    }
    Ok(found)
}

/// Whether every row can be read, and lies under its own key.
fn check_rows(reader: &Reader, table: &Table, layout: &TableLayout) -> Result<()> {
    let mut expected = Vec::new();
    let mut cursor = reader.cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, value)) = cursor.next()? {
        let row = layout.decode(key, value)?;
        expected.clear();
        layout.encode_key(&row, &mut expected);
        if !layout.has_row_numbers() && expected != key {
            return Err(corrupt(format!("a row of table \"{}\" lies under the key of another", table.name)));
        }
    }
    Ok(())
}

/// Whether a view that commits keep has the groups that its table's rows ask for.
fn check_groups(view: &Arc<Table>, catalog: &Catalog, context: &ExecContext) -> Result<()> {
    if view.refuse_unpopulated().is_err() {
        return Ok(());
    }
    let BoundGroups { groups, .. } = &*bound_groups(view, catalog)?;
    let other = || {
        let message = format!("the groups of materialized view \"{}\" are not those of its table's rows", view.name);
        corrupt(message).with_hint("Say REFRESH MATERIALIZED VIEW, which makes them anew.")
    };
    let (mut key, mut value, mut expected) = (Vec::new(), Vec::new(), 0);
    let plan = Arc::new(optimize(groups.states()?, catalog, &OptimizerOptions::default())?);
    let mut stream = exec::execute(plan, context.clone())?;
    while let Some(batch) = stream.next_batch()? {
        for row in 0..batch.len() {
            let row = BatchRow { columns: batch.columns(), row };
            group_entry(groups, |at| row.copy(at), &mut key, &mut value);
            if !context.reader.get_with(view.tree, &key, |found| found == value)?.unwrap_or(false) {
                return Err(other());
            }
            expected += 1;
        }
    }
    let mut found = 0u64;
    let mut cursor = context.reader.cursor(view.tree, Bound::Unbounded, Bound::Unbounded)?;
    while cursor.next()?.is_some() {
        found += 1;
    }
    if found == expected { Ok(()) } else { Err(other()) }
}

/// How many entries the index has, if they are those that its table's rows ask for.
fn check_index((table, index): (&Table, &Index), catalog: &Catalog, context: &ExecContext) -> Result<u64> {
    if index.is_inverted() {
        return check_inverted((table, index), catalog, context);
    }
    let mut entries = 0;
    let mut cursor = context.reader.cursor(index.tree, Bound::Unbounded, Bound::Unbounded)?;
    expected((table, index), catalog, context)?.for_each(|entry, row_key| {
        entries += 1;
        let order = cursor.next()?.map(|(key, value)| key.cmp(entry).then_with(|| value.cmp(row_key)));
        match order {
            Some(Ordering::Equal) => Ok(()),
            Some(Ordering::Less) => Err(too_many(table, index)),
            Some(Ordering::Greater) | None => Err(too_few(table, index)),
        }
        .map_err(|error| repairable(error, index))
    })?;
    match cursor.next()? {
        Some(_) => Err(repairable(too_many(table, index), index)),
        None => Ok(entries),
    }
}

/// As `check_index`, of an inverted one: pairs of an item and a row.
fn check_inverted((table, index): (&Table, &Index), catalog: &Catalog, context: &ExecContext) -> Result<u64> {
    let mut entries = 0;
    let mut found = Postings::all(&context.reader, index.tree)?;
    let mut place = Vec::new();
    expected((table, index), catalog, context)?.for_each(|item, row_key| {
        entries += 1;
        place.clear();
        place.extend_from_slice(item);
        place.extend_from_slice(row_key);
        match found.next()?.then(|| found.place().cmp(&place)) {
            Some(Ordering::Equal) => Ok(()),
            Some(Ordering::Less) => Err(repairable(too_many(table, index), index)),
            Some(Ordering::Greater) | None => Err(repairable(too_few(table, index), index)),
        }
    })?;
    match found.next()? {
        true => Err(repairable(too_many(table, index), index)),
        false => Ok(entries),
    }
}

/// The entries that an index should have, by the rows of its table.
pub(crate) fn expected(
    (table, index): (&Table, &Index),
    catalog: &Catalog,
    context: &ExecContext,
) -> Result<EntrySorter> {
    let mut entries = Entries::of(table, index, catalog)?;
    let mut sorter = EntrySorter::new(context);
    let mut cursor = context.reader.cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, value)) = cursor.next()? {
        entries.each_of_row(key, value, context, |entry, row_key| sorter.add(entry, row_key))?;
    }
    Ok(sorter)
}

fn corrupt(message: String) -> Error {
    Error::damaged(message)
}

fn too_few(table: &Table, index: &Index) -> Error {
    corrupt(format!("index \"{}\" lacks the entry of a row of table \"{}\"", index.name, table.name))
}

fn too_many(table: &Table, index: &Index) -> Error {
    corrupt(format!("index \"{}\" has an entry that no row of table \"{}\" asks for", index.name, table.name))
}

fn repairable(error: Error, index: &Index) -> Error {
    let what = if index.constraint { "the constraint" } else { "the index" };
    error.with_hint(format!("Drop {what} and create it again."))
}

#[cfg(test)]
mod tests {
    use crate::Database;
    use crate::catalog::Index;

    fn database() -> (Database, Index) {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        connection
            .execute_script(
                "CREATE TABLE t (a int PRIMARY KEY, b text); CREATE INDEX i ON t (b);
                 INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 100) g",
            )
            .unwrap();
        let index = Index::clone(&connection.catalog().unwrap().table("t").unwrap().indexes[0]);
        (database, index)
    }

    #[test]
    fn an_index_that_agrees_with_its_table_is_right() {
        let (database, _) = database();
        let found = database.verify().unwrap();
        assert_eq!((found.indexes, found.index_entries), (1, 100));
    }

    #[test]
    fn entries_that_are_missing_or_too_many_are_told() {
        for is_missing in [true, false] {
            let (database, index) = database();
            let store = &database.shared.store;
            let transaction = store.begin().unwrap();
            let mut cursor = transaction
                .reader()
                .cursor(index.tree, std::ops::Bound::Unbounded, std::ops::Bound::Unbounded)
                .unwrap();
            let (key, value) = cursor.next().unwrap().map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap();
            drop(cursor);
            match is_missing {
                true => assert!(transaction.delete(index.tree, &key).unwrap()),
                false => transaction.put(index.tree, &[&key[..], b"x"].concat(), &value).unwrap(),
            }
            transaction.commit(None).unwrap();
            let message = database.verify().unwrap_err().to_string();
            let expected = match is_missing {
                true => "index \"i\" lacks the entry of a row of table \"t\"",
                false => "index \"i\" has an entry that no row of table \"t\" asks for",
            };
            assert_eq!(message, expected);
        }
    }
}
