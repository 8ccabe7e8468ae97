//! Arithmetic and comparison over vectors of decimals: on mantissas of 64 bits in loops as long as all results fit these,
//! else value by value.

use std::cmp::Ordering;

use super::comparison::accepts;
use super::native::{Side, zip_map};
use crate::columns::{Bitmap, Data, Decimals, Operand};
use crate::functions::Operator;
use crate::types::{NumericRef, SCALE_MAX};
use crate::{Result, Value};

/// One operand.
#[derive(Clone, Copy)]
pub(super) enum DecimalSide<'a> {
    Many(&'a Decimals),
    One(NumericRef<'a>),
}

impl<'a> DecimalSide<'a> {
    /// `None`: the operand is of another type, or a NULL constant.
    pub(super) fn of(operand: &'a Operand) -> Option<DecimalSide<'a>> {
        match operand {
            Operand::Vector(vector) => match vector.data() {
                Data::Decimal(decimals) => Some(DecimalSide::Many(decimals)),
                _ => None,
            },
            Operand::Constant(Value::Numeric(value)) => Some(DecimalSide::One(value.into())),
            Operand::Constant(_) => None,
        }
    }

    #[inline]
    fn get(self, row: usize) -> NumericRef<'a> {
        match self {
            DecimalSide::Many(decimals) => decimals.get(row),
            DecimalSide::One(value) => value,
        }
    }

    /// Its mantissas and their scale, where these are of 64 bits and have one.
    fn narrow(self) -> Option<(Side<'a, i64>, u16)> {
        match self {
            DecimalSide::Many(decimals) => decimals.narrow().map(|(items, scale)| (Side::Many(items), scale)),
            DecimalSide::One(NumericRef::Small { mantissa, scale }) => Some((Side::One(mantissa), scale)),
            DecimalSide::One(_) => None,
        }
    }
}

/// Computes row by row; only rows of `validity` can fail.
pub(super) fn compute(
    op: Operator,
    a: DecimalSide<'_>,
    b: DecimalSide<'_>,
    len: usize,
    validity: Option<&Bitmap>,
) -> Result<Decimals> {
    match narrow(op, a, b, len) {
        Some(results) => Ok(results),
        None => each(op, a, b, len, validity),
    }
}

/// `None`: not all operands or results fit.
fn narrow(op: Operator, a: DecimalSide<'_>, b: DecimalSide<'_>, len: usize) -> Option<Decimals> {
    let ((a, s), (b, t)) = (a.narrow()?, b.narrow()?);
    match op {
        Operator::Add => aligned(a, s, b, t, len, i64::overflowing_add),
        Operator::Subtract => aligned(a, s, b, t, len, i64::overflowing_sub),
        Operator::Multiply if s + t <= SCALE_MAX => {
            fitting(a, b, len, i64::overflowing_mul).map(|results| Decimals::of_scale(results, s + t))
        }
        _ => None,
    }
}

/// Brings both to the larger scale first.
#[inline(always)]
fn aligned(
    a: Side<'_, i64>,
    s: u16,
    b: Side<'_, i64>,
    t: u16,
    len: usize,
    apply: impl Fn(i64, i64) -> (i64, bool),
) -> Option<Decimals> {
    let factor = 10_i64.checked_pow(s.abs_diff(t).into())?;
    let results = match s.cmp(&t) {
        Ordering::Equal => fitting(a, b, len, apply),
        Ordering::Less => fitting(a, b, len, |a, b| {
            let (a, too_large) = a.overflowing_mul(factor);
            let (result, overflow) = apply(a, b);
            (result, too_large | overflow)
        }),
        Ordering::Greater => fitting(a, b, len, |a, b| {
            let (b, too_large) = b.overflowing_mul(factor);
            let (result, overflow) = apply(a, b);
            (result, too_large | overflow)
        }),
    };
    results.map(|results| Decimals::of_scale(results, s.max(t)))
}

#[inline(always)]
fn fitting(
    a: Side<'_, i64>,
    b: Side<'_, i64>,
    len: usize,
    apply: impl Fn(i64, i64) -> (i64, bool),
) -> Option<Vec<i64>> {
    let mut any_overflow = false;
    let results = zip_map(a, b, len, |a, b| {
        let (result, overflow) = apply(a, b);
        any_overflow |= overflow;
        result
    });
    (!any_overflow).then_some(results)
}

fn each(
    op: Operator,
    a: DecimalSide<'_>,
    b: DecimalSide<'_>,
    len: usize,
    validity: Option<&Bitmap>,
) -> Result<Decimals> {
    let mut results = Decimals::with_capacity(len);
    for row in 0..len {
        if validity.is_some_and(|bits| !bits.get(row)) {
            results.push_default();
            continue;
        }
        let (a, b) = (a.get(row), b.get(row));
        match exact(op, a, b) {
            Some((mantissa, scale)) => results.push_wide(mantissa, scale),
            None => {
                let (a, b) = (a.to_cow(), b.to_cow());
                results.push_whole(&match op {
                    Operator::Add => a.add(&b)?,
                    Operator::Subtract => a.sub(&b)?,
                    Operator::Multiply => a.mul(&b)?,
                    _ => a.div(&b)?,
                });
            }
        }
    }
    Ok(results)
}

/// The result, where operands and result have at most 128 bits.
fn exact(op: Operator, a: NumericRef<'_>, b: NumericRef<'_>) -> Option<(i128, u16)> {
    if op == Operator::Divide {
        return None;
    }
    let ((a, s), (b, t)) = (a.parts()?, b.parts()?);
    if op == Operator::Multiply {
        return (s + t <= SCALE_MAX).then_some(()).and_then(|()| Some((a.checked_mul(b)?, s + t)));
    }
    let factor = 10_i128.checked_pow(s.abs_diff(t).into())?;
    let (a, b) = if s < t { (a.checked_mul(factor)?, b) } else { (a, b.checked_mul(factor)?) };
    let result = if op == Operator::Add { a.checked_add(b)? } else { a.checked_sub(b)? };
    Some((result, s.max(t)))
}

/// Compares row by row.
pub(super) fn compare(op: Operator, a: DecimalSide<'_>, b: DecimalSide<'_>, len: usize) -> Vec<bool> {
    match compare_narrow(op, a, b, len) {
        Some(results) => results,
        None => (0..len).map(|row| accepts(op, a.get(row).compare(b.get(row)))).collect(),
    }
}

/// `None`: they are not of 64 bits, or their scales are too far apart.
fn compare_narrow(op: Operator, a: DecimalSide<'_>, b: DecimalSide<'_>, len: usize) -> Option<Vec<bool>> {
    let ((a, s), (b, t)) = (a.narrow()?, b.narrow()?);
    let constant = match (s.cmp(&t), a, b) {
        (Ordering::Equal, ..) => Some((a, b)),
        (Ordering::Less, Side::One(value), _) => scaled(value, t - s).map(|value| (Side::One(value), b)),
        (Ordering::Greater, _, Side::One(value)) => scaled(value, s - t).map(|value| (a, Side::One(value))),
        _ => None,
    };
    if let Some((a, b)) = constant {
        return Some(compare_by(op, a, b, len, |a| a, |b| b));
    }
    let factor = |more: u16| 10_i64.checked_pow(more.into()).map(i128::from);
    let (for_a, for_b) = (factor(t.saturating_sub(s))?, factor(s.saturating_sub(t))?);
    Some(compare_by(op, a, b, len, |a| i128::from(a) * for_a, |b| i128::from(b) * for_b))
}

fn scaled(mantissa: i64, more: u16) -> Option<i64> {
    mantissa.checked_mul(10_i64.checked_pow(more.into())?)
}

#[inline(always)]
fn compare_by<K: Ord>(
    op: Operator,
    a: Side<'_, i64>,
    b: Side<'_, i64>,
    len: usize,
    left: impl Fn(i64) -> K,
    right: impl Fn(i64) -> K,
) -> Vec<bool> {
    match op {
        Operator::Equal => zip_map(a, b, len, |a, b| left(a) == right(b)),
        Operator::NotEqual => zip_map(a, b, len, |a, b| left(a) != right(b)),
        Operator::Less => zip_map(a, b, len, |a, b| left(a) < right(b)),
        Operator::LessEqual => zip_map(a, b, len, |a, b| left(a) <= right(b)),
        Operator::Greater => zip_map(a, b, len, |a, b| left(a) > right(b)),
        _ => zip_map(a, b, len, |a, b| left(a) >= right(b)),
    }
}
