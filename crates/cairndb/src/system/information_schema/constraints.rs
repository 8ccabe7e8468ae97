//! Constraints, what they are of and what they use.

use super::{CONSTRAINT, DOMAIN, Named, TABLE, located};
use crate::Value;
use crate::catalog::{Catalog, Check, Column, Deferral, ForeignKey, ObjectId, Table, UserType};
use crate::system::ExpressionOver;
use crate::system::describe::{self, Telling};
use crate::system::reg::schema_oid;
use crate::system::{Rows, maybe, oid_of, schema_name, text, yes_or_no};

/// Every constraint of the table that has a name: the name, what it is, its columns.
fn constraints(table: &Table) -> Vec<(&str, &'static str, Vec<usize>)> {
    let keys = table.all_indexes().filter(|index| index.constraint);
    let keys = keys.map(|index| {
        let columns = index.positions().collect();
        (index.name.as_str(), if index.primary { "PRIMARY KEY" } else { "UNIQUE" }, columns)
    });
    let foreign = table.foreign_keys.iter().map(|key| (key.name.as_str(), "FOREIGN KEY", key.columns.clone()));
    let checks = table.checks.iter().map(|check| (check.name.as_str(), "CHECK", Vec::new()));
    keys.chain(foreign).chain(checks).collect()
}

pub(super) fn table_constraints(catalog: &Catalog, rows: &mut Rows) {
    let tables = rows.tables(catalog);
    for table in tables.iter().copied() {
        for (name, kind, _) in constraints(table) {
            let key = table.foreign_keys.iter().find(|key| kind == "FOREIGN KEY" && key.name == name);
            let index =
                table.indexes.iter().find(|index| kind != "FOREIGN KEY" && index.constraint && index.name == name);
            let deferral = key.map(|key| key.deferral).or(index.map(|index| index.deferral)).unwrap_or_default();
            let nulls_equal = index.filter(|_| kind == "UNIQUE").map(|index| index.nulls_equal);
            let mut row = of_table(catalog, table, name);
            row.extend([
                ("constraint_type", text(kind)),
                ("is_deferrable", yes_or_no(deferral != Deferral::Never)),
                ("initially_deferred", yes_or_no(deferral == Deferral::Deferred)),
                ("nulls_distinct", maybe(nulls_equal.map(|equal| yes_or_no(!equal)))),
            ]);
            rows.put_known(row);
        }
    }
    for (table, _, name) in not_null(tables) {
        let mut row = of_table(catalog, table, &name);
        row.extend([
            ("constraint_type", text("CHECK")),
            ("is_deferrable", yes_or_no(false)),
            ("initially_deferred", yes_or_no(false)),
        ]);
        rows.put_known(row);
    }
}

/// A constraint of a table, which is enforced whatever it is.
fn of_table(catalog: &Catalog, table: &Table, name: &str) -> Named {
    let mut row = located(CONSTRAINT, catalog, table.schema, name);
    row.extend(located(TABLE, catalog, table.schema, &table.name));
    row.push(("enforced", yes_or_no(true)));
    row
}

/// NOT NULL as the standard has it: conditions of columns, under names that PostgreSQL makes up.
fn not_null(tables: Vec<&Table>) -> impl Iterator<Item = (&Table, &Column, String)> {
    let tables = tables.into_iter().filter(|table| !table.is_materialized());
    tables.flat_map(|table: &Table| {
        let columns = table.columns.iter().filter(|column| column.not_null);
        columns.map(move |column| {
            let [schema, of] = [schema_oid(table.schema), oid_of(table.id)];
            (table, column, format!("{schema}_{of}_{}_not_null", column.number))
        })
    })
}

pub(super) fn key_column_usage(catalog: &Catalog, rows: &mut Rows) {
    for table in rows.tables(catalog) {
        for (name, kind, columns) in constraints(table) {
            for (at, column) in (1..).zip(&columns) {
                let referred = match kind {
                    "FOREIGN KEY" => position_in_unique(catalog, table, name, at),
                    _ => Value::Null,
                };
                let mut row = located(CONSTRAINT, catalog, table.schema, name);
                row.extend(located(TABLE, catalog, table.schema, &table.name));
                row.extend([
                    ("column_name", text(&table.columns[*column].name)),
                    ("ordinal_position", Value::Integer(at)),
                    ("position_in_unique_constraint", referred),
                ]);
                rows.put_known(row);
            }
        }
    }
}

/// The key that a foreign key points at: its name and its columns.
fn referenced<'c>(catalog: &'c Catalog, key: &ForeignKey) -> Option<(&'c Table, &'c str, Vec<usize>)> {
    let table = catalog.table_by_id(key.referenced_table)?;
    let index = table.unique_index_of(&key.referenced_columns)?;
    Some((table, &index.name, index.positions().collect()))
}

fn position_in_unique(catalog: &Catalog, table: &Table, name: &str, at: i32) -> Value {
    let position = || {
        let key = table.foreign_keys.iter().find(|key| key.name == name)?;
        let column = key.referenced_columns.get(usize::try_from(at).ok()? - 1)?;
        let (_, _, columns) = referenced(catalog, key)?;
        Some(Value::Integer(i32::try_from(columns.iter().position(|c| c == column)?).ok()? + 1))
    };
    maybe(position())
}

