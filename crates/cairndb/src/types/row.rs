//! Rows as bytes, compact, with one column readable without the others. These bytes are part of the file format.
//!
//! ```text
//! header | [null bitmap] | fixed-width columns | lengths of variable columns but the last | their bytes
//! ```
//!
//! - Header: bit 7 says that a null bitmap follows; the low 7 bits are the layout's version modulo 127.
//! - Null bitmap: one bit per column, lowest bit first, set where NULL; only in rows that have a NULL.
//! - Fixed-width columns lie in column order, little endian, unaligned; NULL keeps its width, zeroed. `boolean` one
//!   byte, `interval` months (4), days (4), microseconds (8), `uuid` its 16 bytes, `date`, `time` and timestamps their
//!   integers.
//! - Lengths are LEB128; a NULL's is 0. The last variable column ends where the row ends.
//! - Strings are UTF-8 (`char(n)` with its blanks), `bytea` itself, `numeric` as `Numeric::write_bytes` writes it.
//!
//! Decoding accepts any bytes: what no encoder wrote is an error (XX001).

use std::ops::Range;

use super::datetime::MICROS_PER_DAY;
use super::{DataType, Interval, Numeric, Value, ValueRef};
use crate::{Error, Result, SqlState};

const HAS_NULLS: u8 = 0x80;
const VERSIONS: u32 = 127;

/// How rows of certain column types lie in bytes, worked out once.
#[derive(Clone, Debug)]
pub struct RowLayout {
    types: Box<[DataType]>,
    places: Box<[Place]>,
    version: u8,
    bitmap_bytes: usize,
    /// Bytes of all fixed-width columns together.
    fixed_bytes: usize,
    variable_columns: usize,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Distance from the first fixed-width column, and the width.
    Fixed { offset: usize, width: usize },
    /// Position among the variable columns.
    Variable(usize),
}

impl RowLayout {
    /// The layout, version 0, of rows with these columns.
    pub fn new(types: &[DataType]) -> RowLayout {
        RowLayout::with_version(types, 0)
    }

    /// The layout of rows written under `version` of their table.
    pub fn with_version(types: &[DataType], version: u32) -> RowLayout {
        let (mut fixed_bytes, mut variable_columns) = (0, 0);
        let place = |data_type: &DataType| match data_type.width() {
            Some(width) => {
                fixed_bytes += width;
                Place::Fixed { offset: fixed_bytes - width, width }
            }
            None => {
                variable_columns += 1;
                Place::Variable(variable_columns - 1)
            }
        };
        RowLayout {
            places: types.iter().map(place).collect(),
            types: types.into(),
            version: (version % VERSIONS) as u8,
            bitmap_bytes: types.len().div_ceil(8),
            fixed_bytes,
            variable_columns,
        }
    }

    /// The version (modulo 127) under which a row was written; `None`: no row.
    pub fn version_of(bytes: &[u8]) -> Option<u8> {
        bytes.first().map(|header| header & !HAS_NULLS)
    }

    /// The column types.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }

