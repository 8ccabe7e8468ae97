//! Date and time templates cut into fields and literal text.

use std::rc::Rc;

use crate::Result;
use crate::functions::kept::Kept;

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Piece {
    Field(Written),
    /// Copied as it is.
    Literal(char),
}

/// A field as a template has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Written {
    pub(super) field: Field,
    /// As it is written (`Month`), which is how words are.
    pub(super) name: &'static str,
    /// Without FM: filled up to its width.
    pub(super) fill: bool,
    /// `TH` or `th` behind it.
    pub(super) ordinal: Option<&'static str>,
}

/// What a field shows, or reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field {
    /// Its last digits, so many of them.
    Year(u32),
    YearWithComma,
    IsoYear(u32),
    Century,
    Quarter,
    Month,
    MonthName,
    ShortMonthName,
    RomanMonth,
    Week,
    WeekOfMonth,
    IsoWeek,
    DayOfYear,
    IsoDayOfYear,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayName,
    ShortDayName,
    Julian,
    Hour12,
    Hour24,
    Minute,
    Second,
    Millis,
    /// So many digits of the second: `US` is `FF6`.
    Fraction(u32),
    SecondOfDay,
    /// AM or PM.
    HalfDay,
    DottedHalfDay,
    /// AD or BC.
    Era,
    DottedEra,
    Zone,
    ZoneHours,
    ZoneMinutes,
    Offset,
}

/// Every field as it may be written, longer names before their beginnings.
const FIELDS: [(&[&str], Field); 49] = [
    (&["SSSSS"], Field::SecondOfDay),
    (&["Y,YYY"], Field::YearWithComma),
    (&["MONTH", "Month", "month"], Field::MonthName),
    (&["A.D.", "a.d.", "B.C.", "b.c."], Field::DottedEra),
    (&["A.M.", "a.m.", "P.M.", "p.m."], Field::DottedHalfDay),
    (&["HH24", "hh24"], Field::Hour24),
    (&["HH12", "hh12"], Field::Hour12),
    (&["IDDD", "iddd"], Field::IsoDayOfYear),
    (&["IYYY", "iyyy"], Field::IsoYear(4)),
    (&["YYYY", "yyyy"], Field::Year(4)),
    (&["SSSS", "ssss"], Field::SecondOfDay),
    (&["DAY", "Day", "day"], Field::DayName),
    (&["DDD", "ddd"], Field::DayOfYear),
    (&["IYY", "iyy"], Field::IsoYear(3)),
    (&["MON", "Mon", "mon"], Field::ShortMonthName),
    (&["YYY", "yyy"], Field::Year(3)),
    (&["TZH", "tzh"], Field::ZoneHours),
    (&["TZM", "tzm"], Field::ZoneMinutes),
    (&["FF1", "ff1"], Field::Fraction(1)),
    (&["FF2", "ff2"], Field::Fraction(2)),
    (&["FF3", "ff3"], Field::Fraction(3)),
    (&["FF4", "ff4"], Field::Fraction(4)),
    (&["FF5", "ff5"], Field::Fraction(5)),
    (&["FF6", "ff6"], Field::Fraction(6)),
    (&["AD", "ad", "BC", "bc"], Field::Era),
    (&["AM", "am", "PM", "pm"], Field::HalfDay),
    (&["CC", "cc"], Field::Century),
    (&["DD", "dd"], Field::Day),
    (&["DY", "Dy", "dy"], Field::ShortDayName),
    (&["HH", "hh"], Field::Hour12),
    (&["ID", "id"], Field::IsoDayOfWeek),
    (&["IW", "iw"], Field::IsoWeek),
    (&["IY", "iy"], Field::IsoYear(2)),
    (&["MI", "mi"], Field::Minute),
    (&["MM", "mm"], Field::Month),
    (&["MS", "ms"], Field::Millis),
    (&["OF", "of"], Field::Offset),
    (&["RM", "rm"], Field::RomanMonth),
    (&["SS", "ss"], Field::Second),
    (&["TZ", "tz"], Field::Zone),
    (&["US", "us"], Field::Fraction(6)),
    (&["WW", "ww"], Field::Week),
    (&["YY", "yy"], Field::Year(2)),
    (&["D", "d"], Field::DayOfWeek),
    (&["I", "i"], Field::IsoYear(1)),
    (&["J", "j"], Field::Julian),
    (&["Q", "q"], Field::Quarter),
    (&["W", "w"], Field::WeekOfMonth),
    (&["Y", "y"], Field::Year(1)),
];

thread_local! {
    static KEPT: Kept<Vec<Piece>> = const { Kept::new() };
}

/// A template's pieces, cut before or now.
pub(super) fn kept(template: &str) -> Result<Rc<Vec<Piece>>> {
    KEPT.with(|kept| kept.get(template, "", || Ok(parse(template))))
}

/// Cuts a template.
fn parse(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = template;
    let mut fill = true;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm")) {
            fill = false;
            rest = after;
        } else if let Some(after) = rest.strip_prefix("FX").or_else(|| rest.strip_prefix("TM")) {
            rest = after;
        } else if let Some((name, field)) = field_at(rest) {
            rest = &rest[name.len()..];
            let ordinal = ["TH", "th"].into_iter().find(|suffix| rest.starts_with(suffix));
            rest = &rest[ordinal.map_or(0, str::len)..];
            pieces.push(Piece::Field(Written { field, name, fill, ordinal }));
            fill = true;
        } else if first == '"' {
            rest = quoted(&rest[1..], |c| pieces.push(Piece::Literal(c)));
        } else if let Some(after) = rest.strip_prefix("\\\"") {
            // Elsewhere a backslash only says of a quote that it is none.
            rest = after;
            pieces.push(Piece::Literal('"'));
        } else {
            rest = &rest[first.len_utf8()..];
            pieces.push(Piece::Literal(first));
        }
    }
    pieces
}

fn field_at(text: &str) -> Option<(&'static str, Field)> {
    let written = |(names, field): &(&'static [&'static str], Field)| {
        let name = names.iter().find(|name| text.starts_with(**name))?;
        Some((*name, *field))
    };
    FIELDS.iter().find_map(written)
}

/// Gives the text up to the closing quote, and returns what follows; a backslash takes the next character as it is.
pub(super) fn quoted(text: &str, mut literal: impl FnMut(char)) -> &str {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => literal(chars.next().unwrap_or('\\')),
            other => literal(other),
        }
    }
    chars.as_str()
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub(super) const ROMAN_MONTHS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
