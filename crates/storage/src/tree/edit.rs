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
mod run;
mod split;

pub use run::Patches;
pub(crate) use run::Ran;

use super::MAX_DEPTH;
use super::node::{self, Cell, Node, Payload};
use super::overflow;
use super::read::{Stop, Value};
use crate::broken::{self, Broken};
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
    /// What was looked at or changed last: a statement that reads a row and then changes it descends once, and one that
    /// changes row after row in the order of their keys descends once a leaf.
    place: Option<Box<Place>>,
}

/// A key, and where it is or belongs. It holds while the root is the same and no other operation has moved an entry since.
#[derive(Debug, Default)]
struct Place {
    /// 0: it does not hold.
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
        let payload = Payload::Value(cell);
        let append = |bytes: &mut [u8]| {
            if !Node::new(bytes).has_room_behind(key, payload) {
                return None;
            }
            let append = check();
            if append {
                node::append_in_place(bytes, key, payload);
            }
            Some(append)
        };
        let appended = self.in_tail(pages, (tree, stamp), append).flatten();
        if appended == Some(true) {
            self.forget_place();
        }
        appended
    }

    /// As [`Scratch::append`], of as many entries as go behind all that is there and have room in that leaf, the first one's first;
    /// how many.
    pub(crate) fn append_run<'k>(
        &mut self,
        pages: &Pages,
        (tree, stamp): (u32, u64),
        entries: impl Iterator<Item = (&'k [u8], &'k [u8])>,
    ) -> usize {
        let append = |bytes: &mut [u8]| node::append_run(bytes, entries);
        let appended = self.in_tail(pages, (tree, stamp), append).unwrap_or(0);
        if appended > 0 {
            self.forget_place();
        }
        appended
    }

    /// Shows `work` the bytes of the owner's last leaf of the tree, if that is known.
    #[inline]
    fn in_tail<R>(&self, pages: &Pages, (tree, stamp): (u32, u64), work: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        let (of, tail) = self.tail;
        if of != tree || tail.birth != stamp {
            return None;
        }
        // SAFETY: pages of this stamp are unsealed and belong to this owner, who holds no slice of one between operations.
        let bytes = unsafe { pages.unsealed(tail) };
        assert!(layout::identity(bytes) == tail, "whoever gives up a last leaf forgets it");
        Some(work(bytes))
    }

    /// The owner's pages are given up: nothing is known of its trees.
    pub(crate) fn forget(&mut self) {
        self.forget_place();
        self.tail = (0, PageRef::NONE);
    }

    fn forget_place(&mut self) {
        if let Some(place) = &mut self.place {
            place.tree = 0;
        }
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

impl Place {
    fn leaf(&self) -> PageRef {
        self.path.steps[self.path.leaf()].0
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
        let mut place = self.locate(key)?;
        let (at, found) = (place.at, place.found);
        let node = self.node(place.leaf())?;
        if !check(found.then(|| node.cell(at).0)) {
            self.scratch.place = Some(place);
            return Ok((found, false));
        }
        let moved = self.put_cell(&mut place.path, at, found, key, cell)?;
        place.found = true;
        self.keep(place, moved);
        Ok((found, true))
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
        let mut place = self.locate(key)?;
        if !place.found {
            return Ok(Patched::Impossible);
        }
        let (cell, start) = self.node(place.leaf())?.cell(place.at);
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
        let leaf = self.own_path(&mut place.path)?;
        self.page_mut(leaf)[start + offset..][..bytes.len()].copy_from_slice(bytes);
        self.keep(place, false);
        Ok(Patched::Done)
    }

    /// The leaf that holds a key, and its place there. A change of the same key that follows needs no descent.
    pub(crate) fn find(&mut self, key: &[u8]) -> Result<Option<(PageRef, usize)>, Stop> {
        self.pin.count_search();
        let _timed = counted::searching();
        if self.root.is_none() {
            return Ok(None);
        }
        let place = self.locate(key)?;
        let found = place.found.then(|| (place.leaf(), place.at));
        self.scratch.place = Some(place);
        Ok(found)
    }

    /// The value under a key, which must not be used beyond the next change of the tree. As after `find`, a change of the
    /// same key that follows needs no descent.
    pub(crate) fn get(&mut self, key: &[u8]) -> Result<Option<Value<'a>>, Stop> {
        let Some((leaf, at)) = self.find(key)? else { return Ok(None) };
        Ok(Some(self.node(leaf)?.cell(at).0.into()))
    }

    /// Removes a key; `Ok(false)` if it was not there.
    pub(crate) fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.pages.counters.tree_changes.add(1);
        let _timed = counted::changing();
        if self.root.is_none() {
            return Ok(false);
        }
        let mut place = self.locate(key)?;
        if !place.found {
            self.scratch.place = Some(place);
            return Ok(false);
        }
        self.scratch.tail = (0, PageRef::NONE);
        let leaf = self.own_path(&mut place.path)?;
        self.drop_chain(leaf, place.at)?;
        node::remove(self.page_mut(leaf), place.at);
        place.found = false;
        let moved = self.shrink(&mut place.path);
        self.keep(place, moved);
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

    #[inline]
    fn create_page(&self, copy_of: Option<&[u8]>) -> Result<PageRef> {
        match self.pages.create(self.stamp, copy_of) {
            Err(error) if self.created.frees && error.is_of_pages() => self.pages.create_to_free(self.stamp, copy_of),
            page => page,
        }
    }

    fn new_page(&mut self, kind: Kind, level: u8) -> Result<PageRef> {
        let page = self.create_page(None)?;
        self.created.push(self.pages, page.id);
        let tree = self.tree;
        let bytes = self.page_mut(page);
        layout::format(bytes, kind, level, tree, page);
        node::init_body(bytes);
        Ok(page)
    }

    /// Where the key is, or belongs. Until it is given back (`keep`) nothing else is known.
    fn locate(&mut self, key: &[u8]) -> Result<Box<Place>, Stop> {
        let mut place = self.scratch.place.take().unwrap_or_default();
        if self.is_at(&mut place, key) {
            return Ok(place);
        }
        place.tree = 0;
        let (at, found) = match self.search(key, &mut place.path) {
            Ok(found) => found,
            Err(stop) => {
                self.scratch.place = Some(place);
                return Err(stop);
            }
        };
        place.key.clear();
        place.key.extend_from_slice(key);
        (place.tree, place.root, place.at, place.found) = (self.tree, *self.root, at, found);
        Ok(place)
    }

    /// Whether the place holds and is the key's. It moves on where it is of the entry before, in the same leaf.
    fn is_at(&self, place: &mut Place, key: &[u8]) -> bool {
        if place.tree != self.tree || place.root != *self.root {
            return false;
        }
        if place.key == key {
            return true;
        }
        let next = place.at + usize::from(place.found);
        let is_next = |leaf: Node<'_>| next < leaf.count() && leaf.key_cmp(next, key).is_eq();
        if !self.node(place.leaf()).is_ok_and(is_next) {
            return false;
        }
        (place.at, place.found) = (next, true);
        place.key.clear();
        place.key.extend_from_slice(key);
        true
    }

    /// Remembers the place after a change; `moved`: the key may be elsewhere now.
    fn keep(&mut self, mut place: Box<Place>, moved: bool) {
        place.root = *self.root;
        if moved && !broken::is(Broken::PlaceKept) {
            place.tree = 0;
        }
        self.scratch.place = Some(place);
    }

    /// The path to the key, its place in the leaf or where it belongs, and whether it is there.
    fn search(&self, key: &[u8], path: &mut Path) -> Result<(usize, bool), Stop> {
        self.descend(key, path)?;
        Ok(self.node(path.steps[path.leaf()].0)?.search(key))
    }

    fn descend(&self, key: &[u8], path: &mut Path) -> Result<(), Stop> {
        (path.depth, path.last) = (0, true);
        let mut at = *self.root;
        while path.depth < MAX_DEPTH {
            let node = self.node(at)?;
            let child = if node.is_inner() { node.child_for(key) } else { 0 };
            path.steps[path.depth] = (at, child);
            path.depth += 1;
            if !node.is_inner() {
                self.pin.count_hits(path.depth as u64);
                return Ok(());
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
        let copy = self.create_page(Some(bytes))?;
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

    /// Whether the path leads elsewhere now.
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
                return Ok(false);
            }
            let spares = if self.node(leaf)?.can_replace(at, payload) { Vec::new() } else { self.spares(path)? };
            self.drop_chain(leaf, at)?;
            node::remove(self.page_mut(leaf), at);
            self.insert(path, at, key, payload, spares);
            return Ok(true);
        }
        if path.last && self.append_leaf(path, at, key, payload)? {
            return Ok(true);
        }
        if self.fit(leaf, at, key, payload) {
            return Ok(false);
        }
        let spares = self.spares(path)?;
        self.insert(path, at, key, payload, spares);
        Ok(true)
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
