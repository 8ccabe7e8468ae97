//! UPDATE.

use std::collections::HashSet;
use std::sync::Arc;

use super::constraints::{check_row, fit_lengths};
use super::foreign_keys::ForeignKeys;
use super::source::Source;
use super::{DmlContext, DmlResult, Target, Writer};
use crate::bind::{BoundUpdate, Returning};
use crate::catalog::{Catalog, row_number_key};
use crate::plan::{OptimizerOptions, PhysicalPlan, optimize};
use crate::{Error, Result, Value};

/// An UPDATE, planned.
#[derive(Debug)]
pub(crate) struct UpdatePlan {
    pub(crate) target: Arc<Target>,
    pub(crate) source: Arc<PhysicalPlan>,
    pub(crate) assigned: Vec<usize>,
    pub(crate) returning: Option<Returning>,
}

/// One row's change.
struct Change {
    old_key: Vec<u8>,
    old: Vec<Value>,
    new_key: Vec<u8>,
    new: Vec<Value>,
    extra: Vec<Value>,
}

impl UpdatePlan {
    pub(crate) fn new(bound: BoundUpdate, catalog: &Catalog, options: &OptimizerOptions) -> Result<UpdatePlan> {
        Ok(UpdatePlan {
            target: Arc::new(Target::new(&bound.table, catalog)?),
            source: Arc::new(optimize(bound.source, catalog, options)?),
            assigned: bound.assigned,
            returning: bound.returning,
        })
    }

    pub(crate) fn run(&self, context: &DmlContext<'_>) -> Result<DmlResult> {
        let source = Source::read(&self.source, context)?;
        if self.changes_unique_keys() {
            self.run_together(source, context)
        } else {
            self.run_one_by_one(source, context)
        }
    }

    /// Whether a new row could collide with one that the same statement has yet to move out of the way.
    fn changes_unique_keys(&self) -> bool {
        let table = &self.target.table;
        let unique = table.indexes.iter().filter(|index| index.unique);
        let indexed = unique.flat_map(|index| index.columns.iter().map(|part| &part.column));
        table.primary_key.iter().chain(indexed).any(|column| self.assigned.contains(column))
    }

    fn run_one_by_one(&self, source: Source, context: &DmlContext<'_>) -> Result<DmlResult> {
        let mut writer = Writer::new(&self.target, context);
        let mut keys = ForeignKeys::new(context);
        let mut result = DmlResult::default();
        let mut seen = HashSet::new();
        source.for_each(context.exec, |row| {
            let Some(change) = self.change(row, &mut seen, context)? else { return Ok(()) };
            writer.begin_update(&change.old_key, &change.old, &change.new_key, &change.new)?;
            self.finish(change, &mut writer, &mut keys, &mut result, context)
        })?;
        keys.finish()?;
        Ok(result)
    }

    /// All old keys go before the first new one comes: `SET id = id + 1` only fails where keys really collide.
    fn run_together(&self, source: Source, context: &DmlContext<'_>) -> Result<DmlResult> {
        let mut writer = Writer::new(&self.target, context);
        let mut keys = ForeignKeys::new(context);
        let mut result = DmlResult::default();
        let mut seen = HashSet::new();
        let mut changes = Vec::new();
        source.for_each(context.exec, |row| {
            let Some(change) = self.change(row, &mut seen, context)? else { return Ok(()) };
            writer.begin_update(&change.old_key, &change.old, &change.new_key, &change.new)?;
            changes.push(change);
            Ok(())
        })?;
        for change in changes {
            self.finish(change, &mut writer, &mut keys, &mut result, context)?;
        }
        keys.finish()?;
        Ok(result)
    }

    fn finish(
        &self,
        change: Change,
        writer: &mut Writer<'_>,
        keys: &mut ForeignKeys<'_>,
        result: &mut DmlResult,
        context: &DmlContext<'_>,
    ) -> Result<()> {
        let Change { old_key, old, new_key, mut new, extra } = change;
        writer.finish_update(&old_key, &old, &new_key, &new)?;
        keys.updated(&self.target.table, &new_key, &old, &new)?;
        new.extend(extra);
        result.add(&new, self.returning.as_ref(), context.exec)
    }

    /// Takes a source row apart; `None` for a target row that came before.
    fn change(
        &self,
        mut row: Vec<Value>,
        seen: &mut HashSet<Vec<u8>>,
        context: &DmlContext<'_>,
    ) -> Result<Option<Change>> {
        let width = self.target.table.columns.len();
        let old_key = source_key(&self.target, &row)?;
        if !seen.insert(old_key.clone()) {
            return Ok(None);
        }
        let values_at = width + usize::from(self.target.layout.has_row_numbers());
        let extra_at = values_at + self.assigned.len();
        if row.len() < extra_at {
            return Err(Error::internal("an UPDATE's source row is too short"));
        }
        let extra = row.split_off(extra_at);
        let values = row.split_off(values_at);
        row.truncate(width);
        let mut new = row.clone();
        for (&column, value) in self.assigned.iter().zip(values) {
            new[column] = value;
        }
        fit_lengths(&self.target.table, &mut new, context.exec)?;
        check_row(&self.target, &new, context.exec)?;
        let new_key = self.new_key(&old_key, &new);
        Ok(Some(Change { old_key, old: row, new_key, new, extra }))
    }

    fn new_key(&self, old_key: &[u8], new: &[Value]) -> Vec<u8> {
        if self.target.layout.has_row_numbers() {
            return old_key.to_vec();
        }
        let mut key = Vec::with_capacity(old_key.len());
        self.target.layout.encode_key(new, &mut key);
        key
    }
}

/// The tree key of the row that a source row begins with.
pub(super) fn source_key(target: &Target, row: &[Value]) -> Result<Vec<u8>> {
    let width = target.table.columns.len();
    if row.len() < width {
        return Err(Error::internal("a source row is too short"));
    }
    if !target.layout.has_row_numbers() {
        let mut key = Vec::new();
        target.layout.encode_key(row, &mut key);
        return Ok(key);
    }
    match row.get(width) {
        Some(Value::BigInt(number)) => Ok(row_number_key(number.cast_unsigned()).to_vec()),
        _ => Err(Error::internal("a source row lacks its row number")),
    }
}
