//! From SQL values to Rust values.

use std::borrow::Cow;
use std::sync::Arc;

use crate::types::{EvalContext, Interval, Jsonb, Numeric, to_text};
use crate::{Error, Result, SqlState, Value};

/// A Rust type that a column's value can be read as. NULL needs `Option<T>`.
///
/// | Rust | SQL |
/// |---|---|
/// | `i8` to `i128`, `u8` to `u64`, `isize`, `usize` | SMALLINT, INTEGER, BIGINT, OID; NUMERIC without a fraction (what `sum` gives); where the value fits; the oids of REGCLASS and its kin within arrays |
/// | `f64` | DOUBLE PRECISION, REAL; NUMERIC as the nearest (what `avg` gives) |
/// | `f32` | REAL; NUMERIC as the nearest |
/// | `bool`, [`Numeric`], [`Interval`], [`Jsonb`] | their own |
/// | `String`, `Box<str>`, `Arc<str>`, `Cow<str>` | every type but BYTEA, as text, dates and times as in UTC and ISO's style; the names of REGCLASS and its kin, but not within arrays and rows |
/// | `char` | text of one character |
/// | `Vec<u8>` | BYTEA |
/// | `[u8; 16]` | UUID |
/// | `Vec<T>`, `[T; N]` | arrays |
/// | `SystemTime` | TIMESTAMPTZ |
/// | [`Value`] | every type |
///
/// With the crate's features of the same names also the types of `chrono`, `jiff` and `time` (dates, times, timestamps),
/// `uuid::Uuid`, `serde_json::Value` (JSON, JSONB), `rust_decimal::Decimal` (NUMERIC) and `bytes::Bytes` (BYTEA). All of them
/// are parameters, too ([`ToValue`](crate::ToValue)).
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// use cairndb::{FromValue, Value};
///
/// struct Celsius(f64);
///
/// impl FromValue for Celsius {
///     fn from_value(value: &Value) -> cairndb::Result<Celsius> {
///         f64::from_value(value).map(Celsius)
///     }
/// }
///
/// let warm: Celsius = conn.query_row("SELECT 21.5::float8", (), |row| row.get(0))?;
/// assert_eq!(warm.0, 21.5);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub trait FromValue: Sized {
    /// Converts; SQLSTATE 42804 where the types do not fit, 22003 where the value does not.
    fn from_value(value: &Value) -> Result<Self>;
}

pub(super) fn mismatch<T>(value: &Value) -> Error {
    let wanted = std::any::type_name::<T>();
    let message = match value {
        Value::Null => format!("cannot read NULL as {wanted}"),
        _ => format!("cannot read {value:?} as {wanted}"),
    };
    let error = Error::new(SqlState::DATATYPE_MISMATCH, message);
    if matches!(value, Value::Null) { error.with_hint(format!("Read it as Option<{wanted}>.")) } else { error }
}

/// SQLSTATE 22003.
pub(super) fn out_of_range<T>(value: &dyn std::fmt::Display) -> Error {
    let message = format!("value {value} is out of range for {}", std::any::type_name::<T>());
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

fn integer<T: TryFrom<i128>>(value: &Value) -> Result<T> {
    let wide = match value {
        Value::SmallInt(v) => i128::from(*v),
        Value::Integer(v) => i128::from(*v),
        Value::BigInt(v) => i128::from(*v),
        Value::Reg(v) => i128::from(v.oid),
        Value::Numeric(v) if v.trunc(0) == *v => {
            v.trunc(0).to_big().and_then(|(whole, _)| i128::try_from(whole).ok()).ok_or_else(|| out_of_range::<T>(v))?
        }
        other => return Err(mismatch::<T>(other)),
    };
    T::try_from(wide).map_err(|_| out_of_range::<T>(&wide))
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Double(v) => Some(*v),
        Value::Real(v) => Some(f64::from(*v)),
        Value::Numeric(v) => Some(v.to_f64()),
        _ => None,
    }
}

macro_rules! integers {
    ($($rust:ty),*) => {$(
        impl FromValue for $rust {
            fn from_value(value: &Value) -> Result<Self> {
                integer(value)
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, usize);

macro_rules! exact {
    ($($rust:ty => $variant:ident,)*) => {$(
        impl FromValue for $rust {
            fn from_value(value: &Value) -> Result<Self> {
                match value {
                    Value::$variant(v) => Ok(v.clone().into()),
                    other => Err(mismatch::<Self>(other)),
                }
            }
        }
    )*};
}
exact! {
    bool => Boolean,
    Numeric => Numeric,
    Vec<u8> => Bytea,
    Interval => Interval,
    [u8; 16] => Uuid,
    Jsonb => Jsonb,
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Result<Self> {
        float(value).ok_or_else(|| mismatch::<Self>(value))
    }
}

impl FromValue for f32 {
    fn from_value(value: &Value) -> Result<Self> {
        match value {
            Value::Real(v) => Ok(*v),
            Value::Numeric(v) => Ok(v.to_f64() as f32),
            other => Err(mismatch::<Self>(other)),
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Result<Self> {
        match value {
            Value::Text(v) | Value::Json(v) => Ok(v.to_string()),
            Value::Citext(v) => Ok(v.as_str().to_owned()),
            Value::Null | Value::Bytea(_) => Err(mismatch::<Self>(value)),
            other => Ok(to_text(other, &EvalContext::default())),
        }
    }
}

macro_rules! texts {
    ($($rust:ty),*) => {$(
        impl FromValue for $rust {
            fn from_value(value: &Value) -> Result<Self> {
                String::from_value(value).map(Into::into)
            }
        }
    )*};
}
texts!(Box<str>, Arc<str>, Cow<'_, str>);

impl FromValue for char {
    fn from_value(value: &Value) -> Result<Self> {
        let Some(text) = value.as_str() else { return Err(mismatch::<Self>(value)) };
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(mismatch::<Self>(value)),
        }
    }
}

impl FromValue for Value {
    fn from_value(value: &Value) -> Result<Self> {
        Ok(value.clone())
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Result<Self> {
        if matches!(value, Value::Null) { Ok(None) } else { T::from_value(value).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_narrow_only_where_they_fit() {
        assert_eq!(i16::from_value(&Value::BigInt(300)).unwrap(), 300);
        let error = i8::from_value(&Value::Integer(300)).unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    }

    #[test]
    fn null_needs_an_option() {
        assert_eq!(Option::<i32>::from_value(&Value::Null).unwrap(), None);
        assert_eq!(i32::from_value(&Value::Null).unwrap_err().sqlstate(), SqlState::DATATYPE_MISMATCH);
    }
}
