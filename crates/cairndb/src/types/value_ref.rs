//! Values lent instead of copied.

use crate::types::datetime::TimeTz;
use std::sync::Arc;

use super::cast::NAME_BYTES_MAX;
use super::datetime::{is_date, is_time, is_timestamp};
use super::json::check_json;
use super::text::has_zero_byte;
use super::{
    Array, Citext, Composite, DataType, EnumValue, Hstore, Inet, Interval, JsonPath, Jsonb, NumericRef, RegValue, Value,
};

/// A borrowed SQL value; see [`Value`] for the units.
///
/// ```
/// use cairndb::{DataType, Value, ValueRef};
///
/// let lent = ValueRef::from(&Value::Integer(7));
/// assert_eq!((lent.as_i64(), lent.data_type(), lent.is_null()), (Some(7), Some(DataType::Integer), false));
/// assert_eq!(lent.fit(DataType::BigInt).map(ValueRef::to_value), Some(Value::BigInt(7)));
/// ```
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum ValueRef<'a> {
    Null,
    Boolean(bool),
    SmallInt(i16),
    Integer(i32),
    BigInt(i64),
    Real(f32),
    Double(f64),
    Numeric(NumericRef<'a>),
    Text(&'a str),
    Bytea(&'a [u8]),
    Date(i32),
    Time(i64),
    TimeTz(i64),
    Timestamp(i64),
    TimestampTz(i64),
    Interval(Interval),
    Uuid([u8; 16]),
    Inet(Inet),
    Cidr(Inet),
    Macaddr([u8; 6]),
    Macaddr8([u8; 8]),
    Json(&'a str),
    Jsonb(&'a Jsonb),
    JsonPath(&'a Arc<JsonPath>),
    Citext(&'a Citext),
    /// `hstore`
    Hstore(&'a Hstore),
    Enum(EnumValue),
    Reg(RegValue),
    Composite(&'a Arc<Composite>),
    Array(&'a Arc<Array>),
    /// Something of Rust's of which a value is made when it is copied: only parameters are such.
    Made(Made<'a>),
}

/// See [`ValueRef::Made`].
#[derive(Clone, Copy)]
pub struct Made<'a>(pub &'a dyn MakeValue);

/// What a value can be made of that it can not lend.
pub trait MakeValue: Send + Sync {
    /// The value. Not NULL.
    fn make_value(&self) -> Value;
}

impl std::fmt::Debug for Made<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.make_value().fmt(out)
    }
}

impl<'a> ValueRef<'a> {
    /// The value is NULL.
    pub fn is_null(self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// The type, without modifiers, of which it could be; `None`: NULL could be of any.
    pub fn data_type(self) -> Option<DataType> {
        Some(match self {
            ValueRef::Null => return None,
            ValueRef::Boolean(_) => DataType::Boolean,
            ValueRef::SmallInt(_) => DataType::SmallInt,
            ValueRef::Integer(_) => DataType::Integer,
            ValueRef::BigInt(_) => DataType::BigInt,
            ValueRef::Real(_) => DataType::Real,
            ValueRef::Double(_) => DataType::Double,
            ValueRef::Numeric(_) => DataType::Numeric(None),
            ValueRef::Text(_) => DataType::Text,
            ValueRef::Bytea(_) => DataType::Bytea,
            ValueRef::Date(_) => DataType::Date,
            ValueRef::Time(_) => DataType::TIME,
            ValueRef::TimeTz(_) => DataType::TIMETZ,
            ValueRef::Timestamp(_) => DataType::TIMESTAMP,
            ValueRef::TimestampTz(_) => DataType::TIMESTAMPTZ,
            ValueRef::Interval(_) => DataType::INTERVAL,
            ValueRef::Uuid(_) => DataType::Uuid,
            ValueRef::Inet(_) => DataType::Inet,
            ValueRef::Cidr(_) => DataType::Cidr,
            ValueRef::Macaddr(_) => DataType::Macaddr,
            ValueRef::Macaddr8(_) => DataType::Macaddr8,
            ValueRef::Json(_) => DataType::Json,
            ValueRef::Jsonb(_) => DataType::Jsonb,
            ValueRef::JsonPath(_) => DataType::JsonPath,
            ValueRef::Citext(text) => text.data_type(),
            ValueRef::Hstore(of) => of.data_type(),
            ValueRef::Enum(value) => value.data_type(),
            ValueRef::Reg(value) => DataType::Reg(value.of),
            ValueRef::Composite(row) => row.data_type(),
            ValueRef::Array(array) if array.is_vector() && array.element() == DataType::Oid => DataType::OIDVECTOR,
            ValueRef::Array(array) if array.is_vector() => DataType::INT2VECTOR,
            ValueRef::Array(array) => return array.element().array(),
            ValueRef::Made(made) => return ValueRef::from(&made.0.make_value()).data_type(),
        })
    }

    /// An integer of any width, widened; an oid.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            ValueRef::Reg(value) => Some(value.number()),
            ValueRef::SmallInt(value) => Some(value.into()),
            ValueRef::Integer(value) => Some(value.into()),
            ValueRef::BigInt(value) => Some(value),
            _ => None,
        }
    }

    /// Whether it is already as a column of type `to` holds it.
    #[inline]
    pub(crate) fn is_of(&self, to: DataType) -> bool {
        match (self, to) {
            (ValueRef::Null, _)
            | (ValueRef::BigInt(_), DataType::BigInt)
            | (ValueRef::Integer(_), DataType::Integer)
            | (ValueRef::SmallInt(_), DataType::SmallInt)
            | (ValueRef::Boolean(_), DataType::Boolean)
            | (ValueRef::Real(_), DataType::Real)
            | (ValueRef::Double(_), DataType::Double)
            | (ValueRef::Numeric(_), DataType::Numeric(None))
            | (ValueRef::Bytea(_), DataType::Bytea)
            | (ValueRef::Interval(_), DataType::Interval(None))
            | (ValueRef::Uuid(_), DataType::Uuid)
            | (ValueRef::Inet(_), DataType::Inet)
            | (ValueRef::Macaddr(_), DataType::Macaddr)
            | (ValueRef::Macaddr8(_), DataType::Macaddr8)
            | (ValueRef::Jsonb(_), DataType::Jsonb)
            | (ValueRef::JsonPath(_), DataType::JsonPath) => true,
            (ValueRef::Text(_), DataType::Text | DataType::Varchar(None))
            | (ValueRef::Date(_), DataType::Date)
            | (ValueRef::Time(_), DataType::Time(None))
            | (ValueRef::TimeTz(_), DataType::TimeTz(None))
            | (ValueRef::Timestamp(_), DataType::Timestamp(None))
            | (ValueRef::TimestampTz(_), DataType::TimestampTz(None))
            | (ValueRef::Json(_), DataType::Json)
            | (ValueRef::Cidr(_), DataType::Cidr) => self.is_sound(),
            (ValueRef::Text(text), DataType::Varchar(Some(limit))) => text.len() <= limit as usize && self.is_sound(),
            (ValueRef::Text(text), DataType::Name) => text.len() <= NAME_BYTES_MAX && self.is_sound(),
            (ValueRef::Text(text), DataType::InternalChar) => text.len() <= 1 && text.is_ascii() && self.is_sound(),
            (ValueRef::BigInt(oid), DataType::Oid) => u32::try_from(*oid).is_ok(),
            (ValueRef::Citext(text), DataType::Citext(of)) => text.of() == of,
            (ValueRef::Hstore(value), DataType::Hstore(of)) => value.of() == of,
            (ValueRef::Enum(value), DataType::Enum(of)) => value.of() == of,
            (ValueRef::Reg(value), DataType::Reg(of)) => value.of == of,
            (ValueRef::Composite(row), DataType::Composite(of)) => row.of() == of,
            // The elements may need to be fitted.
            (ValueRef::Array(array), DataType::Array(element)) => {
                array.element() == element.data_type() && array.is_vector() == element.is_of_vector() && self.is_sound()
            }
            _ => false,
        }
    }

    /// Whether SQL has such a value: a program may have made it of any number or text.
    #[inline]
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            ValueRef::Text(text) => !has_zero_byte(text.as_bytes()),
            ValueRef::Json(text) => check_json(text).is_ok(),
            ValueRef::Cidr(value) => value.is_network(),
            ValueRef::Date(days) => is_date(*days),
            ValueRef::Time(micros) => is_time(*micros),
            ValueRef::TimeTz(packed) => TimeTz::from_packed(*packed).is_some(),
            ValueRef::Timestamp(micros) | ValueRef::TimestampTz(micros) => is_timestamp(*micros),
            ValueRef::Array(array) if array.element().may_be_unsound() => {
                array.values().iter().all(|value| ValueRef::from(value).is_sound())
            }
            _ => true,
        }
    }

    /// The same value as a column of type `to` holds it, where that takes no conversion worth the name: integers of
    /// another width that fit, `real` as `double precision`, strings that are short enough, an enum's label. `None`:
    /// convert properly.
    pub fn fit(self, to: DataType) -> Option<ValueRef<'a>> {
        match (self, to) {
            (value, to) if value.is_of(to) => Some(value),
            (_, DataType::BigInt) => self.as_i64().map(ValueRef::BigInt),
            (_, DataType::Integer) => i32::try_from(self.as_i64()?).ok().map(ValueRef::Integer),
            (_, DataType::SmallInt) => i16::try_from(self.as_i64()?).ok().map(ValueRef::SmallInt),
            (ValueRef::Real(value), DataType::Double) => Some(ValueRef::Double(value.into())),
            (ValueRef::Text(label), DataType::Enum(of)) => of.find(label).map(ValueRef::Enum),
            _ => None,
        }
    }

    /// An owned copy.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Boolean(v) => Value::Boolean(v),
            ValueRef::SmallInt(v) => Value::SmallInt(v),
            ValueRef::Integer(v) => Value::Integer(v),
            ValueRef::BigInt(v) => Value::BigInt(v),
            ValueRef::Real(v) => Value::Real(v),
            ValueRef::Double(v) => Value::Double(v),
            ValueRef::Numeric(v) => Value::Numeric(v.to_numeric()),
            ValueRef::Text(v) => Value::Text(v.into()),
            ValueRef::Bytea(v) => Value::Bytea(v.into()),
            ValueRef::Date(v) => Value::Date(v),
            ValueRef::Time(v) => Value::Time(v),
            ValueRef::TimeTz(v) => Value::TimeTz(v),
            ValueRef::Timestamp(v) => Value::Timestamp(v),
            ValueRef::TimestampTz(v) => Value::TimestampTz(v),
            ValueRef::Interval(v) => Value::Interval(v),
            ValueRef::Uuid(v) => Value::Uuid(v),
            ValueRef::Inet(v) => Value::Inet(v),
            ValueRef::Cidr(v) => Value::Cidr(v),
            ValueRef::Macaddr(v) => Value::Macaddr(v),
            ValueRef::Macaddr8(v) => Value::Macaddr8(v),
            ValueRef::Json(v) => Value::Json(v.into()),
            ValueRef::Jsonb(v) => Value::Jsonb(v.clone()),
            ValueRef::JsonPath(v) => Value::JsonPath(v.clone()),
            ValueRef::Citext(v) => Value::Citext(v.clone()),
            ValueRef::Hstore(v) => Value::Hstore(v.clone()),
            ValueRef::Enum(v) => Value::Enum(v),
            ValueRef::Reg(v) => Value::Reg(v),
            ValueRef::Composite(v) => Value::Composite(v.clone()),
            ValueRef::Array(v) => Value::Array(v.clone()),
            ValueRef::Made(made) => made.0.make_value(),
        }
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> ValueRef<'a> {
        match value {
            Value::Null => ValueRef::Null,
            Value::Boolean(v) => ValueRef::Boolean(*v),
            Value::SmallInt(v) => ValueRef::SmallInt(*v),
            Value::Integer(v) => ValueRef::Integer(*v),
            Value::BigInt(v) => ValueRef::BigInt(*v),
            Value::Real(v) => ValueRef::Real(*v),
            Value::Double(v) => ValueRef::Double(*v),
            Value::Numeric(v) => ValueRef::Numeric(v.into()),
            Value::Text(v) => ValueRef::Text(v),
            Value::Bytea(v) => ValueRef::Bytea(v),
            Value::Date(v) => ValueRef::Date(*v),
            Value::Time(v) => ValueRef::Time(*v),
            Value::TimeTz(v) => ValueRef::TimeTz(*v),
            Value::Timestamp(v) => ValueRef::Timestamp(*v),
            Value::TimestampTz(v) => ValueRef::TimestampTz(*v),
            Value::Interval(v) => ValueRef::Interval(*v),
            Value::Uuid(v) => ValueRef::Uuid(*v),
            Value::Inet(v) => ValueRef::Inet(*v),
            Value::Cidr(v) => ValueRef::Cidr(*v),
            Value::Macaddr(v) => ValueRef::Macaddr(*v),
            Value::Macaddr8(v) => ValueRef::Macaddr8(*v),
            Value::Json(v) => ValueRef::Json(v),
            Value::Jsonb(v) => ValueRef::Jsonb(v),
            Value::JsonPath(v) => ValueRef::JsonPath(v),
            Value::Citext(v) => ValueRef::Citext(v),
            Value::Hstore(v) => ValueRef::Hstore(v),
            Value::Enum(v) => ValueRef::Enum(*v),
            Value::Reg(v) => ValueRef::Reg(*v),
            Value::Composite(v) => ValueRef::Composite(v),
            Value::Array(v) => ValueRef::Array(v),
        }
    }
}
