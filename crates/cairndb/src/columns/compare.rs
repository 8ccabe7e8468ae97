//! Equality and order of values within vectors, for grouping, joining and sorting.

use std::cmp::Ordering;
use std::sync::Arc;

use super::batch::row_number;
use super::byte_strings::ByteStrings;
use super::hash::trim_blanks;
use super::vector::{Data, Vector};
use crate::types::{DataType, compare_f64, float_hash_bits};

/// Whether two values of the same type are equal; NULL equals NULL.
#[inline]
pub(crate) fn values_equal(left: &Vector, i: usize, right: &Vector, j: usize) -> bool {
    match (left.is_null(i), right.is_null(j)) {
        (false, false) => match (left.data(), right.data()) {
            (Data::I32(a), Data::I32(b)) => a[i] == b[j],
            (Data::I64(a), Data::I64(b)) => a[i] == b[j],
            (Data::Decimal(a), Data::Decimal(b)) => a.get(i).compare(b.get(j)).is_eq(),
            (Data::Bytes(a), Data::Bytes(b)) => bytes_equal(left.data_type(), a.get(i), b.get(j)),
            _ => compare_values(left, i, right, j).is_eq(),
        },
        (a, b) => a == b,
    }
}

fn bytes_equal(data_type: DataType, a: &[u8], b: &[u8]) -> bool {
    match data_type {
        DataType::Char(_) => trim_blanks(a) == trim_blanks(b),
        _ => a == b,
    }
}

/// Whether two rows of keys are equal; NULL equals NULL.
#[inline]
pub(crate) fn rows_equal<A, B>(left: &[A], i: usize, right: &[B], j: usize) -> bool
where
    A: AsRef<Vector>,
    B: AsRef<Vector>,
{
    left.iter().zip(right).all(|(left, right)| values_equal(left.as_ref(), i, right.as_ref(), j))
}

/// The rows, behind the first, that differ from the one before; NULL equals NULL.
pub(crate) fn rows_that_differ(keys: &[Arc<Vector>], len: usize) -> Vec<u32> {
    let differing = |differs: &dyn Fn(usize) -> bool| (1..len).filter(|&row| differs(row)).map(row_number).collect();
    match keys {
        [key] if key.validity().is_none() => match key.data() {
            Data::I32(values) => adjacent(values, len),
            Data::I64(values) => adjacent(values, len),
            _ => differing(&|row| !rows_equal(keys, row, keys, row - 1)),
        },
        _ => differing(&|row| !rows_equal(keys, row, keys, row - 1)),
    }
}

fn adjacent<T: PartialEq>(values: &[T], len: usize) -> Vec<u32> {
    let pairs = values.get(..len).unwrap_or(values).windows(2);
    (1..).zip(pairs).filter(|(_, pair)| pair[0] != pair[1]).map(|(row, _)| row).collect()
}

/// The order of two values, neither NULL.
pub(crate) fn compare_values(left: &Vector, i: usize, right: &Vector, j: usize) -> Ordering {
    match (left.data(), right.data()) {
        (Data::Bool(a), Data::Bool(b)) => a[i].cmp(&b[j]),
        (Data::I16(a), Data::I16(b)) => a[i].cmp(&b[j]),
        (Data::I32(a), Data::I32(b)) => a[i].cmp(&b[j]),
        (Data::I64(a), Data::I64(b)) => a[i].cmp(&b[j]),
        (Data::F32(a), Data::F32(b)) => compare_f64(a[i].into(), b[j].into()),
        (Data::F64(a), Data::F64(b)) => compare_f64(a[i], b[j]),
        (Data::Bytes(a), Data::Bytes(b)) => compare_bytes(left.data_type(), a, i, b, j),
        (Data::Decimal(a), Data::Decimal(b)) => a.get(i).compare(b.get(j)),
        (Data::Uuid(a), Data::Uuid(b)) => a[i].cmp(&b[j]),
        (Data::Interval(a), Data::Interval(b)) => a[i].span().cmp(&b[j].span()),
        (Data::Values(a), Data::Values(b)) => a[i].compare(&b[j]),
        _ => left.value(i).compare(&right.value(j)),
    }
}

fn compare_bytes(data_type: DataType, a: &ByteStrings, i: usize, b: &ByteStrings, j: usize) -> Ordering {
    match data_type {
        DataType::Char(_) => trim_blanks(a.get(i)).cmp(trim_blanks(b.get(j))),
        _ => a.get(i).cmp(b.get(j)),
    }
}

impl AsRef<Vector> for Vector {
    fn as_ref(&self) -> &Vector {
        self
    }
}

/// A number whose order is that of the floats.
pub(crate) fn float_prefix(value: f64) -> u64 {
    let bits = float_hash_bits(value);
    if value.is_nan() {
        u64::MAX
    } else if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}
