//! Changing a tree: copies what is sealed, changes in place what is its own.
//!
//! Every operation first descends without changing anything, so that a page that is not in memory can be loaded and
//! the operation begun again; from there on it needs no page that it does not already hold (a merge that would, is
//! left undone). A failure to get memory or a page id leaves the tree whole, with its old or its new content.
//!
//! Pages that leave the tree are only noted (`dead`), and so are new ones (`created`): the transaction decides what
//! becomes of them. Only those that nobody but their owner has seen are free at once.

mod merge;
mod move_down;
mod split;

use super::MAX_DEPTH;
use super::node::{self, Cell, Node, Payload};
use super::overflow;
use super::read::Stop;
use crate::page::layout::{self, Kind};
use crate::page::{Created, PageRef, Pages, Pin};
use crate::{Result, counted};

/// Long values of up to this many pages are freed at once, others in the background.
const SHORT_CHAIN: usize = 4;

/// What became of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patched {
    Done,
    /// The key is not there, or its value too short.
    Impossible,
    /// The value (its length and first page) lies outside the tree: read it, change it and put it.
    Long(u64, PageRef),
}

/// What is kept from one operation of an owner to the next: buffers, so that none allocates, and where ascending keys go.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    page: Vec<u8>,
    other: Vec<u8>,
    key: Vec<u8>,
    /// The last leaf of this tree, if this owner has it unsealed (its birth is the owner's stamp then).
    tail: (u32, PageRef),
    found: Found,
}

/// The key that was looked at last, and where it is: a statement that reads a row and then changes it descends once.
/// It holds while the root is the same and no operation has changed a tree since (each forgets it).
#[derive(Debug, Default)]
struct Found {
    tree: u32,
    root: PageRef,
    key: Vec<u8>,
    path: Path,
    at: usize,
    found: bool,
}

impl Scratch {
    /// Appends an entry to the owner's last leaf of the tree, if `check` says so, without looking for its place; whether
    /// it did. `None`: the key does not go behind everything there, or has no room. Needs no pin: the page is unsealed
    /// and the owner's, so it stays in memory where it is.
    pub(crate) fn append(
        &mut self,
        pages: &Pages,
        (tree, stamp): (u32, u64),
        (key, cell): (&[u8], Cell<'_>),
        check: impl FnOnce() -> bool,
    ) -> Option<bool> {
        let (of, tail) = self.tail;
        if of != tree || tail.birth != stamp {
            return None;
        }
        // SAFETY: pages of this stamp are unsealed and belong to this owner, who holds no slice of one between operations.
        let bytes = unsafe { pages.unsealed(tail) };
        assert!(layout::identity(bytes) == tail, "whoever gives up a last leaf forgets it");
        let (node, payload) = (Node::new(bytes), Payload::Value(cell));
        if !node.has_room_behind(key, payload) {
            return None;
        }
        let append = check();
        if append {
            self.found.tree = 0;
            node::append_in_place(bytes, key, payload);
        }
        Some(append)
    }

    /// The owner's pages are given up: nothing is known of its trees.
    pub(crate) fn forget(&mut self) {
        self.found.tree = 0;
        self.tail = (0, PageRef::NONE);
    }
}

/// One tree, open for changes by one owner.
pub(crate) struct TreeEdit<'a> {
    pub(crate) pages: &'a Pages,
    pub(crate) pin: &'a Pin<'a>,
    pub(crate) tree: u32,
    /// Pages born with this stamp are unsealed, and this owner's.
    pub(crate) stamp: u64,
    pub(crate) root: &'a mut PageRef,
    /// Pages born before this are seen by a version, a savepoint or a cursor.
    pub(crate) seen_before: u64,
    pub(crate) created: &'a mut Created,
    pub(crate) dead: &'a mut Vec<u32>,
    /// Long values that left the tree and have too many pages to look at now: their first pages.
    pub(crate) chains: &'a mut Vec<PageRef>,
    pub(crate) scratch: &'a mut Scratch,
}

/// The way from the root to a leaf: each page, and which of its children comes next.
#[derive(Clone, Debug, Default)]
struct Path {
    steps: [(PageRef, usize); MAX_DEPTH],
    depth: usize,
    /// The leaf is the tree's last.
    last: bool,
}

impl Path {
    fn leaf(&self) -> usize {
        self.depth - 1
    }
}

impl<'a> TreeEdit<'a> {
    /// Inserts or replaces; `Ok(true)` if the key was there. [`Cell::Overflow`]: a value whose pages are written already.
    pub(crate) fn put(&mut self, key: &[u8], cell: Cell<'_>) -> Result<bool> {
        self.put_if(key, cell, |_| true).map(|(found, _)| found)
    }

