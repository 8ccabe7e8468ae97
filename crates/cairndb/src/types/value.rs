//! A single SQL value.

use std::sync::Arc;

use super::{Array, Citext, Composite, EnumValue, Hstore, Inet, JsonPath, Jsonb, Numeric, RegValue};

/// Months, days and microseconds, kept apart as PostgreSQL does. `==` is of the three fields; SQL's comparison
/// (a month is 30 days, a day 24 hours) is [`Interval::span`]'s.
///
/// ```
/// use cairndb::Interval;
///
/// let (month, days) = (Interval { months: 1, days: 0, micros: 0 }, Interval { months: 0, days: 30, micros: 0 });
/// assert!(month != days && month.span() == days.span());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Interval {
    /// Whole months (years are 12).
    pub months: i32,
    /// Whole days.
    pub days: i32,
    /// The rest, in microseconds.
    pub micros: i64,
}

impl Interval {
    /// The length in microseconds by which SQL compares: a month is 30 days, a day 24 hours.
    pub fn span(self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * i128::from(super::datetime::MICROS_PER_DAY) + i128::from(self.micros)
    }
}

/// A SQL value. `char(n)`, `varchar(n)` and `text` values are all `Text` (char values blank-padded to n).
///
/// `==` and `Hash` are those of grouping: NULL equals NULL, 1.0 equals 1.00, -0.0 equals 0.0, NaN equals NaN.
///
/// ```
/// use cairndb::Value;
///
/// assert_eq!((Value::Integer(7).as_i64(), Value::Boolean(true).as_bool()), (Some(7), Some(true)));
/// assert_eq!((Value::text("x").as_str(), Value::from(None::<i32>).is_null()), (Some("x"), true));
/// assert!(Value::Boolean(true).is_true() && !Value::Null.is_true());
/// assert!(Value::Null.as_array().is_none() && Value::Null.as_composite().is_none());
/// ```
#[derive(Clone, Debug)]
pub enum Value {
    /// NULL, of any type.
    Null,
    /// `boolean`
    Boolean(bool),
    /// `smallint`
    SmallInt(i16),
    /// `integer`
    Integer(i32),
    /// `bigint`
    BigInt(i64),
    /// `real`
    Real(f32),
    /// `double precision`
    Double(f64),
    /// `numeric`
    Numeric(Numeric),
    /// Any string type.
    Text(Box<str>),
    /// `bytea`
    Bytea(Box<[u8]>),
    /// Days since 2000-01-01. `i32::MAX` is `infinity`, `i32::MIN` is `-infinity`.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// A time with its distance from UTC: [`TimeTz`](crate::TimeTz) makes the number, and reads it.
    TimeTz(i64),
    /// Microseconds since 2000-01-01 00:00. `i64::MAX` is `infinity`, `i64::MIN` is `-infinity`.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 00:00 UTC; infinities as for `Timestamp`.
    TimestampTz(i64),
    /// `interval`
    Interval(Interval),
    /// `uuid`
    Uuid([u8; 16]),
    /// `inet`
    Inet(Inet),
    /// `cidr`: its [`is_network`](Inet::is_network) holds.
    Cidr(Inet),
    /// `macaddr`
    Macaddr([u8; 6]),
    /// `macaddr8`
    Macaddr8([u8; 8]),
    /// `json`: its text.
    Json(Box<str>),
    /// `jsonb`
    Jsonb(Jsonb),
    /// `jsonpath`
    JsonPath(Arc<JsonPath>),
    /// `citext`
    Citext(Citext),
    /// `hstore`
    Hstore(Hstore),
    /// A value of an enum.
    Enum(EnumValue),
    /// A `regclass` or one of its kin.
    Reg(RegValue),
    /// A row.
    Composite(Arc<Composite>),
    /// An array of any type.
    Array(Arc<Array>),
}

impl Value {
    /// A string value.
    pub fn text(text: impl Into<Box<str>>) -> Value {
        Value::Text(text.into())
    }

    /// The value is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The value is TRUE: what WHERE, ON and HAVING ask. (NULL is not.)
    pub fn is_true(&self) -> bool {
        matches!(self, Value::Boolean(true))
    }

    /// The boolean inside, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// An integer of any width, widened; an oid.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::Reg(value) => Some(value.number()),
            Value::SmallInt(value) => Some(value.into()),
            Value::Integer(value) => Some(value.into()),
            Value::BigInt(value) => Some(value),
            _ => None,
        }
    }

    /// The array inside, if it is one.
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The row inside, if it is one.
    pub fn as_composite(&self) -> Option<&Composite> {
        match self {
            Value::Composite(row) => Some(row),
            _ => None,
        }
    }

    /// About how many bytes of memory it takes beside itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Bytea(bytes) => bytes.len(),
            Value::Json(text) => text.len(),
            Value::Citext(text) => text.memory_bytes(),
            Value::Hstore(of) => of.memory_bytes(),
            Value::Jsonb(document) => document.as_bytes().len(),
            Value::Composite(row) => row.memory_bytes(),
            Value::Array(array) => array.memory_bytes(),
            _ => 0,
        }
    }

    /// The string inside, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Citext(text) => Some(text.as_str()),
            _ => None,
        }
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Value {
        Value::Array(Arc::new(array))
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident,)*) => {$(
        impl From<$source> for Value {
            fn from(value: $source) -> Value {
                Value::$variant(value.into())
            }
        }
    )*};
}
from! {
    bool => Boolean, i16 => SmallInt, i32 => Integer, i64 => BigInt, f32 => Real, f64 => Double,
    Numeric => Numeric, Jsonb => Jsonb, Interval => Interval, &str => Text, String => Text, Box<str> => Text,
    Vec<u8> => Bytea, &[u8] => Bytea,
}
