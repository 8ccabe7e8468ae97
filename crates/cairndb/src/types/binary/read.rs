//! Bytes to values.

use super::numeric::read_numeric;
use super::write::VERSION;
use crate::types::cast::fit_string_assigned;
use crate::types::datetime::TimeTz;
use crate::types::datetime::{
    MICROS_PER_DAY, checked_date, checked_timestamp, is_infinite, is_infinite_date, round_time, round_timestamp,
};
use crate::types::network::mac8_of_mac;
use crate::types::text::{internal_char, utf8};
use crate::types::{
    Array, Composite, CompositeType, DataType, Dimension, EvalContext, ExtensionType, Hstore, Inet, Interval, RegValue,
    TYPES, Value, count_of, from_text,
};
use crate::{Error, Result, SqlState};

/// Arrays of arrays of rows, and so on, of which each takes some of the stack.
const DEPTH_MAX: usize = 64;
/// The most dimensions of an array.
const DIMENSIONS_MAX: i32 = 6;

/// The value of a type that all of the bytes are. SQLSTATE 22P03 and 08P01 where they are of another form, and those of the
/// type's own input.
///
/// ```
/// use cairndb::{DataType, Value, read_binary};
///
/// assert!(matches!(read_binary(&[0, 0, 0, 7], DataType::Integer)?, Value::Integer(7)));
/// assert_eq!(read_binary(&[7], DataType::Integer).unwrap_err().sqlstate().as_str(), "08P01");
/// # Ok::<(), cairndb::Error>(())
/// ```
pub fn read_binary(bytes: &[u8], data_type: DataType) -> Result<Value> {
    whole(bytes, data_type, 0, || "incorrect binary data format".to_owned())
}

fn whole(bytes: &[u8], data_type: DataType, depth: usize, wrong: impl Fn() -> String) -> Result<Value> {
    let mut input = Input { rest: bytes, depth };
    let value = read(&mut input, data_type)?;
    if input.rest.is_empty() { Ok(value) } else { Err(invalid(wrong())) }
}

/// SQLSTATE 22P03.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
}

/// Bytes that are still to be read.
pub(super) struct Input<'a> {
    rest: &'a [u8],
    /// In how many other values these are.
    depth: usize,
}

impl<'a> Input<'a> {
    /// SQLSTATE 08P01.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let missing = || Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message");
        let (first, rest) = self.rest.split_first_chunk::<N>().ok_or_else(missing)?;
        self.rest = rest;
        Ok(*first)
    }

    fn int(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    fn long(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// The bytes of a value with its length before it; `None`: NULL. SQLSTATE 22P03.
    fn part(&mut self) -> Result<Option<&'a [u8]>> {
        let length = self.int()?;
        if length == -1 {
            return Ok(None);
        }
        let part = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (part, rest) = part.ok_or_else(|| invalid("insufficient data left in message"))?;
        self.rest = rest;
        Ok(Some(part))
    }
}

