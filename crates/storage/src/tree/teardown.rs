//! Taking a dropped tree, or a long value, apart: its pages one after the other, children before parents, with stops in between.
//!
//! What must hold:
//! - Whoever begins again at the same first page, after a crash or an error, comes to all that was not freed before: a page is
//!   told only after all below it.
//! - A page that was freed, and is another's now, is passed by: it has another birth than its parent says.

use super::node::{Cell, Node};
use super::read::{Stop, Value};
use super::walk::fits;
use super::{MAX_DEPTH, overflow};
use crate::broken::{self, Broken};
use crate::page::{PageRef, Pages, SlotId};
use crate::{Error, Result};

/// Pages that are read together, ahead of when they are looked at.
const AHEAD: usize = 32;

/// Pages of a long value that are told together.
const TOLD: usize = 256;

/// Where the pages are, and which of them are still to be freed.
pub(crate) struct Site<'a> {
    pub(crate) pages: &'a Pages,
    /// The caller's, not pinned.
    pub(crate) slot: SlotId,
    /// Whether a page is still allocated since before what it was part of was dropped.
    pub(crate) stands: &'a dyn Fn(u32) -> bool,
}

/// How far a tree or a long value was taken apart.
#[derive(Debug)]
pub(crate) struct Teardown {
    /// From the first page down to where it is.
    levels: Vec<Level>,
    /// A long value whose pages are being looked for.
    chain: Option<Chain>,
}

/// A page, and what is below it.
#[derive(Debug)]
struct Level {
    /// `None`: above the first.
    page: PageRef,
    /// That its children must have.
    level: Option<u8>,
    parts: Vec<Part>,
    next: usize,
    /// The parts before this were read ahead.
    read: usize,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    first: PageRef,
    /// Of a long value: how long it is.
    length: Option<u64>,
}

#[derive(Debug)]
struct Chain {
    /// First to last.
    found: Vec<u32>,
    next: PageRef,
    /// Bytes that are still to come.
    length: u64,
    is_over: bool,
    /// Pages that are read ahead from here on.
    ahead: usize,
}

impl Teardown {
    /// Of a tree by its root, or of a long value by its first page.
    pub(crate) fn of(first: PageRef, is_tree: bool) -> Teardown {
        let part = Part { first, length: (!is_tree).then_some(u64::MAX) };
        let parts = if first.is_none() { vec![] } else { vec![part] };
        Teardown { levels: vec![Level { page: PageRef::NONE, level: None, parts, next: 0, read: 1 }], chain: None }
    }

    /// Goes on by a page or a few, and adds those that may be freed next to `told`, in their order. False: that was all.
    ///
    /// A damaged page is passed by, with all below it: it stays allocated, which harms nobody. After any other error the same
    /// may be asked again.
    pub(crate) fn advance(&mut self, site: &Site<'_>, told: &mut Vec<u32>) -> Result<bool> {
        if let Some(chain) = &mut self.chain {
            if !chain.is_over {
                chain.follow(site)?;
            } else {
                let rest = chain.found.len().saturating_sub(TOLD);
                told.extend(chain.found.drain(rest..).rev());
                if rest == 0 {
                    self.chain = None;
                }
            }
            return Ok(true);
        }
        let Some(level) = self.levels.last_mut() else { return Ok(false) };
        let Some(&part) = level.parts.get(level.next) else {
            told.extend(Some(level.page.id).filter(|_| !level.page.is_none()));
            self.levels.pop();
            return Ok(!self.levels.is_empty());
        };
        if level.next == level.read {
            level.read_ahead(site);
        }
        if (site.stands)(part.first.id) {
            match part.length {
                Some(length) => self.chain = Some(Chain::of(part.first, length)),
                None => match site.read(part.first, |bytes| Level::of(part.first, bytes, level.level)) {
                    Ok(below) => {
                        level.next += 1;
                        self.levels.push(below);
                        return Ok(true);
                    }
                    Err(Error::Corrupt { .. }) if broken::is(Broken::UsedAgainEntered) => told.push(part.first.id),
                    Err(Error::Corrupt { .. }) => {}
                    Err(error) => return Err(error),
                },
            }
        }
        level.next += 1;
        Ok(true)
    }
}

impl Level {
    /// What is below a page; `level`: that it must have.
    fn of(page: PageRef, bytes: &[u8], level: Option<u8>) -> Result<Level> {
        if !fits(bytes, level, MAX_DEPTH) {
            return Err(Stop::Misplaced(page).into());
        }
        let node = Node::new(bytes);
        let mut parts: Vec<Part> = match node.is_inner() {
            true => (0..=node.count()).map(|child| Part { first: node.child(child), length: None }).collect(),
            false => (0..node.count()).filter_map(|at| long_value(node.cell(at).0)).collect(),
        };
        // As they lie in the file.
        parts.sort_unstable_by_key(|part| part.first.id);
        // (A leaf has no children that are nodes.)
        Ok(Level { page, level: node.level().checked_sub(1), parts, next: 0, read: 0 })
    }

    fn read_ahead(&mut self, site: &Site<'_>) {
        let piece = &self.parts[self.read..self.parts.len().min(self.read + AHEAD)];
        self.read += piece.len();
        let pages: Vec<PageRef> = piece.iter().map(|part| part.first).filter(|page| (site.stands)(page.id)).collect();
        if pages.len() > 1 {
            site.pages.read_ahead(&pages);
        }
    }
}

fn long_value(cell: Cell<'_>) -> Option<Part> {
    match (cell, cell.into()) {
        (Cell::Overflow(_), Value::Long(length, first)) => Some(Part { first, length: Some(length) }),
        _ => None,
    }
}

impl Chain {
    fn of(first: PageRef, length: u64) -> Chain {
        Chain { found: Vec::new(), next: first, length: length.max(1), is_over: false, ahead: 0 }
    }

    /// Comes to the next page.
    fn follow(&mut self, site: &Site<'_>) -> Result<()> {
        let at = self.next;
        let has_more = !at.is_none() && self.length > 0 && self.found.len() < site.pages.max_pages() as usize;
        if !has_more || !(site.stands)(at.id) {
            self.is_over = true;
            return Ok(());
        }
        if self.ahead == 0 && !self.found.is_empty() {
            self.read_ahead(site);
        }
        let piece = site.read(at, |bytes| overflow::length_and_next(bytes).ok_or_else(|| Stop::Misplaced(at).into()));
        match piece {
            Ok((length, next)) => {
                self.found.push(at.id);
                (self.next, self.length) = (next, self.length.saturating_sub(length.max(1)));
                self.ahead = self.ahead.saturating_sub(1);
            }
            Err(Error::Corrupt { .. }) => self.is_over = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// A value's pages are mostly written from its last one on, to ids that ascend: what comes then lies below.
    fn read_ahead(&mut self, site: &Site<'_>) {
        let PageRef { id, birth } = self.next;
        let pages = (id.saturating_sub(AHEAD as u32 - 1)..=id).filter(|&id| id > 1 && (site.stands)(id));
        let pages: Vec<PageRef> = pages.map(|id| PageRef { id, birth }).collect();
        self.ahead = pages.len();
        site.pages.read_ahead(&pages);
    }
}

impl Site<'_> {
    /// What the page's bytes say.
    fn read<T>(&self, page: PageRef, say: impl Fn(&[u8]) -> Result<T>) -> Result<T> {
        loop {
            let pin = self.pages.slots.pin(self.slot)?;
            if let Some(bytes) = self.pages.get_passing(&pin, page) {
                return say(bytes);
            }
            drop(pin);
            self.pages.load(page)?;
        }
    }
}
