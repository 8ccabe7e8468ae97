//! Cursors over a snapshot or a transaction.

use std::fmt;
use std::ops::Bound;

use super::reader::{Reader, Source};
use crate::broken::{self, Broken};
use crate::page::{PageRef, SlotId};
use crate::tree::{LeafEntries, TreeCursor};
use crate::{Error, Result, TreeId};

/// The number of a range noted as read, and its bounds.
type Noted = (u64, Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Over the entries of a tree between two bounds, forward (`next`) or backward (`prev`); used in one direction. What it
/// returns lives until the next call. A long scan holds its snapshot, but no pages.
pub struct Cursor {
    reader: Reader,
    /// See [`Reader::claim_slot`].
    slot: Option<SlotId>,
    tree: TreeCursor,
    /// In a transaction: under which number its range is remembered as read, and the range.
    read: Option<Noted>,
    /// The stamp under which a transaction keeps its pages for this cursor.
    held: Option<u64>,
    backward: bool,
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor({:?})", self.tree)
    }
}

impl Cursor {
    pub(super) fn open(reader: &Reader, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor> {
        // The slot first: what is begun is only ended by the cursor.
        let slot = reader.claim_slot()?;
        let begun = begin(reader, tree, lower, upper);
        let (root, held, read) = begun.inspect_err(|_| reader.release_slot(slot))?;
        let tree = TreeCursor::new(root, lower, upper);
        Ok(Cursor { reader: reader.clone(), slot, tree, read, held, backward: false })
    }

    /// Goes over to another range of the same state, keeping the buffers.
    pub fn restart(&mut self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<()> {
        self.close_read();
        let (root, held, read) = begin(&self.reader, tree, lower, upper)?;
        self.tree.restart(root, lower, upper);
        (self.held, self.read, self.backward) = (held, read, false);
        Ok(())
    }

    /// The next entry from the lower end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Cursor { reader, slot, tree, .. } = self;
        match &reader.0 {
            Source::Snapshot(view, _) => {
                let slot = slot.ok_or_else(|| Error::Ended)?;
                tree.next(&view.handle.engine().pages, slot)
            }
            // The lock keeps the transaction from ending, and its pages from being freed, during the step.
            Source::Transaction(private, _) => {
                let state = private.lock()?;
                tree.next(&private.handle().engine().pages, state.slot()?)
            }
        }
    }

    /// Lends the next entries from the lower end, at most `limit` and all of one leaf, to `read`, which returns how many
    /// of them it took beside its result. `None` at the end. In a transaction, whose lock is held meanwhile, `read` must
    /// not use the transaction.
    ///
    /// The quick way to read many: nothing is copied. Long values are not lent: [`Cursor::next`] returns these.
    #[inline]
    pub fn next_entries<R>(
        &mut self,
        limit: usize,
        read: impl FnOnce(&LeafEntries<'_>) -> (usize, R),
    ) -> Result<Option<R>> {
        let Cursor { reader, slot, tree, .. } = self;
        match &reader.0 {
            Source::Snapshot(view, _) => {
                let slot = slot.ok_or_else(|| Error::Ended)?;
                tree.next_entries(&view.handle.engine().pages, slot, limit, read)
            }
            Source::Transaction(private, _) => {
                let state = private.lock()?;
                tree.next_entries(&private.handle().engine().pages, state.slot()?, limit, read)
            }
        }
    }

    /// The next entry from the upper end.
    pub fn prev(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.backward = true;
        let Cursor { reader, slot, tree, .. } = self;
        match &reader.0 {
            Source::Snapshot(view, _) => {
                let slot = slot.ok_or_else(|| Error::Ended)?;
                tree.prev(&view.handle.engine().pages, slot)
            }
            Source::Transaction(private, _) => {
                let state = private.lock()?;
                tree.prev(&private.handle().engine().pages, state.slot()?)
            }
        }
    }

    /// Moves forward to the first key at or after `key`; never backward. For cursors used with `next`.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        match self.backward {
            true => Err(Error::Ended),
            false => {
                self.tree.seek(key);
                Ok(())
            }
        }
    }

