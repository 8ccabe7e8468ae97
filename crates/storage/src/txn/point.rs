//! The point path: statements bounded to few rows by a key.
//!
//! They read the latest durable version, or change the latest state under the commit lock, without a private tree,
//! validation, or a single allocation.

use std::fmt;
use std::sync::Arc;

use super::changes::check_key;
use super::latest::{Latest, inline, roll_back};
use super::lookup::KeyList;
use super::reader::Claimed;
use super::ticket::Ticket;
use crate::broken::{self, Broken};
use crate::engine::meta::{ADDS, APPENDS};
use crate::engine::{AppendKey, COUNTER_BYTES, Deltas, Engine, GivesUp, Handle, Op, OpList, Ops, Version, Writer};
use crate::held::Holding;
use crate::log::{OpenBatch, RecordKind};
use crate::page::{COMMIT, Lack, Pin};
use crate::tree::{LeafEntries, entries, get, get_group};
use crate::{Durability, Error, Result, TreeId};

/// Bytes of operations for which a point write has log space before it begins.
const ROOM: usize = 16 << 10;

/// What a point write's closure fails with: the storage's error, or the caller's own.
#[derive(Debug)]
pub enum WriteError<E> {
    /// Pass on what the writer's methods return.
    Storage(Error),
    /// The closure's own.
    Caller(E),
}

impl<E> From<Error> for WriteError<E> {
    fn from(error: Error) -> Self {
        WriteError::Storage(error)
    }
}

/// A handle for point statements; one per connection. Keeps nothing while it does nothing, so there may be any number.
pub struct Session {
    handle: Arc<Handle>,
    ops: OpList,
    undo: OpList,
    is_impatient: bool,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

impl Session {
    pub(crate) fn new(handle: &Arc<Handle>) -> Result<Session> {
        let (ops, undo) = (OpList::default(), OpList::default());
        Ok(Session { handle: handle.clone(), ops, undo, is_impatient: false })
    }

    /// From now on nothing is waited for: [`Error::WouldWait`] where it would have to be, for a page, for the commit lock, for
    /// room in the log, or for a transaction that has its turn; nothing of it stays then.
    ///
    /// A write's ticket is what tells that it is what its durability mode promises, `Acknowledge::Now` or not. And one that
    /// fails may rest on what is not durable yet: its failure is nothing to tell anybody. Ask again where it can wait.
    #[must_use]
    pub fn impatient(mut self) -> Session {
        self.is_impatient = true;
        self
    }

    /// As [`Session::impatient`], for as long as it is not said otherwise; what it was.
    pub fn set_impatient(&mut self, is_impatient: bool) -> bool {
        std::mem::replace(&mut self.is_impatient, is_impatient)
    }

    /// See [`Session::impatient`].
    pub fn is_impatient(&self) -> bool {
        self.is_impatient
    }

