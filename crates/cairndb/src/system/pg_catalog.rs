//! `pg_catalog`: PostgreSQL's own, as far as tools look at it.

use super::{Rows, SystemRelation, maybe, names, schema_name, text, type_name, view_columns};
use crate::Value;
use crate::catalog::RelationKind::{Table as TableKind, View};
use crate::catalog::{
    Catalog, Deferral, Index, ObjectId, ReferentialAction, Relation, Table, TypeKind, oid_of, quoted,
};
use crate::types::DataType::{self, BigInt, Boolean, Integer, SmallInt, Text};
use crate::types::{Array, TYPES};

pub(super) const RELATIONS: &[SystemRelation] = &[
    SystemRelation {
        name: "pg_namespace",
        kind: TableKind,
        columns: &[("oid", BigInt), ("nspname", Text)],
        rows: pg_namespace,
    },
    SystemRelation {
        name: "pg_class",
        kind: TableKind,
        columns: &[
            ("oid", BigInt),
            ("relname", Text),
            ("relnamespace", BigInt),
            ("reltuples", DataType::Real),
            ("relhasindex", Boolean),
            ("relpersistence", Text),
            ("relkind", Text),
            ("relnatts", SmallInt),
            ("relchecks", SmallInt),
        ],
        rows: pg_class,
    },
    SystemRelation {
        name: "pg_attribute",
        kind: TableKind,
        columns: &[
            ("attrelid", BigInt),
            ("attname", Text),
            ("atttypid", BigInt),
            ("attnum", SmallInt),
            ("atttypmod", Integer),
            ("attnotnull", Boolean),
            ("atthasdef", Boolean),
            ("attidentity", Text),
            ("attgenerated", Text),
            ("attisdropped", Boolean),
        ],
        rows: pg_attribute,
    },
    SystemRelation {
        name: "pg_type",
        kind: TableKind,
        columns: &[
            ("oid", BigInt),
            ("typname", Text),
            ("typnamespace", BigInt),
            ("typtype", Text),
            ("typelem", BigInt),
            ("typbasetype", BigInt),
            ("typnotnull", Boolean),
        ],
        rows: pg_type,
    },
    SystemRelation {
        name: "pg_enum",
        kind: TableKind,
        columns: &[("oid", BigInt), ("enumtypid", BigInt), ("enumsortorder", DataType::Real), ("enumlabel", Text)],
        rows: pg_enum,
    },
    SystemRelation {
        name: "pg_index",
        kind: TableKind,
        columns: &[
            ("indexrelid", BigInt),
            ("indrelid", BigInt),
            ("indnatts", SmallInt),
            ("indisunique", Boolean),
            ("indisprimary", Boolean),
            ("indisvalid", Boolean),
            ("indkey", Text),
        ],
        rows: pg_index,
    },
    SystemRelation {
        name: "pg_constraint",
        kind: TableKind,
        columns: &[
            ("oid", BigInt),
            ("conname", Text),
            ("connamespace", BigInt),
            ("contype", Text),
            ("condeferrable", Boolean),
            ("condeferred", Boolean),
            ("convalidated", Boolean),
            ("conrelid", BigInt),
            ("confrelid", BigInt),
            ("confupdtype", Text),
            ("confdeltype", Text),
            ("conkey", SMALL_INTS),
            ("confkey", SMALL_INTS),
        ],
        rows: pg_constraint,
    },
    SystemRelation {
        name: "pg_description",
        kind: TableKind,
        columns: &[("objoid", BigInt), ("objsubid", Integer), ("description", Text)],
        rows: pg_description,
    },
    SystemRelation {
        name: "pg_tables",
        kind: View,
        columns: &[("schemaname", Text), ("tablename", Text), ("tableowner", Text), ("hasindexes", Boolean)],
        rows: pg_tables,
    },
    SystemRelation {
        name: "pg_views",
        kind: View,
        columns: &[("schemaname", Text), ("viewname", Text), ("viewowner", Text), ("definition", Text)],
        rows: pg_views,
    },
    SystemRelation {
        name: "pg_indexes",
        kind: View,
        columns: &[("schemaname", Text), ("tablename", Text), ("indexname", Text), ("indexdef", Text)],
        rows: pg_indexes,
    },
    SystemRelation {
        name: "pg_sequences",
        kind: View,
        columns: &[
            ("schemaname", Text),
            ("sequencename", Text),
            ("start_value", BigInt),
            ("min_value", BigInt),
            ("max_value", BigInt),
            ("increment_by", BigInt),
            ("cycle", Boolean),
        ],
        rows: pg_sequences,
    },
];

