//! Which type converts to which, and when: PostgreSQL's `pg_cast`, plus its conversions through text.

use super::DataType;
use super::composite::CompositeType;
use super::data_type::TypeCategory;
use super::datetime::is_same_for_everyone;
use super::reg::Reg;

/// When a conversion may happen; each also where the ones after it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Anywhere, unasked.
    Implicit,
    /// When storing into a column.
    Assignment,
    /// Only where CAST or `::` is written.
    Explicit,
}

/// The most casual context in which `from` converts to `to`; `None`: never. Modifiers do not matter (fitting to
/// them is part of [`cast`](super::cast) and [`cast_assign`](super::cast_assign)).
pub fn cast_context(from: DataType, to: DataType) -> Option<CastContext> {
    // (A vector is an array; not every array is a vector.)
    if to.is_vector() && from.is_array() && from != to {
        return None;
    }
    let (from, to) = (from.base(), to.base());
    if from == to || from == DataType::Unknown {
        return Some(CastContext::Implicit);
    }
    if let (DataType::Array(from), DataType::Array(to)) = (from, to) {
        return cast_context(from.data_type(), to.data_type());
    }
    if let (DataType::Composite(from), DataType::Composite(to)) = (from, to) {
        return between_rows(from, to);
    }
    catalogued(from, to).or_else(|| through_text(from, to))
}

/// Any row is a `record`, and a `record` becomes what has as many attributes, to which its own convert.
fn between_rows(from: CompositeType, to: CompositeType) -> Option<CastContext> {
    if to.is_record() {
        return Some(CastContext::Implicit);
    }
    let (given, wanted) = (from.attributes(), to.attributes());
    let is_same = from.info().oid == to.info().oid;
    if !from.is_record() || given.is_empty() || given.len() != wanted.len() {
        return (is_same || from.is_record() && given.is_empty()).then_some(CastContext::Implicit);
    }
    let each = given.iter().zip(wanted).map(|(from, to)| cast_context(from.data_type, to.data_type));
    // What it takes for each of them is asked for where the whole is.
    each.collect::<Option<Vec<CastContext>>>().map(|_| CastContext::Implicit)
}

/// `from` converts to `to` where `context` is what the statement offers.
pub fn can_cast(from: DataType, to: DataType, context: CastContext) -> bool {
    cast_context(from, to).is_some_and(|needed| needed <= context)
}

/// The rows of `pg_cast`.
fn catalogued(from: DataType, to: DataType) -> Option<CastContext> {
    use CastContext::*;
    use DataType as T;
    Some(match (from, to) {
        (T::Boolean, T::Integer) | (T::Integer, T::Boolean) => Explicit,
        (T::SmallInt | T::Integer | T::BigInt | T::Numeric(_), T::Real | T::Double) => Implicit,
        (T::Real | T::Double, T::Numeric(_)) => Assignment,
        (T::Real, T::Double) => Implicit,
        (T::Double, T::Real) => Assignment,
        (T::SmallInt | T::Integer | T::BigInt, T::Numeric(_)) => Implicit,
        (T::SmallInt, T::Integer | T::BigInt) | (T::Integer, T::BigInt) => Implicit,
        (T::SmallInt | T::Integer | T::BigInt, T::Oid | T::Reg(_)) => Implicit,
        (T::Oid, T::Reg(_)) | (T::Reg(_), T::Oid) => Implicit,
        (T::Reg(Reg::Proc), T::Reg(Reg::Procedure)) | (T::Reg(Reg::Procedure), T::Reg(Reg::Proc)) => Implicit,
        (T::Text | T::Varchar(_), T::Reg(Reg::Class)) => Implicit,
        (T::Oid | T::Reg(_), T::Integer | T::BigInt) => Assignment,
        (T::Oid | T::Reg(_), _) | (_, T::Oid | T::Reg(_)) if from.is_numeric() && to.is_numeric() => return None,
        (from, to) if from.is_numeric() && to.is_integer() => Assignment,
        (T::InternalChar, T::Text) => Implicit,
        (T::Text | T::Varchar(_) | T::Char(_), T::InternalChar) => Assignment,
        (T::InternalChar, T::Integer) | (T::Integer, T::InternalChar) => Explicit,
        (T::Name, T::Varchar(_) | T::Char(_)) => Assignment,
        (T::Date, T::Timestamp(_) | T::TimestampTz(_)) | (T::Timestamp(_), T::TimestampTz(_)) => Implicit,
        (T::Timestamp(_), T::Date | T::Time(_)) => Assignment,
        (T::TimestampTz(_), T::Date | T::Time(_) | T::TimeTz(_) | T::Timestamp(_)) => Assignment,
        (T::Time(_), T::TimeTz(_)) => Implicit,
        (T::TimeTz(_), T::Time(_)) => Assignment,
        (T::Json, T::Jsonb) | (T::Jsonb, T::Json) => Assignment,
        (T::Jsonb, T::Boolean) => Explicit,
        (T::Jsonb, to) if to.is_numeric() && to != T::Oid && !to.is_reg() => Explicit,
        (T::Time(_), T::Interval(_)) => Implicit,
        (T::Interval(_), T::Time(_)) => Assignment,
        (T::Cidr, T::Inet) | (T::Macaddr, T::Macaddr8) | (T::Macaddr8, T::Macaddr) => Implicit,
        (T::Inet, T::Cidr) => Assignment,
        (T::Citext(_), T::Text | T::Varchar(_)) => Implicit,
        // (The same type, of before it was moved to another schema.)
        (T::Citext(from), T::Citext(to)) => (from.definition().oid == to.definition().oid).then_some(Implicit)?,
        (T::Hstore(from), T::Hstore(to)) => (from.definition().oid == to.definition().oid).then_some(Implicit)?,
        (T::Hstore(_), T::Json | T::Jsonb) => Explicit,
        (T::Array(element), T::Hstore(_)) if element.data_type() == T::Text => Explicit,
        (from, to) if from.is_string() && to.is_string() => Implicit,
        _ => return None,
    })
}

