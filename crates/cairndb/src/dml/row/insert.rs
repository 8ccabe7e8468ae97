//! A row is inserted.

use std::sync::Arc;

use cairn_storage::Store;

use super::affected::{Affected, RowReturning};
use super::derive::derive;
use super::entry::{Entry, grow};
use super::{
    Audience, ChangeBuffers, Conflict, Env, Lookup, Proposed, RowObserver, Rules, Stop, Target, Touched, Trees,
    Violation, Way, exists,
};
use crate::bind::Callees;
use crate::catalog::{Catalog, Table, TriggerEvent};
use crate::plan::{Expr, Held, ViewCheck};
use crate::state::RowNumbers;
use crate::{Result, Value};

/// Where tables without primary key get their row numbers.
pub(crate) type Numbers<'a> = (&'a Store, &'a RowNumbers);

/// INSERT of a row into a table.
#[derive(Debug)]
pub(crate) struct RowInsert {
    pub(crate) rules: Rules,
    pub(super) conflict: Option<Conflict>,
    returning: Option<RowReturning>,
    pub(crate) audience: Audience,
}

/// A row ready to be written.
#[derive(Debug, Default)]
pub(crate) struct InsertBuffers {
    pub(crate) key: Vec<u8>,
    row: Vec<u8>,
    /// One per index of the table, at least; as all lists of buffers here.
    pub(super) entries: Vec<Entry>,
    lookups: Vec<Lookup>,
    /// The key of a row in the way, and what becomes of it.
    pub(super) existing: Vec<u8>,
    change: ChangeBuffers,
}

impl InsertBuffers {
    /// The row as it is to be stored.
    pub(crate) fn row(&self) -> &[u8] {
        &self.row
    }
}

impl RowInsert {
    /// INSERT without further ado, made once for each table of a version of the catalog.
    pub(crate) fn plain(table: &Arc<Table>, catalog: &Catalog) -> Result<Arc<RowInsert>> {
        catalog.compiled(table, || Ok(RowInsert::new(&Arc::new(Target::new(table, catalog)?), None, None)))
    }

    pub(crate) fn new(target: &Arc<Target>, conflict: Option<Conflict>, returning: Option<&[Expr]>) -> RowInsert {
        let audience = Audience::of(&target.table, TriggerEvent::Insert, false);
        let (rules, returning) = (Rules::of_row(target), returning.map(|exprs| RowReturning::new(target, exprs)));
        RowInsert { rules, conflict, returning, audience }
    }

    /// The same through views that look at the row.
    pub(crate) fn through(mut self, views: &[ViewCheck]) -> Result<RowInsert> {
        self.rules.set_views(views)?;
        self.conflict = self.conflict.map(|conflict| conflict.through(views)).transpose()?;
        Ok(self)
    }

    /// Whether it can be done while this is held, as a point statement does it.
    pub(crate) fn is_evaluable(&self, held: Held) -> bool {
        self.rules.are_evaluable(held)
            && self.rules.target.table.triggers.is_empty()
            && !self.rules.target.table.indexes.iter().any(|index| index.is_inverted() || index.is_deferrable())
            && self.conflict.as_ref().is_none_or(|conflict| conflict.is_evaluable(held))
            && self.returning.as_ref().is_none_or(|returning| returning.is_evaluable(held))
    }

    /// Whether no expression is evaluated.
    pub(crate) fn evaluates_nothing(&self) -> bool {
        !self.rules.are_computed()
            && self.rules.target.bound.generated.is_empty()
            && self.conflict.as_ref().is_none_or(Conflict::evaluates_nothing)
            && self.returning.is_none()
    }

    /// A row is inserted and no more: nobody is told of it, nothing is made of it, and no other row is in its stead.
    pub(crate) fn is_only_insert(&self) -> bool {
        self.conflict.is_none() && self.returning.is_none() && self.rules.target.table.triggers.is_empty()
    }

    /// How rows of a batch are inserted, where nobody else changes rows.
    pub(crate) fn way(&self) -> Way {
        let target = &self.rules.target;
        let is_row_all = || {
            self.is_only_insert()
                && self.rules.views.is_empty()
                && target.table.indexes.is_empty()
                && target.table.feed.is_none()
                && target.additions.is_empty()
        };
        match () {
            () if !self.is_evaluable(Held::Transaction) || !self.rules.references.is_empty() => Way::Each,
            () if is_row_all() => Way::Together,
            () => Way::Held,
        }
    }

    pub(crate) fn has_conflict(&self) -> bool {
        self.conflict.is_some()
    }

