//! WITH: a result that several scans read, computed as far as the furthest of them needs.

use std::sync::Arc;

use super::context::{Cx, OuterRow};
use super::operator::{BoxOperator, Operator, Step};
use super::row_by_row::{self, RowByRow};
use super::spill::BatchList;
use crate::columns::Batch;
use crate::plan::CteId;
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, Result, Value};

/// The rows of a WITH query, so far, and how to get more. Shared by its scans, which run on one thread at a time.
pub(crate) struct WithResult(Mutex<State>);

struct State {
    batches: BatchList,
    /// `None`: all rows are there, or (an error of ours, told as such) the producer scans itself.
    producer: Option<BoxOperator>,
    complete: bool,
    /// The outer rows that the query runs under: those of the WITH, not of the scan that asks.
    outer: Option<Arc<OuterRow>>,
}

impl WithResult {
    /// A result that `producer` will compute.
    pub(crate) fn lazy(producer: BoxOperator) -> WithResult {
        let batches = BatchList::default();
        WithResult(Mutex::new(State { batches, producer: Some(producer), complete: false, outer: None }))
    }

    /// A result that is already there.
    pub(crate) fn complete(batches: BatchList) -> WithResult {
        WithResult(Mutex::new(State { batches, producer: None, complete: true, outer: None }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Gives back the memory of a result that nobody reads any more.
    fn clear(&self, cx: Cx<'_>) {
        self.state().batches.clear(cx);
    }

    /// Starts over under the given outer rows.
    fn restart(&self, cx: Cx<'_>) {
        let mut state = self.state();
        cx.shared.note_with_change();
        state.batches.clear(cx);
        state.complete = false;
        state.outer = cx.outer.cloned();
        if let Some(producer) = &mut state.producer {
            producer.reset(cx);
        }
    }

    /// Computes what no scan has asked for.
    fn complete_all(&self, cx: Cx<'_>) -> Step<()> {
        let mut at = self.state().batches.len();
        while self.batch(at, cx)?.is_some() {
            at += 1;
        }
        Ok(())
    }

    /// The batch at `index`, computed now if no scan got there before.
    pub(crate) fn batch(&self, index: usize, cx: Cx<'_>) -> Step<Option<Batch>> {
        let (mut producer, outer) = {
            let mut state = self.state();
            if state.complete || index < state.batches.len() {
                return Ok(state.batches.get(index, cx)?);
            }
            let producer = state.producer.take();
            (producer.ok_or_else(|| Error::internal("a WITH query reads itself"))?, state.outer.clone())
        };
        // Not locked while it runs: the query may read other WITH results, and this one by a mistake of ours.
        let next = producer.next(Cx { outer: outer.as_ref(), ..cx });
        let mut state = self.state();
        state.producer = Some(producer);
        match next? {
            Some(batch) => {
                state.batches.push(&batch, cx)?;
                Ok(Some(batch))
            }
            None => {
                state.complete = true;
                Ok(None)
            }
        }
    }
}

/// Runs a body in which a WITH result can be scanned.
pub(crate) struct With {
    id: CteId,
    result: Arc<WithResult>,
    body: BoxOperator,
    /// The definition changes rows: it runs to its end, whether or not the body reads that far.
    changes: bool,
    started: bool,
    /// The body is at its end.
    ended: bool,
}

impl With {
    pub(crate) fn new(id: CteId, definition: BoxOperator, body: BoxOperator, changes: bool) -> With {
        With { id, result: Arc::new(WithResult::lazy(definition)), body, changes, started: false, ended: false }
    }
}

impl Operator for With {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        if !self.started {
            self.started = true;
            self.result.restart(cx);
            cx.shared.set_with_result(self.id, self.result.clone());
        }
        if !self.ended {
            if let Some(batch) = self.body.next(cx)? {
                return Ok(Some(batch));
            }
            self.ended = true;
        }
        if self.changes {
            self.result.complete_all(cx)?;
        }
        Ok(None)
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.started = false;
        self.ended = false;
        self.body.reset(cx);
    }
}

/// Reads a WITH result.
pub(crate) struct WithScan {
    id: CteId,
    result: Option<Arc<WithResult>>,
    position: usize,
}

impl WithScan {
    pub(crate) fn new(id: CteId) -> WithScan {
        WithScan { id, result: None, position: 0 }
    }
}

impl Operator for WithScan {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        cx.check()?;
        let result = match &mut self.result {
            Some(result) => result,
            none => none.insert(cx.shared.with_result(self.id)?),
        };
        let batch = result.batch(self.position, cx)?;
        self.position += 1;
        Ok(batch)
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.result = None;
        self.position = 0;
    }

    fn park(&mut self) -> bool {
        self.result = None;
        self.position = 0;
        true
    }

    fn rebind(&mut self, _parameters: &[Value]) -> bool {
        true
    }
}

/// WITH RECURSIVE's rows: the base's, then those of each round of the step over the rows of the round before.
pub(crate) struct RecursiveUnion {
    id: CteId,
    base: BoxOperator,
    step: BoxOperator,
    /// UNION without ALL: the rows that were already there.
    seen: Option<super::distinct::SeenRows>,
    from: From,
    /// What this round has given so far: the next one's input.
    round: BatchList,
    working: Arc<WithResult>,
    /// The step for rounds of few rows, where there is one.
    by_row: Option<RowByRow>,
}

/// Where a recursive query's rows come from now.
enum From {
    Base,
    Step,
    /// The step, a row at a time: to the end, for a round has no more rows than the one before.
    Rows,
}

impl RecursiveUnion {
    pub(crate) fn new(
        id: CteId,
        base: BoxOperator,
        step: BoxOperator,
        seen: Option<super::distinct::SeenRows>,
        by_row: Option<RowByRow>,
    ) -> RecursiveUnion {
        let working = Arc::new(WithResult::complete(BatchList::default()));
        RecursiveUnion { id, base, step, seen, from: From::Base, round: BatchList::default(), working, by_row }
    }

