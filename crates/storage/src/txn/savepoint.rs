//! Savepoints: where a transaction can be rolled back to.

use std::sync::{Arc, OnceLock};

use super::holds::HoldToken;
use super::own::OwnMark;
use super::private::PrivateTree;
use super::state::State;
use crate::broken::{self, Broken};
use crate::engine::{Engine, OpMark};
use crate::page::PageRef;
use crate::{Error, Result, TreeId};

/// Where a transaction can be rolled back to.
#[derive(Debug)]
pub struct Savepoint {
    trees: Vec<SavedTree>,
    /// What the list had. Private trees that were made since are given up, so it is all there again.
    own: OwnMark,
    ops: OpMark,
    appends: OpMark,
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

/// A state of a transaction's that is read whatever it writes later. It is the present one, and costs nothing, until something is
/// written.
#[derive(Debug, Default)]
pub(crate) struct Frozen(OnceLock<Savepoint>);

impl Frozen {
    pub(super) fn at(then: Savepoint) -> Frozen {
        Frozen(OnceLock::from(then))
    }

    /// Where it is not the present state any more. To be asked, and its answer to be used, under the transaction's lock.
    #[inline]
    pub(super) fn then(&self) -> Option<&Savepoint> {
        self.0.get()
    }
}

impl Savepoint {
    /// The root that a tree of the transaction's own had.
    pub(super) fn root(&self, tree: TreeId) -> Option<Result<PageRef>> {
        let saved = self.trees.iter().find(|saved| saved.id == tree)?;
        Some(if saved.dropped { Err(Error::NoSuchTree(tree)) } else { Ok(saved.root) })
    }
}

impl State {
    pub(super) fn savepoint(&mut self, engine: &Engine) -> Savepoint {
        self.free_waiting(&engine.pages);
        if !broken::is(Broken::SealedChanged) {
            self.seal(engine);
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
        let trees = self.trees.iter().map(save).collect();
        let (own, ops, appends) = (self.own.mark(), self.ops.mark(), self.appends.mark());
        Savepoint { trees, own, ops, appends, _hold: self.holds.savepoint(self.stamp) }
    }

    /// The present state, for who reads it later.
    pub(super) fn reading(&mut self) -> Arc<Frozen> {
        self.reading.get_or_insert_default().clone()
    }

    /// To be called before something is written, or taken back: what others read stays as it is.
    #[inline]
    pub(super) fn freeze_read(&mut self, engine: &Engine) -> Result<()> {
        if !self.is_read() || broken::is(Broken::ReadUnfrozen) {
            return Ok(());
        }
        self.freeze_now(engine)
    }

    /// Whether somebody reads the present state, and will.
    #[inline]
    pub(super) fn is_read(&self) -> bool {
        self.reading.as_ref().is_some_and(|reading| Arc::strong_count(reading) > 1)
    }

    #[cold]
    fn freeze_now(&mut self, engine: &Engine) -> Result<()> {
        let then = self.freeze(engine)?;
        if let Some(reading) = self.reading.take() {
            // Nobody else sets it, and nobody did.
            let _ = reading.0.set(then);
        }
        Ok(())
    }

    /// Undoes every change since the savepoint; what was read stays remembered.
    pub(super) fn rollback_to(&mut self, engine: &Engine, savepoint: &Savepoint) {
        let kept = savepoint.trees.len();
        let mut undone = Vec::new();
        let restored = if broken::is(Broken::SavepointKeepsTrees) { 1 } else { usize::MAX };
        for (tree, saved) in self.trees.iter_mut().zip(&savepoint.trees).take(restored) {
            assert_eq!(tree.id, saved.id, "a savepoint belongs to its transaction");
            tree.root = saved.root;
            tree.dropped = saved.dropped;
            undone.append(&mut tree.created.cut(saved.created, saved.waiting));
            tree.dead.truncate(saved.dead);
            tree.chains.truncate(saved.chains);
            tree.writes += 1;
        }
        let gone: Vec<PrivateTree> = self.trees.drain(kept..).collect();
        gone.into_iter().for_each(|mut tree| undone.append(&mut tree.created.cut(0, 0)));
        match self.holds.any_cursor() {
            false => engine.pages.free_private(&undone),
            // Cursors may see them: they wait for the end.
            true => self.undone.append(&mut undone),
        }
        if !broken::is(Broken::SavepointKeepsList) {
            self.own.cut(&savepoint.own);
        }
        if !broken::is(Broken::SavepointKeepsOperations) {
            self.ops.cut(savepoint.ops);
            self.parts.cut(&self.ops);
        }
        let State { appends, trees, .. } = self;
        appends.cut(savepoint.appends, |tree| trees.iter().any(|private| private.id == tree));
        if broken::is(Broken::SavepointForgetsReads) {
            self.reads = crate::engine::Reads::default();
        }
        self.seal(engine);
    }
}
