//! A tree page's body: a sorted list of entries behind an array of slots.
//!
//! ```text
//! | header 64 | leftmost child 12 (inner only) | prefix | slots: (head u16, cell u16) ... >   free   < ... cells |
//! leaf cell:  [key length] value length, key, value        (key: what follows the prefix)
//! inner cell: [key length] key, child 12
//! ```
//! All keys share `prefix`. A slot's *head* is the first two bytes of the rest of its key, so that a search mostly
//! stays within the slots. Where all rests have one length, cells do not repeat it (`suffix` in the header). An inner
//! page's entry i leads to keys at or above its key; the leftmost child to those below the first.
//!
//! Key length: one byte below 128, else two (high bit set, big endian). Value length: one byte below 240, two up to
//! 3,311, 0xFC and a u16 beyond; 0xFF says that 20 bytes follow which name overflow pages (length u64, first page).

use crate::bytes::{get_u16, put_u16};
use crate::page::layout::{HEADER, Kind};
use crate::page::{CACHE_LINE, PageRef, prefetch};

/// The suffix length field where lengths differ.
const VARIABLE: u16 = 0xFFFF;
const SLOT: usize = 4;
/// Bytes of an overflow reference.
pub(crate) const OVERFLOW_REF: usize = 20;

/// Kind, level and number of entries.
const WHAT: std::ops::Range<usize> = 4..8;
const COUNT: usize = 6;
const HEAP: usize = 24;
const GARBAGE: usize = 26;
const PREFIX: usize = 28;
const SUFFIX: usize = 30;

/// A leaf entry's value as its page holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Inline(&'a [u8]),
    /// Length u64 and a page reference, little endian.
    Overflow(&'a [u8]),
}

/// A page read as a node.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    page: &'a [u8],
    count: usize,
    prefix: usize,
    slots: usize,
    suffix: u16,
    inner: bool,
}

#[inline]
fn body_start(inner: bool) -> usize {
    HEADER + if inner { PageRef::BYTES } else { 0 }
}

/// The longest key a page of this size takes.
pub(crate) fn key_limit(page_size: usize) -> usize {
    (page_size - 128) / 4 - 24
}

/// The most bytes of key and value together that stay in the leaf.
pub(crate) fn inline_limit(page_size: usize) -> usize {
    (page_size - HEADER) / 2 - 16
}

