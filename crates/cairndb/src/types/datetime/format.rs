//! Dates, times and intervals as text: datestyle ISO, intervalstyle postgres.

use std::fmt::Write;

use super::calendar::{
    Civil, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, is_infinite, is_infinite_date, split_timestamp,
};
use super::zone::Zone;
use crate::types::Interval;

// Writing to a String cannot fail: results of `write!` are dropped here.

/// `2001-02-03`, `0044-03-15 BC`, `infinity`.
pub fn write_date(days: i32, out: &mut String) {
    if is_infinite_date(days) {
        return out.push_str(if days > 0 { "infinity" } else { "-infinity" });
    }
    let civil = Civil::from_days(days.into());
    write_civil(civil, out);
    write_era(civil, out);
}

/// `04:05:06.789`
pub fn write_time(micros: i64, out: &mut String) {
    let (hours, minutes) = (micros / MICROS_PER_HOUR, micros / MICROS_PER_MINUTE % 60);
    let _ = write!(out, "{hours:02}:{minutes:02}:");
    write_seconds(micros % MICROS_PER_MINUTE, out);
}

/// `2001-02-03 04:05:06`
pub fn write_timestamp(micros: i64, out: &mut String) {
    if is_infinite(micros) {
        return out.push_str(if micros > 0 { "infinity" } else { "-infinity" });
    }
    let civil = write_local(micros, out);
    write_era(civil, out);
}

/// `2001-02-03 04:05:06+01`, in the given zone.
pub fn write_timestamptz(micros: i64, zone: &Zone, out: &mut String) {
    if is_infinite(micros) {
        return write_timestamp(micros, out);
    }
    let civil = write_local(zone.to_local(micros), out);
    out.push_str(&offset_text(zone.offset_at(micros)));
    write_era(civil, out);
}

fn write_local(micros: i64, out: &mut String) -> Civil {
    let (days, rest) = split_timestamp(micros);
    let civil = Civil::from_days(days);
    write_civil(civil, out);
    out.push(' ');
    write_time(rest, out);
    civil
}

fn write_civil(civil: Civil, out: &mut String) {
    let year = if civil.year > 0 { civil.year } else { 1 - civil.year };
    let _ = write!(out, "{year:04}-{:02}-{:02}", civil.month, civil.day);
}

fn write_era(civil: Civil, out: &mut String) {
    if civil.year <= 0 {
        out.push_str(" BC");
    }
}

/// Two digits of seconds and the fraction without trailing zeros.
fn write_seconds(micros: i64, out: &mut String) {
    let (seconds, fraction) = (micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND);
    let _ = write!(out, "{seconds:02}");
    if fraction != 0 {
        let digits = format!("{fraction:06}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
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

/// `1 year 2 mons -3 days +04:05:06.7`
pub fn write_interval(interval: Interval, out: &mut String) {
    let (mut empty, mut before) = (true, false);
    let parts = [(interval.months / 12, "year"), (interval.months % 12, "mon"), (interval.days, "day")];
    for (value, unit) in parts.into_iter().filter(|(value, _)| *value != 0) {
        let space = if empty { "" } else { " " };
        let plus = if before && value > 0 { "+" } else { "" };
        let plural = if value == 1 { "" } else { "s" };
        let _ = write!(out, "{space}{plus}{value} {unit}{plural}");
        (empty, before) = (false, value < 0);
    }
    if empty || interval.micros != 0 {
        if !empty {
            out.push(' ');
        }
        out.push_str(if interval.micros < 0 {
            "-"
        } else if before {
            "+"
        } else {
            ""
        });
        write_span(interval.micros.unsigned_abs(), out);
    }
}

fn write_span(micros: u64, out: &mut String) {
    let (hour, minute) = (MICROS_PER_HOUR as u64, MICROS_PER_MINUTE as u64);
    let _ = write!(out, "{:02}:{:02}:", micros / hour, micros / minute % 60);
    write_seconds((micros % minute) as i64, out);
}
