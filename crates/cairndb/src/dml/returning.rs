//! RETURNING.

use super::DmlContext;
use crate::exec::Collected;
use crate::plan::{CteId, PhysicalNode, PhysicalPlan, Returning};
use crate::{Result, Value};

/// The change that a statement is, beneath what its RETURNING asks, and the parts of a WITH that this may ask, too.
pub(crate) fn beneath_returning(plan: &PhysicalPlan) -> &PhysicalPlan {
    let mut within = plan;
    loop {
        within = match &within.node {
            PhysicalNode::Cte { id: CteId::Returned(_), definition, .. } => return definition,
            PhysicalNode::Cte { body, .. } | PhysicalNode::RecursiveCte { body, .. } => body,
            _ => return plan,
        }
    }
}

/// What a data-changing statement did.
#[derive(Debug, Default)]
pub(crate) struct DmlResult {
    pub(crate) affected: u64,
    /// Empty where there is no RETURNING.
    pub(crate) rows: Collected,
    /// What RETURNING made of a row that has yet to be counted.
    pub(super) returned: Vec<Value>,
}

impl DmlResult {
    /// Of a statement that runs in this context.
    pub(super) fn new(context: &DmlContext<'_>, returning: Option<&Returning>) -> DmlResult {
        let rows = returning.map_or_else(Collected::default, |of| Collected::of(context.exec, &of.fields));
        DmlResult { rows, ..DmlResult::default() }
    }

    /// Counts affected rows where there is no RETURNING.
    pub(super) fn add_many(&mut self, rows: u64) {
        self.affected += rows;
    }

    /// Counts one affected row.
    pub(super) fn add(&mut self) -> Result<()> {
        self.affected += 1;
        // Without RETURNING there is never anything.
        match self.returned.is_empty() {
            true => Ok(()),
            false => self.rows.push(std::mem::take(&mut self.returned)),
        }
    }
}
