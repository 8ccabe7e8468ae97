//! Views that are written to, and materialized ones.

use super::super::Kind;
use super::super::case::{Step, Via, one_change};
use super::super::change::{Changes, savepoint};
use super::super::schema::{ColumnSpec, TableSpec};
use super::{Block, change, rows};

/// A view of a table, one of that, and changes through them; views of joins refuse.
pub(super) fn updatable(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let table = b.table();
    let number = b.number;
    let name = &table.name;
    let given: Vec<ColumnSpec> =
        table.columns.iter().filter(|column| !column.generated && column.name != "p").cloned().collect();
    let list: Vec<String> = given.iter().map(|column| renamed(b, column)).collect();
    let low = b.random.between(-9, 9);
    let mut steps = vec![
        change(format!("CREATE VIEW w{number} AS SELECT {} FROM {name} WHERE k > {low}", list.join(", "))),
        change(format!("CREATE VIEW ww{number} AS SELECT *, k * 2 AS twice FROM w{number} WHERE k < {}", low + 25)),
    ];
    if b.random.percent(30) {
        steps.push(change(format!("CREATE VIEW j{number} AS SELECT a.k FROM {name} a JOIN {name} b USING (k)")));
        steps.push(change(match b.random.below(3) {
            0 => format!("DELETE FROM j{number}"),
            1 => format!("UPDATE j{number} SET k = 1"),
            _ => format!("INSERT INTO j{number} VALUES (1)"),
        }));
    }
    for _ in 0..2 + b.random.below(4) {
        steps.push(changed(b, &given));
    }
    steps.push(rows(format!("SELECT * FROM ww{number}")));
    steps.push(Changes::contents(&table));
    steps.push(change(match b.random.below(3) {
        0 => format!("DROP VIEW w{number}"),
        1 => format!("ALTER TABLE {name} DROP COLUMN {}", given.last()?.name),
        _ => format!(
            "SELECT is_updatable::text, is_insertable_into::text FROM information_schema.views WHERE table_name = 'ww{number}'"
        ),
    }));
    steps.push(change(format!("DROP VIEW IF EXISTS j{number}")));
    steps.push(change(format!("DROP VIEW w{number} CASCADE")));
    Some(steps)
}

fn renamed(b: &mut Block<'_>, column: &ColumnSpec) -> String {
    match column.name.as_str() {
        "k" => "k".into(),
        name if b.random.percent(30) => format!("{name} AS v_{name}"),
        name => name.into(),
    }
}

/// The view's names are not known here: `k` is, and what was not renamed may be.
fn changed(b: &mut Block<'_>, given: &[ColumnSpec]) -> Step {
    let view = format!("{}{}", b.random.pick(&["w", "w", "ww"]), b.number);
    let k = b.random.between(-9, 40);
    let column = b.random.pick(given).clone();
    let value = b.stored(column.kind, column.nullable);
    let returning = *b.random.pick(&["", "", " RETURNING *", " RETURNING k"]);
    change(match b.random.below(8) {
        0 | 1 => {
            let required: Vec<&ColumnSpec> =
                given.iter().filter(|column| column.name == "k" || !column.nullable).collect();
            let names: Vec<&str> = required.iter().map(|column| column.name.as_str()).collect();
            let values: Vec<String> = required
                .iter()
                .map(|column| if column.name == "k" { k.to_string() } else { b.stored(column.kind, false) })
                .collect();
            format!("INSERT INTO {view} ({}) VALUES ({}){returning}", names.join(", "), values.join(", "))
        }
        2..=4 => format!("UPDATE {view} SET {} = {value} WHERE k > {k}{returning}", column.name),
        5 => format!("UPDATE {view} AS v SET k = v.k WHERE v.k < {k}{returning}"),
        6 => format!("UPDATE {view} SET twice = 1"),
        _ => format!("DELETE FROM {view} WHERE k = {k}{returning}"),
    })
}

