//! Vectors and batches of a program's own arrays: what they hold is looked at before it is a vector.
//!
//! All else here is made by the engine, of rows and values that were checked when they came in. What comes by this way is
//! held to the same: no text that is none, no date out of range, no label that an enum has not.

use std::sync::Arc;

use super::{Batch, Bitmap, Data, Vector};
use crate::types::datetime::{is_date, is_time, is_timestamp};
use crate::types::{DataType, ElementType, TimeTz, ValueRef, has_zero_byte, utf8};
use crate::{Error, Result, SqlState, Value};

impl Batch {
    /// Rows of these columns.
    ///
    /// # Errors
    ///
    /// 22023 where the columns have different numbers of values.
    pub fn of(columns: Vec<Vector>) -> Result<Batch> {
        let len = columns.first().map_or(0, Vector::len);
        if let Some(other) = columns.iter().find(|column| column.len() != len) {
            return Err(unlike(format!("columns of {len} and of {} values", other.len())));
        }
        super::check_count(len)?;
        Ok(Batch::new(columns.into_iter().map(Arc::new).collect(), len))
    }
}

impl Vector {
    /// A vector of values that lie as [`Data`] has them. `data_type` is without modifiers: what `varchar(3)` or `numeric(5,2)`
    /// ask is asked where values become a column's. `validity`: which are not NULL. What stands where NULLs are is of no
    /// interest, but text has to be text there, too.
    ///
    /// # Errors
    ///
    /// 42804: values of this type do not lie so; 22023: there are more or fewer bits than values; 22021: text that is not UTF-8 or
    /// has a zero byte; 22008: a date or time out of range; 22003: an oid that is none; 0A000: values of this type
    /// are not made so (`char(n)`, and what PostgreSQL's catalog has for itself).
    pub fn from_data(data_type: DataType, data: Data, validity: Option<Bitmap>) -> Result<Vector> {
        if data_type != data_type.base() || !is_open(data_type) {
            let error = Error::unsupported(format!("a vector of type {data_type} from data of one's own"));
            return Err(error.with_hint("Make one of the type without modifiers, or of text."));
        }
        if data.representation() != data_type.physical() {
            let message = format!("values of type {data_type} do not lie as {:?}", data.representation());
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        if let Some(bits) = validity.as_ref().filter(|bits| bits.len() != data.len()) {
            return Err(unlike(format!("{} values and {} bits of validity", data.len(), bits.len())));
        }
        super::check_count(data.len())?;
        let mut vector = Vector::from_parts(data_type, data, validity);
        vector.check_sound()?;
        Ok(vector)
    }

    /// A vector of these values: each NULL or of the type, which is without modifiers.
    ///
    /// ```
    /// use cairndb::{Array, DataType, Value, Vector};
    ///
    /// let integers = DataType::Integer.array().expect("any type has one");
    /// let array = Array::new(DataType::Integer, vec![Value::Integer(1), Value::Null]);
    /// let column = Vector::of_values(integers, &[array.into(), Value::Null])?;
    /// assert!(column.len() == 2 && column.is_null(1) && !column.is_empty());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Vector::from_data`].
    pub fn of_values(data_type: DataType, values: &[Value]) -> Result<Vector> {
        if let Some(other) = values.iter().find(|value| !value.is_null() && !is_wholly_of(value, data_type)) {
            let message = format!("a value of type {:?} is none of {data_type}", ValueRef::from(other).data_type());
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let (data_type, data, validity) = Vector::from_values(data_type, values)?.into_parts();
        Vector::from_data(data_type, data, validity)
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the vector is made of: its type, its values, and which of them are not NULL (`None`: all).
    pub fn into_parts(self) -> (DataType, Data, Option<Bitmap>) {
        let data_type = self.data_type();
        let (data, validity) = self.into_data();
        (data_type, data, validity)
    }

    fn check_sound(&mut self) -> Result<()> {
        let (data_type, bits) = (self.data_type(), self.validity().cloned());
        let bits = bits.as_ref();
        let out_of_range = || Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date/time value out of range");
        match (self.data_mut(), data_type) {
            (Data::I32(items), DataType::Date) => are_sound(items, 0, bits, is_date).ok_or_else(out_of_range),
            (Data::I64(items), DataType::Time(_)) => are_sound(items, 0, bits, is_time).ok_or_else(out_of_range),
            (Data::I64(items), DataType::TimeTz(_)) => {
                let midnight = TimeTz::new(0, 0).map_or(0, TimeTz::packed);
                are_sound(items, midnight, bits, |item| TimeTz::from_packed(item).is_some()).ok_or_else(out_of_range)
            }
            (Data::I64(items), DataType::Timestamp(_) | DataType::TimestampTz(_)) => {
                are_sound(items, 0, bits, is_timestamp).ok_or_else(out_of_range)
            }
            (Data::I64(items), DataType::Oid) => are_sound(items, 0, bits, |item| u32::try_from(item).is_ok())
                .ok_or_else(|| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range")),
            (Data::I64(items), DataType::Enum(of)) => are_sound(items, 0, bits, |key| of.value_of_key(key).is_some())
                .ok_or_else(|| unlike(format!("a number that is none of {data_type}'s"))),
            (Data::Bytes(strings), DataType::Text | DataType::Varchar(_)) => {
                strings.check_text();
                match strings.are_text() && !has_zero_byte(strings.bytes()) {
                    true => Ok(()),
                    false => (0..strings.len()).try_for_each(|row| utf8(strings.get(row)).map(drop)),
                }
            }
            (Data::Values(items), _) => {
                let is_null = |row: usize| bits.is_some_and(|bits| !bits.get(row));
                let mut all = items.iter().enumerate();
                match all.all(|(row, value)| is_null(row) || !value.is_null() && is_wholly_of(value, data_type)) {
                    true => Ok(()),
                    false => Err(unlike(format!("a value that is none of {data_type}"))),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Whether a program may say what values of this type are.
fn is_open(data_type: DataType) -> bool {
    let closed = matches!(
        data_type,
        DataType::Char(_)
            | DataType::Name
            | DataType::InternalChar
            | DataType::Void
            | DataType::Unknown
            | DataType::RegName(_)
    );
    !closed && !data_type.is_reg() && !data_type.is_vector()
}

/// Whether all values but NULLs are such as a type has; the slots of NULLs are, afterwards. `None`: one is not.
fn are_sound<T: Copy>(items: &mut [T], default: T, bits: Option<&Bitmap>, is_sound: impl Fn(T) -> bool) -> Option<()> {
    if items.iter().all(|&item| is_sound(item)) {
        return Some(());
    }
    for (row, item) in items.iter_mut().enumerate().filter(|(_, item)| !is_sound(**item)) {
        if bits.is_none_or(|bits| bits.get(row)) {
            return None;
        }
        *item = default;
    }
    Some(())
}

/// A value of a type, and so are all that it is made of.
fn is_wholly_of(value: &Value, data_type: DataType) -> bool {
    let element = |element: ElementType| element.data_type();
    match (value, data_type) {
        (Value::Array(array), DataType::Array(of)) => {
            array.element() == element(of)
                && array.values().iter().all(|value| value.is_null() || is_wholly_of(value, element(of)))
        }
        _ => ValueRef::from(value).is_of(data_type),
    }
}

fn unlike(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::ByteStrings;

    fn code(made: Result<Vector>) -> SqlState {
        made.expect_err("it is sound").sqlstate()
    }

    fn strings(all: &[&[u8]]) -> Data {
        let mut strings = ByteStrings::with_capacity(0);
        all.iter().for_each(|string| strings.push(string));
        Data::Bytes(strings)
    }

    #[test]
    fn what_no_value_can_be_is_refused_where_it_is_not_null() {
        let nothing = || Some(Bitmap::filled(1, false));
        assert_eq!(code(Vector::from_data(DataType::Date, Data::I32(vec![i32::MAX - 1]), None)).as_str(), "22008");
        assert!(Vector::from_data(DataType::Date, Data::I32(vec![i32::MAX]), None).is_ok(), "infinity");
        let null = Vector::from_data(DataType::Date, Data::I32(vec![i32::MAX - 1]), nothing()).unwrap();
        assert!(null.is_null(0) && matches!(null.data(), Data::I32(items) if items == &[0]));
        assert_eq!(code(Vector::from_data(DataType::TIME, Data::I64(vec![-1]), None)).as_str(), "22008");
        assert_eq!(code(Vector::from_data(DataType::TIMESTAMP, Data::I64(vec![i64::MAX - 1]), None)).as_str(), "22008");
        assert_eq!(code(Vector::from_data(DataType::Oid, Data::I64(vec![-1]), None)).as_str(), "22003");
        assert_eq!(code(Vector::from_data(DataType::Text, strings(&[b"a\xff"]), None)).as_str(), "22021");
        assert_eq!(code(Vector::from_data(DataType::Text, strings(&[b"\xc3", b"\xa9"]), None)).as_str(), "22021");
        assert_eq!(code(Vector::from_data(DataType::Text, strings(&[b"a\0"]), None)).as_str(), "22021");
        assert!(Vector::from_data(DataType::Bytea, strings(&[b"a\0\xff"]), None).is_ok());
    }

    #[test]
    fn shapes_that_do_not_agree_are_refused() {
        assert_eq!(code(Vector::from_data(DataType::BigInt, Data::I32(vec![1]), None)).as_str(), "42804");
        let bits = Some(Bitmap::filled(2, true));
        assert_eq!(code(Vector::from_data(DataType::Integer, Data::I32(vec![1]), bits)).as_str(), "22023");
        assert_eq!(code(Vector::from_data(DataType::Varchar(Some(1)), strings(&[b"long"]), None)).as_str(), "0A000");
        let of = |count: i32| Vector::from_data(DataType::Integer, Data::I32((0..count).collect()), None).unwrap();
        assert!(Batch::of(vec![of(1), of(2)]).is_err() && Batch::of(vec![of(2), of(2)]).is_ok());
    }

    #[test]
    fn values_are_looked_into() {
        let array = |values| Value::from(crate::Array::new(DataType::Integer, values));
        let integers = DataType::Integer.array().unwrap();
        let made = |value| Vector::from_data(integers, Data::Values(vec![value]), None);
        assert!(made(array(vec![Value::Integer(1), Value::Null])).is_ok());
        assert!(made(array(vec![Value::text("1")])).is_err() && made(Value::Integer(1)).is_err());
        assert!(made(Value::Null).is_err(), "NULL is told by the bits");
        let json = |text: &str| Vector::from_data(DataType::Json, Data::Values(vec![Value::Json(text.into())]), None);
        assert!(json("[1]").is_ok() && json("[1").is_err());
    }
}
