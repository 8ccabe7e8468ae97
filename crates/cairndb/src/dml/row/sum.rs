//! Counting: an integer column plus or minus a number, from the row's bytes and back without an evaluator.

use super::{Operand, Stop, Target};
use crate::Value;
use crate::catalog::{ColumnPlace, TableLayout};
use crate::plan::Expr;
use crate::types::Params;
use crate::types::row::integer_from_raw;
use crate::types::{DataType, ValueRef};

/// The old value of a column, of the assigned column's integer type, plus (or minus) an operand.
#[derive(Debug)]
pub(super) struct Sum {
    /// Position among the row's columns.
    place: usize,
    data_type: DataType,
    operand: Operand,
    subtract: bool,
}

impl Sum {
    /// `column + operand`, `operand + column` or `column - operand`, all of the assigned column's integer type.
    pub(super) fn of(target: &Target, data_type: DataType, expr: &Expr) -> Option<Sum> {
        let Expr::Call { function, args } = expr else { return None };
        let subtract = match &*function.name {
            "+" => false,
            "-" => true,
            _ => return None,
        };
        let is_integer = matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt);
        let [left, right] = args.as_slice() else { return None };
        if !is_integer || function.returns != data_type || [left, right].iter().any(|arg| arg.data_type() != data_type)
        {
            return None;
        }
        let (index, operand) = match (left, right) {
            (Expr::Column { index, .. }, operand) => (*index, operand),
            (operand, Expr::Column { index, .. }) if !subtract => (*index, operand),
            _ => return None,
        };
        // Beyond the table's columns lies the row proposed for insertion.
        target.table.columns.get(index)?;
        let ColumnPlace::Row(place) = target.layout.place(index) else { return None };
        Some(Sum { place, data_type, operand: Operand::of(operand, data_type)?, subtract })
    }

    /// The new value from the old row's bytes; `None`: it is more than counting, or out of range.
    pub(super) fn value(&self, layout: &TableLayout, old: &[u8], params: &dyn Params) -> Result<Option<Value>, Stop> {
        let Some(operand) = self.operand.value(params) else { return Ok(None) };
        Ok(match layout.raw_column(old, self.place)? {
            Some(raw) if !operand.is_null() => self.add(raw, operand),
            _ => Some(Value::Null),
        })
    }

    fn add(&self, raw: &[u8], operand: ValueRef<'_>) -> Option<Value> {
        let (old, operand) = (integer_from_raw(raw, self.data_type).ok()?, operand.as_i64()?);
        let new = if self.subtract { old.checked_sub(operand)? } else { old.checked_add(operand)? };
        match self.data_type {
            DataType::BigInt => Some(Value::BigInt(new)),
            DataType::Integer => i32::try_from(new).ok().map(Value::Integer),
            DataType::SmallInt => i16::try_from(new).ok().map(Value::SmallInt),
            _ => None,
        }
    }
}
