//! LIMIT and OFFSET.

use super::batch::Batch;
use super::context::Cx;
use super::expr::{Evaluator, rebind_all};
use super::operator::{BoxOperator, Operator, Step};
use crate::{Error, Result, SqlState, Value};

/// The compiled LIMIT and OFFSET expressions.
pub(crate) struct LimitValues {
    pub(crate) limit: Option<Evaluator>,
    pub(crate) offset: Option<Evaluator>,
}

impl LimitValues {
    /// Rows to skip, and rows to return (`None`: all).
    pub(crate) fn evaluate(&mut self, cx: Cx<'_>) -> Result<(usize, Option<usize>)> {
        let offset = count(self.offset.as_mut(), SqlState::INVALID_ROW_COUNT_IN_OFFSET_CLAUSE, "OFFSET", cx)?;
        let limit = count(self.limit.as_mut(), SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT", cx)?;
        Ok((offset.unwrap_or(0), limit))
    }
}

fn count(value: Option<&mut Evaluator>, code: SqlState, clause: &str, cx: Cx<'_>) -> Result<Option<usize>> {
    let Some(value) = value else { return Ok(None) };
    match value.scalar(cx)? {
        Value::Null => Ok(None),
        value => {
            let count = value.as_i64().ok_or_else(|| Error::internal(format!("{clause} is not an integer")))?;
            let count = u64::try_from(count).map_err(|_| Error::new(code, format!("{clause} must not be negative")))?;
            Ok(Some(usize::try_from(count).unwrap_or(usize::MAX)))
        }
    }
}

/// Some of the input's rows.
pub(crate) struct Limit {
    input: BoxOperator,
    values: LimitValues,
    /// Rows still to skip and still to return; `None`: not started.
    left: Option<(usize, Option<usize>)>,
}

impl Limit {
    pub(crate) fn new(input: BoxOperator, values: LimitValues) -> Limit {
        Limit { input, values, left: None }
    }
}

impl Operator for Limit {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let left = match &mut self.left {
            Some(left) => left,
            none => {
                let (skipped, limit) = *none.insert(self.values.evaluate(cx)?);
                if let Some(limit) = limit {
                    self.input.want(skipped.saturating_add(limit));
                }
                none.get_or_insert((skipped, limit))
            }
        };
        loop {
            if left.1 == Some(0) {
                return Ok(None);
            }
            let Some(batch) = self.input.next(cx)? else { return Ok(None) };
            if left.0 >= batch.len() {
                left.0 -= batch.len();
                continue;
            }
            let batch = batch.slice(std::mem::take(&mut left.0), left.1.unwrap_or(usize::MAX));
            if let Some(limit) = &mut left.1 {
                *limit -= batch.len();
            }
            return Ok(Some(batch));
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.left = None;
    }

    fn park(&mut self) -> bool {
        self.left = None;
        self.input.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        let LimitValues { limit, offset } = &mut self.values;
        rebind_all(limit.iter_mut().chain(offset), parameters) && self.input.rebind(parameters)
    }
}
