//! Literals of every type: mostly small and colliding, sometimes extreme.

use super::{Dialect, Kind, Random};

const WORDS: [&str; 14] = [
    "",
    "a",
    "b",
    "ab",
    "abc",
    "Abc",
    "zebra",
    "x_y",
    "100%",
    " pad ",
    "it''s",
    "\u{e9}t\u{e9}",
    "\u{4f60}\u{597d}",
    "\u{1f980}",
];

/// The labels of the enum, in its order.
pub(super) const MOODS: [&str; 4] = ["sad", "ok", "happy", "so so"];

const DOCUMENTS: [&str; 16] = [
    "null",
    "true",
    "7",
    "-2",
    "\"a\"",
    "\"\"",
    "[]",
    "{}",
    "[1, 2, 3]",
    "[1, [2, {\"a\": null}], \"b\"]",
    "{\"a\": 1}",
    "{\"a\": 1, \"b\": [1, 2]}",
    "{\"a\": {\"b\": \"c\"}, \"d\": false}",
    "{\"b\": null, \"a\": \"x\"}",
    "[{\"a\": 1}, {\"a\": 2}]",
    "{\"\u{e9}\": \"\u{1f980}\"}",
];

/// A literal of this type that needs no context to have it, or NULL now and then.
pub(super) fn literal(random: &mut Random, kind: Kind, dialect: Dialect) -> String {
    if random.percent(8) {
        return format!("CAST(NULL AS {})", kind.sql());
    }
    match dialect {
        Dialect::Postgres => typed(random, kind, false),
        Dialect::Sqlite => plain(random, kind),
    }
}

/// A value to insert: NULL and extremes are more frequent.
pub(super) fn stored(random: &mut Random, kind: Kind, dialect: Dialect, nullable: bool) -> String {
    if nullable && random.percent(15) {
        return "NULL".into();
    }
    let extreme = random.percent(4);
    match dialect {
        Dialect::Postgres => typed(random, kind, extreme),
        Dialect::Sqlite => plain(random, kind),
    }
}

fn plain(random: &mut Random, kind: Kind) -> String {
    match kind {
        Kind::Text => text(random),
        _ => random.between(-9, 30).to_string(),
    }
}

fn typed(random: &mut Random, kind: Kind, extreme: bool) -> String {
    match kind {
        Kind::Boolean => if random.percent(50) { "true" } else { "false" }.into(),
        Kind::SmallInt if extreme => (*random.pick(&["CAST(32767 AS smallint)", "(-32768)::smallint"])).into(),
        Kind::SmallInt => format!("CAST({} AS smallint)", random.between(-9, 30)),
        Kind::Integer if extreme => (*random.pick(&["2147483647", "-2147483648"])).into(),
        Kind::Integer => random.between(-9, 30).to_string(),
        Kind::BigInt if extreme => (*random.pick(&["9223372036854775807", "-9223372036854775808"])).into(),
        Kind::BigInt => format!("{}::bigint", random.between(0, 50)),
        Kind::Real => format!("CAST('{}' AS real)", float(random, extreme)),
        Kind::Double => format!("CAST('{}' AS double precision)", float(random, extreme)),
        Kind::Numeric => numeric(random, extreme),
        Kind::Text => text(random),
        Kind::Varchar => format!("CAST({} AS varchar(12))", text(random)),
        Kind::Char => format!("CAST({} AS char(5))", text(random)),
        Kind::Bytea => format!("'\\x{}'::bytea", random.pick(&["", "00", "ff00", "deadbeef", "61", "6162"])),
        Kind::Date => format!("DATE '{}'", date(random, extreme)),
        Kind::Time => format!("TIME '{}'", time(random)),
        Kind::Timestamp => format!("TIMESTAMP '{} {}'", date(random, extreme), time(random)),
        Kind::TimestampTz => format!(
            "TIMESTAMPTZ '{} {}{}'",
            date(random, extreme),
            time(random),
            random.pick(&["+00", "+02", "-07:30"])
        ),
        Kind::Interval => format!("INTERVAL '{}'", interval(random)),
        Kind::Integers => format!("'{}'::integer[]", integers(random)),
        Kind::Jsonb => format!("'{}'::jsonb", random.pick(&DOCUMENTS)),
        Kind::Mood => format!("'{}'::mood", random.pick(&MOODS)),
        // The domain refuses less than -1000.
        Kind::Amount if extreme => format!("CAST({} AS amount)", random.pick(&["(-1000)", "(-1001)", "2147483647"])),
        Kind::Amount => format!("CAST({} AS amount)", random.between(-9, 30)),
        Kind::Pair => pair(random),
        Kind::Pairs => {
            let items: Vec<String> = (0..random.below(3)).map(|_| pair(random)).collect();
            format!("ARRAY[{}]::pair[]", items.join(", "))
        }
        Kind::Moods => {
            format!("'{}'::mood[]", random.pick(&["{}", "{ok}", "{sad,ok}", "{ok,NULL,\"so so\"}", "{happy,happy}"]))
        }
        Kind::Texts => format!("'{}'::text[]", random.pick(&TEXTS)),
        Kind::Uuid => format!("'{:08x}-0000-4000-8000-00000000000{}'::uuid", random.below(4), random.below(4)),
    }
}

