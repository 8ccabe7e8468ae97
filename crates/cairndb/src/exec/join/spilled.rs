//! A hash join whose right side did not fit: both sides in partitions, which are joined one by one.
//!
//! Left rows carry their numbers, and so do right rows where some are in the result by themselves; the output of each
//! partition is in their order, so merging restores the order of the join in memory: the left's, then the right rows
//! that come alone in the right's.

use std::collections::VecDeque;
use std::sync::Arc;

use super::hash_join::{HashJoin, evaluate_keys};
use super::pairs::{keeps_left, notes_right};
use crate::columns::{Batch, Data, Vector, hash_rows};
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, Frame};
use crate::exec::operator::BoxOperator;
use crate::exec::spill::{NumberedOutput, Outputs, Partition, Partitions, Run, RunScan, add_column, number};
use crate::plan::{Field, JoinKind};
use crate::{DataType, Result};

/// See the module.
pub(super) struct SpilledJoin {
    kind: JoinKind,
    /// Columns of a left row.
    left_width: usize,
    /// The join's right rows have a number behind their columns.
    entered: bool,
    /// The join's own inputs, while partitions take their places.
    inputs: Option<[BoxOperator; 2]>,
    /// Partitions of both sides that are still to come.
    pending: Vec<(Partition, Partition)>,
    /// Of left rows, with the right rows that match them.
    paired: Option<Outputs>,
    /// Of right rows alone.
    alone: Option<Outputs>,
    output: VecDeque<NumberedOutput>,
}

impl SpilledJoin {
    pub(super) fn new(kind: JoinKind) -> SpilledJoin {
        SpilledJoin {
            kind,
            left_width: 0,
            entered: false,
            inputs: None,
            pending: vec![],
            paired: None,
            alone: None,
            output: VecDeque::new(),
        }
    }

    /// Whether right rows may be in the result without having a match.
    fn keeps_right(&self) -> bool {
        notes_right(self.kind) && self.kind != JoinKind::RightSemi
    }

    /// `fields`: of the right rows as they come now, numbered ones from the second split on.
    pub(super) fn split_right(&self, fields: &[Field], level: u32, cx: Cx<'_>) -> Result<Splitter> {
        let types = fields.iter().map(|field| field.data_type);
        Splitter::new(types, notes_right(self.kind) && level == 1, self.keeps_right(), level, cx)
    }

    pub(super) fn split_left(&self, types: &[DataType], level: u32, cx: Cx<'_>) -> Result<Splitter> {
        let numbered = (level > 1).then_some(DataType::BigInt);
        Splitter::new(types.iter().copied().chain(numbered), level == 1, keeps_left(self.kind), level, cx)
    }

    /// Both sides were split.
    pub(super) fn pend(join: &mut HashJoin, left: Vec<Partition>, right: Vec<Partition>, cx: Cx<'_>) -> Result<()> {
        let is_entered = join.spilled.as_ref().is_none_or(|spilled| spilled.entered);
        if !is_entered {
            SpilledJoin::enter(join, cx)?;
        }
        if let Some(spilled) = &mut join.spilled {
            spilled.pending.extend(left.into_iter().zip(right));
        }
        Ok(())
    }

    /// The rows of partitions carry numbers.
    fn enter(join: &mut HashJoin, cx: Cx<'_>) -> Result<()> {
        let right: Vec<DataType> = join.right_fields.iter().map(|field| field.data_type).collect();
        let left = join.left_types.clone();
        let notes_right = notes_right(join.pairing.kind());
        if notes_right {
            join.right_fields.push(Field { name: String::new(), data_type: DataType::BigInt });
        }
        let Some(spilled) = &mut join.spilled else { return Ok(()) };
        spilled.left_width = left.len();
        spilled.entered = true;
        let (shows_left, shows_right) = (spilled.kind.shows_left(), spilled.kind.shows_right());
        let left = left.into_iter().filter(|_| shows_left);
        let right = right.into_iter().filter(|_| shows_right);
        let types: Arc<[DataType]> = left.chain(right).chain([DataType::BigInt]).collect();
        spilled.paired = shows_left.then(|| Outputs::create(types.clone(), cx)).transpose()?;
        spilled.alone = notes_right.then(|| Outputs::create(types, cx)).transpose()?;
        Ok(())
    }

