//! Keys for tables without primary key.
//!
//! Numbers are handed out by one counter per tree in memory, so that two transactions that insert at once never choose
//! the same and never conflict. A number is not reused while the database is open; after opening, counting goes on
//! from the last row. A row number therefore says nothing about the order of commits.

use std::collections::HashMap;

use cairn_storage::{Snapshot, Store, TreeId};

use crate::sync::Mutex;
use crate::{Error, Result};

/// The next row number of every tree that was inserted into since the database was opened.
#[derive(Default)]
pub(crate) struct RowNumbers(Mutex<HashMap<TreeId, u64>>);

impl RowNumbers {
    /// A number that no row of the tree has or will get from another caller. `store`: to find the last row once.
    pub(crate) fn next(&self, store: &Store, tree: TreeId) -> Result<u64> {
        self.take(store, tree, 1)
    }

    /// The first of so many such numbers, each one more than the one before.
    pub(crate) fn take(&self, store: &Store, tree: TreeId, count: u64) -> Result<u64> {
        let mut counters = self.0.lock();
        let next = match counters.get(&tree) {
            Some(&next) => next,
            None => first_free(&store.snapshot()?, tree)?,
        };
        let following = next.checked_add(count).ok_or_else(|| Error::internal("row numbers are exhausted"))?;
        counters.insert(tree, following);
        Ok(next)
    }

    /// Finds the last row, so that nobody has to who takes numbers later on.
    pub(crate) fn find(&self, store: &Store, tree: TreeId) -> Result<()> {
        self.take(store, tree, 0).map(drop)
    }
}

/// A tree that the snapshot does not know was made by a transaction that has yet to commit: it has no rows.
fn first_free(snapshot: &Snapshot, tree: TreeId) -> Result<u64> {
    use std::ops::Bound::Unbounded;
    let Ok(mut cursor) = snapshot.reader().cursor(tree, Unbounded, Unbounded) else { return Ok(1) };
    match cursor.prev()? {
        Some((key, _)) => row_number(key)?.checked_add(1).ok_or_else(|| Error::internal("row numbers are exhausted")),
        None => Ok(1),
    }
}

/// The key of a row without primary key.
pub(crate) fn row_number_key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// The row number in a key.
pub(crate) fn row_number(key: &[u8]) -> Result<u64> {
    let bytes = key.try_into().map_err(|_| Error::damaged("a row number is damaged"))?;
    Ok(u64::from_be_bytes(bytes))
}
