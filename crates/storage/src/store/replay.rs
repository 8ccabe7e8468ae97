//! Recovery: applying the log's operations to the checkpoint's trees.

use std::collections::HashMap;
use std::sync::Arc;

use super::pending::Pending;
use super::progress::Told;
use crate::broken::{self, Broken};
use crate::engine::{AppendKey, Engine, Op, OpStream, Ops, SPILL};
use crate::io::File;
use crate::log::format::read_record;
use crate::log::{Pieces, RecordKind, Visited};
use crate::page::{Owner, PAGES_ONLY, SlotId};
use crate::sync::Ordering;
use crate::{Error, Result};

/// A transaction in parts of no more bytes than this is read whole, and replayed like one without.
const WHOLE: u64 = 1 << 20;

/// Replays commits behind `position`.
pub(super) struct Replay<'a, 't> {
    engine: &'a Engine,
    slot: SlotId,
    /// Commits whose record begins before this are in the checkpoint.
    position: u64,
    /// Where the operations of transactions in parts are that are not committed yet, by transaction.
    parts: HashMap<u64, Pieces>,
    /// Of commits, whole ones only.
    pending: Pending,
    told: &'a mut Told<'t>,
}

impl<'a, 't> Replay<'a, 't> {
    pub(super) fn new(engine: &'a Engine, position: u64, told: &'a mut Told<'t>) -> Replay<'a, 't> {
        let slot =
            engine.pages.slots.claim(Owner::Engine, PAGES_ONLY).expect("no slot is taken while the database is opened");
        Replay { engine, slot, position, parts: HashMap::default(), pending: Pending::default(), told }
    }

    pub(crate) fn forget_parts(&mut self) {
        self.parts.clear();
    }

    /// Applies a batch.
    ///
    /// A checkpoint's position is behind a record that may lie inside a batch: records are told apart by where they
    /// end.
    pub(crate) fn batch(&mut self, file: &Arc<dyn File>, batch: &Visited<'_>) -> Result<()> {
        self.told.applied(batch.position);
        let start = batch.position + crate::log::format::BATCH_HEADER as u64;
        let mut records = batch.records;
        while !records.is_empty() {
            let broken = || malformed(batch.position);
            let (kind, operations) = read_record(&mut records).ok_or_else(broken)?;
            let read = (batch.records.len() - records.len()) as u64;
            let is_new = broken::is(Broken::ReplayTooMuch) || start + read > self.position;
            let end = match broken::is(Broken::AppendsMisplaced) {
                false => start + read,
                true => start + read - operations.len() as u64,
            };
            match kind {
                RecordKind::Part { transaction, at } => {
                    let offset = batch.offset + read - operations.len() as u64;
                    let pieces = self.parts.entry(transaction).or_default();
                    // Earlier parts may be missing: of a transaction that the checkpoint has. The commit record tells.
                    let _complete = pieces.push(at, offset, operations);
                }
                RecordKind::Commit if is_new => self.commit(operations, end, broken)?,
                RecordKind::CommitParts { transaction, at } => {
                    let mut pieces = self.parts.remove(&transaction).unwrap_or_default();
                    pieces.cut(at);
                    if is_new {
                        self.commit_parts(file, &pieces, (at, end), operations, broken)?;
                    }
                }
                RecordKind::Commit if broken::is(Broken::AddsAgain) => self.add_again(operations, end),
                RecordKind::Commit => {}
            }
        }
        Ok(())
    }

    /// For tests only.
    #[cold]
    fn add_again(&mut self, operations: &[u8], end: u64) {
        let adds = Ops::new(operations).flatten().filter(|op| matches!(op, Op::Add { .. }));
        adds.for_each(|op| drop(self.apply_at(op, end)));
    }

    /// `end`: the position behind the record.
    fn commit(&mut self, operations: &[u8], end: u64, broken: impl Fn() -> Error) -> Result<()> {
        let has_room = self.pending.has_room_for(operations.len());
        if !has_room || !self.pending.add(operations, end).map_err(|()| broken())? {
            self.flush()?;
            Ops::new(operations).try_for_each(|op| self.apply_at(op.map_err(|()| broken())?, end))?;
        }
        self.engine.counters.commits.add(1);
        if self.pending.is_full() { self.flush() } else { Ok(()) }
    }

    /// Applies what is pending.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        let result = pending.apply(|op| self.apply(op));
        self.pending = pending;
        if self.engine.lock_writer().changes.created.len() * SPILL > self.engine.pages.frame_count() {
            self.publish(None);
        }
        result
    }

    /// Operations are read once more: those that memory holds as one commit, with its neighbours, others piece by piece.
    fn commit_parts(
        &mut self,
        file: &Arc<dyn File>,
        pieces: &Pieces,
        (at, end): (u64, u64),
        last: &[u8],
        broken: impl Fn() -> Error,
    ) -> Result<()> {
        if pieces.length() != at {
            return Err(broken());
        }
        if at <= WHOLE {
            let mut operations = Vec::with_capacity(at as usize + last.len());
            pieces.read(file, at, &mut operations, |_| Ok(()))?;
            operations.extend_from_slice(last);
            return self.commit(&operations, end, broken);
        }
        self.flush()?;
        let (mut stream, mut buffer) = (OpStream::default(), Vec::new());
        pieces.read(file, at, &mut buffer, |bytes| {
            self.told.go_on();
            stream.read(bytes, |op| self.apply_at(op, end))
        })?;
        buffer.extend_from_slice(last);
        stream.read(&mut buffer, |op| self.apply_at(op, end))?;
        if !buffer.is_empty() {
            return Err(broken());
        }
        self.engine.counters.commits.add(1);
        self.flush()
    }

    /// Of a commit whose record ends at `end`.
    fn apply_at(&mut self, op: Op<'_>, end: u64) -> Result<()> {
        let mut key = AppendKey::default();
        self.apply(op.at(end, &mut key))
    }

    fn apply(&mut self, op: Op<'_>) -> Result<()> {
        let mut writer = self.engine.lock_writer();
        match op {
            Op::Create { tree } => {
                self.engine.next_tree.fetch_max(tree.number() + 1, Ordering::Relaxed);
            }
            _ if writer.trees.root(op.tree()).is_none() => {
                return Err(Error::corrupt(format!(
                    "the log changes tree {}, which does not exist",
                    op.tree().number()
                )));
            }
            _ => {}
        }
        writer.changed = true;
        // What fitted fits again: recovery copies pages that are given back with the next checkpoint only.
        writer.changes.created.frees = true;
        let applied = self.engine.apply(&mut writer, self.slot, op);
        writer.changes.created.frees = false;
        applied
    }

    fn publish(&self, position: Option<u64>) {
        let mut writer = self.engine.lock_writer();
        if let Some(position) = position {
            writer.appended = position;
        }
        let is_published = self.engine.publish_latest(&mut writer);
        assert!(is_published, "nobody leads while the database is opened");
    }

    /// Publishes what was recovered: everything before `position`.
    pub(crate) fn finish(mut self, position: u64) -> Result<()> {
        self.flush()?;
        self.publish(Some(position));
        self.engine.publisher.set_durable(position);
        Ok(())
    }
}

fn malformed(position: u64) -> Error {
    Error::corrupt(format!("the log's batch at position {position} holds a malformed record"))
}

impl Drop for Replay<'_, '_> {
    fn drop(&mut self) {
        self.engine.pages.slots.release(self.slot);
    }
}
