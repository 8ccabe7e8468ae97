//! The rows of `pg_catalog`'s relations. A column that a row does not name is 0, false or NULL by its type.

use crate::Value;
use crate::catalog::{
    Catalog, Column, Deferral, Index, ObjectId, ParameterMode, ReferentialAction, Relation, Returns, Routine,
    RoutineKind, Table, Timing, TriggerEvent, TypeKind,
};
use crate::functions::Volatility;
use crate::inverted::ItemClass;
use crate::system::describe::{self, Indexed, in_parentheses, indexes};
use crate::system::reg::{INFORMATION_SCHEMA_OID, OTHER_TYPES, OWNER, OWNER_OID, PG_CATALOG_OID, schema_oid};
use crate::system::{Rows, maybe, oid_of, schema_name, text, type_name, view_columns};
use crate::types::{Array, DataType, Dimension, TYPES, TypeCategory};

use super::oid_of_relation;

const BTREE: i64 = 403;
const GIN: i64 = 2742;
const HEAP: i64 = 2;
const DEFAULT_COLLATION: i64 = 100;

/// From 16384 on, as PostgreSQL's of what users make.
fn oid(id: ObjectId) -> Value {
    Value::BigInt(oid_of(id))
}

fn number(oid: u32) -> Value {
    Value::BigInt(oid.into())
}

fn namespace(id: ObjectId) -> Value {
    Value::BigInt(schema_oid(id))
}

fn owner() -> Value {
    Value::BigInt(OWNER_OID)
}

fn class(name: &str) -> Value {
    Value::BigInt(oid_of_relation(name).unwrap_or(0))
}

fn small(number: usize) -> Value {
    Value::SmallInt(i16::try_from(number).unwrap_or(i16::MAX))
}

fn yes(is: bool) -> Value {
    Value::Boolean(is)
}

fn array(element: DataType, values: Vec<Value>) -> Value {
    Value::from(Array::new(element, values))
}

fn texts(values: impl Iterator<Item = String>) -> Value {
    array(DataType::Text, values.map(Value::text).collect())
}

fn big_ints(values: impl Iterator<Item = i64>) -> Value {
    array(DataType::BigInt, values.map(Value::BigInt).collect())
}

fn small_ints(values: impl Iterator<Item = i16>) -> Value {
    array(DataType::SmallInt, values.map(Value::SmallInt).collect())
}

/// As PostgreSQL's `int2vector` and `oidvector`: the first is element 0.
fn vector(element: DataType, values: Vec<Value>) -> Value {
    let dimension = Dimension { lower: 0, length: values.len() };
    let made = match values.is_empty() {
        true => Ok(Array::empty(element)),
        false => Array::with_dimensions(element, &[dimension], values),
    };
    maybe(made.ok())
}

pub(super) fn pg_namespace(catalog: &Catalog, rows: &mut Rows) {
    let system = [(PG_CATALOG_OID, "pg_catalog"), (INFORMATION_SCHEMA_OID, "information_schema")];
    let all = system.into_iter().chain(catalog.schemas().map(|(name, id)| (schema_oid(id), name)));
    for (oid, name) in all {
        rows.put(vec![("oid", Value::BigInt(oid)), ("nspname", text(name)), ("nspowner", owner())]);
    }
}

pub(super) fn pg_class(catalog: &Catalog, rows: &mut Rows) {
    for (_, schema) in catalog.schemas() {
        for (name, relation) in catalog.relations_in(schema) {
            let (id, kind, columns, method) = match relation {
                Relation::Table(table) => (table.id, "r", table.columns.len(), HEAP),
                Relation::View(view) => (view.id, "v", view.columns.len(), 0),
                Relation::Sequence(sequence) => (sequence.id, "S", 3, 0),
                Relation::Index(_, index) => {
                    let method = if index.is_inverted() { GIN } else { BTREE };
                    (index.id, "i", index.columns.len() + index.included.len(), method)
                }
                Relation::PrimaryKey(table) => {
                    let columns = table.primary_key.len() + table.primary_key_included.len();
                    (table.primary_key_id, "i", columns, BTREE)
                }
            };
            let table = relation.table();
            let counted = table.and_then(|table| table.statistics.as_ref()).map_or(-1.0, |found| found.rows as f32);
            let triggers = |table: &Table| {
                !table.triggers.is_empty() || !table.foreign_keys.is_empty() || !table.referenced_by.is_empty()
            };
            rows.put(vec![
                ("oid", oid(id)),
                ("relname", text(name)),
                ("relnamespace", namespace(schema)),
                ("relowner", owner()),
                ("relam", Value::BigInt(method)),
                ("relfilenode", if kind == "v" { Value::BigInt(0) } else { oid(id) }),
                ("reltuples", Value::Real(if kind == "r" { counted } else { 0.0 })),
                ("relhasindex", yes(table.is_some_and(|table| indexes(table).next().is_some()))),
                ("relpersistence", text(if schema.is_temporary() { "t" } else { "p" })),
                ("relkind", text(kind)),
                ("relnatts", small(columns)),
                ("relchecks", small(table.map_or(0, |table| table.checks.len()))),
                ("relhasrules", yes(kind == "v")),
                ("relhastriggers", yes(table.is_some_and(|table| triggers(table)))),
                ("relispopulated", yes(true)),
                ("relreplident", text(if kind == "r" { "d" } else { "n" })),
            ]);
        }
    }
}

