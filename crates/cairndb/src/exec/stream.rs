//! Running a plan: the executor's face to the layers above.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::build::build;
use super::context::{Cx, ExecContext, NodeCounters, Shared};
use super::operator::{BoxOperator, NoAnswer, Step, Writes, until_done};
use super::spill::BatchList;
use super::with::WithResult;
use crate::columns::Batch;
use crate::plan::{CteId, NodeStatistics, PhysicalPlan};
use crate::state::Reader;
use crate::sync::{self, Mutex, MutexGuard};
use crate::{Result, Value};

/// A running query: its rows, as they are computed.
pub struct RowStream {
    plan: Arc<PhysicalPlan>,
    shared: Shared,
    /// `None`: it failed.
    operator: Option<BoxOperator>,
    /// Where the operators go when the execution is over.
    home: Option<Kept>,
    done: bool,
}

/// The operators of a plan between two executions, for those that can be used again. Cloning it gives the same place.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Option<Parked>>>);

/// Operators, and the plan that they were made for.
type Parked = (Arc<PhysicalPlan>, BoxOperator);

impl Kept {
    fn parked(&self) -> MutexGuard<'_, Option<Parked>> {
        self.0.lock()
    }

    /// The plan's operators, ready to run with these parameters. An execution that is still running has them: then a
    /// second one builds its own.
    fn take(&self, plan: &Arc<PhysicalPlan>, parameters: &[Value]) -> Option<BoxOperator> {
        let (made_for, mut operator) = self.parked().take()?;
        (Arc::ptr_eq(&made_for, plan) && operator.rebind(parameters)).then_some(operator)
    }
}

/// Starts a plan. Nothing is read before the first [`RowStream::next_batch`].
pub fn execute(plan: Arc<PhysicalPlan>, context: ExecContext) -> Result<RowStream> {
    execute_kept(plan, context, None)
}

/// As [`execute`], with the operators of the plan's last execution where they are kept and can be used again.
pub(crate) fn execute_kept(plan: Arc<PhysicalPlan>, context: ExecContext, kept: Option<&Kept>) -> Result<RowStream> {
    let nodes = if context.analyze { plan.node_count() } else { 0 };
    let shared = Shared::new(context, nodes);
    let operator = match kept.and_then(|kept| kept.take(&plan, &shared.context.parameters)) {
        Some(operator) => operator,
        None => build(&plan, &shared)?,
    };
    Ok(RowStream { plan, shared, operator: Some(operator), home: kept.cloned(), done: false })
}

/// As [`execute_kept`], of a plan that scans results which are there: each by the number of its `CteScan`. Those of `empty`
/// have no rows.
pub(crate) fn execute_over(
    plan: Arc<PhysicalPlan>,
    context: ExecContext,
    kept: &Kept,
    results: &[(CteId, Batch)],
    empty: &[CteId],
) -> Result<RowStream> {
    let stream = execute_kept(plan, context, Some(kept))?;
    let cx = Cx { shared: &stream.shared, outer: None, writes: None };
    for (id, batch) in results {
        let mut rows = BatchList::default();
        rows.push(batch, cx)?;
        stream.shared.set_with_result(*id, Arc::new(WithResult::complete(rows)));
    }
    for id in empty {
        stream.shared.set_with_result(*id, Arc::new(WithResult::complete(BatchList::default())));
    }
    Ok(stream)
}

impl Drop for RowStream {
    fn drop(&mut self) {
        if let (Some(home), Some(mut operator)) = (self.home.take(), self.operator.take())
            && operator.park()
        {
            *home.parked() = Some((self.plan.clone(), operator));
        }
    }
}

impl RowStream {
    pub(crate) fn plan(&self) -> &Arc<PhysicalPlan> {
        &self.plan
    }

    pub(crate) fn context(&self) -> &ExecContext {
        &self.shared.context
    }

    /// What its operators share.
    pub(crate) fn shared_mut(&mut self) -> &mut Shared {
        &mut self.shared
    }

    /// Ends it before its rows are read. From here on it refers to this state and no other, and to no transaction.
    pub(crate) fn finish(&mut self, reader: &Reader) {
        (self.done, self.operator) = (true, None);
        let context = &mut self.shared.context;
        context.reader = reader.clone();
        context.eval = Arc::new(context.eval.with_calls(None));
        context.sequences = None;
    }

    /// The next rows, at least one; `None` at the end, and after an error.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        until_done(|| self.step_somewhere())
    }

    /// As `next_batch`, but for the end of `turn`, after which the answer may be "not yet": there is more to do.
    pub(crate) fn next_within(&mut self, turn: Duration) -> Step<Option<Batch>> {
        self.step_until(sync::now().checked_add(turn), None)
    }

    /// A step that is to end then, of a plan that changes rows: `writes` does it.
    pub(crate) fn step_writing(&mut self, writes: &dyn Writes, end: Option<Instant>) -> Step<Option<Batch>> {
        self.step_until(end, Some(writes))
    }

    fn step_until(&mut self, end: Option<Instant>, writes: Option<&dyn Writes>) -> Step<Option<Batch>> {
        self.shared.begin_turn(end);
        let answer = self.step(writes);
        self.shared.begin_turn(None);
        answer
    }

    /// A step towards the next rows.
    fn step(&mut self, writes: Option<&dyn Writes>) -> Step<Option<Batch>> {
        let Some(operator) = self.operator.as_mut().filter(|_| !self.done) else { return Ok(None) };
        let cx = Cx { shared: &self.shared, outer: None, writes };
        let answer = cx.check().map_err(NoAnswer::from).and_then(|()| operator.next(cx));
        match &answer {
            Ok(Some(_)) | Err(NoAnswer::NotYet) => {}
            Ok(None) => self.done = true,
            Err(NoAnswer::Failed(_)) => (self.done, self.operator) = (true, None),
        }
        answer
    }

    #[cfg(not(test))]
    fn step_somewhere(&mut self) -> Step<Option<Batch>> {
        self.step(None)
    }

    /// Where operators hesitate, another thread may take the step.
    #[cfg(test)]
    fn step_somewhere(&mut self) -> Step<Option<Batch>> {
        match self.shared.hesitation.moves() {
            true => super::hesitant::on_another_thread(|| self.step(None)),
            false => self.step(None),
        }
    }

    /// By node id, what each node did so far. Empty unless the context asked for it (`analyze`).
    pub fn statistics(&self) -> Vec<NodeStatistics> {
        self.shared.counters.iter().map(NodeCounters::statistics).collect()
    }
}
