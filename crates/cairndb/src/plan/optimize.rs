//! The optimizer's stages, in order.

use super::logical::LogicalPlan;
use super::lower::Planner;
use super::number;
use super::options::OptimizerOptions;
use super::physical::PhysicalPlan;
use crate::Result;
use crate::catalog::Catalog;

/// Rewrites a logical plan and chooses how to run it.
pub fn optimize(plan: LogicalPlan, _catalog: &Catalog, options: &OptimizerOptions) -> Result<PhysicalPlan> {
    let mut physical = Planner::new(options).lower(plan)?;
    number::assign(&mut physical);
    Ok(physical)
}
