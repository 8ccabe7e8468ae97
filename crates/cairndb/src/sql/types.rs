//! From the parser's type names to [`DataType`]s, with PostgreSQL's limits on modifiers.

use cairn_parser::{BaseType, Expr, Id, IntervalFields, Operator, Tree, TypeName};

use super::names::{dotted, name_text, plain_name};
use crate::error::Feature;
use crate::types::datetime::DIGITS_MAX;
use crate::types::{DataType, IntervalField, IntervalLimit};
use crate::{Error, Result, SqlState};

/// PostgreSQL's limit on `varchar(n)` and `char(n)`.
const LENGTH_MAX: i64 = 10_485_760;
const PRECISION_MAX: i64 = 1000;

/// PostgreSQL's types that the engine has not: refused as such, and not as unknown.
const MISSING: &[(&str, Option<Feature>)] = &[
    ("anyarray", None),
    ("anycompatible", None),
    ("anycompatiblearray", None),
    ("anycompatiblenonarray", None),
    ("anyelement", None),
    ("anyenum", None),
    ("anynonarray", None),
    ("bit", Some(Feature::BitStrings)),
    ("box", None),
    ("circle", None),
    ("cstring", None),
    ("daterange", Some(Feature::Ranges)),
    ("datemultirange", Some(Feature::Ranges)),
    ("int4multirange", Some(Feature::Ranges)),
    ("int4range", Some(Feature::Ranges)),
    ("int8multirange", Some(Feature::Ranges)),
    ("int8range", Some(Feature::Ranges)),
    ("line", None),
    ("lseg", None),
    ("money", Some(Feature::Money)),
    ("nummultirange", Some(Feature::Ranges)),
    ("numrange", Some(Feature::Ranges)),
    ("path", None),
    ("pg_lsn", None),
    ("point", None),
    ("polygon", None),
    ("record", None),
    ("regcollation", None),
    ("regconfig", None),
    ("regdictionary", None),
    ("regoper", None),
    ("regoperator", None),
    ("tid", None),
    ("trigger", None),
    ("tsmultirange", Some(Feature::Ranges)),
    ("tsquery", None),
    ("tsrange", Some(Feature::Ranges)),
    ("tstzmultirange", Some(Feature::Ranges)),
    ("tstzrange", Some(Feature::Ranges)),
    ("tsvector", None),
    ("txid_snapshot", None),
    ("varbit", Some(Feature::BitStrings)),
    ("void", None),
    ("xid", None),
    ("xid8", None),
    ("xml", Some(Feature::Xml)),
];

/// Looks for a type that a user made: by schema, where one is said, and name.
pub(crate) type UsersTypes<'u> = &'u dyn Fn(Option<&str>, &str) -> Result<Option<DataType>>;

/// The type that is written. SERIAL pseudo-types are the caller's (they are not types).
/// `users`: what the name of a type that a user made, and the schema where it is said, means.
pub(crate) fn type_of_syntax(tree: &Tree<'_>, id: Id<TypeName>, users: UsersTypes<'_>) -> Result<DataType> {
    let name = tree.get(id);
    let unsupported = || Error::unsupported(format!("type {}", tree.print(id)));
    if name.set_of || name.of_column {
        return Err(unsupported());
    }
    element_or_array(tree, id, users)
}

/// As `type_of_syntax`, of what a function gives: rows of the type mean the type.
pub(crate) fn element_or_array(tree: &Tree<'_>, id: Id<TypeName>, users: UsersTypes<'_>) -> Result<DataType> {
    let name = tree.get(id);
    let unsupported = || Error::unsupported(format!("type {}", tree.print(id)));
    // How many dimensions and how long they are is no part of the type.
    let element = element_from_syntax(tree, id, &name, users)?;
    if name.bounds.is_empty() { Ok(element) } else { element.array().ok_or_else(unsupported) }
}

