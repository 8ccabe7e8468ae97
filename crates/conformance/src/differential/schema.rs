//! Random tables, constraints and indexes.

use super::{Kind, Random, routines};

/// Whose SQL is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL's.
    Postgres,
    /// What SQLite and PostgreSQL understand alike.
    Sqlite,
}

/// A generated column.
#[derive(Clone, Debug)]
pub(super) struct ColumnSpec {
    pub name: String,
    pub kind: Kind,
    pub nullable: bool,
    /// Part of the primary key or of a unique constraint: not changed by UPDATE expressions.
    pub in_key: bool,
    /// Computed: it can not be given.
    pub generated: bool,
}

impl ColumnSpec {
    fn new(name: &str, kind: Kind, nullable: bool, in_key: bool) -> ColumnSpec {
        ColumnSpec { name: name.into(), kind, nullable, in_key, generated: false }
    }
}

/// A generated table. Its first column is an integer key.
#[derive(Clone, Debug)]
pub(super) struct TableSpec {
    pub name: String,
    pub columns: Vec<ColumnSpec>,
    pub has_key: bool,
    /// The column, beside the key, that has a unique constraint of its own.
    pub unique: Option<usize>,
    /// Refers to the key of the table before.
    pub parent: Option<String>,
}

/// Tables of a case and the statements that make them.
pub(super) fn schema(random: &mut Random, dialect: Dialect) -> (Vec<TableSpec>, Vec<String>) {
    let mut tables: Vec<TableSpec> = Vec::new();
    let mut statements = Vec::new();
    if dialect == Dialect::Postgres {
        statements.extend(routines::FUNCTIONS.iter().map(|text| (*text).to_owned()));
    }
    for number in 0..2 + random.below(2) {
        let spec = table(random, dialect, number, tables.last());
        statements.push(create_table(random, dialect, &spec));
        for index in 0..random.below(3) {
            statements.extend(create_index(random, dialect, &spec, index));
        }
        if dialect == Dialect::Postgres && random.percent(40) {
            statements.extend(routines::triggers(random, &spec));
        }
        tables.push(spec);
    }
    (tables, statements)
}

fn table(random: &mut Random, dialect: Dialect, number: usize, before: Option<&TableSpec>) -> TableSpec {
    let has_key = random.percent(85);
    let mut columns = vec![ColumnSpec::new("k", Kind::Integer, !has_key, has_key)];
    let parent = before.filter(|parent| parent.has_key && random.percent(60)).map(|parent| parent.name.clone());
    if parent.is_some() {
        columns.push(ColumnSpec::new("p", Kind::Integer, true, true));
    }
    for index in 0..2 + random.below(5) {
        let kind = match dialect {
            Dialect::Postgres => *random.pick(&Kind::ALL),
            Dialect::Sqlite => *random.pick(&[Kind::Integer, Kind::Text]),
        };
        let nullable = random.percent(75);
        columns.push(ColumnSpec::new(&format!("c{index}"), kind, nullable, false));
    }
    let last = columns.len() - 1;
    let unique = random.percent(30).then_some(last).filter(|last| columns[*last].kind.is_key());
    if let Some(column) = unique.and_then(|index| columns.get_mut(index)) {
        column.in_key = true;
    }
    if dialect == Dialect::Postgres && random.percent(25) {
        let computed = ColumnSpec { generated: true, ..ColumnSpec::new("g", Kind::Integer, true, true) };
        columns.push(computed);
    }
    TableSpec { name: format!("t{number}"), columns, has_key, unique, parent }
}

fn create_table(random: &mut Random, dialect: Dialect, spec: &TableSpec) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (index, column) in spec.columns.iter().enumerate() {
        let mut part = format!("{} {}", column.name, column.kind.sql());
        if index == 0 && spec.has_key {
            part += " PRIMARY KEY";
        } else if !column.nullable {
            part += " NOT NULL";
        }
        if spec.unique == Some(index) {
            part += " UNIQUE";
        }
        if let (Some(parent), "p") = (&spec.parent, column.name.as_str()) {
            let action = random.pick(&[
                "",
                " ON DELETE CASCADE",
                " ON DELETE SET NULL",
                " ON DELETE RESTRICT",
                " ON UPDATE CASCADE",
            ]);
            let when = match dialect {
                Dialect::Postgres => *random.pick(&["", "", "", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED"]),
                Dialect::Sqlite => "",
            };
            part += &format!(" REFERENCES {parent} (k){action}{when}");
        }
        if column.generated {
            part += " GENERATED ALWAYS AS (k * 2 + 1) STORED";
        }
        if index > 1 && !column.in_key && random.percent(15) {
            part += &format!(" DEFAULT {}", super::literal::stored(random, column.kind, dialect, column.nullable));
        }
        parts.push(part);
    }
    if random.percent(40) {
        parts.push("CHECK (k < 60)".into());
    }
    format!("CREATE TABLE {} ({})", spec.name, parts.join(", "))
}

fn create_index(random: &mut Random, dialect: Dialect, spec: &TableSpec, number: usize) -> Option<String> {
    let mut columns: Vec<String> = Vec::new();
    for column in &spec.columns {
        if random.percent(30) && column.kind.is_key() {
            let order = random.pick(&["", " DESC", " ASC"]);
            let nulls =
                if dialect == Dialect::Postgres { *random.pick(&["", "", " NULLS FIRST", " NULLS LAST"]) } else { "" };
            columns.push(format!("{}{order}{nulls}", column.name));
        }
    }
    let inverted: Vec<&ColumnSpec> =
        spec.columns.iter().filter(|column| column.kind.has_entries() && column.kind.is_key()).collect();
    if !inverted.is_empty() && random.percent(40) {
        let column = *random.pick(&inverted);
        let class = if column.kind == Kind::Jsonb { *random.pick(&["", " jsonb_path_ops"]) } else { "" };
        let filter = *random.pick(&["", "", " WHERE k > 2"]);
        let (name, column) = (&spec.name, &column.name);
        return Some(format!("CREATE INDEX {name}_i{number} ON {name} USING gin ({column}{class}){filter}"));
    }
    if columns.is_empty() {
        return None;
    }
    let column = &random.pick(&spec.columns).name;
    if random.percent(15) {
        columns.insert(0, format!("({column} IS NULL)"));
    }
    let filter = match random.below(10) {
        0..=1 => format!(" WHERE {column} IS NOT NULL"),
        2 => format!(" WHERE {column} IS NULL"),
        _ => String::new(),
    };
    Some(format!("CREATE INDEX {}_i{number} ON {} ({}){filter}", spec.name, spec.name, columns.join(", ")))
}
