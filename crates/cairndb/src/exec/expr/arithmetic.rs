//! `+`, `-`, `*`, `/`, `%` over vectors of numbers of one type, checked as PostgreSQL does.
//!
//! The loop computes all rows, NULL ones too, and only notes that something failed somewhere; if so, a second pass
//! finds the first failure in a row that has a value.

use super::decimal::{self, DecimalSide};
use super::native::{Native, Side, is_null_constant, merged_validity, zip_map};
use crate::columns::{Bitmap, Data, Operand, Representation, Vector};
use crate::functions::Operator;
use crate::types::DataType;
use crate::{Error, Result, SqlState, Value};

/// A machine type with SQL's arithmetic: each operation says whether it failed.
trait Number: Native {
    fn apply(op: Operator, a: Self, b: Self) -> (Self, bool);
    /// The error of a failed operation.
    fn error(op: Operator, a: Self, b: Self) -> Error;
}

macro_rules! integer {
    ($($type:ty: $name:literal;)*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn apply(op: Operator, a: Self, b: Self) -> (Self, bool) {
                match op {
                    Operator::Add => a.overflowing_add(b),
                    Operator::Subtract => a.overflowing_sub(b),
                    Operator::Multiply => a.overflowing_mul(b),
                    Operator::Divide => a.checked_div(b).map_or((0, true), |result| (result, false)),
                    _ if b == 0 => (0, true),
                    _ => (a.wrapping_rem(b), false),
                }
            }
            fn error(op: Operator, _a: Self, b: Self) -> Error {
                match op {
                    Operator::Divide | Operator::Modulo if b == 0 => division_by_zero(),
                    _ => Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, concat!($name, " out of range")),
                }
            }
        }
    )*};
}
integer! { i16: "smallint"; i32: "integer"; i64: "bigint"; }

macro_rules! float {
    ($($type:ty)*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn apply(op: Operator, a: Self, b: Self) -> (Self, bool) {
                let (result, underflow) = match op {
                    Operator::Add => (a + b, false),
                    Operator::Subtract => (a - b, false),
                    Operator::Multiply => (a * b, a * b == 0.0 && a != 0.0 && b != 0.0),
                    _ => (a / b, (b == 0.0 && !a.is_nan()) || (a / b == 0.0 && a != 0.0 && !b.is_infinite())),
                };
                (result, underflow || (result.is_infinite() && !a.is_infinite() && !b.is_infinite()))
            }
            fn error(op: Operator, a: Self, b: Self) -> Error {
                if op == Operator::Divide && b == 0.0 {
                    return division_by_zero();
                }
                let is_overflow = Self::apply(op, a, b).0.is_infinite();
                let what = if is_overflow { "overflow" } else { "underflow" };
                Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("value out of range: {what}"))
            }
        }
    )*};
}
float!(f32 f64);

fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// Whether there is a kernel for the operator on two operands of this type.
pub(super) fn has_kernel(op: Operator, data_type: DataType) -> bool {
    let other = matches!(data_type, DataType::Real | DataType::Double | DataType::Numeric(_));
    match op {
        Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide => other || data_type.is_integer(),
        Operator::Modulo => data_type.is_integer(),
        _ => false,
    }
}

/// Computes row by row; both operands must be of `data_type`, for which [`has_kernel`] said yes.
pub(super) fn compute(
    op: Operator,
    data_type: DataType,
    left: &Operand,
    right: &Operand,
    len: usize,
) -> Result<Operand> {
    if is_null_constant(left) || is_null_constant(right) {
        return Ok(Operand::Constant(Value::Null));
    }
    let validity = merged_validity(left, right);
    let data = match data_type.physical() {
        Representation::I16 => i16::wrap(run(op, left, right, len, validity.as_ref())?),
        Representation::I32 => i32::wrap(run(op, left, right, len, validity.as_ref())?),
        Representation::I64 => i64::wrap(run(op, left, right, len, validity.as_ref())?),
        Representation::F32 => f32::wrap(run(op, left, right, len, validity.as_ref())?),
        Representation::F64 => f64::wrap(run(op, left, right, len, validity.as_ref())?),
        _ => decimals(op, left, right, len, validity.as_ref())?,
    };
    Ok(Vector::from_parts(data_type, data, validity).into())
}

fn run<T: Number>(
    op: Operator,
    left: &Operand,
    right: &Operand,
    len: usize,
    validity: Option<&Bitmap>,
) -> Result<Vec<T>> {
    let sides = Side::<T>::of(left).zip(Side::<T>::of(right));
    let (a, b) = sides.ok_or_else(|| Error::internal("arithmetic on different types"))?;
    match op {
        Operator::Add => checked(Operator::Add, a, b, len, validity),
        Operator::Subtract => checked(Operator::Subtract, a, b, len, validity),
        Operator::Multiply => checked(Operator::Multiply, a, b, len, validity),
        Operator::Divide => checked(Operator::Divide, a, b, len, validity),
        _ => checked(Operator::Modulo, a, b, len, validity),
    }
}

/// Inlined with a constant `op`, so that the loop has no branch on it.
#[inline(always)]
fn checked<T: Number>(
    op: Operator,
    a: Side<'_, T>,
    b: Side<'_, T>,
    len: usize,
    validity: Option<&Bitmap>,
) -> Result<Vec<T>> {
    let mut any_failed = false;
    let results = zip_map(a, b, len, |a, b| {
        let (result, failed) = T::apply(op, a, b);
        any_failed |= failed;
        result
    });
    if any_failed {
        let is_valid = |row: usize| validity.is_none_or(|bits| bits.get(row));
        let failure = (0..len).find(|&row| is_valid(row) && T::apply(op, a.get(row), b.get(row)).1);
        if let Some(row) = failure {
            return Err(T::error(op, a.get(row), b.get(row)));
        }
    }
    Ok(results)
}

fn decimals(op: Operator, left: &Operand, right: &Operand, len: usize, validity: Option<&Bitmap>) -> Result<Data> {
    let sides = DecimalSide::of(left).zip(DecimalSide::of(right));
    let (a, b) = sides.ok_or_else(|| Error::internal("arithmetic on different types"))?;
    decimal::compute(op, a, b, len, validity).map(Data::Decimal)
}
