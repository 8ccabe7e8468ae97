//! Reads intervals: `1 year 2 months 3 days 04:05:06`, `1-2`, `P1Y2M3DT4H5M6S`, with fractions and `ago`.

use super::calendar::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use super::fields::Fault;
use super::limit::IntervalLimit;
use crate::types::{Interval, IntervalStyle};

/// What a number in an interval counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Units of a number of months.
    Months(i64),
    /// Units of a number of days.
    Days(i64),
    /// Units of a number of microseconds.
    Micros(i64),
}

const TEXT_BYTES_MAX: usize = 512;

/// The unit of a word such as `mons`, `day`, `h`.
pub fn unit_of(word: &str) -> Option<Unit> {
    Some(match word {
        "microsecond" | "microseconds" | "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => {
            Unit::Micros(1)
        }
        "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => {
            Unit::Micros(1000)
        }
        "second" | "seconds" | "s" | "sec" | "secs" => Unit::Micros(MICROS_PER_SECOND),
        "minute" | "minutes" | "m" | "min" | "mins" => Unit::Micros(MICROS_PER_MINUTE),
        "hour" | "hours" | "h" | "hr" | "hrs" => Unit::Micros(MICROS_PER_HOUR),
        "day" | "days" | "d" => Unit::Days(1),
        "week" | "weeks" | "w" => Unit::Days(7),
        "month" | "months" | "mon" | "mons" => Unit::Months(1),
        "year" | "years" | "y" | "yr" | "yrs" => Unit::Months(12),
        "decade" | "decades" | "dec" | "decs" => Unit::Months(120),
        "century" | "centuries" | "c" | "cent" => Unit::Months(1200),
        "millennium" | "millennia" | "mil" | "mils" | "millenniums" => Unit::Months(12_000),
        _ => return None,
    })
}

/// Reads an interval; a last number without a unit counts what the type's last field does. In the standard's style a
/// minus in front, and no other sign, is about all numbers.
pub fn parse(text: &str, limit: Option<IntervalLimit>, style: IntervalStyle) -> Result<Interval, Fault> {
    if text.len() > TEXT_BYTES_MAX || !text.is_ascii() {
        return Err(Fault::Syntax);
    }
    let lower = text.trim().to_ascii_lowercase();
    if let Some(iso) = lower.strip_prefix('p') {
        return parse_iso(iso);
    }
    let mut total = Total { negated: style == IntervalStyle::SqlStandard && is_negated(&lower), ..Total::default() };
    let mut ago = false;
    let mut rest = lower.trim_start_matches('@').trim_start();
    let mut any = false;
    while !rest.is_empty() {
        if rest == "ago" && any {
            ago = true;
            break;
        }
        rest = part(rest, limit, &mut total)?.trim_start_matches([' ', '\t', '\n', ',']);
        any = true;
    }
    if !any {
        return Err(Fault::Syntax);
    }
    total.finish(ago)
}

/// Whether the first number has a minus, and no other one a sign.
fn is_negated(text: &str) -> bool {
    let mut words = text.split([' ', '\t', '\n', ',']).filter(|word| !word.is_empty());
    words.next().is_some_and(|first| first.starts_with('-')) && !words.any(|word| word.starts_with(['-', '+']))
}

/// A number and its unit, a clock, or `years-months`; returns what follows.
fn part<'a>(text: &'a str, limit: Option<IntervalLimit>, total: &mut Total) -> Result<&'a str, Fault> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':')).unwrap_or(unsigned.len());
    let (number, rest) = unsigned.split_at(end);
    if number.contains(':') {
        total.add(negative, clock_number(number, limit)?, Unit::Micros(1))?;
        total.seen.extend([MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND].map(Unit::Micros));
        return Ok(rest);
    }
    if let Some(months) = rest.strip_prefix('-').filter(|_| !number.contains('.')) {
        let end = months.find(|c: char| !c.is_ascii_digit()).unwrap_or(months.len());
        let count = Number::parse(&months[..end])?;
        if count.whole >= 12 {
            return Err(Fault::FieldRange);
        }
        total.add(negative, Number::parse(number)?, Unit::Months(12))?;
        total.add(negative, count, Unit::Months(1))?;
        let rest = &months[end..];
        return if rest.starts_with('-') { Err(Fault::Syntax) } else { Ok(rest) };
    }
    let number = Number::parse(number)?;
    let after = rest.trim_start_matches([' ', '\t']);
    let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
    match (&after[..end], unit_of(&after[..end])) {
        (_, Some(unit)) => {
            total.add(negative, number, unit)?;
            Ok(&after[end..])
        }
        // `3 04:05:06`: days before a clock, and before hours.
        ("", None) if after.contains(':') || begins_with_hours(after, limit) => {
            total.add(negative, number, Unit::Days(1))?;
            Ok(after)
        }
        ("" | "ago", None) if after.is_empty() || after == "ago" => {
            total.add(negative, number, default_unit(limit))?;
            Ok(after)
        }
        _ => Err(Fault::Syntax),
    }
}

/// What a last number without a unit counts.
fn default_unit(limit: Option<IntervalLimit>) -> Unit {
    limit.map_or(Unit::Micros(MICROS_PER_SECOND), IntervalLimit::unit)
}

/// Whether a number of hours comes next.
fn begins_with_hours(text: &str, limit: Option<IntervalLimit>) -> bool {
    let unsigned = text.trim_start_matches(['-', '+']);
    let word = unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start_matches([' ', '\t']);
    let end = word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len());
    let unit = if word.is_empty() { Some(default_unit(limit)) } else { unit_of(&word[..end]) };
    unsigned.starts_with(|c: char| c.is_ascii_digit()) && unit == Some(Unit::Micros(MICROS_PER_HOUR))
}

