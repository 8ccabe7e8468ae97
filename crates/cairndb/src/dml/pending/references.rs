//! Rows that refer to others, and those to which rows refer.

use std::collections::VecDeque;
use std::sync::Arc;

use super::PendingChecks;
use super::checks::{Few, Unsettled};
use crate::catalog::{ObjectId, Table};
use crate::dml::DmlContext;
use crate::dml::deferred::What;
use crate::dml::referencing::{Found, Referring, find_rows};
use crate::dml::row::{
    Env, Lookup, Stop, Target, Trees, Violation, Wanted, converted, exists, is_padded, look_up, still_referenced,
};
use crate::exec::{Step, Stored, Turn};
use crate::types::DataType;
use crate::{Error, Result, Value};

/// What is to be looked at when the statement's rows are written.
#[derive(Default)]
pub(super) struct References {
    pub(super) missing: VecDeque<Missing>,
    pub(super) orphans: VecDeque<Orphans>,
    targets: Few<ObjectId, Arc<Target>>,
    /// The last key found per foreign key: bulk inserts refer to the same row again and again.
    pub(super) found: Few<(ObjectId, usize), Vec<u8>>,
}

/// The row under `key` refers by the table's foreign key at `position`, to what was not there.
pub(super) struct Missing {
    pub(super) target: Arc<Target>,
    pub(super) position: usize,
    pub(super) key: Vec<u8>,
    pub(super) lookup: Lookup,
}

/// Rows that may refer to `values` that are gone, under NO ACTION.
pub(super) struct Orphans {
    pub(super) parent: Arc<Table>,
    pub(super) child: Arc<Table>,
    pub(super) position: usize,
    pub(super) values: Vec<Value>,
}

impl<'a> PendingChecks<'a> {
    pub(super) fn refers_by(
        &mut self,
        trees: &mut dyn Trees,
        target: &Arc<Target>,
        position: usize,
        key: &[u8],
        lookup: &Lookup,
    ) -> Result<(), Stop> {
        let place = (target.table.id, position);
        if lookup.wanted == Wanted::No || self.owed().references.found.get(&place) == Some(&lookup.key) {
            return Ok(());
        }
        let foreign_key = &target.table.foreign_keys[position];
        let is_open = foreign_key.referenced_table == target.table.id || self.owed().actions.are_due();
        // What is missing is said at the end of the statement: a duplicate key that comes later in it is said first.
        if is_open || !target.references[position].is_kept(trees, lookup)? {
            let (target, key, lookup) = (target.clone(), key.to_vec(), lookup.clone());
            self.owed().references.missing.push_back(Missing { target, position, key, lookup });
            return Ok(());
        }
        self.owed().references.found.get_or_default(place).clone_from(&lookup.key);
        Ok(())
    }

    pub(super) fn settle_missing(&mut self, turn: &Turn) -> Step<()> {
        while !self.owed().references.missing.is_empty() {
            turn.take()?;
            let Some(missing) = self.owed().references.missing.pop_front() else { break };
            if let Some(error) = self.what_is_missing(&missing)? {
                let Missing { target, position, key, .. } = missing;
                let foreign_key = &target.table.foreign_keys[position];
                let constraint = (foreign_key.id, foreign_key.deferral);
                self.settle(error, target.table.id, constraint, || What::Reference(key))?;
            }
        }
        Ok(())
    }

    pub(super) fn settle_orphans(&mut self, turn: &Turn) -> Step<()> {
        while !self.owed().references.orphans.is_empty() {
            turn.take()?;
            let Some(orphans) = self.owed().references.orphans.pop_front() else { break };
            if let Some(error) = self.who_is_orphaned(&orphans)? {
                let Orphans { child, position, values, .. } = orphans;
                let foreign_key = &child.foreign_keys[position];
                let constraint = (foreign_key.id, foreign_key.deferral);
                self.settle(error, child.id, constraint, || What::Orphans(values))?;
            }
        }
        Ok(())
    }

