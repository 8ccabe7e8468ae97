//! Values to bytes.

use std::fmt::Display;

use super::numeric::write_numeric;
use crate::types::datetime::TimeTz;
use crate::types::{Array, Composite, DataType, Value, ValueRef};
use crate::{Error, Result, SqlState};

/// Which version of its form a `jsonb` or `jsonpath` is in.
pub(super) const VERSION: u8 = 1;
/// In place of a length: the value is NULL.
const NULL: i32 = -1;

/// Appends the length and the bytes of a value of a type. SQLSTATE 54000 where they are too many.
///
/// ```
/// use cairndb::{DataType, Value, write_binary};
///
/// let mut out = Vec::new();
/// write_binary(&Value::Integer(7), DataType::Integer, &mut out)?;
/// assert_eq!(out, [0, 0, 0, 4, 0, 0, 0, 7]);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub fn write_binary<'v>(value: impl Into<ValueRef<'v>>, data_type: DataType, out: &mut Vec<u8>) -> Result<()> {
    let value = value.into();
    match (value, data_type) {
        (ValueRef::Null, _) => out.extend_from_slice(&NULL.to_be_bytes()),
        (ValueRef::BigInt(oid), DataType::Oid) => fixed((oid as u32).to_be_bytes(), out),
        (ValueRef::Text(text), DataType::InternalChar) => fixed([text.bytes().next().unwrap_or(0)], out),
        (ValueRef::Boolean(value), _) => fixed([value.into()], out),
        (ValueRef::SmallInt(value), _) => fixed(value.to_be_bytes(), out),
        (ValueRef::Integer(value) | ValueRef::Date(value), _) => fixed(value.to_be_bytes(), out),
        (ValueRef::BigInt(value) | ValueRef::Time(value), _) => fixed(value.to_be_bytes(), out),
        (ValueRef::Timestamp(value) | ValueRef::TimestampTz(value), _) => fixed(value.to_be_bytes(), out),
        (ValueRef::Real(value), _) => fixed(value.to_be_bytes(), out),
        (ValueRef::Double(value), _) => fixed(value.to_be_bytes(), out),
        (ValueRef::Uuid(bytes), _) => fixed(bytes, out),
        (ValueRef::Macaddr(bytes), _) => fixed(bytes, out),
        (ValueRef::Macaddr8(bytes), _) => fixed(bytes, out),
        (ValueRef::Inet(value), _) => return bytes(&value.to_wire(false), out),
        (ValueRef::Cidr(value), _) => return bytes(&value.to_wire(true), out),
        (ValueRef::Reg(value), _) => fixed(value.oid.to_be_bytes(), out),
        (ValueRef::Text(text) | ValueRef::Json(text), _) => return bytes(text.as_bytes(), out),
        (ValueRef::Bytea(value), _) => return bytes(value, out),
        (ValueRef::Citext(text), _) => return bytes(text.as_str().as_bytes(), out),
        (ValueRef::Hstore(value), _) => {
            let mut pairs = Vec::with_capacity(value.byte_len());
            value.write_bytes(&mut pairs);
            return bytes(&pairs, out);
        }
        (ValueRef::Enum(value), _) => return bytes(value.label().as_bytes(), out),
        (ValueRef::Made(made), _) => return write_binary(&made.0.make_value(), data_type, out),
        _ => return composed(value, out),
    }
    Ok(())
}

/// Appends a length that all values of the type have, and the bytes.
#[inline]
fn fixed<const N: usize>(bytes: [u8; N], out: &mut Vec<u8>) {
    out.reserve(size_of::<i32>() + N);
    out.extend_from_slice(&(N as i32).to_be_bytes());
    out.extend_from_slice(&bytes);
}

#[inline]
fn bytes(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&length(bytes.len())?);
    out.extend_from_slice(bytes);
    Ok(())
}

fn length(bytes: usize) -> Result<[u8; size_of::<i32>()]> {
    let too_long = || Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "a value is too long for the binary format");
    i32::try_from(bytes).map(i32::to_be_bytes).map_err(|_| too_long())
}

/// Appends bytes whose number is known when they are there, with it before them.
#[inline(never)]
fn composed(value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<()> {
    let place = out.len();
    out.extend_from_slice(&NULL.to_be_bytes());
    let start = out.len();
    match value {
        ValueRef::Numeric(value) => write_numeric(value, out),
        ValueRef::TimeTz(packed) => {
            let time = TimeTz::of_packed(packed);
            out.extend(time.micros().to_be_bytes());
            out.extend((-time.east()).to_be_bytes());
        }
        ValueRef::Interval(interval) => {
            out.extend(interval.micros.to_be_bytes());
            out.extend(interval.days.to_be_bytes());
            out.extend(interval.months.to_be_bytes());
        }
        ValueRef::Jsonb(document) => put_versioned(document, out),
        ValueRef::JsonPath(path) => put_versioned(path, out),
        ValueRef::Array(array) => write_array(array, out)?,
        ValueRef::Composite(row) => write_row(row, out)?,
        _ => {}
    }
    let length = length(out.len() - start)?;
    out[place..start].copy_from_slice(&length);
    Ok(())
}

fn put_versioned(text: &impl Display, out: &mut Vec<u8>) {
    out.push(VERSION);
    out.extend(text.to_string().as_bytes());
}

/// How many dimensions, whether there are NULLs, the elements' type, each dimension, each element.
fn write_array(array: &Array, out: &mut Vec<u8>) -> Result<()> {
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX).to_be_bytes();
    let has_nulls = array.values().iter().any(Value::is_null);
    out.extend(count(array.dimensions().len()));
    out.extend(i32::from(has_nulls).to_be_bytes());
    out.extend(array.element().oid().to_be_bytes());
    for dimension in array.dimensions() {
        out.extend(count(dimension.length));
        out.extend(dimension.lower.to_be_bytes());
    }
    array.values().iter().try_for_each(|value| write_binary(value, array.element(), out))
}

/// How many attributes, and the type and value of each.
fn write_row(row: &Composite, out: &mut Vec<u8>) -> Result<()> {
    out.extend(i32::try_from(row.values().len()).unwrap_or(i32::MAX).to_be_bytes());
    for (data_type, value) in row.typed() {
        out.extend(named(data_type).oid().to_be_bytes());
        write_binary(value, data_type, out)?;
    }
    Ok(())
}

/// A literal that nothing decided about is a text.
fn named(data_type: DataType) -> DataType {
    if data_type == DataType::Unknown { DataType::Text } else { data_type }
}