    /// How many pages were not in memory when it came to them so far, in all ranges that it went over. Where it grows from one range to
    /// the next, [`Lookup::gather`](crate::Lookup::gather) reads together what those that come then need.
    pub fn misses(&self) -> u64 {
        self.tree.misses()
    }

    /// Remembers only what was passed over as read, and lets go of the transaction's pages.
    fn close_read(&mut self) {
        let Some((number, lower, upper)) = self.read.take().filter(|_| self.reader.handle().is_here()) else { return };
        let last = self.tree.last_key();
        let (lower, upper) = (as_slice(&lower), as_slice(&upper));
        let part = match (self.tree.is_exhausted(), self.backward) {
            _ if last.is_empty() && broken::is(Broken::EmptyRanges) => {
                Some((Bound::Excluded(&b"none"[..]), Bound::Excluded(&b"none"[..])))
            }
            (true, _) => None,
            (false, false) => Some((lower, Bound::Included(last))),
            (false, true) => Some((Bound::Included(last), upper)),
        };
        match &self.reader.0 {
            Source::Transaction(private, _) => {
                let Ok(mut state) = private.lock() else { return };
                if let Some(stamp) = self.held.take() {
                    state.holds.let_go(stamp);
                }
                state.reads.close(number, part);
            }
            Source::Snapshot(_, Some(notes)) => notes.lock().close(number, part),
            Source::Snapshot(_, None) => {}
        }
    }
}

