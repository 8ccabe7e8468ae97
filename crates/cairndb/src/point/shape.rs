//! Looks through projections to the `PointGet` below.

use std::sync::Arc;

use cairn_storage::TreeId;

use super::key::KeyTemplate;
use crate::catalog::Table;
use crate::dml::row::{Stop, Trees, look_up};
use crate::plan::{Expr, KeyedRow, PhysicalNode, PhysicalPlan, expr_children, is_volatile, walk};
use crate::types::Used;

/// A plan that reads one row by key and computes `outputs` from it.
pub(super) struct PointSource {
    pub(super) table: Arc<Table>,
    /// The unique index's tree that leads to the row's key; `None`: the key is the primary key.
    pub(super) index: Option<TreeId>,
    pub(super) key: KeyTemplate,
    /// Over the table's columns; `Table::ROW_NUMBER` is the row number.
    pub(super) outputs: Vec<Expr>,
    /// Over the table's columns.
    pub(super) filter: Option<Expr>,
    /// What is counted.
    used: Used,
}

/// Finds the key of a row in its table's tree.
#[derive(Debug)]
pub(super) struct Finder {
    pub(super) key: KeyTemplate,
    pub(super) index: Option<TreeId>,
    /// What is counted.
    pub(super) used: Used,
}

impl PointSource {
    pub(super) fn of(plan: &PhysicalPlan) -> Option<PointSource> {
        match &plan.node {
            PhysicalNode::Project { input, exprs } => {
                let mut source = PointSource::of(input)?;
                source.outputs = project(exprs, &source.outputs)?;
                Some(source)
            }
            PhysicalNode::PointGet { table, index, columns, key, filter } => {
                let template = KeyTemplate::of(table, index.as_deref(), key)?;
                let column = |&index: &usize| Some(Expr::Column { index, data_type: column_type(table, index)? });
                let outputs: Vec<Expr> = columns.iter().map(column).collect::<Option<_>>()?;
                let filter = match filter {
                    Some(filter) => Some(substitute(filter, &outputs)?),
                    None => None,
                };
                let used = table.used_by(index.as_deref());
                let index = index.as_ref().map(|index| index.tree);
                Some(PointSource { table: table.clone(), index, key: template, outputs, filter, used })
            }
            _ => None,
        }
    }

    /// The source that reads this row and computes `outputs` from it.
    pub(super) fn of_row(row: KeyedRow, outputs: Vec<Expr>) -> Option<PointSource> {
        let KeyedRow { table, index, key, filter } = row;
        let key = KeyTemplate::of(&table, index.as_deref(), &key)?;
        let used = table.used_by(index.as_deref());
        let index = index.map(|index| index.tree);
        Some(PointSource { table, index, key, outputs, filter, used })
    }

    pub(super) fn finder(self) -> Finder {
        Finder { key: self.key, index: self.index, used: self.used }
    }
}

/// The columns of a table's row.
pub(super) fn all_columns(table: &Table) -> Vec<Expr> {
    let columns = table.columns.iter().enumerate();
    columns.map(|(index, column)| Expr::Column { index, data_type: column.data_type }).collect()
}

fn column_type(table: &Table, index: usize) -> Option<crate::types::DataType> {
    match index {
        Table::ROW_NUMBER => Some(crate::types::DataType::BigInt),
        _ => table.columns.get(index).map(|column| column.data_type),
    }
}

impl Finder {
    /// The row's key, once its own key is encoded in `key`; `None`: no such row.
    pub(super) fn row_key<'b>(
        &self,
        trees: &mut dyn Trees,
        key: &'b [u8],
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<&'b [u8]>, Stop> {
        let Some(index) = self.index else { return Ok(Some(key)) };
        Ok(look_up(trees, index, key, buffer)?.then_some(buffer))
    }
}

/// Whether the plan gives no rows, whatever the parameters.
pub(super) fn is_empty(plan: &PhysicalPlan) -> bool {
    match &plan.node {
        PhysicalNode::Values { rows } => rows.is_empty(),
        PhysicalNode::Project { input, .. } | PhysicalNode::Filter { input, .. } => is_empty(input),
        _ => false,
    }
}

/// `expr` over the inputs of `columns`; `None` where a column is missing or volatile, or a subquery looks at the row.
pub(super) fn substitute(expr: &Expr, columns: &[Expr]) -> Option<Expr> {
    moved(expr, columns, &|column| !is_volatile(column))
}

/// What a projection makes of `columns`, over their inputs: as [`substitute`], but a volatile column is moved if it is worked out
/// as often as before, which is once. `None` also where one would not be worked out any more.
pub(super) fn project(exprs: &[Expr], columns: &[Expr]) -> Option<Vec<Expr>> {
    let mut uses = vec![0; columns.len()];
    exprs.iter().for_each(|expr| count_uses(expr, true, &mut uses));
    if columns.iter().zip(uses).any(|(column, uses)| uses != 1 && is_volatile(column)) {
        return None;
    }
    exprs.iter().map(|expr| moved(expr, columns, &|_| true)).collect()
}

/// How often each column is worked out for a row; 2 is also that of one which may not be.
fn count_uses(expr: &Expr, certain: bool, uses: &mut [u32]) {
    if let Expr::Column { index, .. } = expr
        && let Some(uses) = uses.get_mut(*index)
    {
        *uses += if certain { 1 } else { 2 };
    }
    let all = matches!(expr, Expr::Call { .. } | Expr::Cast { .. } | Expr::Not(_) | Expr::IsNull(_) | Expr::Let { .. });
    for (place, child) in expr_children(expr).enumerate() {
        count_uses(child, certain && (all || place == 0), uses);
    }
}

fn moved(expr: &Expr, columns: &[Expr], may_move: &dyn Fn(&Expr) -> bool) -> Option<Expr> {
    let mut complete = true;
    let mut substituted = expr.clone();
    walk::rewrite(&mut substituted, 0, &mut |expr, depth| match expr {
        Expr::Column { index, .. } if depth == 0 => {
            let column = columns.get(*index).filter(|column| may_move(column)).cloned();
            complete &= column.is_some();
            column
        }
        Expr::Subquery(_) | Expr::Subplan(_) | Expr::Outer { .. } => {
            complete = false;
            None
        }
        _ => None,
    });
    complete.then_some(substituted)
}
