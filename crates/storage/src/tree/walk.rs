//! Visiting every page of a tree, children before parents: for verification, and copying.

use super::node::{Cell, Node};
use super::read::{Stop, Value};
use super::{MAX_DEPTH, overflow};
use crate::page::layout::Kind;
use crate::page::{PageRef, Pages, SlotId};
use crate::{Error, Result};

/// What a walk tells of each page.
pub(crate) struct Visit<'a> {
    pub(crate) page: PageRef,
    pub(crate) bytes: &'a [u8],
    /// The keys that the page's entries must lie between: lower included, upper excluded. `None`: overflow page.
    pub(crate) fences: Option<(&'a [u8], Option<&'a [u8]>)>,
}

/// Visits the pages below `root` (itself last). `visit` returns
/// false to stop early. A page that cannot be read is handed to `broken`, which decides whether to go on without it.
pub(crate) fn walk(
    pages: &Pages,
    slot: SlotId,
    root: PageRef,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<bool>,
    broken: &mut dyn FnMut(PageRef, Error) -> Result<()>,
) -> Result<bool> {
    if root.is_none() {
        return Ok(true);
    }
    Walk { pages, slot, visit, broken }.page(root, MAX_DEPTH, &[], None, None)
}

struct Walk<'a> {
    pages: &'a Pages,
    slot: SlotId,
    visit: &'a mut dyn FnMut(Visit<'_>) -> Result<bool>,
    broken: &'a mut dyn FnMut(PageRef, Error) -> Result<()>,
}

impl Walk<'_> {
    /// A copy of the page, so that nothing is pinned while its children are read.
    fn read(&self, page: PageRef) -> Result<Vec<u8>> {
        loop {
            let pin = self.pages.slots.pin(self.slot)?;
            if let Some(bytes) = self.pages.get(&pin, page) {
                return Ok(bytes.to_vec());
            }
            drop(pin);
            self.pages.load(page)?;
        }
    }

    fn page(
        &mut self,
        page: PageRef,
        depth: usize,
        lower: &[u8],
        upper: Option<&[u8]>,
        level: Option<u8>,
    ) -> Result<bool> {
        let bytes = match self.read(page).and_then(|bytes| match fits(&bytes, level, depth) {
            true => Ok(bytes),
            false => Err(Stop::Misplaced(page).into()),
        }) {
            Ok(bytes) => bytes,
            Err(error) => return (self.broken)(page, error).map(|()| true),
        };
        let node = Node::new(&bytes);
        let go_on = match node.is_inner() {
            true => self.children(&node, depth, lower, upper)?,
            false => self.chains(&node)?,
        };
        Ok(go_on && (self.visit)(Visit { page, bytes: &bytes, fences: Some((lower, upper)) })?)
    }

    fn children(&mut self, node: &Node<'_>, depth: usize, lower: &[u8], upper: Option<&[u8]>) -> Result<bool> {
        let (mut from, mut to) = (lower.to_vec(), Vec::new());
        for child in 0..=node.count() {
            let last = child == node.count();
            if !last {
                node.key_into(child, &mut to);
            }
            let upper = if last { upper } else { Some(to.as_slice()) };
            if !self.page(node.child(child), depth - 1, &from, upper, Some(node.level() - 1))? {
                return Ok(false);
            }
            std::mem::swap(&mut from, &mut to);
        }
        Ok(true)
    }

    fn chains(&mut self, node: &Node<'_>) -> Result<bool> {
        for i in 0..node.count() {
            let cell = node.cell(i).0;
            if let (Cell::Overflow(_), Value::Long(length, first)) = (cell, cell.into())
                && !self.chain(length, first)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn chain(&mut self, length: u64, first: PageRef) -> Result<bool> {
        chain(self.pages, self.slot, length, first, self.visit, self.broken)
    }
}

pub(super) fn fits(bytes: &[u8], level: Option<u8>, depth: usize) -> bool {
    let kind_fits = matches!(Kind::of(bytes), Some(Kind::Leaf | Kind::Inner));
    kind_fits && level.is_none_or(|level| level == bytes[5]) && (bytes[5] as usize) < depth.max(1)
}

/// Visits a long value's pages, last first. `length` bounds how far a damaged chain
/// is followed.
fn chain(
    pages: &Pages,
    slot: SlotId,
    length: u64,
    first: PageRef,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<bool>,
    broken: &mut dyn FnMut(PageRef, Error) -> Result<()>,
) -> Result<bool> {
    let mut found = Vec::new();
    let mut at = first;
    let mut piece = Vec::new();
    let mut read = 0u64;
    while !at.is_none() && read < length.max(1) {
        let next = loop {
            let pin = pages.slots.pin(slot)?;
            if let Some(bytes) = pages.get(&pin, at) {
                piece.clear();
                break overflow::piece(bytes, &mut piece).ok_or_else(|| Error::from(Stop::Misplaced(at)));
            }
            drop(pin);
            if let Err(error) = pages.load(at) {
                break Err(error);
            }
        };
        match next {
            Ok(next) => {
                read += piece.len().max(1) as u64;
                found.push(at);
                at = next;
            }
            Err(error) => {
                broken(at, error)?;
                break;
            }
        }
    }
    for &page in found.iter().rev() {
        if !visit(Visit { page, bytes: &[], fences: None })? {
            return Ok(false);
        }
    }
    Ok(true)
}