    /// Appends the bytes of a row: one value per column, of the column's type or NULL.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) {
        self.encode_with(|column| &values[column], out);
    }

    /// As [`encode`](RowLayout::encode), for values that are not side by side.
    pub fn encode_with<'v, V: Into<ValueRef<'v>>>(&self, value: impl Fn(usize) -> V, out: &mut Vec<u8>) {
        let value = |column| value(column).into();
        let columns = 0..self.types.len();
        let has_nulls = columns.clone().any(|column| value(column).is_null());
        out.push(self.version | if has_nulls { HAS_NULLS } else { 0 });
        if has_nulls {
            let start = out.len();
            out.resize(start + self.bitmap_bytes, 0);
            for column in columns.clone().filter(|&column| value(column).is_null()) {
                out[start + column / 8] |= 1 << (column % 8);
            }
        }
        for (column, place) in self.places.iter().enumerate() {
            if let Place::Fixed { width, .. } = place {
                encode_fixed(value(column), *width, out);
            }
        }
        let variable = || columns.clone().filter(|&column| matches!(self.places[column], Place::Variable(_)));
        self.encode_lengths(variable().map(value), out);
        variable().for_each(|column| encode_variable(value(column), out));
    }

    fn encode_lengths<'v>(&self, values: impl Iterator<Item = ValueRef<'v>>, out: &mut Vec<u8>) {
        for value in values.take(self.variable_columns.saturating_sub(1)) {
            let length = match value {
                ValueRef::Text(text) => text.len(),
                ValueRef::Bytea(bytes) => bytes.len(),
                ValueRef::Numeric(value) => value.byte_len(),
                _ => 0,
            };
            encode_length(length, out);
        }
    }

    /// Appends a row made of columns' bytes as stored (`None`: NULL), for example another row's with some replaced.
    pub fn encode_raw<'r>(&self, raw: impl Fn(usize) -> Option<&'r [u8]>, out: &mut Vec<u8>) {
        let columns = 0..self.types.len();
        let has_nulls = columns.clone().any(|column| raw(column).is_none());
        out.push(self.version | if has_nulls { HAS_NULLS } else { 0 });
        if has_nulls {
            let start = out.len();
            out.resize(start + self.bitmap_bytes, 0);
            for column in columns.clone().filter(|&column| raw(column).is_none()) {
                out[start + column / 8] |= 1 << (column % 8);
            }
        }
        for (column, place) in self.places.iter().enumerate() {
            if let Place::Fixed { width, .. } = *place {
                let start = out.len();
                out.extend_from_slice(raw(column).unwrap_or_default());
                assert!(raw(column).is_none() || out.len() == start + width, "bytes of another type than the column's");
                out.resize(start + width, 0);
            }
        }
        let variable = || columns.clone().filter(|&column| matches!(self.places[column], Place::Variable(_)));
        for column in variable().take(self.variable_columns.saturating_sub(1)) {
            encode_length(raw(column).map_or(0, <[u8]>::len), out);
        }
        variable().for_each(|column| out.extend_from_slice(raw(column).unwrap_or_default()));
    }

    /// One column of a row.
    pub fn decode_column(&self, bytes: &[u8], column: usize) -> Result<Value> {
        match self.raw_column(bytes, column)? {
            Some(raw) => decode_raw(raw, self.types[column]),
            None => Ok(Value::Null),
        }
    }

    /// All columns of a row, appended to `out`.
    pub fn decode(&self, bytes: &[u8], out: &mut Vec<Value>) -> Result<()> {
        let mut variable = self.variable_ranges(bytes)?;
        for (column, data_type) in self.types.iter().enumerate() {
            let range = match self.places[column] {
                Place::Fixed { .. } => self.value_range(bytes, column)?,
                Place::Variable(_) => variable.next().ok_or_else(corrupted)??,
            };
            let raw = bytes.get(range).ok_or_else(corrupted)?;
            out.push(if self.is_null(bytes, column)? { Value::Null } else { decode_raw(raw, *data_type)? });
        }
        Ok(())
    }

    /// Where a fixed-width column lies in a row that has no null bitmap.
    pub fn fixed_offset(&self, column: usize) -> Option<usize> {
        match self.places.get(column)? {
            Place::Fixed { offset, .. } => Some(1 + offset),
            Place::Variable(_) => None,
        }
    }

    /// The fewest bytes of a row that has no null bitmap: its header, fixed-width columns and lengths.
    #[inline]
    pub(crate) fn plain_min(&self) -> usize {
        1 + self.fixed_bytes + self.variable_columns.saturating_sub(1)
    }

    /// Appends where the first `count` variable columns lie in a row that has no null bitmap and is not shorter than
    /// [`plain_min`](RowLayout::plain_min).
    #[inline]
    pub(crate) fn plain_variable_ranges(&self, row: &[u8], count: usize, ranges: &mut Vec<Range<usize>>) -> Result<()> {
        let lengths = row.get(1 + self.fixed_bytes..self.plain_min()).ok_or_else(corrupted)?;
        if lengths.iter().any(|&length| length >= 0x80) {
            return self.variable_ranges(row)?.take(count).try_for_each(|range| range.map(|range| ranges.push(range)));
        }
        let mut start = self.plain_min();
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
        if self.is_null(bytes, column)? {
            return Ok(None);
        }
        let range = self.value_range(bytes, column)?;
        bytes.get(range).map(Some).ok_or_else(corrupted)
    }

    /// Where a column's value lies in this row, NULL or not. A fixed-width value can be patched there.
    pub fn value_range(&self, bytes: &[u8], column: usize) -> Result<Range<usize>> {
        match self.places.get(column) {
            Some(&Place::Fixed { offset, width }) => {
                let start = self.fixed_start(bytes)? + offset;
                Ok(start..start + width)
            }
            Some(&Place::Variable(index)) => self.variable_ranges(bytes)?.nth(index).ok_or_else(corrupted)?,
            None => Err(Error::internal("no such column in this row layout")),
        }
    }

    /// Where the fixed-width columns begin.
    fn fixed_start(&self, bytes: &[u8]) -> Result<usize> {
        let header = *bytes.first().ok_or_else(corrupted)?;
        if header & !HAS_NULLS != self.version {
            return Err(corrupted());
        }
        Ok(1 + if header & HAS_NULLS != 0 { self.bitmap_bytes } else { 0 })
    }

    pub(crate) fn is_null(&self, bytes: &[u8], column: usize) -> Result<bool> {
        let header = *bytes.first().ok_or_else(corrupted)?;
        if header & HAS_NULLS == 0 {
            return Ok(false);
        }
        let byte = bytes.get(1 + column / 8).ok_or_else(corrupted)?;
        Ok(byte >> (column % 8) & 1 == 1)
    }

    /// The places of the variable columns, in order.
    pub(crate) fn variable_ranges<'a>(
        &self,
        bytes: &'a [u8],
    ) -> Result<impl Iterator<Item = Result<Range<usize>>> + use<'a>> {
        let lengths_start = self.fixed_start(bytes)? + self.fixed_bytes;
        let measured = self.variable_columns.saturating_sub(1);
        let mut data = bytes.get(lengths_start..).ok_or_else(corrupted)?;
        for _ in 0..measured {
            data = decode_length(data)?.1;
        }
        let mut start = bytes.len() - data.len();
        let mut lengths = &bytes[lengths_start..start];
        let mut left = self.variable_columns;
        Ok(std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            if left == 0 {
                return Some(if start <= bytes.len() { Ok(start..bytes.len()) } else { Err(corrupted()) });
            }
            let (length, rest) = match decode_length(lengths) {
                Ok(read) => read,
                Err(error) => return Some(Err(error)),
            };
            lengths = rest;
            let range = start..start.saturating_add(length);
            start = range.end;
            Some(if range.end <= bytes.len() { Ok(range) } else { Err(corrupted()) })
        }))
    }
}

