//! Random INSERT, UPDATE, DELETE and transaction statements.

use super::case::Step;
use super::expression::{Expressions, Visible};
use super::literal::stored;
use super::schema::{ColumnSpec, TableSpec};
use super::{Dialect, Kind, Random};

/// What changes need to know.
pub(super) struct Changes<'a> {
    pub random: &'a mut Random,
    pub dialect: Dialect,
    pub tables: &'a [TableSpec],
}

impl Changes<'_> {
    /// An INSERT of a few rows that mostly succeeds.
    pub fn insert(&mut self, table: &TableSpec) -> Step {
        let columns: Vec<&ColumnSpec> = table
            .columns
            .iter()
            .filter(|column| !column.generated)
            .filter(|column| column.name == "k" || !column.nullable || self.random.percent(90))
            .collect();
        // SQLite updates a row twice in one statement where PostgreSQL refuses.
        let most = if self.dialect == Dialect::Sqlite { 1 } else { 4 };
        let rows: Vec<String> = (0..1 + self.random.below(most)).map(|_| self.row(table, &columns)).collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let tail = self.conflict_clause(table);
        let returning = self.returning(table);
        let (name, names, rows) = (&table.name, names.join(", "), rows.join(", "));
        Step::change(format!("INSERT INTO {name} ({names}) VALUES {rows}{tail}{returning}"))
    }

    /// An INSERT of what a query over another table gives.
    pub fn insert_select(&mut self, table: &TableSpec) -> Step {
        let source = self.random.pick(self.tables).clone();
        let columns: Vec<&ColumnSpec> =
            table.columns.iter().filter(|column| column.name != "p" && !column.generated).collect();
        let mut values: Vec<String> = Vec::new();
        for column in &columns {
            let same =
                source.columns.iter().find(|other| other.kind == column.kind && column.name != "k" && !column.in_key);
            values.push(match same {
                Some(other) if other.nullable <= column.nullable => other.name.clone(),
                _ if column.name == "k" => "k + 30".into(),
                _ => stored(self.random, column.kind, self.dialect, column.nullable),
            });
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let limit = self.random.between(-5, 12);
        Step::change(format!(
            "INSERT INTO {} ({}) SELECT {} FROM {} WHERE k < {limit}",
            table.name,
            names.join(", "),
            values.join(", "),
            source.name
        ))
    }

    /// An UPDATE that leaves keys alone, or moves one row's key.
    pub fn update(&mut self, table: &TableSpec) -> Step {
        if table.has_key && self.random.percent(15) {
            let (to, from) = (self.random.between(-9, 30), self.random.between(-9, 30));
            return Step::change(format!("UPDATE {} SET k = {to} WHERE k = {from}", table.name));
        }
        let free: Vec<ColumnSpec> = table.columns.iter().filter(|column| !column.in_key).cloned().collect();
        if free.is_empty() {
            return self.delete(table);
        }
        let column = self.random.pick(&free).clone();
        let (value, condition) = self.over(table, |g| {
            let simple = g.random.percent(60);
            (g.value(column.kind, usize::from(!simple)), g.condition(1))
        });
        let returning = self.returning(table);
        Step::change(format!("UPDATE {} SET {} = {value} WHERE {condition}{returning}", table.name, column.name))
    }

    /// A DELETE of few rows.
    pub fn delete(&mut self, table: &TableSpec) -> Step {
        let (low, width) = (self.random.between(-9, 30), self.random.between(0, 2));
        let condition = self.over(table, |g| g.condition(1));
        let returning = self.returning(table);
        let name = &table.name;
        Step::change(format!("DELETE FROM {name} WHERE k BETWEEN {low} AND {} AND {condition}{returning}", low + width))
    }

    /// The whole table, rows in one order.
    pub fn contents(table: &TableSpec) -> Step {
        Step::query(format!("SELECT * FROM {}", table.name), false, true)
    }

    fn row(&mut self, table: &TableSpec, columns: &[&ColumnSpec]) -> String {
        let value = |column: &&ColumnSpec| match column.name.as_str() {
            "k" if table.has_key || self.random.percent(90) => self.random.between(-9, 30).to_string(),
            "p" if self.random.percent(80) => {
                format!("(SELECT max(k) FROM {} WHERE k <= {})", parent(table), self.random.between(-5, 30))
            }
            _ if self.dialect == Dialect::Postgres && self.random.percent(3) => "DEFAULT".into(),
            _ => {
                let nullable = column.nullable || self.random.percent(3);
                stored(self.random, column.kind, self.dialect, nullable)
            }
        };
        format!("({})", columns.iter().map(value).collect::<Vec<_>>().join(", "))
    }

    fn conflict_clause(&mut self, table: &TableSpec) -> String {
        if !table.has_key || self.random.percent(30) {
            return String::new();
        }
        let free = table.columns.iter().find(|column| !column.in_key);
        match (free, self.random.below(4)) {
            (_, 0) => " ON CONFLICT DO NOTHING".into(),
            (Some(column), 1 | 2) => {
                let condition =
                    if self.random.percent(30) { format!(" WHERE {}.k > 3", table.name) } else { String::new() };
                format!(" ON CONFLICT (k) DO UPDATE SET {} = excluded.{}{condition}", column.name, column.name)
            }
            _ => " ON CONFLICT (k) DO NOTHING".into(),
        }
    }

    fn returning(&mut self, table: &TableSpec) -> String {
        if self.random.percent(75) {
            return String::new();
        }
        if self.random.percent(50) {
            return " RETURNING *".into();
        }
        match self.dialect {
            Dialect::Sqlite => " RETURNING k".into(),
            Dialect::Postgres => format!(
                " RETURNING {}",
                self.over(table, |g| {
                    let kind = g.kind();
                    format!("k, {}", g.leaf(kind))
                })
            ),
        }
    }

    fn over<T>(&mut self, table: &TableSpec, body: impl FnOnce(&mut Expressions<'_>) -> T) -> T {
        let visible =
            |column: &ColumnSpec| Visible { text: format!("{}.{}", table.name, column.name), kind: column.kind };
        let visible = table.columns.iter().map(visible).collect();
        body(&mut Expressions { random: self.random, dialect: self.dialect, tables: self.tables, visible, aliases: 0 })
    }
}

fn parent(table: &TableSpec) -> &str {
    table.parent.as_deref().unwrap_or(&table.name)
}

/// A savepoint, a rollback to one, or a release.
pub(super) fn savepoint(random: &mut Random) -> Step {
    let name = *random.pick(&["a", "b"]);
    let text = match random.below(5) {
        0 | 1 => format!("SAVEPOINT {name}"),
        2 | 3 => format!("ROLLBACK TO SAVEPOINT {name}"),
        _ => format!("RELEASE SAVEPOINT {name}"),
    };
    Step::change(text)
}

/// A value that no column of the table can be given without an error.
pub(super) fn wrong(random: &mut Random, table: &TableSpec) -> Step {
    let name = &table.name;
    let column = random.pick(&table.columns).clone();
    let text = match random.below(10) {
        0 => format!("INSERT INTO {name} (nope) VALUES (1)"),
        1 => format!("INSERT INTO {name} (k) VALUES (1, 2)"),
        2 => format!("UPDATE {name} SET nope = 1"),
        3 => format!("SELECT nope FROM {name}"),
        4 => "SELECT * FROM nope".into(),
        5 => format!("SELECT {} FROM {name} GROUP BY k + 1", column.name),
        6 => format!("INSERT INTO {name} (k) VALUES ('x')"),
        7 => format!("SELECT nope({}) FROM {name}", column.name),
        8 if column.kind != Kind::Boolean => format!("SELECT 1 FROM {name} WHERE {}", column.name),
        _ => format!("CREATE TABLE {name} (a integer)"),
    };
    Step::change(text)
}
