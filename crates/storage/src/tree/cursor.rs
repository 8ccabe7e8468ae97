//! Walking a tree's entries in order.
//!
//! A cursor remembers the way from the root to its leaf, so the next leaf is one step to the side of it: the pages it
//! walks are sealed and never change, so a position in one of them stays right. Between two calls it holds no page, no
//! pin and no lock. Entries come in two ways:
//! - [`TreeCursor::next_entries`] lends those of the current leaf where they lie, for the duration of a call;
//! - [`TreeCursor::next`] and [`TreeCursor::prev`] copy each leaf, and what they return stays what it was.

use std::ops::Bound;

use super::MAX_DEPTH;
use super::ahead::{Ahead, Trail};
use super::node::{Cell, Node};
use super::read::{Stop, Value, overflow_value};
use crate::Result;
use crate::page::{PageRef, Pages, Pin, SlotId};

/// Over the entries of one root between two bounds, forward (`next`) or backward (`prev`).
#[derive(Debug)]
pub(crate) struct TreeCursor {
    root: PageRef,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    /// The way down: inner pages, and which child of each was taken.
    path: [(PageRef, usize); MAX_DEPTH],
    depth: usize,
    place: Place,
    /// The current leaf; the entries still to come are `from..to`.
    leaf: PageRef,
    from: usize,
    to: usize,
    /// The range ends in the current leaf.
    is_last: bool,
    ahead: Ahead,
    trail: Trail,
    /// Pages that were not in memory when it came to them, in all its ranges.
    misses: u64,
    /// A copy of the current leaf, if `is_copied`.
    copy: Vec<u8>,
    is_copied: bool,
    key: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On the way down, led by the range's bound: this page is next.
    First(PageRef),
    /// On the way down, along the edge: this page is next.
    Beside(PageRef),
    Leaf,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// Entries for which it pays to bring the whole leaf into the processor's cache.
const MANY: usize = 8;

/// Entries of one leaf in key order, lent where they lie.
pub struct LeafEntries<'p> {
    node: Node<'p>,
    from: usize,
    to: usize,
}

impl std::fmt::Debug for LeafEntries<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LeafEntries({})", self.len())
    }
}

impl<'p> LeafEntries<'p> {
    /// Those of a leaf from one place up to another, which does not come before it.
    pub(super) fn of(node: Node<'p>, from: usize, to: usize) -> LeafEntries<'p> {
        LeafEntries { node, from, to }
    }

    /// These are the leaf's last: those that follow lie in other leaves.
    pub fn end_leaf(&self) -> bool {
        self.to == self.node.count()
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.to - self.from
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// The value of entry `i`; `None`: it is long and lies outside its leaf.
    #[inline]
    pub fn value(&self, i: usize) -> Option<&'p [u8]> {
        self.node.inline_value(self.from + i)
    }

    /// Brings the leaf into the processor's cache, if enough of it will be read: forward through memory, which is
    /// twice as quick as in the order of the keys, whose cells mostly lie backward. Of few entries, which are long then, the
    /// beginnings are asked for: one row's would be waited for after the other's.
    #[inline]
    pub fn warm(&self) {
        match self.len() >= MANY {
            true => self.node.touch(),
            false => self.node.prefetch_cells(self.from..self.to),
        }
    }

    /// What all keys of the leaf begin with.
    #[inline]
    pub fn key_prefix(&self) -> &'p [u8] {
        self.node.prefix()
    }

    /// What follows the prefix in the key of entry `i`.
    #[inline]
    pub fn key_rest(&self, i: usize) -> &'p [u8] {
        self.node.suffix(self.from + i)
    }

    /// Writes the key of entry `i` over `key`.
    #[inline]
    pub fn key_into(&self, i: usize, key: &mut Vec<u8>) {
        self.node.key_into(self.from + i, key);
    }
}

