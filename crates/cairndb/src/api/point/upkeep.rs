//! What must hold of a row that is written, and what must be written with it: NOT NULL, CHECK, the rows it refers to,
//! its index entries.

use std::sync::Arc;

use cairn_storage::{TreeId, WriteError};

use super::eval::{self, Env};
use super::place::{Trees, exists};
use super::{Miss, general};
use crate::catalog::{Catalog, ForeignKey, Index, IndexColumn, Table};
use crate::dml::Target;
use crate::exec::Columns;
use crate::plan::Expr;
use crate::types::{DataType, ValueRef, key};

/// A table with the constraints that point statements can check.
#[derive(Debug)]
pub(super) struct Upkeep {
    pub(super) target: Arc<Target>,
    /// Of all the table's foreign keys, or of those that a change of the row touches.
    pub(super) references: Box<[Reference]>,
}

impl Upkeep {
    /// `touched`: whether the statement gives the column a new value.
    pub(super) fn of(target: &Arc<Target>, catalog: &Catalog, touched: impl Fn(usize) -> bool) -> Option<Upkeep> {
        let table = &target.table;
        if !target.checks.iter().all(eval::is_evaluable) {
            return None;
        }
        let touched = |foreign_key: &&ForeignKey| foreign_key.columns.iter().any(|&column| touched(column));
        let references = table.foreign_keys.iter().filter(touched);
        let references = references.map(|foreign_key| Reference::of(table, foreign_key, catalog));
        Some(Upkeep { target: target.clone(), references: references.collect::<Option<_>>()? })
    }

    pub(super) fn table(&self) -> &Table {
        &self.target.table
    }

    /// CHECK conditions: none may be false.
    pub(super) fn check(&self, row: &dyn Columns<Miss>, env: Env<'_>) -> Result<(), Miss> {
        for condition in &self.target.checks {
            if matches!(eval::eval(condition, row, env)?.get(), ValueRef::Boolean(false)) {
                return Err(Miss::General);
            }
        }
        Ok(())
    }

    /// The keys of the rows that the row refers to.
    pub(super) fn encode_references(&self, row: &dyn Columns<Miss>, lookups: &mut Vec<Lookup>) -> Result<(), Miss> {
        lookups.resize_with(self.references.len(), Lookup::default);
        for (reference, lookup) in self.references.iter().zip(lookups) {
            lookup.wanted = reference.encode(row, &mut lookup.key)?;
        }
        Ok(())
    }

    /// Ends the statement where a row that is referred to is not there.
    pub(super) fn find_references(&self, trees: &mut dyn Trees, lookups: &[Lookup]) -> Result<(), WriteError<Miss>> {
        for (reference, lookup) in self.references.iter().zip(lookups) {
            if lookup.wanted && !exists(trees, reference.tree, &lookup.key)? {
                return general();
            }
        }
        Ok(())
    }
}

/// A foreign key whose referenced row is found by one look at a key.
#[derive(Debug)]
pub(super) struct Reference {
    /// The referenced table's own tree, or a unique index's.
    tree: TreeId,
    /// In the order of that tree's key.
    parts: Box<[Part]>,
}

#[derive(Debug)]
struct Part {
    /// Of the referring table.
    column: usize,
    data_type: DataType,
    descending: bool,
    nulls_first: bool,
}

/// The key of a referenced row.
#[derive(Debug, Default)]
pub(in crate::api) struct Lookup {
    key: Vec<u8>,
    /// No column of the reference is NULL.
    wanted: bool,
}

impl Reference {
    fn of(table: &Table, foreign_key: &ForeignKey, catalog: &Catalog) -> Option<Reference> {
        let parent = catalog.table_by_id(foreign_key.referenced_table)?;
        let (tree, columns) = referenced_key(parent, &foreign_key.referenced_columns)?;
        let part = |referenced: IndexColumn| {
            let at = foreign_key.referenced_columns.iter().position(|&column| column == referenced.column)?;
            let column = *foreign_key.columns.get(at)?;
            let data_type = parent.columns.get(referenced.column)?.data_type;
            let same = same_key_bytes(table.columns.get(column)?.data_type, data_type);
            let IndexColumn { descending, nulls_first, .. } = referenced;
            same.then_some(Part { column, data_type, descending, nulls_first })
        };
        Some(Reference { tree, parts: columns.into_iter().map(part).collect::<Option<_>>()? })
    }

    /// Writes the key over `out`; whether there is one.
    fn encode(&self, row: &dyn Columns<Miss>, out: &mut Vec<u8>) -> Result<bool, Miss> {
        out.clear();
        for part in &self.parts {
            let value = row.column(part.column)?;
            if value.is_null() {
                return Ok(false);
            }
            key::encode_ref(value.get(), part.data_type, part.descending, part.nulls_first, out);
        }
        Ok(true)
    }
}

/// The tree that has one entry for each value of the columns, and its key.
fn referenced_key(parent: &Table, columns: &[usize]) -> Option<(TreeId, Vec<IndexColumn>)> {
    let covers = |key: &mut dyn Iterator<Item = usize>| {
        let key: Vec<usize> = key.collect();
        key.len() == columns.len() && columns.iter().all(|column| key.contains(column))
    };
    if covers(&mut parent.primary_key.iter().copied()) {
        let part = |&column: &usize| IndexColumn { column, descending: false, nulls_first: false };
        return Some((parent.tree, parent.primary_key.iter().map(part).collect()));
    }
    let unique = |index: &&Arc<Index>| index.unique && covers(&mut index.columns.iter().map(|part| part.column));
    let index = parent.indexes.iter().find(unique)?;
    Some((index.tree, index.columns.clone()))
}

/// Equal values of the two types are equal bytes in keys.
pub(super) fn same_key_bytes(a: DataType, b: DataType) -> bool {
    use DataType::*;
    let is_integer = |data_type| matches!(data_type, SmallInt | Integer | BigInt);
    let is_text = |data_type| matches!(data_type, Text | Varchar(_));
    let is_numeric = |data_type| matches!(data_type, Numeric(_));
    a == b || (is_integer(a) && is_integer(b)) || (is_text(a) && is_text(b)) || (is_numeric(a) && is_numeric(b))
}

/// An index entry.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::api) struct Entry {
    pub(super) key: Vec<u8>,
    /// Unique and without NULL: its value is the row's key, and it must not be there yet.
    pub(super) exclusive: bool,
}

impl Entry {
    /// Writes the entry of a row over this one.
    pub(super) fn encode(
        &mut self,
        table: &Table,
        index: &Index,
        row: &impl Columns<Miss>,
        row_key: &[u8],
    ) -> Result<(), Miss> {
        self.key.clear();
        self.exclusive = index.unique;
        for part in &index.columns {
            let value = row.column(part.column)?;
            self.exclusive &= !value.is_null();
            let data_type = table.columns[part.column].data_type;
            key::encode_ref(value.get(), data_type, part.descending, part.nulls_first, &mut self.key);
        }
        if !self.exclusive {
            self.key.extend_from_slice(row_key);
        }
        Ok(())
    }

    /// The entry's value.
    pub(super) fn value<'k>(&self, row_key: &'k [u8]) -> &'k [u8] {
        if self.exclusive { row_key } else { &[] }
    }
}

/// RETURNING: expressions over the row's columns.
pub(super) fn returning(
    exprs: &[Expr],
    row: &dyn Columns<Miss>,
    env: Env<'_>,
    out: &mut Vec<crate::Value>,
) -> Result<(), Miss> {
    out.clear();
    for expr in exprs {
        out.push(eval::eval(expr, row, env)?.into_value());
    }
    Ok(())
}
