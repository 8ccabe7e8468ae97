//! Values to rows.

use super::integers::{WORD_INTEGERS, bytes_kept, bytes_needed, half_of, write};
use super::{HAS_NULLS, RowLayout, corrupted};
use crate::Result;
use crate::types::array::write_array;
use crate::types::composite::write_composite;
use crate::types::{DataType, Value, ValueRef};

/// Bytes of an integer, and of the header and the widths of as many as one word has the widths of.
const WORD_BYTES: usize = size_of::<u64>();
/// A row with fewer integers has them and their widths in as many words.
const FEW_INTEGERS: usize = 8;

/// Where the values of a row come from, by column.
pub(crate) trait RowValues<'v> {
    /// The value of a column.
    fn value(&self, column: usize) -> ValueRef<'v>;

    /// What rows keep of a column whose values are kept as integers; `None`: NULL.
    #[inline]
    fn integer(&self, column: usize) -> Option<i64> {
        integer(self.value(column))
    }
}

impl<'v, F: Fn(usize) -> ValueRef<'v>> RowValues<'v> for F {
    #[inline]
    fn value(&self, column: usize) -> ValueRef<'v> {
        self(column)
    }
}

impl RowLayout {
    /// Appends the bytes of a row: one value per column, of the column's type or NULL.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) {
        self.encode_with(|column| &values[column], out);
    }

    /// As [`encode`](RowLayout::encode), for values that are not side by side.
    pub fn encode_with<'v, V: Into<ValueRef<'v>>>(&self, value: impl Fn(usize) -> V, out: &mut Vec<u8>) {
        let values = |column: usize| -> ValueRef<'v> { value(column).into() };
        self.encode_values(&values, out);
    }

    /// As [`encode`](RowLayout::encode), for values that need not be made for it.
    #[inline]
    pub(crate) fn encode_values<'v>(&self, values: &impl RowValues<'v>, out: &mut Vec<u8>) {
        let start = out.len();
        // Most rows have no NULLs: that one has is found out on the way.
        if !self.encode_columns(values, false, out) {
            out.truncate(start);
            self.encode_columns(values, true, out);
        }
    }

    /// False: there is a NULL, and no `bitmap` for it.
    #[inline]
    fn encode_columns<'v>(&self, values: &impl RowValues<'v>, bitmap: bool, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let are_few = (1..=WORD_INTEGERS).contains(&self.integers.len()) && !bitmap;
        if !(if are_few { self.encode_integers(values, out) } else { self.encode_any_integers(values, bitmap, out) }) {
            return false;
        }
        let value = |column| values.value(column);
        for &column in &self.fixed {
            let (value, before) = (value(column), out.len());
            match value.is_null() {
                false => encode_fixed(value, out),
                true if bitmap => self.set_null(start, column, out),
                true => return false,
            }
            self.pad(column, before, out);
        }
        let (last, measured) = self.variable.split_last().map_or((None, &[][..]), |(last, rest)| (Some(last), rest));
        for &column in measured {
            encode_length(variable_length(value(column)), out);
        }
        for &column in measured.iter().chain(last) {
            match value(column) {
                ValueRef::Null if bitmap => self.set_null(start, column, out),
                ValueRef::Null => return false,
                value => encode_variable(value, out),
            }
        }
        true
    }

    /// Header, widths and integers of a row without NULLs whose widths one word holds: room for all is made at once, so that each is
    /// one store. False: there is a NULL.
    #[inline]
    fn encode_integers<'v>(&self, values: &impl RowValues<'v>, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        match self.integers.len() {
            ..FEW_INTEGERS => out.extend_from_slice(&[0; WORD_BYTES * FEW_INTEGERS]),
            _ => out.extend_from_slice(&[0; WORD_BYTES * (1 + WORD_INTEGERS)]),
        }
        let bytes = &mut out[start..];
        let (mut head, mut end) = (u64::from(self.kind), self.head_bytes);
        for (nth, &column) in self.integers.iter().enumerate() {
            let Some(number) = values.integer(column) else { return false };
            let width = bytes_kept(number, self.types[column]);
            head |= (width as u64) << (4 * half_of(nth));
            bytes[end..end + WORD_BYTES].copy_from_slice(&number.to_le_bytes());
            end += width;
        }
        // Of its first bytes those that integers left are zero; of the word there are no others.
        let head = head.to_le_bytes();
        bytes[..WORD_BYTES].iter_mut().zip(head).for_each(|(byte, head)| *byte |= head);
        out.truncate(start + end);
        true
    }

    /// The same of any row. False: there is a NULL, and no `bitmap` for it.
    fn encode_any_integers<'v>(&self, values: &impl RowValues<'v>, bitmap: bool, out: &mut Vec<u8>) -> bool {
        let start = self.begin(bitmap, out);
        for (nth, &column) in self.integers.iter().enumerate() {
            match values.integer(column) {
                Some(number) => self.push_integer(start, nth, number, out),
                None if bitmap => self.set_null(start, column, out),
                None => return false,
            }
        }
        true
    }

    /// Appends a row made of columns' bytes as stored (`None`: NULL), for example another row's with some replaced.
    pub fn encode_raw<'r>(&self, raw: impl Fn(usize) -> Option<&'r [u8]>, out: &mut Vec<u8>) {
        let nulls = (0..self.types.len()).filter(|&column| raw(column).is_none());
        let start = self.begin(nulls.clone().next().is_some(), out);
        nulls.for_each(|column| self.set_null(start, column, out));
        for (nth, &column) in self.integers.iter().enumerate() {
            let raw = raw(column).unwrap_or_default();
            let most = self.types[column].integer_width().unwrap_or_default();
            assert!(raw.len() <= most, "bytes of another type than the column's");
            self.set_width(start, nth, raw.len(), out);
            out.extend_from_slice(raw);
        }
        for &column in &self.fixed {
            let before = out.len();
            out.extend_from_slice(raw(column).unwrap_or_default());
            self.pad(column, before, out);
        }
        for &column in self.variable.iter().take(self.variable.len().saturating_sub(1)) {
            encode_length(raw(column).map_or(0, <[u8]>::len), out);
        }
        self.variable.iter().for_each(|&column| out.extend_from_slice(raw(column).unwrap_or_default()));
    }

    /// Appends the header, the widths and the bitmap, all still empty; where the row begins.
    fn begin(&self, bitmap: bool, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.push(self.kind | if bitmap { HAS_NULLS } else { 0 });
        out.resize(start + self.head_bytes + if bitmap { self.bitmap_bytes } else { 0 }, 0);
        start
    }

    fn set_null(&self, start: usize, column: usize, out: &mut [u8]) {
        out[start + self.head_bytes + column / 8] |= 1 << (column % 8);
    }

    #[inline]
    fn set_width(&self, start: usize, nth: usize, width: usize, out: &mut [u8]) {
        let half = half_of(nth);
        out[start + half / 2] |= (width as u8) << (4 * (half % 2));
    }

    #[inline]
    fn push_integer(&self, start: usize, nth: usize, number: i64, out: &mut Vec<u8>) {
        let width = bytes_kept(number, self.types[self.integers[nth]]);
        self.set_width(start, nth, width, out);
        write(number, width, out);
    }

    /// Fills up a fixed-width column that was written from `before` on, or left out.
    fn pad(&self, column: usize, before: usize, out: &mut Vec<u8>) {
        let width = self.types[column].width().unwrap_or_default();
        assert!(out.len() == before || out.len() == before + width, "a value of another type than its column's");
        out.resize(before + width, 0);
    }

    /// Appends the bytes that change a column of a row in place, and says where they go; `None`: the value is NULL or
    /// was, needs more room than there is, the column's width varies from value to value, or the row is of another version.
    pub(crate) fn patch(
        &self,
        row: &[u8],
        column: usize,
        value: ValueRef<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>> {
        if let Some(number) = integer(value) {
            return self.patch_integer(row, column, number, out);
        }
        if value.is_null() || self.is_variable(column) || self.is_null(row, column) != Some(false) {
            return Ok(None);
        }
        let range = self.value_range(row, column)?;
        if range.end > row.len() || self.types[column].width().is_none_or(|most| range.len() > most) {
            return Err(corrupted());
        }
        encode_fixed(value, out);
        Ok(Some(range.start))
    }

    /// As `patch`, of a column whose values are kept as integers.
    #[inline]
    pub(crate) fn patch_integer(
        &self,
        row: &[u8],
        column: usize,
        number: i64,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>> {
        let Some((start, width, most)) = self.integer_place(row, column) else { return Ok(None) };
        if width > most || start + width > row.len() {
            return Err(corrupted());
        }
        if bytes_needed(number) > width {
            return Ok(None);
        }
        write(number, width, out);
        Ok(Some(start))
    }
}

/// What rows keep as an integer.
#[inline]
pub(crate) fn integer(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::SmallInt(value) => Some(value.into()),
        ValueRef::Integer(value) | ValueRef::Date(value) => Some(value.into()),
        ValueRef::BigInt(value)
        | ValueRef::Time(value)
        | ValueRef::TimeTz(value)
        | ValueRef::Timestamp(value)
        | ValueRef::TimestampTz(value) => Some(value),
        ValueRef::Enum(value) => Some(value.key()),
        ValueRef::Reg(value) => Some(value.number()),
        _ => None,
    }
}

