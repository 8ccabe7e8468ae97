//! Nodes: memory that many versions share.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;

use super::list::TreeEntry;
use crate::broken::{self, Broken};
use crate::{PageRef, TreeId};

/// Entries of a leaf, children of an inner node: fewer make the copies smaller, and more of them. The simulation, whose databases
/// have few trees, has nodes split and joined by that.
pub(super) const FAN: usize = if cfg!(feature = "simulated") { 8 } else { 64 };

/// Spare nodes that are kept however few are in use.
const SPARE: usize = 64;

/// An entry of a leaf, or a child of an inner node: which it is the level tells.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// The tree; of a child, one that none of its trees is before (that of the first is not looked at).
    pub(super) key: TreeId,
    page: u32,
    rest: Rest,
}

#[derive(Clone, Copy)]
union Rest {
    birth: u64,
    child: NodePtr,
}

impl Slot {
    const EMPTY: Slot = Slot { key: TreeId(0), page: 0, rest: Rest { birth: 0 } };

    #[inline]
    pub(super) fn entry(key: TreeId, root: PageRef) -> Slot {
        Slot { key, page: root.id, rest: Rest { birth: root.birth } }
    }

    pub(super) fn child_from(key: TreeId, child: NodePtr) -> Slot {
        Slot { key, page: 0, rest: Rest { child } }
    }

    /// # Safety
    /// It is a leaf's.
    #[inline]
    pub(super) unsafe fn root(&self) -> PageRef {
        // SAFETY: by the caller's promise it was made by `entry`.
        PageRef { id: self.page, birth: unsafe { self.rest.birth } }
    }

    /// # Safety
    /// It is a leaf's.
    pub(super) unsafe fn to_entry(self) -> TreeEntry {
        // SAFETY: by the caller's promise.
        TreeEntry { id: self.key, root: unsafe { self.root() } }
    }

    /// # Safety
    /// It is an inner node's.
    #[inline]
    pub(super) unsafe fn child(&self) -> NodePtr {
        // SAFETY: by the caller's promise it was made by `child_from`.
        unsafe { self.rest.child }
    }
}

/// Few slots, by their keys.
#[derive(Clone, Copy)]
pub(super) struct Slots {
    count: usize,
    slots: [Slot; FAN],
}

impl Default for Slots {
    fn default() -> Slots {
        Slots { count: 0, slots: [Slot::EMPTY; FAN] }
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} slots", self.count)
    }
}

impl Slots {
    #[inline]
    pub(super) fn all(&self) -> &[Slot] {
        // There are never more; a constant bound needs no path that panics.
        &self.slots[..self.count.min(FAN)]
    }

    /// Which of an inner node's children has the tree, if any has.
    #[inline]
    pub(super) fn child_of(&self, id: TreeId) -> usize {
        self.all().get(1..).map_or(0, |slots| slots.partition_point(|slot| slot.key <= id))
    }

    /// Where a leaf has the tree, or would have it.
    #[inline]
    pub(super) fn place_of(&self, id: TreeId) -> Result<usize, usize> {
        let slots = self.all();
        // Numbers follow each other where no tree was dropped.
        let near = id.0.wrapping_sub(slots.first().map_or(0, |slot| slot.key.0)) as usize;
        match slots.get(near) {
            Some(slot) if slot.key == id => Ok(near),
            _ => slots.binary_search_by_key(&id, |slot| slot.key),
        }
    }

    pub(super) fn are_full(&self) -> bool {
        self.count == FAN
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize, slot: Slot) {
        self.slots[at] = slot;
    }

    pub(super) fn insert(&mut self, at: usize, slot: Slot) {
        self.slots.copy_within(at..self.count, at + 1);
        self.slots[at] = slot;
        self.count += 1;
    }

    pub(super) fn remove(&mut self, at: usize) -> Slot {
        let slot = self.slots[at];
        self.slots.copy_within(at + 1..self.count, at);
        self.count -= 1;
        slot
    }

    /// Moves what lies from `at` on to the end of others, which have room for it.
    pub(super) fn move_to(&mut self, at: usize, other: &mut Slots) {
        other.extend(&self.slots[at..self.count]);
        self.count = at;
    }

