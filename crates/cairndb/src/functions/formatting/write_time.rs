//! `to_char` of timestamps and intervals.

use std::fmt::Write as _;

use super::pattern::{DAYS, Field, MONTHS, Piece, ROMAN_MONTHS, Written, kept};
use crate::Result;
use crate::types::datetime::{
    Civil, JULIAN_EPOCH, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, Zone, day_of_week, day_of_year,
    is_infinite, iso_week, iso_week_start, offset_text, split_timestamp,
};
use crate::types::{Interval, Value};

/// What the fields of a template show.
struct Moment<'a> {
    civil: Civil,
    /// `None`: an interval, which lies on no calendar.
    days: Option<i64>,
    interval_days: i64,
    /// Of an interval without its years, and so as negative as they; else the calendar's.
    month: i32,
    /// Of the day; of an interval all of it that is not days.
    micros: i64,
    zone: Option<(&'a Zone, i64)>,
}

/// A local timestamp, or an instant shown in `zone`. Infinite ones have no parts: NULL.
pub(super) fn timestamp_to_char(micros: i64, zone: Option<&Zone>, template: &str) -> Result<Value> {
    if is_infinite(micros) {
        return Ok(Value::Null);
    }
    let (days, time) = split_timestamp(zone.map_or(micros, |zone| zone.to_local(micros)));
    let zone = zone.map(|zone| (zone, micros));
    let civil = Civil::from_days(days);
    let moment = Moment { civil, days: Some(days), interval_days: 0, month: civil.month as i32, micros: time, zone };
    Ok(Value::from(moment.show(&kept(template)?)))
}

/// Years and months of an interval stand for the calendar's.
pub(super) fn interval_to_char(interval: Interval, template: &str) -> Result<Value> {
    let (years, months) = (interval.months / 12, interval.months % 12);
    let civil = Civil { year: years.into(), month: months.unsigned_abs(), day: interval.days.unsigned_abs() };
    let interval_days = interval.days.into();
    let moment = Moment { civil, days: None, interval_days, month: months, micros: interval.micros, zone: None };
    Ok(Value::from(moment.show(&kept(template)?)))
}