    /// Reads the latest durable state. `read` may use several gets; all see one state. It may be run again from its
    /// start (after a page was loaded), and must pass on the reader's errors.
    pub fn read<R, E>(
        &mut self,
        mut read: impl FnMut(&PointReader<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<R, WriteError<E>> {
        let engine = self.handle.engine();
        let (claimed, version) = Claimed::newest(engine)?;
        let mut lack = Lack::default();
        loop {
            let result = {
                let pin = engine.pages.slots.pin(claimed.slot)?;
                read(&PointReader { engine, version, pin: &pin })
            };
            let Err(WriteError::Storage(error @ Error::NotResident(_))) = result else { return result };
            if self.is_impatient {
                engine.counters.handed_over_for_page.add(1);
                return Err(Error::WouldWait.into());
            }
            engine.provide(error, &mut lack)?;
        }
    }

    /// Takes the commit lock, runs `write` on the latest state, and returns what it returned, acknowledged as asked.
    ///
    /// `write` may be run again from its start (after a page was loaded), so it must not keep anything from a failed
    /// run, and must pass on the writer's errors. When it fails, nothing of it stays, and the failure too is told only
    /// when what it saw is durable.
    pub fn write<R, E>(
        &mut self,
        acknowledge: Acknowledge,
        write: impl FnMut(&mut PointWriter<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<(R, Ticket), WriteError<E>> {
        self.write_or_give_up(acknowledge, None, write)
    }

    /// As `write`; soon after `gives_up` returns true it waits no longer for a transaction that has its turn, and fails
    /// with [`Error::GivenUp`].
    pub fn write_unless<R, E>(
        &mut self,
        acknowledge: Acknowledge,
        gives_up: &dyn Fn() -> bool,
        write: impl FnMut(&mut PointWriter<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<(R, Ticket), WriteError<E>> {
        self.write_or_give_up(acknowledge, Some(gives_up), write)
    }

    #[inline]
    fn write_or_give_up<R, E>(
        &mut self,
        acknowledge: Acknowledge,
        gives_up: GivesUp<'_>,
        mut write: impl FnMut(&mut PointWriter<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<(R, Ticket), WriteError<E>> {
        if self.is_impatient {
            let mode = if let Acknowledge::Now(mode) = acknowledge { mode } else { None };
            return self.write_at_once(mode, write);
        }
        let Session { handle, ops, undo, .. } = self;
        let engine = handle.engine();
        let (mut lack, mut gone) = (Lack::default(), None);
        let (mut writer, appends, result) = loop {
            let room = ROOM.min(OpenBatch::record_limit(engine.segments()?.size()));
            let mut writer = engine.lock_with_room(room, gives_up)?;
            let (appends, result, turn) = attempt(engine, &mut writer, (ops, undo), &mut write)?;
            if let Some(turn) = turn {
                drop(writer);
                engine.turns.wait_for(engine, turn, gives_up)?;
                continue;
            }
            match result {
                Err(WriteError::Storage(lacked @ (Error::NotResident(_) | Error::CacheFull))) => {
                    drop(writer);
                    engine.provide_latest(lacked, &mut lack, &mut gone)?;
                }
                result => break (writer, appends, result),
            }
        };
        let changed = result.is_ok() && !ops.is_empty();
        if changed {
            append_record(engine, &mut writer, ops, appends);
            engine.counters.commits.add(1);
        }
        let position = writer.appended;
        match (&result, acknowledge) {
            (Ok(_), Acknowledge::Later) => {
                engine.hand_over(writer, position);
                return result.map(|result| (result, Ticket::new(handle, position, Some(position))));
            }
            (Ok(_), Acknowledge::Now(mode)) if changed => {
                engine.acknowledge(writer, position, mode.unwrap_or(engine.options.durability))?;
            }
            _ if broken::is(Broken::AnswerEarly) => drop(writer),
            // Nothing was changed, or it failed: what it rests on must be durable all the same.
            _ => engine.wait_durable(writer, position)?,
        }
        result.map(|result| (result, Ticket::new(handle, position, None)))
    }

    /// A write of an impatient session.
    #[cold]
    fn write_at_once<R, E>(
        &mut self,
        mode: Option<Durability>,
        mut write: impl FnMut(&mut PointWriter<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<(R, Ticket), WriteError<E>> {
        let Session { handle, ops, undo, .. } = self;
        let engine = handle.engine();
        let room = ROOM.min(OpenBatch::record_limit(engine.segments()?.size()));
        let Some(mut writer) = engine.try_lock_with_room(room)? else { return Err(Error::WouldWait.into()) };
        let (appends, result, turn) = attempt(engine, &mut writer, (ops, undo), &mut write)?;
        let result = result.map_err(|error| would_wait(engine, error))?;
        if turn.is_some() {
            engine.counters.handed_over_for_turn.add(1);
            return Err(Error::WouldWait.into());
        }
        if !ops.is_empty() {
            append_record(engine, &mut writer, ops, appends);
            engine.counters.commits.add(1);
        }
        let position = writer.appended;
        let pending = match ops.is_empty() {
            true => engine.give_ticket(writer, position),
            false => engine.acknowledge_later(writer, mode.unwrap_or(engine.options.durability)),
        };
        Ok((result, Ticket::new(handle, position, pending)))
    }
}

/// How many entries a write appends, what it came to, and the turn that it has to wait for.
type Attempt<R, E> = (u32, Result<R, WriteError<E>>, Option<u64>);

/// Appends the record of a write.
#[inline]
fn append_record(engine: &Engine, writer: &mut Writer, ops: &OpList, appends: u32) {
    match appends {
        0 => engine.append(writer, RecordKind::Commit, ops.bytes()),
        _ => {
            let position = writer.batch.end_with(RecordKind::Commit, ops.bytes().len());
            engine.append_at(writer, RecordKind::Commit, ops.bytes(), position)
        }
    };
}

/// Runs `write` on the latest state; nothing of it stays where it fails or has to wait for a turn.
#[inline]
fn attempt<R, E>(
    engine: &Engine,
    writer: &mut Writer,
    (ops, undo): (&mut OpList, &mut OpList),
    write: &mut impl FnMut(&mut PointWriter<'_>) -> Result<R, WriteError<E>>,
) -> Result<Attempt<R, E>> {
    ops.clear();
    undo.clear();
    let (appends, result) = {
        let pin = engine.pages.slots.pin(COMMIT)?;
        let latest = Latest { engine, writer, pin: &pin, position: 0, undo };
        let mut point = PointWriter { latest, ops, appends: 0, _holding: Holding::new() };
        let written = match write(&mut point) {
            Ok(written) if point.appends > 0 => point.put_appends().map(|()| written).map_err(WriteError::Storage),
            written => written,
        };
        (point.appends, written)
    };
    let turn = result.as_ref().ok().and_then(|_| engine.turns.before(engine, ops.bytes()));
    if result.is_err() || turn.is_some() {
        roll_back(engine, undo, writer)?;
    }
    Ok((appends, result, turn))
}

/// What lacked can not be waited for.
fn would_wait<E>(engine: &Engine, error: WriteError<E>) -> WriteError<E> {
    match error {
        WriteError::Storage(Error::NotResident(_) | Error::CacheFull) => {
            engine.counters.handed_over_for_page.add(1);
            Error::WouldWait.into()
        }
        error => error,
    }
}

/// When a point write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    /// Once the commit is what the mode promises (the database's own mode where `None`).
    Now(Option<Durability>),
    /// At once; the ticket's `wait` returns when the commit is durable. What the write saw may rest on commits that
    /// are not durable before the ticket is.
    Later,
}

/// Gets from one durable state; slices borrow the page itself.
pub struct PointReader<'a> {
    engine: &'a Engine,
    version: &'a Version,
    pin: &'a Pin<'a>,
}

impl fmt::Debug for PointReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PointReader")
    }
}

impl<'a> PointReader<'a> {
    /// The value under `key`. [`Error::TooLarge`] for a value that does not lie in its leaf: read it with a
    /// [`Reader`](super::Reader).
    #[inline]
    pub fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<&'a [u8]>> {
        let root = self.version.trees.root(tree).ok_or_else(|| Error::NoSuchTree(tree))?;
        inline(get(&self.engine.pages, self.pin, root, key)?)
    }

    /// The values under as many of the keys as `values` has places, at most
    /// [`Lookup::AT_ONCE`](super::Lookup::AT_ONCE), beginning with the key at `from`: how many of them, from the first on,
    /// are there and lie in their leaves.
    pub fn get_each(&self, tree: TreeId, keys: &KeyList, from: usize, values: &mut [&'a [u8]]) -> Result<usize> {
        let root = self.version.trees.root(tree).ok_or_else(|| Error::NoSuchTree(tree))?;
        Ok(get_group(&self.engine.pages, self.pin, root, |at| keys.get(from + at), values)?)
    }

    /// The entries from `lower` up to `upper` (not included) in the first leaf that has any; the others follow behind
    /// their last key.
    pub fn entries(&self, tree: TreeId, lower: &[u8], upper: &[u8]) -> Result<Option<LeafEntries<'a>>> {
        let root = self.version.trees.root(tree).ok_or_else(|| Error::NoSuchTree(tree))?;
        Ok(entries(&self.engine.pages, self.pin, root, (lower, upper))?)
    }

    /// See [`Reader::tree_stamp`](super::Reader::tree_stamp).
    #[inline]
    pub fn tree_stamp(&self, tree: TreeId) -> u64 {
        self.version.trees.root(tree).map_or(0, |root| root.birth)
    }
}

/// Reads and changes the latest state under the commit lock.
pub struct PointWriter<'a> {
    latest: Latest<'a>,
    ops: &'a mut OpList,
    /// How many of them append.
    appends: u32,
    _holding: Holding,
}

impl fmt::Debug for PointWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PointWriter")
    }
}

impl PointWriter<'_> {
    /// The value under `key`. [`Error::TooLarge`] for a value that does not lie in its leaf: use a transaction.
    ///
    /// A change of the same key that follows needs no second descent.
    pub fn get(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<&[u8]>> {
        // The slice ends before the next change, which borrows `self` mutably.
        self.latest.get(tree, key)
    }

    /// Whether any key between the two (lower included, upper not) is there.
    pub fn any_in(&self, tree: TreeId, lower: &[u8], upper: &[u8]) -> Result<bool> {
        Ok(self.first_at_or_after(tree, lower, |key| key < upper)?.unwrap_or(false))
    }

    /// Calls `read` with the first key at or after `key`; `None` where there is none.
    pub fn first_at_or_after<R>(&self, tree: TreeId, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let Latest { engine, pin, .. } = self.latest;
        Ok(crate::tree::first_at_or_after(&engine.pages, pin, self.latest.root(tree)?, key, read)?)
    }

    /// See [`Reader::tree_stamp`](super::Reader::tree_stamp).
    #[inline]
    pub fn tree_stamp(&self, tree: TreeId) -> u64 {
        self.latest.writer.trees.root(tree).map_or(0, |root| root.birth)
    }

    fn room(&self, bytes: usize) -> Result<()> {
        let limit = ROOM.min(OpenBatch::record_limit(self.latest.engine.segments()?.size()));
        match self.ops.bytes().len() + bytes + 64 <= limit {
            true => Ok(()),
            false => Err(Error::TooLarge),
        }
    }

    /// Inserts or replaces.
    pub fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_if(tree, key, value, |_| true).map(drop)
    }

    /// Inserts, unless the key is there: then `Ok(false)`.
    pub fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        self.put_if(tree, key, value, |found| !found)
    }

    fn put_if(&mut self, tree: TreeId, key: &[u8], value: &[u8], wanted: impl Fn(bool) -> bool) -> Result<bool> {
        check_key(&self.latest.engine.pages, key)?;
        self.room(key.len() + value.len())?;
        let put = self.latest.put_if(tree, key, value, wanted)?;
        if put {
            self.ops.put(tree, key, value);
        }
        Ok(put)
    }

    /// Overwrites `bytes` at `offset` of the value under `key`, which must exist and be long enough.
    pub fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        self.room(key.len() + bytes.len())?;
        self.latest.patch(tree, key, offset, bytes)?;
        self.ops.patch(tree, key, offset, bytes);
        Ok(())
    }

