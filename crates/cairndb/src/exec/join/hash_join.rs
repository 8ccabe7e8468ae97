//! Hash join: a table of the right side, probed with the left's rows.
//!
//! A right side that exceeds `work_mem` is split into partitions, and the left with it ([`super::spilled`]).

use std::sync::Arc;

use super::pairs::{Chunk, Pairing, keeps_left, notes_right, right_alone};
use super::spilled::{SpilledJoin, Splitter};
use crate::columns::{Batch, Bitmap, Data, HashTable, NO_ROW, Vector, hash_rows, row_number, rows_equal};
use crate::exec::context::{Charge, Cx};
use crate::exec::expr::{Evaluator, Frame, unify_keys};
use crate::exec::operator::{BoxOperator, Operator, Step};
use crate::exec::rows::{Rows, RowsBuilder};
use crate::exec::spill::{LEVELS, Partition};
use crate::plan::{Field, JoinKind};
use crate::{DataType, Result};

/// The build side.
struct Built {
    rows: Rows,
    keys: Vec<Arc<Vector>>,
    table: HashTable,
    /// Where right rows are in the result for having a match, or for having none: those that have one.
    seen: Option<Bitmap>,
    /// How many have none so far, where nothing but that is asked.
    unseen: usize,
}

/// The left batch being probed.
struct Probe {
    batch: Batch,
    keys: Vec<Arc<Vector>>,
    /// The first candidate of each row, looked up for all of them together: no lookup then waits for another's.
    firsts: Vec<u32>,
    /// The row whose candidates come next.
    row: usize,
    /// The next candidate; `None`: begin with the row's first.
    entry: Option<u32>,
}

/// What the join is at.
enum Stage {
    Reading,
    /// The right side was too large.
    SplittingRight(Splitter),
    /// With the right side's partitions.
    SplittingLeft(Splitter, Vec<Partition>),
    Joining,
    /// What the partitions gave.
    Merging,
}

/// Bytes that a row takes in a hash table, about.
const TABLE_BYTES: usize = 56;

/// See the module.
pub(crate) struct HashJoin {
    pub(super) left: BoxOperator,
    pub(super) right: BoxOperator,
    pub(super) left_types: Vec<DataType>,
    pub(super) right_fields: Vec<Field>,
    left_keys: Vec<Evaluator>,
    right_keys: Vec<Evaluator>,
    pub(super) pairing: Pairing,
    /// The build side's rows are the same after a reset.
    right_is_fixed: bool,
    stage: Stage,
    /// How often the rows of this pass were split; 0: they are the inputs'.
    level: u32,
    /// The right side, while it is being read.
    reading: Option<RowsBuilder>,
    built: Option<Built>,
    probe: Option<Probe>,
    /// Where the right side's rows come last, once the left side is at its end: the next one to look at.
    last: Option<usize>,
    charge: Charge,
    pub(super) spilled: Option<SpilledJoin>,
}

/// What a hash join is made of.
pub(crate) struct HashJoinParts {
    pub(crate) left: BoxOperator,
    pub(crate) right: BoxOperator,
    pub(crate) left_types: Vec<DataType>,
    pub(crate) right_fields: Vec<Field>,
    pub(crate) left_keys: Vec<Evaluator>,
    pub(crate) right_keys: Vec<Evaluator>,
    pub(crate) pairing: Pairing,
    pub(crate) right_is_fixed: bool,
}

impl HashJoin {
    pub(crate) fn new(mut parts: HashJoinParts) -> HashJoin {
        unify_keys(&mut parts.left_keys, &mut parts.right_keys);
        HashJoin {
            left: parts.left,
            right: parts.right,
            left_types: parts.left_types,
            right_fields: parts.right_fields,
            left_keys: parts.left_keys,
            right_keys: parts.right_keys,
            pairing: parts.pairing,
            right_is_fixed: parts.right_is_fixed,
            stage: Stage::Reading,
            level: 0,
            reading: None,
            built: None,
            probe: None,
            last: None,
            charge: Charge::default(),
            spilled: None,
        }
    }

    /// Reads the right side, until it is in memory or turns out to be too large.
    fn read_right(&mut self, cx: Cx<'_>) -> Step<()> {
        let rows = self.reading.get_or_insert_with(|| RowsBuilder::new(&self.right_fields));
        while let Some(batch) = self.right.next(cx)? {
            cx.check()?;
            rows.append(&batch)?;
            self.charge.note_more(batch.memory_bytes() + batch.len() * TABLE_BYTES, cx.shared);
            if self.charge.is_over(cx.shared) {
                if self.level < LEVELS {
                    return Ok(self.begin_to_split(cx)?);
                }
                self.charge.check(cx.shared)?;
            }
        }
        Ok(self.build(cx)?)
    }

    /// What was read of the right side.
    fn take_read(&mut self) -> Rows {
        self.reading.take().unwrap_or_else(|| RowsBuilder::new(&self.right_fields)).finish()
    }

