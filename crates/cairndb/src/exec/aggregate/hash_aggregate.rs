//! Groups rows by hash and aggregates each group. Groups come out in the order of their first rows.
//!
//! Beyond `work_mem` no further group begins: rows of groups that are not known are set aside, in partitions, and each
//! partition is grouped by itself ([`super::spilled`]).

use std::sync::Arc;

use super::call::Call;
use super::groups::GroupKeys;
use super::spilled::SpilledGroups;
use super::state::Groups;
use crate::columns::{Batch, NO_ROW, Vector, hash_rows, row_number};
use crate::exec::context::{Charge, Cx};
use crate::exec::expr::{Evaluator, Frame, rebind_all};
use crate::exec::operator::{BoxOperator, Operator, Step};
use crate::{Result, Value};

/// See the module.
pub(crate) struct HashAggregate {
    input: BoxOperator,
    group_by: Vec<Evaluator>,
    calls: Vec<Call>,
    keys: GroupKeys,
    stage: Stage,
    charge: Charge,
    spilled: Option<SpilledGroups>,
}

enum Stage {
    Reading,
    /// The next group to put out.
    Writing(usize),
    /// What the partitions gave.
    Merging,
    Done,
}

impl HashAggregate {
    pub(crate) fn new(input: BoxOperator, group_by: Vec<Evaluator>, calls: Vec<Call>) -> HashAggregate {
        let types: Vec<_> = group_by.iter().map(Evaluator::data_type).collect();
        HashAggregate {
            input,
            group_by,
            calls,
            keys: GroupKeys::new(&types),
            stage: Stage::Reading,
            charge: Charge::default(),
            spilled: None,
        }
    }

    fn group_count(&self) -> usize {
        if self.group_by.is_empty() { 1 } else { self.keys.len() }
    }

    fn read(&mut self, cx: Cx<'_>) -> Step<()> {
        loop {
            cx.check()?;
            let Some(batch) = self.input.next(cx)? else { break };
            self.take(batch, cx)?;
        }
        let groups = self.group_count();
        for call in &mut self.calls {
            call.grow(groups);
            call.settle(cx)?;
        }
        Ok(())
    }

    fn take(&mut self, batch: Batch, cx: Cx<'_>) -> Result<()> {
        let keys = self.evaluate_keys(&batch, cx)?;
        if batch.is_empty() {
            return Ok(());
        }
        if self.spilled.as_ref().is_some_and(SpilledGroups::is_filling) {
            return self.take_known(batch, &keys, cx);
        }
        let known = self.keys.len();
        let assigned;
        let rows = if self.group_by.is_empty() {
            Groups::One(batch.len())
        } else {
            assigned = self.keys.assign(&keys, batch.len());
            Groups::Each(&assigned)
        };
        if let (Some(spilled), Groups::Each(groups)) = (&mut self.spilled, rows) {
            spilled.note_firsts(&batch, groups, known);
        }
        let groups = self.group_count();
        for call in &mut self.calls {
            call.update(Frame::from(&batch), rows, groups, cx)?;
        }
        let bytes_per_group: usize = self.calls.iter().map(Call::group_bytes).sum();
        self.charge.note(self.keys.memory_bytes() + groups * bytes_per_group, cx.shared);
        if self.charge.is_over(cx.shared) { self.spill(&batch, cx) } else { Ok(()) }
    }

    /// From now on rows of other groups are set aside.
    fn spill(&mut self, like: &Batch, cx: Cx<'_>) -> Result<()> {
        if !self.group_by.is_empty() && self.spilled.is_none() {
            self.spilled = Some(SpilledGroups::new(like, &self.group_by));
        }
        let set_aside = self.spilled.as_mut().map_or(Ok(false), |spilled| spilled.begin(cx))?;
        // Where rows cannot be split, the statement's budget counts.
        if set_aside { Ok(()) } else { self.charge.check(cx.shared) }
    }

