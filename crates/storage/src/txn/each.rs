//! Patching or removing many entries: those of a leaf with one way to it.
//!
//! What must hold: an operation is put down for every patch and every removal, and none for what was not changed. An entry is shown
//! once, for who is asked may count.

use super::lookup::KeyList;
use super::own::WRITES;
use super::state::{Private, State};
use crate::engine::Engine;
use crate::tree::{Patches, Ran};
use crate::{Result, TreeId};

/// Says what becomes of the value of the key at a position; false: nothing that patches could do.
pub(super) type Change<'c> = &'c mut dyn FnMut(usize, &[u8], &mut Patches) -> bool;

impl State {
    /// See [`Writer::patch_each`](super::TransactionWriter::patch_each).
    pub(super) fn patch_each(
        &mut self,
        private: &Private,
        tree: TreeId,
        keys: &KeyList,
        from: usize,
        change: Change<'_>,
    ) -> Result<usize> {
        let few = keys.len().saturating_sub(from) <= WRITES;
        if few && self.is_short && self.find(tree).is_none() {
            return self.patch_few(private, tree, keys, from, change);
        }
        let engine = private.engine();
        let at = self.open(engine, tree)?;
        let (mut done, mut patches) = (from, Patches::default());
        while done < keys.len() {
            self.send_early(engine)?;
            self.spill_if_large(engine);
            let ran = self.patch_leaf(engine, (at, tree), keys, done, &mut patches, change);
            // What is left to others is asked for again, and not all that follows with it.
            let seen = match ran {
                Ok(Ran::Onward(next)) => next,
                Ok(Ran::Left(next)) => keys.len().min(next + 1),
                Err(_) => keys.len(),
            };
            self.note_keys(tree, (done..seen).map(|at| keys.get(at)));
            self.free_waiting(&engine.pages);
            self.trees[at].writes += 1;
            match ran? {
                Ran::Onward(next) => done = next,
                Ran::Left(next) => return Ok(next),
            }
        }
        Ok(done)
    }

    /// See [`Writer::delete_each`](super::TransactionWriter::delete_each).
    pub(super) fn delete_each(&mut self, private: &Private, tree: TreeId, keys: &KeyList) -> Result<usize> {
        let mut removed = 0;
        if keys.len() <= WRITES && self.is_short && self.find(tree).is_none() {
            for at in 0..keys.len() {
                removed += usize::from(self.delete(private, tree, keys.get(at))?);
            }
            return Ok(removed);
        }
        let engine = private.engine();
        let mut done = 0;
        while done < keys.len() {
            let next = self.delete_leaf(engine, tree, keys, done, &mut removed);
            let seen = *next.as_ref().unwrap_or(&keys.len());
            self.note_keys(tree, (done..seen).map(|at| keys.get(at)));
            done = next?;
        }
        Ok(removed)
    }

    /// Those that lie in the leaf of the first.
    fn delete_leaf(
        &mut self,
        engine: &Engine,
        tree: TreeId,
        keys: &KeyList,
        from: usize,
        removed: &mut usize,
    ) -> Result<usize> {
        let at = self.open(engine, tree)?;
        self.send_early(engine)?;
        self.spill_if_large(engine);
        let (slot, chains) = (self.slot()?, self.trees[at].chains.len());
        let mut ops = std::mem::take(&mut self.ops);
        let mut next = from;
        let key = |at: usize| (at < keys.len()).then(|| keys.get(at));
        let result = self.try_and_spill(engine, slot, at, true, |edit| {
            next = edit.delete_run(key, from, |at| {
                *removed += 1;
                ops.delete(tree, keys.get(at));
            })?;
            Ok(())
        });
        self.ops = ops;
        result?;
        self.free_chains(engine, slot, at, chains);
        self.free_waiting(&engine.pages);
        self.trees[at].writes += 1;
        Ok(next)
    }

    /// Those that lie in the leaf of the first.
    fn patch_leaf(
        &mut self,
        engine: &Engine,
        (at, tree): (usize, TreeId),
        keys: &KeyList,
        from: usize,
        patches: &mut Patches,
        change: Change<'_>,
    ) -> Result<Ran> {
        let mut ops = std::mem::take(&mut self.ops);
        let mut ran = Ran::Left(from);
        let key = |at: usize| (at < keys.len()).then(|| keys.get(at));
        let result = self.try_and_spill(engine, self.slot()?, at, self.is_freeing(), |edit| {
            ran = edit.patch_run(key, from, patches, |at, value, patches| {
                let is_done = change(at, value, patches) && patches.fit(value.len());
                if is_done {
                    patches.iter().for_each(|(offset, bytes)| ops.patch(tree, keys.get(at), offset, bytes));
                }
                is_done
            })?;
            Ok(())
        });
        self.ops = ops;
        result.map(|()| ran)
    }

    /// One by one, as a short transaction changes entries.
    fn patch_few(
        &mut self,
        private: &Private,
        tree: TreeId,
        keys: &KeyList,
        from: usize,
        change: Change<'_>,
    ) -> Result<usize> {
        let mut patches = Patches::default();
        for at in from..keys.len() {
            let key = keys.get(at);
            patches.clear();
            let told =
                self.get_with(private, tree, key, |value| change(at, value, &mut patches) && patches.fit(value.len()))?;
            if told != Some(true) {
                return Ok(at);
            }
            for (offset, bytes) in patches.iter() {
                self.patch(private, tree, key, offset, bytes)?;
            }
        }
        Ok(keys.len())
    }
}
