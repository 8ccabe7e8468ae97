//! Names: how constraints and indexes get theirs, and errors about them.

use std::collections::HashSet;

use cairn_parser::token::IDENTIFIER_BYTES_MAX;

use crate::catalog::{Catalog, ObjectId, ObjectName, RelationKind, Table, already_exists};
use crate::{Error, Result, SqlState};

/// At most `bytes` bytes, ending at a character's end.
fn cut(name: &str, bytes: usize) -> &str {
    if name.len() <= bytes {
        return name;
    }
    let end = (0..=bytes).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    &name[..end]
}

/// Names that a statement has chosen or must not choose, beside those in the catalog.
#[derive(Default)]
pub(super) struct Chosen(HashSet<String>);

impl Chosen {
    /// A free relation name in the table's schema: `table_columns_label`, with a number if that is taken.
    pub(super) fn relation(&mut self, catalog: &Catalog, table: &Table, columns: &str, label: &str) -> String {
        let taken = |name: &str| catalog.relation_in(table.schema, name).is_some() || self.0.contains(name);
        let name = first_free(&table.name, columns, label, taken);
        self.0.insert(name.clone());
        name
    }

    /// Takes a relation name that the user gave; SQLSTATE 42P07 where it is taken.
    pub(super) fn take_relation(&mut self, catalog: &Catalog, schema: ObjectId, name: String) -> Result<String> {
        if catalog.relation_in(schema, &name).is_some() || !self.0.insert(name.clone()) {
            return Err(already_exists(&name));
        }
        Ok(name)
    }
}

/// A free constraint name within a table.
pub(super) fn constraint_name(table: &Table, columns: &str, label: &str) -> String {
    first_free(&table.name, columns, label, |name| constraint_exists(table, name))
}

/// Whether the table has a constraint of this name.
pub(super) fn constraint_exists(table: &Table, name: &str) -> bool {
    table.index_of_constraint(name).is_some()
        || table.checks.iter().any(|check| check.name == name)
        || table.foreign_keys.iter().any(|key| key.name == name)
}

/// A free name: `name_label`, with a number if that is taken.
pub(super) fn first_free_name(name: &str, label: &str, taken: impl Fn(&str) -> bool) -> String {
    first_free(name, "", label, taken)
}

fn first_free(table: &str, columns: &str, label: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = |number: u32| match number {
        0 => assemble(table, columns, label),
        _ => assemble(table, columns, &format!("{label}{number}")),
    };
    (0..).map(numbered).find(|name| !taken(name)).unwrap_or_default()
}

/// PostgreSQL's `makeObjectName`: the longer of the two names gives way until all fits.
fn assemble(table: &str, columns: &str, label: &str) -> String {
    let (mut table, mut columns) = (table, columns);
    let separators = usize::from(!columns.is_empty()) + 1;
    while table.len() + columns.len() + separators + label.len() > IDENTIFIER_BYTES_MAX {
        if table.len() > columns.len() {
            table = cut(table, table.len() - 1);
        } else {
            columns = cut(columns, columns.len() - 1);
        }
    }
    let parts = [table, columns, label];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

/// SQLSTATE 42P07, for what is moved.
pub(super) fn already_exists_in(name: &str, schema: &str) -> Error {
    let message = format!("relation \"{name}\" already exists in schema \"{schema}\"");
    Error::new(SqlState::DUPLICATE_TABLE, message)
}

/// The error for a relation that is not there or is of another kind.
pub(super) fn missing(catalog: &Catalog, name: &ObjectName, wanted: RelationKind) -> Error {
    match catalog.relation_kind(name) {
        Some(_) => {
            let article = if wanted == RelationKind::Index { "an" } else { "a" };
            let message = format!("\"{}\" is not {article} {}", name.name, noun(wanted));
            Error::new(SqlState::WRONG_OBJECT_TYPE, message)
        }
        None => catalog.no_relation(name),
    }
}

/// SQLSTATE 42809, for a relation of a kind with which something can not be done.
pub(super) fn is_a(name: &str, kind: RelationKind) -> Error {
    let article = if kind == RelationKind::Index { "an" } else { "a" };
    Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is {article} {}", noun(kind)))
}

/// The same of several.
pub(super) fn plural(kind: RelationKind) -> &'static str {
    match kind {
        RelationKind::Table => "tables",
        RelationKind::View => "views",
        RelationKind::MaterializedView => "materialized views",
        RelationKind::Sequence => "sequences",
        RelationKind::Index => "indexes",
    }
}

/// What PostgreSQL calls a kind of relation.
pub(super) fn noun(kind: RelationKind) -> &'static str {
    match kind {
        RelationKind::Table => "table",
        RelationKind::View => "view",
        RelationKind::MaterializedView => "materialized view",
        RelationKind::Sequence => "sequence",
        RelationKind::Index => "index",
    }
}

/// SQLSTATE 42703 for a column of a relation.
pub(super) fn missing_column(table: &Table, column: &str) -> Error {
    Error::undefined_column_of(column, &table.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_give_way_as_in_postgresql() {
        assert_eq!(assemble("t", "a_b", "key"), "t_a_b_key");
        assert_eq!(assemble("t", "", "pkey"), "t_pkey");
        let name = assemble(&"x".repeat(60), &"y".repeat(40), "fkey");
        assert_eq!(name.len(), 63);
        assert!(name.ends_with("_fkey"));
        assert_eq!(cut("aé", 2), "a");
    }

    #[test]
    fn taken_names_get_a_number() {
        let taken = |name: &str| matches!(name, "t_a_idx" | "t_a_idx1");
        assert_eq!(first_free("t", "a", "idx", taken), "t_a_idx2");
    }
}
