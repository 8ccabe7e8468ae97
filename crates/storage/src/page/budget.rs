//! Memory that the caches of several databases have together: who may have more of it, and from whom it comes.
//!
//! Where there is some left, who needs it takes it, a chunk at a time. Where there is none, a cache gets what others make no use of,
//! by hits that it would have brought: who evicts a page remembers its id for a while as a *ghost*, and if the page is loaded again
//! while it does, more memory would have kept it. So a scan of more than there is room for, which comes back to nothing, gets nothing
//! from who comes back to what he has. (The house thread of each database counts: `balance`.)
//!
//! What must hold:
//! - What members may have is together at most what there is, but for the chunk that each begins with, and for what one that has
//!   less than [`LEAST`] takes where nothing can be evicted.
//! - A member's frames have no more memory than it may have.
//! - What a member gives is another's or nobody's at once. Nothing is lost or counted twice, also where who is to get it closes.
//! - No lock is taken on the way to a frame; that of the members only by who comes, goes, or lacks memory.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::memory::zeroed;
use crate::broken::{self, Broken};
use crate::process::{PerProcess, Process};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering};
use crate::{Error, Result, system_memory};

/// Bytes that change hands at a time: those of a large page of the system.
pub(super) const CHUNK: u64 = 2 << 20;

/// A cache is so many chunks at least: one with less room has smaller ones.
pub(super) const CHUNKS_MIN: u64 = 8;

/// What each has from the beginning is a chunk, and at least so many frames.
const FRAMES_MIN: u64 = 64;

/// Who has less takes what it can not do without.
const LEAST: u64 = 16 << 20;

/// The part of the memory that the process may use which its databases have together, where nobody says another.
const PART: u64 = 4;

/// There are as many ghosts as there could be frames, but no more than this.
const GHOSTS_MAX: usize = 1 << 21;

/// Memory that would have kept a ghost is told apart up to so many doublings of a page.
const NEARNESSES: usize = 24;

/// So many pages came back that were ghosts, since the house last counted: it is told.
const MANY: u64 = 32;

/// Memory that several databases share for their pages, a chunk at a time: who needs more gets what others make no use of. Clones are
/// the same memory.
///
/// ```
/// use cairn_storage::{Memory, Options, Store};
///
/// let folder = tempfile::tempdir()?;
/// let memory = Memory::shared(64 << 20);
/// let mut options = Options::default();
/// options.memory = Some(memory.clone());
/// let stores: Result<Vec<Store>, _> =
///     ["a", "b"].iter().map(|name| Store::open(folder.path().join(name), options.clone())).collect();
/// let stores = stores?;
/// assert!(stores.len() == 2 && memory.taken() <= memory.bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Memory(Arc<Budget>);

struct Budget {
    bytes: u64,
    /// What members may have.
    taken: AtomicU64,
    /// Members that get what others can do without. While there are some, all count what they use.
    lacking: AtomicUsize,
    /// Chunks that members gave to others.
    moved: AtomicU64,
    members: Mutex<Vec<Arc<Member>>>,
    process: Process,
}

impl Memory {
    /// So many bytes. Each database that is opened with them has 2 MiB (or an eighth), even where that is more together, and up to
    /// 16 MiB where it can not do with less.
    pub fn shared(bytes: usize) -> Memory {
        Memory(Arc::new(Budget {
            bytes: bytes as u64,
            taken: AtomicU64::new(0),
            lacking: AtomicUsize::new(0),
            moved: AtomicU64::new(0),
            members: Mutex::default(),
            process: Process::current(),
        }))
    }

    /// What databases share that nobody chose a size for: a quarter of what the process may use.
    pub(crate) fn of_the_process() -> Memory {
        static ITS: PerProcess<Memory> = PerProcess::new();
        let make = || Ok::<_, Error>(Memory::shared(usize::try_from(usable() / PART).unwrap_or(usize::MAX)));
        ITS.get(make).expect("making it does not fail").clone()
    }

    /// How many there are.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.0.bytes).unwrap_or(usize::MAX)
    }

    /// How many of them databases may use now. A little more than there are, where many databases are open.
    pub fn taken(&self) -> usize {
        usize::try_from(self.0.taken.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }

    /// How many chunks went from one database to another so far.
    pub fn moved(&self) -> u64 {
        self.0.moved.load(Ordering::Relaxed)
    }

    /// Has a cache of at most so many bytes take part.
    pub(super) fn join(&self, most: u64, page_size: usize) -> Result<Part> {
        // The lock of the members may be that of a thread that is not here.
        self.0.process.check()?;
        let chunk = CHUNK.min(most / CHUNKS_MIN).max(page_size as u64);
        let first = chunk.max(FRAMES_MIN * page_size as u64).min(most);
        let ghosts = Ghosts::new(most as usize / page_size).ok_or(Error::NoMemory { bytes: most as usize })?;
        let member = Arc::new(Member {
            budget: self.0.clone(),
            most,
            chunk,
            page: page_size as u64,
            first,
            may_have: AtomicU64::new(first),
            given: AtomicU64::new(first),
            gain: AtomicU64::new(0),
            wanted: AtomicU64::new(0),
            loss: AtomicU64::new(NOTHING_TO_GIVE),
            is_lacking: AtomicUsize::new(0),
            asked: Mutex::default(),
            wake: OnceLock::new(),
            ghosts,
        });
        self.0.taken.fetch_add(first, Ordering::Relaxed);
        let mut members = self.0.members.lock();
        members.push(member.clone());
        // Who was alone, and had pages come back, was not told of it.
        let told: Vec<_> = members.iter().filter(|other| other.ghosts.are_many()).cloned().collect();
        drop(members);
        told.iter().for_each(|other| other.wake());
        Ok(Part(member))
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} of {} bytes)", self.taken(), self.bytes())
    }
}

