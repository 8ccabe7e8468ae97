//! The proleptic Gregorian calendar, counted in days from 2000-01-01; the limits of dates and timestamps; the clock.

use crate::sync;
use std::time::UNIX_EPOCH;

/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
/// Microseconds of an hour.
pub const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;
/// Days from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_DAYS: i64 = 10_957;
/// Microseconds from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_MICROS: i64 = UNIX_EPOCH_DAYS * MICROS_PER_DAY;
/// The Julian day of 2000-01-01.
pub const JULIAN_EPOCH: i64 = 2_451_545;

/// The first date: 4714-11-24 BC, Julian day 0.
pub(crate) const DATE_MIN: i64 = -JULIAN_EPOCH;
/// The last date: 5874897-12-31.
pub(crate) const DATE_MAX: i64 = 2_147_483_493 - JULIAN_EPOCH;
const TIMESTAMP_MIN: i64 = -211_813_488_000_000_000;
/// One past the last timestamp: 294277-01-01.
const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;

/// A date by its parts. Year 0 is 1 BC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Astronomical year.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
}

/// The clock, in microseconds since 2000-01-01 UTC.
pub fn clock_micros() -> i64 {
    let unix = match sync::wall_clock().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
    };
    unix.saturating_sub(UNIX_EPOCH_MICROS)
}

/// Days of a month, 28 to 31.
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

impl Civil {
    /// The date of a day number. (Algorithms after Howard Hinnant, "chrono-compatible low-level date algorithms".)
    pub fn from_days(days: i64) -> Civil {
        // Days since 0000-03-01: years then end with their leap day.
        let shifted = days + UNIX_EPOCH_DAYS + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_shifted = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * month_shifted + 2) / 5 + 1) as u32;
        let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 } as u32;
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Civil { year, month, day }
    }

    /// The day number of a date whose parts are valid.
    pub fn to_days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let month = i64::from(self.month);
        let month_shifted = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * month_shifted + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468 - UNIX_EPOCH_DAYS
    }

    /// Month and day exist.
    pub fn is_valid(self) -> bool {
        (1..=12).contains(&self.month) && self.day >= 1 && self.day <= days_in_month(self.year, self.month)
    }

    /// The date `months` later, its day cut to the length of its month.
    pub fn plus_months(self, months: i64) -> Civil {
        let total = self.year * 12 + i64::from(self.month) - 1 + months;
        let (year, month) = (total.div_euclid(12), total.rem_euclid(12) as u32 + 1);
        Civil { year, month, day: self.day.min(days_in_month(year, month)) }
    }
}

/// A date's day number, where it is one that `date` can hold.
pub fn checked_date(days: i64) -> Option<i32> {
    (DATE_MIN..=DATE_MAX).contains(&days).then_some(days as i32)
}

/// A timestamp, where it is one that `timestamp` can hold.
pub fn checked_timestamp(micros: i128) -> Option<i64> {
    let range = i128::from(TIMESTAMP_MIN)..i128::from(TIMESTAMP_END);
    range.contains(&micros).then_some(micros as i64)
}

/// A finite timestamp from its day and its microseconds of the day.
pub fn timestamp_of(days: i64, micros: i64) -> Option<i64> {
    checked_timestamp(i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(micros))
}

/// The day of a timestamp and the microseconds of that day.
pub fn split_timestamp(micros: i64) -> (i64, i64) {
    (micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY))
}

/// Infinite as a timestamp.
pub fn is_infinite(micros: i64) -> bool {
    micros == i64::MAX || micros == i64::MIN
}

/// Whether a date can be this, infinity included.
pub fn is_date(days: i32) -> bool {
    checked_date(days.into()).is_some() || is_infinite_date(days)
}

/// Whether a timestamp can be this, infinity included.
pub fn is_timestamp(micros: i64) -> bool {
    checked_timestamp(micros.into()).is_some() || is_infinite(micros)
}

/// Whether a time of day can be this, 24:00 included.
pub fn is_time(micros: i64) -> bool {
    (0..=MICROS_PER_DAY).contains(&micros)
}

/// Infinite as a date.
pub fn is_infinite_date(days: i32) -> bool {
    days == i32::MAX || days == i32::MIN
}

/// Sunday is 0.
pub fn day_of_week(days: i64) -> i64 {
    // 2000-01-01 was a Saturday.
    (days + 6).rem_euclid(7)
}

/// ISO 8601 year and week (1 to 53).
pub fn iso_week(days: i64) -> (i64, i64) {
    let monday_based = (day_of_week(days) + 6) % 7;
    let thursday = days - monday_based + 3;
    let year = Civil::from_days(thursday).year;
    let first = Civil { year, month: 1, day: 1 }.to_days();
    (year, (thursday - first) / 7 + 1)
}

/// The Monday with which an ISO year's week begins.
pub fn iso_week_start(year: i64, week: i64) -> i64 {
    let fourth = Civil { year, month: 1, day: 4 }.to_days();
    let monday = fourth - (day_of_week(fourth) + 6) % 7;
    monday + (week - 1) * 7
}

/// 1 to 366.
pub fn day_of_year(days: i64) -> i64 {
    let year = Civil::from_days(days).year;
    days - Civil { year, month: 1, day: 1 }.to_days() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        assert_eq!(Civil::from_days(0), Civil { year: 2000, month: 1, day: 1 });
        assert_eq!(Civil::from_days(-JULIAN_EPOCH), Civil { year: -4713, month: 11, day: 24 });
        for days in (-2_451_545..2_145_000_000_i64).step_by(99_991) {
            let civil = Civil::from_days(days);
            assert!(civil.is_valid());
            assert_eq!(civil.to_days(), days);
        }
    }

    #[test]
    fn iso_weeks_straddle_years() {
        let days = |year, month, day| Civil { year, month, day }.to_days();
        assert_eq!(iso_week(days(2005, 1, 1)), (2004, 53));
        assert_eq!(iso_week(days(2006, 1, 2)), (2006, 1));
        assert_eq!(iso_week_start(2006, 1), days(2006, 1, 2));
    }
}
