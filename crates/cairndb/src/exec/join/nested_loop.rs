//! Nested loops: every left row with every right row; the right side kept, or run anew for each left row (lateral).

use super::pairs::{Chunk, Pairing, notes_right, right_alone};
use crate::columns::{Batch, Bitmap, row_number};
use crate::exec::context::{Charge, Cx, OuterRow};
use crate::exec::operator::{BoxOperator, Operator, Step};
use crate::exec::rows::{Rows, RowsBuilder, collect};
use crate::plan::Field;
use crate::{DataType, Value};
use std::sync::Arc;

/// The right side's rows, collected when the first left row needs them.
pub(crate) struct NestedLoopJoin {
    left: BoxOperator,
    right: BoxOperator,
    left_types: Vec<DataType>,
    right_fields: Vec<Field>,
    pairing: Pairing,
    right_is_fixed: bool,
    /// The right side, while it is being read.
    reading: Option<RowsBuilder>,
    kept: Option<Rows>,
    seen: Option<Bitmap>,
    batch: Option<Batch>,
    /// The left row, and the right row it is paired with next.
    position: (usize, usize),
    unmatched: Option<usize>,
    charge: Charge,
}

impl NestedLoopJoin {
    pub(crate) fn new(
        [left, right]: [BoxOperator; 2],
        left_types: Vec<DataType>,
        right_fields: Vec<Field>,
        pairing: Pairing,
        right_is_fixed: bool,
    ) -> NestedLoopJoin {
        NestedLoopJoin {
            left,
            right,
            left_types,
            right_fields,
            pairing,
            right_is_fixed,
            reading: None,
            kept: None,
            seen: None,
            batch: None,
            position: (0, 0),
            unmatched: None,
            charge: Charge::default(),
        }
    }

    fn keep_right(&mut self, cx: Cx<'_>) -> Step<()> {
        if self.kept.is_none() {
            let rows = collect(&mut self.right, &self.right_fields, &mut self.reading, &mut self.charge, cx)?;
            self.kept = Some(rows);
        }
        let len = self.kept.as_ref().map_or(0, |kept| kept.len);
        let notes = notes_right(self.pairing.kind());
        if notes && self.seen.is_none() {
            self.seen = Some(Bitmap::filled(len, false));
        }
        Ok(())
    }

    /// The next pairs, `count` at most, from where the last chunk ended.
    fn chunk(position: &mut (usize, usize), left_len: usize, right_len: usize, count: usize, first: bool) -> Chunk {
        let mut chunk = Chunk { rows: position.0..position.0, complete: true, ..Chunk::default() };
        while position.0 < left_len && chunk.left.len() < count {
            chunk.rows.end = position.0 + 1;
            let all = if first { right_len.min(1) } else { right_len };
            let end = all.min(position.1 + (count - chunk.left.len()));
            chunk.left.extend(std::iter::repeat_n(row_number(position.0), end - position.1));
            chunk.right.extend((position.1..end).map(row_number));
            if end < all {
                position.1 = end;
                chunk.complete = false;
                break;
            }
            *position = (position.0 + 1, 0);
        }
        chunk
    }
}

impl Operator for NestedLoopJoin {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let max = cx.context().batch_sizes.max.max(1);
        self.keep_right(cx)?;
        loop {
            cx.check()?;
            let Some(kept) = &self.kept else { return Ok(None) };
            if let Some(start) = self.unmatched {
                let Some(seen) = &self.seen else { return Ok(None) };
                let (batch, next) = right_alone(&self.left_types, &kept.columns, (seen, false), start, max);
                self.unmatched = Some(next);
                return Ok(batch);
            }
            if self.batch.is_none() {
                self.batch = self.left.next(cx)?;
                self.position = (0, 0);
            }
            let Some(batch) = &self.batch else {
                self.unmatched = Some(0);
                continue;
            };
            cx.take_turn()?;
            let first = self.pairing.first_is_enough();
            let most = self.pairing.pairs_max(cx);
            let chunk = Self::chunk(&mut self.position, batch.len(), kept.len, most, first);
            let output = self.pairing.join(batch, &kept.columns, chunk, self.seen.as_mut(), cx)?;
            if self.position.0 >= batch.len() {
                self.batch = None;
            }
            if output.is_some() {
                return Ok(output);
            }
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.left.reset(cx);
        self.batch = None;
        self.seen = None;
        self.unmatched = None;
        self.pairing.reset();
        if !self.right_is_fixed {
            self.right.reset(cx);
            self.reading = None;
            self.kept = None;
            self.charge.clear(cx.shared);
        }
    }

