//! Transactions: the public face. What they do is in `changes`, how they end in `commit`.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::changes::check_key;
use super::lookup::KeyList;
use super::parts::Patience;
use super::reader::{Reader, Source};
use super::savepoint::{Frozen, Savepoint};
use super::state::{Private, State};
use super::ticket::Ticket;
use crate::engine::{Handle, Losses, Reads, Turn};
use crate::held::Holding;
use crate::sync::{MutexGuard, Ordering};
use crate::tree::Patches;
use crate::{Durability, Error, Result, TreeId};

/// A serializable transaction: reads the state it began with and its own writes. Dropping it rolls it back.
///
/// Neither its pages nor its operations need fit in memory. Where its operations take more than the log's limit, or it
/// holds them there while others fill the log, it is ended with [`Error::OutlivedLog`].
pub struct Transaction {
    pub(super) private: Arc<Private>,
    reader: Reader,
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transaction")
    }
}

impl Transaction {
    pub(crate) fn begin(handle: &Arc<Handle>) -> Result<Transaction> {
        Self::begin_with(handle, None, None, None)
    }

    /// As `begin` or `begin_after`, by whom that may not be kept waiting for ever.
    pub(crate) fn begin_patiently(
        handle: &Arc<Handle>,
        lost: &Losses,
        patience: Arc<dyn Patience>,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Transaction> {
        match lost.times() {
            0 => Self::begin_with(handle, None, None, Some(patience)),
            _ => Self::begin_again(handle, lost, Some(patience), gives_up),
        }
    }

    /// After tries that lost; with a turn if these were many.
    pub(crate) fn begin_after(handle: &Arc<Handle>, lost: &Losses, gives_up: &dyn Fn() -> bool) -> Result<Transaction> {
        Self::begin_again(handle, lost, None, gives_up)
    }

    fn begin_again(
        handle: &Arc<Handle>,
        lost: &Losses,
        patience: Option<Arc<dyn Patience>>,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Transaction> {
        let turn = if lost.is_due() { Turn::take(handle, lost, gives_up)? } else { None };
        let began = (lost.times() > 0).then(|| handle.engine().env.host.now());
        Self::begin_with(handle, turn, began, patience)
    }

    fn begin_with(
        handle: &Arc<Handle>,
        turn: Option<Turn>,
        began: Option<Duration>,
        patience: Option<Arc<dyn Patience>>,
    ) -> Result<Transaction> {
        let private = Arc::new(Private::new(handle, turn, began, patience)?);
        Ok(Transaction { reader: Reader(Source::Transaction(private.clone(), None)), private })
    }

    /// Sees this transaction's writes as they are made.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Whether the transaction has changed anything so far.
    pub fn has_changes(&self) -> bool {
        self.private.lock().is_ok_and(|state| !state.ops.is_empty())
    }

    fn writable(&self) -> Result<MutexGuard<'_, State>> {
        let engine = self.private.engine();
        engine.check_writable()?;
        let mut state = self.private.lock()?;
        state.freeze_read(engine)?;
        match engine.options.max_transaction_bytes {
            limit if limit > 0 && state.ops.length() > limit => Err(Error::TransactionTooLarge { limit }),
            _ => Ok(state),
        }
    }

    /// For several reads and changes that belong together, a row's for instance: nobody else's come in between. Whatever else
    /// uses the transaction meanwhile waits, this thread included: for ever.
    pub fn writer(&self) -> Result<Writer<'_>> {
        Ok(Writer { state: self.writable()?, private: &self.private, _holding: Holding::new() })
    }

    /// A new, empty tree; it exists once this transaction commits.
    pub fn create_tree(&self) -> Result<TreeId> {
        self.create(false)
    }

    /// As `create_tree`, for a tree whose content follows from other trees', as an index's does. Operations on it are
    /// marked so in the log, for whoever reads that later.
    pub fn create_derived_tree(&self) -> Result<TreeId> {
        self.create(true)
    }

    fn create(&self, derived: bool) -> Result<TreeId> {
        self.writable()?.make_tree(self.private.engine(), derived)
    }

