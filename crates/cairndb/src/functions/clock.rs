//! The clock, and dates and times made of parts. The keywords CURRENT_DATE, CURRENT_TIMESTAMP, LOCALTIME and
//! LOCALTIMESTAMP are functions of these names without arguments here; AT TIME ZONE is `timezone(zone, time)`.

use super::catalogue::{Catalogue, Parameter};
use super::support::{call, invalid_parameter, wrong_arguments};
use super::temporal::{date_overflow, timestamp_overflow};
use crate::types::datetime::TimeTz;
use crate::types::datetime::{
    Civil, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, UNIX_EPOCH_MICROS, Zone,
    checked_date, checked_timestamp, clock_micros, days_in_month, is_infinite, is_infinite_date, split_timestamp,
    timestamp_of, today,
};
use crate::types::{DataType, EvalContext, Interval, Value, to_text, to_utc};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;

pub(super) fn register(catalogue: &mut Catalogue) {
    clock(catalogue);
    zones(catalogue);
    zoned_times(catalogue);
    parts(catalogue);
    ages(catalogue);
    finiteness(catalogue);
}

fn clock(catalogue: &mut Catalogue) {
    use DataType::*;
    let begun = |_: &[Value], context: &EvalContext| Ok(Value::TimestampTz(context.transaction_timestamp));
    for name in ["now", "transaction_timestamp"] {
        catalogue.add(name, &[], DataType::TIMESTAMPTZ, begun).bounded().of_the_clock();
    }
    catalogue.add("current_timestamp", &[], DataType::TIMESTAMPTZ, begun).bounded().of_the_clock().syntax();
    catalogue
        .add("statement_timestamp", &[], DataType::TIMESTAMPTZ, |_, context| {
            Ok(Value::TimestampTz(context.statement_timestamp))
        })
        .bounded()
        .of_the_clock();
    catalogue
        .add("clock_timestamp", &[], DataType::TIMESTAMPTZ, |_, _| Ok(Value::TimestampTz(clock_micros())))
        .bounded()
        .volatile();
    catalogue
        .add("current_date", &[], Date, |_, context| Ok(Value::Date(today(context) as i32)))
        .bounded()
        .of_the_clock()
        .syntax();
    catalogue
        .add("localtimestamp", &[], DataType::TIMESTAMP, |_, context| Ok(Value::Timestamp(local_now(context))))
        .bounded()
        .of_the_clock()
        .syntax();
    catalogue
        .add("localtime", &[], DataType::TIME, |_, context| Ok(Value::Time(split_timestamp(local_now(context)).1)))
        .bounded()
        .of_the_clock()
        .syntax();
    catalogue
        .add("to_timestamp", &[Double], DataType::TIMESTAMPTZ, call!((Double seconds) from_epoch(*seconds)))
        .bounded();
}

fn local_now(context: &EvalContext) -> i64 {
    Zone::of(context).to_local(context.transaction_timestamp)
}

