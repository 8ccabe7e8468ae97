//! Drops rows by their bytes, before they are decoded.

use crate::exec::expr::IntegerLimits;
use crate::exec::vector::Representation;
use crate::types::DataType;

/// Rows that are looked at together.
pub(super) const CHUNK: usize = 64;

/// Some rows of a leaf without NULLs, and which of the lent entries each is.
pub(super) struct Chunk<'r> {
    rows: [&'r [u8]; CHUNK],
    places: [usize; CHUNK],
    len: usize,
}

impl<'r> Chunk<'r> {
    pub(super) fn new() -> Chunk<'r> {
        Chunk { rows: [&[]; CHUNK], places: [0; CHUNK], len: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, place: usize, row: &'r [u8]) {
        (self.rows[self.len], self.places[self.len]) = (row, place);
        self.len += 1;
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == CHUNK
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

/// Limits of a fixed-width integer column, where its bytes lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sieve {
    offset: usize,
    representation: Representation,
    low: i64,
    high: i64,
}

impl Sieve {
    pub(super) fn new(limits: IntegerLimits, data_type: DataType, offset: usize) -> Sieve {
        Sieve { offset, representation: Representation::of(data_type), low: limits.low, high: limits.high }
    }

    /// Drops the rows outside the limits. All rows are at least as long as their fixed part.
    pub(super) fn apply(&self, chunk: &mut Chunk<'_>) {
        let within = |value: i64| self.low <= value && value <= self.high;
        match self.representation {
            Representation::I16 => chunk.retain(|row| within(i16::from_le_bytes(bytes_at(row, self.offset)).into())),
            Representation::I32 => chunk.retain(|row| within(i32::from_le_bytes(bytes_at(row, self.offset)).into())),
            Representation::I64 => chunk.retain(|row| within(i64::from_le_bytes(bytes_at(row, self.offset)))),
            _ => {}
        }
    }
}

/// The bytes at `offset`; zeroes past the row's end, where no row that was found long enough ends.
#[inline]
pub(super) fn bytes_at<const N: usize>(row: &[u8], offset: usize) -> [u8; N] {
    row.get(offset..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sieve_keeps_the_rows_within_its_limits_and_their_places() {
        let rows: Vec<[u8; 5]> = (-3_i32..3)
            .map(|value| {
                let mut row = [0; 5];
                row[1..].copy_from_slice(&value.to_le_bytes());
                row
            })
            .collect();
        let mut chunk = Chunk::new();
        rows.iter().enumerate().for_each(|(place, row)| chunk.push(10 + place, row));
        Sieve::new(IntegerLimits { column: 0, low: -1, high: 1 }, DataType::Integer, 1).apply(&mut chunk);
        assert_eq!(chunk.places(), [12, 13, 14]);
        assert_eq!(chunk.rows(), [&rows[2][..], &rows[3], &rows[4]]);
    }
}
