//! The one table of types, both ways.
//!
//! | SQL | as Arrow | what is done where they differ |
//! |---|---|---|
//! | `boolean` | `bool` | |
//! | `smallint`, `integer`, `bigint` | `int16`, `int32`, `int64` | |
//! | `oid` | `uint32` | |
//! | `real`, `double precision` | `float32`, `float64` | |
//! | `numeric(p,s)` | `decimal128`, `decimal256`, `utf8`: the first that has the digits | NaN is an error (22003), but in text |
//! | `numeric` | likewise, by the values that come first ([`Shape`](crate::Shape)) | one that comes later and does not fit is an error (22003) |
//! | `text`, `varchar`, `char(n)`, `name` | `utf8` | |
//! | `bytea` | `binary` | |
//! | `date` | `date32` | infinity is an error (22008) |
//! | `time` | `time64[us]` | so is 24:00 |
//! | `timestamp` | `timestamp[us]` | and what is beyond the year 294246 |
//! | `timestamptz` | `timestamp[us, UTC]` | |
//! | `interval` | `month_day_nano` | and more than 292 years of hours |
//! | `uuid` | `fixed_size_binary(16)`, as `arrow.uuid` | |
//! | `json`, `jsonb` | `utf8`, as `arrow.json` | comes back as `jsonb` |
//! | an enum | `dictionary(int32, utf8)`, of its labels in order | comes back as `text` |
//! | an array | `list` of the element's | where lists begin is lost; more than one dimension is an error (0A000) |
//! | `timetz`, `jsonpath`, `inet`, `cidr`, `macaddr`, `macaddr8`, rows, names of the catalog's objects | `utf8`, as they are written | comes back as `text` |
//!
//! What Arrow has besides, and what it comes in as: `int8` and `uint8` as `smallint`, `uint16` as `integer`, `uint32` as `bigint`,
//! `uint64` as `numeric(20,0)`, `float16` as `real`, `date64` as `date`, times and timestamps of other units as ours (nanoseconds
//! are rounded), `duration` as `interval`, dictionaries as what they are of, large, fixed and viewed strings, bytes and lists
//! as others, `null` as `text`. Structs, maps, unions, viewed lists and runs are refused (0A000).
//!
//! A column of a table takes what has another type, as it would take a parameter.

use arrow_schema::DataType as Arrow;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, Field, IntervalUnit, Schema, TimeUnit};
use cairndb::{DataType, Error, Result};

/// The keys of a field's metadata by which it says that it is more than its type.
const EXTENSION_NAME: &str = "ARROW:extension:name";
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

const JSON: &str = "arrow.json";
const UUID: &str = "arrow.uuid";

/// How many levels of lists in lists are read.
const DEPTH_MAX: usize = 8;

/// A column's field. Of `numeric` without a scale it is text: [`Shape`](crate::Shape) knows better where it has seen values.
pub fn arrow_field(name: &str, data_type: DataType) -> Field {
    let extended = |field: Field, extension: &str| {
        let pairs = [(EXTENSION_NAME, extension), (EXTENSION_METADATA, "")];
        field.with_metadata(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())))
    };
    let field = Field::new(name, arrow_type(data_type), true);
    match data_type {
        DataType::Json | DataType::Jsonb => extended(field, JSON),
        DataType::Uuid => extended(field, UUID),
        _ => field,
    }
}

fn arrow_type(data_type: DataType) -> Arrow {
    match data_type {
        DataType::Boolean => Arrow::Boolean,
        DataType::SmallInt => Arrow::Int16,
        DataType::Integer => Arrow::Int32,
        DataType::BigInt => Arrow::Int64,
        DataType::Oid => Arrow::UInt32,
        DataType::Real => Arrow::Float32,
        DataType::Double => Arrow::Float64,
        DataType::Numeric(Some((precision, scale))) => {
            let (whole, scale) = (i32::from(precision) - i32::from(scale), i32::from(scale).max(0));
            decimal(whole.max(0), scale)
        }
        DataType::Bytea => Arrow::Binary,
        DataType::Date => Arrow::Date32,
        DataType::Time(_) => Arrow::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(_) => Arrow::Timestamp(TimeUnit::Microsecond, None),
        DataType::TimestampTz(_) => Arrow::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::Interval(_) => Arrow::Interval(IntervalUnit::MonthDayNano),
        DataType::Uuid => Arrow::FixedSizeBinary(16),
        DataType::Enum(_) => Arrow::Dictionary(Box::new(Arrow::Int32), Box::new(Arrow::Utf8)),
        DataType::Array(element) => Arrow::List(arrow_field("item", element.data_type()).into()),
        _ => Arrow::Utf8,
    }
}

