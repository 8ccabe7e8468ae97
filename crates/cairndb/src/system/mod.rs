//! System relations: `information_schema` and `pg_catalog`, as far as they are there.
//!
//! Their rows are made from the catalog when a statement that names one runs (`relation`), in a scan that can ask for those of one
//! object; the statement's plan rests on all of the schema (`Dependency::Everything`). They have PostgreSQL's names and columns, and but for
//! what is no type here: a tree of nodes is text, a `xid` a bigint. An object's oid is its id, which stays for the life of the database,
//! from 16384 on. Functions that ask the catalog (`functions`), and `regclass` and its kin (`reg`), are bound with the same catalog.

mod asked;
mod deparsed;
mod describe;
mod entries;
mod functions;
mod information_schema;
mod listed;
mod pg_catalog;
mod reg;
mod relation;
mod served;
mod views;

use describe::Telling;

use crate::catalog::{Catalog, Index, ObjectId, ObjectName, TEMPORARY, Table};
use crate::inverted::ItemClass;
use crate::types::DataType;
use crate::{Error, SqlState, Value};
use std::borrow::Borrow;

pub(crate) use asked::Answers;
pub(crate) use deparsed::{
    DefinitionStyle, ExpressionOver, is_function_cast, operator_signatures, relation_text, routine_signatures,
    type_text,
};
pub(crate) use entries::{SystemEntry, all_entries, entries};
pub(crate) use functions::Takes;
pub(crate) use pg_catalog::{callee, callees};
pub(crate) use relation::{Made, Rows, SystemRelation};
pub(crate) use views::BoundViews;

/// The relation that a name means, if it is one of these. Without a schema `pg_catalog` is looked at first, behind the
/// session's temporary relations, unless the search path says when.
pub(crate) fn named(name: &ObjectName, catalog: &Catalog) -> Option<&'static SystemRelation> {
    let found = relation(name.schema.as_deref(), &name.name)?;
    let path = &catalog.path().schemas;
    let before = path.iter().position(|schema| schema == "pg_catalog").unwrap_or(0);
    let hides = |schema: &str| catalog.schema(schema).is_some_and(|id| catalog.relation_in(id, &name.name).is_some());
    let is_hidden = name.schema.is_none()
        && (path[..before].iter().any(|schema| hides(schema))
            || !path.iter().any(|schema| schema == TEMPORARY) && hides(TEMPORARY));
    (!is_hidden).then_some(found)
}

/// Whether the name of a schema is one of the system's.
pub(crate) fn is_schema(name: &str) -> bool {
    matches!(name, "pg_catalog" | "information_schema")
}

/// SQLSTATE 42501: nobody changes what the system makes.
pub(crate) fn permission_denied(name: &ObjectName) -> Error {
    let message = format!("permission denied: \"{}\" is a system catalog", name.name);
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}

fn relation(schema: Option<&str>, name: &str) -> Option<&'static SystemRelation> {
    match schema {
        // (Whose names begin so are looked for in no schema that is not said.)
        None if !name.starts_with("pg_") => None,
        schema => listed::relation(schema.unwrap_or("pg_catalog"), name),
    }
}

fn text(text: &str) -> Value {
    Value::text(text)
}

fn maybe(value: Option<impl Into<Value>>) -> Value {
    value.map_or(Value::Null, Into::into)
}

fn yes_or_no(yes: bool) -> Value {
    text(if yes { "YES" } else { "NO" })
}

fn schema_name(catalog: &Catalog, id: ObjectId) -> Value {
    text(catalog.schema_name(id).unwrap_or_default())
}

fn names(table: &Table, columns: impl IntoIterator<Item = impl Borrow<usize>>) -> Vec<String> {
    let name = |column: usize| match table.columns.get(column) {
        Some(column) => cairn_parser::token::quoted(&column.name),
        // What is no call stands in parentheses of its own.
        None => match table.key_name(column) {
            name if name.starts_with('(') => format!("({name})"),
            name => name,
        },
    };
    columns.into_iter().map(|column| name(*column.borrow())).collect()
}

/// The columns and expressions of an index's key.
fn key_columns(told: Telling<'_>, table: &Table, of: &Index) -> Vec<String> {
    let key = |part: usize| {
        let expression = of.expressions.iter().find(|expression| expression.column == part);
        match expression.filter(|_| table.columns.get(part).is_none()) {
            Some(key) => told.key(&key.expression.definition.text, table),
            None => names(table, [part]).concat(),
        }
    };
    of.positions().map(|part| key(*part.borrow())).collect()
}

/// The columns of an index as CREATE INDEX says them.
fn index_columns(told: Telling<'_>, table: &Table, of: &Index) -> Vec<String> {
    let mut columns = key_columns(told, table, of);
    if let Some(inverted) = &of.inverted {
        for ((column, class), part) in columns.iter_mut().zip(&inverted.classes).zip(of.positions()) {
            if table.key_type(part).and_then(ItemClass::default_of) != Some(*class) {
                column.extend([" ", class.name()]);
            }
        }
        return columns;
    }
    for (column, part) in columns.iter_mut().zip(&of.columns) {
        column.push_str(match (part.descending, part.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        });
    }
    columns
}

/// The schema that a type is in.
pub(crate) fn type_schema(data_type: DataType) -> &'static str {
    match data_type.element().unwrap_or(data_type) {
        DataType::Citext(of) | DataType::Hstore(of) => &of.definition().schema,
        DataType::Enum(of) => &of.definition().schema,
        DataType::Composite(of) => of.definition().named.as_ref().map_or("pg_catalog", |named| &named.schema),
        _ => "pg_catalog",
    }
}

/// An object's oid.
pub(crate) fn oid_of(id: ObjectId) -> i64 {
    i64::from(id.0) + 16384
}
