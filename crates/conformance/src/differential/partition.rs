//! Questions with two ways to ask them, whose answers must be the same rows.
//!
//! - *Ternary logic*: every row of a table or join satisfies exactly one of `p`, `NOT p` and `p IS NULL`. So the three
//!   parts' rows are the rows; their counts and sums add up; the least of their minima is the minimum; their distinct
//!   rows united are the distinct rows; their groups merged are the groups. Of groups, HAVING keeps each in one part.
//! - *Unoptimised count*: `count(*) WHERE p` is the number of rows for which `p`, as a value, is true.

use super::expression::{Expressions, Visible, visible_columns};
use super::schema::TableSpec;
use super::{Dialect, Kind, Random};

/// A question: the rows of `parts` together are those of `whole`, whatever their order.
pub(super) struct Question {
    pub whole: String,
    pub parts: Vec<String>,
}

/// A random question about the tables.
pub(super) fn question(random: &mut Random, tables: &[TableSpec]) -> Question {
    let mut g = Expressions { random, dialect: Dialect::Postgres, tables, visible: Vec::new(), aliases: 0 };
    let from = source(&mut g, tables);
    match g.random.below(8) {
        0 | 1 => counted(&mut g, &from),
        2 => aggregated(&mut g, &from),
        3 => distinct(&mut g, &from),
        4 => grouped(&mut g, &from),
        5 => having(&mut g, &from),
        _ => rows(&mut g, &from),
    }
}

fn source(g: &mut Expressions<'_>, tables: &[TableSpec]) -> String {
    let first = g.random.pick(tables).clone();
    g.visible = visible_columns(&first, "a");
    if g.random.percent(60) {
        return format!("{} AS a", first.name);
    }
    let second = g.random.pick(tables).clone();
    g.visible.extend(visible_columns(&second, "b"));
    let join = *g.random.pick(&["INNER JOIN", "LEFT JOIN", "RIGHT JOIN"]);
    let operator = *g.random.pick(&["=", "=", "<"]);
    format!("{} AS a {join} {} AS b ON a.k {operator} b.k", first.name, second.name)
}

/// `p`, `NOT p`, `p IS NULL`.
fn cases(predicate: &str) -> [String; 3] {
    [predicate.to_owned(), format!("NOT {predicate}"), format!("{predicate} IS NULL")]
}

/// A query with each of the three cases as its WHERE, put together again.
fn united(g: &mut Expressions<'_>, query: impl Fn(&str) -> String, operator: &str) -> String {
    let predicate = g.condition(3);
    cases(&predicate).map(|case| query(&format!("WHERE {case}"))).join(operator)
}

fn rows(g: &mut Expressions<'_>, from: &str) -> Question {
    let columns: Vec<String> = g.visible.iter().map(|column| column.text.clone()).collect();
    let whole = format!("SELECT {} FROM {from}", columns.join(", "));
    let parts = cases(&g.condition(3)).iter().map(|case| format!("{whole} WHERE {case}")).collect();
    Question { whole, parts }
}

fn counted(g: &mut Expressions<'_>, from: &str) -> Question {
    let predicate = g.condition(3);
    let valued = format!("SELECT count(CASE WHEN {predicate} THEN 1 END) FROM {from}");
    Question { whole: format!("SELECT count(*) FROM {from} WHERE {predicate}"), parts: vec![valued] }
}

/// An argument for `sum`: exact, and small enough not to overflow.
fn summed(g: &mut Expressions<'_>) -> String {
    g.column(Kind::Integer).unwrap_or_else(|| "1".into())
}

fn with_minimum(g: &mut Expressions<'_>) -> String {
    let fitting: Vec<Visible> = g.visible.iter().filter(|column| column.kind.has_minimum()).cloned().collect();
    if fitting.is_empty() { "0".into() } else { g.random.pick(&fitting).text.clone() }
}

fn aggregated(g: &mut Expressions<'_>, from: &str) -> Question {
    let (sum, extreme) = (summed(g), with_minimum(g));
    let calls = format!("count(*), sum({sum}), min({extreme}), max({extreme})");
    let parts = united(g, |case| format!("SELECT {calls} FROM {from} {case}"), " UNION ALL ");
    let merged = format!("SELECT sum(n), sum(s), min(low), max(high) FROM ({parts}) AS u (n, s, low, high)");
    Question { whole: format!("SELECT {calls} FROM {from}"), parts: vec![merged] }
}

/// Columns whose equal values look alike, at least one.
fn steady_columns(g: &mut Expressions<'_>) -> String {
    let steady: Vec<Visible> = g.visible.iter().filter(|column| !column.kind.looks_vary()).cloned().collect();
    let picked: Vec<String> = (0..1 + g.random.below(2)).map(|_| g.random.pick(&steady).text.clone()).collect();
    picked.join(", ")
}

fn distinct(g: &mut Expressions<'_>, from: &str) -> Question {
    let whole = format!("SELECT DISTINCT {} FROM {from}", steady_columns(g));
    let parts = united(g, |case| format!("{whole} {case}"), " UNION ");
    Question { whole, parts: vec![parts] }
}

fn grouped(g: &mut Expressions<'_>, from: &str) -> Question {
    let (key, sum, extreme) = (steady_column(g), summed(g), with_minimum(g));
    let list = format!("{key}, count(*), sum({sum}), max({extreme})");
    let parts = united(g, |case| format!("SELECT {list} FROM {from} {case} GROUP BY {key}"), " UNION ALL ");
    let merged = format!("SELECT g, sum(n), sum(s), max(m) FROM ({parts}) AS u (g, n, s, m) GROUP BY g");
    Question { whole: format!("SELECT {list} FROM {from} GROUP BY {key}"), parts: vec![merged] }
}

fn steady_column(g: &mut Expressions<'_>) -> String {
    let columns = steady_columns(g);
    columns.split(", ").next().unwrap_or("a.k").to_owned()
}

fn having(g: &mut Expressions<'_>, from: &str) -> Question {
    let key = steady_column(g);
    let sum = summed(g);
    let whole = format!("SELECT {key}, count(*) FROM {from} GROUP BY {key}");
    let call = |text: String, kind| Visible { text, kind };
    let visible = vec![
        call("count(*)".into(), Kind::BigInt),
        call(format!("min({sum})"), Kind::Integer),
        call(format!("sum({sum})"), Kind::BigInt),
    ];
    // Aggregates of this query have no place in the WHERE of a subquery.
    let (random, aliases) = (&mut *g.random, g.aliases);
    let mut inner = Expressions { random, dialect: g.dialect, tables: &[], visible, aliases };
    let parts = cases(&inner.condition(2)).map(|case| format!("{whole} HAVING {case}"));
    Question { whole, parts: parts.into() }
}