#[inline]
fn head_of(a: &[u8], b: &[u8]) -> u16 {
    let byte = |i: usize| a.get(i).or_else(|| b.get(i - a.len().min(i))).copied().unwrap_or(0);
    (byte(0) as u16) << 8 | byte(1) as u16
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

#[inline]
fn key_length_bytes(length: usize) -> usize {
    if length < 0x80 { 1 } else { 2 }
}

#[inline]
fn value_length_bytes(cell: Cell<'_>) -> usize {
    match cell {
        Cell::Overflow(_) => 1,
        Cell::Inline(value) if value.len() < 0xF0 => 1,
        Cell::Inline(value) if value.len() < 3312 => 2,
        Cell::Inline(_) => 3,
    }
}

impl<'a> Cell<'a> {
    fn bytes(self) -> &'a [u8] {
        match self {
            Cell::Inline(bytes) | Cell::Overflow(bytes) => bytes,
        }
    }
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
    fn slot(&self, i: usize) -> (u16, usize) {
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
    fn cell_size(&self, i: usize) -> usize {
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
    fn child_at(&self, child: usize) -> usize {
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

/// No entries.
pub(crate) fn init_body(page: &mut [u8]) {
    put_u16(page, COUNT, 0);
    put_u16(page, HEAP, page.len() as u16);
    put_u16(page, GARBAGE, 0);
    put_u16(page, PREFIX, 0);
    put_u16(page, SUFFIX, VARIABLE);
}

pub(crate) fn set_child(page: &mut [u8], child: usize, to: PageRef) {
    let at = Node::new(page).child_at(child);
    page[at..at + PageRef::BYTES].copy_from_slice(&to.to_bytes());
}

/// What a new entry brings: a leaf's value or an inner page's child.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'a> {
    Value(Cell<'a>),
    Child(PageRef),
}

impl Payload<'_> {
    fn size(self) -> usize {
        match self {
            Payload::Value(cell) => value_length_bytes(cell) + cell.bytes().len(),
            Payload::Child(_) => PageRef::BYTES,
        }
    }
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
fn insert_at(page: &mut [u8], at: usize, key: &[u8], payload: Payload<'_>) {
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

/// Writes an entry's slot and its cell, which fills its place exactly.
#[inline]
fn write_entry(
    page: &mut [u8],
    slot: usize,
    cell: std::ops::Range<usize>,
    variable: bool,
    (rest, payload): (&[u8], Payload<'_>),
    inner: bool,
) {
    put_u16(page, slot, head_of(rest, &[]));
    put_u16(page, slot + 2, cell.start as u16);
    write_cell(&mut page[cell], variable, rest, &[], payload, inner);
}

/// Writes a cell that fills `out` exactly; the key is `a` followed by `b`.
#[inline]
fn write_cell(out: &mut [u8], variable: bool, a: &[u8], b: &[u8], payload: Payload<'_>, inner: bool) {
    debug_assert_eq!(inner, matches!(payload, Payload::Child(_)));
    let mut at = 0;
    let mut push = |bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    let key_length = a.len() + b.len();
    if variable && key_length < 0x80 {
        push(&[key_length as u8]);
    } else if variable {
        push(&[(key_length >> 8) as u8 | 0x80, key_length as u8]);
    }
    if let Payload::Value(cell) = payload {
        let length = cell.bytes().len();
        match (cell, value_length_bytes(cell)) {
            (Cell::Overflow(_), _) => push(&[0xFF]),
            (_, 1) => push(&[length as u8]),
            (_, 2) => push(&[0xF0 + ((length - 0xF0) >> 8) as u8, (length - 0xF0) as u8]),
            _ => push(&[0xFC, length as u8, (length >> 8) as u8]),
        }
    }
    push(a);
    push(b);
    match payload {
        Payload::Value(cell) => push(cell.bytes()),
        Payload::Child(child) => push(&child.to_bytes()),
    }
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

/// A list of entries: those of a node, before entry `at` a new one, and at the end those of its right neighbour.
pub(crate) struct Entries<'a> {
    node: Node<'a>,
    at: usize,
    new: Option<(&'a [u8], Payload<'a>)>,
    tail: Option<Node<'a>>,
}

impl<'a> Entries<'a> {
    /// With one more, before entry `at`.
    pub(crate) fn with(node: Node<'a>, at: usize, key: &'a [u8], payload: Payload<'a>) -> Entries<'a> {
        Entries { node, at, new: Some((key, payload)), tail: None }
    }

    /// Two neighbours; between those of inner pages, `separator` comes down to lead to the right one's leftmost child.
    pub(crate) fn merged(left: Node<'a>, separator: &'a [u8], right: Node<'a>) -> Entries<'a> {
        let down = left.inner.then(|| (separator, Payload::Child(right.child(0))));
        let at = if left.inner { left.count } else { usize::MAX };
        Entries { node: left, at, new: down, tail: Some(right) }
    }

    pub(crate) fn len(&self) -> usize {
        self.node.count + self.new.is_some() as usize + self.tail.map_or(0, |tail| tail.count)
    }

    /// The key in two pieces, and what comes with it.
    fn get(&self, i: usize) -> (&'a [u8], &'a [u8], Payload<'a>) {
        let old = match (self.new, i.cmp(&self.at)) {
            (Some((key, payload)), std::cmp::Ordering::Equal) => return (key, &[], payload),
            (Some(_), std::cmp::Ordering::Greater) => i - 1,
            _ => i,
        };
        let (node, old) = match self.tail {
            Some(tail) if old >= self.node.count => (tail, old - self.node.count),
            _ => (self.node, old),
        };
        let payload = match node.inner {
            true => Payload::Child(node.child(old + 1)),
            false => Payload::Value(node.cell(old).0),
        };
        (node.prefix(), node.suffix(old), payload)
    }

    /// The whole key of entry `i`.
    pub(crate) fn key(&self, i: usize) -> Vec<u8> {
        let (a, b, _) = self.get(i);
        [a, b].concat()
    }

    /// The child of inner entry `i`.
    pub(crate) fn child(&self, i: usize) -> PageRef {
        match self.get(i).2 {
            Payload::Child(child) => child,
            Payload::Value(_) => unreachable!("asked a leaf for a child"),
        }
    }

    /// Length of the prefix that entries `from..to` share.
    fn common(&self, from: usize, to: usize) -> usize {
        let (a, b, _) = self.get(from);
        let (c, d, _) = self.get(to - 1);
        let first = a.iter().chain(b);
        first.zip(c.iter().chain(d)).take_while(|(x, y)| x == y).count()
    }

    /// The bytes that entries `from..to` would take in a page of their own (prefix, slots and cells).
    pub(crate) fn size(&self, from: usize, to: usize) -> usize {
        if from == to {
            return 0;
        }
        let form = self.form(from, to);
        let cells: usize = (from..to).map(|i| self.entry_size(i, form)).sum();
        form.0 + cells
    }

    /// (prefix length, suffix length or VARIABLE) for entries `from..to`.
    fn form(&self, from: usize, to: usize) -> (usize, u16) {
        let prefix = self.common(from, to);
        let length = |i: usize| {
            let (a, b, _) = self.get(i);
            a.len() + b.len() - prefix
        };
        let first = length(from);
        let fixed = (from..to).all(|i| length(i) == first);
        (prefix, if fixed { first as u16 } else { VARIABLE })
    }

    fn entry_size(&self, i: usize, (prefix, suffix): (usize, u16)) -> usize {
        let (a, b, payload) = self.get(i);
        let key = a.len() + b.len() - prefix;
        SLOT + key + payload.size() + if suffix == VARIABLE { key_length_bytes(key) } else { 0 }
    }

    /// Bytes of entry `i` in a page without prefix: for choosing where to split.
    fn weight(&self, i: usize) -> usize {
        let (a, b, payload) = self.get(i);
        SLOT + a.len() + b.len() + payload.size()
    }

    /// Writes entries `from..to` as the body of `page`, whose header's kind and level are set (and, for inner pages,
    /// its leftmost child). They must fit.
    pub(crate) fn build(&self, page: &mut [u8], from: usize, to: usize) {
        init_body(page);
        if from == to {
            return;
        }
        let inner = self.node.inner;
        let (prefix, suffix) = self.form(from, to);
        let start = body_start(inner);
        let (a, b, _) = self.get(from);
        let (a_part, b_part) = (prefix.min(a.len()), prefix.saturating_sub(a.len()));
        page[start..start + a_part].copy_from_slice(&a[..a_part]);
        page[start + a_part..start + prefix].copy_from_slice(&b[..b_part]);
        let slots = start + prefix;
        let mut heap = page.len();
        for i in from..to {
            let (a, b, payload) = self.get(i);
            let (a, b) = (&a[prefix.min(a.len())..], &b[prefix.saturating_sub(a.len())..]);
            let length_bytes = if suffix == VARIABLE { key_length_bytes(a.len() + b.len()) } else { 0 };
            let size = length_bytes + a.len() + b.len() + payload.size();
            write_cell(&mut page[heap - size..heap], suffix == VARIABLE, a, b, payload, inner);
            heap -= size;
            let slot = slots + (i - from) * SLOT;
            put_u16(page, slot, head_of(a, b));
            put_u16(page, slot + 2, heap as u16);
        }
        assert!(heap >= slots + (to - from) * SLOT, "entries were measured to fit");
        put_u16(page, COUNT, (to - from) as u16);
        put_u16(page, HEAP, heap as u16);
        put_u16(page, PREFIX, prefix as u16);
        put_u16(page, SUFFIX, suffix);
    }

    /// Where to split so that both sides fit in `capacity`: entries before it stay left. In an inner page the entry at
    /// the split point moves up, so the right side begins after it.
    ///
    /// A new last key splits off alone, so that ascending inserts leave full pages; otherwise the most even split that
    /// fits is taken. One always fits: the common prefix can only shrink for a new key at either end, and then the
    /// others fitted together before.
    pub(crate) fn split_point(&self, capacity: usize) -> usize {
        let n = self.len();
        let up = self.node.inner as usize;
        if self.at == n - 1 {
            return n - 1 - up;
        }
        let fits = |k: usize| self.size(0, k) <= capacity && self.size(k + up, n) <= capacity;
        let total: usize = (0..n).map(|i| self.weight(i)).sum();
        let mut left = 0;
        let middle = (0..n).position(|i| {
            left += self.weight(i);
            left >= total / 2
        });
        let middle = middle.unwrap_or(n / 2).clamp(1, n - 1 - up);
        let farther = (1..n).flat_map(|d| [middle.checked_sub(d), Some(middle + d)]).flatten();
        std::iter::once(middle)
            .chain(farther)
            .filter(|&k| (1..=n - 1 - up).contains(&k))
            .find(|&k| fits(k))
            .expect("entries are bounded so that some split fits")
    }
}

/// The shortest key above `left` and not above `right`: what an inner page needs to tell two leaves apart.
pub(crate) fn separator(left: &[u8], right: &[u8]) -> Vec<u8> {
    right[..separator_length(left, right)].to_vec()
}

/// How much of `right` tells it from `left`.
pub(crate) fn separator_length(left: &[u8], right: &[u8]) -> usize {
    let shared = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    (shared + 1).min(right.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::layout;

    #[test]
    fn closing_gaps_keeps_the_entries_and_makes_their_room_one() {
        // Keys of one length, and of two.
        for rest in [&b""[..], b"x"] {
            let key = |i: usize| [&[7, i as u8][..], if i.is_multiple_of(2) { rest } else { &[] }].concat();
            let value = |i: usize| vec![i as u8; 40];
            let mut page = vec![0; 512];
            layout::format(&mut page, Kind::Leaf, 0, 2, PageRef { id: 3, birth: 4 });
            init_body(&mut page);
            insert_at(&mut page, 0, &key(0), Payload::Value(Cell::Inline(&value(0))));
            let count =
                (1..).find(|&i| !insert_in_place(&mut page, i, &key(i), Payload::Value(Cell::Inline(&value(i)))));
            let (count, copy) = (count.unwrap(), page.clone());
            Entries { node: Node::new(&copy), at: usize::MAX, new: None, tail: None }.build(&mut page, 0, count);
            (0..count).rev().step_by(2).for_each(|i| remove(&mut page, i));
            let entries = |page: &[u8]| -> Vec<(Vec<u8>, Vec<u8>)> {
                let node = Node::new(page);
                let entry = |i| ([node.prefix(), node.suffix(i)].concat(), node.cell(i).0.bytes().to_vec());
                (0..node.count()).map(entry).collect()
            };
            let (left, copy, long) = (entries(&page), page.clone(), [1; 90]);
            assert!(left.len() >= 3 && Node::new(&page).has_garbage());
            let at = left.len();
            let new = Payload::Value(Cell::Inline(&long));
            assert!(!insert_in_place(&mut page, at, &key(99), new) && Node::new(&page).has_room_in_gaps(&key(99), new));
            close_gaps(&mut page, &copy);
            assert!(Node::is_valid(&page) && !Node::new(&page).has_garbage());
            assert_eq!(entries(&page), left);
            assert!(insert_in_place(&mut page, at, &key(99), new));
            let too_long = [1; 400];
            assert!(!Node::new(&page).has_room_in_gaps(&key(101), Payload::Value(Cell::Inline(&too_long))));
        }
    }

    fn leaf(bytes: usize) -> Vec<u8> {
        let mut page = vec![0; bytes];
        layout::format(&mut page, Kind::Leaf, 0, 2, PageRef { id: 3, birth: 4 });
        init_body(&mut page);
        page
    }

    const VALUE: Payload<'static> = Payload::Value(Cell::Inline(b"value"));

    /// Heads that all entries share, that a few share, that say it all, and keys that end within their head.
    /// Keys of one length and of two, with and without a prefix, and what ends a run: a key that is not behind the one before, is
    /// of another form, or has no room.
    #[test]
    fn a_run_is_appended_as_its_entries_one_by_one_would_be() {
        let value = [7; 20];
        let key = |first: u8, i: u8| vec![first, first, i / 16, i];
        let ascending = |count: u8| (0..count).map(|i| key(9, i)).collect::<Vec<_>>();
        let mut shorter = ascending(9);
        shorter.push(vec![9, 10]);
        let again = [ascending(9), ascending(12).split_off(8)].concat();
        let of_another_prefix = [ascending(9), vec![key(10, 1)]].concat();
        for keys in [ascending(3), ascending(99), shorter, again, of_another_prefix] {
            for form in [(0, VARIABLE), (2, 2), (0, 4)] {
                let (mut one_by_one, mut run) = (leaf(512), leaf(512));
                let payload = Payload::Value(Cell::Inline(&value));
                for page in [&mut one_by_one, &mut run] {
                    let (start, (prefix, suffix)) = (body_start(false), form);
                    page[start..start + prefix].copy_from_slice(&keys[0][..prefix]);
                    put_u16(page, PREFIX, prefix as u16);
                    put_u16(page, SUFFIX, suffix);
                    insert_at(page, 0, &keys[0], payload);
                }
                let fits = |key: &&Vec<u8>| {
                    let fits = Node::new(&one_by_one).has_room_behind(key, payload);
                    if fits {
                        append_in_place(&mut one_by_one, key, payload);
                    }
                    fits
                };
                let count = keys[1..].iter().take_while(fits).count();
                let entries = keys[1..].iter().map(|key| (&key[..], &value[..]));
                assert_eq!(append_run(&mut run, entries), count, "{keys:?} {form:?}");
                assert_eq!(run, one_by_one, "{keys:?} {form:?}");
            }
        }
        assert_eq!(append_run(&mut leaf(512), [(&b"a"[..], &b"b"[..])].into_iter()), 0, "an empty page has no form");
    }

    #[test]
    fn a_search_finds_every_key_and_where_others_belong() {
        let mut keys: Vec<Vec<u8>> = (0..40u8).map(|i| vec![7, 7, 7, i / 8, i]).collect();
        keys.extend((0..9u8).flat_map(|i| [vec![8, i], vec![8, i, 0], vec![8, i, 0, 0]]));
        keys.extend([vec![8], vec![7], vec![0xff, 0xff], vec![0xff, 0xff, 1], vec![0xff, 0xff, 0xff]]);
        keys.sort();
        for every in [1, 2, 3] {
            let mut page = leaf(4096);
            let held: Vec<&[u8]> = keys.iter().step_by(every).map(Vec::as_slice).collect();
            held.iter().enumerate().for_each(|(at, key)| insert_at(&mut page, at, key, VALUE));
            assert!(Node::is_valid(&page));
            for key in &keys {
                let place = held.binary_search(&key.as_slice());
                assert_eq!(Node::new(&page).search(key), (place.unwrap_or_else(|at| at), place.is_ok()), "{key:?}");
            }
        }
    }

    /// A page's form went from leaf to leaf, so that what the first keys of a tree did not share, none did.
    #[test]
    fn a_leaf_begun_behind_another_has_the_form_that_this_ones_keys_could_have() {
        let form = |keys: &[&[u8]], next: &[u8]| {
            let (mut left, mut right) = (leaf(512), leaf(512));
            keys.iter().enumerate().for_each(|(at, key)| insert_at(&mut left, at, key, VALUE));
            begin_like(&mut right, Node::new(&left), next, VALUE);
            let node = Node::new(&right);
            assert!(Node::is_valid(&right) && node.search(next) == (0, true));
            (node.prefix().to_vec(), node.suffix)
        };
        assert_eq!(form(&[&[1, 2, 3], &[1, 2, 9]], &[1, 2, 10]), (vec![1, 2], 1));
        assert_eq!(form(&[&[1, 2], &[1, 2, 9]], &[1, 2, 10]), (vec![1, 2], VARIABLE));
        assert_eq!(form(&[&[1, 2, 3], &[1, 3, 9]], &[1, 4, 0]), (vec![1], 2));
        // As many keys again reach beyond what these share.
        assert_eq!(form(&[&[1, 2, 200], &[1, 2, 220]], &[1, 2, 240]), (vec![1], 2));
        assert_eq!(form(&[&[200], &[220]], &[240]), (vec![], 1));
    }

    /// A forged page with more garbage than bytes behind its heap's start made the arithmetic of the next change overflow.
    #[test]
    fn more_garbage_than_there_can_be_is_damage() {
        let mut page = vec![0; 512];
        layout::format(&mut page, Kind::Leaf, 0, 2, PageRef { id: 3, birth: 4 });
        init_body(&mut page);
        insert_at(&mut page, 0, b"key", Payload::Value(Cell::Inline(b"value")));
        insert_at(&mut page, 1, b"other", Payload::Value(Cell::Inline(b"value")));
        remove(&mut page, 0);
        assert!(Node::is_valid(&page));
        let garbage = get_u16(&page, GARBAGE) + 1;
        put_u16(&mut page, GARBAGE, garbage);
        assert!(!Node::is_valid(&page));
    }
}
