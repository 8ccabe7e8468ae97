//! Rows to values.

use super::integers::{self, sum_of_widths};
use super::layout::Place;
use super::{RowLayout, corrupted};
use crate::Result;
use crate::types::array::read_array;
use crate::types::composite::read_composite;
use crate::types::datetime::MICROS_PER_DAY;
use crate::types::datetime::TimeTz;
use crate::types::{Citext, DataType, Hstore, Inet, Interval, JsonPath, Jsonb, Numeric, RegValue, Value};

impl RowLayout {
    /// One column of a row.
    pub fn decode_column(&self, bytes: &[u8], column: usize) -> Result<Value> {
        match self.raw_column(bytes, column)? {
            Some(raw) => decode_raw(raw, self.types[column]),
            None => Ok(Value::Null),
        }
    }

    /// All columns of a row, appended to `out`.
    pub fn decode(&self, bytes: &[u8], out: &mut Vec<Value>) -> Result<()> {
        // Columns of each kind lie one behind the other.
        let mut integer = self.integers_start(bytes)?;
        let mut fixed = integer + sum_of_widths(bytes, self.integers.len());
        let mut variable = match self.variable.is_empty() {
            true => None,
            false => Some(self.variable_ranges(bytes)?),
        };
        for ((column, data_type), place) in self.types.iter().enumerate().zip(&self.places) {
            let behind = |start: &mut usize, width: usize| {
                *start += width;
                *start - width..*start
            };
            let range = match *place {
                Place::Integer(place) => behind(&mut integer, place.width_in(bytes)),
                Place::Fixed { width, .. } => behind(&mut fixed, width),
                Place::Variable(_) => variable.as_mut().and_then(Iterator::next).ok_or_else(corrupted)??,
            };
            let raw = bytes.get(range).ok_or_else(corrupted)?;
            let is_null = self.is_null(bytes, column).ok_or_else(corrupted)?;
            out.push(if is_null { Value::Null } else { decode_raw(raw, *data_type)? });
        }
        Ok(())
    }
}

/// The value of a column's bytes as stored.
pub fn decode_raw(raw: &[u8], data_type: DataType) -> Result<Value> {
    Ok(match data_type {
        DataType::SmallInt => Value::SmallInt(narrow(raw, data_type)?),
        DataType::Integer => Value::Integer(narrow(raw, data_type)?),
        DataType::Date => Value::Date(narrow(raw, data_type)?),
        DataType::BigInt | DataType::Oid => Value::BigInt(narrow(raw, data_type)?),
        DataType::Timestamp(_) => Value::Timestamp(narrow(raw, data_type)?),
        DataType::TimestampTz(_) => Value::TimestampTz(narrow(raw, data_type)?),
        DataType::Time(_) => match narrow(raw, data_type)? {
            micros @ 0..=MICROS_PER_DAY => Value::Time(micros),
            _ => return Err(corrupted()),
        },
        DataType::TimeTz(_) => match TimeTz::from_packed(narrow(raw, data_type)?) {
            Some(time) => Value::TimeTz(time.packed()),
            None => return Err(corrupted()),
        },
        DataType::Boolean => match raw {
            [0] => Value::Boolean(false),
            [1] => Value::Boolean(true),
            _ => return Err(corrupted()),
        },
        DataType::Real => Value::Real(f32::from_le_bytes(array(raw)?)),
        DataType::Double => Value::Double(f64::from_le_bytes(array(raw)?)),
        DataType::Numeric(_) => Value::Numeric(Numeric::from_bytes(raw).ok_or_else(corrupted)?),
        DataType::Text
        | DataType::Varchar(_)
        | DataType::Char(_)
        | DataType::Name
        | DataType::InternalChar
        | DataType::Void
        | DataType::RegName(_) => Value::text(std::str::from_utf8(raw).map_err(|_| corrupted())?),
        DataType::Bytea => Value::Bytea(raw.into()),
        DataType::Interval(_) => Value::Interval(interval_from_raw(raw)?),
        DataType::Uuid => Value::Uuid(array(raw)?),
        DataType::Inet => Value::Inet(Inet::from_bytes(raw).ok_or_else(corrupted)?),
        DataType::Cidr => Value::Cidr(Inet::from_bytes(raw).filter(Inet::is_network).ok_or_else(corrupted)?),
        DataType::Macaddr => Value::Macaddr(array(raw)?),
        DataType::Macaddr8 => Value::Macaddr8(array(raw)?),
        DataType::Json => Value::Json(std::str::from_utf8(raw).map_err(|_| corrupted())?.into()),
        DataType::Jsonb => Value::Jsonb(Jsonb::from_stored(raw)?),
        DataType::JsonPath => {
            let text = std::str::from_utf8(raw).map_err(|_| corrupted())?;
            Value::JsonPath(JsonPath::parse(text).map_err(|_| corrupted())?.into())
        }
        DataType::Reg(of) => {
            let number: i64 = narrow(raw, data_type)?;
            Value::Reg(RegValue { of, oid: number.try_into().map_err(|_| corrupted())? })
        }
        DataType::Citext(of) => Value::Citext(Citext::new(of, std::str::from_utf8(raw).map_err(|_| corrupted())?)),
        DataType::Hstore(of) => Value::Hstore(Hstore::from_bytes(of, raw).ok_or_else(corrupted)?),
        DataType::Enum(of) => Value::Enum(of.value_of_key(narrow(raw, data_type)?).ok_or_else(corrupted)?),
        DataType::Composite(of) => read_composite(raw, of)?.into(),
        DataType::Array(element) => read_array(raw, element.data_type())?.of_type(element).into(),
        DataType::Unknown => return Err(corrupted()),
    })
}

/// The integer (date, time, timestamp) of a column's bytes as stored.
#[inline]
pub(crate) fn integer_from_raw(raw: &[u8], data_type: DataType) -> Result<i64> {
    integers::read(raw, 0, raw.len(), data_type.integer_width().unwrap_or_default()).ok_or_else(corrupted)
}

fn narrow<T: TryFrom<i64>>(raw: &[u8], data_type: DataType) -> Result<T> {
    T::try_from(integer_from_raw(raw, data_type)?).map_err(|_| corrupted())
}

/// The interval of a column's bytes as stored.
pub(crate) fn interval_from_raw(raw: &[u8]) -> Result<Interval> {
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

#[inline]
pub(in crate::types) fn decode_length(bytes: &[u8]) -> Result<(usize, &[u8])> {
    let mut length = 0_usize;
    for (i, &byte) in bytes.iter().take(5).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok((length, &bytes[i + 1..]));
        }
    }
    Err(corrupted())
}
