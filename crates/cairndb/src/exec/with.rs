//! WITH: a result that several scans read, computed as far as the furthest of them needs.

use std::cell::RefCell;
use std::rc::Rc;

use super::batch::Batch;
use super::context::{Cx, OuterRow};
use super::operator::{BoxOperator, Operator};
use super::spill::BatchList;
use crate::{Error, Result};

/// The rows of a WITH query, so far, and how to get more. Shared by its scans.
pub(crate) struct WithResult(RefCell<State>);

struct State {
    batches: BatchList,
    /// `None`: all rows are there, or (an error of ours, told as such) the producer scans itself.
    producer: Option<BoxOperator>,
    complete: bool,
    /// The outer rows that the query runs under: those of the WITH, not of the scan that asks.
    outer: Option<Rc<OuterRow>>,
}

impl WithResult {
    /// A result that `producer` will compute.
    pub(crate) fn lazy(producer: BoxOperator) -> WithResult {
        let batches = BatchList::default();
        WithResult(RefCell::new(State { batches, producer: Some(producer), complete: false, outer: None }))
    }

    /// A result that is already there.
    pub(crate) fn complete(batches: BatchList) -> WithResult {
        WithResult(RefCell::new(State { batches, producer: None, complete: true, outer: None }))
    }

    /// Gives back the memory of a result that nobody reads any more.
    fn clear(&self, cx: Cx<'_>) {
        self.0.borrow_mut().batches.clear(cx);
    }

    /// Starts over under the given outer rows.
    fn restart(&self, cx: Cx<'_>) {
        let mut state = self.0.borrow_mut();
        cx.shared.note_with_change();
        state.batches.clear(cx);
        state.complete = false;
        state.outer = cx.outer.cloned();
        if let Some(producer) = &mut state.producer {
            producer.reset(cx);
        }
    }

    /// Computes what no scan has asked for.
    fn complete_all(&self, cx: Cx<'_>) -> Result<()> {
        let mut at = self.0.borrow().batches.len();
        while self.batch(at, cx)?.is_some() {
            at += 1;
        }
        Ok(())
    }

    /// The batch at `index`, computed now if no scan got there before.
    pub(crate) fn batch(&self, index: usize, cx: Cx<'_>) -> Result<Option<Batch>> {
        let (mut producer, outer) = {
            let mut state = self.0.borrow_mut();
            if state.complete || index < state.batches.len() {
                return state.batches.get(index, cx);
            }
            let producer = state.producer.take();
            (producer.ok_or_else(|| Error::internal("a WITH query reads itself"))?, state.outer.clone())
        };
        // Not borrowed while it runs: the query may read other WITH results.
        let next = producer.next(Cx { outer: outer.as_ref(), ..cx });
        let mut state = self.0.borrow_mut();
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
    id: usize,
    result: Rc<WithResult>,
    body: BoxOperator,
    /// The definition changes rows: it runs to its end, whether or not the body reads that far.
    changes: bool,
    started: bool,
}

impl With {
    pub(crate) fn new(id: usize, definition: BoxOperator, body: BoxOperator, changes: bool) -> With {
        With { id, result: Rc::new(WithResult::lazy(definition)), body, changes, started: false }
    }
}

impl Operator for With {
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        if !self.started {
            self.started = true;
            self.result.restart(cx);
            cx.shared.set_with_result(self.id, self.result.clone());
        }
        let next = self.body.next(cx)?;
        if next.is_none() && self.changes {
            self.result.complete_all(cx)?;
        }
        Ok(next)
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.started = false;
        self.body.reset(cx);
    }
}

/// Reads a WITH result.
pub(crate) struct WithScan {
    id: usize,
    result: Option<Rc<WithResult>>,
    position: usize,
}

impl WithScan {
    pub(crate) fn new(id: usize) -> WithScan {
        WithScan { id, result: None, position: 0 }
    }
}

impl Operator for WithScan {
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
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
}

/// WITH RECURSIVE's rows: the base's, then those of each round of the step over the rows of the round before.
pub(crate) struct RecursiveUnion {
    id: usize,
    base: BoxOperator,
    step: BoxOperator,
    /// UNION without ALL: the rows that were already there.
    seen: Option<super::distinct::SeenRows>,
    in_base: bool,
    /// What this round has given so far: the next one's input.
    round: BatchList,
    working: Rc<WithResult>,
}

impl RecursiveUnion {
    pub(crate) fn new(
        id: usize,
        base: BoxOperator,
        step: BoxOperator,
        seen: Option<super::distinct::SeenRows>,
    ) -> RecursiveUnion {
        let working = Rc::new(WithResult::complete(BatchList::default()));
        RecursiveUnion { id, base, step, seen, in_base: true, round: BatchList::default(), working }
    }

    fn pull(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        if self.in_base {
            return self.base.next(cx);
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
    fn next_round(&mut self, cx: Cx<'_>) -> bool {
        cx.shared.note_with_change();
        self.in_base = false;
        let round = std::mem::take(&mut self.round);
        let more = !round.is_empty();
        self.working.clear(cx);
        self.working = Rc::new(WithResult::complete(round));
        self.step.reset(cx);
        more
    }
}

impl Operator for RecursiveUnion {
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        loop {
            cx.check()?;
            let Some(mut batch) = self.pull(cx)? else {
                if self.next_round(cx) {
                    continue;
                }
                return Ok(None);
            };
            if let Some(seen) = &mut self.seen {
                batch = seen.keep_new(batch, cx)?;
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
        self.in_base = true;
        self.round.clear(cx);
        self.working.clear(cx);
        if let Some(seen) = &mut self.seen {
            seen.clear(cx);
        }
    }
}