    #[inline]
    pub(super) fn extend(&mut self, slots: &[Slot]) {
        self.slots[self.count..][..slots.len()].copy_from_slice(slots);
        self.count += slots.len();
    }
}

/// What several versions have.
pub(super) struct Node {
    /// When it was made: with which stamp of the latest state.
    pub(super) born: u64,
    /// Of who holds the commit lock: where it is among all nodes, and which node died before it.
    place: Cell<usize>,
    next: Cell<Option<NodePtr>>,
    pub(super) slots: Slots,
}

/// A node by address. Its bytes are borrowed only as the head of `trees` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodePtr(NonNull<Node>);

// SAFETY: an address; who may use it is argued where it is dereferenced.
unsafe impl Send for NodePtr {}
// SAFETY: as above.
unsafe impl Sync for NodePtr {}

impl NodePtr {
    /// # Safety
    /// The node is not free, nor changed for as long as it is borrowed.
    #[inline]
    pub(super) unsafe fn get<'a>(self) -> &'a Node {
        // SAFETY: by the caller's promise.
        unsafe { self.0.as_ref() }
    }

    /// # Safety
    /// The node is nobody else's: no version has it, and it is not borrowed.
    pub(super) unsafe fn get_mut<'a>(mut self) -> &'a mut Node {
        // SAFETY: by the caller's promise.
        unsafe { self.0.as_mut() }
    }
}

/// All nodes of a store, those in use and those to be used again. Behind the commit lock.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    all: Vec<NodePtr>,
    spare: Vec<NodePtr>,
}

impl Nodes {
    /// An empty node, nobody else's.
    pub(super) fn take(&mut self, born: u64) -> NodePtr {
        let node = self.spare.pop().unwrap_or_else(|| self.allocate());
        // SAFETY: spare nodes are nobody's.
        let new = unsafe { node.get_mut() };
        new.born = born;
        new.slots.clear();
        node
    }

    #[cold]
    fn allocate(&mut self) -> NodePtr {
        let place = Cell::new(self.all.len());
        let node = Node { born: 0, place, next: Cell::new(None), slots: Slots::default() };
        let node = NodePtr(NonNull::from(Box::leak(Box::new(node))));
        self.all.push(node);
        node
    }

    /// # Safety
    /// Nobody can find the node any more, and it was not freed since it was taken.
    pub(super) unsafe fn free(&mut self, node: NodePtr) {
        self.spare.push(node);
        // (What a test uses again too early is at least still a node.)
        while self.spare.len() > SPARE.max(self.all.len() / 2) && !broken::is(Broken::TreesUnderSnapshot) {
            // SAFETY: spare nodes are nobody's, and this one is not spare any more.
            self.spare.pop().into_iter().for_each(|node| unsafe { self.give_back(node) });
        }
    }

    /// # Safety
    /// The node is nobody's, and not spare.
    unsafe fn give_back(&mut self, node: NodePtr) {
        // SAFETY: no node is given back twice; others read none of `place`.
        let place = unsafe { node.get() }.place.get();
        self.all.swap_remove(place);
        if let Some(moved) = self.all.get(place) {
            // SAFETY: as above.
            unsafe { moved.get() }.place.set(place);
        }
        // SAFETY: it came from a box, and by the caller's promise this is its last use.
        drop(unsafe { Box::from_raw(node.0.as_ptr()) });
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.all.len(), self.spare.len())
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in self.all.drain(..) {
            // SAFETY: they came from boxes. The engine goes with its last handle, and every reader has one: nobody is left.
            drop(unsafe { Box::from_raw(node.0.as_ptr()) });
        }
    }
}

/// Nodes that were replaced, and that somebody may still read: linked through themselves, so that nothing is allocated.
#[derive(Debug, Default)]
pub(crate) struct DeadNodes(Option<NodePtr>);

impl DeadNodes {
    pub(super) fn push(&mut self, node: NodePtr) {
        // SAFETY: it is not free, being in no list yet; others read none of `next`.
        unsafe { node.get() }.next.set(self.0.replace(node));
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<NodePtr> {
        let node = self.0?;
        // SAFETY: what is in a list is not free.
        self.0 = unsafe { node.get() }.next.take();
        Some(node)
    }
}
