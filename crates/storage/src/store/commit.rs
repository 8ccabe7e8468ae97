//! How a commit becomes durable and visible.
//!
//! ```text
//! under the commit lock:  reserve log space -> validate -> apply -> append the record      (transaction.rs, point.rs)
//! then, by one leader:    cut (roots and batch, together) -> write -> publish -> wake      (here)
//! ```
//! What must hold:
//! - Batches are written one at a time, in order, and a version is published only after the batch that holds its last
//!   commit is durable: readers never see what a crash could take back (in the modes that promise it).
//! - Whoever waits is woken after the publication, so who was told of a commit sees it.
//! - After a failed write nothing is published or acknowledged any more.
//!
//! A lone committer is its own leader and does one system call. Waiters sleep by the parity of their batch: when batch n
//! is done, all its waiters wake, and one of batch n + 1 to lead it.

use super::background::Signal;
use super::engine::Engine;
use super::writer::{Changes, Cut, Writer};
use crate::broken::{self, Broken};
use crate::log::format::BatchHeader;
use crate::log::{NoRoom, RecordKind, SealedBatch};
use crate::sync::{Condvar, MutexGuard, Ordering};
use crate::txn::VersionPtr;
use crate::{Durability, Error, Result};

pub(crate) type WriterGuard<'a> = MutexGuard<'a, Writer>;

/// Microseconds of delay at a full log.
const PRESSURE_US_MAX: f64 = 4000.0;
/// The part of the log that may fill before commits are slowed.
const PRESSURE_FROM: f64 = 0.5;

