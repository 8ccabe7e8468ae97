//! `regclass` and its kin: what the catalog says of their names.

use cairn_parser::token::quoted;

use super::describe::relation_by_oid;
use super::pg_catalog::BuiltIn;
use super::{is_schema, oid_of, pg_catalog};
use crate::catalog::{Catalog, ObjectId, ObjectName, Relation, no_schema};
use crate::functions::Declared;
use crate::sql::relation_name;
use crate::types::Reg;
use crate::types::{DataType, OidNames, TYPES, row_array_oid};
use crate::{Error, Result, SqlState};

/// The one role there is: who has the database open.
pub(super) const OWNER_OID: i64 = 10;
pub(super) const OWNER: &str = "cairndb";
pub(super) const PG_CATALOG_OID: i64 = 11;
pub(super) const INFORMATION_SCHEMA_OID: i64 = 13000;
pub(super) const PUBLIC_OID: i64 = 2200;

/// The oid of a schema.
pub(super) fn schema_oid(id: ObjectId) -> i64 {
    if id == ObjectId::PUBLIC { PUBLIC_OID } else { oid_of(id) }
}

impl OidNames for Catalog {
    fn read_name(&self, of: Reg, text: &str) -> Result<i64> {
        let text = text.trim();
        match of {
            Reg::Class => class(self, &relation_name(text)?),
            Reg::Type => type_named(self, text)?.ok_or_else(|| no_type(text)),
            Reg::Proc | Reg::Procedure => routine(self, text, of == Reg::Procedure),
            Reg::Namespace => {
                let name = relation_name(text)?.name;
                namespace(self, &name).ok_or_else(|| no_schema(&name))
            }
            Reg::Role => {
                let name = relation_name(text)?.name;
                let missing = || Error::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"));
                (name == OWNER).then_some(OWNER_OID).ok_or_else(missing)
            }
        }
    }

    fn name(&self, of: Reg, oid: i64) -> String {
        let name = match of {
            Reg::Class => class_name(self, oid),
            Reg::Type => type_name(self, oid, None),
            Reg::Proc | Reg::Procedure => routine_name(self, oid, of == Reg::Procedure),
            Reg::Namespace => namespace_name(self, oid).map(quoted),
            Reg::Role => (oid == OWNER_OID).then(|| OWNER.to_owned()),
        };
        name.unwrap_or_else(|| oid.to_string())
    }
}

/// A function's name; without its arguments' types with its schema where that alone does not say which it is.
fn routine_name(catalog: &Catalog, oid: i64, with_arguments: bool) -> Option<String> {
    let all = catalog.routines().filter_map(|function| function.routine());
    let known = all.into_iter().find(|of| oid_of(of.id) == oid);
    let (schema, name) = match (known, with_arguments) {
        (Some(of), true) => return Some(catalog.shown_routine(of)),
        (Some(of), false) => (catalog.schema_name(of.schema).unwrap_or_default(), of.name.as_str()),
        (None, true) => {
            let of = pg_catalog::built_in(oid)?;
            return Some(format!("{}({})", quoted(of.name), arguments_of(catalog, of, ",")));
        }
        (None, false) => ("pg_catalog", pg_catalog::built_in(oid)?.name),
    };
    let name = quoted(name);
    let is_told = routine(catalog, &name, false).is_ok_and(|found| found == oid);
    Some(if is_told { name } else { format!("{}.{name}", quoted(schema)) })
}

fn class(catalog: &Catalog, name: &ObjectName) -> Result<i64> {
    if let Some(relation) = catalog.relation(name) {
        return Ok(oid_of(relation.id()));
    }
    let system = matches!(name.schema.as_deref(), None | Some("pg_catalog"));
    let found = if system { super::listed::oid_of_relation(&name.name) } else { None };
    found.ok_or_else(|| catalog.no_relation(name))
}

/// A relation's name; with its schema where another would be found without.
fn class_name(catalog: &Catalog, oid: i64) -> Option<String> {
    match relation_by_oid(catalog, oid) {
        Some((schema, name, _)) => Some(catalog.shown(schema, name)),
        None => super::listed::relation_of_oid(oid).map(str::to_owned),
    }
}

