//! Reads the parts of a date and time out of free text, as PostgreSQL's datetime input does.

use super::calendar::{Civil, JULIAN_EPOCH, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use super::zone::{Zone, fixed_offset};
use crate::types::DateOrder;

/// Why text is not a date or time.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not a date or time at all.
    Syntax,
    /// A part beyond its bounds.
    FieldRange,
    /// All parts are within their bounds, and the whole is not.
    Range,
    /// A zone too far from UTC.
    Displacement,
    /// No such time zone.
    Zone(String),
}

/// A word that stands for a whole date and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `epoch`
    Epoch,
    /// `now`
    Now,
    /// `today` plus days: `yesterday`, `tomorrow`.
    Today(i64),
    /// `infinity`
    Infinity,
    /// `-infinity`
    NegativeInfinity,
}

/// The parts that a text has.
#[derive(Debug, Default)]
pub struct Fields {
    /// Instead of a date.
    pub special: Option<Special>,
    /// Days since 2000-01-01.
    pub date: Option<i64>,
    /// Microseconds of the day.
    pub time: Option<i64>,
    /// As written.
    pub zone: Option<Zone>,
}

/// Longer text is no date.
const TEXT_BYTES_MAX: usize = 128;

/// Reads a date, with or without a time; `order`: what numbers of a date are, where that is not plain.
pub fn parse(text: &str, order: DateOrder) -> Result<Fields, Fault> {
    parse_as(text, order, false)
}

/// Reads a time: `040506` is no date then.
pub fn parse_clock_first(text: &str, order: DateOrder) -> Result<Fields, Fault> {
    parse_as(text, order, true)
}

fn parse_as(text: &str, order: DateOrder, clock_first: bool) -> Result<Fields, Fault> {
    if text.len() > TEXT_BYTES_MAX || !text.is_ascii() {
        return Err(Fault::Syntax);
    }
    let lower = text.trim().to_ascii_lowercase();
    let mut parser = Parser { rest: &lower, order, clock_first, ..Parser::default() };
    while parser.skip_separators() {
        parser.token()?;
    }
    parser.finish()
}

#[derive(Default)]
struct Parser<'a> {
    rest: &'a str,
    fields: Fields,
    order: DateOrder,
    /// A date being put together from words: `January 8 1999`.
    year: Option<(i64, usize)>,
    month: Option<u32>,
    day: Option<u32>,
    /// The month was a word.
    has_month_word: bool,
    /// Instead of a month and a day.
    day_of_year: Option<u32>,
    half_day: Option<HalfDay>,
    before_christ: bool,
    /// Numbers are times even before a date.
    clock_first: bool,
    /// There was a date token: numbers that follow are times.
    has_date: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum HalfDay {
    Am,
    Pm,
}

impl<'a> Parser<'a> {
    /// False at the end.
    fn skip_separators(&mut self) -> bool {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', ',']);
        !self.rest.is_empty()
    }

    fn take(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn token(&mut self) -> Result<(), Fault> {
        match self.rest.as_bytes().first() {
            Some(b'0'..=b'9') => self.number_token(),
            Some(b'+' | b'-') => self.signed_token(),
            Some(b'a'..=b'z') => self.word_token(),
            _ => Err(Fault::Syntax),
        }
    }

    fn number_token(&mut self) -> Result<(), Fault> {
        let digits = self.take(|c| c.is_ascii_digit());
        let mut next = self.rest.chars();
        match (next.next(), next.next()) {
            (Some(':'), _) => {
                let rest = self.take(|c| c.is_ascii_digit() || c == ':' || c == '.');
                self.set_time(parse_clock(&format!("{digits}{rest}"))?)
            }
            (Some('.'), _) if (self.has_date || self.clock_first) && digits.len() == 6 => {
                let rest = self.take(|c| c.is_ascii_digit() || c == '.');
                self.set_time(compact_clock(digits, rest)?)
            }
            (Some('-'), Some('0'..='9')) if self.clock_first && !self.has_date && self.is_zone_next() => {
                self.plain_number(digits)
            }
            (Some(separator @ ('-' | '/' | '.')), Some(after)) if after.is_ascii_alphanumeric() && !self.has_date => {
                self.date_token(digits, separator)
            }
            _ => self.plain_number(digits),
        }
    }

    /// Whether what comes is `-08` or `-0800`, not `-01-08`: an offset behind a time.
    fn is_zone_next(&self) -> bool {
        let behind = self.rest[1..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
        !behind.starts_with('-')
    }

    /// `1999-01-08`, `1/8/1999`, `08-Jan-1999`, `1999.01.08`
    fn date_token(&mut self, first: &'a str, separator: char) -> Result<(), Fault> {
        self.rest = &self.rest[1..];
        let second = self.date_part();
        let third = match self.rest.strip_prefix(separator) {
            Some(rest) => {
                self.rest = rest;
                self.take(|c| c.is_ascii_digit())
            }
            None => "",
        };
        if third.is_empty() && first.len() >= 3 && second.len() == 3 && month_of(second).is_none() {
            self.set_year(first)?;
            return self.set_day_of_year(second);
        }
        // (`-05` right behind a date is a part of it; `+05`, and what stands apart, is an offset.)
        if third.is_empty() || self.rest.starts_with('-') {
            return Err(Fault::Syntax);
        }
        self.has_date = true;
        let Some(month) = month_of(second) else {
            return [first, second, third].into_iter().try_for_each(|digits| self.date_number(digits));
        };
        (self.month, self.has_month_word) = (Some(month), true);
        self.date_number(first)?;
        self.date_number(third)
    }

    fn date_part(&mut self) -> &'a str {
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            self.take(|c| c.is_ascii_digit())
        } else {
            self.take(|c| c.is_ascii_alphabetic())
        }
    }