/// PostgreSQL's `typmod`.
fn modifier(data_type: DataType) -> Value {
    Value::Integer(match data_type.element().unwrap_or(data_type) {
        DataType::Varchar(Some(length)) => i32::try_from(length).unwrap_or(-1) + 4,
        DataType::Char(length @ 1..) => i32::try_from(length).unwrap_or(-1) + 4,
        DataType::Numeric(Some((precision, scale))) => (i32::from(precision) << 16 | i32::from(scale) & 0x7ff) + 4,
        DataType::Time(Some(digits)) | DataType::Timestamp(Some(digits)) | DataType::TimestampTz(Some(digits)) => {
            digits.into()
        }
        DataType::Interval(Some(limit)) => limit.modifier(),
        _ => -1,
    })
}

/// Bytes of a value; -1: that depends on the value.
fn length(data_type: DataType) -> i16 {
    match data_type {
        DataType::Enum(_) => 4,
        data_type if data_type.is_array() => -1,
        data_type => data_type.info().width.and_then(|width| i16::try_from(width).ok()).unwrap_or(-1),
    }
}

fn storage(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Numeric(_) => "m",
        data_type if length(data_type) < 0 => "x",
        _ => "p",
    }
}

fn collation(data_type: DataType) -> i64 {
    if data_type.element().unwrap_or(data_type).is_string() { DEFAULT_COLLATION } else { 0 }
}

fn attribute(of: Value, name: &str, data_type: DataType, at: usize) -> Vec<(&'static str, Value)> {
    let length = length(data_type);
    vec![
        ("attrelid", of),
        ("attname", text(name)),
        ("atttypid", number(data_type.oid())),
        ("attstattarget", Value::Integer(-1)),
        ("attlen", Value::SmallInt(length)),
        ("attnum", small(at)),
        ("attndims", Value::Integer(data_type.is_array().into())),
        ("attcacheoff", Value::Integer(-1)),
        ("atttypmod", modifier(data_type)),
        ("attbyval", yes((1..=8).contains(&length))),
        ("attalign", text(if length == 8 { "d" } else { "i" })),
        ("attstorage", text(storage(data_type))),
        ("attcompression", text("")),
        ("attidentity", text("")),
        ("attgenerated", text("")),
        ("attislocal", yes(true)),
        ("attcollation", Value::BigInt(collation(data_type))),
    ]
}