/// A query whose rows are kept, and made anew.
pub(super) fn materialized(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let table = b.table();
    let name = format!("m{}", b.number);
    let column = steady(b, &table);
    let query = match b.random.below(3) {
        0 => format!("SELECT k, {column} AS c FROM {} WHERE k % 3 <> 0", table.name),
        1 => format!("SELECT k, count(*) AS n, min(k) AS c FROM {} GROUP BY k", table.name),
        _ => format!("SELECT k, {column} AS c, k + 1 AS next FROM {}", table.name),
    };
    let data = *b.random.pick(&["", "", "", " WITH DATA", " WITH NO DATA"]);
    let shown = rows(format!("SELECT * FROM {name}"));
    let mut steps = vec![change(format!("CREATE MATERIALIZED VIEW {name} AS {query}{data}")), shown.clone()];
    for _ in 0..2 + b.random.below(4) {
        let low = b.random.between(-9, 25);
        steps.push(match b.random.below(10) {
            0 => change(format!("CREATE UNIQUE INDEX {name}_k ON {name} (k)")),
            1 => change(format!("CREATE INDEX ON {name} (c, k)")),
            2 => change(format!("REFRESH MATERIALIZED VIEW {name} WITH NO DATA")),
            3..=5 => change(format!("REFRESH MATERIALIZED VIEW CONCURRENTLY {name}")),
            6 => change(format!("INSERT INTO {name} VALUES (1)")),
            7 => change(format!("DELETE FROM {} WHERE k BETWEEN {low} AND {}", table.name, low + 3)),
            _ => change(format!("REFRESH MATERIALIZED VIEW {name}")),
        });
        steps.push(shown.clone());
    }
    if b.random.percent(30) {
        steps.push(change("BEGIN"));
        steps.push(change(format!("UPDATE {} SET k = k WHERE k > 2", table.name)));
        steps.push(change(format!("REFRESH MATERIALIZED VIEW {name}")));
        steps.push(shown.clone());
        steps.push(change("ROLLBACK"));
        steps.push(shown);
    }
    steps.push(change(match b.random.below(3) {
        0 => format!("DROP TABLE {name}"),
        1 => format!("ALTER MATERIALIZED VIEW {name} RENAME COLUMN c TO d"),
        _ => format!("DROP VIEW {name}"),
    }));
    steps.push(change(format!("DROP MATERIALIZED VIEW {name}")));
    Some(steps)
}

/// Groups that commits keep current are what a plain view shows, whatever is done to their table.
pub(super) fn maintained(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let table = b.table();
    let name = format!("g{}", b.number);
    // What can be a group of such a view.
    let fits = |column: &&ColumnSpec| {
        let is_other = column.kind.is_array() || matches!(column.kind, Kind::Pair | Kind::Jsonb);
        column.kind.is_key() && !is_other && (!column.kind.looks_vary() || column.kind == Kind::Numeric)
    };
    let fitting: Vec<&ColumnSpec> = table.columns.iter().filter(fits).collect();
    let groups: Vec<String> = (0..b.random.below(3)).map(|_| b.random.pick(&fitting).name.clone()).collect();
    let mut outputs: Vec<String> = groups.iter().enumerate().map(|(at, group)| format!("{group} AS g{at}")).collect();
    outputs.push("count(*) AS n".into());
    for column in &table.columns {
        match b.random.below(4) {
            0 if column.kind.sums_exactly() => {
                outputs.push(format!("sum({0}) AS s_{0}, avg({0}) AS a_{0}", column.name))
            }
            1 => outputs.push(format!("count({0}) FILTER (WHERE k > 3) AS c_{0}", column.name)),
            _ => {}
        }
    }
    let condition = *b.random.pick(&["", "", " WHERE k % 2 = 0", " WHERE k > 5"]);
    let grouped = if groups.is_empty() { String::new() } else { format!(" GROUP BY {}", groups.join(", ")) };
    let query = format!("SELECT {} FROM {}{condition}{grouped}", outputs.join(", "), table.name);
    let elsewhere = |ours: String, reference: String| Step { via: Via::Elsewhere(reference), ..change(ours) };
    let shown = rows(format!("SELECT * FROM {name}"));
    let mut steps = vec![
        elsewhere(
            format!("CREATE MATERIALIZED VIEW {name} WITH (maintained = commit) AS {query}"),
            format!("CREATE VIEW {name} AS {query}"),
        ),
        shown.clone(),
    ];
    let in_transaction = b.random.percent(40);
    if in_transaction {
        steps.push(change("BEGIN"));
    }
    for _ in 0..2 + b.random.below(5) {
        if in_transaction && b.random.percent(30) {
            steps.push(savepoint(b.random));
        }
        let (dialect, only) = (b.dialect(), [table.clone()]);
        let tables = if b.random.percent(70) { &only[..] } else { b.tables };
        steps.push(one_change(b.random, dialect, tables));
        if b.random.percent(50) {
            steps.push(shown.clone());
        }
    }
    if in_transaction {
        steps.push(change(*b.random.pick(&["COMMIT", "COMMIT", "ROLLBACK"])));
    }
    steps.push(shown.clone());
    if b.random.percent(20) {
        steps.push(change(format!("TRUNCATE {} CASCADE", table.name)));
        steps.push(shown);
    }
    steps.push(elsewhere(format!("DROP MATERIALIZED VIEW {name}"), format!("DROP VIEW {name}")));
    Some(steps)
}

/// A column whose equal values look alike.
fn steady(b: &mut Block<'_>, table: &TableSpec) -> String {
    let fits = |column: &&ColumnSpec| !column.kind.looks_vary() && column.kind.is_key();
    let steady: Vec<&ColumnSpec> = table.columns.iter().filter(fits).collect();
    b.random.pick(&steady).name.clone()
}
