//! Arrays in rows.
//!
//! ```text
//! head | [lower bounds] | lengths of the dimensions | [null bitmap] | elements
//! ```
//!
//! - Head: bits 0 to 2 are the number of dimensions (0: the array ends here); bit 3 says that lower bounds other than 1
//!   follow; bit 4 that a null bitmap follows; bits 5 to 7 are the width of each element less one, where elements are
//!   kept as integers.
//! - Lower bounds are four bytes each, little endian; lengths are LEB128; the bitmap has a bit for each element, lowest
//!   first, set where NULL.
//! - Integers all have one width, the least that holds each of them. Other elements of fixed width lie as in rows; those of
//!   variable width each after its length (LEB128). NULL takes no bytes.

use super::{Array, DIMENSIONS_MAX, Dimension, count_of};
use crate::Result;
use crate::types::row::{self, corrupted, decode_raw, encode_length, encode_plain, integer_of, write_integer};
use crate::types::{DataType, Value, ValueRef};

const BOUNDS: u8 = 1 << 3;
const NULLS: u8 = 1 << 4;
const WIDTH_SHIFT: u8 = 5;

/// Appends an array's bytes.
pub(in crate::types) fn write_array(array: &Array, out: &mut Vec<u8>) {
    let bounds = array.dimensions.iter().any(|dimension| dimension.lower != 1);
    let nulls = array.values.iter().any(Value::is_null);
    let integers = || array.values.iter().filter_map(|value| integer_of(value.into()));
    let width = integers().map(row::bytes_needed).max().unwrap_or(1);
    let mut head = array.dimensions.len() as u8 | ((width - 1) as u8) << WIDTH_SHIFT;
    head |= if bounds { BOUNDS } else { 0 } | if nulls { NULLS } else { 0 };
    out.push(head);
    if bounds {
        array.dimensions.iter().for_each(|dimension| out.extend_from_slice(&dimension.lower.to_le_bytes()));
    }
    array.dimensions.iter().for_each(|dimension| encode_length(dimension.length, out));
    if nulls {
        let start = out.len();
        out.resize(start + array.values.len().div_ceil(8), 0);
        for at in (0..array.values.len()).filter(|&at| array.values[at].is_null()) {
            out[start + at / 8] |= 1 << (at % 8);
        }
    }
    let mut scratch = vec![];
    for value in array.values.iter().filter(|value| !value.is_null()) {
        let value = ValueRef::from(value);
        match (integer_of(value), array.element.is_fixed_width()) {
            (Some(number), _) => write_integer(number, width, out),
            (None, true) => encode_plain(value, out),
            (None, false) => {
                scratch.clear();
                encode_plain(value, &mut scratch);
                encode_length(scratch.len(), out);
                out.extend_from_slice(&scratch);
            }
        }
    }
}

/// An array from its bytes.
pub(in crate::types) fn read_array(bytes: &[u8], element: DataType) -> Result<Array> {
    let mut rest = Bytes(bytes);
    let head = rest.take(1)?[0];
    let count = usize::from(head & 7);
    if count == 0 {
        return if bytes.len() == 1 { Ok(Array::empty(element)) } else { Err(corrupted()) };
    }
    if count > DIMENSIONS_MAX {
        return Err(corrupted());
    }
    let mut dimensions = vec![Dimension { lower: 1, length: 0 }; count];
    if head & BOUNDS != 0 {
        for dimension in &mut dimensions {
            dimension.lower = i32::from_le_bytes(rest.take(4)?.try_into().map_err(|_| corrupted())?);
        }
    }
    for dimension in &mut dimensions {
        dimension.length = rest.length()?;
    }
    let count = count_of(&dimensions).map_err(|_| corrupted())?;
    // A bit or a byte at least for each element, but for empty ones of a variable width, which have a length.
    if count == 0 || count.div_ceil(8) > rest.0.len() {
        return Err(corrupted());
    }
    let bitmap = if head & NULLS != 0 { rest.take(count.div_ceil(8))? } else { &[] };
    let width = match (element.integer_width(), element.width()) {
        (Some(_), _) => Some(usize::from(head >> WIDTH_SHIFT) + 1),
        (None, width) => width,
    };
    let mut values = Vec::with_capacity(count);
    for at in 0..count {
        values.push(match bitmap.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1) {
            true => Value::Null,
            false => {
                let width = width.map_or_else(|| rest.length(), Ok)?;
                decode_raw(rest.take(width)?, element)?
            }
        });
    }
    let array = Array::with_dimensions(element, &dimensions, values).map_err(|_| corrupted())?;
    if rest.0.is_empty() { Ok(array) } else { Err(corrupted()) }
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(count).ok_or_else(corrupted)?;
        self.0 = rest;
        Ok(first)
    }

    fn length(&mut self) -> Result<usize> {
        let (length, rest) = row::decode_length(self.0)?;
        self.0 = rest;
        Ok(length)
    }
}
