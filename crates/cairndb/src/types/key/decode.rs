//! Keys back to values. No input panics: what no encoder wrote is an error (XX001).

use super::*;
use crate::types::datetime::TimeTz;
use crate::types::json::{KeyReader, decode_key};
use crate::types::numeric::SCALE_MAX;
use crate::types::{
    Array, Citext, Composite, CompositeType, DIMENSIONS_MAX, DataType, Dimension, ExtensionType, Hstore, Inet,
    Interval, JsonPath, Numeric, RegValue, Value,
};
use crate::{Error, Result};

/// The encoding keeps all of a value of this type, not only its order: the column need not be in the row too.
pub fn is_decodable(data_type: DataType) -> bool {
    match data_type {
        DataType::Real | DataType::Double | DataType::Interval(_) | DataType::Jsonb | DataType::Unknown => false,
        // It has what the value is compared by.
        DataType::Citext(_) => false,
        // The column's own scale and length restore what the key leaves out.
        DataType::Numeric(modifiers) => modifiers.is_some(),
        DataType::Char(length) => length > 0,
        DataType::Array(element) => is_decodable(element.data_type()),
        // What was added to the type later, or dropped, is another matter in keys than in rows.
        DataType::Composite(_) => false,
        _ => true,
    }
}

/// Reads one value and moves `bytes` past it. For types that are not [`is_decodable`] the value is equal to the one
/// encoded, but may look different.
pub fn decode_value(bytes: &mut &[u8], data_type: DataType, descending: bool, nulls_first: bool) -> Result<Value> {
    let null = if nulls_first { NULL_FIRST } else { NULL_LAST };
    match bytes.first() {
        None => return Err(corrupted()),
        Some(&first) if first == null => {
            *bytes = &bytes[1..];
            return Ok(Value::Null);
        }
        Some(_) => {}
    }
    let mut reader = Reader { bytes, mask: if descending { 0xff } else { 0 } };
    let value = reader.value(data_type)?;
    *bytes = reader.bytes;
    Ok(value)
}

/// Whether the value that the bytes begin with is NULL.
#[inline]
pub fn is_null(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(&NULL_FIRST | &NULL_LAST))
}

/// Whether values of the type are kept as integers of which any is one.
#[inline]
pub fn is_integer(data_type: DataType) -> bool {
    use DataType as T;
    matches!(data_type, T::SmallInt | T::Integer | T::BigInt | T::Date | T::Timestamp(_) | T::TimestampTz(_))
}

/// Reads one integer (see [`is_integer`]) that is not NULL, and moves `bytes` past it.
#[inline]
pub fn decode_integer(bytes: &mut &[u8], descending: bool) -> Result<i64> {
    let mut reader = Reader { bytes, mask: if descending { 0xff } else { 0 } };
    let value = reader.integer()?;
    *bytes = reader.bytes;
    Ok(value)
}

/// An integer of an ascending column whose first bytes are known: the keys of a page share them.
#[derive(Clone, Copy)]
pub(crate) struct IntegerStart {
    number: i64,
    /// Bytes still to come.
    missing: usize,
}

impl IntegerStart {
    /// `None`: nothing is known, or the integer is NULL or damaged.
    pub(crate) fn of(prefix: &[u8]) -> Option<IntegerStart> {
        let (&header, known) = prefix.split_first()?;
        let (above, bytes) = integer_header(header)?;
        let known = &known[..known.len().min(bytes)];
        let number = known.iter().fold(above, |number, byte| number << 8 | i64::from(*byte));
        Some(IntegerStart { number, missing: bytes - known.len() })
    }

    /// The integer, from the bytes that follow; `None`: there are too few.
    #[inline]
    pub(crate) fn finish(self, rest: &[u8]) -> Option<i64> {
        Some(rest.get(..self.missing)?.iter().fold(self.number, |number, byte| number << 8 | i64::from(*byte)))
    }
}

/// Moves `bytes` past one value. Of integers and texts only where they end is looked at.
#[inline]
pub fn skip_value(bytes: &mut &[u8], data_type: DataType, descending: bool, nulls_first: bool) -> Result<()> {
    use DataType as T;
    let is_text = matches!(data_type, T::Text | T::Varchar(_) | T::Char(_) | T::Name | T::InternalChar);
    if is_null(bytes) || !(is_text || is_integer(data_type)) {
        return decode_value(bytes, data_type, descending, nulls_first).map(drop);
    }
    let mut reader = Reader { bytes, mask: if descending { 0xff } else { 0 } };
    if is_text {
        reader.text_parts(|_| {})?
    } else {
        reader.skip_integer()?
    }
    *bytes = reader.bytes;
    Ok(())
}

