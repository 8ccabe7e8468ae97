//! `min` and `max` of a column that an index orders: the first row that has a value.

use super::expr::{AggregateCall, Expr};
use super::logical::{LogicalPlan, SortKey};
use super::planner::{Planned, Planner};
use super::refs::has_subquery;
use super::scan::Wanted;
use super::{access::TableShape, cost, physical::PhysicalNode as N};
use crate::Result;
use crate::functions::AggregateKind;
use crate::types::{DataType, Value};

impl Planner<'_> {
    /// The input cut down to one row, if it can be read in the order of the only aggregate, a `min` or `max` of a column.
    pub(super) fn end_of_index(
        &mut self,
        input: &LogicalPlan,
        group_by: &[Expr],
        aggregates: &[AggregateCall],
    ) -> Result<Option<Planned>> {
        let [AggregateCall { aggregate, args, filter: None, .. }] = aggregates else { return Ok(None) };
        let ([column @ Expr::Column { .. }], Some(mut shape)) = (args.as_slice(), TableShape::of(input)) else {
            return Ok(None);
        };
        let descending = match aggregate.kind {
            AggregateKind::Min => false,
            AggregateKind::Max => true,
            _ => return Ok(None),
        };
        // A condition with a subquery would be planned twice, and its own subqueries four times.
        let planned_once = !shape.conditions.iter().any(has_subquery);
        if !group_by.is_empty() || !self.options.rewrites || !planned_once {
            return Ok(None);
        }
        shape.conditions.push(Expr::Not(Box::new(Expr::IsNull(Box::new(column.clone())))));
        let keys = [SortKey { expr: column.clone(), descending, nulls_first: descending }];
        let (scan, covered) = self.scan(&shape, Some(Wanted::sorted(&keys, Some(1.0))))?;
        Ok((covered == keys.len()).then(|| first_row(scan)))
    }
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
