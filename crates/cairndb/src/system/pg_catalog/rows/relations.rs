//! Relations, their columns and indexes.

use super::{
    BTREE, GIN, HEAP, alignment, collation, default_oid, has_default, is_by_value, item_class, length, namespace,
    number, oid, operator_class, owner, small, storage, texts, vector, yes,
};
use std::sync::Arc;

use crate::Value;
use crate::catalog::{Catalog, Column, Deferral, Index, IndexColumn, ObjectId, Relation, Table, number_at};
use crate::system::ExpressionOver;
use crate::system::describe::{self, Telling};
use crate::system::reg::{INFORMATION_SCHEMA_OID, PG_CATALOG_OID, PUBLIC_OID, schema_oid};
use crate::system::{Rows, maybe, text};
use crate::types::DataType;

pub(in crate::system::pg_catalog) fn pg_namespace(catalog: &Catalog, rows: &mut Rows) {
    let system = [(PG_CATALOG_OID, "pg_catalog"), (INFORMATION_SCHEMA_OID, "information_schema")];
    let all = system.into_iter().chain(catalog.schemas().map(|(name, id)| (schema_oid(id), name)));
    for (oid, name) in all {
        // What initdb grants: a dump says what is otherwise.
        let granted =
            (oid == PUBLIC_OID).then(|| texts(["cairndb=UC/cairndb", "=U/cairndb"].map(str::to_owned).into_iter()));
        rows.put(vec![
            ("oid", Value::BigInt(oid)),
            ("nspname", text(name)),
            ("nspowner", owner()),
            ("nspacl", maybe(granted)),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_class(catalog: &Catalog, rows: &mut Rows) {
    for (schema, name, relation) in rows.relations(catalog) {
        let (id, kind, columns, method) = match relation {
            Relation::Table(table) => {
                let kind = if table.is_materialized() { "m" } else { "r" };
                (table.id, kind, table.columns.len(), HEAP)
            }
            Relation::View(view) => (view.id, "v", view.columns.len(), 0),
            Relation::Sequence(sequence) => (sequence.id, "S", 3, 0),
            Relation::Index(_, index) => {
                let method = if index.is_inverted() { GIN } else { BTREE };
                (index.id, "i", index.columns.len() + index.included.len(), method)
            }
        };
        let table = relation.table();
        let has_triggers = || match relation {
            Relation::Table(table) => {
                !table.triggers.is_empty() || !table.foreign_keys.is_empty() || !table.referenced_by.is_empty()
            }
            Relation::View(view) => !view.triggers.is_empty(),
            _ => false,
        };
        let analyzed = |table: &Arc<Table>| table.statistics.as_ref().map_or(-1.0, |found| found.rows as f32);
        rows.put_wanted(&[
            ("oid", &|| oid(id)),
            ("relname", &|| text(name)),
            ("relnamespace", &|| namespace(schema)),
            // Its rows' type has its own oid.
            ("reltype", &|| if matches!(kind, "r" | "m" | "v") { oid(id) } else { Value::BigInt(0) }),
            ("relowner", &owner),
            ("relam", &|| Value::BigInt(method)),
            ("relfilenode", &|| if kind == "v" { Value::BigInt(0) } else { oid(id) }),
            ("reltuples", &|| Value::Real(table.map_or(0.0, analyzed))),
            ("relhasindex", &|| yes(table.is_some_and(|table| table.all_indexes().next().is_some()))),
            ("relpersistence", &|| text(if schema.is_temporary() { "t" } else { "p" })),
            ("relkind", &|| text(kind)),
            ("relnatts", &|| small(columns)),
            ("relchecks", &|| small(table.map_or(0, |table| table.checks.len()))),
            ("relhasrules", &|| yes(matches!(kind, "v" | "m"))),
            ("relhastriggers", &|| yes(has_triggers())),
            ("relispopulated", &|| yes(table.is_none_or(|table| table.refuse_unpopulated().is_ok()))),
            ("relreplident", &|| text(if table.is_some() { "d" } else { "n" })),
            ("reloptions", &|| options(relation)),
        ]);
    }
    for (of, composite) in rows.composite_types(catalog) {
        rows.put(vec![
            ("oid", oid(of.id)),
            ("relname", text(&of.name)),
            ("relnamespace", namespace(of.schema)),
            ("reltype", oid(of.id)),
            ("relowner", owner()),
            ("relpersistence", text("p")),
            ("relkind", text("c")),
            ("relnatts", small(composite.attributes().len())),
            ("relispopulated", yes(true)),
            ("relreplident", text("n")),
        ]);
    }
}

/// What WITH says of a relation.
fn options(relation: &Relation) -> Value {
    let table = relation.table();
    let check = relation.view().and_then(|view| view.check);
    let maintained = table.and_then(|table| table.materialized()?.maintained);
    let all = [
        check.map(|check| format!("check_option={}", check.name())),
        maintained.map(|maintained| format!("maintained={}", maintained.name())),
        table.and_then(|table| table.feed).map(|_| "change_feed=on".to_owned()),
    ];
    match all.iter().any(Option::is_some) {
        true => texts(all.into_iter().flatten()),
        false => Value::Null,
    }
}

/// A column of a relation.
struct Attribute<'c> {
    of: ObjectId,
    name: &'c str,
    data_type: DataType,
    domain: Option<ObjectId>,
    at: usize,
    not_null: bool,
    has_default: bool,
    /// Of a table.
    column: Option<&'c Column>,
}

impl<'c> Attribute<'c> {
    fn new(of: ObjectId, name: &'c str, data_type: DataType, at: usize) -> Attribute<'c> {
        Attribute { of, name, data_type, domain: None, at, not_null: false, has_default: false, column: None }
    }

    fn put(&self, rows: &mut Rows) {
        let data_type = self.data_type;
        let length = length(data_type);
        let generated = |column: &Column| match (&column.generated, column.is_virtual) {
            (None, _) => "",
            (Some(_), true) => "v",
            (Some(_), false) => "s",
        };
        let identity = |column: &Column| column.identity.map_or("", |identity| if identity.always { "a" } else { "d" });
        rows.put_wanted(&[
            ("attrelid", &|| oid(self.of)),
            ("attname", &|| text(self.name)),
            ("atttypid", &|| self.domain.map_or_else(|| number(data_type.oid()), oid)),
            ("attstattarget", &|| Value::Integer(-1)),
            ("attlen", &|| Value::SmallInt(length)),
            ("attnum", &|| small(self.at)),
            ("attndims", &|| Value::Integer(data_type.is_array().into())),
            ("attcacheoff", &|| Value::Integer(-1)),
            ("atttypmod", &|| Value::Integer(if self.domain.is_some() { -1 } else { data_type.type_modifier() })),
            ("attbyval", &|| yes(is_by_value(data_type))),
            ("attalign", &|| text(alignment(data_type))),
            ("attstorage", &|| text(storage(data_type))),
            ("attcompression", &|| text("")),
            ("attnotnull", &|| yes(self.not_null)),
            ("atthasdef", &|| yes(self.has_default)),
            ("attidentity", &|| text(self.column.map_or("", identity))),
            ("attgenerated", &|| text(self.column.map_or("", generated))),
            ("attislocal", &|| yes(true)),
            ("attcollation", &|| Value::BigInt(collation(data_type))),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_attribute(catalog: &Catalog, rows: &mut Rows) {
    for table in rows.tables(catalog) {
        for column in &table.columns {
            let (domain, not_null, has_default) = (column.domain, column.not_null, has_default(column));
            let known = Attribute::new(table.id, &column.name, column.data_type, column.number as usize);
            Attribute { domain, not_null, has_default, column: Some(column), ..known }.put(rows);
        }
        for index in table.all_indexes() {
            let parts = index.positions().chain(index.included.iter().copied());
            for (at, part) in (1..).zip(parts) {
                match table.columns.get(part) {
                    Some(column) => {
                        let known = Attribute::new(index.id, &column.name, column.data_type, at);
                        Attribute { domain: column.domain, ..known }.put(rows);
                    }
                    None => {
                        let data_type = expression_type(index, part);
                        Attribute::new(index.id, &expression_name(at), data_type, at).put(rows);
                    }
                }
            }
        }
    }
    for view in rows.views(catalog) {
        for (at, field) in (1..).zip(rows.bound.columns(view, catalog)) {
            let has_default = view.defaults.contains_key(&(at - 1));
            Attribute { has_default, ..Attribute::new(view.id, &field.name, field.data_type, at) }.put(rows);
        }
    }
    for (of, composite) in rows.composite_types(catalog) {
        for attribute in composite.attributes() {
            let number = attribute.number as usize;
            Attribute::new(of.id, &attribute.name, attribute.data_type, number).put(rows);
        }
    }
    let of_sequence =
        [("last_value", DataType::BigInt), ("log_cnt", DataType::BigInt), ("is_called", DataType::Boolean)];
    for sequence in catalog.sequences() {
        for (at, (name, data_type)) in (1..).zip(of_sequence) {
            Attribute { not_null: true, ..Attribute::new(sequence.id, name, data_type, at) }.put(rows);
        }
    }
}

/// What an index's column of this number is called, which is an expression.
pub(in crate::system::pg_catalog) fn expression_name(at: usize) -> String {
    if at == 1 { "expr".to_owned() } else { format!("expr{}", at - 1) }
}

fn expression_type(index: &Index, part: usize) -> DataType {
    let found = index.expressions.iter().find(|expression| expression.column == part);
    found.map_or(DataType::Text, |expression| expression.data_type)
}

pub(in crate::system::pg_catalog) fn pg_attrdef(catalog: &Catalog, rows: &mut Rows) {
    let told = Telling::new(catalog, rows.bound);
    for table in rows.tables(catalog) {
        for column in table.columns.iter().filter(|column| has_default(column)) {
            let generated = column.generated.as_ref();
            let generated = generated.map(|of| told.computed(&of.definition.text, table, column.data_type));
            let said = generated.or_else(|| describe::default(told, column));
            rows.put(vec![
                ("oid", Value::BigInt(default_oid(table.id, column.number))),
                ("adrelid", oid(table.id)),
                ("adnum", small(column.number as usize)),
                ("adbin", maybe(said.map(Value::text))),
            ]);
        }
    }
    for view in rows.views(catalog) {
        let fields = rows.bound.columns(view, catalog);
        for (place, default) in &view.defaults {
            let said = fields.get(*place).map(|field| told.value(&catalog.text_of(default), field.data_type));
            rows.put(vec![
                ("oid", Value::BigInt(default_oid(view.id, number_at(*place)))),
                ("adrelid", oid(view.id)),
                ("adnum", small(place + 1)),
                ("adbin", maybe(said.map(Value::text))),
            ]);
        }
    }
}

pub(in crate::system::pg_catalog) fn pg_index(catalog: &Catalog, rows: &mut Rows) {
    let told = Telling::new(catalog, rows.bound);
    for table in rows.tables(catalog) {
        for index in table.all_indexes() {
            // An expression is column 0.
            let number = |part: usize| table.columns.get(part).map_or(0, |column| column.number as i16);
            let parts = index.positions().chain(index.included.iter().copied());
            let keys = parts.map(|part| Value::SmallInt(number(part))).collect();
            let key_types = || index.positions().map(|part| part_type(table, index, part));
            let collations = key_types().map(|of| Value::BigInt(collation(of))).collect();
            let classes = match &index.inverted {
                Some(inverted) => inverted.classes.iter().map(|class| Value::BigInt(item_class(*class))).collect(),
                None => key_types().map(|of| Value::BigInt(operator_class(of))).collect(),
            };
            let bits = |part: &IndexColumn| i16::from(part.descending) | i16::from(part.nulls_first) << 1;
            let directions = index.columns.iter().map(|part| Value::SmallInt(bits(part))).collect();
            let expressions: Vec<&str> =
                index.expressions.iter().map(|key| key.expression.definition.text.as_str()).collect();
            rows.put(vec![
                ("indexrelid", oid(index.id)),
                ("indrelid", oid(table.id)),
                ("indnatts", small(index.columns.len() + index.included.len())),
                ("indnkeyatts", small(index.columns.len())),
                ("indisunique", yes(index.is_told_unique())),
                ("indnullsnotdistinct", yes(index.nulls_equal)),
                ("indisprimary", yes(index.primary)),
                ("indimmediate", yes(index.deferral == Deferral::Never)),
                ("indisvalid", yes(true)),
                ("indisready", yes(true)),
                ("indislive", yes(true)),
                ("indkey", vector(DataType::SmallInt, keys)),
                ("indcollation", vector(DataType::Oid, collations)),
                ("indclass", vector(DataType::Oid, classes)),
                ("indoption", vector(DataType::SmallInt, directions)),
                ("indexprs", maybe((!expressions.is_empty()).then(|| Value::text(expressions.join(", "))))),
                (
                    "indpred",
                    maybe(index.predicate.as_ref().map(|of| {
                        let over = ExpressionOver::Table(table);
                        Value::text(told.condition(&of.definition.text, over))
                    })),
                ),
            ]);
        }
    }
}

pub(in crate::system::pg_catalog) fn pg_sequence(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.sequences() {
        rows.put(vec![
            ("seqrelid", oid(of.id)),
            ("seqtypid", number(of.data_type.oid())),
            ("seqstart", Value::BigInt(of.start)),
            ("seqincrement", Value::BigInt(of.increment)),
            ("seqmax", Value::BigInt(of.max)),
            ("seqmin", Value::BigInt(of.min)),
            ("seqcache", Value::BigInt(1)),
            ("seqcycle", yes(of.cycle)),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_rewrite(catalog: &Catalog, rows: &mut Rows) {
    for (relation, _) in catalog.queries() {
        rows.put(vec![
            ("oid", oid(relation.id())),
            ("rulename", text("_RETURN")),
            ("ev_class", oid(relation.id())),
            ("ev_type", text("1")),
            ("ev_enabled", text("O")),
            ("is_instead", yes(true)),
        ]);
    }
}

/// The type of a part of an index's key.
fn part_type(table: &Table, index: &Index, part: usize) -> DataType {
    table.columns.get(part).map_or_else(|| expression_type(index, part), |column| column.data_type)
}
