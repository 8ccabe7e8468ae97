//! What pages and trees are called, by each other and by who uses them.

use crate::bytes::{get_u32, get_u64};

/// A page's id and birth stamp: what a parent holds of its child. `id` 0 is no page (an empty tree).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageRef {
    /// Position in the file, in pages.
    pub id: u32,
    /// Unique to this use of the id.
    pub birth: u64,
}

impl PageRef {
    pub(crate) const NONE: PageRef = PageRef { id: 0, birth: 0 };
    /// Bytes of a reference in a page.
    pub(crate) const BYTES: usize = 12;

    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.id == 0
    }

    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> PageRef {
        PageRef { id: get_u32(bytes, 0), birth: get_u64(bytes, 4) }
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.id.to_le_bytes());
        bytes[4..].copy_from_slice(&self.birth.to_le_bytes());
        bytes
    }
}

/// Names a tree for the life of the database; never reused. 0 names none. The highest bit is set in trees that are
/// derived from others ([`Transaction::create_derived_tree`](crate::Transaction::create_derived_tree)); the bits below it
/// alone are a tree's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);

impl TreeId {
    /// The one tree that a new database has; the layer above keeps its catalog there.
    pub const CATALOG: TreeId = TreeId(1);

    const DERIVED: u32 = 1 << 31;
    /// No tree has a number from here on.
    pub(crate) const NUMBERS: u32 = Self::DERIVED;

    /// Whether a tree may be called so: none has the number 0, and the catalog's is no other's.
    pub(crate) fn is_possible(self) -> bool {
        self == Self::CATALOG || self.number() > 1
    }

    pub(crate) fn new(number: u32, derived: bool) -> TreeId {
        TreeId(number | if derived { Self::DERIVED } else { 0 })
    }

    /// The number, which no other tree has.
    pub fn number(self) -> u32 {
        self.0 & !Self::DERIVED
    }

    /// Whether its content follows from other trees', as an index's does.
    pub fn is_derived(self) -> bool {
        self.0 & Self::DERIVED != 0
    }
}
