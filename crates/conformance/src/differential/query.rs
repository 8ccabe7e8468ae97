//! Random queries.

use super::case::Step;
use super::expression::{Expressions, Visible, visible_columns};
use super::schema::TableSpec;
use super::{Dialect, Kind};

/// A random query over the tables.
pub(super) fn query(g: &mut Expressions<'_>) -> Step {
    g.visible.clear();
    g.aliases = 0;
    match g.random.below(20) {
        16 => using(g),
        17 => grouped_by_expression(g),
        18 => counted_per_row(g),
        0..=3 => simple(g),
        4..=7 => joined(g),
        8..=10 => grouped(g),
        11 => set_operation(g),
        12 => distinct(g),
        13 => derived(g),
        14 => with(g),
        _ => constant(g),
    }
}

fn simple(g: &mut Expressions<'_>) -> Step {
    let from = table(g);
    let strict = g.random.percent(30);
    let list = select_list(g, 2, false);
    let condition = if strict { String::new() } else { format!(" WHERE {}", g.condition(2)) };
    finish(g, format!("SELECT {} FROM {from}{condition}", texts(&list)), &list, strict)
}

fn joined(g: &mut Expressions<'_>) -> Step {
    let mut from = table(g);
    for _ in 0..1 + g.random.below(2) {
        let before = g.visible.clone();
        let next = table(g);
        from = join(g, from, next, &before);
    }
    let list = select_list(g, 1, false);
    let condition = if g.random.percent(50) { format!(" WHERE {}", g.condition(1)) } else { String::new() };
    finish(g, format!("SELECT {} FROM {from}{condition}", texts(&list)), &list, false)
}

/// All columns of a join that merges the keys.
fn using(g: &mut Expressions<'_>) -> Step {
    let (left, right) = (table(g), table(g));
    let join = *g.random.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
    let list = *g.random.pick(&["*", "k, r1.k, r2.k", "r2.*, k"]);
    Step::query(format!("SELECT {list} FROM {left} {join} {right} USING (k)"), true, true)
}

fn grouped_by_expression(g: &mut Expressions<'_>) -> Step {
    let from = table(g);
    let kind = steady_kind(g);
    let key = g.value(kind, 2);
    let calls = vec![(key.clone(), kind), aggregate(g)];
    let group = if g.random.percent(50) { "1".to_owned() } else { format!("({key})") };
    let condition = g.condition(1);
    // A literal in GROUP BY by itself would be a position.
    let group = if key.contains("r1.") { group } else { "1".into() };
    finish(g, format!("SELECT {} FROM {from} WHERE {condition} GROUP BY {group}", texts(&calls)), &calls, false)
}

/// A correlated count beside each row.
fn counted_per_row(g: &mut Expressions<'_>) -> Step {
    let from = table(g);
    let before = g.visible.clone();
    let inner = table(g);
    let on = equal_columns(g, &before).unwrap_or_else(|| "r1.k = r2.k".into());
    let call = *g.random.pick(&["count(*)", "sum(r2.k)", "max(r2.k)"]);
    g.visible = before;
    let condition = g.condition(1);
    let text = format!("SELECT r1.k, (SELECT {call} FROM {inner} WHERE {on}) AS n FROM {from} WHERE {condition}");
    finish(g, text, &[(String::new(), Kind::Integer), (String::new(), Kind::BigInt)], false)
}

/// `next`'s columns are in scope behind `before`.
fn join(g: &mut Expressions<'_>, from: String, next: String, before: &[Visible]) -> String {
    let pair = equal_columns(g, before);
    let equality = pair.clone().unwrap_or_else(|| "true".into());
    let extra = if g.random.percent(30) { format!(" AND {}", g.condition(1)) } else { String::new() };
    let on = format!("{equality}{extra}");
    match g.random.below(8) {
        0 => format!("{from} CROSS JOIN {next}"),
        1 | 2 => format!("{from} LEFT JOIN {next} ON {on}"),
        3 => format!("{from} RIGHT JOIN {next} ON {on}"),
        // PostgreSQL joins fully on equality alone.
        4 if pair.is_some() => format!("{from} FULL JOIN {next} ON {equality}"),
        _ => format!("{from} INNER JOIN {next} ON {on}"),
    }
}

fn equal_columns(g: &mut Expressions<'_>, before: &[Visible]) -> Option<String> {
    let new: Vec<Visible> = g.visible.get(before.len()..).unwrap_or_default().to_vec();
    let mut pairs = Vec::new();
    for left in before {
        let same = new.iter().filter(|right| right.kind == left.kind);
        pairs.extend(same.map(|right| format!("{} = {}", left.text, right.text)));
    }
    if pairs.is_empty() { None } else { Some(g.random.pick(&pairs).clone()) }
}

