//! Running a plan: the executor's face to the layers above.

use std::sync::Arc;

use super::batch::Batch;
use super::build::build;
use super::context::{Cx, ExecContext, NodeCounters, Shared};
use super::operator::BoxOperator;
use crate::Result;
use crate::plan::{Field, PhysicalPlan};

/// A running query: its rows, as they are computed.
pub struct RowStream {
    plan: Arc<PhysicalPlan>,
    shared: Shared,
    operator: BoxOperator,
    done: bool,
}

/// What one plan node did (`EXPLAIN ANALYZE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeStatistics {
    /// Rows it returned, over all its runs.
    pub rows: u64,
    /// Batches it returned.
    pub batches: u64,
    /// Times it ran from its start to its end.
    pub loops: u64,
    /// Nanoseconds spent in it and its inputs.
    pub nanos: u64,
    /// The most bytes that it held at once.
    pub memory_bytes_max: u64,
    /// Bytes that it wrote to temporary files.
    pub spilled_bytes: u64,
    /// Temporary files that it made.
    pub spill_files: u64,
}

/// Starts a plan. Nothing is read before the first [`RowStream::next_batch`].
pub fn execute(plan: Arc<PhysicalPlan>, context: ExecContext) -> Result<RowStream> {
    let nodes = if context.analyze { plan.node_count() } else { 0 };
    let shared = Shared::new(context, nodes);
    let operator = build(&plan, &shared)?;
    Ok(RowStream { plan, shared, operator, done: false })
}

impl RowStream {
    pub(crate) fn plan(&self) -> &Arc<PhysicalPlan> {
        &self.plan
    }

    /// The output columns.
    pub fn fields(&self) -> &[Field] {
        &self.plan.fields
    }

    /// The next rows, at least one; `None` at the end, and after an error.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        let cx = Cx { shared: &self.shared, outer: None };
        let batch = cx.check().and_then(|()| self.operator.next(cx));
        self.done = !matches!(batch, Ok(Some(_)));
        batch
    }

    /// By node id, what each node did so far. Empty unless the context asked for it (`analyze`).
    pub fn statistics(&self) -> Vec<NodeStatistics> {
        self.shared.counters.iter().map(NodeCounters::statistics).collect()
    }
}
