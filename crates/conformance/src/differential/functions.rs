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
        (_, Kind::Integers) => integers(g, depth),
        (_, Kind::Jsonb) => document(g, depth),
        (_, Kind::Mood) => mood(g, depth),
        (_, Kind::Amount) => format!("CAST(GREATEST({}, -1000) AS amount)", g.value(Kind::Integer, depth)),
        (_, Kind::Pair) => pair(g, depth),
        (_, Kind::Pairs | Kind::Moods | Kind::Texts) => array(g, kind, depth),
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
    let inner = match g.random.below(24) {
        18 => format!("({}).a", g.value(Kind::Pair, depth)),
        19 => format!("cardinality({})", g.value(Kind::Texts, depth)),
        20 => format!("({} + {})", g.value(Kind::Amount, depth), g.leaf(Kind::SmallInt)),
        21 => format!("array_position({}, {})", g.value(Kind::Moods, depth), g.leaf(Kind::Mood)),
        22 => format!("(({})[1]).a", g.value(Kind::Pairs, depth)),
        23 => format!("regexp_count({}, '[ab]+')", g.value(Kind::Text, depth)),
        12 => format!("cardinality({})", g.value(Kind::Integers, depth)),
        13 => format!("({})[{}]", g.value(Kind::Integers, depth), g.random.between(0, 3)),
        14 => format!("array_position({}, {})", g.leaf(Kind::Integers), g.random.between(-3, 9)),
        15 => format!("array_length({}, 1)", g.value(Kind::Integers, depth)),
        16 => format!("f_steps({})", g.leaf(Kind::Integer)),
        17 => format!("f_rows({})", g.leaf(Kind::Integer)),
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
    match g.random.below(41) {
        33..=35 => super::topics::formats::text(g, depth),
        36..=38 => super::topics::patterns::text(g, depth),
        39 => format!("({}).b", g.value(Kind::Pair, depth)),
        40 => format!("array_to_string({}, '+', '?')", g.value(Kind::Texts, depth)),
        26 => format!("({} ->> {})", g.leaf(Kind::Jsonb), json_key(g)),
        27 => format!("({} #>> '{{a,b}}')", g.value(Kind::Jsonb, depth)),
        28 => format!("jsonb_typeof({})", g.value(Kind::Jsonb, depth)),
        29 => format!("array_to_string({}, '/', '?')", g.value(Kind::Integers, depth)),
        30 => format!("f_words({}, {a})", g.leaf(Kind::Integer)),
        31 => format!("regexp_replace({a}, '[ab]+', '<\\&>', 'g')"),
        32 => format!("format('%s-%5s', {a}, {})", g.leaf(Kind::Integer)),
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

fn mood(g: &mut Expressions<'_>, depth: usize) -> String {
    match g.random.below(5) {
        0 => format!("CAST(CAST({} AS text) AS mood)", g.value(Kind::Mood, depth)),
        1 => format!("({})[{}]", g.value(Kind::Moods, depth), g.random.between(0, 3)),
        2 => (*g.random.pick(&["enum_first(NULL::mood)", "enum_last(NULL::mood)"])).into(),
        3 => format!("(enum_range({}, NULL))[2]", g.leaf(Kind::Mood)),
        _ => g.leaf(Kind::Mood),
    }
}

fn pair(g: &mut Expressions<'_>, depth: usize) -> String {
    match g.random.below(4) {
        0 => format!("({})[{}]", g.value(Kind::Pairs, depth), g.random.between(0, 3)),
        1 => format!("CAST(CAST({} AS text) AS pair)", g.value(Kind::Pair, depth)),
        2 => format!("CAST(ROW(({}).a, {}) AS pair)", g.leaf(Kind::Pair), g.value(Kind::Text, depth)),
        _ => format!("ROW({}, {})::pair", g.value(Kind::Integer, depth), g.value(Kind::Text, depth)),
    }
}

/// An array of texts, enums or rows.
fn array(g: &mut Expressions<'_>, kind: Kind, depth: usize) -> String {
    let a = g.value(kind, depth);
    let element = match kind {
        Kind::Pairs => Kind::Pair,
        Kind::Moods => Kind::Mood,
        _ => Kind::Text,
    };
    match g.random.below(11) {
        0 => format!("({a} || {})", g.leaf(kind)),
        1 => format!("array_append({a}, {})", g.value(element, depth)),
        2 => format!("array_remove({a}, {})", g.leaf(element)),
        3 => format!("ARRAY[{}, {}]", g.leaf(element), g.value(element, depth)),
        4 => format!("({a})[{}:]", g.random.between(0, 2)),
        5 => format!("array_replace({a}, {}, {})", g.leaf(element), g.leaf(element)),
        6 if kind == Kind::Moods => format!("enum_range({}, {})", g.leaf(element), g.leaf(element)),
        6 if kind == Kind::Texts => format!("string_to_array({}, 'b')", g.value(Kind::Text, depth)),
        7 if kind == Kind::Texts => format!("regexp_split_to_array({}, '[b ]')", g.value(Kind::Text, depth)),
        8 if kind == Kind::Texts => format!("regexp_match({}, '(.)(b|z)')", g.value(Kind::Text, depth)),
        9 => format!("CAST(CAST({a} AS text) AS {})", kind.sql()),
        10 => format!("ARRAY(SELECT u FROM unnest({a}) AS u)"),
        _ => g.leaf(kind),
    }
}

fn integers(g: &mut Expressions<'_>, depth: usize) -> String {
    let a = g.value(Kind::Integers, depth);
    match g.random.below(10) {
        0 => format!("({a} || {})", g.leaf(Kind::Integers)),
        1 => format!("array_append({a}, {})", g.leaf(Kind::Integer)),
        2 => format!("array_prepend({}, {a})", g.leaf(Kind::Integer)),
        3 => format!("array_remove({a}, {})", g.random.between(-3, 9)),
        4 => format!("array_replace({a}, {}, {})", g.random.between(-3, 9), g.leaf(Kind::Integer)),
        5 => format!("({a})[{}:{}]", g.random.between(0, 2), g.random.between(1, 4)),
        6 => format!("ARRAY[{}, {}]", g.leaf(Kind::Integer), g.leaf(Kind::Integer)),
        7 => format!("ARRAY(SELECT unnest({a}) ORDER BY 1)"),
        8 => format!("trim_array({a}, least(1, cardinality({a})))"),
        _ => g.leaf(Kind::Integers),
    }
}

fn document(g: &mut Expressions<'_>, depth: usize) -> String {
    let a = g.value(Kind::Jsonb, depth);
    match g.random.below(14) {
        0 => format!("({a} -> {})", json_key(g)),
        1 => format!("({a} #> '{{a,b}}')"),
        2 => format!("({a} || {})", g.leaf(Kind::Jsonb)),
        3 => format!("jsonb_build_object('a', {}, 'z', {a})", g.leaf(Kind::Integer)),
        4 => format!("jsonb_build_array({a}, {})", g.leaf(Kind::Text)),
        5 => {
            let kind = *g.random.pick(&[Kind::Text, Kind::Integer, Kind::Boolean, Kind::Date, Kind::Integers]);
            format!("to_jsonb(CAST({} AS {}))", g.value(kind, depth), kind.sql())
        }
        6 => format!("jsonb_strip_nulls({a})"),
        7 => format!("jsonb_path_query_array({a}, '$.**.a')"),
        8 => format!("jsonb_path_query_first({a}, '$[*] ? (@ > 1)')"),
        9 => format!("jsonb_set(jsonb_build_object('a', {a}), '{{a,b}}', {}, true)", g.leaf(Kind::Jsonb)),
        10 => format!("(jsonb_build_object('a', {a}, 'b', 1) - 'b')"),
        11 => format!("(jsonb_build_object('a', {a}))['a']"),
        12 => format!("to_jsonb(ARRAY[{}])", g.leaf(Kind::Text)),
        _ => g.leaf(Kind::Jsonb),
    }
}

fn json_key(g: &mut Expressions<'_>) -> &'static str {
    const KEYS: [&str; 6] = ["'a'", "'b'", "'x'", "0", "1", "-1"];
    KEYS[g.random.below(KEYS.len())]
}

/// A condition that only these types have.
pub(super) fn test(g: &mut Expressions<'_>, depth: usize) -> String {
    let (a, b) = (g.value(Kind::Integers, depth), g.leaf(Kind::Integers));
    let (c, d) = (g.value(Kind::Jsonb, depth), g.leaf(Kind::Jsonb));
    match g.random.below(20) {
        12 => format!("({} @> {})", g.value(Kind::Texts, depth), g.leaf(Kind::Texts)),
        13 => format!("({} && {})", g.value(Kind::Moods, depth), g.leaf(Kind::Moods)),
        14 => format!("({} <@ {})", g.value(Kind::Pairs, depth), g.leaf(Kind::Pairs)),
        15 => row_comparison(g),
        16 => format!("({} = ANY ({}))", g.leaf(Kind::Mood), g.value(Kind::Moods, depth)),
        17 => format!("(ROW({}, {}) IS NULL)", g.leaf(Kind::Integer), g.leaf(Kind::Pair)),
        18 => format!("({} IS NOT NULL)", g.value(Kind::Pair, depth)),
        19 => super::topics::patterns::test(g, depth),
        0 => format!("({a} @> {b})"),
        1 => format!("({a} <@ {b})"),
        2 => format!("({a} && {b})"),
        3 => format!("({} = ANY ({a}))", g.value(Kind::Integer, depth)),
        4 => format!("({} < ALL ({a}))", g.leaf(Kind::Integer)),
        5 => format!("({c} @> {d})"),
        6 => format!("({c} <@ {d})"),
        7 => format!("({c} ? 'a')"),
        8 => format!("({c} ?| ARRAY['a', 'b'])"),
        9 => format!("({c} @? '$.a')"),
        10 => format!("({c} @@ '$.a == 1')"),
        _ => format!("({} ~ '^[a-m]+')", g.value(Kind::Text, depth)),
    }
}

/// Rows made on the spot, field by field.
fn row_comparison(g: &mut Expressions<'_>) -> String {
    let kinds: Vec<Kind> = (0..1 + g.random.below(3)).map(|_| g.any_column().map_or(Kind::Mood, |c| c.kind)).collect();
    let row = |g: &mut Expressions<'_>| {
        let values: Vec<String> = kinds.iter().map(|kind| g.leaf(*kind)).collect();
        format!("ROW({})", values.join(", "))
    };
    let operator = *g.random.pick(&["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]);
    format!("({} {operator} {})", row(g), row(g))
}
