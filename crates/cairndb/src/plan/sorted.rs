//! In which order the rows of a plan come, and windows, which want one.

use super::access::primary_columns;
use super::cost;
use super::estimate::ColumnInfo;
use super::expr::{AggregateCall, Expr};
use super::logical::{Field, JoinKind, LogicalPlan, SortKey};
use super::physical::{KeyRange, PhysicalNode as N, PhysicalPlan};
use super::planner::{ExprCost, Planned, Planner};
use super::refs::is_volatile;
use super::scan::{Wanted, column_index};
use super::walk;
use super::window::WindowCall;
use crate::Result;
use crate::catalog::{IndexColumn, Table};

/// The order that the rows are known to come in, by columns of the plan's row.
pub(super) fn order_of(plan: &PhysicalPlan) -> Vec<SortKey> {
    match &plan.node {
        N::Sort { keys, .. } | N::TopN { keys, .. } => {
            keys.iter().take_while(|key| column_index(&key.expr).is_some()).cloned().collect()
        }
        N::Window { order, .. } => order.clone(),
        N::Filter { input, .. } | N::Limit { input, .. } | N::Distinct { input } | N::DistinctOn { input, .. } => {
            order_of(input)
        }
        N::TableScan { table, columns, ranges, reverse, .. } => {
            let key = primary_columns(table);
            order_of_key(&key, table, columns, (ranges, *reverse))
        }
        N::IndexScan { table, index, columns, ranges, reverse, .. } => {
            order_of_key(&index.columns, table, columns, (ranges, *reverse))
        }
        N::HashJoin { kind: JoinKind::RightSemi | JoinKind::RightAnti, right, .. } => order_of(right),
        // Whose output begins with the left side's columns.
        N::HashJoin { kind, left, .. } | N::NestedLoopJoin { kind, left, .. } | N::IndexJoin { kind, left, .. } => {
            match kind {
                JoinKind::Right | JoinKind::Full => vec![],
                _ => order_of(left),
            }
        }
        // Groups are in the order of their first rows.
        N::Aggregate { input, group_by, .. } => {
            let grouped = |key: SortKey| {
                let column = column_index(&key.expr)?;
                let index = group_by.iter().position(|expr| column_index(expr) == Some(column))?;
                Some(SortKey { expr: Expr::Column { index, data_type: key.expr.data_type() }, ..key })
            };
            order_of(input).into_iter().map_while(grouped).collect()
        }
        N::Project { input, exprs } => {
            let shown = |key: SortKey| {
                let column = column_index(&key.expr)?;
                let index = exprs.iter().position(|expr| column_index(expr) == Some(column))?;
                Some(SortKey { expr: Expr::Column { index, data_type: key.expr.data_type() }, ..key })
            };
            order_of(input).into_iter().map_while(shown).collect()
        }
        _ => vec![],
    }
}

/// The order of a key's entries within ranges of it.
fn order_of_key(
    key: &[IndexColumn],
    table: &Table,
    columns: &[usize],
    (ranges, reverse): (&[KeyRange], bool),
) -> Vec<SortKey> {
    let [range] = ranges else { return vec![] };
    let type_of = |column: usize| table.columns.get(column).map(|column| column.data_type);
    // An array in place of a value stands for its elements.
    let is_many = |(part, value): (&IndexColumn, &Expr)| {
        value.data_type().is_array() && !type_of(part.column).is_some_and(|own| own.is_array())
    };
    if key.iter().zip(&range.prefix).any(is_many) {
        return vec![];
    }
    let shown = |(place, part): (usize, &IndexColumn)| {
        let at = columns.iter().position(|&column| column == part.column);
        match at.zip(type_of(part.column)) {
            Some((index, data_type)) => Some(Some(SortKey {
                expr: Expr::Column { index, data_type },
                descending: part.descending != reverse,
                nulls_first: part.nulls_first != reverse,
            })),
            // It has one value only.
            None if place < range.prefix.len() => Some(None),
            None => None,
        }
    };
    key.iter().enumerate().map_while(shown).flatten().collect()
}

/// Whether the rows of each group come together, and may be taken twice.
pub(super) fn comes_grouped(input: &PhysicalPlan, group_by: &[Expr], aggregates: &[AggregateCall]) -> bool {
    let is_plain = |call: &AggregateCall| !walk::of_aggregate(call).into_iter().any(is_volatile);
    !group_by.is_empty() && fits_window(&order_of(input), group_by, &[]) && aggregates.iter().all(is_plain)
}

fn is_same(left: &SortKey, right: &SortKey) -> bool {
    let columns = column_index(&left.expr).zip(column_index(&right.expr));
    columns.is_some_and(|(a, b)| a == b) && (left.descending, left.nulls_first) == (right.descending, right.nulls_first)
}

/// Whether rows in one order are in another.
pub(super) fn begins_with(order: &[SortKey], wanted: &[SortKey]) -> bool {
    order.len() >= wanted.len() && order.iter().zip(wanted).all(|(a, b)| is_same(a, b))
}

/// Whether rows in this order have partitions together, and in each the order that is wanted.
fn fits_window(order: &[SortKey], partition_by: &[Expr], order_by: &[SortKey]) -> bool {
    let columns = |exprs: &[Expr]| exprs.iter().map(column_index).collect::<Option<std::collections::BTreeSet<_>>>();
    let Some(partition) = columns(partition_by) else { return false };
    let Some((first, rest)) = order.split_at_checked(partition.len()) else { return false };
    let first: Vec<Expr> = first.iter().map(|key| key.expr.clone()).collect();
    columns(&first) == Some(partition) && begins_with(rest, order_by)
}

impl Planner<'_> {
    /// Window functions over the input, sorted for them unless it comes so.
    pub(super) fn window(
        &mut self,
        input: LogicalPlan,
        partition_by: Vec<Expr>,
        order_by: Vec<SortKey>,
        calls: Vec<WindowCall>,
        fields: Vec<Field>,
    ) -> Result<Planned> {
        let ascending = |expr: &Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
        let keys: Vec<SortKey> = partition_by.iter().map(ascending).chain(order_by.iter().cloned()).collect();
        let (input, order) = match self.ordered(input, Wanted { keys: &keys, rows: None })? {
            (input, true) => (input, keys),
            (input, false) => match order_of(&input.plan) {
                order if self.options.ordering && fits_window(&order, &partition_by, &order_by) => (input, order),
                _ => (self.sorted(input, keys.clone())?, keys),
            },
        };
        let below = input.estimate();
        let (partition_by, order_by) = (self.exprs(partition_by)?, self.keys(order_by)?);
        let calls = self.window_calls(calls)?;
        let keys = partition_by.iter().chain(order_by.iter().map(|key| &key.expr));
        let cost = ExprCost::of(keys.chain(calls.iter().flat_map(WindowCall::exprs)));
        let each = cost.row + cost::OPERATOR * calls.len() as f64;
        let mut columns = input.columns;
        columns.extend(calls.iter().map(|call| ColumnInfo::computed(call.function.returns(), below.rows)));
        let node = N::Window { input: input.plan, partition_by, order_by, calls, order };
        let (startup, total) = (below.startup + cost.once, below.total + cost.once + below.rows * each);
        Ok(Planned::new(node, fields, columns, startup, total, below.rows))
    }
}