impl Moment<'_> {
    fn show(&self, pieces: &[Piece]) -> String {
        let mut out = String::new();
        for piece in pieces {
            match piece {
                Piece::Literal(c) => out.push(*c),
                Piece::Field(written) => {
                    let from = out.len();
                    self.show_field(written, &mut out);
                    if let Some(suffix) = written.ordinal {
                        let ending = ordinal_ending(&out[from..]);
                        let upper = ending.to_uppercase();
                        out.push_str(if suffix == "TH" { &upper } else { ending });
                    }
                }
            }
        }
        out
    }

    fn show_field(&self, written: &Written, out: &mut String) {
        match self.number(written.field, written.fill) {
            Some((value, width)) => push_number(out, value, width),
            None if written.field == Field::YearWithComma => {
                let year = self.shown_year(self.civil.year);
                // Writing to a text does not fail.
                let _ = write!(out, "{},{:03}", year / 1000, year % 1000);
            }
            None => out.push_str(&self.word(written).or_else(|| self.zone(written)).unwrap_or_default()),
        }
    }

    /// Of a field that is a number: it, and how many places it has at least, a minus among them.
    fn number(&self, field: Field, fill: bool) -> Option<(i64, usize)> {
        let days = self.days.unwrap_or(0);
        let hours = self.micros / MICROS_PER_HOUR;
        let fraction = self.micros % MICROS_PER_SECOND;
        // Of an interval's days and of fractions a minus is one of the places.
        let counted = |value: i64, places: usize| Some((value, if fill { places } else { 0 }));
        let (value, places) = match field {
            Field::Year(digits) => (last_digits(self.shown_year(self.civil.year), digits), digits as usize),
            Field::IsoYear(digits) => (last_digits(self.shown_year(iso_week(days).0), digits), digits as usize),
            Field::Century => (self.century(), 2),
            Field::Quarter => ((i64::from(self.civil.month) + 2) / 3, 0),
            Field::Month => (self.month.into(), 2),
            Field::Week => ((day_of_year(days) - 1) / 7 + 1, 2),
            Field::WeekOfMonth => ((i64::from(self.civil.day) - 1) / 7 + 1, 0),
            Field::IsoWeek => (iso_week(days).1, 2),
            Field::DayOfYear if self.days.is_none() => {
                return counted((self.civil.year * 12 + i64::from(self.month)) * 30 + self.interval_days, 3);
            }
            Field::DayOfYear => (day_of_year(days), 3),
            Field::IsoDayOfYear => (days - iso_week_start(iso_week(days).0, 1) + 1, 3),
            Field::Day if self.days.is_none() => return counted(self.interval_days, 2),
            Field::Day => (self.civil.day.into(), 2),
            Field::DayOfWeek => (day_of_week(days) + 1, 0),
            Field::IsoDayOfWeek => ((day_of_week(days) + 6) % 7 + 1, 0),
            Field::Julian => (days + JULIAN_EPOCH, 0),
            Field::Hour12 => (if hours % 12 == 0 { 12 } else { hours % 12 }, 2),
            Field::Hour24 => (hours, 2),
            Field::Minute => (self.micros / MICROS_PER_MINUTE % 60, 2),
            Field::Second => (self.micros / MICROS_PER_SECOND % 60, 2),
            Field::SecondOfDay => (self.micros / MICROS_PER_SECOND, 0),
            Field::Millis => return Some((fraction / 1000, 3)),
            Field::Fraction(digits) => return Some((fraction / 10_i64.pow(6 - digits), digits as usize)),
            _ => return None,
        };
        Some((value, if fill { places + usize::from(value < 0) } else { 0 }))
    }

    /// As people count them: before year 1 was year 1 BC.
    fn shown_year(&self, year: i64) -> i64 {
        if year > 0 || self.days.is_none() { year } else { 1 - year }
    }

    fn century(&self) -> i64 {
        let century = (self.shown_year(self.civil.year) + 99) / 100;
        if self.civil.year > 0 { century } else { -century }
    }

    fn word(&self, written: &Written) -> Option<String> {
        let afternoon = self.micros / MICROS_PER_HOUR % 24 >= 12;
        let before_christ = self.civil.year <= 0 && self.days.is_some();
        let text = match written.field {
            Field::HalfDay => if afternoon { "PM" } else { "AM" }.to_string(),
            Field::DottedHalfDay => if afternoon { "P.M." } else { "A.M." }.to_string(),
            Field::Era => if before_christ { "BC" } else { "AD" }.to_string(),
            Field::DottedEra => if before_christ { "B.C." } else { "A.D." }.to_string(),
            Field::MonthName => self.month_name(if written.fill { 9 } else { 0 })?,
            Field::ShortMonthName => self.month_name(0)?.chars().take(3).collect(),
            Field::DayName => self.day_name(if written.fill { 9 } else { 0 }),
            Field::ShortDayName => self.day_name(0).chars().take(3).collect(),
            Field::RomanMonth => {
                let roman = self.roman_month().unwrap_or("");
                let width = if written.fill && !roman.is_empty() { 4 } else { 0 };
                format!("{roman:<width$}")
            }
            _ => return None,
        };
        let mut letters = written.name.chars().filter(|c| c.is_alphabetic());
        Some(match (letters.next().is_some_and(char::is_uppercase), letters.next().is_some_and(char::is_uppercase)) {
            (true, true) => text.to_uppercase(),
            (false, _) => text.to_lowercase(),
            (true, false) => text,
        })
    }

    /// Months of negative intervals count from the year's end.
    fn roman_month(&self) -> Option<&'static str> {
        let month = match (self.month, self.civil.year) {
            (0, 0) => return None,
            (0, year) => {
                if year > 0 {
                    12
                } else {
                    1
                }
            }
            (month, _) if month < 0 => 13 + month,
            (month, _) => month,
        };
        ROMAN_MONTHS.get(usize::try_from(month - 1).ok()?).copied()
    }

    fn month_name(&self, width: usize) -> Option<String> {
        let name = MONTHS.get((self.civil.month as usize).checked_sub(1)?)?;
        Some(format!("{name:<width$}"))
    }

    fn day_name(&self, width: usize) -> String {
        let day = day_of_week(self.days.unwrap_or(0)) as usize;
        format!("{:<width$}", DAYS[day % 7])
    }

    fn zone(&self, written: &Written) -> Option<String> {
        let Some((zone, instant)) = self.zone else {
            return match written.field {
                Field::ZoneHours | Field::Offset => Some("+00".to_string()),
                Field::ZoneMinutes => Some("00".to_string()),
                _ => None,
            };
        };
        let offset = zone.offset_at(instant);
        Some(match written.field {
            Field::Zone if written.name == "tz" => zone.abbreviation_at(instant).to_lowercase(),
            Field::Zone => zone.abbreviation_at(instant),
            Field::ZoneHours => offset_text(offset)[..3].to_string(),
            Field::ZoneMinutes => format!("{:02}", offset.abs() / 60 % 60),
            // To the minute.
            Field::Offset => offset_text(offset - offset % 60),
            _ => return None,
        })
    }
}

/// All of a year, or its last digits.
fn last_digits(year: i64, digits: u32) -> i64 {
    if digits == 4 { year } else { year % 10_i64.pow(digits) }
}

/// As `{value:0width$}`, for the numbers of a digit or two or four that most are.
fn push_number(out: &mut String, value: i64, width: usize) {
    let place = |unit: i64| char::from(b'0' + (value / unit % 10) as u8);
    match (value, width) {
        (0..10, 0 | 1) => out.push(place(1)),
        (0..100, 2) => out.extend([place(10), place(1)]),
        (0..10_000, 4) => out.extend([place(1000), place(100), place(10), place(1)]),
        _ => {
            // Writing to a text does not fail.
            let _ = write!(out, "{value:0width$}");
        }
    }
}

/// `st`, `nd`, `rd` or `th`, by the last digits.
pub(super) fn ordinal_ending(number: &str) -> &'static str {
    let digit = |from_end: usize| number.as_bytes().iter().rev().nth(from_end).copied();
    match (digit(1), digit(0)) {
        (Some(b'1'), _) => "th",
        (_, Some(b'1')) => "st",
        (_, Some(b'2')) => "nd",
        (_, Some(b'3')) => "rd",
        _ => "th",
    }
}