    /// As `put`, if `check` says so once it has seen what is there. Returns whether the key was there, and whether the
    /// value was put.
    pub(crate) fn put_if(
        &mut self,
        key: &[u8],
        cell: Cell<'_>,
        mut check: impl FnMut(Option<Cell<'_>>) -> bool,
    ) -> Result<(bool, bool)> {
        self.pages.counters.tree_changes.add(1);
        let _timed = counted::changing();
        let place = (self.tree, self.stamp);
        if let Some(put) = self.scratch.append(self.pages, place, (key, cell), || check(None)) {
            return Ok((false, put));
        }
        if self.root.is_none() {
            self.plant()?;
        }
        let (mut path, at, found) = self.locate(key)?;
        let node = self.node(path.steps[path.leaf()].0)?;
        if !check(found.then(|| node.cell(at).0)) {
            return Ok((found, false));
        }
        self.forget_found();
        self.put_cell(&mut path, at, found, key, cell).map(|found| (found, true))
    }

    /// Overwrites bytes inside a value; `old` is shown those it overwrites, before.
    pub(crate) fn patch(
        &mut self,
        key: &[u8],
        offset: usize,
        bytes: &[u8],
        old: impl FnOnce(&[u8]),
    ) -> Result<Patched> {
        self.pages.counters.tree_changes.add(1);
        let _timed = counted::changing();
        if self.root.is_none() {
            return Ok(Patched::Impossible);
        }
        let (mut path, at, found) = self.locate(key)?;
        if !found {
            return Ok(Patched::Impossible);
        }
        let (cell, start) = self.node(path.steps[path.leaf()].0)?.cell(at);
        let value = match cell {
            Cell::Inline(value) => value,
            Cell::Overflow(reference) => {
                let (length, first) = overflow::parse(reference);
                return Ok(Patched::Long(length, first));
            }
        };
        let Some(part) = value.get(offset..).and_then(|rest| rest.get(..bytes.len())) else {
            return Ok(Patched::Impossible);
        };
        // Shown from the page as it was: what follows may copy it, but changes it only at the very end.
        old(part);
        self.forget_found();
        let leaf = self.own_path(&mut path)?;
        self.page_mut(leaf)[start + offset..][..bytes.len()].copy_from_slice(bytes);
        Ok(Patched::Done)
    }

    /// The leaf that holds a key, and its place there. A change of the same key that follows needs no descent.
    pub(crate) fn find(&mut self, key: &[u8]) -> Result<Option<(PageRef, usize)>, Stop> {
        self.pin.count_search();
        let _timed = counted::searching();
        if self.root.is_none() {
            return Ok(None);
        }
        let (path, at, found) = self.locate(key)?;
        let place = found.then(|| (path.steps[path.leaf()].0, at));
        let known = &mut self.scratch.found;
        known.key.clear();
        known.key.extend_from_slice(key);
        (known.tree, known.root, known.path, known.at, known.found) = (self.tree, *self.root, path, at, found);
        Ok(place)
    }

    /// Removes a key; `Ok(false)` if it was not there.
    pub(crate) fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.pages.counters.tree_changes.add(1);
        let _timed = counted::changing();
        if self.root.is_none() {
            return Ok(false);
        }
        let (mut path, at, found) = self.locate(key)?;
        if !found {
            return Ok(false);
        }
        self.forget_found();
        self.scratch.tail = (0, PageRef::NONE);
        let leaf = self.own_path(&mut path)?;
        self.drop_chain(leaf, at)?;
        node::remove(self.page_mut(leaf), at);
        self.shrink(&mut path);
        Ok(true)
    }

    // Pages.

