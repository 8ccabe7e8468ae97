//! Conversions of values between types. Which ones a statement may use is [`cast_context`](super::cast_context)'s
//! business; here every conversion that exists in any context is done.

use crate::error::Feature;
use crate::types::datetime::TimeTz;
use std::sync::Arc;

use super::datetime::{self, Zone, is_infinite, is_infinite_date};
use super::network::{mac_of_mac8, mac8_of_mac};
use super::text::{from_text, to_text};
use super::{
    Citext, Composite, CompositeType, DataType, EvalContext, Hstore, Interval, Json, Jsonb, Numeric, RegValue, Value,
    hstore_json,
};
use crate::{Error, Result, SqlState};

/// Converts a value as an explicit `CAST` does: strings are cut to `varchar(n)` and `char(n)`.
pub fn cast(value: &Value, from: DataType, to: DataType, context: &EvalContext) -> Result<Value> {
    convert(value, from, to, context, |text, to| Ok(fit_string_explicit(text, to)))
}

/// Converts a value as storing it in a column of type `to` does: too long a string is an error (22001).
pub fn cast_assign(value: &Value, from: DataType, to: DataType, context: &EvalContext) -> Result<Value> {
    convert(value, from, to, context, fit_string_assigned)
}

type FitString = fn(&str, DataType) -> Result<Box<str>>;

fn convert(value: &Value, from: DataType, to: DataType, context: &EvalContext, fit: FitString) -> Result<Value> {
    match (value, to) {
        (Value::Null, _) => Ok(Value::Null),
        (_, DataType::Unknown) => Ok(value.clone()),
        (Value::Array(array), DataType::Array(element)) => {
            let (from, to) = (array.element(), element.data_type());
            Ok(array.map(to, |value| convert(value, from, to, context, fit))?.of_type(element).into())
        }
        (Value::Composite(row), DataType::Composite(to)) => convert_row(row, to, context, fit),
        (Value::Citext(text), DataType::Citext(of)) if text.of() == of => Ok(value.clone()),
        (Value::Citext(text), _) => convert(&Value::text(text.as_str()), DataType::Text, to, context, fit),
        (_, DataType::Citext(of)) => {
            let text = convert(value, from, DataType::Text, context, fit)?;
            Ok(Value::Citext(Citext::new(of, text.as_str().unwrap_or_default())))
        }
        (Value::Hstore(value), DataType::Hstore(of)) if value.of() != of => {
            Hstore::new(of, value.pairs().collect()).map(Value::Hstore)
        }
        (Value::Hstore(_), DataType::Hstore(_)) => Ok(value.clone()),
        (Value::Hstore(of), DataType::Json | DataType::Jsonb) => from_text(&hstore_json(of, false), to, context),
        (Value::Array(array), DataType::Hstore(of)) => Hstore::of_array(of, array).map(Value::Hstore),
        (Value::Inet(value) | Value::Cidr(value), _) if to.is_string() => Ok(Value::Text(fit(&value.to_whole(), to)?)),
        (Value::Text(text), _) if to.is_string() => match from {
            // Blanks of `char(n)` are padding: other strings do not get them.
            DataType::Char(_) if !matches!(to, DataType::Char(_)) => Ok(Value::Text(fit(unpadded(text), to)?)),
            _ => Ok(Value::Text(fit(text, to)?)),
        },
        (Value::Text(text), DataType::Integer) if from == DataType::InternalChar => {
            Ok(Value::Integer(text.bytes().next().unwrap_or(0).into()))
        }
        (Value::Text(text), _) => from_text(text, to, context),
        (Value::Integer(code), DataType::InternalChar) => char_of_code(*code).map(Value::text),
        (Value::Boolean(value), _) if to.is_string() => {
            Ok(Value::Text(fit(if *value { "true" } else { "false" }, to)?))
        }
        (_, _) if to.is_string() => Ok(Value::Text(fit(&to_text(value, context), to)?)),
        (Value::Json(_), DataType::Json) | (Value::JsonPath(_), DataType::JsonPath) => Ok(value.clone()),
        (Value::Json(text), DataType::Jsonb) => from_text(text, to, context),
        (Value::Jsonb(document), _) => from_document(document, to),
        _ => between(value, from, to, context),
    }
}

