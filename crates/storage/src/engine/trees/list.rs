//! Trees and their roots as a flat list.

use crate::{PageRef, TreeId};

/// A tree and its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) id: TreeId,
    pub(crate) root: PageRef,
}

/// Roots by tree, ascending: what a checkpoint writes, and an opening finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeList(Vec<TreeEntry>);

impl TreeList {
    fn position(&self, id: TreeId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |entry| entry.id)
    }

    pub(crate) fn root(&self, id: TreeId) -> Option<PageRef> {
        self.position(id).ok().map(|at| self.0[at].root)
    }

    pub(crate) fn set(&mut self, id: TreeId, root: PageRef) {
        match self.position(id) {
            Ok(at) => self.0[at].root = root,
            Err(at) => self.0.insert(at, TreeEntry { id, root }),
        }
    }

    pub(crate) fn entries(&self) -> &[TreeEntry] {
        &self.0
    }

    pub(crate) fn ids(&self) -> Vec<TreeId> {
        self.0.iter().map(|entry| entry.id).collect()
    }

    /// Behind all that are there.
    pub(super) fn push(&mut self, entry: TreeEntry) {
        self.0.push(entry);
    }
}
