//! Where rows lie of a materialized view that follows its query: by what they are, so that one that goes is found without an index.
//!
//! ```text
//! row number: 32 bits of the row's hash | 32 bits that tell rows of the same hash apart
//! ```
//! The hash is FNV-1a of the row's bytes, folded. The bytes are part of the file; a row that lies elsewhere is found by who looks at
//! all of them, once the view begins to follow.

use super::{Env, Stop, Stored, Target, Trees, entry::Entry};
use crate::state::row_number_key;
use crate::types::fnv;

/// The places of rows of the same hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowPlaces(u32);

impl RowPlaces {
    /// Of a row of these bytes.
    pub(crate) fn of(row: &[u8]) -> RowPlaces {
        let hash = fnv::hash(fnv::START, row);
        RowPlaces((hash >> 32) as u32 ^ hash as u32)
    }

    /// The key of one of them.
    pub(crate) fn nth(self, nth: u32) -> [u8; 8] {
        row_number_key(u64::from(self.0) << 32 | u64::from(nth))
    }

    pub(crate) fn first(self) -> [u8; 8] {
        self.nth(0)
    }

    pub(crate) fn last(self) -> [u8; 8] {
        self.nth(u32::MAX)
    }
}

impl Target {
    /// Puts a row of these bytes under a key that no row has, and its entries.
    pub(crate) fn put_row(&self, trees: &mut dyn Trees, (key, row): (&[u8], &[u8]), env: Env<'_>) -> Result<(), Stop> {
        trees.put(self.table.tree, key, row)?;
        let stored = Stored { layout: &self.layout, key, value: row };
        let mut entry = Entry::default();
        for (at, index) in self.table.indexes.iter().enumerate() {
            entry.encode(self.index(at), &stored, key, env)?;
            if !entry.absent {
                entry.put(trees, index, key, None)?;
            }
        }
        Ok(())
    }
}
