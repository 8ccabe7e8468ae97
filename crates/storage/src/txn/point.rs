//! The point path: statements bounded to few rows by a key.
//!
//! They read the latest durable version, or change the latest state under the commit lock, without a private tree,
//! validation, or a single allocation.

use std::fmt;
use std::sync::Arc;

use super::ops::{Op, OpList, Ops};
use super::transaction::{Ticket, check_key};
use super::version::{TreeId, Version};
use crate::broken::{self, Broken};
use crate::log::{OpenBatch, RecordKind};
use crate::page::{PageRef, Pin, SlotId};
use crate::store::{Engine, Handle, Signal, Writer};
use crate::tree::node::{Cell, Node, inline_limit};
use crate::tree::{Patched, Value, get};
use crate::{Durability, Error, Result};

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

/// A handle for point statements; one per connection.
pub struct Session {
    handle: Arc<Handle>,
    slot: SlotId,
    ops: OpList,
    undo: OpList,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

impl Session {
    pub(crate) fn new(handle: &Arc<Handle>) -> Result<Session> {
        let slot = handle.engine().pages.slots.claim()?;
        Ok(Session { handle: handle.clone(), slot, ops: OpList::default(), undo: OpList::default() })
    }

    /// Reads the latest durable state. `read` may use several gets; all see one state. It may be run again from its
    /// start (after a page was loaded), and must pass on the reader's errors.
    pub fn read<R, E>(
        &mut self,
        mut read: impl FnMut(&PointReader<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<R, WriteError<E>> {
        let engine = self.handle.engine();
        let version = engine.enter(self.slot);
        let mut full = 0;
        let result = loop {
            let result = {
                let pin = engine.pages.slots.pin(self.slot)?;
                read(&PointReader { engine, version, pin: &pin })
            };
            let Err(WriteError::Storage(error @ Error::NotResident(_))) = result else { break result };
            if let Err(error) = engine.provide(error, &mut full) {
                break Err(error.into());
            }
        };
        engine.pages.slots.clear_version(self.slot);
        result
    }

    /// Takes the commit lock, runs `write` on the latest state, and returns what it returned, acknowledged as asked.
    ///
    /// `write` may be run again from its start (after a page was loaded), so it must not keep anything from a failed
    /// run, and must pass on the writer's errors. When it fails, nothing of it stays, and the failure too is told only
    /// when what it saw is durable.
    pub fn write<R, E>(
        &mut self,
        acknowledge: Acknowledge,
        mut write: impl FnMut(&mut PointWriter<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<(R, Ticket), WriteError<E>> {
        let Session { handle, slot, ops, undo } = self;
        let engine = handle.engine();
        let (mut full, mut gone) = (0, None);
        let (mut writer, result) = loop {
            let room = ROOM.min(OpenBatch::record_limit(engine.segments()?.size()));
            let mut writer = engine.lock_with_room(room)?;
            ops.clear();
            undo.clear();
            let result = {
                let pin = engine.pages.slots.pin(*slot)?;
                write(&mut PointWriter { engine, writer: &mut writer, pin: &pin, ops, undo })
            };
            if result.is_err() {
                roll_back(engine, *slot, undo, &mut writer)?;
            }
            match result {
                Err(WriteError::Storage(lacked @ (Error::NotResident(_) | Error::CacheFull))) => {
                    drop(writer);
                    engine.provide_latest(lacked, &mut full, &mut gone)?;
                }
                result => break (writer, result),
            }
        };
        let changed = result.is_ok() && !ops.is_empty();
        if changed {
            engine.append(&mut writer, RecordKind::Commit, ops.bytes());
            engine.counters.commits.add(1);
        }
        let position = writer.appended;
        match (&result, acknowledge) {
            (Ok(_), Acknowledge::Later) => {
                writer.turn.must_be_durable(position);
                drop(writer);
                engine.signals.raise(Signal::Log);
                return result.map(|result| (result, Ticket { handle: Some(handle.clone()), position }));
            }
            (Ok(_), Acknowledge::Now(mode)) if changed => {
                engine.acknowledge(writer, position, mode.unwrap_or(engine.options.durability))?;
            }
            _ if broken::is(Broken::AnswerEarly) => drop(writer),
            // Nothing was changed, or it failed: what it rests on must be durable all the same.
            _ => engine.wait_durable(writer, position)?,
        }
        result.map(|result| (result, Ticket { handle: None, position }))
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

/// Undoes what a failed run changed, last change first.
fn roll_back(engine: &Engine, slot: SlotId, undo: &OpList, writer: &mut Writer) -> Result<()> {
    if undo.is_empty() || broken::is(Broken::UndoForgotten) {
        return Ok(());
    }
    let undo: Vec<Op<'_>> = Ops::new(undo.bytes()).filter_map(Result::ok).collect();
    for op in undo.into_iter().rev() {
        if let Err(error) = engine.apply(writer, slot, op) {
            engine.poison(&error);
            return Err(error);
        }
    }
    Ok(())
}

impl Drop for Session {
    fn drop(&mut self) {
        self.handle.engine().pages.slots.release(self.slot);
    }
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
        let root = self.version.trees.root(tree).ok_or(Error::NoSuchTree(tree))?;
        inline(get(&self.engine.pages, self.pin, root, key)?)
    }

    /// See [`Reader::tree_stamp`](super::Reader::tree_stamp).
    #[inline]
    pub fn tree_stamp(&self, tree: TreeId) -> u64 {
        self.version.trees.root(tree).map_or(0, |root| root.birth)
    }
}

fn inline(value: Option<Value<'_>>) -> Result<Option<&[u8]>> {
    match value {
        None => Ok(None),
        Some(Value::Inline(bytes)) => Ok(Some(bytes)),
        Some(Value::Long(..)) => Err(Error::TooLarge),
    }
}

/// Reads and changes the latest state under the commit lock.
pub struct PointWriter<'a> {
    engine: &'a Engine,
    writer: &'a mut Writer,
    pin: &'a Pin<'a>,
    ops: &'a mut OpList,
    /// What takes each change back, first change first.
    undo: &'a mut OpList,
}

impl fmt::Debug for PointWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PointWriter")
    }
}

impl<'a> PointWriter<'a> {
    fn root(&self, tree: TreeId) -> Result<PageRef> {
        self.writer.trees.root(tree).ok_or(Error::NoSuchTree(tree))
    }

    /// The value under `key`. [`Error::TooLarge`] for a value that does not lie in its leaf: use a transaction.
    ///
    /// A change of the same key that follows needs no second descent.
    pub fn get(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<&[u8]>> {
        // The slice ends before the next change, which borrows `self` mutably.
        inline(self.find(tree, key)?)
    }

    fn find(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<Value<'a>>> {
        let mut root = self.root(tree)?;
        let place = self.writer.edit(&self.engine.pages, self.pin, tree, &mut root).find(key)?;
        let Some((leaf, at)) = place else { return Ok(None) };
        let page = self.engine.pages.get(self.pin, leaf).ok_or(Error::NotResident(leaf))?;
        Ok(Some(Node::new(page).cell(at).0.into()))
    }

    /// Whether any key between the two (lower included, upper not) is there.
    pub fn any_in(&self, tree: TreeId, lower: &[u8], upper: &[u8]) -> Result<bool> {
        let root = self.root(tree)?;
        Ok(crate::tree::first_at_or_after(&self.engine.pages, self.pin, root, lower, |key| key < upper)?
            .unwrap_or(false))
    }

    /// Calls `read` with the first key at or after `key`; `None` where there is none.
    pub fn first_at_or_after<R>(&self, tree: TreeId, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let root = self.root(tree)?;
        Ok(crate::tree::first_at_or_after(&self.engine.pages, self.pin, root, key, read)?)
    }

    /// See [`Reader::tree_stamp`](super::Reader::tree_stamp).
    #[inline]
    pub fn tree_stamp(&self, tree: TreeId) -> u64 {
        self.writer.trees.root(tree).map_or(0, |root| root.birth)
    }

    fn room(&self, bytes: usize) -> Result<()> {
        let limit = ROOM.min(OpenBatch::record_limit(self.engine.segments()?.size()));
        match self.ops.bytes().len() + bytes + 64 <= limit {
            true => Ok(()),
            false => Err(Error::TooLarge),
        }
    }

    /// Inserts or replaces.
    pub fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(&self.engine.pages, key)?;
        self.room(key.len() + value.len())?;
        self.put_if(tree, key, value, |_| true).map(drop)
    }

    /// Inserts, unless the key is there: then `Ok(false)`.
    pub fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        check_key(&self.engine.pages, key)?;
        self.room(key.len() + value.len())?;
        self.put_if(tree, key, value, |found| !found)
    }

    /// Puts the value if `wanted` says so, knowing whether the key is there.
    fn put_if(&mut self, tree: TreeId, key: &[u8], value: &[u8], wanted: impl Fn(bool) -> bool) -> Result<bool> {
        let mut root = self.root(tree)?;
        let mark = self.undo.mark();
        let mut long = false;
        if key.len() + value.len() > inline_limit(self.engine.pages.page_size()) {
            return Err(Error::TooLarge);
        }
        let undo = &mut *self.undo;
        let note = |old: Option<Cell<'_>>| {
            match old {
                _ if !wanted(old.is_some()) => return false,
                Some(Cell::Inline(old)) => undo.put(tree, key, old),
                Some(Cell::Overflow(_)) => {
                    long = true;
                    return false;
                }
                None => undo.delete(tree, key),
            }
            true
        };
        let cell = Cell::Inline(value);
        let result = self.writer.edit(&self.engine.pages, self.pin, tree, &mut root).put_if(key, cell, note);
        self.writer.trees.set(tree, root);
        let (_, put) = self.done(result, mark)?;
        if long {
            return Err(Error::TooLarge);
        }
        if put {
            self.ops.put(tree, key, value);
        }
        Ok(put)
    }

