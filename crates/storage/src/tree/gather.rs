//! Bringing into memory, together, what searches for many keys will look at.
//!
//! What must hold:
//! - It is a favour, as all reading ahead: what can not be read is told by the search that needs it, and by no other.
//! - Each key's way is followed as far as it is in memory. The pages that come then, one a key at most, are read at the same time;
//!   then the ways are followed on. So what is read once for each level is a page for each key, in the order in which they
//!   lie in the file.

use std::collections::HashSet;

use super::MAX_DEPTH;
use super::node::Node;
use crate::Result;
use crate::page::{PageRef, Pages, Pin, SlotId};

/// Keys that are searched for, by their places.
pub(crate) struct Wanted<K> {
    /// The key at a place.
    pub(crate) key: K,
    /// How many there are.
    pub(crate) count: usize,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gathered {
    /// For so many keys, from the first on, it was done.
    pub(crate) keys: usize,
    /// So many of these lacked a page at first.
    pub(crate) lacking: usize,
}

/// Reads what the searches for the keys lack, for as many of them as the cache bears. The caller must not be pinned.
#[cold]
pub(crate) fn gather<'k>(
    pages: &Pages,
    slot: SlotId,
    root: PageRef,
    mut wanted: Wanted<impl Fn(usize) -> &'k [u8]>,
) -> Result<Gathered> {
    let mut first = None;
    let mut before = Vec::new();
    for _ in 0..MAX_DEPTH {
        let (missing, gathered) = {
            let pin = pages.slots.pin(slot)?;
            missing(pages, &pin, root, &wanted)
        };
        first.get_or_insert(gathered);
        // Those that are missing once more could not be read.
        if missing.is_empty() || missing == before {
            break;
        }
        pages.read_together(&missing);
        (before, wanted.count) = (missing, gathered.keys);
    }
    Ok(Gathered { keys: wanted.count, ..first.unwrap_or_default() })
}

/// The first page that is not in memory on each way, each once, in the order of the file.
fn missing<'k>(
    pages: &Pages,
    pin: &Pin<'_>,
    root: PageRef,
    wanted: &Wanted<impl Fn(usize) -> &'k [u8]>,
) -> (Vec<PageRef>, Gathered) {
    let most = pages.ahead_limit().max(1);
    let (mut found, mut gathered) = (HashSet::new(), Gathered::default());
    while gathered.keys < wanted.count && found.len() < most {
        if let Some(page) = first_missing(pages, pin, root, (wanted.key)(gathered.keys)) {
            found.insert(page);
            gathered.lacking += 1;
        }
        gathered.keys += 1;
    }
    let mut found: Vec<PageRef> = found.into_iter().collect();
    found.sort_unstable_by_key(|page| page.id);
    (found, gathered)
}

fn first_missing(pages: &Pages, pin: &Pin<'_>, root: PageRef, key: &[u8]) -> Option<PageRef> {
    let mut at = root;
    for _ in 0..MAX_DEPTH {
        if at.is_none() {
            return None;
        }
        let Some(bytes) = pages.get(pin, at) else { return Some(at) };
        let node = Node::new(bytes);
        if !node.is_inner() {
            return None;
        }
        at = node.child(node.child_for(key));
    }
    None
}
