//! Shrinking: pages that became small are merged with a neighbour, empty ones leave the tree.

use super::{Path, TreeEdit};
use crate::Result;
use crate::page::PageRef;
use crate::tree::node::{self, Entries, Node};
use crate::tree::read::Stop;

impl TreeEdit<'_> {
    /// After a removal: merges pages that became small into a neighbour, upward.
    ///
    /// The removal is done and stays; where a merge lacks a page or memory, the pages just stay small. Whether the path
    /// leads elsewhere now.
    pub(super) fn shrink(&mut self, path: &mut Path) -> bool {
        let leaf = path.steps[path.leaf()].0;
        let mut moved = self.node(leaf).is_ok_and(|node| node.count() == 0);
        if moved {
            self.prune(path);
        }
        let mut step = path.leaf();
        while step > 0 {
            let Ok(node) = self.node(path.steps[step].0) else { return true };
            if node.used() >= node.capacity() / 4 || !self.merge(path, step).unwrap_or(false) {
                break;
            }
            moved = true;
            step -= 1;
        }
        if !self.root.is_none() {
            self.lower_root();
        }
        moved
    }

    /// Takes the path's empty leaf out of the tree, and every page above it that had no other child. The path ends at
    /// the page that remains.
    fn prune(&mut self, path: &mut Path) {
        while path.depth > 0 {
            let page = path.steps[path.leaf()].0;
            self.leave(page);
            path.depth -= 1;
            let Some(&(parent, child)) = path.steps[..path.depth].last() else {
                *self.root = PageRef::NONE;
                path.depth = 1;
                return;
            };
            // SAFETY: the parent is this owner's; read and released at once.
            let bytes = unsafe { self.pages.unsealed(parent) };
            let node = Node::new(bytes);
            if node.count() > 0 {
                let first = node.child(1);
                if child == 0 {
                    node::set_child(bytes, 0, first);
                }
                node::remove(bytes, child.saturating_sub(1));
                return;
            }
        }
    }

    /// Merges the step's page with a neighbour, if that is in memory and both fit in one.
    fn merge(&mut self, path: &mut Path, step: usize) -> Result<bool> {
        let (parent, child) = path.steps[step - 1];
        let parent_node = self.node(parent)?;
        if parent_node.count() == 0 {
            return Ok(false);
        }
        let left_child = child.saturating_sub(1);
        let (left, right) = (parent_node.child(left_child), parent_node.child(left_child + 1));
        let (Ok(left_node), Ok(right_node)) = (self.node(left), self.node(right)) else { return Ok(false) };
        let mut separator = Vec::new();
        parent_node.key_into(left_child, &mut separator);
        let merged = Entries::merged(left_node, &separator, right_node);
        if left_node.level() != right_node.level() || merged.size(0, merged.len()) > left_node.capacity() / 8 * 7 {
            return Ok(false);
        }
        let left = self.own_sibling(path, step, left_child, left)?;
        self.merge_into(left, right, &separator)?;
        self.leave(right);
        node::remove(self.page_mut(parent), left_child);
        self.pages.counters.tree_merges.add(1);
        Ok(true)
    }

    fn own_sibling(&mut self, path: &Path, step: usize, child: usize, page: PageRef) -> Result<PageRef> {
        if page.birth == self.stamp {
            return Ok(page);
        }
        let copy = self.copy(page)?;
        let parent = path.steps[step - 1].0;
        node::set_child(self.page_mut(parent), child, copy);
        Ok(copy)
    }

    fn merge_into(&mut self, left: PageRef, right: PageRef, separator: &[u8]) -> Result<(), Stop> {
        let mut scratch = std::mem::take(&mut self.scratch.page);
        let mut other = std::mem::take(&mut self.scratch.other);
        // SAFETY: as in `node`: copied before anything changes.
        let right_bytes = unsafe { self.pages.peek(right) }.ok_or(Stop::Miss(right))?;
        let left_bytes = self.page_mut(left);
        scratch.clear();
        scratch.extend_from_slice(left_bytes);
        other.clear();
        other.extend_from_slice(right_bytes);
        let merged = Entries::merged(Node::new(&scratch), separator, Node::new(&other));
        merged.build(left_bytes, 0, merged.len());
        self.scratch.page = scratch;
        self.scratch.other = other;
        Ok(())
    }

    /// A root with one child gives way to it; an empty leaf to nothing.
    fn lower_root(&mut self) {
        while let Ok(node) = self.node(*self.root) {
            if node.count() > 0 {
                return;
            }
            let below = if node.is_inner() { node.child(0) } else { PageRef::NONE };
            let root = std::mem::replace(self.root, below);
            self.leave(root);
            if self.root.is_none() {
                return;
            }
        }
    }
}
