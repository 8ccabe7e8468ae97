//! `min` and `max` of columns that indexes order: of each the first row that has a value.

use super::access::TableShape;
use super::scan::Wanted;
use crate::Result;
use crate::functions::AggregateKind;
use crate::plan::expressions::equal::same_expr;
use crate::plan::expressions::expr::{AggregateCall, Expr};
use crate::plan::expressions::refs::has_subquery;
use crate::plan::logical::{LogicalPlan, SortKey};
use crate::plan::physical::PhysicalNode as N;
use crate::plan::planner::{Planned, Planner};
use crate::plan::statistics::cost;
use crate::types::{DataType, Value};

/// More ends than this are not looked for.
const ENDS_MAX: usize = 8;

/// One end of a column.
type End<'e> = (&'e Expr, bool);

impl Planner<'_> {
    /// The input cut down to a row for each of the aggregates, if all are `min` or `max` of columns in whose order it can be
    /// read: each is that of those rows, too.
    pub(in crate::plan) fn end_of_index(
        &mut self,
        input: &LogicalPlan,
        group_by: &[Expr],
        aggregates: &[AggregateCall],
    ) -> Result<Option<Planned>> {
        let (Some(ends), Some(shape)) = (ends(aggregates), TableShape::of(input)) else { return Ok(None) };
        // A condition with a subquery would be planned twice, and its own subqueries four times.
        let planned_once = !shape.conditions.iter().any(has_subquery);
        if !group_by.is_empty() || !self.options.rewrites || !planned_once {
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(ends.len());
        for end in &ends {
            let Some(row) = self.row_at(&shape, *end)? else { return Ok(None) };
            rows.push(row);
        }
        match rows.len() {
            1 => Ok(rows.pop()),
            _ => self.all_ends(&shape, rows),
        }
    }

    /// The first row that has a value, in the column's order.
    fn row_at(&mut self, shape: &TableShape, (column, descending): End<'_>) -> Result<Option<Planned>> {
        let mut shape = shape.clone();
        shape.conditions.push(Expr::Not(Box::new(Expr::IsNull(Box::new(column.clone())))));
        let keys = [SortKey { expr: column.clone(), descending, nulls_first: descending }];
        let (scan, covered) = self.scan(&shape, Some(Wanted::sorted(&keys, Some(1.0))))?;
        Ok((covered == keys.len()).then(|| first_row(scan)))
    }

    /// The rows of several ends, if reading the input once is not less.
    fn all_ends(&mut self, shape: &TableShape, rows: Vec<Planned>) -> Result<Option<Planned>> {
        let total: f64 = rows.iter().map(|row| row.estimate().total).sum();
        let (whole, _) = self.scan(shape, None)?;
        let whole = whole.estimate();
        if total >= whole.total + whole.rows * cost::OPERATOR * rows.len() as f64 {
            return Ok(None);
        }
        let (fields, count) = (rows.first().map(|row| row.plan.fields.clone()).unwrap_or_default(), rows.len() as f64);
        let node = N::Append { inputs: rows.into_iter().map(|row| row.plan).collect() };
        Ok(Some(Planned::new(node, fields, shape.infos(), 0.0, total, count)))
    }
}

/// The ends that the aggregates are, each once, if they are nothing else.
fn ends(aggregates: &[AggregateCall]) -> Option<Vec<End<'_>>> {
    let mut ends: Vec<End<'_>> = vec![];
    for AggregateCall { aggregate, args, filter, .. } in aggregates {
        let ([column @ Expr::Column { .. }], None) = (args.as_slice(), filter) else { return None };
        let descending = match aggregate.kind {
            AggregateKind::Min => false,
            AggregateKind::Max => true,
            _ => return None,
        };
        if !ends.iter().any(|(known, end)| same_expr(known, column) && *end == descending) {
            ends.push((column, descending));
        }
    }
    (1..=ENDS_MAX).contains(&ends.len()).then_some(ends)
}

fn first_row(input: Planned) -> Planned {
    let below = input.estimate();
    let limit = Some(Expr::Literal { value: Value::BigInt(1), data_type: DataType::BigInt });
    let total = below.startup + (below.total - below.startup) / below.rows.max(1.0) + cost::LOOKUP;
    let fields = input.plan.fields.clone();
    Planned::new(
        N::Limit { input: input.plan, limit, offset: None, ties: vec![] },
        fields,
        input.columns,
        below.startup,
        total,
        1.0,
    )
}
