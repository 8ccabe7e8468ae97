//! Time zones: fixed offsets, abbreviations, and the IANA database through `jiff`.

use jiff::civil;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::abbreviations;
use super::calendar::{
    Civil, MICROS_PER_DAY, MICROS_PER_SECOND, UNIX_EPOCH_MICROS, checked_timestamp, is_infinite, split_timestamp,
};
use crate::types::EvalContext;
use crate::{Error, Result, SqlState};

/// A time zone.
#[derive(Clone, Debug)]
pub enum Zone {
    /// Seconds east of UTC.
    Fixed(i32),
    /// From the IANA database.
    Named(TimeZone),
    /// What an abbreviation meant in its zone when it was last used.
    Abbreviated(Abbreviated),
}

/// An abbreviation whose meaning changed.
#[derive(Clone, Debug)]
pub struct Abbreviated {
    pub(super) zone: TimeZone,
    /// In capitals.
    pub(super) abbreviation: String,
}

/// PostgreSQL knows no zone that is a week from Greenwich.
const SECONDS_PER_WEEK: i32 = 7 * 86_400;

/// How many changes of a zone's clocks behind an instant are looked at for an abbreviation.
const CHANGES_MAX: usize = 200;

impl Abbreviated {
    /// Seconds east: by the last use of the abbreviation up to an instant, else by its first behind it; by the zone itself,
    /// where it does not use it.
    fn offset_at(&self, instant: jiff::Timestamp) -> i32 {
        let now = self.zone.to_offset_info(instant);
        if now.abbreviation() == self.abbreviation {
            return now.offset().seconds();
        }
        let before = self.zone.preceding(instant).find(|change| change.abbreviation() == self.abbreviation);
        let behind = || self.zone.following(instant).take(CHANGES_MAX);
        let found = before.or_else(|| behind().find(|change| change.abbreviation() == self.abbreviation));
        found.map_or_else(|| now.offset(), |change| change.offset()).seconds()
    }
}

