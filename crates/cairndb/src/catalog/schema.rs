//! The schema's objects, as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairn_storage::TreeId;

use crate::types::{DataType, Value};

/// Names a schema object for the life of the database; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    pub id: ObjectId,
    pub name: String,
    pub columns: Vec<Column>,
    /// Rows by key. The key is the primary key's columns, encoded; without one, a hidden 8-byte row number.
    pub tree: TreeId,
    /// Positions in `columns`; empty where there is no primary key.
    pub primary_key: Vec<usize>,
    /// The primary key's constraint name.
    pub primary_key_name: Option<String>,
    /// Secondary indexes, unique constraints included.
    pub indexes: Vec<Arc<Index>>,
    pub checks: Vec<Check>,
    pub foreign_keys: Vec<ForeignKey>,
    /// Foreign keys of other tables (and this one) that point here: (referencing table, position in its list).
    pub referenced_by: Vec<(ObjectId, usize)>,
    /// Version of the row layout that new rows are written with (ALTER TABLE without rewriting).
    pub layout_version: u32,
    /// From ANALYZE.
    pub statistics: Option<Arc<TableStatistics>>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub data_type: DataType,
    pub not_null: bool,
    /// SQL text of the default expression.
    pub default: Option<String>,
    pub identity: Option<Identity>,
}

/// GENERATED .. AS IDENTITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// GENERATED ALWAYS: explicit values are refused.
    pub always: bool,
    pub sequence: ObjectId,
}

/// An index tree's key: the encoded columns, then (unless unique and without NULL) the row's key. Its value: the row's
/// key where the key alone does not tell it.
#[derive(Clone, Debug)]
pub struct Index {
    pub id: ObjectId,
    pub name: String,
    pub tree: TreeId,
    pub columns: Vec<IndexColumn>,
    pub unique: bool,
    /// Made by a UNIQUE constraint of this name (then violations name it so).
    pub constraint: bool,
}

/// A column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// Position in the table's columns.
    pub column: usize,
    pub descending: bool,
    pub nulls_first: bool,
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct Check {
    pub name: String,
    /// SQL text of the condition.
    pub condition: String,
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    pub name: String,
    pub columns: Vec<usize>,
    pub referenced_table: ObjectId,
    pub referenced_columns: Vec<usize>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
}

/// What happens to referencing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

/// A view.
#[derive(Clone, Debug)]
pub struct View {
    pub id: ObjectId,
    pub name: String,
    pub columns: Vec<String>,
    /// SQL text of the query.
    pub query: String,
}

/// A sequence's definition; its value lives in a tree of its own.
#[derive(Clone, Debug)]
pub struct Sequence {
    pub id: ObjectId,
    pub name: String,
    pub start: i64,
    pub increment: i64,
    pub min: i64,
    pub max: i64,
    pub cycle: bool,
    /// The table and column position that it is dropped with (SERIAL and identity columns).
    pub owner: Option<(ObjectId, usize)>,
    /// Names the run of values: a sequence that starts over gets a new one. The value is kept under (id, generation).
    pub generation: u64,
}

/// What ANALYZE found.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    pub rows: f64,
    pub columns: Vec<ColumnStatistics>,
}

#[derive(Clone, Debug, Default)]
pub struct ColumnStatistics {
    pub null_fraction: f64,
    pub distinct: f64,
    pub most_common: Vec<(Value, f64)>,
    /// Equi-depth bounds, ascending.
    pub histogram: Vec<Value>,
    pub average_width: f64,
}

/// One version of the schema. Names are as stored (folded to lower case unless quoted).
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub tables: BTreeMap<String, Arc<Table>>,
    pub views: BTreeMap<String, Arc<View>>,
    pub sequences: BTreeMap<String, Arc<Sequence>>,
}

impl Catalog {
    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(name)
    }

    /// The table with this id.
    pub fn table_by_id(&self, id: ObjectId) -> Option<&Arc<Table>> {
        self.tables.values().find(|table| table.id == id)
    }

    /// The view of this name.
    pub fn view(&self, name: &str) -> Option<&Arc<View>> {
        self.views.get(name)
    }

    /// The sequence of this name.
    pub fn sequence(&self, name: &str) -> Option<&Arc<Sequence>> {
        self.sequences.get(name)
    }

    /// The sequence with this id.
    pub fn sequence_by_id(&self, id: ObjectId) -> Option<&Arc<Sequence>> {
        self.sequences.values().find(|sequence| sequence.id == id)
    }

    /// The index of this name and its table.
    pub fn index(&self, name: &str) -> Option<(&Arc<Table>, &Arc<Index>)> {
        let find = |table: &'_ Arc<Table>| table.indexes.iter().position(|index| index.name == name);
        let (table, at) = self.tables.values().find_map(|table| find(table).map(|at| (table, at)))?;
        table.indexes.get(at).map(|index| (table, index))
    }

    /// What kind of relation has this name: tables, views, sequences and indexes (primary keys included) share one
    /// name space.
    pub fn relation_kind(&self, name: &str) -> Option<RelationKind> {
        let is_index = || {
            self.index(name).is_some()
                || self.tables.values().any(|table| table.primary_key_name.as_deref() == Some(name))
        };
        match () {
            () if self.tables.contains_key(name) => Some(RelationKind::Table),
            () if self.views.contains_key(name) => Some(RelationKind::View),
            () if self.sequences.contains_key(name) => Some(RelationKind::Sequence),
            () if is_index() => Some(RelationKind::Index),
            () => None,
        }
    }
}

/// What a name in the schema stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationKind {
    /// A table.
    Table,
    /// A view.
    View,
    /// A sequence.
    Sequence,
    /// An index, or a primary key.
    Index,
}

impl Table {
    /// The position of the column of this name.
    pub fn column_position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The types of the given columns.
    pub fn types_of(&self, columns: &[usize]) -> Vec<DataType> {
        columns.iter().filter_map(|&c| self.columns.get(c)).map(|column| column.data_type).collect()
    }
}
