//! Hash join: a table of the right side, probed with the left's rows.
//!
//! A right side that exceeds `work_mem` is split into partitions, and the left with it ([`super::spilled`]).

use std::sync::Arc;

use super::pairs::{Chunk, Pairing, unmatched_right};
use super::spilled::SpilledJoin;
use crate::exec::batch::{Batch, row_number};
use crate::exec::bitmap::Bitmap;
use crate::exec::compare::rows_equal;
use crate::exec::context::{Charge, Cx};
use crate::exec::expr::{Evaluator, Frame, unify_keys};
use crate::exec::hash::{HashTable, hash_rows};
use crate::exec::operator::{BoxOperator, Operator};
use crate::exec::rows::{Rows, RowsBuilder};
use crate::exec::spill::{LEVELS, Partition};
use crate::exec::vector::{Data, NO_ROW, Vector};
use crate::plan::{Field, JoinKind};
use crate::{DataType, Result};

/// The build side.
struct Built {
    rows: Rows,
    keys: Vec<Arc<Vector>>,
    table: HashTable,
    /// Right and full joins: the rows that found a match.
    seen: Option<Bitmap>,
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

/// What became of the right side.
enum Right {
    Built(Built),
    /// It was too large.
    Split(Vec<Partition>),
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
    built: Option<Built>,
    probe: Option<Probe>,
    /// Right and full joins, once the left side is at its end: the next right row to look at.
    unmatched: Option<usize>,
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
            built: None,
            probe: None,
            unmatched: None,
            charge: Charge::default(),
            spilled: None,
        }
    }

    /// Whether right rows without a match are in the result.
    pub(super) fn keeps_right(&self) -> bool {
        matches!(self.pairing.kind(), JoinKind::Right | JoinKind::Full)
    }

    /// Reads the right side, whose rows were split `level` times.
    fn read_right(&mut self, level: u32, cx: Cx<'_>) -> Result<Right> {
        let mut rows = RowsBuilder::new(&self.right_fields);
        while let Some(batch) = self.right.next(cx)? {
            cx.check()?;
            rows.append(&batch)?;
            self.charge.note_more(batch.memory_bytes() + batch.len() * TABLE_BYTES, cx.shared);
            if self.charge.is_over(cx.shared) {
                if level < LEVELS {
                    return Ok(Right::Split(self.split_right(rows.finish(), level + 1, cx)?));
                }
                self.charge.check(cx.shared)?;
            }
        }
        let rows = rows.finish();
        let keys = evaluate_keys(&mut self.right_keys, rows.frame(), cx)?;
        let table = HashTable::build(hash_rows(&keys, rows.len), |row| keys.iter().any(|key| key.is_null(row)));
        let seen = self.keeps_right().then(|| Bitmap::filled(rows.len, false));
        Ok(Right::Built(Built { rows, keys, table, seen }))
    }

    /// Splits the right side: what was read of it, and the rest.
    fn split_right(&mut self, read: Rows, level: u32, cx: Cx<'_>) -> Result<Vec<Partition>> {
        let spilled = self.spilled.get_or_insert_with(|| SpilledJoin::new(self.pairing.kind()));
        let mut split = spilled.split_right(&self.right_fields, level, cx)?;
        let mut batch = Some(Batch::new(read.columns, read.len));
        self.charge.clear(cx.shared);
        while let Some(rows) = batch {
            let keys = evaluate_keys(&mut self.right_keys, Frame::from(&rows), cx)?;
            split.add(rows, &keys, cx)?;
            batch = self.right.next(cx)?;
        }
        split.finish(cx)
    }

    /// Splits the left side as the right was.
    fn split_left(&mut self, level: u32, cx: Cx<'_>) -> Result<Vec<Partition>> {
        let spilled = self.spilled.get_or_insert_with(|| SpilledJoin::new(self.pairing.kind()));
        let mut split = spilled.split_left(&self.left_types, level, cx)?;
        while let Some(rows) = self.left.next(cx)? {
            let keys = evaluate_keys(&mut self.left_keys, Frame::from(&rows), cx)?;
            split.add(rows, &keys, cx)?;
        }
        split.finish(cx)
    }

    /// Joins the partitions, which take the inputs' places, one by one.
    fn work_off(&mut self, right: Vec<Partition>, cx: Cx<'_>) -> Result<()> {
        let left = self.split_left(1, cx)?;
        let mut pending: Vec<(Partition, Partition)> = left.into_iter().zip(right).collect();
        SpilledJoin::enter(self, cx)?;
        while let Some((left, right)) = pending.pop() {
            if !SpilledJoin::begin(self, left.run, right.run) {
                continue;
            }
            self.forget_pass(cx);
            match self.read_right(right.level, cx)? {
                Right::Built(built) => self.built = Some(built),
                Right::Split(parts) => {
                    let left = self.split_left(right.level + 1, cx)?;
                    pending.extend(left.into_iter().zip(parts));
                    continue;
                }
            }
            while let Some(batch) = self.next_joined(cx)? {
                let unmatched = self.unmatched.is_some();
                self.spilled.as_mut().map_or(Ok(()), |spilled| spilled.put(batch, unmatched, cx))?;
            }
        }
        self.forget_pass(cx);
        self.spilled.as_mut().map_or(Ok(()), |spilled| spilled.finish(cx))
    }

    fn forget_pass(&mut self, cx: Cx<'_>) {
        self.built = None;
        self.probe = None;
        self.unmatched = None;
        self.pairing.reset();
        self.charge.clear(cx.shared);
    }

    /// Whether the left side need not be read: nothing in the right can match, and nothing else is asked for.
    fn is_hopeless(&self) -> bool {
        let is_empty = self.built.as_ref().is_some_and(|built| built.rows.len == 0);
        is_empty && matches!(self.pairing.kind(), JoinKind::Inner | JoinKind::Right | JoinKind::Semi)
    }

    fn next_probe(&mut self, cx: Cx<'_>) -> Result<Option<Probe>> {
        let Some(batch) = self.left.next(cx)? else { return Ok(None) };
        let keys = evaluate_keys(&mut self.left_keys, Frame::from(&batch), cx)?;
        let table = self.built.as_ref().map(|built| &built.table);
        let first = |hash: u64| table.map_or(NO_ROW, |table| table.first(hash));
        let firsts = hash_rows(&keys, batch.len()).into_iter().map(first).collect();
        Ok(Some(Probe { batch, keys, firsts, row: 0, entry: None }))
    }
}