/// Everything can be written as text and read back from it: out by assignment, in by explicit cast only.
fn through_text(from: DataType, to: DataType) -> Option<CastContext> {
    match (from.category(), to.category()) {
        (_, TypeCategory::String) => Some(CastContext::Assignment),
        (TypeCategory::String, _) if to != DataType::Unknown => Some(CastContext::Explicit),
        _ => None,
    }
}

/// The type that values of several types are converted to where they must be of one (PostgreSQL's rules for UNION, CASE and
/// the like); `text` where all are unknown. An error: no type is found for the one at this place and those before, whose
/// common type is told.
pub fn common_type(types: &[DataType]) -> Result<DataType, (usize, DataType)> {
    let mut known = types.iter().enumerate().filter(|(_, data_type)| **data_type != DataType::Unknown);
    let Some((_, &(mut common))) = known.next() else { return Ok(DataType::Text) };
    if types.iter().all(|data_type| *data_type == common) {
        return Ok(common);
    }
    for (at, &next) in known {
        if next.base() == common.base() {
            continue;
        }
        if let (DataType::Composite(one), DataType::Composite(other)) = (common, next)
            && (one.is_record() || other.is_record())
        {
            common = CompositeType::any_record().map_or(common, DataType::Composite);
            continue;
        }
        if next.category() != common.category() {
            return Err((at, common));
        }
        let forth = can_cast(common, next, CastContext::Implicit);
        let back = can_cast(next, common, CastContext::Implicit);
        if !common.is_preferred() && forth && !back {
            common = next;
        }
    }
    Ok(common.base())
}

/// What PostgreSQL holds to give one answer always. (Others look at the session's time zone, at its style of dates, or at
/// the clock: `'now'::timestamp`; or at the names of an enumerated type's values, which may be given others.)
pub fn cast_is_immutable(from: DataType, to: DataType) -> bool {
    let is_named = |data_type: DataType| matches!(data_type.element().unwrap_or(data_type), DataType::Enum(_));
    is_same_for_all(from, to) && !(is_named(from) && to.is_string() || is_named(to) && from.is_string())
}

/// Whether neither session nor clock has a say in it.
fn is_same_for_all(from: DataType, to: DataType) -> bool {
    use TypeCategory::*;
    // An array's elements are converted one by one.
    let (from, to) = (from.element().unwrap_or(from), to.element().unwrap_or(to));
    let moves = |data_type: DataType| match data_type {
        DataType::Composite(of) => of.attributes().iter().any(|attribute| {
            let of = attribute.data_type.element().unwrap_or(attribute.data_type);
            matches!(of.category(), DateTime | Composite)
        }),
        _ => false,
    };
    // A row's attributes likewise.
    if moves(from) || moves(to) {
        return false;
    }
    // A time that has its zone with it is the same everywhere.
    let has_own = from.base() == DataType::TIMETZ && (to.base() == DataType::TIME || to.category() == String);
    // What has a name may be given another.
    let named = from.has_reg() && to.is_string() || to.has_reg() && matches!(from.category(), String | Unknown);
    let zoned = from.base() != to.base() && (from.has_zone() || to.has_zone()) && !has_own;
    let read = matches!((from.category(), to.category()), (String | Unknown, DateTime | Timespan));
    let written =
        to.category() == String && matches!(from.base(), DataType::Date | DataType::TIMESTAMP | DataType::INTERVAL);
    !zoned && !read && !written && !named
}

/// The conversion gives one answer in all sessions: it may be folded at plan time.
pub fn cast_is_fixed(from: DataType, to: DataType) -> bool {
    let (element, target) = (from.element().unwrap_or(from), to.element().unwrap_or(to));
    let styled = matches!(element, DataType::Composite(_) | DataType::Real | DataType::Double | DataType::Bytea);
    is_same_for_all(from, to) && !(styled && target.is_string())
}

/// Dates and times that name a fixed moment whatever the clock, the time zone and the session's style say; intervals that
/// are the same in every style.
pub(crate) fn names_fixed_moment(text: &str, to: DataType) -> bool {
    match to {
        DataType::Date | DataType::Timestamp(_) => is_same_for_everyone(text, false, false),
        DataType::Time(_) => is_same_for_everyone(text, false, true),
        DataType::TimestampTz(_) => is_same_for_everyone(text, true, false),
        DataType::TimeTz(_) => is_same_for_everyone(text, true, true),
        DataType::Interval(_) => !text.trim_start().starts_with('-'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CastContext::*;

    #[test]
    fn contexts_are_those_of_pg_cast() {
        let cases = [
            (DataType::Integer, DataType::BigInt, Some(Implicit)),
            (DataType::BigInt, DataType::Integer, Some(Assignment)),
            (DataType::Boolean, DataType::Integer, Some(Explicit)),
            (DataType::Boolean, DataType::BigInt, None),
            (DataType::Double, DataType::Numeric(None), Some(Assignment)),
            (DataType::Numeric(Some((5, 2))), DataType::Double, Some(Implicit)),
            (DataType::Integer, DataType::Text, Some(Assignment)),
            (DataType::Text, DataType::Integer, Some(Explicit)),
            (DataType::Date, DataType::TIMESTAMP, Some(Implicit)),
            (DataType::TIMESTAMP, DataType::Date, Some(Assignment)),
            (DataType::Date, DataType::Integer, None),
        ];
        for (from, to, expected) in cases {
            assert_eq!(cast_context(from, to), expected, "{from} to {to}");
        }
    }
}
