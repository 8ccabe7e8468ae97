//! What a running transaction has: the state it rests on, what it read, and what it wrote.
//!
//! Its writes are in a small list (`own`) or, where that was outgrown, in private trees (`private`): never both for one tree. A
//! read looks through the list and then in the tree, so nothing is merged. Every write is also an operation, in the log's
//! encoding.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::appends::Appends;
use super::holds::Holds;
use super::own::OwnWrites;
use super::parts::{Parts, Patience};
use super::private::PrivateTree;
use super::reader::{View, get_at};
use super::savepoint::{Frozen, Savepoint};
use crate::broken::{self, Broken};
use crate::engine::{Bounds, Engine, Handle, OpList, Reads, Turn};
use crate::page::{PageRef, SlotId};
use crate::sync::{Mutex, MutexGuard};
use crate::tree::Scratch;
use crate::{Error, Result, TreeId};

/// A transaction's private part, shared with its readers and cursors.
#[derive(Debug)]
pub(crate) struct Private {
    state: Mutex<State>,
    handle: Arc<Handle>,
}

/// See above.
#[derive(Debug)]
pub(crate) struct State {
    /// What it began with (or was brought up to). `None` once it ended.
    pub(super) base: Option<View>,
    /// Writes to trees that are not among `trees`.
    pub(super) own: OwnWrites,
    /// After how many changes of the list it was asked for a stamp, and which it got.
    own_stamp: (u64, u64),
    /// Whether the list takes more: not once it was outgrown.
    pub(super) is_short: bool,
    pub(super) trees: Vec<PrivateTree>,
    pub(super) ops: OpList,
    /// Of these, what is appended.
    pub(super) appends: Appends,
    pub(super) parts: Parts,
    pub(super) reads: Reads,
    /// Birth stamp of its unsealed pages.
    pub(super) stamp: u64,
    /// Who else sees its pages.
    pub(super) holds: Holds,
    /// The present state, if somebody reads it.
    pub(super) reading: Option<Arc<Frozen>>,
    pub(super) scratch: Scratch,
    /// While it lives, commits wait that would change what was read.
    pub(super) turn: Option<Turn>,
    /// When it began, by the host's clock, if it is another try of what lost before.
    pub(super) began: Option<Duration>,
    /// Pages of undone work that cursors may still see: freed at the end.
    pub(super) undone: Vec<u32>,
    pub(super) freeing: super::freeing::Freeing,
}

impl Private {
    pub(super) fn new(
        handle: &Arc<Handle>,
        turn: Option<Turn>,
        began: Option<Duration>,
        patience: Option<Arc<dyn Patience>>,
    ) -> Result<Private> {
        let base = Some(View::newest(handle)?);
        let stamp = handle.engine().stamp();
        let state = State {
            base,
            own: OwnWrites::default(),
            own_stamp: (0, 0),
            is_short: true,
            trees: Vec::new(),
            ops: OpList::default(),
            appends: Appends::default(),
            parts: Parts::new(patience),
            reads: Reads::default(),
            stamp,
            holds: Holds::new(stamp),
            reading: None,
            scratch: Scratch::default(),
            turn,
            began,
            undone: Vec::new(),
            freeing: Default::default(),
        };
        Ok(Private { state: Mutex::new(state), handle: handle.clone() })
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    pub(super) fn engine(&self) -> &Engine {
        self.handle.engine()
    }

    /// Fails once the transaction has ended.
    #[inline]
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, State>> {
        self.handle.engine_here()?;
        // A transaction that a panic left in the middle of a change is at its end.
        let mut is_whole = true;
        let state = self.state.lock_noting(|| is_whole = false);
        if state.base.is_none() || !is_whole { Err(Error::Ended) } else { Ok(state) }
    }

    /// Ends the transaction without a trace, if it has not ended yet.
    pub(super) fn abandon(&self) {
        if !self.handle.is_here() {
            return;
        }
        let mut state = self.state.lock_noting(|| ());
        if state.base.is_some() {
            state.end(self.engine());
        }
    }

    /// Calls `read` with the value under `key`, the transaction's own if it wrote one. Remembers the key as read.
    pub(super) fn get_with<R>(&self, tree: TreeId, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        self.lock()?.get_with(self, tree, key, read)
    }
}

impl Private {
    /// As `get_with`, of a state that stays as it is.
    pub(super) fn get_frozen<R>(
        &self,
        frozen: &Frozen,
        tree: TreeId,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let mut state = self.lock()?;
        let Some(then) = frozen.then() else { return state.get_with(self, tree, key, read) };
        state.note_key(tree, key);
        get_at(&self.handle, state.slot()?, state.root_then(then, tree)?, key, read)
    }
}

impl State {
    /// See [`Private::get_with`].
    pub(super) fn get_with<R>(
        &mut self,
        private: &Private,
        tree: TreeId,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        if let Some((own, is_sum)) = self.own.get_noted(tree, key) {
            let read = own.map(read);
            // What it wrote itself rests on nobody, unless it was only added.
            if is_sum && !broken::is(Broken::SumsUnread) {
                self.note_key(tree, key);
            }
            return Ok(read);
        }
        self.note_key(tree, key);
        match self.find(tree) {
            Some(at) if !self.trees[at].dropped => self.get_private(private.engine(), at, key, read),
            _ => get_at(&private.handle, self.slot()?, self.root(tree)?, key, read),
        }
    }

