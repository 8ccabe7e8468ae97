//! The point path: statements bounded to few rows by a key.
//!
//! They read the latest durable version, or change the latest state under the commit lock, without a private tree,
//! validation, or a single allocation.

use std::fmt;
use std::sync::Arc;

use super::ops::{Op, OpList, Ops};
use super::transaction::{Ticket, check_key};
use super::version::{TreeId, Version};
use crate::log::{OpenBatch, RecordKind};
use crate::page::{PageRef, Pin, SlotId};
use crate::store::{Engine, Handle, Signal, Writer};
use crate::tree::node::{Cell, inline_limit};
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
                let pin = engine.pages.slots.pin(self.slot);
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

    /// Takes the commit lock, runs `write` on the latest state, and returns what it returned once that is durable as
    /// the mode says (the database's own where `None`).
    ///
    /// `write` may be run again from its start (after a page was loaded), so it must not keep anything from a failed
    /// run, and must pass on the writer's errors. When it fails, nothing of it stays, and the failure too is told only
    /// when what it saw is durable.
    pub fn write<R, E>(
        &mut self,
        durability: Option<Durability>,
        write: impl FnMut(&mut PointWriter<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<R, WriteError<E>> {
        let handle = self.handle.clone();
        let engine = handle.engine();
        let (writer, result) = self.run(engine, write)?;
        let position = writer.appended;
        match (result, durability.unwrap_or(engine.options.durability)) {
            (Ok((result, true)), mode) => {
                engine.acknowledge(writer, position, mode)?;
                Ok(result)
            }
            // Nothing was changed, or it failed: what it rests on must be durable all the same.
            (Ok((result, false)), _) => {
                engine.wait_durable(writer, position)?;
                Ok(result)
            }
            (Err(error), _) => {
                engine.wait_durable(writer, position)?;
                Err(error)
            }
        }
    }

    /// As `write` with full durability, without waiting for it: the ticket's `wait` does. The result may rest on
    /// commits that are not durable before the ticket is.
    pub fn write_async<R, E>(
        &mut self,
        write: impl FnMut(&mut PointWriter<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<(R, Ticket), WriteError<E>> {
        let handle = self.handle.clone();
        let engine = handle.engine();
        let (mut writer, result) = self.run(engine, write)?;
        let position = writer.appended;
        match result {
            Ok((result, _)) => {
                writer.must_sync = true;
                drop(writer);
                engine.signals.raise(Signal::Log);
                Ok((result, Ticket { handle: handle.clone(), position }))
            }
            Err(error) => {
                engine.wait_durable(writer, position)?;
                Err(error)
            }
        }
    }

    /// Runs the closure under the commit lock, as often as pages have to be loaded, and appends what it did. Returns
    /// with the lock held; `true`: a record was appended.
    #[allow(clippy::type_complexity)]
    fn run<'e, R, E>(
        &mut self,
        engine: &'e Engine,
        mut write: impl FnMut(&mut PointWriter<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<(crate::store::WriterGuard<'e>, Result<(R, bool), WriteError<E>>), WriteError<E>> {
        let mut full = 0;
        loop {
            let mut guard = engine.lock_with_room(ROOM)?;
            self.ops.clear();
            self.undo.clear();
            let result = {
                let pin = engine.pages.slots.pin(self.slot);
                let (ops, undo) = (&mut self.ops, &mut self.undo);
                write(&mut PointWriter { engine, writer: &mut guard, pin: &pin, ops, undo })
            };
            let missing = match result {
                Ok(result) => {
                    let changed = !self.ops.is_empty();
                    if changed {
                        engine.append(&mut guard, RecordKind::Commit, self.ops.bytes());
                        engine.counters.commits.add(1);
                    }
                    return Ok((guard, Ok((result, changed))));
                }
                Err(WriteError::Storage(error @ (Error::NotResident(_) | Error::CacheFull))) => error,
                Err(error) => {
                    self.roll_back(engine, &mut guard)?;
                    return Ok((guard, Err(error)));
                }
            };
            self.roll_back(engine, &mut guard)?;
            drop(guard);
            engine.provide(missing, &mut full)?;
        }
    }

    /// Undoes what a failed run changed, last change first.
    fn roll_back(&mut self, engine: &Engine, writer: &mut Writer) -> Result<()> {
        let undo: Vec<Op<'_>> = Ops::new(self.undo.bytes()).filter_map(Result::ok).collect();
        for op in undo.into_iter().rev() {
            if let Err(error) = engine.apply(writer, self.slot, op) {
                engine.poison(&error);
                return Err(error);
            }
        }
        Ok(())
    }
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

impl PointWriter<'_> {
    fn root(&self, tree: TreeId) -> Result<PageRef> {
        self.writer.trees.root(tree).ok_or(Error::NoSuchTree(tree))
    }

    /// The value under `key`. [`Error::TooLarge`] for a value that does not lie in its leaf: use a transaction.
    pub fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<&[u8]>> {
        let root = self.root(tree)?;
        // The slice ends before the next change, which borrows `self` mutably.
        inline(get(&self.engine.pages, self.pin, root, key)?)
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
        let mut root = self.root(tree)?;
        let old = inline(get(&self.engine.pages, self.pin, root, key)?)?;
        let mark = self.undo.mark();
        match old {
            Some(old) => self.undo.put(tree, key, old),
            None => self.undo.delete(tree, key),
        }
        if key.len() + value.len() > inline_limit(self.engine.pages.page_size()) {
            return Err(Error::TooLarge);
        }
        let cell = Cell::Inline(value);
        let result = self.writer.edit(&self.engine.pages, self.pin, tree, &mut root).put(key, cell);
        self.writer.trees.set(tree, root);
        self.done(result, mark).map(|_| self.ops.put(tree, key, value))
    }

    /// Overwrites `bytes` at `offset` of the value under `key`, which must exist and be long enough.
    pub fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        self.room(key.len() + bytes.len())?;
        let mut root = self.root(tree)?;
        let old = inline(get(&self.engine.pages, self.pin, root, key)?)?;
        let old = old.and_then(|old| old.get(offset..)?.get(..bytes.len())).ok_or(Error::BadPatch)?;
        let mark = self.undo.mark();
        self.undo.patch(tree, key, offset, old);
        let result = self.writer.edit(&self.engine.pages, self.pin, tree, &mut root).patch(key, offset, bytes);
        self.writer.trees.set(tree, root);
        match self.done(result, mark)? {
            Patched::Done => Ok(self.ops.patch(tree, key, offset, bytes)),
            Patched::Impossible | Patched::Long(..) => Err(Error::BadPatch),
        }
    }

    /// Removes `key`; whether it was there.
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        self.room(key.len())?;
        let mut root = self.root(tree)?;
        let Some(old) = inline(get(&self.engine.pages, self.pin, root, key)?)? else { return Ok(false) };
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
