//! `time with time zone`: a time of day with its distance from UTC.
//!
//! It is kept as one number: the instant in UTC as microseconds since midnight, which may be of the day before or after, and below
//! that how far the zone is west of Greenwich. So the order of the numbers is SQL's, rows and keys keep it as they keep integers,
//! and two values are equal only if both parts are.

use super::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::limit::round_time;
use crate::{Error, Result, SqlState};

/// Bits of the zone's part.
const ZONE_BITS: u32 = 17;
/// What is added to the zone's part, so that it is never negative.
const ZONE_BASE: i64 = 1 << (ZONE_BITS - 1);
/// Zones are less than so many seconds away.
const ZONE_LIMIT: i32 = 16 * 3600;

/// A time of day with its distance from UTC.
///
/// ```
/// use cairndb::{TimeTz, Value, EvalContext, to_text};
///
/// let noon = TimeTz::new(12 * 3_600_000_000, 3600).expect("it is a time");
/// assert_eq!(to_text(&Value::TimeTz(noon.packed()), &EvalContext::now()), "12:00:00+01");
/// assert_eq!((noon.micros(), noon.east()), (43_200_000_000, 3600));
/// assert_eq!(TimeTz::from_packed(noon.packed()), Some(noon));
/// // The same instant in another zone is another value.
/// assert!(noon < TimeTz::new(11 * 3_600_000_000, 0).expect("it is a time"));
/// assert_eq!(TimeTz::new(0, 16 * 3600), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeTz(i64);

impl TimeTz {
    /// A time in microseconds since midnight (24:00 is one), in a zone so many seconds east of Greenwich; `None`: there is no such.
    pub fn new(micros: i64, east: i32) -> Option<TimeTz> {
        let is_one = (0..=MICROS_PER_DAY).contains(&micros) && (1 - ZONE_LIMIT..ZONE_LIMIT).contains(&east);
        let utc = micros - i64::from(east) * MICROS_PER_SECOND;
        is_one.then_some(TimeTz((utc << ZONE_BITS) + ZONE_BASE - i64::from(east)))
    }

    /// The time of [`Value::TimeTz`](crate::Value::TimeTz); `None`: the number is none's.
    pub fn from_packed(packed: i64) -> Option<TimeTz> {
        let time = TimeTz(packed);
        TimeTz::new(time.micros(), time.east())
    }

    /// The same of a number that is one's.
    pub(crate) fn of_packed(packed: i64) -> TimeTz {
        TimeTz(packed)
    }

    /// What [`Value::TimeTz`](crate::Value::TimeTz) holds.
    pub fn packed(self) -> i64 {
        self.0
    }

    /// Microseconds since midnight.
    pub fn micros(self) -> i64 {
        self.utc_micros() + i64::from(self.east()) * MICROS_PER_SECOND
    }

    /// The zone, in seconds east of Greenwich.
    pub fn east(self) -> i32 {
        let zone = self.0 & (2 * ZONE_BASE - 1);
        (ZONE_BASE - zone) as i32
    }

    /// Microseconds since midnight in Greenwich.
    pub(crate) fn utc_micros(self) -> i64 {
        self.0 >> ZONE_BITS
    }

    /// As `new`. SQLSTATE 22009 where there is no such zone.
    pub(crate) fn local(micros: i64, east: i32) -> Result<TimeTz> {
        TimeTz::new(micros, east).ok_or_else(|| {
            Error::new(SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE, "time zone displacement out of range")
        })
    }

    /// With so many digits behind the second.
    pub(crate) fn rounded(self, digits: Option<u8>) -> TimeTz {
        TimeTz::new(round_time(self.micros(), digits), self.east()).unwrap_or(self)
    }

    /// So much later, on whichever day. (Beyond the range of microseconds it wraps, as in PostgreSQL.)
    pub(crate) fn shifted(self, by: i64) -> TimeTz {
        let micros = self.micros().wrapping_add(by).rem_euclid(MICROS_PER_DAY);
        TimeTz::new(micros, self.east()).unwrap_or(self)
    }

    /// The same instant in another zone.
    pub(crate) fn in_zone(self, east: i32) -> Result<TimeTz> {
        let micros = self.utc_micros() + i64::from(east) * MICROS_PER_SECOND;
        TimeTz::local(micros.rem_euclid(MICROS_PER_DAY), east)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_give_the_parts_back_in_order() {
        let hour = 3_600_000_000;
        let mut all = vec![];
        for micros in [0, 1, 11 * hour, MICROS_PER_DAY - 1, MICROS_PER_DAY] {
            for east in [1 - ZONE_LIMIT, -3600, -1, 0, 1, 19_800, ZONE_LIMIT - 1] {
                let time = TimeTz::new(micros, east).expect("a time");
                assert_eq!((time.micros(), time.east()), (micros, east));
                assert_eq!(TimeTz::from_packed(time.packed()), Some(time));
                all.push((micros - i64::from(east) * MICROS_PER_SECOND, -east, time));
            }
        }
        all.sort();
        assert!(all.windows(2).all(|two| two[0].2 < two[1].2));
        for packed in [i64::MAX, i64::MIN, -1, MICROS_PER_DAY << 20] {
            assert_eq!(TimeTz::from_packed(packed), None, "{packed}");
        }
    }
}
