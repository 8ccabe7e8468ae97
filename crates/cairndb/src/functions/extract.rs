//! `extract`, `date_part`, `date_trunc`: parts of dates, times and intervals.

use super::catalogue::Catalogue;
use super::support::{call, invalid_parameter};
use super::temporal::timestamp_overflow;
use crate::types::datetime::TimeTz;
use crate::types::datetime::{
    Civil, JULIAN_EPOCH, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, UNIX_EPOCH_MICROS,
    Zone, day_of_week, day_of_year, is_infinite, is_infinite_date, iso_week, iso_week_start, split_timestamp,
    timestamp_of,
};
use crate::types::{DataType, Interval, Numeric, Value, date_to_timestamp, to_utc};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;
const SECONDS_PER_DAY: i64 = MICROS_PER_DAY / MICROS_PER_SECOND;

pub(super) fn register(catalogue: &mut Catalogue) {
    extracts(catalogue);
    date_parts(catalogue);
    truncations(catalogue);
}

fn extracts(catalogue: &mut Catalogue) {
    use DataType::*;
    const N: DataType = DataType::Numeric(None);
    catalogue.add("extract", &[TEXT, Date], N, call!((Text unit, Date d) from_date(unit, *d).map(exact))).bounded();
    catalogue
        .add("extract", &[TEXT, DataType::TIME], N, call!((Text unit, Time t) from_time(unit, *t).map(exact)))
        .bounded();
    const ZONED: DataType = DataType::TIMETZ;
    catalogue
        .add("extract", &[TEXT, ZONED], N, call!((Text unit, TimeTz t) from_zoned_time(unit, *t).map(exact)))
        .bounded();
    catalogue
        .add(
            "extract",
            &[TEXT, DataType::TIMESTAMP],
            N,
            call!((Text unit, Timestamp t) {
                from_timestamp(unit, *t, DataType::TIMESTAMP, None).map(exact)
            }),
        )
        .bounded();
    catalogue
        .add(
            "extract",
            &[TEXT, DataType::TIMESTAMPTZ],
            N,
            call!((Text unit, TimestampTz t), context {
                from_instant(unit, *t, &Zone::of(context)).map(exact)
            }),
        )
        .bounded()
        .stable();
    catalogue
        .add(
            "extract",
            &[TEXT, DataType::INTERVAL],
            N,
            call!((Text unit, Interval i) from_interval(unit, *i).map(exact)),
        )
        .bounded();
}

fn date_parts(catalogue: &mut Catalogue) {
    use DataType::*;
    catalogue
        .add(
            "date_part",
            &[TEXT, Date],
            Double,
            call!((Text unit, Date d) {
                from_timestamp(unit, date_to_timestamp(*d)?, DataType::TIMESTAMP, None).map(rounded)
            }),
        )
        .bounded();
    catalogue
        .add("date_part", &[TEXT, DataType::TIME], Double, call!((Text unit, Time t) from_time(unit, *t).map(rounded)))
        .bounded();
    catalogue
        .add(
            "date_part",
            &[TEXT, DataType::TIMETZ],
            Double,
            call!((Text unit, TimeTz t) from_zoned_time(unit, *t).map(rounded)),
        )
        .bounded();
    catalogue
        .add(
            "date_part",
            &[TEXT, DataType::TIMESTAMP],
            Double,
            call!((Text unit, Timestamp t) {
                from_timestamp(unit, *t, DataType::TIMESTAMP, None).map(rounded)
            }),
        )
        .bounded();
    catalogue
        .add(
            "date_part",
            &[TEXT, DataType::TIMESTAMPTZ],
            Double,
            call!((Text unit, TimestampTz t), context {
                from_instant(unit, *t, &Zone::of(context)).map(rounded)
            }),
        )
        .bounded()
        .stable();
    catalogue
        .add(
            "date_part",
            &[TEXT, DataType::INTERVAL],
            Double,
            call!((Text unit, Interval i) {
                from_interval(unit, *i).map(rounded)
            }),
        )
        .bounded();
}

/// A part; `None`: an infinite date has no such part.
type Part = Option<Numeric>;

fn exact(part: Part) -> Value {
    part.map_or(Value::Null, Value::Numeric)
}

fn rounded(part: Part) -> Value {
    part.map_or(Value::Null, |part| Value::Double(part.to_f64()))
}

/// The parts that units name.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Unit {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    Julian,
    IsoYear,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Epoch,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

