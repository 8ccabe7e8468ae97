//! Rows of constants for INSERT, which are no plan.

use std::sync::Arc;

use super::expressions::expr::Expr;
use super::logical::{Field, LogicalPlan};
use crate::catalog::{Column, Table};
use crate::columns::Batch;
use crate::types::{DataType, Value};

/// Complete rows of a table, in its columns' types.
#[derive(Clone, Debug)]
pub struct ConstantRows {
    pub(crate) table: Arc<Table>,
    /// Where they are not few; their text is known to be text.
    pub(crate) batches: Vec<Batch>,
    /// Where they are.
    pub(crate) few: Vec<Vec<Value>>,
    /// Columns that have the same expression in every row, a default: NULL in the rows, for it has yet to be computed.
    pub(crate) computed: Vec<(usize, Expr)>,
}

impl ConstantRows {
    /// The rows as values, if they are few, but for what is computed.
    pub(crate) fn few(&self) -> Option<&[Vec<Value>]> {
        (!self.few.is_empty()).then_some(&self.few)
    }

    /// The rows otherwise.
    pub(crate) fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Columns (ascending) and what is computed for every row of them.
    pub(crate) fn computed(&self) -> &[(usize, Expr)] {
        &self.computed
    }

    /// The row, if it is one.
    pub(crate) fn only_row(&self) -> Option<Vec<Expr>> {
        match self.few.as_slice() {
            [row] => Some(self.exprs(row)),
            _ => None,
        }
    }

    /// The same rows as expressions.
    pub(crate) fn plan(&self) -> LogicalPlan {
        let of_batch = |batch: &Batch| (0..batch.len()).map(|row| self.exprs(&batch.row(row))).collect::<Vec<_>>();
        let rows = self.few.iter().map(|row| self.exprs(row)).chain(self.batches.iter().flat_map(of_batch));
        LogicalPlan::Values { rows: rows.collect(), fields: fields_of(&self.table) }
    }

    fn exprs(&self, row: &[Value]) -> Vec<Expr> {
        let columns = self.table.columns.iter().zip(row);
        let mut exprs: Vec<Expr> = columns.map(|(column, value)| literal(value.clone(), column.data_type)).collect();
        for (column, expr) in &self.computed {
            if let Some(slot) = exprs.get_mut(*column) {
                *slot = expr.clone();
            }
        }
        exprs
    }
}

/// A constant for a column of this type.
pub(crate) fn literal(value: Value, column: DataType) -> Expr {
    let data_type = if column.is_string() && !value.is_null() { column.base() } else { column };
    Expr::Literal { value, data_type }
}

/// The columns of all of a table.
pub(crate) fn fields_of(table: &Table) -> Vec<Field> {
    let field = |column: &Column| Field { name: column.name.clone(), data_type: column.data_type };
    table.columns.iter().map(field).collect()
}
