//! Text to values, with PostgreSQL's errors.

use super::float::{parse_double, parse_real};
use crate::error::Feature;
use crate::types::array::parse_array;
use crate::types::cast::fit_string_assigned;
use crate::types::composite::parse_composite;
use crate::types::datetime::{round_time, round_timestamp};
use crate::types::json::{check_json, parse_jsonb};
use crate::types::{Array, Citext, DataType, EvalContext, JsonPath, Numeric, Value, datetime, hstore, network};
use crate::{Error, Result, SqlState};

/// Reads a value of `data_type` from its text form, as PostgreSQL's input functions do: a string too long for its
/// type is an error (22001), unless only blanks are too many.
///
/// ```
/// use cairndb::{DataType, EvalContext, Value, from_text};
///
/// let context = EvalContext::now();
/// assert_eq!(from_text(" 42 ", DataType::Integer, &context)?, Value::Integer(42));
/// assert_eq!(from_text("x", DataType::Integer, &context).unwrap_err().sqlstate().as_str(), "22P02");
/// # Ok::<(), cairndb::Error>(())
/// ```
pub fn from_text(text: &str, data_type: DataType, context: &EvalContext) -> Result<Value> {
    Ok(match data_type {
        DataType::Boolean => Value::Boolean(parse_bool(text)?),
        DataType::SmallInt => Value::SmallInt(parse_integer(text, "smallint")?),
        DataType::Integer => Value::Integer(parse_integer(text, "integer")?),
        DataType::BigInt => Value::BigInt(parse_integer(text, "bigint")?),
        DataType::Real => Value::Real(parse_real(text)?),
        DataType::Double => Value::Double(parse_double(text)?),
        DataType::Numeric(None) => Value::Numeric(Numeric::parse(text)?),
        DataType::Numeric(Some((precision, scale))) => Value::Numeric(Numeric::parse(text)?.fit(precision, scale)?),
        DataType::Oid => Value::BigInt(parse_oid(text)?),
        DataType::InternalChar => Value::text(internal_char(text)?),
        DataType::Text
        | DataType::Varchar(_)
        | DataType::Char(_)
        | DataType::Name
        | DataType::Void
        | DataType::RegName(_)
        | DataType::Unknown => Value::Text(fit_string_assigned(text, data_type)?),
        DataType::Bytea => Value::Bytea(parse_bytea(text)?.into()),
        DataType::Date => Value::Date(datetime::parse_date(text, context)?),
        DataType::Time(digits) => Value::Time(round_time(datetime::parse_time(text, context)?, digits)),
        DataType::TimeTz(digits) => Value::TimeTz(datetime::parse_timetz(text, context)?.rounded(digits).packed()),
        DataType::Timestamp(digits) => {
            Value::Timestamp(round_timestamp(datetime::parse_timestamp(text, context)?, digits))
        }
        DataType::TimestampTz(digits) => {
            Value::TimestampTz(round_timestamp(datetime::parse_timestamptz(text, context)?, digits))
        }
        DataType::Interval(limit) => Value::Interval(datetime::parse_interval(text, limit, context.style.interval)?),
        DataType::Uuid => Value::Uuid(parse_uuid(text)?),
        DataType::Inet => Value::Inet(network::parse_inet(text)?),
        DataType::Cidr => Value::Cidr(network::parse_cidr(text)?),
        DataType::Macaddr => Value::Macaddr(network::parse_mac(text)?),
        DataType::Macaddr8 => Value::Macaddr8(network::parse_mac8(text)?),
        DataType::Json => {
            check_json(text)?;
            Value::Json(text.into())
        }
        DataType::Jsonb => Value::Jsonb(parse_jsonb(text)?),
        DataType::JsonPath => Value::JsonPath(JsonPath::parse(text)?.into()),
        DataType::Citext(of) => Value::Citext(Citext::new(of, text)),
        DataType::Hstore(of) => Value::Hstore(hstore::read(text, of)?),
        DataType::Enum(of) => Value::Enum(of.parse(text)?),
        DataType::Reg(of) => Value::Reg(context.read_oid(of, text)?),
        DataType::Composite(of) => {
            parse_composite(text, of, &|text, data_type| from_text(text, data_type, context))?.into()
        }
        DataType::Array(element) if element.is_of_vector() => {
            let element = element.data_type();
            let values = text.split_ascii_whitespace().map(|text| from_text(text, element, context));
            Array::vector(element, values.collect::<Result<_>>()?).into()
        }
        DataType::Array(element) => {
            let element = element.data_type();
            parse_array(text, element, &|text| from_text(text, element, context))?.into()
        }
    })
}

pub(in crate::types) fn invalid(text: &str, type_name: &str) -> Error {
    let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
}