/// What the process may use, as it was when that was first asked for.
pub(super) fn usable() -> u64 {
    static USABLE: OnceLock<u64> = OnceLock::new();
    *USABLE.get_or_init(|| system_memory::usable(&system_memory::read))
}

/// Looked-at pages per second and gibibyte.
pub(super) type Rate = u64;

pub(super) fn rate(pages: u64, of_bytes: u64, in_ms: u64) -> Rate {
    let all = u128::from(pages) * (1000 << 30) / u128::from(of_bytes.max(1)) / u128::from(in_ms.max(1));
    u64::try_from(all).unwrap_or(NOTHING_TO_GIVE - 1)
}

/// Whether what somebody gains by a chunk is worth what another loses by it. (It is done twice, and both must come to rest.)
pub(super) fn is_worth(gain: Rate, loss: Rate) -> bool {
    loss < gain / 2 || broken::is(Broken::MemoryGrabbed)
}

/// As a loss: whatever it would be.
const NOTHING_TO_GIVE: Rate = u64::MAX;

/// As what a member may have: it has gone.
const GONE: u64 = u64::MAX;

/// One cache's part.
pub(super) struct Member {
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
    asked: Mutex<Vec<Ask>>,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
    pub(super) ghosts: Ghosts,
}

/// Somebody lacks memory.
pub(super) struct Ask {
    pub(super) to: Arc<Member>,
    pub(super) gain: Rate,
    pub(super) chunks: u64,
}

