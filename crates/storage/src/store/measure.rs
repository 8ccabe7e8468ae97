//! How much room a tree takes, as it is in the newest state.

use crate::store::Store;
use crate::tree::node::Node;
use crate::tree::walk;
use crate::txn::Claimed;
use crate::{Result, Snapshot, TreeId};

/// What a tree takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeSize {
    /// Entries of its leaves.
    pub entries: u64,
    /// Its pages, those of long values included.
    pub pages: u64,
    /// Bytes of these pages.
    pub bytes: u64,
    /// Bytes of its pages of keys and values that are in use; long values' pages are full but for their last.
    pub used: u64,
    /// Pages of long values.
    pub overflow_pages: u64,
}

impl TreeSize {
    /// The share of its pages of keys and values that is in use, from 0 to 1.
    pub fn fill(&self) -> f64 {
        let nodes = self.pages - self.overflow_pages;
        match nodes {
            0 => 0.0,
            nodes => self.used as f64 * self.pages as f64 / (self.bytes as f64 * nodes as f64),
        }
    }
}

/// Reads every page of the tree.
pub(super) fn measure(store: &Store, tree: TreeId) -> Result<TreeSize> {
    let engine = store.engine();
    let snapshot = Snapshot::newest(store.handle())?;
    let claimed = Claimed::by_engine(engine)?;
    let page_bytes = engine.pages.page_size() as u64;
    let mut size = TreeSize::default();
    let Some(root) = snapshot.view().version().trees.root(tree) else { return Ok(size) };
    walk(
        &engine.pages,
        claimed.slot,
        root,
        &mut |visit| {
            size.pages += 1;
            size.bytes += page_bytes;
            match visit.fences {
                Some(_) => {
                    let node = Node::new(visit.bytes);
                    size.used += node.used() as u64;
                    size.entries += if node.is_inner() { 0 } else { node.count() as u64 };
                }
                None => size.overflow_pages += 1,
            }
            Ok(true)
        },
        &mut |_, error| Err(error),
    )?;
    Ok(size)
}
