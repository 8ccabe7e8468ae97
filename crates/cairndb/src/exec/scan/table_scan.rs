//! Scans a table's own tree.

use std::sync::Arc;

use super::key_range::KeyRanges;
use super::row_reader::RowReader;
use crate::columns::{Batch, Vector};
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, Frame, rebind_all};
use crate::exec::operator::{Operator, Step};
use crate::types::{Used, Uses};
use crate::{Result, Value};

/// Rows of a table in key order.
pub(crate) struct TableScan {
    ranges: KeyRanges,
    reader: RowReader,
    filter: Option<Evaluator>,
    sizes: ScanSizes,
    used: Used,
}

/// Rows that are gone past before somebody is asked whether to go on.
pub(super) const PASSED_MAX: usize = 8192;

/// How many rows a scan reads at a time.
#[derive(Default)]
pub(super) struct ScanSizes {
    /// Rows of the last batch; 0: not started.
    last: usize,
    /// Rows that are still wanted; 0: nobody said.
    wanted: usize,
}

impl ScanSizes {
    /// Who wants few rows does not pay for many; who has said how many gets them together.
    pub(super) fn next(&mut self, cx: Cx<'_>) -> usize {
        let sizes = cx.context().batch_sizes;
        self.last = match (self.wanted, self.last) {
            (1.., _) => self.wanted.min(sizes.max.max(1)),
            (0, 0) => sizes.first.max(1),
            (0, last) => sizes.grow(last),
        };
        // A batch may have fewer rows than it may have: then more are asked for, and it grows from there.
        self.wanted = self.wanted.saturating_sub(self.last);
        self.last
    }

    /// So many of the rows that were wanted are not read.
    pub(super) fn passed(&mut self, rows: usize) {
        self.wanted = self.wanted.saturating_sub(rows);
    }

    /// Of a scan that drops no row that it reads.
    pub(super) fn want(&mut self, rows: usize) {
        self.wanted = rows;
    }
}

impl TableScan {
    /// `used`: what is counted.
    pub(crate) fn new(ranges: KeyRanges, reader: RowReader, filter: Option<Evaluator>, used: Used) -> TableScan {
        let mut scan = TableScan { ranges, reader, filter, sizes: ScanSizes::default(), used };
        scan.limit();
        scan
    }

    /// Tells the reader what the filter asks of single columns.
    fn limit(&mut self) {
        if let Some(filter) = &self.filter {
            self.reader.limit(&filter.integer_limits());
        }
    }
}

impl Operator for TableScan {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        loop {
            cx.check()?;
            cx.take_turn()?;
            let size = self.sizes.next(cx);
            let mut vectors = self.reader.vectors(size);
            let seen = self.ranges.read_rows(size, cx, &mut self.reader, &mut vectors)?;
            note_uses((self.used, &mut self.ranges), (seen, seen), cx);
            if seen == 0 {
                return Ok(None);
            }
            // Rows that the filter would drop may be missing already.
            let len = vectors.first().map_or(seen, Vector::len);
            let batch = filtered(vectors, len, self.filter.as_mut(), cx)?;
            note_removed(seen, batch.as_ref(), cx);
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }

    fn want(&mut self, rows: usize) {
        if self.filter.is_none() {
            self.sizes.want(rows);
        }
    }

    fn skip(&mut self, rows: usize, cx: Cx<'_>) -> Step<usize> {
        if self.filter.is_some() {
            return Ok(0);
        }
        cx.check()?;
        cx.take_turn()?;
        let passed = self.ranges.pass(rows.min(PASSED_MAX), cx)?;
        note_uses((self.used, &mut self.ranges), (passed, passed), cx);
        self.sizes.passed(passed);
        Ok(passed)
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.ranges.reset();
        self.sizes = ScanSizes::default();
    }

    fn park(&mut self) -> bool {
        self.ranges.park();
        self.sizes = ScanSizes::default();
        true
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        let bound = self.ranges.rebind(parameters) && rebind_all(&mut self.filter, parameters);
        self.limit();
        bound
    }
}

/// Counts entries, and rows of theirs, that were read in ranges, and those of the ranges that were begun.
pub(super) fn note_uses((used, ranges): (Used, &mut KeyRanges), (read, fetched): (usize, usize), cx: Cx<'_>) {
    cx.shared.uses.note(used, Uses { scans: ranges.take_begun(), read: read as u64, fetched: fetched as u64 });
}

/// Counts the rows of those that were read that are not in the batch.
pub(super) fn note_removed(seen: usize, batch: Option<&Batch>, cx: Cx<'_>) {
    cx.shared.note_removed(seen - batch.map_or(0, Batch::len));
}

/// The rows that the filter lets through; `None`: not one.
pub(super) fn filtered(
    vectors: Vec<Vector>,
    len: usize,
    filter: Option<&mut Evaluator>,
    cx: Cx<'_>,
) -> Result<Option<Batch>> {
    let batch = Batch::new(vectors.into_iter().map(Arc::new).collect(), len);
    match filter {
        Some(filter) => keep_true(batch, filter, cx),
        None => Ok(Some(batch)),
    }
}

/// The rows on which `predicate` is true; `None`: not one.
pub(crate) fn keep_true(batch: Batch, predicate: &mut Evaluator, cx: Cx<'_>) -> Result<Option<Batch>> {
    let rows = predicate.true_rows(Frame::from(&batch), cx)?;
    Ok(match rows.len() {
        0 => None,
        count if count == batch.len() => Some(batch),
        _ => Some(batch.gather(&rows)),
    })
}
