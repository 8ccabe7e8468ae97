//! The catalog of a salvaged database: entries that do not decode and references to what is missing go; the trees that the
//! others name are there; trees that nobody names are kept apart; sequences whose value is lost go on behind the rows.

use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::{Loss, Store, TreeId};

use super::report::Salvaged;
use super::uncertain::UncertainRows;
use super::words::quoted;
use crate::api::Database;
use crate::catalog::{
    Catalog, CatalogStore, Table, check_entry, decode_table_entry, followed_tree_of, load, load_types, system_trees,
};
use crate::change_feed::remove_all;
use crate::state::Transaction;
use crate::{Error, Result};

const DAMAGED: &str = "a definition that can not be read";

/// Makes the catalog one that can be loaded.
pub(super) fn repair(store: &Store, report: &mut Salvaged, apart: &mut UncertainRows<'_>) -> Result<()> {
    let transaction = Transaction::new(store.begin()?, None)?;
    let mut tables: Vec<Table> = Vec::new();
    let mut damaged: Vec<Vec<u8>> = Vec::new();
    {
        let snapshot = store.snapshot()?;
        let types = load_types(snapshot.reader(), true)?;
        let mut cursor = snapshot.reader().cursor(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded)?;
        while let Some((key, value)) = cursor.next()? {
            match check_entry(key, value, &types) {
                Ok(()) => tables.extend(decode_table_entry(key, value, &types)),
                // Everything has the format of an older library: nothing is damaged, and nothing can be done here.
                Err(error) if error.sqlstate() == crate::SqlState::FEATURE_NOT_SUPPORTED => return Err(error),
                Err(error) => {
                    report.notes.push(format!("{DAMAGED}: {}", error.message()));
                    apart.push_unknown(TreeId::CATALOG, key, value, DAMAGED, None)?;
                    damaged.push(key.to_vec());
                }
            }
        }
    }
    for key in damaged {
        transaction.delete(TreeId::CATALOG, &key)?;
    }
    if remove_all(&transaction)? {
        report.notes.push("change feeds are gone: ALTER TABLE ... SET (change_feed = on) begins them anew".to_owned());
        let catalog = CatalogStore::new(&transaction);
        for table in tables.iter_mut().filter(|table| table.feed.is_some()) {
            table.feed = None;
            catalog.put_table(table)?;
        }
    }
    forget_missing(&transaction, &tables, report)?;
    ensure_trees(&transaction, &tables)?;
    transaction.commit()?;
    forget_statistics(store, report)
}

/// Takes away foreign keys whose table is not there.
fn forget_missing(transaction: &Transaction, tables: &[Table], report: &mut Salvaged) -> Result<()> {
    let catalog = CatalogStore::new(transaction);
    for table in tables {
        let is_there = |id| tables.iter().any(|table| table.id == id);
        let mut whole = table.clone();
        whole.foreign_keys.retain(|key| is_there(key.referenced_table));
        if whole.foreign_keys.len() < table.foreign_keys.len() {
            report.notes.push(format!("{}: foreign keys to tables whose definitions are lost are gone", table.name));
            catalog.put_table(&whole)?;
        }
    }
    Ok(())
}

/// Where the list of trees is lost, trees without rows are.
fn ensure_trees(transaction: &Transaction, tables: &[Table]) -> Result<()> {
    let indexes = tables.iter().flat_map(|table| table.indexes.iter().map(|index| index.tree));
    let system = system_trees(transaction.reader().database())?;
    let followed = followed_tree_of(transaction.reader().database())?;
    let system = system.into_iter().flat_map(|trees| [trees.statistics, trees.sequences]).chain(followed);
    for tree in tables.iter().map(|table| table.tree).chain(indexes).chain(system) {
        transaction.database().ensure_tree(tree)?;
    }
    Ok(())
}

/// Statistics that do not decode would keep the catalog from being loaded.
fn forget_statistics(store: &Store, report: &mut Salvaged) -> Result<()> {
    let snapshot = store.snapshot()?;
    let (Err(error), Some(trees)) = (load(snapshot.reader()), system_trees(snapshot.reader())?) else { return Ok(()) };
    report.notes.push(format!("statistics of tables are lost ({}); ANALYZE takes them anew", error.message()));
    let transaction = store.begin()?;
    let mut cursor = snapshot.reader().cursor(trees.statistics, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, _)) = cursor.next()? {
        transaction.delete(trees.statistics, key)?;
    }
    transaction.commit(None).map_err(Error::from)
}

/// Keeps apart what lies in trees that no table has, and removes the trees.
pub(super) fn unknown_trees(store: &Store, catalog: &Catalog, apart: &mut UncertainRows<'_>) -> Result<()> {
    let snapshot = store.snapshot()?;
    let system = system_trees(snapshot.reader())?;
    let followed = followed_tree_of(snapshot.reader())?;
    let of_system = |tree| {
        followed == Some(tree) || system.is_some_and(|trees| [trees.statistics, trees.sequences].contains(&tree))
    };
    let of_table =
        |table: &Arc<Table>, tree| table.tree == tree || table.indexes.iter().any(|index| index.tree == tree);
    for tree in snapshot.trees() {
        if tree == TreeId::CATALOG || of_system(tree) || catalog.tables().any(|table| of_table(table, tree)) {
            continue;
        }
        let mut cursor = snapshot.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded)?;
        while let Some((key, value)) = cursor.next()? {
            apart.push_unknown(tree, key, value, "no table has it: it was dropped, or its definition is lost", None)?;
        }
        let transaction = store.begin()?;
        transaction.drop_tree(tree)?;
        transaction.commit(None)?;
    }
    Ok(())
}

/// Sequences of columns go on behind the greatest value, where their own value may be lost.
pub(super) fn repair_sequences(
    database: &Database,
    catalog: &Catalog,
    losses: &[Loss],
    report: &mut Salvaged,
) -> Result<()> {
    let connection = database.connect()?;
    let trees = system_trees(database.shared.store.snapshot()?.reader())?;
    if !trees.is_some_and(|trees| losses.iter().any(|loss| loss.tree == trees.sequences)) {
        return Ok(());
    }
    for sequence in catalog.sequences() {
        let owner = sequence.owner.and_then(|(table, column)| {
            let table = catalog.table_by_id(table)?;
            Some((table, table.columns.get(column)?))
        });
        let Some((table, column)) = owner else {
            report
                .notes
                .push(format!("the value of sequence {} may be lost: see that it does not begin again", sequence.name));
            continue;
        };
        let greatest = if sequence.increment > 0 { "max" } else { "min" };
        let (table_name, column_name) = (catalog.table_name(table), quoted(&column.name));
        let query = format!("SELECT {greatest}({column_name})::bigint FROM {table_name}");
        let last: Option<i64> = connection.query_row(&query, (), |row| row.get(0))?;
        if let Some(last) = last.filter(|last| (sequence.min..=sequence.max).contains(last)) {
            connection.query_row(
                "SELECT setval($1, $2)",
                (catalog.shown(sequence.schema, &sequence.name), last),
                |row| row.get::<i64>(0),
            )?;
        }
        report.notes.push(format!(
            "the value of sequence {} was lost: it goes on behind the {greatest} of {}.{}",
            sequence.name, table.name, column.name
        ));
    }
    Ok(())
}
