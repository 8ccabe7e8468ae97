//! Merges runs that are sorted alike into one stream in that order; of equal rows those of earlier runs come first.

use std::cmp::Ordering;
use std::sync::Arc;

use super::run::{Run, RunFile};
use crate::columns::{Batch, Vector, row_number};
use crate::exec::context::Cx;
use crate::exec::row_order::Direction;
use crate::{DataType, Result};

/// The fewest and the most runs merged at once; each holds a block in memory, and beyond the fewest they are no more than there is
/// room for.
const FAN_IN: (usize, usize) = (4, 64);
/// What a run's block may take of `work_mem`.
const HEAD_BYTES: usize = 256 << 10;

/// What rows are sorted by: a column of theirs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MergeKey {
    pub(crate) column: usize,
    pub(crate) direction: Direction,
}

/// A run and where its reading stands.
struct Head {
    run: Run,
    next_block: usize,
    batch: Batch,
    row: usize,
}

impl Head {
    /// `None`: the run is empty.
    fn open(run: Run, cx: Cx<'_>) -> Result<Option<Head>> {
        let first = run.block(0, cx)?;
        Ok(first.map(|batch| Head { run, next_block: 1, batch, row: 0 }))
    }

    /// Goes on to the next block; false at the end.
    fn advance(&mut self, cx: Cx<'_>) -> Result<bool> {
        let Some(batch) = self.run.block(self.next_block, cx)? else { return Ok(false) };
        self.next_block += 1;
        self.batch = batch;
        self.row = 0;
        Ok(true)
    }
}

/// A merge that is under way.
pub(crate) struct Merge {
    keys: Vec<MergeKey>,
    heads: Vec<Head>,
    /// A heap of places in `heads`, the least row first.
    heap: Vec<usize>,
}

impl Merge {
    /// Merges runs whose rows have these types. More than can be merged at once are merged in passes.
    pub(crate) fn new(mut runs: Vec<Run>, keys: Vec<MergeKey>, types: &[DataType], cx: Cx<'_>) -> Result<Merge> {
        let (least, most) = FAN_IN;
        let fan_in = (cx.context().work_mem / HEAD_BYTES).clamp(least, most);
        loop {
            let mut pass: Option<(RunFile, Vec<Run>)> = None;
            let mut rest = runs.into_iter();
            loop {
                let merge = Merge::open(&mut rest, fan_in, keys.clone(), cx)?;
                if rest.len() == 0 && pass.is_none() {
                    return Ok(merge);
                }
                let (file, merged) = match &mut pass {
                    Some(pass) => pass,
                    none => none.insert((RunFile::create(types.into(), cx)?, Vec::new())),
                };
                merged.push(merge.into_run(file, cx)?);
                if rest.len() == 0 {
                    break;
                }
            }
            runs = pass.map_or_else(Vec::new, |(_, merged)| merged);
        }
    }

    /// Of the first runs, as many as can be merged at once.
    fn open(runs: &mut impl Iterator<Item = Run>, fan_in: usize, keys: Vec<MergeKey>, cx: Cx<'_>) -> Result<Merge> {
        let (mut heads, mut bytes) = (Vec::new(), 0_usize);
        while heads.len() < FAN_IN.0 || heads.len() < fan_in && cx.shared.has_room_for(bytes) {
            let Some(run) = runs.next() else { break };
            let head = Head::open(run, cx)?;
            bytes += head.as_ref().map_or(0, |head| head.batch.memory_bytes());
            heads.extend(head);
        }
        let mut merge = Merge { keys, heap: (0..heads.len()).collect(), heads };
        (0..merge.heap.len() / 2).rev().for_each(|place| merge.sift_down(place));
        Ok(merge)
    }

    fn into_run(mut self, file: &RunFile, cx: Cx<'_>) -> Result<Run> {
        let mut run = file.run();
        while let Some(batch) = self.next(cx)? {
            run.push(&batch, cx)?;
        }
        Ok(run)
    }

    /// The next rows, at least one, at most a batch; `None` at the end.
    pub(crate) fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        cx.check()?;
        let most = cx.context().batch_sizes.max.max(1);
        let mut columns: Vec<Vector> = Vec::new();
        let mut len = 0;
        while len < most {
            let Some(&top) = self.heap.first() else { break };
            let rows = self.stretch(top, most - len);
            let head = &self.heads[top];
            if columns.is_empty() {
                columns = head.batch.columns().iter().map(|column| Vector::new(column.data_type())).collect();
            }
            let taken: Vec<u32> = (head.row..head.row + rows).map(row_number).collect();
            columns.iter_mut().zip(head.batch.columns()).for_each(|(to, from)| to.append_rows(from, &taken));
            len += rows;
            self.take(top, rows, cx)?;
        }
        Ok((len > 0).then(|| Batch::new(columns.into_iter().map(Arc::new).collect(), len)))
    }

    /// How many rows of the least head come before every other head, at most `most` and its block's last.
    fn stretch(&self, top: usize, most: usize) -> usize {
        let head = &self.heads[top];
        let left = (head.batch.len() - head.row).min(most);
        let children = self.heap.get(1..self.heap.len().min(3)).unwrap_or_default();
        let Some(&second) = children.iter().min_by(|&&a, &&b| self.compare(a, b)) else { return left };
        let other = &self.heads[second];
        let precedes = |row: usize| {
            let order = self.compare_rows(&head.batch, row, &other.batch, other.row);
            order.then(top.cmp(&second)).is_lt()
        };
        (1..left).find(|&row| !precedes(head.row + row)).unwrap_or(left)
    }

    fn take(&mut self, top: usize, rows: usize, cx: Cx<'_>) -> Result<()> {
        let head = &mut self.heads[top];
        head.row += rows;
        if head.row == head.batch.len() && !head.advance(cx)? {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
            let Some(least) = children.min_by(|&a, &b| self.compare(self.heap[a], self.heap[b])) else { return };
            if self.compare(self.heap[place], self.heap[least]).is_lt() {
                return;
            }
            self.heap.swap(place, least);
            place = least;
        }
    }

    /// The order of two heads' rows; never equal.
    fn compare(&self, a: usize, b: usize) -> Ordering {
        let (left, right) = (&self.heads[a], &self.heads[b]);
        self.compare_rows(&left.batch, left.row, &right.batch, right.row).then(a.cmp(&b))
    }

    fn compare_rows(&self, left: &Batch, i: usize, right: &Batch, j: usize) -> Ordering {
        let by_key = |key: &MergeKey| {
            let (left, right) = (&left.columns()[key.column], &right.columns()[key.column]);
            key.direction.compare_between(left, i, right, j)
        };
        self.keys.iter().map(by_key).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}
