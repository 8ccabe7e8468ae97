//! The operations of a large transaction that go to the log as parts, which only its commit record makes effective.
//!
//! They go while the transaction still runs, for two reasons. Where commits wait for the medium, most of the operations are
//! written by the time of the commit; memory keeps a copy of them, and the log gives such parts up when they stand in its
//! way: the commit sends them once more then, and these stay. Beyond a bound the copy goes too, so that operations take little memory however many they are;
//! whoever needs them again (a rebase) reads them back. The log keeps these until the transaction ends: one that lasts so
//! long that the log reaches its limit is ended, rather than everybody else's commits refused (`Engine::keep_log_room`).
//! Who is about to send parts that stay keeps room in the log for them first (`log/kept.rs`): what fits is
//! stored, whatever others commit meanwhile.
//!
//! What must hold: `Writer::open_parts` names a transaction from its first part until it ends or the log gave them up, and
//! the log from there on is not reused meanwhile.

use std::fmt;
use std::sync::Arc;

use crate::broken::{self, Broken};
use crate::engine::{Engine, GivesUp, Needs, Op, OpList, OpStream, OpenParts, Ops, Signal, Writer};
use crate::log::{KeptSegments, OpenBatch, Pieces, RecordKind, Taker};
use crate::{Error, Result};

/// Who runs a transaction, and may not be kept waiting for ever: by a statement that has to wait for room in the log while it
/// changes something ([`Store::begin_patiently`](crate::Store::begin_patiently)).
pub trait Patience: fmt::Debug + Send + Sync {
    /// Whether it is over: the change fails with [`Error::GivenUp`] soon after.
    fn is_over(&self) -> bool;
}

/// A transaction's parts.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The number that the parts carry; `None` before the first.
    transaction: Option<u64>,
    /// Where they are. The first of them are not in memory any more.
    sent: Pieces,
    /// The log position behind the last of them.
    end: u64,
    /// Whether the log keeps them until the transaction ends.
    stays: bool,
    /// How long whoever has the transaction waits for room, before it commits.
    patience: Option<Arc<dyn Patience>>,
}

impl Parts {
    pub(super) fn new(patience: Option<Arc<dyn Patience>>) -> Parts {
        Parts { patience, ..Parts::default() }
    }

    /// Sends all operations to the log if those that it does not have are many.
    #[inline]
    pub(super) fn send_early(&mut self, engine: &Engine, ops: &mut OpList) -> Result<()> {
        let unsent = ops.length() - self.sent.length();
        match unsent < OpenBatch::ahead_limit(engine.segments()?.size()) {
            true => Ok(()),
            false => self.send(engine, ops),
        }
    }

    #[cold]
    fn send(&mut self, engine: &Engine, ops: &mut OpList) -> Result<()> {
        patiently(self.patience(), |gives_up| self.send_unless(engine, ops, gives_up))
    }

    /// How long whoever has the transaction waits, before it commits.
    pub(super) fn patience(&self) -> Option<Arc<dyn Patience>> {
        self.patience.clone()
    }

    fn send_unless(&mut self, engine: &Engine, ops: &mut OpList, gives_up: GivesUp<'_>) -> Result<()> {
        let (length, is_too_much) =
            (ops.bytes().len(), ops.bytes().len() >= OpenBatch::early_limit(engine.segments()?.size()));
        if is_too_much {
            let room = self.stay(engine, ops, gives_up)?;
            self.send_up_to(engine, ops, length, Some(&room), gives_up)?;
            ops.send(length);
        } else if engine.sends_ahead() {
            match self.send_up_to(engine, ops, length, None, gives_up) {
                // The rest goes another time, or at the commit.
                Err(Error::OutlivedLog) if ops.sent() == 0 => self.begin_again(),
                sent => sent?,
            }
            engine.signals.raise(Signal::Log);
        }
        Ok(())
    }