impl Unit {
    fn find(name: &str) -> Option<Unit> {
        use Unit::*;
        Some(match name {
            "microsecond" | "microseconds" | "us" | "usec" | "usecs" => Microseconds,
            "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => Milliseconds,
            "second" | "seconds" | "s" | "sec" | "secs" => Second,
            "minute" | "minutes" | "m" | "min" | "mins" => Minute,
            "hour" | "hours" | "h" | "hr" | "hrs" => Hour,
            "day" | "days" | "d" => Day,
            "week" | "weeks" | "w" => Week,
            "month" | "months" | "mon" | "mons" => Month,
            "quarter" | "qtr" => Quarter,
            "year" | "years" | "y" | "yr" | "yrs" => Year,
            "decade" | "decades" | "dec" | "decs" => Decade,
            "century" | "centuries" | "c" | "cent" => Century,
            "millennium" | "millennia" | "mil" | "mils" => Millennium,
            "julian" => Julian,
            "isoyear" => IsoYear,
            "dow" => DayOfWeek,
            "isodow" => IsoDayOfWeek,
            "doy" => DayOfYear,
            "epoch" => Epoch,
            "timezone" => Timezone,
            "timezone_hour" => TimezoneHour,
            "timezone_minute" => TimezoneMinute,
            _ => return None,
        })
    }

    fn parse(name: &str, of: DataType) -> Result<Unit> {
        Unit::find(&name.to_ascii_lowercase()).ok_or_else(|| unrecognized(name, of))
    }

    /// Grows without bound with time, so an infinite date has an infinite one.
    fn is_monotonic(self) -> bool {
        use Unit::*;
        matches!(self, Year | Decade | Century | Millennium | Julian | IsoYear | Epoch)
    }
}

fn unrecognized(name: &str, of: DataType) -> Error {
    invalid_parameter(format!("unit \"{}\" not recognized for type {}", name.to_ascii_lowercase(), of.type_name()))
}

