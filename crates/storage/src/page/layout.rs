//! A page's identity and header.
//!
//! ```text
//!  0  checksum u32   CRC32C of everything after it; set when the page is written out
//!  4  kind u8        [`Kind`]
//!  5  level u8       0 for leaves
//!  6  count u16      entries
//!  8  id u32         where the page is in the file, in pages
//! 12  tree u32       whose it is
//! 16  birth u64      with the id, the page's identity
//! 24  heap u16       where the cells begin (they grow down from the page's end)
//! 26  garbage u16    bytes in the heap that belong to no cell
//! 28  prefix u16     length of the key prefix that all entries share
//! 30  suffix u16     length of every key's rest, or 0xFFFF where they differ
//! 32  reserved       32 bytes, for a nonce and an authentication tag
//! 64  body
//! ```
//! All integers are little endian.

use crate::broken::{self, Broken};
use crate::bytes::{get_u32, get_u64, put_u32, put_u64};
use crate::{Error, PageRef, Result};

/// Bytes before the body.
pub(crate) const HEADER: usize = 64;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Leaf = 1,
    Inner = 2,
    /// A piece of a long value, and a reference to the next.
    Overflow = 3,
    /// A piece of a checkpoint's list of trees.
    Directory = 4,
    /// A piece of a checkpoint's free map.
    FreeMap = 5,
}

impl Kind {
    pub(crate) fn of(page: &[u8]) -> Option<Kind> {
        Some(match page[4] {
            1 => Kind::Leaf,
            2 => Kind::Inner,
            3 => Kind::Overflow,
            4 => Kind::Directory,
            5 => Kind::FreeMap,
            _ => return None,
        })
    }
}

pub(crate) fn identity(page: &[u8]) -> PageRef {
    PageRef { id: get_u32(page, 8), birth: get_u64(page, 16) }
}

pub(crate) fn set_identity(page: &mut [u8], identity: PageRef) {
    put_u32(page, 8, identity.id);
    put_u64(page, 16, identity.birth);
}

pub(crate) fn tree_of(page: &[u8]) -> u32 {
    get_u32(page, 12)
}

/// Clears the header and sets what never changes.
pub(crate) fn format(page: &mut [u8], kind: Kind, level: u8, tree: u32, identity: PageRef) {
    page[..HEADER].fill(0);
    page[4] = kind as u8;
    page[5] = level;
    put_u32(page, 12, tree);
    set_identity(page, identity);
}

/// Sets the checksum: the last thing before a page is written.
pub(crate) fn seal_checksum(page: &mut [u8]) {
    let crc = crc32c::crc32c(&page[4..]);
    put_u32(page, 0, crc);
}

/// Whether the bytes are a whole page at all.
pub(crate) fn checksum_ok(page: &[u8]) -> bool {
    get_u32(page, 0) == crc32c::crc32c(&page[4..])
}

/// Whether a page read from the file is the one its parent means, undamaged.
pub(crate) fn check(page: &[u8], expected: PageRef) -> Result<()> {
    if !checksum_ok(page) && !broken::is(Broken::Checksums) {
        return Err(Error::corrupt(format!("page {}: checksum does not match", expected.id)));
    }
    let found = identity(page);
    if found != expected {
        return Err(Error::corrupt(format!(
            "page {}: expected birth {}, found page {} of birth {}",
            expected.id, expected.birth, found.id, found.birth
        )));
    }
    Kind::of(page).map(drop).ok_or_else(|| Error::corrupt(format!("page {}: unknown kind {}", expected.id, page[4])))
}
