//! Dates and times that `.datetime()` reads.

use std::cmp::Ordering;
use std::fmt::Write;

use crate::types::datetime::{self, MICROS_PER_SECOND, Zone};
use crate::types::{DataType, EvalContext, TextStyle};
use crate::{Error, Result, SqlState};

/// A date or a time. Zones are seconds east.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Moment {
    Date(i32),
    Time(i64),
    /// The clock's time, and the zone.
    TimeTz(i64, i32),
    Timestamp(i64),
    /// The instant, and the zone that it was written in.
    TimestampTz(i64, i32),
}

impl Moment {
    fn data_type(self) -> DataType {
        match self {
            Moment::Date(_) => DataType::Date,
            Moment::Time(_) => DataType::TIME,
            Moment::TimeTz(..) => DataType::TIMETZ,
            Moment::Timestamp(_) => DataType::TIMESTAMP,
            Moment::TimestampTz(..) => DataType::TIMESTAMPTZ,
        }
    }

    /// As `.type()` names it.
    pub(super) fn type_name(self) -> &'static str {
        self.data_type().type_name()
    }

    /// As it stands in a document.
    pub(super) fn text(self) -> String {
        let mut text = String::new();
        match self {
            Moment::Date(days) => datetime::write_date(days, TextStyle::default(), &mut text),
            Moment::Time(micros) => datetime::write_time(micros, &mut text),
            Moment::TimeTz(micros, east) => {
                datetime::write_time(micros, &mut text);
                write_zone(east, &mut text);
            }
            Moment::Timestamp(micros) => write_local(micros, None, &mut text),
            Moment::TimestampTz(micros, east) => {
                write_local(micros.saturating_add(seconds(east)), Some(east), &mut text);
            }
        }
        text
    }

    /// Its order to another one; `None`: there is none. `zone`: what times without a zone are in, where one may ask.
    ///
    /// # Errors
    ///
    /// SQLSTATE 0A000: one must not.
    pub(super) fn compare(self, other: Moment, zone: Option<&EvalContext>) -> Result<Option<Ordering>> {
        match (self.is_clock(), other.is_clock()) {
            (true, true) => self.compare_clocks(other, zone).map(Some),
            (false, false) => self.compare_days(other, zone).map(Some),
            _ => Ok(None),
        }
    }

    fn is_clock(self) -> bool {
        matches!(self, Moment::Time(_) | Moment::TimeTz(..))
    }

    fn compare_clocks(self, other: Moment, zone: Option<&EvalContext>) -> Result<Ordering> {
        if let (Moment::Time(a), Moment::Time(b)) = (self, other) {
            return Ok(a.cmp(&b));
        }
        // Of two that are the same instant, that farther in the east is less.
        let instant = |moment: Moment| match moment {
            Moment::TimeTz(micros, east) => Ok((micros - seconds(east), -east)),
            Moment::Time(micros) => {
                let eval = asked(zone, self, other)?;
                let local = datetime::timestamp_of(datetime::today(eval), micros).unwrap_or_default();
                let utc = Zone::of(eval).to_utc(local).unwrap_or(local);
                let east = local - utc;
                Ok((micros - east, -((east / MICROS_PER_SECOND) as i32)))
            }
            _ => Err(Error::internal("not a time")),
        };
        Ok(instant(self)?.cmp(&instant(other)?))
    }

    fn compare_days(self, other: Moment, zone: Option<&EvalContext>) -> Result<Ordering> {
        let is_zoned = [self, other].iter().any(|moment| matches!(moment, Moment::TimestampTz(..)));
        let micros = |moment: Moment| {
            let local = match moment {
                Moment::TimestampTz(micros, _) => return Ok(i128::from(micros)),
                Moment::Timestamp(micros) => i128::from(micros),
                Moment::Date(days) => i128::from(days) * i128::from(datetime::MICROS_PER_DAY),
                _ => return Err(Error::internal("not a day")),
            };
            if !is_zoned {
                return Ok(local);
            }
            let zone = Zone::of(asked(zone, self, other)?);
            // What no timestamp can hold is beyond all of them in any zone.
            let utc = i64::try_from(local).ok().and_then(|local| zone.to_utc(local));
            Ok(utc.map_or(local, i128::from))
        };
        Ok(micros(self)?.cmp(&micros(other)?))
    }
}

/// Where the session's zone is found, for a comparison that needs it.
fn asked(zone: Option<&EvalContext>, a: Moment, b: Moment) -> Result<&EvalContext> {
    let is_zoned = |moment| matches!(moment, Moment::TimeTz(..) | Moment::TimestampTz(..));
    let (from, to) = if is_zoned(a) { (b, a) } else { (a, b) };
    zone.ok_or_else(|| {
        let (from, to) = (from.data_type().catalog_name(), to.data_type().catalog_name());
        let message = format!("cannot convert value from {from} to {to} without time zone usage");
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint("Use *_tz() function for time zone support.")
    })
}

fn seconds(count: i32) -> i64 {
    i64::from(count) * MICROS_PER_SECOND
}

fn write_local(micros: i64, east: Option<i32>, out: &mut String) {
    let (days, time) = datetime::split_timestamp(micros);
    let mut date = String::new();
    datetime::write_date(i32::try_from(days).unwrap_or_default(), TextStyle::default(), &mut date);
    let (date, era) = match date.strip_suffix(" BC") {
        Some(date) => (date, " BC"),
        None => (&*date, ""),
    };
    out.push_str(date);
    out.push('T');
    datetime::write_time(time, out);
    if let Some(east) = east {
        write_zone(east, out);
    }
    out.push_str(era);
}

fn write_zone(east: i32, out: &mut String) {
    let sign = if east < 0 { '-' } else { '+' };
    let minutes = east.abs() / 60;
    // Writing to a String cannot fail.
    _ = write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
}
