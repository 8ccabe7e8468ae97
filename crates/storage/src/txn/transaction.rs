//! Transactions: a snapshot, private trees, and the list of what was done.
//!
//! Writes go into private copies of the pages they change, so a read finds them there without merging anything; each is
//! also noted as an operation, in the log's encoding. What is read is remembered. Commit is in `commit`.

use std::fmt;
use std::sync::Arc;

use super::ops::{OpList, OpMark};
use super::reader::{Claimed, Reader, Source, View};
use super::reads::Reads;
use super::version::TreeId;
use crate::page::{PageRef, Pages, Pin, SlotId};
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
    pub(super) reads: Reads,
    /// Birth stamp of its unsealed pages.
    pub(super) stamp: u64,
    scratch: Scratch,
    /// Pages of undone work whose tree is forgotten: cursors may still see them, so they are freed at the end.
    orphans: Vec<u32>,
}

/// A tree that the transaction changed.
#[derive(Debug)]
pub(crate) struct PrivateTree {
    pub(super) id: TreeId,
    /// The root it started from; `None`: the tree is new.
    pub(super) base: Option<PageRef>,
    pub(super) root: PageRef,
    pub(super) dropped: bool,
    pub(super) created: Vec<u32>,
    pub(super) dead: Vec<u32>,
    pub(super) chains: Vec<PageRef>,
    /// Pages of undone work: still seen by cursors, so freed at the end.
    pub(super) undone: Vec<u32>,
    /// `created` up to here was given to eviction.
    unfixed: usize,
    writes: u64,
}

impl PrivateTree {
    pub(super) fn new(id: TreeId, base: Option<PageRef>) -> PrivateTree {
        PrivateTree {
            id,
            base,
            root: base.unwrap_or(PageRef::NONE),
            dropped: false,
            created: Vec::new(),
            dead: Vec::new(),
            chains: Vec::new(),
            undone: Vec::new(),
            unfixed: 0,
            writes: 0,
        }
    }

    /// Frees every page it made; nothing of it was ever published.
    pub(super) fn discard(&mut self, pages: &Pages) {
        pages.free_private(&self.created);
        pages.free_private(&self.undone);
        self.created.clear();
        self.undone.clear();
    }
}

impl Private {
    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// Fails once the transaction has ended.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        if state.base.is_none() { Err(Error::Ended) } else { Ok(state) }
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

    /// As `root`, sealed: what the transaction changes from now on is copied, and the cursor does not see it.
    pub(crate) fn root_for_cursor(&mut self, private: &Private, tree: TreeId) -> Result<PageRef> {
        let root = self.root(private, tree)?;
        if self.find(tree).is_some() {
            self.seal(private.handle.engine());
        }
        Ok(root)
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
        self.trees.push(PrivateTree::new(tree, Some(base)));
        Ok(self.trees.len() - 1)
    }

    pub(super) fn edit<'a>(&'a mut self, at: usize, pages: &'a Pages, pin: &'a Pin<'a>) -> TreeEdit<'a> {
        let PrivateTree { id, root, created, dead, chains, .. } = &mut self.trees[at];
        let (tree, stamp, scratch) = (id.0, self.stamp, &mut self.scratch);
        TreeEdit { pages, pin, tree, stamp, root, created, dead, chains, scratch }
    }

    /// Gives up the pages made so far, if they take too much of the cache.
    pub(super) fn spill_if_large(&mut self, engine: &Engine) {
        let kept: usize = self.trees.iter().map(|tree| tree.created.len() - tree.unfixed).sum();
        if kept * 2 * SPILL > engine.pages.frame_count() {
            self.spill(engine);
        }
    }

    /// Gives the pages made so far to eviction, sealed.
    fn spill(&mut self, engine: &Engine) {
        self.seal(engine);
        let pages = &engine.pages;
        for tree in &mut self.trees {
            pages.unfix(&tree.created[tree.unfixed..]);
            tree.unfixed = tree.created.len();
        }
    }