    /// `19990108`, a time like `040506`, or a part of a date in words.
    fn plain_number(&mut self, digits: &'a str) -> Result<(), Fault> {
        let clock = (self.has_date || self.clock_first) && self.fields.time.is_none();
        match digits.len() {
            4 | 6 if clock => self.set_time(compact_clock(digits, "")?),
            8 if !self.has_date && self.month.is_none() => self.compact_date(&digits[..4], &digits[4..]),
            6 if !self.has_date && self.month.is_none() => self.compact_date(&digits[..2], &digits[2..]),
            1..=7 if !self.has_date => self.date_number(digits),
            _ => Err(Fault::Syntax),
        }
    }

    /// A number of a date of which there is a part, or none: PostgreSQL's guess.
    fn date_number(&mut self, digits: &'a str) -> Result<(), Fault> {
        let is_long = digits.len() >= 3;
        match (&self.year, self.month, self.day) {
            (None, None, None) if is_long || self.order == DateOrder::Ymd => self.set_year(digits)?,
            (None, None, None) if self.order == DateOrder::Dmy => self.day = Some(number(digits)?),
            (Some(_), None, None) if digits.len() == 3 => return self.set_day_of_year(digits),
            (None, Some(_), None) if self.has_month_word && (is_long || self.order == DateOrder::Ymd) => {
                self.set_year(digits)?;
            }
            // The number before the word was the day.
            (Some((day, 1 | 2)), Some(_), None) if self.has_month_word && is_long => {
                self.day = u32::try_from(*day).ok();
                self.year = None;
                self.set_year(digits)?;
            }
            (None, Some(_), Some(_)) => self.set_year(digits)?,
            (_, None, _) => self.month = Some(number(digits)?),
            (_, Some(_), None) => self.day = Some(number(digits)?),
            (Some(_), Some(_), Some(_)) => return Err(Fault::Syntax),
        }
        Ok(())
    }

    /// `008` behind a year.
    fn set_day_of_year(&mut self, digits: &str) -> Result<(), Fault> {
        let day = number(digits)?;
        if !(1..=366).contains(&day) || self.day_of_year.replace(day).is_some() {
            return Err(Fault::FieldRange);
        }
        self.has_date = true;
        Ok(())
    }

    fn compact_date(&mut self, year: &str, month_day: &str) -> Result<(), Fault> {
        self.has_date = true;
        self.set_year(year)?;
        self.month = Some(number(&month_day[..2])?);
        self.day = Some(number(&month_day[2..])?);
        Ok(())
    }

    fn set_year(&mut self, digits: &str) -> Result<(), Fault> {
        if self.year.is_some() {
            return Err(Fault::Syntax);
        }
        let year = digits.parse().ok().filter(|year| *year < 10_000_000).ok_or(Fault::FieldRange)?;
        self.year = Some((year, digits.len()));
        Ok(())
    }

    fn set_time(&mut self, micros: i64) -> Result<(), Fault> {
        match self.fields.time.replace(micros) {
            None => Ok(()),
            Some(_) => Err(Fault::Syntax),
        }
    }

