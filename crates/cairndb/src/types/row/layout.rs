//! Where columns lie in a row's bytes.

use std::ops::Range;

use super::decode::decode_length;
use super::integers::{self, WORD_INTEGERS, Widths, mask_of_first, sum_of_widths, width_at};
use super::{HAS_NULLS, HEADER_KIND, VERSIONS, corrupted};
use crate::types::DataType;
use crate::{Error, Result};

/// How rows of certain column types lie in bytes, worked out once.
#[derive(Clone, Debug)]
pub struct RowLayout {
    pub(super) types: Box<[DataType]>,
    pub(super) places: Box<[Place]>,
    /// The columns of each kind, in column order.
    pub(super) integers: Box<[usize]>,
    pub(super) fixed: Box<[usize]>,
    pub(super) variable: Box<[usize]>,
    /// The header of a row without NULLs and integers.
    pub(super) kind: u8,
    /// Bytes of the header and the widths.
    pub(super) head_bytes: usize,
    /// Covers the widths of the first integers.
    all_widths: u64,
    pub(super) bitmap_bytes: usize,
    /// Bytes of all fixed-width columns that are not integers.
    fixed_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Integer(IntegerPlace),
    /// Distance from the first of these columns, and the width.
    Fixed {
        offset: usize,
        width: usize,
    },
    /// Position among the variable columns.
    Variable(usize),
}

/// Where an integer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntegerPlace {
    /// Position among the integers.
    nth: usize,
    /// Covers the widths of the integers before it.
    before: u64,
    /// The bytes that its type has.
    most: usize,
    /// Bytes before the first integer of a row without NULLs.
    head_bytes: usize,
}

/// Where a column lies in a row's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnBytes {
    Integer(IntegerPlace),
    /// Distance from the end of the integers.
    Fixed(usize),
    Variable,
}

/// What is known of the NULLs of rows that are read together.
pub(crate) trait Nulls: Copy {
    /// There are none.
    const NONE: bool;

    /// Bytes of the bitmap between the widths and the integers.
    fn bitmap_bytes(self, row: &[u8]) -> usize;

    fn is_null(self, row: &[u8], column: usize) -> bool;
}

/// Rows without NULLs.
#[derive(Clone, Copy)]
pub(crate) struct NoNulls;

/// Rows of the layout's version, of which each may have NULLs.
#[derive(Clone, Copy)]
pub(crate) struct SomeNulls {
    head_bytes: usize,
    bitmap_bytes: usize,
}

impl Nulls for NoNulls {
    const NONE: bool = true;

    #[inline(always)]
    fn bitmap_bytes(self, _: &[u8]) -> usize {
        0
    }

    #[inline(always)]
    fn is_null(self, _: &[u8], _: usize) -> bool {
        false
    }
}

impl Nulls for SomeNulls {
    const NONE: bool = false;

    /// Without a branch, which would be mispredicted where rows with NULLs are among others.
    #[inline(always)]
    fn bitmap_bytes(self, row: &[u8]) -> usize {
        usize::from(has_nulls(row)).wrapping_neg() & self.bitmap_bytes
    }

    #[inline(always)]
    fn is_null(self, row: &[u8], column: usize) -> bool {
        let byte = row.get(self.head_bytes + column / 8).copied().unwrap_or(0);
        has_nulls(row) && byte >> (column % 8) & 1 == 1
    }
}

/// What is known of the NULLs of some rows.
#[derive(Clone, Copy)]
pub(crate) enum NullsOfRows {
    No(NoNulls),
    Some(SomeNulls),
}

#[inline(always)]
fn has_nulls(row: &[u8]) -> bool {
    row.first().is_some_and(|header| header & HAS_NULLS != 0)
}

/// From [`RowLayout::variable_ranges`].
pub(crate) struct VariableRanges<'a> {
    /// Of those that are left, but for the last, which ends with the row.
    lengths: &'a [u8],
    start: usize,
    end: usize,
    left: usize,
}

