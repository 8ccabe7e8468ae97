//! What the database holds: tables, indexes, constraints, views, sequences. An immutable [`Catalog`] is loaded from
//! the catalog tree and shared; DDL writes that tree in its transaction.

use std::sync::Arc;

use cairn_storage::TreeId;

use crate::types::{DataType, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

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

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub data_type: DataType,
    pub not_null: bool,
    /// SQL text of the default expression.
    pub default: Option<String>,
    pub identity: Option<Identity>,
}

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// Position in the table's columns.
    pub column: usize,
    pub descending: bool,
    pub nulls_first: bool,
}

#[derive(Clone, Debug)]
pub struct Check {
    pub name: String,
    /// SQL text of the condition.
    pub condition: String,
}

#[derive(Clone, Debug)]
pub struct ForeignKey {
    pub name: String,
    pub columns: Vec<usize>,
    pub referenced_table: ObjectId,
    pub referenced_columns: Vec<usize>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

#[derive(Clone, Debug)]
pub struct View {
    pub id: ObjectId,
    pub name: String,
    pub columns: Vec<String>,
    /// SQL text of the query.
    pub query: String,
}

#[derive(Clone, Debug)]
pub struct Sequence {
    pub id: ObjectId,
    pub name: String,
    pub start: i64,
    pub increment: i64,
    pub min: i64,
    pub max: i64,
    pub cycle: bool,
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
    pub tables: std::collections::BTreeMap<String, Arc<Table>>,
    pub views: std::collections::BTreeMap<String, Arc<View>>,
    pub sequences: std::collections::BTreeMap<String, Arc<Sequence>>,
}

impl Catalog {
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(name)
    }
    pub fn table_by_id(&self, id: ObjectId) -> Option<&Arc<Table>> {
        self.tables.values().find(|table| table.id == id)
    }
    pub fn view(&self, name: &str) -> Option<&Arc<View>> {
        self.views.get(name)
    }
}
