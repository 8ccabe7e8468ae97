//! The list as who holds the commit lock changes it.

use super::list::TreeList;
use super::node::{DeadNodes, FAN, NodePtr, Nodes, Slot, Slots};
use super::shared::Trees;
use crate::broken::{self, Broken};
use crate::{PageRef, TreeId};

/// The trees of the latest state.
#[derive(Debug)]
pub(crate) struct LatestTrees {
    trees: Trees,
    below: Below,
}

/// The nodes below the top.
#[derive(Debug)]
struct Below {
    nodes: Nodes,
    /// Nodes born with this are in no version and no marked state: they are changed where they are.
    stamp: u64,
    /// Replaced since the last version was cut.
    dead: Vec<NodePtr>,
    /// Replaced for the version that was cut last, until that is published.
    cut: Vec<NodePtr>,
}

/// A state of the list to go back to.
#[derive(Debug)]
pub(crate) struct Marked {
    trees: Trees,
    dead: usize,
}

impl std::ops::Deref for LatestTrees {
    type Target = Trees;

    #[inline]
    fn deref(&self) -> &Trees {
        &self.trees
    }
}

impl LatestTrees {
    /// `version`: which has these trees; what is changed from now on is stamped later than that.
    pub(crate) fn new(list: &TreeList, version: u64, stamp: u64) -> LatestTrees {
        let below = Below { nodes: Nodes::default(), stamp: version, dead: Vec::new(), cut: Vec::new() };
        let mut latest = LatestTrees { trees: Trees::default(), below };
        list.entries().iter().for_each(|entry| latest.set(entry.id, entry.root));
        latest.below.stamp = stamp;
        latest
    }

    #[inline]
    pub(crate) fn set(&mut self, id: TreeId, root: PageRef) {
        if self.trees.height == 0
            && let Ok(at) = self.trees.top.place_of(id)
        {
            return self.trees.top.set(at, Slot::entry(id, root));
        }
        self.set_below(id, root);
    }

    fn set_below(&mut self, id: TreeId, root: PageRef) {
        if self.trees.root(id) == Some(root) {
            return;
        }
        let Trees { top, height } = &mut self.trees;
        // SAFETY: so many levels lie below the top.
        let Some(right) = (unsafe { self.below.put(top, *height, Slot::entry(id, root)) }) else { return };
        let left = self.below.make();
        // SAFETY: just made.
        unsafe { left.get_mut() }.slots.extend(top.all());
        top.clear();
        top.extend(&[Slot::child_from(TreeId(0), left), right]);
        *height += 1;
    }

    pub(crate) fn remove(&mut self, id: TreeId) -> Option<PageRef> {
        let root = self.trees.root(id)?;
        let Trees { top, height } = &mut self.trees;
        // SAFETY: so many levels lie below the top.
        unsafe { self.below.remove(top, *height, id) };
        while *height > 0
            && let [only] = top.all()
        {
            // SAFETY: above the leaves, slots are children.
            let child = unsafe { only.child() };
            top.clear();
            // SAFETY: it is not free, and not changed here.
            top.extend(unsafe { child.get() }.slots.all());
            self.below.dead.push(child);
            *height -= 1;
        }
        Some(root)
    }

    /// Takes the state for a version; what changes from now on has another stamp. One at a time is cut and not yet published.
    #[inline]
    pub(crate) fn cut(&mut self, next_stamp: u64) -> &Trees {
        self.below.stamp = next_stamp;
        if !self.below.dead.is_empty() {
            // (Whoever panicked in between has left what was cut: that is for this version.)
            self.below.cut.append(&mut self.below.dead);
        }
        &self.trees
    }

    /// Notes the state, so that what follows can be undone.
    pub(crate) fn mark(&mut self, next_stamp: u64) -> Marked {
        self.below.stamp = next_stamp;
        let mut trees = Trees::default();
        // SAFETY: it is read by `undo` only, before the next version is cut: its nodes may be dead, not free.
        unsafe { trees.copy_from(&self.trees) };
        Marked { trees, dead: self.below.dead.len() }
    }

    /// Goes back to the state that was marked last; no version was cut since.
    pub(crate) fn undo(&mut self, marked: Marked) {
        let stamp = self.below.stamp;
        // SAFETY: the state's own nodes, which no other has.
        unsafe { self.below.free_new(&self.trees.top, self.trees.height) };
        for node in self.below.dead.drain(marked.dead..) {
            // SAFETY: what died is not free; what was made since the mark, too, nothing before it has.
            unsafe {
                if node.get().born == stamp {
                    self.below.nodes.free(node);
                }
            }
        }
        self.trees = marked.trees;
    }

    /// Of a version that was cut, and that nobody will see: what was replaced for it is for the next one.
    pub(crate) fn take_back(&mut self) {
        self.below.dead.append(&mut self.below.cut);
    }

    /// Nodes that died with the version that was cut, and is published, after `version`: those that this has are kept for it, the
    /// others are free.
    ///
    /// # Safety
    /// `version` was published before that one.
    #[inline]
    pub(crate) unsafe fn bury(&mut self, version: u64, kept: &mut DeadNodes) {
        while let Some(node) = self.below.cut.pop() {
            // SAFETY: dead nodes are not free.
            match unsafe { node.get() }.born > version || broken::is(Broken::TreesUnderSnapshot) {
                // SAFETY: no version has it: it came and went between two.
                true => unsafe { self.below.nodes.free(node) },
                false => kept.push(node),
            }
        }
    }

