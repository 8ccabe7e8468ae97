//! Values too long for a leaf: a chain of pages.
//!
//! ```text
//! | header 64 | next page 12 | length u16 | 0 u16 | bytes ... |
//! ```

use super::node::{Cell, OVERFLOW_REF, inline_limit};
use crate::bytes::{get_u16, get_u64, put_u16};
use crate::page::layout::{self, HEADER, Kind};
use crate::page::{Created, Lack, PageRef, Pages};
use crate::{Error, Result};

const NEXT: usize = HEADER;
const LENGTH: usize = NEXT + PageRef::BYTES;
const DATA: usize = LENGTH + 4;

/// Writes a value's chain, last page first; returns what the leaf keeps. The caller must not be pinned: each page is
/// given to eviction as soon as it is full, so that a value may be larger than the cache.
///
/// After a failure, the pages written so far are in `created` and belong to nothing.
pub(crate) fn write(
    pages: &Pages,
    tree: u32,
    stamp: u64,
    value: &[u8],
    created: &mut Created,
) -> Result<[u8; OVERFLOW_REF]> {
    write_with(pages, (tree, stamp), value, created, |lack| pages.make_room(lack))
}

/// The same for a value of few pages, by who may be pinned: [`Error::CacheFull`] where no frame is free, and nothing of it stays then.
pub(crate) fn write_at_once(
    pages: &Pages,
    tree: u32,
    stamp: u64,
    value: &[u8],
    created: &mut Created,
) -> Result<[u8; OVERFLOW_REF]> {
    let before = created.len();
    let written = write_with(pages, (tree, stamp), value, created, |_| Err(Error::CacheFull));
    if written.is_err() {
        created.free_from(pages, before);
    }
    written
}

fn write_with(
    pages: &Pages,
    (tree, stamp): (u32, u64),
    value: &[u8],
    created: &mut Created,
    make_room: impl Fn(&mut Lack) -> Result<()>,
) -> Result<[u8; OVERFLOW_REF]> {
    let mut next = PageRef::NONE;
    for piece in value.chunks(pages.page_size() - DATA).rev() {
        let mut lack = Lack::default();
        let page = loop {
            match pages.create(stamp, None) {
                Err(Error::CacheFull) => make_room(&mut lack)?,
                Err(error) if created.frees && error.is_of_pages() => break pages.create_to_free(stamp, None)?,
                page => break page?,
            }
        };
        created.push(pages, page.id);
        // SAFETY: just created with this tree's stamp; nobody else knows it.
        let bytes = unsafe { pages.unsealed(page) };
        layout::format(bytes, Kind::Overflow, 0, tree, page);
        bytes[NEXT..LENGTH].copy_from_slice(&next.to_bytes());
        put_u16(bytes, LENGTH, piece.len() as u16);
        bytes[DATA..DATA + piece.len()].copy_from_slice(piece);
        pages.allow_eviction(&[page.id]);
        next = page;
    }
    let mut reference = [0; OVERFLOW_REF];
    reference[..8].copy_from_slice(&(value.len() as u64).to_le_bytes());
    reference[8..].copy_from_slice(&next.to_bytes());
    Ok(reference)
}

/// (length, first page) of what a leaf keeps.
pub(crate) fn parse(reference: &[u8]) -> (u64, PageRef) {
    (get_u64(reference, 0), PageRef::read(&reference[8..]))
}

/// The first page of what a leaf keeps.
pub(crate) fn first_of(reference: &[u8]) -> PageRef {
    parse(reference).1
}

/// Appends a page's piece of the value and returns the next page; `None` if it is no overflow page.
pub(super) fn piece(page: &[u8], into: &mut Vec<u8>) -> Option<PageRef> {
    let (length, next) = length_and_next(page)?;
    into.extend_from_slice(&page[DATA..DATA + length as usize]);
    Some(next)
}

/// How many of the value's bytes a page has, and the page that follows; `None` if it is no overflow page.
pub(super) fn length_and_next(page: &[u8]) -> Option<(u64, PageRef)> {
    let length = get_u16(page, LENGTH);
    let is_one = Kind::of(page) == Some(Kind::Overflow) && DATA + length as usize <= page.len();
    is_one.then(|| (length.into(), next(page)))
}

/// The page that follows in the chain.
pub(crate) fn next(page: &[u8]) -> PageRef {
    PageRef::read(&page[NEXT..])
}

/// A value that may be too long for its leaf: its pages are written before the tree is changed.
pub(crate) struct LongValue(Option<[u8; OVERFLOW_REF]>);

impl LongValue {
    /// Writes the value's pages, if it is long. The caller must not be pinned.
    pub(crate) fn write(
        pages: &Pages,
        tree: crate::TreeId,
        stamp: u64,
        key: &[u8],
        value: &[u8],
        created: &mut Created,
    ) -> Result<LongValue> {
        if key.len() + value.len() <= inline_limit(pages.page_size()) {
            return Ok(LongValue(None));
        }
        write(pages, tree.0, stamp, value, created).map(|reference| LongValue(Some(reference)))
    }

    /// What to put into the tree.
    pub(crate) fn cell<'a>(&'a self, value: &'a [u8]) -> Cell<'a> {
        match &self.0 {
            Some(reference) => Cell::Overflow(reference),
            None => Cell::Inline(value),
        }
    }
}