fn element_from_syntax(tree: &Tree<'_>, id: Id<TypeName>, name: &TypeName, users: UsersTypes<'_>) -> Result<DataType> {
    let unsupported = || Error::unsupported(format!("type {}", tree.print(id)));
    let modifiers = modifiers(tree, name)?;
    Ok(match name.base {
        BaseType::Boolean => DataType::Boolean,
        BaseType::SmallInt => DataType::SmallInt,
        BaseType::Integer => DataType::Integer,
        BaseType::BigInt => DataType::BigInt,
        BaseType::Real => DataType::Real,
        BaseType::DoublePrecision => DataType::Double,
        // `float(p)` counts bits; the parser has seen that there are 1 to 53.
        BaseType::Float if matches!(modifiers[..], [..=24]) => DataType::Real,
        BaseType::Float => DataType::Double,
        BaseType::Numeric => numeric(&modifiers)?,
        BaseType::Character => DataType::Char(length(&modifiers, "char")?.unwrap_or(1)),
        BaseType::CharacterVarying => DataType::Varchar(length(&modifiers, "varchar")?),
        BaseType::Time => DataType::Time(digits(&modifiers, "TIME")?),
        BaseType::Timestamp => DataType::Timestamp(digits(&modifiers, "TIMESTAMP")?),
        BaseType::TimestampWithTimeZone => DataType::TimestampTz(digits(&modifiers, "TIMESTAMP")?),
        BaseType::Interval => {
            DataType::Interval(IntervalLimit::new(name.fields.map(fields), digits(&modifiers, "INTERVAL")?))
        }
        BaseType::TimeWithTimeZone => DataType::TimeTz(digits(&modifiers, "TIME")?),
        BaseType::Bit | BaseType::BitVarying => return Err(unsupported()),
        BaseType::Named => return named(tree, id, &modifiers, users),
    })
}

/// What stands in the type's parentheses: numbers, or we do not know the type.
fn modifiers(tree: &Tree<'_>, name: &TypeName) -> Result<Vec<i64>> {
    let wrong = || Error::new(SqlState::SYNTAX_ERROR, "type modifiers must be simple constants or identifiers");
    tree.list(name.modifiers).map(|modifier| number(tree, modifier).ok_or_else(wrong)).collect()
}

fn number(tree: &Tree<'_>, expr: Id<Expr>) -> Option<i64> {
    match tree.get(expr) {
        Expr::Integer { text } => tree.text(text).parse().ok(),
        Expr::Unary { operator, operand } => match (tree.get(operator), tree.get(operand)) {
            (Operator::Plain { text }, Expr::Integer { text: digits }) if tree.text(text) == "-" => {
                tree.text(digits).parse().ok().map(|number: i64| -number)
            }
            _ => None,
        },
        _ => None,
    }
}

fn numeric(modifiers: &[i64]) -> Result<DataType> {
    let (precision, scale) = match *modifiers {
        [] => return Ok(DataType::Numeric(None)),
        [precision] => (precision, 0),
        [precision, scale] => (precision, scale),
        _ => return Err(invalid("invalid NUMERIC type modifier")),
    };
    if !(1..=PRECISION_MAX).contains(&precision) {
        return Err(invalid(format!("NUMERIC precision {precision} must be between 1 and 1000")));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(invalid(format!("NUMERIC scale {scale} must be between -1000 and 1000")));
    }
    Ok(DataType::Numeric(Some((precision as u16, scale as i16))))
}

fn length(modifiers: &[i64], name: &str) -> Result<Option<u32>> {
    match *modifiers {
        [] => Ok(None),
        [..=0] => Err(invalid(format!("length for type {name} must be at least 1"))),
        [length @ 1..=LENGTH_MAX] => Ok(Some(length as u32)),
        [_] => Err(invalid(format!("length for type {name} cannot exceed {LENGTH_MAX}"))),
        _ => Err(invalid("invalid type modifier")),
    }
}

