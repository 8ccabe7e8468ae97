//! ON CONFLICT of a point INSERT.

use std::sync::Arc;

use cairn_storage::{TreeId, WriteError};

use super::Miss;
use super::change::{RowChange, Scratch};
use super::eval::Env;
use super::place::{Trees, exists};
use super::proposed::Proposed;
use super::upkeep::Entry;
use crate::Value;
use crate::bind::{Arbiter, ConflictAction, OnConflict};
use crate::catalog::Catalog;
use crate::dml::Target;
use crate::plan::Expr;

/// Which row is in the way, and what becomes of it. A conflict that the statement did not name is an error as ever: the
/// insertion that follows comes to it.
#[derive(Debug)]
pub(super) struct Conflict {
    arbiter: Arbiter,
    target: Arc<Target>,
    /// `None`: DO NOTHING.
    update: Option<Box<RowChange>>,
}

impl Conflict {
    pub(super) fn of(
        target: &Arc<Target>,
        bound: &OnConflict,
        returning: Option<&[Expr]>,
        catalog: &Catalog,
    ) -> Option<Conflict> {
        let update = match &bound.action {
            ConflictAction::Nothing => None,
            ConflictAction::Update { assignments, filter } => {
                let assigned: Vec<(usize, &Expr)> = assignments.iter().map(|(column, expr)| (*column, expr)).collect();
                let change = RowChange::of(target, catalog, &assigned, filter.as_ref(), returning)?;
                Some(Box::new(change))
            }
        };
        Some(Conflict { arbiter: bound.arbiter, target: target.clone(), update })
    }

    pub(super) fn is_plain(&self) -> bool {
        self.update.as_ref().is_none_or(|change| change.is_plain())
    }

    /// The key of the row in the way; `entries`: the proposed row's.
    pub(super) fn find<'b>(
        &self,
        trees: &mut dyn Trees,
        key: &'b [u8],
        entries: &[Entry],
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<&'b [u8]>, WriteError<Miss>> {
        let table = &self.target.table;
        let by_key = match self.arbiter {
            Arbiter::PrimaryKey => true,
            Arbiter::Any => !self.target.layout.has_row_numbers(),
            Arbiter::Index(_) => false,
        };
        if by_key && exists(trees, table.tree, key)? {
            return Ok(Some(key));
        }
        for (at, (index, entry)) in table.indexes.iter().zip(entries).enumerate() {
            let named = match self.arbiter {
                Arbiter::Any => true,
                Arbiter::Index(arbiter) => arbiter == at,
                Arbiter::PrimaryKey => false,
            };
            if named && entry.exclusive && look_up(trees, index.tree, &entry.key, buffer)? {
                return Ok(Some(buffer));
            }
        }
        Ok(None)
    }

    /// Leaves or updates the row under `existing`; how many rows that were.
    pub(super) fn resolve(
        &self,
        trees: &mut dyn Trees,
        existing: &[u8],
        proposed: &Proposed<'_>,
        env: Env<'_>,
        buffers: (&mut Scratch, &mut Vec<Value>),
    ) -> Result<u64, WriteError<Miss>> {
        match &self.update {
            None => Ok(0),
            Some(change) => change.run(trees, existing, Some(proposed), env, buffers),
        }
    }
}

/// Copies the value under `key` into `out`; whether there is one.
pub(super) fn look_up(
    trees: &mut dyn Trees,
    tree: TreeId,
    key: &[u8],
    out: &mut Vec<u8>,
) -> Result<bool, WriteError<Miss>> {
    let found = trees.read(tree, key, &mut |value| {
        out.clear();
        out.extend_from_slice(value);
    })?;
    Ok(found)
}
