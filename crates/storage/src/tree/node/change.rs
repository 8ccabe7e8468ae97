//! Changing a page in place, where its form and its free space allow it.

use super::Node;
use super::layout::{
    COUNT, Cell, GARBAGE, HEAP, PREFIX, Payload, SLOT, SUFFIX, VARIABLE, body_start, init_body, key_length_bytes,
    write_entry,
};
use crate::bytes::{get_u16, put_u16};
use crate::page::PageRef;

pub(crate) fn set_child(page: &mut [u8], child: usize, to: PageRef) {
    let at = Node::new(page).child_at(child);
    page[at..at + PageRef::BYTES].copy_from_slice(&to.to_bytes());
}

impl Node<'_> {
    /// Whether the key shares the page's prefix, and the length of its keys if they have one.
    pub(crate) fn has_form(&self, key: &[u8]) -> bool {
        key.starts_with(self.prefix()) && (self.suffix == VARIABLE || key.len() == self.prefix + self.suffix as usize)
    }

    /// (prefix length, suffix length or VARIABLE) for a page that begins with `key`, which is behind these entries and has
    /// their form: what they all share, if that outlasts as many keys as far apart again.
    fn form_after(&self, key: &[u8]) -> (usize, u16) {
        assert!(self.has_form(key), "the key has its neighbour's form");
        let first = self.suffix(0);
        let rest = &key[self.prefix..];
        let shared = rest.iter().zip(first).take_while(|(a, b)| a == b).count();
        let differs = rest.get(shared).zip(first.get(shared));
        let carries = differs.is_some_and(|(&next, &first)| next.checked_add(next.wrapping_sub(first)).is_none());
        let prefix = (self.prefix + shared).saturating_sub(usize::from(carries));
        let has_one_length = self.suffix != VARIABLE || (0..self.count).all(|i| self.suffix(i).len() == rest.len());
        (prefix, if has_one_length { (key.len() - prefix) as u16 } else { VARIABLE })
    }

    /// Whether [`insert_in_place`] would succeed.
    pub(crate) fn has_room(&self, key: &[u8], payload: Payload<'_>) -> bool {
        self.size_of(key, payload).is_some_and(|size| self.has_bytes(size))
    }

    /// Whether the key goes behind the last entry, and [`append_in_place`] is what puts it there.
    #[inline]
    pub(crate) fn has_room_behind(&self, key: &[u8], payload: Payload<'_>) -> bool {
        let Some((last, rest)) = self.count.checked_sub(1).zip(key.strip_prefix(self.prefix())) else { return false };
        let has_form = self.suffix == VARIABLE || rest.len() == usize::from(self.suffix);
        has_form && self.suffix(last) < rest && self.has_bytes(self.cell_bytes(rest.len(), payload))
    }

    /// Whether there is room for one more slot and a cell of this size.
    #[inline]
    fn has_bytes(&self, size: usize) -> bool {
        get_u16(self.page, HEAP) as usize >= self.slots + (self.count + 1) * SLOT + size
    }

    /// What a cell takes in this page.
    #[inline]
    fn cell_bytes(&self, rest: usize, payload: Payload<'_>) -> usize {
        let length_bytes = if self.suffix == VARIABLE { key_length_bytes(rest) } else { 0 };
        length_bytes + rest + payload.size()
    }

    /// Whether it would succeed after [`close_gaps`].
    pub(crate) fn has_room_in_gaps(&self, key: &[u8], payload: Payload<'_>) -> bool {
        self.size_of(key, payload).is_some_and(|size| self.used() + SLOT + size <= self.capacity())
    }

    /// What a new entry's cell would take, if the page has entries and the key their form.
    fn size_of(&self, key: &[u8], payload: Payload<'_>) -> Option<usize> {
        if self.count == 0 || !self.has_form(key) {
            return None;
        }
        Some(self.cell_bytes(key.len() - self.prefix, payload))
    }
}

/// Moves the cells together, so that what lay between them is room again. `copy`: the page as it is.
pub(crate) fn close_gaps(page: &mut [u8], copy: &[u8]) {
    let node = Node::new(copy);
    let mut heap = page.len();
    for i in 0..node.count {
        let (cell, size) = (node.slot(i).1, node.cell_size(i));
        heap -= size;
        page[heap..heap + size].copy_from_slice(&copy[cell..cell + size]);
        put_u16(page, node.slots + i * SLOT + 2, heap as u16);
    }
    put_u16(page, HEAP, heap as u16);
    put_u16(page, GARBAGE, 0);
}