/// Digits of seconds: more than microseconds have are as many as these have.
fn digits(modifiers: &[i64], name: &str) -> Result<Option<u8>> {
    match *modifiers {
        [] => Ok(None),
        [digits @ ..=-1] => Err(invalid(format!("{name}({digits}) precision must not be negative"))),
        [digits] => Ok(Some(digits.min(DIGITS_MAX.into()) as u8)),
        _ => Err(invalid("invalid type modifier")),
    }
}

/// The largest and the smallest field.
fn fields(fields: IntervalFields) -> (IntervalField, IntervalField) {
    use IntervalField::*;
    use IntervalFields as F;
    match fields {
        F::Year => (Year, Year),
        F::Month => (Month, Month),
        F::Day => (Day, Day),
        F::Hour => (Hour, Hour),
        F::Minute => (Minute, Minute),
        F::Second => (Second, Second),
        F::YearToMonth => (Year, Month),
        F::DayToHour => (Day, Hour),
        F::DayToMinute => (Day, Minute),
        F::DayToSecond => (Day, Second),
        F::HourToMinute => (Hour, Minute),
        F::HourToSecond => (Hour, Second),
        F::MinuteToSecond => (Minute, Second),
    }
}

/// A type of a user's, or the array type of one by its own name, as `_mood`.
fn of_users(users: UsersTypes<'_>, schema: Option<&str>, name: &str) -> Result<Option<DataType>> {
    match (users(schema, name)?, name.strip_prefix('_')) {
        (None, Some(element)) => Ok(users(schema, element)?.and_then(DataType::array)),
        (known, _) => Ok(known),
    }
}

/// Names that are no words of the grammar.
fn named(tree: &Tree<'_>, id: Id<TypeName>, modifiers: &[i64], users: UsersTypes<'_>) -> Result<DataType> {
    let names = tree.get(id).names;
    let (plain, full) = (plain_name(tree, names).map(|(plain, _)| plain), dotted(tree, names));
    let parts: Vec<&str> = tree.list(names).map(|part| name_text(tree, part)).collect();
    // PostgreSQL looks at the system's types first, unless another schema is said.
    let known = match parts.as_slice() {
        [name] => DataType::from_name(name).map_or_else(|| of_users(users, None, name), |known| Ok(Some(known)))?,
        [schema, name] if *schema != "pg_catalog" => {
            of_users(users, Some(schema), name)?.or_else(|| plain.and_then(DataType::from_name))
        }
        _ => plain.and_then(DataType::from_name),
    };
    let missing = MISSING.iter().find(|(name, _)| Some(*name) == plain);
    match (known, modifiers) {
        (Some(known), []) => Ok(known),
        (Some(DataType::Numeric(_)), _) => numeric(modifiers),
        (Some(DataType::Char(_)), _) => Ok(DataType::Char(length(modifiers, "char")?.unwrap_or(1))),
        (Some(DataType::Varchar(_)), _) => Ok(DataType::Varchar(length(modifiers, "varchar")?)),
        (Some(DataType::Time(_)), _) => Ok(DataType::Time(digits(modifiers, "TIME")?)),
        (Some(DataType::TimeTz(_)), _) => Ok(DataType::TimeTz(digits(modifiers, "TIME")?)),
        (Some(DataType::Timestamp(_)), _) => Ok(DataType::Timestamp(digits(modifiers, "TIMESTAMP")?)),
        (Some(DataType::TimestampTz(_)), _) => Ok(DataType::TimestampTz(digits(modifiers, "TIMESTAMP")?)),
        (Some(_), _) => {
            let message = format!("type modifier is not allowed for type \"{full}\"");
            Err(Error::new(SqlState::SYNTAX_ERROR, message))
        }
        (None, _) => Err(match missing {
            Some((_, Some(feature))) => Error::lacking(*feature, format!("type {}", tree.print(id))),
            Some((_, None)) => Error::unsupported(format!("type {}", tree.print(id))),
            None => Error::undefined_type(full),
        }),
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
