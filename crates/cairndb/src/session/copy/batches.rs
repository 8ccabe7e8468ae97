//! Rows that a program has by column: as many of them together as of any other, their columns as they are where they are
//! of the table's types.

use std::sync::Arc;

use super::incoming::{Incoming, ROWS, Rows};
use super::load::{Load, Target};
use crate::columns::{Batch, Data, Vector};
use crate::types::{DataType, ValueRef, fit};
use crate::{Error, Result, SqlState};

pub(super) type NextBatch<'d> = dyn FnMut() -> Option<Result<Batch>> + 'd;

/// Of a program, by column.
pub(super) struct GivenBatches<'n, 'd> {
    next: &'n mut NextBatch<'d>,
    current: Option<Batch>,
    /// Of `current`, what was given.
    given: usize,
    /// How many came before the last ones.
    before: u64,
    count: u64,
}

impl<'n, 'd> GivenBatches<'n, 'd> {
    pub(super) fn new(next: &'n mut NextBatch<'d>) -> GivenBatches<'n, 'd> {
        GivenBatches { next, current: None, given: 0, before: 0, count: 0 }
    }

    /// The next rows, not too many of them; `None`: there are none.
    fn part(&mut self, load: &Load<'_>) -> Result<Option<Batch>> {
        loop {
            if let Some(batch) = &self.current {
                let part = batch.slice(self.given, ROWS);
                self.given += part.len();
                if self.given >= batch.len() {
                    (self.current, self.given) = (None, 0);
                }
                return Ok(Some(part));
            }
            let Some(batch) = (self.next)().transpose()? else { return Ok(None) };
            if batch.columns().len() != load.targets.len() {
                let (given, wanted) = (batch.columns().len(), load.targets.len());
                let message = format!("the rows have {given} values for {wanted} columns");
                return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_context(self.place(load, 0)));
            }
            self.current = Some(batch).filter(|batch| !batch.is_empty());
        }
    }
}

impl Incoming for GivenBatches<'_, '_> {
    fn next(&mut self, load: &Load<'_>) -> Rows {
        self.before += std::mem::take(&mut self.count);
        let part = match self.part(load) {
            Ok(Some(part)) => part,
            none => {
                let mut rows = Rows::of(0);
                rows.columns = load.targets.iter().map(|target| Vector::new(target.data_type)).collect();
                rows.end = Some(none.map(drop));
                return rows;
            }
        };
        let mut rows = Rows::of(part.len());
        for (column, target) in part.into_columns().into_iter().zip(&load.targets) {
            rows.take(column, target, load, |row| self.place(load, row));
        }
        self.count = rows.count as u64;
        rows.cut()
    }

    fn place(&self, load: &Load<'_>, row: usize) -> String {
        format!("appending to {}, row {}", load.table.name, self.before + row as u64 + 1)
    }
}

impl Rows {
    /// Takes a column. The rows end before the first whose value can not be the table's.
    fn take(&mut self, column: Arc<Vector>, target: &Target, load: &Load<'_>, place: impl Fn(usize) -> String) {
        let column = Arc::try_unwrap(column).unwrap_or_else(|shared| Vector::clone(&shared));
        let column = match fit_together(column, target.data_type) {
            Ok(fitted) => return self.columns.push(fitted),
            Err(column) => column,
        };
        let eval = &load.context.exec.eval;
        self.read(target, |fitted, row| {
            let taken = match column.value_ref(row).unwrap_or(ValueRef::Null) {
                ValueRef::Null => {
                    fitted.push_null();
                    Ok(())
                }
                ValueRef::Text(text) => fitted.push_text(text, eval),
                value => fit(value, target.data_type, eval).and_then(|value| fitted.push(&value)),
            };
            taken.map_err(|error| error.with_context(format!("{}, column {}", place(row), load.column(target))))
        });
    }
}

/// A column as one of another type, where all its values are that, too; as it was, where they have to be looked at one by one.
fn fit_together(column: Vector, to: DataType) -> std::result::Result<Vector, Vector> {
    let (from, bits) = (column.data_type(), column.validity().cloned());
    if from == to {
        return Ok(column);
    }
    let made = |data| Ok(Vector::from_parts(to, data, bits));
    match (column.data(), to) {
        (Data::I16(items), DataType::Integer) => made(Data::I32(items.iter().map(|&item| item.into()).collect())),
        (Data::I16(items), DataType::BigInt) => made(Data::I64(items.iter().map(|&item| item.into()).collect())),
        (Data::I32(items), DataType::BigInt) if from == DataType::Integer => {
            made(Data::I64(items.iter().map(|&item| item.into()).collect()))
        }
        (Data::I64(items), DataType::Integer) if from == DataType::BigInt => {
            match items.iter().map(|&item| i32::try_from(item)).collect() {
                Ok(items) => made(Data::I32(items)),
                Err(_) => Err(column),
            }
        }
        (Data::F32(items), DataType::Double) => made(Data::F64(items.iter().map(|&item| item.into()).collect())),
        (Data::Bytes(strings), _) if is_text(from) => match to {
            DataType::Text | DataType::Varchar(None) => Ok(column.with_type(to)),
            DataType::Varchar(Some(limit))
                if (0..strings.len()).all(|row| strings.get(row).len() <= limit as usize) =>
            {
                Ok(column.with_type(to))
            }
            _ => Err(column),
        },
        (Data::Decimal(decimals), DataType::Numeric(limit)) => {
            let is_within = |(precision, scale): (u16, i16)| {
                let most = 10_i64.checked_pow(precision.into());
                let (Some(most), Some((items, own))) = (most, decimals.narrow()) else { return false };
                i32::from(own) == i32::from(scale) && items.iter().all(|item| -most < *item && *item < most)
            };
            if limit.is_none_or(is_within) { Ok(column.with_type(to)) } else { Err(column) }
        }
        (Data::I64(_), DataType::Timestamp(None)) if matches!(from, DataType::Timestamp(_)) => Ok(column.with_type(to)),
        (Data::I64(_), DataType::TimestampTz(None)) if matches!(from, DataType::TimestampTz(_)) => {
            Ok(column.with_type(to))
        }
        _ => Err(column),
    }
}

fn is_text(data_type: DataType) -> bool {
    matches!(data_type, DataType::Text | DataType::Varchar(_))
}
