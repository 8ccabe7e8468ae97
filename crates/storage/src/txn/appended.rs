//! What commits appended to a tree, in their order.

use std::fmt;
use std::ops::Bound;

use super::appends::BESIDE;
use super::cursor::Cursor;
use super::reader::Reader;
use super::transaction::Transaction;
use crate::engine::AppendKey;
use crate::{Error, Result, TreeId};

/// Over the entries that commits appended to a tree, by position and ordinal.
pub struct Appended {
    entries: Cursor,
    /// Where the commit that was read last has more of them.
    beside: Option<(u64, Cursor)>,
    /// Where it began.
    after: (u64, u32),
    reader: Reader,
    value: Vec<u8>,
}

impl fmt::Debug for Appended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Appended")
    }
}

impl Reader {
    /// What was appended to the tree behind an entry, or by commits behind a position: then the ordinal is `u32::MAX`. A
    /// transaction does not see what it appends itself. Keys of position 0 are the caller's own: no commit has it.
    pub fn appended(&self, tree: TreeId, after: (u64, u32)) -> Result<Appended> {
        let key = AppendKey::new(after.0, after.1);
        let entries = self.cursor(tree, Bound::Excluded(key.bytes()), Bound::Unbounded)?;
        Ok(Appended { entries, beside: None, after, reader: self.clone(), value: Vec::new() })
    }
}

impl Appended {
    /// The next entry: its commit's position, its ordinal and its value.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(u64, u32, &[u8])>> {
        Ok(self.step()?.map(|(position, ordinal)| (position, ordinal, &self.value[..])))
    }

    fn step(&mut self) -> Result<Option<(u64, u32)>> {
        loop {
            self.value.clear();
            if let Some((position, cursor)) = &mut self.beside {
                if let Some((key, value)) = cursor.next()? {
                    let ordinal = u32::from_be_bytes(key.try_into().map_err(|_| malformed())?);
                    self.value.extend_from_slice(value);
                    return Ok(Some((*position, ordinal)));
                }
                self.beside = None;
            }
            let Some((key, value)) = self.entries.next()? else { return Ok(None) };
            let (position, ordinal) = AppendKey::read(key).ok_or_else(malformed)?;
            if ordinal != BESIDE {
                self.value.extend_from_slice(value);
                return Ok(Some((position, ordinal)));
            }
            let after = self.after.1.to_be_bytes();
            let lower = if position == self.after.0 { Bound::Excluded(&after[..]) } else { Bound::Unbounded };
            let cursor = self.reader.cursor(tree_beside(value)?, lower, Bound::Unbounded)?;
            self.beside = Some((position, cursor));
        }
    }
}

/// See [`Transaction::forget_appended`].
pub(super) fn forget(tx: &Transaction, tree: TreeId, position: u64, most: usize) -> Result<Option<u64>> {
    let (own, before) = (AppendKey::new(0, u32::MAX), AppendKey::new(position, 0));
    let mut cursor = tx.reader().cursor(tree, Bound::Excluded(own.bytes()), Bound::Excluded(before.bytes()))?;
    let (mut entries, mut last) = (Vec::new(), None);
    while entries.len() < most
        && let Some((key, value)) = cursor.next()?
    {
        let (at, ordinal) = AppendKey::read(key).ok_or_else(malformed)?;
        last = Some(at);
        let is_beside = ordinal == BESIDE;
        entries.push((key.to_vec(), is_beside.then(|| tree_beside(value)).transpose()?));
    }
    drop(cursor);
    for (key, beside) in &entries {
        beside.map_or(Ok(()), |beside| tx.drop_tree(beside))?;
        tx.delete(tree, key)?;
    }
    Ok(last)
}

/// Drops the trees that have more of what was appended to this one.
pub(super) fn forget_trees(tx: &Transaction, tree: TreeId) -> Result<()> {
    trees_beside(tx.reader(), tree)?.into_iter().try_for_each(|beside| tx.drop_tree(beside))
}

/// The trees that have more of what was appended to this one.
pub(crate) fn trees_beside(reader: &Reader, tree: TreeId) -> Result<Vec<TreeId>> {
    let own = AppendKey::new(0, u32::MAX);
    let mut cursor = reader.cursor(tree, Bound::Excluded(own.bytes()), Bound::Unbounded)?;
    let mut trees = Vec::new();
    while let Some((key, value)) = cursor.next()? {
        if AppendKey::read(key).is_some_and(|(_, ordinal)| ordinal == BESIDE) {
            trees.push(tree_beside(value)?);
        }
    }
    Ok(trees)
}

fn tree_beside(value: &[u8]) -> Result<TreeId> {
    value.try_into().map(|bytes| TreeId(u32::from_le_bytes(bytes))).map_err(|_| malformed())
}

fn malformed() -> Error {
    Error::corrupt("an entry that was appended is malformed")
}
