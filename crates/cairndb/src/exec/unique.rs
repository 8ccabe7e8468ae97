//! DISTINCT and DISTINCT ON of rows of which equal ones come together: each is compared with the one before.

use std::sync::Arc;

use super::context::Cx;
use super::expr::{Evaluator, Frame, rebind_all};
use super::operator::{BoxOperator, Operator, Step};
use crate::columns::{Batch, Vector, row_number, rows_equal, rows_that_differ};
use crate::{Result, Value};

/// See the module.
pub(crate) struct Unique {
    input: BoxOperator,
    /// Empty: whole rows.
    on: Vec<Evaluator>,
    /// The keys of the last row that was looked at.
    last: Option<Vec<Arc<Vector>>>,
}

impl Unique {
    pub(crate) fn new(input: BoxOperator, on: Vec<Evaluator>) -> Unique {
        Unique { input, on, last: None }
    }

    /// The rows that differ from those before them.
    fn firsts(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Vec<u32>> {
        let keys: Vec<Arc<Vector>> = match self.on.is_empty() {
            true => batch.columns().to_vec(),
            false => self.on.iter_mut().map(|key| key.vector(Frame::from(batch), cx)).collect::<Result<_>>()?,
        };
        let goes_on = self.last.as_ref().is_some_and(|last| rows_equal(&keys, 0, last, 0));
        let first = (!goes_on).then_some(0);
        let firsts = first.into_iter().chain(rows_that_differ(&keys, batch.len())).collect();
        let last = [row_number(batch.len() - 1)];
        self.last = Some(keys.iter().map(|key| Arc::new(key.gather(&last))).collect());
        Ok(firsts)
    }
}

impl Operator for Unique {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        while let Some(batch) = self.input.next(cx)? {
            cx.check()?;
            if batch.is_empty() {
                continue;
            }
            let firsts = self.firsts(&batch, cx)?;
            match firsts.len() {
                0 => {}
                all if all == batch.len() => return Ok(Some(batch)),
                _ => return Ok(Some(batch.gather(&firsts))),
            }
        }
        Ok(None)
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.last = None;
    }

    fn park(&mut self) -> bool {
        self.last = None;
        self.input.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        rebind_all(&mut self.on, parameters) && self.input.rebind(parameters)
    }
}