    /// At commit: sends what does not fit into the commit record. Returns where that begins in the list's bytes, and the room
    /// in the log that is kept until the record is in it.
    pub(super) fn send_rest<'e>(
        &mut self,
        engine: &'e Engine,
        ops: &OpList,
        gives_up: GivesUp<'_>,
    ) -> Result<(usize, Option<KeptSegments<'e>>)> {
        let limit = OpenBatch::record_limit(engine.segments()?.size());
        let is_whole = ops.length() <= limit as u64 && self.is_unused();
        let room = if is_whole { None } else { Some(self.stay(engine, ops, gives_up)?) };
        let rest = ops.bytes().len() - self.sent_of(ops);
        let last = ops.bytes().len() - (rest - rest.saturating_sub(1) / limit * limit);
        self.send_up_to(engine, ops, last, room.as_ref(), gives_up)?;
        Ok((last, room))
    }

    /// Has the log keep the parts from now on, those that are sent next included, until the transaction ends: else any
    /// version that is cut meanwhile, by the checkpoint that a large transaction itself calls for, could have them given up
    /// again and again. Parts that it has given up already go once more. Room is kept for what is left to send.
    fn stay<'e>(&mut self, engine: &'e Engine, ops: &OpList, gives_up: GivesUp<'_>) -> Result<KeptSegments<'e>> {
        engine.check_log_takes(ops.length())?;
        let segments = engine.segments()?;
        if ops.sent() == 0 && ops.length() - self.sent.length() > segments.size() {
            // Few of much: what others wrote behind them would have to be kept too.
            self.forget(engine);
        }
        let (unsent, own) = (ops.length() - self.sent.length(), self.transaction.filter(|_| self.stays));
        // Those of which memory has all may be given up while it waits.
        let operations = if ops.sent() > 0 { unsent } else { ops.length() };
        let room = match own.is_some() && operations <= OpenBatch::early_limit(segments.size()) as u64 {
            true => segments.keep_begun(),
            false => engine.keep_log_room(Needs { operations, own }, gives_up)?,
        };
        if ops.sent() == 0 && !self.hold(engine) {
            self.forget(engine);
        }
        self.stays = !broken::is(Broken::CommitGivenUp);
        Ok(room)
    }

    /// As whom a commit enters segments that has sent its parts.
    pub(super) fn taker(&self, room: Option<&KeptSegments<'_>>) -> Taker {
        match room {
            Some(room) => room.taker(),
            None if self.stays && self.transaction.is_some() => Taker::Begun,
            None => Taker::Anybody,
        }
    }

    /// The log gave up what memory has a copy of: all of it has to go again.
    fn begin_again(&mut self) {
        *self = Parts::new(self.patience.take());
    }

    /// How many of the bytes in memory the log has.
    fn sent_of(&self, ops: &OpList) -> usize {
        (self.sent.length() - ops.sent()) as usize
    }

    /// In records of a size that fits; in the room that is kept for them, if there is some.
    fn send_up_to(
        &mut self,
        engine: &Engine,
        ops: &OpList,
        end: usize,
        room: Option<&KeptSegments<'_>>,
        gives_up: GivesUp<'_>,
    ) -> Result<()> {
        let limit = OpenBatch::record_limit(engine.segments()?.size());
        for piece in ops.bytes()[self.sent_of(ops)..end].chunks(limit) {
            let at = self.sent.length();
            let (end, offset) = self.append(engine, at, piece, (self.taker(room), gives_up))?;
            assert!(self.sent.push(at, offset, piece), "parts are sent in order");
            self.end = end;
            if let Some(room) = room {
                room.needs(engine.wanted_for(ops.length() - self.sent.length())?);
            }
        }
        Ok(())
    }

    /// Has the log not give them up; false if it has already.
    fn hold(&self, engine: &Engine) -> bool {
        let mut writer = engine.lock_writer();
        let own = writer.open_parts.iter_mut().find(|parts| Some(parts.transaction) == self.transaction);
        let Some(parts) = own else { return broken::is(Broken::GivenUpUnnoticed) };
        if parts.is_copied && !broken::is(Broken::CommitGivenUp) {
            parts.is_copied = false;
            if let Ok(segments) = engine.segments() {
                segments.begin_parts();
            }
        }
        true
    }

    /// Returns the position behind the part, and where in the file its operations lie.
    fn append(
        &mut self,
        engine: &Engine,
        at: u64,
        piece: &[u8],
        (by, gives_up): (Taker, GivesUp<'_>),
    ) -> Result<(u64, u64)> {
        let locked = engine.lock_with_room_by(by, piece.len(), gives_up);
        let mut writer = locked.map_err(|error| self.end_without_room(engine, error))?;
        let transaction = match self.transaction {
            Some(transaction) => transaction,
            None => {
                let transaction = engine.stamp();
                let first = writer.batch.position();
                writer.open_parts.push(OpenParts { transaction, first, is_copied: !self.stays });
                if self.stays {
                    engine.segments()?.begin_parts();
                }
                *self.transaction.insert(transaction)
            }
        };
        self.check_kept(&writer)?;
        let end = engine.append(&mut writer, RecordKind::Part { transaction, at }, piece);
        let offset = writer.batch.offset_of(end - piece.len() as u64);
        Ok((end, offset))
    }

    /// Of a failure to find room: where the log is at its limit, and the transaction's own parts are in the way, it is ended by that.
    pub(super) fn end_without_room(&self, engine: &Engine, error: Error) -> Error {
        let is_limit = engine.segments().is_ok_and(|segments| !segments.can_grow());
        let is_by_limit = is_limit && matches!(error, Error::DiskFull { .. });
        let own = self.transaction.filter(|_| self.stays && is_by_limit);
        let oldest = engine.oldest_parts().ok().flatten().map(|parts| parts.transaction);
        match own.filter(|_| own == oldest) {
            Some(transaction) => {
                engine.forget_parts(transaction);
                Error::OutlivedLog
            }
            None => error,
        }
    }

    /// Fails if the log gave the parts up.
    pub(super) fn check_kept(&self, writer: &Writer) -> Result<()> {
        match self.transaction {
            Some(own)
                if writer.open_parts.iter().all(|open| open.transaction != own)
                    && !broken::is(Broken::GivenUpUnnoticed) =>
            {
                Err(Error::OutlivedLog)
            }
            _ => Ok(()),
        }
    }

    /// What a failure to read them back means: where the log gave them up meanwhile, others' bytes lie there. Not under the
    /// commit lock.
    pub(super) fn explain(&self, engine: &Engine, error: Error) -> Error {
        if broken::is(Broken::GivenUpAsDamage) {
            return error;
        }
        self.check_kept(&engine.lock_writer()).err().unwrap_or(error)
    }

    /// The record of a commit whose last operations begin `at`.
    pub(super) fn commit_record(&self, at: u64) -> RecordKind {
        self.transaction.map_or(RecordKind::Commit, |transaction| RecordKind::CommitParts { transaction, at })
    }

    /// The commit record is in the log: the parts belong to it now.
    pub(super) fn close(&mut self, engine: &Engine, writer: &mut Writer) {
        if let Some(transaction) = self.transaction.take() {
            writer.end_parts(engine, transaction);
        }
    }

    /// The transaction failed: its parts need no log any more.
    pub(super) fn forget(&mut self, engine: &Engine) {
        if let Some(transaction) = self.transaction.take() {
            engine.leave_parts(transaction);
        }
        self.sent = Pieces::default();
    }

    /// The list was cut back, perhaps before what was sent.
    pub(super) fn cut(&mut self, ops: &OpList) {
        self.sent.cut(ops.length());
    }

    /// Whether the log has never had any of them, those that were taken back since included.
    pub(super) fn is_unused(&self) -> bool {
        self.transaction.is_none()
    }

    /// Waits until what is in the log only can be read back.
    pub(super) fn wait_readable(&self, engine: &Engine, ops: &OpList) -> Result<()> {
        match ops.sent() > 0 {
            true => engine.wait_durable(engine.lock_writer(), self.end),
            false => Ok(()),
        }
    }

    /// Calls `each` with every operation of the transaction, in order. What is in the log only must be readable.
    pub(super) fn for_each(
        &self,
        engine: &Engine,
        ops: &OpList,
        mut each: impl FnMut(Op<'_>) -> Result<()>,
    ) -> Result<()> {
        if ops.sent() == 0 {
            return Ops::new(ops.bytes()).try_for_each(|op| each(op.map_err(|()| malformed())?));
        }
        let (mut stream, mut buffer) = (OpStream::default(), Vec::new());
        self.sent.read(&engine.segments()?.file, ops.sent(), &mut buffer, |bytes| stream.read(bytes, &mut each))?;
        buffer.extend_from_slice(ops.bytes());
        stream.read(&mut buffer, &mut each)?;
        match buffer.is_empty() {
            true => Ok(()),
            false => Err(malformed()),
        }
    }
}

/// Does something for as long as who has such patience may wait.
pub(super) fn patiently<R>(patience: Option<Arc<dyn Patience>>, work: impl FnOnce(GivesUp<'_>) -> R) -> R {
    let patience = patience.filter(|_| !broken::is(Broken::PatienceUnasked));
    let gives_up = || patience.as_ref().is_some_and(|patience| patience.is_over());
    work(patience.is_some().then_some(&gives_up))
}

fn malformed() -> Error {
    Error::corrupt("a transaction's own operations are malformed")
}