    /// An offset, or `-infinity`.
    fn signed_token(&mut self) -> Result<(), Fault> {
        if self.rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            let sign = self.take(|c| c == '-');
            return match (sign, self.take(|c| c.is_ascii_alphabetic())) {
                ("-", "infinity" | "inf") => self.set_special(Special::NegativeInfinity),
                _ => Err(Fault::Syntax),
            };
        }
        let (sign, rest) = self.rest.split_at(1);
        self.rest = rest;
        let digits = self.take(|c| c.is_ascii_digit() || c == ':');
        if digits.is_empty() {
            return Err(Fault::Syntax);
        }
        let offset = fixed_offset(&format!("{sign}{digits}")).ok_or(Fault::Displacement)?;
        self.set_zone(Zone::Fixed(offset))
    }

    fn set_zone(&mut self, zone: Zone) -> Result<(), Fault> {
        match self.fields.zone.replace(zone) {
            None => Ok(()),
            Some(_) => Err(Fault::Syntax),
        }
    }

    fn set_special(&mut self, special: Special) -> Result<(), Fault> {
        match self.fields.special.replace(special) {
            None => Ok(()),
            Some(_) => Err(Fault::Syntax),
        }
    }

    fn word_token(&mut self) -> Result<(), Fault> {
        let start = self.rest;
        let word = self.take(|c| c.is_ascii_alphabetic());
        match word {
            "t" if (self.has_date || self.clock_first) && self.rest.starts_with(|c: char| c.is_ascii_digit()) => {
                return Ok(());
            }
            "j" if self.rest.starts_with(|c: char| c.is_ascii_digit()) => return self.julian(),
            "am" => return self.set_half_day(HalfDay::Am),
            "pm" => return self.set_half_day(HalfDay::Pm),
            "ad" => return Ok(()),
            "bc" => {
                self.before_christ = true;
                return Ok(());
            }
            "epoch" => return self.set_special(Special::Epoch),
            "now" => return self.set_special(Special::Now),
            "today" => return self.set_special(Special::Today(0)),
            "tomorrow" => return self.set_special(Special::Today(1)),
            "yesterday" => return self.set_special(Special::Today(-1)),
            "infinity" | "inf" => return self.set_special(Special::Infinity),
            "allballs" => {
                self.set_time(0)?;
                return self.set_zone(Zone::UTC);
            }
            _ => {}
        }
        if let Some(month) = month_of(word) {
            return self.month_word(month);
        }
        if is_day_name(word) {
            return Ok(());
        }
        self.rest = start;
        self.zone_word()
    }

    fn julian(&mut self) -> Result<(), Fault> {
        let day: i64 = self.take(|c| c.is_ascii_digit()).parse().map_err(|_| Fault::FieldRange)?;
        self.has_date = true;
        self.fields.date = Some(day - JULIAN_EPOCH);
        Ok(())
    }

    fn set_half_day(&mut self, half: HalfDay) -> Result<(), Fault> {
        self.half_day = Some(half);
        Ok(())
    }

    /// `January`, or `Jan-08-1999`
    fn month_word(&mut self, month: u32) -> Result<(), Fault> {
        // What was taken for the month is the day.
        let is_day = |number: u32| !self.has_month_word && self.day.is_none() && (1..=31).contains(&number);
        match self.month.replace(month) {
            Some(day) if is_day(day) => self.day = Some(day),
            Some(_) => return Err(Fault::Syntax),
            None => {}
        }
        self.has_month_word = true;
        if let Some(rest) = self.rest.strip_prefix('-') {
            self.rest = rest;
            self.day = Some(number(self.take(|c| c.is_ascii_digit()))?);
            self.rest = self.rest.strip_prefix('-').ok_or(Fault::Syntax)?;
            let year = self.take(|c| c.is_ascii_digit());
            self.has_date = true;
            return self.set_year(year);
        }
        Ok(())
    }

    fn zone_word(&mut self) -> Result<(), Fault> {
        let known = self.fields.time.is_some() || self.has_date || self.day.is_some();
        let name = self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+' | ':'));
        let zone = Zone::find(name).or_else(|| Zone::find(&capitalized(name)));
        match zone {
            Some(zone) if known => self.set_zone(zone),
            None if known && name.contains('/') => Err(Fault::Zone(name.to_string())),
            _ => Err(Fault::Syntax),
        }
    }

    fn finish(mut self) -> Result<Fields, Fault> {
        if self.day_of_year.is_some() && (self.month.is_some() || self.day.is_some()) {
            return Err(Fault::Syntax);
        }
        // The first of January, and days behind it.
        let day_of_year = self.day_of_year;
        if day_of_year.is_some() {
            (self.month, self.day) = (Some(1), Some(1));
        }
        if let (Some(month), Some(day), Some((year, digits))) = (self.month, self.day, self.year) {
            let year = match (self.before_christ, digits <= 2) {
                (true, _) if year == 0 => return Err(Fault::FieldRange),
                (true, _) => 1 - year,
                (false, true) if year < 70 => year + 2000,
                (false, true) => year + 1900,
                (false, false) if year == 0 => return Err(Fault::FieldRange),
                (false, false) => year,
            };
            let civil = Civil { year, month, day };
            if !civil.is_valid() {
                return Err(Fault::FieldRange);
            }
            self.fields.date = Some(civil.to_days() + day_of_year.map_or(0, |day| i64::from(day) - 1));
        } else if self.month.is_some() || self.day.is_some() || self.year.is_some() {
            return Err(Fault::Syntax);
        }
        if let Some(half) = self.half_day {
            self.fields.time = Some(half_day_time(self.fields.time.ok_or(Fault::Syntax)?, half)?);
        }
        let empty = self.fields.date.is_none() && self.fields.time.is_none() && self.fields.special.is_none();
        let twice = self.fields.date.is_some() && self.fields.special.is_some();
        if empty || twice { Err(Fault::Syntax) } else { Ok(self.fields) }
    }
}

