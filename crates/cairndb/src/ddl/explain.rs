//! EXPLAIN ANALYZE of what makes a relation of a query's rows: it is made, and what running the query took is told.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use super::context::Ddl;
use crate::command::{ExplainMade, ExplainRequest, Makes};
use crate::exec::{self, ExecContext};
use crate::plan::{LogicalPlan, NodeStatistics, PhysicalPlan, optimize};
use crate::prepared::{ExplainedRun, report};
use crate::sync;
use crate::{Error, Result};

/// What is to be told of the query, and what there is to tell once it has run.
pub(super) struct Explaining {
    told: ExplainRequest,
    run: RefCell<Option<ExplainedRun>>,
}

impl Ddl<'_> {
    pub(super) fn explain_made(&mut self, explain: &ExplainMade) -> Result<&'static str> {
        let told = explain.told;
        self.explaining = Some(Explaining { told, run: RefCell::default() });
        let started = sync::now();
        match &explain.makes {
            Makes::Table(create) => self.create_table_as(create)?,
            Makes::View(create) => self.create_materialized_view(create)?,
            Makes::Cursor(_) => return Err(Error::internal("a cursor is no relation")),
        };
        self.done.affected = 0;
        let run = self.explaining.take().and_then(|explaining| explaining.run.into_inner()).map(|run| {
            let execution = sync::since(started).saturating_sub(run.planning);
            ExplainedRun { execution, ..run }
        });
        self.done.rows = Some(report(told, run.as_ref(), self.options));
        Ok("EXPLAIN")
    }

    /// Where a query runs of which is told what it does.
    pub(super) fn explained(&self, mut exec: ExecContext) -> ExecContext {
        if let Some(Explaining { told, .. }) = &self.explaining {
            (exec.analyze, exec.buffers) = (true, told.buffers);
        }
        exec
    }

    /// Keeps what a query did, if it is to be told.
    pub(super) fn explain_run(
        &self,
        plan: Arc<PhysicalPlan>,
        planning: Duration,
        statistics: impl FnOnce() -> Vec<NodeStatistics>,
    ) {
        if let Some(explaining) = &self.explaining {
            let (statistics, execution) = (Some(statistics()), Duration::ZERO);
            let run = ExplainedRun { plan, statistics, planning, planning_pages: None, execution };
            *explaining.run.borrow_mut() = Some(run);
        }
    }

    /// The same of a query that is not read.
    pub(super) fn explain_unread(&self, plan: LogicalPlan) -> Result<()> {
        if self.explaining.is_none() {
            return Ok(());
        }
        let started = sync::now();
        let plan = Arc::new(optimize(plan, self.options)?);
        let stream = exec::execute(plan.clone(), self.explained(self.dml.exec.clone()))?;
        self.explain_run(plan, sync::since(started), || stream.statistics());
        Ok(())
    }
}
