//! Many gets in one state.

use std::fmt;

use super::reader::{Reader, Source, get_at};
use crate::page::SlotId;
use crate::tree::{GROUP, Stop, Wanted, gather, get_group};
use crate::{Error, Result, TreeId};

/// Finds one key after the other, and keeps what each search needs to look at pages. For one thread; a long-lived one
/// holds its state, but no pages.
pub struct Lookup {
    reader: Reader,
    /// See [`Reader::claim_slot`].
    slot: Option<SlotId>,
    /// For how many keys pages are read together when one lacks some.
    window: usize,
}

/// The most of them.
const WINDOW_MAX: usize = 1024;

/// As long as one of so many of them lacks some, there are twice as many the next time.
const LACKING: usize = 4;

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}

/// Keys, in one piece of memory.
#[derive(Clone, Debug, Default)]
pub struct KeyList {
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
}

impl KeyList {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Lets go of the keys, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends a key.
    #[inline]
    pub fn push(&mut self, key: &[u8]) {
        self.push_with(|bytes| bytes.extend_from_slice(key));
    }

    /// Appends the key that `write` appends to these bytes.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// How many bytes the keys have together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The key at a position, which there must be.
    #[inline]
    pub fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }
}

impl Lookup {
    /// The most values that [`Lookup::get_each`] hands over at once.
    pub const AT_ONCE: usize = GROUP;

    pub(super) fn new(reader: &Reader) -> Result<Lookup> {
        Ok(Lookup { reader: reader.clone(), slot: reader.claim_slot()?, window: GROUP })
    }

