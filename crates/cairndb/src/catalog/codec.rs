//! The bytes of catalog entries: a version byte, then fields as (tag, length, bytes), so that a later version can add
//! fields that an earlier one skips. Decoding garbage gives SQLSTATE XX001, never a panic.

use super::schema::ObjectId;
use super::user_types::{Types, type_id};
use super::version::Version;
use crate::types::datetime::{DIGITS_MAX, IntervalLimit};
use crate::types::{CompositeType, DataType, EnumType, Reg};
use crate::{Error, Result, SqlState};

/// Builds one record.
#[derive(Default)]
pub(super) struct Writer {
    out: Vec<u8>,
    /// Of what lives no longer than the process.
    temporary: bool,
}

impl Writer {
    /// A top-level record, which begins with the version.
    pub(super) fn entry(version: Version) -> Writer {
        Writer { out: vec![version as u8], temporary: false }
    }

    /// The same as a record of what lives no longer than the process, and may outlive the types that it speaks of.
    pub(super) fn temporary(self, temporary: bool) -> Writer {
        Writer { temporary, ..self }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }

    pub(super) fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        self.out.push(tag);
        push_varint(&mut self.out, bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, tag: u8, text: &str) {
        self.bytes(tag, text.as_bytes());
    }

    pub(super) fn number(&mut self, tag: u8, number: u64) {
        let mut bytes = Vec::with_capacity(10);
        push_varint(&mut bytes, number);
        self.bytes(tag, &bytes);
    }

    pub(super) fn signed(&mut self, tag: u8, number: i64) {
        self.bytes(tag, &number.to_le_bytes());
    }

    pub(super) fn float(&mut self, tag: u8, number: f64) {
        self.bytes(tag, &number.to_le_bytes());
    }

    /// Writes the tag only where it is set; absence reads as false.
    pub(super) fn flag(&mut self, tag: u8, set: bool) {
        if set {
            self.bytes(tag, &[]);
        }
    }

    pub(super) fn numbers(&mut self, tag: u8, numbers: &[usize]) {
        let mut bytes = Vec::with_capacity(numbers.len());
        for &number in numbers {
            push_varint(&mut bytes, number as u64);
        }
        self.bytes(tag, &bytes);
    }

    pub(super) fn record(&mut self, tag: u8, build: impl FnOnce(&mut Writer)) {
        let mut inner = Writer { out: Vec::new(), temporary: self.temporary };
        build(&mut inner);
        self.bytes(tag, &inner.out);
    }

    pub(super) fn data_type(&mut self, tag: u8, data_type: DataType) {
        self.bytes(tag, &encode_type(data_type, self.temporary));
    }
}

/// Reads the fields of one record.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// A top-level record.
    pub(super) fn entry(bytes: &'a [u8]) -> Result<Fields<'a>> {
        const NEWEST: u8 = Version::NEWEST as u8;
        match bytes.split_first() {
            Some((Version::OLDEST..=NEWEST, rest)) => Ok(Fields(rest)),
            Some((version @ 1..Version::OLDEST, _)) => Err(older(*version)),
            Some((version, _)) => Err(corrupt(&format!("unknown entry version {version}"))),
            None => Err(corrupt("empty entry")),
        }
    }

    /// A record inside another.
    pub(super) fn record(bytes: &'a [u8]) -> Fields<'a> {
        Fields(bytes)
    }

    pub(super) fn next(&mut self) -> Result<Option<(u8, &'a [u8])>> {
        let Some((&tag, rest)) = self.0.split_first() else { return Ok(None) };
        self.0 = rest;
        let length = usize::try_from(take_varint(&mut self.0)?).map_err(|_| corrupt("field length"))?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(|| corrupt("field beyond the end"))?;
        self.0 = rest;
        Ok(Some((tag, bytes)))
    }
}

/// Whether an entry has the version that is written now.
pub(super) fn is_of_now(bytes: &[u8]) -> bool {
    bytes.first() == Some(&(Version::Plain as u8))
}

pub(super) fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| corrupt("text is not UTF-8"))
}

pub(super) fn number<T: TryFrom<u64>>(bytes: &[u8]) -> Result<T> {
    let mut bytes = bytes;
    T::try_from(take_varint(&mut bytes)?).map_err(|_| corrupt("number out of range"))
}

pub(super) fn signed(bytes: &[u8]) -> Result<i64> {
    bytes.try_into().map(i64::from_le_bytes).map_err(|_| corrupt("signed number"))
}

pub(super) fn float(bytes: &[u8]) -> Result<f64> {
    bytes.try_into().map(f64::from_le_bytes).map_err(|_| corrupt("float"))
}

pub(super) fn numbers(bytes: &[u8]) -> Result<Vec<usize>> {
    let mut bytes = bytes;
    let mut numbers = Vec::new();
    while !bytes.is_empty() {
        numbers.push(usize::try_from(take_varint(&mut bytes)?).map_err(|_| corrupt("number out of range"))?);
    }
    Ok(numbers)
}

pub(super) fn corrupt(what: &str) -> Error {
    Error::damaged(format!("catalog entry is damaged: {what}"))
}

fn older(version: u8) -> Error {
    let (oldest, newest) = (Version::OLDEST, Version::NEWEST as u8);
    let message =
        format!("the tables have format {version}, which this library no longer reads (it reads {oldest} to {newest})");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or_else(|| corrupt("number beyond the end"))?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(corrupt("number too long"))
}