/// What a column of a domain has in place of the base type's.
fn of_domain(domain: ObjectId) -> [(&'static str, Value); 2] {
    [("atttypid", oid(domain)), ("atttypmod", Value::Integer(-1))]
}

fn has_default(column: &Column) -> bool {
    column.default.is_some() || column.generated.is_some()
}

pub(super) fn pg_attribute(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        for column in &table.columns {
            let identity = column.identity.map_or("", |identity| if identity.always { "a" } else { "d" });
            let mut row = attribute(oid(table.id), &column.name, column.data_type, column.number as usize);
            row.extend([
                ("attnotnull", yes(column.not_null)),
                ("atthasdef", yes(has_default(column))),
                ("attidentity", text(identity)),
                ("attgenerated", text(if column.generated.is_some() { "s" } else { "" })),
            ]);
            row.extend(column.domain.into_iter().flat_map(of_domain));
            rows.put(row);
        }
        for index in indexes(table) {
            let parts = index.columns.iter().chain(index.included(table));
            for (at, &part) in (1..).zip(parts) {
                let column = table.columns.get(part);
                let (name, data_type) = match column {
                    Some(column) => (column.name.clone(), column.data_type),
                    None => (expression_name(at), expression_type(index.secondary, part)),
                };
                let mut row = attribute(oid(index.id), &name, data_type, at);
                row.extend(column.and_then(|column| column.domain).into_iter().flat_map(of_domain));
                rows.put(row);
            }
        }
    }
    for view in catalog.views() {
        for (at, field) in (1..).zip(view_columns(catalog, view, rows)) {
            rows.put(attribute(oid(view.id), &field.name, field.data_type, at));
        }
    }
    let of_sequence =
        [("last_value", DataType::BigInt), ("log_cnt", DataType::BigInt), ("is_called", DataType::Boolean)];
    for sequence in catalog.sequences() {
        for (at, (name, data_type)) in (1..).zip(of_sequence) {
            let mut row = attribute(oid(sequence.id), name, data_type, at);
            row.push(("attnotnull", yes(true)));
            rows.put(row);
        }
    }
}

fn expression_name(at: usize) -> String {
    if at == 1 { "expr".to_owned() } else { format!("expr{}", at - 1) }
}

fn expression_type(index: Option<&Index>, part: usize) -> DataType {
    let found = index.and_then(|index| index.expressions.iter().find(|expression| expression.column == part));
    found.map_or(DataType::Text, |expression| expression.data_type)
}

/// The oid of a column's default: one of its own beside those of objects.
fn default_oid(table: ObjectId, column: &Column) -> i64 {
    (oid_of(table) << 12) + i64::from(column.number)
}

pub(super) fn pg_attrdef(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        for column in table.columns.iter().filter(|column| has_default(column)) {
            let generated = column.generated.as_ref().map(|of| in_parentheses(&of.definition.text));
            let said = generated.or_else(|| describe::default(catalog, column));
            rows.put(vec![
                ("oid", Value::BigInt(default_oid(table.id, column))),
                ("adrelid", oid(table.id)),
                ("adnum", small(column.number as usize)),
                ("adbin", maybe(said.map(Value::text))),
            ]);
        }
    }
}

