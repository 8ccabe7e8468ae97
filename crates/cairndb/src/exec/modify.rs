//! INSERT, UPDATE, DELETE as an operator.

use std::sync::Arc;

use super::collected::Collected;
use super::context::{Cx, NOBODY};
use super::operator::{BoxOperator, Operator, SourceRows, Step};
use super::spill::BatchList;
use crate::Error;
use crate::columns::Batch;
use crate::plan::{ConstantRows, Modification};
use crate::types::DataType;

/// Changes rows when it is first asked: reads its input to the end, then writes, unless the two follow each other
/// ([`Writes::follows`](super::operator::Writes::follows)). Either may say "not yet". Its own rows are what RETURNING says.
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
        match &mut self.rows {
            Rows::Constants(rows) => return writes.change(&self.change, SourceRows::Constants(rows), cx.turn()),
            Rows::Input(input) if writes.follows() => {
                let mut next = || input.next(cx);
                return writes.change(&self.change, SourceRows::Lazy(&mut next), cx.turn());
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
            }
            Rows::Read => {}
        }
        let changed = writes.change(&self.change, SourceRows::Batches(&self.read, cx.shared), cx.turn())?;
        self.read.clear(cx);
        Ok(changed)
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
