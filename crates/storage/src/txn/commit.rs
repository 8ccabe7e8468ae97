//! A transaction's commit: validate, then adopt its trees or apply its operations again.
//!
//! A tree that nobody changed since the transaction began is adopted as it is. Where somebody did, what the transaction
//! read is compared by key with what changed: a hit is a conflict, none lets its operations be applied to the newer
//! tree. Large transactions do most of that outside the commit lock, against newer and newer published snapshots.

use super::ops::{Op, OpList};
use super::parts::Parts;
use super::reader::{Claimed, View};
use super::transaction::{PrivateTree, State, Ticket, Transaction};
use super::version::{TreeId, Trees};
use crate::broken::{self, Broken};
use crate::page::PageRef;
use crate::page::{Pin, SlotId};
use crate::store::{Engine, Signal, Writer, WriterGuard};
use crate::tree::{LongValue, is_changed};
use crate::{Durability, Error, Result};

/// Transactions with more bytes of operations are brought up to date outside the commit lock first.
const LARGE: u64 = 64 << 10;
/// How often that is tried before the rest is done under the lock.
const ROUNDS: usize = 4;

impl Transaction {
    pub(super) fn commit_as(self, durability: Option<Durability>) -> Result<()> {
        let engine = self.private.handle().engine();
        let mode = durability.unwrap_or(engine.options.durability);
        match self.append()? {
            Some((writer, position)) => engine.acknowledge(writer, position, mode),
            None => Ok(()),
        }
    }

    pub(super) fn commit_pipelined(self) -> Result<Ticket> {
        let handle = self.private.handle().clone();
        let engine = handle.engine();
        let position = match self.append()? {
            Some((mut writer, position)) => {
                writer.turn.must_be_durable(position);
                position
            }
            None => 0,
        };
        engine.signals.raise(Signal::Log);
        Ok(Ticket { handle: Some(handle.clone()), position })
    }

    /// Everything up to the record in the batch; the commit lock is still held. `None`: there was nothing to commit.
    fn append(&self) -> Result<Option<(WriterGuard<'_>, u64)>> {
        let private = &self.private;
        let engine = private.handle().engine();
        let mut state = private.lock()?;
        if state.ops.is_empty() {
            state.end(engine);
            return Ok(None);
        }
        engine.check_writable()?;
        let claimed = Claimed::new(private.handle())?;
        state.parts.wait_readable(engine)?;
        if state.ops.length() > LARGE {
            for _ in 0..ROUNDS {
                if !state.catch_up(engine, claimed.slot)? {
                    break;
                }
            }
        }
        let State { parts, ops, .. } = &mut *state;
        let last = parts.send_rest(engine, ops)?;
        match state.append(engine, claimed.slot, last) {
            Ok((writer, position)) => {
                state.end(engine);
                Ok(Some((writer, position)))
            }
            Err(error) => {
                state.parts.forget(engine);
                if matches!(error, Error::Conflict) {
                    engine.counters.conflicts.add(1);
                    engine.wait_for_all()?;
                }
                Err(error)
            }
        }
    }
}

