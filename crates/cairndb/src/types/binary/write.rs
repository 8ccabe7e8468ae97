//! Values to bytes.

use super::numeric::write_numeric;
use crate::types::datetime::TimeTz;
use crate::types::{Array, Composite, DataType, EvalContext, Value, to_text};
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
pub fn write_binary(value: &Value, data_type: DataType, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        out.extend(NULL.to_be_bytes());
        return Ok(());
    }
    let place = out.len();
    out.extend(NULL.to_be_bytes());
    match (value, data_type) {
        (Value::BigInt(oid), DataType::Oid) => out.extend((*oid as u32).to_be_bytes()),
        (Value::Text(text), DataType::InternalChar) => out.push(text.bytes().next().unwrap_or(0)),
        _ => write_bytes(value, out)?,
    }
    let length = out.len() - place - size_of::<i32>();
    let length = i32::try_from(length)
        .map_err(|_| Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "a value is too long for the binary format"))?;
    out[place..place + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn write_bytes(value: &Value, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Null => {}
        Value::Boolean(value) => out.push((*value).into()),
        Value::SmallInt(value) => out.extend(value.to_be_bytes()),
        Value::Integer(value) | Value::Date(value) => out.extend(value.to_be_bytes()),
        Value::BigInt(value) | Value::Time(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
            out.extend(value.to_be_bytes());
        }
        Value::TimeTz(packed) => {
            let time = TimeTz::of_packed(*packed);
            out.extend(time.micros().to_be_bytes());
            out.extend((-time.east()).to_be_bytes());
        }
        Value::Real(value) => out.extend(value.to_be_bytes()),
        Value::Double(value) => out.extend(value.to_be_bytes()),
        Value::Numeric(value) => write_numeric(value, out),
        Value::Text(text) | Value::Json(text) => out.extend(text.as_bytes()),
        Value::Bytea(bytes) => out.extend(bytes.iter()),
        Value::Interval(interval) => {
            out.extend(interval.micros.to_be_bytes());
            out.extend(interval.days.to_be_bytes());
            out.extend(interval.months.to_be_bytes());
        }
        Value::Uuid(bytes) => out.extend(bytes.iter()),
        Value::Jsonb(_) | Value::JsonPath(_) => {
            out.push(VERSION);
            out.extend(to_text(value, &EvalContext::default()).as_bytes());
        }
        Value::Enum(value) => out.extend(value.label().as_bytes()),
        Value::Reg(value) => out.extend(value.oid.to_be_bytes()),
        Value::Array(array) => write_array(array, out)?,
        Value::Composite(row) => write_row(row, out)?,
    }
    Ok(())
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