impl Engine {
    /// Takes the commit lock with room for a record of so many bytes of operations.
    pub(crate) fn lock_with_room(&self, operations: usize) -> Result<WriterGuard<'_>> {
        self.slow_down();
        let mut writer = self.writer.lock();
        let mut waited = 0;
        loop {
            self.check_writable()?;
            if self.closing.load(Ordering::Acquire) {
                return Err(Error::Closed);
            }
            match writer.batch.reserve(operations, self.segments()?, self.database) {
                Ok(entered) => {
                    if entered {
                        self.set_pressure();
                        self.signals.raise(Signal::House);
                    }
                    writer.spill(self);
                    return Ok(writer);
                }
                Err(NoRoom::WriteFirst) if writer.flushing => writer = self.wait_for_batch(writer, 1),
                Err(NoRoom::WriteFirst) => writer = self.lead(writer),
                Err(NoRoom::NoSegment) => {
                    drop(writer);
                    self.make_room(&mut waited)?;
                    writer = self.writer.lock();
                }
            }
        }
    }

    /// Refuses commits from now on; returns when all there are, are durable and published.
    pub(crate) fn accept_no_more(&self) -> Result<()> {
        let writer = self.writer.lock();
        self.closing.store(true, Ordering::Release);
        let position = writer.appended;
        self.wait_durable(writer, position)
    }

    /// Appends a record for which there is room.
    pub(crate) fn append(&self, writer: &mut Writer, kind: RecordKind, operations: &[u8]) -> u64 {
        let end = writer.batch.append(kind, operations);
        writer.appended = end;
        if end - self.checkpoint_position.load(Ordering::Relaxed) > self.options.checkpoint_log_bytes {
            self.signals.raise(Signal::Checkpoint);
        }
        end
    }

    /// Waits as the durability mode says for everything up to `position`, which was just appended.
    pub(crate) fn acknowledge<'a>(
        &'a self,
        mut writer: WriterGuard<'a>,
        position: u64,
        mode: Durability,
    ) -> Result<()> {
        match mode {
            Durability::Full if broken::is(Broken::AcknowledgeEarly) => {
                writer.must_sync = true;
                self.signals.raise(Signal::Log);
                Ok(())
            }
            Durability::Full => self.wait_durable(writer, position),
            Durability::Group => {
                writer = self.wait_for_company(writer, position);
                self.wait_durable(writer, position)
            }
            Durability::Interval | Durability::Off => {
                if mode == Durability::Interval {
                    self.signals.raise(Signal::Interval);
                }
                self.publish_early(writer, position)
            }
        }
    }

    /// Waits until everything before `position` is durable and published, leading where nobody does.
    pub(crate) fn wait_durable<'a>(&'a self, mut writer: WriterGuard<'a>, position: u64) -> Result<()> {
        writer.must_sync |= position > self.durable.load(Ordering::Acquire);
        loop {
            if self.durable.load(Ordering::Acquire) >= position {
                return Ok(());
            }
            if self.poisoned.load(Ordering::Acquire) {
                if broken::is(Broken::FailureUntold) {
                    return Err(Error::OutcomeUnknown { cause: self.cause() });
                }
                // This may be the one thread that was woken to lead: nobody else would tell the others.
                self.batch_done.iter().for_each(Condvar::notify_all);
                return Err(Error::OutcomeUnknown { cause: self.cause() });
            }
            if !writer.flushing {
                writer = self.lead(writer);
                continue;
            }
            let open = position > writer.batch.position();
            writer = self.wait_for_batch(writer, if open { 0 } else { 1 });
        }
    }

    /// Sleeps until the batch being filled (`back` 0) or the one being written (1) is done, or there is need of a leader.
    pub(super) fn wait_for_batch<'a>(&self, mut writer: WriterGuard<'a>, back: u64) -> WriterGuard<'a> {
        let parity = ((writer.batch_number - back) & 1) as usize;
        writer.waiting[parity] += 1;
        writer = self.batch_done[parity].wait(writer);
        writer.waiting[parity] -= 1;
        writer
    }

    /// Group mode: lets others join the batch for a while.
    fn wait_for_company<'a>(&'a self, mut writer: WriterGuard<'a>, position: u64) -> WriterGuard<'a> {
        let until = self.env.host.now() + self.options.group_interval;
        let number = writer.batch_number;
        writer.must_sync = true;
        if writer.batch.records() >= self.options.group_size {
            self.batch_done[(number & 1) as usize].notify_all();
            return writer;
        }
        while writer.batch_number == number
            && writer.batch.records() < self.options.group_size
            && self.durable.load(Ordering::Acquire) < position
            && !self.poisoned.load(Ordering::Acquire)
        {
            let Some(left) = until.checked_sub(self.env.host.now()).filter(|left| !left.is_zero()) else { break };
            let parity = (number & 1) as usize;
            writer.waiting[parity] += 1;
            writer = self.batch_done[parity].wait_for(writer, left);
            writer.waiting[parity] -= 1;
        }
        writer
    }

    /// Interval and off: makes the commit visible at once, unless an earlier commit still has to be durable first.
    fn publish_early<'a>(&'a self, mut writer: WriterGuard<'a>, position: u64) -> Result<()> {
        if writer.flushing || writer.must_sync {
            return self.wait_durable(writer, position);
        }
        let cut = writer.cut(self.stamp());
        let (old, changes) = self.publish(cut);
        writer.recycle(old, changes, &self.pages);
        Ok(())
    }

    /// Cuts the open batch, writes it, publishes, wakes. Returns with the commit lock held again.
    pub(crate) fn lead<'a>(&'a self, mut writer: WriterGuard<'a>) -> WriterGuard<'a> {
        writer.flushing = true;
        let number = writer.batch_number;
        if number.is_multiple_of(64) && self.pages.frames_free() * 32 < self.pages.frame_count() {
            self.signals.raise(Signal::House);
        }
        if self.pages.is_memory_short() {
            self.signals.raise(Signal::House);
        }
        writer.batch_number += 1;
        writer.must_sync = false;
        let mut cut = writer.changed.then(|| writer.cut(self.stamp()));
        let mut batch = writer.batch.seal();
        drop(writer);

        let too_early = cut.take_if(|_| broken::is(Broken::PublishBeforeSync)).map(|cut| self.publish(cut));
        let written = self.write(&mut batch);
        let published = written.as_ref().ok().and_then(|_| cut.take().map(|cut| self.publish(cut))).or(too_early);

        let mut writer = self.writer.lock();
        writer.flushing = false;
        writer.batch.give_back(batch.buffer);
        match written {
            Ok(durable) => self.durable.store(durable, Ordering::Release),
            Err(error) => self.poison(&error),
        }
        if let Some(Cut { version, .. }) = cut {
            writer.keep(version);
        }
        if let Some((old, changes)) = published {
            writer.recycle(old, changes, &self.pages);
        }
        self.wake(&writer, number);
        writer
    }

    fn wake(&self, writer: &Writer, number: u64) {
        let (done, next) = ((number & 1) as usize, (number as usize + 1) & 1);
        if writer.waiting[done] > 0 {
            self.batch_done[done].notify_all();
        }
        if writer.waiting[next] > 0 && !broken::is(Broken::NoNextLeader) {
            match self.poisoned.load(Ordering::Acquire) {
                true => self.batch_done[next].notify_all(),
                false => self.batch_done[next].notify_one(),
            }
        }
    }

    /// Writes a batch, durably; returns the position up to which the log now is.
    fn write(&self, batch: &mut SealedBatch) -> Result<u64> {
        let mut chain = self.chain.lock();
        let header = BatchHeader {
            length: batch.length as u32,
            position: batch.position,
            durable: self.durable.load(Ordering::Acquire),
            checkpoint: self.checkpoint_number.load(Ordering::Acquire),
            previous: chain.previous,
            records: batch.records,
        };
        if !broken::is(Broken::TailUnsealed) {
            chain.restore_tail(batch);
        }
        let crc = header.seal(chain.epoch, &mut batch.buffer[batch.start..]);
        let file = &self.segments()?.file;
        let began = self.env.host.now();
        // A medium without blocks takes just the batch; one with blocks the whole blocks around it.
        let from = if file.alignment() > 1 { 0 } else { batch.unwritten };
        let written = file.write_durable_at(&batch.buffer[from..], batch.offset + from as u64);
        if !broken::is(Broken::SyncErrors) {
            written.map_err(Error::io("write the log"))?;
        }
        chain.previous = crc;
        chain.keep_tail(batch);
        self.count(batch, self.env.host.now() - began);
        if broken::is(Broken::WakeBeforePublish) {
            self.durable.store(batch.position + batch.length as u64, Ordering::Release);
        }
        Ok(batch.position + batch.length as u64)
    }

    fn count(&self, batch: &SealedBatch, took: std::time::Duration) {
        let counters = &self.counters;
        let took_us = took.as_micros() as u64;
        counters.batches.add(1);
        counters.syncs.add(1);
        counters.sync_us.add(took_us);
        counters.sync_us_max.raise(took_us);
        counters.log_bytes_written.add(batch.length as u64);
        counters.batch_commits_max.raise(batch.records as u64);
    }

    /// Lets readers see a version, and frees what died with it.
    pub(crate) fn publish(&self, cut: Cut) -> (VersionPtr, Changes) {
        let Cut { version, changes } = cut;
        // SAFETY: just cut, not freed.
        let number = unsafe { version.number() };
        self.pages.adopt(number, changes.created.ids());
        let old = self.published.swap(version.as_raw(), Ordering::SeqCst);
        self.pages.retire(number, &changes.dead);
        if !changes.drops.is_empty() || !changes.chains.is_empty() {
            self.drop_later(number, &changes);
        }
        (VersionPtr::from_raw(old), changes)
    }

    fn slow_down(&self) {
        let pressure = self.pressure_us.load(Ordering::Relaxed);
        if pressure > 0 {
            self.counters.backpressure_us.add(pressure);
            self.env.host.sleep(std::time::Duration::from_micros(pressure));
        }
    }

    /// Sets how much commits are slowed by how full the log is.
    pub(crate) fn set_pressure(&self) {
        let Some(segments) = &self.segments else { return };
        let over = (segments.fullness() - PRESSURE_FROM) / (1.0 - PRESSURE_FROM);
        let pressure = (over.clamp(0.0, 1.0).powi(2) * PRESSURE_US_MAX) as u64;
        self.pressure_us.store(pressure, Ordering::Relaxed);
    }

    /// Adds a place to the log; false at the limit.
    ///
    /// An error that it hears may be about a batch's bytes: it counts for everybody.
    pub(crate) fn grow_log(&self) -> Result<bool> {
        let segments = self.segments()?;
        segments.grow().inspect_err(|error| {
            if segments.failed() {
                self.poison(error);
            }
        })
    }

    /// No segment is ready: makes one, or waits for a checkpoint to free some. `waited` counts the checkpoints.
    #[cold]
    fn make_room(&self, waited: &mut u32) -> Result<()> {
        match self.grow_log() {
            Ok(true) => return Ok(()),
            // At the limit, or the disk is full: a checkpoint may give segments back.
            Ok(false) | Err(Error::DiskFull { .. }) => {}
            Err(error) => return Err(error),
        }
        *waited += 1;
        if *waited > 2 && self.end_oldest_parts()? {
            *waited = 1;
        }
        if *waited > 3 {
            return Err(Error::DiskFull { what: "extend the log (the disk is full, or log_limit_bytes reached)" });
        }
        // Whatever checkpoint runs now may have begun too early to free anything: wait for one that begins later.
        self.run_checkpoint()
    }
}