impl Iterator for VariableRanges<'_> {
    type Item = Result<Range<usize>>;

    #[inline(always)]
    fn next(&mut self) -> Option<Result<Range<usize>>> {
        self.left = self.left.checked_sub(1)?;
        if self.left == 0 {
            return Some(if self.start <= self.end { Ok(self.start..self.end) } else { Err(corrupted()) });
        }
        let (length, rest) = match decode_length(self.lengths) {
            Ok(read) => read,
            Err(error) => return Some(Err(error)),
        };
        self.lengths = rest;
        let range = self.start..self.start.saturating_add(length);
        self.start = range.end;
        Some(if range.end <= self.end { Ok(range) } else { Err(corrupted()) })
    }
}

impl RowLayout {
    /// The layout, version 0, of rows with these columns.
    pub fn new(types: &[DataType]) -> RowLayout {
        RowLayout::with_version(types, 0)
    }

    /// The layout of rows written under `version` of their table.
    pub fn with_version(types: &[DataType], version: u32) -> RowLayout {
        let columns = |kind: fn(DataType) -> bool| (0..types.len()).filter(|&at| kind(types[at])).collect::<Box<[_]>>();
        let integers = columns(|data_type| data_type.integer_width().is_some());
        let head_bytes = 1 + integers.len().saturating_sub(1).div_ceil(2);
        let all_widths = mask_of_first(integers.len());
        let (mut nth, mut fixed_bytes, mut variable_columns) = (0, 0, 0);
        let place = |&data_type: &DataType| match (data_type.integer_width(), data_type.width()) {
            (Some(most), _) => {
                nth += 1;
                Place::Integer(IntegerPlace { nth: nth - 1, before: mask_of_first(nth - 1), most, head_bytes })
            }
            (None, Some(width)) => {
                fixed_bytes += width;
                Place::Fixed { offset: fixed_bytes - width, width }
            }
            (None, None) => {
                variable_columns += 1;
                Place::Variable(variable_columns - 1)
            }
        };
        RowLayout {
            places: types.iter().map(place).collect(),
            types: types.into(),
            integers,
            fixed: columns(|data_type| data_type.integer_width().is_none() && data_type.is_fixed_width()),
            variable: columns(|data_type| !data_type.is_fixed_width()),
            kind: ((version % VERSIONS) as u8) << 4,
            head_bytes,
            all_widths,
            bitmap_bytes: types.len().div_ceil(8),
            fixed_bytes,
        }
    }

    /// The version (modulo [`VERSIONS`]) under which a row was written; `None`: no row.
    pub fn version_of(bytes: &[u8]) -> Option<u8> {
        bytes.first().map(|header| (header & HEADER_KIND & !HAS_NULLS) >> 4)
    }

    /// The column types.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }

    /// The columns of variable length (strings, `numeric`), in column order.
    pub(crate) fn variable_columns(&self) -> &[usize] {
        &self.variable
    }

    /// Whether the column is one of variable length.
    pub(crate) fn is_variable(&self, column: usize) -> bool {
        matches!(self.places.get(column), None | Some(Place::Variable(_)))
    }

    /// How rows are read together. `None`: one is of another version, or damaged.
    #[inline]
    pub(crate) fn nulls_of(&self, rows: &[&[u8]]) -> Option<NullsOfRows> {
        // What no row has: a header that differs in every bit.
        let header = |row: &[u8]| row.first().copied().unwrap_or(!self.kind);
        match rows.iter().fold(0, |differs, row| differs | (header(row) ^ self.kind)) & HEADER_KIND {
            0 => Some(NullsOfRows::No(NoNulls)),
            HAS_NULLS => {
                let (head_bytes, bitmap_bytes) = (self.head_bytes, self.bitmap_bytes);
                Some(NullsOfRows::Some(SomeNulls { head_bytes, bitmap_bytes }))
            }
            _ => None,
        }
    }

