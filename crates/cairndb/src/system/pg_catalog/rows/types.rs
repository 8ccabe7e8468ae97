//! Types and what sorts and compares them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{
    BTREE, C_COLLATION, DEFAULT_COLLATION, GIN, HEAP, alignment, collation, is_by_value, item_class, length, number,
    oid, owner, routine, routine_named, storage, yes,
};
use crate::Value;
use crate::catalog::{Catalog, Relation, TypeKind};
use crate::inverted::ItemClass;
use crate::system::reg::{OtherType, PG_CATALOG_OID, other_types, schema_oid};
use crate::system::{Rows, maybe, oid_of, text};
use crate::types::{
    CompositeDefinition, CompositeType, DataType, ExtensionTypeKind, TYPES, TypeCategory, row_array_oid,
};

fn category(category: TypeCategory) -> &'static str {
    match category {
        TypeCategory::Boolean => "B",
        TypeCategory::Numeric => "N",
        TypeCategory::String => "S",
        TypeCategory::DateTime => "D",
        TypeCategory::Timespan => "T",
        TypeCategory::Network => "I",
        TypeCategory::User => "U",
        TypeCategory::Internal => "Z",
        TypeCategory::Enum => "E",
        TypeCategory::Composite => "C",
        TypeCategory::Array => "A",
        TypeCategory::Unknown => "X",
    }
}

/// The types of PostgreSQL's that are here, by oid. A line: the oid, [`Functions`]' in their order, `typelem`, `typlen`, `typbyval`,
/// `typcategory`, `typalign` and `typstorage`.
static TYPE_LINES: LazyLock<HashMap<i64, Vec<&'static str>>> = LazyLock::new(|| {
    let lines = include_str!("../types.tsv").lines().map(|line| line.split('\t').collect::<Vec<_>>());
    lines.filter_map(|fields| Some((fields.first()?.parse().ok()?, fields))).collect()
});

/// What the types of arrays have that is not their elements'.
static ARRAYS: LazyLock<Functions> = LazyLock::new(|| {
    let [analyze, subscript] = ["array_typanalyze", "array_subscript_handler"].map(routine_named);
    Functions { analyze, subscript, ..Functions::called("array") }
});

/// A type's functions by their oids, as `pg_type` has them.
#[derive(Clone, Copy, Default)]
struct Functions {
    input: i64,
    output: i64,
    receive: i64,
    send: i64,
    modifiers_in: i64,
    modifiers_out: i64,
    analyze: i64,
    subscript: i64,
}

impl Functions {
    fn of_line(fields: &[&str]) -> Functions {
        let at = |at: usize| fields.get(at).and_then(|oid| oid.parse().ok()).unwrap_or_default();
        let [input, output, receive, send] = [1, 2, 3, 4].map(at);
        let [modifiers_in, modifiers_out, analyze, subscript] = [5, 6, 7, 8].map(at);
        Functions { input, output, receive, send, modifiers_in, modifiers_out, analyze, subscript }
    }

    /// A built-in type's.
    fn of(oid: i64) -> Functions {
        TYPE_LINES.get(&oid).map_or_else(Functions::default, |fields| Functions::of_line(fields))
    }

    /// Those whose names begin so.
    fn called(name: &str) -> Functions {
        let of = |what: &str| routine_named(&format!("{name}_{what}"));
        let [input, output, receive, send] = ["in", "out", "recv", "send"].map(of);
        Functions { input, output, receive, send, ..Functions::default() }
    }

    /// Those of arrays of the type.
    fn of_arrays(self) -> Functions {
        let Functions { modifiers_in, modifiers_out, .. } = self;
        Functions { modifiers_in, modifiers_out, ..*ARRAYS }
    }

