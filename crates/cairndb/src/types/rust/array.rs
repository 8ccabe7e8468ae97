//! Rust's lists as arrays: parameters of type `Vec<T>` and `[T]`, and arrays read as `Vec<T>`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use super::{FromValue, ToValue};
use crate::types::{Array, DataType, Interval, Jsonb, Made, MakeValue, Numeric, ValueRef};
use crate::{Error, Result, SqlState, Value};

/// A Rust type whose lists are arrays: `Vec<T>` is a parameter, and what an array is read as. (`u8` is none: `Vec<u8>` is
/// BYTEA.) For NULLs among the elements, `Vec<Option<T>>`.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let directory = tempfile::tempdir().expect("a directory");
/// # let path = directory.path().join("orders.cairn");
/// let database = cairndb::Database::open(&path)?;
/// let connection = database.connect()?;
/// connection.execute("CREATE TABLE orders (id int PRIMARY KEY, tags text[])", ())?;
/// connection.execute("INSERT INTO orders VALUES ($1, $2)", (1, vec!["new", "paid"]))?;
/// let select = "SELECT tags FROM orders WHERE id = ANY ($1)";
/// let tags: Vec<String> = connection.query_row(select, (vec![1, 2],), |row| row.get(0))?;
/// assert_eq!(tags, ["new", "paid"]);
/// # Ok(())
/// # }
/// ```
pub trait ArrayElement: ToValue + Send + Sync {
    /// The elements' type.
    const TYPE: DataType;
}

macro_rules! elements {
    ($($rust:ty => $data_type:expr,)*) => {$(
        impl ArrayElement for $rust {
            const TYPE: DataType = $data_type;
        }
    )*};
}
elements! {
    bool => DataType::Boolean,
    i16 => DataType::SmallInt,
    i32 => DataType::Integer,
    i64 => DataType::BigInt,
    u16 => DataType::Integer,
    u32 => DataType::BigInt,
    f32 => DataType::Real,
    f64 => DataType::Double,
    Numeric => DataType::Numeric(None),
    String => DataType::Text,
    &str => DataType::Text,
    Vec<u8> => DataType::Bytea,
    &[u8] => DataType::Bytea,
    Interval => DataType::INTERVAL,
    [u8; 16] => DataType::Uuid,
    i8 => DataType::SmallInt,
    isize => DataType::BigInt,
    u64 => DataType::Numeric(None),
    usize => DataType::Numeric(None),
    i128 => DataType::Numeric(None),
    char => DataType::Text,
    Box<str> => DataType::Text,
    Arc<str> => DataType::Text,
    Cow<'_, str> => DataType::Text,
    Jsonb => DataType::Jsonb,
    SystemTime => DataType::TIMESTAMPTZ,
}
#[cfg(feature = "chrono")]
elements! {
    chrono::NaiveDate => DataType::Date,
    chrono::NaiveTime => DataType::TIME,
    chrono::NaiveDateTime => DataType::TIMESTAMP,
    chrono::DateTime<chrono::Utc> => DataType::TIMESTAMPTZ,
    chrono::DateTime<chrono::Local> => DataType::TIMESTAMPTZ,
    chrono::DateTime<chrono::FixedOffset> => DataType::TIMESTAMPTZ,
}
#[cfg(feature = "jiff")]
elements! {
    jiff::civil::Date => DataType::Date,
    jiff::civil::Time => DataType::TIME,
    jiff::civil::DateTime => DataType::TIMESTAMP,
    jiff::Timestamp => DataType::TIMESTAMPTZ,
    jiff::Zoned => DataType::TIMESTAMPTZ,
}
#[cfg(feature = "time")]
elements! {
    time::Date => DataType::Date,
    time::Time => DataType::TIME,
    time::PrimitiveDateTime => DataType::TIMESTAMP,
    time::OffsetDateTime => DataType::TIMESTAMPTZ,
}
#[cfg(feature = "uuid")]
elements! {
    uuid::Uuid => DataType::Uuid,
}
#[cfg(feature = "serde_json")]
elements! {
    serde_json::Value => DataType::Json,
}
#[cfg(feature = "rust_decimal")]
elements! {
    rust_decimal::Decimal => DataType::Numeric(None),
}
#[cfg(feature = "bytes")]
elements! {
    bytes::Bytes => DataType::Bytea,
}

impl<T: ArrayElement> ArrayElement for Option<T> {
    const TYPE: DataType = T::TYPE;
}

impl<T: ArrayElement> MakeValue for Vec<T> {
    fn make_value(&self) -> Value {
        array_of(self)
    }
}

impl<T: ArrayElement> MakeValue for &[T] {
    fn make_value(&self) -> Value {
        array_of(self)
    }
}

impl<T: ArrayElement, const N: usize> MakeValue for [T; N] {
    fn make_value(&self) -> Value {
        array_of(self)
    }
}

impl MakeValue for Array {
    fn make_value(&self) -> Value {
        self.clone().into()
    }
}

fn array_of<T: ArrayElement>(items: &[T]) -> Value {
    let value = |item: &T| match item.to_value().to_value() {
        // One of those that may be too wide for BIGINT, and is not.
        Value::BigInt(number) if T::TYPE == DataType::Numeric(None) => {
            Value::Numeric(Numeric::from_i128(number.into(), 0))
        }
        value => value,
    };
    Array::new(T::TYPE, items.iter().map(value).collect()).into()
}

impl<T: ArrayElement, const N: usize> ToValue for [T; N] {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Made(Made(self))
    }
}

impl<T: ArrayElement + FromValue, const N: usize> FromValue for [T; N] {
    fn from_value(value: &Value) -> Result<[T; N]> {
        <[T; N]>::try_from(Vec::from_value(value)?).map_err(|items| {
            let message = format!("cannot read {} elements as an array of {N}", items.len());
            Error::new(SqlState::DATATYPE_MISMATCH, message)
        })
    }
}

impl<T: ArrayElement> ToValue for Vec<T> {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Made(Made(self))
    }
}

impl<T: ArrayElement> ToValue for &[T] {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Made(Made(self))
    }
}

impl ToValue for Array {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Made(Made(self))
    }
}

impl<T: ArrayElement + FromValue> FromValue for Vec<T> {
    fn from_value(value: &Value) -> Result<Vec<T>> {
        match value {
            Value::Array(array) if array.dimensions().len() <= 1 => array.values().iter().map(T::from_value).collect(),
            Value::Array(array) => {
                let message = format!("cannot read an array of {} dimensions as a list", array.dimensions().len());
                Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_hint("Read it as cairndb::Array."))
            }
            other => Err(super::convert::mismatch::<Vec<T>>(other)),
        }
    }
}

impl FromValue for Array {
    fn from_value(value: &Value) -> Result<Array> {
        value.as_array().cloned().ok_or_else(|| super::convert::mismatch::<Array>(value))
    }
}
