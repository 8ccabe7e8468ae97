//! UPDATE of one row by its primary key.

use std::ops::Range;
use std::sync::Arc;

use cairn_storage::{Ticket, WriteError};

use super::key::KeyTemplate;
use super::operand::Operand;
use super::place::Place;
use super::shape::PointSource;
use super::{Buffers, Miss};
use crate::Result;
use crate::api::Params;
use crate::catalog::{ColumnPlace, Table};
use crate::dml::{Target, UpdatePlan, changed_stretch};
use crate::plan::Expr;
use crate::types::row::{RowLayout, encode_value_raw};
use crate::types::{DataType, ValueRef};

/// An UPDATE of columns that no key, index or constraint looks at.
#[derive(Debug)]
pub(in crate::api) struct PointUpdate {
    target: Arc<Target>,
    key: KeyTemplate,
    assignments: Box<[Assignment]>,
    /// All assigned columns have a fixed width: the row can be patched where they lie.
    fixed: bool,
}

#[derive(Debug)]
struct Assignment {
    /// Position among the row's columns.
    place: usize,
    data_type: DataType,
    not_null: bool,
    value: NewValue,
}

#[derive(Debug)]
enum NewValue {
    Operand(Operand),
    /// The old value of the column at this place of the row, of the assigned column's type, plus (or minus) the operand.
    Sum {
        place: usize,
        operand: Operand,
        subtract: bool,
    },
}

/// The new values of one execution.
#[derive(Debug, Default)]
pub(in crate::api) struct Scratch {
    /// Their bytes as rows have them, one after the other.
    bytes: Vec<u8>,
    /// Where each assignment's lie; `None`: NULL.
    values: Vec<Option<Range<usize>>>,
    /// Where they go in the row, for patching.
    places: Vec<usize>,
}

/// How the row is to be changed.
enum Change {
    /// Write every value at its place.
    Patch,
    /// Write this stretch of the new row.
    Stretch(Range<usize>),
    /// Write the new row.
    Replace,
}

impl PointUpdate {
    pub(super) fn of(plan: &UpdatePlan) -> Option<PointUpdate> {
        let source = PointSource::of(&plan.source)?;
        let table = &plan.target.table;
        let plain = plan.returning.is_none()
            && source.index.is_none()
            && source.table.id == table.id
            && table.checks.is_empty()
            && !plan.assigned.iter().any(|&column| is_watched(table, column));
        if !plain {
            return None;
        }
        let values = source.outputs.get(table.columns.len()..)?;
        if values.len() != plan.assigned.len() {
            return None;
        }
        let assign = |(&column, expr)| Assignment::of(&plan.target, column, expr);
        let assignments = plan.assigned.iter().zip(values).map(assign).collect::<Option<Box<[_]>>>()?;
        let layout = plan.target.layout.row();
        let fixed = assignments.iter().all(|assignment| layout.fixed_offset(assignment.place).is_some());
        Some(PointUpdate { target: plan.target.clone(), key: source.key, assignments, fixed })
    }

    /// Updates the row; how many there were, and the ticket.
    pub(in crate::api) fn run(
        &self,
        place: Place<'_>,
        stamp: u64,
        params: &dyn Params,
        buffers: &mut Buffers,
    ) -> Result<(u64, Option<Ticket>), Miss> {
        let Buffers { key, row, update: scratch, .. } = buffers;
        self.key.encode(params, key).ok_or(Miss::General)?;
        let tree = self.target.table.tree;
        place.write(stamp, &mut |trees| {
            let mut change = None;
            trees.read(tree, key, &mut |old| change = Some(self.prepare(old, params, scratch, row)))?;
            match change.transpose().map_err(WriteError::Caller)? {
                None => return Ok(0),
                Some(Change::Patch) => {
                    for (place, value) in scratch.places.iter().zip(&scratch.values) {
                        let bytes = value.clone().map_or(&[] as &[u8], |range| &scratch.bytes[range]);
                        trees.patch(tree, key, *place, bytes)?;
                    }
                }
                Some(Change::Stretch(stretch)) if stretch.is_empty() => {}
                Some(Change::Stretch(stretch)) => trees.patch(tree, key, stretch.start, &row[stretch])?,
                Some(Change::Replace) => trees.put(tree, key, row)?,
            }
            Ok(1)
        })
    }