/// The narrowest type of decimals with so many digits before and behind the point; text where there is none.
pub(crate) fn decimal(whole: i32, scale: i32) -> Arrow {
    let digits = (whole + scale).max(1);
    match (u8::try_from(digits), i8::try_from(scale)) {
        (Ok(digits), Ok(scale)) if digits <= DECIMAL128_MAX_PRECISION => Arrow::Decimal128(digits, scale),
        (Ok(digits), Ok(scale)) if digits <= DECIMAL256_MAX_PRECISION => Arrow::Decimal256(digits, scale),
        _ => Arrow::Utf8,
    }
}

/// The type of the column that takes all that a field has.
///
/// # Errors
///
/// 0A000 where there is none.
pub fn sql_type(field: &Field) -> Result<DataType> {
    type_within(field, DEPTH_MAX)
}

fn type_within(field: &Field, depth: usize) -> Result<DataType> {
    Ok(match field.data_type() {
        Arrow::Boolean => DataType::Boolean,
        Arrow::Int8 | Arrow::UInt8 | Arrow::Int16 => DataType::SmallInt,
        Arrow::UInt16 | Arrow::Int32 => DataType::Integer,
        Arrow::UInt32 | Arrow::Int64 => DataType::BigInt,
        Arrow::UInt64 => DataType::Numeric(Some((20, 0))),
        Arrow::Float16 | Arrow::Float32 => DataType::Real,
        Arrow::Float64 => DataType::Double,
        Arrow::Decimal32(precision, scale)
        | Arrow::Decimal64(precision, scale)
        | Arrow::Decimal128(precision, scale)
        | Arrow::Decimal256(precision, scale) => DataType::Numeric(Some(((*precision).into(), (*scale).into()))),
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View if is_json(field) => DataType::Jsonb,
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View | Arrow::Null => DataType::Text,
        Arrow::FixedSizeBinary(16) if is_uuid(field) => DataType::Uuid,
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView | Arrow::FixedSizeBinary(_) => DataType::Bytea,
        Arrow::Date32 | Arrow::Date64 => DataType::Date,
        Arrow::Time32(_) | Arrow::Time64(_) => DataType::TIME,
        Arrow::Timestamp(_, None) => DataType::TIMESTAMP,
        Arrow::Timestamp(_, Some(_)) => DataType::TIMESTAMPTZ,
        Arrow::Duration(_) | Arrow::Interval(_) => DataType::INTERVAL,
        Arrow::Dictionary(_, of) => {
            type_within(&Field::new(field.name(), of.as_ref().clone(), true), shallower(depth)?)?
        }
        Arrow::List(of) | Arrow::LargeList(of) | Arrow::FixedSizeList(of, _) => {
            let element = type_within(of, shallower(depth)?)?;
            match element {
                DataType::Array(_) => return Err(lacking("lists of lists")),
                _ => element.array().ok_or_else(|| lacking("a list of such values"))?,
            }
        }
        other => return Err(lacking(&format!("the type {other} of Arrow, of the column \"{}\",", field.name()))),
    })
}

fn shallower(depth: usize) -> Result<usize> {
    depth.checked_sub(1).ok_or_else(|| lacking("types that are so deep"))
}

/// 0A000.
pub(crate) fn lacking(what: &str) -> Error {
    Error::new(cairndb::SqlState::FEATURE_NOT_SUPPORTED, format!("{what} can not be taken"))
        .with_hint("Take its parts apart, or make it text, before it is handed over.")
}

pub(crate) fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION_NAME).is_some_and(|name| name == JSON)
}

pub(crate) fn is_uuid(field: &Field) -> bool {
    field.metadata().get(EXTENSION_NAME).is_some_and(|name| name == UUID)
}

/// Names and types of the columns of a table that takes all that a schema has.
///
/// # Errors
///
/// As [`sql_type`].
pub fn sql_fields(schema: &Schema) -> Result<Vec<cairndb::Field>> {
    let fields = schema.fields().iter();
    fields.map(|field| Ok(cairndb::Field { name: field.name().clone(), data_type: sql_type(field)? })).collect()
}