fn from_epoch(seconds: f64) -> Result<Value> {
    if seconds.is_nan() {
        return Err(date_overflow("timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(Value::TimestampTz(if seconds > 0.0 { i64::MAX } else { i64::MIN }));
    }
    let micros = ((seconds - (UNIX_EPOCH_MICROS / MICROS_PER_SECOND) as f64) * 1e6).round_ties_even();
    let in_range = checked_timestamp(micros as i128).map(Value::TimestampTz);
    in_range.ok_or_else(|| date_overflow(&format!("timestamp out of range: \"{seconds}\"")))
}

fn zones(catalogue: &mut Catalogue) {
    catalogue
        .add(
            "timezone",
            &[TEXT, DataType::TIMESTAMP],
            DataType::TIMESTAMPTZ,
            call!((Text zone, Timestamp t) {
                to_utc(*t, &Zone::parse(zone)?).map(Value::TimestampTz)
            }),
        )
        .bounded();
    catalogue
        .add(
            "timezone",
            &[TEXT, DataType::TIMESTAMPTZ],
            DataType::TIMESTAMP,
            call!((Text zone, TimestampTz t) {
                Ok(Value::Timestamp(Zone::parse(zone)?.to_local(*t)))
            }),
        )
        .bounded();
    catalogue
        .add(
            "timezone",
            &[DataType::INTERVAL, DataType::TIMESTAMP],
            DataType::TIMESTAMPTZ,
            call!((Interval offset, Timestamp t) {
                to_utc(*t, &fixed(*offset)?).map(Value::TimestampTz)
            }),
        )
        .bounded();
    catalogue
        .add(
            "timezone",
            &[DataType::INTERVAL, DataType::TIMESTAMPTZ],
            DataType::TIMESTAMP,
            call!((Interval offset, TimestampTz t) {
                let local = fixed(*offset)?.to_local(*t);
                let checked = if is_infinite(*t) { Some(local) } else { checked_timestamp(local.into()) };
                checked.map(Value::Timestamp).ok_or_else(timestamp_overflow)
            }),
        )
        .bounded();
}

fn zoned_times(catalogue: &mut Catalogue) {
    const T: DataType = DataType::TIMETZ;
    catalogue
        .add(
            "timezone",
            &[TEXT, T],
            T,
            call!((Text zone, TimeTz t), context {
                move_zoned(*t, &Zone::parse(zone)?, context)
            }),
        )
        .bounded()
        .stable();
    catalogue
        .add(
            "timezone",
            &[DataType::INTERVAL, T],
            T,
            call!((Interval offset, TimeTz t), context {
                move_zoned(*t, &fixed(*offset)?, context)
            }),
        )
        .bounded();
}

/// The time in a zone, as its clocks are when the transaction begins.
fn move_zoned(packed: i64, zone: &Zone, context: &EvalContext) -> Result<Value> {
    let east = zone.offset_at(context.transaction_timestamp);
    TimeTz::of_packed(packed).in_zone(east).map(|time| Value::TimeTz(time.packed()))
}

fn fixed(offset: Interval) -> Result<Zone> {
    let seconds = offset.micros / MICROS_PER_SECOND;
    if offset.months != 0 || offset.days != 0 {
        let offset = to_text(&Value::Interval(offset), &EvalContext::default());
        let message = format!("interval time zone \"{offset}\" must not include months or days");
        return Err(super::support::invalid_parameter(message));
    }
    i32::try_from(seconds).map(Zone::Fixed).map_err(|_| timestamp_overflow())
}

fn parts(catalogue: &mut Catalogue) {
    use DataType::*;
    const INT: DataType = DataType::Integer;
    const STAMP: &[Parameter] = &[
        ("year", None),
        ("month", None),
        ("mday", None),
        ("hour", None),
        ("min", None),
        ("sec", None),
        ("timezone", None),
    ];
    catalogue
        .add(
            "make_date",
            &[INT, INT, INT],
            Date,
            call!((Integer y, Integer m, Integer d) {
                make_date(*y, *m, *d).map(|days| Value::Date(days as i32))
            }),
        )
        .parameters(&[("year", None), ("month", None), ("day", None)])
        .bounded();
    catalogue
        .add(
            "make_time",
            &[INT, INT, Double],
            DataType::TIME,
            call!((Integer h, Integer m, Double s) {
                make_time(*h, *m, *s).map(Value::Time)
            }),
        )
        .parameters(&[("hour", None), ("min", None), ("sec", None)])
        .bounded();
    catalogue
        .add("make_timestamp", &[INT, INT, INT, INT, INT, Double], DataType::TIMESTAMP, |args, _| {
            make_timestamp(args).map(Value::Timestamp)
        })
        .parameters(STAMP.split_at(6).0)
        .bounded();
    catalogue
        .add("make_timestamptz", &[INT, INT, INT, INT, INT, Double], DataType::TIMESTAMPTZ, |args, context| {
            to_utc(make_timestamp(args)?, &Zone::of(context)).map(Value::TimestampTz)
        })
        .parameters(STAMP.split_at(6).0)
        .bounded()
        .stable();
    catalogue
        .add("make_timestamptz", &[INT, INT, INT, INT, INT, Double, TEXT], DataType::TIMESTAMPTZ, |args, _| {
            let [parts @ .., Value::Text(zone)] = args else { return Err(wrong_arguments(args)) };
            to_utc(make_timestamp(parts)?, &zone_of_iso(zone)?).map(Value::TimestampTz)
        })
        .parameters(STAMP)
        .bounded()
        .stable();
    const ZERO: Option<&str> = Some("0");
    static INTERVAL: [Parameter; 7] = [
        ("years", ZERO),
        ("months", ZERO),
        ("weeks", ZERO),
        ("days", ZERO),
        ("hours", ZERO),
        ("mins", ZERO),
        ("secs", Some("0.0")),
    ];
    static INTERVAL_PARTS: [DataType; 7] = [INT, INT, INT, INT, INT, INT, Double];
    for count in 0..=INTERVAL_PARTS.len() {
        catalogue
            .add("make_interval", &INTERVAL_PARTS[..count], DataType::INTERVAL, |args, _| make_interval(args))
            .parameters(if count == INTERVAL_PARTS.len() { &INTERVAL } else { &[] })
            .bounded();
    }
}

/// Here, other than where a zone has rules, an offset is positive in the east.
fn zone_of_iso(zone: &str) -> Result<Zone> {
    match zone.as_bytes().first() {
        Some(b'+') => Zone::parse(&format!("-{}", &zone[1..])),
        Some(b'-') => Zone::parse(&format!("+{}", &zone[1..])),
        Some(b'0'..=b'9') => {
            let error = invalid_parameter(format!("invalid input syntax for type numeric time zone: \"{zone}\""));
            Err(error.with_hint("Numeric time zones must have \"-\" or \"+\" as first character."))
        }
        _ => Zone::parse(zone),
    }
}

fn make_date(year: i32, month: i32, day: i32) -> Result<i64> {
    let refuse = || date_overflow(&format!("date field value out of range: {year}-{month:02}-{day:02}"));
    let astronomical = match year {
        0 => return Err(refuse()),
        ..0 => i64::from(year) + 1,
        _ => i64::from(year),
    };
    let (Ok(month), Ok(day)) = (u32::try_from(month), u32::try_from(day)) else { return Err(refuse()) };
    let civil = Civil { year: astronomical, month, day };
    if !civil.is_valid() {
        return Err(refuse());
    }
    checked_date(civil.to_days()).map(i64::from).ok_or_else(|| date_overflow("date out of range"))
}

fn make_time(hour: i32, minute: i32, seconds: f64) -> Result<i64> {
    let micros = (seconds * 1e6).round_ties_even();
    let valid = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60e6).contains(&micros);
    let total =
        valid.then(|| i64::from(hour) * MICROS_PER_HOUR + i64::from(minute) * MICROS_PER_MINUTE + micros as i64);
    total
        .filter(|total| *total <= MICROS_PER_DAY)
        .ok_or_else(|| date_overflow(&format!("time field value out of range: {hour}:{minute:02}:{seconds:02}")))
}

fn make_timestamp(args: &[Value]) -> Result<i64> {
    match args {
        [
            Value::Integer(year),
            Value::Integer(month),
            Value::Integer(day),
            Value::Integer(hour),
            Value::Integer(minute),
            Value::Double(seconds),
        ] => {
            let days = make_date(*year, *month, *day)?;
            timestamp_of(days, make_time(*hour, *minute, *seconds)?).ok_or_else(timestamp_overflow)
        }
        _ => Err(wrong_arguments(args)),
    }
}

/// Years, months, weeks, days, hours, minutes, seconds; those left out are 0.
fn make_interval(args: &[Value]) -> Result<Value> {
    let whole = |index: usize| args.get(index).and_then(Value::as_i64).unwrap_or(0);
    let seconds = match args.get(6) {
        Some(Value::Double(seconds)) => *seconds,
        _ => 0.0,
    };
    let overflow = || date_overflow("interval out of range");
    if !seconds.is_finite() || seconds.abs() > 9e12 {
        return Err(overflow());
    }
    let micros = whole(4) * MICROS_PER_HOUR + whole(5) * MICROS_PER_MINUTE;
    Ok(Value::Interval(Interval {
        months: i32::try_from(whole(0) * 12 + whole(1)).map_err(|_| overflow())?,
        days: i32::try_from(whole(2) * 7 + whole(3)).map_err(|_| overflow())?,
        micros: micros.checked_add((seconds * 1e6).round_ties_even() as i64).ok_or_else(overflow)?,
    }))
}

fn ages(catalogue: &mut Catalogue) {
    catalogue
        .add(
            "age",
            &[DataType::TIMESTAMP, DataType::TIMESTAMP],
            DataType::INTERVAL,
            call!((Timestamp a, Timestamp b) age(*a, *b)),
        )
        .bounded();
    catalogue
        .add(
            "age",
            &[DataType::TIMESTAMPTZ, DataType::TIMESTAMPTZ],
            DataType::INTERVAL,
            call!((TimestampTz a, TimestampTz b), context {
                let zone = Zone::of(context);
                age(zone.to_local(*a), zone.to_local(*b))
            }),
        )
        .bounded()
        .stable();
    catalogue
        .add(
            "age",
            &[DataType::TIMESTAMP],
            DataType::INTERVAL,
            call!((Timestamp t), context {
                age(today(context) * MICROS_PER_DAY, *t)
            }),
        )
        .bounded()
        .of_the_clock();
    catalogue
        .add(
            "age",
            &[DataType::TIMESTAMPTZ],
            DataType::INTERVAL,
            call!((TimestampTz t), context {
                age(today(context) * MICROS_PER_DAY, Zone::of(context).to_local(*t))
            }),
        )
        .bounded()
        .of_the_clock();
    catalogue
        .add(
            "justify_days",
            &[DataType::INTERVAL],
            DataType::INTERVAL,
            call!((Interval i) justify_days(*i).map(Value::Interval)),
        )
        .bounded();
    catalogue
        .add(
            "justify_hours",
            &[DataType::INTERVAL],
            DataType::INTERVAL,
            call!((Interval i) justify_hours(*i).map(Value::Interval)),
        )
        .bounded();
    catalogue
        .add("justify_interval", &[DataType::INTERVAL], DataType::INTERVAL, call!((Interval i) justify_interval(*i)))
        .bounded();
    catalogue
        .add(
            "date_bin",
            &[DataType::INTERVAL, DataType::TIMESTAMP, DataType::TIMESTAMP],
            DataType::TIMESTAMP,
            call!((Interval i, Timestamp t, Timestamp o) {
                date_bin(*i, *t, *o).map(Value::Timestamp)
            }),
        )
        .bounded();
    catalogue
        .add(
            "date_bin",
            &[DataType::INTERVAL, DataType::TIMESTAMPTZ, DataType::TIMESTAMPTZ],
            DataType::TIMESTAMPTZ,
            call!((Interval i, TimestampTz t, TimestampTz o) {
                date_bin(*i, *t, *o).map(Value::TimestampTz)
            }),
        )
        .bounded();
}

/// Years, months and days as one counts them on the calendar, from the earlier to the later.
fn age(a: i64, b: i64) -> Result<Value> {
    if is_infinite(a) || is_infinite(b) {
        return Err(timestamp_overflow());
    }
    let sign = if a < b { -1 } else { 1 };
    let ((days_a, time_a), (days_b, time_b)) = (split_timestamp(a), split_timestamp(b));
    let (civil_a, civil_b) = (Civil::from_days(days_a), Civil::from_days(days_b));
    let month_number = |civil: Civil| civil.year * 12 + i64::from(civil.month);
    let mut months = sign * (month_number(civil_a) - month_number(civil_b));
    let mut days = sign * (i64::from(civil_a.day) - i64::from(civil_b.day));
    let mut micros = sign * (time_a - time_b);
    if micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    }
    let earlier = if sign < 0 { civil_a } else { civil_b };
    while days < 0 {
        days += i64::from(days_in_month(earlier.year, earlier.month));
        months -= 1;
    }
    let narrow = |value: i64| i32::try_from(sign * value).map_err(|_| date_overflow("interval out of range"));
    Ok(Value::Interval(Interval { months: narrow(months)?, days: narrow(days)?, micros: sign * micros }))
}

