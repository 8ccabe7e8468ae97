//! The rows of a cursor: read as they are asked for, and kept as far as they may be asked for again.

use std::sync::Arc;
use std::time::Instant;

use super::context::{Cx, ExecContext};
use super::spill::BatchList;
use super::stream::RowStream;
use crate::columns::Batch;
use crate::functions::Calls;
use crate::state::Reader;
use crate::{Error, Result, SqlState, Value};

/// What is kept of rows that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Nothing: who asks only goes on.
    Nothing,
    /// All, as long as they fit in `work_mem`.
    WhileSmall,
    /// All, on disk beyond `work_mem`.
    All,
}

/// See the module.
pub(crate) struct ScrolledRows {
    stream: RowStream,
    keep: Keep,
    list: BatchList,
    /// By batch of the list, the number of its first row, from 0.
    starts: Vec<u64>,
    kept_bytes: usize,
    /// The batch that was asked for last, and the number of its first row.
    current: Option<(u64, Batch)>,
    /// How many rows the stream gave.
    read: u64,
    done: bool,
}

impl ScrolledRows {
    pub(crate) fn new(stream: RowStream, keep: Keep) -> ScrolledRows {
        let (list, starts) = (BatchList::default(), Vec::new());
        ScrolledRows { stream, keep, list, starts, kept_bytes: 0, current: None, read: 0, done: false }
    }

    pub(crate) fn fields(&self) -> &[crate::plan::Field] {
        &self.stream.plan().fields
    }

    /// What its statement runs in.
    pub(crate) fn context(&self) -> &ExecContext {
        self.stream.context()
    }

    /// Whether the row of this number, from 0, can be asked for, and those behind it.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.keep != Keep::Nothing || self.current.as_ref().is_some_and(|(start, _)| *start <= number)
    }

    /// Another statement asks from here on. What is done before it begins nobody's functions see.
    pub(crate) fn begin_statement(&mut self, deadline: Option<Instant>) -> Result<()> {
        let context = &mut self.stream.shared_mut().context;
        context.deadline = deadline;
        let Some(calls) = context.eval.known_calls().filter(|_| !self.done) else { return Ok(()) };
        let Some(caller) = calls.caller.for_statement(deadline)? else { return Ok(()) };
        let calls = Calls { caller, reader: calls.reader.clone() };
        context.eval = Arc::new(context.eval.with_calls(Some(calls)));
        Ok(())
    }

    /// The row of this number, from 0; `None`: there are fewer.
    pub(crate) fn row(&mut self, number: u64) -> Result<Option<Vec<Value>>> {
        loop {
            if let Some((start, batch)) = &self.current
                && let Some(at) = number.checked_sub(*start).and_then(|at| usize::try_from(at).ok())
                && at < batch.len()
            {
                let mut values = Vec::new();
                batch.read_row(at, &mut values);
                return Ok(Some(values));
            }
            if number < self.read {
                self.current = Some(self.kept(number)?);
            } else if !self.read_batch()? {
                return Ok(None);
            }
        }
    }

    /// Reads all that is left, and keeps it: the state that it is read from goes. `reader`: of something that ends soon.
    pub(crate) fn hold(&mut self, reader: &Reader) -> Result<()> {
        if self.keep == Keep::Nothing
            && let Some((start, batch)) = self.current.clone()
        {
            self.keep(start, &batch)?;
        }
        self.keep = Keep::All;
        while self.read_batch()? {}
        self.stream.finish(reader);
        Ok(())
    }

    fn kept(&mut self, number: u64) -> Result<(u64, Batch)> {
        let at = self.starts.partition_point(|start| *start <= number).checked_sub(1);
        let cx = Cx { shared: self.stream.shared_mut(), outer: None, writes: None };
        let batch = at.map(|at| self.list.get(at, cx)).transpose()?.flatten();
        let start = at.and_then(|at| self.starts.get(at).copied());
        start.zip(batch).ok_or_else(|| Error::internal("a row of a cursor was not kept"))
    }

    fn read_batch(&mut self) -> Result<bool> {
        if self.done {
            return Ok(false);
        }
        let Some(mut batch) = self.stream.next_batch()? else {
            self.done = true;
            return Ok(false);
        };
        batch.check_text();
        let start = self.read;
        self.read += batch.len() as u64;
        if self.keep == Keep::WhileSmall
            && self.kept_bytes + batch.memory_bytes() > self.stream.shared_mut().context.work_mem
        {
            self.keep = Keep::Nothing;
            let cx = Cx { shared: self.stream.shared_mut(), outer: None, writes: None };
            self.list.clear(cx);
            self.starts.clear();
        }
        if self.keep != Keep::Nothing {
            self.keep(start, &batch)?;
        }
        self.current = Some((start, batch));
        Ok(true)
    }

    fn keep(&mut self, start: u64, batch: &Batch) -> Result<()> {
        self.kept_bytes += batch.memory_bytes();
        self.starts.push(start);
        let cx = Cx { shared: self.stream.shared_mut(), outer: None, writes: None };
        self.list.push(batch, cx)
    }
}

/// SQLSTATE 55000.
pub(crate) fn only_forward() -> Error {
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
        .with_hint("Declare it with SCROLL option to enable backward scan.")
}
