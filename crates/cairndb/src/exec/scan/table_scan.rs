//! Scans a table's own tree.

use std::sync::Arc;

use super::key_range::KeyRanges;
use super::row_reader::RowReader;
use crate::exec::batch::Batch;
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, Frame, rebind_all};
use crate::exec::operator::{Operator, Step};
use crate::exec::vector::Vector;
use crate::{Result, Value};

/// Rows of a table in key order.
pub(crate) struct TableScan {
    ranges: KeyRanges,
    reader: RowReader,
    filter: Option<Evaluator>,
    /// Rows of the next batch; 0: not started.
    batch_size: usize,
}

impl TableScan {
    pub(crate) fn new(ranges: KeyRanges, reader: RowReader, filter: Option<Evaluator>) -> TableScan {
        let mut scan = TableScan { ranges, reader, filter, batch_size: 0 };
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
            self.batch_size = next_batch_size(self.batch_size, cx);
            let mut vectors = self.reader.vectors(self.batch_size);
            let seen = self.ranges.read_rows(self.batch_size, cx, &mut self.reader, &mut vectors)?;
            if seen == 0 {
                return Ok(None);
            }
            // Rows that the filter would drop may be missing already.
            let len = vectors.first().map_or(seen, Vector::len);
            if let Some(batch) = filtered(vectors, len, self.filter.as_mut(), cx)? {
                return Ok(Some(batch));
            }
        }
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.ranges.reset();
        self.batch_size = 0;
    }

    fn park(&mut self) -> bool {
        self.ranges.park();
        self.batch_size = 0;
        true
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        let bound = self.ranges.rebind(parameters) && rebind_all(&mut self.filter, parameters);
        self.limit();
        bound
    }
}

/// The size of a source's next batch; `last` 0: of its first.
pub(super) fn next_batch_size(last: usize, cx: Cx<'_>) -> usize {
    let sizes = cx.context().batch_sizes;
    if last == 0 { sizes.first.max(1) } else { sizes.grow(last) }
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
