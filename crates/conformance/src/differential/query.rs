//! Random queries.

use super::case::Step;
use super::expression::{Expressions, Visible, visible_columns};
use super::schema::TableSpec;
use super::topics::{formats, graphs, paths};
use super::window::windows;
use super::{Dialect, Kind};

/// A random query over the tables.
pub(super) fn query(g: &mut Expressions<'_>) -> Step {
    g.visible.clear();
    g.aliases = 0;
    if g.dialect == Dialect::Postgres && g.random.percent(40) {
        return match g.random.below(13) {
            10 => Step::query(formats::constant(g), true, true),
            11 => of_paths(g),
            12 => of_rows(g),
            0..=2 => windows(g),
            3 => grouping_sets(g),
            4 => unnested(g),
            5 => of_documents(g),
            6 => ordered_set(g),
            7 => recursive(g),
            8 => lateral(g),
            _ => rows_of_values(g),
        };
    }
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

fn grouping_sets(g: &mut Expressions<'_>) -> Step {
    let from = table(g);
    let groups: Vec<Visible> = (0..2).filter_map(|_| g.any_column()).filter(groupable).collect();
    let [a, b] = &groups[..] else { return constant(g) };
    let (a, b) = (a.clone(), b.clone());
    let sets = match g.random.below(4) {
        0 => format!("ROLLUP ({}, {})", a.text, b.text),
        1 => format!("CUBE ({}, {})", a.text, b.text),
        2 => format!("GROUPING SETS (({}), ({}, {}), ())", a.text, a.text, b.text),
        _ => format!("{}, ROLLUP ({})", a.text, b.text),
    };
    let grouping = format!("grouping({}, {})", a.text, b.text);
    let list = [(a.text, a.kind), (b.text, b.kind), (grouping, Kind::Integer), aggregate(g)];
    let condition = if g.random.percent(40) { format!(" WHERE {}", g.condition(1)) } else { String::new() };
    finish(g, format!("SELECT {} FROM {from}{condition} GROUP BY {sets}", texts(&list)), &list, false)
}

/// An array's elements beside the row that has it.
fn unnested(g: &mut Expressions<'_>) -> Step {
    let (from, alias, _) = keyed_table(g);
    let array = g.value(Kind::Integers, 1);
    let list = [(format!("{alias}.k"), Kind::Integer), ("u.x".into(), Kind::Integer), ("u.o".into(), Kind::BigInt)];
    let join = *g.random.pick(&["CROSS JOIN LATERAL", "LEFT JOIN LATERAL"]);
    let on = if join.starts_with("LEFT") { " ON u.x > 0" } else { "" };
    let text = format!("SELECT {} FROM {from} {join} unnest({array}) WITH ORDINALITY AS u (x, o){on}", texts(&list));
    finish(g, text, &list, false)
}

/// Documents made of rows, and rows made of documents.
fn of_documents(g: &mut Expressions<'_>) -> Step {
    let (from, alias, has_key) = keyed_table(g);
    let Some(column) = g.any_column() else { return constant(g) };
    let text = match g.random.below(6) {
        0 if has_key => format!("SELECT jsonb_agg({} ORDER BY {alias}.k) FROM {from}", column.text),
        1 if has_key => format!("SELECT jsonb_object_agg({alias}.k, {}) FROM {from}", column.text),
        2 if has_key => format!("SELECT json_agg({alias} ORDER BY {alias}.k)::text FROM {from}"),
        3 => format!("SELECT {alias}.k, row_to_json({alias})::text FROM {from}"),
        4 => {
            format!("SELECT {alias}.k, e.key, e.value FROM {from}, jsonb_each(to_jsonb({alias})) e WHERE e.key >= 'c'")
        }
        _ => {
            let document = g.value(Kind::Jsonb, 1);
            format!(
                "SELECT {alias}.k, e FROM {from}, jsonb_array_elements(CASE jsonb_typeof({document}) WHEN 'array' \
                 THEN {document} ELSE '[]' END) e"
            )
        }
    };
    Step::query(text, false, true)
}

fn of_paths(g: &mut Expressions<'_>) -> Step {
    let (from, alias, _) = keyed_table(g);
    Step::query(paths::query(g, &from, &alias), false, true)
}

/// Whole rows as values, and composite values by their fields.
fn of_rows(g: &mut Expressions<'_>) -> Step {
    let (from, alias, _) = keyed_table(g);
    let condition = g.condition(1);
    let text = match g.random.below(7) {
        0 => format!("SELECT {alias} FROM {from} WHERE {condition}"),
        1 => {
            format!("SELECT {alias}.k, {alias} IS NULL, {alias} IS NOT NULL, ({alias}).k FROM {from} WHERE {condition}")
        }
        2 => format!("SELECT (q.r).* FROM (SELECT {alias} AS r FROM {from} WHERE {condition}) q"),
        3 => format!("SELECT {alias}.k, (p).* FROM {from}, LATERAL (SELECT {} AS p) l", g.value(Kind::Pair, 1)),
        4 => format!("SELECT {alias}.k, u.a, u.b FROM {from}, unnest({}) AS u", g.value(Kind::Pairs, 1)),
        5 => format!(
            "SELECT count(*), array_agg({alias}.k ORDER BY {alias}.k) FROM {from} WHERE {condition} GROUP BY {}",
            {
                let kind = *g.random.pick(&[Kind::Pair, Kind::Mood, Kind::Amount, Kind::Moods, Kind::Pairs]);
                g.column(kind).unwrap_or_else(|| format!("{alias}.k"))
            }
        ),
        _ => format!(
            "SELECT {alias}.k, ROW({alias}.*, 1) < ROW({alias}.*, 2), {alias} = {alias} FROM {from} WHERE {condition}"
        ),
    };
    Step::query(text, false, true)
}

fn ordered_set(g: &mut Expressions<'_>) -> Step {
    let (from, alias, _) = keyed_table(g);
    let Some(column) = g.any_column().filter(|column| !column.kind.looks_vary()) else { return constant(g) };
    let call = match g.random.below(5) {
        0 => format!("mode() WITHIN GROUP (ORDER BY {})", column.text),
        1 => format!("percentile_disc(0.4) WITHIN GROUP (ORDER BY {} DESC)", column.text),
        // PostgreSQL has no arrays of arrays, and there are none of domains here.
        2 if !column.kind.is_array() && column.kind != Kind::Amount => {
            format!("percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY {})", column.text)
        }
        3 => format!("percentile_cont(0.3) WITHIN GROUP (ORDER BY {alias}.k)"),
        _ => format!("rank({}) WITHIN GROUP (ORDER BY {alias}.k)", g.random.between(-3, 20)),
    };
    let filter = if g.random.percent(20) { format!(" FILTER (WHERE {})", g.condition(1)) } else { String::new() };
    Step::query(format!("SELECT {call}{filter} FROM {from} WHERE {}", g.condition(1)), false, true)
}

fn recursive(g: &mut Expressions<'_>) -> Step {
    let from = table(g);
    let condition = g.condition(1);
    let union = *g.random.pick(&["UNION", "UNION ALL"]);
    let (most, step) = (g.random.between(3, 12), g.random.between(1, 3));
    let list = [("n".to_owned(), Kind::Integer), ("d".to_owned(), Kind::Integer)];
    let text = format!(
        "WITH RECURSIVE w (n, d) AS (SELECT r1.k, 0 FROM {from} WHERE {condition} {union} \
         SELECT n + {step}, d + 1 FROM w WHERE n < {most} AND d < 9) SELECT n, d FROM w"
    );
    finish(g, text, &list, false)
}

/// The first rows of another table for each row.
fn lateral(g: &mut Expressions<'_>) -> Step {
    let (from, alias, _) = keyed_table(g);
    let before = g.visible.clone();
    let (inner, other, has_key) = keyed_table(g);
    let condition = equal_columns(g, &before).unwrap_or_else(|| format!("{other}.k > {alias}.k"));
    g.visible = before;
    let limit = if has_key { format!(" LIMIT {}", g.random.between(1, 3)) } else { String::new() };
    let list = [(format!("{alias}.k"), Kind::Integer), ("l.n".into(), Kind::Integer)];
    let join = *g.random.pick(&["JOIN", "LEFT JOIN"]);
    let text = format!(
        "SELECT {alias}.k, l.n FROM {from} {join} LATERAL (SELECT {other}.k AS n FROM {inner} WHERE {condition} \
         ORDER BY {other}.k DESC{limit}) l ON {}",
        g.condition(1)
    );
    finish(g, text, &list, false)
}

/// Rows compared as wholes, and functions that give rows in the select list.
fn rows_of_values(g: &mut Expressions<'_>) -> Step {
    let (from, alias, _) = keyed_table(g);
    let operator = *g.random.pick(&["=", "<", ">=", "<>", "IS DISTINCT FROM"]);
    let kind = steady_kind(g);
    let (a, b) = (g.value(kind, 1), g.value(kind, 1));
    let condition = match g.random.below(3) {
        0 => format!("({alias}.k, {a}) {operator} ({}, {b})", g.random.between(-3, 20)),
        1 => format!("({alias}.k, {a}) IN (({}, {b}), ({}, {b}))", g.random.between(0, 9), g.random.between(0, 9)),
        _ => format!("ROW({a}, {alias}.k) IS NOT NULL"),
    };
    let several = match g.random.below(3) {
        0 => format!("generate_series(1, {alias}.k % 4)"),
        1 => format!("unnest({})", g.leaf(Kind::Integers)),
        _ => format!("f_series({alias}.k)"),
    };
    let list = [(format!("{alias}.k"), Kind::Integer), (several, Kind::Integer)];
    finish(g, format!("SELECT {} FROM {from} WHERE {condition}", texts(&list)), &list, false)
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
    let others: Vec<Kind> = kinds.iter().map(|kind| g.beside(*kind)).collect();
    let (left, right) = (operand(g, &kinds), operand(g, &others));
    if others != kinds {
        // Which of several equal values is shown is nobody's promise, how many there are is.
        let text = format!("SELECT count(*) FROM ({left} {operator} {right}) AS counted");
        return finish(g, text, &[(String::new(), Kind::BigInt)], false);
    }
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
    g.visible.clear();
    let list = select_list(g, 3, false);
    Step::query(format!("SELECT {}", texts(&list)), false, false)
}

/// A table under a fresh alias, its columns added to the scope.
fn table(g: &mut Expressions<'_>) -> String {
    let spec: TableSpec = g.random.pick(g.tables).clone();
    g.aliases += 1;
    let alias = format!("r{}", g.aliases);
    g.visible.extend(visible_columns(&spec, &alias));
    let sample = if g.dialect == Dialect::Postgres { graphs::sample(g) } else { "" };
    format!("{} AS {alias}{sample}", spec.name)
}

/// As `table`, with its alias, and whether its first column is its key.
pub(super) fn keyed_table(g: &mut Expressions<'_>) -> (String, String, bool) {
    let from = table(g);
    let (name, alias) = from.split_once(" AS ").unwrap_or_default();
    let alias = alias.split(' ').next().unwrap_or_default();
    let has_key = g.tables.iter().any(|spec| spec.name == name && spec.has_key);
    let alias = alias.to_owned();
    (from, alias, has_key)
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
pub(super) fn finish(g: &mut Expressions<'_>, text: String, list: &[(String, Kind)], strict: bool) -> Step {
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

pub(super) fn texts(list: &[(String, Kind)]) -> String {
    list.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(", ")
}

fn names(columns: &[Visible]) -> String {
    columns.iter().map(|column| column.text.as_str()).collect::<Vec<_>>().join(", ")
}
