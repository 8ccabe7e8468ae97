//! A transaction's commit: validate, then adopt its trees or apply its operations again.
//!
//! A tree that nobody changed since the transaction began is adopted as it is. Where somebody did, what the transaction
//! read is compared by key with what changed (`validate`): a hit is a conflict, none lets its operations be applied to the
//! newer tree. What is much of that is done outside the commit lock, against newer and newer published states (`rebase`):
//! under the lock only what was committed since the last of them is looked at, and no more than a little.

use super::private::PrivateTree;
use super::reader::{Claimed, View};
use super::state::State;
use super::ticket::Ticket;
use super::transaction::Transaction;
use super::validate::{self, Effort};
use crate::broken::{self, Broken};
use crate::engine::{Engine, GivesUp, Losses, Noted, Op, Trees, Writer, WriterGuard};
use crate::log::{KeptSegments, OpenBatch, RecordKind};
use crate::page::{Lack, PageRef, SlotId};
use crate::{Durability, Error, Result, TreeId};

/// Transactions with more bytes of operations are brought up to date outside the commit lock first.
const LARGE: u64 = 64 << 10;
/// How often that is tried before the rest is done under the lock.
const ROUNDS: usize = 4;
/// How often a commit may find too much to compare, or a page missing, under the lock, before it does that there.
const TRIES: usize = 16;

impl Transaction {
    pub(super) fn commit_as(
        self,
        durability: Option<Durability>,
        lost: Option<&mut Losses>,
        gives_up: GivesUp<'_>,
        appended: Option<&mut dyn FnMut(u64)>,
    ) -> Result<Option<u64>> {
        let engine = self.private.engine();
        let mode = durability.unwrap_or(engine.options.durability);
        let Some((writer, position)) = self.append_changes(lost, gives_up)? else { return Ok(None) };
        if let Some(appended) = appended {
            appended(position);
        }
        engine.acknowledge(writer, position, mode).map(|()| Some(position))
    }

    pub(super) fn commit_handed_over(self) -> Result<Ticket> {
        let handle = self.private.handle().clone();
        let appended = self.append_changes(None, None)?;
        let position = appended.as_ref().map(|(_, position)| *position);
        if let Some((writer, position)) = appended {
            handle.engine().hand_over(writer, position);
        }
        Ok(Ticket::new(&handle, 0, position))
    }

    pub(super) fn commit_pipelined(
        self,
        durability: Option<Durability>,
        lost: &mut Losses,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Ticket> {
        let handle = self.private.handle().clone();
        let engine = handle.engine();
        let mode = durability.unwrap_or(engine.options.durability);
        let (position, pending) = match self.append_changes(Some(lost), Some(gives_up))? {
            Some((writer, position)) => (position, engine.acknowledge_later(writer, mode)),
            None => (0, None),
        };
        Ok(Ticket::new(&handle, position, pending))
    }

    /// Everything up to the record in the batch; the commit lock is still held. `None`: there was nothing to commit.
    fn append_changes(
        &self,
        lost: Option<&mut Losses>,
        gives_up: GivesUp<'_>,
    ) -> Result<Option<(WriterGuard<'_>, u64)>> {
        let private = &self.private;
        let engine = private.engine();
        let mut state = private.lock()?;
        if state.ops.is_empty() {
            state.end(engine);
            return Ok(None);
        }
        engine.check_writable()?;
        let appended = match state.is_all_short(engine)? {
            true => state.append_short(engine, gives_up).transpose(),
            false => None,
        };
        let appended = match appended {
            Some(Err(error)) if error.is_of_pages() => {
                // What is changed in private trees may find one. (What was taken back is another state than the published one.)
                engine.wait_for_all()?;
                None
            }
            appended => appended,
        };
        match appended.unwrap_or_else(|| state.append_long(engine, gives_up)) {
            Ok((writer, position)) => {
                state.end(engine);
                Ok(Some((writer, position)))
            }
            Err(error) => {
                state.parts.forget(engine);
                if matches!(error, Error::Conflict) {
                    engine.counters.conflicts.add(1);
                    if let Some(lost) = lost {
                        let took = state.began.map(|began| engine.env.host.now().saturating_sub(began));
                        lost.note(std::mem::take(&mut state.reads), took.unwrap_or_default());
                    }
                    engine.wait_for_all()?;
                }
                Err(error)
            }
        }
    }
}

impl State {
    /// Whether all that it did is in its list, and nothing in the log: it may have rolled back to when that was so. A key
    /// that was written often has one place in the list, but each of its operations one in the record.
    fn is_all_short(&self, engine: &Engine) -> Result<bool> {
        let fits = self.ops.bytes().len() <= OpenBatch::record_limit(engine.segments()?.size());
        Ok(fits && self.trees.is_empty() && self.parts.is_unused() && !(self.own.is_empty() && self.appends.is_empty()))
    }

