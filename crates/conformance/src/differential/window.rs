//! Random window functions.

use super::Kind;
use super::case::Step;
use super::expression::Expressions;
use super::query::{finish, keyed_table, texts};

/// Window functions over one table. Only where its key orders the rows are those asked for that tell equal rows apart.
pub(super) fn windows(g: &mut Expressions<'_>) -> Step {
    let (from, alias, has_key) = keyed_table(g);
    let named = g.random.percent(30).then(|| window(g, &alias, has_key));
    let mut list = vec![(format!("{alias}.k"), Kind::Integer)];
    for _ in 0..1 + g.random.below(3) {
        let (call, kind) = call(g, has_key);
        let over = match &named {
            Some(_) if g.random.percent(50) => " OVER w".to_owned(),
            _ => format!(" OVER ({})", window(g, &alias, has_key)),
        };
        list.push((format!("{call}{over}"), kind));
    }
    let condition = if g.random.percent(30) { format!(" WHERE {}", g.condition(1)) } else { String::new() };
    let tail = named.map_or_else(String::new, |window| format!(" WINDOW w AS ({window})"));
    finish(g, format!("SELECT {} FROM {from}{condition}{tail}", texts(&list)), &list, false)
}

fn call(g: &mut Expressions<'_>, has_key: bool) -> (String, Kind) {
    let Some(column) = g.any_column() else { return ("count(*)".into(), Kind::BigInt) };
    let (text, kind) = (column.text, column.kind);
    let steps = g.random.between(0, 3);
    if has_key {
        match g.random.below(16) {
            0 => return ("row_number()".into(), Kind::BigInt),
            1 => return (format!("ntile({})", steps + 1), Kind::Integer),
            2 => return (format!("lag({text})"), kind),
            3 => return (format!("lead({text}, {steps})"), kind),
            4 => return (format!("lag({text}, {steps}, {text})"), kind),
            5 => return (format!("first_value({text})"), kind),
            6 => return (format!("last_value({text})"), kind),
            7 => return (format!("nth_value({text}, {})", steps + 1), kind),
            8 if kind.is_text() => return (format!("string_agg({text}, ',')"), Kind::Text),
            9 if kind == Kind::Integer => return (format!("array_agg({text})"), Kind::Integers),
            _ => {}
        }
    }
    let filter = if g.random.percent(15) { format!(" FILTER (WHERE {})", g.condition(1)) } else { String::new() };
    match g.random.below(9) {
        0 => ("rank()".into(), Kind::BigInt),
        1 => ("dense_rank()".into(), Kind::BigInt),
        2 => ("percent_rank()".into(), Kind::Double),
        3 => ("cume_dist()".into(), Kind::Double),
        4 if kind.sums_exactly() => (format!("sum({text}){filter}"), Kind::Numeric),
        5 if kind.sums_exactly() => (format!("avg({text}){filter}"), Kind::Numeric),
        6 if kind.has_minimum() => (format!("min({text}){filter}"), kind),
        7 if kind.has_minimum() => (format!("max({text}){filter}"), kind),
        8 => (format!("count(*){filter}"), Kind::BigInt),
        _ => (format!("count({text}){filter}"), Kind::BigInt),
    }
}

fn window(g: &mut Expressions<'_>, alias: &str, has_key: bool) -> String {
    let mut parts = Vec::new();
    if let Some(column) = g.any_column()
        && g.random.percent(60)
    {
        parts.push(format!("PARTITION BY {}", column.text));
    }
    let by_key_alone = g.random.percent(40);
    let mut keys: Vec<String> = Vec::new();
    if let Some(column) = g.any_column()
        && !by_key_alone
    {
        let order = *g.random.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
        keys.push(format!("{}{order}", column.text));
    }
    if has_key || keys.is_empty() {
        keys.push(format!("{alias}.k{}", g.random.pick(&["", " DESC"])));
    }
    parts.push(format!("ORDER BY {}", keys.join(", ")));
    if g.random.percent(50) {
        parts.push(frame(g, has_key, keys.len() == 1));
    }
    parts.join(" ")
}

/// A frame; by rows only where no two are equal, by distance only where the key alone gives the order.
fn frame(g: &mut Expressions<'_>, has_key: bool, one_key: bool) -> String {
    let mode = match g.random.below(3) {
        0 if has_key => "ROWS",
        1 => "GROUPS",
        _ => "RANGE",
    };
    let has_distance = mode != "RANGE" || (one_key && has_key);
    let (start, end) = (g.random.below(4), g.random.below(4));
    let (start, end) = (start.min(end), start.max(end));
    let (near, far) = (g.random.between(0, 2), g.random.between(1, 4));
    let start = match start {
        1 if has_distance => format!("{far} PRECEDING"),
        2 => "CURRENT ROW".into(),
        3 if has_distance => format!("{near} FOLLOWING"),
        3 => "CURRENT ROW".into(),
        _ => "UNBOUNDED PRECEDING".into(),
    };
    let end = match end {
        0 if has_distance && start.starts_with("UNBOUNDED") => format!("{near} PRECEDING"),
        1 if has_distance && start.ends_with("PRECEDING") => format!("{near} PRECEDING"),
        2 if !start.ends_with("FOLLOWING") => "CURRENT ROW".into(),
        3 if has_distance => format!("{far} FOLLOWING"),
        _ => "UNBOUNDED FOLLOWING".into(),
    };
    let exclude =
        *g.random.pick(&["", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS"]);
    format!("{mode} BETWEEN {start} AND {end}{exclude}")
}