/// Begins an empty page to the right of a full one, with the first key behind all of that, in the form (prefix and suffix
/// length) that the left one's entries have or could have had: the keys that follow go in without moving anything, and
/// the form is not for ever what the tree's first keys had in common.
pub(crate) fn begin_like(page: &mut [u8], left: Node<'_>, key: &[u8], payload: Payload<'_>) {
    let (prefix, suffix) = left.form_after(key);
    init_body(page);
    let start = body_start(left.inner);
    page[start..start + prefix].copy_from_slice(&key[..prefix]);
    put_u16(page, PREFIX, prefix as u16);
    put_u16(page, SUFFIX, suffix);
    insert_at(page, 0, key, payload);
}

/// Inserts at position `at` if the page's prefix, suffix form and free space allow it without moving anything else.
pub(crate) fn insert_in_place(page: &mut [u8], at: usize, key: &[u8], payload: Payload<'_>) -> bool {
    let has_room = Node::new(page).has_room(key, payload);
    if has_room {
        insert_at(page, at, key, payload);
    }
    has_room
}

/// Appends behind the last entry, where [`Node::has_room_behind`] said so.
pub(crate) fn append_in_place(page: &mut [u8], key: &[u8], payload: Payload<'_>) {
    let at = Node::new(page).count;
    insert_at(page, at, key, payload);
}

/// Inserts where there is room and the key has the page's form.
pub(super) fn insert_at(page: &mut [u8], at: usize, key: &[u8], payload: Payload<'_>) {
    let node = Node::new(page);
    let (count, slots, suffix, inner) = (node.count, node.slots, node.suffix, node.inner);
    let rest = &key[node.prefix..];
    let length_bytes = if suffix == VARIABLE { key_length_bytes(rest.len()) } else { 0 };
    let size = length_bytes + rest.len() + payload.size();
    let heap = get_u16(page, HEAP) as usize;
    let slots_end = slots + count * SLOT;
    let cell = heap - size;
    if at < count {
        page.copy_within(slots + at * SLOT..slots_end, slots + (at + 1) * SLOT);
    }
    write_entry(page, slots + at * SLOT, cell..heap, suffix == VARIABLE, (rest, payload), inner);
    put_u16(page, HEAP, cell as u16);
    put_u16(page, COUNT, count as u16 + 1);
}

/// Appends entries behind the last one, as [`append_in_place`] does, for as long as each goes behind the one before and there is
/// room; how many. What a page says of itself is read and written once.
pub(crate) fn append_run<'k>(page: &mut [u8], entries: impl Iterator<Item = (&'k [u8], &'k [u8])>) -> usize {
    let node = Node::new(page);
    let (count, prefix, slots, suffix, inner) = (node.count, node.prefix, node.slots, node.suffix, node.inner);
    let Some(last) = count.checked_sub(1) else { return 0 };
    let (mut end, mut heap) = (slots + count * SLOT, get_u16(page, HEAP) as usize);
    let (mut appended, mut before) = (0, None);
    for (key, value) in entries {
        let payload = Payload::Value(Cell::Inline(value));
        let Some(rest) = key.strip_prefix(&page[slots - prefix..slots]) else { break };
        let length_bytes = if suffix == VARIABLE { key_length_bytes(rest.len()) } else { 0 };
        let size = length_bytes + rest.len() + payload.size();
        let has_form = suffix == VARIABLE || rest.len() == usize::from(suffix);
        let is_behind = before.unwrap_or_else(|| Node::new(page).suffix(last)) < rest;
        if !has_form || !is_behind || heap < end + SLOT + size {
            break;
        }
        write_entry(page, end, heap - size..heap, suffix == VARIABLE, (rest, payload), inner);
        (end, heap, before) = (end + SLOT, heap - size, Some(rest));
        appended += 1;
    }
    put_u16(page, HEAP, heap as u16);
    put_u16(page, COUNT, (count + appended) as u16);
    appended
}

/// Removes entry `at`, leaving its cell as garbage.
pub(crate) fn remove(page: &mut [u8], at: usize) {
    let node = Node::new(page);
    let (count, slots, size, cell) = (node.count, node.slots, node.cell_size(at), node.slot(at).1);
    page.copy_within(slots + (at + 1) * SLOT..slots + count * SLOT, slots + at * SLOT);
    put_u16(page, COUNT, count as u16 - 1);
    let heap = get_u16(page, HEAP) as usize;
    match cell == heap {
        true => put_u16(page, HEAP, (heap + size) as u16),
        false => put_u16(page, GARBAGE, get_u16(page, GARBAGE) + size as u16),
    }
    if count == 1 {
        init_body(page);
    }
}
