//! Foreign keys as rows refer by them: the referenced row is found by one look at a key.

use std::sync::Arc;

use cairn_storage::TreeId;

use super::Stop;
use crate::catalog::{Catalog, ForeignKey, IndexColumn, Table};
use crate::plan::Columns;
use crate::types::{DataType, EvalContext, ValueRef, cast, key};
use crate::{Error, Result, Value};

/// A foreign key of a table.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(super) parent: Arc<Table>,
    /// The referenced table's own tree, or a unique index's.
    pub(crate) tree: TreeId,
    /// In the order of that tree's key.
    parts: Box<[Part]>,
    /// MATCH FULL.
    full: bool,
}

#[derive(Debug)]
struct Part {
    /// Of the referring table.
    column: usize,
    from: DataType,
    /// The referenced column's.
    data_type: DataType,
    descending: bool,
    nulls_first: bool,
}

/// Whether there is a row to be looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A column of the reference is NULL.
    #[default]
    No,
    Yes,
    /// The referenced table cannot have such a value, or MATCH FULL refuses it.
    Nowhere,
}

/// The key of a referenced row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) key: Vec<u8>,
    pub(crate) wanted: Wanted,
}

impl Reference {
    pub(super) fn of(table: &Table, foreign_key: &ForeignKey, catalog: &Catalog) -> Result<Reference> {
        let missing = || Error::internal("what a foreign key refers to is missing");
        let parent = catalog.table_by_id(foreign_key.referenced_table).ok_or_else(missing)?;
        let (tree, columns) = referenced_key(parent, &foreign_key.referenced_columns).ok_or_else(missing)?;
        let part = |referenced: IndexColumn| {
            let at = foreign_key.referenced_columns.iter().position(|&column| column == referenced.column)?;
            let column = *foreign_key.columns.get(at)?;
            let data_type = parent.columns.get(referenced.column)?.data_type;
            let from = table.columns.get(column)?.data_type;
            let IndexColumn { descending, nulls_first, .. } = referenced;
            Some(Part { column, from, data_type, descending, nulls_first })
        };
        let parts = columns.into_iter().map(part).collect::<Option<_>>().ok_or_else(missing)?;
        Ok(Reference { parent: parent.clone(), tree, parts, full: foreign_key.full })
    }

    /// Writes the key of the row that `row` refers to over `lookup`.
    pub(crate) fn encode(
        &self,
        row: &(impl Columns<Stop> + ?Sized),
        eval: &EvalContext,
        lookup: &mut Lookup,
    ) -> Result<(), Stop> {
        lookup.key.clear();
        lookup.wanted = Wanted::Yes;
        for part in &self.parts {
            let value = row.column(part.column)?;
            if value.is_null() {
                lookup.wanted = self.wanted_of_null(row)?;
                return Ok(());
            }
            if same_key_bytes(part.from, part.data_type) || is_padded(part.from, part.data_type) {
                part.encode(value.get(), &mut lookup.key);
                continue;
            }
            match converted(&value.into_value(), part.from, part.data_type, eval) {
                Some(value) => part.encode((&value).into(), &mut lookup.key),
                // Another column may be NULL.
                None => lookup.wanted = Wanted::Nowhere,
            }
        }
        Ok(())
    }
}

impl Reference {
    /// What a row with NULL in a column of the reference refers to: where it matches fully, and another is not NULL, nothing can be.
    fn wanted_of_null(&self, row: &(impl Columns<Stop> + ?Sized)) -> Result<Wanted, Stop> {
        if self.full {
            for part in &self.parts {
                if !row.column(part.column)?.is_null() {
                    return Ok(Wanted::Nowhere);
                }
            }
        }
        Ok(Wanted::No)
    }

    /// The key of the row that has these values of the referenced columns.
    pub(crate) fn referenced_key(&self, foreign_key: &ForeignKey, values: &[Value]) -> Vec<u8> {
        let mut key = Vec::new();
        for part in &self.parts {
            let at = foreign_key.columns.iter().position(|&column| column == part.column);
            part.encode(at.and_then(|at| values.get(at)).map_or(ValueRef::Null, ValueRef::from), &mut key);
        }
        key
    }
}

impl Part {
    fn encode(&self, value: ValueRef<'_>, out: &mut Vec<u8>) {
        key::encode_ref(value, self.data_type, self.descending, self.nulls_first, out);
    }
}

/// Whether values of the referring column compare with those that it refers to as `char(n)` does: without the blanks at their ends.
pub(crate) fn is_padded(from: DataType, to: DataType) -> bool {
    matches!(from, DataType::Text | DataType::Varchar(_) | DataType::Char(_)) && matches!(to, DataType::Char(_))
}

/// A value of one side's type as the other side's; `None`: the other side cannot have such a value.
pub(crate) fn converted(value: &Value, from: DataType, to: DataType, eval: &EvalContext) -> Option<Value> {
    if from == to {
        return Some(value.clone());
    }
    let converted = cast(value, from, to, eval).ok()?;
    // A value that the conversion rounded or cut is not there on the other side.
    (cast(&converted, to, from, eval).ok()? == *value).then_some(converted)
}

/// The tree that has one entry for each value of the columns, and its key.
fn referenced_key(parent: &Table, columns: &[usize]) -> Option<(TreeId, Vec<IndexColumn>)> {
    let index = parent.unique_index_of(columns)?;
    Some((index.tree, index.columns.clone()))
}

/// Equal values of the two types are equal bytes in keys.
pub(crate) fn same_key_bytes(a: DataType, b: DataType) -> bool {
    use DataType::*;
    let is_integer = |data_type| matches!(data_type, SmallInt | Integer | BigInt);
    let is_text = |data_type| matches!(data_type, Text | Varchar(_));
    let is_numeric = |data_type| matches!(data_type, Numeric(_));
    a == b || (is_integer(a) && is_integer(b)) || (is_text(a) && is_text(b)) || (is_numeric(a) && is_numeric(b))
}
