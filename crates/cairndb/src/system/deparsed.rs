//! What who writes definitions asks of PostgreSQL's catalog: which functions and operators there are, how types and relations are
//! called.

use super::pg_catalog::{is_function_cast as is_function, named, operators};
use super::{oid_of, reg};
use crate::catalog::{Catalog, ObjectId, Table};
use crate::functions::Declared;
use crate::types::DataType;

/// How a definition is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DefinitionStyle {
    /// With those parentheses only that are needed.
    pub(crate) is_pretty: bool,
    /// How long a line may be before the next item of a list stands on another.
    pub(crate) wrap: usize,
}

/// What an expression is written over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExpressionOver<'a> {
    Nothing,
    /// A table's columns.
    Table(&'a Table),
    /// A row as it is to be, and as it was.
    Rows(&'a Table),
    /// A domain's value.
    Value(DataType),
}

/// What PostgreSQL's functions of this name take, and whether the last may be given several times.
pub(crate) fn routine_signatures(name: &str) -> impl Iterator<Item = (Vec<Declared>, bool)> {
    named(name).iter().filter_map(|of| {
        let takes = of.arguments.iter().map(|oid| Declared::of_oid(*oid)).collect::<Option<Vec<_>>>()?;
        Some((takes, of.variadic != 0))
    })
}

/// What PostgreSQL's operators of this name take that have so many operands.
pub(crate) fn operator_signatures(symbol: &str, count: usize) -> impl Iterator<Item = Vec<Declared>> {
    operators(symbol).filter_map(move |sides| {
        let sides = sides.into_iter().filter(|oid| *oid != 0);
        let takes = sides.map(Declared::of_oid).collect::<Option<Vec<_>>>()?;
        Some(takes).filter(|takes| takes.len() == count)
    })
}

/// Whether a function converts one type to the other.
pub(crate) fn is_function_cast(from: DataType, to: DataType) -> bool {
    is_function(from.oid(), to.oid())
}

/// A type's name, with its schema where it would not be found without.
pub(crate) fn type_text(catalog: &Catalog, data_type: DataType) -> String {
    match data_type.element().unwrap_or(data_type) {
        DataType::Enum(_) | DataType::Composite(_) | DataType::Citext(_) | DataType::Hstore(_) => {
            reg::type_name(catalog, data_type.oid().into(), None).unwrap_or_else(|| data_type.to_string())
        }
        DataType::InternalChar => "\"char\"".to_owned() + if data_type.is_array() { "[]" } else { "" },
        _ => data_type.to_string(),
    }
}

/// A relation's name, with its schema where it would not be found without.
pub(crate) fn relation_text(catalog: &Catalog, id: ObjectId) -> Option<String> {
    let (schema, name, _) = super::describe::relation_by_oid(catalog, oid_of(id))?;
    Some(catalog.shown(schema, name))
}
