//! Text to dates, times, timestamps and intervals, with PostgreSQL's errors.

use super::calendar::{
    MICROS_PER_DAY, UNIX_EPOCH_DAYS, UNIX_EPOCH_MICROS, checked_date, split_timestamp, timestamp_of,
};
use super::fields::{self, Fault, Fields, Special};
use super::interval;
use super::iso;
use super::limit::IntervalLimit;
use super::timetz::TimeTz;
use super::zone::Zone;
use crate::types::{DateOrder, EvalContext, Interval, IntervalStyle};
use crate::{Error, Result, SqlState};

/// Reads a `date`.
pub fn parse_date(text: &str, context: &EvalContext) -> Result<i32> {
    if let Some(days) = iso::date(text).and_then(checked_date) {
        return Ok(days);
    }
    let fields = fields::parse(text, context.style.order).map_err(|fault| fault.error("date", text))?;
    let days = match fields.special {
        Some(Special::Infinity) => return Ok(i32::MAX),
        Some(Special::NegativeInfinity) => return Ok(i32::MIN),
        Some(Special::Epoch) => -UNIX_EPOCH_DAYS,
        Some(Special::Now) => today(context),
        Some(Special::Today(days)) => today(context) + days,
        None => fields.date.ok_or_else(|| Fault::Syntax.error("date", text))?,
    };
    checked_date(days).ok_or_else(|| out_of_range("date", text))
}

/// Reads a `time`.
pub fn parse_time(text: &str, context: &EvalContext) -> Result<i64> {
    let fields = fields::parse_clock_first(text, context.style.order).map_err(|fault| fault.error("time", text))?;
    match (fields.special, fields.time) {
        (Some(Special::Now), _) => Ok(split_timestamp(Zone::of(context).to_local(context.transaction_timestamp)).1),
        (None, Some(micros)) => Ok(micros),
        _ => Err(Fault::Syntax.error("time", text)),
    }
}

/// Reads a `timetz`: in the zone in the text, or in the session's. Where the clocks of that change, it is the time of the date in
/// the text, or of today; a zone that the text names in full asks for a date.
pub fn parse_timetz(text: &str, context: &EvalContext) -> Result<TimeTz> {
    const NAME: &str = "time with time zone";
    let fields = fields::parse_clock_first(text, context.style.order).map_err(|fault| fault.error(NAME, text))?;
    let micros = match (fields.special, fields.time) {
        (Some(Special::Now), _) => {
            let (now, zone) = (context.transaction_timestamp, Zone::of(context));
            return TimeTz::local(split_timestamp(zone.to_local(now)).1, zone.offset_at(now));
        }
        (None, Some(micros)) => micros,
        _ => return Err(Fault::Syntax.error(NAME, text)),
    };
    let east = match (fields.zone, fields.date) {
        (Some(Zone::Fixed(east)), _) => east,
        (Some(Zone::Named(_)), None) => return Err(Fault::Syntax.error(NAME, text)),
        (zone, date) => {
            let local = timestamp_of(date.unwrap_or_else(|| today(context)), micros).unwrap_or(micros);
            zone.unwrap_or_else(|| Zone::of(context)).offset_for_local(local)
        }
    };
    TimeTz::local(micros, east)
}

/// Reads a `timestamp`; a zone in the text is ignored.
pub fn parse_timestamp(text: &str, context: &EvalContext) -> Result<i64> {
    if let Some((days, micros)) = iso::timestamp(text)
        && let Some(timestamp) = timestamp_of(days, micros)
    {
        return Ok(timestamp);
    }
    let fields = fields::parse(text, context.style.order).map_err(|fault| fault.error("timestamp", text))?;
    local_timestamp(&fields, context)
        .ok_or_else(|| Fault::Syntax.error("timestamp", text))?
        .ok_or_else(|| out_of_range("timestamp", text))
}

/// Reads a `timestamptz`: local to the zone in the text, or to the session's.
pub fn parse_timestamptz(text: &str, context: &EvalContext) -> Result<i64> {
    const NAME: &str = "timestamp with time zone";
    if let Some((days, micros, east)) = iso::zoned_timestamp(text)
        && let Some(local) = timestamp_of(days, micros)
        && let Some(timestamp) = east.map_or_else(|| Zone::of(context), Zone::Fixed).to_utc(local)
    {
        return Ok(timestamp);
    }
    let fields = fields::parse(text, context.style.order).map_err(|fault| fault.error(NAME, text))?;
    match fields.special {
        Some(Special::Now) => return Ok(context.transaction_timestamp),
        Some(Special::Epoch) => return Ok(-UNIX_EPOCH_MICROS),
        _ => {}
    }
    let local = local_timestamp(&fields, context).ok_or_else(|| Fault::Syntax.error(NAME, text))?;
    let zone = fields.zone.unwrap_or_else(|| Zone::of(context));
    local.and_then(|local| zone.to_utc(local)).ok_or_else(|| out_of_range("timestamp", text))
}