    /// Nodes of a version that nobody holds any more: those that an older one has, which is held, are kept for that.
    ///
    /// # Safety
    /// `older` is the newest version before it that is held, with what is kept for that.
    #[inline]
    pub(crate) unsafe fn let_go(&mut self, mut dead: DeadNodes, mut older: Option<(u64, &mut DeadNodes)>) {
        while let Some(node) = dead.pop() {
            match &mut older {
                // SAFETY: dead nodes are not free.
                Some((version, kept)) if unsafe { node.get() }.born <= *version => kept.push(node),
                // SAFETY: no version that is held has it.
                _ => unsafe { self.below.nodes.free(node) },
            }
        }
    }

    #[cfg(test)]
    pub(super) fn node_counts(&self) -> (usize, usize) {
        self.below.nodes.counts()
    }
}

impl Below {
    fn make(&mut self) -> NodePtr {
        self.nodes.take(self.stamp)
    }

    /// The child at a place of slots that are the latest state's own; it is so, too, from then on.
    ///
    /// # Safety
    /// The slots are children.
    unsafe fn own(&mut self, slots: &mut Slots, at: usize) -> NodePtr {
        let slot = slots.all()[at];
        // SAFETY: by the caller's promise; nodes of the latest state are not free.
        let (node, old) = unsafe { (slot.child(), slot.child().get()) };
        if old.born == self.stamp {
            return node;
        }
        let copy = self.make();
        // SAFETY: just made.
        unsafe { copy.get_mut() }.slots.extend(old.slots.all());
        self.dead.push(node);
        slots.set(at, Slot::child_from(slot.key, copy));
        copy
    }

    /// Puts a tree's entry at or below slots that are the latest state's own. Returns what has to stand behind them, if they were
    /// too many.
    ///
    /// # Safety
    /// There are so many levels below the slots.
    unsafe fn put(&mut self, slots: &mut Slots, height: u32, entry: Slot) -> Option<Slot> {
        if height > 0 {
            let at = slots.child_of(entry.key);
            // SAFETY: by the caller's promise; an own node is nobody else's, and none is below itself.
            let right = unsafe {
                let child = self.own(slots, at);
                self.put(&mut child.get_mut().slots, height - 1, entry)
            };
            return right.and_then(|right| self.insert(slots, at + 1, right));
        }
        match slots.place_of(entry.key) {
            Ok(at) => {
                slots.set(at, entry);
                None
            }
            Err(at) => self.insert(slots, at, entry),
        }
    }

    /// Inserts a slot; where they are too many, half of them goes to a node behind, or none where the slot goes behind
    /// all: trees are numbered in ascending order.
    fn insert(&mut self, slots: &mut Slots, at: usize, slot: Slot) -> Option<Slot> {
        const HALF: usize = FAN / 2;
        if !slots.are_full() {
            slots.insert(at, slot);
            return None;
        }
        let node = self.make();
        // SAFETY: just made.
        let right = unsafe { &mut node.get_mut().slots };
        match at {
            FAN => right.insert(0, slot),
            at => {
                slots.move_to(HALF, right);
                if at <= HALF { slots.insert(at, slot) } else { right.insert(at - HALF, slot) }
            }
        }
        Some(Slot::child_from(right.all()[0].key, node))
    }

    /// Removes a tree that is at or below slots that are the latest state's own, and leaves no empty node, nor neighbours that
    /// would fit into half of one.
    ///
    /// # Safety
    /// There are so many levels below the slots.
    unsafe fn remove(&mut self, slots: &mut Slots, height: u32, id: TreeId) {
        if height == 0 {
            if let Ok(at) = slots.place_of(id) {
                slots.remove(at);
            }
            return;
        }
        let at = slots.child_of(id);
        // SAFETY: by the caller's promise; an own node is nobody else's, and none is below itself.
        let (child, is_empty) = unsafe {
            let child = self.own(slots, at);
            self.remove(&mut child.get_mut().slots, height - 1, id);
            (child, child.get().slots.all().is_empty())
        };
        match is_empty {
            true => {
                slots.remove(at);
                self.dead.push(child);
            }
            // SAFETY: as above.
            false => unsafe { self.join(slots, height, at) },
        }
    }

    /// Joins a child with one beside it where both fit into half a node.
    ///
    /// # Safety
    /// As of `remove`; `height` is more than 0.
    unsafe fn join(&mut self, slots: &mut Slots, height: u32, at: usize) {
        // SAFETY: by the caller's promise; children are not free.
        let count = |at: usize| slots.all().get(at).map(|slot| unsafe { slot.child().get() }.slots.all().len());
        let fits =
            |left: &usize| count(*left).zip(count(left + 1)).is_some_and(|(left, right)| left + right <= FAN / 2);
        let Some(left) = at.checked_sub(1).into_iter().chain([at]).find(fits) else { return };
        let gone = slots.remove(left + 1);
        // SAFETY: as above; the two are not the same, and the left one is nobody else's.
        unsafe {
            let (node, right) = (self.own(slots, left), gone.child());
            let joined = &mut node.get_mut().slots;
            let first = joined.all().len();
            joined.extend(right.get().slots.all());
            if height > 1 {
                // The key of a first child is not looked at, so it may say anything: that above is right.
                joined.set(first, Slot::child_from(gone.key, joined.all()[first].child()));
            }
            self.dead.push(right);
        }
    }

    /// Frees all nodes below slots that were made with the current stamp. (Below others there are none.)
    ///
    /// # Safety
    /// There are so many levels below the slots, which are not read any more.
    unsafe fn free_new(&mut self, slots: &Slots, height: u32) {
        if height == 0 {
            return;
        }
        for slot in slots.all() {
            // SAFETY: by the caller's promise.
            unsafe {
                let child = slot.child();
                if child.get().born == self.stamp {
                    self.free_new(&child.get().slots, height - 1);
                    self.nodes.free(child);
                }
            }
        }
    }
}