    /// Ends the transaction's use of its own pages and its snapshot.
    pub(super) fn end(&mut self, pages: &Pages) {
        for tree in &mut self.trees {
            tree.discard(pages);
        }
        self.trees.clear();
        pages.free_private(&self.orphans);
        self.orphans.clear();
        self.base = None;
    }
}

/// Where a transaction can be rolled back to.
#[derive(Debug)]
pub struct Savepoint {
    trees: Vec<SavedTree>,
    ops: OpMark,
}

#[derive(Debug)]
struct SavedTree {
    id: TreeId,
    root: PageRef,
    dropped: bool,
    created: usize,
    dead: usize,
    chains: usize,
}

/// A serializable transaction: reads the state it began with and its own writes. Dropping it rolls it back.
///
/// Its operations stay in memory until it commits; its pages need not.
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
        let state = State {
            base: Some(View::newest(handle)?),
            trees: Vec::new(),
            ops: OpList::default(),
            reads: Reads::default(),
            stamp: engine.stamp(),
            scratch: Scratch::default(),
            orphans: Vec::new(),
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
        self.private.handle.engine().check_writable()?;
        self.private.lock()
    }

    /// A new, empty tree; it exists once this transaction commits.
    pub fn create_tree(&self) -> Result<TreeId> {
        let mut state = self.writable()?;
        let tree = TreeId(self.private.handle.engine().next_tree.fetch_add(1, Ordering::Relaxed));
        state.trees.push(PrivateTree::new(tree, None));
        state.ops.create(tree);
        Ok(tree)
    }

    /// Makes a tree of this id if there is none: for copies, which keep the ids.
    pub(crate) fn ensure_tree(&self, tree: TreeId) -> Result<()> {
        let mut state = self.writable()?;
        if state.root(&self.private, tree).is_err() {
            self.private.handle.engine().next_tree.fetch_max(tree.0.saturating_add(1), Ordering::Relaxed);
            state.trees.push(PrivateTree::new(tree, None));
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
        check_key(&self.private.handle.engine().pages, key)?;
        self.put_value(tree, key, value)?.ops.put(tree, key, value);
        Ok(())
    }

    /// Inserts, unless the key is there: then `Ok(false)`. Remembers the key as read.
    pub fn insert(&self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        let pages = &self.private.handle.engine().pages;
        check_key(pages, key)?;
        if key.len() + value.len() > node::inline_limit(pages.page_size()) {
            let found = self.reader.get_with(tree, key, |_| ())?.is_some();
            return if found { Ok(false) } else { self.put(tree, key, value).map(|()| true) };
        }
        let mut put = false;
        let mut state = self.change(tree, |edit| {
            put = edit.put_if(key, node::Cell::Inline(value), |old| old.is_none())?.1;
            Ok(())
        })?;
        if put {
            state.ops.put(tree, key, value);
        }
        state.reads.key(tree, key);
        Ok(put)
    }

    fn put_value(&self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<MutexGuard<'_, State>> {
        let mut state = self.writable()?;
        let at = state.open(tree)?;
        let (stamp, pages) = (state.stamp, &self.private.handle.engine().pages);
        let chain = state.trees[at].created.len();
        let created = &mut state.trees[at].created;
        let long = LongValue::write(pages, tree, stamp, key, value, created).inspect_err(|_| {
            pages.free_private(&created[chain..]);
            created.truncate(chain);
        })?;
        drop(state);
        self.change(tree, |edit| edit.put(key, long.cell(value)).map(drop))
    }

    /// Overwrites `bytes` at `offset` of the value under `key`, which must exist and be long enough. Remembers the key
    /// as read.
    pub fn patch(&self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        let mut patched = Patched::Done;
        let mut state = self.change(tree, |edit| {
            patched = edit.patch(key, offset, bytes, |_| ())?;
            Ok(())
        })?;
        match patched {
            Patched::Impossible => return Err(Error::BadPatch),
            Patched::Done => state.ops.patch(tree, key, offset, bytes),
            Patched::Long(length, first) => {
                drop(state);
                let handle = &self.private.handle;
                let value = handle.engine().patched(Claimed::new(handle)?.slot, length, first, offset, bytes)?;
                state = self.put_value(tree, key, &value)?;
                state.ops.patch(tree, key, offset, bytes);
            }
        }
        state.reads.key(tree, key);
        Ok(())
    }

    /// Removes `key`; whether it was there. Remembers the key as read.
    pub fn delete(&self, tree: TreeId, key: &[u8]) -> Result<bool> {
        let mut found = false;
        let mut state = self.change(tree, |edit| {
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
    fn change(
        &self,
        tree: TreeId,
        mut run: impl FnMut(&mut TreeEdit<'_>) -> Result<()>,
    ) -> Result<MutexGuard<'_, State>> {
        let mut state = self.writable()?;
        let at = state.open(tree)?;
        let handle = &self.private.handle;
        let pages = &handle.engine().pages;
        state.spill_if_large(handle.engine());
        let slot = state.slot()?;
        let mut change =
            |state: &mut State| handle.engine().with_pages(slot, |pin| run(&mut state.edit(at, pages, pin)));
        match change(&mut state) {
            Err(Error::CacheFull) => {
                state.spill(handle.engine());
                change(&mut state)?;
            }
            result => result?,
        }
        state.trees[at].writes += 1;
        Ok(state)
    }

    /// Where to roll back to.
    pub fn savepoint(&self) -> Result<Savepoint> {
        let mut state = self.private.lock()?;
        state.seal(self.private.handle.engine());
        let save = |tree: &PrivateTree| SavedTree {
            id: tree.id,
            root: tree.root,
            dropped: tree.dropped,
            created: tree.created.len(),
            dead: tree.dead.len(),
            chains: tree.chains.len(),
        };
        Ok(Savepoint { trees: state.trees.iter().map(save).collect(), ops: state.ops.mark() })
    }

    /// Undoes every change since the savepoint, which stays usable; what was read stays remembered.
    pub fn rollback_to(&self, savepoint: &Savepoint) -> Result<()> {
        let mut state = self.private.lock()?;
        let kept = savepoint.trees.len();
        for (tree, saved) in state.trees.iter_mut().zip(&savepoint.trees) {
            assert_eq!(tree.id, saved.id, "a savepoint belongs to its transaction");
            tree.root = saved.root;
            tree.dropped = saved.dropped;
            tree.undone.extend(tree.created.drain(saved.created..));
            tree.dead.truncate(saved.dead);
            tree.chains.truncate(saved.chains);
            tree.unfixed = tree.unfixed.min(saved.created);
            tree.writes += 1;
        }
        let gone: Vec<PrivateTree> = state.trees.drain(kept..).collect();
        for mut tree in gone {
            // A tree that was first touched after the savepoint: its pages wait for the end, as cursors may see them.
            state.orphans.append(&mut tree.created);
            state.orphans.append(&mut tree.undone);
        }
        state.ops.cut(savepoint.ops);
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
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Ok(mut state) = self.private.lock() {
            state.end(&self.private.handle.engine().pages);
        }
    }
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
        if engine.durable.load(Ordering::Acquire) >= self.position {
            return Ok(());
        }
        engine.wait_durable(engine.writer.lock(), self.position)
    }

    /// Whether `wait` would return at once, successfully.
    pub fn is_durable(&self) -> bool {
        let durable = |handle: &Arc<Handle>| handle.engine().durable.load(Ordering::Acquire);
        self.handle.as_ref().is_none_or(|handle| durable(handle) >= self.position)
    }

    /// The log position behind the commit.
    pub fn position(&self) -> u64 {
        self.position
    }
}
