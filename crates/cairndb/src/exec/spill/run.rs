//! Runs: rows written once, in blocks, and read in that order.

use std::sync::Arc;

use super::block;
use super::file::{Extent, SpillFile};
use crate::columns::{Batch, Vector};
use crate::exec::build::tried;
use crate::exec::context::Cx;
use crate::exec::operator::{BoxOperator, Operator, Step};
use crate::sync::{Mutex, MutexGuard};
use crate::{DataType, Result};

/// A block is written once it holds so many bytes, or a batch of rows.
const BLOCK_BYTES: usize = 128 << 10;

/// Written rows. Dropping the last run of a file removes it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    file: Arc<Mutex<SpillFile>>,
    types: Arc<[DataType]>,
    blocks: Vec<Extent>,
    rows: u64,
}

impl Run {
    /// Runs share their file on one thread at a time.
    fn file(&self) -> MutexGuard<'_, SpillFile> {
        self.file.lock()
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The block at `index`; `None` past the end.
    pub(crate) fn block(&self, index: usize, cx: Cx<'_>) -> Result<Option<Batch>> {
        let Some(&extent) = self.blocks.get(index) else { return Ok(None) };
        cx.check()?;
        let mut bytes = cx.shared.spill_buffer();
        self.file().read(extent, &mut bytes)?;
        block::decode(&bytes, &self.types).map(Some)
    }

    /// Appends a batch as a block of its own.
    pub(crate) fn push(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<()> {
        let mut bytes = cx.shared.spill_buffer();
        bytes.clear();
        block::encode(batch, &mut bytes)?;
        let extent = self.file().append(&bytes)?;
        self.blocks.push(extent);
        self.rows += batch.len() as u64;
        cx.shared.note_spilled(bytes.len());
        Ok(())
    }
}

/// Writes runs of rows of the same types into one file.
pub(crate) struct RunFile {
    file: Arc<Mutex<SpillFile>>,
    types: Arc<[DataType]>,
}

impl RunFile {
    pub(crate) fn create(types: Arc<[DataType]>, cx: Cx<'_>) -> Result<RunFile> {
        cx.shared.note_spill_file();
        Ok(RunFile { file: Arc::new(Mutex::new(SpillFile::create(&cx.context().spill)?)), types })
    }

    /// Begins a run.
    pub(crate) fn run(&self) -> Run {
        Run { file: self.file.clone(), types: self.types.clone(), blocks: vec![], rows: 0 }
    }

    pub(crate) fn writer(&self) -> RunWriter {
        RunWriter { run: self.run(), pending: new_columns(&self.types), len: 0 }
    }

    pub(crate) fn types(&self) -> &Arc<[DataType]> {
        &self.types
    }
}

fn new_columns(types: &[DataType]) -> Vec<Vector> {
    types.iter().map(|&data_type| Vector::new(data_type)).collect()
}

/// Collects rows into blocks.
pub(crate) struct RunWriter {
    run: Run,
    pending: Vec<Vector>,
    len: usize,
}

impl RunWriter {
    /// Adds some rows of a batch, in this order.
    pub(crate) fn add(&mut self, batch: &Batch, rows: &[u32], cx: Cx<'_>) -> Result<()> {
        let most = cx.context().batch_sizes.max.max(1);
        let mut rest = rows;
        while !rest.is_empty() {
            let rows = rest.split_off(..rest.len().min(most - self.len)).unwrap_or_default();
            self.pending.iter_mut().zip(batch.columns()).for_each(|(to, from)| to.append_rows(from, rows));
            self.len += rows.len();
            let bytes: usize = self.pending.iter().map(Vector::memory_bytes).sum();
            if self.len >= most || bytes >= BLOCK_BYTES {
                self.flush(cx)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, cx: Cx<'_>) -> Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        let columns = std::mem::replace(&mut self.pending, new_columns(&self.run.types));
        let batch = Batch::new(columns.into_iter().map(Arc::new).collect(), std::mem::take(&mut self.len));
        self.run.push(&batch, cx)
    }

    pub(crate) fn finish(mut self, cx: Cx<'_>) -> Result<Run> {
        self.flush(cx)?;
        Ok(self.run)
    }
}

/// Reads a run: the input of an operator that works off a partition.
pub(crate) struct RunScan {
    run: Run,
    next: usize,
}

impl RunScan {
    pub(crate) fn operator(run: Run, cx: Cx<'_>) -> BoxOperator {
        tried(Box::new(RunScan { run, next: 0 }), cx.shared)
    }
}

impl Operator for RunScan {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        cx.take_turn()?;
        let batch = self.run.block(self.next, cx)?;
        self.next += 1;
        Ok(batch)
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.next = 0;
    }
}
