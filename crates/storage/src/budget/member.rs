//! One cache among those that share memory: what it may have, what it lacks, and what it can do without.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::{Budget, Memory};
use crate::broken::{self, Broken};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering};

/// Who has less takes what it can not do without.
const LEAST: u64 = 16 << 20;

/// Looked-at pages per second and gibibyte.
pub(crate) type Rate = u64;

pub(crate) fn rate(pages: u64, of_bytes: u64, in_ms: u64) -> Rate {
    let all = u128::from(pages) * (1000 << 30) / u128::from(of_bytes.max(1)) / u128::from(in_ms.max(1));
    u64::try_from(all).unwrap_or(NOTHING_TO_GIVE - 1)
}

/// Whether what somebody gains by a chunk is worth what another loses by it. (It is done twice, and both must come to rest.)
pub(crate) fn is_worth(gain: Rate, loss: Rate) -> bool {
    loss < gain / 2 || broken::is(Broken::MemoryGrabbed)
}

/// As a loss: whatever it would be.
const NOTHING_TO_GIVE: Rate = u64::MAX;

/// As what a member may have: it has gone.
const GONE: u64 = u64::MAX;

/// What more memory would bring, and how much of that brings most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gain {
    pub(crate) rate: Rate,
    pub(crate) bytes: u64,
}

/// One cache's part.
pub(crate) struct Member {
    budget: Arc<Budget>,
    /// It has room for no more.
    most: u64,
    chunk: u64,
    page: u64,
    first: u64,
    may_have: AtomicU64,
    /// Of that, what its frames do not know of yet.
    given: AtomicU64,
    /// What more memory would bring, and how much.
    gain: AtomicU64,
    wanted: AtomicU64,
    /// What the chunk brings that brings least.
    loss: AtomicU64,
    /// 1 or 0.
    is_lacking: AtomicUsize,
    /// Pages came back that more memory would have kept, since the house last counted.
    came_back: AtomicBool,
    asked: Mutex<Vec<Ask>>,
    pub(super) wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// Somebody lacks memory.
pub(crate) struct Ask {
    pub(crate) to: Arc<Member>,
    pub(crate) gain: Rate,
    pub(crate) chunks: u64,
}

impl Member {
    pub(super) fn new(budget: Arc<Budget>, [most, chunk, first]: [u64; 3], page: u64) -> Member {
        Member {
            budget,
            most,
            chunk,
            page,
            first,
            may_have: AtomicU64::new(first),
            given: AtomicU64::new(first),
            gain: AtomicU64::new(0),
            wanted: AtomicU64::new(0),
            loss: AtomicU64::new(NOTHING_TO_GIVE),
            is_lacking: AtomicUsize::new(0),
            came_back: AtomicBool::new(false),
            asked: Mutex::default(),
            wake: OnceLock::new(),
        }
    }

    /// Frames that may have memory from now on; none where there is none left.
    #[cold]
    pub(crate) fn take(&self) -> usize {
        let given = self.given.swap(0, Ordering::AcqRel);
        if given > 0 {
            return self.frames(given);
        }
        let wanted = self.chunk.min(self.most.saturating_sub(self.may_have.load(Ordering::Relaxed)));
        let is_there = |taken: u64| (taken + wanted <= self.budget.bytes).then_some(taken + wanted);
        if wanted < self.page || self.budget.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_there).is_err()
        {
            return 0;
        }
        self.may_have.fetch_add(wanted, Ordering::Relaxed);
        self.frames(wanted)
    }

    /// As `take`, where nothing else can be had: the first [`LEAST`] bytes, also where there is none left.
    pub(crate) fn insist(&self) -> usize {
        let has = self.may_have.load(Ordering::Relaxed);
        if has >= LEAST.min(self.most) {
            return 0;
        }
        let wanted = self.chunk.min(self.most - has);
        self.budget.taken.fetch_add(wanted, Ordering::Relaxed);
        self.may_have.fetch_add(wanted, Ordering::Relaxed);
        self.frames(wanted)
    }

