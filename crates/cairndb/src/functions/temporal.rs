//! Arithmetic of dates, times, timestamps and intervals.

use super::Operator;
use super::catalogue::Catalogue;
use super::support::{call, division_by_zero, out_of_range};
use crate::types::datetime::TimeTz;
use crate::types::datetime::{
    Civil, MICROS_PER_DAY, Zone, checked_date, checked_timestamp, is_infinite, is_infinite_date, split_timestamp,
    timestamp_of, wrap_time,
};
use crate::types::{DataType, Interval, Value, date_to_timestamp, to_utc};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    dates(catalogue);
    times(catalogue);
    zoned_times(catalogue);
    timestamps(catalogue);
    intervals(catalogue);
}

fn dates(catalogue: &mut Catalogue) {
    use DataType::*;
    let (add, sub) = ("+", "-");
    catalogue.add(add, &[Date, Integer], Date, call!((Date d, Integer n) shift_date(*d, (*n).into()))).bounded();
    catalogue.add(add, &[Integer, Date], Date, call!((Integer n, Date d) shift_date(*d, (*n).into()))).bounded();
    catalogue.add(sub, &[Date, Integer], Date, call!((Date d, Integer n) shift_date(*d, -i64::from(*n)))).bounded();
    catalogue.add(sub, &[Date, Date], Integer, call!((Date a, Date b) date_difference(*a, *b))).bounded();
    catalogue
        .add(
            add,
            &[Date, DataType::INTERVAL],
            DataType::TIMESTAMP,
            call!((Date d, Interval i) {
                shift_timestamp(date_to_timestamp(*d)?, *i).map(Value::Timestamp)
            }),
        )
        .bounded();
    catalogue
        .add(
            add,
            &[DataType::INTERVAL, Date],
            DataType::TIMESTAMP,
            call!((Interval i, Date d) {
                shift_timestamp(date_to_timestamp(*d)?, *i).map(Value::Timestamp)
            }),
        )
        .bounded();
    catalogue
        .add(
            sub,
            &[Date, DataType::INTERVAL],
            DataType::TIMESTAMP,
            call!((Date d, Interval i) {
                shift_timestamp(date_to_timestamp(*d)?, negate(*i)?).map(Value::Timestamp)
            }),
        )
        .bounded();
    catalogue
        .add(add, &[Date, DataType::TIME], DataType::TIMESTAMP, call!((Date d, Time t) date_and_time(*d, *t)))
        .bounded();
    catalogue
        .add(add, &[DataType::TIME, Date], DataType::TIMESTAMP, call!((Time t, Date d) date_and_time(*d, *t)))
        .bounded();
}

fn shift_date(days: i32, by: i64) -> Result<Value> {
    if is_infinite_date(days) {
        return Ok(Value::Date(days));
    }
    let shifted = checked_date(i64::from(days) + by).ok_or_else(|| date_overflow("date out of range"))?;
    Ok(Value::Date(shifted))
}

fn date_difference(a: i32, b: i32) -> Result<Value> {
    if is_infinite_date(a) || is_infinite_date(b) {
        return Err(date_overflow("cannot subtract infinite dates"));
    }
    a.checked_sub(b).map(Value::Integer).ok_or_else(|| out_of_range("integer"))
}

fn date_and_time(days: i32, micros: i64) -> Result<Value> {
    let midnight = date_to_timestamp(days)?;
    if is_infinite(midnight) {
        return Ok(Value::Timestamp(midnight));
    }
    timestamp_of(days.into(), micros).map(Value::Timestamp).ok_or_else(timestamp_overflow)
}

pub(super) fn date_overflow(message: &str) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

pub(super) fn timestamp_overflow() -> Error {
    date_overflow("timestamp out of range")
}

fn times(catalogue: &mut Catalogue) {
    catalogue
        .add(
            "+",
            &[DataType::TIME, DataType::INTERVAL],
            DataType::TIME,
            call!((Time t, Interval i) {
                Ok(Value::Time(wrap_time(t.wrapping_add(i.micros))))
            }),
        )
        .bounded();
    catalogue
        .add(
            "+",
            &[DataType::INTERVAL, DataType::TIME],
            DataType::TIME,
            call!((Interval i, Time t) {
                Ok(Value::Time(wrap_time(t.wrapping_add(i.micros))))
            }),
        )
        .bounded();
    catalogue
        .add(
            "-",
            &[DataType::TIME, DataType::INTERVAL],
            DataType::TIME,
            call!((Time t, Interval i) {
                Ok(Value::Time(wrap_time(t.wrapping_sub(i.micros))))
            }),
        )
        .bounded();
    catalogue
        .add(
            "-",
            &[DataType::TIME, DataType::TIME],
            DataType::INTERVAL,
            call!((Time a, Time b) {
                Ok(Value::Interval(crate::types::Interval { micros: a - b, ..Default::default() }))
            }),
        )
        .bounded();
}