fn evaluate_keys(keys: &mut [Evaluator], frame: Frame<'_>, cx: Cx<'_>) -> Result<Vec<Arc<Vector>>> {
    keys.iter_mut().map(|key| key.vector(frame, cx)).collect()
}

impl Probe {
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
    /// The next rows, where the right side is in memory. While `unmatched` is set they are right rows without a match.
    fn next_joined(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        let max = cx.context().batch_sizes.max.max(1);
        loop {
            cx.check()?;
            if let (Some(start), Some(built)) = (self.unmatched, &self.built) {
                let Some(seen) = &built.seen else { return Ok(None) };
                let (batch, next) = unmatched_right(&self.left_types, &built.rows.columns, seen, start, max);
                self.unmatched = Some(next);
                return Ok(batch);
            }
            if self.probe.is_none() && !self.is_hopeless() {
                self.probe = self.next_probe(cx)?;
            }
            let (Some(probe), Some(built)) = (&mut self.probe, &mut self.built) else {
                self.unmatched = Some(0);
                continue;
            };
            let chunk = probe.chunk(built, max, self.pairing.first_is_enough());
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
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        if self.built.is_none() && self.spilled.is_none() {
            match self.read_right(0, cx)? {
                Right::Built(built) => self.built = Some(built),
                Right::Split(parts) => self.work_off(parts, cx)?,
            }
        }
        match &mut self.spilled {
            Some(spilled) => spilled.next(cx),
            None => self.next_joined(cx),
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
        self.unmatched = None;
        self.pairing.reset();
        if !self.right_is_fixed || was_spilled {
            self.right.reset(cx);
            self.built = None;
            self.charge.clear(cx.shared);
        } else if let Some(built) = &mut self.built {
            built.seen = built.seen.as_ref().map(|seen| Bitmap::filled(seen.len(), false));
        }
    }
}
