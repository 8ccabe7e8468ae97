//! `to_date` and `to_timestamp`: text read by a template. Separators match any separators, and blanks are skipped.

use super::pattern::{DAYS, Field, MONTHS, Piece, ROMAN_MONTHS, Written, kept};
use crate::types::datetime::{
    Civil, JULIAN_EPOCH, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, Zone, checked_date, iso_week_start,
    timestamp_of,
};
use crate::types::{EvalContext, Value, to_utc};
use crate::{Error, Result, SqlState};

/// `to_date(text, template)`
pub(super) fn to_date(text: &str, template: &str) -> Result<Value> {
    let (_, days, _) = Parts::read(text, template)?.moment(text)?;
    checked_date(days).map(Value::Date).ok_or_else(|| out_of_range(text))
}

/// `to_timestamp(text, template)`
pub(super) fn to_timestamp(text: &str, template: &str, context: &EvalContext) -> Result<Value> {
    let parts = Parts::read(text, template)?;
    let (offset, days, micros) = parts.moment(text)?;
    let local = timestamp_of(days, micros).ok_or_else(|| out_of_range(text))?;
    let zone = match offset {
        Some(seconds) => Zone::Fixed(seconds as i32),
        None => Zone::of(context),
    };
    to_utc(local, &zone).map(Value::TimestampTz)
}

fn out_of_range(text: &str) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""))
}

/// What the text says, by PostgreSQL's rules: 0 is what is not said.
#[derive(Default)]
struct Parts {
    year: i64,
    /// The year was said by its last two digits, or one.
    is_short_year: bool,
    century: i64,
    before_christ: bool,
    month: i64,
    day: i64,
    day_of_year: i64,
    week: i64,
    week_of_month: i64,
    /// Of the week; 1 is Sunday.
    weekday: i64,
    julian: i64,
    /// Whether the fields of the date are those of ISO weeks, once there is one.
    by_iso_weeks: Option<bool>,
    hour: i64,
    half_day: bool,
    afternoon: bool,
    minute: i64,
    second: i64,
    /// Seconds since midnight.
    second_of_day: i64,
    millis: i64,
    micros: i64,
    offset: Option<i64>,
}

struct Reader<'a> {
    rest: &'a str,
    /// The next field adjoins this one: numbers end at their width. Otherwise digits run on.
    fixed: bool,
}

impl Reader<'_> {
    /// Up to `width` digits (any number of them where 0 or where not fixed), perhaps signed.
    fn number(&mut self, field: &str, width: usize) -> Result<i64> {
        self.rest = self.rest.trim_start();
        let sign = usize::from(self.rest.starts_with(['-', '+']));
        let digits = self.rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let digits = if width == 0 || !self.fixed { digits } else { digits.min(width) };
        if digits == 0 {
            let found: String = self.rest.chars().take(width.max(1)).collect();
            let message = format!("invalid value \"{found}\" for \"{field}\"");
            return Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message).with_detail("Value must be an integer."));
        }
        let (number, rest) = self.rest.split_at(sign + digits);
        self.rest = rest;
        number.parse().map_err(|_| {
            Error::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("value for \"{field}\" in source string is out of range"),
            )
        })
    }

    /// Which of `words` comes next, in full or by its first three letters.
    fn word(&mut self, field: &str, words: &[&str], shortest: usize) -> Result<i64> {
        self.rest = self.rest.trim_start();
        let begins = |word: &str| self.rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let mut candidates: Vec<(usize, &str)> = Vec::new();
        for (index, word) in words.iter().enumerate() {
            candidates.push((index, word));
            if shortest > 0 && word.len() > shortest {
                candidates.push((index, &word[..shortest]));
            }
        }
        let found = candidates.into_iter().filter(|(_, word)| begins(word)).max_by_key(|(_, word)| word.len());
        let Some((index, word)) = found else {
            let found: String = self.rest.chars().take_while(|c| !c.is_whitespace()).take(9).collect();
            let message = format!("invalid value \"{found}\" for \"{field}\"");
            return Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
                .with_detail("The given value did not match any of the allowed values for this field."));
        };
        self.rest = &self.rest[word.len()..];
        Ok(index as i64)
    }
}