const SMALL_INTS: DataType = DataType::Array(crate::types::ElementType::SMALL_INT);
const OWNER: &str = "cairndb";
const PG_CATALOG: i64 = 11;

/// From 16384 on, as PostgreSQL's of what users make.
fn oid(id: ObjectId) -> Value {
    Value::BigInt(super::oid_of(id))
}

fn namespace(id: ObjectId) -> Value {
    if id == ObjectId::PUBLIC { Value::BigInt(2200) } else { oid(id) }
}

fn small(number: usize) -> Value {
    Value::SmallInt(i16::try_from(number).unwrap_or(i16::MAX))
}

fn pg_namespace(catalog: &Catalog, rows: &mut Rows) {
    rows.add(vec![Value::BigInt(PG_CATALOG), text("pg_catalog")]);
    rows.add(vec![Value::BigInt(13000), text("information_schema")]);
    for (name, id) in catalog.schemas() {
        rows.add(vec![namespace(id), text(name)]);
    }
}

fn pg_class(catalog: &Catalog, rows: &mut Rows) {
    for (_, schema) in catalog.schemas() {
        for (name, relation) in catalog.relations_in(schema) {
            let (id, kind, columns) = match relation {
                Relation::Table(table) => (table.id, "r", table.columns.len()),
                Relation::View(view) => (view.id, "v", view.columns.len()),
                Relation::Sequence(sequence) => (sequence.id, "S", 3),
                Relation::Index(_, index) => (index.id, "i", index.columns.len()),
                Relation::PrimaryKey(table) => (table.primary_key_id, "i", table.primary_key.len()),
            };
            let table = relation.table();
            let counted = table.and_then(|table| table.statistics.as_ref()).map_or(-1.0, |found| found.rows as f32);
            let indexed = table.is_some_and(|table| !table.indexes.is_empty() || !table.primary_key.is_empty());
            rows.add(vec![
                oid(id),
                text(name),
                namespace(schema),
                Value::Real(if kind == "r" { counted } else { 0.0 }),
                Value::Boolean(indexed),
                text(if schema.is_temporary() { "t" } else { "p" }),
                text(kind),
                small(columns),
                small(table.map_or(0, |table| table.checks.len())),
            ]);
        }
    }
}

/// PostgreSQL's `typmod`.
fn modifier(data_type: DataType) -> Value {
    Value::Integer(match data_type {
        DataType::Varchar(Some(length)) | DataType::Char(length) => i32::try_from(length).unwrap_or(-1) + 4,
        DataType::Numeric(Some((precision, scale))) => (i32::from(precision) << 16 | i32::from(scale) & 0x7ff) + 4,
        DataType::Time(Some(digits)) | DataType::Timestamp(Some(digits)) | DataType::TimestampTz(Some(digits)) => {
            digits.into()
        }
        DataType::Interval(Some(limit)) => limit.modifier(),
        _ => -1,
    })
}

fn pg_attribute(catalog: &Catalog, rows: &mut Rows) {
    let row = |id, name: &str, data_type: DataType, number: u32, rules: [Value; 4]| {
        let typed = [oid(id), text(name), Value::BigInt(data_type.oid().into()), small(number as usize)];
        typed.into_iter().chain([modifier(data_type)]).chain(rules).chain([Value::Boolean(false)]).collect()
    };
    for table in catalog.tables() {
        for column in &table.columns {
            let identity = column.identity.map_or("", |identity| if identity.always { "a" } else { "d" });
            let generated = column.generated.as_ref().map_or("", |_| "s");
            let has_default = column.default.is_some() || column.generated.is_some();
            let rules = [Value::Boolean(column.not_null), Value::Boolean(has_default), text(identity), text(generated)];
            let mut row: Vec<Value> = row(table.id, &column.name, column.data_type, column.number, rules);
            if let Some(domain) = column.domain {
                row[2] = oid(domain);
            }
            rows.add(row);
        }
    }
    for view in catalog.views() {
        for (number, field) in (1..).zip(view_columns(catalog, view, rows)) {
            let rules = [Value::Boolean(false), Value::Boolean(false), text(""), text("")];
            rows.add(row(view.id, &field.name, field.data_type, number, rules));
        }
    }
}