/// A row as one of another type: its attributes in turn. What is any `record` it is already.
fn convert_row(row: &Arc<Composite>, to: CompositeType, context: &EvalContext, fit: FitString) -> Result<Value> {
    if row.of() == to || to.is_record() {
        return Ok(Value::Composite(row.clone()));
    }
    let (values, attributes) = (row.values(), to.attributes());
    // The same type, should it have been altered meanwhile.
    let altered = row.of().definition().named.is_some();
    if !altered && values.len() != attributes.len() {
        let what = if values.len() < attributes.len() { "few" } else { "many" };
        let error = cannot_cast(row.data_type(), DataType::Composite(to));
        return Err(error.with_detail(format!("Input has too {what} columns.")));
    }
    let value_of = |nth: usize, number: u32| match altered {
        true => row.of().attributes().iter().position(|attribute| attribute.number == number),
        false => Some(nth),
    };
    let mut converted = Vec::with_capacity(attributes.len());
    for (nth, attribute) in attributes.iter().enumerate() {
        let Some(at) = value_of(nth, attribute.number) else {
            converted.push(Value::Null);
            continue;
        };
        let from = row.of().attributes()[at].data_type;
        converted.push(convert(&values[at], from, attribute.data_type, context, fit)?);
    }
    Ok(Composite::new(to, converted).into())
}

/// `jsonb` as what is in it.
fn from_document(document: &Jsonb, to: DataType) -> Result<Value> {
    use DataType as T;
    let refuse = |kind: &str| {
        let message = format!("cannot cast jsonb {kind} to type {}", to.type_name());
        Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
    };
    match (document.root().read()?, to) {
        (_, T::Jsonb) => Ok(Value::Jsonb(document.clone())),
        (_, T::Json) => Ok(Value::Json(document.to_string().into())),
        (Json::Boolean(value), T::Boolean) => Ok(Value::Boolean(value)),
        (Json::Number(value), to) if to.is_numeric() => {
            between(&Value::Numeric(value), T::Numeric(None), to, &EvalContext::default())
        }
        (Json::Null, _) => refuse("null"),
        (Json::Boolean(_), _) => refuse("boolean"),
        (Json::Number(_), _) => refuse("numeric"),
        (Json::String(_), _) => refuse("string"),
        (Json::Array(_), _) => refuse("array"),
        (Json::Object(_), _) => refuse("object"),
    }
}

