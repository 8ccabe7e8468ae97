//! `to_char` of timestamps and intervals.

use super::pattern::{DAYS, MONTHS, Piece, ROMAN_MONTHS, parse};
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
    Ok(Value::from(moment.show(template)))
}

/// Years and months of an interval stand for the calendar's.
pub(super) fn interval_to_char(interval: Interval, template: &str) -> Result<Value> {
    let (years, months) = (interval.months / 12, interval.months % 12);
    let civil = Civil { year: years.into(), month: months.unsigned_abs(), day: interval.days.unsigned_abs() };
    let interval_days = interval.days.into();
    let moment = Moment { civil, days: None, interval_days, month: months, micros: interval.micros, zone: None };
    Ok(Value::from(moment.show(template)))
}

impl Moment<'_> {
    fn show(&self, template: &str) -> String {
        let mut out = String::new();
        for piece in parse(template) {
            match piece {
                Piece::Literal(c) => out.push(c),
                Piece::Field { name, fill, ordinal } => {
                    let text = self.field(name, fill);
                    out.push_str(&text);
                    if let Some(suffix) = ordinal {
                        let ending = ordinal_ending(&text);
                        out.push_str(&if suffix == "TH" { ending.to_uppercase() } else { ending.to_string() });
                    }
                }
            }
        }
        out
    }

    fn field(&self, name: &str, fill: bool) -> String {
        let number = |value: i64, width: usize| {
            let width = if fill { width + usize::from(value < 0) } else { 0 };
            format!("{value:0width$}")
        };
        let upper = name.to_uppercase();
        self.clock_field(&upper, &number)
            .or_else(|| self.word_field(name, &upper, fill))
            .or_else(|| self.zone_field(name, &upper))
            .unwrap_or_else(|| self.calendar_field(&upper, &number, fill))
    }

    fn clock_field(&self, name: &str, number: &dyn Fn(i64, usize) -> String) -> Option<String> {
        let hours = self.micros / MICROS_PER_HOUR;
        let fraction = self.micros % MICROS_PER_SECOND;
        // A minus is one of the places.
        let digits = |places: usize| format!("{:0places$}", fraction / 10_i64.pow(6 - places as u32));
        Some(match name {
            "HH" | "HH12" => number(if hours % 12 == 0 { 12 } else { hours % 12 }, 2),
            "HH24" => number(hours, 2),
            "MI" => number(self.micros / MICROS_PER_MINUTE % 60, 2),
            "SS" => number(self.micros / MICROS_PER_SECOND % 60, 2),
            "MS" | "FF3" => digits(3),
            "US" | "FF6" => digits(6),
            "FF1" => digits(1),
            "FF2" => digits(2),
            "FF4" => digits(4),
            "FF5" => digits(5),
            "SSSS" | "SSSSS" => number(self.micros / MICROS_PER_SECOND, 0),
            _ => return None,
        })
    }

    fn word_field(&self, name: &str, upper: &str, fill: bool) -> Option<String> {
        let afternoon = self.micros / MICROS_PER_HOUR % 24 >= 12;
        let before_christ = self.civil.year <= 0 && self.days.is_some();
        let text = match upper {
            "AM" | "PM" => if afternoon { "PM" } else { "AM" }.to_string(),
            "A.M." | "P.M." => if afternoon { "P.M." } else { "A.M." }.to_string(),
            "AD" | "BC" => if before_christ { "BC" } else { "AD" }.to_string(),
            "A.D." | "B.C." => if before_christ { "B.C." } else { "A.D." }.to_string(),
            "MONTH" => self.month_name(if fill { 9 } else { 0 })?,
            "MON" => self.month_name(0)?.chars().take(3).collect(),
            "DAY" => self.day_name(if fill { 9 } else { 0 }),
            "DY" => self.day_name(0).chars().take(3).collect(),
            "RM" => {
                let roman = self.roman_month().unwrap_or("");
                let width = if fill && !roman.is_empty() { 4 } else { 0 };
                format!("{roman:<width$}")
            }
            _ => return None,
        };
        let mut letters = name.chars().filter(|c| c.is_alphabetic());
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

    fn zone_field(&self, name: &str, upper: &str) -> Option<String> {
        let Some((zone, instant)) = self.zone else {
            return match upper {
                "TZ" => Some(String::new()),
                "TZH" | "OF" => Some("+00".to_string()),
                "TZM" => Some("00".to_string()),
                _ => None,
            };
        };
        let offset = zone.offset_at(instant);
        Some(match upper {
            "TZ" if name == "tz" => zone.abbreviation_at(instant).to_lowercase(),
            "TZ" => zone.abbreviation_at(instant),
            "TZH" => offset_text(offset)[..3].to_string(),
            "TZM" => format!("{:02}", offset.abs() / 60 % 60),
            // To the minute.
            "OF" => offset_text(offset - offset % 60),
            _ => return None,
        })
    }

    fn calendar_field(&self, name: &str, number: &dyn Fn(i64, usize) -> String, fill: bool) -> String {
        // Of an interval's days a minus is one of the places.
        let counted = |value: i64, places: usize| format!("{value:0places$}", places = if fill { places } else { 0 });
        let days = self.days.unwrap_or(0);
        let shown = |year: i64| if year > 0 || self.days.is_none() { year } else { 1 - year };
        let year = shown(self.civil.year);
        let iso_year = shown(iso_week(days).0);
        let century = if self.civil.year > 0 { (year + 99) / 100 } else { -((year + 99) / 100) };
        match name {
            "Y,YYY" => format!("{},{:03}", year / 1000, year % 1000),
            "YYYY" => number(year, 4),
            "YYY" => number(year % 1000, 3),
            "YY" => number(year % 100, 2),
            "Y" => number(year % 10, 1),
            "IYYY" => number(iso_year, 4),
            "IYY" => number(iso_year % 1000, 3),
            "IY" => number(iso_year % 100, 2),
            "I" => number(iso_year % 10, 1),
            "MM" => number(self.month.into(), 2),
            "DDD" => match self.days {
                Some(days) => number(day_of_year(days), 3),
                None => counted((self.civil.year * 12 + i64::from(self.month)) * 30 + self.interval_days, 3),
            },
            "IDDD" => number(days - iso_week_start(iso_week(days).0, 1) + 1, 3),
            "DD" if self.days.is_none() => counted(self.interval_days, 2),
            "DD" => number(self.civil.day.into(), 2),
            "D" => number(day_of_week(days) + 1, 0),
            "ID" => number((day_of_week(days) + 6) % 7 + 1, 0),
            "W" => number((i64::from(self.civil.day) - 1) / 7 + 1, 0),
            "WW" => number((day_of_year(days) - 1) / 7 + 1, 2),
            "IW" => number(iso_week(days).1, 2),
            "Q" => number((i64::from(self.civil.month) + 2) / 3, 0),
            "CC" => number(century, 2),
            "J" => number(days + JULIAN_EPOCH, 0),
            _ => String::new(),
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
