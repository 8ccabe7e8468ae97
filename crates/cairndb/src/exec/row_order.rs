//! The order of rows by keys.
//!
//! Each row's key is made a number that sorts as it does, as far as it goes, and these are sorted; only rows of which they are
//! equal are told apart by what they do not say, or by the next key.

use std::cmp::Ordering;

use crate::DataType;
use crate::columns::{Data, Vector, compare_values, float_prefix, row_number, trim_blanks};
use crate::plan::SortKey;

/// Which way one key is sorted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction {
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

impl Direction {
    pub(crate) const ASCENDING: Direction = Direction { descending: false, nulls_first: false };

    pub(crate) fn of(key: &SortKey) -> Direction {
        Direction { descending: key.descending, nulls_first: key.nulls_first }
    }

    fn apply(self, order: Ordering) -> Ordering {
        if self.descending { order.reverse() } else { order }
    }

    /// The order of two rows by one key.
    fn compare(self, key: &Vector, a: usize, b: usize) -> Ordering {
        self.compare_between(key, a, key, b)
    }

    /// The order of two rows' keys of the same type.
    pub(crate) fn compare_between(self, left: &Vector, a: usize, right: &Vector, b: usize) -> Ordering {
        match (left.is_null(a), right.is_null(b)) {
            (false, false) => self.apply(compare_values(left, a, right, b)),
            (true, true) => Ordering::Equal,
            (a_is_null, _) if a_is_null == self.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}

const SIGN: u64 = 1 << 63;

/// A number that sorts as the key does, as far as it goes. `scale_max`: of decimals, their largest.
fn value_prefix(key: &Vector, row: usize, scale_max: u16) -> u64 {
    match key.data() {
        Data::Bool(values) => values[row].into(),
        Data::I16(values) => i64::from(values[row]).cast_unsigned() ^ SIGN,
        Data::I32(values) => i64::from(values[row]).cast_unsigned() ^ SIGN,
        Data::I64(values) => values[row].cast_unsigned() ^ SIGN,
        Data::F32(values) => float_prefix(values[row].into()),
        Data::F64(values) => float_prefix(values[row]),
        Data::Decimal(decimals) => decimals.order_key(row, scale_max),
        Data::Uuid(values) => values[row].first_chunk().map_or(0, |first| u64::from_be_bytes(*first)),
        Data::Interval(values) => {
            let span = values[row].span().clamp(i64::MIN.into(), i64::MAX.into());
            (span as i64).cast_unsigned() ^ SIGN
        }
        Data::Values(_) => 0,
        Data::Bytes(strings) => {
            let bytes = strings.get(row);
            let bytes = if matches!(key.data_type(), DataType::Char(_)) { trim_blanks(bytes) } else { bytes };
            let mut first = [0; 8];
            let len = bytes.len().min(8);
            first[..len].copy_from_slice(&bytes[..len]);
            u64::from_be_bytes(first)
        }
    }
}

/// Whether values of which [`value_prefix`] gives the same are equal.
fn is_all_in_prefix(key: &Vector) -> bool {
    if let Data::Decimal(decimals) = key.data() {
        return decimals.narrow().is_some();
    }
    !matches!(key.data(), Data::Bytes(_) | Data::Uuid(_) | Data::Interval(_) | Data::Values(_))
}

/// So few rows are compared right away, which is quicker than to make numbers of their keys.
const FEW: usize = 16;

/// Row numbers in the order of the keys; stable.
pub(crate) fn sorted_rows<V: AsRef<Vector>>(keys: &[V], directions: &[Direction], len: usize) -> Vec<u32> {
    let keys: Vec<Key<'_>> = keys.iter().map(AsRef::as_ref).zip(directions.iter().copied()).collect();
    let mut rows: Vec<u32> = (0..row_number(len)).collect();
    sort_rows(&keys, &mut rows);
    rows
}

type Key<'a> = (&'a Vector, Direction);

/// Puts rows in the order of the keys; those that are equal stay as they are.
fn sort_rows(keys: &[Key<'_>], rows: &mut [u32]) {
    let Some((first, others)) = keys.split_first() else { return };
    if rows.len() <= FEW {
        rows.sort_by(|&a, &b| compare_rows(keys, a as usize, b as usize));
        return;
    }
    let (rows, nulls) = nulls_apart(*first, rows);
    sort_rows(others, nulls);
    let prefixes = sort_by_prefix(*first, rows);
    let is_told = is_all_in_prefix(first.0);
    if is_told && others.is_empty() {
        return;
    }
    let mut rest = rows;
    for equal in prefixes.chunk_by(|a, b| prefix_of(*a) == prefix_of(*b)) {
        let (equal, later) = rest.split_at_mut(equal.len());
        match is_told {
            true => sort_rows(others, equal),
            false => equal.sort_by(|&a, &b| compare_rows(keys, a as usize, b as usize)),
        }
        rest = later;
    }
}

/// Moves the rows whose key is NULL before or behind the others: the others, and these.
fn nulls_apart<'r>((key, direction): Key<'_>, rows: &'r mut [u32]) -> (&'r mut [u32], &'r mut [u32]) {
    if key.validity().is_none() {
        return (rows, &mut []);
    }
    let (nulls, others): (Vec<u32>, Vec<u32>) = rows.iter().partition(|&&row| key.is_null(row as usize));
    let (first, last) = if direction.nulls_first { (&nulls, &others) } else { (&others, &nulls) };
    let (before, behind) = rows.split_at_mut(first.len());
    before.copy_from_slice(first);
    behind.copy_from_slice(last);
    if direction.nulls_first { (behind, before) } else { (before, behind) }
}

/// Sorts rows by the numbers of their keys: these, each with the place that its row had, which keeps equal ones in order.
fn sort_by_prefix((key, direction): Key<'_>, rows: &mut [u32]) -> Vec<u128> {
    let scale_max = if let Data::Decimal(decimals) = key.data() { decimals.scale_max() } else { 0 };
    let numbered = |(place, &row): (usize, &u32)| {
        let prefix = value_prefix(key, row as usize, scale_max);
        let prefix = if direction.descending { !prefix } else { prefix };
        u128::from(prefix) << 64 | u128::from(row_number(place)) << 32 | u128::from(row)
    };
    let mut numbers: Vec<u128> = rows.iter().enumerate().map(numbered).collect();
    numbers.sort_unstable();
    for (row, number) in rows.iter_mut().zip(&numbers) {
        *row = *number as u32;
    }
    numbers
}

fn prefix_of(number: u128) -> u64 {
    (number >> 64) as u64
}

fn compare_rows(keys: &[Key<'_>], a: usize, b: usize) -> Ordering {
    keys.iter()
        .map(|(key, direction)| direction.compare(key, a, b))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    fn column(values: impl Iterator<Item = Option<i32>>) -> Vector {
        let values: Vec<Value> = values.map(|value| value.map_or(Value::Null, Value::Integer)).collect();
        Vector::from_values(DataType::Integer, &values).unwrap()
    }

    /// By each key in turn, the last first: as a stable sort by all.
    fn expected(keys: &[Vector], directions: &[Direction], len: usize) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..row_number(len)).collect();
        for (key, direction) in keys.iter().zip(directions).rev() {
            rows.sort_by(|&a, &b| direction.compare(key, a as usize, b as usize));
        }
        rows
    }

    #[test]
    fn rows_that_are_equal_by_a_key_are_sorted_by_the_next_and_stay_in_order() {
        let number = |row: usize, salt: u32| (row as u32).wrapping_mul(2_654_435_761).wrapping_add(salt) >> 7;
        for len in [0, 1, FEW, FEW + 1, 3_000] {
            for (groups, seldom) in [(1, 1_000_000), (3, 5), (40, 2), (len.max(1) as u32, 7)] {
                let keys = [
                    column((0..len).map(|row| (number(row, 1) % seldom > 0).then(|| (number(row, 0) % groups) as i32))),
                    column((0..len).map(|row| (number(row, 2) % 9 > 0).then(|| (number(row, 3) % 50) as i32 - 25))),
                ];
                for bits in 0..16 {
                    let direction =
                        |at: u32| Direction { descending: bits >> at & 1 == 1, nulls_first: bits >> (at + 1) & 1 == 1 };
                    let directions = [direction(0), direction(2)];
                    assert_eq!(sorted_rows(&keys, &directions, len), expected(&keys, &directions, len));
                }
            }
        }
    }
}
