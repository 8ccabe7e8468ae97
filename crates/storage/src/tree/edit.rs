//! Changing a tree: copies what is sealed, changes in place what is its own.
//!
//! Every operation first descends without changing anything, so that a page that is not in memory can be loaded and
//! the operation begun again; from there on it needs no page that it does not already hold (a merge that would, is
//! left undone). A failure to get memory or a page id leaves the tree whole, with its old or its new content.
//!
//! Pages that leave the tree are only noted (`dead`), and so are new ones (`created`): the transaction decides what
//! becomes of them. Only those that nobody but their owner has seen are free at once.

use super::MAX_DEPTH;
use super::node::{self, Cell, Entries, Node, Payload};
use super::overflow;
use super::read::Stop;
use crate::page::layout::{self, HEADER, Kind};
use crate::page::{Created, PageRef, Pages, Pin};
use crate::{Result, counted};

/// Long values of up to this many pages are retired at once, others in the background.
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
        if !node.is_behind_last(key) || !node.has_room(key, payload) {
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

    /// A key behind everything, and a last leaf that is full and has no gaps: begins a new last leaf and leaves the full
    /// one as it is. Only where the parent (which exists and is this owner's) takes one more entry as it stands.
    fn append_leaf(&mut self, path: &Path, at: usize, key: &[u8], payload: Payload<'_>) -> Result<bool> {
        let leaf = path.steps[path.leaf()].0;
        let left = self.node(leaf)?;
        let is_full = at > 0 && at == left.count() && !left.has_garbage() && left.has_form(key);
        let Some(&(parent, child)) = path.steps[..path.leaf()].last() else { return Ok(false) };
        if !is_full || left.has_room(key, payload) {
            return Ok(false);
        }
        let mut last = std::mem::take(&mut self.scratch.key);
        left.key_into(at - 1, &mut last);
        let separator = &key[..node::separator_length(&last, key)];
        self.scratch.key = last;
        if !self.node(parent)?.has_room(separator, Payload::Child(leaf)) {
            return Ok(false);
        }
        let right = self.new_page(Kind::Leaf, 0)?;
        node::begin_like(self.page_mut(right), left, key, payload);
        self.pages.counters.tree_splits.add(1);
        node::insert_in_place(self.page_mut(parent), child, separator, Payload::Child(right));
        self.scratch.tail = (self.tree, right);
        Ok(true)
    }

    /// Inserts if the page has room, after closing its gaps if need be.
    fn fit(&mut self, page: PageRef, at: usize, key: &[u8], payload: Payload<'_>) -> bool {
        let bytes = self.page_mut(page);
        if node::insert_in_place(bytes, at, key, payload) {
            return true;
        }
        let scratch = &mut self.scratch.page;
        scratch.clear();
        scratch.extend_from_slice(bytes);
        let node = Node::new(scratch);
        let entries = Entries::with(node, at, key, payload);
        let fits = entries.size(0, entries.len()) <= node.capacity();
        if fits {
            entries.build(bytes, 0, entries.len());
        }
        fits
    }

    /// Pages for as many splits as there are levels, taken before anything changes.
    fn spares(&mut self, path: &Path) -> Result<Vec<PageRef>> {
        let mut spares = Vec::with_capacity(path.depth + 1);
        for _ in 0..=path.depth {
            match self.pages.create(self.stamp, None) {
                Ok(page) => spares.push(page),
                Err(error) => {
                    self.free_spares(spares);
                    return Err(error);
                }
            }
        }
        Ok(spares)
    }

    fn free_spares(&mut self, spares: Vec<PageRef>) {
        let ids: Vec<u32> = spares.iter().map(|page| page.id).collect();
        self.pages.free_private(&ids);
    }

    fn take_spare(&mut self, spares: &mut Vec<PageRef>, kind: Kind, level: u8) -> PageRef {
        let page = spares.pop().expect("one spare per level and one for a new root");
        self.created.push(self.pages, page.id);
        let tree = self.tree;
        let bytes = self.page_mut(page);
        layout::format(bytes, kind, level, tree, page);
        node::init_body(bytes);
        page
    }

    /// Inserts into the path's leaf, splitting upward as far as needed.
    fn insert(&mut self, path: &Path, at: usize, key: &[u8], payload: Payload<'_>, mut spares: Vec<PageRef>) {
        let mut scratch = std::mem::take(&mut self.scratch.page);
        let mut split = self.insert_or_split(path.steps[path.leaf()].0, at, key, payload, &mut scratch, &mut spares);
        let mut step = path.leaf();
        while let Some((separator, right)) = split {
            if step == 0 {
                self.grow(&separator, right, &mut scratch, &mut spares);
                break;
            }
            step -= 1;
            let (parent, child) = path.steps[step];
            let payload = Payload::Child(right);
            split = self.insert_or_split(parent, child, &separator, payload, &mut scratch, &mut spares);
        }
        self.scratch.page = scratch;
        self.free_spares(spares);
    }

    /// Returns the separator and the new right page if the page had to be split.
    fn insert_or_split(
        &mut self,
        page: PageRef,
        at: usize,
        key: &[u8],
        payload: Payload<'_>,
        scratch: &mut Vec<u8>,
        spares: &mut Vec<PageRef>,
    ) -> Option<(Vec<u8>, PageRef)> {
        let bytes = self.page_mut(page);
        if node::insert_in_place(bytes, at, key, payload) {
            return None;
        }
        scratch.clear();
        scratch.extend_from_slice(bytes);
        let node = Node::new(scratch);
        if node.has_room_in_gaps(key, payload) {
            node::close_gaps(bytes, scratch);
            let is_in = node::insert_in_place(bytes, at, key, payload);
            assert!(is_in, "the gaps have room");
            return None;
        }
        let entries = Entries::with(node, at, key, payload);
        let n = entries.len();
        if entries.size(0, n) <= node.capacity() {
            entries.build(bytes, 0, n);
            return None;
        }
        self.pages.counters.tree_splits.add(1);
        self.scratch.tail = (0, PageRef::NONE);
        let k = entries.split_point(node.capacity());
        let kind = if node.is_inner() { Kind::Inner } else { Kind::Leaf };
        let right = self.take_spare(spares, kind, node.level());
        let right_bytes = self.page_mut(right);
        entries.build(bytes, 0, k);
        if node.is_inner() {
            right_bytes[HEADER..HEADER + PageRef::BYTES].copy_from_slice(&entries.child(k).to_bytes());
            entries.build(right_bytes, k + 1, n);
            return Some((entries.key(k), right));
        }
        entries.build(right_bytes, k, n);
        Some((node::separator(&entries.key(k - 1), &entries.key(k)), right))
    }

    /// A new root over the old one and its new right half.
    fn grow(&mut self, separator: &[u8], right: PageRef, scratch: &mut Vec<u8>, spares: &mut Vec<PageRef>) {
        let old = *self.root;
        // SAFETY: the old root is this owner's; read and released at once.
        let level = unsafe { self.pages.unsealed(old) }[5];
        let root = self.take_spare(spares, Kind::Inner, level + 1);
        let bytes = self.page_mut(root);
        bytes[HEADER..HEADER + PageRef::BYTES].copy_from_slice(&old.to_bytes());
        scratch.clear();
        scratch.extend_from_slice(bytes);
        Entries::with(Node::new(scratch), 0, separator, Payload::Child(right)).build(bytes, 0, 1);
        *self.root = root;
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

    // Shrinking.

    /// After a removal: merges pages that became small into a neighbour, upward.
    ///
    /// The removal is done and stays; where a merge lacks a page or memory, the pages just stay small.
    fn shrink(&mut self, path: &mut Path) {
        let leaf = path.steps[path.leaf()].0;
        if self.node(leaf).is_ok_and(|node| node.count() == 0) {
            self.prune(path);
        }
        let mut step = path.leaf();
        while step > 0 {
            let Ok(node) = self.node(path.steps[step].0) else { return };
            if node.used() >= node.capacity() / 4 || !self.merge(path, step).unwrap_or(false) {
                break;
            }
            step -= 1;
        }
        if !self.root.is_none() {
            self.lower_root();
        }
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

    // Moving.

    /// Copies pages with ids at or beyond `end` (copies get the lowest free ids), leaf by leaf from the key `from`, which
    /// it advances (`None`: done), until `created` has at least `limit` pages. Entries whose long values begin
    /// beyond `end` are listed in `long`.
    pub(crate) fn move_down(
        &mut self,
        end: u32,
        limit: usize,
        from: &mut Option<Vec<u8>>,
        long: &mut Vec<(Vec<u8>, u64, PageRef)>,
    ) -> Result<()> {
        self.forget_found();
        while let Some(key) = from.as_deref()
            && self.created.len() < limit
        {
            if self.root.is_none() {
                *from = None;
                break;
            }
            let mut path = self.descend(key)?;
            let next = self.fence(&path)?;
            let lies_beyond = |&(page, _): &(PageRef, usize)| page.id >= end && page.birth != self.stamp;
            if path.steps[..path.depth].iter().any(lies_beyond) {
                self.own_path(&mut path)?;
            }
            self.note_long(path.steps[path.leaf()].0, end, long)?;
            *from = next;
        }
        Ok(())
    }

    /// The separator to the right of the path: where the next leaf begins.
    fn fence(&self, path: &Path) -> Result<Option<Vec<u8>>, Stop> {
        for &(page, child) in path.steps[..path.leaf()].iter().rev() {
            let node = self.node(page)?;
            if child < node.count() {
                let mut key = Vec::new();
                node.key_into(child, &mut key);
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    fn note_long(&self, leaf: PageRef, end: u32, long: &mut Vec<(Vec<u8>, u64, PageRef)>) -> Result<(), Stop> {
        let node = self.node(leaf)?;
        for i in 0..node.count() {
            let (Cell::Overflow(reference), _) = node.cell(i) else { continue };
            let (length, first) = overflow::parse(reference);
            if first.id >= end {
                let mut key = Vec::new();
                node.key_into(i, &mut key);
                long.push((key, length, first));
            }
        }
        Ok(())
    }
}
