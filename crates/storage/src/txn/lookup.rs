//! Many gets in one state.

use std::fmt;

use super::reader::{Reader, Source, get_at};
use crate::page::SlotId;
use crate::{Result, TreeId};

/// Finds one key after the other, and keeps what each search needs to look at pages. For one thread; a long-lived one
/// holds its state, but no pages.
pub struct Lookup {
    reader: Reader,
    slot: SlotId,
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}

impl Lookup {
    pub(super) fn new(reader: &Reader) -> Result<Lookup> {
        Ok(Lookup { reader: reader.clone(), slot: reader.claim_slot()? })
    }

    /// As [`Reader::get_with`].
    pub fn get_with<R>(&mut self, tree: TreeId, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        match &self.reader.0 {
            Source::Snapshot(view) => get_at(&view.handle, self.slot, view.root(tree)?, key, read),
            Source::Transaction(..) => self.reader.get_with(tree, key, read),
        }
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        self.reader.handle().engine().pages.slots.release(self.slot);
    }
}