/// What an integer's first byte says: the bits above its other bytes, and how many those are; `None`: it begins no integer.
#[inline]
fn integer_header(header: u8) -> Option<(i64, usize)> {
    match header {
        INT_SMALL..=0x9f => Some(((header - INT_SMALL).into(), 0)),
        0x10..INT_NEGATIVE => Some((-1, (INT_NEGATIVE - header).into())),
        0xa1..=0xa8 => Some((0, (header - INT_LARGE).into())),
        _ => None,
    }
}

/// Takes bytes off the front, inverted where the column is descending.
struct Reader<'a> {
    bytes: &'a [u8],
    mask: u8,
}

impl Reader<'_> {
    #[inline]
    fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.bytes.split_first().ok_or_else(corrupted)?;
        self.bytes = rest;
        Ok(first ^ self.mask)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk::<N>().ok_or_else(corrupted)?;
        self.bytes = rest;
        Ok(first.map(|byte| byte ^ self.mask))
    }

    fn plain<const N: usize>(&mut self) -> Result<[u8; N]> {
        if self.byte()? == PLAIN { self.array() } else { Err(corrupted()) }
    }

    fn narrow<T: TryFrom<i64>>(&mut self) -> Result<T> {
        T::try_from(self.integer()?).map_err(|_| corrupted())
    }

    fn value(&mut self, data_type: DataType) -> Result<Value> {
        Ok(match data_type {
            DataType::Boolean => match self.integer()? {
                0 => Value::Boolean(false),
                1 => Value::Boolean(true),
                _ => return Err(corrupted()),
            },
            DataType::SmallInt => Value::SmallInt(self.narrow()?),
            DataType::Integer => Value::Integer(self.narrow()?),
            DataType::BigInt | DataType::Oid => Value::BigInt(self.integer()?),
            DataType::Date => Value::Date(self.narrow()?),
            DataType::Time(_) => Value::Time(self.time()?),
            DataType::TimeTz(_) => match TimeTz::from_packed(self.integer()?) {
                Some(time) => Value::TimeTz(time.packed()),
                None => return Err(corrupted()),
            },
            DataType::Timestamp(_) => Value::Timestamp(self.integer()?),
            DataType::TimestampTz(_) => Value::TimestampTz(self.integer()?),
            DataType::Real => Value::Real(self.real()?),
            DataType::Double => Value::Double(self.double()?),
            DataType::Numeric(modifiers) => Value::Numeric(self.numeric(modifiers.map(|(_, scale)| scale))?),
            DataType::Char(length) => Value::text(pad(self.trimmed(length)?, length)),
            DataType::Text | DataType::Varchar(_) | DataType::Name | DataType::InternalChar => {
                Value::text(self.text()?)
            }
            DataType::Bytea => Value::Bytea(self.bytes()?.into()),
            DataType::Interval(_) => Value::Interval(self.interval()?),
            DataType::Uuid => Value::Uuid(self.plain()?),
            DataType::Inet => Value::Inet(self.inet()?),
            DataType::Cidr => Value::Cidr(Some(self.inet()?).filter(Inet::is_network).ok_or_else(corrupted)?),
            DataType::Macaddr => Value::Macaddr(self.plain()?),
            DataType::Macaddr8 => Value::Macaddr8(self.plain()?),
            DataType::Json => Value::Json(self.text()?.into()),
            DataType::JsonPath => Value::JsonPath(JsonPath::parse(&self.text()?).map_err(|_| corrupted())?.into()),
            DataType::Jsonb => Value::Jsonb(decode_key(self)?),
            DataType::Reg(of) => Value::Reg(RegValue { of, oid: self.integer()?.try_into().map_err(|_| corrupted())? }),
            DataType::Citext(of) => Value::Citext(Citext::new(of, &self.text()?)),
            DataType::Hstore(of) => Value::Hstore(self.hstore(of)?),
            DataType::Enum(of) => Value::Enum(of.value_of_key(self.integer()?).ok_or_else(corrupted)?),
            DataType::Composite(of) => self.attributes(of)?.into(),
            DataType::Array(element) => self.elements(element.data_type())?.of_type(element).into(),
            DataType::Unknown | DataType::Void | DataType::RegName(_) => return Err(corrupted()),
        })
    }

    fn inet(&mut self) -> Result<Inet> {
        Inet::read_key(|| self.byte())?.ok_or_else(corrupted)
    }

    fn hstore(&mut self, of: ExtensionType) -> Result<Hstore> {
        let (texts, count): (_, u32) = (self.text()?, self.narrow()?);
        let mut ends = Vec::new();
        for _ in 0..u64::from(count) * 2 {
            let (end, is_null): (u32, u8) = (self.narrow()?, self.narrow()?);
            ends.push((end, is_null != 0));
        }
        Hstore::of_compared(of, &texts, &ends).ok_or_else(corrupted)
    }

    fn attributes(&mut self, of: CompositeType) -> Result<Composite> {
        self.plain::<0>()?;
        let mut values = Vec::with_capacity(of.attributes().len());
        for attribute in of.attributes() {
            values.push(match self.bytes.first().map(|first| first ^ self.mask) {
                None => return Err(corrupted()),
                Some(NULL_LAST) => {
                    self.byte()?;
                    Value::Null
                }
                Some(_) => self.value(attribute.data_type)?,
            });
        }
        match self.byte()? {
            ARRAY_END => Ok(Composite::new(of, values)),
            _ => Err(corrupted()),
        }
    }

    fn elements(&mut self, element: DataType) -> Result<Array> {
        self.plain::<0>()?;
        let mut values = vec![];
        loop {
            match self.bytes.first().map(|first| first ^ self.mask) {
                None => return Err(corrupted()),
                Some(ARRAY_END) => break,
                Some(NULL_LAST) => values.push(Value::Null),
                Some(_) => {
                    values.push(self.value(element)?);
                    continue;
                }
            }
            self.byte()?;
        }
        self.byte()?;
        let count: u8 = self.narrow()?;
        if usize::from(count) > DIMENSIONS_MAX || (count == 0) != values.is_empty() {
            return Err(corrupted());
        }
        let mut dimensions = vec![Dimension { lower: 1, length: 0 }; count.into()];
        for dimension in &mut dimensions {
            dimension.length = usize::try_from(self.integer()?).map_err(|_| corrupted())?;
        }
        for dimension in &mut dimensions {
            dimension.lower = self.narrow()?;
        }
        Array::with_dimensions(element, &dimensions, values).map_err(|_| corrupted())
    }

    /// Of a CHAR: without the blanks at its end.
    fn trimmed(&mut self, length: u32) -> Result<String> {
        let text = self.text()?;
        let fits = length == 0 || text.chars().count() <= length as usize;
        if fits && !text.ends_with(' ') { Ok(text) } else { Err(corrupted()) }
    }

    #[inline]
    fn integer(&mut self) -> Result<i64> {
        let (above, count) = integer_header(self.byte()?).ok_or_else(corrupted)?;
        let (bytes, rest) = self.bytes.split_at_checked(count).ok_or_else(corrupted)?;
        self.bytes = rest;
        let mask = i64::from_ne_bytes([self.mask; 8]);
        // The lengths that most keys have, without a loop.
        Ok(match *bytes {
            [] => above,
            [a] => above << 8 | (i64::from(a) ^ mask & 0xff),
            [a, b] => above << 16 | (i64::from(u16::from_be_bytes([a, b])) ^ mask & 0xffff),
            [a, b, c] => above << 24 | (i64::from(u32::from_be_bytes([0, a, b, c])) ^ mask & 0xff_ffff),
            [a, b, c, d] => above << 32 | (i64::from(u32::from_be_bytes([a, b, c, d])) ^ mask & 0xffff_ffff),
            _ => bytes.iter().fold(above, |number, byte| number << 8 | i64::from(byte ^ self.mask)),
        })
    }

    #[inline]
    fn skip_integer(&mut self) -> Result<()> {
        let (_, count) = integer_header(self.byte()?).ok_or_else(corrupted)?;
        self.bytes = self.bytes.get(count..).ok_or_else(corrupted)?;
        Ok(())
    }

    fn time(&mut self) -> Result<i64> {
        let micros = self.integer()?;
        let day = 0..=crate::types::datetime::MICROS_PER_DAY;
        if day.contains(&micros) { Ok(micros) } else { Err(corrupted()) }
    }

    fn real(&mut self) -> Result<f32> {
        let bits = u32::from_be_bytes(self.plain()?);
        Ok(f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits }))
    }

    fn double(&mut self) -> Result<f64> {
        let bits = u64::from_be_bytes(self.plain()?);
        Ok(f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits }))
    }

    fn text(&mut self) -> Result<String> {
        let mask = self.mask;
        let mut text = Vec::new();
        self.text_parts(|part| text.extend(part.iter().map(|byte| (byte ^ mask) - 1)))?;
        String::from_utf8(text).map_err(|_| corrupted())
    }

    /// The bytes of a text, each one more than what it says, in runs.
    #[inline]
    fn text_parts(&mut self, mut each: impl FnMut(&[u8])) -> Result<()> {
        loop {
            let mask = self.mask;
            let plain = self.bytes.iter().take_while(|&byte| byte ^ mask > TEXT_ESCAPE).count();
            let (run, rest) = self.bytes.split_at(plain);
            each(run);
            self.bytes = rest;
            match self.byte()? {
                TEXT_END => return Ok(()),
                TEXT_ESCAPE => match self.bytes.split_at_checked(1).ok_or_else(corrupted)? {
                    (escaped, rest) if (1..=2).contains(&(escaped[0] ^ mask)) => {
                        each(escaped);
                        self.bytes = rest;
                    }
                    _ => return Err(corrupted()),
                },
                _ => return Err(corrupted()),
            }
        }
    }

    fn bytes(&mut self) -> Result<Vec<u8>> {
        self.plain::<0>()?;
        let mut bytes = Vec::new();
        loop {
            match self.byte()? {
                0 => match self.byte()? {
                    0 => return Ok(bytes),
                    BYTES_ESCAPED_ZERO => bytes.push(0),
                    _ => return Err(corrupted()),
                },
                byte => bytes.push(byte),
            }
        }
    }

    /// The interval of this span, in days and microseconds.
    fn interval(&mut self) -> Result<Interval> {
        let span = i128::from_be_bytes(self.plain()?) ^ i128::MIN;
        let day = i128::from(crate::types::datetime::MICROS_PER_DAY);
        let months = (span / day / 30).clamp(i32::MIN.into(), i32::MAX.into());
        let rest = span - months * 30 * day;
        let days = (rest / day).clamp(i32::MIN.into(), i32::MAX.into());
        let micros = i64::try_from(rest - days * day).map_err(|_| corrupted())?;
        Ok(Interval { months: months as i32, days: days as i32, micros })
    }

    fn numeric(&mut self, scale: Option<i16>) -> Result<Numeric> {
        let magnitude = match self.byte()? {
            NUMERIC_NEGATIVE_INFINITY => return Ok(Numeric::NEGATIVE_INFINITY),
            NUMERIC_INFINITY => return Ok(Numeric::INFINITY),
            NUMERIC_NAN => return Ok(Numeric::NAN),
            NUMERIC_ZERO => Numeric::ZERO,
            NUMERIC_POSITIVE => self.magnitude()?,
            NUMERIC_NEGATIVE => {
                self.mask = !self.mask;
                let magnitude = self.magnitude();
                self.mask = !self.mask;
                magnitude?.neg()
            }
            _ => return Err(corrupted()),
        };
        Ok(match scale {
            Some(scale) if i32::from(magnitude.scale()) <= i32::from(scale).max(0) => {
                magnitude.with_scale(scale.max(0) as u16)
            }
            Some(_) => return Err(corrupted()),
            None => magnitude,
        })
    }

    fn magnitude(&mut self) -> Result<Numeric> {
        let power = self.integer()?;
        let mut digits = String::new();
        loop {
            let byte = self.byte()?;
            let pair = byte / 2;
            if pair > 99 {
                return Err(corrupted());
            }
            digits.extend([char::from(b'0' + pair / 10), char::from(b'0' + pair % 10)]);
            if byte % 2 == 0 {
                break;
            }
        }
        // An encoder ends with the last digits that are not zero: another spelling would be another key of the value.
        if digits.ends_with("00") {
            return Err(corrupted());
        }
        let whole = digits.len() as i64;
        // 0.digits * 100^power: beyond the limits of numeric no encoder goes.
        if power.unsigned_abs() > 100_000 || whole - 2 * power > i64::from(SCALE_MAX) + 1 {
            return Err(corrupted());
        }
        let text = format!("{digits}e{}", 2 * power - whole);
        let value = Numeric::parse(&text).map_err(|_| corrupted())?;
        Ok(if value.scale() > 0 && digits.ends_with('0') { value.round(i32::from(value.scale()) - 1) } else { value })
    }
}

/// The parts of a document's key.
impl KeyReader for Reader<'_> {
    fn head(&mut self) -> Result<u8> {
        self.byte()
    }

    fn count(&mut self) -> Result<i64> {
        self.integer()
    }

    fn number(&mut self) -> Result<Numeric> {
        self.numeric(None)
    }

    fn string(&mut self) -> Result<String> {
        self.text()
    }

    fn corrupted(&self) -> Error {
        corrupted()
    }
}

fn pad(mut text: String, length: u32) -> String {
    let missing = (length as usize).saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

fn corrupted() -> Error {
    Error::damaged("a key's bytes are damaged")
}