fn unsupported(name: &str, of: DataType) -> Error {
    let message = format!("unit \"{}\" not supported for type {}", name.to_ascii_lowercase(), of.type_name());
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn whole(value: i64) -> Part {
    Some(Numeric::from(value))
}

fn infinite(unit: Unit, positive: bool) -> Part {
    let infinity = if positive { Numeric::INFINITY } else { Numeric::NEGATIVE_INFINITY };
    unit.is_monotonic().then_some(infinity)
}

fn from_date(name: &str, days: i32) -> Result<Part> {
    let unit = Unit::parse(name, DataType::Date)?;
    if is_infinite_date(days) {
        let supported = matches!(unit, Unit::Epoch | Unit::Julian) || calendar_part(unit, 0).is_some();
        return if supported { Ok(infinite(unit, days > 0)) } else { Err(unsupported(name, DataType::Date)) };
    }
    let days = i64::from(days);
    match unit {
        Unit::Epoch => Ok(whole((days * SECONDS_PER_DAY) + UNIX_EPOCH_MICROS / MICROS_PER_SECOND)),
        Unit::Julian => Ok(whole(days + JULIAN_EPOCH)),
        _ => calendar_part(unit, days).map(whole).ok_or_else(|| unsupported(name, DataType::Date)),
    }
}

/// The parts of a day of the calendar.
fn calendar_part(unit: Unit, days: i64) -> Option<i64> {
    let civil = Civil::from_days(days);
    let year = civil.year;
    Some(match unit {
        Unit::Day => civil.day.into(),
        Unit::Month => civil.month.into(),
        Unit::Quarter => i64::from(civil.month - 1) / 3 + 1,
        Unit::Week => iso_week(days).1,
        Unit::Year => shown_year(year),
        Unit::Decade => year.div_euclid(10),
        Unit::Century => period(year, 100),
        Unit::Millennium => period(year, 1000),
        Unit::IsoYear => shown_year(iso_week(days).0),
        Unit::DayOfWeek => day_of_week(days),
        Unit::IsoDayOfWeek => (day_of_week(days) + 6) % 7 + 1,
        Unit::DayOfYear => day_of_year(days),
        _ => return None,
    })
}

/// There is no year 0: 1 BC is -1.
fn shown_year(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

/// Centuries and millennia count from 1, before Christ from -1.
fn period(year: i64, length: i64) -> i64 {
    if year > 0 { (year + length - 1) / length } else { -((length - 1 - (year - 1)) / length) }
}

/// The parts of a time of day (or of any span of hours).
fn clock_part(unit: Unit, micros: i64) -> Part {
    let scaled = |value: i64, scale: u16| Some(Numeric::small(value, scale));
    let in_minute = micros % MICROS_PER_MINUTE;
    match unit {
        Unit::Microseconds => whole(in_minute),
        Unit::Milliseconds => scaled(in_minute, 3),
        Unit::Second => scaled(in_minute, 6),
        Unit::Minute => whole(micros / MICROS_PER_MINUTE % 60),
        Unit::Hour => whole(micros / MICROS_PER_HOUR),
        _ => None,
    }
}

fn from_time(name: &str, micros: i64) -> Result<Part> {
    match Unit::parse(name, DataType::TIME)? {
        Unit::Epoch => Ok(Some(Numeric::small(micros, 6))),
        unit => clock_part(unit, micros).map(Some).ok_or_else(|| unsupported(name, DataType::TIME)),
    }
}

fn from_zoned_time(name: &str, packed: i64) -> Result<Part> {
    let time = TimeTz::of_packed(packed);
    match Unit::parse(name, DataType::TIMETZ)? {
        Unit::Epoch => Ok(Some(Numeric::small(time.utc_micros(), 6))),
        unit => zone_part(unit, time.east())
            .or_else(|| clock_part(unit, time.micros()))
            .map(Some)
            .ok_or_else(|| unsupported(name, DataType::TIMETZ)),
    }
}

/// The parts of a zone, which is so many seconds east.
fn zone_part(unit: Unit, east: i32) -> Part {
    match unit {
        Unit::Timezone => whole(east.into()),
        Unit::TimezoneHour => whole((east / 3600).into()),
        Unit::TimezoneMinute => whole((east / 60 % 60).into()),
        _ => None,
    }
}

/// `offset`: seconds east, where the type has a zone.
fn from_timestamp(name: &str, micros: i64, of: DataType, offset: Option<i32>) -> Result<Part> {
    let unit = Unit::parse(name, of)?;
    if is_infinite(micros) {
        return Ok(infinite(unit, micros > 0));
    }
    let (days, time) = split_timestamp(micros);
    let utc_micros = i128::from(micros) - i128::from(offset.unwrap_or(0)) * i128::from(MICROS_PER_SECOND);
    let part = match (unit, offset) {
        (Unit::Epoch, _) => Some(Numeric::from_i128(utc_micros + i128::from(UNIX_EPOCH_MICROS), 6)),
        (Unit::Julian, _) => {
            let fraction = Numeric::from(time).div(&Numeric::from(MICROS_PER_DAY))?;
            Some(Numeric::from(days + JULIAN_EPOCH).add(&fraction)?)
        }
        (Unit::Timezone | Unit::TimezoneHour | Unit::TimezoneMinute, Some(offset)) => zone_part(unit, offset),
        _ => calendar_part(unit, days).and_then(whole).or_else(|| clock_part(unit, time)),
    };
    part.map(Some).ok_or_else(|| unsupported(name, of))
}

fn from_instant(name: &str, micros: i64, zone: &Zone) -> Result<Part> {
    from_timestamp(name, zone.to_local(micros), DataType::TIMESTAMPTZ, Some(zone.offset_at(micros)))
}

fn from_interval(name: &str, interval: Interval) -> Result<Part> {
    let unit = Unit::parse(name, DataType::INTERVAL)?;
    let (years, months) = (i64::from(interval.months) / 12, i64::from(interval.months) % 12);
    let part = match unit {
        Unit::Day => whole(interval.days.into()),
        Unit::Month => whole(months),
        Unit::Quarter => whole(months / 3 + 1),
        Unit::Year => whole(years),
        Unit::Decade => whole(years / 10),
        Unit::Century => whole(years / 100),
        Unit::Millennium => whole(years / 1000),
        Unit::Epoch => {
            // A year of 365.25 days.
            let days = i128::from(years) * 1461 * 6 + (i128::from(months) * 30 + i128::from(interval.days)) * 24;
            let micros = days * i128::from(MICROS_PER_HOUR) + i128::from(interval.micros);
            Some(Numeric::from_i128(micros, 6))
        }
        _ => clock_part(unit, interval.micros),
    };
    part.map(Some).ok_or_else(|| unsupported(name, DataType::INTERVAL))
}

fn truncations(catalogue: &mut Catalogue) {
    catalogue
        .add(
            "date_trunc",
            &[TEXT, DataType::TIMESTAMP],
            DataType::TIMESTAMP,
            call!((Text unit, Timestamp t) {
                truncate(unit, *t, DataType::TIMESTAMP).map(Value::Timestamp)
            }),
        )
        .bounded();
    catalogue
        .add(
            "date_trunc",
            &[TEXT, DataType::TIMESTAMPTZ],
            DataType::TIMESTAMPTZ,
            call!((Text unit, TimestampTz t), context {
                truncate_instant(unit, *t, &Zone::of(context)).map(Value::TimestampTz)
            }),
        )
        .bounded()
        .stable();
    catalogue
        .add(
            "date_trunc",
            &[TEXT, DataType::TIMESTAMPTZ, TEXT],
            DataType::TIMESTAMPTZ,
            call!((Text unit, TimestampTz t, Text zone) {
                truncate_instant(unit, *t, &Zone::parse(zone)?).map(Value::TimestampTz)
            }),
        )
        .bounded()
        .stable();
    catalogue
        .add(
            "date_trunc",
            &[TEXT, DataType::INTERVAL],
            DataType::INTERVAL,
            call!((Text unit, Interval i) {
                truncate_interval(unit, *i).map(Value::Interval)
            }),
        )
        .bounded();
}

fn truncate(name: &str, micros: i64, of: DataType) -> Result<i64> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    let unit = Unit::parse(name, of)?;
    let (days, time) = split_timestamp(micros);
    let Civil { year, month, .. } = Civil::from_days(days);
    let start_of = |year: i64, month: u32, day: u32| Civil { year, month, day }.to_days();
    let (days, time) = match unit {
        Unit::Microseconds => (days, time),
        Unit::Milliseconds => (days, time - time % 1000),
        Unit::Second => (days, time - time % MICROS_PER_SECOND),
        Unit::Minute => (days, time - time % MICROS_PER_MINUTE),
        Unit::Hour => (days, time - time % MICROS_PER_HOUR),
        Unit::Day => (days, 0),
        Unit::Week => {
            let (iso_year, week) = iso_week(days);
            (iso_week_start(iso_year, week), 0)
        }
        Unit::Month => (start_of(year, month, 1), 0),
        Unit::Quarter => (start_of(year, (month - 1) / 3 * 3 + 1, 1), 0),
        Unit::Year => (start_of(year, 1, 1), 0),
        Unit::Decade => (start_of(year.div_euclid(10) * 10, 1, 1), 0),
        Unit::Century => (start_of((year - 1).div_euclid(100) * 100 + 1, 1, 1), 0),
        Unit::Millennium => (start_of((year - 1).div_euclid(1000) * 1000 + 1, 1, 1), 0),
        Unit::Timezone | Unit::TimezoneHour | Unit::TimezoneMinute => return Err(unsupported(name, of)),
        _ => return Err(unrecognized(name, of)),
    };
    timestamp_of(days, time).ok_or_else(timestamp_overflow)
}

fn truncate_instant(name: &str, micros: i64, zone: &Zone) -> Result<i64> {
    let local = truncate(name, zone.to_local(micros), DataType::TIMESTAMPTZ)?;
    to_utc(local, zone)
}

fn truncate_interval(name: &str, i: Interval) -> Result<Interval> {
    let months = |size: i32| Interval { months: i.months - i.months % size, days: 0, micros: 0 };
    let micros = |size: i64| Interval { micros: i.micros - i.micros % size, ..i };
    Ok(match Unit::parse(name, DataType::INTERVAL)? {
        Unit::Microseconds => i,
        Unit::Milliseconds => micros(1000),
        Unit::Second => micros(MICROS_PER_SECOND),
        Unit::Minute => micros(MICROS_PER_MINUTE),
        Unit::Hour => micros(MICROS_PER_HOUR),
        Unit::Day => Interval { micros: 0, ..i },
        Unit::Month => months(1),
        Unit::Quarter => months(3),
        Unit::Year => months(12),
        Unit::Decade => months(120),
        Unit::Century => months(1200),
        Unit::Millennium => months(12_000),
        Unit::Week => {
            return Err(unsupported(name, DataType::INTERVAL).with_detail("Months usually have fractional weeks."));
        }
        _ => return Err(unrecognized(name, DataType::INTERVAL)),
    })
}
