//! Transactions: a snapshot, private trees, and the list of what was done.
//!
//! Writes go into private copies of the pages they change, so a read finds them there without merging anything; each is
//! also noted as an operation, in the log's encoding. What is read is remembered. Commit is in `commit`.

use std::fmt;
use std::sync::Arc;

use super::holds::{HoldToken, Holds};
use super::ops::{OpList, OpMark};
use super::parts::Parts;
use super::reader::{Claimed, Reader, Source, View};
use super::reads::Reads;
use super::version::TreeId;
use crate::broken::{self, Broken};
use crate::page::{Created, PageRef, Pages, Pin, SlotId};
use crate::store::{Engine, Handle, SPILL};
use crate::sync::{Mutex, MutexGuard, Ordering};
use crate::tree::{LongValue, Patched, Scratch, TreeEdit, node};
use crate::{Durability, Error, Result};

/// A transaction's private part, shared with its readers and cursors.
#[derive(Debug)]
pub(crate) struct Private {
    state: Mutex<State>,
    handle: Arc<Handle>,
}

/// What a transaction has done so far.
#[derive(Debug)]
pub(crate) struct State {
    /// What it began with (or was rebased to). `None` once it ended.
    pub(super) base: Option<View>,
    pub(super) trees: Vec<PrivateTree>,
    pub(super) ops: OpList,
    pub(super) parts: Parts,
    pub(super) reads: Reads,
    /// Birth stamp of its unsealed pages.
    pub(super) stamp: u64,
    /// Who else sees its pages.
    pub(super) holds: Holds,
    scratch: Scratch,
    /// Pages of undone work that cursors may still see: freed at the end.
    undone: Vec<u32>,
}

/// A tree that the transaction changed.
#[derive(Debug)]
pub(crate) struct PrivateTree {
    pub(super) id: TreeId,
    /// The root it started from; `None`: the tree is new.
    pub(super) base: Option<PageRef>,
    pub(super) root: PageRef,
    pub(super) dropped: bool,
    pub(super) created: Created,
    pub(super) dead: Vec<u32>,
    pub(super) chains: Vec<PageRef>,
    writes: u64,
}

impl PrivateTree {
    /// `began`: the transaction's first stamp.
    pub(super) fn new(id: TreeId, base: Option<PageRef>, began: u64) -> PrivateTree {
        PrivateTree {
            id,
            base,
            root: base.unwrap_or(PageRef::NONE),
            dropped: false,
            created: Created::of_transaction(began),
            dead: Vec::new(),
            chains: Vec::new(),
            writes: 0,
        }
    }

    /// Frees every page it made; nothing of it was ever published.
    pub(super) fn discard(&mut self, pages: &Pages) {
        self.created.free_from(pages, 0);
    }
}

impl Private {
    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// Fails once the transaction has ended.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, State>> {
        // A transaction that a panic left in the middle of a change is at its end.
        let mut is_whole = true;
        let state = self.state.lock_noting(|| is_whole = false);
        if state.base.is_none() || !is_whole { Err(Error::Ended) } else { Ok(state) }
    }

    pub(crate) fn note_key(&self, mut state: MutexGuard<'_, State>, tree: TreeId, key: &[u8]) {
        state.reads.key(tree, key);
    }
}

impl State {
    fn base(&self) -> Result<&View> {
        self.base.as_ref().ok_or(Error::Ended)
    }

    /// For looking at pages, by who holds the transaction's lock.
    pub(super) fn slot(&self) -> Result<SlotId> {
        self.base().map(|base| base.slot)
    }

    pub(super) fn find(&self, tree: TreeId) -> Option<usize> {
        self.trees.iter().position(|private| private.id == tree)
    }

    /// The tree's root, with the transaction's own changes.
    pub(crate) fn root(&self, _private: &Private, tree: TreeId) -> Result<PageRef> {
        match self.find(tree).map(|at| &self.trees[at]) {
            Some(private) if private.dropped => Err(Error::NoSuchTree(tree)),
            Some(private) => Ok(private.root),
            None => self.base()?.root(tree),
        }
    }