    /// A page of this tree. Its bytes may be read until the next change of the same page.
    fn node(&self, page: PageRef) -> Result<Node<'a>, Stop> {
        // SAFETY: only this owner changes the page, and by this module's order of operations not while the slice is used.
        unsafe { self.pages.peek(page) }.map(Node::new).ok_or(Stop::Miss(page))
    }

    fn page_mut(&mut self, page: PageRef) -> &'a mut [u8] {
        debug_assert_eq!(page.birth, self.stamp, "a sealed page must not change");
        assert_eq!(page.birth, self.stamp);
        // SAFETY: pages of this stamp are unsealed and belong to this owner; callers hold no other slice of the page.
        unsafe { self.pages.unsealed(page) }
    }

    fn plant(&mut self) -> Result<()> {
        let root = self.new_page(Kind::Leaf, 0)?;
        *self.root = root;
        Ok(())
    }

    fn new_page(&mut self, kind: Kind, level: u8) -> Result<PageRef> {
        let page = self.pages.create(self.stamp, None)?;
        self.created.push(self.pages, page.id);
        let tree = self.tree;
        let bytes = self.page_mut(page);
        layout::format(bytes, kind, level, tree, page);
        node::init_body(bytes);
        Ok(page)
    }

    /// The path to the key, its place in the leaf or where it belongs, and whether it is there.
    fn locate(&self, key: &[u8]) -> Result<(Path, usize, bool), Stop> {
        let known = &self.scratch.found;
        if known.tree == self.tree && known.root == *self.root && known.key == key {
            return Ok((known.path.clone(), known.at, known.found));
        }
        let path = self.descend(key)?;
        let (at, found) = self.node(path.steps[path.leaf()].0)?.search(key);
        Ok((path, at, found))
    }

    fn forget_found(&mut self) {
        self.scratch.found.tree = 0;
    }

    fn descend(&self, key: &[u8]) -> Result<Path, Stop> {
        let mut path = Path { last: true, ..Path::default() };
        let mut at = *self.root;
        while path.depth < MAX_DEPTH {
            let node = self.node(at)?;
            let child = if node.is_inner() { node.child_for(key) } else { 0 };
            path.steps[path.depth] = (at, child);
            path.depth += 1;
            if !node.is_inner() {
                self.pin.count_hits(path.depth as u64);
                return Ok(path);
            }
            path.last &= child == node.count();
            at = node.child(child);
            // What follows will copy it: it arrives while the leaf is searched and the change worked out.
            if node.level() == 1 {
                self.pages.prefetch_whole(at);
            }
        }
        Err(Stop::Misplaced(at))
    }

    /// Makes every page of the path this owner's; returns the leaf.
    fn own_path(&mut self, path: &mut Path) -> Result<PageRef> {
        for step in 0..path.depth {
            let page = path.steps[step].0;
            if page.birth != self.stamp {
                let copy = self.copy(page)?;
                self.replace_child(path, step, copy);
            }
        }
        Ok(path.steps[path.leaf()].0)
    }

    fn copy(&mut self, page: PageRef) -> Result<PageRef> {
        // SAFETY: the page is sealed: nobody changes it; the pin keeps its frame.
        let bytes = unsafe { self.pages.peek(page) }.ok_or(Stop::Miss(page))?;
        let copy = self.pages.create(self.stamp, Some(bytes))?;
        self.pages.counters.bytes_copied.add(bytes.len() as u64);
        self.created.push(self.pages, copy.id);
        self.leave(page);
        Ok(copy)
    }

    /// A page is no longer part of the tree, and nobody holds a slice of it.
    fn leave(&mut self, page: PageRef) {
        if !self.created.let_go(self.pages, page, self.seen_before) {
            self.dead.push(page.id);
        }
    }

    /// Points the step's parent (which this owner has) to another page.
    fn replace_child(&mut self, path: &mut Path, step: usize, page: PageRef) {
        path.steps[step].0 = page;
        match step.checked_sub(1) {
            None => *self.root = page,
            Some(parent) => {
                let (parent, child) = path.steps[parent];
                node::set_child(self.page_mut(parent), child, page);
            }
        }
    }

    // Putting.

    fn put_cell(&mut self, path: &mut Path, at: usize, found: bool, key: &[u8], cell: Cell<'_>) -> Result<bool> {
        let leaf = self.own_path(path)?;
        let payload = Payload::Value(cell);
        if path.last {
            self.scratch.tail = (self.tree, leaf);
        }
        if found {
            if let (Cell::Inline(old), start) = self.node(leaf)?.cell(at)
                && let Cell::Inline(new) = cell
                && old.len() == new.len()
            {
                self.page_mut(leaf)[start..start + new.len()].copy_from_slice(new);
                return Ok(true);
            }
            let spares = if self.node(leaf)?.can_replace(at, payload) { Vec::new() } else { self.spares(path)? };
            self.drop_chain(leaf, at)?;
            node::remove(self.page_mut(leaf), at);
            self.insert(path, at, key, payload, spares);
            return Ok(true);
        }
        if path.last && self.append_leaf(path, at, key, payload)? {
            return Ok(false);
        }
        if !self.fit(leaf, at, key, payload) {
            let spares = self.spares(path)?;
            self.insert(path, at, key, payload, spares);
        }
        Ok(false)
    }

    /// Notes the pages of the entry's long value, if it has one, as dead.
    fn drop_chain(&mut self, leaf: PageRef, at: usize) -> Result<(), Stop> {
        let (Cell::Overflow(reference), _) = self.node(leaf)?.cell(at) else { return Ok(()) };
        let (_, first) = overflow::parse(reference);
        let mut chain = [PageRef::NONE; SHORT_CHAIN];
        let mut page = first;
        for at in 0..SHORT_CHAIN {
            let Some(bytes) = self.pages.get(self.pin, page) else { break };
            chain[at] = page;
            page = overflow::next(bytes);
            if page.is_none() {
                chain[..=at].iter().for_each(|&page| self.leave(page));
                return Ok(());
            }
        }
        self.chains.push(first);
        Ok(())
    }
}
