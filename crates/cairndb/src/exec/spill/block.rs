//! The one format of spilled rows: a batch as bytes, by column. Integers are little endian; nothing outlives its process.
//!
//! ```text
//! rows u32 | per column: 1 if it has NULLs, then a bit per row (set: not NULL) | values
//! ```
//! Fixed-width values as they are, NULLs zeroed; strings and other values as all their lengths (u32), then all their
//! bytes, as rows store them. Decimals as either.

use std::sync::Arc;

use crate::columns::{Batch, Bitmap, ByteStrings, Data, Decimals, Representation, Vector};
use crate::types::row::{decode_raw, encode_value_raw, interval_from_raw};
use crate::types::{SCALE_MAX, ValueRef};
use crate::types::{is_open, read_open, write_open};
use crate::{DataType, Error, Result, SqlState, Value};

/// Appends a batch.
pub(super) fn encode(batch: &Batch, out: &mut Vec<u8>) -> Result<()> {
    put_length(batch.len(), out)?;
    for column in batch.columns() {
        encode_validity(column.validity(), out);
        encode_data(column, out)?;
    }
    Ok(())
}

/// Reads what [`encode`] wrote of columns of these types.
pub(super) fn decode(mut bytes: &[u8], types: &[DataType]) -> Result<Batch> {
    let bytes = &mut bytes;
    let rows = take_length(bytes)?;
    let column = |&data_type: &DataType| {
        let validity = decode_validity(bytes, rows)?;
        let data = decode_data(bytes, data_type, rows, validity.as_ref())?;
        Ok(Arc::new(Vector::from_parts(data_type, data, validity)))
    };
    let columns = types.iter().map(column).collect::<Result<Vec<_>>>()?;
    if bytes.is_empty() { Ok(Batch::new(columns, rows)) } else { Err(damaged()) }
}

