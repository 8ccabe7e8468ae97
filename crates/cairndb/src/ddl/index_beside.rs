//! CREATE INDEX, in a transaction of its own, beside writers.
//!
//! The index is built from a snapshot; what others changed since is taken over from newer and newer ones, each time less. Then the
//! transaction takes a turn: whoever would change the table waits, the last few changes are taken over, and the index is in the
//! catalog.
//!
//! - Until then the transaction has read nothing that others may not change: what it took from snapshots is right because every
//!   difference between them was followed. From then on it rests on the newest state, and has read the whole table and the whole
//!   catalog there. So a turn that is over too early is a conflict, and no more.
//! - Entries of a difference are taken away before others come: rows may have changed their places among each other. What is
//!   there twice after that is there twice in the newer snapshot.
//! - A table that somebody alters meanwhile is begun with again, as after any conflict.
//! - Nothing is left where it fails: the index is the transaction's own tree.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use cairn_storage::{Error as StorageError, Snapshot, TreeId};

use super::context::{Ddl, SchemaHost};
use super::create_index::described;
use super::execute::Done;
use super::index_build::{INTERRUPT_ROWS, build_index, duplicate_entry};
use super::names::Chosen;
use crate::catalog::{Catalog, Index, SystemTrees, Table, load};
use crate::command::CreateIndex;
use crate::dml::{DmlContext, Entries};
use crate::inverted::{ITEM_BYTES, note_key};
use crate::plan::OptimizerOptions;
use crate::sql::ParsedStatement;
use crate::state::Reader;
use crate::sync;
use crate::system;
use crate::{Error, Result, SqlState};

/// Others wait once taking over their changes took no longer than this, or was tried so often.
const SHORT: Duration = Duration::from_millis(5);
const ROUNDS: u32 = 50;