    /// Puts the next partition in the inputs' places: how often it was split. `None`: all were joined.
    pub(super) fn begin(join: &mut HashJoin, cx: Cx<'_>) -> Option<u32> {
        let spilled = join.spilled.as_mut()?;
        let (left, right) = loop {
            let (left, right) = spilled.pending.pop()?;
            if spilled.has_results(&left.run, &right.run) {
                break (left, right);
            }
        };
        let inputs = [(&mut join.left, left.run), (&mut join.right, right.run)];
        let before = inputs.map(|(input, run)| std::mem::replace(input, RunScan::operator(run, cx)));
        spilled.inputs.get_or_insert(before);
        spilled.paired.iter_mut().chain(&mut spilled.alone).for_each(Outputs::begin);
        Some(right.level)
    }

    fn has_results(&self, left: &Run, right: &Run) -> bool {
        let left_counts = !left.is_empty() && (!right.is_empty() || keeps_left(self.kind));
        left_counts || !right.is_empty() && self.keeps_right()
    }

    /// Takes rows of the partition begun last.
    pub(super) fn put(&mut self, batch: Batch, alone: bool, cx: Cx<'_>) -> Result<()> {
        if alone {
            return self.alone.as_mut().map_or(Ok(()), |outputs| outputs.push(&batch, cx));
        }
        let len = batch.len();
        let mut columns = batch.into_columns();
        if notes_right(self.kind) {
            columns.pop();
        }
        let number = columns.remove(self.left_width);
        columns.push(number);
        self.paired.as_mut().map_or(Ok(()), |outputs| outputs.push(&Batch::new(columns, len), cx))
    }

    pub(super) fn finish(&mut self, cx: Cx<'_>) -> Result<()> {
        for outputs in [self.paired.take(), self.alone.take()].into_iter().flatten() {
            self.output.push_back(outputs.merge(cx)?);
        }
        Ok(())
    }

    pub(super) fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        while let Some(output) = self.output.front_mut() {
            if let Some(batch) = output.next(cx)? {
                return Ok(Some(batch));
            }
            self.output.pop_front();
        }
        Ok(None)
    }

    /// Gives the join its own inputs back.
    pub(super) fn leave(self, join: &mut HashJoin) {
        if self.entered && notes_right(self.kind) {
            join.right_fields.pop();
        }
        if let Some([left, right]) = self.inputs {
            join.left = left;
            join.right = right;
        }
    }
}

/// One side being split.
pub(super) struct Splitter {
    partitions: Partitions,
    /// Rows are not numbered yet.
    numbers: bool,
    next_number: i64,
    /// Rows with a NULL key, which match nothing, are in the result all the same.
    keeps_nulls: bool,
}

impl Splitter {
    fn new(
        types: impl Iterator<Item = DataType>,
        numbers: bool,
        keeps_nulls: bool,
        level: u32,
        cx: Cx<'_>,
    ) -> Result<Splitter> {
        let types: Arc<[DataType]> = types.chain(numbers.then_some(DataType::BigInt)).collect();
        let partitions = Partitions::create(types, level, cx)?;
        Ok(Splitter { partitions, numbers, next_number: 0, keeps_nulls })
    }

    /// Adds rows to the partitions of their keys.
    pub(super) fn add_keyed(&mut self, batch: Batch, keys: &mut [Evaluator], cx: Cx<'_>) -> Result<()> {
        let keys = evaluate_keys(keys, Frame::from(&batch), cx)?;
        self.add(batch, &keys, cx)
    }

    fn add(&mut self, batch: Batch, keys: &[Arc<Vector>], cx: Cx<'_>) -> Result<()> {
        let mut hashes = hash_rows(keys, batch.len());
        let is_null = |row: usize| keys.iter().any(|key| key.is_null(row));
        let rows: Vec<u32> =
            (0..).take(batch.len()).filter(|&row| self.keeps_nulls || !is_null(row as usize)).collect();
        let batch = match self.numbers {
            true => add_column(&batch, number(&mut self.next_number, batch.len())),
            false => batch,
        };
        // Rows that match nothing may go anywhere: not all into one partition.
        if let (true, Some(Data::I64(numbers))) = (self.keeps_nulls, batch.columns().last().map(|last| last.data())) {
            for (row, hash) in hashes.iter_mut().enumerate().filter(|(row, _)| is_null(*row)) {
                *hash = numbers[row].cast_unsigned();
            }
        }
        self.partitions.add(&batch, &rows, &hashes, cx)
    }

    pub(super) fn finish(self, cx: Cx<'_>) -> Result<Vec<Partition>> {
        self.partitions.finish(cx)
    }
}