fn read(input: &mut Input<'_>, data_type: DataType) -> Result<Value> {
    use DataType as T;
    let fixed = EvalContext::default();
    Ok(match data_type {
        T::Boolean => Value::Boolean(input.array::<1>()? != [0]),
        T::SmallInt => Value::SmallInt(i16::from_be_bytes(input.array()?)),
        T::Integer => Value::Integer(input.int()?),
        T::BigInt => Value::BigInt(input.long()?),
        T::Reg(of) => Value::Reg(RegValue { of, oid: input.int()?.cast_unsigned() }),
        T::Oid => Value::BigInt(input.int()?.cast_unsigned().into()),
        T::InternalChar => match input.array::<1>()? {
            [0] => Value::text(""),
            [byte] => Value::text(internal_char(&char::from(byte).to_string())?),
        },
        T::Real => Value::Real(f32::from_be_bytes(input.array()?)),
        T::Double => Value::Double(f64::from_be_bytes(input.array()?)),
        T::Numeric(modifiers) => {
            let value = read_numeric(input)?;
            Value::Numeric(match modifiers {
                Some((precision, scale)) => value.fit(precision, scale)?,
                None => value,
            })
        }
        T::Text | T::Varchar(_) | T::Char(_) | T::Name | T::Void | T::RegName(_) | T::Unknown => {
            Value::Text(fit_string_assigned(utf8(input.all())?, data_type)?)
        }
        T::Bytea => Value::Bytea(input.all().into()),
        T::Date => Value::Date(date(input.int()?)?),
        T::Time(digits) => Value::Time(round_time(time(input.long()?)?, digits)),
        T::TimeTz(digits) => {
            let (micros, west) = (time(input.long()?)?, input.int()?);
            let time = west.checked_neg().and_then(|east| TimeTz::new(micros, east));
            let time = time.ok_or_else(|| {
                Error::new(SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE, "time zone displacement out of range")
            })?;
            Value::TimeTz(time.rounded(digits).packed())
        }
        T::Timestamp(digits) => Value::Timestamp(round_timestamp(timestamp(input.long()?)?, digits)),
        T::TimestampTz(digits) => Value::TimestampTz(round_timestamp(timestamp(input.long()?)?, digits)),
        T::Interval(limit) => {
            let (micros, days, months) = (input.long()?, input.int()?, input.int()?);
            let interval = Interval { months, days, micros };
            Value::Interval(limit.map_or(interval, |limit| limit.fit(interval)))
        }
        T::Uuid => Value::Uuid(input.array()?),
        T::Inet => Value::Inet(Inet::from_wire(input.all(), "inet")?),
        T::Cidr => {
            let network = Some(Inet::from_wire(input.all(), "cidr")?).filter(Inet::is_network);
            let refused =
                || invalid("invalid external \"cidr\" value").with_detail("Value has bits set to right of mask.");
            Value::Cidr(network.ok_or_else(refused)?)
        }
        T::Macaddr => Value::Macaddr(input.array()?),
        T::Macaddr8 => match input.all() {
            [a, b, c, d, e, f] => Value::Macaddr8(mac8_of_mac([*a, *b, *c, *d, *e, *f])),
            bytes => {
                let eight = bytes.try_into().map_err(|_| invalid("incorrect binary data format"))?;
                Value::Macaddr8(eight)
            }
        },
        T::Json | T::Citext(_) | T::Enum(_) => from_text(utf8(input.all())?, data_type, &fixed)?,
        T::Hstore(of) => Value::Hstore(read_hstore(input, of)?),
        T::Jsonb | T::JsonPath => {
            let [version] = input.array()?;
            if version != VERSION {
                let (name, colon) = if data_type == T::Jsonb { ("jsonb", "") } else { ("jsonpath", ":") };
                let message = format!("unsupported {name} version number{colon} {version}");
                return Err(Error::new(SqlState::INTERNAL_ERROR, message));
            }
            from_text(utf8(input.all())?, data_type, &fixed)?
        }
        T::Array(_) | T::Composite(_) if input.depth >= DEPTH_MAX => {
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "values are nested too deep"));
        }
        T::Array(element) => read_array(input, element.data_type())?.of_type(element).into(),
        T::Composite(of) => read_row(input, of)?.into(),
    })
}

/// A key that is NULL has no place. SQLSTATE 22004, 22P03.
fn read_hstore(input: &mut Input<'_>, of: ExtensionType) -> Result<Hstore> {
    let count = input.int()?;
    if count < 0 {
        return Err(invalid("insufficient data left in message"));
    }
    let mut pairs = Vec::new();
    for _ in 0..count {
        let no_key = || Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "null value not allowed for hstore key");
        let key = utf8(input.part()?.ok_or_else(no_key)?)?;
        pairs.push((key, input.part()?.map(utf8).transpose()?));
    }
    Hstore::new(of, pairs)
}

