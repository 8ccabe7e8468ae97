//! Values to text.

use crate::types::datetime::TimeTz;
use std::cell::OnceCell;
use std::fmt::{self, Write};

use super::Short;
use super::float::{write_double, write_real};
use crate::types::array::write_array_text;
use crate::types::composite::write_composite_text;
use crate::types::datetime::{self, Zone};
use crate::types::{ByteaOutput, DataType, DateStyle, EvalContext, NumericRef, Value, ValueRef, network};

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
pub fn write_text<'v>(value: impl Into<ValueRef<'v>>, context: &EvalContext, out: &mut String) {
    let value = value.into();
    let put = |short: &mut Short<'_>| put_number(value, short) || put_time(value, context, &OnceCell::new(), short);
    if !Short::push_to(out, put) {
        write_long(value, context, out);
    }
}

/// Whether all values of a type are written with letters, digits, spaces and `+-.:/` alone.
pub(crate) fn is_plain_text(data_type: DataType) -> bool {
    use DataType as T;
    matches!(
        data_type,
        T::Boolean
            | T::SmallInt
            | T::Integer
            | T::BigInt
            | T::Oid
            | T::Numeric(_)
            | T::Date
            | T::Uuid
            | T::Inet
            | T::Cidr
            | T::Macaddr
            | T::Macaddr8
            | T::Time(_)
            | T::TimeTz(_)
            | T::Timestamp(_)
            | T::TimestampTz(_)
            | T::Real
            | T::Double
    )
}

/// The text forms of numbers, which depend on nothing; false: it has another one.
#[inline]
pub(in crate::types) fn put_number(value: ValueRef<'_>, out: &mut Short<'_>) -> bool {
    match value {
        ValueRef::SmallInt(value) => out.integer(value.into()),
        ValueRef::Integer(value) => out.integer(value.into()),
        ValueRef::BigInt(value) => out.integer(value),
        ValueRef::Numeric(NumericRef::Small { mantissa, scale }) if scale <= Short::SCALE_MAX => {
            out.decimal(mantissa, scale);
        }
        ValueRef::Boolean(value) => out.push(if value { b't' } else { b'f' }),
        _ => return false,
    }
    true
}

/// Those of dates and times in the style of ISO; false: it has another one. `zone`: the session's, where it was found before.
#[inline]
pub(in crate::types) fn put_time(
    value: ValueRef<'_>,
    context: &EvalContext,
    zone: &OnceCell<Zone>,
    out: &mut Short<'_>,
) -> bool {
    let is_iso = context.style.date == DateStyle::Iso;
    match value {
        ValueRef::Date(days) if is_iso => datetime::iso_date(days, out),
        ValueRef::Time(micros) => datetime::time(micros, out),
        ValueRef::TimeTz(packed) => datetime::time_with_zone(TimeTz::of_packed(packed), out),
        ValueRef::Timestamp(micros) if is_iso => datetime::iso_timestamp(micros, None, out),
        ValueRef::TimestampTz(micros) if is_iso => {
            datetime::iso_timestamp(micros, Some(zone.get_or_init(|| Zone::of(context))), out);
        }
        _ => return false,
    }
    true
}

/// All other text forms.
#[inline(never)]
pub(in crate::types) fn write_long(value: ValueRef<'_>, context: &EvalContext, out: &mut String) {
    let style = context.style;
    // Writing to a String cannot fail.
    match value {
        ValueRef::Numeric(value) => _ = value.to_cow().write_text(out),
        ValueRef::Real(value) => write_real(value, style, out),
        ValueRef::Double(value) => write_double(value, style, out),
        ValueRef::Text(text) | ValueRef::Json(text) => out.push_str(text),
        ValueRef::Bytea(bytes) if style.bytea == ByteaOutput::Escape => write_escaped(bytes, out),
        ValueRef::Bytea(bytes) => {
            out.push_str("\\x");
            write_hex(bytes, out);
        }
        ValueRef::Date(days) => datetime::write_date(days, style, out),
        ValueRef::Timestamp(micros) => datetime::write_timestamp(micros, style, out),
        ValueRef::TimestampTz(micros) => datetime::write_timestamptz(micros, &Zone::of(context), style, out),
        ValueRef::Interval(interval) => datetime::write_interval(interval, style.interval, out),
        ValueRef::Uuid(bytes) => write_uuid(&bytes, out),
        ValueRef::Inet(value) => _ = value.write_inet(out),
        ValueRef::Cidr(value) => _ = value.write_whole(out),
        ValueRef::Macaddr(bytes) => network::write_mac(&bytes, out),
        ValueRef::Macaddr8(bytes) => network::write_mac(&bytes, out),
        ValueRef::Jsonb(document) => _ = write!(out, "{document}"),
        ValueRef::JsonPath(path) => _ = write!(out, "{path}"),
        ValueRef::Citext(text) => out.push_str(text.as_str()),
        ValueRef::Hstore(value) => crate::types::hstore::write(value, out),
        ValueRef::Enum(value) => out.push_str(value.label()),
        ValueRef::Reg(value) => context.write_oid(value, out),
        ValueRef::Composite(row) => write_composite_text(row, &|value, out| write_text(value, context, out), out),
        ValueRef::Array(array) => write_array_text(array, &|element, out| write_text(element, context, out), out),
        ValueRef::Made(made) => write_text(&made.0.make_value(), context, out),
        ValueRef::Null
        | ValueRef::Boolean(_)
        | ValueRef::SmallInt(_)
        | ValueRef::Integer(_)
        | ValueRef::BigInt(_)
        | ValueRef::Time(_)
        | ValueRef::TimeTz(_) => {}
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