fn type_named(catalog: &Catalog, text: &str) -> Result<Option<i64>> {
    if text == "record[]" {
        return Ok(Some(RECORDS_OID));
    }
    if let Some(element) = text.strip_suffix("[]") {
        let data_type = built_in_type(element.trim()).and_then(DataType::array);
        if let Some(data_type) = data_type {
            return Ok(Some(data_type.oid().into()));
        }
        let name = relation_name(element)?;
        let of = catalog.user_type(name.schema.as_deref(), &name.name, |_, _| {})?;
        if of.is_none()
            && let Some(Relation::Table(table)) = catalog.relation(&name)
        {
            return Ok(Some(row_array_oid(table.id).into()));
        }
        return Ok(of.map(|of| oid_of(of.array_id)));
    }
    let plain = text.split_once('(').map_or(text, |(name, _)| name.trim_end());
    let builtin = plain.strip_prefix("pg_catalog.").unwrap_or(plain);
    if let Some(data_type) = built_in_type(&builtin.to_ascii_lowercase()) {
        return Ok(Some(data_type.oid().into()));
    }
    if let Some(of) = other_types().find(|of| of.name == builtin) {
        return Ok(Some(of.oid));
    }
    let name = relation_name(text)?;
    if let Some(of) = catalog.user_type(name.schema.as_deref(), &name.name, |_, _| {})? {
        return Ok(Some(oid_of(of.id)));
    }
    if let Some(of) = array_named(catalog, &name)? {
        return Ok(Some(of));
    }
    // That of a relation's rows is the relation's.
    Ok(catalog.relation(&name).and_then(|relation| match relation {
        Relation::Table(table) => Some(oid_of(table.id)),
        Relation::View(view) => Some(oid_of(view.id)),
        _ => None,
    }))
}

/// The type of arrays of a type that a user made, by its own name.
fn array_named(catalog: &Catalog, name: &ObjectName) -> Result<Option<i64>> {
    let Some(element) = name.name.strip_prefix('_') else { return Ok(None) };
    let of = catalog.user_type(name.schema.as_deref(), element, |_, _| {})?;
    Ok(of.filter(|of| of.domain().is_none()).map(|of| oid_of(of.array_id)))
}

/// SQLSTATE 42704.
fn no_type(text: &str) -> Error {
    Error::undefined_type(text)
}

/// As SQL means it: `char` is a word of the grammar where it does not stand in quotes.
fn built_in_type(name: &str) -> Option<DataType> {
    if name == "char" { Some(DataType::Char(1)) } else { DataType::from_name(name) }
}

/// The type of arrays of any rows.
const RECORDS_OID: i64 = 2287;

/// A type of PostgreSQL's catalog that is none of [`TYPES`].
pub(super) struct OtherType {
    pub(super) oid: i64,
    pub(super) name: &'static str,
    /// No column has it.
    pub(super) is_pseudo: bool,
}

/// What has no values here that could be told from others'.
const VALUELESS: [OtherType; 8] = [
    OtherType { oid: 269, name: "table_am_handler", is_pseudo: true },
    OtherType { oid: 325, name: "index_am_handler", is_pseudo: true },
    OtherType { oid: 2275, name: "cstring", is_pseudo: true },
    OtherType { oid: 194, name: "pg_node_tree", is_pseudo: false },
    OtherType { oid: 2249, name: "record", is_pseudo: true },
    OtherType { oid: 2276, name: "\"any\"", is_pseudo: true },
    OtherType { oid: 2279, name: "trigger", is_pseudo: true },
    OtherType { oid: 2281, name: "internal", is_pseudo: true },
];

/// All of them: the vectors, what columns of that catalog have and ours have not, and what only functions take and give.
pub(super) fn other_types() -> impl Iterator<Item = OtherType> {
    let of = |(data_type, is_pseudo): (DataType, bool)| OtherType {
        oid: data_type.oid().into(),
        name: data_type.type_name(),
        is_pseudo,
    };
    let vectors = [(DataType::INT2VECTOR, false), (DataType::OIDVECTOR, false)];
    let known = vectors.into_iter().chain([(DataType::Unknown, true), (DataType::Void, true)]).map(of);
    let pseudo =
        Declared::pseudo_types().map(|of| OtherType { oid: of.oid().into(), name: of.type_name(), is_pseudo: true });
    known.chain(VALUELESS).chain(pseudo)
}

/// A type's name with its modifiers; `None`: there is no such type.
pub(super) fn type_name(catalog: &Catalog, oid: i64, modifier: Option<i32>) -> Option<String> {
    for info in &TYPES {
        let is_array = i64::from(info.array_oid) == oid;
        if i64::from(info.oid) == oid || is_array {
            let name = match (info.base, modifier) {
                (DataType::Char(_), None) => "character".to_owned(),
                (base, modifier) => base.with_typmod(modifier).to_string(),
            };
            return Some(if is_array { format!("{name}[]") } else { name });
        }
    }
    if let Some(of) = other_types().find(|of| of.oid == oid) {
        return Some(of.name.to_owned());
    }
    if oid == RECORDS_OID {
        return Some("record[]".to_owned());
    }
    let Some(of) = catalog.types().find(|of| [of.id, of.array_id].map(oid_of).contains(&oid)) else {
        return row_type_name(catalog, oid);
    };
    let array = if oid_of(of.array_id) == oid { "[]" } else { "" };
    Some(format!("{}{array}", catalog.shown_type(of)))
}