/// Whole 30 days become months.
fn justify_days(i: Interval) -> Result<Interval> {
    let (mut months, mut days) = (i64::from(i.months) + i64::from(i.days / 30), i.days % 30);
    if months > 0 && days < 0 {
        days += 30;
        months -= 1;
    } else if months < 0 && days > 0 {
        days -= 30;
        months += 1;
    }
    let months = i32::try_from(months).map_err(|_| date_overflow("interval out of range"))?;
    Ok(Interval { months, days, micros: i.micros })
}

/// Whole 24 hours become days.
fn justify_hours(i: Interval) -> Result<Interval> {
    let (mut days, mut micros) = (i64::from(i.days) + i.micros / MICROS_PER_DAY, i.micros % MICROS_PER_DAY);
    if days > 0 && micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    } else if days < 0 && micros > 0 {
        micros -= MICROS_PER_DAY;
        days += 1;
    }
    let days = i32::try_from(days).map_err(|_| date_overflow("interval out of range"))?;
    Ok(Interval { months: i.months, days, micros })
}

/// Both, all parts of one sign.
fn justify_interval(i: Interval) -> Result<Value> {
    let total_days = i64::from(i.days) + i.micros / MICROS_PER_DAY;
    let mut micros = i.micros % MICROS_PER_DAY;
    let mut months = i64::from(i.months) + total_days / 30;
    let mut days = total_days % 30;
    if months > 0 && (days < 0 || days == 0 && micros < 0) {
        days += 30;
        months -= 1;
    } else if months < 0 && (days > 0 || days == 0 && micros > 0) {
        days -= 30;
        months += 1;
    }
    if days > 0 && micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    } else if days < 0 && micros > 0 {
        micros -= MICROS_PER_DAY;
        days += 1;
    }
    let months = i32::try_from(months).map_err(|_| date_overflow("interval out of range"))?;
    Ok(Value::Interval(Interval { months, days: days as i32, micros }))
}

