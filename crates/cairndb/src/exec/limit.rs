//! LIMIT and OFFSET.

use std::sync::Arc;

use super::context::Cx;
use super::expr::{Evaluator, rebind_all};
use super::operator::{BoxOperator, Operator, Step};
use super::sort::SortKeys;
use crate::columns::{Batch, Vector};
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
    ties: Option<Ties>,
}

/// WITH TIES: what decides whether a row is the last one's equal.
struct Ties {
    keys: SortKeys,
    /// The keys of the last row that was asked for, once it was met.
    last: Option<Vec<Arc<Vector>>>,
}

impl Limit {
    pub(crate) fn new(input: BoxOperator, values: LimitValues, ties: Option<SortKeys>) -> Limit {
        Limit { input, values, left: None, ties: ties.map(|keys| Ties { keys, last: None }) }
    }

    /// The rows behind the last one that are its equals; they lie together.
    fn next_ties(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let Some(Ties { keys, last: Some(last) }) = &mut self.ties else { return Ok(None) };
        loop {
            let Some(batch) = self.input.next(cx)? else { return Ok(None) };
            let equal = keys.equal_to(last, &batch, cx)?;
            if equal < batch.len() {
                // It is over: what comes behind is not asked for.
                self.ties.iter_mut().for_each(|ties| ties.last = None);
                return Ok((equal > 0).then(|| batch.slice(0, equal)));
            }
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
    }
}

impl Operator for Limit {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let left = match &mut self.left {
            Some(left) => left,
            none => {
                let (skipped, limit) = *none.insert(self.values.evaluate(cx)?);
                if limit.is_none() && self.ties.is_some() {
                    let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
                    return Err(Error::new(SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, message).into());
                }
                if let Some(limit) = limit {
                    self.input.want(skipped.saturating_add(limit));
                }
                none.get_or_insert((skipped, limit))
            }
        };
        loop {
            if left.1 == Some(0) {
                return self.next_ties(cx);
            }
            if left.0 > 0 {
                let skipped = self.input.skip(left.0, cx)?;
                left.0 -= skipped;
                if skipped > 0 {
                    continue;
                }
            }
            let Some(batch) = self.input.next(cx)? else { return Ok(None) };
            if left.0 >= batch.len() {
                left.0 -= batch.len();
                continue;
            }
            let first = std::mem::take(&mut left.0);
            let wanted = batch.slice(first, left.1.unwrap_or(usize::MAX));
            let Some(limit) = &mut left.1 else { return Ok(Some(wanted)) };
            *limit -= wanted.len();
            let Some(ties) = self.ties.as_mut().filter(|_| *limit == 0) else { return Ok(Some(wanted)) };
            let rest = batch.slice(first + wanted.len(), usize::MAX);
            let last = ties.keys.row(&wanted, wanted.len() - 1, cx)?;
            let equal = ties.keys.equal_to(&last, &rest, cx)?;
            // Behind a row that differs there are no equals.
            ties.last = (equal == rest.len()).then_some(last);
            return Ok(Some(batch.slice(first, wanted.len() + equal)));
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.left = None;
        self.ties.iter_mut().for_each(|ties| ties.last = None);
    }

    fn park(&mut self) -> bool {
        self.left = None;
        self.ties.is_none() && self.input.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        let LimitValues { limit, offset } = &mut self.values;
        rebind_all(limit.iter_mut().chain(offset), parameters) && self.input.rebind(parameters)
    }
}
