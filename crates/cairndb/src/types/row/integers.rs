//! Integers in as few bytes as they need, and the widths that say how many those are.

use crate::types::DataType;

/// Integers whose widths one word holds.
pub(super) const WORD_INTEGERS: usize = 15;
/// The half of the header byte that is no width.
const NO_WIDTH: u64 = 0xf0;

/// The widths of a row's first fifteen integers: the row's first eight bytes as a number, the header's kind left out.
#[derive(Clone, Copy)]
pub(super) struct Widths(u64);

impl Widths {
    #[inline]
    pub(super) fn of(row: &[u8]) -> Widths {
        Widths(first_word(row) & !NO_WIDTH)
    }

    /// The width of an integer, one of the first fifteen.
    #[inline]
    pub(super) fn get(self, nth: usize) -> usize {
        (self.0 >> (4 * half_of(nth))) as usize & 15
    }

    /// The sum of the widths under the mask.
    #[inline]
    pub(super) fn sum(self, mask: u64) -> usize {
        sum_of_halves(self.0 & mask)
    }
}

/// The mask that covers the widths of the first `count` integers, at most fifteen.
pub(super) fn mask_of_first(count: usize) -> u64 {
    match count {
        0 => 0,
        WORD_INTEGERS.. => !NO_WIDTH,
        _ => !NO_WIDTH & ((1 << (4 * half_of(count))) - 1),
    }
}

/// Which half byte of the row says how wide an integer is.
#[inline]
pub(super) fn half_of(nth: usize) -> usize {
    if nth == 0 { 0 } else { nth + 1 }
}

/// The width of any integer; 0 past the row's end.
pub(super) fn width_at(row: &[u8], nth: usize) -> usize {
    let half = half_of(nth);
    let byte = row.get(half / 2).copied().unwrap_or(0);
    usize::from(byte >> (4 * (half % 2)) & 15)
}

/// The sum of the widths of the first `count` integers, however many.
pub(super) fn sum_of_widths(row: &[u8], count: usize) -> usize {
    match count {
        0..=WORD_INTEGERS => Widths::of(row).sum(mask_of_first(count)),
        _ => (0..count).map(|nth| width_at(row, nth)).sum(),
    }
}

#[inline]
fn sum_of_halves(word: u64) -> usize {
    const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let bytes = (word & LOW) + (word >> 4 & LOW);
    (bytes.wrapping_mul(0x0101_0101_0101_0101) >> 56) as usize
}

/// The first eight bytes, little endian; zeroes past the end.
#[inline]
fn first_word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => padded_word(bytes),
    }
}

#[cold]
fn padded_word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// The integer of `width` bytes at `start`, of a type that has `most`; `None`: damaged.
#[inline]
pub(super) fn read(row: &[u8], start: usize, width: usize, most: usize) -> Option<i64> {
    let bytes = row.get(start..)?;
    if width.wrapping_sub(1) >= most || width > bytes.len() {
        return None;
    }
    let unused = 64 - 8 * width as u32;
    Some((first_word(bytes) << unused).cast_signed() >> unused)
}

/// The fewest bytes that hold the number.
#[inline]
pub(in crate::types) fn bytes_needed(number: i64) -> usize {
    // Bits that only repeat the sign, all but one, are left out.
    let repeated = (number ^ (number >> 63)).leading_zeros() as usize;
    (72 - repeated) / 8
}

/// The bytes that a new number of a column takes. Numbers above 127 that count something get one byte more than they need,
/// as far as their type has it: most changes fit where the old value lies, and a row that grows may split its page.
#[inline]
pub(super) fn bytes_kept(number: i64, data_type: DataType) -> usize {
    let needed = bytes_needed(number);
    let most = match data_type {
        DataType::SmallInt => 2,
        DataType::Integer => 4,
        DataType::BigInt | DataType::Oid | DataType::Reg(_) => 8,
        _ => needed,
    };
    assert!(needed <= most, "an integer too wide for its column");
    if needed == 1 { 1 } else { most.min(needed + 1) }
}

/// Appends the low `width` bytes.
#[inline]
pub(in crate::types) fn write(number: i64, width: usize, out: &mut Vec<u8>) {
    // Eight bytes at once and then fewer: a copy of a length that is not known costs a call.
    let end = out.len() + width;
    out.extend_from_slice(&number.to_le_bytes());
    out.truncate(end);
}