    /// With private trees.
    fn append_long<'e>(&mut self, engine: &'e Engine, gives_up: GivesUp<'_>) -> Result<(WriterGuard<'e>, u64)> {
        let claimed = Claimed::by_engine(engine)?;
        let slot = claimed.slot;
        self.outgrow(engine)?;
        self.parts.wait_readable(engine, &self.ops)?;
        let reads = std::mem::take(&mut self.reads);
        let appended = self.append_validated(engine, slot, &reads.noted(), gives_up);
        self.reads = reads;
        appended
    }

    fn append_validated<'e>(
        &mut self,
        engine: &'e Engine,
        slot: SlotId,
        reads: &Noted<'_>,
        gives_up: GivesUp<'_>,
    ) -> Result<(WriterGuard<'e>, u64)> {
        if self.ops.length() > LARGE {
            for _ in 0..ROUNDS {
                if !self.catch_up(engine, slot, reads)? {
                    break;
                }
            }
        }
        // (The room is given back when the record is in the log.)
        let (last, room) = self.parts.send_rest(engine, &self.ops, gives_up)?;
        self.append(engine, slot, reads, (last, room), gives_up)
    }

    /// Validates, brings the operations to the latest state and appends the record, whose operations begin `last` in those
    /// in memory, and takes room in the log as said. The commit lock is held from then on.
    ///
    /// It ends whatever others commit meanwhile: who was overtaken [`TRIES`] times does what is left under the lock.
    fn append<'e>(
        &mut self,
        engine: &'e Engine,
        slot: SlotId,
        reads: &Noted<'_>,
        (last, mut room): (usize, Option<KeptSegments<'e>>),
        gives_up: GivesUp<'_>,
    ) -> Result<(WriterGuard<'e>, u64)> {
        let (mut lack, mut gone) = (Lack::default(), None);
        let mut tried = 0;
        loop {
            let effort = if tried < TRIES { Effort::Little } else { Effort::Whatever };
            let by = self.parts.taker(room.as_ref());
            let locked = engine.lock_with_room_by(by, self.ops.bytes().len() - last, gives_up);
            let writer = locked.map_err(|error| self.parts.end_without_room(engine, error))?;
            self.parts.check_kept(&writer)?;
            if let Some(turn) = self.must_wait(engine) {
                drop(writer);
                // Its owner may wait for it.
                room = None;
                engine.turns.wait_for(engine, turn, gives_up)?;
                continue;
            }
            tried += 1;
            let ready = self.validate_latest(engine, slot, reads, &writer.trees, effort).and_then(|valid| {
                if valid && effort == Effort::Little {
                    self.touch(engine, slot, &writer.trees)?;
                }
                Ok(valid)
            });
            match ready {
                Ok(true) => return self.finish(engine, slot, writer, last),
                Ok(false) => {
                    // What was committed meanwhile is compared outside the lock, once it is published.
                    let position = writer.appended;
                    engine.wait_durable(writer, position)?;
                    self.catch_up(engine, slot, reads)?;
                }
                Err(error) => {
                    drop(writer);
                    engine.provide_latest(error, &mut lack, &mut gone)?;
                    self.touch_published(engine, slot)?;
                }
            }
        }
    }

    /// The turn of another transaction that this one would beat. Under the commit lock.
    pub(super) fn must_wait(&self, engine: &Engine) -> Option<u64> {
        if self.turn.is_some() {
            return None;
        }
        match self.ops.sent() > 0 {
            false => engine.turns.before(engine, self.ops.bytes()),
            true => {
                engine.turns.before_trees(engine, self.trees.iter().map(|tree| tree.id).chain(self.appends.trees()))
            }
        }
    }

    /// Under the commit lock, validated: applies the changes and appends the record.
    fn finish<'e>(
        &mut self,
        engine: &'e Engine,
        slot: SlotId,
        mut writer: WriterGuard<'e>,
        last: usize,
    ) -> Result<(WriterGuard<'e>, u64)> {
        let kind = self.parts.commit_record(self.ops.sent() + last as u64);
        let position = self.end_of_record(&writer, kind, last);
        self.apply(engine, slot, &mut writer, position)?;
        let position = self.append_record(engine, &mut writer, kind, last, position);
        self.parts.close(engine, &mut writer);
        engine.counters.commits.add(1);
        Ok((writer, position))
    }

    /// Where the record of the operations from `last` on will end, if something is appended by it: it is part of the keys.
    pub(super) fn end_of_record(&self, writer: &Writer, kind: RecordKind, last: usize) -> u64 {
        match self.appends.is_empty() {
            true => 0,
            false => writer.batch.end_with(kind, self.ops.bytes().len() - last),
        }
    }

    /// Appends the record of the operations from `last` on, which `end_of_record` was asked for.
    pub(super) fn append_record(
        &self,
        engine: &Engine,
        writer: &mut Writer,
        kind: RecordKind,
        last: usize,
        position: u64,
    ) -> u64 {
        let operations = &self.ops.bytes()[last..];
        match self.appends.is_empty() {
            true => engine.append(writer, kind, operations),
            false => engine.append_at(writer, kind, operations, position),
        }
    }

    /// Whether the transaction's changes still make sense: no tree of them was dropped, and none that it drops changed.
    pub(super) fn check_trees(&self, latest: &Trees) -> Result<()> {
        for private in &self.trees {
            let Some(base) = private.base else { continue };
            let now = latest.root(private.id).ok_or_else(|| Error::Conflict)?;
            if private.dropped && now != base && !broken::is(Broken::DropConflicts) {
                return Err(Error::Conflict);
            }
        }
        Ok(())
    }

    /// Fails with a conflict if anything that was read is different in `latest`; false if that takes more than the effort.
    fn validate_latest(
        &self,
        engine: &Engine,
        slot: SlotId,
        reads: &Noted<'_>,
        latest: &Trees,
        effort: Effort,
    ) -> Result<bool> {
        self.check_trees(latest)?;
        let base = self.base.as_ref().ok_or_else(|| Error::Ended)?;
        let states = (&base.version().trees, latest);
        validate::validate_latest(engine, slot.following(base.slot), reads, states, effort)
    }

    pub(super) fn must_reapply(private: &PrivateTree, latest: &Trees) -> bool {
        !private.dropped && private.base.is_some() && private.base != latest.root(private.id)
    }

    /// Makes sure that the pages on which operations are applied again are in memory, while they still can be loaded
    /// without the lock. (Not those of a transaction with operations in the log: they may be more than the cache holds,
    /// and are loaded one by one.)
    fn touch(&self, engine: &Engine, slot: SlotId, latest: &Trees) -> Result<()> {
        let again = self.ops.sent() == 0 && self.trees.iter().any(|private| Self::must_reapply(private, latest));
        if !again && self.appends.is_empty() {
            return Ok(());
        }
        let pin = engine.pages.slots.pin(slot)?;
        let mut touch = |root, key: &[u8]| Ok(crate::tree::get(&engine.pages, &pin, root, key).map(drop)?);
        self.for_each_end(|tree| latest.root(tree), &mut touch)?;
        if again { self.for_each_again(engine, latest, touch) } else { Ok(()) }
    }

    /// Loads the pages that `touch` will look for, as far as the newest published state has them: not one for each time
    /// that the commit lock is taken.
    fn touch_published(&self, engine: &Engine, slot: SlotId) -> Result<()> {
        if self.ops.sent() > 0 && self.appends.is_empty() {
            return Ok(());
        }
        let newest = View::unending(&self.base.as_ref().ok_or_else(|| Error::Ended)?.handle)?;
        let (slot, trees) = (slot.following(newest.slot), &newest.version().trees);
        let mut load =
            |root, key: &[u8]| engine.with_pages(slot, |pin| crate::tree::get(&engine.pages, pin, root, key).map(drop));
        self.for_each_end(|tree| trees.root(tree), &mut load)?;
        if self.ops.sent() > 0 { Ok(()) } else { self.for_each_again(engine, trees, load) }
    }

    /// Calls `each` with the root and the key of every operation that must be applied again to `latest`.
    fn for_each_again(
        &self,
        engine: &Engine,
        latest: &Trees,
        mut each: impl FnMut(PageRef, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.parts.for_each(engine, &self.ops, |op| {
            let (tree, key) = match op {
                Op::Put { tree, key, .. }
                | Op::Patch { tree, key, .. }
                | Op::Delete { tree, key }
                | Op::Add { tree, key, .. } => (tree, key),
                // Where those go that are appended is looked at by itself.
                Op::Append { .. } | Op::Create { .. } | Op::Drop { .. } => return Ok(()),
            };
            let again = self.find(tree).is_some_and(|at| Self::must_reapply(&self.trees[at], latest));
            match latest.root(tree).filter(|_| again) {
                Some(root) => each(root, key),
                None => Ok(()),
            }
        })
    }

    fn apply(&mut self, engine: &Engine, slot: SlotId, writer: &mut Writer, position: u64) -> Result<()> {
        let again: Vec<TreeId> =
            self.trees.iter().filter(|tree| Self::must_reapply(tree, &writer.trees)).map(|tree| tree.id).collect();
        writer.changed = true;
        if !again.is_empty() || !self.appends.is_empty() {
            engine.counters.rebases.add(u64::from(!again.is_empty()));
            let mark = writer.mark(engine.stamp());
            writer.changes.created.frees = self.only_frees();
            let reapplied = self.reapply(engine, slot, writer, &again);
            writer.changes.created.frees = false;
            if let Err(error) = reapplied.and_then(|()| self.put_appends(engine, slot, writer, &again, position)) {
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
        if trees.is_empty() {
            return Ok(());
        }
        self.parts.for_each(engine, &self.ops, |op| match op {
            // Behind all else.
            Op::Append { .. } => Ok(()),
            op if trees.contains(&op.tree()) => engine.apply(writer, slot, op),
            _ => Ok(()),
        })
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
