//! Batches that are read by position, any number of times: in memory as far as `work_mem` goes, on disk beyond.

use super::run::{Run, RunFile};
use crate::Result;
use crate::columns::Batch;
use crate::exec::context::{Charge, Cx};

/// See the module.
#[derive(Default)]
pub(crate) struct BatchList {
    kept: Vec<Batch>,
    /// Those behind `kept`, once there were too many.
    spilled: Option<Run>,
    charge: Charge,
}

impl BatchList {
    pub(crate) fn len(&self) -> usize {
        self.kept.len() + self.spilled.as_ref().map_or(0, Run::blocks)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has at most this many rows.
    pub(crate) fn has_at_most(&self, rows: usize) -> bool {
        self.spilled.is_none() && self.kept.iter().map(Batch::len).sum::<usize>() <= rows
    }

    pub(crate) fn push(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<()> {
        match self.has_room(batch, cx) {
            true => self.keep(batch.clone(), cx),
            false => self.set_aside(batch, cx)?,
        }
        Ok(())
    }

    /// The same, of a batch that nobody else needs.
    pub(crate) fn add(&mut self, batch: Batch, cx: Cx<'_>) -> Result<()> {
        match self.has_room(&batch, cx) {
            true => self.keep(batch, cx),
            false => self.set_aside(&batch, cx)?,
        }
        Ok(())
    }

    fn has_room(&self, batch: &Batch, cx: Cx<'_>) -> bool {
        self.spilled.is_none() && !self.charge.would_exceed(batch.memory_bytes(), cx.shared)
    }

    fn keep(&mut self, batch: Batch, cx: Cx<'_>) {
        self.charge.note_more(batch.memory_bytes(), cx.shared);
        self.kept.push(batch);
    }

    fn set_aside(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<()> {
        if self.spilled.is_none() {
            let types = batch.columns().iter().map(|column| column.data_type()).collect();
            self.spilled = Some(RunFile::create(types, cx)?.run());
        }
        self.spilled.as_mut().map_or(Ok(()), |run| run.push(batch, cx))
    }

    /// One of those that are in memory.
    pub(crate) fn kept(&self, index: usize) -> Option<&Batch> {
        self.kept.get(index)
    }

    pub(crate) fn get(&self, index: usize, cx: Cx<'_>) -> Result<Option<Batch>> {
        match (self.kept.get(index), &self.spilled) {
            (Some(batch), _) => Ok(Some(batch.clone())),
            (None, Some(run)) => run.block(index - self.kept.len(), cx),
            (None, None) => Ok(None),
        }
    }

    pub(crate) fn clear(&mut self, cx: Cx<'_>) {
        self.kept.clear();
        self.spilled = None;
        self.charge.clear(cx.shared);
    }
}
