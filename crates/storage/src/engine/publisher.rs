//! What readers may see, what is durable, and who writes the log next.
//!
//! What must hold:
//! - The newest version that readers see changes here only: by the leader of a batch that has one to publish, or by
//!   whoever holds the commit lock while no such leader writes and all is durable that must be before it is seen
//!   ([`Engine::publish_latest`]).
//! - Who waits for a batch sleeps at its gate, without the commit lock. The leader opens the gate after it has
//!   published, so who was told of a commit sees it, and goes on without the commit lock.
//! - Somebody is awake, or will wake, to write what is waited for: the leader of a batch wakes one of the next one's,
//!   and who waits for company does so for a bounded time.
//!
//! Where a write is quick (memory), one of those who wait for the leader stays awake, and leads the next batch without having
//! been woken: two threads would else sleep for longer than they work.
//!
//! Company: who was just told of a commit often commits again at once. A leader that does not wait for them writes the
//! half of the threads that waited meanwhile, and so does the next, for ever: each write carries half of the commits it
//! could. So the next leader waits for as many as are expected, at most for a part of what a write takes; the last who
//! comes leads, without being woken. Where that did not pay it is not tried for a while. What a write takes is the less
//! of what the last two took: after one that the medium held up nobody waits for half as long again.

use std::time::Duration;

use super::commit::WriterGuard;
use super::shared::Engine;
use super::stage::{Act, Life, Stage};
use super::version::{Version, VersionPtr};
use super::writer::{Changes, Cut, Writer};
use crate::Wait;
use crate::broken::{self, Broken};
use crate::sync::{AtomicPtr, AtomicU64, Awake, Condvar, Mutex, Ordering};

/// One part in so many of what a write takes is waited for company.
const PATIENCE: u32 = 2;
/// Below this waiting is more work than it saves.
const PATIENCE_MIN: Duration = Duration::from_micros(20);
/// Batches written without waiting after company failed to come, at most.
const BACKOFF: u32 = 63;
/// Where a write takes no longer than this, falling asleep and being woken takes longer than the write.
const QUICK: Duration = Duration::from_micros(20);

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Publisher {
    pub(crate) life: Life,
    /// The newest version that readers may see. Owned.
    published: AtomicPtr<Version>,
    /// Everything before this log position is durable.
    durable: AtomicU64,
    /// By the parity of a batch's number.
    gates: [Gate; 2],
    /// The number of the last batch that is done: for who waits awake.
    done: AtomicU64,
    /// Who waits for a quick leader.
    awake: Awake,
}

/// Where those sleep who wait for a batch.
#[derive(Debug, Default)]
struct Gate {
    lock: Mutex<()>,
    opened: Condvar,
}

impl Gate {
    /// Sleeps until the gate is opened, or (rarely) for no reason. Who opens it after the commit lock was let go of
    /// finds the caller asleep.
    fn sleep(&self, writer: WriterGuard<'_>, longest: Option<Duration>) {
        let gate = self.lock.lock();
        drop(writer);
        drop(Wait::LogWrite.during(|| match longest {
            Some(longest) => self.opened.wait_for(gate, longest),
            None => self.opened.wait(gate),
        }));
    }

    fn open(&self) {
        drop(self.lock.lock());
        self.opened.notify_all();
    }

    fn let_one_through(&self) {
        drop(self.lock.lock());
        self.opened.notify_one();
    }
}

impl Publisher {
    pub(crate) fn new(version: VersionPtr, durable: u64, stage: Stage) -> Publisher {
        Publisher {
            life: Life::new(stage),
            published: AtomicPtr::new(version.as_raw()),
            durable: AtomicU64::new(durable),
            gates: [Gate::default(), Gate::default()],
            done: AtomicU64::new(0),
            awake: Awake::new(),
        }
    }

    /// The newest version. Who reads more of it than its number registers with it first (`Engine::enter`).
    #[inline]
    pub(crate) fn newest(&self) -> *mut Version {
        self.published.load(Ordering::SeqCst)
    }

    pub(crate) fn newest_number(&self) -> u64 {
        // SAFETY: version objects live until the engine is dropped; `number` is atomic.
        unsafe { (*self.newest()).number.load(Ordering::SeqCst) }
    }

    #[inline]
    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    pub(crate) fn set_durable(&self, position: u64) {
        self.durable.store(position, Ordering::Release);
    }

    /// After a failure: everybody who waits is to look.
    pub(super) fn wake_everybody(&self) {
        self.gates.iter().for_each(Gate::open);
    }

