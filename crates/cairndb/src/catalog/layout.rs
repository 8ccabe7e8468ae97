//! Where a table's columns lie in its tree's keys and values. The one place that decides it.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Index, IndexColumn, ObjectId, PastLayout, Table};
use crate::sync::Mutex;
use crate::types::row::{RowLayout, corrupted, decode_raw};
use crate::types::{DataType, key};
use crate::{Result, Value};

/// Where a column's value is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnPlace {
    /// Only in the key, at this position among the primary key's columns.
    Key(usize),
    /// In the row, at this position among the row's columns (perhaps in the key too, in a form that does not show all
    /// of it).
    Row(usize),
}

/// A table's storage layout, worked out once.
#[derive(Clone, Debug)]
pub struct TableLayout {
    places: Box<[ColumnPlace]>,
    /// Positions of the primary key's columns; empty: the key is a hidden row number.
    key_columns: Box<[usize]>,
    key_types: Box<[DataType]>,
    stored: Box<[usize]>,
    row: RowLayout,
    /// By version.
    past: Box<[PastLayout]>,
    /// By stored column: its value in rows that do not have it.
    missing: Box<[Option<Box<[u8]>>]>,
}

/// What is made of a catalog's tables (and of what views' groups are kept in), each time when it is first asked for. A table that is kept here is shared, and so
/// nobody can change it.
#[derive(Default)]
pub(super) struct Layouts(Mutex<BTreeMap<(ObjectId, bool), Known>>);

/// A table, its layout, and what was compiled for it by who knows more than the catalog.
struct Known {
    table: Arc<Table>,
    layout: Arc<TableLayout>,
    compiled: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Layouts {
    fn with<T>(&self, table: &Arc<Table>, work: impl FnOnce(&mut Known) -> T) -> T {
        let make = || Known { table: table.clone(), layout: Arc::new(TableLayout::new(table)), compiled: Vec::new() };
        let mut all = self.0.lock();
        let known = all.entry((table.id, table.is_of_groups())).or_insert_with(make);
        if !Arc::ptr_eq(&known.table, table) {
            *known = make();
        }
        work(known)
    }

    pub(super) fn of(&self, table: &Arc<Table>) -> Arc<TableLayout> {
        self.with(table, |known| known.layout.clone())
    }

    /// What `compile` makes of a table, unless it was made before. One thing of a kind is kept for each table.
    pub(super) fn compiled<T: Send + Sync + 'static>(
        &self,
        table: &Arc<Table>,
        compile: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let of_kind = |known: &mut Known| {
            let compiled = known.compiled.iter().find(|compiled| compiled.is::<T>());
            compiled.and_then(|compiled| compiled.clone().downcast().ok())
        };
        if let Some(compiled) = self.with(table, of_kind) {
            return Ok(compiled);
        }
        // Not under the lock: it asks for layouts.
        let compiled = Arc::new(compile()?);
        self.with(table, |known| known.compiled.push(compiled.clone()));
        Ok(compiled)
    }
}

impl Clone for Layouts {
    /// What is cloned is about to be changed.
    fn clone(&self) -> Layouts {
        Layouts::default()
    }
}

impl fmt::Debug for Layouts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Layouts")
    }
}

impl TableLayout {
    /// The layout of `table`.
    pub fn new(table: &Table) -> TableLayout {
        let mut stored = Vec::new();
        let places = (0..table.columns.len())
            .map(|column| match table.row_key().iter().position(|part| part.column == column) {
                Some(at) if key::is_decodable(table.columns[column].data_type) => ColumnPlace::Key(at),
                _ => {
                    stored.push(column);
                    ColumnPlace::Row(stored.len() - 1)
                }
            })
            .collect::<Box<[ColumnPlace]>>();
        let past = PastLayout::all_of(table, &places);
        let missing = |&column: &usize| table.columns[column].missing.clone();
        TableLayout {
            missing: if past.is_empty() { Box::default() } else { stored.iter().map(missing).collect() },
            past,
            places,
            key_columns: table.row_key().iter().map(|part| part.column).collect(),
            key_types: table.row_key().iter().map(|part| table.columns[part.column].data_type).collect(),
            row: RowLayout::with_version(&table.types_of(&stored), table.layout_version),
            stored: stored.into(),
        }
    }

    /// Where a column lies.
    pub fn place(&self, column: usize) -> ColumnPlace {
        self.places[column]
    }

    /// The columns that rows store, in the row's order.
    pub fn stored_columns(&self) -> &[usize] {
        &self.stored
    }

    /// The layout of the bytes of rows that are written now.
    pub fn row(&self) -> &RowLayout {
        &self.row
    }

    /// The bytes of the column at this position of the row's columns; `None`: NULL.
    #[inline]
    pub(crate) fn raw_column<'a>(&'a self, row: &'a [u8], at: usize) -> Result<Option<&'a [u8]>> {
        match self.row.find_column(row, at) {
            Some(found) => found,
            None => self.raw_column_of_past(row, at),
        }
    }

