//! Drops rows by their bytes, before they are decoded.

use crate::exec::expr::IntegerLimits;
use crate::types::row::{IntegerPlace, Nulls};

/// Rows that are looked at together.
pub(super) const CHUNK: usize = 64;

/// Some rows of a leaf, and which of the lent entries each is.
pub(super) struct Chunk<'r> {
    rows: [&'r [u8]; CHUNK],
    places: [usize; CHUNK],
    len: usize,
}

impl<'r> Chunk<'r> {
    pub(super) fn new() -> Chunk<'r> {
        Chunk { rows: [&[]; CHUNK], places: [0; CHUNK], len: 0 }
    }

    /// Takes the rows of entries from `first` on, up to one that `row` does not give; how many.
    #[inline]
    pub(super) fn fill(&mut self, first: usize, row: impl Fn(usize) -> Option<&'r [u8]>) -> usize {
        let mut taken = 0;
        for (at, (to, place)) in self.rows.iter_mut().zip(&mut self.places).enumerate() {
            let Some(row) = row(first + at) else { break };
            (*to, *place, taken) = (row, first + at, at + 1);
        }
        self.len = taken;
        taken
    }

    pub(super) fn rows(&self) -> &[&'r [u8]] {
        &self.rows[..self.len]
    }

    pub(super) fn places(&self) -> &[usize] {
        &self.places[..self.len]
    }

    /// Keeps the rows that `passes`; without a branch, which would often be mispredicted.
    #[inline]
    fn retain(&mut self, passes: impl Fn(&[u8]) -> bool) {
        let mut kept = 0;
        for i in 0..self.len {
            let (row, place) = (self.rows[i], self.places[i]);
            (self.rows[kept], self.places[kept]) = (row, place);
            kept += usize::from(passes(row));
        }
        self.len = kept;
    }
}

/// Limits of an integer column, and where it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sieve {
    /// The row's column.
    column: usize,
    place: IntegerPlace,
    low: i64,
    high: i64,
}

impl Sieve {
    pub(super) fn new(limits: IntegerLimits, column: usize, place: IntegerPlace) -> Sieve {
        Sieve { column, place, low: limits.low, high: limits.high }
    }

    /// Drops the rows outside the limits, and those where the column is NULL. A damaged one stays: who decodes it says so.
    pub(super) fn apply(&self, chunk: &mut Chunk<'_>, nulls: impl Nulls) {
        chunk.retain(|row| {
            let is_within = |value| self.low <= value && value <= self.high;
            // A NULL has no bytes.
            self.place.read(row, nulls).map_or_else(|| !nulls.is_null(row, self.column), is_within)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::types::DataType;
    use crate::types::row::{ColumnBytes, NoNulls, RowLayout};

    #[test]
    fn a_sieve_keeps_the_rows_within_its_limits_and_their_places() {
        let layout = RowLayout::new(&[DataType::BigInt, DataType::Integer]);
        let row = |value: i32| {
            let mut row = Vec::new();
            layout.encode(&[Value::BigInt(1 << (20 + 10 * value)), Value::Integer(value)], &mut row);
            row
        };
        let mut rows: Vec<Vec<u8>> = (-2..3).map(row).collect();
        // A width that no integer has: damaged.
        rows[0][1] = 15;
        let mut chunk = Chunk::new();
        assert_eq!(chunk.fill(10, |place| rows.get(place - 10).map(Vec::as_slice)), 5);
        let ColumnBytes::Integer(place) = layout.bytes_of(1) else { panic!("an integer") };
        Sieve::new(IntegerLimits { column: 0, low: 0, high: 1 }, 1, place).apply(&mut chunk, NoNulls);
        assert_eq!(chunk.places(), [10, 12, 13]);
        assert_eq!(chunk.rows(), [&rows[0][..], &rows[2], &rows[3]]);
    }
}
