//! Inverted indexes: the same question with the index, without it, and while its table changes.

use super::super::Kind;
use super::super::case::Step;
use super::super::change::Changes;
use super::super::literal::literal;
use super::super::schema::ColumnSpec;
use super::{Block, change};

pub(super) fn block(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let fitting: Vec<_> =
        b.tables.iter().filter(|table| table.columns.iter().any(|c| c.kind.has_entries() && c.kind.is_key())).collect();
    if fitting.is_empty() {
        return None;
    }
    let table = (*b.random.pick(&fitting)).clone();
    let columns: Vec<ColumnSpec> =
        table.columns.iter().filter(|column| column.kind.has_entries() && column.kind.is_key()).cloned().collect();
    let column = b.random.pick(&columns).clone();
    let number = b.number;
    let class = match column.kind {
        Kind::Jsonb => *b.random.pick(&["", " jsonb_ops", " jsonb_path_ops"]),
        _ => *b.random.pick(&["", " array_ops"]),
    };
    let condition = *b.random.pick(&["", "", " WHERE k > 0"]);
    let questions: Vec<Step> = (0..4)
        .map(|_| {
            let test = question(b, &column);
            let more = *b.random.pick(&["", "", " AND k > 1", " OR k = 3"]);
            Step::query(format!("SELECT k, {} FROM {} WHERE {test}{more}", column.name, table.name), false, true)
        })
        .collect();
    let mut steps = questions.clone();
    steps.push(change(format!(
        "CREATE INDEX e{number} ON {} USING gin ({}{class}){condition}",
        table.name, column.name
    )));
    steps.extend(questions.iter().cloned());
    let mut make = Changes { random: b.random, dialect: super::Dialect::Postgres, tables: b.tables };
    steps.push(make.insert(&table));
    steps.push(make.update(&table));
    steps.push(make.delete(&table));
    steps.extend(questions.iter().cloned());
    steps.push(change("SET enable_indexscan = off"));
    steps.push(change("SET enable_bitmapscan = off"));
    steps.extend(questions);
    steps.push(change("RESET enable_indexscan"));
    steps.push(change("RESET enable_bitmapscan"));
    if b.random.percent(60) {
        steps.push(change(format!("DROP INDEX e{number}")));
    }
    Some(steps)
}

fn question(b: &mut Block<'_>, column: &ColumnSpec) -> String {
    let name = &column.name;
    let value = literal(b.random, column.kind, super::Dialect::Postgres);
    if column.kind != Kind::Jsonb {
        let operator = *b.random.pick(&["@>", "<@", "&&", "=", "@>"]);
        return format!("{name} {operator} {value}");
    }
    match b.random.below(10) {
        0..=2 => format!("{name} @> {value}"),
        3 => format!("{name} ? '{}'", b.random.pick(&["a", "b", "x"])),
        4 => format!("{name} ?| ARRAY['a', 'd', NULL]"),
        5 => format!("{name} ?& ARRAY['a', 'b']"),
        6 => format!(
            "{name} @? '{}'",
            b.random.pick(&["$.a", "$.a ? (@ > 0)", "$.*.b", "$[*].a ? (@ == 1)", "$.a.b", "$[1]"])
        ),
        7 => format!(
            "{name} @@ '{}'",
            b.random.pick(&["$.a == 1", "$.a > 0", "exists($.d)", "$.a.b == \"c\" || $.a == 1"])
        ),
        8 => format!("{name} @> '{}' AND {name} ? 'a'", b.random.pick(&["{}", "[]", "{\"a\": 1}"])),
        _ => format!("({name} @> '{{\"a\": 1}}' OR {name} @> '[1]')"),
    }
}