const TEXTS: [&str; 7] =
    ["{}", "{a}", "{a,b}", "{NULL,\"NULL\"}", "{\"\",\"x,y\",\"{z}\"}", "{it''s,\"q\\\"\"}", "{b,a,b}"];

fn pair(random: &mut Random) -> String {
    let number = if random.percent(15) { "NULL".into() } else { random.between(-3, 9).to_string() };
    let word = if random.percent(15) { "NULL".into() } else { text(random) };
    format!("ROW({number}, {word})::pair")
}

fn integers(random: &mut Random) -> String {
    let items: Vec<String> = (0..random.below(4))
        .map(|_| match random.percent(10) {
            true => "NULL".into(),
            false => random.between(-3, 9).to_string(),
        })
        .collect();
    format!("{{{}}}", items.join(","))
}

fn text(random: &mut Random) -> String {
    format!("'{}'", random.pick(&WORDS))
}

fn float(random: &mut Random, extreme: bool) -> String {
    if extreme {
        return (*random.pick(&["NaN", "Infinity", "-Infinity", "1e30", "1.5e-30", "3.4028235e38"])).into();
    }
    format!("{}.{}", random.between(-9, 30), random.pick(&["0", "5", "25", "1", "333"]))
}

fn numeric(random: &mut Random, extreme: bool) -> String {
    if extreme {
        return (*random.pick(&["999999999.999", "(-999999999.999)", "0.001", "(-0.001)"])).into();
    }
    let number = format!("{}.{}", random.between(-9, 30), random.pick(&["0", "5", "25", "125", "999"]));
    if number.starts_with('-') { format!("({number})") } else { number }
}

fn date(random: &mut Random, extreme: bool) -> String {
    if extreme {
        return (*random.pick(&["0001-01-01", "9999-12-31", "1582-10-10", "2000-02-29"])).into();
    }
    format!("202{}-{:02}-{:02}", random.between(0, 5), random.between(1, 12), random.between(1, 28))
}

fn time(random: &mut Random) -> String {
    let fraction = random.pick(&["", ".5", ".123456", ".000001"]);
    format!("{:02}:{:02}:{:02}{fraction}", random.between(0, 23), random.pick(&[0, 15, 59]), random.pick(&[0, 7, 59]))
}

/// No two that are equal and look different, see [`Kind::looks_vary`].
fn interval(random: &mut Random) -> &'static str {
    let intervals = [
        "1 year 2 months",
        "3 days",
        "04:05:06",
        "-2 days +03:00:00",
        "1 mon 5 days 00:00:01.5",
        "0",
        "-1 year",
        "100 years",
        "00:00:00.000001",
    ];
    intervals[random.below(intervals.len())]
}