fn grouped(g: &mut Expressions<'_>) -> Step {
    let mut from = table(g);
    if g.random.percent(30) {
        let before = g.visible.clone();
        let next = table(g);
        from = join(g, from, next, &before);
    }
    let groups: Vec<Visible> = (0..g.random.below(3)).filter_map(|_| g.any_column()).filter(groupable).collect();
    let mut list: Vec<(String, Kind)> = groups.iter().map(|group| (group.text.clone(), group.kind)).collect();
    for _ in 0..1 + g.random.below(3) {
        list.push(aggregate(g));
    }
    let condition = if g.random.percent(40) { format!(" WHERE {}", g.condition(1)) } else { String::new() };
    let group_by = if groups.is_empty() { String::new() } else { format!(" GROUP BY {}", names(&groups)) };
    let having =
        if g.random.percent(25) { format!(" HAVING count(*) > {}", g.random.between(0, 2)) } else { String::new() };
    finish(g, format!("SELECT {} FROM {from}{condition}{group_by}{having}", texts(&list)), &list, false)
}

/// 0 and -0, and NaN's forms, are not told apart by groups.
fn groupable(column: &Visible) -> bool {
    !matches!(column.kind, Kind::Real | Kind::Double | Kind::Interval)
}

fn aggregate(g: &mut Expressions<'_>) -> (String, Kind) {
    let Some(column) = g.any_column() else { return ("count(*)".into(), Kind::BigInt) };
    let argument = if g.random.percent(70) { column.text.clone() } else { g.value(column.kind, 1) };
    let exact = column.kind.sums_exactly();
    let (call, kind) = match g.random.below(9) {
        0 => ("count(*)".into(), Kind::BigInt),
        1 => (format!("count({argument})"), Kind::BigInt),
        2 => (format!("count(DISTINCT {argument})"), Kind::BigInt),
        3 | 4 if exact => (format!("sum({argument})"), Kind::Numeric),
        5 if exact && g.dialect == Dialect::Postgres => (format!("avg({argument})"), Kind::Numeric),
        3..=5 if column.kind == Kind::Boolean => (format!("bool_or({argument})"), Kind::Boolean),
        6 if column.kind.is_text() && g.dialect == Dialect::Postgres => {
            (format!("string_agg({argument}, ',' ORDER BY {argument})"), Kind::Text)
        }
        6 if column.kind == Kind::Boolean => (format!("bool_and({argument})"), Kind::Boolean),
        7 if column.kind.has_minimum() => (format!("min({})", column.text), column.kind),
        8 if column.kind.has_minimum() => (format!("max({})", column.text), column.kind),
        _ => (format!("count({argument})"), Kind::BigInt),
    };
    if g.dialect == Dialect::Postgres && g.random.percent(15) {
        return (format!("{call} FILTER (WHERE {})", g.condition(1)), kind);
    }
    (call, kind)
}

fn distinct(g: &mut Expressions<'_>) -> Step {
    let from = table(g);
    let list = select_list(g, 1, true);
    finish(g, format!("SELECT DISTINCT {} FROM {from}", texts(&list)), &list, false)
}

fn set_operation(g: &mut Expressions<'_>) -> Step {
    let kinds: Vec<Kind> = (0..1 + g.random.below(2)).map(|_| steady_kind(g)).collect();
    let operator = *g.random.pick(match g.dialect {
        Dialect::Postgres => &["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"][..],
        Dialect::Sqlite => &["UNION", "UNION ALL", "INTERSECT", "EXCEPT"][..],
    });
    let (left, right) = (operand(g, &kinds), operand(g, &kinds));
    let list: Vec<(String, Kind)> = kinds.iter().map(|kind| (String::new(), *kind)).collect();
    let mut text = format!("{left} {operator} {right}");
    // Without UNION beside INTERSECT: SQLite has no precedence among them.
    if operator.starts_with("UNION") && g.random.percent(30) {
        text += &format!(" UNION ALL {}", operand(g, &kinds));
    }
    finish(g, text, &list, false)
}

fn operand(g: &mut Expressions<'_>, kinds: &[Kind]) -> String {
    g.visible.clear();
    let from = table(g);
    let values: Vec<String> = kinds.iter().map(|kind| g.value(*kind, 1)).collect();
    format!("SELECT {} FROM {from} WHERE {}", values.join(", "), g.condition(1))
}

fn steady_kind(g: &mut Expressions<'_>) -> Kind {
    loop {
        let kind = g.kind();
        if !kind.looks_vary() {
            return kind;
        }
    }
}

