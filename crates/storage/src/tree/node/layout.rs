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

use crate::bytes::put_u16;
use crate::page::PageRef;
use crate::page::layout::HEADER;

/// The suffix length field where lengths differ.
pub(super) const VARIABLE: u16 = 0xFFFF;
pub(super) const SLOT: usize = 4;
/// Bytes of an overflow reference.
pub(crate) const OVERFLOW_REF: usize = 20;

/// Kind, level and number of entries.
pub(super) const WHAT: std::ops::Range<usize> = 4..8;
pub(super) const COUNT: usize = 6;
pub(super) const HEAP: usize = 24;
pub(super) const GARBAGE: usize = 26;
pub(super) const PREFIX: usize = 28;
pub(super) const SUFFIX: usize = 30;

/// A leaf entry's value as its page holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Inline(&'a [u8]),
    /// Length u64 and a page reference, little endian.
    Overflow(&'a [u8]),
}

#[inline]
pub(super) fn body_start(inner: bool) -> usize {
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
pub(super) fn head_of(a: &[u8], b: &[u8]) -> u16 {
    let byte = |i: usize| a.get(i).or_else(|| b.get(i - a.len().min(i))).copied().unwrap_or(0);
    (byte(0) as u16) << 8 | byte(1) as u16
}

#[inline]
pub(super) fn key_length_bytes(length: usize) -> usize {
    if length < 0x80 { 1 } else { 2 }
}

#[inline]
pub(super) fn value_length_bytes(cell: Cell<'_>) -> usize {
    match cell {
        Cell::Overflow(_) => 1,
        Cell::Inline(value) if value.len() < 0xF0 => 1,
        Cell::Inline(value) if value.len() < 3312 => 2,
        Cell::Inline(_) => 3,
    }
}

impl<'a> Cell<'a> {
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Cell::Inline(bytes) | Cell::Overflow(bytes) => bytes,
        }
    }
}

/// What a new entry brings: a leaf's value or an inner page's child.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'a> {
    Value(Cell<'a>),
    Child(PageRef),
}

impl Payload<'_> {
    pub(super) fn size(self) -> usize {
        match self {
            Payload::Value(cell) => value_length_bytes(cell) + cell.bytes().len(),
            Payload::Child(_) => PageRef::BYTES,
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

/// Writes an entry's slot and its cell, which fills its place exactly.
#[inline]
pub(super) fn write_entry(
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
pub(super) fn write_cell(out: &mut [u8], variable: bool, a: &[u8], b: &[u8], payload: Payload<'_>, inner: bool) {
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
