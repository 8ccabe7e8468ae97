//! A sort's input: all of its rows at once, or, where they come in the order of the first keys, run after run.
//!
//! A run has whole groups of rows that agree in those keys, as many as the input gives at once, one at least. So each run is
//! sorted by itself, and all of its rows come before the next one's.

use std::sync::Arc;

use super::context::Cx;
use super::operator::{BoxOperator, Step};
use super::sort::SortKeys;
use crate::Result;
use crate::columns::{Batch, Vector, row_number, rows_equal};

/// See the module.
pub(crate) struct Runs {
    input: BoxOperator,
    /// The order that rows come in; none: they are one run.
    keys: Option<SortKeys>,
    /// The first rows of the next run.
    carried: Option<Batch>,
    /// The keys of the last row that was given, of this run.
    last: Option<Vec<Arc<Vector>>>,
    /// The input has no further rows.
    is_read: bool,
}

impl Runs {
    pub(crate) fn new(input: BoxOperator, keys: Option<SortKeys>) -> Runs {
        Runs { input, keys, carried: None, last: None, is_read: false }
    }

    /// The run's next rows; `None` at its end.
    pub(super) fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        if self.carried.is_some() && self.last.is_some() {
            return Ok(None);
        }
        let Some(batch) = self.read(cx)? else {
            self.is_read = true;
            return Ok(None);
        };
        match self.end_of_groups(&batch, cx)? {
            None => Ok(Some(batch)),
            Some(0) => {
                self.carried = Some(batch);
                Ok(None)
            }
            Some(end) => {
                self.carried = Some(batch.slice(end, usize::MAX));
                Ok(Some(batch.slice(0, end)))
            }
        }
    }

    /// What was read before, or the input's next rows.
    fn read(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        if let Some(batch) = self.carried.take() {
            return Ok(Some(batch));
        }
        while let Some(batch) = self.input.next(cx)? {
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// The row with which the batch's last group begins, if others are before it.
    fn end_of_groups(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Option<usize>> {
        let Some(keys) = &mut self.keys else { return Ok(None) };
        let keys = keys.of(batch, cx)?;
        let within = (1..batch.len()).rev().find(|&row| !rows_equal(&keys, row, &keys, row - 1));
        let goes_on = self.last.as_ref().is_none_or(|last| rows_equal(&keys, 0, last, 0));
        let last = [row_number(batch.len() - 1)];
        self.last = Some(keys.iter().map(|key| Arc::new(key.gather(&last))).collect());
        Ok(within.or((!goes_on).then_some(0)))
    }

    /// Goes on with the next run; false: there is none.
    pub(super) fn begin(&mut self) -> bool {
        self.last = None;
        self.keys.is_some() && !self.is_read
    }

    pub(super) fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        (self.carried, self.last, self.is_read) = (None, None, false);
    }
}