fn derived(g: &mut Expressions<'_>) -> Step {
    let (inner, columns) = named_query(g);
    let alias = "d";
    g.visible = columns.iter().map(|(name, kind)| Visible { text: format!("{alias}.{name}"), kind: *kind }).collect();
    let list = select_list(g, 1, false);
    let condition = g.condition(1);
    finish(g, format!("SELECT {} FROM ({inner}) AS {alias} WHERE {condition}", texts(&list)), &list, false)
}

fn with(g: &mut Expressions<'_>) -> Step {
    let (inner, columns) = named_query(g);
    let qualified = |alias: &str| -> Vec<Visible> {
        let visible = |(name, kind): &(String, Kind)| Visible { text: format!("{alias}.{name}"), kind: *kind };
        columns.iter().map(visible).collect()
    };
    g.visible = qualified("x");
    let mut from = "w AS x".to_owned();
    if g.random.percent(50) {
        let before = g.visible.clone();
        g.visible.extend(qualified("y"));
        from = join(g, from, "w AS y".into(), &before);
    }
    let list = select_list(g, 1, false);
    let text = format!("WITH w AS ({inner}) SELECT {} FROM {from}", texts(&list));
    finish(g, text, &list, false)
}

fn named_query(g: &mut Expressions<'_>) -> (String, Vec<(String, Kind)>) {
    let from = table(g);
    let list = select_list(g, 1, false);
    let items = list.iter().enumerate().map(|(index, (text, _))| format!("{text} AS v{index}"));
    let items = items.collect::<Vec<_>>().join(", ");
    let columns = list.iter().enumerate().map(|(index, (_, kind))| (format!("v{index}"), *kind)).collect();
    (format!("SELECT {items} FROM {from} WHERE {}", g.condition(1)), columns)
}

fn constant(g: &mut Expressions<'_>) -> Step {
    let list = select_list(g, 3, false);
    Step::query(format!("SELECT {}", texts(&list)), true, false)
}

/// A table under a fresh alias, its columns added to the scope.
fn table(g: &mut Expressions<'_>) -> String {
    let spec: TableSpec = g.random.pick(g.tables).clone();
    g.aliases += 1;
    let alias = format!("r{}", g.aliases);
    g.visible.extend(visible_columns(&spec, &alias));
    format!("{} AS {alias}", spec.name)
}

fn select_list(g: &mut Expressions<'_>, depth: usize, steady: bool) -> Vec<(String, Kind)> {
    let mut list = Vec::new();
    for _ in 0..1 + g.random.below(4) {
        let kind = match g.any_column() {
            Some(column) if g.random.percent(60) => column.kind,
            _ => g.kind(),
        };
        if steady && kind.looks_vary() {
            continue;
        }
        // SQLite shows a condition as a number.
        if g.dialect == Dialect::Postgres && !steady && g.random.percent(15) {
            list.push((g.condition(depth), Kind::Boolean));
        } else {
            list.push((g.value(kind, depth), kind));
        }
    }
    if list.is_empty() {
        list.push(("1".into(), Kind::Integer));
    }
    list
}

/// Adds an order over all columns and a limit; without an order, rows are compared as a set.
fn finish(g: &mut Expressions<'_>, text: String, list: &[(String, Kind)], strict: bool) -> Step {
    if g.random.percent(50) {
        return Step::query(text, strict, true);
    }
    let keys: Vec<String> = (1..=list.len()).map(|position| order_key(g, position)).collect();
    let steady = list.iter().all(|(_, kind)| !kind.looks_vary());
    let limit = match g.random.below(6) {
        0 if steady => format!(" LIMIT {}", g.random.between(0, 5)),
        1 if steady => format!(" LIMIT {} OFFSET {}", g.random.between(1, 9), g.random.between(0, 4)),
        _ => String::new(),
    };
    Step::query(format!("{text} ORDER BY {}{limit}", keys.join(", ")), strict && limit.is_empty(), !steady)
}

fn order_key(g: &mut Expressions<'_>, position: usize) -> String {
    let order = *g.random.pick(&["", " DESC"]);
    // The dialects differ on where NULL goes by itself.
    let nulls = match g.dialect {
        Dialect::Postgres => *g.random.pick(&["", " NULLS FIRST", " NULLS LAST"]),
        Dialect::Sqlite => *g.random.pick(&[" NULLS FIRST", " NULLS LAST"]),
    };
    format!("{position}{order}{nulls}")
}

fn texts(list: &[(String, Kind)]) -> String {
    list.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(", ")
}

fn names(columns: &[Visible]) -> String {
    columns.iter().map(|column| column.text.as_str()).collect::<Vec<_>>().join(", ")
}