    /// Puts the value under a key that the commit gives: its log position and an ordinal ([`AppendKey`]). The closure does not
    /// see it. [`Error::TooLarge`] for what a transaction has to do.
    pub fn append(&mut self, tree: TreeId, value: &[u8]) -> Result<()> {
        if !self.latest.engine.allows(APPENDS) {
            return Err(Error::TooLarge);
        }
        self.latest.root(tree)?;
        self.room(AppendKey::BYTES + value.len())?;
        self.ops.append(tree, self.appends, value);
        self.appends += 1;
        Ok(())
    }

    /// Adds to the counters of the entry under `key`: see [`TransactionWriter::add`](super::TransactionWriter::add).
    /// [`Error::TooLarge`] for what a transaction has to do.
    pub fn add(&mut self, tree: TreeId, key: &[u8], front: &[u8], deltas: &[i128]) -> Result<()> {
        if !self.latest.engine.allows(ADDS) {
            return Err(Error::TooLarge);
        }
        check_key(&self.latest.engine.pages, key)?;
        self.room(key.len() + front.len() + deltas.len() * (COUNTER_BYTES + 3))?;
        self.latest.add(tree, key, front, Deltas::Given(deltas))?;
        self.ops.add(tree, key, front, deltas);
        Ok(())
    }

    /// Does what was left for when it is known where the record ends.
    #[cold]
    fn put_appends(&mut self) -> Result<()> {
        self.latest.position = self.latest.writer.batch.end_with(RecordKind::Commit, self.ops.bytes().len());
        let appends = Ops::new(self.ops.bytes()).flatten().filter(|op| matches!(op, Op::Append { .. }));
        appends.into_iter().try_for_each(|op| self.latest.apply(op))
    }

    /// Removes `key`; whether it was there.
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        self.room(key.len())?;
        let found = self.latest.delete(tree, key)?;
        if found {
            self.ops.delete(tree, key);
        }
        Ok(found)
    }
}
