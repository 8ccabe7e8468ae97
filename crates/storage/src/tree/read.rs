//! Finding a key.

use super::MAX_DEPTH;
use super::cursor::LeafEntries;
use super::node::{Cell, Node};
use super::overflow;
use crate::page::{PageRef, Pages, Pin};
use crate::{Error, Result, counted};

/// Why a tree operation could not go on. It changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Load this page (unpinned) and begin again.
    Miss(PageRef),
    /// The page is not what its place in the tree says.
    Misplaced(PageRef),
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Error {
        match stop {
            Stop::Miss(page) => Error::NotResident(page),
            Stop::Misplaced(page) => Error::corrupt(format!("page {} does not fit its place in the tree", page.id)),
        }
    }
}

/// A value as found in its leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'p> {
    Inline(&'p [u8]),
    /// The value's length and its first overflow page.
    Long(u64, PageRef),
}

impl<'p> From<Cell<'p>> for Value<'p> {
    fn from(cell: Cell<'p>) -> Value<'p> {
        match cell {
            Cell::Inline(bytes) => Value::Inline(bytes),
            Cell::Overflow(bytes) => {
                let (length, first) = overflow::parse(bytes);
                Value::Long(length, first)
            }
        }
    }
}

/// The value under `key`, all on pages in memory.
#[inline]
pub(crate) fn get<'p>(pages: &Pages, pin: &'p Pin<'_>, root: PageRef, key: &[u8]) -> Result<Option<Value<'p>>, Stop> {
    pin.count_search();
    let _timed = counted::searching();
    if root.is_none() {
        return Ok(None);
    }
    let mut at = root;
    for _ in 0..MAX_DEPTH {
        let node = Node::new(pages.get(pin, at).ok_or(Stop::Miss(at))?);
        if !node.is_inner() {
            let (i, found) = node.search(key);
            return Ok(found.then(|| node.cell(i).0.into()));
        }
        at = node.child(node.child_for(key));
    }
    Err(Stop::Misplaced(at))
}

/// How many keys are looked for side by side.
pub(crate) const GROUP: usize = 16;

/// As [`get`], for as many keys as `values` has places (at most [`GROUP`]): how many, from the first key on, were found in
/// leaves that are in memory. A step of one search is done while the next page of the others is on its way.
pub(crate) fn get_group<'p, 'k>(
    pages: &Pages,
    pin: &'p Pin<'_>,
    root: PageRef,
    key: impl Fn(usize) -> &'k [u8],
    values: &mut [&'p [u8]],
) -> Result<usize, Stop> {
    if root.is_none() {
        return Ok(0);
    }
    let mut at = [root; GROUP];
    let at = &mut at[..values.len()];
    for _ in 0..MAX_DEPTH {
        // All leaves of a tree are equally far from its root.
        if !node(pages, pin, at[0])?.is_inner() {
            return found_in_leaves(at, pages, key, values, pin);
        }
        for (i, page) in at.iter_mut().enumerate() {
            let inner = node(pages, pin, *page)?;
            if !inner.is_inner() {
                return Err(Stop::Misplaced(*page));
            }
            *page = inner.child(inner.child_for(key(i)));
            pages.prefetch(*page);
        }
    }
    Err(Stop::Misplaced(at[0]))
}

/// (With a call for each step a look-up of ten took 640 instructions more.)
#[inline(always)]
fn node<'p>(pages: &Pages, pin: &'p Pin<'_>, page: PageRef) -> Result<Node<'p>, Stop> {
    pages.get(pin, page).map(Node::new).ok_or(Stop::Miss(page))
}

fn found_in_leaves<'p, 'k>(
    leaves: &[PageRef],
    pages: &Pages,
    key: impl Fn(usize) -> &'k [u8],
    values: &mut [&'p [u8]],
    pin: &'p Pin<'_>,
) -> Result<usize, Stop> {
    for (i, (page, value)) in leaves.iter().zip(&mut *values).enumerate() {
        let leaf = match node(pages, pin, *page) {
            Err(Stop::Miss(_)) if i > 0 => return Ok(i),
            leaf => leaf?,
        };
        pin.count_search();
        if leaf.is_inner() {
            return Err(Stop::Misplaced(*page));
        }
        match leaf.search(key(i)) {
            (place, true) => match leaf.inline_value(place) {
                Some(inline) => *value = inline,
                None => return Ok(i),
            },
            (_, false) => return Ok(i),
        }
    }
    Ok(values.len())
}

/// Reads a long value, loading its pages as needed. The caller must not be pinned.
pub(crate) fn overflow_value(
    pages: &Pages,
    slot: crate::page::SlotId,
    length: u64,
    first: PageRef,
    into: &mut Vec<u8>,
) -> Result<()> {
    into.clear();
    let mut at = first;
    while !at.is_none() {
        let next = {
            let pin = pages.slots.pin(slot)?;
            pages.get(&pin, at).map(|page| overflow::piece(page, into))
        };
        match next {
            Some(Some(next)) => at = next,
            Some(None) => return Err(Stop::Misplaced(at).into()),
            None => pages.load(at).map_err(|error| pages.slots.explain(slot, error))?,
        }
        if into.len() as u64 > length {
            break;
        }
    }
    match into.len() as u64 == length {
        true => Ok(()),
        false => Err(Error::corrupt(format!("value at page {} has {} of {length} bytes", first.id, into.len()))),
    }
}

/// Calls `read` with the first key at or after `key`, all on pages in memory.
pub(crate) fn first_at_or_after<R>(
    pages: &Pages,
    pin: &Pin<'_>,
    root: PageRef,
    key: &[u8],
    read: impl FnOnce(&[u8]) -> R,
) -> Result<Option<R>, Stop> {
    let Some((leaf, at)) = leaf_at_or_after(pages, pin, root, key)? else { return Ok(None) };
    let mut found = Vec::with_capacity(64);
    leaf.key_into(at, &mut found);
    Ok(Some(read(&found)))
}

/// The entries from `lower` up to `upper` (not included) in the first leaf that has any, all on pages in memory.
pub(crate) fn entries<'p>(
    pages: &Pages,
    pin: &'p Pin<'_>,
    root: PageRef,
    (lower, upper): (&[u8], &[u8]),
) -> Result<Option<LeafEntries<'p>>, Stop> {
    let Some((leaf, from)) = leaf_at_or_after(pages, pin, root, lower)? else { return Ok(None) };
    let to = leaf.search(upper).0;
    Ok((from < to).then(|| LeafEntries::of(leaf, from, to)))
}

/// The leaf with the first entry at or after `key`, and the entry's place there.
fn leaf_at_or_after<'p>(
    pages: &Pages,
    pin: &'p Pin<'_>,
    root: PageRef,
    key: &[u8],
) -> Result<Option<(Node<'p>, usize)>, Stop> {
    pin.count_search();
    let mut at = root;
    // The page to the right of the way down: where to go on if the leaf has nothing at or after the key.
    let mut right = PageRef::NONE;
    for _ in 0..2 * MAX_DEPTH {
        if at.is_none() {
            return Ok(None);
        }
        let node = Node::new(pages.get(pin, at).ok_or(Stop::Miss(at))?);
        if node.is_inner() {
            let child = node.child_for(key);
            if child < node.count() {
                right = node.child(child + 1);
            }
            at = node.child(child);
            continue;
        }
        let (i, _) = node.search(key);
        if i < node.count() {
            return Ok(Some((node, i)));
        }
        at = std::mem::replace(&mut right, PageRef::NONE);
    }
    Err(Stop::Misplaced(at))
}
