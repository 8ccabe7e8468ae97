//! Bringing a transaction to a newer published state, outside the commit lock.

use super::parts::Parts;
use super::private::PrivateTree;
use super::reader::{Claimed, View};
use super::state::State;
use super::validate::validate;
use crate::engine::{Deltas, Engine, Noted, Op, OpList};
use crate::page::SlotId;
use crate::tree::{LongValue, Patched};
use crate::{Error, Result, TreeId};

impl State {
    /// Validates against the newest published version, which the transaction rests on from then on, and moves the private
    /// trees onto it; false if none of them had been overtaken.
    pub(super) fn catch_up(&mut self, engine: &Engine, slot: SlotId, reads: &Noted<'_>) -> Result<bool> {
        let base = self.base.as_ref().ok_or_else(|| Error::Ended)?;
        // The commit ends by itself.
        let newest = View::unending(&base.handle)?;
        let trees = &newest.version().trees;
        self.check_trees(trees)?;
        validate(engine, slot.following(base.slot), reads, &base.version().trees, trees)?;
        let moved = |private: &&PrivateTree| Self::must_reapply(private, trees);
        let again: Vec<TreeId> = self.trees.iter().filter(moved).map(|tree| tree.id).collect();
        match again.is_empty() {
            true => self.base = Some(newest),
            false => self.rebase(engine, slot, newest, &again)?,
        }
        Ok(!again.is_empty())
    }

    /// As `catch_up`, while the transaction goes on: a tree of its own that was overtaken is a conflict.
    pub(super) fn go_on_from_newest(&mut self, engine: &Engine) -> Result<()> {
        self.outgrow(engine)?;
        if self.reads.is_any_open() || self.is_read() {
            return Err(Error::Conflict);
        }
        let claimed = Claimed::by_engine(engine)?;
        let base = self.base.as_ref().ok_or_else(|| Error::Ended)?;
        let newest = View::newest(&base.handle)?;
        let (from, to) = (&base.version().trees, &newest.version().trees);
        self.check_trees(to)?;
        validate(engine, claimed.slot.following(base.slot), &self.reads.noted(), from, to)?;
        if self.trees.iter().any(|private| Self::must_reapply(private, to)) {
            return Err(Error::Conflict);
        }
        self.base = Some(newest);
        Ok(())
    }

    /// Applies the operations on some trees to the version's; the others had not changed, so their base moves too.
    fn rebase(&mut self, engine: &Engine, slot: SlotId, newest: View, again: &[TreeId]) -> Result<()> {
        self.forget_places();
        for at in 0..self.trees.len() {
            let private = &mut self.trees[at];
            if again.contains(&private.id) {
                private.discard(&engine.pages);
                self.trees[at] = PrivateTree::new(private.id, newest.version().trees.root(private.id), self.stamp);
            }
        }
        let (parts, ops): (Parts, OpList) = (std::mem::take(&mut self.parts), std::mem::take(&mut self.ops));
        let result = parts.for_each(engine, &ops, |op| match (again.contains(&op.tree()), self.find(op.tree())) {
            (true, Some(at)) => self.redo(engine, slot, at, op),
            _ => Ok(()),
        });
        (self.parts, self.ops) = (parts, ops);
        self.base = Some(newest);
        result.map_err(|error| self.parts.explain(engine, error))
    }

    pub(super) fn redo_put(
        &mut self,
        engine: &Engine,
        slot: SlotId,
        at: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        let (pages, stamp, tree) = (&engine.pages, self.stamp, self.trees[at].id);
        let long = LongValue::write(pages, tree, stamp, key, value, &mut self.trees[at].created)?;
        engine.with_pages(slot, |pin| self.edit(at, pages, pin).put(key, long.cell(value)).map(drop))
    }

    fn redo(&mut self, engine: &Engine, slot: SlotId, at: usize, op: Op<'_>) -> Result<()> {
        self.spill_if_large(engine);
        let pages = &engine.pages;
        match op {
            Op::Put { key, value, .. } => self.redo_put(engine, slot, at, key, value),
            Op::Delete { key, .. } => self.try_and_spill(engine, slot, at, true, |edit| edit.delete(key).map(drop)),
            Op::Patch { key, offset, bytes, .. } => {
                match engine.with_pages(slot, |pin| self.edit(at, pages, pin).patch(key, offset, bytes, |_| ()))? {
                    Patched::Done => Ok(()),
                    Patched::Impossible => Err(Error::Conflict),
                    Patched::Long(length, first) => {
                        let value = engine.patched(slot, length, first, offset, bytes)?;
                        self.redo_put(engine, slot, at, key, &value)
                    }
                }
            }
            Op::Add { tree, key, front, deltas } => {
                let sum = engine.sum_at(slot, (tree, self.trees[at].root), key, front, Deltas::Encoded(deltas))?;
                match sum.value() {
                    Some(value) => self.redo_put(engine, slot, at, key, value),
                    None => self.redo(engine, slot, at, Op::Delete { tree, key }),
                }
            }
            // The commit does it.
            Op::Append { .. } => Ok(()),
            Op::Create { .. } | Op::Drop { .. } => Ok(()),
        }
    }
}
