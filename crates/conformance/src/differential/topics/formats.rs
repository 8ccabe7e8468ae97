//! Templates of to_char, to_date, to_timestamp and to_number, and intervals with fields.

use super::super::Kind;
use super::super::expression::Expressions;

const DATES: [&str; 44] = [
    "YYYY", "YY", "YYY", "Y,YYY", "MM", "Mon", "MONTH", "Month", "month", "DD", "DDD", "D", "ID", "IDDD", "Day", "DAY",
    "Dy", "dy", "WW", "IW", "W", "CC", "Q", "J", "RM", "rm", "IYYY", "IY", "HH24", "HH12", "HH", "MI", "SS", "MS",
    "US", "FF3", "FF6", "SSSS", "AM", "p.m.", "BC", "DDth", "FMDDTH", "FMMonth",
];

const NUMBERS: [&str; 18] = [
    "999", "999.99", "FM999.9", "0000", "S999", "999S", "MI999", "999MI", "PL999", "SG99", "999PR", "9,999", "99V9",
    "RN", "FMRN", "9.9EEEE", "99D99", "999th",
];

const SEPARATORS: [&str; 7] = ["-", "/", " ", ":", ".", " \"of\" ", ""];

const WHEN: [(&str, &str); 21] = [
    ("2024-02-29", "YYYY-MM-DD"),
    ("20240229", "YYYYMMDD"),
    ("24 feb 3", "YY Mon DD"),
    ("3 March 2021", "DD Month YYYY"),
    ("2021 60", "YYYY DDD"),
    ("2021-W10-3", "IYYY-\"W\"IW-ID"),
    ("12:45 PM", "HH12:MI AM"),
    ("2021-03-04 23:59:59.123456", "YYYY-MM-DD HH24:MI:SS.US"),
    ("2021-03-04 23:59:59.5", "YYYY-MM-DD HH24:MI:SS.MS"),
    ("44 BC", "YYYY BC"),
    ("2451545", "J"),
    ("21 XII", "YY RM"),
    ("2021 366", "YYYY DDD"),
    ("2021-13-01", "YYYY-MM-DD"),
    ("2021-02-30", "YYYY-MM-DD"),
    ("25:00", "HH24:MI"),
    ("abc", "YYYY"),
    ("2021", "YYYY-MM-DD"),
    ("2021 05", "YYYY WW"),
    ("99-1-1", "YY-FMMM-FMDD"),
    ("1,234-5", "Y,YYY-MM"),
];

const FIELDS: [&str; 14] = [
    "YEAR",
    "MONTH",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "YEAR TO MONTH",
    "DAY TO HOUR",
    "DAY TO MINUTE",
    "DAY TO SECOND",
    "HOUR TO MINUTE",
    "HOUR TO SECOND",
    "MINUTE TO SECOND",
    "SECOND(2)",
];

const SPANS: [&str; 12] = [
    "1",
    "1-2",
    "1 2:03:04",
    "2:03",
    "1.5",
    "-3",
    "1 year 2 months 3 days 04:05:06.789",
    "P1Y2M3DT4H5M6.7S",
    "1 2:03",
    "-1-2",
    "04:05:06",
    "x",
];

fn template(g: &mut Expressions<'_>, pieces: &[&str]) -> String {
    let mut text = String::new();
    for index in 0..1 + g.random.below(4) {
        if index > 0 {
            text += *g.random.pick(&SEPARATORS);
        }
        text += *g.random.pick(pieces);
    }
    text
}

/// A value as a text by a template.
pub(in super::super) fn text(g: &mut Expressions<'_>, depth: usize) -> String {
    match g.random.below(4) {
        0 => {
            let kind = *g.random.pick(&[Kind::Integer, Kind::Numeric, Kind::BigInt]);
            format!("to_char({}, '{}')", g.value(kind, depth), g.random.pick(&NUMBERS))
        }
        1 => {
            let pieces: Vec<&str> = DATES.iter().copied().filter(|piece| in_intervals(piece)).collect();
            format!("to_char({}, '{}')", g.value(Kind::Interval, depth), template(g, &pieces))
        }
        _ => {
            let kind = *g.random.pick(&[Kind::Date, Kind::Timestamp, Kind::TimestampTz]);
            format!("to_char({}, '{}')", g.value(kind, depth), template(g, &DATES))
        }
    }
}

/// PostgreSQL refuses days of weeks and the like of intervals, and what it says of others is noise.
fn in_intervals(piece: &str) -> bool {
    ["YYYY", "MM", "DD", "HH24", "HH12", "MI", "SS", "MS", "US", "FF3", "FF6", "SSSS", "AM", "p.m.", "DDth", "FMDDTH"]
        .contains(&piece)
}

/// A query without tables: values read by templates, and intervals of some fields.
pub(in super::super) fn constant(g: &mut Expressions<'_>) -> String {
    let (what, by) = *g.random.pick(&WHEN);
    match g.random.below(7) {
        0 => format!("SELECT to_date('{what}', '{by}')"),
        1 => format!("SELECT to_timestamp('{what}', '{by}')"),
        // What it makes of a text of another form than the template's is left out.
        2 => format!("SELECT to_date('{what}', '{by}'), to_timestamp('  {what} ', '{by}')"),
        3 => {
            // What it makes of texts of another form is left out.
            let (number, by) = *g.random.pick(&[
                ("12", "999"),
                ("-12.5", "S99.9"),
                ("1,234", "9,999"),
                ("<12>", "99PR"),
                ("12-", "99MI"),
                ("12.454", "99D999"),
                ("0012", "9999"),
            ]);
            format!("SELECT to_number('{number}', '{by}')")
        }
        4 | 5 => format!("SELECT INTERVAL '{}' {}", g.random.pick(&SPANS), g.random.pick(&FIELDS)),
        _ => format!(
            "SELECT CAST('{}' AS interval {}), CAST('{}' AS interval({}))",
            g.random.pick(&SPANS),
            g.random.pick(&FIELDS),
            g.random.pick(&SPANS),
            g.random.between(0, 6)
        ),
    }
}
