//! Dates, times and intervals: calendar, text forms, time zones.

mod calendar;

pub use calendar::{MICROS_PER_DAY, clock_micros};
