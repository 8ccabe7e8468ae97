//! Loops over one or two operands of a machine type, each a vector or a constant.

use crate::Value;
use crate::columns::{Bitmap, ByteStrings, Data, Operand};
use crate::types::Interval;

/// A machine type that vectors hold in a plain array.
pub(super) trait Native: Copy + Default {
    fn slice(data: &Data) -> Option<&[Self]>;
    fn constant(value: &Value) -> Option<Self>;
    fn wrap(values: Vec<Self>) -> Data;
}

macro_rules! native {
    ($($type:ty: $data:ident from $($value:ident)|+;)*) => {$(
        impl Native for $type {
            fn slice(data: &Data) -> Option<&[Self]> {
                match data {
                    Data::$data(values) => Some(values),
                    _ => None,
                }
            }
            fn constant(value: &Value) -> Option<Self> {
                match value {
                    $(Value::$value(value) => Some((*value).into()),)+
                    _ => None,
                }
            }
            fn wrap(values: Vec<Self>) -> Data {
                Data::$data(values)
            }
        }
    )*};
}
native! {
    bool: Bool from Boolean;
    i16: I16 from SmallInt;
    i32: I32 from Integer | Date;
    i64: I64 from BigInt | Time | TimeTz | Timestamp | TimestampTz | Enum;
    f32: F32 from Real;
    f64: F64 from Double;
    [u8; 16]: Uuid from Uuid;
    Interval: Interval from Interval;
}

/// One operand of a loop.
#[derive(Clone, Copy)]
pub(super) enum Side<'a, T> {
    Many(&'a [T]),
    One(T),
}

impl<'a, T: Native> Side<'a, T> {
    /// `None`: the operand is of another type, or a NULL constant.
    pub(super) fn of(operand: &'a Operand) -> Option<Side<'a, T>> {
        match operand {
            Operand::Vector(vector) => T::slice(vector.data()).map(Side::Many),
            Operand::Constant(value) => T::constant(value).map(Side::One),
        }
    }

    pub(super) fn get(&self, row: usize) -> T {
        match self {
            Side::Many(values) => values[row],
            Side::One(value) => *value,
        }
    }
}

/// `f` of each pair; a loop per shape, so that each is one the compiler can vectorize.
pub(super) fn zip_map<T: Copy, R: Clone>(
    left: Side<'_, T>,
    right: Side<'_, T>,
    len: usize,
    mut f: impl FnMut(T, T) -> R,
) -> Vec<R> {
    match (left, right) {
        (Side::Many(a), Side::Many(b)) => a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect(),
        (Side::Many(a), Side::One(b)) => a.iter().map(|&a| f(a, b)).collect(),
        (Side::One(a), Side::Many(b)) => b.iter().map(|&b| f(a, b)).collect(),
        (Side::One(a), Side::One(b)) => vec![f(a, b); len],
    }
}

/// As [`Side`], of byte strings.
#[derive(Clone, Copy)]
pub(super) enum ByteSide<'a> {
    Many(&'a ByteStrings),
    One(&'a [u8]),
}

impl<'a> ByteSide<'a> {
    pub(super) fn of(operand: &'a Operand) -> Option<ByteSide<'a>> {
        match operand {
            Operand::Vector(vector) => match vector.data() {
                Data::Bytes(strings) => Some(ByteSide::Many(strings)),
                _ => None,
            },
            Operand::Constant(Value::Text(text)) => Some(ByteSide::One(text.as_bytes())),
            Operand::Constant(Value::Bytea(bytes)) => Some(ByteSide::One(bytes)),
            Operand::Constant(_) => None,
        }
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> &'a [u8] {
        match self {
            ByteSide::Many(strings) => strings.get(row),
            ByteSide::One(bytes) => bytes,
        }
    }
}

/// Rows where both operands have a value; `None`: all.
pub(super) fn merged_validity(left: &Operand, right: &Operand) -> Option<Bitmap> {
    let validity = |operand: &Operand| match operand {
        Operand::Vector(vector) => vector.validity().cloned(),
        Operand::Constant(_) => None,
    };
    match (validity(left), validity(right)) {
        (Some(mut left), Some(right)) => {
            left.intersect(&right);
            Some(left)
        }
        (left, right) => left.or(right),
    }
}

/// Whether the operand is NULL in all rows.
pub(super) fn is_null_constant(operand: &Operand) -> bool {
    matches!(operand, Operand::Constant(Value::Null))
}
