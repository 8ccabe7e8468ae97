//! What names mean: columns of the tables that a query reads, from the innermost query outwards.

use super::value::{Form, Found, Kind, Value};
use crate::import::sqlite::names::Names;

/// A column of a table or a view.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    /// It was declared with COLLATE NOCASE.
    pub no_case: bool,
}

/// A table or a view that is there already.
#[derive(Clone, Debug)]
pub struct Relation {
    pub name: String,
    pub columns: Vec<Column>,
    /// The column that is another name of the row number.
    pub row_id: Option<String>,
}

/// A relation in FROM, under the name by which its columns are asked for.
#[derive(Clone, Debug)]
pub struct Source {
    pub alias: String,
    pub relation: Relation,
    /// Columns that a join by names gave to the relations before it.
    pub merged: Vec<String>,
}

/// What one query sees.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub sources: Vec<Source>,
    /// Names of the result's columns.
    pub aliases: Vec<(String, Kind)>,
}

pub fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

impl Relation {
    pub fn column(&self, name: &str) -> Option<&Column> {
        let by_row_id = || match ["rowid", "oid", "_rowid_"].iter().any(|row_id| same(name, row_id)) {
            true => self.row_id.as_ref().and_then(|row_id| self.columns.iter().find(|column| column.name == *row_id)),
            false => None,
        };
        self.columns.iter().find(|column| same(&column.name, name)).or_else(by_row_id)
    }
}

impl Scope {
    /// The column of this name, with the table's where it was given.
    pub fn column(&self, table: Option<&str>, name: &str, names: &Names) -> Option<Value> {
        let is_meant = |source: &&Source| table.is_none_or(|table| same(table, &source.alias));
        let is_merged = |source: &Source| source.merged.iter().any(|merged| same(merged, name));
        let found = self.sources.iter().filter(is_meant).filter(|source| table.is_some() || !is_merged(source));
        let (source, column) = found.filter_map(|source| Some((source, source.relation.column(name)?))).next()?;
        let shown = names.shown(&column.name);
        let text = match table {
            Some(_) => format!("{}.{shown}", names.shown(&source.alias)),
            None => shown,
        };
        Some(Value::atom(text, column.kind).in_form(Form::Column { no_case: column.no_case }))
    }

    /// A column of the result.
    pub fn alias(&self, name: &str, names: &Names) -> Option<Value> {
        let (alias, kind) = self.aliases.iter().find(|(alias, _)| same(alias, name))?;
        Some(Value::atom(names.shown(alias), *kind))
    }

    /// The columns of `*`, or of `table.*`.
    pub fn all(&self, table: Option<&str>) -> Found<Vec<Column>> {
        let sources: Vec<&Source> =
            self.sources.iter().filter(|source| table.is_none_or(|table| same(table, &source.alias))).collect();
        if sources.is_empty() {
            return Err(format!("no table {}", table.unwrap_or("is there")));
        }
        let is_shown = |source: &Source, column: &Column| {
            table.is_some() || !source.merged.iter().any(|merged| same(merged, &column.name))
        };
        let columns = sources
            .iter()
            .flat_map(|source| source.relation.columns.iter().filter(|column| is_shown(source, column)).cloned());
        Ok(columns.collect())
    }
}
