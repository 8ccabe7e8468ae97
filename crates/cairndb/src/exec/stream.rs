//! Running a plan and taking its rows. (The operators replace this refusal.)

use std::sync::Arc;

use super::{Batch, ExecContext};
use crate::plan::PhysicalPlan;
use crate::{Error, Result};

/// The rows of a running plan.
pub struct RowStream(());

impl RowStream {
    /// The next rows; `None` after the last.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        Ok(None)
    }
}

/// Begins to run a plan.
pub fn execute(_plan: Arc<PhysicalPlan>, _context: ExecContext) -> Result<RowStream> {
    Err(Error::unsupported("running plans"))
}