fn encode_type(data_type: DataType, temporary: bool) -> Vec<u8> {
    let with = |tag: u8, modifier: &[u8]| [&[tag], modifier].concat();
    match data_type {
        DataType::Boolean => vec![1],
        DataType::SmallInt => vec![2],
        DataType::Integer => vec![3],
        DataType::BigInt => vec![4],
        DataType::Real => vec![5],
        DataType::Double => vec![6],
        DataType::Numeric(None) => vec![7],
        DataType::Numeric(Some((precision, scale))) => {
            with(7, &[precision.to_le_bytes(), scale.to_le_bytes()].concat())
        }
        DataType::Text => vec![8],
        DataType::Varchar(None) => vec![9],
        DataType::Varchar(Some(length)) => with(9, &length.to_le_bytes()),
        DataType::Char(length) => with(10, &length.to_le_bytes()),
        DataType::Bytea => vec![11],
        DataType::Date => vec![12],
        DataType::Time(digits) => with(13, digits.as_slice()),
        DataType::Timestamp(digits) => with(14, digits.as_slice()),
        DataType::TimestampTz(digits) => with(15, digits.as_slice()),
        DataType::Interval(None) => vec![16],
        DataType::Interval(Some(limit)) => with(16, &limit.code().to_le_bytes()),
        DataType::Uuid => vec![17],
        DataType::Array(element) => with(18, &encode_type(element.data_type(), temporary)),
        DataType::Json => vec![19],
        DataType::Jsonb => vec![20],
        DataType::JsonPath => vec![21],
        DataType::Name => vec![25],
        DataType::InternalChar => vec![26],
        DataType::Oid => vec![27],
        DataType::TimeTz(digits) => with(28, digits.as_slice()),
        DataType::Enum(of) if temporary => with(23, &of.number().to_le_bytes()),
        // The catalog says what it is.
        DataType::Composite(of) if temporary => with(24, &of.number().to_le_bytes()),
        DataType::Enum(_) | DataType::Composite(_) => {
            with(22, &type_id(data_type).unwrap_or(ObjectId(0)).0.to_le_bytes())
        }
        // No column has them.
        DataType::Reg(of) => vec![29, of as u8],
        DataType::Unknown | DataType::Void | DataType::RegName(_) => vec![0],
    }
}

pub(super) fn data_type(bytes: &[u8], types: &Types) -> Result<DataType> {
    let length = |modifier: &[u8]| modifier.try_into().map(u32::from_le_bytes).map_err(|_| corrupt("type length"));
    let digits = |modifier: &[u8]| match *modifier {
        [] => Ok(None),
        [digits @ ..=DIGITS_MAX] => Ok(Some(digits)),
        _ => Err(corrupt("digits of seconds")),
    };
    Ok(match bytes {
        [1] => DataType::Boolean,
        [2] => DataType::SmallInt,
        [3] => DataType::Integer,
        [4] => DataType::BigInt,
        [5] => DataType::Real,
        [6] => DataType::Double,
        [7] => DataType::Numeric(None),
        [7, p0, p1, s0, s1] => {
            DataType::Numeric(Some((u16::from_le_bytes([*p0, *p1]), i16::from_le_bytes([*s0, *s1]))))
        }
        [8] => DataType::Text,
        [9] => DataType::Varchar(None),
        [9, modifier @ ..] => DataType::Varchar(Some(length(modifier)?)),
        [10, modifier @ ..] => DataType::Char(length(modifier)?),
        [11] => DataType::Bytea,
        [12] => DataType::Date,
        [13, modifier @ ..] => DataType::Time(digits(modifier)?),
        [14, modifier @ ..] => DataType::Timestamp(digits(modifier)?),
        [15, modifier @ ..] => DataType::TimestampTz(digits(modifier)?),
        [16] => DataType::INTERVAL,
        [16, modifier @ ..] => {
            let limit = IntervalLimit::from_code(length(modifier)?).ok_or_else(|| corrupt("fields of an interval"))?;
            DataType::Interval(Some(limit))
        }
        [17] => DataType::Uuid,
        [19] => DataType::Json,
        [20] => DataType::Jsonb,
        [21] => DataType::JsonPath,
        [25] => DataType::Name,
        [26] => DataType::InternalChar,
        [27] => DataType::Oid,
        [28, modifier @ ..] => DataType::TimeTz(digits(modifier)?),
        [29, of] => DataType::Reg(*Reg::ALL.get(usize::from(*of)).ok_or_else(|| corrupt("unknown type"))?),
        [23, a, b, c, d] => {
            let of = EnumType::from_number(u32::from_le_bytes([*a, *b, *c, *d]));
            DataType::Enum(of.ok_or_else(|| corrupt("a type that is not there"))?)
        }
        [24, a, b, c, d] => {
            let of = CompositeType::from_number(u32::from_le_bytes([*a, *b, *c, *d]));
            DataType::Composite(of.ok_or_else(|| corrupt("a type that is not there"))?)
        }
        [22, a, b, c, d] => {
            let id = ObjectId(u32::from_le_bytes([*a, *b, *c, *d]));
            types.get(id).ok_or_else(|| corrupt("a type that is not there"))?.data_type
        }
        [18, element @ ..] => {
            let element = data_type(element, types)?;
            element.array().filter(|_| !element.is_array()).ok_or_else(|| corrupt("an array of no type"))?
        }
        _ => return Err(corrupt("unknown type")),
    })
}
