//! Operators and functions by the type of their result.

use super::expression::Expressions;
use super::{Dialect, Kind};

/// An operator or function of this result type over random arguments.
pub(super) fn apply(g: &mut Expressions<'_>, kind: Kind, depth: usize) -> String {
    match (g.dialect, kind) {
        (Dialect::Sqlite, Kind::Text) => common_text(g, depth),
        (Dialect::Sqlite, _) => common_integer(g, depth),
        (_, Kind::SmallInt | Kind::Integer | Kind::BigInt) => integer(g, kind, depth),
        (_, Kind::Real | Kind::Double) => float(g, kind, depth),
        (_, Kind::Numeric) => numeric(g, depth),
        (_, Kind::Text) => text(g, depth),
        (_, Kind::Date) => date(g, depth),
        (_, Kind::Time) => time(g, depth),
        (_, Kind::Timestamp | Kind::TimestampTz) => timestamp(g, kind, depth),
        (_, Kind::Interval) => interval(g, depth),
        (_, Kind::Varchar) => format!("CAST({} AS varchar(3))", g.value(Kind::Text, depth)),
        (_, Kind::Char) => format!("CAST({} AS char(5))", g.value(Kind::Text, depth)),
        _ => g.leaf(kind),
    }
}

fn common_integer(g: &mut Expressions<'_>, depth: usize) -> String {
    let a = g.value(Kind::Integer, depth);
    match g.random.below(7) {
        0 => format!("({a} + {})", g.leaf(Kind::Integer)),
        1 => format!("({a} - {})", g.leaf(Kind::Integer)),
        2 => format!("({a} * {})", g.random.between(-3, 3)),
        3 => format!("({a} / {})", g.random.between(1, 7)),
        4 => format!("({a} % {})", g.random.between(1, 7)),
        5 => format!("abs({a})"),
        _ => format!("length({})", g.value(Kind::Text, depth)),
    }
}

fn common_text(g: &mut Expressions<'_>, depth: usize) -> String {
    let a = g.value(Kind::Text, depth);
    match g.random.below(6) {
        0 => format!("({a} || {})", g.leaf(Kind::Text)),
        1 => format!("replace({a}, 'b', 'xy')"),
        2 => format!("trim({a})"),
        3 => format!("substr({a}, {}, {})", g.random.between(1, 4), g.random.between(0, 4)),
        4 => format!("ltrim({a}, 'a')"),
        _ => format!("rtrim({a}, 'b ')"),
    }
}

fn integer(g: &mut Expressions<'_>, kind: Kind, depth: usize) -> String {
    let a = g.value(kind, depth);
    match g.random.below(16) {
        0 | 1 => format!("({a} + {})", g.leaf(kind)),
        2 | 3 => format!("({a} - {})", g.leaf(kind)),
        4 => format!("({a} * {})", g.leaf(kind)),
        5 => format!("({a} / NULLIF({}, 0))", g.leaf(kind)),
        6 => format!("({a} % NULLIF({}, 0))", g.leaf(kind)),
        7 => format!("abs({a})"),
        8 => format!("(- {a})"),
        9 => format!("({a} & {})", g.leaf(kind)),
        10 => format!("({a} | {})", g.leaf(kind)),
        11 => format!("mod({a}, NULLIF({}, 0))", g.leaf(kind)),
        12 => format!("(~ {a})"),
        _ => from_others(g, kind, depth),
    }
}

fn from_others(g: &mut Expressions<'_>, kind: Kind, depth: usize) -> String {
    let inner = match g.random.below(12) {
        0 => format!("length({})", g.value(Kind::Text, depth)),
        1 => format!("position('b' in {})", g.value(Kind::Text, depth)),
        2 => format!("strpos({}, 'b')", g.value(Kind::Text, depth)),
        3 => format!("ascii({})", g.value(Kind::Text, depth)),
        4 => format!("octet_length({})", g.value(Kind::Text, depth)),
        5 => format!("({} - {})", g.value(Kind::Date, depth), g.leaf(Kind::Date)),
        6 => format!("{}::integer", g.leaf(Kind::Boolean)),
        7 => format!(
            "extract({} from {})",
            g.random.pick(&["year", "month", "day", "dow", "doy", "quarter", "week", "isodow"]),
            g.value(Kind::Date, depth)
        ),
        8 => format!(
            "extract({} from {})",
            g.random.pick(&["hour", "minute", "year", "day"]),
            g.value(Kind::Timestamp, depth)
        ),
        9 => format!("round({})", g.value(Kind::Numeric, depth)),
        10 => format!("length({})", g.leaf(Kind::Bytea)),
        _ => format!("sign({})", g.value(Kind::Numeric, depth)),
    };
    format!("CAST({inner} AS {})", kind.sql())
}

fn float(g: &mut Expressions<'_>, kind: Kind, depth: usize) -> String {
    let a = g.value(kind, depth);
    match g.random.below(12) {
        0 | 1 => format!("({a} + {})", g.leaf(kind)),
        2 => format!("({a} - {})", g.leaf(kind)),
        3 => format!("({a} * {})", g.leaf(kind)),
        4 => format!("({a} / NULLIF({}, 0))", g.leaf(kind)),
        5 => format!("abs({a})"),
        6 => format!("CAST(floor({a}) AS {})", kind.sql()),
        7 => format!("CAST(ceil({a}) AS {})", kind.sql()),
        8 => format!("CAST(round({a}) AS {})", kind.sql()),
        9 => format!("CAST(sqrt(abs({a})) AS {})", kind.sql()),
        10 => format!("CAST({} AS {})", g.value(Kind::Integer, depth), kind.sql()),
        _ => format!("CAST({} AS {})", g.value(Kind::Numeric, depth), kind.sql()),
    }
}

