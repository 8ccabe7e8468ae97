//! Bytes and bits of `bytea`. Bits are counted from the lowest of the first byte.

use super::catalogue::Catalogue;
use super::support::{call, check_length, invalid_parameter};
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
    trims(catalogue);
    overlays(catalogue);
}

fn trims(catalogue: &mut Catalogue) {
    const PAIR: &[DataType] = &[BYTES, BYTES];
    let both = call!((Bytea a, Bytea set) trim(a, set, [true, true]));
    catalogue.add("btrim", PAIR, BYTES, both);
    catalogue.add("trim", PAIR, BYTES, both).syntax();
    catalogue.add("ltrim", PAIR, BYTES, call!((Bytea a, Bytea set) trim(a, set, [true, false])));
    catalogue.add("rtrim", PAIR, BYTES, call!((Bytea a, Bytea set) trim(a, set, [false, true])));
}

/// Without the bytes of the set at its beginning and its end.
fn trim(mut bytes: &[u8], set: &[u8], [beginning, end]: [bool; 2]) -> Result<Value> {
    while let [first, rest @ ..] = bytes
        && beginning
        && set.contains(first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && end
        && set.contains(last)
    {
        bytes = rest;
    }
    Ok(Value::Bytea(bytes.into()))
}

fn overlays(catalogue: &mut Catalogue) {
    catalogue.add(
        "overlay",
        &[BYTES, BYTES, INT],
        BYTES,
        call!((Bytea a, Bytea b, Integer start) overlay(a, b, *start, b.len() as i64)),
    );
    catalogue.add(
        "overlay",
        &[BYTES, BYTES, INT, INT],
        BYTES,
        call!((Bytea a, Bytea b, Integer start, Integer length) overlay(a, b, *start, i64::from(*length))),
    );
}

/// `new` in place of so many bytes from `start` on, counted from 1. SQLSTATE 22011.
fn overlay(source: &[u8], new: &[u8], start: i32, length: i64) -> Result<Value> {
    if start <= 0 {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let at = |place: i64| usize::try_from(place).unwrap_or(0).min(source.len());
    let (start, behind) = (i64::from(start) - 1, i64::from(start) - 1 + length);
    check_length(source.len().saturating_add(new.len()))?;
    Ok(Value::Bytea([&source[..at(start)], new, &source[at(behind)..]].concat().into()))
}

fn place(at: i64, length: usize) -> Result<usize> {
    let found = usize::try_from(at).ok().filter(|at| *at < length);
    found.ok_or_else(|| {
        let message = format!("index {at} out of valid range, 0..{}", length as i64 - 1);
        Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
    })
}
