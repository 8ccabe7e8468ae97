//! Values to keys; the bytes are described in the module above.

use super::*;
use crate::types::json::{KeyWriter, encode_key};
use crate::types::{Array, Composite, DataType, Hstore, Numeric, Value, ValueRef};

/// Appends the order-preserving, self-delimiting encoding of `value`, a value of a column of type `data_type`.
/// PostgreSQL's default for ascending is NULLS LAST, for descending NULLS FIRST.
pub fn encode_value(value: &Value, data_type: DataType, descending: bool, nulls_first: bool, out: &mut Vec<u8>) {
    encode_ref(value.into(), data_type, descending, nulls_first, out);
}

/// As [`encode_value`], for a value that is lent.
pub fn encode_ref(value: ValueRef<'_>, data_type: DataType, descending: bool, nulls_first: bool, out: &mut Vec<u8>) {
    if value.is_null() {
        out.push(if nulls_first { NULL_FIRST } else { NULL_LAST });
        return;
    }
    let start = out.len();
    encode_ascending(value, data_type, out);
    if descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn encode_ascending(value: ValueRef<'_>, data_type: DataType, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => {}
        ValueRef::Boolean(value) => encode_integer(value.into(), out),
        ValueRef::SmallInt(value) => encode_integer(value.into(), out),
        ValueRef::Integer(value) | ValueRef::Date(value) => encode_integer(value.into(), out),
        ValueRef::BigInt(value)
        | ValueRef::Time(value)
        | ValueRef::TimeTz(value)
        | ValueRef::Timestamp(value)
        | ValueRef::TimestampTz(value) => {
            encode_integer(value, out);
        }
        ValueRef::Real(value) => encode_real(value, out),
        ValueRef::Double(value) => encode_double(value, out),
        ValueRef::Numeric(value) => encode_numeric(&value.to_cow(), out),
        ValueRef::Text(text) => encode_text(text, data_type, out),
        ValueRef::Bytea(bytes) => encode_bytes(bytes, out),
        ValueRef::Interval(interval) => {
            out.push(PLAIN);
            out.extend_from_slice(&(interval.span() ^ i128::MIN).to_be_bytes());
        }
        ValueRef::Uuid(bytes) => {
            out.push(PLAIN);
            out.extend_from_slice(&bytes);
        }
        ValueRef::Inet(value) | ValueRef::Cidr(value) => value.write_key(out),
        ValueRef::Macaddr(bytes) => {
            out.push(PLAIN);
            out.extend_from_slice(&bytes);
        }
        ValueRef::Macaddr8(bytes) => {
            out.push(PLAIN);
            out.extend_from_slice(&bytes);
        }
        // Nothing orders them: no key has one.
        ValueRef::Json(text) => encode_text(text, data_type, out),
        ValueRef::JsonPath(path) => encode_text(&path.to_string(), data_type, out),
        ValueRef::Jsonb(document) => encode_key(document, out),
        ValueRef::Citext(text) => encode_text(text.folded(), DataType::Text, out),
        ValueRef::Hstore(value) => encode_hstore(value, out),
        ValueRef::Enum(value) => encode_integer(value.key(), out),
        ValueRef::Reg(value) => encode_integer(value.number(), out),
        ValueRef::Composite(row) => encode_composite(row, out),
        ValueRef::Array(array) => encode_array(array, out),
        ValueRef::Made(made) => encode_ascending(ValueRef::from(&made.0.make_value()), data_type, out),
    }
}

/// The parts of a document's key.
impl KeyWriter for Vec<u8> {
    fn head(&mut self, head: u8) {
        self.push(head);
    }

    fn count(&mut self, value: i64) {
        encode_integer(value, self);
    }

    fn number(&mut self, value: &Numeric) {
        encode_numeric(value, self);
    }

    fn string(&mut self, value: &str) {
        encode_text(value, DataType::Text, self);
    }
}

/// Its texts, how many pairs there are, and where each text ends and whether it is NULL.
fn encode_hstore(value: &Hstore, out: &mut Vec<u8>) {
    let (texts, ends) = value.compared();
    encode_text(texts, DataType::Text, out);
    encode_integer(value.len() as i64, out);
    for (end, is_null) in ends {
        encode_integer(end.into(), out);
        encode_integer(is_null.into(), out);
    }
}

/// Elements in turn, as in columns that have NULLs last; then what they begin with no less than.
fn encode_array(array: &Array, out: &mut Vec<u8>) {
    out.push(PLAIN);
    for value in array.values() {
        encode_ref(value.into(), array.element(), false, false, out);
    }
    out.push(ARRAY_END);
    encode_integer(array.dimensions().len() as i64, out);
    array.dimensions().iter().for_each(|dimension| encode_integer(dimension.length as i64, out));
    array.dimensions().iter().for_each(|dimension| encode_integer(dimension.lower.into(), out));
}