/// Days after which the calendar repeats; moves instants into the range that `jiff` knows.
const CALENDAR_CYCLE_DAYS: i64 = 146_097;
/// About the years 1 to 9000, with room on both sides.
const KNOWN_DAYS: std::ops::Range<i64> = -730_000..2_556_000;

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone::Fixed(0);

    /// The session's time zone.
    pub fn of(context: &EvalContext) -> Zone {
        if context.time_zone.eq_ignore_ascii_case("utc") {
            return Zone::UTC;
        }
        Zone::parse(&context.time_zone).unwrap_or(Zone::UTC)
    }

    /// A zone by its IANA name or abbreviation; what SET TIME ZONE and AT TIME ZONE take.
    pub fn parse(name: &str) -> Result<Zone> {
        Zone::find(name).ok_or_else(|| {
            Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
        })
    }

    /// A zone by its IANA name or abbreviation.
    pub fn find(name: &str) -> Option<Zone> {
        let lower = name.to_ascii_lowercase();
        if let Some(zone) = abbreviations::meaning(&lower) {
            return Some(zone);
        }
        if let Some(seconds) = fixed_offset(&lower) {
            // POSIX counts west of Greenwich.
            return Some(Zone::Fixed(-seconds));
        }
        // `04:30`, which has no sign, is west too.
        if name.starts_with(|c: char| c.is_ascii_digit()) && name.contains(':') {
            let seconds = parts_of_offset(&format!("+{name}"), SECONDS_PER_WEEK / 3600 - 1);
            return seconds.map(|seconds| Zone::Fixed(-seconds));
        }
        if let Some(quoted) = name.strip_prefix('<') {
            return of_quoted(name, quoted);
        }
        TimeZone::get(name).ok().map(Zone::Named).or_else(|| posix(&lower))
    }

    /// The zone of what stands so many seconds east of Greenwich, by the name that PostgreSQL gives it (`<+05:30>-05:30`: POSIX counts
    /// west). `None`: that is a week or more.
    pub(crate) fn name_of_offset(seconds: i64) -> Option<String> {
        let seconds = i32::try_from(seconds).ok().filter(|seconds| seconds.abs() < SECONDS_PER_WEEK)?;
        let text = super::format::offset_text(seconds);
        let west = if text.starts_with('-') { '+' } else { '-' };
        Some(format!("<{text}>{west}{}", &text[1..]))
    }

    /// The names of the IANA zones that are known here, in order.
    pub(crate) fn names() -> Vec<String> {
        let mut names: Vec<String> = jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect();
        names.sort();
        names
    }

    /// Whether it is summer time at an instant.
    pub(crate) fn is_summer_at(&self, utc_micros: i64) -> bool {
        match self {
            Zone::Named(zone) => instant(utc_micros).is_some_and(|at| zone.to_offset_info(at).dst().is_dst()),
            Zone::Fixed(_) | Zone::Abbreviated(_) => false,
        }
    }

    /// Seconds east of UTC at an instant.
    pub fn offset_at(&self, utc_micros: i64) -> i32 {
        match self {
            Zone::Fixed(seconds) => *seconds,
            Zone::Named(zone) => instant(utc_micros).map_or(0, |instant| zone.to_offset(instant).seconds()),
            Zone::Abbreviated(abbreviated) => instant(utc_micros).map_or(0, |instant| abbreviated.offset_at(instant)),
        }
    }

    /// Local time at an instant. Infinities stay what they are.
    pub fn to_local(&self, utc_micros: i64) -> i64 {
        if is_infinite(utc_micros) {
            return utc_micros;
        }
        utc_micros.saturating_add(i64::from(self.offset_at(utc_micros)) * MICROS_PER_SECOND)
    }

    /// The instant of a local time; `None`: out of range. A time that a change of clocks skips is taken by the offset
    /// before it; one that occurs twice is the later one.
    pub fn to_utc(&self, local_micros: i64) -> Option<i64> {
        if is_infinite(local_micros) {
            return Some(local_micros);
        }
        let offset = i128::from(self.offset_for_local(local_micros)) * i128::from(MICROS_PER_SECOND);
        checked_timestamp(i128::from(local_micros) - offset)
    }

    /// Seconds east of UTC at a local time.
    pub(crate) fn offset_for_local(&self, local_micros: i64) -> i32 {
        let zone = match self {
            Zone::Fixed(seconds) => return *seconds,
            Zone::Named(zone) => zone,
            Zone::Abbreviated(abbreviated) => {
                // The instant is that of the zone's own clocks.
                return match Zone::Named(abbreviated.zone.clone()).to_utc(local_micros) {
                    Some(utc_micros) => self.offset_at(utc_micros),
                    None => 0,
                };
            }
        };
        let (days, micros) = split_timestamp(local_micros);
        let Some(local) = jiff_datetime(Civil::from_days(known_day(days)), micros) else { return 0 };
        match zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
            AmbiguousOffset::Gap { before, .. } => before.seconds(),
            AmbiguousOffset::Fold { after, .. } => after.seconds(),
        }
    }

    /// The abbreviation in use at an instant (`CET`), or the offset where there is none.
    pub fn abbreviation_at(&self, utc_micros: i64) -> String {
        match self {
            Zone::Fixed(0) => "UTC".to_string(),
            Zone::Fixed(seconds) => super::format::offset_text(*seconds),
            Zone::Named(zone) => {
                let instant = instant(utc_micros).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
                zone.to_offset_info(instant).abbreviation().to_string()
            }
            Zone::Abbreviated(abbreviated) => abbreviated.abbreviation.clone(),
        }
    }
}

/// `gmt+4`: an abbreviation of any name, and how far it is west of Greenwich.
fn posix(name: &str) -> Option<Zone> {
    let at = name.find(|c: char| !c.is_ascii_alphabetic()).filter(|at| *at >= 3)?;
    fixed_offset(&name[at..]).map(|seconds| Zone::Fixed(-seconds))
}

/// `<+05:30>-05:30`: an abbreviation, and how far it is west of Greenwich.
fn of_quoted(name: &str, quoted: &str) -> Option<Zone> {
    let (abbreviation, west) = quoted.split_once('>')?;
    let seconds = -parts_of_offset(west, SECONDS_PER_WEEK / 3600 - 1)?;
    // Where it is zero, `Fixed` would call it UTC.
    if seconds != 0 && super::format::offset_text(seconds) == abbreviation {
        return Some(Zone::Fixed(seconds));
    }
    TimeZone::posix(name).ok().map(Zone::Named)
}

/// The instant, or one of the same place in the calendar that `jiff` knows.
fn instant(utc_micros: i64) -> Option<jiff::Timestamp> {
    let (days, micros) = split_timestamp(utc_micros);
    jiff::Timestamp::from_microsecond(known_day(days) * MICROS_PER_DAY + micros + UNIX_EPOCH_MICROS).ok()
}

fn known_day(days: i64) -> i64 {
    if KNOWN_DAYS.contains(&days) { days } else { days.rem_euclid(CALENDAR_CYCLE_DAYS) }
}

fn jiff_datetime(date: Civil, micros: i64) -> Option<civil::DateTime> {
    let seconds = micros / MICROS_PER_SECOND;
    let date = civil::Date::new(i16::try_from(date.year).ok()?, date.month as i8, date.day as i8).ok()?;
    let (hour, minute, second) = ((seconds / 3600) as i8, (seconds / 60 % 60) as i8, (seconds % 60) as i8);
    Some(date.at(hour, minute, second, (micros % MICROS_PER_SECOND) as i32 * 1000))
}