    /// After batch `number`.
    pub(super) fn wake(&self, number: u64, woken: Woken) {
        let gate = |number: u64| &self.gates[(number & 1) as usize];
        self.done.store(number, Ordering::Release);
        if woken.done {
            gate(number).open();
        }
        if woken.next && !broken::is(Broken::NoNextLeader) {
            gate(number + 1).let_one_through();
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        // SAFETY: the published version is the publisher's, and no handle is left to read it.
        unsafe { VersionPtr::from_raw(self.published.load(Ordering::Acquire)).free() };
    }
}

/// Who is to be woken: those whose batch is done, one of those who wait for the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Woken {
    done: bool,
    next: bool,
    /// Tickets may have been given out for it.
    pub(super) tickets: bool,
}

/// What who needs the open batch durable does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Lead,
    Wait(Sleep),
}

/// How somebody sleeps until a batch is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleep {
    /// Until then, or until it has to be led.
    Long,
    /// At most so long: company may come until then, and nobody else looks whether it did.
    ForCompany(Duration),
    /// At most so long, and not to lead it while nobody is in a hurry.
    InGroup(Duration),
}

impl Sleep {
    fn longest(self) -> Option<Duration> {
        match self {
            Sleep::Long => None,
            Sleep::ForCompany(longest) | Sleep::InGroup(longest) => Some(longest),
        }
    }
}

/// Who writes the log, and who waits for it. Guarded by the commit lock.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Number of the batch being filled.
    number: u64,
    /// A leader is writing the batch before.
    leading: bool,
    /// It has a version to publish.
    publishes: bool,
    /// An empty batch says that all is durable, and nothing was written since.
    is_idle: bool,
    /// Everything before this position must be durable before readers see it.
    strong: u64,
    /// Threads that wait for a batch, by the parity of its number, and those of them that are not in a group.
    waiting: [u32; 2],
    hurried: [u32; 2],
    /// Whether there may be tickets for a batch, by the parity of its number.
    tickets: [bool; 2],
    company: Company,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            number: 1,
            leading: false,
            publishes: false,
            is_idle: false,
            strong: 0,
            waiting: [0; 2],
            hurried: [0; 2],
            tickets: [false; 2],
            company: Company::default(),
        }
    }
}

impl Queue {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether a batch is being written.
    pub(crate) fn is_leading(&self) -> bool {
        self.leading
    }

    /// Readers may see what lies before `position` only once it is durable.
    #[inline]
    pub(crate) fn must_be_durable(&mut self, position: u64) {
        self.strong = self.strong.max(position);
    }

    /// Somebody gets a ticket for what is appended so far, which is in the open batch or the one that is being written.
    #[inline]
    pub(crate) fn gives_ticket(&mut self) {
        self.tickets = [true; 2];
    }

    /// What to do for the open batch, which holds so many records.
    pub(super) fn next_step(&mut self, records: u32, now: impl FnOnce() -> Duration) -> Step {
        match self.leading {
            true => Step::Wait(Sleep::Long),
            false => self.company.next_step(records, now),
        }
    }

    /// Whether a batch is being written that will be done soon.
    fn is_done_soon(&self) -> bool {
        self.leading && self.company.took.is_some_and(|took| took <= QUICK)
    }

    /// The caller leads from now on. Returns the number of its batch.
    pub(super) fn begin(&mut self, records: u32) -> u64 {
        self.leading = true;
        self.company.judge(records);
        self.number += 1;
        self.number - 1
    }

    /// Batch `number` is done; writing it took so long. `records`: how many are in the next one already.
    pub(super) fn end(&mut self, number: u64, records: u32, took: Duration, now: impl FnOnce() -> Duration) -> Woken {
        self.give_up();
        let done = std::mem::take(&mut self.waiting[(number & 1) as usize]);
        self.hurried[(number & 1) as usize] = 0;
        let tickets = std::mem::take(&mut self.tickets[(number & 1) as usize]);
        self.company.expect(done, records, took, now);
        Woken { done: done > 0, next: self.is_hurried(number + 1), tickets }
    }

    /// Whether somebody who is not in a group sleeps until batch `number` is done. (Whoever is in one may be the one who
    /// is woken to lead it.)
    fn is_hurried(&self, number: u64) -> bool {
        self.hurried[(number & 1) as usize] > 0
    }

    fn falls_asleep(&mut self, number: u64, sleep: Sleep) {
        self.waiting[(number & 1) as usize] += 1;
        self.hurried[(number & 1) as usize] += u32::from(!matches!(sleep, Sleep::InGroup(_)));
    }

    /// The leader's batch has a version to publish.
    pub(super) fn will_publish(&mut self) {
        self.publishes = true;
    }