/// Whether a text means the same whoever reads it as a date, time or timestamp, and whenever: in every order of days, months and
/// years; with a zone of its own where the type (`zoned`) has one. What is wrong however it is read is that, too.
pub(crate) fn is_same_for_everyone(text: &str, zoned: bool, is_time: bool) -> bool {
    if !zoned && (iso::date(text).is_some() || iso::timestamp(text).is_some()) {
        return true;
    }
    let read = |order| {
        let fields = if is_time { fields::parse_clock_first(text, order) } else { fields::parse(text, order) };
        fields.map_err(drop)
    };
    let parts = |fields: Result<Fields, ()>| fields.map(|fields| (fields.special, fields.date, fields.time));
    let first = read(DateOrder::Mdy);
    let is_fixed = match &first {
        Err(()) => true,
        Ok(Fields { special: Some(Special::Now | Special::Today(_)), .. }) => false,
        Ok(Fields { special: Some(_), .. }) => true,
        Ok(Fields { zone: Some(Zone::Fixed(_)), .. }) => true,
        // What its offset is depends on the date.
        Ok(Fields { zone: Some(_), date, .. }) => !zoned || date.is_some(),
        Ok(Fields { zone: None, .. }) => !zoned,
    };
    let first = parts(first);
    is_fixed && [DateOrder::Dmy, DateOrder::Ymd].into_iter().all(|order| parts(read(order)) == first)
}

/// `None`: there is no date. `Some(None)`: out of range.
fn local_timestamp(fields: &Fields, context: &EvalContext) -> Option<Option<i64>> {
    let time = fields.time.unwrap_or(0);
    let days = match fields.special {
        Some(Special::Infinity) => return Some(Some(i64::MAX)),
        Some(Special::NegativeInfinity) => return Some(Some(i64::MIN)),
        Some(Special::Epoch) => return Some(Some(-UNIX_EPOCH_MICROS)),
        Some(Special::Now) => return Some(Some(Zone::of(context).to_local(context.transaction_timestamp))),
        Some(Special::Today(days)) => today(context) + days,
        None => fields.date?,
    };
    Some(timestamp_of(days, time))
}

/// The session's date at the transaction's start.
pub fn today(context: &EvalContext) -> i64 {
    split_timestamp(Zone::of(context).to_local(context.transaction_timestamp)).0
}

/// Reads an `interval`, of which the limit may say what its numbers count.
pub fn parse_interval(text: &str, limit: Option<IntervalLimit>, style: IntervalStyle) -> Result<Interval> {
    let interval = interval::parse(text, limit, style).map_err(|fault| fault.interval_error(text))?;
    Ok(limit.map_or(interval, |limit| limit.fit(interval)))
}

impl Fault {
    fn error(self, type_name: &str, text: &str) -> Error {
        match self {
            Fault::Syntax => Error::new(
                SqlState::INVALID_DATETIME_FORMAT,
                format!("invalid input syntax for type {type_name}: \"{text}\""),
            ),
            Fault::FieldRange => {
                Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""))
            }
            Fault::Range => Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{type_name} out of range")),
            Fault::Displacement => Error::new(
                SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                format!("time zone displacement out of range: \"{text}\""),
            ),
            Fault::Zone(name) => {
                Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
            }
        }
    }

    fn interval_error(self, text: &str) -> Error {
        match self {
            Fault::FieldRange => {
                Error::new(SqlState::INTERVAL_FIELD_OVERFLOW, format!("interval field value out of range: \"{text}\""))
            }
            other => other.error("interval", text),
        }
    }
}

fn out_of_range(type_name: &str, text: &str) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{type_name} out of range: \"{text}\""))
}

/// A `time` from microseconds that may lie outside one day, wrapped into it.
pub fn wrap_time(micros: i64) -> i64 {
    micros.rem_euclid(MICROS_PER_DAY)
}