/// `04:05`, `04:05:06.7`, `4:05.5` (minutes and seconds, as the limit may say of others), hours without bound.
fn clock_number(text: &str, limit: Option<IntervalLimit>) -> Result<Number, Fault> {
    let parts: Vec<&str> = text.split(':').collect();
    let (hours, minutes, seconds) = match parts.as_slice() {
        [minutes, seconds] if seconds.contains('.') || limit.is_some_and(IntervalLimit::begins_with_minutes) => {
            ("0", *minutes, *seconds)
        }
        [hours, minutes] => (*hours, *minutes, "0"),
        [hours, minutes, seconds] => (*hours, *minutes, *seconds),
        _ => return Err(Fault::Syntax),
    };
    let (hours, minutes, seconds) = (Number::parse(hours)?, Number::parse(minutes)?, Number::parse(seconds)?);
    if minutes.whole > 59 || seconds.whole > 60 {
        return Err(Fault::FieldRange);
    }
    let fraction = (seconds.fraction * 1e6).round_ties_even() as i64;
    let micros = i128::from(hours.whole) * i128::from(MICROS_PER_HOUR)
        + i128::from(minutes.whole * MICROS_PER_MINUTE + seconds.whole * MICROS_PER_SECOND + fraction);
    Ok(Number { whole: i64::try_from(micros).map_err(|_| Fault::FieldRange)?, fraction: 0.0 })
}

/// After the `P`: `1Y2M3DT4H5M6S`, `2W`.
fn parse_iso(text: &str) -> Result<Interval, Fault> {
    let (date, time) = text.split_once('t').unwrap_or((text, ""));
    if text.is_empty() {
        return Err(Fault::Syntax);
    }
    let mut total = Total::default();
    iso_parts(date, &mut total, |unit| match unit {
        'y' => Some(Unit::Months(12)),
        'm' => Some(Unit::Months(1)),
        'w' => Some(Unit::Days(7)),
        'd' => Some(Unit::Days(1)),
        _ => None,
    })?;
    iso_parts(time, &mut total, |unit| match unit {
        'h' => Some(Unit::Micros(MICROS_PER_HOUR)),
        'm' => Some(Unit::Micros(MICROS_PER_MINUTE)),
        's' => Some(Unit::Micros(MICROS_PER_SECOND)),
        _ => None,
    })?;
    total.finish(false)
}

fn iso_parts(mut text: &str, total: &mut Total, unit: impl Fn(char) -> Option<Unit>) -> Result<(), Fault> {
    while !text.is_empty() {
        let at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or(Fault::Syntax)?;
        let (number, rest) = text.split_at(at);
        let letter = rest.chars().next().and_then(&unit).ok_or(Fault::Syntax)?;
        let negative = number.starts_with('-');
        total.add(negative, Number::parse(number.trim_start_matches(['-', '+']))?, letter)?;
        text = &rest[1..];
    }
    Ok(())
}

/// A non-negative number, its fraction apart.
#[derive(Clone, Copy)]
struct Number {
    whole: i64,
    fraction: f64,
}

impl Number {
    fn parse(text: &str) -> Result<Number, Fault> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !digits(whole) || !digits(fraction) {
            return Err(Fault::Syntax);
        }
        let whole = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| Fault::FieldRange)? };
        let fraction = format!("0.{fraction}0").parse().map_err(|_| Fault::Syntax)?;
        Ok(Number { whole, fraction })
    }
}

#[derive(Default)]
struct Total {
    months: i64,
    days: i64,
    micros: i128,
    /// Units given so far: none may come twice.
    seen: Vec<Unit>,
    /// Every number is negative.
    negated: bool,
}

impl Total {
    /// Adds a number of units. A fraction of a month becomes days (30 to a month), of a day time; years round to months.
    fn add(&mut self, negative: bool, number: Number, unit: Unit) -> Result<(), Fault> {
        if self.seen.contains(&unit) {
            return Err(Fault::Syntax);
        }
        self.seen.push(unit);
        let sign = if negative || self.negated { -1 } else { 1 };
        let fraction = number.fraction * sign as f64;
        let times = |size: i64| number.whole.checked_mul(size).ok_or(Fault::FieldRange).map(|n| n * sign);
        let plus = |total: i64, more: i64| total.checked_add(more).ok_or(Fault::FieldRange);
        match unit {
            Unit::Months(1) => {
                self.months = plus(self.months, times(1)?)?;
                self.add_days(fraction * 30.0)
            }
            Unit::Months(size) => {
                self.months = plus(self.months, times(size)?)?;
                self.months = plus(self.months, (fraction * size as f64).round_ties_even() as i64)?;
                Ok(())
            }
            Unit::Days(size) => {
                self.days = plus(self.days, times(size)?)?;
                self.add_days(fraction * size as f64)
            }
            Unit::Micros(size) => {
                self.micros += i128::from(number.whole) * i128::from(size) * i128::from(sign);
                self.micros += (fraction * size as f64).round_ties_even() as i128;
                Ok(())
            }
        }
    }

    fn add_days(&mut self, days: f64) -> Result<(), Fault> {
        self.days = self.days.checked_add(days.trunc() as i64).ok_or(Fault::FieldRange)?;
        self.micros += (days.fract() * MICROS_PER_DAY as f64).round_ties_even() as i128;
        Ok(())
    }

    fn finish(self, ago: bool) -> Result<Interval, Fault> {
        let sign = if ago { -1 } else { 1 };
        Ok(Interval {
            months: i32::try_from(self.months * sign).map_err(|_| Fault::FieldRange)?,
            days: i32::try_from(self.days * sign).map_err(|_| Fault::FieldRange)?,
            micros: i64::try_from(self.micros * i128::from(sign)).map_err(|_| Fault::FieldRange)?,
        })
    }
}