/// Runs CREATE INDEX; `None`: it is one that ends at once, or with an error.
pub(super) fn create_index_beside(
    parsed: &ParsedStatement,
    create: &CreateIndex,
    dml: &DmlContext<'_>,
    trees: SystemTrees,
    options: &OptimizerOptions,
    session: &dyn SchemaHost,
) -> Result<Option<Done>> {
    let mut state = State::newest(dml)?;
    if system::named(&create.table, &state.catalog).is_some() {
        return Ok(None);
    }
    let Some(table) = state.catalog.relation(&create.table).and_then(|relation| relation.table()).cloned() else {
        return Ok(None);
    };
    let is_taken = |name: &String| state.catalog.relation_in(table.schema, name).is_some();
    if table.schema.is_temporary() || create.name.as_ref().is_some_and(is_taken) {
        return Ok(None);
    }
    let Ok((mut index, named_by)) = described(create, &table, (&state.catalog, Some(&dml.exec.eval))) else {
        return Ok(None);
    };
    if create.name.is_none() {
        // For what is told while it is built.
        index.name = Chosen::default().relation(&state.catalog, &table, &named_by.join("_"), "idx");
    }
    index.tree = dml.tx.create_derived_tree(table.schema)?;
    build_index(dml, &state.rows(), (&table, &index), ("CREATE INDEX", 0))?;
    state = settle(dml, (&table, &index), state)?;
    dml.tx.database().go_on_from_newest().map_err(overtaken)?;
    dml.tx.database().reader().note_read(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    follow(dml, (&table, &index), &state, &state.next(dml, &table)?)?;
    let catalog = Arc::new(load(dml.tx.database().reader())?.under(dml.catalog.path()));
    refuse_altered(&table, &catalog)?;
    let dml = DmlContext { catalog: &catalog, ..*dml };
    let mut ddl = Ddl::new(parsed, &dml, trees, options, session)?;
    ddl.done.tag = ddl.put_index_built(create, (index, named_by))?;
    Ok(Some(ddl.done))
}

/// A state of the database.
struct State {
    snapshot: Snapshot,
    stamp: u64,
    catalog: Arc<Catalog>,
}

impl State {
    fn rows(&self) -> Reader {
        Reader::from(self.snapshot.reader())
    }

    fn newest(dml: &DmlContext<'_>) -> Result<State> {
        let snapshot = dml.store.snapshot()?;
        let stamp = snapshot.reader().tree_stamp(TreeId::CATALOG)?;
        let catalog = Arc::new(load(snapshot.reader())?.under(dml.catalog.path()));
        Ok(State { snapshot, stamp, catalog })
    }

    /// A newer one, in which the table is the same.
    fn next(&self, dml: &DmlContext<'_>, table: &Table) -> Result<State> {
        let snapshot = dml.store.snapshot()?;
        let stamp = snapshot.reader().tree_stamp(TreeId::CATALOG)?;
        if stamp == self.stamp {
            return Ok(State { snapshot, stamp, catalog: self.catalog.clone() });
        }
        let state = State::newest(dml)?;
        refuse_altered(table, &state.catalog)?;
        Ok(state)
    }
}

/// Takes over what others change until that is little, and they wait; the state that was come to.
fn settle(dml: &DmlContext<'_>, (table, index): (&Table, &Index), mut state: State) -> Result<State> {
    let mut rounds = 0;
    loop {
        let began = sync::now();
        let next = state.next(dml, table)?;
        follow(dml, (table, index), &state, &next)?;
        state = next;
        rounds += 1;
        let took = sync::since(began);
        if took > SHORT && rounds % ROUNDS != 0 {
            continue;
        }
        let gives_up = || dml.exec.check().is_err();
        if dml.tx.database().take_turn(&[table.tree, TreeId::CATALOG], took, &gives_up)? {
            return Ok(state);
        }
        dml.exec.check()?;
    }
}

/// Brings the index from one state of the table to a newer one.
fn follow(dml: &DmlContext<'_>, (table, index): (&Table, &Index), older: &State, newer: &State) -> Result<()> {
    let mut of_old = Entries::kept(table, index, dml.catalog)?;
    let mut of_new = Entries::of(table, index, dml.catalog)?;
    let mut changes = |is_coming: bool| {
        each_change(dml, table.tree, older, newer, |key, old, new| {
            let old = old.map(|row| of_old.of_row(key, row, dml.exec)).transpose()?.flatten();
            let new = new.map(|row| of_new.of_row(key, row, dml.exec)).transpose()?.flatten();
            if old == new {
                return Ok(());
            }
            if index.is_inverted() {
                let [old, new] = [old, new].map(|items| items.map_or(&[][..], |(items, _)| items));
                return note_changes(dml, index, key, is_coming, if is_coming { (new, old) } else { (old, new) });
            }
            match (old, new) {
                (Some((before, _)), _) if !is_coming => drop(dml.tx.delete(index.tree, before)?),
                (_, Some((after, []))) if is_coming => dml.tx.put(index.tree, after, &[])?,
                (_, Some((after, row_key))) if is_coming && !dml.tx.insert(index.tree, after, row_key)? => {
                    return Err(duplicate_entry(dml, &newer.rows(), (table, index), row_key));
                }
                _ => {}
            }
            Ok(())
        })
    };
    changes(false)?;
    changes(true)
}

/// Of an inverted index: notes of the items that a row has and had not, or had and has not.
fn note_changes(
    dml: &DmlContext<'_>,
    index: &Index,
    row_key: &[u8],
    has: bool,
    (items, others): (&[u8], &[u8]),
) -> Result<()> {
    let mut key = Vec::new();
    let others: Vec<&[u8]> = others.chunks_exact(ITEM_BYTES).collect();
    for item in items.chunks_exact(ITEM_BYTES).filter(|item| others.binary_search(item).is_err()) {
        let value = note_key(item, row_key, has, &mut key);
        dml.tx.put(index.tree, &key, value)?;
    }
    Ok(())
}

/// Every row that differs: its key, as it was and as it is.
fn each_change(
    dml: &DmlContext<'_>,
    tree: TreeId,
    older: &State,
    newer: &State,
    mut each: impl FnMut(&[u8], Option<&[u8]>, Option<&[u8]>) -> Result<()>,
) -> Result<()> {
    let (mut count, mut result) = (0u32, Ok(()));
    older.snapshot.diff(&newer.snapshot, tree, Bound::Unbounded, Bound::Unbounded, |key, old, new| {
        count = count.wrapping_add(1);
        if count.is_multiple_of(INTERRUPT_ROWS) {
            result = dml.exec.check();
        }
        if result.is_ok() {
            result = each(key, old, new);
        }
        result.is_ok()
    })?;
    result
}

/// Begins again where the table is another one by now.
fn refuse_altered(table: &Table, catalog: &Catalog) -> Result<()> {
    let is_same = |now: &Arc<Table>| (now.change, now.tree) == (table.change, table.tree);
    match catalog.table_by_id(table.id).filter(|now| is_same(now)) {
        Some(_) => Ok(()),
        None => Err(overtaken(StorageError::Conflict)),
    }
}

fn overtaken(error: StorageError) -> Error {
    match error {
        StorageError::Conflict => Error::new(SqlState::SERIALIZATION_FAILURE, "the table was altered meanwhile"),
        error => error.into(),
    }
}