    /// Computes the new values, and the new row where patching in place will not do.
    fn prepare(
        &self,
        old: &[u8],
        params: &dyn Params,
        scratch: &mut Scratch,
        row: &mut Vec<u8>,
    ) -> Result<Change, Miss> {
        let layout = self.target.layout.row();
        scratch.bytes.clear();
        scratch.values.clear();
        scratch.places.clear();
        let mut patch = self.fixed;
        for assignment in &self.assignments {
            let start = scratch.bytes.len();
            let is_null = assignment.write(layout, old, params, &mut scratch.bytes)?;
            scratch.values.push((!is_null).then_some(start..scratch.bytes.len()));
            patch = patch && !is_null && layout.raw_column(old, assignment.place)?.is_some();
            if patch {
                scratch.places.push(layout.value_range(old, assignment.place)?.start);
            }
        }
        if patch {
            return Ok(Change::Patch);
        }
        // A damaged row must be noticed, not rewritten with NULLs.
        for place in 0..layout.types().len() {
            layout.raw_column(old, place)?;
        }
        row.clear();
        let new_value = |at: usize| scratch.values[at].clone().map(|range| &scratch.bytes[range]);
        layout.encode_raw(
            |place| match self.assignments.iter().position(|assignment| assignment.place == place) {
                Some(at) => new_value(at),
                None => layout.column_bytes(old, place),
            },
            row,
        );
        Ok(match changed_stretch(old, row) {
            Some(stretch) if stretch.len() * 2 <= row.len() => Change::Stretch(stretch),
            _ => Change::Replace,
        })
    }
}

/// Whether a key, an index or a foreign key looks at the column.
fn is_watched(table: &Table, column: usize) -> bool {
    table.primary_key.contains(&column)
        || table.indexes.iter().any(|index| index.columns.iter().any(|part| part.column == column))
        || table.foreign_keys.iter().any(|key| key.columns.contains(&column))
}

impl Assignment {
    fn of(target: &Target, column: usize, expr: &Expr) -> Option<Assignment> {
        let described = target.table.columns.get(column)?;
        let ColumnPlace::Row(place) = target.layout.place(column) else { return None };
        let (data_type, not_null) = (described.data_type, described.not_null);
        let value = match Operand::of(expr, data_type) {
            Some(operand) => NewValue::Operand(operand),
            None => sum(target, data_type, expr)?,
        };
        Some(Assignment { place, data_type, not_null, value })
    }

    /// Appends the new value's bytes; whether it is NULL.
    fn write(&self, layout: &RowLayout, old: &[u8], params: &dyn Params, out: &mut Vec<u8>) -> Result<bool, Miss> {
        let value = match &self.value {
            NewValue::Operand(operand) => operand.value(params).ok_or(Miss::General)?,
            NewValue::Sum { place, operand, subtract } => {
                let operand = operand.value(params).ok_or(Miss::General)?;
                match layout.raw_column(old, *place)? {
                    Some(raw) if !operand.is_null() => {
                        add(raw, self.data_type, operand, *subtract).ok_or(Miss::General)?
                    }
                    _ => ValueRef::Null,
                }
            }
        };
        if value.is_null() {
            return if self.not_null { Err(Miss::General) } else { Ok(true) };
        }
        encode_value_raw(value, out);
        Ok(false)
    }
}

/// `column + operand`, `operand + column` or `column - operand`, all of the assigned column's integer type.
fn sum(target: &Target, data_type: DataType, expr: &Expr) -> Option<NewValue> {
    let Expr::Call { function, args } = expr else { return None };
    let subtract = match function.name {
        "+" => false,
        "-" => true,
        _ => return None,
    };
    let is_integer = matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt);
    let [left, right] = args.as_slice() else { return None };
    if !is_integer || function.returns != data_type || [left, right].iter().any(|arg| arg.data_type() != data_type) {
        return None;
    }
    let (index, operand) = match (left, right) {
        (Expr::Column { index, .. }, operand) => (*index, operand),
        (operand, Expr::Column { index, .. }) if !subtract => (*index, operand),
        _ => return None,
    };
    let ColumnPlace::Row(place) = target.layout.place(index) else { return None };
    Some(NewValue::Sum { place, operand: Operand::of(operand, data_type)?, subtract })
}

/// `None`: out of range (the general path says so), or not of these types.
fn add(raw: &[u8], data_type: DataType, operand: ValueRef<'_>, subtract: bool) -> Option<ValueRef<'static>> {
    let combine = |old: i64| {
        let operand = operand.as_i64()?;
        if subtract { old.checked_sub(operand) } else { old.checked_add(operand) }
    };
    match data_type {
        DataType::BigInt => combine(i64::from_le_bytes(raw.try_into().ok()?)).map(ValueRef::BigInt),
        DataType::Integer => {
            let new = combine(i32::from_le_bytes(raw.try_into().ok()?).into())?;
            i32::try_from(new).ok().map(ValueRef::Integer)
        }
        DataType::SmallInt => {
            let new = combine(i16::from_le_bytes(raw.try_into().ok()?).into())?;
            i16::try_from(new).ok().map(ValueRef::SmallInt)
        }
        _ => None,
    }
}
