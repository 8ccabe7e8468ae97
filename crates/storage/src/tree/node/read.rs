//! Reading a page as a node.

use super::layout::{
    COUNT, Cell, GARBAGE, HEAP, OVERFLOW_REF, PREFIX, Payload, SLOT, SUFFIX, VARIABLE, WHAT, body_start, head_of,
};
use crate::bytes::get_u16;
use crate::page::layout::{HEADER, Kind};
use crate::page::{CACHE_LINE, PageRef, prefetch};

/// A page read as a node.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    pub(super) page: &'a [u8],
    pub(super) count: usize,
    pub(super) prefix: usize,
    pub(super) slots: usize,
    pub(super) suffix: u16,
    pub(super) inner: bool,
}

#[inline]
fn slot_head(slot: [u8; SLOT]) -> u16 {
    u16::from_le_bytes([slot[0], slot[1]])
}

/// How many of these slots, in ascending order, have a head below this one. Which half to go on in is no branch: it
/// would be mispredicted every other time.
#[inline]
fn count_below(slots: &[[u8; SLOT]], head: u16) -> usize {
    let (mut from, mut left) = (0, slots.len());
    while left > 0 {
        crate::counted::comparison();
        let half = left.div_ceil(2);
        let is_below = slot_head(slots[from + half - 1]) < head;
        from = std::hint::select_unpredictable(is_below, from + half, from);
        left -= half;
    }
    from
}

/// Whether a page from the file is what its header says it is, as far as trees know: others than their nodes are not
/// looked at.
pub(crate) fn is_well_formed(page: &[u8]) -> bool {
    !matches!(Kind::of(page), Some(Kind::Leaf | Kind::Inner)) || Node::is_valid(page)
}

impl<'a> Node<'a> {
    #[inline]
    pub(crate) fn new(page: &'a [u8]) -> Node<'a> {
        let inner = page[4] == Kind::Inner as u8;
        let prefix = get_u16(page, PREFIX) as usize;
        let slots = body_start(inner) + prefix;
        Node { page, count: get_u16(page, COUNT) as usize, prefix, slots, suffix: get_u16(page, SUFFIX), inner }
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn level(&self) -> u8 {
        self.page[5]
    }

    #[inline]
    pub(crate) fn is_inner(&self) -> bool {
        self.inner
    }

    #[inline]
    pub(crate) fn prefix(&self) -> &'a [u8] {
        &self.page[self.slots - self.prefix..self.slots]
    }

    #[inline]
    pub(super) fn slot(&self, i: usize) -> (u16, usize) {
        let at = self.slots + i * SLOT;
        (get_u16(self.page, at), get_u16(self.page, at + 2) as usize)
    }

    /// Where the cell's value part and key begin: (value length field or key, key length).
    #[inline]
    fn key_length(&self, cell: usize) -> (usize, usize) {
        if self.suffix != VARIABLE {
            return (cell, self.suffix as usize);
        }
        let first = self.page[cell] as usize;
        match first < 0x80 {
            true => (cell + 1, first),
            false => (cell + 2, (first & 0x7F) << 8 | self.page[cell + 1] as usize),
        }
    }

    /// (bytes of the field, bytes of the value, is an overflow reference).
    #[inline]
    fn value_length(&self, at: usize) -> (usize, usize, bool) {
        match self.page[at] {
            small @ 0..0xF0 => (1, small as usize, false),
            0xFF => (1, OVERFLOW_REF, true),
            0xFC.. => (3, get_u16(self.page, at + 1) as usize, false),
            two => (2, ((two as usize - 0xF0) << 8 | self.page[at + 1] as usize) + 0xF0, false),
        }
    }

    /// The part of entry `i`'s key that follows the prefix.
    #[inline]
    pub(crate) fn suffix(&self, i: usize) -> &'a [u8] {
        let (at, length) = self.key_length(self.slot(i).1);
        let key = if self.inner { at } else { at + self.value_length(at).0 };
        &self.page[key..key + length]
    }

    /// A leaf entry's value, and where its bytes are in the page.
    #[inline]
    pub(crate) fn cell(&self, i: usize) -> (Cell<'a>, usize) {
        let (at, key_length) = self.key_length(self.slot(i).1);
        let (field, length, overflow) = self.value_length(at);
        let start = at + field + key_length;
        let bytes = &self.page[start..start + length];
        (if overflow { Cell::Overflow(bytes) } else { Cell::Inline(bytes) }, start)
    }