fn category(category: TypeCategory) -> &'static str {
    match category {
        TypeCategory::Boolean => "B",
        TypeCategory::Numeric => "N",
        TypeCategory::String => "S",
        TypeCategory::DateTime => "D",
        TypeCategory::Timespan => "T",
        TypeCategory::User => "U",
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
            ("typalign", text(if length == 8 { "d" } else { "i" })),
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

pub(super) fn pg_type(catalog: &Catalog, rows: &mut Rows) {
    for info in &TYPES {
        let rest = vec![("typispreferred", yes(info.preferred))];
        let oids = (info.oid.into(), info.array_oid.into());
        types_of(rows, oids, &type_name(info.base), PG_CATALOG_OID, info.base, rest);
    }
    for (oid, name) in OTHER_TYPES {
        rows.put(vec![
            ("oid", Value::BigInt(*oid)),
            ("typname", text(name.trim_matches('"'))),
            ("typnamespace", Value::BigInt(PG_CATALOG_OID)),
            ("typowner", owner()),
            ("typtype", text(if matches!(*oid, 2249 | 2278 | 2279) { "p" } else { "b" })),
            ("typcategory", text(if matches!(*oid, 2249 | 2278 | 2279) { "P" } else { "Z" })),
            ("typisdefined", yes(true)),
            ("typdelim", text(",")),
            ("typtypmod", Value::Integer(-1)),
        ]);
    }
    for of in catalog.types() {
        let rest = match (&of.kind, of.domain()) {
            (TypeKind::Composite(_), _) => vec![("typtype", text("c"))],
            (TypeKind::Enum(_), _) | (_, None) => vec![("typtype", text("e"))],
            (_, Some(domain)) => vec![
                ("typtype", text("d")),
                ("typbasetype", domain.parent.map_or_else(|| number(domain.base.oid()), oid)),
                ("typnotnull", yes(domain.not_null)),
                ("typtypmod", modifier(domain.base)),
                ("typdefault", maybe(domain.default.as_ref().map(|default| Value::text(catalog.text_of(default))))),
            ],
        };
        let oids = (oid_of(of.id), oid_of(of.array_id));
        types_of(rows, oids, &of.name, schema_oid(of.schema), of.data_type, rest);
    }
}

pub(super) fn pg_enum(catalog: &Catalog, rows: &mut Rows) {
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

fn numbers(table: &Table, columns: &[usize]) -> Vec<i16> {
    let number = |&column: &usize| i16::try_from(table.columns.get(column)?.number).ok();
    columns.iter().filter_map(number).collect()
}

/// The type of a part of an index's key.
fn part_type(table: &Table, index: &Indexed, part: usize) -> DataType {
    table.columns.get(part).map_or_else(|| expression_type(index.secondary, part), |column| column.data_type)
}

/// Each type has one class of operators for its order.
fn operator_class(data_type: DataType) -> i64 {
    let of = match data_type {
        DataType::Enum(_) => 3500,
        data_type if data_type.is_array() => 2277,
        DataType::Varchar(_) => DataType::Text.oid(),
        data_type => data_type.oid(),
    };
    10_000 + i64::from(of)
}

/// An inverted index's.
fn item_class(class: ItemClass) -> i64 {
    20_000 + class.code() as i64
}

pub(super) fn pg_opclass(_: &Catalog, rows: &mut Rows) {
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
    for info in TYPES.iter().filter(|info| info.base.is_comparable() && !matches!(info.base, DataType::Varchar(_))) {
        add(type_name(info.base), info.oid);
    }
    add("enum".to_owned(), 3500);
    add("array".to_owned(), 2277);
}

pub(super) fn pg_index(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        for index in indexes(table) {
            let included = index.included(table);
            // An expression is column 0.
            let number = |&part: &usize| table.columns.get(part).map_or(0, |column| column.number as i16);
            let keys = index.columns.iter().chain(included).map(|part| Value::SmallInt(number(part))).collect();
            let key_types = || index.columns.iter().map(|part| part_type(table, &index, *part));
            let collations = key_types().map(|of| Value::BigInt(collation(of))).collect();
            let inverted = index.secondary.and_then(|index| index.inverted.as_ref());
            let classes = match inverted {
                Some(inverted) => inverted.classes.iter().map(|class| Value::BigInt(item_class(*class))).collect(),
                None => key_types().map(|of| Value::BigInt(operator_class(of))).collect(),
            };
            let directions = index.secondary.map(|index| {
                let bits = |descending: bool, nulls_first: bool| i16::from(descending) | i16::from(nulls_first) << 1;
                index.columns.iter().map(|part| bits(part.descending, part.nulls_first)).collect::<Vec<_>>()
            });
            let directions = directions.unwrap_or_else(|| vec![0; index.columns.len()]);
            let secondary = index.secondary;
            let expressions: Vec<&str> = secondary
                .into_iter()
                .flat_map(|index| &index.expressions)
                .map(|key| key.expression.definition.text.as_str())
                .collect();
            let predicate = secondary.and_then(|index| index.predicate.as_ref());
            rows.put(vec![
                ("indexrelid", oid(index.id)),
                ("indrelid", oid(table.id)),
                ("indnatts", small(index.columns.len() + included.len())),
                ("indnkeyatts", small(index.columns.len())),
                ("indisunique", yes(index.unique)),
                ("indnullsnotdistinct", yes(secondary.is_some_and(|index| index.nulls_equal))),
                ("indisprimary", yes(secondary.is_none())),
                ("indimmediate", yes(true)),
                ("indisvalid", yes(true)),
                ("indisready", yes(true)),
                ("indislive", yes(true)),
                ("indkey", vector(DataType::SmallInt, keys)),
                ("indcollation", vector(DataType::BigInt, collations)),
                ("indclass", vector(DataType::BigInt, classes)),
                ("indoption", vector(DataType::SmallInt, directions.into_iter().map(Value::SmallInt).collect())),
                ("indexprs", maybe((!expressions.is_empty()).then(|| Value::text(expressions.join(", "))))),
                ("indpred", maybe(predicate.map(|of| Value::text(in_parentheses(&of.definition.text))))),
            ]);
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

/// What all constraints have.
fn constraint(id: ObjectId, name: &str, schema: ObjectId, kind: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("oid", oid(id)),
        ("conname", text(name)),
        ("connamespace", namespace(schema)),
        ("contype", text(kind)),
        ("convalidated", yes(true)),
        ("confupdtype", text(" ")),
        ("confdeltype", text(" ")),
        ("confmatchtype", text(" ")),
        ("conislocal", yes(true)),
        ("connoinherit", yes(kind != "c")),
    ]
}

pub(super) fn pg_constraint(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        for index in indexes(table).filter(Indexed::is_constraint) {
            let mut row =
                constraint(index.id, index.name, table.schema, if index.secondary.is_some() { "u" } else { "p" });
            row.extend([
                ("conrelid", oid(table.id)),
                ("conindid", oid(index.id)),
                ("conkey", small_ints(numbers(table, &index.columns).into_iter())),
            ]);
            rows.put(row);
        }
        for check in &table.checks {
            let used: Vec<i16> = check.columns.iter().filter_map(|number| i16::try_from(*number).ok()).collect();
            let mut row = constraint(check.id, &check.name, table.schema, "c");
            row.extend([
                ("conrelid", oid(table.id)),
                ("convalidated", yes(check.valid)),
                ("conbin", Value::text(in_parentheses(&catalog.text_of(&check.condition)))),
            ]);
            row.extend((!used.is_empty()).then(|| ("conkey", small_ints(used.into_iter()))));
            rows.put(row);
        }
        for key in &table.foreign_keys {
            let parent = catalog.table_by_id(key.referenced_table);
            let unique = parent.and_then(|parent| {
                let same = |index: &Indexed| {
                    index.unique
                        && index.columns.len() == key.referenced_columns.len()
                        && index.columns.iter().all(|column| key.referenced_columns.contains(column))
                };
                indexes(parent).find(same)
            });
            let referred = parent.map(|parent| numbers(parent, &key.referenced_columns)).unwrap_or_default();
            let mut row = constraint(key.id, &key.name, table.schema, "f");
            row.extend([
                ("condeferrable", yes(key.deferral != Deferral::Never)),
                ("condeferred", yes(key.deferral == Deferral::Deferred)),
                ("convalidated", yes(key.valid)),
                ("conrelid", oid(table.id)),
                ("conindid", Value::BigInt(unique.map_or(0, |index| oid_of(index.id)))),
                ("confrelid", oid(key.referenced_table)),
                ("confupdtype", text(action(key.on_update))),
                ("confdeltype", text(action(key.on_delete))),
                ("confmatchtype", text("s")),
                ("conkey", small_ints(numbers(table, &key.columns).into_iter())),
                ("confkey", small_ints(referred.into_iter())),
            ]);
            rows.put(row);
        }
    }
    for of in catalog.types() {
        for check in of.domain().into_iter().flat_map(|domain| &domain.checks) {
            let mut row = constraint(check.id, &check.name, of.schema, "c");
            row.extend([
                ("contypid", oid(of.id)),
                ("convalidated", yes(check.valid)),
                ("connoinherit", yes(false)),
                ("conbin", Value::text(in_parentheses(&catalog.text_of(&check.condition)))),
            ]);
            rows.put(row);
        }
    }
}

pub(super) fn pg_description(catalog: &Catalog, rows: &mut Rows) {
    for on in catalog.commented().filter(|on| on.id != crate::catalog::Commentable::DATABASE.id) {
        let is_type = catalog.types().any(|of| of.id == on.id);
        let is_constraint = || {
            let of = |table: &std::sync::Arc<Table>| {
                table.checks.iter().any(|check| check.id == on.id)
                    || table.foreign_keys.iter().any(|key| key.id == on.id)
            };
            catalog.tables().any(of)
        };
        let what = match on.id {
            _ if is_type => "pg_type",
            id if catalog.schemas().any(|(_, schema)| schema == id) => "pg_namespace",
            id if catalog.routine_by_id(id).is_some() => "pg_proc",
            _ if is_constraint() => "pg_constraint",
            id if catalog.tables().any(|table| table.triggers.iter().any(|of| of.id == id)) => "pg_trigger",
            _ => "pg_class",
        };
        let of_schema = what == "pg_namespace" && on.id == ObjectId::PUBLIC;
        rows.put(vec![
            ("objoid", if of_schema { namespace(on.id) } else { oid(on.id) }),
            ("classoid", class(what)),
            ("objsubid", Value::Integer(i32::try_from(on.part).unwrap_or(i32::MAX))),
            ("description", maybe(catalog.comment(*on).map(text))),
        ]);
    }
}

pub(super) fn pg_shdescription(catalog: &Catalog, rows: &mut Rows) {
    if let Some(comment) = catalog.comment(crate::catalog::Commentable::DATABASE) {
        let of = class("pg_database");
        rows.put(vec![("objoid", Value::BigInt(1)), ("classoid", of), ("description", text(comment))]);
    }
}

fn language_oid(of: &Routine) -> i64 {
    if describe::language(of) == "sql" { 14 } else { 13_533 }
}

pub(super) fn pg_language(_: &Catalog, rows: &mut Rows) {
    for (oid, name, user) in [(12, "internal", false), (14, "sql", false), (13_533, "plpgsql", true)] {
        rows.put(vec![
            ("oid", Value::BigInt(oid)),
            ("lanname", text(name)),
            ("lanowner", owner()),
            ("lanispl", yes(user)),
            ("lanpltrusted", yes(name != "internal")),
        ]);
    }
}

pub(super) fn pg_proc(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.routines().filter_map(|function| function.routine()) {
        let outs = of.parameters.iter().any(|parameter| parameter.mode != ParameterMode::In);
        let named = of.parameters.iter().any(|parameter| parameter.name.is_some());
        let mode = |mode: ParameterMode| match mode {
            ParameterMode::In => "i",
            ParameterMode::Out => "o",
            ParameterMode::InOut => "b",
            ParameterMode::Variadic => "v",
            ParameterMode::Table => "t",
        };
        let returns = match of.returns {
            Returns::Void => 2278,
            Returns::Trigger => 2279,
            Returns::Type(data_type) => data_type.oid().into(),
            Returns::Row | Returns::RowOf(_) => 2249,
        };
        let inputs = of.inputs().map(|input| Value::BigInt(input.data_type.oid().into())).collect();
        let last = of.parameters.iter().find(|parameter| parameter.mode == ParameterMode::Variadic);
        let element = last.and_then(|last| last.data_type.element()).map_or(0, DataType::oid);
        let mut row = vec![
            ("oid", oid(of.id)),
            ("proname", text(&of.name)),
            ("pronamespace", namespace(of.schema)),
            ("proowner", owner()),
            ("prolang", Value::BigInt(language_oid(of))),
            ("procost", Value::Real(100.0)),
            ("prorows", Value::Real(if of.set { 1000.0 } else { 0.0 })),
            ("provariadic", number(element)),
            ("prosupport", text("-")),
            ("prokind", text(if of.kind == RoutineKind::Procedure { "p" } else { "f" })),
            ("proisstrict", yes(of.strict)),
            ("proretset", yes(of.set)),
            (
                "provolatile",
                text(match of.volatility {
                    Volatility::Immutable => "i",
                    Volatility::Stable => "s",
                    Volatility::Volatile => "v",
                }),
            ),
            ("proparallel", text("u")),
            ("pronargs", small(of.inputs().count())),
            ("pronargdefaults", small(of.inputs().filter(|input| input.default.is_some()).count())),
            ("prorettype", Value::BigInt(returns)),
            ("proargtypes", vector(DataType::BigInt, inputs)),
            ("prosrc", text(&of.body)),
        ];
        if outs {
            row.push(("proallargtypes", big_ints(of.parameters.iter().map(|of| of.data_type.oid().into()))));
            row.push(("proargmodes", texts(of.parameters.iter().map(|of| mode(of.mode).to_owned()))));
        }
        if named {
            row.push(("proargnames", texts(of.parameters.iter().map(|of| of.name.clone().unwrap_or_default()))));
        }
        rows.put(row);
    }
}

pub(super) fn pg_trigger(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        for of in &table.triggers {
            let event = |event: &TriggerEvent| match event {
                TriggerEvent::Insert => 4,
                TriggerEvent::Delete => 8,
                TriggerEvent::Update => 16,
                TriggerEvent::Truncate => 32,
            };
            let timing = match of.timing {
                Timing::Before => 2,
                Timing::After => 0,
                Timing::InsteadOf => 64,
            };
            let bits = of.events.iter().map(event).sum::<i16>() | i16::from(of.per_row) | timing;
            let columns = of.columns.iter().map(|number| Value::SmallInt(*number as i16)).collect();
            rows.put(vec![
                ("oid", oid(of.id)),
                ("tgrelid", oid(table.id)),
                ("tgname", text(&of.name)),
                ("tgfoid", oid(of.routine)),
                ("tgtype", Value::SmallInt(bits)),
                ("tgenabled", text(of.enabled.code())),
                ("tgdeferrable", yes(of.deferral.is_some_and(|deferral| deferral != Deferral::Never))),
                ("tginitdeferred", yes(of.deferral == Some(Deferral::Deferred))),
                ("tgoldtable", maybe(of.old_table.as_deref().map(text))),
                ("tgnewtable", maybe(of.new_table.as_deref().map(text))),
                ("tgnargs", small(of.args.len())),
                ("tgattr", vector(DataType::SmallInt, columns)),
                ("tgqual", maybe(of.when.as_deref().map(text))),
            ]);
        }
    }
}

pub(super) fn pg_sequence(catalog: &Catalog, rows: &mut Rows) {
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

/// Which relation an object's row is in, its oid, and the part of it.
type Place = (&'static str, i64, u32);

fn depends(rows: &mut Rows, on: [Place; 2], how: &str) {
    let [(class_of, object, part), (class_of_other, other, part_of_other)] = on;
    rows.put(vec![
        ("classid", class(class_of)),
        ("objid", Value::BigInt(object)),
        ("objsubid", Value::Integer(part.cast_signed())),
        ("refclassid", class(class_of_other)),
        ("refobjid", Value::BigInt(other)),
        ("refobjsubid", Value::Integer(part_of_other.cast_signed())),
        ("deptype", text(how)),
    ]);
}

pub(super) fn pg_depend(catalog: &Catalog, rows: &mut Rows) {
    for sequence in catalog.sequences() {
        let identity = catalog.tables().find_map(|table| {
            let is = |column: &&Column| column.identity.is_some_and(|identity| identity.sequence == sequence.id);
            Some((table, table.columns.iter().find(is)?))
        });
        let owner = sequence.owner.and_then(|(table, position)| {
            let table = catalog.table_by_id(table)?;
            Some((table, table.columns.get(position)?))
        });
        let found = identity.map(|found| (found, "i")).or(owner.map(|found| (found, "a")));
        if let Some(((table, column), how)) = found {
            let itself = ("pg_class", oid_of(sequence.id), 0);
            depends(rows, [itself, ("pg_class", oid_of(table.id), column.number)], how);
        }
    }
    for table in catalog.tables() {
        for index in indexes(table) {
            let itself = ("pg_class", oid_of(index.id), 0);
            if index.is_constraint() {
                depends(rows, [itself, ("pg_constraint", oid_of(index.id), 0)], "i");
            }
            for number in numbers(table, &index.columns) {
                let column = ("pg_class", oid_of(table.id), number.unsigned_abs().into());
                let of = if index.is_constraint() { ("pg_constraint", oid_of(index.id), 0) } else { itself };
                depends(rows, [of, column], "a");
            }
        }
        for column in table.columns.iter().filter(|column| has_default(column)) {
            let itself = ("pg_attrdef", default_oid(table.id, column), 0);
            depends(rows, [itself, ("pg_class", oid_of(table.id), column.number)], "a");
            for reference in column.default.iter().flat_map(|default| default.references()) {
                depends(rows, [itself, ("pg_class", oid_of(reference.object), 0)], "n");
            }
        }
    }
    for view in catalog.views() {
        let rule = ("pg_rewrite", oid_of(view.id), 0);
        depends(rows, [rule, ("pg_class", oid_of(view.id), 0)], "i");
        for reference in view.query.references() {
            for column in reference.columns.iter().filter(|column| column.used) {
                depends(rows, [rule, ("pg_class", oid_of(reference.object), column.number)], "n");
            }
        }
    }
}

pub(super) fn pg_rewrite(catalog: &Catalog, rows: &mut Rows) {
    for view in catalog.views() {
        rows.put(vec![
            ("oid", oid(view.id)),
            ("rulename", text("_RETURN")),
            ("ev_class", oid(view.id)),
            ("ev_type", text("1")),
            ("ev_enabled", text("O")),
            ("is_instead", yes(true)),
        ]);
    }
}

pub(super) fn pg_am(_: &Catalog, rows: &mut Rows) {
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

pub(super) fn pg_collation(_: &Catalog, rows: &mut Rows) {
    for (oid, name, provider) in [(DEFAULT_COLLATION, "default", "d"), (950, "C", "c"), (951, "POSIX", "c")] {
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

pub(super) fn pg_database(_: &Catalog, rows: &mut Rows) {
    rows.put(vec![
        ("oid", Value::BigInt(1)),
        ("datname", text(OWNER)),
        ("datdba", owner()),
        ("encoding", Value::Integer(6)),
        ("datlocprovider", text("c")),
        ("datallowconn", yes(true)),
        ("datconnlimit", Value::Integer(-1)),
        ("dattablespace", Value::BigInt(1663)),
        ("datcollate", text("C")),
        ("datctype", text("C")),
    ]);
}

pub(super) fn pg_tablespace(_: &Catalog, rows: &mut Rows) {
    for (oid, name) in [(1663, "pg_default"), (1664, "pg_global")] {
        rows.put(vec![("oid", Value::BigInt(oid)), ("spcname", text(name)), ("spcowner", owner())]);
    }
}

pub(super) fn pg_extension(_: &Catalog, rows: &mut Rows) {
    rows.put(vec![
        ("oid", Value::BigInt(13_532)),
        ("extname", text("plpgsql")),
        ("extowner", owner()),
        ("extnamespace", Value::BigInt(PG_CATALOG_OID)),
        ("extversion", text("1.0")),
    ]);
}

pub(super) fn pg_roles(_: &Catalog, rows: &mut Rows) {
    let all =
        ["rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin", "rolreplication", "rolbypassrls"];
    let mut row: Vec<(&str, Value)> = all.into_iter().map(|may| (may, yes(true))).collect();
    row.extend([("rolname", text(OWNER)), ("rolconnlimit", Value::Integer(-1)), ("rolpassword", text("********"))]);
    row.push(("oid", owner()));
    rows.put(row);
}

pub(super) fn pg_user(_: &Catalog, rows: &mut Rows) {
    let all = ["usecreatedb", "usesuper", "userepl", "usebypassrls"];
    let mut row: Vec<(&str, Value)> = all.into_iter().map(|may| (may, yes(true))).collect();
    row.extend([("usename", text(OWNER)), ("usesysid", owner()), ("passwd", text("********"))]);
    rows.put(row);
}

pub(super) fn pg_settings(_: &Catalog, rows: &mut Rows) {
    for (name, setting) in crate::api::FIXED_SETTINGS {
        rows.put(vec![
            ("name", text(name)),
            ("setting", text(setting)),
            ("category", text("Preset Options")),
            ("short_desc", text("")),
            ("context", text("internal")),
            ("vartype", text("string")),
            ("source", text("default")),
            ("boot_val", text(setting)),
            ("reset_val", text(setting)),
        ]);
    }
}

pub(super) fn pg_tables(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        rows.put(vec![
            ("schemaname", schema_name(catalog, table.schema)),
            ("tablename", text(&table.name)),
            ("tableowner", text(OWNER)),
            ("hasindexes", yes(indexes(table).next().is_some())),
            ("hastriggers", yes(!table.triggers.is_empty() || !table.foreign_keys.is_empty())),
        ]);
    }
}

pub(super) fn pg_views(catalog: &Catalog, rows: &mut Rows) {
    for view in catalog.views() {
        rows.put(vec![
            ("schemaname", schema_name(catalog, view.schema)),
            ("viewname", text(&view.name)),
            ("viewowner", text(OWNER)),
            ("definition", Value::text(catalog.text_of(&view.query))),
        ]);
    }
}

pub(super) fn pg_indexes(catalog: &Catalog, rows: &mut Rows) {
    for table in catalog.tables() {
        for index in indexes(table) {
            rows.put(vec![
                ("schemaname", schema_name(catalog, table.schema)),
                ("tablename", text(&table.name)),
                ("indexname", text(index.name)),
                ("indexdef", Value::text(describe::index(catalog, table, &index, false))),
            ]);
        }
    }
}

pub(super) fn pg_sequences(catalog: &Catalog, rows: &mut Rows) {
    for of in catalog.sequences() {
        rows.put(vec![
            ("schemaname", schema_name(catalog, of.schema)),
            ("sequencename", text(&of.name)),
            ("sequenceowner", text(OWNER)),
            ("data_type", text(of.data_type.type_name())),
            ("start_value", Value::BigInt(of.start)),
            ("min_value", Value::BigInt(of.min)),
            ("max_value", Value::BigInt(of.max)),
            ("increment_by", Value::BigInt(of.increment)),
            ("cycle", yes(of.cycle)),
            ("cache_size", Value::BigInt(1)),
        ]);
    }
}
