//! SELECT of one row by key.

use std::sync::Arc;

use cairn_storage::{Session, TreeId};

use super::key::KeyTemplate;
use super::row_ref::{RowRef, StoredRow};
use super::shape::PointSource;
use super::{Miss, general, missed};
use crate::api::Params;
use crate::catalog::{Table, TableLayout};
use crate::plan::{Expr, PhysicalPlan};

/// A SELECT of columns of the row with a given key.
#[derive(Debug)]
pub(in crate::api) struct PointSelect {
    pub(super) table: Arc<Table>,
    pub(super) layout: TableLayout,
    pub(super) key: KeyTemplate,
    /// The unique index's tree that leads to the row's key; `None`: the key is the primary key.
    index: Option<TreeId>,
    /// Positions in the table's columns.
    pub(super) outputs: Box<[usize]>,
}

impl PointSelect {
    pub(super) fn of(plan: &PhysicalPlan) -> Option<PointSelect> {
        let source = PointSource::of(plan)?;
        if source.filter.is_some() {
            return None;
        }
        let column = |expr: &Expr| match expr {
            Expr::Column { index, .. } if *index < source.table.columns.len() => Some(*index),
            _ => None,
        };
        Some(PointSelect {
            layout: TableLayout::new(&source.table),
            index: source.index,
            outputs: source.outputs.iter().map(column).collect::<Option<_>>()?,
            key: source.key,
            table: source.table,
        })
    }

    /// Whether the key is the primary key, whose columns' values are then the operands.
    pub(super) fn by_primary_key(&self) -> bool {
        self.index.is_none()
    }

    /// Reads the row in the newest durable state and hands it to `read`. `stamp`: the catalog's, that the plan rests on.
    pub(in crate::api) fn run<R>(
        &self,
        session: &mut Session,
        stamp: u64,
        params: &dyn Params,
        key: &mut Vec<u8>,
        mut read: impl FnMut(RowRef<'_>) -> R,
    ) -> Result<Option<R>, Miss> {
        self.key.encode(params, key).ok_or(Miss::General)?;
        let found = session.read::<_, Miss>(|state| {
            if state.tree_stamp(TreeId::CATALOG) != stamp {
                return general();
            }
            let row_key = match self.index {
                None => key.as_slice(),
                Some(index) => match state.get(index, key)? {
                    Some(row_key) => row_key,
                    None => return Ok(None),
                },
            };
            let value = state.get(self.table.tree, row_key)?;
            Ok(value.map(|value| read(RowRef::stored(StoredRow { plan: self, key: row_key, value, params }))))
        });
        found.map_err(missed)
    }
}