impl Parts {
    fn read(text: &str, template: &str) -> Result<Parts> {
        let mut parts = Parts::default();
        let mut reader = Reader { rest: text, fixed: false };
        let pieces = kept(template)?;
        for (index, piece) in pieces.iter().enumerate() {
            if reader.rest.trim_start().is_empty() {
                break;
            }
            match piece {
                Piece::Literal(c) => skip_literal(&mut reader, *c),
                Piece::Field(written) => {
                    reader.fixed = written.fill && matches!(pieces.get(index + 1), Some(Piece::Field(_)));
                    parts.field(&mut reader, written)?;
                    if written.ordinal.is_some() {
                        reader.rest = reader.rest.get(2..).unwrap_or("");
                    }
                }
            }
        }
        Ok(parts)
    }

    fn field(&mut self, reader: &mut Reader<'_>, written: &Written) -> Result<()> {
        let name = written.name;
        self.check_convention(written.field)?;
        match written.field {
            Field::Year(4) | Field::IsoYear(4) => set(&mut self.year, reader.number(name, 4)?, name)?,
            Field::Year(digits) | Field::IsoYear(digits) => {
                self.is_short_year |= digits < 3;
                let year = reader.number(name, digits as usize)?;
                set(&mut self.year, short_year(year, 10_i64.pow(digits)), name)?;
            }
            Field::YearWithComma => {
                let thousands = reader.number(name, 0)?;
                reader.rest = reader.rest.trim_start_matches(',');
                set(&mut self.year, thousands * 1000 + reader.number(name, 3)?, name)?;
            }
            Field::Week | Field::IsoWeek => set(&mut self.week, reader.number(name, 2)?, name)?,
            // Monday is the first of these days, Sunday the first of the others. What was said before is compared as it is
            // said here, in both ways of saying it, as PostgreSQL does.
            Field::IsoDayOfWeek => {
                set(&mut self.weekday, reader.number(name, 1)?, name)?;
                self.weekday = self.weekday % 7 + 1;
            }
            Field::DayOfWeek => set(&mut self.weekday, reader.number(name, 1)?, name)?,
            Field::Month => set(&mut self.month, reader.number(name, 2)?, name)?,
            Field::MonthName | Field::ShortMonthName => {
                set(&mut self.month, reader.word(name, &MONTHS, 3)? + 1, name)?;
            }
            Field::RomanMonth => set(&mut self.month, reader.word(name, &ROMAN_MONTHS, 0)? + 1, name)?,
            Field::Day => set(&mut self.day, reader.number(name, 2)?, name)?,
            Field::DayOfYear | Field::IsoDayOfYear => set(&mut self.day_of_year, reader.number(name, 3)?, name)?,
            Field::Julian => set(&mut self.julian, reader.number(name, 0)?, name)?,
            Field::DayName | Field::ShortDayName => {
                set(&mut self.weekday, reader.word(name, &DAYS, 3)?, name)?;
                self.weekday += 1;
            }
            Field::WeekOfMonth => set(&mut self.week_of_month, reader.number(name, 1)?, name)?,
            Field::Century => set(&mut self.century, reader.number(name, 2)?, name)?,
            Field::Quarter => drop(reader.number(name, 1)?),
            Field::Era | Field::DottedEra => {
                self.before_christ = reader.word(name, &["AD", "BC", "A.D.", "B.C."], 0)? % 2 == 1;
            }
            _ => self.clock_field(reader, written)?,
        }
        Ok(())
    }