    /// What the transaction does from here on, until it is told `false`, frees pages in the end, as deleting rows and dropping
    /// tables does: in a database that has no page left (`max_pages`) it gets those that are kept for that. Deletions do
    /// by themselves; this is for what goes with them.
    pub fn free_pages(&self, begins: bool) -> Result<()> {
        self.private.lock().map(|mut state| state.free_pages(begins))
    }

    /// Forgets what commits before `position` appended to the tree, at most so many entries; the position of the last of
    /// them. Of that commit, entries may be left.
    pub fn forget_appended(&self, tree: TreeId, position: u64, most: usize) -> Result<Option<u64>> {
        super::appended::forget(self, tree, position, most)
    }

    /// Removes a tree as `drop_tree` does, with all that was appended to it.
    pub fn drop_appended(&self, tree: TreeId) -> Result<()> {
        super::appended::forget_trees(self, tree)?;
        self.drop_tree(tree)
    }

    /// Makes a tree of this id if there is none: for copies, which keep the ids.
    pub fn ensure_tree(&self, tree: TreeId) -> Result<()> {
        let mut state = self.writable()?;
        if !tree.is_possible() {
            return Err(Error::NoSuchTree(tree));
        }
        if state.root(tree).is_err() {
            self.private.engine().next_tree.fetch_max(tree.number() + 1, Ordering::Relaxed);
            state.add_tree(tree, None);
            state.ops.create(tree);
        }
        Ok(())
    }

    /// Removes a tree with all its entries. Conflicts with any other transaction that uses it.
    pub fn drop_tree(&self, tree: TreeId) -> Result<()> {
        let mut state = self.writable()?;
        let at = state.open(self.private.engine(), tree)?;
        state.trees[at].dropped = true;
        state.ops.drop_tree(tree);
        Ok(())
    }

    /// See [`Writer::put`].
    pub fn put(&self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.writer()?.put(tree, key, value)
    }

    /// See [`Writer::insert`].
    pub fn insert(&self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        self.writer()?.insert(tree, key, value)
    }

    /// See [`Writer::patch`].
    pub fn patch(&self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        self.writer()?.patch(tree, key, offset, bytes)
    }

    /// See [`Writer::delete`].
    pub fn delete(&self, tree: TreeId, key: &[u8]) -> Result<bool> {
        self.writer()?.delete(tree, key)
    }

    /// See [`Writer::append`].
    pub fn append(&self, tree: TreeId, value: &[u8]) -> Result<()> {
        self.writer()?.append(tree, value)
    }

    /// See [`Writer::add`].
    pub fn add(&self, tree: TreeId, key: &[u8], front: &[u8], deltas: &[i128]) -> Result<()> {
        self.writer()?.add(tree, key, front, deltas)
    }

    /// See [`Writer::ordinal`].
    pub fn ordinal(&self) -> Result<u32> {
        self.writer()?.ordinal()
    }

    /// Reads what [`Transaction::reader`] reads now, whatever is written later; keys and ranges are remembered as read as
    /// there. Pages are kept for it while it lives.
    pub fn reader_of_now(&self) -> Result<Reader> {
        let savepoint = self.private.lock()?.freeze(self.private.engine())?;
        Ok(Reader(Source::Transaction(self.private.clone(), Some(Arc::new(Frozen::at(savepoint))))))
    }

    /// As [`Transaction::reader_of_now`], for who may be done before something is written: only then pages are kept for it, once
    /// for all who have such a reader of the same state.
    pub fn reader_until_done(&self) -> Result<Reader> {
        let reading = self.private.lock()?.reading();
        Ok(Reader(Source::Transaction(self.private.clone(), Some(reading))))
    }

    /// Where to roll back to.
    pub fn savepoint(&self) -> Result<Savepoint> {
        let (mut state, engine) = (self.private.lock()?, self.private.engine());
        // What is read is kept by what is before the savepoint, with which it stays.
        state.freeze_read(engine)?;
        Ok(state.savepoint(engine))
    }

    /// Undoes every change since the savepoint, which stays usable; what was read stays remembered.
    pub fn rollback_to(&self, savepoint: &Savepoint) -> Result<()> {
        let (mut state, engine) = (self.private.lock()?, self.private.engine());
        state.freeze_read(engine)?;
        state.rollback_to(engine, savepoint);
        Ok(())
    }