fn encode_fixed(value: ValueRef<'_>, width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    encode_fixed_bytes(value, out);
    assert!(value.is_null() || out.len() == start + width, "a value of another type than its column's");
    out.resize(start + width, 0);
}

fn encode_fixed_bytes(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Boolean(value) => out.push(value.into()),
        ValueRef::SmallInt(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Integer(value) | ValueRef::Date(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::BigInt(value) | ValueRef::Time(value) | ValueRef::Timestamp(value) | ValueRef::TimestampTz(value) => {
            out.extend_from_slice(&value.to_le_bytes());
        }
        ValueRef::Real(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Interval(value) => {
            out.extend_from_slice(&value.months.to_le_bytes());
            out.extend_from_slice(&value.days.to_le_bytes());
            out.extend_from_slice(&value.micros.to_le_bytes());
        }
        ValueRef::Uuid(bytes) => out.extend_from_slice(&bytes),
        ValueRef::Null | ValueRef::Numeric(_) | ValueRef::Text(_) | ValueRef::Bytea(_) => {}
    }
}

fn encode_variable(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Text(text) => out.extend_from_slice(text.as_bytes()),
        ValueRef::Bytea(bytes) => out.extend_from_slice(bytes),
        ValueRef::Numeric(value) => value.write_bytes(out),
        other => assert!(other.is_null(), "a value of another type than its column's"),
    }
}

/// Appends a value's bytes as rows store them; nothing for NULL.
pub(crate) fn encode_value_raw(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Text(_) | ValueRef::Bytea(_) | ValueRef::Numeric(_) => encode_variable(value, out),
        _ => {
            let start = out.len();
            encode_fixed_bytes(value, out);
            debug_assert!(value.is_null() || out.len() > start);
        }
    }
}

/// The value of a column's bytes as stored.
pub fn decode_raw(raw: &[u8], data_type: DataType) -> Result<Value> {
    Ok(match data_type {
        DataType::Boolean => match raw {
            [0] => Value::Boolean(false),
            [1] => Value::Boolean(true),
            _ => return Err(corrupted()),
        },
        DataType::SmallInt => Value::SmallInt(i16::from_le_bytes(array(raw)?)),
        DataType::Integer => Value::Integer(i32::from_le_bytes(array(raw)?)),
        DataType::BigInt => Value::BigInt(i64::from_le_bytes(array(raw)?)),
        DataType::Real => Value::Real(f32::from_le_bytes(array(raw)?)),
        DataType::Double => Value::Double(f64::from_le_bytes(array(raw)?)),
        DataType::Numeric(_) => Value::Numeric(Numeric::from_bytes(raw).ok_or_else(corrupted)?),
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => {
            Value::text(std::str::from_utf8(raw).map_err(|_| corrupted())?)
        }
        DataType::Bytea => Value::Bytea(raw.into()),
        DataType::Date => Value::Date(i32::from_le_bytes(array(raw)?)),
        DataType::Time => match i64::from_le_bytes(array(raw)?) {
            micros @ 0..=MICROS_PER_DAY => Value::Time(micros),
            _ => return Err(corrupted()),
        },
        DataType::Timestamp => Value::Timestamp(i64::from_le_bytes(array(raw)?)),
        DataType::TimestampTz => Value::TimestampTz(i64::from_le_bytes(array(raw)?)),
        DataType::Interval => Value::Interval(decode_interval(raw)?),
        DataType::Uuid => Value::Uuid(array(raw)?),
        DataType::Unknown => return Err(corrupted()),
    })
}

