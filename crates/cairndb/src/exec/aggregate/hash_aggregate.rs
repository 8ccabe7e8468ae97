//! Groups rows by hash and aggregates each group. Groups come out in the order of their first rows.

use std::sync::Arc;

use super::call::Call;
use super::groups::GroupKeys;
use super::state::Groups;
use crate::Result;
use crate::exec::batch::{Batch, row_number};
use crate::exec::compare::rows_equal;
use crate::exec::context::{Charge, Cx};
use crate::exec::expr::{Evaluator, Frame};
use crate::exec::operator::{BoxOperator, Operator};
use crate::exec::vector::Vector;

/// See the module.
pub(crate) struct HashAggregate {
    input: BoxOperator,
    group_by: Vec<Evaluator>,
    calls: Vec<Call>,
    keys: GroupKeys,
    /// Equal groups lie together: all but the last are complete, and can go.
    sorted: bool,
    stage: Stage,
    charge: Charge,
    /// Sorted input: the part of a batch that begins with a group of its own.
    held_back: Option<Batch>,
    input_done: bool,
}

enum Stage {
    Reading,
    /// The next group to put out.
    Writing(usize),
    Done,
}

impl HashAggregate {
    pub(crate) fn new(input: BoxOperator, group_by: Vec<Evaluator>, calls: Vec<Call>, sorted: bool) -> HashAggregate {
        let types: Vec<_> = group_by.iter().map(Evaluator::data_type).collect();
        let sorted = sorted && !group_by.is_empty();
        HashAggregate {
            input,
            group_by,
            calls,
            keys: GroupKeys::new(&types),
            sorted,
            stage: Stage::Reading,
            charge: Charge::default(),
            held_back: None,
            input_done: false,
        }
    }

    fn group_count(&self) -> usize {
        if self.group_by.is_empty() { 1 } else { self.keys.len() }
    }

    fn read(&mut self, cx: Cx<'_>) -> Result<()> {
        loop {
            cx.check()?;
            let Some(batch) = self.next_input(cx)? else {
                self.input_done = true;
                break;
            };
            self.take(batch, cx)?;
            if self.held_back.is_some() {
                break;
            }
        }
        let groups = self.group_count();
        for call in &mut self.calls {
            call.grow(groups);
            call.settle(cx)?;
        }
        Ok(())
    }

    fn next_input(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        match self.held_back.take() {
            Some(batch) => Ok(Some(batch)),
            None => self.input.next(cx),
        }
    }

    fn take(&mut self, mut batch: Batch, cx: Cx<'_>) -> Result<()> {
        let mut keys = self.evaluate_keys(&batch, cx)?;
        if self.sorted {
            let boundary = self.boundary(&keys, batch.len());
            if boundary < batch.len() {
                // What lies before the boundary completes its groups; the rest waits until these are out.
                self.held_back = Some(batch.slice(boundary, batch.len()));
                batch = batch.slice(0, boundary);
                keys = self.evaluate_keys(&batch, cx)?;
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        let assigned;
        let rows = if self.group_by.is_empty() {
            Groups::One(batch.len())
        } else {
            assigned = self.keys.assign(&keys, batch.len());
            Groups::Each(&assigned)
        };
        let groups = self.group_count();
        for call in &mut self.calls {
            call.update(Frame::from(&batch), rows, groups, cx)?;
        }
        let bytes_per_group: usize = self.calls.iter().map(Call::group_bytes).sum();
        self.charge.set(self.keys.memory_bytes() + groups * bytes_per_group, cx.shared)
    }

    fn evaluate_keys(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Vec<Arc<Vector>>> {
        self.group_by.iter_mut().map(|key| key.vector(Frame::from(batch), cx)).collect()
    }

    /// Where the last group of the batch begins, if groups that are complete lie before it; the batch's end otherwise.
    fn boundary(&self, keys: &[Arc<Vector>], len: usize) -> usize {
        let last = len.saturating_sub(1);
        let start = (0..last).rev().find(|&row| !rows_equal(keys, row, keys, last)).map_or(0, |row| row + 1);
        let groups = self.keys.len();
        let continues = groups > 0 && start == 0 && rows_equal(keys, 0, self.keys.keys(), groups - 1);
        if (start == 0 && groups == 0) || continues { len } else { start }
    }

    fn write(&mut self, start: usize, count: usize) -> Result<Option<Batch>> {
        let end = self.group_count().min(start + count);
        if start >= end {
            return Ok(None);
        }
        let rows: Vec<u32> = (start..end).map(row_number).collect();
        let mut columns: Vec<Arc<Vector>> = self.keys.keys().iter().map(|key| Arc::new(key.gather(&rows))).collect();
        for call in &mut self.calls {
            let answers = call.finish(start..end)?;
            columns.push(Arc::new(Vector::from_values(call.returns(), &answers)?));
        }
        Ok(Some(Batch::new(columns, end - start)))
    }

    fn forget_groups(&mut self, cx: Cx<'_>) {
        self.keys.clear();
        self.calls.iter_mut().for_each(|call| call.reset(cx));
        self.charge.clear(cx.shared);
    }
}

impl Operator for HashAggregate {
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        let max = cx.context().batch_sizes.max.max(1);
        loop {
            match self.stage {
                Stage::Reading => {
                    self.read(cx)?;
                    self.stage = Stage::Writing(0);
                }
                Stage::Writing(start) => {
                    if let Some(batch) = self.write(start, max)? {
                        self.stage = Stage::Writing(start + batch.len());
                        return Ok(Some(batch));
                    }
                    self.forget_groups(cx);
                    self.stage = if self.input_done { Stage::Done } else { Stage::Reading };
                }
                Stage::Done => return Ok(None),
            }
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.forget_groups(cx);
        self.stage = Stage::Reading;
        self.held_back = None;
        self.input_done = false;
    }
}