    /// SQLSTATE 22007 where a date is told half by ISO weeks and half by months.
    fn check_convention(&mut self, field: Field) -> Result<()> {
        let by_iso_weeks = match field {
            Field::IsoYear(_) | Field::IsoWeek | Field::IsoDayOfWeek | Field::IsoDayOfYear => true,
            Field::Year(_)
            | Field::YearWithComma
            | Field::Month
            | Field::MonthName
            | Field::ShortMonthName
            | Field::RomanMonth
            | Field::Day
            | Field::DayOfYear
            | Field::DayOfWeek
            | Field::Week
            | Field::WeekOfMonth => false,
            _ => return Ok(()),
        };
        match self.by_iso_weeks.replace(by_iso_weeks) {
            Some(before) if before != by_iso_weeks => {
                let hint = "Do not mix Gregorian and ISO week date conventions in a formatting template.";
                let message = "invalid combination of date conventions";
                Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message).with_hint(hint))
            }
            _ => Ok(()),
        }
    }

    fn clock_field(&mut self, reader: &mut Reader<'_>, written: &Written) -> Result<()> {
        let name = written.name;
        match written.field {
            Field::Hour24 => set(&mut self.hour, reader.number(name, 2)?, name)?,
            Field::Hour12 => {
                self.half_day = true;
                set(&mut self.hour, reader.number(name, 2)?, name)?;
            }
            Field::HalfDay | Field::DottedHalfDay => {
                self.afternoon = reader.word(name, &["AM", "PM", "A.M.", "P.M."], 0)? % 2 == 1;
                self.half_day = true;
            }
            Field::Minute => set(&mut self.minute, reader.number(name, 2)?, name)?,
            Field::Second => set(&mut self.second, reader.number(name, 2)?, name)?,
            Field::Millis => set(&mut self.millis, read_fraction(reader, name, 3)?, name)?,
            Field::Fraction(digits) => {
                set(&mut self.micros, read_fraction(reader, name, digits as usize)?, name)?;
            }
            Field::SecondOfDay => set(&mut self.second_of_day, reader.number(name, 0)?, name)?,
            Field::ZoneHours => self.offset = Some(reader.number(name, 2)? * 3600),
            Field::ZoneMinutes => {
                let hours = self.offset.unwrap_or(0);
                let minutes = reader.number(name, 2)? * 60;
                self.offset = Some(if hours < 0 { hours - minutes } else { hours + minutes });
            }
            _ => return Err(Error::unsupported(format!("format field \"{name}\" for reading"))),
        }
        Ok(())
    }

    /// The offset of the zone that is said, the date's days and the micros since midnight; the errors in PostgreSQL's order.
    fn moment(&self, text: &str) -> Result<(Option<i64>, i64, i64)> {
        let hour = self.hour_of_day()?;
        let days = self.days(text)?;
        Ok((self.offset, days, self.micros(hour, text)?))
    }

    /// The date, as PostgreSQL puts it together: what is said by other fields than year, month and day takes their place.
    fn days(&self, text: &str) -> Result<i64> {
        let is_range = |value: i64| value.abs() < 6_000_000;
        if !is_range(self.year) || !is_range(self.century) || !is_range(self.julian) || !is_range(self.week) {
            return Err(out_of_range(text));
        }
        let mut year = self.gregorian_year();
        let (mut month, mut day) = (1, 1);
        let (mut has_year, mut has_month, mut has_day) = (self.year != 0 || self.century != 0, false, false);
        let mut take = |days: i64, year: &mut i64, month: &mut i64, day: &mut i64| {
            let civil = Civil::from_days(days);
            (*year, *month, *day) = (civil.year, civil.month.into(), civil.day.into());
            (has_year, has_month, has_day) = (true, true, true);
        };
        if self.julian != 0 {
            take(self.julian - JULIAN_EPOCH, &mut year, &mut month, &mut day);
        }
        let mut day_of_year = self.day_of_year;
        let by_iso_weeks = self.by_iso_weeks == Some(true);
        if self.week != 0 && by_iso_weeks {
            let weekday = if self.weekday == 0 { 0 } else { (self.weekday + 5) % 7 };
            take(iso_week_start(year, self.week) + weekday, &mut year, &mut month, &mut day);
        } else if self.week != 0 {
            day_of_year = (self.week - 1) * 7 + 1;
        }
        let said_day = if self.week_of_month != 0 { (self.week_of_month - 1) * 7 + 1 } else { self.day };
        if said_day != 0 {
            (day, has_day) = (said_day, true);
        }
        if self.month != 0 {
            (month, has_month) = (self.month, true);
        }
        if day_of_year != 0 && (month <= 1 || day <= 1) {
            if year == 0 && !self.before_christ {
                let message = "cannot calculate day of year without year information";
                return Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message));
            }
            if by_iso_weeks {
                return Ok(iso_week_start(year, 1) + day_of_year - 1);
            }
            let before =
                |month: u32| Civil { year, month, day: 1 }.to_days() - Civil { year, month: 1, day: 1 }.to_days();
            let year_length =
                Civil { year: year + 1, month: 1, day: 1 }.to_days() - Civil { year, month: 1, day: 1 }.to_days();
            let found = (1..=12).rev().find(|of| before(*of) < day_of_year).unwrap_or(1);
            let (found, first) = if day_of_year > year_length { (13, year_length) } else { (found, before(found)) };
            (month, day) =
                (if month <= 1 { found.into() } else { month }, if day <= 1 { day_of_year - first } else { day });
            (has_month, has_day) = (true, true);
        }
        let wrong = has_month && !(1..=12).contains(&month) || has_day && !(1..=31).contains(&day);
        let first = Civil { year, month: u32::try_from(month).unwrap_or(0), day: 1 };
        if wrong || !first.is_valid() {
            return Err(out_of_range(text));
        }
        let civil = Civil { day: u32::try_from(day).unwrap_or(0), ..first };
        // The length of a month is looked at where all is said; else days run on into the next one.
        match has_year && has_month && has_day && !civil.is_valid() {
            true => Err(out_of_range(text)),
            false => Ok(first.to_days() + day - 1),
        }
    }

    /// The year, 0 being the one before the first, and what is not said.
    fn gregorian_year(&self) -> i64 {
        let century = if self.before_christ { -self.century } else { self.century };
        match (self.year, century) {
            (0, 0) => 0,
            (0, 1..) => (century - 1) * 100 + 1,
            (0, _) => century * 100 + 1,
            (_, 0) => self.full_year(),
            _ if !self.is_short_year => self.full_year(),
            (year, _) => match (year % 100, century > 0) {
                (0, after) => century * 100 + i64::from(!after),
                (year, true) => (century - 1) * 100 + year,
                (year, false) => (century + 1) * 100 - year + 1,
            },
        }
    }

    fn full_year(&self) -> i64 {
        let year = if self.before_christ { -self.year } else { self.year };
        if year < 0 { year + 1 } else { year }
    }

    /// What is said of its own takes the place of what the second of the day says.
    fn hour_of_day(&self) -> Result<i64> {
        let hour = said_or(self.hour, self.second_of_day / 3600);
        match (self.half_day, self.afternoon) {
            (false, _) => Ok(hour),
            (true, _) if !(1..=12).contains(&hour) => {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
                    .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."))
            }
            (true, true) => Ok(hour % 12 + 12),
            (true, false) => Ok(hour % 12),
        }
    }

    fn micros(&self, hour: i64, text: &str) -> Result<i64> {
        let minute = said_or(self.minute, self.second_of_day / 60 % 60);
        let second = said_or(self.second, self.second_of_day % 60);
        if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..60).contains(&second) {
            return Err(out_of_range(text));
        }
        let clock = hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + second * MICROS_PER_SECOND;
        Ok(clock + self.millis + self.micros)
    }
}

