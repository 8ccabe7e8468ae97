//! DISTINCT, DISTINCT ON, INTERSECT and EXCEPT: rows told apart by hash.
//!
//! Beyond `work_mem`, DISTINCT learns no further rows: those that it does not know are set aside, in partitions, and
//! each partition is told apart by itself. INTERSECT and EXCEPT split both sides. The rows' order stays the same.

use std::sync::Arc;

use super::aggregate::GroupKeys;
use super::context::{Charge, Cx};
use super::expr::{Evaluator, Frame};
use super::operator::{BoxOperator, Operator, Step};
use super::spill::{
    LEVELS, NumberedOutput, Outputs, Partition, Partitions, RunScan, SetAside, SpilledKeys, add_column, number,
};
use crate::columns::{Batch, Data, Vector, hash_rows, row_number};
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
        let new = self.learn(keys, len, cx);
        self.charge.check(cx.shared)?;
        Ok(new)
    }

    /// As [`SeenRows::new_rows`], for who spills when there are too many.
    fn learn(&mut self, keys: &[Arc<Vector>], len: usize, cx: Cx<'_>) -> Vec<u32> {
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
        self.charge.note(seen.memory_bytes(), cx.shared);
        new
    }

    /// The rows whose keys were not seen before, each time they come, and the hashes of all.
    fn unknown(&self, keys: &[Arc<Vector>], len: usize) -> (Vec<u32>, Vec<u64>) {
        let hashes = hash_rows(keys, len);
        let known = |row: usize| self.keys.as_ref().is_some_and(|seen| seen.find(keys, row, hashes[row]).is_some());
        ((0..len).filter(|&row| !known(row)).map(row_number).collect(), hashes)
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
    /// The input is at its end.
    read: bool,
    spilled: Option<SpilledRows>,
}

/// The rows that [`Distinct`] could not decide about.
struct SpilledRows {
    /// Columns of a row.
    width: usize,
    keys: SpilledKeys,
    aside: SetAside,
    /// The partition that is being worked off.
    partition: Option<BoxOperator>,
    outputs: Option<Outputs>,
    /// Once all partitions were worked off.
    output: Option<NumberedOutput>,
}

impl Distinct {
    pub(crate) fn new(input: BoxOperator, on: Vec<Evaluator>) -> Distinct {
        Distinct { input, on, seen: SeenRows::default(), read: false, spilled: None }
    }

    fn keys(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Vec<Arc<Vector>>> {
        if self.on.is_empty() {
            return Ok(batch.columns().to_vec());
        }
        self.on.iter_mut().map(|key| key.vector(Frame::from(batch), cx)).collect()
    }

    /// The rows of an input batch that are new for sure.
    fn keep(&mut self, batch: Batch, cx: Cx<'_>) -> Result<Option<Batch>> {
        let keys = self.keys(&batch, cx)?;
        if let Some(spilled) = &mut self.spilled {
            let (rows, hashes) = self.seen.unknown(&keys, batch.len());
            let batch = Batch::new(spilled.keys.with_keys(batch.columns(), &keys), batch.len());
            spilled.aside.add(batch, &rows, &hashes, cx)?;
            return Ok(None);
        }
        let new = self.seen.learn(&keys, batch.len(), cx);
        if self.seen.charge.is_over(cx.shared) {
            self.spill(&batch, cx)?;
        }
        let all = new.len() == batch.len();
        Ok((!new.is_empty()).then(|| if all { batch } else { batch.gather(&new) }))
    }

    fn spill(&mut self, like: &Batch, cx: Cx<'_>) -> Result<()> {
        let width = like.columns().len();
        let keys = SpilledKeys::new(width, &self.on);
        let mut types = keys.types(like.columns().iter().map(|column| column.data_type()), &self.on);
        types.push(DataType::BigInt);
        let mut aside = SetAside::new(types.into());
        aside.begin(cx)?;
        self.spilled = Some(SpilledRows { width, keys, aside, partition: None, outputs: None, output: None });
        Ok(())
    }
}

impl SpilledRows {
    /// Works off the partitions.
    fn run(&mut self, whole_rows: bool, seen: &mut SeenRows, cx: Cx<'_>) -> Step<NumberedOutput> {
        loop {
            let partition = match &mut self.partition {
                Some(partition) => partition,
                none => {
                    let Some(run) = self.aside.next_pass(cx)? else { break };
                    seen.clear(cx);
                    self.outputs.as_mut().into_iter().for_each(Outputs::begin);
                    none.insert(RunScan::operator(run, cx))
                }
            };
            match partition.next(cx)? {
                Some(batch) => self.take(batch, whole_rows, seen, cx)?,
                None => self.partition = None,
            }
        }
        seen.clear(cx);
        let outputs = match self.outputs.take() {
            Some(outputs) => outputs,
            None => Outputs::create([DataType::BigInt].as_slice().into(), cx)?,
        };
        Ok(outputs.merge(cx)?)
    }

