//! The database, its users and settings; and lists that are there to be read.

use std::sync::Arc;

use super::{owner, yes};
use crate::Value;
use crate::catalog::{Catalog, Sequence};
use crate::functions::extensions::{EXTENSIONS, PLPGSQL, extension};
use crate::plan::{Expr, SequenceOp};
use crate::system::describe::{self, Telling};
use crate::system::reg::{OWNER, PG_CATALOG_OID};
use crate::system::{Rows, schema_name, text};
use crate::types::DataType;

pub(in crate::system::pg_catalog) fn pg_tablespace(_: &Catalog, rows: &mut Rows) {
    for (oid, name) in [(1663, "pg_default"), (1664, "pg_global")] {
        rows.put(vec![("oid", Value::BigInt(oid)), ("spcname", text(name)), ("spcowner", owner())]);
    }
}

pub(in crate::system::pg_catalog) fn pg_extension(catalog: &Catalog, rows: &mut Rows) {
    let made =
        catalog.extensions().map(|made| (super::oid(made.id), made.name.as_str(), super::namespace(made.schema)));
    let ours = (Value::BigInt(13_532), PLPGSQL, Value::BigInt(PG_CATALOG_OID));
    for (oid, name, namespace) in [ours].into_iter().chain(made) {
        rows.put(vec![
            ("oid", oid),
            ("extname", text(name)),
            ("extowner", owner()),
            ("extnamespace", namespace),
            ("extrelocatable", yes(name != PLPGSQL)),
            ("extversion", text(extension(name).map_or("", |of| of.version))),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_available_extensions(catalog: &Catalog, rows: &mut Rows) {
    for of in EXTENSIONS {
        let is_made = of.name == PLPGSQL || catalog.extension(of.name).is_some();
        rows.put(vec![
            ("name", text(of.name)),
            ("default_version", text(of.version)),
            ("installed_version", if is_made { text(of.version) } else { Value::Null }),
            ("comment", text(of.comment)),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_tables(catalog: &Catalog, rows: &mut Rows) {
    for table in rows.tables(catalog).into_iter().filter(|table| !table.is_materialized()) {
        rows.put(vec![
            ("schemaname", schema_name(catalog, table.schema)),
            ("tablename", text(&table.name)),
            ("tableowner", text(OWNER)),
            ("hasindexes", yes(table.all_indexes().next().is_some())),
            ("hastriggers", yes(!table.triggers.is_empty() || !table.foreign_keys.is_empty())),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_views(catalog: &Catalog, rows: &mut Rows) {
    let told = Telling::new(catalog, rows.bound);
    for view in catalog.views() {
        rows.put(vec![
            ("schemaname", schema_name(catalog, view.schema)),
            ("viewname", text(&view.name)),
            ("viewowner", text(OWNER)),
            ("definition", Value::text(told.view(view, 0))),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_matviews(catalog: &Catalog, rows: &mut Rows) {
    let told = Telling::new(catalog, rows.bound);
    for table in catalog.tables() {
        let Some(materialized) = table.materialized() else { continue };
        rows.put(vec![
            ("schemaname", schema_name(catalog, table.schema)),
            ("matviewname", text(&table.name)),
            ("matviewowner", text(OWNER)),
            ("hasindexes", yes(table.all_indexes().next().is_some())),
            ("ispopulated", yes(materialized.is_populated)),
            ("definition", Value::text(told.query(&materialized.query, table, 0))),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_indexes(catalog: &Catalog, rows: &mut Rows) {
    let told = Telling::new(catalog, rows.bound);
    for table in rows.tables(catalog) {
        for index in table.all_indexes() {
            rows.put(vec![
                ("schemaname", schema_name(catalog, table.schema)),
                ("tablename", text(&table.name)),
                ("indexname", text(&index.name)),
                ("indexdef", Value::text(describe::index(told, table, index))),
            ]);
        }
    }
}

pub(in crate::system::pg_catalog) fn pg_sequences(catalog: &Catalog) -> Vec<Vec<Expr>> {
    let row = |of: &Arc<Sequence>| {
        let name = catalog.shown(of.schema, &of.name);
        let column =
            |op| Expr::Sequence { op, name: Box::new(literal(Value::text(&*name), DataType::Text)), value: None };
        let branches = vec![(column(SequenceOp::IsCalled), column(SequenceOp::LastValue))];
        let number = |number| literal(Value::BigInt(number), DataType::BigInt);
        let name = |name: &str| literal(text(name), DataType::Name);
        vec![
            name(catalog.schema_name(of.schema).unwrap_or_default()),
            name(&of.name),
            name(OWNER),
            literal(text(of.data_type.type_name()), DataType::Text),
            number(of.start),
            number(of.min),
            number(of.max),
            number(of.increment),
            literal(yes(of.cycle), DataType::Boolean),
            number(1),
            Expr::Case { branches, otherwise: None, data_type: DataType::BigInt },
        ]
    };
    catalog.sequences().map(row).collect()
}

fn literal(value: Value, data_type: DataType) -> Expr {
    Expr::Literal { value, data_type }
}