    /// Frames that [`Member::take`] would give now, taken as often as it gives any.
    #[inline]
    pub(crate) fn available(&self) -> usize {
        let left = self.budget.bytes.saturating_sub(self.budget.taken.load(Ordering::Relaxed));
        let room = self.most.saturating_sub(self.may_have.load(Ordering::Relaxed));
        let new = if left < self.chunk { 0 } else { left.min(room) };
        self.frames(self.given.load(Ordering::Relaxed) + new)
    }

    /// Of those, what others gave and nobody took yet.
    pub(crate) fn untaken(&self) -> usize {
        self.frames(self.given.load(Ordering::Relaxed))
    }

    /// Frames that may have memory, those that could be taken included.
    pub(crate) fn reachable(&self) -> usize {
        let left = self.budget.bytes.saturating_sub(self.budget.taken.load(Ordering::Relaxed));
        self.frames(self.may_have.load(Ordering::Relaxed).saturating_add(left).min(self.most))
    }

    fn frames(&self, bytes: u64) -> usize {
        (bytes / self.page) as usize
    }

    pub(crate) fn may_have(&self) -> u64 {
        self.may_have.load(Ordering::Relaxed)
    }

    /// Whether it could use more than it has.
    pub(crate) fn has_room(&self) -> bool {
        self.may_have() + self.chunk <= self.most
    }

    /// Whether it has a chunk beyond the first.
    pub(crate) fn has_spare(&self) -> bool {
        self.may_have() >= self.first + self.chunk
    }

    pub(super) fn spare(&self) -> u64 {
        self.may_have().saturating_sub(self.first)
    }

    /// What it is to give up, so that no more is taken than there is, and then to call [`Member::repaid`] with; nothing: 0.
    pub(crate) fn owes(&self) -> u64 {
        let owed = self.budget.overdrawn().next_multiple_of(self.chunk).min(self.spare() / self.chunk * self.chunk);
        self.budget.repaid.fetch_add(owed, Ordering::Relaxed);
        owed
    }

    /// It did, or could not: then others are to.
    pub(crate) fn repaid(&self, owed: u64) {
        self.budget.repaid.fetch_sub(owed, Ordering::Relaxed);
        if !self.has_spare() && self.budget.overdrawn() > 0 {
            self.budget.collect();
        }
    }