    /// Makes the table of what was read.
    fn build(&mut self, cx: Cx<'_>) -> Result<()> {
        let rows = self.take_read();
        let keys = evaluate_keys(&mut self.right_keys, rows.frame(), cx)?;
        let table = HashTable::build(hash_rows(&keys, rows.len), |row| keys.iter().any(|key| key.is_null(row)));
        let seen = notes_right(self.pairing.kind()).then(|| Bitmap::filled(rows.len, false));
        let unseen = rows.len;
        self.built = Some(Built { rows, keys, table, seen, unseen });
        self.stage = Stage::Joining;
        Ok(())
    }

    /// Splits what was read of the right side.
    fn begin_to_split(&mut self, cx: Cx<'_>) -> Result<()> {
        let read = self.take_read();
        let spilled = self.spilled.get_or_insert_with(|| SpilledJoin::new(self.pairing.kind()));
        let mut split = spilled.split_right(&self.right_fields, self.level + 1, cx)?;
        self.charge.clear(cx.shared);
        split.add_keyed(Batch::new(read.columns, read.len), &mut self.right_keys, cx)?;
        self.stage = Stage::SplittingRight(split);
        Ok(())
    }

    /// Splits the rest of the right side.
    fn split_right(&mut self, cx: Cx<'_>) -> Step<()> {
        if let Stage::SplittingRight(split) = &mut self.stage {
            while let Some(rows) = self.right.next(cx)? {
                split.add_keyed(rows, &mut self.right_keys, cx)?;
            }
        }
        let spilled = self.spilled.get_or_insert_with(|| SpilledJoin::new(self.pairing.kind()));
        let left = spilled.split_left(&self.left_types, self.level + 1, cx)?;
        if let Stage::SplittingRight(right) = std::mem::replace(&mut self.stage, Stage::Merging) {
            self.stage = Stage::SplittingLeft(left, right.finish(cx)?);
        }
        Ok(())
    }

    /// Splits the left side as the right was.
    fn split_left(&mut self, cx: Cx<'_>) -> Step<()> {
        if let Stage::SplittingLeft(split, _) = &mut self.stage {
            while let Some(rows) = self.left.next(cx)? {
                split.add_keyed(rows, &mut self.left_keys, cx)?;
            }
        }
        if let Stage::SplittingLeft(left, right) = std::mem::replace(&mut self.stage, Stage::Merging) {
            SpilledJoin::pend(self, left.finish(cx)?, right, cx)?;
        }
        Ok(self.next_pass(cx)?)
    }

    /// Goes on with the next partition, which takes the inputs' places.
    fn next_pass(&mut self, cx: Cx<'_>) -> Result<()> {
        self.forget_pass(cx);
        self.stage = match SpilledJoin::begin(self, cx) {
            Some(level) => {
                self.level = level;
                Stage::Reading
            }
            None => {
                self.spilled.as_mut().map_or(Ok(()), |spilled| spilled.finish(cx))?;
                Stage::Merging
            }
        };
        Ok(())
    }

    fn forget_pass(&mut self, cx: Cx<'_>) {
        self.built = None;
        self.probe = None;
        self.last = None;
        self.pairing.reset();
        self.charge.clear(cx.shared);
    }

    /// Whether the left side need not be read: nothing in the right can match, and nothing else is asked for.
    fn is_hopeless(&self) -> bool {
        let is_empty = self.built.as_ref().is_some_and(|built| built.rows.len == 0);
        is_empty && !keeps_left(self.pairing.kind())
    }

    fn next_probe(&mut self, cx: Cx<'_>) -> Step<Option<Probe>> {
        let Some(batch) = self.left.next(cx)? else { return Ok(None) };
        let keys = evaluate_keys(&mut self.left_keys, Frame::from(&batch), cx)?;
        let table = self.built.as_ref().map(|built| &built.table);
        let first = |hash: u64| table.map_or(NO_ROW, |table| table.first(hash));
        let firsts = hash_rows(&keys, batch.len()).into_iter().map(first).collect();
        Ok(Some(Probe { batch, keys, firsts, row: 0, entry: None }))
    }
}

pub(super) fn evaluate_keys(keys: &mut [Evaluator], frame: Frame<'_>, cx: Cx<'_>) -> Result<Vec<Arc<Vector>>> {
    keys.iter_mut().map(|key| key.vector(frame, cx)).collect()
}

impl Probe {
    /// Notes which right rows have a match among these, where nothing but that is asked. Right rows of equal keys find
    /// one together.
    fn note(&self, built: &mut Built) {
        let Some(seen) = &mut built.seen else { return };
        let may_be_null = self.keys.iter().any(|key| key.validity().is_some());
        for (row, &first) in self.firsts.iter().enumerate() {
            let mut entry = if may_be_null && self.keys.iter().any(|key| key.is_null(row)) { NO_ROW } else { first };
            while entry != NO_ROW {
                if rows_equal(&self.keys, row, &built.keys, entry as usize) {
                    if seen.get(entry as usize) {
                        break;
                    }
                    seen.set(entry as usize);
                    built.unseen -= 1;
                }
                entry = built.table.after(entry);
            }
        }
    }