    /// Reads pages that are not in memory and that searches for the keys from position `from` on will look at: those for some of the
    /// keys, all at the same time; the position behind them. For who is about to search for all of them, and has missed a page.
    ///
    /// What can not be read is told by the search that needs it. In a transaction, which may have pages of its own, nothing is done.
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotTooOld`], [`Error::NoSuchTree`], [`Error::Forked`].
    pub fn gather(&mut self, tree: TreeId, keys: &KeyList, from: usize) -> Result<usize> {
        let count = self.window.min(keys.len().saturating_sub(from));
        let (Source::Snapshot(view, _), Some(slot)) = (&self.reader.0, self.slot) else { return Ok(keys.len()) };
        let pages = &view.handle.engine_here()?.pages;
        let gathered = gather(pages, slot, view.root(tree)?, Wanted { key: |at| keys.get(from + at), count })?;
        self.window = match gathered.lacking * LACKING >= gathered.keys {
            true => (2 * self.window).min(WINDOW_MAX),
            false => GROUP,
        };
        Ok(from + gathered.keys)
    }

    /// As [`Reader::get_with`].
    pub fn get_with<R>(&mut self, tree: TreeId, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        match &self.reader.0 {
            Source::Snapshot(view, notes) if let Some(slot) = self.slot => {
                if let Some(notes) = notes {
                    view.handle.engine_here()?;
                    notes.lock().key(tree, key);
                }
                get_at(&view.handle, slot, view.root(tree)?, key, read)
            }
            _ => self.reader.get_with(tree, key, read),
        }
    }

    /// Finds the keys from position `from` on, and hands the values to `read` in the keys' order: those of a few keys at a
    /// time, with the position of the first. Ends with `read`'s first error, or at the first key that is not there, whose
    /// position it returns.
    ///
    /// Several searches go down the tree side by side, so that what one waits for from memory arrives while the others
    /// go on. Pages that are not in memory are read for several keys at the same time ([`Lookup::gather`]). `read` runs while
    /// pages are held, or under the transaction's lock: it must not use the store.
    pub fn get_each<E: From<Error>>(
        &mut self,
        tree: TreeId,
        keys: &KeyList,
        from: usize,
        mut read: impl FnMut(usize, &[&[u8]]) -> Result<(), E>,
    ) -> Result<usize, E> {
        let (mut done, mut gathered) = (from, from);
        while done < keys.len() {
            let mut is_missing = false;
            let found = match &self.reader.0 {
                Source::Snapshot(view, notes) if let Some(slot) = self.slot => {
                    let (pages, root) = (&view.handle.engine().pages, view.root(tree)?);
                    let pin = pages.slots.pin(slot)?;
                    let mut values = [&[][..]; GROUP];
                    let values = &mut values[..GROUP.min(keys.len() - done)];
                    let found = match get_group(pages, &pin, root, |at| keys.get(done + at), values) {
                        Err(Stop::Miss(_)) => {
                            is_missing = true;
                            0
                        }
                        found => found.map_err(Error::from)?,
                    };
                    if let Some(notes) = notes {
                        let mut notes = notes.lock();
                        (done..done + found).for_each(|at| notes.key(tree, keys.get(at)));
                    }
                    if found > 0 {
                        read(done, &values[..found])?;
                    }
                    found
                }
                _ => 0,
            };
            if found > 0 {
                done += found;
                continue;
            }
            if is_missing && done >= gathered && done + 1 < keys.len() {
                gathered = self.gather(tree, keys, done)?;
                continue;
            }
            // It is not in memory (and a small cache need not have room for the pages of several), lies outside its leaf, is the
            // transaction's own, or is not there.
            match self.get_with(tree, keys.get(done), |value| read(done, &[value]))? {
                Some(read) => read?,
                None => return Ok(done),
            }
            done += 1;
        }
        Ok(done)
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        self.reader.release_slot(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::KeyList;
    use crate::{Error, Options, Result, Store, TreeId};

    fn key(number: u32) -> Vec<u8> {
        let mut key = b"key".repeat(number as usize % 3);
        key.extend_from_slice(&number.wrapping_mul(2_654_435_761).to_be_bytes());
        key
    }

    /// Short ones, some that fill half a page, and some outside their leaves.
    fn value(number: u32) -> Vec<u8> {
        let length = match number % 97 {
            0 => 20_000,
            1..4 => 1_500,
            _ => number as usize % 40,
        };
        vec![number as u8; length]
    }

    /// The values of keys that are there, up to the first that is not, one by one and side by side.
    fn compare(store: &Store, numbers: impl Iterator<Item = u32>, in_transaction: bool) {
        let (snapshot, transaction) = (store.snapshot().unwrap(), store.begin().unwrap());
        let reader = if in_transaction { transaction.reader() } else { snapshot.reader() };
        let mut keys = KeyList::default();
        numbers.for_each(|number| keys.push(&key(number)));
        let mut expected = Vec::new();
        for at in 0..keys.len() {
            match reader.get(TreeId::CATALOG, keys.get(at)).unwrap() {
                Some(value) => expected.push(value.to_vec()),
                None => break,
            }
        }
        let mut found: Vec<Vec<u8>> = Vec::new();
        let read = |first: usize, values: &[&[u8]]| {
            assert_eq!(first, found.len(), "in order");
            found.extend(values.iter().map(|value| value.to_vec()));
            Ok::<_, Error>(())
        };
        let count = reader.lookup().unwrap().get_each(TreeId::CATALOG, &keys, 0, read).unwrap();
        assert_eq!((count, found), (expected.len(), expected));
    }

    fn filled(cache_bytes: usize) -> Store {
        let store = Store::open_in_memory(Options { cache_bytes, ..Options::default() }).unwrap();
        let transaction = store.begin().unwrap();
        (0..20_000).for_each(|number| transaction.put(TreeId::CATALOG, &key(number), &value(number)).unwrap());
        transaction.commit(None).unwrap();
        store.checkpoint().unwrap();
        store
    }

    #[test]
    fn many_keys_at_once_are_found_like_one_after_the_other() {
        // In the small one no sixteen leaves have room beside each other.
        for cache_bytes in [64 << 20, 1 << 18] {
            let store = filled(cache_bytes);
            for in_transaction in [false, true] {
                compare(&store, 0..300, in_transaction);
                compare(&store, (0..20_000).rev().step_by(61), in_transaction);
                compare(&store, (19_900..20_100).chain(0..3), in_transaction);
                compare(&store, [7, 7, 7, 0, 0, 97, 30_000, 5].into_iter(), in_transaction);
                compare(&store, 40_000..40_001, in_transaction);
                compare(&store, std::iter::empty(), in_transaction);
            }
        }
    }

    #[test]
    fn a_transactions_own_values_are_found_too() {
        let store = filled(64 << 20);
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, &key(3), b"new").unwrap();
        transaction.delete(TreeId::CATALOG, &key(5)).unwrap();
        let mut keys = KeyList::default();
        (2..7).for_each(|number| keys.push(&key(number)));
        let mut found = Vec::new();
        let read = |_, values: &[&[u8]]| -> Result<()> {
            found.extend(values.iter().map(|value| value.len()));
            Ok(())
        };
        let count = transaction.reader().lookup().unwrap().get_each(TreeId::CATALOG, &keys, 0, read).unwrap();
        assert_eq!((count, found), (3, vec![value(2).len(), 3, value(4).len()]));
    }

    #[test]
    fn the_first_error_ends_it() {
        let store = filled(64 << 20);
        let mut keys = KeyList::default();
        (200..290).for_each(|number| keys.push(&key(number)));
        let mut calls = 0;
        let read = |_, _: &[&[u8]]| {
            calls += 1;
            Err(Error::Ended)
        };
        let snapshot = store.snapshot().unwrap();
        let result: Result<usize> = snapshot.reader().lookup().unwrap().get_each(TreeId::CATALOG, &keys, 0, read);
        assert!(matches!(result, Err(Error::Ended)));
        assert_eq!(calls, 1);
    }
}