fn pg_type(catalog: &Catalog, rows: &mut Rows) {
    let add = |rows: &mut Rows,
               oid: u32,
               name: String,
               schema: Value,
               kind: &str,
               element: u32,
               (base, not_null): (u32, bool)| {
        let named = [Value::BigInt(oid.into()), Value::text(name), schema, text(kind), Value::BigInt(element.into())];
        rows.add(named.into_iter().chain([Value::BigInt(base.into()), Value::Boolean(not_null)]).collect());
    };
    for info in &TYPES {
        let (name, schema) = (type_name(info.base), Value::BigInt(PG_CATALOG));
        add(rows, info.array_oid, format!("_{name}"), schema.clone(), "b", info.oid, (0, false));
        add(rows, info.oid, name, schema, "b", 0, (0, false));
    }
    for of in catalog.types() {
        let kind = match of.kind {
            TypeKind::Enum(_) => "e",
            TypeKind::Domain(_) => "d",
            TypeKind::Composite(_) => "c",
        };
        let base = of
            .domain()
            .map_or((0, false), |domain| (domain.parent.map_or_else(|| domain.base.oid(), oid_of), domain.not_null));
        let schema = namespace(of.schema);
        add(rows, oid_of(of.array_id), format!("_{}", of.name), schema.clone(), "b", oid_of(of.id), (0, false));
        add(rows, oid_of(of.id), of.name.clone(), schema, kind, 0, base);
    }
}

fn pg_enum(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.types() {
        for (label, order) in of.labels().iter().zip(1_u16..) {
            let row = [Value::BigInt(label.oid.into()), oid(of.id), Value::Real(order.into()), text(&label.name)];
            rows.add(row.into());
        }
    }
}

/// An index of a table.
struct Indexed<'t> {
    id: ObjectId,
    name: &'t str,
    columns: Vec<usize>,
    unique: bool,
    /// `None`: it is the primary key.
    secondary: Option<&'t Index>,
}

fn indexes(table: &Table) -> impl Iterator<Item = Indexed<'_>> {
    let primary = table.primary_key_name.iter().map(|name| Indexed {
        id: table.primary_key_id,
        name,
        columns: table.primary_key.clone(),
        unique: true,
        secondary: None,
    });
    primary.chain(table.indexes.iter().map(|index| Indexed {
        id: index.id,
        name: &index.name,
        columns: index.columns.iter().map(|part| part.column).collect(),
        unique: index.unique,
        secondary: Some(index),
    }))
}

fn numbers(table: &Table, columns: &[usize]) -> Vec<i16> {
    let number = |&column: &usize| i16::try_from(table.columns.get(column)?.number).ok();
    columns.iter().filter_map(number).collect()
}

fn pg_index(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        for Indexed { id, columns, unique, secondary: index, .. } in indexes(table) {
            // An expression is column 0.
            let number = |&column: &usize| table.columns.get(column).map_or(0, |column| column.number);
            let included = index.map_or(&table.primary_key_included, |index| &index.included);
            let columns = columns.iter().chain(included);
            let key: Vec<String> = columns.map(|column| number(column).to_string()).collect();
            let is = [unique, index.is_none(), true].map(Value::Boolean);
            let first = [oid(id), oid(table.id), small(key.len())];
            rows.add(first.into_iter().chain(is).chain([Value::text(key.join(" "))]).collect());
        }
    }
}

fn action(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "a",
        ReferentialAction::Restrict => "r",
        ReferentialAction::Cascade => "c",
        ReferentialAction::SetNull => "n",
        ReferentialAction::SetDefault => "d",
    }
}

