//! Composite values in rows.
//!
//! ```text
//! count | null bitmap | values
//! ```
//!
//! - The count (LEB128) is the greatest number of an attribute that is not NULL: those that the type got later are NULL.
//! - The bitmap has a bit for each number, lowest first, set where NULL; so are attributes that were dropped.
//! - Each other value lies after its length (LEB128), as rows have it.

use super::{Composite, CompositeType};
use crate::Result;
use crate::types::row::{corrupted, decode_length, decode_raw, encode_length, encode_value_raw};
use crate::types::{Value, ValueRef};

/// Appends a value's bytes.
pub(in crate::types) fn write_composite(value: &Composite, out: &mut Vec<u8>) {
    let attributes = value.of().attributes();
    let present = || attributes.iter().zip(value.values()).filter(|(_, value)| !value.is_null());
    let count = present().map(|(attribute, _)| attribute.number as usize).max().unwrap_or(0);
    encode_length(count, out);
    let start = out.len();
    out.resize(start + count.div_ceil(8), 0xff);
    let mut by_number: Vec<(usize, &Value)> =
        present().map(|(attribute, value)| (attribute.number as usize - 1, value)).collect();
    by_number.sort_by_key(|(number, _)| *number);
    let mut scratch = vec![];
    for (number, value) in by_number {
        out[start + number / 8] &= !(1 << (number % 8));
        scratch.clear();
        encode_value_raw(ValueRef::from(value), &mut scratch);
        encode_length(scratch.len(), out);
        out.extend_from_slice(&scratch);
    }
}

/// A value from its bytes.
pub(in crate::types) fn read_composite(bytes: &[u8], of: CompositeType) -> Result<Composite> {
    let (count, rest) = decode_length(bytes)?;
    let (bitmap, mut rest) = rest.split_at_checked(count.div_ceil(8)).ok_or_else(corrupted)?;
    let attributes = of.attributes();
    let mut values = vec![Value::Null; attributes.len()];
    for at in 0..count {
        if bitmap[at / 8] >> (at % 8) & 1 == 1 {
            continue;
        }
        let (length, behind) = decode_length(rest)?;
        let (raw, behind) = behind.split_at_checked(length).ok_or_else(corrupted)?;
        rest = behind;
        // One that was dropped is passed over.
        if let Some(place) = attributes.iter().position(|attribute| attribute.number as usize == at + 1) {
            values[place] = decode_raw(raw, attributes[place].data_type)?;
        }
    }
    if rest.is_empty() { Ok(Composite::new(of, values)) } else { Err(corrupted()) }
}
