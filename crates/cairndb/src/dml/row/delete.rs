//! A row is deleted.

use std::sync::Arc;

use super::affected::{Affected, RowReturning};
use super::change::is_as_it_was;
use super::derive::derive;
use super::entry::{Entry, grow};
use super::{Audience, Env, RowObserver, Stop, Target, Trees, env, look_up};
use crate::Value;
use crate::catalog::TriggerEvent;
use crate::dml::changed_by_trigger;
use crate::exec::EntrySorter;
use crate::plan::{Columns, Expr, Held};

/// DELETE of a row from a table.
#[derive(Debug)]
pub(crate) struct RowDelete {
    pub(crate) target: Arc<Target>,
    /// Rows for which it is not true stay.
    filter: Option<Expr>,
    /// Over the row's columns, then what the source has beside them.
    returning: Option<RowReturning>,
    audience: Audience,
}

/// The entries of the row, at least one per index of the table.
#[derive(Debug, Default)]
pub(crate) struct DeleteBuffers {
    entries: Vec<Entry>,
}

impl RowDelete {
    pub(crate) fn new(target: &Arc<Target>, filter: Option<&Expr>, returning: Option<&[Expr]>) -> RowDelete {
        let table = &target.table;
        RowDelete {
            target: target.clone(),
            filter: filter.map(|filter| target.bound.virtuals.put_in(filter)),
            returning: returning.map(|exprs| RowReturning::new(target, exprs)),
            audience: Audience::of(table, TriggerEvent::Delete, !table.referenced_by.is_empty()),
        }
    }

    /// Whether it can be done while this is held, as a point statement does it: nothing refers to the row.
    pub(crate) fn is_evaluable(&self, held: Held) -> bool {
        self.target.held >= Some(held)
            && !self.audience.hears()
            && self.target.table.triggers.is_empty()
            && !self.target.table.indexes.iter().any(|index| index.is_inverted())
            && self.filter.iter().all(|filter| held.allows(filter))
            && self.returning.as_ref().is_none_or(|returning| returning.is_evaluable(held))
    }

    /// Whether no expression is evaluated.
    pub(crate) fn evaluates_nothing(&self) -> bool {
        self.filter.is_none() && self.returning.is_none()
    }

    /// Whether nothing is made of a row that goes but the keys of its entries.
    pub(crate) fn is_of_keys_alone(&self) -> bool {
        self.evaluates_nothing() && !self.target.table.is_derived_from()
    }

    /// Adds a row's entries to those of its table's indexes, one sorter for each.
    pub(crate) fn gather(
        &self,
        (key, row): (&[u8], &dyn Columns<Stop>),
        env: Env<'_>,
        entry: &mut Entry,
        gathered: &mut [EntrySorter],
    ) -> Result<(), Stop> {
        for (at, entries) in gathered.iter_mut().enumerate() {
            entry.encode(self.target.kept_index(at), row, key, env)?;
            if !entry.absent {
                entries.add(&entry.key, &[])?;
            }
        }
        Ok(())
    }

    /// Whether more than its key must be known of the row.
    pub(crate) fn reads_row(&self) -> bool {
        !self.target.table.indexes.is_empty() || !self.evaluates_nothing()
    }

    /// Deletes the row under `key`; whether it was there, and the filter wants it gone. `row`: it, where more than its key is
    /// asked for.
    pub(crate) fn run(
        &self,
        trees: &mut dyn Trees,
        (key, row): (&[u8], &dyn Columns<Stop>),
        env: Env<'_>,
        buffers: &mut DeleteBuffers,
        observer: &mut dyn RowObserver,
        returned: &mut Vec<Value>,
    ) -> Result<bool, Stop> {
        let table = &self.target.table;
        if let Some(filter) = &self.filter
            && !env::eval(filter, row, env)?.is_true()
        {
            return Ok(false);
        }
        if self.audience.before {
            let old = (0..table.columns.len()).map(|column| Ok(row.column(column)?.into_value()));
            let old = Some(old.collect::<Result<_, Stop>>()?);
            let mut before = Vec::new();
            look_up(trees, table.tree, key, &mut before)?;
            if observer.before(table, TriggerEvent::Delete, old, None, &[])?.is_none() {
                return Ok(false);
            }
            if !is_as_it_was(trees, table.tree, key, &before)? {
                return Err(changed_by_trigger("deleted").into());
            }
        }
        grow(&mut buffers.entries, table.indexes.len());
        for (at, entry) in (0..table.indexes.len()).zip(&mut buffers.entries) {
            entry.encode(self.target.kept_index(at), row, key, env)?;
            if self.target.loses_entries {
                entry.settle(trees, self.target.kept_index(at), key, env)?;
            }
        }
        let affected = Affected { row, old: Some(row), new: None };
        self.returning.as_ref().map_or(Ok(()), |returning| returning.before(&affected, env, returned))?;
        let mut gone = Vec::new();
        if table.is_derived_from() {
            look_up(trees, table.tree, key, &mut gone)?;
        }
        if !trees.delete(table.tree, key)? {
            return Ok(false);
        }
        for (index, entry) in table.indexes.iter().zip(&buffers.entries).filter(|(_, entry)| !entry.absent) {
            entry.take(trees, index, key, None)?;
        }
        derive(trees, &self.target, Some((key, &gone)), None)?;
        if self.audience.hears() {
            let old = (0..table.columns.len()).map(|column| Ok(row.column(column)?.into_value()));
            observer.replaced(table, old.collect::<Result<_, Stop>>()?, None, &Arc::default());
        }
        self.returning.as_ref().map_or(Ok(()), |returning| returning.after(&affected, env, returned))?;
        Ok(true)
    }
}