fn encode_validity(validity: Option<&Bitmap>, out: &mut Vec<u8>) {
    out.push(validity.is_some().into());
    for word in validity.map_or(&[][..], Bitmap::words) {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

fn decode_validity(bytes: &mut &[u8], rows: usize) -> Result<Option<Bitmap>> {
    if take(bytes, 1)? == [0] {
        return Ok(None);
    }
    let words = take(bytes, rows.div_ceil(64) * 8)?.as_chunks().0;
    Ok(Some(Bitmap::from_words(words.iter().map(|word| u64::from_le_bytes(*word)).collect(), rows)))
}

macro_rules! fixed {
    ($values:expr, $out:expr) => {
        $values.iter().for_each(|value| $out.extend_from_slice(&value.to_le_bytes()))
    };
}

macro_rules! read_fixed {
    ($bytes:expr, $rows:expr, $type:ty) => {
        take($bytes, $rows * size_of::<$type>())?
            .as_chunks()
            .0
            .iter()
            .map(|value| <$type>::from_le_bytes(*value))
            .collect()
    };
}

fn encode_data(column: &Vector, out: &mut Vec<u8>) -> Result<()> {
    match column.data() {
        Data::Bool(values) => out.extend(values.iter().map(|&value| u8::from(value))),
        Data::I16(values) => fixed!(values, out),
        Data::I32(values) => fixed!(values, out),
        Data::I64(values) => fixed!(values, out),
        Data::F32(values) => fixed!(values, out),
        Data::F64(values) => fixed!(values, out),
        Data::Bytes(strings) => {
            (0..strings.len()).try_for_each(|row| put_length(strings.get(row).len(), out))?;
            (0..strings.len()).for_each(|row| out.extend_from_slice(strings.get(row)));
        }
        Data::Decimal(decimals) => encode_decimals(decimals, out)?,
        Data::Uuid(values) => out.extend_from_slice(values.as_flattened()),
        Data::Interval(values) => {
            values.iter().for_each(|&value| encode_value_raw(ValueRef::Interval(value), out));
        }
        Data::Values(values) => encode_values(values, is_open(column.data_type()), out)?,
    }
    Ok(())
}

/// A scale and mantissas where these have one; without (`u16::MAX`) the lengths and bytes of values.
fn encode_decimals(decimals: &Decimals, out: &mut Vec<u8>) -> Result<()> {
    if let Some((mantissas, scale)) = decimals.narrow() {
        out.extend_from_slice(&scale.to_le_bytes());
        fixed!(mantissas, out);
        return Ok(());
    }
    out.extend_from_slice(&u16::MAX.to_le_bytes());
    let values = || (0..decimals.len()).map(|row| decimals.get(row));
    values().try_for_each(|value| put_length(value.byte_len(), out))?;
    values().for_each(|value| value.write_bytes(out));
    Ok(())
}

fn decode_decimals(bytes: &mut &[u8], rows: usize) -> Result<Decimals> {
    match u16::from_le_bytes(take(bytes, 2)?.try_into().map_err(|_| damaged())?) {
        u16::MAX => {
            let mut decimals = Decimals::with_capacity(rows);
            for length in take_lengths(bytes, rows)? {
                if !decimals.push_bytes(take(bytes, length)?) {
                    return Err(damaged());
                }
            }
            Ok(decimals)
        }
        scale @ ..=SCALE_MAX => Ok(Decimals::of_scale(read_fixed!(bytes, rows, i64), scale)),
        _ => Err(damaged()),
    }
}

fn encode_values(values: &[Value], is_open: bool, out: &mut Vec<u8>) -> Result<()> {
    let mut bytes = Vec::new();
    for value in values {
        let start = bytes.len();
        match is_open && !value.is_null() {
            true => write_open(value, &mut bytes),
            false => encode_value_raw(ValueRef::from(value), &mut bytes),
        }
        put_length(bytes.len() - start, out)?;
    }
    out.extend_from_slice(&bytes);
    Ok(())
}

fn decode_data(bytes: &mut &[u8], data_type: DataType, rows: usize, validity: Option<&Bitmap>) -> Result<Data> {
    Ok(match data_type.physical() {
        Representation::Bool => Data::Bool(take(bytes, rows)?.iter().map(|&byte| byte != 0).collect()),
        Representation::I16 => Data::I16(read_fixed!(bytes, rows, i16)),
        Representation::I32 => Data::I32(read_fixed!(bytes, rows, i32)),
        Representation::I64 => Data::I64(read_fixed!(bytes, rows, i64)),
        Representation::F32 => Data::F32(read_fixed!(bytes, rows, f32)),
        Representation::F64 => Data::F64(read_fixed!(bytes, rows, f64)),
        Representation::Bytes => {
            let mut strings = ByteStrings::with_capacity(rows);
            for length in take_lengths(bytes, rows)? {
                strings.push(take(bytes, length)?);
            }
            Data::Bytes(strings)
        }
        Representation::Decimal => Data::Decimal(decode_decimals(bytes, rows)?),
        Representation::Uuid => Data::Uuid(take(bytes, rows * 16)?.as_chunks().0.to_vec()),
        Representation::Interval => {
            Data::Interval(take(bytes, rows * 16)?.chunks(16).map(interval_from_raw).collect::<Result<_>>()?)
        }
        Representation::Values => {
            let is_open = is_open(data_type);
            let lengths = take_lengths(bytes, rows)?.into_iter().enumerate();
            let value = |(row, length)| match (take(bytes, length)?, validity) {
                (_, Some(validity)) if !validity.get(row) => Ok(Value::Null),
                (raw, _) if is_open => read_open(raw, data_type),
                (raw, _) => decode_raw(raw, stored_type(data_type)),
            };
            Data::Values(lengths.map(value).collect::<Result<_>>()?)
        }
    })
}

/// Literals whose type nothing determined are text.
fn stored_type(data_type: DataType) -> DataType {
    if data_type == DataType::Unknown { DataType::Text } else { data_type }
}

fn put_length(length: usize, out: &mut Vec<u8>) -> Result<()> {
    let length = u32::try_from(length)
        .map_err(|_| Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "a value of 4 GiB or more cannot be spilled"))?;
    out.extend_from_slice(&length.to_le_bytes());
    Ok(())
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Result<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or_else(damaged)?;
    *bytes = rest;
    Ok(taken)
}

fn take_length(bytes: &mut &[u8]) -> Result<usize> {
    let raw = take(bytes, 4)?.try_into().map_err(|_| damaged())?;
    Ok(u32::from_le_bytes(raw) as usize)
}

fn take_lengths(bytes: &mut &[u8], rows: usize) -> Result<Vec<usize>> {
    let (raw, _) = take(bytes, rows.saturating_mul(4))?.as_chunks();
    Ok(raw.iter().map(|length| u32::from_le_bytes(*length) as usize).collect())
}

fn damaged() -> Error {
    let error = Error::new(SqlState::DATA_CORRUPTED, "a temporary file is damaged");
    error.with_hint(
        "Nothing of the database is: the disk of temp_directory gives back other bytes than were written to it.",
    )
}
