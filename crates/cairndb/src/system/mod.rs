//! System relations: `information_schema` and `pg_catalog`, as far as they are there.
//!
//! Their rows are made from the catalog when a statement that names one is bound, and are constants of its plan, which rests on
//! all of the schema (`Rest::Everything`). They have PostgreSQL's names and columns, and but for
//! what is no type here: a `regproc` or a tree of nodes is text, a `xid` a bigint, a vector an array from element 0 on. An object's oid is its id, which stays for the life of the database,
//! from 16384 on. Functions that ask the catalog (`functions`), and `regclass` and its kin (`reg`), are bound with the same catalog.

mod asked;
mod describe;
mod functions;
mod information_schema;
mod pg_catalog;
mod reg;

use std::cell::Cell;

use crate::catalog::{Catalog, ObjectId, ObjectName, RelationKind, TEMPORARY, Table};
use crate::inverted::ItemClass;
use crate::plan::{Expr, Field};
use crate::types::DataType;
use crate::{Error, SqlState, Value};

pub(crate) use asked::{Setting, answer, is_of_the_moment, listed_settings};
pub(crate) use functions::{Eval, SystemFunction, Takes, function, functions, is_function};
pub(crate) use reg::Reg;

/// A relation that the system makes.
pub(crate) struct SystemRelation {
    name: &'static str,
    pub(crate) kind: RelationKind,
    columns: &'static [(&'static str, DataType)],
    rows: fn(&Catalog, &mut Rows),
}

/// The rows so far.
pub(crate) struct Rows {
    rows: Vec<Vec<Expr>>,
    columns: &'static [(&'static str, DataType)],
    /// Columns of views are not asked for while views are bound that may use these relations themselves.
    with_views: bool,
}

impl Rows {
    fn add(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.columns.len());
        let literal = |(value, &(_, data_type))| Expr::Literal { value, data_type };
        self.rows.push(row.into_iter().zip(self.columns).map(literal).collect());
    }

    /// A row by its columns' names: the last value of a name counts, and what is not named is 0, false or NULL.
    fn put(&mut self, named: Vec<(&'static str, Value)>) {
        self.put_with(named, Vec::new());
    }

    /// A row of what is known: the last value of a name counts, what is not named is NULL.
    fn put_known(&mut self, named: Vec<(&'static str, Value)>) {
        debug_assert!(named.iter().all(|(name, _)| self.columns.iter().any(|(known, _)| known == name)), "{named:?}");
        let value = |column: &str| named.iter().rfind(|(name, _)| *name == column).map(|(_, value)| value.clone());
        let row = self.columns.iter().map(|(column, _)| value(column).unwrap_or(Value::Null)).collect();
        self.add(row);
    }

    /// A row of which some columns are asked for when the statement runs.
    fn put_with(&mut self, named: Vec<(&'static str, Value)>, asked: Vec<(&'static str, Expr)>) {
        let mut row: Vec<Value> = self.columns.iter().map(|(_, data_type)| unsaid(*data_type)).collect();
        let columns = self.columns;
        let place = |name: &str| {
            let at = columns.iter().position(|(known, _)| *known == name);
            debug_assert!(at.is_some(), "{name}");
            at
        };
        for (name, value) in named {
            place(name).into_iter().for_each(|at| row[at] = value.clone());
        }
        self.add(row);
        for (name, expr) in asked {
            if let (Some(at), Some(row)) = (place(name), self.rows.last_mut()) {
                debug_assert_eq!(expr.data_type(), columns[at].1, "{name}");
                row[at] = expr;
            }
        }
    }
}

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

/// Whether a column of this name is a vector.
pub(crate) fn is_vector(column: &str) -> bool {
    matches!(column, "indkey" | "indcollation" | "indclass" | "indoption" | "proargtypes" | "tgattr")
}

/// SQLSTATE 42501: nobody changes what the system makes.
pub(crate) fn permission_denied(name: &ObjectName) -> Error {
    let message = format!("permission denied: \"{}\" is a system catalog", name.name);
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}

fn relation(schema: Option<&str>, name: &str) -> Option<&'static SystemRelation> {
    let all: &[&[SystemRelation]] = match schema {
        Some("information_schema") => &information_schema::RELATIONS,
        Some("pg_catalog") | None if name.starts_with("pg_") => &pg_catalog::RELATIONS,
        _ => return None,
    };
    all.iter().copied().flatten().find(|relation| relation.name == name)
}

