//! Relations that the system makes can be asked for the rows of one object, where a condition says whose.

use std::sync::Arc;

use super::keys::{KeyPart, key_condition};
use crate::Result;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::expr_uses_outer_row;
use crate::plan::expressions::walk::walk;
use crate::plan::physical::{PhysicalNode as N, PhysicalPlan};
use crate::plan::planner::{Planned, Planner};
use crate::plan::statistics::cost;

/// About how many rows one object has.
pub(in crate::plan) const FEW: f64 = 10.0;

impl Planner<'_> {
    /// Has a scan of such a relation ask for those rows only that one of the conditions can hold for, which stay where they are.
    pub(in crate::plan) fn ask_for_one(&mut self, input: &mut Planned, parts: &[Expr]) -> Result<()> {
        let Some((column, value)) = asked_key(&input.plan, parts) else { return Ok(()) };
        let value = self.expr(value)?;
        ask(&mut input.plan, (column, value));
        Ok(())
    }
}

/// The column of such a relation, by its position among all, that one of the conditions says the value of, if rows can be asked for by that
/// and are not yet. The plan is the relation's scan, or one that filters its rows.
pub(in crate::plan) fn asked_key(plan: &PhysicalPlan, parts: &[Expr]) -> Option<(usize, Expr)> {
    let (relation, columns) = match &plan.node {
        N::SystemScan { relation, columns, only: None } => (relation, columns),
        N::Filter { input, predicate } if is_alone(predicate) => return asked_key(input, parts),
        _ => return None,
    };
    let type_of = |column: usize| plan.fields.get(column).map(|field| field.data_type);
    parts.iter().find_map(|part| {
        let condition = key_condition(part, &type_of)?;
        let KeyPart::Equal(value) = condition.key else { return None };
        let column = *columns.get(condition.column)?;
        relation.is_key(column).then_some((column, value))
    })
}

/// Whether it means the same wherever another row is pushed around it.
fn is_alone(predicate: &Expr) -> bool {
    let mut has_plan = false;
    walk(predicate, 0, &mut |expr, _| has_plan |= matches!(expr, Expr::Subplan { .. }));
    !has_plan && !expr_uses_outer_row(predicate)
}

fn ask(plan: &mut Arc<PhysicalPlan>, key: (usize, Expr)) {
    let plan = Arc::make_mut(plan);
    plan.estimate.rows = plan.estimate.rows.min(FEW);
    plan.estimate.total = plan.estimate.total.min(plan.estimate.startup + FEW * cost::ROW);
    match &mut plan.node {
        N::SystemScan { only, .. } => *only = Some(key),
        N::Filter { input, .. } => ask(input, key),
        _ => {}
    }
}