    /// Overwrites `bytes` at `offset` of the value under `key`, which must exist and be long enough.
    pub fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        self.room(key.len() + bytes.len())?;
        let mut root = self.root(tree)?;
        let mark = self.undo.mark();
        let undo = &mut *self.undo;
        let note = |old: &[u8]| undo.patch(tree, key, offset, old);
        let result = self.writer.edit(&self.engine.pages, self.pin, tree, &mut root).patch(key, offset, bytes, note);
        self.writer.trees.set(tree, root);
        match self.done(result, mark)? {
            Patched::Done => {
                self.ops.patch(tree, key, offset, bytes);
                Ok(())
            }
            Patched::Impossible => Err(Error::BadPatch),
            Patched::Long(..) => Err(Error::TooLarge),
        }
    }

    /// Removes `key`; whether it was there.
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        self.room(key.len())?;
        let mut root = self.root(tree)?;
        let Some(old) = inline(self.find(tree, key)?)? else { return Ok(false) };
        let mark = self.undo.mark();
        self.undo.put(tree, key, old);
        let result = self.writer.edit(&self.engine.pages, self.pin, tree, &mut root).delete(key);
        self.writer.trees.set(tree, root);
        let found = self.done(result, mark)?;
        self.ops.delete(tree, key);
        Ok(found)
    }

    /// A change that failed changed nothing, so there is nothing to take back.
    fn done<T>(&mut self, result: Result<T>, mark: super::ops::OpMark) -> Result<T> {
        match result {
            Ok(value) => {
                self.writer.changed = true;
                Ok(value)
            }
            Err(error) => {
                self.undo.cut(mark);
                Err(error)
            }
        }
    }
}