    fn columns(self) -> [(&'static str, Value); 8] {
        [
            ("typsubscript", routine(self.subscript)),
            ("typinput", routine(self.input)),
            ("typoutput", routine(self.output)),
            ("typreceive", routine(self.receive)),
            ("typsend", routine(self.send)),
            ("typmodin", routine(self.modifiers_in)),
            ("typmodout", routine(self.modifiers_out)),
            ("typanalyze", routine(self.analyze)),
        ]
    }
}

/// A type and the type of its arrays.
fn types_of(
    rows: &mut Rows,
    (oid, array_oid): (i64, i64),
    name: &str,
    schema: i64,
    data_type: DataType,
    (functions, rest): (Functions, Vec<(&'static str, Value)>),
) {
    let length = length(data_type);
    let base = |oid: i64, name: String, length: i16, class: &str| {
        vec![
            ("oid", Value::BigInt(oid)),
            ("typname", Value::text(name)),
            ("typnamespace", Value::BigInt(schema)),
            ("typowner", owner()),
            ("typlen", Value::SmallInt(length)),
            ("typbyval", yes(length > 0 && is_by_value(data_type))),
            ("typtype", text("b")),
            ("typcategory", text(class)),
            ("typisdefined", yes(true)),
            ("typdelim", text(",")),
            ("typalign", text(if class == "A" && alignment(data_type) != "d" { "i" } else { alignment(data_type) })),
            ("typstorage", text(if class == "A" { "x" } else { storage(data_type) })),
            ("typtypmod", Value::Integer(-1)),
            ("typcollation", Value::BigInt(collation(data_type))),
        ]
    };
    let mut array = base(array_oid, format!("_{name}"), -1, "A");
    array.push(("typelem", Value::BigInt(oid)));
    array.extend(functions.of_arrays().columns());
    rows.put(array);
    let mut row = base(oid, name.to_owned(), length, category(data_type.category()));
    row.push(("typarray", Value::BigInt(array_oid)));
    row.extend(functions.columns());
    row.extend(rest);
    rows.put(row);
}

pub(in crate::system::pg_catalog) fn pg_type(catalog: &Catalog, rows: &mut Rows) {
    for info in &TYPES {
        let mut rest = vec![("typispreferred", yes(info.preferred))];
        let oids = (info.oid.into(), info.array_oid.into());
        if info.base == DataType::Name {
            // A name's letters can be asked for.
            rest.push(("typelem", number(DataType::InternalChar.oid())));
        }
        let rest = (Functions::of(info.oid.into()), rest);
        types_of(rows, oids, info.catalog_name, PG_CATALOG_OID, info.base, rest);
    }
    other_types().for_each(|of| rows.put(other_type(&of)));
    for of in catalog.types() {
        let rest = match (&of.kind, of.domain()) {
            (TypeKind::Composite(_), _) => vec![("typtype", text("c")), ("typrelid", oid(of.id))],
            (TypeKind::Extension(_), _) => vec![],
            (TypeKind::Enum(_), _) | (_, None) => vec![("typtype", text("e"))],
            (_, Some(domain)) => {
                let default = domain.default.as_ref().map(|default| Value::text(catalog.text_of(default)));
                vec![
                    ("typtype", text("d")),
                    ("typbasetype", domain.parent.map_or_else(|| number(domain.base.oid()), oid)),
                    ("typnotnull", yes(domain.not_null)),
                    ("typtypmod", Value::Integer(domain.base.type_modifier())),
                    ("typdefaultbin", maybe(default.clone())),
                    ("typdefault", maybe(default)),
                ]
            }
        };
        let functions = match (&of.kind, of.domain()) {
            (TypeKind::Composite(_), _) => Functions::called("record"),
            (TypeKind::Extension(ExtensionTypeKind::Citext), _) => Functions::called("text"),
            // Its script's own, which are not listed.
            (TypeKind::Extension(ExtensionTypeKind::Hstore), _) => Functions::default(),
            (TypeKind::Enum(_), _) | (_, None) => Functions::called("enum"),
            (_, Some(domain)) => {
                let Functions { output, send, analyze, .. } = base_functions(domain.base);
                Functions { output, send, analyze, ..Functions::called("domain") }
            }
        };
        let oids = (oid_of(of.id), oid_of(of.array_id));
        types_of(rows, oids, &of.name, schema_oid(of.schema), of.data_type, (functions, rest));
    }
    row_types(catalog, rows);
}

/// Those of the rows of tables and views, each of the relation's name and oid.
fn row_types(catalog: &Catalog, rows: &mut Rows) {
    // What such types have in common does not follow from their columns.
    let Ok(any_row) = CompositeType::of(CompositeDefinition { named: None, attributes: Vec::new() }) else { return };
    for (schema, name, relation) in rows.relations(catalog) {
        let id = match relation {
            Relation::Table(table) => table.id,
            Relation::View(view) => view.id,
            Relation::Sequence(_) | Relation::Index(..) => continue,
        };
        let rest = vec![("typtype", text("c")), ("typrelid", oid(id))];
        let oids = (oid_of(id), row_array_oid(id).into());
        let functions = Functions::called("record");
        types_of(rows, oids, name, schema_oid(schema), DataType::Composite(any_row), (functions, rest));
    }
}

/// Those of a type that a domain is over.
fn base_functions(base: DataType) -> Functions {
    match base.element() {
        Some(element) => base_functions(element).of_arrays(),
        None => match base {
            DataType::Enum(_) => Functions::called("enum"),
            DataType::Citext(_) => Functions::called("text"),
            DataType::Hstore(_) => Functions::default(),
            DataType::Composite(_) => Functions::called("record"),
            base => Functions::of(base.oid().into()),
        },
    }
}

/// A type that has no values here, or none that could be told from others', and no arrays.
fn other_type(of: &OtherType) -> Vec<(&'static str, Value)> {
    let mut row = vec![
        ("oid", Value::BigInt(of.oid)),
        ("typname", text(of.name.trim_matches('"'))),
        ("typnamespace", Value::BigInt(PG_CATALOG_OID)),
        ("typowner", owner()),
        ("typtype", text(if of.is_pseudo { "p" } else { "b" })),
        ("typcategory", text("P")),
        ("typisdefined", yes(true)),
        ("typdelim", text(",")),
        ("typtypmod", Value::Integer(-1)),
    ];
    if let Some(fields) = TYPE_LINES.get(&of.oid) {
        row.extend(Functions::of_line(fields).columns());
        if let [element, length, by_value, category, alignment, storage] = fields[9..] {
            row.extend([
                ("typelem", Value::BigInt(element.parse().unwrap_or_default())),
                ("typlen", Value::SmallInt(length.parse().unwrap_or_default())),
                ("typbyval", yes(by_value == "t")),
                ("typcategory", text(category)),
                ("typalign", text(alignment)),
                ("typstorage", text(storage)),
            ]);
        }
    }
    row
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
    for info in TYPES.iter().filter(|info| {
        info.base.is_comparable() && !matches!(info.base, DataType::Varchar(_) | DataType::Reg(_) | DataType::Cidr)
    }) {
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
        let handler = match oid {
            HEAP => "heap_tableam_handler",
            GIN => "ginhandler",
            _ => "bthandler",
        };
        rows.put(vec![
            ("oid", Value::BigInt(oid)),
            ("amname", text(name)),
            ("amhandler", routine(routine_named(handler))),
            ("amtype", text(kind)),
        ]);
    }
}