/// The root to walk; in a transaction also the stamp under which its pages are kept; where reads are noted, the range.
fn begin(
    reader: &Reader,
    tree: TreeId,
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
) -> Result<(PageRef, Option<u64>, Option<Noted>)> {
    match &reader.0 {
        Source::Snapshot(view, None) => Ok((view.root(tree)?, None, None)),
        Source::Snapshot(view, Some(notes)) => {
            let root = view.root(tree)?;
            view.handle.engine_here()?;
            let number = notes.lock().open(tree, lower, upper);
            Ok((root, None, Some((number, lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec)))))
        }
        Source::Transaction(private, frozen) => {
            let mut state = private.lock()?;
            let (root, held) = match frozen.as_ref().and_then(|frozen| frozen.then()) {
                // The savepoint keeps its pages.
                Some(then) => (state.root_then(then, tree)?, None),
                None => state.root_for_cursor(private.engine(), tree)?,
            };
            let number = state.note_cursor(tree, (lower, upper));
            Ok((root, held, Some((number, lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec)))))
        }
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.close_read();
        self.reader.release_slot(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::super::reader::Source;
    use crate::{Error, Options, Store, TreeId};

    #[test]
    fn readers_of_a_transaction_share_its_slot() {
        let options = Options { max_snapshots: 4, ..Options::default() };
        let store = Store::open_in_memory(options).unwrap();
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, b"key", b"value").unwrap();
        let held: Vec<_> = (0..3).map(|_| store.snapshot().unwrap()).collect();
        let all = || transaction.reader().cursor(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded).unwrap();
        let mut cursors: Vec<_> = (0..100).map(|_| (all(), transaction.reader().lookup().unwrap())).collect();
        transaction.put(TreeId::CATALOG, b"key", b"another").unwrap();
        for (cursor, lookup) in &mut cursors {
            assert_eq!(cursor.next().unwrap(), Some((&b"key"[..], &b"value"[..])));
            assert_eq!(lookup.get_with(TreeId::CATALOG, b"key", <[u8]>::len).unwrap(), Some(7));
        }
        assert!(matches!(store.snapshot(), Err(Error::TooManySnapshots { limit: 4 })));
        drop(held);
    }

    /// A result that is kept takes one slot: what holds the state looks at its pages.
    #[test]
    fn a_snapshot_and_the_first_of_its_readers_share_a_slot() {
        let options = Options { max_snapshots: 4, ..Options::default() };
        let store = Store::open_in_memory(options).unwrap();
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, b"key", b"value").unwrap();
        transaction.commit(None).unwrap();
        let snapshots: Vec<_> = (0..3).map(|_| store.snapshot().unwrap()).collect();
        let cursor = |at: usize| snapshots[at].reader().cursor(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded);
        let mut cursors: Vec<_> = (0..3).map(|at| cursor(at).unwrap()).collect();
        for cursor in &mut cursors {
            assert_eq!(cursor.next().unwrap(), Some((&b"key"[..], &b"value"[..])));
        }
        // A second one beside it has its own.
        let mut second = cursor(0).unwrap();
        assert!(matches!(cursor(1), Err(Error::TooManySnapshots { limit: 4 })));
        drop(cursors.remove(0));
        let mut third = cursor(0).unwrap();
        for cursor in [&mut second, &mut third] {
            assert_eq!(cursor.next().unwrap(), Some((&b"key"[..], &b"value"[..])));
        }
        drop((second, third));
        assert!(store.snapshot().is_ok());
    }

    fn a_reader_until_done_reads_one_state() {
        let store = Store::open_in_memory(Options::default()).unwrap();
        let transaction = store.begin().unwrap();
        let trees = [TreeId::CATALOG, transaction.create_tree().unwrap(), transaction.create_tree().unwrap()];
        let put = |value: &[u8]| trees.iter().for_each(|&tree| transaction.put(tree, b"key", value).unwrap());
        put(b"first");
        let (first, again) = (transaction.reader_until_done().unwrap(), transaction.reader_until_done().unwrap());
        let begin = transaction.savepoint().unwrap();
        put(b"second");
        let second = transaction.reader_until_done().unwrap();
        let made = transaction.create_tree().unwrap();
        transaction.put(made, b"key", b"").unwrap();
        transaction.drop_tree(trees[2]).unwrap();
        let third = transaction.reader_until_done().unwrap();
        let check = |reader: &super::Reader, value: &[u8]| {
            for tree in trees {
                assert_eq!(reader.get(tree, b"key").unwrap().as_deref(), Some(value));
                assert!(reader.is_frozen() && !reader.is_later(tree).unwrap());
                let mut cursor = reader.cursor(tree, Bound::Unbounded, Bound::Unbounded).unwrap();
                assert_eq!(cursor.next().unwrap(), Some((&b"key"[..], value)));
            }
        };
        check(&first, b"first");
        check(&second, b"second");
        assert!(second.is_later(made).unwrap() && second.get(made, b"key").unwrap().is_none());
        assert!(matches!(third.get(trees[2], b"key"), Err(Error::NoSuchTree(_))));
        drop((second, third));
        transaction.rollback_to(&begin).unwrap();
        put(b"fourth");
        check(&first, b"first");
        check(&again, b"first");
        assert_eq!(transaction.reader().get(trees[1], b"key").unwrap().as_deref(), Some(&b"fourth"[..]));
    }

    #[test]
    fn readers_until_done_read_the_state_that_they_began_with() {
        a_reader_until_done_reads_one_state();
    }

    #[test]
    fn a_write_that_freezes_nothing_is_noticed() {
        crate::broken::must_be_caught(crate::broken::Broken::ReadUnfrozen, a_reader_until_done_reads_one_state);
    }

    /// What costs nothing where it is not needed: the list of a short transaction stays one.
    #[test]
    fn a_reader_that_is_done_makes_no_transaction_long() {
        let store = Store::open_in_memory(Options::default()).unwrap();
        let transaction = store.begin().unwrap();
        for number in 0..3_u32 {
            transaction.put(TreeId::CATALOG, &number.to_be_bytes(), b"").unwrap();
            drop(transaction.reader_until_done().unwrap());
        }
        let Source::Transaction(private, _) = &transaction.reader().0 else { panic!("a transaction's reader") };
        assert!(private.lock().unwrap().trees.is_empty());
    }
}
