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
    slot: SlotId,
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
        if broken::is(Broken::CursorKeepsHold) {
            let _ = begin(reader, tree, lower, upper)?;
        }
        // The slot first: what is begun is only ended by the cursor.
        let slot = reader.claim_slot()?;
        let begun = begin(reader, tree, lower, upper);
        let release = |_: &Error| reader.handle().engine().pages.slots.release(slot);
        let (root, held, read) = begun.inspect_err(release)?;
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
            Source::Snapshot(view, _) => tree.next(&view.handle.engine().pages, *slot),
            // The lock keeps the transaction from ending, and its pages from being freed, during the step.
            Source::Transaction(private, _) => {
                let _state = private.lock()?;
                tree.next(&private.handle().engine().pages, *slot)
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
            Source::Snapshot(view, _) => tree.next_entries(&view.handle.engine().pages, *slot, limit, read),
            Source::Transaction(private, _) => {
                let _state = private.lock()?;
                tree.next_entries(&private.handle().engine().pages, *slot, limit, read)
            }
        }
    }

    /// The next entry from the upper end.
    pub fn prev(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.backward = true;
        let Cursor { reader, slot, tree, .. } = self;
        match &reader.0 {
            Source::Snapshot(view, _) => tree.prev(&view.handle.engine().pages, *slot),
            Source::Transaction(private, _) => {
                let _state = private.lock()?;
                tree.prev(&private.handle().engine().pages, *slot)
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
        Source::Transaction(private, then) => {
            let mut state = private.lock()?;
            let (root, held) = match then {
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
        self.reader.handle().engine().pages.slots.release(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::super::reader::Source;
    use crate::{Error, Options, Store, TreeId};

    /// It kept the transaction's pages for a cursor that there was none of, and its range as read.
    #[test]
    fn a_cursor_that_finds_no_slot_keeps_nothing() {
        let options = Options { max_snapshots: 4, ..Options::default() };
        let store = Store::open_in_memory(options).unwrap();
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, b"key", b"value").unwrap();
        let held: Vec<_> = (0..3).map(|_| store.snapshot().unwrap()).collect();
        let cursor = transaction.reader().cursor(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded);
        assert!(matches!(cursor, Err(Error::TooManySnapshots { limit: 4 })));
        let Source::Transaction(private, _) = &transaction.reader().0 else { panic!("a transaction's reader") };
        let state = private.lock().unwrap();
        assert!(!state.holds.any_cursor());
        assert!(state.reads.to_sorted_ranges().is_empty());
        drop(held);
    }

    #[test]
    fn a_cursor_that_keeps_its_hold_is_noticed() {
        crate::broken::must_be_caught(
            crate::broken::Broken::CursorKeepsHold,
            a_cursor_that_finds_no_slot_keeps_nothing,
        );
    }
}
