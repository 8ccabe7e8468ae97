//! What changed between two roots of a tree, in a key range.
//!
//! Both trees are descended together, level by level. Pages that both have (same id and birth) hold the same entries
//! and are left out; what remains at the bottom are the leaves that differ, whose entries are compared in key order.
//! The cost is that of the pages that differ and are not out of range.

use std::ops::Bound;

use super::node::{Cell, Node};
use super::read::Stop;
use crate::page::{PageRef, Pages, Pin};

/// A key whose entry differs: whether it is in the older and in the newer root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) in_older: bool,
    pub(crate) in_newer: bool,
}

/// Whether any entry in the range differs. All pages must be in memory.
pub(crate) fn is_changed(
    pages: &Pages,
    pin: &Pin<'_>,
    older: PageRef,
    newer: PageRef,
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
) -> Result<bool, Stop> {
    let mut found = false;
    changed_keys(pages, pin, older, newer, lower, upper, &mut |_, _| {
        found = true;
        false
    })?;
    Ok(found)
}

/// Calls `each` for every key in the range whose entry differs, in order, until it returns false. All pages must be in
/// memory.
pub(crate) fn changed_keys(
    pages: &Pages,
    pin: &Pin<'_>,
    older: PageRef,
    newer: PageRef,
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
    each: &mut dyn FnMut(&[u8], Changed) -> bool,
) -> Result<(), Stop> {
    if older == newer || super::cursor::is_empty(lower, upper) {
        return Ok(());
    }
    let range = Range { lower, upper };
    let mut old = Side::new(pages, pin, older, range)?;
    let mut new = Side::new(pages, pin, newer, range)?;
    loop {
        let (a, b) = (old.level(), new.level());
        if a == 0 && b == 0 {
            break;
        }
        if a == b {
            drop_shared(&mut old.pages, &mut new.pages);
        }
        if a >= b {
            old.descend(a)?;
        }
        if b >= a {
            new.descend(b)?;
        }
    }
    drop_shared(&mut old.pages, &mut new.pages);
    merge(&old.entries(), &new.entries(), each);
    Ok(())
}

#[derive(Clone, Copy)]
struct Range<'k> {
    lower: Bound<&'k [u8]>,
    upper: Bound<&'k [u8]>,
}

impl Range<'_> {
    fn contains(&self, key: &[u8]) -> bool {
        let above = match self.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => key >= lower,
            Bound::Excluded(lower) => key > lower,
        };
        let below = match self.upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => key <= upper,
            Bound::Excluded(upper) => key < upper,
        };
        above && below
    }
}

/// One tree's pages at the current level, in key order, with their bytes.
struct Side<'p, 'k> {
    cache: &'p Pages,
    pin: &'p Pin<'p>,
    range: Range<'k>,
    pages: Vec<(PageRef, Node<'p>)>,
}

impl<'p, 'k> Side<'p, 'k> {
    fn new(cache: &'p Pages, pin: &'p Pin<'_>, root: PageRef, range: Range<'k>) -> Result<Side<'p, 'k>, Stop> {
        let mut side = Side { cache, pin, range, pages: Vec::new() };
        if !root.is_none() {
            side.push(root)?;
        }
        Ok(side)
    }

    fn push(&mut self, page: PageRef) -> Result<(), Stop> {
        let bytes = self.cache.get(self.pin, page).ok_or(Stop::Miss(page))?;
        self.pages.push((page, Node::new(bytes)));
        Ok(())
    }

    fn level(&self) -> u8 {
        self.pages.first().map_or(0, |(_, node)| node.level())
    }

    /// Replaces the pages of `level` by their children in range.
    fn descend(&mut self, level: u8) -> Result<(), Stop> {
        for (page, node) in std::mem::take(&mut self.pages) {
            if node.level() != level || level == 0 {
                return Err(Stop::Misplaced(page));
            }
            let first = match self.range.lower {
                Bound::Unbounded => 0,
                Bound::Included(key) | Bound::Excluded(key) => node.child_for(key),
            };
            let last = match self.range.upper {
                Bound::Unbounded => node.count(),
                Bound::Included(key) | Bound::Excluded(key) => node.child_for(key),
            };
            for child in first..=last {
                self.push(node.child(child))?;
            }
        }
        Ok(())
    }

    fn entries(&self) -> Vec<(Vec<u8>, Cell<'p>)> {
        let mut entries = Vec::new();
        for (_, node) in &self.pages {
            for i in 0..node.count() {
                let mut key = Vec::new();
                node.key_into(i, &mut key);
                if self.range.contains(&key) {
                    entries.push((key, node.cell(i).0));
                }
            }
        }
        entries
    }
}

/// Leaves out the pages that both sides have.
fn drop_shared(old: &mut Vec<(PageRef, Node<'_>)>, new: &mut Vec<(PageRef, Node<'_>)>) {
    let ids = |side: &[(PageRef, Node<'_>)]| {
        let mut ids: Vec<(u32, u64)> = side.iter().map(|(page, _)| (page.id, page.birth)).collect();
        ids.sort_unstable();
        ids
    };
    let (in_old, in_new) = (ids(old), ids(new));
    old.retain(|(page, _)| in_new.binary_search(&(page.id, page.birth)).is_err());
    new.retain(|(page, _)| in_old.binary_search(&(page.id, page.birth)).is_err());
}

type Entry<'p> = (Vec<u8>, Cell<'p>);

fn merge(old: &[Entry<'_>], new: &[Entry<'_>], each: &mut dyn FnMut(&[u8], Changed) -> bool) {
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let order = match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) => a.0.cmp(&b.0),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        let (in_older, in_newer) = (order.is_le(), order.is_ge());
        let key = if in_older { &old[i].0 } else { &new[j].0 };
        // A long value that was written again has another chain, so its reference differs: told as changed.
        let differs = !(in_older && in_newer && old[i].1 == new[j].1);
        if differs && !each(key, Changed { in_older, in_newer }) {
            return;
        }
        i += in_older as usize;
        j += in_newer as usize;
    }
}