    /// The caller leads no more.
    fn give_up(&mut self) {
        self.leading = false;
        self.publishes = false;
    }

    /// The caller is about to note that all is durable.
    pub(crate) fn begin_idle(&mut self) {
        self.is_idle = true;
    }

    /// So many records are written: whether the log was idle before.
    pub(super) fn end_idle(&mut self, records: u32) -> bool {
        records > 0 && std::mem::take(&mut self.is_idle)
    }

    /// A sleeper is awake, who waited for batch `number`: it is still counted, unless the batch is done.
    fn woke(&mut self, number: u64, sleep: Sleep) {
        if number >= self.number - u64::from(self.leading) {
            self.waiting[(number & 1) as usize] -= 1;
            self.hurried[(number & 1) as usize] -= u32::from(!matches!(sleep, Sleep::InGroup(_)));
        }
        if matches!(sleep, Sleep::ForCompany(_)) {
            self.company.is_watched = false;
        }
    }
}

/// Those who are expected to commit before the next batch is written.
#[derive(Debug, Default)]
struct Company {
    /// Records that the batch should have. 0: nobody is waited for.
    expected: u32,
    /// Records that it had when the wait began.
    found: u32,
    /// When waiting ends. (One sleeper wakes then.)
    until: Duration,
    is_watched: bool,
    /// What the last write took.
    took: Option<Duration>,
    /// Batches not to wait for, and how many that will be when nobody comes again.
    pause: u32,
    backoff: u32,
}

impl Company {
    /// `done`: how many were waiting for the batch that is done now, beside its leader.
    fn expect(&mut self, done: u32, records: u32, took: Duration, now: impl FnOnce() -> Duration) {
        self.expected = 0;
        let usual = self.took.replace(took).map_or(took, |last| last.min(took));
        if done + records == 0 {
            return;
        }
        let patience = usual / PATIENCE;
        if patience < PATIENCE_MIN {
            return;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        *self = Company {
            expected: records + done + 1,
            found: records,
            until: now() + patience,
            is_watched: false,
            ..*self
        };
    }

    fn next_step(&mut self, records: u32, now: impl FnOnce() -> Duration) -> Step {
        if records >= self.expected {
            return Step::Lead;
        }
        match self.until.checked_sub(now()).filter(|left| !left.is_zero()) {
            None => Step::Lead,
            Some(_) if self.is_watched => Step::Wait(Sleep::Long),
            Some(left) => {
                self.is_watched = true;
                Step::Wait(Sleep::ForCompany(left))
            }
        }
    }

    /// A batch is cut: whether waiting paid.
    fn judge(&mut self, records: u32) {
        if self.expected > 0 {
            let has_paid = (records.saturating_sub(self.found)) * 2 >= self.expected - self.found;
            self.backoff = if has_paid { 0 } else { (2 * self.backoff + 1).min(BACKOFF) };
            self.pause = self.backoff;
            self.expected = 0;
        }
    }
}

/// Kept by a leader while it leads. If it panics the others are told: nobody else would wake them.
pub(super) struct Leading<'a>(pub(super) &'a Engine);

impl Leading<'_> {
    pub(super) fn end(self) {
        std::mem::forget(self);
    }
}

impl Drop for Leading<'_> {
    #[cold]
    fn drop(&mut self) {
        self.0.publisher.life.fail("a thread panicked while it wrote the log");
        self.0.lock_writer().queue.give_up();
        self.0.publisher.wake_everybody();
        self.0.tickets.wake_all();
    }
}

impl Engine {
    /// Lets readers see a version, and frees what died with it. `seen`: is told of it before, so that whoever goes on from version to
    /// version holds none of that.
    pub(super) fn publish(&self, cut: Cut, seen: impl FnOnce(VersionPtr)) -> (VersionPtr, Changes) {
        let Cut { version, changes } = cut;
        // SAFETY: just cut, not freed.
        let number = unsafe { version.number() };
        self.pages.join_version(number, changes.created.ids());
        let old = self.publisher.published.swap(version.as_raw(), Ordering::SeqCst);
        seen(VersionPtr::from_raw(version.as_raw()));
        self.pages.bury(number, &changes.dead);
        if !changes.drops.is_empty() || !changes.chains.is_empty() {
            self.drop_later(number, &changes);
        }
        self.published.ring();
        (VersionPtr::from_raw(old), changes)
    }

