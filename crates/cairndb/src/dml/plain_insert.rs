//! INSERT of rows of which nothing is asked but NOT NULL and uniqueness: from the columns of a batch to the trees, without
//! values of their own in between.

use std::sync::Arc;

use super::insert::InsertPlan;
use super::{DmlContext, Target};
use crate::catalog::{Column, row_number_key};
use crate::exec::Vector;
use crate::types::{DataType, ValueRef, key};
use crate::{Result, Value};

/// Reusable buffers over one table.
pub(super) struct PlainInsert<'a> {
    target: &'a Target,
    context: &'a DmlContext<'a>,
    key: Vec<u8>,
    bytes: Vec<u8>,
}

/// A row whose values are lent.
pub(super) trait LentRow<'b>: Copy {
    /// The column's value; none where it can not be lent.
    fn lend(self, column: usize) -> Option<ValueRef<'b>>;

    /// Asked of rows that can be lent.
    #[inline]
    fn value(self, column: usize) -> ValueRef<'b> {
        self.lend(column).unwrap_or(ValueRef::Null)
    }
}

/// A row of a batch.
#[derive(Clone, Copy)]
pub(super) struct BatchRow<'b> {
    pub(super) columns: &'b [Arc<Vector>],
    pub(super) row: usize,
}

impl<'b> LentRow<'b> for BatchRow<'b> {
    #[inline]
    fn lend(self, column: usize) -> Option<ValueRef<'b>> {
        self.columns.get(column)?.value_ref(self.row)
    }

    #[inline]
    fn value(self, column: usize) -> ValueRef<'b> {
        self.columns[column].value_ref_or(self.row, || ValueRef::Null)
    }
}

impl<'b> LentRow<'b> for &'b [Value] {
    #[inline]
    fn lend(self, column: usize) -> Option<ValueRef<'b>> {
        self.get(column).map(ValueRef::from)
    }
}

/// The value can be lent, is not NULL where it must not be, and is plainly not too long.
fn is_fit(value: Option<ValueRef<'_>>, column: &Column) -> bool {
    match (value, column.data_type) {
        (None, _) => false,
        (Some(ValueRef::Null), _) => !column.not_null,
        (Some(ValueRef::Text(text)), DataType::Varchar(Some(limit))) => text.len() <= limit as usize,
        (Some(ValueRef::Text(text)), DataType::Char(length)) => text.chars().count() == length as usize,
        _ => true,
    }
}

impl<'a> PlainInsert<'a> {
    /// `None`: rows have to satisfy more than that, or something is to be made of them.
    pub(super) fn of(plan: &'a InsertPlan, context: &'a DmlContext<'a>) -> Option<PlainInsert<'a>> {
        let target = &*plan.target;
        let table = &target.table;
        let is_plain = plan.conflict.is_none()
            && plan.returning.is_none()
            && table.checks.is_empty()
            && table.foreign_keys.is_empty();
        is_plain.then(|| PlainInsert { target, context, key: Vec::new(), bytes: Vec::new() })
    }

    /// Inserts a row. False, and nothing was done: it is not as the table wants it (or cannot be lent), which whoever
    /// inserts rows one by one puts into words.
    pub(super) fn insert<'b>(&mut self, row: impl LentRow<'b>) -> Result<bool> {
        let table = &self.target.table;
        let mut all = table.columns.iter().enumerate();
        if !all.all(|(at, column)| is_fit(row.lend(at), column)) || self.is_in_index(row)? {
            return Ok(false);
        }
        self.encode_key(row)?;
        if !self.put_row(row)? {
            return Ok(false);
        }
        for index in &table.indexes {
            self.bytes.clear();
            let value = index.encode_entry_with(table, |column| row.value(column), &self.key, &mut self.bytes);
            self.context.tx.put(index.tree, &self.bytes, value)?;
        }
        Ok(true)
    }

    /// Whether a unique index has the row's key.
    fn is_in_index<'b>(&mut self, row: impl LentRow<'b>) -> Result<bool> {
        let target = self.target;
        for index in target.table.indexes.iter().filter(|index| index.unique) {
            let reader = self.context.tx.reader();
            self.bytes.clear();
            let complete = index.encode_columns_with(&target.table, |column| row.value(column), &mut self.bytes);
            if complete && reader.get_with(index.tree, &self.bytes, |_| ())?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn encode_key<'b>(&mut self, row: impl LentRow<'b>) -> Result<()> {
        let (table, layout) = (&self.target.table, &self.target.layout);
        self.key.clear();
        if layout.has_row_numbers() {
            let number = self.context.row_numbers.next(self.context.store, table.tree)?;
            self.key.extend_from_slice(&row_number_key(number));
        }
        for (&column, &data_type) in table.primary_key.iter().zip(layout.key_types()) {
            key::encode_ref(row.value(column), data_type, false, false, &mut self.key);
        }
        Ok(())
    }

    /// False: the key is taken.
    fn put_row<'b>(&mut self, row: impl LentRow<'b>) -> Result<bool> {
        let (tree, layout) = (self.target.table.tree, &self.target.layout);
        let stored = layout.stored_columns();
        self.bytes.clear();
        layout.row().encode_with(|at| row.value(stored[at]), &mut self.bytes);
        match layout.has_row_numbers() {
            true => self.context.tx.put(tree, &self.key, &self.bytes).map(|()| true),
            false => self.context.tx.insert(tree, &self.key, &self.bytes),
        }
        .map_err(Into::into)
    }
}