pub(super) fn referential_constraints(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        for key in &table.foreign_keys {
            let mut row = located(CONSTRAINT, catalog, table.schema, &key.name);
            row.extend([
                ("unique_constraint_catalog", text(catalog.database_name())),
                ("match_option", text(if key.full { "FULL" } else { "NONE" })),
                ("update_rule", text(describe::rule(key.on_update))),
                ("delete_rule", text(describe::rule(key.on_delete))),
            ]);
            if let Some((parent, name, _)) = referenced(catalog, key) {
                row.extend([
                    ("unique_constraint_schema", schema_name(catalog, parent.schema)),
                    ("unique_constraint_name", text(name)),
                ]);
            }
            rows.put_known(row);
        }
    }
}

pub(super) fn check_constraints(catalog: &Catalog, rows: &mut Rows) {
    let of_tables = catalog
        .tables()
        .flat_map(|table| table.checks.iter().map(move |check| (table.schema, check, ExpressionOver::Table(table))));
    let of_domains = domain_checks(catalog).map(|(of, check)| {
        let over = of.domain().map_or(ExpressionOver::Nothing, |domain| ExpressionOver::Value(domain.base));
        (of.schema, check, over)
    });
    let told = Telling::new(catalog, rows.bound);
    for (schema, check, over) in of_tables.chain(of_domains) {
        let said = describe::check(told, check, over);
        let mut row = located(CONSTRAINT, catalog, schema, &check.name);
        row.push(("check_clause", text(said.trim_start_matches("CHECK "))));
        rows.put_known(row);
    }
    for (table, column, name) in not_null(rows.tables(catalog)) {
        let mut row = located(CONSTRAINT, catalog, table.schema, &name);
        row.push(("check_clause", Value::text(format!("{} IS NOT NULL", column.name))));
        rows.put_known(row);
    }
}

fn domain_checks(catalog: &Catalog) -> impl Iterator<Item = (&UserType, &Check)> {
    let domains = catalog.types().filter_map(|of| Some((&**of, of.domain()?)));
    domains.flat_map(|(of, domain)| domain.checks.iter().map(move |check| (of, check)))
}

pub(super) fn domain_constraints(catalog: &Catalog, rows: &mut Rows) {
    for (of, check) in domain_checks(catalog) {
        let mut row = located(CONSTRAINT, catalog, of.schema, &check.name);
        row.extend(located(DOMAIN, catalog, of.schema, &of.name));
        row.extend([("is_deferrable", yes_or_no(false)), ("initially_deferred", yes_or_no(false))]);
        rows.put_known(row);
    }
}

/// A constraint: its name, its schema's table, and the columns that it uses, of which table.
struct Used<'c> {
    name: &'c str,
    schema: ObjectId,
    table: &'c Table,
    columns: Vec<String>,
}

impl Used<'_> {
    fn located(&self, catalog: &Catalog) -> Named {
        let mut place = located(TABLE, catalog, self.table.schema, &self.table.name);
        place.extend(located(CONSTRAINT, catalog, self.schema, self.name));
        place
    }
}

fn used(catalog: &Catalog) -> Vec<Used<'_>> {
    let mut all = vec![];
    for table in catalog.tables() {
        let plain = |columns: &[usize]| -> Vec<String> {
            columns.iter().filter_map(|column| Some(table.columns.get(*column)?.name.clone())).collect()
        };
        let schema = table.schema;
        for index in table.all_indexes().filter(|index| index.constraint) {
            all.push(Used { name: &index.name, schema, table, columns: plain(&index.positions().collect::<Vec<_>>()) });
        }
        for check in &table.checks {
            let is_used = |column: &&Column| check.columns.contains(&column.number);
            let columns = table.columns.iter().filter(is_used).map(|column| column.name.clone()).collect();
            all.push(Used { name: &check.name, schema, table, columns });
        }
        for key in &table.foreign_keys {
            let Some(parent) = catalog.table_by_id(key.referenced_table) else { continue };
            let column = |column: &usize| Some(parent.columns.get(*column)?.name.clone());
            let columns = key.referenced_columns.iter().filter_map(column).collect();
            all.push(Used { name: &key.name, schema, table: parent, columns });
        }
    }
    all
}

pub(super) fn constraint_column_usage(catalog: &Catalog, rows: &mut Rows) {
    for of in used(catalog) {
        for column in &of.columns {
            let mut row = of.located(catalog);
            row.push(("column_name", text(column)));
            rows.put_known(row);
        }
    }
}

pub(super) fn constraint_table_usage(catalog: &Catalog, rows: &mut Rows) {
    let of_checks = |of: &Used| of.table.checks.iter().any(|check| check.name == of.name);
    for of in used(catalog).iter().filter(|of| !of_checks(of)) {
        rows.put_known(of.located(catalog));
    }
}
