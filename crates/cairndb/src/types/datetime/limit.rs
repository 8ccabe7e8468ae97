//! What the modifiers of times and intervals leave of a value: digits of seconds, and an interval's fields.

use std::fmt;

use super::calendar::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, is_infinite};
use super::interval::Unit;
use crate::types::Interval;

/// The most digits of seconds that there are.
pub const DIGITS_MAX: u8 = 6;

/// A field of an interval.
///
/// ```
/// use cairndb::{IntervalField, IntervalLimit};
///
/// let limit = IntervalLimit::new(Some((IntervalField::Day, IntervalField::Hour)), None).expect("they are in order");
/// assert_eq!(limit.fields(), Some((IntervalField::Day, IntervalField::Hour)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntervalField {
    /// `YEAR`
    Year,
    /// `MONTH`
    Month,
    /// `DAY`
    Day,
    /// `HOUR`
    Hour,
    /// `MINUTE`
    Minute,
    /// `SECOND`
    Second,
}

use IntervalField::{Day, Hour, Minute, Month, Second, Year};

/// What an interval keeps: its fields, `DAY TO MINUTE`, and digits of its seconds.
///
/// ```
/// use cairndb::{Interval, IntervalField, IntervalLimit};
///
/// let limit = IntervalLimit::new(Some((IntervalField::Day, IntervalField::Hour)), None).expect("they are in order");
/// let long = Interval { months: 0, days: 1, micros: 90 * 60 * 1_000_000 };
/// assert_eq!(limit.fit(long), Interval { micros: 60 * 60 * 1_000_000, ..long });
/// assert_eq!((limit.digits(), limit.to_string().trim()), (None, "day to hour"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IntervalLimit {
    /// The largest field.
    first: IntervalField,
    /// The smallest one. All fields: from years to seconds, which is not written.
    last: IntervalField,
    digits: Option<u8>,
}

impl IntervalLimit {
    /// `None` for the fields: all of them. Not all fields and all digits, which is no limit.
    pub fn new(fields: Option<(IntervalField, IntervalField)>, digits: Option<u8>) -> Option<IntervalLimit> {
        let (first, last) = fields.unwrap_or((Year, Second));
        (fields.is_some() || digits.is_some()).then_some(IntervalLimit { first, last, digits })
    }

    /// Digits of seconds that are kept, where it is said.
    pub fn digits(self) -> Option<u8> {
        self.digits
    }

    /// The largest and the smallest field, where they are said.
    pub fn fields(self) -> Option<(IntervalField, IntervalField)> {
        Some((self.first, self.last)).filter(|fields| *fields != (Year, Second))
    }

    /// Three bytes and a zero; never 0.
    pub(crate) fn code(self) -> u32 {
        let digits = self.digits.map_or(0, |digits| digits + 1);
        u32::from_be_bytes([0, self.first as u8 + 1, self.last as u8 + 1, digits])
    }

    /// `None`: no limit has this code.
    pub(crate) fn from_code(code: u32) -> Option<IntervalLimit> {
        let [0, first, last, digits] = code.to_be_bytes() else { return None };
        let field =
            |number: u8| [Year, Month, Day, Hour, Minute, Second].into_iter().find(|of| *of as u8 + 1 == number);
        let digits = digits.checked_sub(1);
        let limit = IntervalLimit { first: field(first)?, last: field(last)?, digits };
        (limit.first <= limit.last && digits.is_none_or(|digits| digits <= DIGITS_MAX)).then_some(limit)
    }

    /// PostgreSQL's `typmod`.
    pub(crate) fn modifier(self) -> i32 {
        let bit = |field| match field {
            Month => 1,
            Year => 2,
            Day => 3,
            Hour => 10,
            Minute => 11,
            Second => 12,
        };
        let fields = [Year, Month, Day, Hour, Minute, Second].into_iter();
        let mask = match self.fields() {
            Some((first, last)) => {
                fields.filter(|of| (first..=last).contains(of)).fold(0, |mask, of| mask | 1 << bit(of))
            }
            None => 0x7fff,
        };
        mask << 16 | self.digits.map_or(0xffff, i32::from)
    }

    /// The limit that has this `typmod`.
    pub(crate) fn of_modifier(modifier: i32) -> Option<IntervalLimit> {
        let all = [Year, Month, Day, Hour, Minute, Second];
        let pairs = all.into_iter().flat_map(|first| all.into_iter().map(move |last| (first, last)));
        let digits = (0..=DIGITS_MAX).map(Some).chain([None]);
        let mut limits = pairs
            .filter(|(first, last)| first <= last)
            .flat_map(|(first, last)| digits.clone().map(move |digits| IntervalLimit { first, last, digits }));
        limits.find(|limit| limit.modifier() == modifier)
    }

