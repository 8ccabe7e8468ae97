//! Aggregates rows whose groups come together: only a few groups are in memory, and they come out in the input's order.
//!
//! Groups are numbered until there are enough of them or of their rows, of which the first ones are few: who wants no more than some
//! groups has them soon. Then all but the last, which may go on, are put out, and those of the last one's rows that are at hand are taken
//! again as the first group of the next ones.

use std::sync::Arc;

use super::call::Call;
use super::state::Groups;
use crate::columns::{Batch, Vector, row_number, rows_equal, rows_that_differ};
use crate::exec::context::{Charge, Cx};
use crate::exec::expr::{Evaluator, Frame, rebind_all};
use crate::exec::operator::{BoxOperator, Operator, Step};
use crate::{Result, Value};

/// With more groups than this they are put out.
const GROUPS: usize = 2048;

/// After so many rows the first groups are put out, and after twice as many each time the next ones, up to the most: what is taken again
/// is less than a batch.
const FIRST_ROWS: usize = 1 << 11;
const MOST_ROWS: usize = 1 << 17;

/// See the module.
pub(crate) struct SortedAggregate {
    input: BoxOperator,
    group_by: Vec<Evaluator>,
    calls: Vec<Call>,
    /// The keys of the groups at hand.
    keys: Vec<Vector>,
    groups: usize,
    /// As many rows are at hand in them.
    rows: usize,
    /// With more rows than this they are put out.
    enough: usize,
    /// The rows of a group that began when others were put out.
    carried: Option<Batch>,
    stage: Stage,
    charge: Charge,
}

enum Stage {
    Reading,
    /// The next group to put out, and how many there are; others may follow them.
    Writing {
        next: usize,
        end: usize,
        is_last: bool,
    },
    Done,
}

impl SortedAggregate {
    pub(crate) fn new(input: BoxOperator, group_by: Vec<Evaluator>, calls: Vec<Call>) -> SortedAggregate {
        let keys = group_by.iter().map(|key| Vector::new(key.data_type())).collect();
        SortedAggregate {
            input,
            group_by,
            calls,
            keys,
            groups: 0,
            rows: 0,
            enough: FIRST_ROWS,
            carried: None,
            stage: Stage::Reading,
            charge: Charge::default(),
        }
    }

    /// Reads until there are groups to put out.
    fn read(&mut self, cx: Cx<'_>) -> Step<()> {
        while matches!(self.stage, Stage::Reading) {
            cx.check()?;
            let batch = match self.carried.take() {
                Some(batch) => Some(batch),
                None => self.input.next(cx)?,
            };
            match batch {
                Some(batch) => self.take(&batch, cx)?,
                None => self.put_out(self.groups, true, cx)?,
            }
        }
        Ok(())
    }

    fn put_out(&mut self, end: usize, is_last: bool, cx: Cx<'_>) -> Result<()> {
        for call in &mut self.calls {
            call.grow(self.groups);
            call.settle(cx)?;
        }
        self.stage = Stage::Writing { next: 0, end, is_last };
        Ok(())
    }

    fn take(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let frame = Frame::from(batch);
        let keys = self.group_by.iter_mut().map(|key| key.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
        let (groups, last) = self.assign(&keys, batch.len());
        for call in &mut self.calls {
            call.update(frame, Groups::Each(&groups), self.groups, cx)?;
        }
        let bytes_per_group: usize = self.calls.iter().map(Call::group_bytes).sum();
        let keys_bytes: usize = self.keys.iter().map(Vector::memory_bytes).sum();
        self.charge.note(keys_bytes + self.groups * bytes_per_group, cx.shared);
        self.rows += batch.len();
        let is_enough = self.groups > GROUPS || self.groups > 1 && self.rows > self.enough;
        if let Some(last) = last.filter(|_| is_enough) {
            self.enough = MOST_ROWS.min(2 * self.enough);
            let rows: Vec<u32> = (last..batch.len()).map(row_number).collect();
            self.carried = Some(batch.gather(&rows));
            self.put_out(self.groups - 1, false, cx)?;
        }
        Ok(())
    }

    /// The group of each row, and the row with which the last one begins, if it begins here.
    fn assign(&mut self, keys: &[Arc<Vector>], len: usize) -> (Vec<u32>, Option<usize>) {
        let firsts = self.firsts(keys, len);
        // (Before the first of all there is none.)
        let mut group = row_number(self.groups).wrapping_sub(1);
        let mut groups = Vec::with_capacity(len);
        let mut next = firsts.iter().map(|&row| row as usize).peekable();
        for row in 0..len {
            group = group.wrapping_add(u32::from(next.next_if_eq(&row).is_some()));
            groups.push(group);
        }
        self.keys.iter_mut().zip(keys).for_each(|(known, key)| known.append_rows(key, &firsts));
        self.groups += firsts.len();
        (groups, firsts.last().map(|&row| row as usize))
    }

    /// The rows with which a group begins.
    fn firsts(&self, keys: &[Arc<Vector>], len: usize) -> Vec<u32> {
        let goes_on = self.groups.checked_sub(1).is_some_and(|last| rows_equal(keys, 0, &self.keys, last));
        (!goes_on).then_some(0).into_iter().chain(rows_that_differ(keys, len)).collect()
    }

    fn write(&mut self, start: usize, end: usize) -> Result<Batch> {
        let rows: Vec<u32> = (start..end).map(row_number).collect();
        let mut columns: Vec<Arc<Vector>> = self.keys.iter().map(|key| Arc::new(key.gather(&rows))).collect();
        for call in &mut self.calls {
            let answers = call.finish(start..end)?;
            columns.push(Arc::new(Vector::from_values(call.returns(), &answers)?));
        }
        Ok(Batch::new(columns, end - start))
    }

    fn forget_groups(&mut self, cx: Cx<'_>) {
        self.keys.iter_mut().for_each(|key| *key = Vector::new(key.data_type()));
        (self.groups, self.rows) = (0, 0);
        self.calls.iter_mut().for_each(|call| call.reset(cx));
        self.charge.clear(cx.shared);
    }
}

impl Operator for SortedAggregate {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let max = cx.context().batch_sizes.max.max(1);
        loop {
            match self.stage {
                Stage::Reading => self.read(cx)?,
                Stage::Writing { next, end, is_last } if next < end => {
                    let upto = end.min(next + max);
                    let batch = self.write(next, upto)?;
                    self.stage = Stage::Writing { next: upto, end, is_last };
                    return Ok(Some(batch));
                }
                Stage::Writing { is_last, .. } => {
                    self.forget_groups(cx);
                    self.stage = if is_last { Stage::Done } else { Stage::Reading };
                }
                Stage::Done => return Ok(None),
            }
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.forget_groups(cx);
        (self.enough, self.carried, self.stage) = (FIRST_ROWS, None, Stage::Reading);
    }

    fn park(&mut self) -> bool {
        if !self.calls.iter_mut().all(Call::park) {
            return false;
        }
        self.keys.iter_mut().for_each(|key| *key = Vector::new(key.data_type()));
        (self.groups, self.rows, self.enough) = (0, 0, FIRST_ROWS);
        (self.carried, self.stage) = (None, Stage::Reading);
        self.charge = Charge::default();
        self.input.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        rebind_all(&mut self.group_by, parameters)
            && self.calls.iter_mut().all(|call| call.rebind(parameters))
            && self.input.rebind(parameters)
    }
}
