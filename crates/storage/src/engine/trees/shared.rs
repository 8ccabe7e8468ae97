//! What versions have of the list.

use super::list::TreeList;
use super::node::Slots;
use crate::{PageRef, TreeId};

/// Roots by tree, of a version or of the latest state. Whoever has a reference to one has registered with the version, or
/// holds the commit lock: so its nodes stay as they are.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    pub(super) top: Slots,
    /// Levels below the top; 0: the top's slots are the trees themselves.
    pub(super) height: u32,
}

impl Trees {
    #[inline]
    pub(crate) fn root(&self, id: TreeId) -> Option<PageRef> {
        let mut slots = &self.top;
        for _ in 0..self.height {
            // SAFETY: the nodes of `self` stay as they are while it is borrowed; above the leaves, slots are children.
            slots = unsafe { &slots.all()[slots.child_of(id)].child().get().slots };
        }
        // SAFETY: these are the slots of a leaf.
        slots.place_of(id).ok().map(|place| unsafe { slots.all()[place].root() })
    }

    /// All of them.
    pub(crate) fn list(&self) -> TreeList {
        let mut list = TreeList::default();
        // SAFETY: as above.
        unsafe { append(&self.top, self.height, &mut list) };
        list
    }

    /// The same trees, for a version or a mark.
    ///
    /// # Safety
    /// The copy is not read for longer than its nodes stay as they are.
    #[inline]
    pub(crate) unsafe fn copy_from(&mut self, other: &Trees) {
        self.top.clear();
        self.top.extend(other.top.all());
        self.height = other.height;
    }
}

/// # Safety
/// There are so many levels below the slots, which stay as they are meanwhile.
unsafe fn append(slots: &Slots, height: u32, list: &mut TreeList) {
    for slot in slots.all() {
        // SAFETY: by the caller's promise these are children, or trees.
        unsafe {
            match height {
                0 => list.push(slot.to_entry()),
                _ => append(&slot.child().get().slots, height - 1, list),
            }
        }
    }
}
