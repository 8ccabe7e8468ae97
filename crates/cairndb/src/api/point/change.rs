//! New values for columns of a row that is there: UPDATE, and what ON CONFLICT makes of the row in the way.
//!
//! The key stays. Only entries of indexes over assigned columns are looked at, and only foreign keys over them. All that
//! can stop the change is looked up before its first write, for in a transaction there is nobody to take half a change
//! back.

use std::ops::Range;
use std::sync::Arc;

use cairn_storage::WriteError;

use super::Miss;
use super::eval::{self, Env};
use super::operand::Operand;
use super::place::{Trees, exists};
use super::proposed::Proposed;
use super::stored::Stored;
use super::upkeep::{Entry, Lookup, Upkeep, returning};
use super::{general, sum};
use crate::Value;
use crate::catalog::{Catalog, ColumnPlace, Table};
use crate::dml::{Target, changed_stretch};
use crate::exec::{Columns, Datum};
use crate::plan::Expr;
use crate::types::row::encode_value_raw;
use crate::types::{DataType, EvalContext, ValueRef, cast_assign};

/// How a row changes.
#[derive(Debug)]
pub(super) struct RowChange {
    pub(super) upkeep: Upkeep,
    /// Rows for which it is not true stay as they are.
    filter: Option<Expr>,
    assignments: Box<[Assignment]>,
    /// No assigned column is of variable length: the row can be patched where they lie, if there is room.
    fixed: bool,
    /// Positions of the indexes over assigned columns.
    indexes: Box<[usize]>,
    returning: Option<Box<[Expr]>>,
}

#[derive(Debug)]
struct Assignment {
    column: usize,
    /// Position among the row's columns.
    place: usize,
    data_type: DataType,
    not_null: bool,
    value: NewValue,
}

#[derive(Debug)]
enum NewValue {
    Operand(Operand),
    Sum(sum::Sum),
    /// A column of the proposed row, of the same type.
    Proposed(usize),
    Computed(Expr),
}

/// The buffers of a change.
#[derive(Debug, Default)]
pub(in crate::api) struct Scratch {
    /// The values that are not operands, one per assignment.
    values: Vec<Value>,
    /// The new values' bytes as rows have them, one after the other.
    bytes: Vec<u8>,
    /// Where each assignment's lie; `None`: NULL.
    ranges: Vec<Option<Range<usize>>>,
    /// Where they go in the row, for patching.
    places: Vec<usize>,
    row: Vec<u8>,
    /// Old and new entries, one per index that the change looks at.
    entries: Vec<(Entry, Entry)>,
    lookups: Vec<Lookup>,
}

/// How the row's bytes are to be changed.
enum Bytes {
    /// Write every value at its place.
    Patch,
    /// Write this stretch of the new row.
    Stretch(Range<usize>),
    /// Write the new row.
    Replace,
}

impl RowChange {
    /// `assigned`: columns and their new values, over the old row's columns (then the proposed row's).
    pub(super) fn of(
        target: &Arc<Target>,
        catalog: &Catalog,
        assigned: &[(usize, &Expr)],
        filter: Option<&Expr>,
        returning: Option<&[Expr]>,
    ) -> Option<RowChange> {
        let table = &target.table;
        let touched = |column: usize| assigned.iter().any(|&(assigned, _)| assigned == column);
        let refused = assigned.iter().any(|&(column, _)| is_key(table, column, catalog));
        let evaluable = filter.into_iter().chain(returning.into_iter().flatten()).all(eval::is_evaluable);
        if refused || !evaluable {
            return None;
        }
        let assignments = assigned.iter().map(|&(column, expr)| Assignment::of(target, column, expr));
        let assignments = assignments.collect::<Option<Box<[_]>>>()?;
        let layout = target.layout.row();
        let over_assigned = |at: &usize| table.indexes[*at].columns.iter().any(|part| touched(part.column));
        Some(RowChange {
            upkeep: Upkeep::of(target, catalog, touched)?,
            filter: filter.cloned(),
            fixed: !assignments.iter().any(|assignment| layout.is_variable(assignment.place)),
            assignments,
            indexes: (0..table.indexes.len()).filter(over_assigned).collect(),
            returning: returning.map(Into::into),
        })
    }

    pub(super) fn is_plain(&self) -> bool {
        let computed = |assignment: &Assignment| matches!(assignment.value, NewValue::Computed(_));
        self.filter.is_none()
            && self.returning.is_none()
            && self.upkeep.target.checks.is_empty()
            && !self.assignments.iter().any(computed)
    }