impl SystemRelation {
    /// The name of its schema.
    pub(crate) fn schema(&self) -> &'static str {
        if self.name.starts_with("pg_") { "pg_catalog" } else { "information_schema" }
    }

    /// The function that gives its rows when the statement runs; `None`: [`SystemRelation::rows`] does.
    pub(crate) fn asked(&self) -> Option<&'static str> {
        asked::function_of(self.name)
    }

    pub(crate) fn fields(&self) -> Vec<Field> {
        let field = |&(name, data_type): &(&str, DataType)| Field { name: name.to_owned(), data_type };
        self.columns.iter().map(field).collect()
    }

    /// What it holds under a catalog.
    pub(crate) fn rows(&self, catalog: &Catalog) -> Vec<Vec<Expr>> {
        let within = ASKING.replace(true);
        let mut rows = Rows { rows: Vec::new(), columns: self.columns, with_views: !within };
        (self.rows)(catalog, &mut rows);
        ASKING.set(within);
        rows.rows
    }
}

thread_local! {
    /// Whether rows are being made: then a view that is bound for its columns, and names one of these relations, gets none.
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// What a row has where it says nothing.
fn unsaid(data_type: DataType) -> Value {
    match data_type {
        DataType::BigInt | DataType::Oid => Value::BigInt(0),
        DataType::Integer => Value::Integer(0),
        DataType::SmallInt => Value::SmallInt(0),
        DataType::Real => Value::Real(0.0),
        DataType::Boolean => Value::Boolean(false),
        _ => Value::Null,
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

/// The types of the columns that a view's query gives, under the names that they have in the view.
fn view_columns(catalog: &Catalog, view: &crate::catalog::View, rows: &Rows) -> Vec<Field> {
    if !rows.with_views {
        return Vec::new();
    }
    let fields = crate::bind::definition_fields(&view.query, catalog);
    fields.and_then(|fields| crate::bind::named_as_view(view, fields)).unwrap_or_default()
}

fn names(table: &Table, columns: &[usize]) -> Vec<String> {
    let name = |&column: &usize| match table.columns.get(column) {
        Some(column) => cairn_parser::token::quoted(&column.name),
        // What is no call stands in parentheses of its own.
        None => match table.key_name(column) {
            name if name.starts_with('(') => format!("({name})"),
            name => name,
        },
    };
    columns.iter().map(name).collect()
}

/// The columns of an index as CREATE INDEX says them.
fn index_columns(table: &Table, of: &describe::Indexed) -> Vec<String> {
    let mut columns = names(table, &of.columns);
    if let Some(inverted) = of.secondary.and_then(|index| index.inverted.as_ref()) {
        for ((column, class), part) in columns.iter_mut().zip(&inverted.classes).zip(&of.columns) {
            if table.key_type(*part).and_then(ItemClass::default_of) != Some(*class) {
                column.extend([" ", class.name()]);
            }
        }
        return columns;
    }
    for (column, part) in columns.iter_mut().zip(of.secondary.into_iter().flat_map(|index| &index.columns)) {
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
        DataType::Enum(of) => &of.definition().schema,
        DataType::Composite(of) => of.definition().named.as_ref().map_or("pg_catalog", |named| &named.schema),
        _ => "pg_catalog",
    }
}

/// PostgreSQL's internal name of a type: `int4`, `_text`.
pub(crate) fn type_name(data_type: DataType) -> String {
    match data_type.base() {
        DataType::Boolean => "bool".to_owned(),
        DataType::SmallInt => "int2".to_owned(),
        DataType::Integer => "int4".to_owned(),
        DataType::BigInt => "int8".to_owned(),
        DataType::Real => "float4".to_owned(),
        DataType::Double => "float8".to_owned(),
        DataType::Varchar(_) => "varchar".to_owned(),
        DataType::Char(_) => "bpchar".to_owned(),
        DataType::Time(_) => "time".to_owned(),
        DataType::TimeTz(_) => "timetz".to_owned(),
        DataType::Timestamp(_) => "timestamp".to_owned(),
        DataType::TimestampTz(_) => "timestamptz".to_owned(),
        DataType::Enum(of) => of.definition().name.clone(),
        DataType::InternalChar => "char".to_owned(),
        DataType::Composite(of) => {
            of.definition().named.as_ref().map_or_else(|| "record".to_owned(), |named| named.name.clone())
        }
        DataType::Array(element) => format!("_{}", type_name(element.data_type())),
        other => other.type_name().to_owned(),
    }
}

/// An object's oid.
pub(crate) fn oid_of(id: ObjectId) -> i64 {
    i64::from(id.0) + 16384
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_relation_is_there_twice() {
        for relations in [information_schema::RELATIONS.as_slice(), &pg_catalog::RELATIONS] {
            let mut names: Vec<&str> = relations.iter().copied().flatten().map(|relation| relation.name).collect();
            names.sort_unstable();
            let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(!names.is_empty() && twice.is_empty(), "{twice:?}");
        }
    }
}
