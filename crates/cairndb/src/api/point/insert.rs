//! INSERT of one row, with or without ON CONFLICT.

use cairn_storage::{Store, Ticket, WriteError};

use super::conflict::Conflict;
use super::eval::{self, Env};
use super::place::{Place, Trees, exists};
use super::proposed::{Proposed, RowSource};
use super::upkeep::{Entry, Lookup, Upkeep, returning};
use super::{Buffers, Miss, general};
use crate::catalog::{Catalog, row_number_key};
use crate::dml::{InsertPlan, RowNumbers, Rows};
use crate::plan::{Expr, PhysicalNode, PhysicalPlan};
use crate::types::key;

/// An INSERT of one row of VALUES.
#[derive(Debug)]
pub(in crate::api) struct PointInsert {
    upkeep: Upkeep,
    source: RowSource,
    conflict: Option<Conflict>,
    returning: Option<Box<[Expr]>>,
    is_plain: bool,
}

/// A row ready to be written: see [`Buffers`].
struct Encoded<'b> {
    key: &'b [u8],
    row: &'b [u8],
    entries: &'b [Entry],
    lookups: &'b [Lookup],
}

impl PointInsert {
    pub(super) fn of(plan: &InsertPlan, exprs: &[Expr], catalog: &Catalog) -> Option<PointInsert> {
        let target = &plan.target;
        let returning = plan.returning.as_ref().map(|returning| returning.exprs.as_slice());
        if !returning.into_iter().flatten().all(eval::is_evaluable) {
            return None;
        }
        let conflict = match &plan.conflict {
            Some(conflict) => Some(Conflict::of(target, conflict.bound(), returning, catalog)?),
            None => None,
        };
        let source = RowSource::of(&target.table, exprs)?;
        let updates = conflict.as_ref().is_some_and(|conflict| !conflict.is_plain());
        Some(PointInsert {
            upkeep: Upkeep::of(target, catalog, |_| true)?,
            is_plain: source.is_plain() && target.checks.is_empty() && returning.is_none() && !updates,
            source,
            conflict,
            returning: returning.map(Into::into),
        })
    }

    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Every parameter is a column's value: making the row tells whether all are of their types.
    pub(super) fn notices_unfit(&self) -> bool {
        self.is_plain && self.conflict.is_none()
    }

    /// Inserts the row, or does what ON CONFLICT says; the number of rows, and the ticket of the commit.
    pub(in crate::api) fn run(
        &self,
        place: Place<'_>,
        stamp: u64,
        env: Env<'_>,
        buffers: &mut Buffers,
        (store, row_numbers): (&Store, &RowNumbers),
    ) -> Result<(u64, Option<Ticket>), Miss> {
        let Buffers { key, row, row_key, entries, lookups, change, values, proposed: spare, returned, .. } = buffers;
        self.source.compute(self.upkeep.table(), env, values)?;
        let proposed = self.source.row(env.params, values, spare.take())?;
        self.check(&proposed, env)?;
        self.encode_key(&proposed, key, (store, row_numbers))?;
        self.encode_row(&proposed, key, row, entries)?;
        self.upkeep.encode_references(&proposed, lookups)?;
        let written = place.write(stamp, &mut |trees| {
            let encoded = Encoded { key, row, entries, lookups };
            if let Some(conflict) = &self.conflict
                && let Some(existing) = conflict.find(trees, key, entries, row_key)?
            {
                return conflict.resolve(trees, existing, &proposed, env, (change, returned));
            }
            if let Some(exprs) = &self.returning {
                returning(exprs, &proposed, env, returned).map_err(WriteError::Caller)?;
            }
            self.insert(trees, &encoded)
        });
        spare.keep(proposed);
        written
    }

    /// Looks up what the row needs and must not meet, then writes it.
    fn insert(&self, trees: &mut dyn Trees, encoded: &Encoded<'_>) -> Result<u64, WriteError<Miss>> {
        let table = self.upkeep.table();
        self.upkeep.find_references(trees, encoded.lookups)?;
        for (index, entry) in table.indexes.iter().zip(encoded.entries) {
            if entry.exclusive && exists(trees, index.tree, &entry.key)? {
                return general();
            }
        }
        if self.upkeep.target.layout.has_row_numbers() {
            trees.put(table.tree, encoded.key, encoded.row)?;
        } else if !trees.insert(table.tree, encoded.key, encoded.row)? {
            return general();
        }
        for (index, entry) in table.indexes.iter().zip(encoded.entries) {
            trees.put(index.tree, &entry.key, entry.value(encoded.key))?;
        }
        Ok(1)
    }

    /// NOT NULL, then CHECK.
    fn check(&self, row: &Proposed<'_>, env: Env<'_>) -> Result<(), Miss> {
        let mut columns = self.upkeep.table().columns.iter().zip(row.values());
        if columns.any(|(column, value)| column.not_null && value.is_null()) {
            return Err(Miss::General);
        }
        self.upkeep.check(row, env)
    }

    fn encode_key(
        &self,
        row: &Proposed<'_>,
        out: &mut Vec<u8>,
        (store, row_numbers): (&Store, &RowNumbers),
    ) -> Result<(), Miss> {
        let (table, layout) = (self.upkeep.table(), &self.upkeep.target.layout);
        out.clear();
        if layout.has_row_numbers() {
            out.extend_from_slice(&row_number_key(row_numbers.next(store, table.tree)?));
        }
        for (&column, &data_type) in table.primary_key.iter().zip(layout.key_types()) {
            key::encode_ref(row.values()[column], data_type, false, false, out);
        }
        Ok(())
    }

    fn encode_row(
        &self,
        row: &Proposed<'_>,
        key: &[u8],
        out: &mut Vec<u8>,
        entries: &mut Vec<Entry>,
    ) -> Result<(), Miss> {
        let (table, layout) = (self.upkeep.table(), &self.upkeep.target.layout);
        out.clear();
        let stored = layout.stored_columns();
        layout.row().encode_with(|at| row.values()[stored[at]], out);
        entries.resize_with(table.indexes.len(), Entry::default);
        for (index, entry) in table.indexes.iter().zip(entries) {
            entry.encode(table, index, row, key)?;
        }
        Ok(())
    }
}

/// The expressions of the row, if it is one.
pub(super) fn only_row(plan: &InsertPlan) -> Option<Vec<Expr>> {
    match &plan.rows {
        Rows::Plan(plan) => only_row_of(plan),
        Rows::Constants(rows) => rows.only_row(),
    }
}

/// The expressions of a source that is one row of VALUES.
fn only_row_of(plan: &PhysicalPlan) -> Option<Vec<Expr>> {
    match &plan.node {
        PhysicalNode::Values { rows } => match rows.as_slice() {
            [row] => Some(row.clone()),
            _ => None,
        },
        PhysicalNode::Project { input, exprs } => {
            let row = only_row_of(input)?;
            exprs.iter().map(|expr| super::shape::substitute(expr, &row)).collect()
        }
        _ => None,
    }
}