fn pg_constraint(catalog: &Catalog, rows: &mut Rows) {
    let array =
        |numbers: Vec<i16>| Value::from(Array::new(SmallInt, numbers.into_iter().map(Value::SmallInt).collect()));
    for table in catalog.tables() {
        let mut add = |id: ObjectId, name: &str, kind: &str, key: Option<Vec<i16>>, foreign: [Value; 4]| {
            let [to, on_update, on_delete, referred] = foreign;
            let key_of_it = table.foreign_keys.iter().find(|key| key.id == id);
            let valid =
                key_of_it.is_none_or(|key| key.valid) && table.checks.iter().all(|check| check.id != id || check.valid);
            let deferral = key_of_it.map_or(Deferral::Never, |key| key.deferral);
            let is = [deferral != Deferral::Never, deferral == Deferral::Deferred, valid].map(Value::Boolean);
            let first = [oid(id), text(name), namespace(table.schema), text(kind)];
            let rest = [oid(table.id), to, on_update, on_delete, maybe(key.map(array)), referred];
            rows.add(first.into_iter().chain(is).chain(rest).collect());
        };
        let none = || [Value::BigInt(0), text(" "), text(" "), Value::Null];
        for Indexed { id, name, columns, secondary: index, .. } in indexes(table) {
            match index {
                Some(index) if !index.constraint => {}
                Some(_) => add(id, name, "u", Some(numbers(table, &columns)), none()),
                None => add(id, name, "p", Some(numbers(table, &columns)), none()),
            }
        }
        for check in &table.checks {
            let used: Vec<i16> = check.columns.iter().filter_map(|number| i16::try_from(*number).ok()).collect();
            add(check.id, &check.name, "c", (!used.is_empty()).then_some(used), none());
        }
        for key in &table.foreign_keys {
            let parent = catalog.table_by_id(key.referenced_table);
            let referred = parent.map(|parent| array(numbers(parent, &key.referenced_columns)));
            let foreign =
                [oid(key.referenced_table), text(action(key.on_update)), text(action(key.on_delete)), maybe(referred)];
            add(key.id, &key.name, "f", Some(numbers(table, &key.columns)), foreign);
        }
    }
}

fn pg_description(catalog: &Catalog, rows: &mut Rows) {
    for on in catalog.commented() {
        let part = Value::Integer(i32::try_from(on.part).unwrap_or(i32::MAX));
        let comment = catalog.comment(*on).map(text);
        rows.add(vec![oid(on.id), part, maybe(comment)]);
    }
}

fn pg_tables(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        let indexed = !table.indexes.is_empty() || !table.primary_key.is_empty();
        let place = [schema_name(catalog, table.schema), text(&table.name), text(OWNER)];
        rows.add(place.into_iter().chain([Value::Boolean(indexed)]).collect());
    }
}

fn pg_views(catalog: &Catalog, rows: &mut Rows) {
    for view in catalog.views() {
        let definition = Value::text(catalog.text_of(&view.query));
        rows.add(vec![schema_name(catalog, view.schema), text(&view.name), text(OWNER), definition]);
    }
}

fn pg_indexes(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        let schema = catalog.schema_name(table.schema).unwrap_or_default();
        for Indexed { name, columns, unique, secondary: index, .. } in indexes(table) {
            let mut columns = names(table, &columns);
            for (column, part) in columns.iter_mut().zip(index.into_iter().flat_map(|index| &index.columns)) {
                column.push_str(match (part.descending, part.nulls_first) {
                    (false, false) => "",
                    (false, true) => " NULLS FIRST",
                    (true, true) => " DESC",
                    (true, false) => " DESC NULLS LAST",
                });
            }
            let unique = if unique { "UNIQUE " } else { "" };
            let (on, columns) = (format!("{}.{}", quoted(schema), quoted(&table.name)), columns.join(", "));
            let predicate = index.and_then(|index| index.predicate.as_ref());
            let filter = predicate.map_or_else(String::new, |of| format!(" WHERE {}", of.definition.text));
            let nulls = if index.is_some_and(|index| index.nulls_equal) { " NULLS NOT DISTINCT" } else { "" };
            let called = quoted(name);
            let included = super::names(table, index.map_or(&table.primary_key_included, |index| &index.included));
            let included = match included.as_slice() {
                [] => String::new(),
                names => format!(" INCLUDE ({})", names.join(", ")),
            };
            let definition =
                format!("CREATE {unique}INDEX {called} ON {on} USING btree ({columns}){included}{nulls}{filter}");
            rows.add(vec![text(schema), text(&table.name), text(name), Value::text(definition)]);
        }
    }
}

fn pg_sequences(catalog: &Catalog, rows: &mut Rows) {
    for sequence in catalog.sequences() {
        let place = [schema_name(catalog, sequence.schema), text(&sequence.name)];
        let numbers = [sequence.start, sequence.min, sequence.max, sequence.increment].map(Value::BigInt);
        rows.add(place.into_iter().chain(numbers).chain([Value::Boolean(sequence.cycle)]).collect());
    }
}
