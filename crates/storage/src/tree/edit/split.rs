//! Making room: a cell goes into its leaf, a leaf that has none is split, and so on up to a new root.

use super::{Path, TreeEdit};
use crate::Result;
use crate::page::PageRef;
use crate::page::layout::{self, HEADER, Kind};
use crate::tree::node::{self, Entries, Node, Payload};

impl TreeEdit<'_> {
    /// A key behind everything, and a last leaf that is full and has no gaps: begins a new last leaf and leaves the full
    /// one as it is. Only where the parent (which exists and is this owner's) takes one more entry as it stands.
    pub(super) fn append_leaf(&mut self, path: &Path, at: usize, key: &[u8], payload: Payload<'_>) -> Result<bool> {
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
    pub(super) fn fit(&mut self, page: PageRef, at: usize, key: &[u8], payload: Payload<'_>) -> bool {
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
    pub(super) fn spares(&mut self, path: &Path) -> Result<Vec<PageRef>> {
        let mut spares = Vec::with_capacity(path.depth + 1);
        for _ in 0..=path.depth {
            match self.create_page(None) {
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
    pub(super) fn insert(
        &mut self,
        path: &Path,
        at: usize,
        key: &[u8],
        payload: Payload<'_>,
        mut spares: Vec<PageRef>,
    ) {
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
}