    /// A savepoint that is a state to read: all that the transaction wrote is in its trees.
    pub(super) fn freeze(&mut self, engine: &Engine) -> Result<Savepoint> {
        while let Some(tree) = self.own.any_tree() {
            self.open(engine, tree)?;
        }
        Ok(self.savepoint(engine))
    }

    /// The tree's root at a savepoint that `freeze` made.
    pub(super) fn root_then(&self, then: &Savepoint, tree: TreeId) -> Result<PageRef> {
        match then.root(tree) {
            Some(root) => root,
            // Made since.
            None if self.is_later(then, tree)? => Ok(PageRef::NONE),
            None => self.base()?.root(tree),
        }
    }

    /// Whether the transaction has made the tree since the savepoint.
    pub(super) fn is_later(&self, then: &Savepoint, tree: TreeId) -> Result<bool> {
        let was_there = then.root(tree).is_some() || self.base()?.root(tree).is_ok();
        Ok(!was_there && self.find(tree).is_some())
    }

    /// As `is_later`, of a state that stays as it is.
    pub(super) fn is_later_than(&self, frozen: &Frozen, tree: TreeId) -> Result<bool> {
        frozen.then().map_or(Ok(false), |then| self.is_later(then, tree))
    }

    /// As `tree_stamp`, of a state that stays as it is.
    pub(super) fn stamp_frozen(&mut self, engine: &Engine, frozen: &Frozen, tree: TreeId) -> Result<u64> {
        match frozen.then() {
            Some(then) => Ok(self.root_then(then, tree)?.birth),
            None => self.tree_stamp(engine, tree),
        }
    }

    pub(super) fn base(&self) -> Result<&View> {
        self.base.as_ref().ok_or_else(|| Error::Ended)
    }

    /// For looking at pages, by who holds the transaction's lock.
    pub(super) fn slot(&self) -> Result<SlotId> {
        self.base().map(|base| base.slot)
    }

    pub(super) fn find(&self, tree: TreeId) -> Option<usize> {
        self.trees.iter().position(|private| private.id == tree)
    }

    /// The tree's root: with the transaction's own changes, except for those in the list.
    pub(super) fn root(&self, tree: TreeId) -> Result<PageRef> {
        match self.find(tree).map(|at| &self.trees[at]) {
            Some(private) if private.dropped => Err(Error::NoSuchTree(tree)),
            Some(private) => Ok(private.root),
            None => self.base()?.root(tree),
        }
    }

    /// The root with all of the transaction's own changes, sealed: what the transaction changes from now on is copied, and
    /// the cursor does not see it. With it, what the cursor gives back to `holds` when it closes.
    pub(super) fn root_for_cursor(&mut self, engine: &Engine, tree: TreeId) -> Result<(PageRef, Option<u64>)> {
        if self.own.changes_of(tree).is_some() {
            self.open(engine, tree)?;
        }
        let root = self.root(tree)?;
        if self.find(tree).is_none() {
            return Ok((root, None));
        }
        self.free_waiting(&engine.pages);
        self.seal(engine);
        self.holds.cursor(self.stamp);
        Ok((root, Some(self.stamp)))
    }

    pub(super) fn tree_stamp(&mut self, engine: &Engine, tree: TreeId) -> Result<u64> {
        if let Some(private) = self.find(tree).map(|at| &self.trees[at]) {
            if private.dropped {
                return Err(Error::NoSuchTree(tree));
            }
            // Changes in place keep the root's birth; counting them in the high bits keeps the stamps apart.
            return Ok(private.root.birth ^ private.writes << 40);
        }
        let birth = self.base()?.root(tree)?.birth;
        Ok(match (self.own.changes_of(tree), self.own_stamp) {
            (None, _) => birth,
            (Some(changes), (known, stamp)) if changes == known => stamp,
            // Others on the same state have as many changes: a stamp that nobody else has tells them apart.
            (Some(changes), _) => {
                self.own_stamp = (changes, engine.stamp());
                self.own_stamp.1
            }
        })
    }

    /// Remembers a key as read, or about to be.
    pub(super) fn note_key(&mut self, tree: TreeId, key: &[u8]) {
        self.announce(tree, (Bound::Included(key), Bound::Included(key)));
        self.reads.key(tree, key);
    }

    /// As `note_key`, of keys of which each likely follows the one before at once.
    pub(super) fn note_keys<'k>(&mut self, tree: TreeId, keys: impl Iterator<Item = &'k [u8]> + Clone) {
        if self.turn.is_some() {
            keys.clone().for_each(|key| self.announce(tree, (Bound::Included(key), Bound::Included(key))));
        }
        self.reads.keys(tree, keys);
    }

    /// As `note_key`, of a range.
    pub(super) fn note_range(&mut self, tree: TreeId, (lower, upper): Bounds<'_>) {
        self.announce(tree, (lower, upper));
        self.reads.range(tree, lower, upper);
    }

    /// As `note_range`, of a cursor that is about to be used; returns the number under which it is closed.
    pub(super) fn note_cursor(&mut self, tree: TreeId, (lower, upper): Bounds<'_>) -> u64 {
        self.announce(tree, (lower, upper));
        self.reads.open(tree, lower, upper)
    }

    fn announce(&self, tree: TreeId, range: Bounds<'_>) {
        if let Some(turn) = &self.turn {
            turn.announce(tree, range);
        }
    }

    pub(super) fn seal(&mut self, engine: &Engine) {
        self.stamp = engine.stamp();
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
        self.turn = None;
    }
}
