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
    let micros = hours.whole.checked_mul(i128::from(MICROS_PER_HOUR)).ok_or(Fault::FieldRange)?
        + minutes.whole * i128::from(MICROS_PER_MINUTE)
        + seconds.whole * i128::from(MICROS_PER_SECOND)
        + i128::from(fraction);
    Ok(Number { whole: micros, fraction: 0.0 })
}

/// After the `P`: `1Y2M3DT4H5M6S`, `2W`; or without letters, `0001-02-03T04:05:06` and `00010203T040506`.
fn parse_iso(text: &str) -> Result<Interval, Fault> {
    let (date, time) = text.split_once('t').unwrap_or((text, ""));
    if text.is_empty() {
        return Err(Fault::Syntax);
    }
    let mut total = Total::default();
    let [years, months, days] = [Unit::Months(12), Unit::Months(1), Unit::Days(1)];
    let [hours, minutes, seconds] = [MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND].map(Unit::Micros);
    iso_side(date, &mut total, ([years, months, days], '-', 8), |unit| match unit {
        'y' => Some(years),
        'm' => Some(months),
        'w' => Some(Unit::Days(7)),
        'd' => Some(days),
        _ => None,
    })?;
    iso_side(time, &mut total, ([hours, minutes, seconds], ':', 6), |unit| match unit {
        'h' => Some(hours),
        'm' => Some(minutes),
        's' => Some(seconds),
        _ => None,
    })?;
    total.finish(false)
}

/// What is before the `T`, or behind it. Without letters it is up to three numbers with a mark between them, or so many digits that
/// are all three.
fn iso_side(
    text: &str,
    total: &mut Total,
    (units, mark, digits): ([Unit; 3], char, usize),
    unit: impl Fn(char) -> Option<Unit>,
) -> Result<(), Fault> {
    if text.is_empty() || text.contains(|c: char| c.is_ascii_alphabetic()) {
        return iso_parts(text, total, unit);
    }
    let (negative, number, mut rest) = iso_number(text)?;
    let whole_digits = text.trim_start_matches('-').split('.').next().unwrap_or("").len();
    if rest.is_empty() && whole_digits == digits {
        let part = |whole: i128, fraction: f64| Number { whole, fraction };
        total.add(negative, part(number.whole / 10_000, 0.0), units[0])?;
        total.add(negative, part(number.whole / 100 % 100, 0.0), units[1])?;
        return total.add(negative, part(number.whole % 100, number.fraction), units[2]);
    }
    total.add(negative, number, units[0])?;
    for unit in &units[1..] {
        if rest.is_empty() {
            return Ok(());
        }
        let (negative, number, behind) = iso_number(rest.strip_prefix(mark).ok_or(Fault::Syntax)?)?;
        total.add(negative, number, *unit)?;
        rest = behind;
    }
    if rest.is_empty() { Ok(()) } else { Err(Fault::Syntax) }
}

/// Whether it is negative, a number, and what follows.
fn iso_number(text: &str) -> Result<(bool, Number, &str), Fault> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, rest) = unsigned.split_at(end);
    Ok((unsigned.len() < text.len(), Number::parse(number)?, rest))
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
    whole: i128,
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
    /// Apart: what each of them can be is less than what they can be together.
    years: i64,
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
        let times = |size: i64| {
            let number = number.whole.checked_mul(i128::from(size * sign)).ok_or(Fault::FieldRange)?;
            i64::try_from(number).map_err(|_| Fault::FieldRange)
        };
        let plus = |total: i64, more: i64| total.checked_add(more).ok_or(Fault::FieldRange);
        match unit {
            Unit::Months(1) => {
                self.months = plus(self.months, times(1)?)?;
                self.add_days(fraction * 30.0)
            }
            Unit::Months(size) => {
                let (years, months) = if size % 12 == 0 { (size / 12, 0) } else { (0, size) };
                self.years = plus(self.years, times(years)?)?;
                self.months = plus(self.months, times(months)?)?;
                self.months = plus(self.months, (fraction * size as f64).round_ties_even() as i64)?;
                Ok(())
            }
            Unit::Days(size) => {
                self.days = plus(self.days, times(size)?)?;
                self.add_days(fraction * size as f64)
            }
            Unit::Micros(size) => {
                let micros = number.whole.checked_mul(i128::from(size * sign)).ok_or(Fault::FieldRange)?;
                self.micros = self.micros.checked_add(micros).ok_or(Fault::FieldRange)?;
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
        let narrow = |part: i64| match part.checked_mul(sign) {
            Some(part) if i32::try_from(part).is_ok() => Ok(part),
            _ => Err(Fault::FieldRange),
        };
        let (years, months) = (narrow(self.years)?, narrow(self.months)?);
        Ok(Interval {
            months: i32::try_from(years * 12 + months).map_err(|_| Fault::Range)?,
            days: i32::try_from(self.days * sign).map_err(|_| Fault::FieldRange)?,
            micros: i64::try_from(self.micros * i128::from(sign)).map_err(|_| Fault::FieldRange)?,
        })
    }
}
