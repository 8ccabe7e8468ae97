//! Who may do what: there is one user, who made everything and may do everything. What PostgreSQL lets everybody do is said besides.

use super::relations::all_columns;
use super::routines::specific_name;
use super::types::COLLATIONS;
use super::{Named, OBJECT, ROUTINE, SPECIFIC, TABLE, UDT, located, located_in};
use crate::catalog::{Catalog, TypeKind};
use crate::system::reg::OWNER;
use crate::system::{Rows, schema_name, text, yes_or_no};

const EVERYBODY: &str = "PUBLIC";

pub(super) fn enabled_roles(_: &Catalog, rows: &mut Rows) {
    rows.put_known(vec![("role_name", text(OWNER))]);
}

/// The owner can grant what others may, too.
fn granted(to: &str, what: &str) -> Named {
    vec![
        ("grantor", text(OWNER)),
        ("grantee", text(to)),
        ("privilege_type", text(what)),
        ("is_grantable", yes_or_no(to == OWNER)),
    ]
}

pub(super) fn of_tables(catalog: &Catalog, rows: &mut Rows) {
    let tables = catalog.base_tables().map(|table| (table.schema, table.name.as_str()));
    let views = catalog.views().map(|view| (view.schema, view.name.as_str()));
    for (schema, name) in tables.chain(views) {
        for may in ["INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"] {
            let mut row = located(TABLE, catalog, schema, name);
            row.extend(granted(OWNER, may));
            row.push(("with_hierarchy", yes_or_no(may == "SELECT")));
            rows.put_known(row);
        }
    }
}

pub(super) fn of_columns(catalog: &Catalog, rows: &mut Rows) {
    for of in all_columns(catalog, rows) {
        for may in ["INSERT", "SELECT", "UPDATE", "REFERENCES"] {
            let mut row = of.located(catalog);
            row.extend(granted(OWNER, may));
            rows.put_known(row);
        }
    }
}

pub(super) fn of_routines(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.routines().filter_map(|function| function.routine()) {
        for to in [EVERYBODY, OWNER] {
            let mut row = located(ROUTINE, catalog, of.schema, &of.name);
            row.extend(located_in(catalog, SPECIFIC, schema_name(catalog, of.schema), specific_name(of)));
            row.extend(granted(to, "EXECUTE"));
            rows.put_known(row);
        }
    }
}

/// Composite types, those of the rows of tables and views among them.
pub(super) fn of_types(catalog: &Catalog, rows: &mut Rows) {
    let made = catalog.types().filter(|of| matches!(of.kind, TypeKind::Composite(_)));
    let made = made.map(|of| (of.schema, of.name.as_str()));
    let tables = catalog.tables().map(|table| (table.schema, table.name.as_str()));
    let views = catalog.views().map(|view| (view.schema, view.name.as_str()));
    for (schema, name) in made.chain(tables).chain(views) {
        for to in [EVERYBODY, OWNER] {
            let mut row = located(UDT, catalog, schema, name);
            row.extend(granted(to, "TYPE USAGE"));
            rows.put_known(row);
        }
    }
}

/// Collations and domains: PostgreSQL tells of sequences only what was granted.
pub(super) fn of_usage(catalog: &Catalog, rows: &mut Rows) {
    for name in COLLATIONS {
        let mut row = located_in(catalog, OBJECT, text("pg_catalog"), text(name));
        row.push(("object_type", text("COLLATION")));
        row.extend(granted(EVERYBODY, "USAGE"));
        rows.put_known(row);
    }
    for of in catalog.types().filter(|of| of.domain().is_some()) {
        for to in [EVERYBODY, OWNER] {
            let mut row = located(OBJECT, catalog, of.schema, &of.name);
            row.push(("object_type", text("DOMAIN")));
            row.extend(granted(to, "USAGE"));
            rows.put_known(row);
        }
    }
}