    /// Makes the changes durable and visible, as the mode says (the database's own where `None`).
    ///
    /// Fails with [`Error::Conflict`] if something this transaction read was changed since it began, and leaves no
    /// trace then.
    pub fn commit(self, durability: Option<Durability>) -> Result<()> {
        self.commit_as(durability, None, None, None).map(drop)
    }

    /// As `commit`; where it fails with a conflict, `lost` notes what the next try of the same work needs to know
    /// ([`Store::begin_after`](crate::Store::begin_after)). Soon after `gives_up` returns true it waits no longer for a
    /// transaction that has its turn, and fails with [`Error::GivenUp`]. Returns the log position behind the commit; `None`:
    /// nothing was changed.
    pub fn commit_or_note(
        self,
        durability: Option<Durability>,
        lost: &mut Losses,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Option<u64>> {
        self.commit_as(durability, Some(lost), Some(gives_up), None)
    }

    /// As [`Transaction::commit_or_note`]; `appended` is called with the log position behind the commit where something was
    /// changed, under the lock that gives commits their order, before anybody can see this one: it has to be quick, must not
    /// come back here, and the commit may still fail. Once this returns, all commits up to that position are what their modes
    /// promise, and can be seen.
    pub fn commit_in_order(
        self,
        durability: Option<Durability>,
        lost: &mut Losses,
        gives_up: &dyn Fn() -> bool,
        appended: &mut dyn FnMut(u64),
    ) -> Result<Option<u64>> {
        self.commit_as(durability, Some(lost), Some(gives_up), Some(appended))
    }

    /// As `commit` with full durability, without waiting for it: the ticket's `wait` does.
    pub fn commit_async(self) -> Result<Ticket> {
        self.commit_handed_over()
    }

    /// As [`Transaction::commit_or_note`], without waiting for durability: the ticket's `wait` does.
    pub fn commit_async_or_note(
        self,
        durability: Option<Durability>,
        lost: &mut Losses,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Ticket> {
        self.commit_pipelined(durability, lost, gives_up)
    }

    /// Goes on from the newest published state: it must have all that was read so far as it was read ([`Error::Conflict`]),
    /// and what is read from now on is read there. For work that follows others' changes itself, with
    /// [`Snapshot::diff`](crate::Snapshot::diff). No cursor of the transaction may be open, and no tree that it changed may
    /// have been changed by others: that is a conflict, too.
    pub fn go_on_from_newest(&self) -> Result<()> {
        self.private.lock()?.go_on_from_newest(self.private.engine())
    }

    /// From here on commits of others that would change one of these trees wait until this transaction has ended, for a
    /// bounded time, which is longer where `work` is. The newest published state has what was committed before. False: no
    /// turn was to be had in time, or the caller gave up.
    pub fn take_turn(&self, trees: &[TreeId], work: Duration, gives_up: &dyn Fn() -> bool) -> Result<bool> {
        let mut reads = Reads::default();
        trees.iter().for_each(|&tree| reads.range(tree, Bound::Unbounded, Bound::Unbounded));
        let mut lost = Losses::default();
        lost.note(reads, work);
        // One that it has is over: it would wait for itself.
        self.private.lock()?.turn = None;
        let turn = Turn::take(self.private.handle(), &lost, gives_up)?;
        let is_taken = turn.is_some();
        self.private.lock()?.turn = turn;
        Ok(is_taken)
    }

    /// Ends the transaction without a trace. Dropping it does the same.
    pub fn rollback(self) {}

    /// Rolls back now; whatever still refers to the transaction gets [`Error::Ended`].
    pub fn abandon(&self) {
        self.private.abandon();
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// A transaction, held for changes that belong together ([`Transaction::writer`]).
pub struct Writer<'a> {
    state: MutexGuard<'a, State>,
    private: &'a Private,
    _holding: Holding,
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writer")
    }
}

impl Writer<'_> {
    /// Calls `read` with the value under `key`, the transaction's own if it wrote one. Remembers the key as read.
    pub fn get_with<R>(&mut self, tree: TreeId, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        self.state.get_with(self.private, tree, key, read)
    }

    /// See [`Reader::tree_stamp`].
    #[inline]
    pub fn tree_stamp(&mut self, tree: TreeId) -> Result<u64> {
        self.state.tree_stamp(self.private.engine(), tree)
    }

    /// Inserts or replaces. Blind: records no read. Keys up to about a quarter page, values of any size.
    pub fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        let engine = self.private.engine();
        check_key(&engine.pages, key)?;
        self.state.put(engine, tree, key, value)
    }