    /// As `root`, sealed: what the transaction changes from now on is copied, and the cursor does not see it. With it,
    /// what the cursor gives back to `holds` when it closes.
    pub(crate) fn root_for_cursor(&mut self, private: &Private, tree: TreeId) -> Result<(PageRef, Option<u64>)> {
        let root = self.root(private, tree)?;
        if self.find(tree).is_none() {
            return Ok((root, None));
        }
        self.free_waiting(&private.handle.engine().pages);
        self.seal(private.handle.engine());
        self.holds.cursor(self.stamp);
        Ok((root, Some(self.stamp)))
    }

    pub(crate) fn tree_stamp(&self, private: &Private, tree: TreeId) -> Result<u64> {
        let birth = self.root(private, tree)?.birth;
        // Changes in place keep the root's birth; counting them in the high bits keeps the stamps apart.
        Ok(self.find(tree).map_or(birth, |at| birth ^ self.trees[at].writes << 40))
    }

    fn seal(&mut self, engine: &Engine) {
        self.stamp = engine.stamp();
    }

    /// The private tree for changes, made from the base if need be.
    fn open(&mut self, tree: TreeId) -> Result<usize> {
        if let Some(at) = self.find(tree) {
            return if self.trees[at].dropped { Err(Error::NoSuchTree(tree)) } else { Ok(at) };
        }
        let base = self.base()?.root(tree)?;
        self.add(tree, Some(base));
        Ok(self.trees.len() - 1)
    }

    /// Appends an entry to the tree's last leaf, if the transaction has that as its own and the key goes behind
    /// everything in it: no page is looked for, copied or made. False: it has to be put.
    fn append_entry(&mut self, engine: &Engine, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        self.send_early(engine)?;
        let Some(at) = self.find(tree).filter(|&at| !self.trees[at].dropped) else { return Ok(false) };
        let entry = (key, node::Cell::Inline(value));
        let appended = self.scratch.append(&engine.pages, (tree.0, self.stamp), entry, || true).is_some();
        self.trees[at].writes += u64::from(appended);
        engine.pages.counters.tree_changes.add(u64::from(appended));
        Ok(appended)
    }

    /// To be called when private pages are freed under the stamp that goes on: their ids may come back as others.
    pub(super) fn forget_places(&mut self) {
        self.scratch.forget();
    }

    fn add(&mut self, tree: TreeId, base: Option<PageRef>) {
        self.trees.push(PrivateTree::new(tree, base, self.holds.began()));
    }

    pub(super) fn edit<'a>(&'a mut self, at: usize, pages: &'a Pages, pin: &'a Pin<'a>) -> TreeEdit<'a> {
        let seen_before = self.holds.seen_before();
        let PrivateTree { id, root, created, dead, chains, .. } = &mut self.trees[at];
        let (tree, stamp, scratch) = (id.0, self.stamp, &mut self.scratch);
        TreeEdit { pages, pin, tree, stamp, root, seen_before, created, dead, chains, scratch }
    }

    /// Long values that the transaction wrote and took back, seen by nobody: their pages are free at once. `from`: the
    /// tree's chains before. What cannot be read now is freed after the commit.
    fn free_chains(&mut self, engine: &Engine, slot: SlotId, at: usize, from: usize) {
        let seen_before = self.holds.seen_before();
        let PrivateTree { created, dead, chains, .. } = &mut self.trees[at];
        if chains.get(from).is_none_or(|first| first.birth < seen_before) {
            return;
        }
        for first in chains.split_off(from) {
            let mut page = first;
            while !page.is_none() {
                let Ok(next) = engine.with_pages(slot, |pin| next_in_chain(&engine.pages, pin, page)) else {
                    chains.push(page);
                    break;
                };
                if !created.free(&engine.pages, page.id) {
                    dead.push(page.id);
                }
                page = next;
            }
        }
    }

    /// Frees what savepoints and cursors saw that are gone by now. To be called before each new one too: where there is
    /// always one, nothing is free while it lives.
    fn free_waiting(&mut self, pages: &Pages) {
        let seen_before = self.holds.seen_before();
        self.trees.iter_mut().for_each(|tree| tree.created.free_waiting(pages, seen_before));
    }

    /// Sends the operations so far to the log, if they take much memory.
    fn send_early(&mut self, engine: &Engine) -> Result<()> {
        self.parts.send_early(engine, &mut self.ops)
    }

