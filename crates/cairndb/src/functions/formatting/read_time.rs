//! `to_date` and `to_timestamp`: text read by a template. Separators match any separators, and blanks are skipped.

use super::pattern::{DAYS, MONTHS, Piece, ROMAN_MONTHS, parse};
use crate::types::datetime::{
    Civil, JULIAN_EPOCH, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, Zone, checked_date, iso_week_start,
    timestamp_of,
};
use crate::types::{EvalContext, Value, to_utc};
use crate::{Error, Result, SqlState};

/// `to_date(text, template)`
pub(super) fn to_date(text: &str, template: &str) -> Result<Value> {
    let parts = Parts::read(text, template)?;
    checked_date(parts.days(text)?).map(Value::Date).ok_or_else(|| out_of_range(text))
}

/// `to_timestamp(text, template)`
pub(super) fn to_timestamp(text: &str, template: &str, context: &EvalContext) -> Result<Value> {
    let parts = Parts::read(text, template)?;
    let local = timestamp_of(parts.days(text)?, parts.micros(text)?).ok_or_else(|| out_of_range(text))?;
    let zone = match parts.offset {
        Some(seconds) => Zone::Fixed(seconds as i32),
        None => Zone::of(context),
    };
    to_utc(local, &zone).map(Value::TimestampTz)
}

fn out_of_range(text: &str) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""))
}

#[derive(Default)]
struct Parts {
    year: Option<i64>,
    iso_year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    julian: Option<i64>,
    hour: i64,
    half_day: bool,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    fraction: i64,
    before_christ: bool,
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
        let pieces = parse(template);
        for (index, piece) in pieces.iter().enumerate() {
            if reader.rest.trim_start().is_empty() {
                break;
            }
            match piece {
                Piece::Literal(c) => skip_literal(&mut reader, *c),
                Piece::Field { name, fill, ordinal } => {
                    reader.fixed = *fill && matches!(pieces.get(index + 1), Some(Piece::Field { .. }));
                    parts.field(&mut reader, name)?;
                    if ordinal.is_some() {
                        reader.rest = reader.rest.get(2..).unwrap_or("");
                    }
                }
            }
        }
        Ok(parts)
    }

    fn field(&mut self, reader: &mut Reader<'_>, name: &str) -> Result<()> {
        let upper = name.to_uppercase();
        match upper.as_str() {
            "YYYY" => self.year = Some(reader.number(name, 4)?),
            "Y,YYY" => {
                let thousands = reader.number(name, 0)?;
                reader.rest = reader.rest.trim_start_matches(',');
                self.year = Some(thousands * 1000 + reader.number(name, 3)?);
            }
            "YYY" => self.year = Some(short_year(reader.number(name, 3)?, 1000)),
            "YY" => self.year = Some(short_year(reader.number(name, 2)?, 100)),
            "Y" => self.year = Some(short_year(reader.number(name, 1)?, 10)),
            "IYYY" => self.iso_year = Some(reader.number(name, 4)?),
            "IW" => self.iso_week = Some(reader.number(name, 2)?),
            "ID" => self.iso_day = Some(reader.number(name, 1)?),
            "MM" => self.month = Some(reader.number(name, 2)?),
            "MONTH" | "MON" => self.month = Some(reader.word(name, &MONTHS, 3)? + 1),
            "RM" => self.month = Some(reader.word(name, &ROMAN_MONTHS, 0)? + 1),
            "DD" => self.day = Some(reader.number(name, 2)?),
            "DDD" => self.day_of_year = Some(reader.number(name, 3)?),
            "J" => self.julian = Some(reader.number(name, 0)?),
            "DAY" | "DY" => drop(reader.word(name, &DAYS, 3)?),
            "D" | "W" | "WW" | "Q" | "CC" => drop(reader.number(name, 2)?),
            "AD" | "BC" | "A.D." | "B.C." => {
                self.before_christ = reader.word(name, &["AD", "BC", "A.D.", "B.C."], 0)? % 2 == 1;
            }
            _ => self.clock_field(reader, name, &upper)?,
        }
        Ok(())
    }

    fn clock_field(&mut self, reader: &mut Reader<'_>, name: &str, upper: &str) -> Result<()> {
        match upper {
            "HH24" => self.hour = reader.number(name, 2)?,
            "HH" | "HH12" => {
                self.hour = reader.number(name, 2)?;
                self.half_day = true;
            }
            "AM" | "PM" | "A.M." | "P.M." => {
                self.afternoon = Some(reader.word(name, &["AM", "PM", "A.M.", "P.M."], 0)? % 2 == 1);
                self.half_day = true;
            }
            "MI" => self.minute = reader.number(name, 2)?,
            "SS" => self.second = reader.number(name, 2)?,
            "MS" => self.fraction = read_fraction(reader, name, 3)?,
            "US" => self.fraction = read_fraction(reader, name, 6)?,
            "SSSS" | "SSSSS" => self.second = reader.number(name, 0)?,
            "TZH" => self.offset = Some(reader.number(name, 2)? * 3600),
            "TZM" => {
                let hours = self.offset.unwrap_or(0);
                let minutes = reader.number(name, 2)? * 60;
                self.offset = Some(if hours < 0 { hours - minutes } else { hours + minutes });
            }
            _ if upper.starts_with("FF") => {
                let digits = upper[2..].parse().unwrap_or(6);
                self.fraction = read_fraction(reader, name, digits)?;
            }
            _ => return Err(Error::unsupported(format!("format field \"{name}\" for reading"))),
        }
        Ok(())
    }

    fn days(&self, text: &str) -> Result<i64> {
        if let Some(julian) = self.julian {
            return Ok(julian - JULIAN_EPOCH);
        }
        if let (Some(year), Some(week)) = (self.iso_year, self.iso_week) {
            let valid = (1..=53).contains(&week) && year.abs() < 6_000_000;
            let day = self.iso_day.unwrap_or(1);
            return if valid { Ok(iso_week_start(year, week) + day - 1) } else { Err(out_of_range(text)) };
        }
        let year = self.year.or(self.iso_year).unwrap_or(0);
        let year = if self.before_christ { 1 - year } else { year };
        let valid_year = year.abs() < 6_000_000;
        let narrow = |value: i64| u32::try_from(value).map_err(|_| out_of_range(text));
        let first = Civil { year, month: narrow(self.month.unwrap_or(1))?, day: narrow(self.day.unwrap_or(1))? };
        if !valid_year || !first.is_valid() {
            return Err(out_of_range(text));
        }
        match self.day_of_year {
            Some(day) if (1..=366).contains(&day) => Ok(Civil { month: 1, day: 1, ..first }.to_days() + day - 1),
            Some(_) => Err(out_of_range(text)),
            None => Ok(first.to_days()),
        }
    }

    fn micros(&self, text: &str) -> Result<i64> {
        let hour = match (self.half_day, self.afternoon) {
            (false, _) => self.hour,
            (true, _) if !(1..=12).contains(&self.hour) => {
                let message = format!("hour \"{}\" is invalid for the 12-hour clock", self.hour);
                return Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
                    .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            (true, Some(true)) => self.hour % 12 + 12,
            (true, Some(false)) => self.hour % 12,
            (true, None) => self.hour % 12,
        };
        let valid = (0..24).contains(&hour) && (0..60).contains(&self.minute) && (0..86_400).contains(&self.second);
        if !valid {
            return Err(out_of_range(text));
        }
        Ok(hour * MICROS_PER_HOUR + self.minute * MICROS_PER_MINUTE + self.second * MICROS_PER_SECOND + self.fraction)
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
