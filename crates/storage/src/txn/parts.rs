//! The operations of a large transaction that go to the log as parts, which only its commit record makes effective.
//!
//! Beyond a bound they go while the transaction still runs, so its operations take little memory however many they are;
//! whoever needs them again (a rebase) reads them back. The log keeps them until the transaction ends: one that lasts so
//! long that the log reaches its limit is ended, rather than everybody else's commits refused (`Engine::make_log_room`).
//!
//! What must hold: `Writer::open_parts` names a transaction from its first part to its end, and the log from there on is
//! not reused meanwhile.

use crate::broken::{self, Broken};
use crate::engine::{Engine, Op, OpList, OpStream, Ops, Writer};
use crate::log::{OpenBatch, Pieces, RecordKind};
use crate::{Error, Result};

/// A transaction's parts.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The number that the parts carry; `None` before the first.
    transaction: Option<u64>,
    /// Those that are not in memory any more.
    sent: Pieces,
    /// The log position behind the last of them.
    end: u64,
}

impl Parts {
    /// Sends all operations to the log if they are many.
    pub(super) fn send_early(&mut self, engine: &Engine, ops: &mut OpList) -> Result<()> {
        let segment_bytes = engine.segments()?.size();
        match ops.bytes().len() < OpenBatch::early_limit(segment_bytes) {
            true => Ok(()),
            false => self.send_all(engine, ops, OpenBatch::record_limit(segment_bytes)),
        }
    }

    /// In records of at most `limit` bytes.
    #[cold]
    fn send_all(&mut self, engine: &Engine, ops: &mut OpList, limit: usize) -> Result<()> {
        let mut done = 0;
        let mut result = Ok(());
        for piece in ops.bytes().chunks(limit) {
            result = self.append(engine, ops.sent() + done as u64, piece).map(|(end, offset)| {
                assert!(self.sent.push(ops.sent() + done as u64, offset, piece), "parts are sent in order");
                self.end = end;
                done += piece.len();
            });
            if result.is_err() {
                break;
            }
        }
        ops.send(done);
        result
    }

    /// At commit: sends what does not fit into the commit record, and keeps it in memory. Returns where that begins in
    /// the list's bytes.
    pub(super) fn send_rest(&mut self, engine: &Engine, ops: &OpList) -> Result<usize> {
        let limit = OpenBatch::record_limit(engine.segments()?.size());
        let last = ops.bytes().len().saturating_sub(1) / limit * limit;
        for (i, piece) in ops.bytes()[..last].chunks(limit).enumerate() {
            self.append(engine, ops.sent() + (i * limit) as u64, piece)?;
        }
        Ok(last)
    }

    /// Returns the position behind the part, and where in the file its operations lie.
    fn append(&mut self, engine: &Engine, at: u64, piece: &[u8]) -> Result<(u64, u64)> {
        let mut writer = engine.lock_with_room(piece.len())?;
        let transaction = match self.transaction {
            Some(transaction) => transaction,
            None => {
                let first = (engine.stamp(), writer.batch.position());
                writer.open_parts.push(first);
                *self.transaction.insert(first.0)
            }
        };
        self.check_kept(&writer)?;
        let end = engine.append(&mut writer, RecordKind::Part { transaction, at }, piece);
        let offset = writer.batch.offset_of(end - piece.len() as u64);
        Ok((end, offset))
    }

    /// Fails if the log gave the parts up.
    pub(super) fn check_kept(&self, writer: &Writer) -> Result<()> {
        match self.transaction {
            Some(own) if writer.open_parts.iter().all(|(open, _)| *open != own) => Err(Error::OutlivedLog),
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
    pub(super) fn close(&mut self, writer: &mut Writer) {
        if let Some(transaction) = self.transaction.take() {
            writer.open_parts.retain(|(open, _)| *open != transaction);
        }
    }

    /// The transaction failed: its parts need no log any more.
    pub(super) fn forget(&mut self, engine: &Engine) {
        if let Some(transaction) = self.transaction.take() {
            engine.forget_parts(transaction);
        }
        self.sent = Pieces::default();
    }

    /// The list was cut back, perhaps before what was sent.
    pub(super) fn cut(&mut self, ops: &OpList) {
        self.sent.cut(ops.sent());
    }

    /// Whether the log has never had any of them, those that were taken back since included.
    pub(super) fn is_unused(&self) -> bool {
        self.transaction.is_none()
    }

    /// Whether some operations are in the log only.
    pub(super) fn has_sent(&self) -> bool {
        self.sent.length() > 0
    }

    /// Waits until what was sent can be read back.
    pub(super) fn wait_readable(&self, engine: &Engine) -> Result<()> {
        match self.has_sent() {
            true => engine.wait_durable(engine.lock_writer(), self.end),
            false => Ok(()),
        }
    }

    /// Calls `each` with every operation of the transaction, in order. What was sent must be readable.
    pub(super) fn for_each(
        &self,
        engine: &Engine,
        ops: &OpList,
        mut each: impl FnMut(Op<'_>) -> Result<()>,
    ) -> Result<()> {
        if !self.has_sent() {
            return Ops::new(ops.bytes()).try_for_each(|op| each(op.map_err(|()| malformed())?));
        }
        let (mut stream, mut buffer) = (OpStream::default(), Vec::new());
        self.sent.read(&engine.segments()?.file, &mut buffer, |bytes| stream.read(bytes, &mut each))?;
        buffer.extend_from_slice(ops.bytes());
        stream.read(&mut buffer, &mut each)?;
        match buffer.is_empty() {
            true => Ok(()),
            false => Err(malformed()),
        }
    }
}

fn malformed() -> Error {
    Error::corrupt("a transaction's own operations are malformed")
}