    pub(super) fn table(&self, id: ObjectId) -> Result<&'a Arc<Table>> {
        self.context.catalog.table_by_id(id).ok_or_else(|| Error::internal("a foreign key's table is missing"))
    }

    pub(super) fn target(&mut self, table: &Arc<Table>) -> Result<Arc<Target>> {
        if let Some(target) = self.owed().references.targets.get(&table.id) {
            return Ok(target.clone());
        }
        let target = Target::of(table, self.context.catalog)?;
        self.owed().references.targets.insert(table.id, target.clone());
        Ok(target)
    }

    /// Values of one side's types as the other side's; `None`: the other side cannot have such a value.
    pub(super) fn convert(&self, values: &[Value], from: &[DataType], to: &[DataType]) -> Option<Vec<Value>> {
        let pairs = values.iter().zip(from.iter().zip(to));
        pairs.map(|(value, (&from, &to))| converted(value, from, to, &self.context.exec.eval)).collect()
    }

    /// The rows of the child that refer to the parent's old values.
    pub(super) fn children(
        &mut self,
        parent: &Table,
        child: &Arc<Table>,
        position: usize,
        old: &[Value],
        limit: usize,
    ) -> Result<Vec<Found>> {
        let foreign_key = &child.foreign_keys[position];
        let from = parent.types_of(&foreign_key.referenced_columns);
        let to = child.types_of(&foreign_key.columns);
        let Some(values) = self.convert(old, &from, &to) else { return Ok(Vec::new()) };
        let target = self.target(child)?;
        // Their keys have blanks that do not count.
        let padded = |(&from, &to): (&DataType, &DataType)| !matches!(to, DataType::Char(_)) && is_padded(to, from);
        let padded = from.iter().zip(&to).map(padded).collect();
        let wanted = Referring { columns: &foreign_key.columns, values: &values, padded };
        find_rows(&target, &wanted, self.context.tx.reader(), limit)
    }

    /// The error, where the row refers to what is not there.
    pub(super) fn what_is_missing(&self, missing: &Missing) -> Result<Option<Error>> {
        let Missing { target, position, key, lookup } = missing;
        let (reference, mut trees) = (&target.references[*position], self.context.tx);
        if lookup.wanted != Wanted::No && reference.is_kept(&mut trees, lookup)? {
            return Ok(None);
        }
        // A later action may have changed or deleted the referring row.
        let (mut value, mut current) = (Vec::new(), Lookup::default());
        if !look_up(&mut trees, target.table.tree, key, &mut value)? {
            return Ok(None);
        }
        let row = Stored { layout: &target.layout, key, value: &value };
        reference.encode(&row, &self.context.exec.eval, &mut current)?;
        match reference.is_kept(&mut trees, &current)? {
            true => Ok(None),
            false => Ok(Some(Violation::Missing(*position).worded(target, &row, Env::of(self.context.exec)))),
        }
    }

    /// The error, where rows still refer to what is gone.
    pub(super) fn who_is_orphaned(&mut self, orphans: &Orphans) -> Result<Option<Error>> {
        let Orphans { parent, child, position, values } = orphans;
        let target = self.target(child)?;
        let key = target.references[*position].referenced_key(&child.foreign_keys[*position], values);
        let mut trees = self.context.tx;
        if exists(&mut trees, target.references[*position].tree, &key)?
            || self.children(parent, child, *position, values, 1)?.is_empty()
        {
            return Ok(None);
        }
        Ok(Some(self.still_referenced(parent, child, *position, values)))
    }

    pub(super) fn still_referenced(&self, parent: &Table, child: &Table, position: usize, values: &[Value]) -> Error {
        let schema = self.context.catalog.schema_name(child.schema).unwrap_or_default();
        let key = &child.foreign_keys[position];
        still_referenced(parent, child, key, values, &self.context.exec.eval).with_schema(schema)
    }
}

/// Looks up every row's reference by the table's foreign key at `position`; `rows` calls back with each row.
pub(crate) fn verify_foreign_key(
    context: &DmlContext<'_>,
    target: &Arc<Target>,
    position: usize,
    rows: impl FnOnce(&mut dyn FnMut(&[u8], Vec<Value>) -> Result<()>) -> Result<()>,
) -> Result<()> {
    let mut owed = Unsettled::default();
    let (mut pending, mut lookup, mut trees) = (PendingChecks::new(context, &mut owed), Lookup::default(), context.tx);
    rows(&mut |key, row| {
        target.references[position].encode(&row.as_slice(), &context.exec.eval, &mut lookup)?;
        Ok(pending.refers_by(&mut trees, target, position, key, &lookup)?)
    })?;
    pending.finish_now()
}
