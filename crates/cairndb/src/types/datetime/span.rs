//! Intervals as text, in each style of intervals.

use std::fmt::Write;

use super::calendar::{MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use super::format::write_seconds;
use crate::types::{Interval, IntervalStyle};

// Writing to a String cannot fail: results of `write!` are dropped here.

/// Appends an interval.
pub fn write_interval(interval: Interval, style: IntervalStyle, out: &mut String) {
    match style {
        IntervalStyle::Postgres => write_postgres(interval, out),
        IntervalStyle::Verbose => write_verbose(&Parts::of(interval), out),
        IntervalStyle::SqlStandard => write_standard(Parts::of(interval), out),
        IntervalStyle::Iso8601 => write_iso(&Parts::of(interval), out),
    }
}

/// An interval's fields, each with its own sign.
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    /// Of a second.
    fraction: i64,
}

impl Parts {
    fn of(interval: Interval) -> Parts {
        let micros = interval.micros;
        Parts {
            year: (interval.months / 12).into(),
            month: (interval.months % 12).into(),
            day: interval.days.into(),
            hour: micros / MICROS_PER_HOUR,
            minute: micros / MICROS_PER_MINUTE % 60,
            second: micros / MICROS_PER_SECOND % 60,
            fraction: micros % MICROS_PER_SECOND,
        }
    }

    fn all(&self) -> [i64; 7] {
        [self.year, self.month, self.day, self.hour, self.minute, self.second, self.fraction]
    }

    /// As numbers without signs.
    fn unsigned(&self) -> Parts {
        let [year, month, day, hour, minute, second, fraction] = self.all().map(i64::abs);
        Parts { year, month, day, hour, minute, second, fraction }
    }
}

/// `5.25`: seconds without a sign.
fn write_plain_seconds(parts: &Parts, out: &mut String) {
    let _ = write!(out, "{}", parts.second.abs());
    if parts.fraction != 0 {
        let digits = format!("{:06}", parts.fraction.abs());
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
}

/// `2:03:04.5`
fn write_clock(parts: &Parts, out: &mut String) {
    let _ = write!(out, "{}:{:02}:", parts.hour, parts.minute);
    write_seconds(parts.second * MICROS_PER_SECOND + parts.fraction, out);
}

/// `1-2`, `3 4:05:06`, `+1-2 -3 +4:05:06` where signs differ or months come with days.
fn write_standard(parts: Parts, out: &mut String) {
    let all = parts.all();
    let (negative, positive) = (all.iter().any(|part| *part < 0), all.iter().any(|part| *part > 0));
    let has = |of: &[i64]| of.iter().any(|part| *part != 0);
    let (has_months, has_days) = (has(&all[..2]), has(&all[2..]));
    if !negative && !positive {
        return out.push('0');
    }
    let plain = parts.unsigned();
    if negative && positive || has_months && has_days {
        let sign = |of: &[i64]| if of.iter().any(|part| *part < 0) { '-' } else { '+' };
        let (months, days, time) = (sign(&all[..2]), sign(&all[2..3]), sign(&all[3..]));
        let _ = write!(out, "{months}{}-{} {days}{} {time}", plain.year, plain.month, plain.day);
        return write_clock(&plain, out);
    }
    if negative {
        out.push('-');
    }
    if has_months {
        let _ = write!(out, "{}-{}", plain.year, plain.month);
        return;
    }
    if plain.day != 0 {
        let _ = write!(out, "{} ", plain.day);
    }
    write_clock(&plain, out);
}

/// `P1Y2M3DT4H5M6S`
fn write_iso(parts: &Parts, out: &mut String) {
    if parts.all().iter().all(|part| *part == 0) {
        return out.push_str("PT0S");
    }
    out.push('P');
    let write_part = |value: i64, unit: char, out: &mut String| {
        if value != 0 {
            let _ = write!(out, "{value}{unit}");
        }
    };
    write_part(parts.year, 'Y', out);
    write_part(parts.month, 'M', out);
    write_part(parts.day, 'D', out);
    if parts.all()[3..].iter().any(|part| *part != 0) {
        out.push('T');
    }
    write_part(parts.hour, 'H', out);
    write_part(parts.minute, 'M', out);
    if parts.second != 0 || parts.fraction != 0 {
        if parts.second < 0 || parts.fraction < 0 {
            out.push('-');
        }
        write_plain_seconds(parts, out);
        out.push('S');
    }
}

/// `@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs ago`: the first field's sign is said by the last word.
fn write_verbose(parts: &Parts, out: &mut String) {
    out.push('@');
    // Whether the first field that is not zero is negative.
    let mut before: Option<bool> = None;
    let units =
        [(parts.year, "year"), (parts.month, "mon"), (parts.day, "day"), (parts.hour, "hour"), (parts.minute, "min")];
    for (value, unit) in units.into_iter().filter(|(value, _)| *value != 0) {
        let shown = if *before.get_or_insert(value < 0) { -value } else { value };
        let plural = if shown == 1 { "" } else { "s" };
        let _ = write!(out, " {shown} {unit}{plural}");
    }
    if parts.second != 0 || parts.fraction != 0 {
        let negative = parts.second < 0 || parts.fraction < 0;
        let sign = if *before.get_or_insert(negative) != negative { "-" } else { "" };
        let _ = write!(out, " {sign}");
        write_plain_seconds(parts, out);
        out.push_str(if parts.second.abs() == 1 && parts.fraction == 0 { " sec" } else { " secs" });
    }
    match before {
        None => out.push_str(" 0"),
        Some(true) => out.push_str(" ago"),
        Some(false) => {}
    }
}

/// `1 year 2 mons -3 days +04:05:06.7`
fn write_postgres(interval: Interval, out: &mut String) {
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