fn half_day_time(micros: i64, half: HalfDay) -> Result<i64, Fault> {
    match (micros / MICROS_PER_HOUR, half) {
        (13.., _) => Err(Fault::FieldRange),
        (12, HalfDay::Am) => Ok(micros - 12 * MICROS_PER_HOUR),
        (12, HalfDay::Pm) | (_, HalfDay::Am) => Ok(micros),
        (_, HalfDay::Pm) => Ok(micros + 12 * MICROS_PER_HOUR),
    }
}

fn number(digits: &str) -> Result<u32, Fault> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Syntax);
    }
    digits.parse().map_err(|_| Fault::FieldRange)
}

/// `04:05`, `04:05:06.789`
pub(super) fn parse_clock(text: &str) -> Result<i64, Fault> {
    let mut parts = text.split(':');
    let hours = number(parts.next().unwrap_or(""))?;
    let minutes = number(parts.next().ok_or(Fault::Syntax)?)?;
    let (seconds, fraction) = match parts.next() {
        Some(part) => part.split_once('.').map_or((part, ""), |(seconds, fraction)| (seconds, fraction)),
        None => ("0", ""),
    };
    if parts.next().is_some() {
        return Err(Fault::Syntax);
    }
    clock(hours, minutes, number(seconds)?, fraction_micros(fraction)?)
}

/// `0405`, `040506`, with `.789` in `rest`.
fn compact_clock(digits: &str, rest: &str) -> Result<i64, Fault> {
    let seconds = if digits.len() == 6 { number(&digits[4..])? } else { 0 };
    let fraction = fraction_micros(rest.trim_start_matches('.'))?;
    clock(number(&digits[..2])?, number(&digits[2..4])?, seconds, fraction)
}

fn clock(hours: u32, minutes: u32, seconds: u32, micros: i64) -> Result<i64, Fault> {
    if minutes > 59 || seconds > 60 {
        return Err(Fault::FieldRange);
    }
    let (hours, minutes, seconds) = (i64::from(hours), i64::from(minutes), i64::from(seconds));
    let hours_micros = hours.checked_mul(MICROS_PER_HOUR).ok_or(Fault::FieldRange)?;
    let total = hours_micros + minutes * MICROS_PER_MINUTE + seconds * MICROS_PER_SECOND + micros;
    if total > MICROS_PER_DAY { Err(Fault::FieldRange) } else { Ok(total) }
}

/// Digits after the point of seconds, in microseconds, rounded.
pub(super) fn fraction_micros(digits: &str) -> Result<i64, Fault> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Syntax);
    }
    let digit = |index: usize| digits.as_bytes().get(index).map_or(0, |byte| i64::from(byte - b'0'));
    let micros = (0..6).fold(0, |micros, index| micros * 10 + digit(index));
    Ok(micros + i64::from(digit(6) >= 5))
}

/// 1 to 12, by full name or abbreviation.
pub fn month_of(word: &str) -> Option<u32> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let found = MONTHS.iter().position(|month| *month == word || word.len() == 3 && month.starts_with(word));
    found.map(|index| index as u32 + 1).or((word == "sept").then_some(9))
}

fn is_day_name(word: &str) -> bool {
    const DAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    let short = matches!(word, "tues" | "wednes" | "thur" | "thurs");
    short || DAYS.iter().any(|day| *day == word || word.len() == 3 && day.starts_with(word))
}

/// `america/new_york` as the zone database spells it.
fn capitalized(name: &str) -> String {
    let mut start = true;
    let fix = |c: char| {
        let fixed = if start { c.to_ascii_uppercase() } else { c };
        start = !c.is_ascii_alphabetic();
        fixed
    };
    name.chars().map(fix).collect()
}
