//! INSERT, UPDATE, DELETE as an operator.

use std::sync::Arc;

use super::batch::Batch;
use super::collected::Collected;
use super::context::{Cx, NOBODY};
use super::operator::{BoxOperator, Operator, SourceRows, Step, next_now};
use super::spill::BatchList;
use crate::Error;
use crate::bind::ConstantRows;
use crate::plan::Modification;
use crate::types::DataType;

/// Changes rows when it is first asked: reads its input to the end, then writes, unless the two follow each other
/// ([`Writes::follows`](super::operator::Writes::follows)). Its own rows are what RETURNING says.
pub(crate) struct Modify {
    change: Arc<Modification>,
    rows: Rows,
    /// What was read of them: on disk beyond `work_mem`.
    read: BatchList,
    types: Vec<DataType>,
    returned: Option<Collected>,
}

/// From which rows.
pub(crate) enum Rows {
    Input(BoxOperator),
    Constants(Arc<ConstantRows>),
    /// All of them are read.
    Read,
}

impl Modify {
    pub(crate) fn new(change: Arc<Modification>, rows: Rows, types: Vec<DataType>) -> Modify {
        Modify { change, rows, read: BatchList::default(), types, returned: None }
    }

    fn run(&mut self, cx: Cx<'_>) -> Step<Collected> {
        let writes = cx.writes.ok_or_else(|| Error::internal("a plan that changes rows is only read"))?;
        let rows = match &mut self.rows {
            Rows::Constants(rows) => SourceRows::Constants(rows),
            Rows::Input(input) if writes.follows() => {
                let mut next = || next_now(input, cx);
                return Ok(writes.change(&self.change, SourceRows::Lazy(&mut next))?);
            }
            Rows::Input(input) => {
                while let Some(mut batch) = input.next(cx)? {
                    cx.check()?;
                    batch.check_text();
                    // Of its input, EXPLAIN ANALYZE tells.
                    let running = cx.shared.running.replace(NOBODY);
                    let added = self.read.add(batch, cx);
                    cx.shared.running.set(running);
                    added?;
                }
                // No cursor holds the pages that are about to change.
                self.rows = Rows::Read;
                let changed = writes.change(&self.change, SourceRows::Batches(&self.read, cx.shared));
                self.read.clear(cx);
                return Ok(changed?);
            }
            Rows::Read => return Err(Error::internal("rows are changed a second time").into()),
        };
        Ok(writes.change(&self.change, rows)?)
    }
}

impl Operator for Modify {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let returned = match &mut self.returned {
            Some(returned) => returned,
            None => {
                let rows = self.run(cx)?;
                self.returned.insert(rows)
            }
        };
        Ok(returned.next_batch(&self.types)?)
    }

    /// It is never run twice.
    fn reset(&mut self, _cx: Cx<'_>) {}
}