/// Of the type of a relation's rows, or of arrays of such.
fn row_type_name(catalog: &Catalog, oid: i64) -> Option<String> {
    let named = |array: &str, oid_of: &dyn Fn(ObjectId) -> i64| {
        let relations = catalog
            .schemas()
            .flat_map(|(_, schema)| catalog.relations_in(schema).map(move |(name, relation)| (schema, name, relation)));
        let mut with_rows = relations.filter_map(|(schema, name, relation)| match relation {
            Relation::Table(table) => Some((schema, name, table.id)),
            Relation::View(view) => Some((schema, name, view.id)),
            _ => None,
        });
        let (schema, name, _) = with_rows.find(|(_, _, id)| oid_of(*id) == oid)?;
        Some(format!("{}{array}", catalog.shown(schema, name)))
    };
    named("", &oid_of).or_else(|| named("[]", &|id| row_array_oid(id).into()))
}

/// What is before the first parenthesis that is no part of a quoted name, and behind it.
fn at_parenthesis(text: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    let at = text.find(|sign: char| {
        is_quoted ^= sign == '"';
        sign == '(' && !is_quoted
    })?;
    Some((&text[..at], &text[at + 1..]))
}

fn routine(catalog: &Catalog, text: &str, with_arguments: bool) -> Result<i64> {
    let incomplete = |side: &str| {
        let message = format!("expected a {side} parenthesis");
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
    };
    let (called, types) = match at_parenthesis(text) {
        Some((name, types)) if with_arguments => {
            (name, Some(types.trim_end().strip_suffix(')').ok_or_else(|| incomplete("right"))?))
        }
        None if with_arguments => return Err(incomplete("left")),
        _ => (text, None),
    };
    let name = relation_name(called)?;
    let schemas: Vec<ObjectId> = match &name.schema {
        Some(schema) => catalog.schema(schema).into_iter().collect(),
        None => catalog.searched().to_vec(),
    };
    let all = schemas.iter().flat_map(|schema| catalog.routines_in(*schema, &name.name));
    let all = all.filter_map(|function| function.routine());
    let wanted = types.map(|types| {
        let each = types.split(',').map(str::trim).filter(|each| !each.is_empty());
        each.map(|each| type_named(catalog, each)?.ok_or_else(|| no_type(each))).collect::<Result<Vec<_>>>()
    });
    let wanted = wanted.transpose()?;
    let fits = |of: &std::sync::Arc<crate::catalog::Routine>| {
        let types = of.inputs().map(|input| input.oid());
        wanted.as_ref().is_none_or(|wanted| types.eq(wanted.iter().copied()))
    };
    let is_searched = name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
    let built_in = pg_catalog::named(&name.name)
        .iter()
        .filter(|_| is_searched)
        .filter(|of| wanted.as_ref().is_none_or(|wanted| wanted == &of.arguments));
    let found = all.filter(|of| fits(of)).map(|of| oid_of(of.id));
    let found: Vec<i64> = built_in.map(|of| of.oid).chain(found).collect();
    // With its arguments told the first is meant, and what is built in comes first.
    let found = if wanted.is_some() { &found[..found.len().min(1)] } else { &found };
    match found {
        [oid] => Ok(*oid),
        [] => Err(Error::new(SqlState::UNDEFINED_FUNCTION, format!("function \"{text}\" does not exist"))),
        _ => Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, format!("more than one function named \"{text}\""))),
    }
}

/// The arguments' types of a built-in function.
pub(super) fn arguments_of(catalog: &Catalog, of: &BuiltIn, between: &str) -> String {
    let types = of.arguments.iter().map(|oid| type_name(catalog, *oid, None).unwrap_or_else(|| "???".to_owned()));
    types.collect::<Vec<_>>().join(between)
}

fn namespace(catalog: &Catalog, name: &str) -> Option<i64> {
    match name {
        "pg_catalog" => Some(PG_CATALOG_OID),
        name if is_schema(name) => Some(INFORMATION_SCHEMA_OID),
        name => catalog.schema(name).map(schema_oid),
    }
}

/// The name of the schema with this oid.
pub(super) fn namespace_name(catalog: &Catalog, oid: i64) -> Option<&str> {
    match oid {
        PG_CATALOG_OID => Some("pg_catalog"),
        INFORMATION_SCHEMA_OID => Some("information_schema"),
        oid => catalog.schemas().find(|(_, id)| schema_oid(*id) == oid).map(|(name, _)| name),
    }
}