    /// A leaf entry's value, if the leaf has it. For loops over entries: most cells have the short form that is looked for
    /// first.
    #[inline]
    pub(crate) fn inline_value(&self, i: usize) -> Option<&'a [u8]> {
        let at = self.slot(i).1;
        if let (false, Some(&length @ 0..0xF0)) = (self.suffix == VARIABLE, self.page.get(at)) {
            let start = at + 1 + self.suffix as usize;
            return self.page.get(start..start + length as usize);
        }
        self.any_inline_value(i)
    }

    fn any_inline_value(&self, i: usize) -> Option<&'a [u8]> {
        match self.cell(i).0 {
            Cell::Inline(value) => Some(value),
            Cell::Overflow(_) => None,
        }
    }

    /// Reads a byte of every cache line that holds cells, in the order of the addresses.
    #[inline]
    pub(crate) fn touch(&self) {
        let cells = self.page.get(get_u16(self.page, HEAP) as usize..).unwrap_or_default();
        std::hint::black_box(cells.iter().step_by(CACHE_LINE).fold(0, |all, byte| all ^ byte));
    }

    /// Asks for the beginnings of some entries' cells, which then arrive side by side.
    #[inline]
    pub(crate) fn prefetch_cells(&self, entries: std::ops::Range<usize>) {
        entries.for_each(|i| prefetch(self.page.get(self.slot(i).1..).unwrap_or_default()));
    }

    /// Bytes that entry `i` takes in the heap.
    pub(super) fn cell_size(&self, i: usize) -> usize {
        let cell = self.slot(i).1;
        let (at, key_length) = self.key_length(cell);
        match self.inner {
            true => at - cell + key_length + PageRef::BYTES,
            false => {
                let (field, length, _) = self.value_length(at);
                at - cell + field + key_length + length
            }
        }
    }

    /// An inner page's child: 0 is the leftmost, `i + 1` that of entry `i`.
    #[inline]
    pub(crate) fn child(&self, child: usize) -> PageRef {
        PageRef::read(&self.page[self.child_at(child)..])
    }

    #[inline]
    pub(super) fn child_at(&self, child: usize) -> usize {
        if child == 0 {
            return HEADER;
        }
        let (at, length) = self.key_length(self.slot(child - 1).1);
        at + length
    }

    /// The first entry at or above `key`, and whether it is `key`.
    #[inline]
    pub(crate) fn search(&self, key: &[u8]) -> (usize, bool) {
        let prefix = self.prefix();
        let shared = prefix.len().min(key.len());
        match key[..shared].cmp(&prefix[..shared]) {
            std::cmp::Ordering::Less => return (0, false),
            std::cmp::Ordering::Greater => return (self.count, false),
            std::cmp::Ordering::Equal if key.len() < prefix.len() => return (0, false),
            std::cmp::Ordering::Equal => {}
        }
        let rest = &key[prefix.len()..];
        let head = head_of(rest, &[]);
        let heads = self.slot_array();
        let low = count_below(heads, head);
        if heads.get(low).is_none_or(|&slot| slot_head(slot) != head) {
            return (low, false);
        }
        match self.suffix(low).cmp(rest) {
            std::cmp::Ordering::Less => self.search_among_equal_heads(low + 1, rest, head),
            order => (low, order.is_eq()),
        }
    }

    /// As `search`, from an entry on, among those with this head.
    fn search_among_equal_heads(&self, from: usize, rest: &[u8], head: u16) -> (usize, bool) {
        let heads = &self.slot_array()[from..];
        let equal = head.checked_add(1).map_or(heads.len(), |above| count_below(heads, above));
        let (mut low, mut high) = (from, from + equal);
        while low < high {
            crate::counted::comparison();
            let middle = (low + high) / 2;
            match self.suffix(middle).cmp(rest) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return (middle, true),
            }
        }
        (low, false)
    }

    #[inline]
    fn slot_array(&self) -> &'a [[u8; SLOT]] {
        self.page[self.slots..][..self.count * SLOT].as_chunks().0
    }

    /// How entry `i`'s key compares with `key`.
    pub(crate) fn key_cmp(&self, i: usize, key: &[u8]) -> std::cmp::Ordering {
        let prefix = self.prefix();
        match key.split_at_checked(prefix.len()) {
            Some((start, rest)) => prefix.cmp(start).then_with(|| self.suffix(i).cmp(rest)),
            None => prefix.cmp(key),
        }
    }

    /// How entry `i`'s key compares with that of entry `j` of another page.
    #[inline]
    pub(crate) fn key_order(&self, i: usize, other: &Node<'_>, j: usize) -> std::cmp::Ordering {
        if self.prefix() == other.prefix() {
            return self.suffix(i).cmp(other.suffix(j));
        }
        let (mine, others) = (self.prefix().iter().chain(self.suffix(i)), other.prefix().iter().chain(other.suffix(j)));
        mine.cmp(others)
    }

    /// Whether another page has the same entries at the same places. (False says nothing: they may lie elsewhere in it.)
    pub(crate) fn is_copy_of(&self, other: &Node<'_>) -> bool {
        self.page[WHAT] == other.page[WHAT] && self.page[HEAP..] == other.page[HEAP..]
    }

    /// Which child leads to `key`.
    #[inline]
    pub(crate) fn child_for(&self, key: &[u8]) -> usize {
        let (at, found) = self.search(key);
        at + found as usize
    }

    /// Writes entry `i`'s whole key over `key`.
    #[inline]
    pub(crate) fn key_into(&self, i: usize, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(self.prefix());
        key.extend_from_slice(self.suffix(i));
    }

    /// Bytes that the entries take, the prefix and slots included.
    pub(crate) fn used(&self) -> usize {
        let heap = self.page.len() - get_u16(self.page, HEAP) as usize;
        self.prefix + self.count * SLOT + heap - get_u16(self.page, GARBAGE) as usize
    }

    /// Whether entry `i` can take another value without a split. (Its key stays, so the page's form does too.)
    pub(crate) fn can_replace(&self, i: usize, payload: Payload<'_>) -> bool {
        let (old, _) = self.cell(i);
        self.used() + payload.size() <= self.capacity() + Payload::Value(old).size()
    }

    /// Whether removed entries left gaps.
    pub(crate) fn has_garbage(&self) -> bool {
        get_u16(self.page, GARBAGE) > 0
    }

    /// Bytes that a page of this kind has for entries.
    pub(crate) fn capacity(&self) -> usize {
        self.page.len() - body_start(self.inner)
    }

    /// Whether every offset stays inside the page and the keys ascend: checked once, when a page comes from the file,
    /// so that nothing else has to doubt it.
    pub(crate) fn is_valid(page: &[u8]) -> bool {
        let inner = page[4] == Kind::Inner as u8;
        let count = get_u16(page, COUNT) as usize;
        let slots_end = body_start(inner) + get_u16(page, PREFIX) as usize + count * SLOT;
        let heap = get_u16(page, HEAP) as usize;
        if inner == (page[5] == 0) || slots_end > heap || heap > page.len() {
            return false;
        }
        let node = Node::new(page);
        (0..count).all(|i| node.is_cell_valid(i, heap))
            && (1..count).all(|i| node.suffix(i - 1) < node.suffix(i))
            && (0..count).all(|i| node.slot(i).0 == head_of(node.suffix(i), &[]))
            && node.has_room_for_its_cells(heap)
    }

    /// Whether cells and garbage are no more than what lies behind the heap's start: removing cells adds to the garbage.
    fn has_room_for_its_cells(&self, heap: usize) -> bool {
        let cells: usize = (0..self.count).map(|i| self.cell_size(i)).sum();
        cells + get_u16(self.page, GARBAGE) as usize <= self.page.len() - heap
    }

    fn is_cell_valid(&self, i: usize, heap: usize) -> bool {
        let size = self.page.len();
        let cell = self.slot(i).1;
        let has = |at: usize, bytes: usize| at + bytes <= size;
        // The length fields say by their first byte how many follow.
        let key_field =
            if self.suffix == VARIABLE { 1 + usize::from(has(cell, 1) && self.page[cell] >= 0x80) } else { 0 };
        if cell < heap || !has(cell, key_field) {
            return false;
        }
        let (at, key_length) = self.key_length(cell);
        if self.inner {
            return has(at, key_length + PageRef::BYTES);
        }
        let value_field = match self.page.get(at) {
            None => return false,
            Some(0..0xF0 | 0xFF) => 1,
            Some(0xFC..) => 3,
            Some(_) => 2,
        };
        has(at, value_field) && {
            let (field, length, _) = self.value_length(at);
            has(at, field + key_length + length)
        }
    }
}