    /// Whether ON CONFLICT may update a row.
    pub(crate) fn may_update(&self) -> bool {
        self.conflict.as_ref().is_some_and(|conflict| conflict.update.is_some())
    }

    /// Whether ON CONFLICT or a view asks subqueries, or the table's rules functions.
    pub(crate) fn asks_queries(&self) -> bool {
        self.rules.ask_queries()
            || self.rules.target.bound.calls != Callees::BuiltIn
            || self.conflict.as_ref().is_some_and(Conflict::asks_queries)
    }

    /// Checks the row and encodes all that is to be written, and looked up, for it.
    pub(crate) fn prepare(
        &self,
        row: &Proposed<'_>,
        env: Env<'_>,
        numbers: Numbers<'_>,
        buffers: &mut InsertBuffers,
    ) -> Result<(), Stop> {
        self.rules.check(row, env).map_err(|stop| env.worded(stop, &self.rules.target, row))?;
        self.rules.target.encode_new_key(|column| row.values()[column], numbers, &mut buffers.key)?;
        let (table, layout) = (&self.rules.target.table, &self.rules.target.layout);
        let stored = layout.stored_columns();
        buffers.row.clear();
        layout.row().encode_with(|at| row.values()[stored[at]], &mut buffers.row);
        grow(&mut buffers.entries, table.indexes.len());
        for (at, entry) in (0..table.indexes.len()).zip(&mut buffers.entries) {
            entry.encode(self.rules.target.index(at), row, &buffers.key, env)?;
        }
        self.rules.encode_references(row, env, &mut buffers.lookups)
    }

    /// Inserts the row that is prepared, or does what ON CONFLICT says; whether a row was written, of which `returned` has
    /// what RETURNING makes.
    pub(crate) fn run(
        &self,
        trees: &mut dyn Trees,
        row: &Proposed<'_>,
        env: Env<'_>,
        buffers: &mut InsertBuffers,
        (observer, touched): (&mut dyn RowObserver, Option<&mut Touched<'_>>),
        returned: &mut Vec<Value>,
    ) -> Result<bool, Stop> {
        if let Some(conflict) = &self.conflict
            && conflict.find(trees, &self.rules.target, buffers)?
        {
            let InsertBuffers { existing, change, .. } = buffers;
            return conflict.settle(trees, (existing, row), env, change, (observer, touched), returned);
        }
        let affected = Affected { row, old: None, new: Some(row) };
        self.returning.as_ref().map_or(Ok(()), |returning| returning.before(&affected, env, returned))?;
        self.refer_and_write(trees, buffers, observer).map_err(|stop| env.worded(stop, &self.rules.target, row))?;
        if let Some(touched) = touched {
            touched.insert(buffers.key.clone());
        }
        if !self.rules.views.is_empty() {
            self.rules.check_views(row, env)?;
        }
        if self.audience.hears() {
            observer.inserted(&self.rules.target.table, row.to_values());
        }
        self.returning.as_ref().map_or(Ok(()), |returning| returning.after(&affected, env, returned))?;
        Ok(true)
    }

    /// Writes the row and its entries, unless one of its keys is taken.
    fn refer_and_write(
        &self,
        trees: &mut dyn Trees,
        buffers: &InsertBuffers,
        observer: &mut dyn RowObserver,
    ) -> Result<(), Stop> {
        let InsertBuffers { key, row, entries, lookups, .. } = buffers;
        if !self.rules.references.is_empty() {
            observer.refers(trees, &self.rules, key, lookups)?;
        }
        let target = &*self.rules.target;
        let (table, is_keyed) = (&target.table, !target.layout.has_row_numbers());
        for (at, (index, entry)) in table.indexes.iter().zip(entries).enumerate() {
            if entry.is_exclusive() && exists(trees, index.tree, &entry.key)? {
                // The primary key is the first to be told.
                let is_taken = is_keyed && exists(trees, table.tree, key)?;
                return Err(Violation::Duplicate((!is_taken).then_some(at)).into());
            }
        }
        if !is_keyed {
            trees.put(table.tree, key, row)?;
        } else if !trees.insert(table.tree, key, row)? {
            return Err(Violation::Duplicate(None).into());
        }
        for (index, entry) in table.indexes.iter().zip(entries).filter(|(_, entry)| !entry.absent) {
            entry.put(trees, index, key, None)?;
        }
        derive(trees, target, None, Some((key, row)))?;
        for (at, entry) in (0..table.indexes.len()).zip(entries) {
            entry.guarded().map_or(Ok(()), |key| observer.guarded(table, at, key))?;
        }
        Ok(())
    }
}
