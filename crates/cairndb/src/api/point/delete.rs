//! DELETE of one row by its primary key or a unique index.

use std::sync::Arc;

use cairn_storage::{Ticket, WriteError};

use super::eval::{self, Env};
use super::place::Place;
use super::shape::{Finder, PointSource};
use super::stored::Stored;
use super::upkeep::{Entry, returning};
use super::{Buffers, Miss};
use crate::Value;
use crate::bind::Returning;
use crate::dml::{DeletePlan, Target};
use crate::plan::Expr;

/// A DELETE from a table that nothing refers to.
#[derive(Debug)]
pub(in crate::api) struct PointDelete {
    target: Arc<Target>,
    finder: Finder,
    filter: Option<Expr>,
    returning: Option<Box<[Expr]>>,
}

impl PointDelete {
    pub(super) fn of(plan: &DeletePlan) -> Option<PointDelete> {
        PointDelete::of_source(PointSource::of(&plan.source)?, &plan.target, plan.returning.as_ref())
    }

    /// `source`: the target's row.
    pub(super) fn of_source(
        source: PointSource,
        target: &Arc<Target>,
        returning: Option<&Returning>,
    ) -> Option<PointDelete> {
        let table = &target.table;
        let returning = returning.map(|returning| returning.exprs.as_slice());
        let evaluable = source.filter.iter().chain(returning.into_iter().flatten()).all(eval::is_evaluable);
        let columns = table.columns.len() + usize::from(target.layout.has_row_numbers());
        if source.table.id != table.id
            || source.outputs.len() != columns
            || !table.referenced_by.is_empty()
            || !evaluable
        {
            return None;
        }
        Some(PointDelete {
            target: target.clone(),
            filter: source.filter.clone(),
            finder: source.finder(),
            returning: returning.map(Into::into),
        })
    }

    pub(super) fn is_plain(&self) -> bool {
        self.filter.is_none() && self.returning.is_none()
    }

    /// Deletes the row; how many there were, and the ticket.
    pub(in crate::api) fn run(
        &self,
        place: Place<'_>,
        stamp: u64,
        env: Env<'_>,
        buffers: &mut Buffers,
    ) -> Result<(u64, Option<Ticket>), Miss> {
        let table = &self.target.table;
        let Buffers { key, row_key, entries, returned, .. } = buffers;
        self.finder.key.encode(env.params, key).ok_or(Miss::General)?;
        place.write(stamp, &mut |trees| {
            let Some(row_key) = self.finder.row_key(trees, key, row_key)? else { return Ok(0) };
            if self.reads_row() {
                let mut wanted = None;
                trees.read(table.tree, row_key, &mut |value| {
                    let row = Stored { layout: &self.target.layout, key: row_key, value };
                    wanted = Some(self.prepare(&row, env, entries, returned));
                })?;
                if !wanted.transpose().map_err(WriteError::Caller)?.unwrap_or(false) {
                    return Ok(0);
                }
            }
            if !trees.delete(table.tree, row_key)? {
                return Ok(0);
            }
            for (index, entry) in table.indexes.iter().zip(&*entries) {
                trees.delete(index.tree, &entry.key)?;
            }
            Ok(1)
        })
    }

    fn reads_row(&self) -> bool {
        !self.target.table.indexes.is_empty() || self.filter.is_some() || self.returning.is_some()
    }

    /// The row's index entries and what RETURNING makes of it; whether the filter wants it deleted.
    fn prepare(
        &self,
        row: &Stored<'_>,
        env: Env<'_>,
        entries: &mut Vec<Entry>,
        returned: &mut Vec<Value>,
    ) -> Result<bool, Miss> {
        if let Some(filter) = &self.filter
            && !eval::eval(filter, row, env)?.is_true()
        {
            return Ok(false);
        }
        let table = &self.target.table;
        entries.resize_with(table.indexes.len(), Entry::default);
        for (index, entry) in table.indexes.iter().zip(entries) {
            entry.encode(table, index, row, row.key)?;
        }
        if let Some(exprs) = &self.returning {
            returning(exprs, row, env, returned)?;
        }
        Ok(true)
    }
}
