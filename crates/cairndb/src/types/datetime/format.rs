//! Dates and times as text, in each style of dates. Intervals: `span`.

use super::timetz::TimeTz;
use std::fmt::Write;

use super::calendar::{
    Civil, MICROS_PER_MINUTE, MICROS_PER_SECOND, day_of_week, is_infinite, is_infinite_date, split_timestamp,
};
use super::zone::Zone;
use crate::types::text::{Short, pair};
use crate::types::{DateOrder, DateStyle, TextStyle};

// Writing to a String cannot fail: results of `write!` are dropped here.

/// `2001-02-03`, `0044-03-15 BC`, `infinity`.
pub fn write_date(days: i32, style: TextStyle, out: &mut String) {
    if style.date == DateStyle::Iso || is_infinite_date(days) {
        return Short::push_to(out, |short| iso_date(days, short));
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
    Short::push_to(out, |short| time(micros, short));
}

/// `2001-02-03 04:05:06`
pub fn write_timestamp(micros: i64, style: TextStyle, out: &mut String) {
    if style.date == DateStyle::Iso || is_infinite(micros) {
        return Short::push_to(out, |short| iso_timestamp(micros, None, short));
    }
    let civil = write_local(micros, style, out);
    write_era(civil, out);
}

/// `2001-02-03 04:05:06+01`, in the given zone, which other styles than ISO call by its abbreviation.
pub fn write_timestamptz(micros: i64, zone: &Zone, style: TextStyle, out: &mut String) {
    if style.date == DateStyle::Iso || is_infinite(micros) {
        return Short::push_to(out, |short| iso_timestamp(micros, Some(zone), short));
    }
    let civil = write_local(zone.to_local(micros), style, out);
    out.push(' ');
    out.push_str(&zone.abbreviation_at(micros));
    write_era(civil, out);
}

/// A date in the style of ISO, which is the default.
pub(in crate::types) fn iso_date(days: i32, out: &mut Short<'_>) {
    if is_infinite_date(days) {
        return put_infinity(days > 0, out);
    }
    let civil = Civil::from_days(days.into());
    put_iso(civil, out);
    put_era(civil, out);
}

/// A timestamp in the style of ISO, without a zone or in one.
pub(in crate::types) fn iso_timestamp(micros: i64, zone: Option<&Zone>, out: &mut Short<'_>) {
    if is_infinite(micros) {
        return put_infinity(micros > 0, out);
    }
    let offset = zone.map(|zone| zone.offset_at(micros));
    let local = micros.saturating_add(i64::from(offset.unwrap_or(0)) * MICROS_PER_SECOND);
    let (days, rest) = split_timestamp(local);
    let civil = Civil::from_days(days);
    put_iso(civil, out);
    out.push(b' ');
    time(rest, out);
    if let Some(offset) = offset {
        put_offset(offset, out);
    }
    put_era(civil, out);
}

fn put_infinity(is_positive: bool, out: &mut Short<'_>) {
    out.put(if is_positive { b"infinity" } else { b"-infinity" });
}

#[inline]
fn put_iso(civil: Civil, out: &mut Short<'_>) {
    out.four(shown_year(civil).unsigned_abs());
    let ([a, b], [c, d]) = (pair(civil.month), pair(civil.day));
    *out.next() = [b'-', a, b, b'-', c, d];
}

#[inline]
fn put_era(civil: Civil, out: &mut Short<'_>) {
    if civil.year <= 0 {
        out.put(b" BC");
    }
}

/// A time of day.
#[inline]
pub(in crate::types) fn time(micros: i64, out: &mut Short<'_>) {
    let minutes = (micros / MICROS_PER_MINUTE) as u32;
    let ([a, b], [c, d]) = (pair(minutes / 60), pair(minutes % 60));
    *out.next() = [a, b, b':', c, d, b':'];
    put_seconds(micros % MICROS_PER_MINUTE, out);
}

/// Two digits of seconds and the fraction without trailing zeros.
#[inline]
fn put_seconds(micros: i64, out: &mut Short<'_>) {
    out.two((micros / MICROS_PER_SECOND) as u32);
    let fraction = (micros % MICROS_PER_SECOND) as u32;
    if fraction != 0 {
        out.push(b'.');
        out.six(fraction);
        out.trim_zeros();
    }
}

/// `+01`, `-03:30`.
#[inline]
fn put_offset(seconds: i32, out: &mut Short<'_>) {
    out.push(if seconds < 0 { b'-' } else { b'+' });
    let seconds = seconds.unsigned_abs();
    let hours = seconds / 3600;
    if hours >= 100 {
        out.push(b'0' + (hours / 100 % 10) as u8);
    }
    out.two(hours % 100);
    if !seconds.is_multiple_of(3600) {
        out.push(b':');
        out.two(seconds / 60 % 60);
    }
    if !seconds.is_multiple_of(60) {
        out.push(b':');
        out.two(seconds % 60);
    }
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
    match style.date {
        DateStyle::German => _ = write!(out, "{:02}.{:02}.{:04}", civil.day, civil.month, shown_year(civil)),
        _ => write_day(civil, '/', style.order, out),
    }
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

/// As `put_seconds`.
pub(super) fn write_seconds(micros: i64, out: &mut String) {
    Short::push_to(out, |short| put_seconds(micros, short));
}

/// A time of day with its zone.
pub(in crate::types) fn time_with_zone(of: TimeTz, out: &mut Short<'_>) {
    time(of.micros(), out);
    put_offset(of.east(), out);
}

/// `+01`, `-03:30`.
pub fn offset_text(seconds: i32) -> String {
    let mut out = String::new();
    Short::push_to(&mut out, |short| put_offset(seconds, short));
    out
}