fn integer_type(value: ValueRef<'_>) -> DataType {
    match value {
        ValueRef::SmallInt(_) => DataType::SmallInt,
        ValueRef::Integer(_) => DataType::Integer,
        ValueRef::BigInt(_) => DataType::BigInt,
        _ => DataType::TIMESTAMP,
    }
}

fn encode_fixed(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Boolean(value) => out.push(value.into()),
        ValueRef::Real(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Interval(value) => {
            out.extend_from_slice(&value.months.to_le_bytes());
            out.extend_from_slice(&value.days.to_le_bytes());
            out.extend_from_slice(&value.micros.to_le_bytes());
        }
        ValueRef::Uuid(bytes) => out.extend_from_slice(&bytes),
        other => assert!(other.is_null(), "a value of another type than its column's"),
    }
}

fn variable_length(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(text) => text.len(),
        ValueRef::Bytea(bytes) => bytes.len(),
        ValueRef::Json(text) => text.len(),
        ValueRef::Jsonb(document) => document.as_bytes().len(),
        ValueRef::Citext(text) => text.as_str().len(),
        ValueRef::Hstore(value) => value.byte_len(),
        ValueRef::Inet(value) | ValueRef::Cidr(value) => value.byte_len(),
        ValueRef::Macaddr(bytes) => bytes.len(),
        ValueRef::Macaddr8(bytes) => bytes.len(),
        ValueRef::JsonPath(path) => path.to_string().len(),
        ValueRef::Numeric(value) => value.byte_len(),
        ValueRef::Composite(_) | ValueRef::Array(_) => written_length(value),
        _ => 0,
    }
}