fn decode_interval(raw: &[u8]) -> Result<Interval> {
    let bytes: [u8; 16] = array(raw)?;
    let (months, rest) = bytes.split_at(4);
    let (days, micros) = rest.split_at(4);
    Ok(Interval {
        months: i32::from_le_bytes(array(months)?),
        days: i32::from_le_bytes(array(days)?),
        micros: i64::from_le_bytes(array(micros)?),
    })
}

fn array<const N: usize>(raw: &[u8]) -> Result<[u8; N]> {
    raw.try_into().map_err(|_| corrupted())
}

fn encode_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

fn decode_length(bytes: &[u8]) -> Result<(usize, &[u8])> {
    let mut length = 0_usize;
    for (i, &byte) in bytes.iter().take(5).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok((length, &bytes[i + 1..]));
        }
    }
    Err(corrupted())
}

fn corrupted() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "a row's bytes are damaged")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::testing::{Random, random_value};

    fn random_row(random: &mut Random, types: &[DataType]) -> Vec<Value> {
        let mut value = |data_type: &DataType| match random.below(5) {
            0 => Value::Null,
            _ => random_value(random, *data_type),
        };
        types.iter().map(&mut value).collect()
    }

    #[test]
    fn rows_come_back_column_by_column_and_whole() {
        let mut random = Random::new(7);
        for _ in 0..3000 {
            let columns = random.below(12) as usize;
            let types: Vec<_> = (0..columns).map(|_| DataType::BASES[random.below(17) as usize]).collect();
            let layout = RowLayout::with_version(&types, 300);
            let row = random_row(&mut random, &types);
            let mut bytes = Vec::new();
            layout.encode(&row, &mut bytes);
            let mut back = Vec::new();
            layout.decode(&bytes, &mut back).unwrap();
            assert_eq!(format!("{back:?}"), format!("{row:?}"));
            for (column, value) in row.iter().enumerate() {
                let back = layout.decode_column(&bytes, column).unwrap();
                assert_eq!(format!("{back:?}"), format!("{value:?}"));
            }
        }
    }

    #[test]
    fn a_row_of_raw_columns_is_the_row() {
        let mut random = Random::new(8);
        for _ in 0..500 {
            let columns = random.below(12) as usize;
            let types: Vec<_> = (0..columns).map(|_| DataType::BASES[random.below(17) as usize]).collect();
            let layout = RowLayout::new(&types);
            let (mut bytes, mut again) = (Vec::new(), Vec::new());
            layout.encode(&random_row(&mut random, &types), &mut bytes);
            layout.encode_raw(|column| layout.column_bytes(&bytes, column), &mut again);
            assert_eq!(again, bytes);
        }
    }

    #[test]
    fn a_row_without_nulls_has_three_bytes_of_overhead() {
        let layout = RowLayout::new(&[DataType::Integer, DataType::Text, DataType::BigInt, DataType::Text]);
        let mut bytes = Vec::new();
        layout.encode(&[Value::Integer(1), Value::text("ab"), Value::BigInt(2), Value::text("cde")], &mut bytes);
        assert_eq!(bytes.len(), 4 + 8 + 5 + 2);
        assert_eq!(layout.fixed_offset(2), Some(5));
        assert_eq!(layout.fixed_offset(1), None);
        assert_eq!(layout.column_bytes(&bytes, 3), Some(b"cde".as_slice()));
    }

    #[test]
    fn a_fixed_column_can_be_patched_where_its_range_says() {
        let layout = RowLayout::new(&[DataType::Text, DataType::Integer, DataType::Integer]);
        let mut bytes = Vec::new();
        layout.encode(&[Value::Null, Value::Integer(1), Value::Integer(2)], &mut bytes);
        let range = layout.value_range(&bytes, 2).unwrap();
        bytes[range].copy_from_slice(&77_i32.to_le_bytes());
        assert_eq!(layout.decode_column(&bytes, 2).unwrap(), Value::Integer(77));
        assert!(layout.decode_column(&bytes, 0).unwrap().is_null());
    }

    #[test]
    fn every_truncation_is_an_error_or_another_row() {
        let layout = RowLayout::new(&[DataType::Integer, DataType::Bytea, DataType::Numeric(None), DataType::Text]);
        let mut bytes = Vec::new();
        let row = [Value::Integer(1), Value::from(vec![9; 200]), Value::Numeric(5.into()), Value::text("x")];
        layout.encode(&row, &mut bytes);
        for length in 0..bytes.len() {
            let result = layout.decode_column(&bytes[..length], 1);
            assert!(length >= 208 || result.is_err(), "{length}");
        }
        assert!(RowLayout::with_version(&[DataType::Integer], 1).decode_column(&bytes, 0).is_err());
    }
}