/// `+05`, `-3:30`, `+0530`, `+05:30:15` in seconds east.
pub fn fixed_offset(text: &str) -> Option<i32> {
    parts_of_offset(text, 15)
}

/// The same, of at most so many hours.
fn parts_of_offset(text: &str, hours_max: i32) -> Option<i32> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let number = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<i32>().ok()).flatten();
    let parts: Vec<&str> = rest.split(':').collect();
    let (hours, minutes, seconds) = match parts.as_slice() {
        [hm] if hours_max < 100 && (hm.len() == 3 || hm.len() == 4) => {
            let (hours, minutes) = hm.split_at_checked(hm.len() - 2)?;
            (number(hours)?, number(minutes)?, 0)
        }
        [h] if h.len() <= 2 || hours_max >= 100 => (number(h)?, 0, 0),
        [h, m] => (number(h)?, number(m)?, 0),
        [h, m, s] => (number(h)?, number(m)?, number(s)?),
        _ => return None,
    };
    (hours <= hours_max && minutes < 60 && seconds < 60).then(|| sign * (hours * 3600 + minutes * 60 + seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::datetime::timestamp_of;

    fn local(year: i64, month: u32, day: u32, hour: i64, minute: i64) -> i64 {
        timestamp_of(Civil { year, month, day }.to_days(), (hour * 60 + minute) * 60_000_000).unwrap()
    }

    #[test]
    fn changes_of_clocks_resolve_as_postgresql_does() {
        let zone = Zone::parse("America/New_York").unwrap();
        assert_eq!(zone.to_utc(local(2021, 7, 1, 12, 0)), Some(local(2021, 7, 1, 16, 0)));
        // Skipped: 02:30 by the offset before. Twice: the later.
        assert_eq!(zone.to_utc(local(2021, 3, 14, 2, 30)), Some(local(2021, 3, 14, 7, 30)));
        assert_eq!(zone.to_utc(local(2021, 11, 7, 1, 30)), Some(local(2021, 11, 7, 6, 30)));
        assert_eq!(zone.to_local(local(2021, 1, 1, 12, 0)), local(2021, 1, 1, 7, 0));
    }

    #[test]
    fn far_years_have_offsets_too() {
        let zone = Zone::parse("Europe/Berlin").unwrap();
        for year in [-4000, 200_000] {
            let utc = zone.to_utc(local(year, 6, 1, 0, 0)).unwrap();
            assert!((utc - local(year, 6, 1, 0, 0)).abs() < 3 * 3_600_000_000);
        }
    }

    #[test]
    fn offsets_have_names_that_are_zones() {
        for (seconds, name, shown) in [
            (0, "<+00>-00", "+00"),
            (19_800, "<+05:30>-05:30", "+05:30"),
            (-10_800, "<-03>+03", "-03"),
            (-1_800, "<-00:30>+00:30", "-00:30"),
            (360_000, "<+100>-100", "+100"),
            (604_799, "<+167:59:59>-167:59:59", "+167:59:59"),
        ] {
            assert_eq!(Zone::name_of_offset(seconds).as_deref(), Some(name));
            let zone = Zone::parse(name).unwrap();
            assert_eq!((i64::from(zone.offset_at(0)), zone.abbreviation_at(0).as_str()), (seconds, shown), "{name}");
        }
        assert_eq!(Zone::name_of_offset(604_800), None);
        assert_eq!(Zone::name_of_offset(i64::MIN), None);
        assert_eq!(Zone::parse("<ABC>+5").unwrap().abbreviation_at(0), "ABC");
        for refused in ["<+168>-168", "<", "<a", "<a>", "<>-1", "<a>\u{e9}"] {
            assert!(Zone::find(refused).is_none(), "{refused}");
        }
    }

    #[test]
    fn names_that_are_no_zones_are_refused() {
        assert_eq!(Zone::parse("Mars/Olympus").unwrap_err().message(), "time zone \"Mars/Olympus\" not recognized");
        assert_eq!(fixed_offset("+05:30"), Some(19800));
        assert_eq!(fixed_offset("-0330"), Some(-12600));
        assert_eq!(fixed_offset("+99"), None);
        assert_eq!(fixed_offset("+2900800:00"), None);
        assert_eq!(fixed_offset("-00:2147483647"), None);
        assert_eq!(fixed_offset("+\u{e9}1"), None);
        assert_eq!(fixed_offset("+\u{1f980}"), None);
    }
}
