//! Walking a tree's entries in order.
//!
//! A cursor copies each leaf it comes to, so between two calls it holds no page, no pin
//! and no lock, and what it returns stays what it was. It finds the next leaf by the separator to its side, which it
//! noted on the way down: the tree it walks does not change.

use std::ops::Bound;

use super::MAX_DEPTH;
use super::node::{Cell, Node};
use super::read::{Stop, Value, overflow_value};
use crate::Result;
use crate::page::{PageRef, Pages, SlotId};

/// Over the entries of one root between two bounds, forward (`next`) or backward (`prev`).
#[derive(Debug)]
pub(crate) struct TreeCursor {
    root: PageRef,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    /// A copy of the current leaf; the entries still to come are `from..to`.
    leaf: Vec<u8>,
    from: usize,
    to: usize,
    place: Place,
    /// Separator towards the leaves still to come; `None`: there are none.
    fence: Option<Vec<u8>>,
    key: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Start,
    Forward,
    Backward,
    End,
}

impl TreeCursor {
    pub(crate) fn new(root: PageRef, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> TreeCursor {
        TreeCursor {
            root,
            lower: lower.map(<[u8]>::to_vec),
            upper: upper.map(<[u8]>::to_vec),
            leaf: Vec::new(),
            from: 0,
            to: 0,
            place: if root.is_none() || is_empty(lower, upper) { Place::End } else { Place::Start },
            fence: None,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Whether the cursor was read to the end of its range (in the direction it was used).
    pub(crate) fn is_exhausted(&self) -> bool {
        self.place == Place::End
    }

    /// The entry returned last, if any.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.key
    }

    /// The next entry from the lower end.
    pub(crate) fn next(&mut self, pages: &Pages, slot: SlotId) -> Result<Option<(&[u8], &[u8])>> {
        while self.from == self.to {
            if !self.advance(pages, slot, Place::Forward)? {
                return Ok(None);
            }
        }
        self.from += 1;
        self.entry(pages, slot, self.from - 1).map(Some)
    }

    /// The next entry from the upper end.
    pub(crate) fn prev(&mut self, pages: &Pages, slot: SlotId) -> Result<Option<(&[u8], &[u8])>> {
        while self.from == self.to {
            if !self.advance(pages, slot, Place::Backward)? {
                return Ok(None);
            }
        }
        self.to -= 1;
        self.entry(pages, slot, self.to).map(Some)
    }

    /// Moves forward to the first key at or after `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) {
        let below = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Unbounded => true,
            Bound::Included(bound) | Bound::Excluded(bound) => bound.as_slice() < key,
        };
        if below(&self.lower) {
            self.lower = Bound::Included(key.to_vec());
        }
        if self.place != Place::Forward {
            return;
        }
        if self.from < self.to {
            let node = Node::new(&self.leaf);
            let at = node.search(key).0;
            if at < self.to {
                self.from = self.from.max(at);
                return;
            }
        }
        self.from = self.to;
        // The leaf that holds the key may be the next or a later one: find it from the root.
        if self.fence.as_ref().is_some_and(|fence| fence.as_slice() <= key) {
            self.fence = Some(key.to_vec());
        }
    }

    fn entry(&mut self, pages: &Pages, slot: SlotId, i: usize) -> Result<(&[u8], &[u8])> {
        let node = Node::new(&self.leaf);
        self.key.truncate(0);
        self.key.extend_from_slice(node.prefix());
        self.key.extend_from_slice(node.suffix(i));
        match node.cell(i).0 {
            Cell::Inline(value) => Ok((&self.key, value)),
            cell @ Cell::Overflow(_) => {
                let Value::Long(length, first) = cell.into() else { unreachable!("an overflow cell is long") };
                overflow_value(pages, slot, length, first, &mut self.value)?;
                Ok((&self.key, &self.value))
            }
        }
    }

    /// Comes to the next leaf in the direction; false at the end.
    fn advance(&mut self, pages: &Pages, slot: SlotId, direction: Place) -> Result<bool> {
        let first = match self.place {
            Place::End => return Ok(false),
            Place::Start => true,
            _ => false,
        };
        if !first && self.fence.is_none() {
            self.place = Place::End;
            return Ok(false);
        }
        loop {
            let stop = {
                let pin = pages.slots.pin(slot);
                match self.descend(pages, &pin, first, direction) {
                    Ok(()) => break,
                    Err(stop) => stop,
                }
            };
            match stop {
                Stop::Miss(page) => pages.load(page)?,
                misplaced => return Err(misplaced.into()),
            }
        }
        self.place = direction;
        self.clip(direction);
        Ok(true)
    }

    fn descend(
        &mut self,
        pages: &Pages,
        pin: &crate::page::Pin<'_>,
        first: bool,
        direction: Place,
    ) -> Result<(), Stop> {
        let mut fence: Option<(Node<'_>, usize)> = None;
        let mut at = self.root;
        for _ in 0..MAX_DEPTH {
            let bytes = pages.get(pin, at).ok_or(Stop::Miss(at))?;
            let node = Node::new(bytes);
            if !node.is_inner() {
                self.leaf.clear();
                self.leaf.extend_from_slice(bytes);
                let mut key = self.fence.take().unwrap_or_default();
                self.fence = fence.map(|(node, i)| {
                    node.key_into(i, &mut key);
                    key
                });
                (self.from, self.to) = (0, node.count());
                return Ok(());
            }
            let child = self.child(&node, first, direction);
            let side = if direction == Place::Forward { child } else { child.wrapping_sub(1) };
            if side < node.count() {
                fence = Some((node, side));
            }
            at = node.child(child);
        }
        Err(Stop::Misplaced(at))
    }

    fn child(&self, node: &Node<'_>, first: bool, direction: Place) -> usize {
        let target = match (first, direction) {
            (false, _) => Bound::Included(self.fence.as_deref().expect("a next leaf has a fence")),
            (true, Place::Forward) => as_slice(&self.lower),
            (true, _) => as_slice(&self.upper),
        };
        match (direction, target) {
            (Place::Forward, Bound::Unbounded) => 0,
            (Place::Forward, Bound::Included(key) | Bound::Excluded(key)) => node.child_for(key),
            (_, Bound::Unbounded) => node.count(),
            // Backward from a fence: the leaf below it. Backward from an upper bound: the leaf that may hold it.
            (_, Bound::Included(key)) if first => node.child_for(key),
            (_, Bound::Included(key) | Bound::Excluded(key)) => node.search(key).0,
        }
    }

    /// Leaves only the entries within the bounds; ends the walk where the range does.
    fn clip(&mut self, direction: Place) {
        let node = Node::new(&self.leaf);
        let from = match &self.lower {
            Bound::Unbounded => 0,
            Bound::Included(key) => node.search(key).0,
            Bound::Excluded(key) => {
                let (at, found) = node.search(key);
                at + found as usize
            }
        };
        let to = match &self.upper {
            Bound::Unbounded => node.count(),
            Bound::Excluded(key) => node.search(key).0,
            Bound::Included(key) => {
                let (at, found) = node.search(key);
                at + found as usize
            }
        };
        let ends = if direction == Place::Forward { to < node.count() } else { from > 0 };
        if ends {
            self.fence = None;
        }
        (self.from, self.to) = (from.min(to), to);
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
    }
}

/// Whether no key can lie between the bounds.
pub(crate) fn is_empty(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Bound::Included(l), Bound::Included(u)) => l > u,
        (Bound::Included(l) | Bound::Excluded(l), Bound::Included(u) | Bound::Excluded(u)) => l >= u,
        _ => false,
    }
}