impl TreeCursor {
    pub(crate) fn new(root: PageRef, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> TreeCursor {
        TreeCursor {
            root,
            lower: lower.map(<[u8]>::to_vec),
            upper: upper.map(<[u8]>::to_vec),
            path: [(PageRef::NONE, 0); MAX_DEPTH],
            depth: 0,
            place: if root.is_none() || is_empty(lower, upper) { Place::End } else { Place::First(root) },
            leaf: PageRef::NONE,
            from: 0,
            to: 0,
            is_last: false,
            ahead: Ahead::default(),
            trail: Trail::default(),
            misses: 0,
            copy: Vec::new(),
            is_copied: false,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// As [`TreeCursor::new`], keeping the buffers.
    pub(crate) fn restart(&mut self, root: PageRef, lower: Bound<&[u8]>, upper: Bound<&[u8]>) {
        refill(&mut self.lower, lower);
        refill(&mut self.upper, upper);
        self.root = root;
        self.place = if root.is_none() || is_empty(lower, upper) { Place::End } else { Place::First(root) };
        (self.depth, self.from, self.to) = (0, 0, 0);
        (self.is_last, self.is_copied) = (false, false);
        self.ahead = Ahead::default();
        self.trail.restart();
        self.key.clear();
    }

    /// Whether the cursor was read to the end of its range (in the direction it was used).
    pub(crate) fn is_exhausted(&self) -> bool {
        self.place == Place::End
    }

    /// How many pages were not in memory when it came to them so far, in all its ranges.
    pub(crate) fn misses(&self) -> u64 {
        self.misses
    }

    /// The entry returned last, if any.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.key
    }

    /// The next entry from the lower end.
    pub(crate) fn next(&mut self, pages: &Pages, slot: SlotId) -> Result<Option<(&[u8], &[u8])>> {
        if !self.find_entries(pages, slot, Direction::Forward)? {
            return Ok(None);
        }
        self.from += 1;
        self.entry(pages, slot, self.from - 1).map(Some)
    }

    /// The next entry from the upper end.
    pub(crate) fn prev(&mut self, pages: &Pages, slot: SlotId) -> Result<Option<(&[u8], &[u8])>> {
        if !self.find_entries(pages, slot, Direction::Backward)? {
            return Ok(None);
        }
        self.to -= 1;
        self.entry(pages, slot, self.to).map(Some)
    }

    /// Lends the next entries, of one leaf and at most `limit`, to `read`, which says how many of them it took. `None`
    /// at the end of the range.
    pub(crate) fn next_entries<R>(
        &mut self,
        pages: &Pages,
        slot: SlotId,
        limit: usize,
        read: impl FnOnce(&LeafEntries<'_>) -> (usize, R),
    ) -> Result<Option<R>> {
        if !self.find_entries(pages, slot, Direction::Forward)? {
            return Ok(None);
        }
        let to = self.to.min(self.from + limit);
        let leaf = self.leaf;
        loop {
            let pin = pages.slots.pin(slot)?;
            if let Some(bytes) = self.trail.get(pages, &pin, leaf) {
                let entries = LeafEntries { node: Node::new(bytes), from: self.from, to };
                let (taken, result) = read(&entries);
                if let Some(last) = taken.checked_sub(1) {
                    entries.key_into(last, &mut self.key);
                    self.from += taken;
                }
                return Ok(Some(result));
            }
            drop(pin);
            pages.load(leaf).map_err(|error| pages.slots.explain(slot, error))?;
        }
    }

    /// Moves forward to the first key at or after `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) {
        let below = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Unbounded => true,
            Bound::Included(bound) | Bound::Excluded(bound) => bound.as_slice() < key,
        };
        if self.place == Place::End || !below(&self.lower) || (self.place == Place::Leaf && key <= self.key.as_slice())
        {
            return;
        }
        self.lower = Bound::Included(key.to_vec());
        if self.place == Place::Leaf && self.is_copied && self.from < self.to {
            let at = Node::new(&self.copy).search(key).0;
            if at < self.to {
                self.from = self.from.max(at);
                return;
            }
        }
        // The leaf that holds the key may be the next or a later one: find it from the root.
        (self.from, self.to, self.depth) = (0, 0, 0);
        self.ahead = Ahead::default();
        self.trail.restart();
        self.place = Place::First(self.root);
    }

    fn entry(&mut self, pages: &Pages, slot: SlotId, i: usize) -> Result<(&[u8], &[u8])> {
        self.copy_leaf(pages, slot)?;
        let node = Node::new(&self.copy);
        node.key_into(i, &mut self.key);
        match node.cell(i).0 {
            Cell::Inline(value) => Ok((&self.key, value)),
            cell @ Cell::Overflow(_) => {
                let Value::Long(length, first) = cell.into() else { unreachable!("an overflow cell is long") };
                overflow_value(pages, slot, length, first, &mut self.value)?;
                Ok((&self.key, &self.value))
            }
        }
    }

    fn copy_leaf(&mut self, pages: &Pages, slot: SlotId) -> Result<()> {
        while !self.is_copied {
            let pin = pages.slots.pin(slot)?;
            if let Some(bytes) = self.trail.get(pages, &pin, self.leaf) {
                self.copy.clear();
                self.copy.extend_from_slice(bytes);
                self.is_copied = true;
                return Ok(());
            }
            drop(pin);
            pages.load(self.leaf).map_err(|error| pages.slots.explain(slot, error))?;
        }
        Ok(())
    }

    /// Comes to a leaf with entries still to come; false at the end.
    fn find_entries(&mut self, pages: &Pages, slot: SlotId, direction: Direction) -> Result<bool> {
        while self.from == self.to {
            let came = {
                let pin = pages.slots.pin(slot)?;
                self.advance(pages, &pin, direction)
            };
            match came {
                Ok(true) if self.trail.is_due(self.leaf) => self.ask_ahead(pages, slot, direction)?,
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(Stop::Miss(page)) => {
                    self.read_ahead(pages, slot, page, direction)?;
                    pages.load(page).map_err(|error| pages.slots.explain(slot, error))?;
                }
                Err(misplaced) => return Err(misplaced.into()),
            }
        }
        Ok(true)
    }

    /// After a miss: reads the missing page together with those that the walk will come to next.
    #[cold]
    fn read_ahead(&mut self, pages: &Pages, slot: SlotId, missed: PageRef, direction: Direction) -> Result<()> {
        self.misses += 1;
        let is_long = self.ahead.is_at(pages.ahead_limit());
        if is_long && self.read_asked(pages, slot, missed, direction)? {
            return Ok(());
        }
        let (mut coming, are_leaves) = {
            let pin = pages.slots.pin(slot)?;
            self.coming(pages, &pin, direction)
        };
        let count = coming.len();
        if self.trail.is_due(missed) {
            // It was read, and went again.
            self.ask_ahead(pages, slot, direction)?;
        } else if are_leaves {
            self.trail.read(pages, &mut coming);
            if is_long && !self.trail.is_asking() {
                self.ask_behind(pages, slot, count, direction)?;
            }
        }
        if coming.len() > 1 {
            pages.read_together(&coming);
        }
        Ok(())
    }

    /// The walk misses a page that was asked for, and reads it with the threads that do. False: it was not.
    fn read_asked(&mut self, pages: &Pages, slot: SlotId, missed: PageRef, direction: Direction) -> Result<bool> {
        let mut was_asked = false;
        while let Some(own) = pages.fetches.take_back(missed) {
            if !was_asked && self.trail.is_due(missed) {
                self.ask_ahead(pages, slot, direction)?;
            }
            pages.read_ahead(&own);
            was_asked = true;
        }
        Ok(was_asked)
    }

    /// The walk has come to the first of the leaves that were asked for: asks for those behind them.
    #[cold]
    fn ask_ahead(&mut self, pages: &Pages, slot: SlotId, direction: Direction) -> Result<()> {
        self.trail.pass_to_due(pages);
        self.ask_behind(pages, slot, self.trail.asked(), direction)
    }

    /// Asks for the leaves that come behind so many from the walk's place on.
    fn ask_behind(&mut self, pages: &Pages, slot: SlotId, count: usize, direction: Direction) -> Result<()> {
        let (mut leaves, mut above) = (Vec::new(), Vec::new());
        {
            let pin = pages.slots.pin(slot)?;
            let window = pages.ahead_limit();
            self.leaves_from_here(pages, &pin, direction, count + window, &mut leaves, &mut above);
        }
        leaves.drain(..count.min(leaves.len()));
        self.trail.ask(pages, &leaves, &above);
        Ok(())
    }

    /// The leaves that the walk comes to from its place on, the one there included, as far as the pages above them are in
    /// memory; and of those above, where that ends, the next that are not.
    fn leaves_from_here(
        &self,
        pages: &Pages,
        pin: &Pin<'_>,
        direction: Direction,
        count: usize,
        leaves: &mut Vec<PageRef>,
        above: &mut Vec<PageRef>,
    ) {
        let Some(&(parent, child)) = self.path[..self.depth].last() else { return };
        let Some(node) = pages.get(pin, parent).map(Node::new).filter(is_above_leaves) else { return };
        leaves.extend(self.children(&node, child, direction).take(count));
        let Some(&(grandparent, at)) = self.depth.checked_sub(2).map(|above| &self.path[above]) else { return };
        let Some(node) = pages.get(pin, grandparent).map(Node::new) else { return };
        for parent in self.children(&node, at, direction).skip(1) {
            if leaves.len() >= count || !above.is_empty() && above.len() >= self.ahead.at_inner() {
                return;
            }
            match pages.get(pin, parent).map(Node::new).filter(|_| above.is_empty()) {
                Some(node) if is_above_leaves(&node) => {
                    let missing = count - leaves.len();
                    leaves.extend(self.children(&node, self.edge(&node, direction), direction).take(missing));
                }
                Some(_) => return,
                None => above.push(parent),
            }
        }
    }

    /// Where a walk that comes from beside an inner page enters it.
    fn edge(&self, node: &Node<'_>, direction: Direction) -> usize {
        match direction {
            Direction::Forward => 0,
            Direction::Backward => node.count(),
        }
    }

    /// The children of an inner page that the walk comes to from child `at` on, within the range.
    fn children<'n>(&self, node: &'n Node<'_>, at: usize, direction: Direction) -> impl Iterator<Item = PageRef> + 'n {
        let count = match direction {
            Direction::Forward => (last_child(node, &self.upper) + 1).saturating_sub(at),
            Direction::Backward => (at + 1).saturating_sub(first_child(node, &self.lower)),
        };
        (0..count).map(move |step| match direction {
            Direction::Forward => node.child(at + step),
            Direction::Backward => node.child(at - step),
        })
    }

    /// The page that is next on the way, and those beside it that the walk will need, as many as should be read at once;
    /// whether they are leaves.
    fn coming(&mut self, pages: &Pages, pin: &Pin<'_>, direction: Direction) -> (Vec<PageRef>, bool) {
        let nothing = (Vec::new(), false);
        let Some(&(parent, child)) = self.path[..self.depth].last() else { return nothing };
        let Some(node) = pages.get(pin, parent).map(Node::new) else { return nothing };
        let are_leaves = node.level() == 1;
        let window = match are_leaves {
            true => self.ahead.at_leaf(pages.ahead_limit()),
            false => self.ahead.at_inner(),
        };
        (self.children(&node, child, direction).take(window).collect(), are_leaves)
    }

    /// Comes to the next leaf in the direction; false at the end. After a miss it can be called again: each step is
    /// noted before the next one can fail.
    fn advance(&mut self, pages: &Pages, pin: &Pin<'_>, direction: Direction) -> Result<bool, Stop> {
        if self.place == Place::Leaf {
            self.step_beside(pages, pin, direction)?;
        }
        loop {
            let (at, by_bound) = match self.place {
                Place::First(at) => (at, true),
                Place::Beside(at) => (at, false),
                Place::Leaf => return Ok(true),
                Place::End => return Ok(false),
            };
            let node = Node::new(self.trail.get(pages, pin, at).ok_or(Stop::Miss(at))?);
            if !node.is_inner() {
                if by_bound {
                    pin.count_search();
                }
                self.arrive(at, &node, direction, by_bound);
                continue;
            }
            let child = match (by_bound, direction) {
                (true, Direction::Forward) => first_child(&node, &self.lower),
                (true, Direction::Backward) => last_child(&node, &self.upper),
                (false, Direction::Forward) => 0,
                (false, Direction::Backward) => node.count(),
            };
            *self.path.get_mut(self.depth).ok_or(Stop::Misplaced(at))? = (at, child);
            self.depth += 1;
            let next = node.child(child);
            self.place = if by_bound { Place::First(next) } else { Place::Beside(next) };
        }
    }

    /// From a leaf to the next page beside the way that led to it.
    fn step_beside(&mut self, pages: &Pages, pin: &Pin<'_>, direction: Direction) -> Result<(), Stop> {
        while let Some(&(at, child)) = self.path[..self.depth].last().filter(|_| !self.is_last) {
            let node = Node::new(pages.get(pin, at).ok_or(Stop::Miss(at))?);
            let beside = match direction {
                Direction::Forward => Some(child + 1).filter(|&child| child <= node.count()),
                Direction::Backward => child.checked_sub(1),
            };
            if let Some(beside) = beside {
                self.path[self.depth - 1].1 = beside;
                self.place = Place::Beside(node.child(beside));
                // Whoever took two leaves will take a third: it arrives while this one is read.
                if direction == Direction::Forward && node.level() == 1 && beside < node.count() {
                    pages.prefetch(node.child(beside + 1));
                }
                return Ok(());
            }
            self.depth -= 1;
        }
        self.place = Place::End;
        Ok(())
    }

    /// Leaves only the leaf's entries within the bounds. The bound that led to the first leaf need not be looked at in
    /// later ones.
    fn arrive(&mut self, leaf: PageRef, node: &Node<'_>, direction: Direction, by_bound: bool) {
        let forward = direction == Direction::Forward;
        let from = if forward && !by_bound { 0 } else { lower_end(node, &self.lower) };
        let to = if !forward && !by_bound { node.count() } else { upper_end(node, &self.upper) };
        self.is_last = if forward { to < node.count() } else { from > 0 };
        (self.leaf, self.from, self.to) = (leaf, from.min(to), to);
        self.is_copied = false;
        self.place = Place::Leaf;
    }
}

/// Another bound, in the same buffer if it has one.
fn refill(bound: &mut Bound<Vec<u8>>, with: Bound<&[u8]>) {
    let mut buffer = match std::mem::replace(bound, Bound::Unbounded) {
        Bound::Included(buffer) | Bound::Excluded(buffer) => buffer,
        Bound::Unbounded => Vec::new(),
    };
    buffer.clear();
    *bound = with.map(|key| {
        buffer.extend_from_slice(key);
        buffer
    });
}

fn is_above_leaves(node: &Node<'_>) -> bool {
    node.is_inner() && node.level() == 1
}

/// The first child that leads to entries within the bound.
fn first_child(node: &Node<'_>, lower: &Bound<Vec<u8>>) -> usize {
    match lower {
        Bound::Unbounded => 0,
        Bound::Included(key) | Bound::Excluded(key) => node.child_for(key),
    }
}

/// The last child that leads to entries within the bound.
fn last_child(node: &Node<'_>, upper: &Bound<Vec<u8>>) -> usize {
    match upper {
        Bound::Unbounded => node.count(),
        Bound::Included(key) | Bound::Excluded(key) => node.child_for(key),
    }
}

/// The first entry within the bound.
fn lower_end(node: &Node<'_>, lower: &Bound<Vec<u8>>) -> usize {
    match lower {
        Bound::Unbounded => 0,
        Bound::Included(key) => node.search(key).0,
        Bound::Excluded(key) => node.child_for(key),
    }
}

/// The first entry beyond the bound.
fn upper_end(node: &Node<'_>, upper: &Bound<Vec<u8>>) -> usize {
    match upper {
        Bound::Unbounded => node.count(),
        Bound::Excluded(key) => node.search(key).0,
        Bound::Included(key) => node.child_for(key),
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