    /// Takes a partition's rows.
    fn take(&mut self, batch: Batch, whole_rows: bool, seen: &mut SeenRows, cx: Cx<'_>) -> Result<()> {
        let keys = if whole_rows { batch.columns()[..self.width].to_vec() } else { self.keys.of(&batch) };
        if self.aside.is_filling() {
            let (rows, hashes) = seen.unknown(&keys, batch.len());
            return self.aside.add(batch, &rows, &hashes, cx);
        }
        let new = seen.learn(&keys, batch.len(), cx);
        if seen.charge.is_over(cx.shared) && !self.aside.begin(cx)? {
            seen.charge.check(cx.shared)?;
        }
        let new = self.row_and_number(&batch.gather(&new));
        let outputs = match &mut self.outputs {
            Some(outputs) => outputs,
            none => {
                let types = new.columns().iter().map(|column| column.data_type()).collect();
                let outputs = none.insert(Outputs::create(types, cx)?);
                outputs.begin();
                outputs
            }
        };
        if new.is_empty() { Ok(()) } else { outputs.push(&new, cx) }
    }

    /// A spilled row without its keys.
    fn row_and_number(&self, batch: &Batch) -> Batch {
        let mut columns = batch.columns()[..self.width].to_vec();
        columns.extend(batch.columns().last().cloned());
        Batch::new(columns, batch.len())
    }
}

impl Operator for Distinct {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        loop {
            cx.check()?;
            if let Some(output) = self.spilled.as_mut().and_then(|spilled| spilled.output.as_mut()) {
                return Ok(output.next(cx)?);
            }
            if !self.read {
                let Some(batch) = self.input.next(cx)? else {
                    self.read = true;
                    continue;
                };
                if let Some(batch) = self.keep(batch, cx)? {
                    return Ok(Some(batch));
                }
                continue;
            }
            let Some(spilled) = &mut self.spilled else { return Ok(None) };
            spilled.output = Some(spilled.run(self.on.is_empty(), &mut self.seen, cx)?);
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.seen.clear(cx);
        self.read = false;
        self.spilled = None;
    }
}

/// INTERSECT and EXCEPT.
pub(crate) struct SetOperation {
    op: SetOperator,
    all: bool,
    left: BoxOperator,
    right: BoxOperator,
    types: Vec<DataType>,
    keys: GroupKeys,
    /// By different row: how often the right side has it and the left has not used it up.
    counts: Vec<u64>,
    started: bool,
    charge: Charge,
    /// The rows of this pass that did not fit.
    split: Option<SplitSides>,
    /// How often the rows of this pass were split; 0: they are the inputs'.
    level: u32,
    /// The inputs, while partitions take their place.
    inputs: Option<[BoxOperator; 2]>,
    passes: Option<Passes>,
    output: Option<NumberedOutput>,
}

/// The partitions that are still to come, and what the others gave.
struct Passes {
    pending: Vec<(Partition, Partition)>,
    outputs: Outputs,
}

/// Both sides being split: left rows with their numbers, right rows with their counts.
struct SplitSides {
    left: Partitions,
    right: Partitions,
    next_number: i64,
}

impl SetOperation {
    pub(crate) fn new(op: SetOperator, all: bool, [left, right]: [BoxOperator; 2], types: &[DataType]) -> SetOperation {
        SetOperation {
            op,
            all,
            left,
            right,
            types: types.to_vec(),
            keys: GroupKeys::new(types),
            counts: vec![],
            started: false,
            charge: Charge::default(),
            split: None,
            level: 0,
            inputs: None,
            passes: None,
            output: None,
        }
    }