    #[cold]
    fn raw_column_of_past<'a>(&'a self, row: &'a [u8], at: usize) -> Result<Option<&'a [u8]>> {
        let past = self.past_of(row).ok_or_else(corrupted)?;
        match past.places[at] {
            Some(place) => past.row.raw_column(row, place),
            None => Ok(self.missing(at)),
        }
    }

    /// The layout that a row has which is not of the version of now; `None`: it is damaged.
    pub(crate) fn past_of(&self, row: &[u8]) -> Option<&PastLayout> {
        self.past.get(usize::from(RowLayout::version_of(row)?))
    }

    /// The earlier versions of the rows' layout.
    pub(crate) fn past(&self) -> &[PastLayout] {
        &self.past
    }

    /// What a row that does not have the column at this position has instead; `None`: NULL.
    pub(crate) fn missing(&self, at: usize) -> Option<&[u8]> {
        self.missing.get(at)?.as_deref()
    }

    /// As [`missing`](TableLayout::missing), decoded: it was looked at when the catalog was loaded.
    pub(crate) fn missing_value(&self, at: usize) -> Value {
        self.missing(at).and_then(|raw| decode_raw(raw, self.row.types()[at]).ok()).unwrap_or(Value::Null)
    }

    fn column_of(&self, row: &[u8], at: usize) -> Result<Value> {
        match self.raw_column(row, at)? {
            Some(raw) => decode_raw(raw, self.row.types()[at]),
            None => Ok(Value::Null),
        }
    }

    /// The primary key's columns with their types, in key order.
    #[inline]
    pub(crate) fn key_columns(&self) -> impl Iterator<Item = (usize, DataType)> {
        self.key_columns.iter().copied().zip(self.key_types.iter().copied())
    }

    /// The types of the primary key's columns, in key order.
    pub fn key_types(&self) -> &[DataType] {
        &self.key_types
    }

    /// Whether rows are keyed by a hidden row number.
    pub fn has_row_numbers(&self) -> bool {
        self.key_columns.is_empty()
    }

    /// Appends the key of a row (all columns of the table). Not for tables with row numbers.
    pub fn encode_key(&self, row: &[Value], out: &mut Vec<u8>) {
        for (column, data_type) in self.key_columns() {
            key::encode_value(&row[column], data_type, false, false, out);
        }
    }

    /// Appends the bytes that the tree keeps under the key of a row (all columns of the table).
    pub fn encode_row(&self, row: &[Value], out: &mut Vec<u8>) {
        self.row.encode_with(|at| &row[self.stored[at]], out);
    }

    /// All columns of a stored row.
    pub fn decode(&self, key: &[u8], value: &[u8]) -> Result<Vec<Value>> {
        let mut from_key = self.decode_key(key)?;
        let mut row = Vec::with_capacity(self.places.len());
        for place in &self.places {
            row.push(match *place {
                ColumnPlace::Key(at) => std::mem::replace(&mut from_key[at], Value::Null),
                ColumnPlace::Row(at) => self.column_of(value, at)?,
            });
        }
        Ok(row)
    }

    /// The primary key's values as the key has them (in their ordered form, where the type is not decodable).
    fn decode_key(&self, mut key: &[u8]) -> Result<Vec<Value>> {
        if !self.places.iter().any(|place| matches!(place, ColumnPlace::Key(_))) {
            return Ok(Vec::new());
        }
        self.key_types.iter().map(|&data_type| key::decode_value(&mut key, data_type, false, false)).collect()
    }
}

/// Whether another row may have the same key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Apart {
    /// It may: the entry's key tells the rows apart.
    #[default]
    Never,
    /// For a while: so many bytes of the entry's key are those of its columns.
    Later(usize),
    /// No: the entry's value is the row's key.
    AtOnce,
}

impl Index {
    /// Appends the key of a row's entry, whose columns `encode` appends, saying which are NULL; what it must not be equal to
    /// (see [`Index`] for the format).
    #[inline]
    pub(crate) fn encode_entry_with<E>(
        &self,
        row_key: &[u8],
        out: &mut Vec<u8>,
        mut encode: impl FnMut(&IndexColumn, &mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<Apart, E> {
        let mut is_whole = true;
        for part in &self.columns {
            is_whole &= !encode(part, out)? | self.nulls_equal;
        }
        if self.unique && is_whole {
            return Ok(Apart::AtOnce);
        }
        let columns_end = out.len();
        out.extend_from_slice(row_key);
        Ok(if self.is_deferrable() && is_whole { Apart::Later(columns_end) } else { Apart::Never })
    }

    /// The row key of an entry.
    pub(crate) fn row_key<'k>(&self, table: &Table, key: &'k [u8], value: &'k [u8]) -> Result<&'k [u8]> {
        if !value.is_empty() {
            return Ok(value);
        }
        let mut rest = key;
        for part in &self.columns {
            let data_type = table.key_type(part.column).ok_or_else(corrupted)?;
            key::skip_value(&mut rest, data_type, part.descending, part.nulls_first)?;
        }
        Ok(rest)
    }
}
