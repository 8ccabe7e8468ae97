//! The rows of `pg_catalog`'s relations. A column that a row does not name is 0, false or NULL by its type.

mod constraints;
mod operators;
mod relations;
mod routines;
mod types;
mod whole;

use crate::Value;
use crate::catalog::{Column, ObjectId, Table};
use crate::inverted::ItemClass;
use crate::system::oid_of;
use crate::system::reg::{OWNER_OID, schema_oid};
use crate::types::{Array, DataType, Reg, RegValue};
use std::borrow::Borrow;

use super::built_in::named;
use crate::system::listed::oid_of_relation;

pub(super) use constraints::{pg_constraint, pg_depend, pg_description, pg_shdescription};
pub(in crate::system) use operators::{is_function_cast, operators};
pub(super) use operators::{operator_of, pg_aggregate, pg_cast, pg_operator};
pub(super) use relations::{
    expression_name, pg_attrdef, pg_attribute, pg_class, pg_index, pg_namespace, pg_rewrite, pg_sequence,
};
pub(super) use routines::{pg_language, pg_proc, pg_trigger};
pub(super) use types::{pg_am, pg_collation, pg_enum, pg_opclass, pg_type};
pub(super) use whole::{
    pg_available_extensions, pg_extension, pg_indexes, pg_matviews, pg_sequences, pg_tables, pg_tablespace, pg_views,
};

const BTREE: i64 = 403;

const GIN: i64 = 2742;

const HEAP: i64 = 2;

const DEFAULT_COLLATION: i64 = 100;

const C_COLLATION: i64 = 950;

/// From 16384 on, as PostgreSQL's of what users make.
pub(super) fn oid(id: ObjectId) -> Value {
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

/// A function of the system's by its oid.
fn routine(oid: i64) -> Value {
    Value::Reg(RegValue::of_number(Reg::Proc, oid))
}

/// The oid of one of the system's functions that has its name alone.
fn routine_named(name: &str) -> i64 {
    named(name).first().map_or(0, |of| of.oid)
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

fn oids(values: impl Iterator<Item = i64>) -> Value {
    array(DataType::Oid, values.map(Value::BigInt).collect())
}

fn small_ints(values: impl Iterator<Item = i16>) -> Value {
    array(DataType::SmallInt, values.map(Value::SmallInt).collect())
}

/// As PostgreSQL's `int2vector` and `oidvector`: the first is element 0.
fn vector(element: DataType, values: Vec<Value>) -> Value {
    Array::vector(element, values).into()
}

/// Bytes of a value; -1: that depends on the value.
fn length(data_type: DataType) -> i16 {
    match data_type {
        DataType::Enum(_) | DataType::Oid | DataType::Reg(_) => 4,
        DataType::Macaddr => 6,
        DataType::Macaddr8 => 8,
        DataType::TimeTz(_) => 12,
        DataType::InternalChar => 1,
        DataType::Name => 64,
        data_type if data_type.is_array() => -1,
        data_type => data_type.info().width.and_then(|width| i16::try_from(width).ok()).unwrap_or(-1),
    }
}

fn is_by_value(data_type: DataType) -> bool {
    (1..=8).contains(&length(data_type)) && !matches!(data_type, DataType::Macaddr | DataType::Macaddr8)
}

fn collation(data_type: DataType) -> i64 {
    match data_type.element().unwrap_or(data_type) {
        DataType::Name => C_COLLATION,
        data_type if data_type.is_string() || matches!(data_type, DataType::Citext(_)) => DEFAULT_COLLATION,
        _ => 0,
    }
}

fn numbers(table: &Table, columns: impl IntoIterator<Item = impl Borrow<usize>>) -> Vec<i16> {
    let number = |column: usize| i16::try_from(table.columns.get(column)?.number).ok();
    columns.into_iter().filter_map(|column| number(*column.borrow())).collect()
}

/// Each type has one class of operators for its order.
fn operator_class(data_type: DataType) -> i64 {
    let of = match data_type {
        DataType::Enum(_) => 3500,
        data_type if data_type.is_array() => 2277,
        DataType::Varchar(_) => DataType::Text.oid(),
        DataType::Cidr => DataType::Inet.oid(),
        data_type => data_type.oid(),
    };
    10_000 + i64::from(of)
}

/// An inverted index's.
fn item_class(class: ItemClass) -> i64 {
    20_000 + class.code() as i64
}

fn has_default(column: &Column) -> bool {
    column.default.is_some() || column.generated.is_some()
}

/// The oid of a column's default: one of its own in the upper half, beside those of objects. (Those of two tables would be
/// the same where a million objects were made between them.)
fn default_oid(table: ObjectId, column: u32) -> i64 {
    const HALF: i64 = 1 << 31;
    HALF + ((oid_of(table) << 11) % HALF + i64::from(column)) % HALF
}

fn storage(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Numeric(_) | DataType::Inet | DataType::Cidr => "m",
        data_type if length(data_type) < 0 => "x",
        _ => "p",
    }
}

fn alignment(data_type: DataType) -> &'static str {
    match (data_type, length(data_type)) {
        (DataType::Macaddr8, _) => "i",
        (_, 8) | (DataType::Composite(_), _) => "d",
        (DataType::InternalChar | DataType::Name, _) => "c",
        _ => "i",
    }
}