fn numeric(g: &mut Expressions<'_>, depth: usize) -> String {
    let a = g.value(Kind::Numeric, depth);
    match g.random.below(14) {
        0 | 1 => format!("({a} + {})", g.leaf(Kind::Numeric)),
        2 => format!("({a} - {})", g.leaf(Kind::Numeric)),
        3 => format!("({a} * {})", g.leaf(Kind::Numeric)),
        4 => format!("({a} / NULLIF({}, 0))", g.leaf(Kind::Numeric)),
        5 => format!("({a} % NULLIF({}, 0))", g.leaf(Kind::Numeric)),
        6 => format!("abs({a})"),
        7 => format!("round({a}, {})", g.random.between(-1, 4)),
        8 => format!("trunc({a}, {})", g.random.between(0, 2)),
        9 => format!("floor({a})"),
        10 => format!("ceil({a})"),
        11 => format!("({a} * {})", g.value(Kind::Integer, depth)),
        12 => format!("CAST({} AS numeric)", g.value(Kind::BigInt, depth)),
        _ => format!("extract(epoch from {})", g.leaf(Kind::Interval)),
    }
}

fn text(g: &mut Expressions<'_>, depth: usize) -> String {
    let a = g.value(Kind::Text, depth);
    match g.random.below(26) {
        0 | 1 => format!("({a} || {})", g.leaf(Kind::Text)),
        2 => format!("upper({a})"),
        3 => format!("lower({a})"),
        4 => format!("substr({a}, {}, {})", g.random.between(-1, 4), g.random.between(0, 4)),
        5 => format!("substring({a} from {} for {})", g.random.between(0, 3), g.random.between(0, 4)),
        6 => format!("trim({a})"),
        7 => format!("trim({} 'a' from {a})", g.random.pick(&["leading", "trailing", "both"])),
        8 => format!("replace({a}, 'b', 'xy')"),
        9 => format!("left({a}, {})", g.random.between(-2, 3)),
        10 => format!("right({a}, {})", g.random.between(-2, 3)),
        11 => format!("lpad({a}, {}, 'xy')", g.random.between(0, 6)),
        12 => format!("rpad({a}, {})", g.random.between(0, 6)),
        13 => format!("repeat({a}, {})", g.random.between(-1, 2)),
        14 => format!("reverse({a})"),
        15 => format!("initcap({a})"),
        16 => format!("split_part({a}, 'b', {})", g.random.between(1, 2)),
        17 => format!("concat({a}, {})", g.value(Kind::Integer, depth)),
        18 => format!("concat_ws('-', {a}, {})", g.leaf(Kind::Text)),
        19 => format!("translate({a}, 'abc', 'xy')"),
        20 => format!("md5({a})"),
        21 => format!("overlay({a} placing 'zz' from 2 for 1)"),
        22 => format!("CAST({} AS text)", g.leaf(Kind::Char)),
        23 => format!("CAST({} AS text)", g.leaf(Kind::Varchar)),
        _ => {
            let kind = g.kind();
            format!("CAST({} AS text)", g.value(kind, depth))
        }
    }
}

fn date(g: &mut Expressions<'_>, depth: usize) -> String {
    match g.random.below(4) {
        0 => format!("({} + {})", g.value(Kind::Date, depth), g.random.between(-40, 400)),
        1 => format!("({} - {})", g.value(Kind::Date, depth), g.random.between(-40, 400)),
        2 => format!("CAST({} AS date)", g.value(Kind::Timestamp, depth)),
        _ => format!("CAST(date_trunc('month', {}) AS date)", g.value(Kind::Timestamp, depth)),
    }
}

fn time(g: &mut Expressions<'_>, depth: usize) -> String {
    match g.random.below(2) {
        0 => format!("({} + {})", g.leaf(Kind::Time), g.leaf(Kind::Interval)),
        _ => format!("CAST({} AS time)", g.value(Kind::Timestamp, depth)),
    }
}

fn timestamp(g: &mut Expressions<'_>, kind: Kind, depth: usize) -> String {
    match g.random.below(5) {
        0 => format!("({} + {})", g.value(kind, depth), g.leaf(Kind::Interval)),
        1 => format!("({} - {})", g.value(kind, depth), g.leaf(Kind::Interval)),
        2 => {
            let unit = g.random.pick(&["year", "quarter", "month", "week", "day", "hour", "minute", "second"]);
            format!("date_trunc('{unit}', {})", g.value(kind, depth))
        }
        3 => format!("CAST({} AS {})", g.value(Kind::Date, depth), kind.sql()),
        _ => format!("CAST(({} + {}) AS {})", g.leaf(Kind::Date), g.leaf(Kind::Time), kind.sql()),
    }
}

fn interval(g: &mut Expressions<'_>, depth: usize) -> String {
    match g.random.below(6) {
        0 => format!("({} + {})", g.value(Kind::Interval, depth), g.leaf(Kind::Interval)),
        1 => format!("({} - {})", g.leaf(Kind::Timestamp), g.leaf(Kind::Timestamp)),
        2 => format!("({} * {})", g.leaf(Kind::Interval), g.random.between(-3, 3)),
        3 => format!("(- {})", g.leaf(Kind::Interval)),
        4 => format!("age({}, {})", g.leaf(Kind::Timestamp), g.leaf(Kind::Timestamp)),
        _ => format!("({} / {})", g.leaf(Kind::Interval), g.random.between(1, 7)),
    }
}