    /// Aggregates the rows whose groups are known, and sets the others aside.
    fn take_known(&mut self, batch: Batch, keys: &[Arc<Vector>], cx: Cx<'_>) -> Result<()> {
        let hashes = hash_rows(keys, batch.len());
        let group = |row: usize| self.keys.find(keys, row, hashes[row]).unwrap_or(NO_ROW);
        let groups: Vec<u32> = (0..batch.len()).map(group).collect();
        let (unknown, known): (Vec<u32>, Vec<u32>) =
            (0..row_number(batch.len())).partition(|&row| groups[row as usize] == NO_ROW);
        if !known.is_empty() {
            let groups: Vec<u32> = known.iter().map(|&row| groups[row as usize]).collect();
            let rows = batch.gather(&known);
            let count = self.group_count();
            for call in &mut self.calls {
                call.update(Frame::from(&rows), Groups::Each(&groups), count, cx)?;
            }
        }
        self.spilled.as_mut().map_or(Ok(()), |spilled| spilled.add(batch, keys, &unknown, &hashes, cx))
    }

    fn evaluate_keys(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Vec<Arc<Vector>>> {
        if let Some(keys) = self.spilled.as_ref().and_then(|spilled| spilled.keys_of(batch)) {
            return Ok(keys);
        }
        self.group_by.iter_mut().map(|key| key.vector(Frame::from(batch), cx)).collect()
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

    /// All groups of the input, or of a partition of it, were put out: what comes next.
    fn next_stage(&mut self, cx: Cx<'_>) -> Result<Stage> {
        self.forget_groups(cx);
        let Some(spilled) = &mut self.spilled else { return Ok(Stage::Done) };
        if !spilled.in_partition() {
            let types = self.group_by.iter().map(Evaluator::data_type);
            spilled.prepare_output(types.chain(self.calls.iter().map(Call::returns)), cx)?;
        }
        match spilled.next_pass(cx)? {
            Some(partition) => {
                spilled.keep_input(std::mem::replace(&mut self.input, partition));
                Ok(Stage::Reading)
            }
            None => {
                spilled.finish(cx)?;
                Ok(Stage::Merging)
            }
        }
    }

    fn forget_groups(&mut self, cx: Cx<'_>) {
        self.keys.clear();
        self.calls.iter_mut().for_each(|call| call.reset(cx));
        self.charge.clear(cx.shared);
    }
}

impl Operator for HashAggregate {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let max = cx.context().batch_sizes.max.max(1);
        loop {
            match self.stage {
                Stage::Reading => {
                    self.read(cx)?;
                    self.stage = Stage::Writing(0);
                }
                Stage::Writing(start) => {
                    let Some(batch) = self.write(start, max)? else {
                        self.stage = self.next_stage(cx)?;
                        continue;
                    };
                    self.stage = Stage::Writing(start + batch.len());
                    match &mut self.spilled {
                        Some(spilled) if spilled.in_partition() => spilled.put(&batch, start, cx)?,
                        _ => return Ok(Some(batch)),
                    }
                }
                Stage::Merging => return Ok(self.spilled.as_mut().map_or(Ok(None), |spilled| spilled.next(cx))?),
                Stage::Done => return Ok(None),
            }
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        if let Some(input) = self.spilled.take().and_then(SpilledGroups::into_input) {
            self.input = input;
        }
        self.input.reset(cx);
        self.forget_groups(cx);
        self.stage = Stage::Reading;
    }

    fn park(&mut self) -> bool {
        if self.spilled.is_some() || !self.calls.iter_mut().all(Call::park) {
            return false;
        }
        self.keys.clear();
        (self.stage, self.charge) = (Stage::Reading, Charge::default());
        self.input.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        rebind_all(&mut self.group_by, parameters)
            && self.calls.iter_mut().all(|call| call.rebind(parameters))
            && self.input.rebind(parameters)
    }
}