fn unpadded(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// Conversions that do not go through text.
fn between(value: &Value, from: DataType, to: DataType, context: &EvalContext) -> Result<Value> {
    use DataType as T;
    match (value, to) {
        (_, T::SmallInt | T::Integer | T::BigInt | T::Oid | T::Reg(_)) => to_integer(value, from, to),
        (_, T::Real) => Ok(Value::Real(narrow_float(to_float(value, from, to)?, value)?)),
        (_, T::Double) => Ok(Value::Double(to_float(value, from, to)?)),
        (_, T::Numeric(modifiers)) => {
            let value = to_numeric(value).ok_or_else(|| cannot_cast(from, to))?;
            Ok(Value::Numeric(match modifiers {
                Some((precision, scale)) => value.fit(precision, scale)?,
                None => value,
            }))
        }
        // The same label, should the type have been altered meanwhile.
        (Value::Enum(value), T::Enum(of)) if value.data_type().oid() == to.oid() => {
            of.parse(value.label()).map(Value::Enum)
        }
        (Value::Boolean(_), T::Boolean) | (Value::Bytea(_), T::Bytea) | (Value::Uuid(_), T::Uuid) => Ok(value.clone()),
        (Value::Integer(value), T::Boolean) => Ok(Value::Boolean(*value != 0)),
        (Value::Inet(value) | Value::Cidr(value), T::Inet) => Ok(Value::Inet(*value)),
        (Value::Inet(value) | Value::Cidr(value), T::Cidr) => Ok(Value::Cidr(value.network())),
        (Value::Macaddr(_), T::Macaddr) | (Value::Macaddr8(_), T::Macaddr8) => Ok(value.clone()),
        (Value::Macaddr(six), T::Macaddr8) => Ok(Value::Macaddr8(mac8_of_mac(*six))),
        (Value::Macaddr8(eight), T::Macaddr) => mac_of_mac8(*eight).map(Value::Macaddr),
        _ => between_times(value, to, context).unwrap_or_else(|| Err(cannot_cast(from, to))),
    }
}

fn cannot_cast(from: DataType, to: DataType) -> Error {
    let message = format!("cannot cast type {} to {}", from.type_name(), to.type_name());
    Error::new(SqlState::CANNOT_COERCE, message)
}

fn to_integer(value: &Value, from: DataType, to: DataType) -> Result<Value> {
    let out_of_range = || out_of_range(to.type_name());
    let wide = match value {
        Value::Boolean(value) if to == DataType::Integer => i64::from(*value),
        Value::Real(value) => float_to_i64((*value).into()).ok_or_else(out_of_range)?,
        Value::Double(value) => float_to_i64(*value).ok_or_else(out_of_range)?,
        Value::Numeric(value) if value.is_nan() => return Err(cannot_convert("NaN", to)),
        Value::Numeric(value) if !value.is_finite() => return Err(cannot_convert("infinity", to)),
        Value::Numeric(value) => value.to_i64().ok_or_else(out_of_range)?,
        other => other.as_i64().ok_or_else(|| cannot_cast(from, to))?,
    };
    Ok(match to {
        DataType::Oid => Value::BigInt(to_oid(wide, from)?),
        DataType::Reg(of) => Value::Reg(RegValue::of_number(of, to_oid(wide, from)?)),
        // An oid's bits are an integer's.
        DataType::Integer if from == DataType::Oid || from.is_reg() => Value::Integer((wide as u32).cast_signed()),
        DataType::SmallInt => Value::SmallInt(i16::try_from(wide).map_err(|_| out_of_range())?),
        DataType::Integer => Value::Integer(i32::try_from(wide).map_err(|_| out_of_range())?),
        _ => Value::BigInt(wide),
    })
}

/// An integer's bits are an oid's; of more of them only what fits. SQLSTATE 22003.
fn to_oid(wide: i64, from: DataType) -> Result<i64> {
    match from {
        DataType::BigInt => match u32::try_from(wide) {
            Ok(oid) => Ok(oid.into()),
            Err(_) => Err(out_of_range("OID")),
        },
        _ => Ok((wide as u32).into()),
    }
}

/// The `"char"` of a byte's number. SQLSTATE 22003; 0A000: it is none of ASCII.
fn char_of_code(code: i32) -> Result<String> {
    match code {
        0 => Ok(String::new()),
        1..=127 => Ok(char::from(code as u8).to_string()),
        -128..=-1 => Err(Error::lacking(Feature::OtherCharacters, "a \"char\" that is no character of ASCII")),
        _ => Err(out_of_range("\"char\"")),
    }
}

/// SQLSTATE 22003: `integer out of range`.
pub(crate) fn out_of_range(type_name: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
}

fn cannot_convert(what: &str, to: DataType) -> Error {
    let message = format!("cannot convert {what} to {}", to.type_name());
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// Rounds half to even, as C's `rint`.
fn float_to_i64(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let rounded = value.round_ties_even();
    (-LIMIT..LIMIT).contains(&rounded).then_some(rounded as i64)
}

fn to_float(value: &Value, from: DataType, to: DataType) -> Result<f64> {
    match value {
        Value::Real(value) => Ok((*value).into()),
        Value::Double(value) => Ok(*value),
        Value::Numeric(value) => {
            let float = value.to_f64();
            if value.is_finite() && float.is_infinite() {
                let message = format!("\"{value}\" is out of range for type {}", to.type_name());
                return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
            }
            Ok(float)
        }
        other => other.as_i64().map(|value| value as f64).ok_or_else(|| cannot_cast(from, to)),
    }
}

fn narrow_float(wide: f64, source: &Value) -> Result<f32> {
    let narrow = match source {
        // Straight from the integer: through f64 it could round twice.
        Value::BigInt(value) => *value as f32,
        _ => wide as f32,
    };
    let failed = match (narrow.is_infinite() && wide.is_finite(), narrow == 0.0 && wide != 0.0) {
        (true, _) => "overflow",
        (_, true) => "underflow",
        _ => return Ok(narrow),
    };
    if let Value::Numeric(value) = source {
        let message = format!("\"{value}\" is out of range for type real");
        return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("value out of range: {failed}")))
}

fn to_numeric(value: &Value) -> Option<Numeric> {
    match value {
        Value::Numeric(value) => Some(value.clone()),
        Value::Real(value) => Some(Numeric::from_f32(*value)),
        Value::Double(value) => Some(Numeric::from_f64(*value)),
        other => other.as_i64().map(Numeric::from),
    }
}

/// `None`: there is no such conversion.
fn between_times(value: &Value, to: DataType, context: &EvalContext) -> Option<Result<Value>> {
    use DataType as T;
    let zone = || Zone::of(context);
    let converted = match (value, to) {
        (Value::Date(_), T::Date) | (Value::Time(_), T::Time(_)) | (Value::Timestamp(_), T::Timestamp(_)) => {
            Ok(value.clone())
        }
        (Value::TimestampTz(_), T::TimestampTz(_)) | (Value::Interval(_), T::Interval(_)) => Ok(value.clone()),
        (Value::Date(days), T::Timestamp(_)) => date_to_timestamp(*days).map(Value::Timestamp),
        (Value::Date(days), T::TimestampTz(_)) => {
            date_to_timestamp(*days).and_then(|local| to_utc(local, &zone())).map(Value::TimestampTz)
        }
        (Value::Timestamp(micros), T::TimestampTz(_)) => to_utc(*micros, &zone()).map(Value::TimestampTz),
        (Value::TimestampTz(micros), T::Timestamp(_)) => Ok(Value::Timestamp(zone().to_local(*micros))),
        (Value::Timestamp(micros), T::Date) => Ok(Value::Date(timestamp_to_date(*micros))),
        (Value::TimestampTz(micros), T::Date) => Ok(Value::Date(timestamp_to_date(zone().to_local(*micros)))),
        (Value::Timestamp(micros), T::Time(_)) => Ok(timestamp_to_time(*micros)),
        (Value::TimestampTz(micros), T::Time(_)) => Ok(timestamp_to_time(zone().to_local(*micros))),
        (Value::Time(micros), T::Interval(_)) => {
            Ok(Value::Interval(Interval { micros: *micros, ..Interval::default() }))
        }
        (Value::TimeTz(_), T::TimeTz(_)) => Ok(value.clone()),
        (Value::TimeTz(packed), T::Time(_)) => Ok(Value::Time(TimeTz::of_packed(*packed).micros())),
        (Value::Time(micros), T::TimeTz(_)) => {
            let today = datetime::timestamp_of(datetime::today(context), *micros).unwrap_or(*micros);
            TimeTz::local(*micros, zone().offset_for_local(today)).map(|time| Value::TimeTz(time.packed()))
        }
        (Value::TimestampTz(micros), T::TimeTz(_)) if is_infinite(*micros) => Ok(Value::Null),
        (Value::TimestampTz(micros), T::TimeTz(_)) => {
            let time = datetime::split_timestamp(zone().to_local(*micros)).1;
            TimeTz::local(time, zone().offset_at(*micros)).map(|time| Value::TimeTz(time.packed()))
        }
        (Value::Interval(interval), T::Time(_)) => Ok(Value::Time(datetime::wrap_time(interval.micros))),
        _ => return None,
    };
    Some(converted.map(|value| fit_time(value, to)))
}

/// As many digits and fields as the type keeps.
fn fit_time(value: Value, to: DataType) -> Value {
    use DataType as T;
    match (value, to) {
        (Value::Time(micros), T::Time(digits)) => Value::Time(datetime::round_time(micros, digits)),
        (Value::TimeTz(packed), T::TimeTz(digits)) => Value::TimeTz(TimeTz::of_packed(packed).rounded(digits).packed()),
        (Value::Timestamp(micros), T::Timestamp(digits)) => Value::Timestamp(datetime::round_timestamp(micros, digits)),
        (Value::TimestampTz(micros), T::TimestampTz(digits)) => {
            Value::TimestampTz(datetime::round_timestamp(micros, digits))
        }
        (Value::Interval(interval), T::Interval(Some(limit))) => Value::Interval(limit.fit(interval)),
        (value, _) => value,
    }
}

/// A date's midnight.
pub(crate) fn date_to_timestamp(days: i32) -> Result<i64> {
    if is_infinite_date(days) {
        return Ok(if days > 0 { i64::MAX } else { i64::MIN });
    }
    datetime::timestamp_of(days.into(), 0)
        .ok_or_else(|| Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp"))
}

/// The instant of a local time.
pub(crate) fn to_utc(local: i64, zone: &Zone) -> Result<i64> {
    zone.to_utc(local).ok_or_else(|| Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))
}

/// The day of a timestamp.
pub(crate) fn timestamp_to_date(micros: i64) -> i32 {
    match micros {
        i64::MAX => i32::MAX,
        i64::MIN => i32::MIN,
        _ => datetime::split_timestamp(micros).0 as i32,
    }
}

fn timestamp_to_time(micros: i64) -> Value {
    if is_infinite(micros) { Value::Null } else { Value::Time(datetime::split_timestamp(micros).1) }
}

/// Cuts a string to its type's length; `char(n)` is filled with blanks.
fn fit_string_explicit(text: &str, to: DataType) -> Box<str> {
    if to == DataType::Name {
        return name_of(text).into();
    }
    let Some(limit) = length_limit(to) else { return text.into() };
    let (kept, rest) = split_chars(text, limit);
    if rest.is_empty() { padded(kept, to) } else { kept.into() }
}

/// As [`fit_string_explicit`], but only blanks may be cut.
pub(super) fn fit_string_assigned(text: &str, to: DataType) -> Result<Box<str>> {
    if to == DataType::Name {
        return Ok(name_of(text).into());
    }
    let Some(limit) = length_limit(to) else { return Ok(text.into()) };
    let (kept, rest) = split_chars(text, limit);
    if !unpadded(rest).is_empty() {
        let message = format!("value too long for type {to}");
        return Err(Error::new(SqlState::STRING_DATA_RIGHT_TRUNCATION, message));
    }
    Ok(padded(kept, to))
}

/// Bytes of a `name`.
pub(crate) const NAME_BYTES_MAX: usize = 63;

/// As many whole characters as a `name` has room for.
pub(crate) fn name_of(text: &str) -> &str {
    let whole = |at: &usize| text.is_char_boundary(*at);
    &text[..(0..=NAME_BYTES_MAX.min(text.len())).rev().find(whole).unwrap_or(0)]
}

fn length_limit(data_type: DataType) -> Option<usize> {
    match data_type {
        DataType::Varchar(Some(length)) => Some(length as usize),
        DataType::Char(length @ 1..) => Some(length as usize),
        _ => None,
    }
}

/// The first `limit` characters, and the rest.
fn split_chars(text: &str, limit: usize) -> (&str, &str) {
    if text.len() <= limit {
        return (text, "");
    }
    let at = text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}

fn padded(text: &str, to: DataType) -> Box<str> {
    let DataType::Char(length) = to else { return text.into() };
    let missing = (length as usize).saturating_sub(text.chars().count());
    let mut padded = String::with_capacity(text.len() + missing);
    padded.push_str(text);
    padded.extend(std::iter::repeat_n(' ', missing));
    padded.into()
}