fn encode_variable(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Text(text) => out.extend_from_slice(text.as_bytes()),
        ValueRef::Bytea(bytes) => out.extend_from_slice(bytes),
        ValueRef::Json(text) => out.extend_from_slice(text.as_bytes()),
        ValueRef::Jsonb(document) => out.extend_from_slice(document.as_bytes()),
        ValueRef::Citext(text) => out.extend_from_slice(text.as_str().as_bytes()),
        ValueRef::Hstore(value) => value.write_bytes(out),
        ValueRef::Inet(value) | ValueRef::Cidr(value) => value.write_bytes(out),
        ValueRef::Macaddr(bytes) => out.extend_from_slice(&bytes),
        ValueRef::Macaddr8(bytes) => out.extend_from_slice(&bytes),
        ValueRef::JsonPath(path) => out.extend_from_slice(path.to_string().as_bytes()),
        ValueRef::Numeric(value) => value.write_bytes(out),
        ValueRef::Composite(row) => write_composite(row, out),
        ValueRef::Array(array) => write_array(array, out),
        ValueRef::Made(made) => encode_variable(ValueRef::from(&made.0.make_value()), out),
        other => assert!(other.is_null(), "a value of another type than its column's"),
    }
}

/// Rows say how long such a value is.
fn is_variable(value: ValueRef<'_>) -> bool {
    matches!(
        value,
        ValueRef::Text(_)
            | ValueRef::Bytea(_)
            | ValueRef::Numeric(_)
            | ValueRef::Json(_)
            | ValueRef::Jsonb(_)
            | ValueRef::JsonPath(_)
            | ValueRef::Citext(_)
            | ValueRef::Hstore(_)
            | ValueRef::Inet(_)
            | ValueRef::Cidr(_)
            | ValueRef::Macaddr(_)
            | ValueRef::Macaddr8(_)
            | ValueRef::Composite(_)
            | ValueRef::Array(_)
            | ValueRef::Made(_)
    )
}

/// Measured by writing it: arrays and composite values are not what rows are written fast for.
#[cold]
fn written_length(value: ValueRef<'_>) -> usize {
    let mut bytes = vec![];
    encode_variable(value, &mut bytes);
    bytes.len()
}

/// Appends the bytes of a value that is kept neither as an integer nor NULL.
pub(in crate::types) fn encode_plain(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        value if is_variable(value) => encode_variable(value, out),
        _ => encode_fixed(value, out),
    }
}

/// Appends a value's bytes as rows store them; nothing for NULL.
pub(crate) fn encode_value_raw(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match (integer(value), value) {
        (Some(number), _) => write(number, bytes_kept(number, integer_type(value)), out),
        (None, value) if is_variable(value) => encode_variable(value, out),
        _ => encode_fixed(value, out),
    }
}

pub(in crate::types) fn encode_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}
