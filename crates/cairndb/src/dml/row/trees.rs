//! The trees that a row program works on.

use std::ops::Bound;

use cairn_storage::{PointWriter, Result, TransactionWriter, TreeId};

use crate::{Error, state};

/// Whether it is the entry that is looked for, by its key and its value.
pub(crate) type IsIt<'a> = &'a dyn Fn(&[u8], &[u8]) -> crate::Result<bool>;

/// Trees to read and write by key.
pub(crate) trait Trees {
    /// Hands the value under `key` to `read`, which does no more than look at it; whether there is one.
    fn get(&mut self, tree: TreeId, key: &[u8], read: &mut dyn FnMut(&[u8])) -> Result<bool>;
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()>;
    /// Inserts, unless the key is there: then `Ok(false)`.
    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool>;
    fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()>;
    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool>;
    /// Puts the value behind all others, under a key that the commit gives.
    fn append(&mut self, tree: TreeId, value: &[u8]) -> Result<()>;
    /// Adds to the counters of the entry under `key`, which begins with `front`.
    fn add(&mut self, tree: TreeId, key: &[u8], front: &[u8], deltas: &[i128]) -> Result<()>;
    /// The key of the first entry of all that it is; `check` is asked now and then whether to go on. Whoever holds a lock has no time for
    /// that: an error, for which the general path runs what was to be done.
    fn find(
        &mut self,
        tree: TreeId,
        is_it: IsIt<'_>,
        check: &dyn Fn() -> crate::Result<()>,
    ) -> crate::Result<Option<Vec<u8>>> {
        let _ = (tree, is_it, check);
        Err(Error::internal("an entry is looked for while a lock is held"))
    }
}

impl Trees for PointWriter<'_> {
    fn get(&mut self, tree: TreeId, key: &[u8], read: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(PointWriter::get(self, tree, key)?.map(read).is_some())
    }
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        PointWriter::put(self, tree, key, value)
    }
    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        PointWriter::insert(self, tree, key, value)
    }
    fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        PointWriter::patch(self, tree, key, offset, bytes)
    }
    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        PointWriter::delete(self, tree, key)
    }
    fn append(&mut self, tree: TreeId, value: &[u8]) -> Result<()> {
        PointWriter::append(self, tree, value)
    }
    fn add(&mut self, tree: TreeId, key: &[u8], front: &[u8], deltas: &[i128]) -> Result<()> {
        PointWriter::add(self, tree, key, front, deltas)
    }
}

impl Trees for TransactionWriter<'_> {
    fn get(&mut self, tree: TreeId, key: &[u8], read: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(self.get_with(tree, key, read)?.is_some())
    }
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        TransactionWriter::put(self, tree, key, value)
    }
    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        TransactionWriter::insert(self, tree, key, value)
    }
    fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        TransactionWriter::patch(self, tree, key, offset, bytes)
    }
    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        TransactionWriter::delete(self, tree, key)
    }
    fn append(&mut self, tree: TreeId, value: &[u8]) -> Result<()> {
        TransactionWriter::append(self, tree, value)
    }
    fn add(&mut self, tree: TreeId, key: &[u8], front: &[u8], deltas: &[i128]) -> Result<()> {
        TransactionWriter::add(self, tree, key, front, deltas)
    }
}

impl Trees for &state::Transaction {
    fn get(&mut self, tree: TreeId, key: &[u8], read: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(self.reader().get_with(tree, key, read)?.is_some())
    }
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        state::Transaction::put(self, tree, key, value)
    }
    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        state::Transaction::insert(self, tree, key, value)
    }
    fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        state::Transaction::patch(self, tree, key, offset, bytes)
    }
    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        state::Transaction::delete(self, tree, key)
    }
    fn append(&mut self, tree: TreeId, value: &[u8]) -> Result<()> {
        state::Transaction::append(self, tree, value)
    }
    fn add(&mut self, tree: TreeId, key: &[u8], front: &[u8], deltas: &[i128]) -> Result<()> {
        state::Transaction::add(self, tree, key, front, deltas)
    }
    fn find(
        &mut self,
        tree: TreeId,
        is_it: IsIt<'_>,
        check: &dyn Fn() -> crate::Result<()>,
    ) -> crate::Result<Option<Vec<u8>>> {
        let mut cursor = self.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded)?;
        let mut count = 0u32;
        while let Some((key, value)) = cursor.next()? {
            count = count.wrapping_add(1);
            if count.is_multiple_of(1024) {
                check()?;
            }
            if is_it(key, value)? {
                return Ok(Some(key.to_vec()));
            }
        }
        Ok(None)
    }
}

/// Whether a key is there.
pub(crate) fn exists(trees: &mut dyn Trees, tree: TreeId, key: &[u8]) -> Result<bool> {
    trees.get(tree, key, &mut |_| ())
}

/// Copies the value under `key` into `out`; whether there is one.
pub(crate) fn look_up(trees: &mut dyn Trees, tree: TreeId, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
    trees.get(tree, key, &mut |value| {
        out.clear();
        out.extend_from_slice(value);
    })
}
