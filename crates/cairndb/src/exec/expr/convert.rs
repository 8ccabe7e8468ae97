//! Casts over vectors.

use super::native::{Native, is_null_constant};
use crate::columns::{ByteStrings, Data, Decimals, Operand, Representation, Vector};
use crate::exec::context::Cx;
use crate::functions;
use crate::types::{DataType, TypeCategory, from_text, plain_integer};
use crate::{Error, Result, Value};

/// How to convert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// Same values, same representation.
    Relabel,
    /// A kernel that cannot fail.
    Widen,
    /// The padding of `char(n)` goes.
    Unpad,
    /// Value by value.
    Each,
}

/// The cheapest way to convert values of one type to another.
pub(super) fn conversion(from: DataType, to: DataType) -> Conversion {
    use DataType::*;
    match (from, to) {
        _ if from == to => Conversion::Relabel,
        (Char(_), Text | Varchar(None)) => Conversion::Unpad,
        (Text | Varchar(_) | Name, Text | Varchar(None)) | (Text | Varchar(_), Char(0)) => Conversion::Relabel,
        (InternalChar, Text) | (Numeric(_), Numeric(None)) => Conversion::Relabel,
        (Time(_), Time(None)) | (TimeTz(_), TimeTz(None)) | (Timestamp(_), Timestamp(None)) => Conversion::Relabel,
        (TimestampTz(_), TimestampTz(None)) | (Interval(_), Interval(None)) => Conversion::Relabel,
        (SmallInt, Integer | BigInt | Double) | (Integer, BigInt | Double) | (Real, Double) => Conversion::Widen,
        (SmallInt | Integer | BigInt, Numeric(None)) => Conversion::Widen,
        _ => Conversion::Each,
    }
}

/// The same values under another type's name.
pub(super) fn relabel(input: Operand, to: DataType) -> Operand {
    match input {
        Operand::Vector(vector) if vector.data_type() == to => Operand::Vector(vector),
        Operand::Vector(vector) if vector.data_type().physical() == to.physical() => {
            Vector::clone(&vector).with_type(to).into()
        }
        other => other,
    }
}

/// Conversions that [`conversion`] calls `Widen`.
pub(super) fn widen(input: Operand, to: DataType) -> Result<Operand> {
    let (vector, constant) = match input {
        Operand::Constant(Value::Null) => return Ok(input),
        Operand::Constant(value) => (widen_constant(&value)?, true),
        Operand::Vector(vector) => (vector, false),
    };
    let data = match (vector.data(), to.physical()) {
        (Data::I16(values), Representation::I32) => map(values, i32::from),
        (Data::I16(values), Representation::I64) => map(values, i64::from),
        (Data::I16(values), Representation::F64) => map(values, f64::from),
        (Data::I32(values), Representation::I64) => map(values, i64::from),
        (Data::I32(values), Representation::F64) => map(values, f64::from),
        (Data::F32(values), Representation::F64) => map(values, f64::from),
        (Data::I16(values), Representation::Decimal) => decimals(values),
        (Data::I32(values), Representation::Decimal) => decimals(values),
        (Data::I64(values), Representation::Decimal) => decimals(values),
        _ => return Err(Error::internal(format!("no widening from {} to {to}", vector.data_type()))),
    };
    let result = Vector::from_parts(to, data, vector.validity().cloned());
    Ok(if constant { Operand::Constant(result.value(0)) } else { result.into() })
}

fn widen_constant(value: &Value) -> Result<std::sync::Arc<Vector>> {
    let data_type = match value {
        Value::SmallInt(_) => DataType::SmallInt,
        Value::Integer(_) => DataType::Integer,
        Value::BigInt(_) => DataType::BigInt,
        Value::Real(_) => DataType::Real,
        _ => return Err(Error::internal(format!("no widening of {value:?}"))),
    };
    Vector::from_values(data_type, std::slice::from_ref(value)).map(std::sync::Arc::new)
}

fn decimals<T: Copy + Into<i64>>(values: &[T]) -> Data {
    Data::Decimal(Decimals::of_scale(values.iter().map(|&value| value.into()).collect(), 0))
}

fn map<T: Copy, R: Native>(values: &[T], convert: impl Fn(T) -> R) -> Data {
    R::wrap(values.iter().map(|&value| convert(value)).collect())
}

/// Strings without the blanks at their ends.
pub(super) fn unpad(input: Operand, to: DataType, len: usize) -> Result<Operand> {
    map_strings(input, to, len, |string| {
        let kept = string.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
        &string[..kept]
    })
}

/// A part of each string, which must not begin or end inside a character.
pub(super) fn map_strings(input: Operand, to: DataType, len: usize, part: impl Fn(&[u8]) -> &[u8]) -> Result<Operand> {
    if is_null_constant(&input) {
        return Ok(input);
    }
    let constant = matches!(input, Operand::Constant(_));
    let input = input.into_vector(DataType::Text, if constant { 1 } else { len })?;
    let Data::Bytes(strings) = input.data() else { return Err(Error::internal("a text of another kind")) };
    let mut parts = ByteStrings::with_capacity(strings.len());
    parts.extend((0..strings.len()).map(|row| part(strings.get(row))), strings.memory_bytes());
    let result = Vector::from_parts(to, Data::Bytes(parts), input.validity().cloned());
    Ok(if constant { Operand::Constant(result.value(0)) } else { result.into() })
}

/// Any conversion, value by value.
pub(super) fn cast(input: Operand, from: DataType, to: DataType, len: usize, cx: Cx<'_>) -> Result<Operand> {
    let convert = |value: &Value| match value {
        Value::Null => Ok(Value::Null),
        value => functions::cast(value, from, to, &cx.context().eval),
    };
    match input {
        Operand::Constant(value) => Ok(Operand::Constant(convert(&value)?)),
        Operand::Vector(vector) => {
            if from.is_string()
                && let Some(data) = plain_integers(&vector, to, len)
            {
                return Ok(Vector::from_parts(to, data, vector.validity().cloned()).into());
            }
            let mut result = Vector::with_capacity(to, len);
            // What is written as text is read where it lies.
            let written = match vector.data() {
                Data::Bytes(strings) if from.is_string() && to.category() != TypeCategory::String => Some(strings),
                _ => None,
            };
            for row in 0..len {
                let text = written.filter(|_| !vector.is_null(row)).and_then(|strings| strings.text(row));
                result.push(&match text {
                    Some(text) => from_text(text, to, &cx.context().eval)?,
                    None => convert(&vector.value(row))?,
                })?;
            }
            Ok(result.into())
        }
    }
}

/// What strings are as integers; `None`: some have more than their digits, or do not fit, or it is another type.
fn plain_integers(vector: &Vector, to: DataType, len: usize) -> Option<Data> {
    match to {
        DataType::SmallInt => plain_integers_of::<i16>(vector, len),
        DataType::Integer => plain_integers_of::<i32>(vector, len),
        DataType::BigInt => plain_integers_of::<i64>(vector, len),
        _ => None,
    }
}

fn plain_integers_of<T: Native + TryFrom<i64>>(vector: &Vector, len: usize) -> Option<Data> {
    let Data::Bytes(strings) = vector.data() else { return None };
    let read = |row| match vector.is_null(row) {
        true => Some(T::default()),
        false => T::try_from(plain_integer(strings.get(row))?).ok(),
    };
    (0..len).map(read).collect::<Option<Vec<T>>>().map(T::wrap)
}