    fn pull(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        match (&self.from, &mut self.by_row) {
            (From::Base, _) => return self.base.next(cx),
            (From::Rows, Some(by_row)) => return by_row.next(cx),
            (From::Step | From::Rows, _) => {}
        }
        // The step scans the working rows under the same id as the body scans the whole: each gets its own, for a
        // scan looks its result up when it starts.
        let whole = cx.shared.with_result(self.id)?;
        cx.shared.set_with_result(self.id, self.working.clone());
        let batch = self.step.next(cx);
        cx.shared.set_with_result(self.id, whole);
        batch
    }

    /// Makes the rows of this round the input of the next. False: there were none, so it is over.
    fn next_round(&mut self, cx: Cx<'_>) -> Result<bool> {
        cx.shared.note_with_change();
        let mut round = std::mem::take(&mut self.round);
        let more = !round.is_empty();
        self.from = From::Step;
        if let Some(by_row) = &mut self.by_row
            && more
            && round.has_at_most(row_by_row::ROWS_MAX)
        {
            by_row.begin(&round, cx)?;
            round.clear(cx);
            self.from = From::Rows;
            return Ok(true);
        }
        self.working.clear(cx);
        self.working = Arc::new(WithResult::complete(round));
        self.step.reset(cx);
        Ok(more)
    }
}

impl Operator for RecursiveUnion {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        loop {
            cx.check()?;
            let Some(mut batch) = self.pull(cx)? else {
                if !matches!(self.from, From::Rows) && self.next_round(cx)? {
                    continue;
                }
                return Ok(None);
            };
            if let Some(seen) = &mut self.seen {
                batch = seen.keep_new(batch, cx)?;
            }
            if matches!(self.from, From::Rows) {
                return Ok(Some(batch));
            }
            if !batch.is_empty() {
                self.round.push(&batch, cx)?;
                return Ok(Some(batch));
            }
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.base.reset(cx);
        self.step.reset(cx);
        self.from = From::Base;
        if let Some(by_row) = &mut self.by_row {
            by_row.clear();
        }
        self.round.clear(cx);
        self.working.clear(cx);
        if let Some(seen) = &mut self.seen {
            seen.clear(cx);
        }
    }
}
