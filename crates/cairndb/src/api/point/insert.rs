//! INSERT of one row.

use std::sync::Arc;

use cairn_storage::{Store, Ticket};

use super::operand::Operand;
use super::place::{Place, exists};
use super::{Buffers, Miss, general};
use crate::api::Params;
use crate::catalog::row_number_key;
use crate::dml::{InsertPlan, RowNumbers, Target};
use crate::plan::{Expr, PhysicalNode, PhysicalPlan};
use crate::types::{ValueRef, key};

/// An INSERT of one row of parameters and literals.
#[derive(Debug)]
pub(in crate::api) struct PointInsert {
    target: Arc<Target>,
    /// One per column of the table.
    values: Box<[Operand]>,
}

/// An index entry to be written.
#[derive(Debug, Default)]
pub(in crate::api) struct Entry {
    key: Vec<u8>,
    /// Unique and without NULL: its value is the row's key, and it must not be there yet.
    exclusive: bool,
}

impl PointInsert {
    pub(super) fn of(plan: &InsertPlan) -> Option<PointInsert> {
        let table = &plan.target.table;
        let plain = plan.conflict.is_none()
            && plan.returning.is_none()
            && table.checks.is_empty()
            && table.foreign_keys.is_empty();
        if !plain {
            return None;
        }
        let exprs = only_row(&plan.source)?;
        if exprs.len() != table.columns.len() {
            return None;
        }
        let operand = |(expr, column): (&Expr, &crate::catalog::Column)| Operand::of(expr, column.data_type);
        let values = exprs.iter().zip(&table.columns).map(operand).collect::<Option<_>>()?;
        Some(PointInsert { target: plan.target.clone(), values })
    }

    /// Inserts the row; the ticket of its commit.
    pub(in crate::api) fn run(
        &self,
        place: Place<'_>,
        stamp: u64,
        params: &dyn Params,
        buffers: &mut Buffers,
        (store, row_numbers): (&Store, &RowNumbers),
    ) -> Result<(u64, Option<Ticket>), Miss> {
        let table = &self.target.table;
        self.encode(params, buffers, (store, row_numbers))?;
        let Buffers { key, row, entries, .. } = &*buffers;
        let fresh = self.target.layout.has_row_numbers();
        place.write(stamp, &mut |trees| {
            for (index, entry) in table.indexes.iter().zip(entries) {
                if entry.exclusive && exists(trees, index.tree, &entry.key)? {
                    return general();
                }
            }
            if fresh {
                trees.put(table.tree, key, row)?;
            } else if !trees.insert(table.tree, key, row)? {
                return general();
            }
            for (index, entry) in table.indexes.iter().zip(entries) {
                trees.put(index.tree, &entry.key, if entry.exclusive { key } else { &[] })?;
            }
            Ok(1)
        })
    }

    fn encode(
        &self,
        params: &dyn Params,
        buffers: &mut Buffers,
        (store, row_numbers): (&Store, &RowNumbers),
    ) -> Result<(), Miss> {
        let (table, layout) = (&self.target.table, &self.target.layout);
        for (operand, column) in self.values.iter().zip(&table.columns) {
            let value = operand.value(params).ok_or(Miss::General)?;
            if value.is_null() && column.not_null {
                return Err(Miss::General);
            }
        }
        let value = |column: usize| self.values[column].value(params).unwrap_or(ValueRef::Null);
        buffers.key.clear();
        buffers.row.clear();
        if layout.has_row_numbers() {
            buffers.key.extend_from_slice(&row_number_key(row_numbers.next(store, table.tree)?));
        }
        for (&column, &data_type) in table.primary_key.iter().zip(layout.key_types()) {
            key::encode_ref(value(column), data_type, false, false, &mut buffers.key);
        }
        layout.row().encode_with(|at| value(layout.stored_columns()[at]), &mut buffers.row);
        buffers.entries.resize_with(table.indexes.len(), Entry::default);
        for (index, entry) in table.indexes.iter().zip(&mut buffers.entries) {
            entry.key.clear();
            entry.exclusive = index.unique;
            for part in &index.columns {
                let value = value(part.column);
                entry.exclusive &= !value.is_null();
                let data_type = table.columns[part.column].data_type;
                key::encode_ref(value, data_type, part.descending, part.nulls_first, &mut entry.key);
            }
            if !entry.exclusive {
                entry.key.extend_from_slice(&buffers.key);
            }
        }
        Ok(())
    }
}

/// The expressions of a source that is one row of VALUES.
fn only_row(plan: &PhysicalPlan) -> Option<Vec<Expr>> {
    match &plan.node {
        PhysicalNode::Values { rows } => match rows.as_slice() {
            [row] => Some(row.clone()),
            _ => None,
        },
        PhysicalNode::Project { input, exprs } => {
            let row = only_row(input)?;
            let through = |expr: &Expr| match expr {
                Expr::Column { index, .. } => row.get(*index).cloned(),
                Expr::Literal { .. } | Expr::Parameter { .. } => Some(expr.clone()),
                Expr::Cast { input, to } => match &**input {
                    Expr::Column { index, .. } => {
                        Some(Expr::Cast { input: Box::new(row.get(*index)?.clone()), to: *to })
                    }
                    Expr::Literal { .. } | Expr::Parameter { .. } => Some(expr.clone()),
                    _ => None,
                },
                _ => None,
            };
            exprs.iter().map(through).collect()
        }
        _ => None,
    }
}
