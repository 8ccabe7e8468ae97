//! The parts of a date or time that a template finds in a text.

use super::moment::Moment;
use super::template::Field;
use crate::types::datetime::{Civil, MICROS_PER_SECOND, checked_date, round_time, round_timestamp, timestamp_of};
use crate::{Error, Result, SqlState};

pub(super) struct Fields<'t> {
    text: &'t str,
    rest: &'t str,
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    micros: Option<i64>,
    zone_hour: Option<i64>,
    zone_minute: Option<i64>,
    is_west: bool,
    /// The hour is of half a day.
    is_half: bool,
    is_afternoon: bool,
    /// Digits behind the point that the template asks for.
    digits: Option<u8>,
}

impl<'t> Fields<'t> {
    pub(super) fn new(text: &'t str) -> Fields<'t> {
        Fields {
            text,
            rest: text,
            year: None,
            month: None,
            day: None,
            hour: None,
            minute: None,
            second: None,
            micros: None,
            zone_hour: None,
            zone_minute: None,
            is_west: false,
            is_half: false,
            is_afternoon: false,
            digits: None,
        }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.rest
    }

    pub(super) fn invalid(message: impl Into<String>) -> Error {
        Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
    }

    pub(super) fn eat(&mut self, sign: char) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads a field; `is_open`: its number ends where its digits do.
    pub(super) fn read(&mut self, word: &str, field: Field, is_open: bool) -> Result<()> {
        match field {
            Field::Half(dots) => return self.half(word, dots),
            Field::ZoneHour => {
                self.is_west = self.rest.starts_with('-');
                if self.rest.starts_with(['+', '-', ' ']) {
                    self.rest = &self.rest[1..];
                }
            }
            Field::Hour12 => self.is_half = true,
            Field::Fraction(digits, true) => self.digits = Some(digits as u8),
            _ => {}
        }
        let (length, slot) = match field {
            Field::Year(digits) => (digits, 0),
            Field::Fraction(digits, _) => (digits, 6),
            Field::Month => (2, 1),
            Field::Day => (2, 2),
            Field::Hour24 | Field::Hour12 => (2, 3),
            Field::Minute => (2, 4),
            Field::Second => (2, 5),
            Field::ZoneHour => (2, 7),
            Field::ZoneMinute | Field::Half(_) => (2, 8),
        };
        let (number, used) = self.number(word, length, is_open)?;
        let number = match field {
            Field::Year(digits) if digits < 4 && used < 4 => near_2020(number),
            Field::Fraction(..) => number * 10i64.pow(6usize.saturating_sub(used) as u32),
            _ => number,
        };
        let slots = [
            &mut self.year,
            &mut self.month,
            &mut self.day,
            &mut self.hour,
            &mut self.minute,
            &mut self.second,
            &mut self.micros,
            &mut self.zone_hour,
            &mut self.zone_minute,
        ];
        let Some(slot) = slots.into_iter().nth(slot) else { return Err(Error::internal("no such field")) };
        if slot.is_some_and(|before| before != number) {
            let message = format!("conflicting values for \"{word}\" field in formatting string");
            let detail = "This value contradicts a previous setting for the same field type.";
            return Err(Fields::invalid(message).with_detail(detail));
        }
        *slot = Some(number);
        Ok(())
    }

    /// A number, and how many bytes it takes with the blanks before it.
    fn number(&mut self, word: &str, length: usize, is_open: bool) -> Result<(i64, usize)> {
        let begun = self.rest.len();
        let text = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let copy: String = text.chars().take(length).collect();
        let invalid = || Fields::invalid(format!("invalid value \"{copy}\" for \"{word}\""));
        if !is_open && copy.len() < length {
            let message = format!("source string too short for \"{word}\" formatting field");
            let detail = format!("Field requires {length} characters, but only {} remain.", copy.len());
            return Err(Fields::invalid(message).with_detail(detail));
        }
        let part = if is_open { text } else { &copy };
        let sign = usize::from(part.starts_with(['+', '-']));
        let digits = part[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(invalid().with_detail("Value must be an integer."));
        }
        let end = sign + digits;
        if !is_open && end < length {
            let detail = format!("Field requires {length} characters, but only {end} could be parsed.");
            return Err(invalid().with_detail(detail));
        }
        let number = part[..end].parse::<i32>().map_err(|_| {
            let message = format!("value for \"{word}\" in source string is out of range");
            let detail = format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX);
            Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message).with_detail(detail)
        })?;
        self.rest = &text[end..];
        Ok((i64::from(number), begun - self.rest.len()))
    }

    fn half(&mut self, word: &str, dots: bool) -> Result<()> {
        let names = if dots { ["a.m.", "p.m."] } else { ["am", "pm"] };
        let length = names[0].len();
        let found =
            self.rest.get(..length).and_then(|text| names.iter().position(|name| text.eq_ignore_ascii_case(name)));
        let Some(found) = found else {
            let value = self.rest.split_ascii_whitespace().next().unwrap_or_default();
            let detail = "The given value did not match any of the allowed values for this field.";
            return Err(Fields::invalid(format!("invalid value \"{value}\" for \"{word}\"")).with_detail(detail));
        };
        (self.is_half, self.is_afternoon) = (true, found == 1);
        self.rest = &self.rest[length..];
        Ok(())
    }

    /// The value of the type that the template's fields make.
    pub(super) fn moment(&self, is_dated: bool, is_timed: bool, is_zoned: bool) -> Result<Moment> {
        if is_zoned && !is_timed && is_dated {
            return Err(Fields::invalid("datetime format is zoned but not timed"));
        }
        let days = self.days()?;
        let time = self.time()?;
        let east = self.east()?;
        let out_of_range = |what: &str| {
            Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range: \"{}\"", self.text))
        };
        if !is_timed {
            return match is_dated {
                true => checked_date(days).map(Moment::Date).ok_or_else(|| out_of_range("date")),
                false => Err(Fields::invalid("datetime format is not dated and not timed")),
            };
        }
        if !is_dated {
            let time = round_time(time, self.digits);
            return Ok(if is_zoned { Moment::TimeTz(time, east) } else { Moment::Time(time) });
        }
        let out_of_range = || out_of_range("timestamp");
        let local = timestamp_of(days, time).ok_or_else(out_of_range)?;
        if !is_zoned {
            return Ok(Moment::Timestamp(round_timestamp(local, self.digits)));
        }
        let utc = timestamp_of(days, time - i64::from(east) * MICROS_PER_SECOND).ok_or_else(out_of_range)?;
        Ok(Moment::TimestampTz(round_timestamp(utc, self.digits), east))
    }

    fn field_out_of_range(&self) -> Error {
        let message = format!("date/time field value out of range: \"{}\"", self.text);
        Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
    }

    fn days(&self) -> Result<i64> {
        let year = self.year.unwrap_or(0);
        // There is no year 0: the one before 1 is -1.
        let year = if year < 0 { year + 1 } else { year };
        let part = |part: Option<i64>| u32::try_from(part.unwrap_or(1)).map_err(|_| self.field_out_of_range());
        let date = Civil { year, month: part(self.month)?, day: part(self.day)? };
        if date.is_valid() { Ok(date.to_days()) } else { Err(self.field_out_of_range()) }
    }

    fn time(&self) -> Result<i64> {
        let mut hour = self.hour.unwrap_or(0);
        if self.is_half {
            if !(1..=12).contains(&hour) {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                let hint = "Use the 24-hour clock, or give an hour between 1 and 12.";
                return Err(Fields::invalid(message).with_hint(hint));
            }
            hour = hour % 12 + if self.is_afternoon { 12 } else { 0 };
        }
        let part = |value: Option<i64>, end: i64| match value.unwrap_or(0) {
            value if (0..end).contains(&value) => Ok(value),
            _ => Err(self.field_out_of_range()),
        };
        let (hour, minute, second) = (part(Some(hour), 24)?, part(self.minute, 60)?, part(self.second, 60)?);
        let micros = part(self.micros, MICROS_PER_SECOND)?;
        Ok((hour * 3600 + minute * 60 + second) * MICROS_PER_SECOND + micros)
    }

    /// The zone in seconds east.
    fn east(&self) -> Result<i32> {
        let (hour, minute) = (self.zone_hour.unwrap_or(0), self.zone_minute.unwrap_or(0));
        if !(0..=15).contains(&hour) || !(0..60).contains(&minute) {
            let message = format!("time zone displacement out of range: \"{}\"", self.text);
            return Err(Error::new(SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE, message));
        }
        let east = (hour * 3600 + minute * 60) as i32;
        Ok(if self.is_west { -east } else { east })
    }
}

/// The year of two or three digits that is nearest to 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}