/// The start of the stride, counted from `origin`, in which `t` lies.
fn date_bin(stride: Interval, t: i64, origin: i64) -> Result<i64> {
    if is_infinite(t) {
        return Ok(t);
    }
    if is_infinite(origin) {
        return Err(date_overflow("origin out of range"));
    }
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let width = stride.span();
    if width <= 0 {
        return Err(date_overflow("stride must be greater than zero"));
    }
    let fits = |distance: i128| i64::try_from(distance).is_ok();
    let distance = i128::from(t) - i128::from(origin);
    if !fits(width) || !fits(distance) {
        return Err(date_overflow("interval out of range"));
    }
    let distance = distance.div_euclid(width) * width;
    checked_timestamp(i128::from(origin) + distance).ok_or_else(timestamp_overflow)
}

fn finiteness(catalogue: &mut Catalogue) {
    use DataType::*;
    catalogue.add("isfinite", &[Date], Boolean, call!((Date d) Ok(Value::Boolean(!is_infinite_date(*d))))).bounded();
    catalogue
        .add("isfinite", &[DataType::TIMESTAMP], Boolean, call!((Timestamp t) Ok(Value::Boolean(!is_infinite(*t)))))
        .bounded();
    catalogue
        .add("isfinite", &[DataType::TIMESTAMPTZ], Boolean, call!((TimestampTz t) Ok(Value::Boolean(!is_infinite(*t)))))
        .bounded();
    catalogue.add("isfinite", &[DataType::INTERVAL], Boolean, call!((Interval _i) Ok(Value::Boolean(true)))).bounded();
}
