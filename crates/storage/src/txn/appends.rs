//! What a transaction appends: entries whose keys its commit gives.
//!
//! They are in the operation list, for the log, and here once more, for the commit, which puts them where they belong under
//! the commit lock, once it knows where its record ends. Nothing is read for it, so there is nothing to conflict; the
//! transaction does not see them itself.
//!
//! Memory keeps them until the commit, and others wait while it puts them, so they are few. Beyond that a tree is made, of the
//! transaction's own, that has the others by ordinal, and is adopted whole; its number is appended, under the last ordinal of
//! all ([`BESIDE`]). Whoever reads what was appended ([`Appended`](super::appended::Appended)) finds them there, and whoever forgets
//! that entry drops the tree.

use super::state::State;
use crate::broken::{self, Broken};
use crate::engine::meta::APPENDS;
use crate::engine::{AppendKey, Engine, Op, OpList, OpMark, Ops, Writer};
use crate::page::{PageRef, SlotId};
use crate::{Error, Result, TreeId};

/// The ordinal under which the number of a tree lies that has more of the commit's.
pub(super) const BESIDE: u32 = u32::MAX;
/// Bytes of operations that the commit puts, at most one value more.
const FEW: usize = 32 << 10;

/// See above.
#[derive(Debug, Default)]
pub(super) struct Appends {
    ops: OpList,
    /// Trees that have what did not fit, each with the one that it belongs to.
    beside: Vec<(TreeId, TreeId)>,
    /// Never less again, whatever is rolled back.
    ordinals: u32,
}

impl Appends {
    pub(super) fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// One that no other of the transaction has, greater than those before.
    pub(super) fn ordinal(&mut self) -> Result<u32> {
        let ordinal = self.ordinals;
        // Up to the one that is kept.
        self.ordinals = ordinal.checked_add(1).ok_or_else(|| Error::TooLarge)?;
        Ok(ordinal)
    }

    pub(super) fn mark(&self) -> OpMark {
        self.ops.mark()
    }

    /// Goes back to when there was no more, and only the trees were there that `is_kept` names.
    pub(super) fn cut(&mut self, mark: OpMark, is_kept: impl Fn(TreeId) -> bool) {
        if !broken::is(Broken::SavepointKeepsAppends) {
            self.ops.cut(mark);
        }
        self.beside.retain(|(_, beside)| is_kept(*beside));
    }

    /// The trees, some more than once.
    pub(super) fn trees(&self) -> impl Iterator<Item = TreeId> {
        Ops::new(self.ops.bytes()).flatten().map(|op| op.tree())
    }
}

impl State {
    pub(super) fn append_value(&mut self, engine: &Engine, tree: TreeId, value: &[u8]) -> Result<()> {
        engine.allow(APPENDS)?;
        self.root(tree)?;
        let ordinal = self.appends.ordinal()?;
        let beside = self.appends.beside.iter().find(|(of, _)| *of == tree).map(|(_, beside)| *beside);
        match beside {
            None if self.appends.ops.bytes().len() <= FEW => self.append_under(engine, tree, ordinal, value),
            None => {
                let beside = self.make_tree(engine, false)?;
                self.append_under(engine, tree, BESIDE, &beside.0.to_le_bytes())?;
                self.appends.beside.push((tree, beside));
                self.put(engine, beside, &ordinal.to_be_bytes(), value)
            }
            Some(beside) => self.put(engine, beside, &ordinal.to_be_bytes(), value),
        }
    }

    fn append_under(&mut self, engine: &Engine, tree: TreeId, ordinal: u32, value: &[u8]) -> Result<()> {
        self.parts.send_early(engine, &mut self.ops)?;
        self.ops.append(tree, ordinal, value);
        self.appends.ops.append(tree, ordinal, value);
        Ok(())
    }

    /// Puts what is appended by the record that ends at `position`: into the transaction's own trees that are about to be
    /// adopted, else (`again` has those that are not) into the latest state.
    pub(super) fn put_appends(
        &mut self,
        engine: &Engine,
        slot: SlotId,
        writer: &mut Writer,
        again: &[TreeId],
        position: u64,
    ) -> Result<()> {
        let appends = std::mem::take(&mut self.appends);
        let put = Ops::new(appends.ops.bytes()).flatten().try_for_each(|op| {
            let tree = op.tree();
            let mut key = AppendKey::default();
            match (self.find(tree).filter(|_| !again.contains(&tree)), op.at(position, &mut key)) {
                (Some(at), _) if self.trees[at].dropped => Ok(()),
                (Some(at), Op::Put { key, value, .. }) => self.redo_put(engine, slot, at, key, value),
                (_, op) => engine.apply(writer, slot, op),
            }
        });
        self.appends = appends;
        put.map_err(|error| match error {
            // Dropped meanwhile.
            Error::NoSuchTree(_) => Error::Conflict,
            error => error,
        })
    }

    /// Calls `each` with the root of every tree of the latest state that is appended to, and a key where that will be.
    pub(super) fn for_each_end(
        &self,
        root: impl Fn(TreeId) -> Option<PageRef>,
        mut each: impl FnMut(PageRef, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut last = None;
        for tree in self.appends.trees() {
            if last.replace(tree) != Some(tree)
                && let Some(root) = root(tree)
            {
                each(root, AppendKey::new(u64::MAX, u32::MAX).bytes())?;
            }
        }
        Ok(())
    }
}
