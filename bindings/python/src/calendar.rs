//! Days and microseconds since 2000-01-01, as SQL's dates and times are counted, to years, months and days and back.

/// Of 2000-01-01, as `datetime.date.toordinal` counts.
pub(crate) const ORDINAL_2000: i64 = 730_120;
pub(crate) const DAY_MICROS: i64 = 86_400_000_000;
/// Of 0001-01-01 and 9999-12-31, which are the first and the last that Python has.
pub(crate) const DAYS: std::ops::RangeInclusive<i64> = (1 - ORDINAL_2000)..=(3_652_059 - ORDINAL_2000);

/// Year, month and day of a day (Howard Hinnant's `civil_from_days`).
pub(crate) fn civil(days: i64) -> (i32, u8, u8) {
    // Days since 0000-03-01, so that a leap day is a year's last.
    let shifted = days + 730_425;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year as i32, month as u8, of_month as u8)
}

/// The day of a year, month and day.
pub(crate) fn days(year: i32, month: u8, day: u8) -> i64 {
    let (month, day) = (i64::from(month), i64::from(day));
    let year = i64::from(year) - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 730_425
}

/// Hour, minute, second and microsecond of a time of day.
pub(crate) fn clock(micros: i64) -> (u8, u8, u8, u32) {
    let seconds = micros / 1_000_000;
    ((seconds / 3600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8, (micros % 1_000_000) as u32)
}
