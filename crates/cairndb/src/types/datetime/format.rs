//! Dates and times as text, in each style of dates. Intervals: `span`.

use super::timetz::TimeTz;
use std::fmt::Write;

use super::calendar::{
    Civil, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, day_of_week, is_infinite, is_infinite_date,
    split_timestamp,
};
use super::zone::Zone;
use crate::types::{DateOrder, DateStyle, TextStyle};

// Writing to a String cannot fail: results of `write!` are dropped here.

/// `2001-02-03`, `0044-03-15 BC`, `infinity`.
pub fn write_date(days: i32, style: TextStyle, out: &mut String) {
    if is_infinite_date(days) {
        return out.push_str(if days > 0 { "infinity" } else { "-infinity" });
    }
    let civil = Civil::from_days(days.into());
    match style.date {
        DateStyle::Postgres => write_day(civil, '-', style.order, out),
        _ => write_civil(civil, style, out),
    }
    write_era(civil, out);
}

/// `04:05:06.789`
pub fn write_time(micros: i64, out: &mut String) {
    let (hours, minutes) = (micros / MICROS_PER_HOUR, micros / MICROS_PER_MINUTE % 60);
    let _ = write!(out, "{hours:02}:{minutes:02}:");
    write_seconds(micros % MICROS_PER_MINUTE, out);
}

/// `2001-02-03 04:05:06`
pub fn write_timestamp(micros: i64, style: TextStyle, out: &mut String) {
    if is_infinite(micros) {
        return out.push_str(if micros > 0 { "infinity" } else { "-infinity" });
    }
    let civil = write_local(micros, style, out);
    write_era(civil, out);
}

/// `2001-02-03 04:05:06+01`, in the given zone, which other styles than ISO call by its abbreviation.
pub fn write_timestamptz(micros: i64, zone: &Zone, style: TextStyle, out: &mut String) {
    if is_infinite(micros) {
        return write_timestamp(micros, style, out);
    }
    let civil = write_local(zone.to_local(micros), style, out);
    match style.date {
        DateStyle::Iso => out.push_str(&offset_text(zone.offset_at(micros))),
        _ => {
            out.push(' ');
            out.push_str(&zone.abbreviation_at(micros));
        }
    }
    write_era(civil, out);
}

fn write_local(micros: i64, style: TextStyle, out: &mut String) -> Civil {
    let (days, rest) = split_timestamp(micros);
    let civil = Civil::from_days(days);
    if style.date == DateStyle::Postgres {
        write_in_words(days, civil, rest, style.order, out);
        return civil;
    }
    write_civil(civil, style, out);
    out.push(' ');
    write_time(rest, out);
    civil
}

/// `Thu Feb 01 04:05:06 2024`
fn write_in_words(days: i64, civil: Civil, time: i64, order: DateOrder, out: &mut String) {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let weekday = DAYS[day_of_week(days) as usize % DAYS.len()];
    let month = MONTHS[(civil.month as usize + MONTHS.len() - 1) % MONTHS.len()];
    let _ = match order {
        DateOrder::Dmy => write!(out, "{weekday} {:02} {month} ", civil.day),
        _ => write!(out, "{weekday} {month} {:02} ", civil.day),
    };
    write_time(time, out);
    let _ = write!(out, " {:04}", shown_year(civil));
}

fn write_civil(civil: Civil, style: TextStyle, out: &mut String) {
    let _ = match style.date {
        DateStyle::Iso => write!(out, "{:04}-{:02}-{:02}", shown_year(civil), civil.month, civil.day),
        DateStyle::German => write!(out, "{:02}.{:02}.{:04}", civil.day, civil.month, shown_year(civil)),
        DateStyle::Sql | DateStyle::Postgres => return write_day(civil, '/', style.order, out),
    };
}

/// `02/01/2024`, or the day first.
fn write_day(civil: Civil, separator: char, order: DateOrder, out: &mut String) {
    let (first, second) = match order {
        DateOrder::Dmy => (civil.day, civil.month),
        _ => (civil.month, civil.day),
    };
    let _ = write!(out, "{first:02}{separator}{second:02}{separator}{:04}", shown_year(civil));
}

/// The year of its era.
fn shown_year(civil: Civil) -> i64 {
    if civil.year > 0 { civil.year } else { 1 - civil.year }
}

fn write_era(civil: Civil, out: &mut String) {
    if civil.year <= 0 {
        out.push_str(" BC");
    }
}

/// Two digits of seconds and the fraction without trailing zeros.
pub(super) fn write_seconds(micros: i64, out: &mut String) {
    let (seconds, fraction) = (micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND);
    let _ = write!(out, "{seconds:02}");
    if fraction != 0 {
        let digits = format!("{fraction:06}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}

/// Appends a time and its zone.
pub fn write_timetz(time: TimeTz, out: &mut String) {
    write_time(time.micros(), out);
    out.push_str(&offset_text(time.east()));
}

/// `+01`, `-03:30`.
pub fn offset_text(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let seconds = seconds.abs();
    let mut text = format!("{sign}{:02}", seconds / 3600);
    if seconds % 3600 != 0 {
        let _ = write!(text, ":{:02}", seconds / 60 % 60);
    }
    if seconds % 60 != 0 {
        let _ = write!(text, ":{:02}", seconds % 60);
    }
    text
}