impl State {
    /// Under the commit lock: validate, adopt or apply, append. `last`: where among the operations in memory those of
    /// the commit record begin.
    fn append<'e>(&mut self, engine: &'e Engine, slot: SlotId, last: usize) -> Result<(WriterGuard<'e>, u64)> {
        let (mut full, mut gone) = (0, None);
        loop {
            let mut writer = engine.lock_with_room(self.ops.bytes().len() - last)?;
            self.parts.check_kept(&writer)?;
            match self.validate(engine, slot, &writer.trees).and_then(|()| self.touch(engine, slot, &writer.trees)) {
                Ok(()) => {}
                Err(error) => {
                    drop(writer);
                    engine.provide_latest(error, &mut full, &mut gone)?;
                    continue;
                }
            }
            self.apply(engine, slot, &mut writer)?;
            let kind = self.parts.commit_record(self.ops.sent() + last as u64);
            let position = engine.append(&mut writer, kind, &self.ops.bytes()[last..]);
            self.parts.close(&mut writer);
            engine.counters.commits.add(1);
            return Ok((writer, position));
        }
    }

    /// Fails with a conflict if anything that was read is different in `latest`. All pages must be in memory.
    fn validate(&self, engine: &Engine, slot: SlotId, latest: &Trees) -> Result<()> {
        for private in &self.trees {
            let Some(base) = private.base else { continue };
            let now = latest.root(private.id).ok_or(Error::Conflict)?;
            if private.dropped && now != base && !broken::is(Broken::DropConflicts) {
                return Err(Error::Conflict);
            }
        }
        let base = self.base.as_ref().ok_or(Error::Ended)?;
        let pin = engine.pages.slots.pin(slot.following(base.slot))?;
        for tree in self.reads.trees() {
            if broken::is(Broken::Reads) || (tree == TreeId::CATALOG && broken::is(Broken::SchemaVersions)) {
                continue;
            }
            let Some(base) = self.base_root(tree) else { continue };
            let now = latest.root(tree).ok_or(Error::Conflict)?;
            if now != base && self.is_read_changed(engine, &pin, tree, base, now)? {
                return Err(Error::Conflict);
            }
        }
        Ok(())
    }

    fn is_read_changed(
        &self,
        engine: &Engine,
        pin: &Pin<'_>,
        tree: TreeId,
        base: PageRef,
        now: PageRef,
    ) -> Result<bool> {
        for (lower, upper) in self.reads.of(tree) {
            if is_changed(&engine.pages, pin, base, now, lower, upper)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The root that the transaction began with; `None` for a tree of its own.
    fn base_root(&self, tree: TreeId) -> Option<PageRef> {
        match self.find(tree) {
            Some(at) => self.trees[at].base,
            None => self.base.as_ref().and_then(|base| base.version().trees.root(tree)),
        }
    }

    fn must_reapply(private: &PrivateTree, latest: &Trees) -> bool {
        !private.dropped && private.base.is_some() && private.base != latest.root(private.id)
    }

    /// Makes sure that the pages on which operations are applied again are in memory, while they still can be loaded
    /// without the lock. (Not those of a transaction with operations in the log: they may be more than the cache holds,
    /// and are loaded one by one.)
    fn touch(&self, engine: &Engine, slot: SlotId, latest: &Trees) -> Result<()> {
        if self.parts.has_sent() || !self.trees.iter().any(|private| Self::must_reapply(private, latest)) {
            return Ok(());
        }
        let pin = engine.pages.slots.pin(slot)?;
        self.parts.for_each(engine, &self.ops, |op| {
            let (tree, key) = match op {
                Op::Put { tree, key, .. } | Op::Patch { tree, key, .. } | Op::Delete { tree, key } => (tree, key),
                Op::Create { .. } | Op::Drop { .. } => return Ok(()),
            };
            let again = self.find(tree).is_some_and(|at| Self::must_reapply(&self.trees[at], latest));
            if let (true, Some(root)) = (again, latest.root(tree)) {
                crate::tree::get(&engine.pages, &pin, root, key)?;
            }
            Ok(())
        })
    }

    fn apply(&mut self, engine: &Engine, slot: SlotId, writer: &mut Writer) -> Result<()> {
        let again: Vec<TreeId> =
            self.trees.iter().filter(|tree| Self::must_reapply(tree, &writer.trees)).map(|tree| tree.id).collect();
        writer.changed = true;
        if !again.is_empty() {
            engine.counters.rebases.add(1);
            let mark = writer.mark(engine.stamp());
            if let Err(error) = self.reapply(engine, slot, writer, &again) {
                writer.undo(mark, &engine.pages);
                return Err(error);
            }
        }
        for private in &mut self.trees {
            if !again.contains(&private.id) {
                private.adopt(writer);
            }
        }
        Ok(())
    }

    fn reapply(&self, engine: &Engine, slot: SlotId, writer: &mut Writer, trees: &[TreeId]) -> Result<()> {
        self.parts.for_each(engine, &self.ops, |op| match trees.contains(&op.tree()) {
            true => engine.apply(writer, slot, op),
            false => Ok(()),
        })
    }

    /// Validates against the newest published version and moves the private trees onto it; false if nothing relevant
    /// had changed.
    fn catch_up(&mut self, engine: &Engine, slot: SlotId) -> Result<bool> {
        let handle = self.base.as_ref().ok_or(Error::Ended)?.handle.clone();
        // The commit ends by itself.
        let newest = View::unending(&handle)?;
        let trees = &newest.version().trees;
        let moved = |private: &&PrivateTree| Self::must_reapply(private, trees);
        let again: Vec<TreeId> = self.trees.iter().filter(moved).map(|tree| tree.id).collect();
        loop {
            match self.validate(engine, slot, trees) {
                Ok(()) => break,
                Err(Error::NotResident(page)) => engine.pages.load(page)?,
                Err(error) => {
                    engine.counters.conflicts.add(matches!(error, Error::Conflict) as u64);
                    return Err(error);
                }
            }
        }
        if again.is_empty() {
            return Ok(false);
        }
        self.rebase(engine, slot, newest, &again)?;
        Ok(true)
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
        result
    }

    fn redo_put(&mut self, engine: &Engine, slot: SlotId, at: usize, key: &[u8], value: &[u8]) -> Result<()> {
        let (pages, stamp, tree) = (&engine.pages, self.stamp, self.trees[at].id);
        let long = LongValue::write(pages, tree, stamp, key, value, &mut self.trees[at].created)?;
        engine.with_pages(slot, |pin| self.edit(at, pages, pin).put(key, long.cell(value)).map(drop))
    }

    fn redo(&mut self, engine: &Engine, slot: SlotId, at: usize, op: Op<'_>) -> Result<()> {
        use crate::tree::Patched;
        self.spill_if_large(engine);
        let pages = &engine.pages;
        match op {
            Op::Put { key, value, .. } => self.redo_put(engine, slot, at, key, value),
            Op::Delete { key, .. } => engine.with_pages(slot, |pin| self.edit(at, pages, pin).delete(key).map(drop)),
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
            Op::Create { .. } | Op::Drop { .. } => Ok(()),
        }
    }
}

impl PrivateTree {
    /// The tree becomes the latest state's; its pages are the database's from now on.
    fn adopt(&mut self, writer: &mut Writer) {
        let changes = &mut writer.changes;
        changes.dead.append(&mut self.dead);
        changes.created.append(&mut self.created, &mut changes.dead);
        changes.chains.append(&mut self.chains);
        if !self.dropped {
            writer.trees.set(self.id, self.root);
        } else if writer.trees.remove(self.id).is_some() || self.base.is_none() {
            // All its pages go, those that this transaction made included.
            if !self.root.is_none() {
                changes.drops.push(self.root);
            }
        }
    }
}
