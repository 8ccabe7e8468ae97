//! Which column of a table each column of a result shows: what clients are told of it.

use super::expressions::expr::Expr;
use super::modification::Modification;
use super::physical::{PhysicalNode as N, PhysicalPlan};
use crate::catalog::{Table, oid_of};

/// The column of a table that a column of a result shows as it is.
///
/// ```
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.execute("CREATE TABLE item (id int, name text)", ())?;
/// let origins = conn.prepare("SELECT name, id + 1 FROM item")?.origins()?;
/// assert_eq!(origins[0].map(|origin| origin.number), Some(2));
/// assert_eq!(origins[1], None);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnOrigin {
    /// The table's oid in `pg_class`.
    pub relation: u32,
    /// The column's `attnum` in `pg_attribute`.
    pub number: u16,
}

/// Of each column of the plan's rows: the table's column that it shows as it is, if it does. (Of a view's column: that of the table
/// beneath.)
pub(crate) fn origins(plan: &PhysicalPlan) -> Vec<Option<ColumnOrigin>> {
    let of_inputs = |inputs: &[&PhysicalPlan]| inputs.iter().flat_map(|input| origins(input)).collect();
    let mut found: Vec<Option<ColumnOrigin>> = match &plan.node {
        N::TableScan { table, columns, .. }
        | N::IndexScan { table, columns, .. }
        | N::ItemScan { table, columns, .. }
        | N::PointGet { table, columns, .. } => of_table(table, columns),
        N::Project { input, exprs } => shown(input, exprs),
        N::Aggregate { input, group_by, .. } => shown(input, group_by),
        N::IndexJoin { kind, left, table, columns, .. } => {
            let mut found: Vec<_> = of_inputs(&[left]);
            if kind.shows_right() {
                found.extend(of_table(table, columns));
            }
            found
        }
        N::HashJoin { kind, left, right, .. }
        | N::MergeJoin { kind, left, right, .. }
        | N::NestedLoopJoin { kind, left, right, .. } => {
            let shown = [(kind.shows_left(), &**left), (kind.shows_right(), &**right)];
            of_inputs(&shown.into_iter().filter(|(shows, _)| *shows).map(|(_, input)| input).collect::<Vec<_>>())
        }
        N::Filter { input, .. }
        | N::Sort { input, .. }
        | N::TopN { input, .. }
        | N::Limit { input, .. }
        | N::Window { input, .. }
        | N::Distinct { input, .. }
        | N::DistinctOn { input, .. } => of_inputs(&[input]),
        N::Cte { body, .. } => of_inputs(&[body]),
        N::RecursiveCte { .. }
        | N::CteScan { .. }
        | N::Values { .. }
        | N::Append { .. }
        | N::SetOperation { .. }
        | N::SystemScan { .. }
        | N::TableFunction { .. } => Vec::new(),
        N::Modify { change, .. } => returned(change),
    };
    found.resize(plan.fields.len(), None);
    found
}

fn of_table(table: &Table, columns: &[usize]) -> Vec<Option<ColumnOrigin>> {
    let origin = |&column: &usize| {
        let number = table.columns.get(column)?.number.try_into().ok()?;
        Some(ColumnOrigin { relation: oid_of(table.id), number })
    };
    columns.iter().map(origin).collect()
}

/// RETURNING: its expressions are over the row's columns, then over others.
fn returned(change: &Modification) -> Vec<Option<ColumnOrigin>> {
    let of_row = of_table(&change.table, &(0..change.table.columns.len()).collect::<Vec<_>>());
    change.returning.as_ref().map_or_else(Vec::new, |returning| columns_in(&of_row, &returning.exprs))
}

fn shown(input: &PhysicalPlan, exprs: &[Expr]) -> Vec<Option<ColumnOrigin>> {
    columns_in(&origins(input), exprs)
}

/// Of expressions over columns of which this is known.
fn columns_in(known: &[Option<ColumnOrigin>], exprs: &[Expr]) -> Vec<Option<ColumnOrigin>> {
    let origin = |expr: &Expr| match expr {
        Expr::Column { index, .. } => known.get(*index).copied().flatten(),
        _ => None,
    };
    exprs.iter().map(origin).collect()
}