    fn row<'b>(&self, batch: &'b Batch) -> &'b [Arc<Vector>] {
        &batch.columns()[..self.types.len()]
    }

    fn assign(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Vec<u32>> {
        let groups = self.keys.assign(&batch.columns()[..self.types.len()], batch.len());
        self.counts.resize(self.keys.len(), 0);
        self.charge.note(self.keys.memory_bytes() + self.counts.len() * 8, cx.shared);
        Ok(groups)
    }

    fn read_right(&mut self, cx: Cx<'_>) -> Step<()> {
        while let Some(batch) = self.right.next(cx)? {
            cx.check()?;
            if let Some(split) = &mut self.split {
                let hashes = hash_rows(&batch.columns()[..self.types.len()], batch.len());
                let batch = if self.level == 0 { with_counts(&batch, vec![1; batch.len()]) } else { batch };
                split.right.add_all(&batch, &hashes, cx)?;
                continue;
            }
            let counts = batch.columns().get(self.types.len()).cloned();
            for (row, group) in self.assign(&batch, cx)?.into_iter().enumerate() {
                let count = counts.as_ref().and_then(|counts| counts.value(row).as_i64()).unwrap_or(1);
                self.counts[group as usize] += count.unsigned_abs();
            }
            self.split_if_over(cx)?;
        }
        Ok(())
    }

    /// What is known moves to the right side's partitions when there is too much of it.
    fn split_if_over(&mut self, cx: Cx<'_>) -> Result<()> {
        if self.split.is_some() || !self.charge.is_over(cx.shared) {
            return Ok(());
        }
        if self.level == LEVELS {
            return self.charge.check(cx.shared);
        }
        let mut types = self.types.clone();
        types.push(DataType::BigInt);
        let create = || Partitions::create(types.as_slice().into(), self.level + 1, cx);
        let mut split = SplitSides { left: create()?, right: create()?, next_number: 0 };
        let keys = self.keys.keys().iter().cloned().map(Arc::new).collect();
        let known = with_counts(&Batch::new(keys, self.keys.len()), std::mem::take(&mut self.counts));
        split.right.add_all(&known, &hash_rows(self.row(&known), known.len()), cx)?;
        self.split = Some(split);
        self.keys.clear();
        self.charge.clear(cx.shared);
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

    /// The next rows of this pass that are in the result for sure.
    fn next_kept(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        if !self.started {
            self.read_right(cx)?;
            self.started = true;
        }
        while let Some(batch) = self.left.next(cx)? {
            cx.check()?;
            if let Some(split) = &mut self.split {
                let hashes = hash_rows(&batch.columns()[..self.types.len()], batch.len());
                let numbered = |batch: &Batch, next: &mut i64| add_column(batch, number(next, batch.len()));
                let batch = if self.level == 0 { numbered(&batch, &mut split.next_number) } else { batch };
                split.left.add_all(&batch, &hashes, cx)?;
                continue;
            }
            let groups = self.assign(&batch, cx)?;
            let rows: Vec<u32> =
                (0..).zip(groups).filter(|&(_, group)| self.keeps(group)).map(|(row, _)| row).collect();
            self.split_if_over(cx)?;
            if !rows.is_empty() {
                return Ok(Some(batch.gather(&rows)));
            }
        }
        Ok(None)
    }

    fn begin_pass(&mut self, [left, right]: [BoxOperator; 2], level: u32, cx: Cx<'_>) -> [BoxOperator; 2] {
        self.keys.clear();
        self.counts.clear();
        self.charge.clear(cx.shared);
        self.started = false;
        self.level = level;
        [std::mem::replace(&mut self.left, left), std::mem::replace(&mut self.right, right)]
    }

    /// At the end of the inputs, or of a pass over partitions: goes on to the next. False: nothing was split.
    fn next_pass(&mut self, cx: Cx<'_>) -> Result<bool> {
        let mut passes = match self.passes.take() {
            Some(passes) => passes,
            None if self.split.is_none() => return Ok(false),
            None => {
                let types = self.types.iter().copied().chain([DataType::BigInt]).collect();
                Passes { pending: vec![], outputs: Outputs::create(types, cx)? }
            }
        };
        if let Some(split) = self.split.take() {
            passes.pending.extend(split.finish(cx)?);
        }
        while let Some((left, right)) = passes.pending.pop() {
            if left.run.is_empty() {
                continue;
            }
            // Only where neither side can be split further, the rows stay together.
            let level = left.level.min(right.level);
            let before = self.begin_pass([left.run, right.run].map(|run| RunScan::operator(run, cx)), level, cx);
            self.inputs.get_or_insert(before);
            passes.outputs.begin();
            self.passes = Some(passes);
            return Ok(true);
        }
        self.output = Some(passes.outputs.merge(cx)?);
        Ok(true)
    }
}

impl SplitSides {
    fn finish(self, cx: Cx<'_>) -> Result<Vec<(Partition, Partition)>> {
        Ok(self.left.finish(cx)?.into_iter().zip(self.right.finish(cx)?).collect())
    }
}

fn with_counts(batch: &Batch, counts: Vec<u64>) -> Batch {
    let counts = counts.into_iter().map(|count| i64::try_from(count).unwrap_or(i64::MAX)).collect();
    add_column(batch, Arc::new(Vector::from_parts(DataType::BigInt, Data::I64(counts), None)))
}

impl Operator for SetOperation {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        loop {
            if let Some(output) = &mut self.output {
                return Ok(output.next(cx)?);
            }
            let Some(batch) = self.next_kept(cx)? else {
                if self.next_pass(cx)? {
                    continue;
                }
                return Ok(None);
            };
            match &mut self.passes {
                Some(passes) => passes.outputs.push(&batch, cx)?,
                None => return Ok(Some(batch)),
            }
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        if let Some(inputs) = self.inputs.take() {
            self.begin_pass(inputs, 0, cx);
        }
        self.left.reset(cx);
        self.right.reset(cx);
        self.keys.clear();
        self.counts.clear();
        self.started = false;
        self.charge.clear(cx.shared);
        self.split = None;
        self.passes = None;
        self.output = None;
        self.level = 0;
    }
}
