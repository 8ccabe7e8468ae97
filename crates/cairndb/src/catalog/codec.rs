//! The bytes of catalog entries: a version byte, then fields as (tag, length, bytes), so that a later version can add
//! fields that an earlier one skips. Decoding garbage gives SQLSTATE XX001, never a panic.

use super::schema::ObjectId;
use super::type_id;
use super::user_types::Types;
use super::version::Version;
use crate::types::datetime::{DIGITS_MAX, IntervalLimit};
use crate::types::{CompositeType, DataType, EnumType, ExtensionType, Reg, TYPES};
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

/// What the codes of types do not say (`types/info.rs` has those): an array with its elements' type, what users make, by
/// the object's id, of what lives no longer than the process by the process's number, `regclass` and its kin, and the two vectors.
mod code {
    pub(super) const NO_TYPE: u8 = 0;
    pub(super) const ARRAY: u8 = 18;
    pub(super) const USERS: u8 = 22;
    pub(super) const TEMPORARY_ENUM: u8 = 23;
    pub(super) const TEMPORARY_COMPOSITE: u8 = 24;
    pub(super) const REG: u8 = 29;
    pub(super) const INT2VECTOR: u8 = 30;
    pub(super) const OIDVECTOR: u8 = 31;
    pub(super) const TEMPORARY_EXTENSION: u8 = 32;
}

pub(super) fn encode_type(data_type: DataType, temporary: bool) -> Vec<u8> {
    let with = |code: u8, modifier: &[u8]| [&[code], modifier].concat();
    match data_type {
        DataType::INT2VECTOR => vec![code::INT2VECTOR],
        DataType::OIDVECTOR => vec![code::OIDVECTOR],
        DataType::Array(element) => with(code::ARRAY, &encode_type(element.data_type(), temporary)),
        DataType::Enum(of) if temporary => with(code::TEMPORARY_ENUM, &of.number().to_le_bytes()),
        DataType::Composite(of) if temporary => with(code::TEMPORARY_COMPOSITE, &of.number().to_le_bytes()),
        DataType::Citext(of) | DataType::Hstore(of) if temporary => {
            with(code::TEMPORARY_EXTENSION, &of.number().to_le_bytes())
        }
        // The catalog says what it is.
        DataType::Citext(_) | DataType::Hstore(_) | DataType::Enum(_) | DataType::Composite(_) => {
            with(code::USERS, &type_id(data_type).unwrap_or(ObjectId(0)).0.to_le_bytes())
        }
        DataType::Reg(of) => vec![code::REG, of as u8],
        // No column has them.
        DataType::Unknown | DataType::Void | DataType::RegName(_) => vec![code::NO_TYPE],
        other => with(other.info().code, &encode_modifier(other)),
    }
}

/// Nothing: it has none.
fn encode_modifier(data_type: DataType) -> Vec<u8> {
    match data_type {
        DataType::Numeric(Some((precision, scale))) => [precision.to_le_bytes(), scale.to_le_bytes()].concat(),
        DataType::Varchar(Some(length)) | DataType::Char(length) => length.to_le_bytes().to_vec(),
        DataType::Time(Some(digits))
        | DataType::TimeTz(Some(digits))
        | DataType::Timestamp(Some(digits))
        | DataType::TimestampTz(Some(digits)) => vec![digits],
        DataType::Interval(Some(limit)) => limit.code().to_le_bytes().to_vec(),
        _ => Vec::new(),
    }
}

pub(super) fn data_type(bytes: &[u8], types: &Types) -> Result<DataType> {
    let gone = || corrupt("a type that is not there");
    let number = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).map_err(|_| corrupt("unknown type"));
    let (&code, rest) = bytes.split_first().ok_or_else(|| corrupt("unknown type"))?;
    Ok(match code {
        code::INT2VECTOR if rest.is_empty() => DataType::INT2VECTOR,
        code::OIDVECTOR if rest.is_empty() => DataType::OIDVECTOR,
        code::REG => match rest {
            [of] => DataType::Reg(*Reg::ALL.get(usize::from(*of)).ok_or_else(|| corrupt("unknown type"))?),
            _ => return Err(corrupt("unknown type")),
        },
        code::TEMPORARY_ENUM => DataType::Enum(EnumType::from_number(number(rest)?).ok_or_else(gone)?),
        code::TEMPORARY_EXTENSION => ExtensionType::from_number(number(rest)?).ok_or_else(gone)?,
        code::TEMPORARY_COMPOSITE => DataType::Composite(CompositeType::from_number(number(rest)?).ok_or_else(gone)?),
        code::USERS => types.get(ObjectId(number(rest)?)).ok_or_else(gone)?.data_type,
        code::ARRAY => {
            let element = data_type(rest, types)?;
            element.array().filter(|_| !element.is_array()).ok_or_else(|| corrupt("an array of no type"))?
        }
        code => {
            let known = TYPES.iter().find(|info| info.code == code && code != code::NO_TYPE);
            with_modifier(known.ok_or_else(|| corrupt("unknown type"))?.base, rest)?
        }
    })
}

fn with_modifier(base: DataType, modifier: &[u8]) -> Result<DataType> {
    let length = || modifier.try_into().map(u32::from_le_bytes).map_err(|_| corrupt("type length"));
    let digits = || match *modifier {
        [digits @ ..=DIGITS_MAX] => Ok(Some(digits)),
        _ => Err(corrupt("digits of seconds")),
    };
    Ok(match (base, modifier) {
        (DataType::Char(_), _) => DataType::Char(length()?),
        (base, []) => base,
        (DataType::Numeric(_), [p0, p1, s0, s1]) => {
            DataType::Numeric(Some((u16::from_le_bytes([*p0, *p1]), i16::from_le_bytes([*s0, *s1]))))
        }
        (DataType::Varchar(_), _) => DataType::Varchar(Some(length()?)),
        (DataType::Time(_), _) => DataType::Time(digits()?),
        (DataType::TimeTz(_), _) => DataType::TimeTz(digits()?),
        (DataType::Timestamp(_), _) => DataType::Timestamp(digits()?),
        (DataType::TimestampTz(_), _) => DataType::TimestampTz(digits()?),
        (DataType::Interval(_), _) => {
            let limit = IntervalLimit::from_code(length()?).ok_or_else(|| corrupt("fields of an interval"))?;
            DataType::Interval(Some(limit))
        }
        _ => return Err(corrupt("unknown type")),
    })
}
