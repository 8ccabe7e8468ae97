//! Values to text.

use crate::types::datetime::TimeTz;
use std::fmt::{self, Write};

use super::float::{write_double, write_real};
use crate::types::array::write_array_text;
use crate::types::composite::write_composite_text;
use crate::types::datetime::{self, Zone};
use crate::types::{ByteaOutput, EvalContext, Value};

/// The text form of a value, as PostgreSQL would send it; empty for NULL.
///
/// ```
/// use cairndb::{EvalContext, Value, to_text};
///
/// assert_eq!(to_text(&Value::Date(59), &EvalContext::now()), "2000-02-29");
/// ```
pub fn to_text(value: &Value, context: &EvalContext) -> String {
    let mut out = String::new();
    write_text(value, context, &mut out);
    out
}

/// Appends the text form of a value; nothing for NULL.
///
/// ```
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let mut out = "n = ".to_owned();
/// cairndb::write_text(&cairndb::Value::Integer(7), &conn.text_context(), &mut out);
/// assert_eq!(out, "n = 7");
/// # Ok::<(), cairndb::Error>(())
/// ```
pub fn write_text(value: &Value, context: &EvalContext, out: &mut String) {
    let style = context.style;
    // Writing to a String cannot fail.
    match value {
        Value::Null => {}
        Value::SmallInt(value) => _ = write!(out, "{value}"),
        Value::Integer(value) => _ = write!(out, "{value}"),
        Value::BigInt(value) => _ = write!(out, "{value}"),
        Value::Numeric(value) => _ = write!(out, "{value}"),
        Value::Boolean(value) => out.push(if *value { 't' } else { 'f' }),
        Value::Real(value) => write_real(*value, style, out),
        Value::Double(value) => write_double(*value, style, out),
        Value::Text(text) => out.push_str(text),
        Value::Bytea(bytes) if style.bytea == ByteaOutput::Escape => write_escaped(bytes, out),
        Value::Bytea(bytes) => {
            out.push_str("\\x");
            write_hex(bytes, out);
        }
        Value::Date(days) => datetime::write_date(*days, style, out),
        Value::Time(micros) => datetime::write_time(*micros, out),
        Value::TimeTz(packed) => datetime::write_timetz(TimeTz::of_packed(*packed), out),
        Value::Timestamp(micros) => datetime::write_timestamp(*micros, style, out),
        Value::TimestampTz(micros) => datetime::write_timestamptz(*micros, &Zone::of(context), style, out),
        Value::Interval(interval) => datetime::write_interval(*interval, style.interval, out),
        Value::Uuid(bytes) => write_uuid(bytes, out),
        Value::Json(text) => out.push_str(text),
        Value::Jsonb(document) => _ = write!(out, "{document}"),
        Value::JsonPath(path) => _ = write!(out, "{path}"),
        Value::Enum(value) => out.push_str(value.label()),
        Value::Reg(value) => context.write_oid(*value, out),
        Value::Composite(row) => write_composite_text(row, &|value, out| write_text(value, context, out), out),
        Value::Array(array) => write_array_text(array, &|element, out| write_text(element, context, out), out),
    }
}

/// Appends printable ASCII as it is, a backslash twice, other bytes as three octal digits behind one.
fn write_escaped(bytes: &[u8], out: &mut String) {
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(byte.into()),
            _ => _ = write!(out, "\\{byte:03o}"),
        }
    }
}

/// Appends two hexadecimal digits per byte.
pub fn write_hex(bytes: &[u8], out: &mut String) {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)].into());
        out.push(DIGITS[usize::from(byte & 15)].into());
    }
}

fn write_uuid(bytes: &[u8; 16], out: &mut String) {
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        write_hex(&[*byte], out);
    }
}

/// The text form in UTC; `NULL` for NULL.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            return f.write_str("NULL");
        }
        let mut out = String::new();
        write_text(self, &EvalContext::default(), &mut out);
        f.pad(&out)
    }
}