    /// Lets readers see the latest state now, without a write, if nothing in it must be durable first and is not; false
    /// otherwise. For commits in a weak mode, and for what no batch publishes: what was undone (other pages of the same
    /// content: who compares roots would lose to them again and again), and records that changed nothing (parts of
    /// transactions that failed: a checkpoint of the version before would keep them in the log).
    pub(crate) fn publish_latest(&self, writer: &mut Writer) -> bool {
        let queue = &writer.queue;
        // A database that is only read has what recovery found; there are no commits.
        let life = &self.publisher.life;
        let may_publish = life.stage() == Stage::ReadOnly || life.check(Act::Log).is_ok();
        // A commit whose write failed is in the state, and must not be seen.
        let may_be_seen = self.publisher.durable() >= queue.strong && may_publish;
        if queue.publishes || !(may_be_seen || broken::is(Broken::UndurablePublished)) {
            return false;
        }
        // SAFETY: only who holds the commit lock, or leads and publishes, replaces the published version, and frees none.
        let position = unsafe { (*self.publisher.newest()).position };
        if writer.changed || position < writer.appended {
            let cut = writer.cut(self.stamp());
            let (old, changes) = self.publish(cut, |_| ());
            writer.recycle(old, changes, &self.pages);
        }
        true
    }

    /// Waits for the batch that is being written without sleeping, if that is worth it. The caller has a record in the next
    /// one, most likely, and leads that then.
    pub(super) fn wait_awake<'a>(&'a self, writer: WriterGuard<'a>) -> WriterGuard<'a> {
        if !writer.queue.is_done_soon() {
            return writer;
        }
        let number = writer.queue.number - 1;
        drop(writer);
        let publisher = &self.publisher;
        publisher.awake.wait(|| (publisher.done.load(Ordering::Acquire) >= number).then_some(()));
        self.lock_writer()
    }

    /// Sleeps until batch `number` is done, or there is need of a leader, or for as long as it is to. `None`: the log is
    /// durable up to `position`.
    pub(super) fn wait_for_batch<'a>(
        &'a self,
        mut writer: WriterGuard<'a>,
        number: u64,
        sleep: Sleep,
        position: u64,
    ) -> Option<WriterGuard<'a>> {
        writer.queue.falls_asleep(number, sleep);
        self.publisher.gates[(number & 1) as usize].sleep(writer, sleep.longest());
        if self.publisher.durable() >= position {
            return None;
        }
        let mut writer = self.lock_writer();
        writer.queue.woke(number, sleep);
        Some(writer)
    }

    /// Sleeps while a batch is being written.
    pub(crate) fn wait_for_leader<'a>(&'a self, mut writer: WriterGuard<'a>) -> WriterGuard<'a> {
        let number = writer.queue.number - 1;
        while writer.queue.leading && writer.queue.number - 1 == number {
            match self.wait_for_batch(writer, number, Sleep::Long, u64::MAX) {
                Some(again) => writer = again,
                None => return self.lock_writer(),
            }
        }
        writer
    }

    /// Group mode: lets others join the batch for a while, unless somebody is in a hurry. `None`: somebody wrote it
    /// meanwhile.
    pub(super) fn wait_for_group<'a>(&'a self, mut writer: WriterGuard<'a>, position: u64) -> Option<WriterGuard<'a>> {
        let until = self.env.host.now() + self.options.group_interval;
        let number = writer.queue.number;
        writer.queue.must_be_durable(position);
        if writer.batch.records() >= self.options.group_size {
            self.publisher.gates[(number & 1) as usize].open();
            return Some(writer);
        }
        while writer.queue.number == number
            && writer.batch.records() < self.options.group_size
            && self.publisher.life.check(Act::Log).is_ok()
        {
            if writer.queue.is_hurried(number) && !writer.queue.leading {
                break;
            }
            let Some(left) = until.checked_sub(self.env.host.now()).filter(|left| !left.is_zero()) else { break };
            writer = self.wait_for_batch(writer, number, Sleep::InGroup(left), position)?;
        }
        Some(writer)
    }
}

#[cfg(test)]
mod patience {
    use super::*;

    /// Who came behind it waited for half of that again.
    #[test]
    fn after_one_slow_write_nobody_waits_for_as_long() {
        let (mut company, ms) = (Company::default(), Duration::from_millis(1));
        for took in [ms, 1000 * ms] {
            company.expect(1, 1, took, || Duration::ZERO);
            assert_eq!(company.next_step(1, || Duration::ZERO), Step::Wait(Sleep::ForCompany(ms / PATIENCE)));
        }
        company.expect(1, 1, 1000 * ms, || Duration::ZERO);
        assert_eq!(company.next_step(1, || Duration::ZERO), Step::Wait(Sleep::ForCompany(1000 * ms / PATIENCE)));
    }
}
