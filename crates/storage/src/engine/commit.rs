//! How a commit becomes durable and visible.
//!
//! ```text
//! under the commit lock:  reserve log space -> validate -> apply -> append the record      (transaction.rs, point.rs)
//! then, by one leader:    cut (roots and batch, together) -> write -> publish -> wake      (here, publisher.rs)
//! ```
//! What must hold:
//! - Batches are written one at a time, in order, and a version is published only after the batch that holds its last
//!   commit is durable: readers never see what a crash could take back (in the modes that promise it).
//! - Whoever waits is woken after the publication, so who was told of a commit sees it.
//! - After a failure nothing is published or acknowledged any more.
//!
//! A lone committer is its own leader and does one system call. Others sleep until their batch is done (`publisher.rs`).

use std::time::Duration;

use super::publisher::{Leading, Step};
use super::shared::Engine;
use super::signals::Signal;
use super::stage::Act;
use super::turns::GivesUp;
use super::writer::Writer;
use crate::broken::{self, Broken};
use crate::log::format::BatchHeader;
use crate::log::{KeptSegments, NoRoom, RecordKind, SealedBatch, Taker};
use crate::sync::{MutexGuard, Ordering};
use crate::{Durability, Error, Result, Wait};

pub(crate) type WriterGuard<'a> = MutexGuard<'a, Writer>;

/// When somebody began to wait for a sync, and when that was done, by the clock's readings that are there anyway: who leads at once
/// waits from when it begins to write.
#[derive(Clone, Copy, Default)]
struct Waiting {
    began: Option<Duration>,
    /// `None`: it is not known, being another's sync.
    ended: Option<Duration>,
}