    /// What a number without a unit counts.
    pub(super) fn unit(self) -> Unit {
        match self.last {
            Year => Unit::Months(12),
            Month => Unit::Months(1),
            Day => Unit::Days(1),
            Hour => Unit::Micros(MICROS_PER_HOUR),
            Minute => Unit::Micros(MICROS_PER_MINUTE),
            Second => Unit::Micros(MICROS_PER_SECOND),
        }
    }

    /// Whether `1:02` is a minute and two seconds, and not an hour and two minutes.
    pub(super) fn begins_with_minutes(self) -> bool {
        (self.first, self.last) == (Minute, Second)
    }

    /// What is left of an interval: fields below the last are cut off, larger ones than the first are kept where one makes
    /// up the other; digits of seconds are rounded.
    pub fn fit(self, interval: Interval) -> Interval {
        let Interval { months, days, micros } = interval;
        let whole = |size: i64| Interval { micros: micros / size * size, ..interval };
        let kept = match self.last {
            Year => Interval { months: months / 12 * 12, ..Interval::default() },
            Month => Interval { months, ..Interval::default() },
            Day => Interval { months, days, micros: 0 },
            Hour => whole(MICROS_PER_HOUR),
            Minute => whole(MICROS_PER_MINUTE),
            Second => interval,
        };
        Interval { micros: round(kept.micros, self.digits), ..kept }
    }
}

/// Behind the type's name: ` day to second(3)`.
impl fmt::Display for IntervalLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |field| match field {
            Year => "year",
            Month => "month",
            Day => "day",
            Hour => "hour",
            Minute => "minute",
            Second => "second",
        };
        match self.fields() {
            Some((first, last)) if first == last => write!(f, " {}", word(first))?,
            Some((first, last)) => write!(f, " {} to {}", word(first), word(last))?,
            None => {}
        }
        write_digits(self.digits, f)
    }
}

/// `(3)`
pub(in crate::types) fn write_digits(digits: Option<u8>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    digits.map_or(Ok(()), |digits| write!(f, "({digits})"))
}

/// Microseconds with so many digits behind the second; halves go away from zero.
pub fn round(micros: i64, digits: Option<u8>) -> i64 {
    let Some(digits) = digits.filter(|digits| *digits < DIGITS_MAX) else { return micros };
    let unit = 10_i64.pow(u32::from(DIGITS_MAX - digits));
    // Away from zero, as far as there is room.
    let nearest = |micros: i64| micros.saturating_add(unit / 2) / unit * unit;
    if micros >= 0 { nearest(micros) } else { -nearest(micros.saturating_neg()) }
}

/// A timestamp with so many digits behind the second; infinity is left alone.
pub fn round_timestamp(micros: i64, digits: Option<u8>) -> i64 {
    if is_infinite(micros) { micros } else { round(micros, digits) }
}

/// A time with so many digits behind the second: at most midnight that follows.
pub fn round_time(micros: i64, digits: Option<u8>) -> i64 {
    round(micros, digits).min(MICROS_PER_DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limits_code_is_its_own() {
        for fields in [None, Some((Year, Year)), Some((Year, Month)), Some((Day, Second)), Some((Second, Second))] {
            for digits in [None, Some(0), Some(6)] {
                let Some(limit) = IntervalLimit::new(fields, digits) else { continue };
                assert_eq!(IntervalLimit::from_code(limit.code()), Some(limit));
                assert_eq!((limit.fields(), limit.digits()), (fields, digits));
            }
        }
        assert_eq!(IntervalLimit::new(None, None), None);
        for code in [0, 0x0100_0000, 0x0001_0100, 0x0002_0100, 0x0001_0108, u32::MAX] {
            let back = IntervalLimit::from_code(code);
            assert!(back.is_none_or(|limit| limit.code() == code), "{code:x}");
        }
    }

    #[test]
    fn halves_go_away_from_zero_and_ends_stay_ends() {
        assert_eq!(round(1_500, Some(3)), 2_000);
        assert_eq!(round(-1_500, Some(3)), -2_000);
        assert_eq!(round(1_499, Some(3)), 1_000);
        assert_eq!(round(i64::MAX - 1, Some(0)), i64::MAX / 1_000_000 * 1_000_000);
        assert_eq!(round_timestamp(i64::MIN, Some(0)), i64::MIN);
    }
}
