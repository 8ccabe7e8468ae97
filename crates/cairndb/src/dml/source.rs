//! The input rows of a data-changing statement.

use std::sync::Arc;

use super::DmlContext;
use crate::exec::{self, Batch, ExecContext};
use crate::plan::PhysicalPlan;
use crate::{Result, Value};

/// All rows of a plan, read before the first write so that the statement never sees its own changes. They stay in
/// columns: compact, and values are made one row at a time.
pub(super) struct Source(Vec<Batch>);

impl Source {
    pub(super) fn read(plan: &Arc<PhysicalPlan>, context: &DmlContext<'_>) -> Result<Source> {
        let mut stream = exec::execute(plan.clone(), context.exec.clone())?;
        let mut batches = Vec::new();
        while let Some(batch) = stream.next_batch()? {
            batches.push(batch);
        }
        if let Some(statistics) = context.statistics {
            statistics.replace(stream.statistics());
        }
        Ok(Source(batches))
    }

    /// The rows in batches, with a check against cancellation before each.
    pub(super) fn for_each_batch(
        self,
        context: &ExecContext,
        mut each: impl FnMut(&Batch) -> Result<()>,
    ) -> Result<()> {
        for mut batch in self.0 {
            context.check()?;
            batch.check_text();
            each(&batch)?;
        }
        Ok(())
    }

    /// The rows, each checked against cancellation now and then.
    pub(super) fn for_each(self, context: &ExecContext, mut each: impl FnMut(Vec<Value>) -> Result<()>) -> Result<()> {
        for batch in self.0 {
            context.check()?;
            for row in 0..batch.len() {
                each(batch.row(row))?;
            }
        }
        Ok(())
    }
}
