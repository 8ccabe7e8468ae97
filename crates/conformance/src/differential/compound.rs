//! Random statements that change one table from another, several at once, or a table's definition.

use super::case::Step;
use super::change::Changes;
use super::literal::stored;
use super::schema::{ColumnSpec, TableSpec};

impl Changes<'_> {
    /// MERGE, UPDATE ... FROM, DELETE ... USING, WITH that changes, TRUNCATE, ALTER TABLE, SET CONSTRAINTS.
    pub fn compound(&mut self, table: &TableSpec) -> Step {
        let other = self.random.pick(self.tables).clone();
        let text = match self.random.below(20) {
            0..=5 => self.merge(table, &other),
            6..=8 => self.update_from(table, &other),
            9..=10 => self.delete_using(table, &other),
            11..=14 => self.with_changes(table, &other),
            15 => format!("TRUNCATE {}{}", table.name, self.random.pick(&["", " CASCADE"])),
            16 => format!("SET CONSTRAINTS ALL {}", self.random.pick(&["DEFERRED", "IMMEDIATE"])),
            _ => self.alter(table),
        };
        Step::change(text)
    }

    /// From rows that come once each, so that none of the target is met twice.
    fn merge(&mut self, table: &TableSpec, other: &TableSpec) -> String {
        if !other.has_key {
            return self.alter(table);
        }
        let low = self.random.between(-9, 20);
        let mut text = format!(
            "MERGE INTO {} AS t USING (SELECT * FROM {} WHERE k BETWEEN {low} AND {}) AS s ON t.k = s.k",
            table.name,
            other.name,
            low + self.random.between(1, 12)
        );
        for last in [false, false, true] {
            // Nothing comes behind a clause without condition.
            let condition = match last {
                false if self.random.percent(50) => continue,
                false => format!(" AND s.k > {}", self.random.between(-5, 20)),
                true => String::new(),
            };
            if self.random.percent(60) {
                let action = match self.random.below(4) {
                    0 => "DELETE".into(),
                    1 => "DO NOTHING".into(),
                    _ => format!("UPDATE SET {}", self.assignments(table, other, "s")),
                };
                text += &format!(" WHEN MATCHED{condition} THEN {action}");
            } else {
                let action = match self.random.below(4) {
                    0 => "DO NOTHING".into(),
                    _ => {
                        let given = |column: &&ColumnSpec| !column.generated && column.name != "p";
                        let columns: Vec<ColumnSpec> = table.columns.iter().filter(given).cloned().collect();
                        let values: Vec<String> =
                            columns.iter().map(|column| self.value_of(column, other, "s")).collect();
                        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                        format!("INSERT ({}) VALUES ({})", names.join(", "), values.join(", "))
                    }
                };
                text += &format!(" WHEN NOT MATCHED{condition} THEN {action}");
            }
        }
        text
    }

    fn update_from(&mut self, table: &TableSpec, other: &TableSpec) -> String {
        if !other.has_key {
            return self.alter(table);
        }
        let assigned = self.assignments(table, other, "s");
        let returning = *self.random.pick(&["", "", " RETURNING t.*", " RETURNING t.k, s.k"]);
        let low = self.random.between(-9, 20);
        format!(
            "UPDATE {} AS t SET {assigned} FROM {} AS s WHERE t.k = s.k AND s.k > {low}{returning}",
            table.name, other.name
        )
    }

    fn delete_using(&mut self, table: &TableSpec, other: &TableSpec) -> String {
        let low = self.random.between(-9, 25);
        let returning = *self.random.pick(&["", "", " RETURNING t.*"]);
        let (name, other) = (&table.name, &other.name);
        format!(
            "DELETE FROM {name} AS t USING {other} AS s WHERE t.k = s.k AND s.k BETWEEN {low} AND {}{returning}",
            low + 3
        )
    }

    fn with_changes(&mut self, table: &TableSpec, other: &TableSpec) -> String {
        let low = self.random.between(-9, 25);
        let name = &table.name;
        match self.random.below(4) {
            0 => format!(
                "WITH d AS (DELETE FROM {name} WHERE k BETWEEN {low} AND {} RETURNING *) \
                 SELECT count(*), min(k), max(k) FROM d",
                low + 2
            ),
            1 => {
                let insert = self.insert(table).sql;
                let insert = insert.split(" RETURNING").next().unwrap_or_default().to_owned();
                format!("WITH i AS ({insert} RETURNING k) SELECT i.k, (SELECT count(*) FROM {name}) FROM i")
            }
            2 => {
                let assigned = self.assignments(table, table, name);
                format!(
                    "WITH u AS (UPDATE {name} SET {assigned} WHERE k > {low} RETURNING k) \
                     DELETE FROM {} WHERE k IN (SELECT k - 1 FROM u) AND {}",
                    other.name,
                    if other.name == *name { "false" } else { "k % 5 = 0" }
                )
            }
            _ => format!(
                "WITH d AS (DELETE FROM {name} WHERE k = {low} RETURNING k) \
                 INSERT INTO audit SELECT 'with', 'DELETE', k, (SELECT count(*) FROM d) FROM d RETURNING *"
            ),
        }
    }

    /// Columns that queries do not ask for by name come and go.
    fn alter(&mut self, table: &TableSpec) -> String {
        let name = &table.name;
        match self.random.below(7) {
            0 | 1 => format!("ALTER TABLE {name} ADD COLUMN x integer DEFAULT {}", self.random.between(-9, 9)),
            2 => format!("ALTER TABLE {name} DROP COLUMN x"),
            3 => format!("UPDATE {name} SET x = coalesce(x, 0) + k"),
            4 => format!("ALTER TABLE {name} ALTER COLUMN x TYPE text USING 'n' || x"),
            5 => format!("ALTER TABLE {name} ADD CONSTRAINT {name}_x CHECK (x IS NULL OR length(x::text) < 4)"),
            _ => format!("CREATE INDEX ON {name} (x)"),
        }
    }

    fn assignments(&mut self, table: &TableSpec, other: &TableSpec, alias: &str) -> String {
        let free: Vec<ColumnSpec> = table.columns.iter().filter(|column| !column.in_key).cloned().collect();
        let column = self.random.pick(&free).clone();
        format!("{} = {}", column.name, self.value_of(&column, other, alias))
    }

    /// A column of the other table, or a value.
    fn value_of(&mut self, column: &ColumnSpec, other: &TableSpec, alias: &str) -> String {
        if column.name == "k" {
            return format!("{alias}.k");
        }
        let same = |from: &&ColumnSpec| from.kind == column.kind && from.nullable <= column.nullable && !from.generated;
        match other.columns.iter().find(same) {
            Some(from) if self.random.percent(70) => format!("{alias}.{}", from.name),
            _ => stored(self.random, column.kind, self.dialect, column.nullable),
        }
    }
}