fn zoned_times(catalogue: &mut Catalogue) {
    use DataType::Date;
    const T: DataType = DataType::TIMETZ;
    catalogue.add("+", &[T, DataType::INTERVAL], T, call!((TimeTz t, Interval i) shift_zoned(*t, i.micros))).bounded();
    catalogue.add("+", &[DataType::INTERVAL, T], T, call!((Interval i, TimeTz t) shift_zoned(*t, i.micros))).bounded();
    catalogue
        .add("-", &[T, DataType::INTERVAL], T, call!((TimeTz t, Interval i) shift_zoned(*t, i.micros.wrapping_neg())))
        .bounded();
    const INSTANT: DataType = DataType::TIMESTAMPTZ;
    catalogue.add("+", &[Date, T], INSTANT, call!((Date d, TimeTz t) date_and_zoned_time(*d, *t))).bounded();
    catalogue.add("+", &[T, Date], INSTANT, call!((TimeTz t, Date d) date_and_zoned_time(*d, *t))).bounded();
}

fn shift_zoned(packed: i64, by: i64) -> Result<Value> {
    Ok(Value::TimeTz(TimeTz::of_packed(packed).shifted(by).packed()))
}

fn date_and_zoned_time(days: i32, packed: i64) -> Result<Value> {
    let midnight = date_to_timestamp(days)?;
    if is_infinite(midnight) {
        return Ok(Value::TimestampTz(midnight));
    }
    let micros = i128::from(midnight) + i128::from(TimeTz::of_packed(packed).utc_micros());
    checked_timestamp(micros).map(Value::TimestampTz).ok_or_else(timestamp_overflow)
}

fn timestamps(catalogue: &mut Catalogue) {
    catalogue
        .add(
            "+",
            &[DataType::TIMESTAMP, DataType::INTERVAL],
            DataType::TIMESTAMP,
            call!((Timestamp t, Interval i) {
                shift_timestamp(*t, *i).map(Value::Timestamp)
            }),
        )
        .bounded()
        .op(Operator::Add);
    catalogue
        .add(
            "+",
            &[DataType::INTERVAL, DataType::TIMESTAMP],
            DataType::TIMESTAMP,
            call!((Interval i, Timestamp t) {
                shift_timestamp(*t, *i).map(Value::Timestamp)
            }),
        )
        .bounded()
        .op(Operator::Add);
    catalogue
        .add(
            "-",
            &[DataType::TIMESTAMP, DataType::INTERVAL],
            DataType::TIMESTAMP,
            call!((Timestamp t, Interval i) {
                shift_timestamp(*t, negate(*i)?).map(Value::Timestamp)
            }),
        )
        .bounded()
        .op(Operator::Subtract);
    catalogue
        .add(
            "+",
            &[DataType::TIMESTAMPTZ, DataType::INTERVAL],
            DataType::TIMESTAMPTZ,
            call!((TimestampTz t, Interval i), context {
                shift_instant(*t, *i, &Zone::of(context)).map(Value::TimestampTz)
            }),
        )
        .bounded()
        .op(Operator::Add)
        .stable();
    catalogue
        .add(
            "+",
            &[DataType::INTERVAL, DataType::TIMESTAMPTZ],
            DataType::TIMESTAMPTZ,
            call!((Interval i, TimestampTz t), context {
                shift_instant(*t, *i, &Zone::of(context)).map(Value::TimestampTz)
            }),
        )
        .bounded()
        .op(Operator::Add)
        .stable();
    catalogue
        .add(
            "-",
            &[DataType::TIMESTAMPTZ, DataType::INTERVAL],
            DataType::TIMESTAMPTZ,
            call!((TimestampTz t, Interval i), context {
                shift_instant(*t, negate(*i)?, &Zone::of(context)).map(Value::TimestampTz)
            }),
        )
        .bounded()
        .op(Operator::Subtract)
        .stable();
    catalogue
        .add(
            "-",
            &[DataType::TIMESTAMP, DataType::TIMESTAMP],
            DataType::INTERVAL,
            call!((Timestamp a, Timestamp b) difference(*a, *b)),
        )
        .bounded();
    catalogue
        .add(
            "-",
            &[DataType::TIMESTAMPTZ, DataType::TIMESTAMPTZ],
            DataType::INTERVAL,
            call!((TimestampTz a, TimestampTz b) difference(*a, *b)),
        )
        .bounded();
}

/// Months first (the day cut to its month), then days, then the rest.
pub(super) fn shift_timestamp(micros: i64, by: Interval) -> Result<i64> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    let (mut days, time) = split_timestamp(micros);
    if by.months != 0 {
        days = Civil::from_days(days).plus_months(by.months.into()).to_days();
    }
    let days = i128::from(days) + i128::from(by.days);
    let total = days * i128::from(MICROS_PER_DAY) + i128::from(time) + i128::from(by.micros);
    checked_timestamp(total).ok_or_else(timestamp_overflow)
}

