//! Rows of a query as a stream of Arrow's batches.

use std::collections::VecDeque;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use cairndb::{Batch, Field, Result, Rows};

use crate::Shape;
use crate::error::told;

/// A batch has at least so many rows, where there are as many.
const ROWS: usize = 64 << 10;

/// What gives at least so many rows, where there are as many; `None`: there are no more.
type Source = dyn FnMut(usize) -> Result<Option<Batch>> + Send;

/// The rows of a running query, batch by batch, as they are asked for. An error ends them; it is told as
/// [`ArrowError::ExternalError`], with SQLSTATE and hint in its text.
pub struct Outgoing {
    shape: Shape,
    /// What was looked at to know the shape.
    ahead: VecDeque<Batch>,
    source: Box<Source>,
    is_over: bool,
    give_back: Option<Box<GiveBack>>,
}

/// Takes what was looked at and not asked for.
type GiveBack = dyn FnOnce(VecDeque<Batch>) + Send;

impl Outgoing {
    /// The rows of a query. The first of them are worked out here.
    ///
    /// # Errors
    ///
    /// The query's.
    pub fn of_rows(mut rows: Rows) -> Result<Outgoing> {
        let columns = rows.columns().to_vec();
        Outgoing::of_batches(&columns, move |rows_min| rows.next_batch(rows_min))
    }

    /// The rows that `source` gives: as [`Rows::next_batch`], of a result with these columns.
    ///
    /// # Errors
    ///
    /// Those of the source.
    pub fn of_batches(
        columns: &[Field],
        source: impl FnMut(usize) -> Result<Option<Batch>> + Send + 'static,
    ) -> Result<Outgoing> {
        let mut source: Box<Source> = Box::new(source);
        let mut ahead = VecDeque::new();
        ahead.extend(source(ROWS)?);
        // Who knows that these are all of them can say how many digits they have.
        if !ahead.is_empty() {
            ahead.extend(source(ROWS)?);
        }
        let shape = Shape::of(columns, ahead.front(), ahead.len() < 2);
        Ok(Outgoing { shape, is_over: ahead.len() < 2, ahead, source, give_back: None })
    }

    /// Where it ends before all was asked for, `take` gets what was worked out ahead and nobody saw: some libraries ask for a stream
    /// to see its schema, and for another one to read it.
    pub fn giving_back(mut self, take: impl FnOnce(VecDeque<Batch>) + Send + 'static) -> Outgoing {
        self.give_back = Some(Box::new(take));
        self
    }

    /// As other libraries of the process take it (Arrow's C stream interface).
    pub fn into_stream(self) -> FFI_ArrowArrayStream {
        FFI_ArrowArrayStream::new(Box::new(self))
    }

    fn pull(&mut self) -> Result<Option<RecordBatch>> {
        let batch = match self.ahead.pop_front() {
            Some(batch) => Some(batch),
            None if self.is_over => None,
            None => (self.source)(ROWS)?,
        };
        self.is_over |= batch.is_none();
        batch.map(|batch| self.shape.record_batch(batch)).transpose()
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take().filter(|_| !self.ahead.is_empty()) {
            give_back(std::mem::take(&mut self.ahead));
        }
    }
}

impl Iterator for Outgoing {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let pulled = self.pull().transpose()?;
        Some(pulled.map_err(|error| {
            self.is_over = true;
            self.ahead.clear();
            told(error)
        }))
    }
}

impl RecordBatchReader for Outgoing {
    fn schema(&self) -> SchemaRef {
        self.shape.schema().clone()
    }
}