fn out_of_range(what: &str) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range"))
}

fn date(days: i32) -> Result<i32> {
    if is_infinite_date(days) { Ok(days) } else { checked_date(days.into()).ok_or_else(|| out_of_range("date")) }
}

fn time(micros: i64) -> Result<i64> {
    if (0..=MICROS_PER_DAY).contains(&micros) { Ok(micros) } else { Err(out_of_range("time")) }
}

fn timestamp(micros: i64) -> Result<i64> {
    match is_infinite(micros) {
        true => Ok(micros),
        false => checked_timestamp(micros.into()).ok_or_else(|| out_of_range("timestamp")),
    }
}

/// What PostgreSQL calls a type of this number, as far as it is built in.
fn type_name(oid: u32) -> &'static str {
    TYPES.iter().find(|info| info.oid == oid).map_or("???", |info| info.base.type_name())
}

/// Whether a type's number in the data is that of another type than is expected. As in PostgreSQL that counts only between
/// types whose numbers are the same in all databases.
fn are_known_apart(said: u32, expected: u32) -> bool {
    const FIXED_MAX: u32 = 9_999;
    said != expected && said <= FIXED_MAX && expected <= FIXED_MAX
}

fn read_array(input: &mut Input<'_>, element: DataType) -> Result<Array> {
    let (count, flags, oid) = (input.int()?, input.int()?, u32::from_be_bytes(input.array()?));
    if count < 0 {
        return Err(invalid(format!("invalid number of dimensions: {count}")));
    }
    if count > DIMENSIONS_MAX {
        return Err(crate::types::too_many_dimensions(count as usize));
    }
    if !matches!(flags, 0 | 1) {
        return Err(invalid("invalid array flags"));
    }
    if are_known_apart(oid, element.oid()) {
        let (said, expected) = (type_name(oid), element.type_name());
        let message = format!(
            "binary data has array element type {oid} ({said}) instead of expected {} ({expected})",
            element.oid()
        );
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    let mut dimensions = Vec::new();
    for _ in 0..count {
        let (length, lower) = (input.int()?, input.int()?);
        let too_many = || {
            let message = "array size exceeds the maximum allowed (134217727)";
            Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        };
        let length = usize::try_from(length).map_err(|_| too_many())?;
        let dimension = Dimension { lower, length };
        if i32::try_from(dimension.upper() + 1).is_err() {
            let message = format!("array lower bound is too large: {lower}");
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        dimensions.push(dimension);
    }
    let mut values = Vec::new();
    for at in 1..=count_of(&dimensions)? {
        let wrong = || format!("improper binary format in array element {at}");
        values.push(match input.part()? {
            Some(part) => whole(part, element, input.depth + 1, wrong)?,
            None => Value::Null,
        });
    }
    Array::with_dimensions(element, &dimensions, values)
}

fn read_row(input: &mut Input<'_>, of: CompositeType) -> Result<Composite> {
    if of.is_record() {
        let message = "input of anonymous composite types is not implemented";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let (count, attributes) = (input.int()?, of.attributes());
    if usize::try_from(count) != Ok(attributes.len()) {
        let message = format!("wrong number of columns: {count}, expected {}", attributes.len());
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    let mut values = Vec::with_capacity(attributes.len());
    for (at, attribute) in attributes.iter().enumerate() {
        let oid = u32::from_be_bytes(input.array()?);
        let (expected, column) = (attribute.data_type, at + 1);
        if are_known_apart(oid, expected.oid()) {
            let message = format!(
                "binary data has type {oid} ({}) instead of expected {} ({}) in record column {column}",
                type_name(oid),
                expected.oid(),
                expected.type_name()
            );
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let wrong = || format!("improper binary format in record column {column}");
        values.push(match input.part()? {
            Some(part) => whole(part, expected, input.depth + 1, wrong)?,
            None => Value::Null,
        });
    }
    Ok(Composite::new(of, values))
}