/// Months and days are the local calendar's, so that noon stays noon when clocks change; the rest is elapsed time.
pub(super) fn shift_instant(micros: i64, by: Interval, zone: &Zone) -> Result<i64> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    let mut instant = micros;
    if by.months != 0 || by.days != 0 {
        let local = shift_timestamp(zone.to_local(micros), Interval { micros: 0, ..by })?;
        instant = to_utc(local, zone)?;
    }
    checked_timestamp(i128::from(instant) + i128::from(by.micros)).ok_or_else(timestamp_overflow)
}

/// In days of 24 hours and the rest.
fn difference(a: i64, b: i64) -> Result<Value> {
    if is_infinite(a) || is_infinite(b) {
        return Err(date_overflow("cannot subtract infinite timestamps"));
    }
    let micros = a.checked_sub(b).ok_or_else(|| date_overflow("interval out of range"))?;
    let days = (micros / MICROS_PER_DAY) as i32;
    Ok(Value::Interval(Interval { months: 0, days, micros: micros % MICROS_PER_DAY }))
}

fn intervals(catalogue: &mut Catalogue) {
    use DataType::*;
    catalogue
        .add(
            "+",
            &[DataType::INTERVAL, DataType::INTERVAL],
            DataType::INTERVAL,
            call!((Interval a, Interval b) {
                add_intervals(*a, *b).map(Value::Interval)
            }),
        )
        .bounded();
    catalogue
        .add(
            "-",
            &[DataType::INTERVAL, DataType::INTERVAL],
            DataType::INTERVAL,
            call!((Interval a, Interval b) {
                subtract_intervals(*a, *b).map(Value::Interval)
            }),
        )
        .bounded();
    catalogue
        .add("-", &[DataType::INTERVAL], DataType::INTERVAL, call!((Interval a) negate(*a).map(Value::Interval)))
        .bounded()
        .op(Operator::Negate);
    catalogue
        .add("+", &[DataType::INTERVAL], DataType::INTERVAL, call!((Interval a) Ok(Value::Interval(*a))))
        .bounded();
    catalogue
        .add(
            "*",
            &[DataType::INTERVAL, Double],
            DataType::INTERVAL,
            call!((Interval a, Double f) scale(*a, |x| x * f).map(Value::Interval)),
        )
        .bounded();
    catalogue
        .add(
            "*",
            &[Double, DataType::INTERVAL],
            DataType::INTERVAL,
            call!((Double f, Interval a) scale(*a, |x| x * f).map(Value::Interval)),
        )
        .bounded();
    catalogue
        .add(
            "/",
            &[DataType::INTERVAL, Double],
            DataType::INTERVAL,
            call!((Interval a, Double f) match *f {
                0.0 => Err(division_by_zero()),
                _ => scale(*a, |x| x / f).map(Value::Interval),
            }),
        )
        .bounded();
}

fn interval_overflow() -> Error {
    date_overflow("interval out of range")
}

/// Field by field.
pub(super) fn add_intervals(a: Interval, b: Interval) -> Result<Interval> {
    let sum = || {
        Some(Interval {
            months: a.months.checked_add(b.months)?,
            days: a.days.checked_add(b.days)?,
            micros: a.micros.checked_add(b.micros)?,
        })
    };
    sum().ok_or_else(interval_overflow)
}

/// Field by field.
pub(super) fn subtract_intervals(a: Interval, b: Interval) -> Result<Interval> {
    let difference = || {
        Some(Interval {
            months: a.months.checked_sub(b.months)?,
            days: a.days.checked_sub(b.days)?,
            micros: a.micros.checked_sub(b.micros)?,
        })
    };
    difference().ok_or_else(interval_overflow)
}

fn negate(a: Interval) -> Result<Interval> {
    subtract_intervals(Interval::default(), a)
}

/// Multiplies or divides each field; fractions of months become days (30 each), of days time, as PostgreSQL does it,
/// rounding to microseconds on the way.
pub(super) fn scale(a: Interval, by: impl Fn(f64) -> f64) -> Result<Interval> {
    let round = |value: f64| (value * 1e6).round_ties_even() / 1e6;
    let (months, days) = (by(a.months.into()), by(a.days.into()));
    let whole = |value: f64| {
        let fits = value >= f64::from(i32::MIN) && value <= f64::from(i32::MAX);
        if fits { Ok(value.trunc()) } else { Err(interval_overflow()) }
    };
    let (whole_months, whole_days) = (whole(months)?, whole(days)?);
    let month_days = round((months - whole_months) * 30.0);
    let mut seconds = round((days - whole_days + month_days - month_days.trunc()) * 86400.0);
    let mut total_days = whole_days;
    if seconds.abs() >= 86400.0 {
        total_days += (seconds / 86400.0).trunc();
        seconds -= (seconds / 86400.0).trunc() * 86400.0;
    }
    total_days = whole(total_days + month_days.trunc())?;
    let micros = (by(a.micros as f64) + seconds * 1e6).round_ties_even();
    if !(-9.223_372_036_854_775e18..=9.223_372_036_854_775e18).contains(&micros) {
        return Err(interval_overflow());
    }
    Ok(Interval { months: whole_months as i32, days: total_days as i32, micros: micros as i64 })
}