    /// Where a column lies.
    pub(crate) fn bytes_of(&self, column: usize) -> ColumnBytes {
        match self.places.get(column) {
            Some(&Place::Integer(place)) => ColumnBytes::Integer(place),
            Some(&Place::Fixed { offset, .. }) => ColumnBytes::Fixed(offset),
            Some(Place::Variable(_)) | None => ColumnBytes::Variable,
        }
    }

    /// Where the columns that are not integers begin.
    #[inline]
    pub(crate) fn fixed_start(&self, row: &[u8], nulls: impl Nulls) -> usize {
        let integers_start = self.head_bytes + nulls.bitmap_bytes(row);
        match self.integers.len() <= WORD_INTEGERS {
            true => integers_start + Widths::of(row).sum(self.all_widths),
            false => integers_start + sum_of_widths(row, self.integers.len()),
        }
    }

    /// The only variable column, empty where it is NULL; `None`: there are more, or the row is damaged.
    #[inline]
    pub(crate) fn only_variable<'r>(&self, row: &'r [u8], nulls: impl Nulls) -> Option<&'r [u8]> {
        row.get(self.fixed_start(row, nulls) + self.fixed_bytes..).filter(|_| self.variable.len() == 1)
    }

    /// Appends where the first `count` variable columns lie.
    #[inline]
    pub(crate) fn append_variable_ranges(
        &self,
        row: &[u8],
        nulls: impl Nulls,
        count: usize,
        ranges: &mut Vec<Range<usize>>,
    ) -> Result<()> {
        let lengths_start = self.fixed_start(row, nulls) + self.fixed_bytes;
        let mut start = lengths_start + self.variable.len().saturating_sub(1);
        let lengths = row.get(lengths_start..start).ok_or_else(corrupted)?;
        if lengths.iter().any(|&length| length >= 0x80) {
            return self.variable_ranges(row)?.take(count).try_for_each(|range| range.map(|range| ranges.push(range)));
        }
        for &length in lengths.iter().take(count) {
            let end = start + usize::from(length);
            ranges.push(start..end);
            start = end;
        }
        if count > lengths.len() {
            ranges.push(start..row.len());
        }
        if start <= row.len() { Ok(()) } else { Err(corrupted()) }
    }

    /// A column's bytes as stored; `None`: NULL, or a damaged row (see [`raw_column`](RowLayout::raw_column)).
    pub fn column_bytes<'a>(&self, bytes: &'a [u8], column: usize) -> Option<&'a [u8]> {
        self.raw_column(bytes, column).ok().flatten()
    }

    /// A column's bytes as stored; `None`: NULL.
    pub fn raw_column<'a>(&self, bytes: &'a [u8], column: usize) -> Result<Option<&'a [u8]>> {
        self.find_column(bytes, column).unwrap_or_else(|| Err(corrupted()))
    }

    /// As [`raw_column`](RowLayout::raw_column). `None`: the row is of another version, or damaged.
    #[inline]
    pub(crate) fn find_column<'a>(&self, bytes: &'a [u8], column: usize) -> Option<Result<Option<&'a [u8]>>> {
        if self.is_null(bytes, column)? {
            return Some(Ok(None));
        }
        let value = |range| bytes.get(range).map(Some).ok_or_else(corrupted);
        Some(self.value_range(bytes, column).and_then(value))
    }

    /// Where a column's value lies in this row, NULL or not.
    pub fn value_range(&self, bytes: &[u8], column: usize) -> Result<Range<usize>> {
        let integers_start = self.integers_start(bytes)?;
        let (start, width) = match self.places.get(column) {
            Some(Place::Integer(place)) if place.nth < WORD_INTEGERS => {
                let widths = Widths::of(bytes);
                (integers_start + widths.sum(place.before), widths.get(place.nth))
            }
            Some(Place::Integer(place)) => {
                (integers_start + sum_of_widths(bytes, place.nth), width_at(bytes, place.nth))
            }
            Some(&Place::Fixed { offset, width }) => {
                (integers_start + sum_of_widths(bytes, self.integers.len()) + offset, width)
            }
            // The only one has no length: it is what is left.
            Some(Place::Variable(_)) if self.variable.len() == 1 => {
                let start = integers_start + sum_of_widths(bytes, self.integers.len()) + self.fixed_bytes;
                return if start <= bytes.len() { Ok(start..bytes.len()) } else { Err(corrupted()) };
            }
            Some(&Place::Variable(nth)) => return self.variable_ranges(bytes)?.nth(nth).ok_or_else(corrupted)?,
            None => return Err(Error::internal("no such column in this row layout")),
        };
        Ok(start..start + width)
    }

    pub(super) fn integers_start(&self, bytes: &[u8]) -> Result<usize> {
        let header = *bytes.first().ok_or_else(corrupted)?;
        if header & HEADER_KIND & !HAS_NULLS != self.kind {
            return Err(corrupted());
        }
        Ok(self.head_bytes + if header & HAS_NULLS != 0 { self.bitmap_bytes } else { 0 })
    }

    /// `None`: the row is of another version, or damaged.
    #[inline]
    pub(crate) fn is_null(&self, bytes: &[u8], column: usize) -> Option<bool> {
        match (bytes.first()? ^ self.kind) & HEADER_KIND {
            0 => Some(false),
            HAS_NULLS => bytes.get(self.head_bytes + column / 8).map(|byte| byte >> (column % 8) & 1 == 1),
            _ => None,
        }
    }

    /// Where an integer begins in a row, its width, and the most that its type has; `None`: it is NULL, the row is of another
    /// version, or damaged, or the column is none of integers.
    #[inline]
    pub(super) fn integer_place(&self, row: &[u8], column: usize) -> Option<(usize, usize, usize)> {
        let Some(Place::Integer(place)) = self.places.get(column) else { return None };
        // Most rows have no NULLs, and widths that one word holds.
        if place.nth < WORD_INTEGERS && (row.first()? ^ self.kind) & HEADER_KIND == 0 {
            let widths = Widths::of(row);
            return Some((self.head_bytes + widths.sum(place.before), widths.get(place.nth), place.most));
        }
        if self.is_null(row, column)? {
            return None;
        }
        let start = self.integers_start(row).ok()? + sum_of_widths(row, place.nth);
        Some((start, width_at(row, place.nth), place.most))
    }

    /// The places of the variable columns, in order.
    pub(crate) fn variable_ranges<'a>(&self, bytes: &'a [u8]) -> Result<VariableRanges<'a>> {
        let fixed_start = self.integers_start(bytes)? + sum_of_widths(bytes, self.integers.len());
        let lengths_start = fixed_start + self.fixed_bytes;
        let measured = self.variable.len().saturating_sub(1);
        let mut data = bytes.get(lengths_start..).ok_or_else(corrupted)?;
        for _ in 0..measured {
            data = decode_length(data)?.1;
        }
        let start = bytes.len() - data.len();
        Ok(VariableRanges { lengths: &bytes[lengths_start..start], start, end: bytes.len(), left: self.variable.len() })
    }
}

impl IntegerPlace {
    /// The integer; `None`: it is NULL, or the row is damaged.
    ///
    /// Always inlined: it is called for every row of a scan, and a call takes as long as the work.
    #[inline(always)]
    pub(crate) fn read(&self, row: &[u8], nulls: impl Nulls) -> Option<i64> {
        let integers_start = self.head_bytes + nulls.bitmap_bytes(row);
        if self.nth >= WORD_INTEGERS {
            return self.read_far(row, integers_start);
        }
        let widths = Widths::of(row);
        integers::read(row, integers_start + widths.sum(self.before), widths.get(self.nth), self.most)
    }

    /// How many bytes it takes in this row.
    pub(super) fn width_in(&self, row: &[u8]) -> usize {
        width_at(row, self.nth)
    }

    /// As [`read`](IntegerPlace::read), for integers whose widths no word holds.
    #[cold]
    fn read_far(&self, row: &[u8], integers_start: usize) -> Option<i64> {
        let start = integers_start + sum_of_widths(row, self.nth);
        integers::read(row, start, width_at(row, self.nth), self.most)
    }
}