    /// Gives up the pages made so far, if they take too much of the cache.
    pub(super) fn spill_if_large(&mut self, engine: &Engine) {
        let kept: usize = self.trees.iter().map(|tree| tree.created.kept()).sum();
        if kept * 2 * SPILL > engine.pages.frame_count() {
            self.spill(engine);
        }
    }

    /// Gives the pages made so far to eviction, sealed.
    fn spill(&mut self, engine: &Engine) {
        self.seal(engine);
        self.trees.iter_mut().for_each(|tree| tree.created.unfix(&engine.pages));
    }

    /// Ends the transaction's use of its own pages and its snapshot.
    pub(super) fn end(&mut self, engine: &Engine) {
        let pages = &engine.pages;
        self.parts.forget(engine);
        for tree in &mut self.trees {
            tree.discard(pages);
        }
        self.trees.clear();
        pages.free_private(&self.undone);
        self.undone.clear();
        self.base = None;
    }
}

/// Where a transaction can be rolled back to.
#[derive(Debug)]
pub struct Savepoint {
    trees: Vec<SavedTree>,
    ops: OpMark,
    /// While it lives, pages that the savepoint sees are kept.
    _hold: HoldToken,
}

#[derive(Debug)]
struct SavedTree {
    id: TreeId,
    root: PageRef,
    dropped: bool,
    created: usize,
    waiting: usize,
    dead: usize,
    chains: usize,
}

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
        let engine = handle.engine();
        let base = Some(View::newest(handle)?);
        let stamp = engine.stamp();
        let state = State {
            base,
            trees: Vec::new(),
            ops: OpList::default(),
            parts: Parts::default(),
            reads: Reads::default(),
            stamp,
            holds: Holds::new(stamp),
            scratch: Scratch::default(),
            undone: Vec::new(),
        };
        let private = Arc::new(Private { state: Mutex::new(state), handle: handle.clone() });
        Ok(Transaction { reader: Reader(Source::Transaction(private.clone())), private })
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
        let engine = self.private.handle.engine();
        engine.check_writable()?;
        let state = self.private.lock()?;
        match engine.options.max_transaction_bytes {
            limit if limit > 0 && state.ops.length() > limit => Err(Error::TransactionTooLarge { limit }),
            _ => Ok(state),
        }
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
        let mut state = self.writable()?;
        let number = self.private.handle.engine().next_tree.fetch_add(1, Ordering::Relaxed);
        let tree = TreeId::new(number, derived);
        state.add(tree, None);
        state.ops.create(tree);
        Ok(tree)
    }

    /// Makes a tree of this id if there is none: for copies, which keep the ids.
    pub fn ensure_tree(&self, tree: TreeId) -> Result<()> {
        let mut state = self.writable()?;
        if state.root(&self.private, tree).is_err() {
            self.private.handle.engine().next_tree.fetch_max(tree.number() + 1, Ordering::Relaxed);
            state.add(tree, None);
            state.ops.create(tree);
        }
        Ok(())
    }

    /// Removes a tree with all its entries. Conflicts with any other transaction that uses it.
    pub fn drop_tree(&self, tree: TreeId) -> Result<()> {
        let mut state = self.writable()?;
        let at = state.open(tree)?;
        state.trees[at].dropped = true;
        state.ops.drop_tree(tree);
        Ok(())
    }

    /// Inserts or replaces. Blind: records no read. Keys up to about a quarter page, values of any size.
    pub fn put(&self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        let engine = self.private.handle.engine();
        check_key(&engine.pages, key)?;
        let mut state = self.writable()?;
        if !is_inline(&engine.pages, key, value) {
            state = self.put_value(state, tree, key, value)?;
        } else if !state.append_entry(engine, tree, key, value)? {
            state = self.change(state, tree, |edit| edit.put(key, node::Cell::Inline(value)).map(drop))?;
        }
        state.ops.put(tree, key, value);
        Ok(())
    }

    /// Inserts, unless the key is there: then `Ok(false)`. Remembers the key as read.
    pub fn insert(&self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        let engine = self.private.handle.engine();
        check_key(&engine.pages, key)?;
        if !is_inline(&engine.pages, key, value) {
            let found = self.reader.get_with(tree, key, |_| ())?.is_some();
            return if found { Ok(false) } else { self.put(tree, key, value).map(|()| true) };
        }
        let mut state = self.writable()?;
        let mut put = state.append_entry(engine, tree, key, value)?;
        if !put {
            state = self.change(state, tree, |edit| {
                put = edit.put_if(key, node::Cell::Inline(value), |old| old.is_none())?.1;
                Ok(())
            })?;
        }
        if put {
            state.ops.put(tree, key, value);
        }
        state.reads.key(tree, key);
        Ok(put)
    }

    fn put_value<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
    ) -> Result<MutexGuard<'s, State>> {
        let at = state.open(tree)?;
        let (stamp, pages) = (state.stamp, &self.private.handle.engine().pages);
        let chain = state.trees[at].created.len();
        let created = &mut state.trees[at].created;
        let long = LongValue::write(pages, tree, stamp, key, value, created).inspect_err(|_| {
            created.free_from(pages, chain);
        })?;
        self.change(state, tree, |edit| edit.put(key, long.cell(value)).map(drop))
    }

    /// Overwrites `bytes` at `offset` of the value under `key`, which must exist and be long enough. Remembers the key
    /// as read.
    pub fn patch(&self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        let mut patched = Patched::Done;
        let mut state = self.change(self.writable()?, tree, |edit| {
            patched = edit.patch(key, offset, bytes, |_| ())?;
            Ok(())
        })?;
        match patched {
            Patched::Impossible => return Err(Error::BadPatch),
            Patched::Done => state.ops.patch(tree, key, offset, bytes),
            Patched::Long(length, first) => {
                let base = state.slot()?;
                drop(state);
                let handle = &self.private.handle;
                let slot = Claimed::new(handle)?;
                let value = handle.engine().patched(slot.slot.following(base), length, first, offset, bytes)?;
                state = self.put_value(self.writable()?, tree, key, &value)?;
                state.ops.patch(tree, key, offset, bytes);
            }
        }
        state.reads.key(tree, key);
        Ok(())
    }

    /// Removes `key`; whether it was there. Remembers the key as read.
    pub fn delete(&self, tree: TreeId, key: &[u8]) -> Result<bool> {
        let mut found = false;
        let mut state = self.change(self.writable()?, tree, |edit| {
            found = edit.delete(key)?;
            Ok(())
        })?;
        if found {
            state.ops.delete(tree, key);
        }
        state.reads.key(tree, key);
        Ok(found)
    }

    /// Runs one change of a tree, loading pages as needed.
    fn change<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        tree: TreeId,
        mut run: impl FnMut(&mut TreeEdit<'_>) -> Result<()>,
    ) -> Result<MutexGuard<'s, State>> {
        let at = state.open(tree)?;
        let handle = &self.private.handle;
        let pages = &handle.engine().pages;
        state.send_early(handle.engine())?;
        state.spill_if_large(handle.engine());
        let slot = state.slot()?;
        let chains = state.trees[at].chains.len();
        let mut change =
            |state: &mut State| handle.engine().with_pages(slot, |pin| run(&mut state.edit(at, pages, pin)));
        match change(&mut state) {
            Err(Error::CacheFull) => {
                state.spill(handle.engine());
                change(&mut state)?;
            }
            result => result?,
        }
        state.free_chains(handle.engine(), slot, at, chains);
        state.free_waiting(pages);
        state.trees[at].writes += 1;
        Ok(state)
    }

    /// Where to roll back to.
    pub fn savepoint(&self) -> Result<Savepoint> {
        let mut state = self.private.lock()?;
        state.free_waiting(&self.private.handle.engine().pages);
        if !broken::is(Broken::SealedChanged) {
            state.seal(self.private.handle.engine());
        }
        let save = |tree: &PrivateTree| SavedTree {
            id: tree.id,
            root: tree.root,
            dropped: tree.dropped,
            created: tree.created.len(),
            waiting: tree.created.waiting(),
            dead: tree.dead.len(),
            chains: tree.chains.len(),
        };
        let trees = state.trees.iter().map(save).collect();
        let stamp = state.stamp;
        Ok(Savepoint { trees, ops: state.ops.mark(), _hold: state.holds.savepoint(stamp) })
    }

    /// Undoes every change since the savepoint, which stays usable; what was read stays remembered.
    pub fn rollback_to(&self, savepoint: &Savepoint) -> Result<()> {
        let mut state = self.private.lock()?;
        let kept = savepoint.trees.len();
        let mut undone = Vec::new();
        let restored = if broken::is(Broken::SavepointKeepsTrees) { 1 } else { usize::MAX };
        for (tree, saved) in state.trees.iter_mut().zip(&savepoint.trees).take(restored) {
            assert_eq!(tree.id, saved.id, "a savepoint belongs to its transaction");
            tree.root = saved.root;
            tree.dropped = saved.dropped;
            undone.append(&mut tree.created.cut(saved.created, saved.waiting));
            tree.dead.truncate(saved.dead);
            tree.chains.truncate(saved.chains);
            tree.writes += 1;
        }
        let gone: Vec<PrivateTree> = state.trees.drain(kept..).collect();
        gone.into_iter().for_each(|mut tree| undone.append(&mut tree.created.cut(0, 0)));
        match state.holds.any_cursor() {
            false => self.private.handle.engine().pages.free_private(&undone),
            // Cursors may see them: they wait for the end.
            true => state.undone.append(&mut undone),
        }
        if !broken::is(Broken::SavepointKeepsOperations) {
            let State { ops, parts, .. } = &mut *state;
            ops.cut(savepoint.ops);
            parts.cut(ops);
        }
        state.seal(self.private.handle.engine());
        Ok(())
    }

    /// Makes the changes durable and visible, as the mode says (the database's own where `None`).
    ///
    /// Fails with [`Error::Conflict`] if something this transaction read was changed since it began, and leaves no
    /// trace then.
    pub fn commit(self, durability: Option<Durability>) -> Result<()> {
        self.commit_as(durability)
    }

    /// As `commit` with full durability, without waiting for it: the ticket's `wait` does.
    pub fn commit_async(self) -> Result<Ticket> {
        self.commit_pipelined()
    }

    /// Ends the transaction without a trace. Dropping it does the same.
    pub fn rollback(self) {}

    /// Rolls back now; whatever still refers to the transaction gets [`Error::Ended`].
    pub fn abandon(&self) {
        let mut state = self.private.state.lock_noting(|| ());
        if state.base.is_some() {
            state.end(self.private.handle.engine());
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// The page that follows in a long value's chain.
fn next_in_chain(pages: &Pages, pin: &Pin<'_>, page: PageRef) -> Result<PageRef> {
    pages.get(pin, page).map(crate::tree::next_in_chain).ok_or(Error::NotResident(page))
}

/// Whether the value stays in its leaf.
fn is_inline(pages: &Pages, key: &[u8], value: &[u8]) -> bool {
    key.len() + value.len() <= node::inline_limit(pages.page_size())
}

pub(super) fn check_key(pages: &Pages, key: &[u8]) -> Result<()> {
    let limit = node::key_limit(pages.page_size());
    match key.len() <= limit {
        true => Ok(()),
        false => Err(Error::KeyTooLong { length: key.len(), limit }),
    }
}

/// A commit on its way to the disk.
#[derive(Debug)]
#[must_use = "the commit is durable only once `wait` returned"]
pub struct Ticket {
    /// `None`: acknowledged already.
    pub(super) handle: Option<Arc<Handle>>,
    pub(super) position: u64,
}

impl Ticket {
    /// Returns once the commit is durable.
    pub fn wait(self) -> Result<()> {
        let Some(handle) = &self.handle else { return Ok(()) };
        let engine = handle.engine();
        if engine.durable() >= self.position {
            return Ok(());
        }
        engine.wait_durable(engine.lock_writer(), self.position)
    }

    /// Whether `wait` would return at once, successfully.
    pub fn is_durable(&self) -> bool {
        let durable = |handle: &Arc<Handle>| handle.engine().durable();
        self.handle.as_ref().is_none_or(|handle| durable(handle) >= self.position)
    }

    /// The log position behind the commit.
    pub fn position(&self) -> u64 {
        self.position
    }
}