    /// Changes the row under `key`: how many there were (none where the filter says so too).
    pub(super) fn run(
        &self,
        trees: &mut dyn Trees,
        key: &[u8],
        proposed: Option<&Proposed<'_>>,
        env: Env<'_>,
        (scratch, returned): (&mut Scratch, &mut Vec<Value>),
    ) -> Result<u64, WriteError<Miss>> {
        let target = &self.upkeep.target;
        let mut prepared = None;
        trees.read(target.table.tree, key, &mut |value| {
            let old = Stored { layout: &target.layout, key, value };
            prepared = Some(self.prepare(&old, proposed, env, scratch, returned));
        })?;
        match prepared.transpose().map_err(WriteError::Caller)?.flatten() {
            None => Ok(0),
            Some(bytes) => self.write(trees, key, &bytes, scratch).map(|()| 1),
        }
    }

    /// Works out the new row and checks what it must satisfy by itself; `None`: the filter leaves the row alone.
    fn prepare(
        &self,
        old: &Stored<'_>,
        proposed: Option<&Proposed<'_>>,
        env: Env<'_>,
        scratch: &mut Scratch,
        returned: &mut Vec<Value>,
    ) -> Result<Option<Bytes>, Miss> {
        let both = Both { old, proposed, width: self.upkeep.table().columns.len() };
        if let Some(filter) = &self.filter
            && !eval::eval(filter, &both, env)?.is_true()
        {
            return Ok(None);
        }
        self.compute(old, &both, env, &mut scratch.values)?;
        let new = Updated { change: self, both: &both, values: &scratch.values, env };
        self.check(&new, env)?;
        self.upkeep.encode_references(&new, &mut scratch.lookups)?;
        if let Some(exprs) = &self.returning {
            returning(exprs, &new, env, returned)?;
        }
        scratch.entries.resize_with(self.indexes.len(), Default::default);
        for (&at, (before, after)) in self.indexes.iter().zip(&mut scratch.entries) {
            let index = &self.upkeep.table().indexes[at];
            before.encode(self.upkeep.table(), index, old, old.key)?;
            after.encode(self.upkeep.table(), index, &new, old.key)?;
        }
        self.encode(&both, env, scratch).map(Some)
    }

    /// Fills in the values that are not operands.
    fn compute(&self, old: &Stored<'_>, both: &Both<'_>, env: Env<'_>, values: &mut Vec<Value>) -> Result<(), Miss> {
        values.clear();
        for assignment in &self.assignments {
            let value = match &assignment.value {
                NewValue::Operand(_) | NewValue::Proposed(_) => {
                    values.push(Value::Null);
                    continue;
                }
                NewValue::Sum(sum) => sum.value(old.layout.row(), old.value, env.params)?,
                NewValue::Computed(expr) => settle(eval::eval(expr, both, env)?, assignment.data_type, env.eval)?,
            };
            values.push(value);
        }
        Ok(())
    }

    /// NOT NULL, then CHECK.
    fn check(&self, new: &Updated<'_>, env: Env<'_>) -> Result<(), Miss> {
        for (at, assignment) in self.assignments.iter().enumerate() {
            if assignment.not_null && new.value(at)?.is_null() {
                return Err(Miss::General);
            }
        }
        self.upkeep.check(new, env)
    }

    /// The new values' bytes, and the new row where patching in place will not do.
    fn encode(&self, both: &Both<'_>, env: Env<'_>, scratch: &mut Scratch) -> Result<Bytes, Miss> {
        let Scratch { values, bytes, ranges, places, row, .. } = scratch;
        let (layout, old) = (both.old.layout.row(), both.old.value);
        let new = Updated { change: self, both, values, env };
        bytes.clear();
        ranges.clear();
        places.clear();
        let mut patch = self.fixed;
        for (at, assignment) in self.assignments.iter().enumerate() {
            let (start, value) = (bytes.len(), new.value(at)?);
            match if patch { layout.patch(old, assignment.place, value, bytes)? } else { None } {
                Some(place) => places.push(place),
                None => {
                    patch = false;
                    encode_value_raw(value, bytes);
                }
            }
            ranges.push((!value.is_null()).then_some(start..bytes.len()));
        }
        if patch {
            return Ok(Bytes::Patch);
        }
        // A damaged row must be noticed, not rewritten with NULLs.
        for place in 0..layout.types().len() {
            layout.raw_column(old, place)?;
        }
        row.clear();
        layout.encode_raw(
            |place| match self.assignments.iter().position(|assignment| assignment.place == place) {
                Some(at) => ranges[at].clone().map(|range| &bytes[range]),
                None => layout.column_bytes(old, place),
            },
            row,
        );
        Ok(match changed_stretch(old, row) {
            Some(stretch) if stretch.len() * 2 <= row.len() => Bytes::Stretch(stretch),
            _ => Bytes::Replace,
        })
    }

