//! Runs: rows written once, in blocks, and read in that order.

use std::cell::RefCell;
use std::rc::Rc;

use super::block;
use super::file::{Extent, SpillFile};
use crate::exec::batch::Batch;
use crate::exec::context::Cx;
use crate::{DataType, Result};

/// Written rows. Dropping the last run of a file removes it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    file: Rc<RefCell<SpillFile>>,
    types: Rc<[DataType]>,
    blocks: Vec<Extent>,
}

impl Run {
    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The block at `index`; `None` past the end.
    pub(crate) fn block(&self, index: usize, cx: Cx<'_>) -> Result<Option<Batch>> {
        let Some(&extent) = self.blocks.get(index) else { return Ok(None) };
        cx.check()?;
        let mut bytes = cx.shared.spill_buffer();
        self.file.borrow_mut().read(extent, &mut bytes)?;
        block::decode(&bytes, &self.types).map(Some)
    }

    /// Appends a batch as a block of its own.
    pub(crate) fn push(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<()> {
        let mut bytes = cx.shared.spill_buffer();
        bytes.clear();
        block::encode(batch, &mut bytes)?;
        self.blocks.push(self.file.borrow_mut().append(&bytes)?);
        cx.shared.note_spilled(bytes.len());
        Ok(())
    }
}

/// Writes runs of rows of the same types into one file.
pub(crate) struct RunFile {
    file: Rc<RefCell<SpillFile>>,
    types: Rc<[DataType]>,
}

impl RunFile {
    pub(crate) fn create(types: Rc<[DataType]>, cx: Cx<'_>) -> Result<RunFile> {
        cx.shared.note_spill_file();
        Ok(RunFile { file: Rc::new(RefCell::new(SpillFile::create(&cx.context().spill)?)), types })
    }

    /// Begins a run.
    pub(crate) fn run(&self) -> Run {
        Run { file: self.file.clone(), types: self.types.clone(), blocks: vec![] }
    }

    pub(crate) fn types(&self) -> &Rc<[DataType]> {
        &self.types
    }
}
