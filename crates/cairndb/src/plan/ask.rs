//! Relations that the system makes can be asked for the rows of one object, where a condition says whose.

use std::sync::Arc;

use super::expr::Expr;
use super::keys::{KeyPart, key_condition};
use super::physical::PhysicalNode as N;
use super::planner::{Planned, Planner};
use crate::Result;

/// About how many rows one object has.
const FEW: f64 = 10.0;

impl Planner<'_> {
    /// Has a scan of such a relation ask for those rows only that one of the conditions can hold for, which stay where they are.
    pub(super) fn ask_for_one(&mut self, input: &mut Planned, parts: &[Expr]) -> Result<()> {
        let N::SystemScan { relation, columns, only: None, .. } = &input.plan.node else { return Ok(()) };
        let fields = &input.plan.fields;
        let type_of = |column: usize| fields.get(column).map(|field| field.data_type);
        let asked = parts.iter().find_map(|part| {
            let condition = key_condition(part, &type_of)?;
            let KeyPart::Equal(value) = condition.key else { return None };
            let column = *columns.get(condition.column)?;
            relation.relation().key(column).map(|_| (column, value))
        });
        let Some((column, value)) = asked else { return Ok(()) };
        let value = self.exprs(vec![value])?.pop();
        let plan = Arc::make_mut(&mut input.plan);
        plan.estimate.rows = plan.estimate.rows.min(FEW);
        plan.estimate.total = plan.estimate.total.min(plan.estimate.startup + FEW);
        if let N::SystemScan { only, .. } = &mut plan.node {
            *only = value.map(|value| (column, value));
        }
        Ok(())
    }
}
