//! Types and what sorts and compares them.

use super::{
    BTREE, C_COLLATION, DEFAULT_COLLATION, GIN, HEAP, alignment, collation, item_class, length, number, oid, owner,
    storage, yes,
};
use crate::Value;
use crate::catalog::{Catalog, TypeKind};
use crate::inverted::ItemClass;
use crate::system::reg::{PG_CATALOG_OID, other_types, schema_oid};
use crate::system::{Rows, maybe, oid_of, text};
use crate::types::{DataType, TYPES, TypeCategory};

fn category(category: TypeCategory) -> &'static str {
    match category {
        TypeCategory::Boolean => "B",
        TypeCategory::Numeric => "N",
        TypeCategory::String => "S",
        TypeCategory::DateTime => "D",
        TypeCategory::Timespan => "T",
        TypeCategory::User => "U",
        TypeCategory::Internal => "Z",
        TypeCategory::Enum => "E",
        TypeCategory::Composite => "C",
        TypeCategory::Array => "A",
        TypeCategory::Unknown => "X",
    }
}

/// A type and the type of its arrays.
fn types_of(
    rows: &mut Rows,
    (oid, array_oid): (i64, i64),
    name: &str,
    schema: i64,
    data_type: DataType,
    rest: Vec<(&'static str, Value)>,
) {
    let length = length(data_type);
    let base = |oid: i64, name: String, length: i16, class: &str| {
        vec![
            ("oid", Value::BigInt(oid)),
            ("typinput", Value::text(format!("{}in", if length < 0 && class == "A" { "array_" } else { &name }))),
            ("typoutput", Value::text(format!("{}out", if length < 0 && class == "A" { "array_" } else { &name }))),
            ("typname", Value::text(name)),
            ("typnamespace", Value::BigInt(schema)),
            ("typowner", owner()),
            ("typlen", Value::SmallInt(length)),
            ("typbyval", yes((1..=8).contains(&length))),
            ("typtype", text("b")),
            ("typcategory", text(class)),
            ("typisdefined", yes(true)),
            ("typdelim", text(",")),
            ("typalign", text(if class == "A" { "i" } else { alignment(data_type) })),
            ("typstorage", text(if class == "A" { "x" } else { storage(data_type) })),
            ("typtypmod", Value::Integer(-1)),
            ("typcollation", Value::BigInt(collation(data_type))),
        ]
    };
    let mut array = base(array_oid, format!("_{name}"), -1, "A");
    array.push(("typelem", Value::BigInt(oid)));
    rows.put(array);
    let mut row = base(oid, name.to_owned(), length, category(data_type.category()));
    row.push(("typarray", Value::BigInt(array_oid)));
    row.extend(rest);
    rows.put(row);
}

pub(in crate::system::pg_catalog) fn pg_type(catalog: &Catalog, rows: &mut Rows) {
    for info in &TYPES {
        let rest = vec![("typispreferred", yes(info.preferred))];
        let oids = (info.oid.into(), info.array_oid.into());
        types_of(rows, oids, info.catalog_name, PG_CATALOG_OID, info.base, rest);
    }
    for of in other_types() {
        rows.put(vec![
            ("oid", Value::BigInt(of.oid)),
            ("typname", text(of.name.trim_matches('"'))),
            ("typnamespace", Value::BigInt(PG_CATALOG_OID)),
            ("typowner", owner()),
            ("typtype", text(if of.is_pseudo { "p" } else { "b" })),
            ("typcategory", text(if of.is_pseudo { "P" } else { "Z" })),
            ("typisdefined", yes(true)),
            ("typdelim", text(",")),
            ("typtypmod", Value::Integer(-1)),
        ]);
    }
    for of in catalog.types() {
        let rest = match (&of.kind, of.domain()) {
            (TypeKind::Composite(_), _) => vec![("typtype", text("c")), ("typrelid", oid(of.id))],
            (TypeKind::Enum(_), _) | (_, None) => vec![("typtype", text("e"))],
            (_, Some(domain)) => vec![
                ("typtype", text("d")),
                ("typbasetype", domain.parent.map_or_else(|| number(domain.base.oid()), oid)),
                ("typnotnull", yes(domain.not_null)),
                ("typtypmod", Value::Integer(domain.base.type_modifier())),
                ("typdefault", maybe(domain.default.as_ref().map(|default| Value::text(catalog.text_of(default))))),
            ],
        };
        let oids = (oid_of(of.id), oid_of(of.array_id));
        types_of(rows, oids, &of.name, schema_oid(of.schema), of.data_type, rest);
    }
}

pub(in crate::system::pg_catalog) fn pg_enum(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.types() {
        for (label, order) in of.labels().iter().zip(1_u16..) {
            rows.put(vec![
                ("oid", number(label.oid)),
                ("enumtypid", oid(of.id)),
                ("enumsortorder", Value::Real(order.into())),
                ("enumlabel", text(&label.name)),
            ]);
        }
    }
}

pub(in crate::system::pg_catalog) fn pg_opclass(_: &Catalog, rows: &mut Rows) {
    for (class, of, default) in
        [(ItemClass::Array, 2277, true), (ItemClass::Jsonb, 3802, true), (ItemClass::JsonbPath, 3802, false)]
    {
        rows.put(vec![
            ("oid", Value::BigInt(item_class(class))),
            ("opcmethod", Value::BigInt(GIN)),
            ("opcname", text(class.name())),
            ("opcnamespace", Value::BigInt(PG_CATALOG_OID)),
            ("opcowner", owner()),
            ("opcintype", number(of)),
            ("opcdefault", yes(default)),
        ]);
    }
    let mut add = |name: String, of: u32| {
        rows.put(vec![
            ("oid", Value::BigInt(10_000 + i64::from(of))),
            ("opcmethod", Value::BigInt(BTREE)),
            ("opcname", Value::text(format!("{name}_ops"))),
            ("opcnamespace", Value::BigInt(PG_CATALOG_OID)),
            ("opcowner", owner()),
            ("opcintype", number(of)),
            ("opcdefault", yes(true)),
        ]);
    };
    for info in TYPES
        .iter()
        .filter(|info| info.base.is_comparable() && !matches!(info.base, DataType::Varchar(_) | DataType::Reg(_)))
    {
        add(info.catalog_name.to_owned(), info.oid);
    }
    add("enum".to_owned(), 3500);
    add("array".to_owned(), 2277);
}

pub(in crate::system::pg_catalog) fn pg_collation(_: &Catalog, rows: &mut Rows) {
    for (oid, name, provider) in [(DEFAULT_COLLATION, "default", "d"), (C_COLLATION, "C", "c"), (951, "POSIX", "c")] {
        rows.put(vec![
            ("oid", Value::BigInt(oid)),
            ("collname", text(name)),
            ("collnamespace", Value::BigInt(PG_CATALOG_OID)),
            ("collowner", owner()),
            ("collprovider", text(provider)),
            ("collisdeterministic", yes(true)),
            ("collencoding", Value::Integer(-1)),
            ("collcollate", maybe((provider == "c").then(|| text(name)))),
            ("collctype", maybe((provider == "c").then(|| text(name)))),
        ]);
    }
}

pub(in crate::system::pg_catalog) fn pg_am(_: &Catalog, rows: &mut Rows) {
    for (oid, name, kind) in [(HEAP, "heap", "t"), (BTREE, "btree", "i"), (GIN, "gin", "i")] {
        let handler = Value::text(format!("{}handler", if oid == HEAP { "heap_tableam_" } else { "bt" }));
        rows.put(vec![
            ("oid", Value::BigInt(oid)),
            ("amname", text(name)),
            ("amhandler", handler),
            ("amtype", text(kind)),
        ]);
    }
}