    fn park(&mut self) -> bool {
        (self.batch, self.kept, self.seen, self.unmatched) = (None, None, None, None);
        self.reading = None;
        self.charge = Charge::default();
        self.pairing.reset();
        self.left.park() && self.right.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        self.pairing.rebind(parameters) && self.left.rebind(parameters) && self.right.rebind(parameters)
    }
}

/// The right side runs for each left row, which is its outer row.
pub(crate) struct LateralJoin {
    left: BoxOperator,
    right: RightSide,
    right_types: Vec<DataType>,
    pairing: Pairing,
    batch: Option<Batch>,
    row: usize,
}

struct RightSide {
    operator: BoxOperator,
    /// The left row that it runs under; `None`: it did not start for the present one.
    outer: Option<Arc<OuterRow>>,
    fresh: bool,
}

impl RightSide {
    /// The next rows for the left row at `row`.
    fn next(&mut self, batch: &Batch, row: usize, cx: Cx<'_>) -> Step<Option<Batch>> {
        let outer = match &mut self.outer {
            Some(outer) => outer,
            none => {
                let outer = cx.push(batch.row(row));
                if !std::mem::take(&mut self.fresh) {
                    self.operator.reset(cx.under(&outer));
                }
                none.insert(outer)
            }
        };
        self.operator.next(cx.under(outer))
    }
}

impl LateralJoin {
    pub(crate) fn new([left, right]: [BoxOperator; 2], right_types: Vec<DataType>, pairing: Pairing) -> LateralJoin {
        let right = RightSide { operator: right, outer: None, fresh: true };
        LateralJoin { left, right, right_types, pairing, batch: None, row: 0 }
    }
}

impl Operator for LateralJoin {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        loop {
            cx.check()?;
            if self.batch.is_none() {
                self.batch = self.left.next(cx)?;
            }
            let Some(batch) = &self.batch else { return Ok(None) };
            let right = self.right.next(batch, self.row, cx)?;
            let pairs = right.as_ref().map_or(0, Batch::len);
            let mut chunk = Chunk {
                left: vec![row_number(self.row); pairs],
                right: (0..row_number(pairs)).collect(),
                rows: self.row..self.row + 1,
                complete: right.is_none(),
            };
            if self.pairing.first_is_enough() && pairs > 0 {
                chunk.left.truncate(1);
                chunk.right.truncate(1);
                chunk.complete = true;
            }
            let complete = chunk.complete;
            let columns = right.map_or_else(|| empty(&self.right_types), Batch::into_columns);
            let output = self.pairing.join(batch, &columns, chunk, None, cx)?;
            if complete {
                self.row += 1;
                self.right.outer = None;
            }
            if self.row >= batch.len() {
                self.row = 0;
                self.batch = None;
            }
            if output.is_some() {
                return Ok(output);
            }
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.left.reset(cx);
        self.batch = None;
        self.row = 0;
        self.right.outer = None;
        self.pairing.reset();
    }

    fn park(&mut self) -> bool {
        (self.batch, self.row) = (None, 0);
        (self.right.outer, self.right.fresh) = (None, true);
        self.pairing.reset();
        self.left.park() && self.right.operator.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        self.pairing.rebind(parameters) && self.left.rebind(parameters) && self.right.operator.rebind(parameters)
    }
}

fn empty(types: &[DataType]) -> Vec<Arc<crate::columns::Vector>> {
    types.iter().map(|&data_type| Arc::new(crate::columns::Vector::new(data_type))).collect()
}
