//! DISTINCT, DISTINCT ON, INTERSECT and EXCEPT: rows told apart by hash.

use std::sync::Arc;

use super::aggregate::GroupKeys;
use super::batch::Batch;
use super::context::{Charge, Cx};
use super::expr::{Evaluator, Frame};
use super::operator::{BoxOperator, Operator};
use super::vector::Vector;
use crate::plan::SetOperator;
use crate::{DataType, Result};

/// Rows seen so far, each once.
#[derive(Default)]
pub(crate) struct SeenRows {
    keys: Option<GroupKeys>,
    charge: Charge,
}

impl SeenRows {
    /// The rows whose keys were not seen before, in order; they are from now on.
    pub(crate) fn new_rows(&mut self, keys: &[Arc<Vector>], len: usize, cx: Cx<'_>) -> Result<Vec<u32>> {
        let types = || keys.iter().map(|key| key.data_type()).collect::<Vec<DataType>>();
        let seen = self.keys.get_or_insert_with(|| GroupKeys::new(&types()));
        let mut known = seen.len();
        let mut new = vec![];
        for (row, group) in (0..).zip(seen.assign(keys, len)) {
            if group as usize == known {
                known += 1;
                new.push(row);
            }
        }
        self.charge.set(seen.memory_bytes(), cx.shared)?;
        Ok(new)
    }

    /// The rows of a batch that were not seen before.
    pub(crate) fn keep_new(&mut self, batch: Batch, cx: Cx<'_>) -> Result<Batch> {
        let new = self.new_rows(batch.columns(), batch.len(), cx)?;
        Ok(if new.len() == batch.len() { batch } else { batch.gather(&new) })
    }

    pub(crate) fn clear(&mut self, cx: Cx<'_>) {
        self.keys = None;
        self.charge.clear(cx.shared);
    }
}

/// Each different row once, or the first row for each value of some expressions.
pub(crate) struct Distinct {
    input: BoxOperator,
    /// Empty: whole rows.
    on: Vec<Evaluator>,
    seen: SeenRows,
}

impl Distinct {
    pub(crate) fn new(input: BoxOperator, on: Vec<Evaluator>) -> Distinct {
        Distinct { input, on, seen: SeenRows::default() }
    }
}

impl Operator for Distinct {
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        while let Some(batch) = self.input.next(cx)? {
            cx.check()?;
            let batch = if self.on.is_empty() {
                self.seen.keep_new(batch, cx)?
            } else {
                let frame = Frame::from(&batch);
                let keys = self.on.iter_mut().map(|key| key.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
                let new = self.seen.new_rows(&keys, batch.len(), cx)?;
                batch.gather(&new)
            };
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.seen.clear(cx);
    }
}

/// INTERSECT and EXCEPT.
pub(crate) struct SetOperation {
    op: SetOperator,
    all: bool,
    left: BoxOperator,
    right: BoxOperator,
    keys: GroupKeys,
    /// By different row: how often the right side has it and the left has not used it up.
    counts: Vec<u64>,
    started: bool,
    charge: Charge,
}

impl SetOperation {
    pub(crate) fn new(op: SetOperator, all: bool, [left, right]: [BoxOperator; 2], types: &[DataType]) -> SetOperation {
        let keys = GroupKeys::new(types);
        SetOperation { op, all, left, right, keys, counts: vec![], started: false, charge: Charge::default() }
    }

    fn assign(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Vec<u32>> {
        let groups = self.keys.assign(batch.columns(), batch.len());
        self.counts.resize(self.keys.len(), 0);
        self.charge.set(self.keys.memory_bytes() + self.counts.len() * 8, cx.shared)?;
        Ok(groups)
    }

    fn read_right(&mut self, cx: Cx<'_>) -> Result<()> {
        while let Some(batch) = self.right.next(cx)? {
            cx.check()?;
            for group in self.assign(&batch, cx)? {
                self.counts[group as usize] += 1;
            }
        }
        Ok(())
    }

    /// Whether a left row is in the result.
    fn keeps(&mut self, group: u32) -> bool {
        let count = &mut self.counts[group as usize];
        let matched = *count > 0;
        match (self.op, self.all) {
            (SetOperator::Intersect, true) => {
                *count = count.saturating_sub(1);
                matched
            }
            (SetOperator::Intersect, false) => {
                *count = 0;
                matched
            }
            (_, true) => {
                *count = count.saturating_sub(1);
                !matched
            }
            (_, false) => {
                // Once put out, the row counts as one of the right side's.
                *count = 1;
                !matched
            }
        }
    }
}

impl Operator for SetOperation {
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        if !std::mem::replace(&mut self.started, true) {
            self.read_right(cx)?;
        }
        while let Some(batch) = self.left.next(cx)? {
            cx.check()?;
            let groups = self.assign(&batch, cx)?;
            let rows: Vec<u32> =
                (0..).zip(groups).filter(|&(_, group)| self.keeps(group)).map(|(row, _)| row).collect();
            if !rows.is_empty() {
                return Ok(Some(batch.gather(&rows)));
            }
        }
        Ok(None)
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.left.reset(cx);
        self.right.reset(cx);
        self.keys.clear();
        self.counts.clear();
        self.started = false;
        self.charge.clear(cx.shared);
    }
}