/// 0 is what is not said.
fn said_or(said: i64, otherwise: i64) -> i64 {
    if said == 0 { otherwise } else { said }
}

/// SQLSTATE 22007 where it is said twice, and differently.
fn set(field: &mut i64, value: i64, name: &str) -> Result<()> {
    match std::mem::replace(field, value) {
        before if before != value && before != 0 => {
            let message = format!("conflicting values for \"{name}\" field in formatting string");
            Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
                .with_detail("This value contradicts a previous setting for the same field type."))
        }
        _ => Ok(()),
    }
}

fn skip_literal(reader: &mut Reader<'_>, literal: char) {
    if literal.is_whitespace() {
        reader.rest = reader.rest.trim_start();
        return;
    }
    // A separator matches any separator; other text just takes its place.
    if let Some(next) = reader.rest.chars().next()
        && (literal.is_alphanumeric() || !next.is_alphanumeric() && !next.is_whitespace())
    {
        reader.rest = &reader.rest[next.len_utf8()..];
    }
}

/// Nearest to 2020, as PostgreSQL completes years.
fn short_year(value: i64, modulus: i64) -> i64 {
    match modulus {
        10 => 2000 + value,
        100 if value < 70 => 2000 + value,
        100 => 1900 + value,
        _ if value < 520 => 2000 + value,
        _ => 1000 + value,
    }
}

/// Digits after the point, in microseconds.
fn read_fraction(reader: &mut Reader<'_>, name: &str, digits: usize) -> Result<i64> {
    let before = reader.rest.trim_start().len();
    let value = reader.number(name, digits)?;
    let read = before - reader.rest.len();
    Ok(value * 10_i64.pow(6_usize.saturating_sub(read.min(6)) as u32))
}
