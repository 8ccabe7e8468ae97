//! From the parser's type names to [`DataType`]s, with PostgreSQL's limits on modifiers.

use sqlparser::ast::{self, CharacterLength, ExactNumberInfo, TimezoneInfo};

use super::DataType;
use crate::{Error, Result, SqlState};

/// PostgreSQL's limit on `varchar(n)` and `char(n)`.
const LENGTH_MAX: u64 = 10_485_760;
const PRECISION_MAX: u64 = 1000;

impl DataType {
    /// The type that the parser's `ast` names. SERIAL pseudo-types are the caller's (they are not types).
    pub fn from_ast(ast: &ast::DataType) -> Result<DataType> {
        use ast::DataType as A;
        Ok(match ast {
            A::Bool | A::Boolean => DataType::Boolean,
            A::SmallInt(None) | A::Int2(None) => DataType::SmallInt,
            A::Int(None) | A::Int4(None) | A::Integer(None) => DataType::Integer,
            A::BigInt(None) | A::Int8(None) => DataType::BigInt,
            A::Real | A::Float4 => DataType::Real,
            A::Float8 | A::DoublePrecision | A::Double(ExactNumberInfo::None) => DataType::Double,
            A::Float(info) => float(info)?,
            A::Numeric(info) | A::Decimal(info) | A::Dec(info) => numeric(info)?,
            A::Text => DataType::Text,
            A::Character(length) | A::Char(length) => DataType::Char(char_length(length)?.unwrap_or(1)),
            A::CharacterVarying(length) | A::CharVarying(length) | A::Varchar(length) => {
                DataType::Varchar(char_length(length)?)
            }
            A::Bytea => DataType::Bytea,
            A::Date => DataType::Date,
            A::Time(precision, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
                microseconds(*precision, "time")?;
                DataType::Time
            }
            A::Timestamp(precision, zone) => timestamp(*precision, zone)?,
            A::Interval { fields: None, precision } => {
                microseconds(*precision, "interval")?;
                DataType::Interval
            }
            A::Uuid => DataType::Uuid,
            A::Custom(name, modifiers) => custom(name, modifiers)?,
            other => return Err(Error::unsupported(format!("type {}", other.to_string().to_lowercase()))),
        })
    }
}

/// `float(p)` counts bits: up to 24 is `real`, up to 53 `double precision`.
fn float(info: &ExactNumberInfo) -> Result<DataType> {
    match info {
        ExactNumberInfo::None => Ok(DataType::Double),
        ExactNumberInfo::Precision(0) => Err(invalid("precision for type float must be at least 1 bit")),
        ExactNumberInfo::Precision(1..=24) => Ok(DataType::Real),
        ExactNumberInfo::Precision(25..=53) => Ok(DataType::Double),
        _ => Err(invalid("precision for type float must be less than 54 bits")),
    }
}

fn numeric(info: &ExactNumberInfo) -> Result<DataType> {
    let (precision, scale) = match *info {
        ExactNumberInfo::None => return Ok(DataType::Numeric(None)),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    if !(1..=PRECISION_MAX).contains(&precision) {
        return Err(invalid(format!("NUMERIC precision {precision} must be between 1 and 1000")));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(invalid(format!("NUMERIC scale {scale} must be between -1000 and 1000")));
    }
    Ok(DataType::Numeric(Some((precision as u16, scale as i16))))
}

fn char_length(length: &Option<CharacterLength>) -> Result<Option<u32>> {
    match length {
        None => Ok(None),
        Some(CharacterLength::IntegerLength { length: 0, .. }) => {
            Err(invalid("length for type character varying must be at least 1"))
        }
        Some(CharacterLength::IntegerLength { length, .. }) if *length > LENGTH_MAX => {
            Err(invalid(format!("length for type character varying cannot exceed {LENGTH_MAX}")))
        }
        Some(CharacterLength::IntegerLength { length, .. }) => Ok(Some(*length as u32)),
        Some(CharacterLength::Max) => Err(Error::unsupported("varchar(max)")),
    }
}

fn timestamp(precision: Option<u64>, zone: &TimezoneInfo) -> Result<DataType> {
    microseconds(precision, "timestamp")?;
    Ok(match zone {
        TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => DataType::Timestamp,
        TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => DataType::TimestampTz,
    })
}

/// Times keep microseconds; asking for fewer digits would need rounding that we do not do, so it is refused.
fn microseconds(precision: Option<u64>, name: &str) -> Result<()> {
    match precision {
        None | Some(6) => Ok(()),
        Some(digits) => Err(Error::unsupported(format!("{name}({digits})"))),
    }
}

/// Names that the parser does not know as types: `bpchar`, `timetz`, quoted names, schema-qualified names.
fn custom(name: &ast::ObjectName, modifiers: &[String]) -> Result<DataType> {
    let full = name.to_string();
    let plain = full.trim_start_matches("pg_catalog.").replace('"', "").to_lowercase();
    let known = DataType::from_name(&plain).filter(|_| modifiers.is_empty());
    known.ok_or_else(|| Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{full}\" does not exist")))
}

impl DataType {
    /// A type by one of its plain names (`int4`, `character varying`, `timestamptz`), without modifiers.
    pub fn from_name(name: &str) -> Option<DataType> {
        Some(match name {
            "bool" | "boolean" => DataType::Boolean,
            "int2" | "smallint" => DataType::SmallInt,
            "int4" | "int" | "integer" => DataType::Integer,
            "int8" | "bigint" => DataType::BigInt,
            "float4" | "real" => DataType::Real,
            "float8" | "double precision" | "float" => DataType::Double,
            "numeric" | "decimal" => DataType::Numeric(None),
            "text" => DataType::Text,
            "varchar" | "character varying" => DataType::Varchar(None),
            "bpchar" => DataType::Char(0),
            "char" | "character" => DataType::Char(1),
            "bytea" => DataType::Bytea,
            "date" => DataType::Date,
            "time" | "time without time zone" => DataType::Time,
            "timestamp" | "timestamp without time zone" => DataType::Timestamp,
            "timestamptz" | "timestamp with time zone" => DataType::TimestampTz,
            "interval" => DataType::Interval,
            "uuid" => DataType::Uuid,
            _ => return None,
        })
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