    /// Inserts, unless the key is there: then `Ok(false)`. Remembers the key as read.
    pub fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        check_key(&self.private.engine().pages, key)?;
        self.state.insert(self.private, tree, key, value)
    }

    /// Inserts entries from number `from` on, one after the other: each key with the value of its number. Most is saved where
    /// they ascend, behind all that is there. Returns the number of keys where all are done, or that of the first that is there
    /// already. Remembers the keys as read. There must be as many values as keys; [`Error::KeyTooLong`], and nothing inserted, where one
    /// of the keys is.
    pub fn insert_each(&mut self, tree: TreeId, keys: &KeyList, values: &KeyList, from: usize) -> Result<usize> {
        for at in from..keys.len() {
            check_key(&self.private.engine().pages, keys.get(at))?;
        }
        self.state.insert_each(self.private, tree, (keys, values), from)
    }

    /// Overwrites `bytes` at `offset` of the value under `key`, which must exist and be long enough. Remembers the key
    /// as read.
    pub fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        self.state.patch(self.private, tree, key, offset, bytes)
    }

    /// Shows `change` the values under the keys from number `from` on, one after the other, and patches each as it says. Most
    /// is saved where the keys ascend. Returns the number of keys where all are done, or that of the first that has to be
    /// changed otherwise: it is not there, its value is a long one, or `change` said false, or wanted it patched beyond its
    /// end. Remembers the keys as read.
    pub fn patch_each(
        &mut self,
        tree: TreeId,
        keys: &KeyList,
        from: usize,
        change: &mut dyn FnMut(usize, &[u8], &mut Patches) -> bool,
    ) -> Result<usize> {
        self.state.patch_each(self.private, tree, keys, from, change)
    }

    /// Removes `key`; whether it was there. Remembers the key as read.
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        self.state.delete(self.private, tree, key)
    }

    /// Removes the keys, and returns how many of them were there. Most is saved where they ascend. Remembers the keys as read.
    pub fn delete_each(&mut self, tree: TreeId, keys: &KeyList) -> Result<usize> {
        self.state.delete_each(self.private, tree, keys)
    }

    /// Puts the value under a key that the commit gives: its log position and an ordinal ([`AppendKey`](crate::AppendKey)).
    /// Neither this transaction nor a savepoint of it sees the entry. It rests on nothing that others do, so they do not
    /// conflict. Read by [`Reader::appended`].
    pub fn append(&mut self, tree: TreeId, value: &[u8]) -> Result<()> {
        self.state.append_value(self.private.engine(), tree, value)
    }

    /// Adds to the counters of the entry under `key`: one number to each. Where there is no entry it begins with zeroes, behind
    /// the bytes of `front`; it goes when the first counter, which counts what the others are sums of, comes to 0.
    /// [`counters`](crate::counters) reads them; one whose sum did not fit is [`OVERFLOWED`](crate::OVERFLOWED) for as long as the entry is there.
    ///
    /// The transaction sees the sum. It rests on nothing that others do, unless it reads it: who adds to the same entry is
    /// in nobody's way. At most [`COUNTERS_MAX`](crate::COUNTERS_MAX) counters that, with the key, have room in a leaf; the
    /// same number of them, behind as many bytes, each time.
    pub fn add(&mut self, tree: TreeId, key: &[u8], front: &[u8], deltas: &[i128]) -> Result<()> {
        check_key(&self.private.engine().pages, key)?;
        self.state.add(self.private, tree, key, front, deltas)
    }

    /// An ordinal between those of what is appended before and after.
    pub fn ordinal(&mut self) -> Result<u32> {
        self.state.appends.ordinal()
    }
}
