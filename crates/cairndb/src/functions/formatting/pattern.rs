//! Date and time templates cut into fields and literal text.

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// A field as written (`Month`), with its modifiers.
    Field { name: &'static str, fill: bool, ordinal: Option<&'static str> },
    /// Copied as it is.
    Literal(char),
}

/// Every field, longer ones before their beginnings.
const FIELDS: [&str; 103] = [
    "SSSSS", "Y,YYY", "MONTH", "Month", "month", "A.D.", "a.d.", "B.C.", "b.c.", "A.M.", "a.m.", "P.M.", "p.m.",
    "HH24", "hh24", "HH12", "hh12", "IDDD", "iddd", "IYYY", "iyyy", "YYYY", "yyyy", "SSSS", "ssss", "DAY", "Day",
    "day", "DDD", "ddd", "IYY", "iyy", "MON", "Mon", "mon", "YYY", "yyy", "TZH", "tzh", "TZM", "tzm", "FF1", "FF2",
    "FF3", "FF4", "FF5", "FF6", "ff1", "ff2", "ff3", "ff4", "ff5", "ff6", "AD", "ad", "BC", "bc", "AM", "am", "PM",
    "pm", "CC", "cc", "DD", "dd", "DY", "Dy", "dy", "HH", "hh", "ID", "id", "IW", "iw", "IY", "iy", "MI", "mi", "MM",
    "mm", "MS", "ms", "OF", "of", "RM", "rm", "SS", "ss", "TZ", "tz", "US", "us", "WW", "ww", "YY", "yy", "D", "d",
    "I", "J", "Q", "W", "Y",
];
const ONE_LETTER: [&str; 5] = ["i", "j", "q", "w", "y"];

/// Cuts a template.
pub(super) fn parse(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = template;
    let mut fill = true;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm")) {
            fill = false;
            rest = after;
        } else if let Some(after) = rest.strip_prefix("FX").or_else(|| rest.strip_prefix("TM")) {
            rest = after;
        } else if let Some(name) = field_at(rest) {
            rest = &rest[name.len()..];
            let ordinal = ["TH", "th"].into_iter().find(|suffix| rest.starts_with(suffix));
            rest = &rest[ordinal.map_or(0, str::len)..];
            pieces.push(Piece::Field { name, fill, ordinal });
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

fn field_at(text: &str) -> Option<&'static str> {
    FIELDS.iter().chain(&ONE_LETTER).find(|name| text.starts_with(**name)).copied()
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
