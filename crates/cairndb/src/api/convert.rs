//! From SQL values to Rust values.

use crate::types::{Interval, Jsonb, Numeric};
use crate::{Error, Result, SqlState, Value};

/// A Rust type that a column's value can be read as. Integers widen and narrow where the value fits; `String` takes
/// the text form of any type but BYTEA; everything else asks for its own SQL type. NULL needs `Option<T>`.
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

fn integer<T: TryFrom<i64>>(value: &Value) -> Result<T> {
    let wide = match value {
        Value::SmallInt(v) => i64::from(*v),
        Value::Integer(v) => i64::from(*v),
        Value::BigInt(v) => *v,
        other => return Err(mismatch::<T>(other)),
    };
    T::try_from(wide).map_err(|_| {
        Error::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value {wide} is out of range for {}", std::any::type_name::<T>()),
        )
    })
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
integers!(i8, i16, i32, i64, u8, u16, u32, u64, usize);

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
    f32 => Real,
    Numeric => Numeric,
    Vec<u8> => Bytea,
    Interval => Interval,
    [u8; 16] => Uuid,
    Jsonb => Jsonb,
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Result<Self> {
        match value {
            Value::Double(v) => Ok(*v),
            Value::Real(v) => Ok(f64::from(*v)),
            other => Err(mismatch::<Self>(other)),
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Result<Self> {
        match value {
            Value::Text(v) | Value::Json(v) => Ok(v.to_string()),
            Value::Jsonb(document) => Ok(document.to_string()),
            Value::Enum(value) => Ok(value.label().to_owned()),
            other => Err(mismatch::<Self>(other)),
        }
    }
}

impl FromValue for Box<str> {
    fn from_value(value: &Value) -> Result<Self> {
        String::from_value(value).map(String::into_boxed_str)
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