    /// The next candidates, about `count` at most.
    fn chunk(&mut self, built: &Built, count: usize, first_is_enough: bool) -> Chunk {
        let (keys, right) = (std::mem::take(&mut self.keys), &built.keys);
        // One integer key is by far the most common: compare without going through the representations each time.
        let chunk = match (keys.as_slice(), right.as_slice()) {
            ([left], [right]) => match (left.data(), right.data()) {
                (Data::I32(a), Data::I32(b)) => {
                    self.chunk_by(built, count, first_is_enough, &keys, |i, j| a[i] == b[j])
                }
                (Data::I64(a), Data::I64(b)) => {
                    self.chunk_by(built, count, first_is_enough, &keys, |i, j| a[i] == b[j])
                }
                _ => self.chunk_by(built, count, first_is_enough, &keys, |i, j| rows_equal(&keys, i, &built.keys, j)),
            },
            _ => self.chunk_by(built, count, first_is_enough, &keys, |i, j| rows_equal(&keys, i, &built.keys, j)),
        };
        self.keys = keys;
        chunk
    }

    /// `equal`: whether a left row's keys equal a right row's, none of them NULL.
    fn chunk_by(
        &mut self,
        built: &Built,
        count: usize,
        first_is_enough: bool,
        keys: &[Arc<Vector>],
        equal: impl Fn(usize, usize) -> bool,
    ) -> Chunk {
        let mut chunk = Chunk { rows: self.row..self.row, complete: true, ..Chunk::default() };
        let may_be_null = keys.iter().any(|key| key.validity().is_some());
        while self.row < self.batch.len() {
            if chunk.left.len() >= count {
                break;
            }
            chunk.rows.end = self.row + 1;
            let is_null = may_be_null && keys.iter().any(|key| key.is_null(self.row));
            let mut entry = match self.entry.take() {
                Some(entry) => entry,
                None if is_null => NO_ROW,
                None => self.firsts[self.row],
            };
            while entry != NO_ROW {
                if chunk.left.len() >= count {
                    self.entry = Some(entry);
                    chunk.complete = false;
                    return chunk;
                }
                let next = built.table.after(entry);
                if equal(self.row, entry as usize) {
                    chunk.left.push(row_number(self.row));
                    chunk.right.push(entry);
                    if first_is_enough {
                        break;
                    }
                }
                entry = next;
            }
            self.row += 1;
        }
        chunk
    }
}

impl HashJoin {
    /// The next rows, where the right side is in memory. While `last` is set they are right rows alone.
    fn next_joined(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let max = cx.context().batch_sizes.max.max(1);
        let kind = self.pairing.kind();
        loop {
            cx.check()?;
            if let (Some(start), Some(built)) = (self.last, &self.built) {
                let Some(seen) = &built.seen else { return Ok(None) };
                let left: &[DataType] = if kind.shows_left() { &self.left_types } else { &[] };
                let wanted = kind == JoinKind::RightSemi;
                let (batch, next) = right_alone(left, &built.rows.columns, (seen, wanted), start, max);
                self.last = Some(next);
                return Ok(batch);
            }
            if self.probe.is_none() && !self.is_hopeless() {
                self.probe = self.next_probe(cx)?;
            }
            let (Some(probe), Some(built)) = (&mut self.probe, &mut self.built) else {
                self.last = Some(0);
                continue;
            };
            cx.take_turn()?;
            if self.pairing.only_notes() {
                probe.note(built);
                self.probe = None;
                if built.unseen == 0 {
                    self.last = Some(0);
                }
                continue;
            }
            let chunk = probe.chunk(built, self.pairing.pairs_max(cx), self.pairing.first_is_enough());
            let batch = self.pairing.join(&probe.batch, &built.rows.columns, chunk, built.seen.as_mut(), cx)?;
            if probe.row >= probe.batch.len() {
                self.probe = None;
            }
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }
}

impl Operator for HashJoin {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        loop {
            match &self.stage {
                Stage::Reading => self.read_right(cx)?,
                Stage::SplittingRight(_) => self.split_right(cx)?,
                Stage::SplittingLeft(..) => self.split_left(cx)?,
                Stage::Joining => {
                    let batch = self.next_joined(cx)?;
                    let is_last = self.last.is_some();
                    match (&mut self.spilled, batch) {
                        (None, batch) => return Ok(batch),
                        (Some(spilled), Some(batch)) => spilled.put(batch, is_last, cx)?,
                        (Some(_), None) => self.next_pass(cx)?,
                    }
                }
                Stage::Merging => return Ok(self.spilled.as_mut().map_or(Ok(None), |spilled| spilled.next(cx))?),
            }
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        let spilled = self.spilled.take();
        let was_spilled = spilled.is_some();
        if let Some(spilled) = spilled {
            spilled.leave(self);
        }
        self.left.reset(cx);
        self.probe = None;
        self.last = None;
        self.pairing.reset();
        if !self.right_is_fixed || was_spilled {
            self.right.reset(cx);
            self.stage = Stage::Reading;
            self.level = 0;
            self.reading = None;
            self.built = None;
            self.charge.clear(cx.shared);
        } else if let Some(built) = &mut self.built {
            built.seen = built.seen.as_ref().map(|seen| Bitmap::filled(seen.len(), false));
            built.unseen = built.rows.len;
        }
    }
}