    /// Looks up what the new row needs and must not meet, then writes.
    fn write(
        &self,
        trees: &mut dyn Trees,
        key: &[u8],
        bytes: &Bytes,
        scratch: &Scratch,
    ) -> Result<(), WriteError<Miss>> {
        let table = self.upkeep.table();
        self.upkeep.find_references(trees, &scratch.lookups)?;
        let changed = || {
            let entries = self.indexes.iter().zip(&scratch.entries);
            entries.filter(|(_, (before, after))| before != after).map(|(&at, entries)| (&table.indexes[at], entries))
        };
        for (index, (_, after)) in changed() {
            if after.exclusive && exists(trees, index.tree, &after.key)? {
                return general();
            }
        }
        for (index, (before, after)) in changed() {
            trees.delete(index.tree, &before.key)?;
            trees.put(index.tree, &after.key, after.value(key))?;
        }
        match bytes {
            Bytes::Patch => {
                for (place, range) in scratch.places.iter().zip(&scratch.ranges) {
                    let bytes = range.clone().map_or(&[] as &[u8], |range| &scratch.bytes[range]);
                    trees.patch(table.tree, key, *place, bytes)?;
                }
            }
            Bytes::Stretch(stretch) if stretch.is_empty() => {}
            Bytes::Stretch(stretch) => {
                trees.patch(table.tree, key, stretch.start, &scratch.row[stretch.clone()])?;
            }
            Bytes::Replace => trees.put(table.tree, key, &scratch.row)?,
        }
        Ok(())
    }
}

/// Whether the row's own key or another table's reference looks at the column.
fn is_key(table: &Table, column: usize, catalog: &Catalog) -> bool {
    let referenced = |&(child, position): &(_, usize)| {
        let foreign_key = catalog.table_by_id(child).and_then(|child| child.foreign_keys.get(position));
        foreign_key.is_none_or(|foreign_key| foreign_key.referenced_columns.contains(&column))
    };
    table.primary_key.contains(&column) || table.referenced_by.iter().any(referenced)
}

/// A computed value as its column keeps it: strings of a limited length are fitted.
pub(super) fn settle(value: Datum<'_>, data_type: DataType, eval: &EvalContext) -> Result<Value, Miss> {
    let limited = matches!(data_type, DataType::Varchar(Some(_)) | DataType::Char(_));
    let value = value.into_value();
    if !limited || value.is_null() || ValueRef::from(&value).fit(data_type).is_some() {
        return Ok(value);
    }
    cast_assign(&value, DataType::Text, data_type, eval).map_err(|_| Miss::General)
}

impl Assignment {
    fn of(target: &Target, column: usize, expr: &Expr) -> Option<Assignment> {
        let described = target.table.columns.get(column)?;
        let ColumnPlace::Row(place) = target.layout.place(column) else { return None };
        let (data_type, not_null) = (described.data_type, described.not_null);
        let value = match (Operand::of(expr, data_type), sum::Sum::of(target, data_type, expr)) {
            (Some(operand), _) => NewValue::Operand(operand),
            (None, Some(sum)) => NewValue::Sum(sum),
            (None, None) if proposed_column(target, data_type, expr).is_some() => {
                NewValue::Proposed(proposed_column(target, data_type, expr)?)
            }
            (None, None) => NewValue::Computed(Some(expr).filter(|expr| eval::is_evaluable(expr))?.clone()),
        };
        Some(Assignment { column, place, data_type, not_null, value })
    }
}

/// `excluded.column`, where its type is the assigned column's.
fn proposed_column(target: &Target, data_type: DataType, expr: &Expr) -> Option<usize> {
    let Expr::Column { index, .. } = expr else { return None };
    let column = index.checked_sub(target.table.columns.len())?;
    (target.table.columns.get(column)?.data_type == data_type).then_some(column)
}

/// The row that is there, then the row proposed for insertion.
struct Both<'a> {
    old: &'a Stored<'a>,
    proposed: Option<&'a Proposed<'a>>,
    width: usize,
}

impl Columns<Miss> for Both<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Miss> {
        match index.checked_sub(self.width) {
            None => self.old.column(index),
            Some(index) => self.proposed.ok_or(Miss::General)?.column(index),
        }
    }
}

/// The row as it will be.
struct Updated<'a> {
    change: &'a RowChange,
    both: &'a Both<'a>,
    values: &'a [Value],
    env: Env<'a>,
}

impl<'a> Updated<'a> {
    /// The new value of an assignment, once computed.
    fn value(&self, at: usize) -> Result<ValueRef<'a>, Miss> {
        match &self.change.assignments[at].value {
            NewValue::Operand(operand) => operand.value(self.env.params).ok_or(Miss::General),
            NewValue::Proposed(column) => {
                let value = self.both.proposed.and_then(|row| row.values().get(*column));
                value.copied().ok_or(Miss::General)
            }
            NewValue::Sum(_) | NewValue::Computed(_) => Ok((&self.values[at]).into()),
        }
    }
}

impl Columns<Miss> for Updated<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Miss> {
        match self.change.assignments.iter().position(|assignment| assignment.column == index) {
            Some(at) => self.value(at).map(Datum::Lent),
            None => self.both.old.column(index),
        }
    }
}
