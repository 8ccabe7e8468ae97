//! All rows of an input, by column.

use std::sync::Arc;

use super::context::{Charge, Cx};
use super::expr::Frame;
use super::operator::{BoxOperator, Step};
use crate::Result;
use crate::columns::{Batch, Vector, check_count};
use crate::plan::Field;

/// Materialised rows.
pub(crate) struct Rows {
    pub(crate) columns: Vec<Arc<Vector>>,
    pub(crate) len: usize,
}

impl Rows {
    pub(crate) fn frame(&self) -> Frame<'_> {
        Frame { columns: &self.columns, len: self.len }
    }
}

/// Collects rows into long columns.
pub(crate) struct RowsBuilder {
    columns: Vec<Vector>,
    len: usize,
}

impl RowsBuilder {
    pub(crate) fn new(fields: &[Field]) -> RowsBuilder {
        RowsBuilder { columns: fields.iter().map(|field| Vector::new(field.data_type)).collect(), len: 0 }
    }

    /// What was collected; from now on it collects anew.
    pub(crate) fn take(&mut self, fields: &[Field]) -> RowsBuilder {
        std::mem::replace(self, RowsBuilder::new(fields))
    }

    pub(crate) fn add(&mut self, batch: &Batch, charge: &mut Charge, cx: Cx<'_>) -> Result<()> {
        charge.add(batch.memory_bytes(), cx.shared)?;
        self.append(batch)
    }

    /// As [`RowsBuilder::add`], for who accounts for the memory.
    pub(crate) fn append(&mut self, batch: &Batch) -> Result<()> {
        self.columns.iter_mut().zip(batch.columns()).for_each(|(to, from)| to.append(from));
        self.len += batch.len();
        check_count(self.len)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn finish(self) -> Rows {
        Rows { columns: self.columns.into_iter().map(Arc::new).collect(), len: self.len }
    }
}

/// Runs `input` to its end and keeps its rows: until it is there, in `kept`.
pub(crate) fn collect(
    input: &mut BoxOperator,
    fields: &[Field],
    kept: &mut Option<RowsBuilder>,
    charge: &mut Charge,
    cx: Cx<'_>,
) -> Step<Rows> {
    let rows = kept.get_or_insert_with(|| RowsBuilder::new(fields));
    while let Some(batch) = input.next(cx)? {
        cx.check()?;
        rows.add(&batch, charge, cx)?;
    }
    let rows = kept.take().unwrap_or_else(|| RowsBuilder::new(fields));
    Ok(rows.finish())
}
