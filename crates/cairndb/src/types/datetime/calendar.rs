//! The proleptic Gregorian calendar, counted in days from 2000-01-01, and the clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Microseconds from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_MICROS: i64 = 10_957 * MICROS_PER_DAY;

/// The clock, in microseconds since 2000-01-01 UTC.
pub fn clock_micros() -> i64 {
    let unix = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
    };
    unix.saturating_sub(UNIX_EPOCH_MICROS)
}