/// Attributes in turn, as in columns that have NULLs last.
fn encode_composite(row: &Composite, out: &mut Vec<u8>) {
    out.push(PLAIN);
    for (data_type, value) in row.typed() {
        encode_ref(value.into(), data_type, false, false, out);
    }
    out.push(ARRAY_END);
}

#[inline]
pub(crate) fn encode_integer(value: i64, out: &mut Vec<u8>) {
    if (0..=127).contains(&value) {
        out.push(INT_SMALL + value as u8);
        return;
    }
    let magnitude = if value < 0 { !value } else { value };
    let count = (8 - magnitude.leading_zeros() as usize / 8).max(1);
    let mut bytes = [0; 9];
    bytes[0] = if value < 0 { INT_NEGATIVE - count as u8 } else { INT_LARGE + count as u8 };
    bytes[1..].copy_from_slice(&(value << (64 - 8 * count)).to_be_bytes());
    // Nine bytes at once and then fewer: a copy of a length that is not known costs a call.
    let end = out.len() + 1 + count;
    out.extend_from_slice(&bytes);
    out.truncate(end);
}

fn encode_real(value: f32, out: &mut Vec<u8>) {
    let bits = if value.is_nan() { f32::NAN.to_bits() } else { (value + 0.0).to_bits() };
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    out.push(PLAIN);
    out.extend_from_slice(&ordered.to_be_bytes());
}

fn encode_double(value: f64, out: &mut Vec<u8>) {
    let bits = crate::types::float_hash_bits(value);
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.push(PLAIN);
    out.extend_from_slice(&ordered.to_be_bytes());
}

fn encode_text(text: &str, data_type: DataType, out: &mut Vec<u8>) {
    let blank_padded = matches!(data_type, DataType::Char(_));
    encode_text_prefix(if blank_padded { text.trim_end_matches(' ') } else { text }, out);
    out.push(TEXT_END);
}

/// Appends what the encodings (ascending) of all strings that begin with `prefix` begin with.
pub fn encode_text_prefix(prefix: &str, out: &mut Vec<u8>) {
    out.reserve(prefix.len() + 1);
    for &byte in prefix.as_bytes() {
        if byte < 2 {
            out.push(TEXT_ESCAPE);
        }
        // UTF-8 has no 0xff, so this cannot overflow.
        out.push(byte + 1);
    }
}

/// The first key after all keys that begin with `prefix`; `None`: there is none.
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(PLAIN);
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(BYTES_ESCAPED_ZERO);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn encode_numeric(value: &Numeric, out: &mut Vec<u8>) {
    if let Some((mantissa, scale)) = value.as_small() {
        // The digits of small values need no heap.
        let mut buffer = [0; 20];
        return encode_finite(value.signum(), decimal(mantissa.unsigned_abs(), &mut buffer), scale, out);
    }
    match value.to_big() {
        Some((mantissa, scale)) => {
            encode_finite(value.signum(), mantissa.magnitude().to_string().as_bytes(), scale, out);
        }
        None => out.push(match value.signum() {
            0 => NUMERIC_NAN,
            1.. => NUMERIC_INFINITY,
            _ => NUMERIC_NEGATIVE_INFINITY,
        }),
    }
}

/// The decimal digits of `number`, at the end of `buffer`.
fn decimal(mut number: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut start = buffer.len();
    while start > 0 {
        start -= 1;
        buffer[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    &buffer[start..]
}

fn encode_finite(sign: i32, digits: &[u8], scale: u16, out: &mut Vec<u8>) {
    if sign == 0 {
        return out.push(NUMERIC_ZERO);
    }
    out.push(if sign < 0 { NUMERIC_NEGATIVE } else { NUMERIC_POSITIVE });
    let start = out.len();
    encode_magnitude(digits, digits.len() as i64 - i64::from(scale), out);
    if sign < 0 {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// `0.digits * 10^exponent`, as a power of 100 and pairs of digits without trailing zeros.
fn encode_magnitude(digits: &[u8], exponent: i64, out: &mut Vec<u8>) {
    let kept = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    let digits = &digits[..kept];
    let power = (exponent + 1).div_euclid(2);
    encode_integer(power, out);
    // An odd exponent leaves one digit in the first pair.
    let lead = if exponent.rem_euclid(2) == 1 { 1 } else { 0 };
    let padded = std::iter::repeat_n(b'0', lead).chain(digits.iter().copied());
    let mut pending = None;
    for digit in padded {
        let digit = digit - b'0';
        pending = match pending.take() {
            None => Some(digit),
            Some(tens) => {
                out.push(2 * (tens * 10 + digit) + 1);
                None
            }
        };
    }
    match pending {
        Some(tens) => out.push(2 * (tens * 10)),
        None => {
            if let Some(last) = out.last_mut() {
                *last -= 1;
            }
        }
    }
}
