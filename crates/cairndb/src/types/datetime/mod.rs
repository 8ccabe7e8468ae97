//! Dates, times and intervals: calendar, text forms, time zones.

mod abbreviations;
mod calendar;
mod fields;
mod format;
mod input;
mod interval;
mod iso;
mod limit;
mod span;
mod timetz;
mod zone;

pub(crate) use abbreviations::listed_abbreviations;
pub use calendar::{
    Civil, JULIAN_EPOCH, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, UNIX_EPOCH_MICROS,
    checked_date, checked_timestamp, clock_micros, day_of_week, day_of_year, days_in_month, is_date, is_infinite,
    is_infinite_date, is_time, is_timestamp, iso_week, iso_week_start, split_timestamp, timestamp_of,
};
pub(crate) use calendar::{DATE_MAX, DATE_MIN};
pub(in crate::types) use format::{iso_date, iso_timestamp, time, time_with_zone};
pub use format::{offset_text, write_date, write_time, write_timestamp, write_timestamptz};
pub(crate) use input::is_same_for_everyone;
pub use input::{
    parse_date, parse_interval, parse_time, parse_timestamp, parse_timestamptz, parse_timetz, today, wrap_time,
};
pub(in crate::types) use limit::write_digits;
pub use limit::{DIGITS_MAX, IntervalField, IntervalLimit, round_time, round_timestamp};
pub use span::write_interval;
pub use timetz::TimeTz;
pub use zone::Zone;