/// Reads `true`, `f`, `yes`, `off`, `1` and their like.
pub fn parse_bool(text: &str) -> Result<bool> {
    let word = text.trim_matches(|c: char| c.is_ascii_whitespace()).to_ascii_lowercase();
    let begins = |full: &str| !word.is_empty() && full.starts_with(word.as_str());
    match word.as_str() {
        "on" | "1" => Ok(true),
        "of" | "off" | "0" => Ok(false),
        _ if begins("true") || begins("yes") => Ok(true),
        _ if begins("false") || begins("no") => Ok(false),
        _ => Err(invalid(text, "boolean")),
    }
}

/// Reads an integer of the width of `T`, which PostgreSQL calls `type_name`.
pub fn parse_integer<T: TryFrom<i64>>(text: &str, type_name: &str) -> Result<T> {
    // Most have nothing around them.
    if let Some(value) = plain_integer(text.as_bytes()).and_then(|value| T::try_from(value).ok()) {
        return Ok(value);
    }
    let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid(text, type_name));
    }
    let value = trimmed.parse::<i64>().ok().and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| {
        let message = format!("value \"{text}\" is out of range for type {type_name}");
        Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
    })
}

/// Reads an `oid`; a negative number is the one of the same 32 bits.
fn parse_oid(text: &str) -> Result<i64> {
    match parse_integer::<i64>(text, "oid")? {
        oid if let Ok(oid) = u32::try_from(oid) => Ok(oid.into()),
        signed if let Ok(signed) = i32::try_from(signed) => Ok(signed.cast_unsigned().into()),
        _ => {
            let message = format!("value \"{text}\" is out of range for type oid");
            Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message))
        }
    }
}

/// What a text is as a `"char"`: its first character. SQLSTATE 0A000: that is none of ASCII, of which PostgreSQL would take a
/// byte.
pub(crate) fn internal_char(text: &str) -> Result<&str> {
    match text.as_bytes() {
        [] => Ok(""),
        // A byte in octal digits.
        [b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7'] => {
            Err(Error::lacking(Feature::OtherCharacters, "a \"char\" given as an octal number"))
        }
        [first, ..] if first.is_ascii() => Ok(&text[..1]),
        _ => Err(Error::lacking(Feature::OtherCharacters, "a \"char\" that is no character of ASCII")),
    }
}

/// The integer that a text is which consists of at most 18 digits, a minus before them or not; `None`: it is another text.
#[inline]
pub(crate) fn plain_integer(text: &[u8]) -> Option<i64> {
    let (digits, sign) = match text {
        [b'-', digits @ ..] => (digits, -1),
        digits => (digits, 1),
    };
    if !(1..=18).contains(&digits.len()) {
        return None;
    }
    let mut number = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(sign * number)
}

/// Reads `\x0aff`, or text with `\\` and `\ooo` escapes.
pub fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(hex) => parse_hex(hex),
        None => parse_escaped(text),
    }
}

/// Pairs of hexadecimal digits, white space between them ignored.
pub(crate) fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let refuse = |message: String| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut high = None;
    for c in text.chars() {
        match (c.to_digit(16), high) {
            (Some(digit), None) => high = Some(digit as u8),
            (Some(digit), Some(first)) => {
                bytes.push(first << 4 | digit as u8);
                high = None;
            }
            (None, None) if c.is_ascii_whitespace() => {}
            (None, _) => return refuse(format!("invalid hexadecimal digit: \"{c}\"")),
        }
    }
    if high.is_some() { refuse("invalid hexadecimal data: odd number of digits".to_string()) } else { Ok(bytes) }
}

pub(crate) fn parse_escaped(text: &str) -> Result<Vec<u8>> {
    let invalid = || Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        match rest {
            [b'\\', after @ ..] => {
                bytes.push(b'\\');
                rest = after;
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => return Err(invalid()),
        }
    }
    Ok(bytes)
}

/// Reads 32 hexadecimal digits, hyphens allowed after every fourth, braces around allowed.
pub fn parse_uuid(text: &str) -> Result<[u8; 16]> {
    let inner = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').ok_or_else(|| invalid(text, "uuid"))?,
        None => text,
    };
    let (mut bytes, mut digits) = ([0_u8; 16], 0_usize);
    let mut after_hyphen = false;
    for c in inner.chars() {
        match c.to_digit(16) {
            Some(digit) if digits < 32 => {
                bytes[digits / 2] = bytes[digits / 2] << 4 | digit as u8;
                digits += 1;
                after_hyphen = false;
            }
            None if c == '-' && digits % 4 == 0 && digits > 0 && digits < 32 && !after_hyphen => after_hyphen = true,
            _ => return Err(invalid(text, "uuid")),
        }
    }
    if digits == 32 { Ok(bytes) } else { Err(invalid(text, "uuid")) }
}
