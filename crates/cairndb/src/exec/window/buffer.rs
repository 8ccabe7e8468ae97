//! The rows of a partition (and of those that begin in the same batch), by their numbers from the input's first row.
//!
//! Batches are in memory as far as `work_mem` goes, on disk beyond; those that nobody will look at again are let go of from
//! the front. Whoever reads does so through a [`Cursor`], which holds the batch that it is in: going from row to row costs
//! a comparison.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Result;
use crate::columns::{Batch, Data, Vector};
use crate::exec::context::{Charge, Cx};
use crate::exec::spill::{Run, RunFile};
use crate::{Error, Value};

/// See the module.
#[derive(Default)]
pub(super) struct Buffer {
    slots: VecDeque<Slot>,
    /// The number of the row that comes next.
    end: u64,
    spilled: Option<Run>,
    charge: Charge,
}

struct Slot {
    start: u64,
    end: u64,
    stored: Stored,
}

enum Stored {
    Memory(Batch),
    /// A block of the run.
    Disk(usize),
}

impl Buffer {
    /// Behind the last row.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn push(&mut self, batch: Batch, cx: Cx<'_>) -> Result<()> {
        let (start, bytes) = (self.end, batch.memory_bytes());
        self.end += batch.len() as u64;
        let stored = match self.charge.would_exceed(bytes, cx.shared) {
            true => Stored::Disk(self.spill(&batch, cx)?),
            false => {
                self.charge.note_more(bytes, cx.shared);
                Stored::Memory(batch)
            }
        };
        self.slots.push_back(Slot { start, end: self.end, stored });
        Ok(())
    }

    fn spill(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<usize> {
        let run = match &mut self.spilled {
            Some(run) => run,
            none => {
                let types = batch.columns().iter().map(|column| column.data_type()).collect();
                none.insert(RunFile::create(types, cx)?.run())
            }
        };
        run.push(batch, cx)?;
        Ok(run.blocks() - 1)
    }

    /// Lets go of the batches that end at or before `row`.
    pub(super) fn drop_before(&mut self, row: u64, cx: Cx<'_>) {
        let mut freed = 0;
        while self.slots.front().is_some_and(|slot| slot.end <= row)
            && let Some(slot) = self.slots.pop_front()
        {
            if let Stored::Memory(batch) = &slot.stored {
                freed += batch.memory_bytes();
            }
        }
        if freed > 0 {
            self.charge.note_less(freed, cx.shared);
        }
        if self.spilled.is_some() && !self.slots.iter().any(|slot| matches!(slot.stored, Stored::Disk(_))) {
            self.spilled = None;
        }
    }

    pub(super) fn clear(&mut self, cx: Cx<'_>) {
        self.slots.clear();
        (self.end, self.spilled) = (0, None);
        self.charge.clear(cx.shared);
    }

    fn load(&self, row: u64, cursor: &mut Cursor, cx: Cx<'_>) -> Result<()> {
        let at = self.slots.partition_point(|slot| slot.end <= row);
        let slot = self.slots.get(at).filter(|slot| slot.start <= row);
        let slot = slot.ok_or_else(|| Error::internal("a window looks at a row that is not there"))?;
        cursor.batch = match &slot.stored {
            Stored::Memory(batch) => Some(batch.clone()),
            Stored::Disk(block) => self.spilled.as_ref().map_or(Ok(None), |run| run.block(*block, cx))?,
        };
        (cursor.start, cursor.end) = (slot.start, slot.end);
        Ok(())
    }
}

/// A place in a buffer.
#[derive(Default)]
pub(super) struct Cursor {
    batch: Option<Batch>,
    start: u64,
    end: u64,
}

impl Cursor {
    /// Goes to a row: its columns, and its place in them.
    #[inline]
    pub(super) fn at(&mut self, row: u64, buffer: &Buffer, cx: Cx<'_>) -> Result<(&[Arc<Vector>], usize)> {
        if row < self.start || row >= self.end {
            buffer.load(row, self, cx)?;
        }
        let columns = self.batch.as_ref().map_or(&[][..], Batch::columns);
        Ok((columns, (row - self.start) as usize))
    }

    pub(super) fn value(&mut self, column: usize, row: u64, buffer: &Buffer, cx: Cx<'_>) -> Result<Value> {
        let (columns, at) = self.at(row, buffer, cx)?;
        Ok(columns.get(column).map_or(Value::Null, |column| column.value(at)))
    }

    /// Whether a column of conditions is true.
    #[inline]
    pub(super) fn is_true(&mut self, column: usize, row: u64, buffer: &Buffer, cx: Cx<'_>) -> Result<bool> {
        let (columns, at) = self.at(row, buffer, cx)?;
        Ok(columns.get(column).is_some_and(|column| match column.data() {
            Data::Bool(values) => values[at],
            _ => false,
        }))
    }
}
