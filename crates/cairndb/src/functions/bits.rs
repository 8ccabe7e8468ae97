//! Bytes and bits of `bytea`. Bits are counted from the lowest of the first byte.

use super::catalogue::Catalogue;
use super::support::{call, invalid_parameter};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

const BYTES: DataType = DataType::Bytea;
const INT: DataType = DataType::Integer;
const BIG: DataType = DataType::BigInt;

pub(super) fn register(catalogue: &mut Catalogue) {
    catalogue.add(
        "get_byte",
        &[BYTES, INT],
        INT,
        call!((Bytea a, Integer at) Ok(Value::Integer(a[place(i64::from(*at), a.len())?].into()))),
    );
    catalogue.add(
        "set_byte",
        &[BYTES, INT, INT],
        BYTES,
        call!((Bytea a, Integer at, Integer to) {
            let at = place(i64::from(*at), a.len())?;
            let mut bytes = a.to_vec();
            // The lower eight bits, whatever stands above them.
            bytes[at] = *to as u8;
            Ok(Value::Bytea(bytes.into()))
        }),
    );
    catalogue.add(
        "get_bit",
        &[BYTES, BIG],
        INT,
        call!((Bytea a, BigInt at) {
            let at = place(*at, a.len() * 8)?;
            Ok(Value::Integer(i32::from(a[at / 8] >> (at % 8) & 1)))
        }),
    );
    catalogue.add(
        "set_bit",
        &[BYTES, BIG, INT],
        BYTES,
        call!((Bytea a, BigInt at, Integer to) {
            let at = place(*at, a.len() * 8)?;
            if !matches!(to, 0 | 1) {
                return Err(invalid_parameter("new bit must be 0 or 1"));
            }
            let mut bytes = a.to_vec();
            bytes[at / 8] = bytes[at / 8] & !(1 << (at % 8)) | (*to as u8) << (at % 8);
            Ok(Value::Bytea(bytes.into()))
        }),
    );
    catalogue.add(
        "bit_count",
        &[BYTES],
        BIG,
        call!((Bytea a) Ok(Value::BigInt(a.iter().map(|byte| i64::from(byte.count_ones())).sum()))),
    );
}

fn place(at: i64, length: usize) -> Result<usize> {
    let found = usize::try_from(at).ok().filter(|at| *at < length);
    found.ok_or_else(|| {
        let message = format!("index {at} out of valid range, 0..{}", length as i64 - 1);
        Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
    })
}
