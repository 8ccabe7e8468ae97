//! Patching or removing entries one after the other: those of one leaf are changed with one search, one copy and no further look at the
//! way to it.

use super::TreeEdit;
use crate::Result;
use crate::broken::{self, Broken};
use crate::page::PageRef;
use crate::tree::node::{self, Cell, Node};

/// Bytes that a value gets at some of its places, in the order in which they are put down.
#[derive(Debug, Default)]
pub struct Patches {
    bytes: Vec<u8>,
    /// Where each begins in the value, and where it ends in `bytes`.
    places: Vec<(usize, usize)>,
}

impl Patches {
    /// To append the bytes of the next patch to; [`Patches::place`] then says where they go.
    #[inline]
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// What was appended since the last patch goes to this place of the value.
    #[inline]
    pub fn place(&mut self, offset: usize) {
        self.places.push((offset, self.bytes.len()));
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// The patches, and where in the value each goes.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut start = 0;
        self.places.iter().map(move |&(offset, end)| {
            let bytes = &self.bytes[start..end];
            start = end;
            (offset, bytes)
        })
    }

    /// Whether all of them lie within a value of this length.
    #[inline]
    pub(crate) fn fit(&self, length: usize) -> bool {
        self.iter().all(|(offset, bytes)| offset.checked_add(bytes.len()).is_some_and(|end| end <= length))
    }
}

/// How far it got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// What this key has lies in another leaf.
    Onward(usize),
    /// This key is not there, its value lies outside the tree, or `change` left it alone.
    Left(usize),
}

impl TreeEdit<'_> {
    /// Shows `change` the values of the keys from number `from` on, for as long as they lie in the leaf of the first, and
    /// patches them as it says, within the value; it says false where it does not want one patched so. Once it is asked,
    /// nothing can fail any more: it is asked once for each.
    pub(crate) fn patch_run<'k>(
        &mut self,
        key: impl Fn(usize) -> Option<&'k [u8]>,
        from: usize,
        patches: &mut Patches,
        mut change: impl FnMut(usize, &[u8], &mut Patches) -> bool,
    ) -> Result<Ran> {
        let Some(first) = key(from).filter(|_| !self.root.is_none()) else { return Ok(Ran::Left(from)) };
        let mut place = self.locate(first)?;
        if !place.found {
            self.scratch.place = Some(place);
            return Ok(Ran::Left(from));
        }
        let leaf = self.own_path(&mut place.path)?;
        let bytes = self.page_mut(leaf);
        let (mut at, mut last) = (from, first);
        let ran = loop {
            let (Cell::Inline(value), start) = Node::new(bytes).cell(place.at) else { break Ran::Left(at) };
            patches.clear();
            if !change(at, value, patches) {
                break Ran::Left(at);
            }
            patches.iter().for_each(|(offset, patch)| bytes[start + offset..][..patch.len()].copy_from_slice(patch));
            at += 1;
            let Some(next) = key(at) else { break Ran::Onward(at) };
            match following(Node::new(bytes), place.at, next) {
                Some(entry) => (place.at, last) = (entry, next),
                None => break Ran::Onward(at),
            }
        };
        let (Ran::Onward(end) | Ran::Left(end)) = ran;
        self.pages.counters.tree_changes.add((end - from) as u64);
        place.key.clear();
        place.key.extend_from_slice(last);
        self.keep(place, false);
        Ok(ran)
    }

    /// Removes the keys from number `from` on, for as long as they lie in the leaf of the first; `gone` is told the number of each that
    /// was there. Returns the number of the first that is left to the next run: at least `from + 1`. Once one is gone, nothing can fail
    /// any more.
    pub(crate) fn delete_run<'k>(
        &mut self,
        key: impl Fn(usize) -> Option<&'k [u8]>,
        from: usize,
        mut gone: impl FnMut(usize),
    ) -> Result<usize> {
        let Some(first) = key(from).filter(|_| !self.root.is_none()) else { return Ok(from + 1) };
        let mut place = self.locate(first)?;
        if !place.found {
            self.pages.counters.tree_changes.add(1);
            self.scratch.place = Some(place);
            return Ok(from + 1);
        }
        self.scratch.tail = (0, PageRef::NONE);
        let leaf = self.own_path(&mut place.path)?;
        self.drop_chain(leaf, place.at)?;
        let bytes = self.page_mut(leaf);
        let (mut at, mut last) = (from, first);
        loop {
            node::remove(bytes, place.at);
            gone(at);
            at += 1;
            let Some(next) = key(at) else { break };
            // What followed the one that is gone has its place.
            let node = Node::new(bytes);
            let entry = match broken::is(Broken::RunByPlace) && place.at < node.count() {
                true => Some(place.at),
                false => found_from(node, place.at, next),
            };
            let Some(entry) = entry else { break };
            // (What lies outside the tree goes as the first of a run.)
            if !matches!(node.cell(entry).0, Cell::Inline(_)) {
                break;
            }
            (place.at, last) = (entry, next);
        }
        self.pages.counters.tree_changes.add((at - from) as u64);
        place.found = false;
        place.key.clear();
        place.key.extend_from_slice(last);
        let moved = self.shrink(&mut place.path);
        self.keep(place, moved);
        Ok(at)
    }
}

/// Where in the leaf the key is, of which it is likely that it follows the entry at `at`.
#[inline]
fn following(leaf: Node<'_>, at: usize, key: &[u8]) -> Option<usize> {
    let next = at + 1;
    if next < leaf.count() && broken::is(Broken::NextUnchecked) {
        return Some(next);
    }
    found_from(leaf, next, key)
}

/// Where in the leaf the key is, of which it is likely that it is the entry at `at`.
#[inline]
fn found_from(leaf: Node<'_>, at: usize, key: &[u8]) -> Option<usize> {
    if at < leaf.count() && leaf.key_cmp(at, key).is_eq() {
        return Some(at);
    }
    let (entry, found) = leaf.search(key);
    found.then_some(entry)
}