impl Engine {
    /// Takes the commit lock. Who panicked under it may have left half a change: nothing is written any more then.
    #[inline]
    pub(crate) fn lock_writer(&self) -> WriterGuard<'_> {
        self.writer.lock_soon(&self.awake, || self.publisher.life.fail("a thread panicked in the middle of a change"))
    }

    /// Takes the commit lock with room for a record of so many bytes of operations; fails soon after the caller gives up.
    #[inline]
    pub(crate) fn lock_with_room(&self, operations: usize, gives_up: GivesUp<'_>) -> Result<WriterGuard<'_>> {
        match self.is_slowed() {
            true => self.lock_slowed(operations, gives_up),
            false => self.lock_when_room(Taker::Anybody, operations, gives_up),
        }
    }

    #[cold]
    fn lock_slowed(&self, operations: usize, gives_up: GivesUp<'_>) -> Result<WriterGuard<'_>> {
        let room = self.slow_down(gives_up)?;
        let by = room.as_ref().map_or(Taker::Anybody, KeptSegments::taker);
        self.lock_when_room(by, operations, gives_up)
    }

    /// With a segment of the log that nobody else gets.
    #[cold]
    fn lock_with_segment(&self, operations: usize, gives_up: GivesUp<'_>) -> Result<WriterGuard<'_>> {
        let room = self.keep_segment(gives_up)?;
        self.lock_when_room(room.taker(), operations, gives_up)
    }

    /// As `lock_with_room`, by whoever it is. (To slow who keeps others from the log would help nobody.)
    pub(crate) fn lock_with_room_by(
        &self,
        by: Taker,
        operations: usize,
        gives_up: GivesUp<'_>,
    ) -> Result<WriterGuard<'_>> {
        match by {
            Taker::Anybody => self.lock_with_room(operations, gives_up),
            by => self.lock_when_room(by, operations, gives_up),
        }
    }

    fn lock_when_room(&self, by: Taker, operations: usize, gives_up: GivesUp<'_>) -> Result<WriterGuard<'_>> {
        self.check_process()?;
        let mut writer = self.lock_writer();
        let mut waited = 0;
        loop {
            self.publisher.life.check(Act::Change)?;
            match writer.batch.reserve_for(by, operations, self.segments()?, self.database) {
                Ok(entered) => {
                    if entered {
                        self.set_pressure();
                        self.signals.raise(Signal::House);
                    }
                    writer.spill(self);
                    return Ok(writer);
                }
                Err(NoRoom::WriteFirst) if writer.queue.is_leading() => writer = self.wait_for_leader(writer),
                Err(NoRoom::WriteFirst) => {
                    self.lead(writer);
                    writer = self.lock_writer();
                }
                Err(NoRoom::NoSegment) => {
                    drop(writer);
                    if by == Taker::Anybody {
                        return self.lock_with_segment(operations, gives_up);
                    }
                    self.make_log_room(&mut waited, gives_up)?;
                    writer = self.lock_writer();
                }
            }
        }
    }

    /// As `lock_with_room`, for who must not be kept waiting: `None` where somebody has the lock for longer than a moment, or
    /// room has to be made first.
    pub(crate) fn try_lock_with_room(&self, operations: usize) -> Result<Option<WriterGuard<'_>>> {
        self.check_process()?;
        if self.pressure_us.load(Ordering::Relaxed) > 0 {
            self.counters.handed_over_for_log.add(1);
            return Ok(None);
        }
        let Some(mut writer) = self.writer.try_lock_soon(&self.awake) else {
            self.counters.handed_over_for_lock.add(1);
            return Ok(None);
        };
        self.publisher.life.check(Act::Change)?;
        match writer.batch.reserve(operations, self.segments()?, self.database) {
            Ok(false) => {
                writer.spill(self);
                Ok(Some(writer))
            }
            Ok(true) => {
                self.set_pressure();
                self.signals.raise(Signal::House);
                writer.spill(self);
                Ok(Some(writer))
            }
            Err(NoRoom::WriteFirst | NoRoom::NoSegment) => {
                self.counters.handed_over_for_log.add(1);
                Ok(None)
            }
        }
    }

    /// Lets go of the lock without waiting for what is appended: the position from which on it is what `mode` promises,
    /// for a ticket; `None`: it is already. Where writing the log takes no longer than falling asleep it is written here.
    pub(crate) fn acknowledge_later(&self, mut writer: WriterGuard<'_>, mode: Durability) -> Option<u64> {
        let position = writer.appended;
        match mode {
            Durability::Full | Durability::Group => writer.queue.must_be_durable(position),
            Durability::Interval | Durability::Off => {
                if mode == Durability::Interval || self.watch.is_on() {
                    self.signals.raise(Signal::Interval);
                }
                if self.publish_latest(&mut writer) {
                    return None;
                }
            }
        }
        self.give_ticket(writer, position)
    }

    /// Leaves what is appended up to `position` to the log thread, for a ticket.
    pub(crate) fn hand_over(&self, mut writer: WriterGuard<'_>, position: u64) {
        writer.queue.must_be_durable(position);
        writer.queue.gives_ticket();
        drop(writer);
        self.signals.raise(Signal::Log);
    }

    /// A ticket for what has to be durable before `position`; `None`: it is.
    pub(crate) fn give_ticket(&self, mut writer: WriterGuard<'_>, position: u64) -> Option<u64> {
        if self.publisher.durable() >= position {
            return None;
        }
        writer.queue.gives_ticket();
        match !self.has_medium() && !writer.queue.is_leading() && self.publisher.life.check(Act::Log).is_ok() {
            true => {
                self.lead(writer);
            }
            false => {
                drop(writer);
                self.signals.raise(Signal::Log);
            }
        }
        Some(position)
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

    /// As `append`, of a commit with appends, which were applied as those of a record that ends at `position`.
    pub(crate) fn append_at(&self, writer: &mut Writer, kind: RecordKind, operations: &[u8], position: u64) -> u64 {
        let end = self.append(writer, kind, operations);
        assert_eq!(end, position, "the keys of what was appended are those of another record");
        writer.has_appends = true;
        end
    }

    /// Waits as the durability mode says for the commit up to `position`, which was just appended.
    pub(crate) fn acknowledge<'a>(&'a self, writer: WriterGuard<'a>, position: u64, mode: Durability) -> Result<()> {
        let mut wait = Waiting::default();
        let waited = self.wait_as(mode, writer, position, &mut wait).map_err(Error::of_appended_commit);
        if matches!(mode, Durability::Full | Durability::Group) && self.has_medium() {
            self.count_wait(wait);
        }
        waited
    }

    /// Of a commit that waits for a sync; others are not counted.
    fn count_wait(&self, wait: Waiting) {
        let waited = match wait {
            Waiting { began: None, .. } => Duration::ZERO,
            Waiting { began: Some(began), ended } => ended.unwrap_or_else(|| self.env.host.now()).saturating_sub(began),
        };
        let counters = &self.counters;
        let us = waited.as_micros() as u64;
        counters.commit_wait_us.add(us);
        let bucket = match us {
            ..=1_000 => &counters.commits_waited_1ms,
            1_001..=10_000 => &counters.commits_waited_10ms,
            10_001..=100_000 => &counters.commits_waited_100ms,
            _ => &counters.commits_waited_longer,
        };
        bucket.add(1);
    }

    /// `None`: nothing was synced yet.
    pub(crate) fn since_sync(&self) -> Option<Duration> {
        let synced = Duration::from_micros(self.synced_at_us.load(Ordering::Relaxed));
        (!synced.is_zero()).then(|| self.env.host.now().saturating_sub(synced))
    }

    fn wait_as<'a>(
        &'a self,
        mode: Durability,
        mut writer: WriterGuard<'a>,
        position: u64,
        wait: &mut Waiting,
    ) -> Result<()> {
        match mode {
            Durability::Full if broken::is(Broken::AcknowledgeEarly) => {
                writer.queue.must_be_durable(position);
                self.signals.raise(Signal::Log);
                Ok(())
            }
            Durability::Full => {
                writer.queue.must_be_durable(position);
                self.wait_durable_noted(writer, position, wait)
            }
            Durability::Group => {
                wait.began = Some(self.env.host.now());
                match self.wait_for_group(writer, position) {
                    Some(writer) => self.wait_durable_noted(writer, position, wait),
                    None => Ok(()),
                }
            }
            Durability::Interval | Durability::Off => {
                // Who watches hears of what is durable only.
                if mode == Durability::Interval || self.watch.is_on() || self.appended.is_on() {
                    self.signals.raise(Signal::Interval);
                }
                // Unless an earlier commit still has to be durable first.
                match self.publish_latest(&mut writer) {
                    true => Ok(()),
                    false => self.wait_durable(writer, position),
                }
            }
        }
    }

    /// Waits until everything before `position` is durable and published, leading where nobody does.
    pub(crate) fn wait_durable<'a>(&'a self, writer: WriterGuard<'a>, position: u64) -> Result<()> {
        self.wait_durable_noted(writer, position, &mut Waiting::default())
    }

    /// The same, and how long that is.
    fn wait_durable_noted<'a>(&'a self, writer: WriterGuard<'a>, position: u64, wait: &mut Waiting) -> Result<()> {
        let mut writer = self.wait_awake(writer);
        loop {
            // Under the lock: who was woken may find that the batch was done just before it came here, and would lead
            // one that is empty, for which no room was reserved.
            if self.publisher.durable() >= position {
                return Ok(());
            }
            if self.publisher.life.check(Act::Log).is_err() {
                return self.outcome(position);
            }
            let is_open = position > writer.batch.position();
            let number = writer.queue.number() - u64::from(!is_open);
            let records = writer.batch.records();
            let again = match writer.queue.next_step(records, || self.env.host.now()) {
                Step::Wait(sleep) => {
                    *wait = Waiting { began: wait.began.or_else(|| Some(self.env.host.now())), ended: None };
                    self.wait_for_batch(writer, number, sleep, position)
                }
                Step::Lead => {
                    let (began, ended) = self.lead(writer);
                    *wait = Waiting { began: wait.began.or(Some(began)), ended: Some(ended) };
                    (self.publisher.durable() < position).then(|| self.lock_writer())
                }
            };
            match again {
                Some(again) => writer = again,
                None => return Ok(()),
            }
        }
    }

    /// Whether what somebody waits for came through in a database that is not written to any more.
    #[cold]
    fn outcome(&self, position: u64) -> Result<()> {
        if self.publisher.durable() >= position {
            return Ok(());
        }
        if !broken::is(Broken::FailureUntold) {
            // The caller may be the one thread that was woken to lead: nobody else would tell the others.
            self.publisher.wake_everybody();
        }
        self.publisher.life.check(Act::Log)
    }

    /// Cuts the open batch, writes it, publishes, wakes; when the write began and ended.
    pub(crate) fn lead(&self, writer: WriterGuard<'_>) -> (Duration, Duration) {
        let leading = Leading(self);
        // Let go of before `leading` if this panics.
        let mut writer = writer;
        let records = writer.batch.records();
        let number = writer.queue.begin(records);
        self.look_at_memory(number);
        let mut cut = writer.changed.then(|| writer.cut(self.stamp()));
        if cut.is_some() {
            writer.queue.will_publish();
        }
        let has_appends = std::mem::take(&mut writer.has_appends);
        let mut batch = writer.batch.seal();
        let was_idle = writer.queue.end_idle(records);
        drop(writer);

        let too_early = cut.take_if(|_| broken::is(Broken::PublishBeforeSync)).map(|cut| self.publish(cut, |_| ()));
        let began = self.env.host.now();
        let written = self.write(&mut batch);
        let ended = self.env.host.now();
        let took = ended - began;
        // What failed meanwhile for somebody else may have been this batch's bytes.
        let written = written.and_then(|durable| self.publisher.life.check(Act::Log).map(|()| durable));
        let mut is_told = false;
        let published = match &written {
            Ok(_) => {
                let mut look = |newest| is_told = self.watch.look(&batch, &self.pages.slots, newest);
                match cut.take() {
                    // (Nobody else publishes before `queue.end`.)
                    Some(cut) => Some(self.publish(cut, |newest| look(Some(newest)))),
                    None => {
                        look(None);
                        too_early
                    }
                }
            }
            Err(_) => too_early,
        };

        let mut writer = self.lock_writer();
        self.count(&batch, took);
        self.synced_at_us.store(ended.as_micros() as u64, Ordering::Relaxed);
        writer.batch.give_back(batch.buffer);
        match &written {
            Ok(durable) => self.publisher.set_durable(*durable),
            Err(error) => self.publisher.life.fail(error),
        }
        if let Some(cut) = cut {
            writer.keep(cut);
        }
        if let Some((old, changes)) = published {
            writer.recycle(old, changes, &self.pages);
        }
        let records = writer.batch.records();
        let woken = writer.queue.end(number, records, took, || ended);
        drop(writer);
        leading.end();
        match written {
            Ok(durable) => {
                self.publisher.wake(number, woken);
                if woken.tickets {
                    self.tickets.wake(durable);
                }
                self.watch.wake(durable, is_told);
                if has_appends && !broken::is(Broken::AppendsUntold) {
                    self.appended.ring();
                }
            }
            Err(_) => {
                self.publisher.wake_everybody();
                self.tickets.wake_all();
                self.watch.call();
                self.ring_all();
            }
        }
        if was_idle {
            self.signals.raise(Signal::Active);
        }
        (began, ended)
    }

    /// Whoever waits for commits is to look: there will be none.
    pub(crate) fn ring_all(&self) {
        self.published.ring();
        self.appended.ring();
    }

    /// Has frames made free ahead of need.
    fn look_at_memory(&self, number: u64) {
        let are_few = number.is_multiple_of(64) && self.pages.are_frames_few();
        if are_few || self.pages.is_memory_short() {
            self.signals.raise(Signal::House);
        }
    }

    /// Writes a batch, durably; returns the position up to which the log now is.
    fn write(&self, batch: &mut SealedBatch) -> Result<u64> {
        let mut chain = self.chain.lock();
        let header = BatchHeader {
            length: batch.length as u32,
            position: batch.position,
            durable: self.publisher.durable(),
            checkpoint: self.checkpoint_number.load(Ordering::Acquire),
            previous: chain.previous,
            records: batch.records,
        };
        if !broken::is(Broken::TailUnsealed) {
            chain.restore_tail(batch);
        }
        let crc = header.seal(chain.epoch, &mut batch.buffer[batch.start..]);
        let file = &self.segments()?.file;
        // A medium without blocks takes just the batch; one with blocks the whole blocks around it.
        let from = if file.alignment() > 1 { 0 } else { batch.unwritten };
        let written = Wait::LogSync.during(|| file.write_durable_at(&batch.buffer[from..], batch.offset + from as u64));
        if !broken::is(Broken::SyncErrors) {
            written.map_err(Error::io("write the log"))?;
        }
        chain.previous = crc;
        chain.keep_tail(batch);
        let durable = batch.position + batch.length as u64;
        if broken::is(Broken::WakeBeforePublish) {
            self.publisher.set_durable(durable);
        }
        Ok(durable)
    }

    fn count(&self, batch: &SealedBatch, took: Duration) {
        let counters = &self.counters;
        let took_us = took.as_micros() as u64;
        counters.batches.add(1);
        counters.records.add(batch.records as u64);
        counters.batches_of_1.add(u64::from(batch.records <= 1));
        counters.batches_within_4.add(u64::from(batch.records <= 4));
        counters.batches_within_16.add(u64::from(batch.records <= 16));
        counters.batches_within_64.add(u64::from(batch.records <= 64));
        counters.syncs.add(1);
        counters.sync_us.add(took_us);
        counters.sync_us_max.raise(took_us);
        counters.syncs_within_1ms.add(u64::from(took_us <= 1_000));
        counters.syncs_within_10ms.add(u64::from(took_us <= 10_000));
        counters.syncs_within_100ms.add(u64::from(took_us <= 100_000));
        counters.log_bytes_written.add(batch.length as u64);
        counters.batch_commits_max.raise(batch.records as u64);
    }

    /// Waits until what is appended now is durable and visible: whoever lost to it may be told only then.
    pub(crate) fn wait_for_all(&self) -> Result<()> {
        let writer = self.lock_writer();
        let position = writer.appended;
        self.wait_durable(writer, position)?;
        self.publish_latest(&mut self.lock_writer());
        Ok(())
    }

    /// Refuses commits from now on; returns when all there are, are durable and published.
    pub(crate) fn accept_no_more(&self) -> Result<()> {
        let writer = self.lock_writer();
        self.publisher.life.begin_to_close()?;
        let position = writer.appended;
        self.wait_durable(writer, position)
    }
}
