//! `=`, `<>`, `<`, `<=`, `>`, `>=` over vectors.

use std::cmp::Ordering;

use super::decimal::{self, DecimalSide};
use super::native::{ByteSide, Native, Side, is_null_constant, merged_validity, zip_map};
use crate::columns::{Data, Operand, Representation, Vector, trim_blanks};
use crate::functions::Operator;
use crate::types::{DataType, Interval};
use crate::{Error, Result, Value};

/// A machine type in SQL's order: NaN equals NaN and is the greatest.
trait SqlOrder: Native {
    fn same(self, other: Self) -> bool;
    fn less(self, other: Self) -> bool;
}

macro_rules! plain_order {
    ($($type:ty)*) => {$(
        impl SqlOrder for $type {
            #[inline]
            fn same(self, other: Self) -> bool {
                self == other
            }
            #[inline]
            fn less(self, other: Self) -> bool {
                self < other
            }
        }
    )*};
}
plain_order!(bool i16 i32 i64 [u8; 16]);

impl SqlOrder for Interval {
    #[inline]
    fn same(self, other: Self) -> bool {
        self.span() == other.span()
    }
    #[inline]
    fn less(self, other: Self) -> bool {
        self.span() < other.span()
    }
}

macro_rules! float_order {
    ($($type:ty)*) => {$(
        impl SqlOrder for $type {
            #[inline]
            fn same(self, other: Self) -> bool {
                self == other || (self.is_nan() && other.is_nan())
            }
            #[inline]
            fn less(self, other: Self) -> bool {
                self < other || (!self.is_nan() && other.is_nan())
            }
        }
    )*};
}
float_order!(f32 f64);

/// Compares row by row; both operands must be of `representation`. `char(n)` ignores trailing blanks.
pub(super) fn compare(
    op: Operator,
    representation: Representation,
    blank_padded: bool,
    left: &Operand,
    right: &Operand,
    len: usize,
) -> Result<Operand> {
    if is_null_constant(left) || is_null_constant(right) {
        return Ok(Operand::Constant(Value::Null));
    }
    let values = match representation {
        Representation::Bool => native::<bool>(op, left, right, len),
        Representation::I16 => native::<i16>(op, left, right, len),
        Representation::I32 => native::<i32>(op, left, right, len),
        Representation::I64 => native::<i64>(op, left, right, len),
        Representation::F32 => native::<f32>(op, left, right, len),
        Representation::F64 => native::<f64>(op, left, right, len),
        Representation::Bytes => bytes(op, blank_padded, left, right, len),
        Representation::Decimal => decimals(op, left, right, len),
        Representation::Uuid => native::<[u8; 16]>(op, left, right, len),
        Representation::Interval => native::<Interval>(op, left, right, len),
        Representation::Values => Some(each_value(op, left, right, len)),
    };
    let values = values.ok_or_else(|| Error::internal("comparison of different types"))?;
    let validity = merged_validity(left, right);
    Ok(Vector::from_parts(DataType::Boolean, Data::Bool(values), validity).into())
}

fn native<T: SqlOrder>(op: Operator, left: &Operand, right: &Operand, len: usize) -> Option<Vec<bool>> {
    let (a, b) = (Side::<T>::of(left)?, Side::<T>::of(right)?);
    Some(match op {
        Operator::Equal => zip_map(a, b, len, T::same),
        Operator::NotEqual => zip_map(a, b, len, |a, b| !a.same(b)),
        Operator::Less => zip_map(a, b, len, T::less),
        Operator::LessEqual => zip_map(a, b, len, |a, b| !b.less(a)),
        Operator::Greater => zip_map(a, b, len, |a, b| b.less(a)),
        Operator::GreaterEqual => zip_map(a, b, len, |a, b| !a.less(b)),
        _ => return None,
    })
}

fn decimals(op: Operator, left: &Operand, right: &Operand, len: usize) -> Option<Vec<bool>> {
    Some(decimal::compare(op, DecimalSide::of(left)?, DecimalSide::of(right)?, len))
}

fn bytes(op: Operator, blank_padded: bool, left: &Operand, right: &Operand, len: usize) -> Option<Vec<bool>> {
    let (a, b) = (ByteSide::of(left)?, ByteSide::of(right)?);
    let rows = 0..len;
    Some(match (op, blank_padded) {
        (Operator::Equal, false) => rows.map(|row| a.get(row) == b.get(row)).collect(),
        (Operator::NotEqual, false) => rows.map(|row| a.get(row) != b.get(row)).collect(),
        (_, false) => rows.map(|row| accepts(op, a.get(row).cmp(b.get(row)))).collect(),
        (_, true) => rows.map(|row| accepts(op, trim_blanks(a.get(row)).cmp(trim_blanks(b.get(row))))).collect(),
    })
}

fn each_value(op: Operator, left: &Operand, right: &Operand, len: usize) -> Vec<bool> {
    (0..len).map(|row| accepts(op, left.value_ref(row).compare(right.value_ref(row)))).collect()
}

pub(super) fn accepts(op: Operator, order: Ordering) -> bool {
    match op {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        _ => order.is_ge(),
    }
}
