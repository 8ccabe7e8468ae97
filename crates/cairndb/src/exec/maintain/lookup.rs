//! A row beside the one that a unique key, made of its values, names in a table: an index join, one row at a time.

use std::sync::Arc;

use super::direct::Plain;
use crate::catalog::{Index, Table, TableLayout};
use crate::exec::row_eval::eval;
use crate::exec::scan::{KeyPart, encode_prefix, row_key};
use crate::exec::stored::Stored;
use crate::plan::{Expr, JoinKind, PhysicalNode as N, PhysicalPlan};
use crate::state::Reader;
use crate::types::DataType;
use crate::{Result, Value};

/// See the module.
#[derive(Clone)]
pub(super) struct Lookup {
    kind: JoinKind,
    of: Arc<Looked>,
    /// Of the key, over the row.
    pub(super) keys: Vec<Expr>,
    /// What else is asked, over both.
    pub(super) residual: Option<Expr>,
}

/// Where rows are looked up: the same for all queries of a plan.
struct Looked {
    table: Arc<Table>,
    layout: TableLayout,
    /// The unique index whose key it is; `None`: it is the primary key.
    index: Option<Arc<Index>>,
    parts: Vec<KeyPart>,
    /// Of the table, behind the row's own.
    columns: Vec<usize>,
}

/// What was looked up last: a row as it was and as it is often asks for the same.
#[derive(Default)]
pub(super) struct Last {
    key: Vec<u8>,
    /// What is there; `None`: nothing was looked up yet.
    found: Option<Found>,
    /// Room for a key.
    buffer: Vec<u8>,
}

/// The columns of a row, if there is one.
type Found = Option<Vec<Value>>;

impl Lookup {
    /// An index join, if it is one of this kind; and its left side.
    pub(super) fn of(plan: &PhysicalPlan) -> Option<(Lookup, &PhysicalPlan)> {
        let N::IndexJoin { kind, left, table, index, columns, keys, unique: true, residual, covering, .. } = &plan.node
        else {
            return None;
        };
        let parts = match index {
            None => KeyPart::of_table(table),
            Some(index) => KeyPart::of_index(table, index),
        };
        let is_known = matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        // (A hidden row number is no column.)
        let has_all = columns.iter().all(|&column| column < table.columns.len());
        // (What an index has of its own is not in the table's rows.)
        let is_in_rows = !covering || columns.is_empty();
        if !is_known || !has_all || !is_in_rows || keys.len() != parts.len() {
            return None;
        }
        let (layout, columns) = (TableLayout::new(table), columns.clone());
        let of = Arc::new(Looked { table: table.clone(), layout, index: index.clone(), parts, columns });
        let lookup = Lookup { kind: *kind, of, keys: keys.clone(), residual: residual.clone() };
        Some((lookup, left))
    }

    /// How many columns the row has more behind it.
    pub(super) fn width(&self) -> usize {
        if self.kind.shows_right() { self.of.columns.len() } else { 0 }
    }

    /// Of the columns that `residual` sees behind the row's own.
    pub(super) fn types(&self) -> Vec<DataType> {
        let Looked { table, columns, .. } = &*self.of;
        columns.iter().map(|&column| table.columns[column].data_type).collect()
    }

    /// Puts the columns behind the row's; false: the row does not pass.
    pub(super) fn join(
        &self,
        row: &mut Vec<Value>,
        state: &Reader,
        around: Plain<'_>,
        last: &mut Last,
    ) -> Result<bool> {
        let width = row.len();
        let mut is_found = self.find(row, state, around, last)?.is_some_and(|columns| {
            row.extend_from_slice(columns);
            true
        });
        if is_found && let Some(residual) = &self.residual {
            is_found = eval(residual, &row.as_slice(), around)?.is_true();
        }
        if !is_found || !self.kind.shows_right() {
            row.truncate(width);
        }
        Ok(match self.kind {
            JoinKind::Left if !is_found => {
                row.resize(width + self.of.columns.len(), Value::Null);
                true
            }
            JoinKind::Left => true,
            JoinKind::Anti => !is_found,
            _ => is_found,
        })
    }

    /// The columns of the row that the key names.
    fn find<'l>(
        &self,
        row: &[Value],
        state: &Reader,
        around: Plain<'_>,
        last: &'l mut Last,
    ) -> Result<Option<&'l [Value]>> {
        let Last { key, found, buffer } = last;
        buffer.clear();
        let mut is_whole = true;
        for (expr, part) in self.keys.iter().zip(&self.of.parts) {
            // All are evaluated: one may fail.
            let value = eval(expr, &row, around)?.into_value();
            is_whole &= encode_prefix(std::iter::once(value), std::slice::from_ref(part), buffer);
        }
        if !is_whole {
            return Ok(None);
        }
        if found.is_none() || key != buffer {
            std::mem::swap(key, buffer);
            *found = None;
            *found = Some(self.of.read(key, state, buffer)?);
        }
        Ok(found.as_ref().and_then(Option::as_deref))
    }
}

impl Looked {
    /// The columns of the row that the key names. `buffer`: room for the row's key, where an index leads to it.
    fn read(&self, key: &[u8], state: &Reader, buffer: &mut Vec<u8>) -> Result<Found> {
        let key = match &self.index {
            None => key,
            Some(index) => {
                let found = state.get_with(index.tree, key, |value| -> Result<()> {
                    buffer.clear();
                    buffer.extend_from_slice(row_key(&self.parts, key, value)?);
                    Ok(())
                });
                if found?.transpose()?.is_none() {
                    return Ok(None);
                }
                if self.columns.is_empty() {
                    return Ok(Some(vec![]));
                }
                buffer
            }
        };
        let read = |value: &[u8]| {
            let stored = Stored { layout: &self.layout, key, value };
            self.columns.iter().map(|&column| Ok(stored.datum(column)?.into_value())).collect()
        };
        state.get_with(self.table.tree, key, read)?.transpose()
    }
}