impl Member {
    /// Frames that may have memory from now on; none where there is none left.
    #[cold]
    pub(super) fn take(&self) -> usize {
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
    pub(super) fn insist(&self) -> usize {
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
    pub(super) fn available(&self) -> usize {
        let left = self.budget.bytes.saturating_sub(self.budget.taken.load(Ordering::Relaxed));
        let room = self.most.saturating_sub(self.may_have.load(Ordering::Relaxed));
        let new = if left < self.chunk { 0 } else { left.min(room) };
        self.frames(self.given.load(Ordering::Relaxed) + new)
    }

    /// Frames that may have memory, those that could be taken included.
    pub(super) fn reachable(&self) -> usize {
        let left = self.budget.bytes.saturating_sub(self.budget.taken.load(Ordering::Relaxed));
        self.frames(self.may_have.load(Ordering::Relaxed).saturating_add(left).min(self.most))
    }

    fn frames(&self, bytes: u64) -> usize {
        (bytes / self.page) as usize
    }

    pub(super) fn may_have(&self) -> u64 {
        self.may_have.load(Ordering::Relaxed)
    }

    /// Whether it could use more than it has.
    pub(super) fn has_room(&self) -> bool {
        self.may_have() + self.chunk <= self.most
    }

    /// Whether it has a chunk beyond the first.
    pub(super) fn has_spare(&self) -> bool {
        self.may_have() >= self.first + self.chunk
    }

    /// Memory of its frames went back to the system: it is another's now, or nobody's.
    pub(super) fn give_up(&self, bytes: u64, to: Option<&Member>) {
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

    pub(super) fn is_alone(&self) -> bool {
        self.budget.members.lock().len() < 2
    }

    /// How its house is told.
    pub(super) fn wake_by(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.wake.set(Box::new(wake));
    }

    pub(super) fn wake(&self) {
        self.wake.get().into_iter().for_each(|wake| wake());
    }

    /// What its house counted: what more memory would bring, and what the chunk does that brings least (`None`: it has none to give).
    pub(super) fn tell(&self, gain: Gain, loss: Option<Rate>) {
        // What brought much a moment ago may again.
        self.gain.store(gain.rate.max(self.gain() / 2), Ordering::Relaxed);
        if gain.rate > 0 {
            self.wanted.store(gain.bytes, Ordering::Relaxed);
        }
        let loss = loss.filter(|_| self.has_spare()).unwrap_or(NOTHING_TO_GIVE);
        self.loss.store(loss, Ordering::Relaxed);
    }

    pub(super) fn gain(&self) -> Rate {
        self.gain.load(Ordering::Relaxed)
    }

    /// From now on nothing is known of what it brings.
    pub(super) fn tell_nothing(&self) {
        self.gain.store(0, Ordering::Relaxed);
        self.loss.store(NOTHING_TO_GIVE, Ordering::Relaxed);
    }

    /// Whether it lacks memory that others might have no use for; the first time others are told, so that they count.
    pub(super) fn lack(&self, is_lacking: bool) {
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
    pub(super) fn is_somebody_lacking(&self) -> bool {
        self.budget.lacking.load(Ordering::Relaxed) > 0
    }

    pub(super) fn moved(&self) -> u64 {
        self.budget.moved.load(Ordering::Relaxed)
    }

    fn others(&self, which: impl Fn(&Member) -> bool) -> Vec<Arc<Member>> {
        let members = self.budget.members.lock();
        members.iter().filter(|other| !std::ptr::eq(&***other, self) && which(other)).cloned().collect()
    }

    /// Asks who loses least by it, if it is worth that, for an eighth of what he has, at most so many chunks.
    pub(super) fn ask(self: &Arc<Member>, most: u64) {
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
    pub(super) fn asked(&self) -> Vec<Ask> {
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
pub(super) struct Part(pub(super) Arc<Member>);

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

/// Which pages were evicted lately, and what came back of them.
pub(super) struct Ghosts {
    /// By a part of the id the last of those that share it: its id, and above that how many were evicted before it.
    evicted: Box<[AtomicU64]>,
    count: AtomicU64,
    /// How many came back since that was last asked, by how much more memory would have kept them: of the first those that a page more
    /// would have, and then twice as many each.
    back: [AtomicU64; NEARNESSES],
    all_back: AtomicU64,
}

/// What more memory would bring, and how much of that brings most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gain {
    pub(super) rate: Rate,
    pub(super) bytes: u64,
}

impl Ghosts {
    fn new(frames: usize) -> Option<Ghosts> {
        let evicted = zeroed(frames.next_power_of_two().clamp(64, GHOSTS_MAX))?;
        let back = std::array::from_fn(|_| AtomicU64::new(0));
        Some(Ghosts { evicted, count: AtomicU64::new(0), back, all_back: AtomicU64::new(0) })
    }

    /// (Ids side by side are evicted together: they have places of their own.)
    fn place(&self, id: u32) -> &AtomicU64 {
        &self.evicted[id as usize & (self.evicted.len() - 1)]
    }

    /// The page was evicted.
    pub(super) fn note(&self, id: u32) {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        self.place(id).store(before << 32 | u64::from(id), Ordering::Relaxed);
    }

    /// The page was loaded. Whether the house is to be told.
    pub(super) fn look(&self, id: u32) -> bool {
        let place = self.place(id);
        let found = place.load(Ordering::Relaxed);
        if found as u32 != id || found == 0 {
            return false;
        }
        place.store(0, Ordering::Relaxed);
        let since = (self.count.load(Ordering::Relaxed) as u32).wrapping_sub((found >> 32) as u32);
        let nearness = since.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1);
        self.back[(nearness as usize).min(NEARNESSES - 1)].fetch_add(1, Ordering::Relaxed);
        self.all_back.fetch_add(1, Ordering::Relaxed) + 1 == MANY
    }

    fn are_many(&self) -> bool {
        self.all_back.load(Ordering::Relaxed) >= MANY
    }

    /// What more memory would have brought since that was last asked, so many milliseconds ago.
    pub(super) fn gain(&self, page: u64, in_ms: u64) -> Gain {
        self.all_back.store(0, Ordering::Relaxed);
        let (mut pages, mut best) = (0, Gain::default());
        for (nearness, back) in self.back.iter().enumerate() {
            pages += back.swap(0, Ordering::Relaxed);
            let bytes = page << nearness;
            let rate = rate(pages, bytes, in_ms);
            if rate > best.rate {
                best = Gain { rate, bytes };
            }
        }
        best
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
    fn a_page_that_comes_back_while_it_is_a_ghost_is_counted_once() {
        let ghosts = Ghosts::new(256).unwrap();
        (2..258).for_each(|id| ghosts.note(id));
        let told: Vec<u32> = (2..300).chain(2..300).filter(|&id| ghosts.look(id)).collect();
        assert_eq!(told, [2 + MANY as u32 - 1]);
        assert!(ghosts.are_many());
        // Half of them lie within 128 pages, all within 256: it is the same for each page.
        assert_eq!(ghosts.gain(4 << 20, 1000), Gain { rate: 256, bytes: 4 << 20 });
        assert!(!ghosts.are_many() && ghosts.gain(4 << 20, 1000) == Gain::default());
        // A later one took its place.
        ghosts.note(7);
        ghosts.note(7 + 256);
        assert!(!ghosts.look(7) && ghosts.gain(4 << 20, 1000).rate == 0);
    }

    #[test]
    fn how_much_more_memory_would_have_kept_a_page_is_learned_from_how_many_went_after_it() {
        let ghosts = Ghosts::new(1024).unwrap();
        // In a circle of 200 pages, of which 20 are in memory.
        for at in 0..2000 {
            ghosts.look(2 + at % 200);
            ghosts.note(2 + (at + 180) % 200);
        }
        assert_eq!(ghosts.gain(1 << 20, 1000), Gain { rate: 1820 * 1024 / 256, bytes: 256 << 20 });
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