    /// Memory of its frames went back to the system: it is another's now, or nobody's.
    pub(crate) fn give_up(&self, bytes: u64, to: Option<&Member>) {
        let less = |has: u64| has.checked_sub(bytes).filter(|_| has != GONE);
        if self.may_have.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            return;
        }
        match to.is_some_and(|to| to.receive(bytes)) {
            true => _ = self.budget.moved.fetch_add(1, Ordering::Relaxed),
            false => _ = self.budget.taken.fetch_sub(bytes, Ordering::Relaxed),
        }
    }

    /// False: it has gone, or has room for no more.
    fn receive(&self, bytes: u64) -> bool {
        let more = |has: u64| (has != GONE && has + bytes <= self.most).then(|| has + bytes);
        let is_taken = self.may_have.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if is_taken {
            self.given.fetch_add(bytes, Ordering::AcqRel);
        }
        is_taken
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory(self.budget.clone())
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.budget.members.lock().len() < 2
    }

    /// How its house is told.
    pub(crate) fn wake_by(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.wake.set(Box::new(wake));
    }

    pub(crate) fn wake(&self) {
        self.wake.get().into_iter().for_each(|wake| wake());
    }

    /// Some pages came back that more memory would have kept: its house is to count them.
    pub(crate) fn note_return(&self) {
        self.came_back.store(true, Ordering::Relaxed);
        self.wake();
    }

    pub(super) fn came_back(&self) -> bool {
        self.came_back.load(Ordering::Relaxed)
    }

    /// What its house counted: what more memory would bring, and what the chunk does that brings least (`None`: it has none to give).
    pub(crate) fn tell(&self, gain: Gain, loss: Option<Rate>) {
        self.came_back.store(false, Ordering::Relaxed);
        // What brought much a moment ago may again.
        self.gain.store(gain.rate.max(self.gain() / 2), Ordering::Relaxed);
        if gain.rate > 0 {
            self.wanted.store(gain.bytes, Ordering::Relaxed);
        }
        let loss = loss.filter(|_| self.has_spare()).unwrap_or(NOTHING_TO_GIVE);
        self.loss.store(loss, Ordering::Relaxed);
    }

    pub(crate) fn gain(&self) -> Rate {
        self.gain.load(Ordering::Relaxed)
    }

    /// From now on nothing is known of what it brings.
    pub(crate) fn tell_nothing(&self) {
        self.gain.store(0, Ordering::Relaxed);
        self.loss.store(NOTHING_TO_GIVE, Ordering::Relaxed);
    }

    /// Whether it lacks memory that others might have no use for; the first time others are told, so that they count.
    pub(crate) fn lack(&self, is_lacking: bool) {
        let was = self.is_lacking.swap(is_lacking.into(), Ordering::Relaxed) == 1;
        match (was, is_lacking) {
            (false, true) => {
                self.budget.lacking.fetch_add(1, Ordering::Relaxed);
                let others = self.others(|other| other.has_spare());
                others.iter().for_each(|other| other.wake());
            }
            (true, false) => _ = self.budget.lacking.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
    }

    /// Whether anybody does.
    pub(crate) fn is_somebody_lacking(&self) -> bool {
        self.budget.lacking.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn moved(&self) -> u64 {
        self.budget.moved.load(Ordering::Relaxed)
    }

    fn others(&self, which: impl Fn(&Member) -> bool) -> Vec<Arc<Member>> {
        let members = self.budget.members.lock();
        members.iter().filter(|other| !std::ptr::eq(&***other, self) && which(other)).cloned().collect()
    }

    /// Asks who loses least by it, if it is worth that, for an eighth of what he has, at most so many chunks.
    pub(crate) fn ask(self: &Arc<Member>, most: u64) {
        let gain = self.gain();
        let loss = |other: &Member| other.loss.load(Ordering::Relaxed);
        let givers = self.others(|other| other.has_spare() && is_worth(gain, loss(other)));
        let Some(giver) = givers.iter().min_by_key(|giver| loss(giver)) else { return };
        let wanted = self.wanted.load(Ordering::Relaxed).div_ceil(giver.chunk);
        let chunks = (giver.may_have() / giver.chunk / 8).min(wanted).clamp(1, most);
        giver.asked.lock().push(Ask { to: self.clone(), gain, chunks });
        giver.wake();
    }

    /// Who asked, who gains most first.
    pub(crate) fn asked(&self) -> Vec<Ask> {
        let mut asked = std::mem::take(&mut *self.asked.lock());
        asked.sort_unstable_by_key(|ask| std::cmp::Reverse(ask.gain));
        asked
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({} of at most {} bytes)", self.may_have(), self.most)
    }
}

/// A member until this is dropped.
#[derive(Debug)]
pub(crate) struct Part(pub(crate) Arc<Member>);

impl Drop for Part {
    fn drop(&mut self) {
        let Part(member) = self;
        if !member.budget.process.is_current() {
            return;
        }
        member.lack(false);
        member.budget.members.lock().retain(|other| !Arc::ptr_eq(other, member));
        let had = member.may_have.swap(GONE, Ordering::Relaxed);
        member.budget.taken.fetch_sub(had, Ordering::Relaxed);
        // They hold others, who may hold this one.
        member.asked.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4096;
    const MIB: u64 = 1 << 20;

    fn frames(mib: u64) -> usize {
        (mib * MIB) as usize / PAGE
    }

    fn take_all(member: &Member) -> usize {
        std::iter::from_fn(|| Some(member.take()).filter(|taken| *taken > 0)).sum()
    }

    #[test]
    fn together_members_have_what_there_is_and_what_goes_is_there_for_others() {
        let memory = Memory::shared(64 << 20);
        let [first, second] = [0, 1].map(|_| memory.join(64 * MIB, PAGE).unwrap());
        assert_eq!((first.0.available(), first.0.reachable()), (frames(62), frames(62)));
        assert_eq!(take_all(&first.0), frames(62));
        assert_eq!(memory.taken(), 64 << 20);
        assert_eq!((take_all(&second.0), second.0.available()), (frames(2), 0));
        // Up to its least it can not be refused; the other has more than that.
        assert_eq!(std::iter::from_fn(|| Some(second.0.insist()).filter(|more| *more > 0)).sum::<usize>(), frames(14));
        assert_eq!((first.0.insist(), memory.taken()), (0, 78 << 20));
        drop(first);
        assert_eq!((memory.taken(), take_all(&second.0)), (16 << 20, frames(48)));
        drop(second);
        assert_eq!(memory.taken(), 0);
    }

    #[test]
    fn what_is_given_is_somebodys_at_every_moment() {
        let memory = Memory::shared(16 << 20);
        let [first, second] = [0, 1].map(|_| memory.join(16 * MIB, PAGE).unwrap());
        take_all(&first.0);
        take_all(&second.0);
        first.0.give_up(2 * MIB, Some(&second.0));
        assert_eq!((first.0.may_have(), second.0.may_have(), memory.moved()), (12 * MIB, 4 * MIB, 1));
        assert_eq!((second.0.available(), second.0.take(), second.0.take()), (frames(2), frames(2), 0));
        // It is nobody's where who is to get it went.
        let gone = second.0.clone();
        drop(second);
        first.0.give_up(2 * MIB, Some(&gone));
        assert_eq!((first.0.may_have(), memory.taken(), memory.moved()), (10 * MIB, 10 << 20, 1));
        gone.give_up(2 * MIB, Some(&first.0));
        assert_eq!((first.0.may_have(), memory.taken()), (10 * MIB, 10 << 20));
    }

    #[test]
    fn who_loses_least_is_asked_and_nobody_who_would_lose_more_than_half_of_what_it_brings() {
        let memory = Memory::shared(64 << 20);
        let parts = [0, 1, 2].map(|_| memory.join(64 * MIB, PAGE).unwrap());
        let [first, second, third] = parts.each_ref().map(|part| part.0.clone());
        for giver in [&first, &second] {
            (0..14).for_each(|_| assert!(giver.take() > 0));
        }
        third.ask(16);
        let rated = |rate| Gain { rate, bytes: 4 * MIB };
        first.tell(rated(0), Some(60));
        second.tell(rated(0), Some(40));
        third.tell(rated(100), Some(0));
        third.ask(16);
        assert!(first.asked().is_empty());
        let asked = second.asked();
        assert_eq!((asked.len(), asked[0].chunks, asked[0].gain), (1, 1, 100));
        third.tell_nothing();
        third.tell(rated(80), Some(0));
        third.ask(16);
        assert!(first.asked().is_empty() && second.asked().is_empty());
        // Who has no more than the first has nothing to give.
        third.tell(rated(0), Some(0));
        second.tell(rated(10), None);
        second.ask(1);
        assert!(third.asked().is_empty());
    }

    #[test]
    fn rates_are_of_time_and_memory() {
        assert_eq!(rate(100, 1 << 30, 1000), 100);
        assert_eq!(rate(100, 1 << 20, 100), 100 * 1024 * 10);
        assert!(rate(u64::MAX, 0, 0) < NOTHING_TO_GIVE);
    }

    /// Members that come, take, give and go at the same time: at the end nothing is taken.
    #[test]
    fn threads_that_take_give_and_go_lose_nothing() {
        let memory = Memory::shared(64 << 20);
        let stays = memory.join(64 * MIB, PAGE).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..2000 {
                        let part = memory.join(64 * MIB, PAGE).unwrap();
                        (0..round % 5).for_each(|_| _ = part.0.take());
                        while part.0.has_spare() && round % 3 > 0 {
                            part.0.give_up(part.0.chunk, Some(&stays.0));
                        }
                        if stays.0.has_spare() {
                            let others = stays.0.others(|_| true);
                            stays.0.give_up(stays.0.chunk, others.first().map(|other| &**other));
                        }
                    }
                });
            }
        });
        assert_eq!(memory.taken() as u64, stays.0.may_have());
        assert!(memory.moved() > 0);
        drop(stays);
        assert_eq!(memory.taken(), 0);
    }
}
