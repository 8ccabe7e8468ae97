//! The form that programs write: `2024-02-29` and `2024-02-29 12:34:56.789`, read without looking for any other.
//!
//! What is not of this form to the letter, or no date, is not read here: [`super::fields`] knows all forms and all errors.

use super::calendar::{Civil, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};

/// Of `YYYY-MM-DD HH:MM:SS`.
const BYTES: usize = 19;

/// The day number of `YYYY-MM-DD`.
pub(super) fn date(text: &str) -> Option<i64> {
    let bytes: &[u8; 10] = text.as_bytes().try_into().ok()?;
    day(bytes)
}

/// The day number and the microseconds of `YYYY-MM-DD HH:MM:SS`, with up to six digits behind a point.
pub(super) fn timestamp(text: &str) -> Option<(i64, i64)> {
    let (date, rest) = text.as_bytes().split_first_chunk::<10>()?;
    let (time, fraction) = rest.split_first_chunk::<9>()?;
    let [b' ', h1, h2, b':', m1, m2, b':', s1, s2] = *time else { return None };
    let (hour, minute, second) = (two(h1, h2)?, two(m1, m2)?, two(s1, s2)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let micros = i64::from(hour) * MICROS_PER_HOUR
        + i64::from(minute) * MICROS_PER_MINUTE
        + i64::from(second) * MICROS_PER_SECOND
        + micros_of(fraction)?;
    Some((day(date)?, micros))
}

/// The same with a zone behind it, which is fixed: `+02`, `-03:30`. Its seconds east; `None`: there is none.
pub(super) fn zoned_timestamp(text: &str) -> Option<(i64, i64, Option<i32>)> {
    let is_sign = |byte: &u8| matches!(byte, b'+' | b'-');
    let fraction = text.as_bytes().get(BYTES..)?;
    let (text, zone) = match fraction.iter().position(is_sign) {
        Some(at) => text.split_at_checked(BYTES + at)?,
        None => (text, ""),
    };
    let east = if zone.is_empty() { None } else { Some(east(zone.as_bytes())?) };
    timestamp(text).map(|(days, micros)| (days, micros, east))
}

/// Seconds east. Those who live far from Greenwich are 14 hours away.
fn east(zone: &[u8]) -> Option<i32> {
    let (&sign, rest) = zone.split_first()?;
    let (hours, minutes) = match *rest {
        [h1, h2] => (two(h1, h2)?, 0),
        [h1, h2, b':', m1, m2] => (two(h1, h2)?, two(m1, m2)?),
        _ => return None,
    };
    let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
    (hours < 15 && minutes < 60).then_some(if sign == b'-' { -seconds } else { seconds })
}

/// Years of four digits, the first not 0: those are written as they are meant.
fn day(&[y1, y2, y3, y4, dash, m1, m2, other, d1, d2]: &[u8; 10]) -> Option<i64> {
    if (dash, other) != (b'-', b'-') || y1 == b'0' {
        return None;
    }
    let year = i64::from(two(y1, y2)?) * 100 + i64::from(two(y3, y4)?);
    let civil = Civil { year, month: two(m1, m2)?, day: two(d1, d2)? };
    civil.is_valid().then(|| civil.to_days())
}

fn two(tens: u8, ones: u8) -> Option<u32> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| u32::from(tens - b'0') * 10 + u32::from(ones - b'0'))
}

fn micros_of(fraction: &[u8]) -> Option<i64> {
    let digits = match fraction {
        [] => return Some(0),
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => digits,
        _ => return None,
    };
    let digit = |at: usize| digits.get(at).copied().unwrap_or(b'0');
    (0..6).try_fold(0, |sum, at| digit(at).is_ascii_digit().then(|| sum * 10 + i64::from(digit(at) - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DateOrder;
    use crate::types::datetime::calendar::timestamp_of;
    use crate::types::datetime::fields;
    use crate::types::datetime::zone::Zone;

    /// Whatever is read here is read so by the parser of all forms.
    #[test]
    fn what_is_read_is_what_the_parser_of_all_forms_reads() {
        let (mut dates, mut timestamps, mut zones) = (0, 0, 0);
        let years =
            ["0000", "0001", "0099", "0999", "1000", "1582", "1900", "2000", "2023", "2024", "9999", "20a4", "+202"];
        for year in years {
            for month in ["00", "01", "02", "04", "12", "13", "2 ", "-1"] {
                for day in ["00", "01", "28", "29", "30", "31", "32", " 1", "1 "] {
                    for separator in ["-", "/", "."] {
                        let date = format!("{year}{separator}{month}-{day}");
                        if let Some(days) = super::date(&date) {
                            assert_eq!(
                                fields::parse(&date, DateOrder::Mdy).ok().and_then(|fields| fields.date),
                                Some(days),
                                "{date}"
                            );
                            dates += 1;
                        }
                        for time in [
                            " 00:00:00",
                            " 23:59:59",
                            " 23:59:60",
                            " 24:00:00",
                            " 12:34",
                            "T12:34:56",
                            " 12:34:56.",
                            " 12:34:56.7",
                            " 12:34:56.000001",
                            " 12:34:56.999999",
                            " 12:34:56.9999999",
                            " 12:34:56+1",
                            " 12:34:5x",
                            " 12:60:00",
                            "  1:02:03",
                            "",
                        ] {
                            let text = format!("{date}{time}");
                            let Some((days, micros)) = timestamp(&text) else { continue };
                            let fields = fields::parse(&text, DateOrder::Mdy).unwrap_or_else(|_| panic!("{text}"));
                            assert_eq!(
                                (fields.date, fields.time, fields.zone.is_some()),
                                (Some(days), Some(micros), false),
                                "{text}"
                            );
                            assert!(timestamp_of(days, micros).is_some());
                            for zone in [
                                "", "+00", "-00", "+02", "-03:30", "+14:59", "+15", "+02:60", "+0230", "+2", " +02",
                                "Z",
                            ] {
                                zones += usize::from(agrees_with_zone(&format!("{text}{zone}"), (days, micros)));
                            }
                            timestamps += 1;
                        }
                    }
                }
            }
        }
        assert!(dates > 100 && timestamps > 500 && zones > 6 * timestamps - 1, "{dates}, {timestamps}, {zones}");
    }

    /// Whether it is read here.
    fn agrees_with_zone(text: &str, (days, micros): (i64, i64)) -> bool {
        let Some(read) = zoned_timestamp(text) else { return false };
        let fields = fields::parse(text, DateOrder::Mdy).unwrap_or_else(|_| panic!("{text}"));
        let east = fields.zone.map(|zone| if let Zone::Fixed(east) = zone { east } else { panic!("{text}") });
        assert_eq!((fields.date, fields.time, east), (Some(days), Some(micros), read.2), "{text}");
        assert_eq!((read.0, read.1), (days, micros), "{text}");
        true
    }
}
