//! What the house of a database does about memory that it shares with others: it counts what more would bring and what the least
//! used of what it has does, asks others for memory, and gives some to others that asked. Between two looks it is idle; it looks
//! while somebody lacks memory, and is told of that.
//!
//! How much a chunk brings is learned from some of them, others each time: their pages are marked as those are that the hand of
//! eviction passed, and at the next look those count that somebody came back to meanwhile. A page that was loaded since is none.
//!
//! What must hold:
//! - Nobody gives what is used at least half as much as it would be by who gets it, or more than an eighth of what he has at a time.
//! - Nobody is left with less than he began with.
//! - Where everybody has what he needs nothing is looked at.

use std::ops::Range;
use std::time::Duration;

use super::cache::Pages;
use super::frames::{COOLING, FIXED, Place};
use super::release::NAPS;
use crate::budget::{Gain, Member, Rate, is_worth, rate};
use crate::sync::Ordering;

/// Between two looks; twice as long after each that moved nothing, up to the latter.
const SOON: Duration = Duration::from_millis(100);
const LATER: Duration = Duration::from_millis(1600);

/// One chunk in so many is looked at, at least the fewest and at most the most.
const SAMPLED: usize = 8;
const FEWEST: usize = 4;
const MOST: usize = 16;

/// What the house remembers from one look to the next.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    /// When ghosts were last counted.
    counted: Duration,
    /// When there was a last look, while there are looks.
    looked: Option<Duration>,
    pause: Duration,
    moved: u64,
    /// Where the next chunks are taken from.
    next: usize,
    sample: Vec<(Range<u32>, Vec<Place>)>,
}

impl Pages {
    /// Who is to be told that others lack memory, or that this database may.
    pub(crate) fn tell_when_memory_is_shared(&self, tell: impl Fn() + Send + Sync + 'static) {
        if let Some(part) = &self.part {
            part.0.wake_by(tell);
        }
    }

    /// Does what there is to do now; how long until the next time, if somebody lacks memory.
    pub(crate) fn share_memory(&self, now: Duration, sharing: &mut Sharing) -> Option<Duration> {
        let member = &self.part.as_ref()?.0;
        self.repay(member);
        let next = sharing.looked.map_or(now, |looked| looked + sharing.pause);
        if next > now {
            return Some(next - now);
        }
        if member.is_alone() {
            sharing.end(member);
            return None;
        }
        self.count_use(member, now, sharing);
        let is_lacking = self.asks_for_memory(member);
        if !(is_lacking || member.is_somebody_lacking() && member.has_spare()) {
            sharing.end(member);
            return None;
        }
        let moved = member.moved();
        let has_moved = std::mem::replace(&mut sharing.moved, moved) != moved;
        sharing.pause = if has_moved || sharing.looked.is_none() { SOON } else { (2 * sharing.pause).min(LATER) };
        sharing.looked = Some(now);
        self.take_sample(sharing);
        Some(sharing.pause)
    }

    /// Gives up what is taken beyond what there is.
    fn repay(&self, member: &Member) {
        loop {
            let owed = member.owes();
            // What can not be written now is not given up now.
            let released = if owed == 0 { 0 } else { self.release_memory(owed as usize).unwrap_or(0) };
            member.repaid(owed);
            if released == 0 {
                return;
            }
        }
    }

    /// Counts, and gives to who asked.
    fn count_use(&self, member: &Member, now: Duration, sharing: &mut Sharing) {
        let since = |then: Duration| u64::try_from((now - then).as_millis()).unwrap_or(u64::MAX);
        let gain = self
            .ghosts
            .as_ref()
            .map_or(Gain::default(), |ghosts| ghosts.gain(self.page_size() as u64, since(sharing.counted)));
        sharing.counted = now;
        let mut losses: Vec<(Rate, Range<u32>)> = match sharing.looked {
            None => Vec::new(),
            Some(looked) => {
                let loss = |(chunk, pages): (Range<u32>, Vec<Place>)| {
                    let bytes = chunk.len() as u64 * self.page_size() as u64;
                    (rate(self.came_back(&pages), bytes, since(looked)), chunk)
                };
                sharing.sample.drain(..).map(loss).collect()
            }
        };
        losses.sort_by_key(|(loss, _)| std::cmp::Reverse(*loss));
        member.tell(gain, losses.last().map(|(loss, _)| *loss));
        self.give_to_others(member, losses);
    }

    /// Gives those that bring least, the last of them first.
    fn give_to_others(&self, member: &Member, mut losses: Vec<(Rate, Range<u32>)>) {
        let mut naps = NAPS;
        for ask in member.asked() {
            for _ in 0..ask.chunks {
                if naps == 0 || !member.has_spare() {
                    return;
                }
                let Some((_, chunk)) = losses.pop_if(|(loss, _)| is_worth(ask.gain, *loss)) else { break };
                // What can not be written now is not given now.
                let Ok(bytes @ 1..) = self.release_chunk(chunk, &mut naps) else { continue };
                member.give_up(bytes as u64, Some(&ask.to));
            }
            ask.to.wake();
        }
    }

    /// Whether it lacks memory: it then has asked for some.
    fn asks_for_memory(&self, member: &std::sync::Arc<Member>) -> bool {
        // Eviction goes on beside a few free frames: what others gave is not waited for then, or it would stay so for good.
        let is_full = member.available() == member.untaken() && member.untaken() < self.frames_ahead().max(1);
        let is_lacking = member.gain() > 0 && is_full && member.has_room();
        member.lack(is_lacking);
        if is_lacking {
            member.ask(MOST as u64);
        }
        is_lacking
    }

    /// Marks the pages of some chunks.
    fn take_sample(&self, sharing: &mut Sharing) {
        let chunks = self.warm_chunks();
        let count = (chunks.len() / SAMPLED).clamp(FEWEST, MOST).min(chunks.len());
        let from = sharing.next.checked_rem(chunks.len()).unwrap_or(0);
        sharing.next = from + count;
        let chosen = chunks.into_iter().cycle().skip(from).take(count);
        sharing.sample = chosen.map(|chunk| (chunk.clone(), self.mark(chunk))).collect();
    }

    fn mark(&self, chunk: Range<u32>) -> Vec<Place> {
        let mark = |frame| {
            let state = self.frames.state(frame);
            let entry = self.frames.entry(state.page().filter(|_| !state.is(FIXED))?)?;
            let address = self.frames.memory.address(frame);
            let marked = entry.compare_exchange(address, address | COOLING, Ordering::SeqCst, Ordering::Relaxed);
            (marked.is_ok() || marked == Err(address | COOLING)).then_some(Place { frame, state })
        };
        chunk.filter_map(mark).collect()
    }

    /// To how many of the pages somebody came back.
    fn came_back(&self, pages: &[Place]) -> u64 {
        let is_same = |place: &Place| self.frames.state(place.frame).same_use(place.state);
        pages.iter().filter(|place| is_same(place) && self.is_in_use(place.frame)).count() as u64
    }
}

impl Sharing {
    /// There are no looks until the next time that it is told.
    fn end(&mut self, member: &Member) {
        member.tell_nothing();
        member.lack(false);
        (self.looked, self.pause) = (None, SOON);
        self.sample = Vec::new();
        drop(member.asked());
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{PAGE, SlowFile, create, sharing_pages};
    use super::super::{Owner, PAGES_ONLY, PageRef, SlotId};
    use super::*;
    use crate::budget::Memory;

    /// All frames that there is memory for.
    const FRAMES: usize = 512;

    /// A database: its pages, those that somebody reads, and its house.
    struct Database {
        pages: Pages,
        made: Vec<PageRef>,
        slot: SlotId,
        sharing: Sharing,
        at: usize,
    }

    impl Database {
        fn new(memory: &Memory, count: usize) -> Database {
            Database::with_pages_of(PAGE, memory, count)
        }

        fn with_pages_of(page_size: usize, memory: &Memory, count: usize) -> Database {
            let pages = sharing_pages(memory, page_size, SlowFile::new());
            let made = (0..count as u64).map(|birth| make(&pages, birth + 1)).collect();
            let slot = pages.slots.claim(Owner::Engine, PAGES_ONLY).unwrap();
            Database { pages, made, slot, sharing: Sharing::default(), at: 0 }
        }

        /// Reads so many pages one after the other, of the first so many, and from the first again. How many were in memory.
        fn read(&mut self, count: usize, of: usize) -> usize {
            let mut hits = 0;
            for _ in 0..count {
                let page = self.made[self.at % of];
                self.at += 1;
                if self.is_there(page) {
                    hits += 1;
                    continue;
                }
                while !self.is_there(page) {
                    self.pages.load(page).unwrap();
                }
            }
            hits
        }

        fn is_there(&self, page: PageRef) -> bool {
            let pin = self.pages.slots.pin(self.slot).unwrap();
            self.pages.get(&pin, page).inspect(|bytes| assert_eq!(bytes[bytes.len() - 1], page.birth as u8)).is_some()
        }

        fn frames(&self) -> usize {
            self.pages.part.as_ref().unwrap().0.may_have() as usize / self.pages.page_size()
        }
    }

    fn make(pages: &Pages, birth: u64) -> PageRef {
        while pages.frames_for_new() == 0 {
            pages.evict(16).unwrap();
        }
        create(pages, birth)
    }

    fn look_at_all(databases: &mut [&mut Database], round: u32) {
        for database in databases {
            database.pages.share_memory(SOON * round, &mut database.sharing);
        }
    }

    fn check(memory: &Memory, databases: &[&mut Database]) {
        let all: usize = databases.iter().map(|database| database.frames() * PAGE).sum();
        assert_eq!(all, memory.taken());
        for database in databases {
            assert!(database.pages.memory_taken() <= database.frames() * PAGE);
            assert_eq!(database.pages.broken_frames(true), Vec::<String>::new());
        }
    }

    /// One has all of the memory and does not use it any more; another comes back to more than there is left for it.
    #[test]
    fn who_comes_back_to_its_pages_gets_what_another_does_not_use() {
        let memory = Memory::shared(FRAMES * PAGE);
        let (mut idle, mut busy) = (Database::new(&memory, 2 * FRAMES), Database::new(&memory, 2 * FRAMES));
        assert_eq!((idle.frames(), busy.frames()), (FRAMES, FRAMES / 8));
        let mut hits = 0;
        for round in 1..200 {
            hits = busy.read(1000, FRAMES / 2);
            look_at_all(&mut [&mut busy, &mut idle], round);
            check(&memory, &[&mut busy, &mut idle]);
        }
        assert!(busy.frames() >= FRAMES / 2 && idle.frames() >= FRAMES / 8, "{} {}", busy.frames(), idle.frames());
        assert_eq!(hits, 1000);
        // They have what they need: nobody looks any more.
        assert_eq!(busy.pages.share_memory(SOON * 300, &mut busy.sharing), None);
        assert_eq!(idle.pages.share_memory(SOON * 300, &mut idle.sharing), None);
        assert!(memory.taken() <= (FRAMES + FRAMES / 8) * PAGE && memory.moved() > 0);
    }

    /// One reads without end what there is no room for; another comes back to what it has.
    #[test]
    fn a_scan_that_comes_back_to_nothing_takes_nothing_and_gives_what_others_come_back_to() {
        for scanner_is_first in [true, false] {
            let memory = Memory::shared(FRAMES * PAGE);
            let mut scanner = Database::new(&memory, if scanner_is_first { 4 * FRAMES } else { 1 });
            let mut busy = Database::new(&memory, FRAMES / 2);
            if !scanner_is_first {
                busy.read(FRAMES, FRAMES / 2);
                scanner.made.extend((1..4 * FRAMES as u64).map(|birth| make(&scanner.pages, birth + 1)));
            }
            let mut hits = 0;
            for round in 1..200 {
                hits = busy.read(1000, FRAMES / 2);
                scanner.read(1000, 4 * FRAMES);
                look_at_all(&mut [&mut busy, &mut scanner], round);
                check(&memory, &[&mut busy, &mut scanner]);
            }
            assert_eq!(hits, 1000, "{}", busy.frames());
        }
    }

    /// Both come back to more than half of what there is, one ten times as often.
    fn who_uses_its_memory_keeps_it() {
        let memory = Memory::shared(FRAMES * PAGE);
        let (mut often, mut seldom) = (Database::new(&memory, FRAMES), Database::new(&memory, 2 * FRAMES));
        for round in 1..100 {
            often.read(20 * FRAMES, FRAMES / 4 * 3);
            seldom.read(FRAMES / 16, FRAMES / 2);
            look_at_all(&mut [&mut often, &mut seldom], round);
            assert!(often.frames() >= FRAMES / 4 * 3, "{} {}", often.frames(), seldom.frames());
        }
    }

    #[test]
    fn memory_is_not_taken_from_who_comes_back_to_it_more_often() {
        who_uses_its_memory_keeps_it();
        crate::broken::must_be_caught(crate::broken::Broken::MemoryGrabbed, who_uses_its_memory_keeps_it);
    }

    /// Of a cache that is so large that more frames are kept free ahead than a chunk has.
    #[test]
    fn what_is_given_to_a_large_cache_is_used() {
        const LARGE: usize = 32 << 10;
        let memory = Memory::shared(4096 * LARGE);
        // Who has no more than these gives one chunk at a time.
        let mut idle = [440; 4].map(|count| Database::with_pages_of(LARGE, &memory, count));
        let mut busy = Database::with_pages_of(LARGE, &memory, 3200);
        assert!(busy.frames() < 2400 && busy.pages.chunk_frames() < busy.frames() as u32 / 32);
        let mut hits = 0;
        for round in 1..100 {
            hits = 0;
            for _ in 0..1000 {
                hits += busy.read(1, 3200);
                if busy.pages.are_frames_few() {
                    busy.pages.evict(busy.pages.frames_ahead()).unwrap();
                }
            }
            look_at_all(&mut [&mut busy], round);
            idle.each_mut().into_iter().for_each(|idle| look_at_all(&mut [idle], round));
            if hits == 1000 {
                break;
            }
        }
        assert_eq!(hits, 1000, "{} frames", busy.frames());
    }

    /// Two caches have all of it when somebody reserves a third of that, an eighth at a time.
    #[test]
    fn caches_make_good_what_is_reserved() {
        let memory = Memory::shared(FRAMES * PAGE);
        let (mut one, mut other) = (Database::new(&memory, FRAMES / 2), Database::new(&memory, FRAMES));
        for own in [&one, &other] {
            own.pages.tell_when_memory_is_shared(|| {});
        }
        assert!(one.frames() + other.frames() >= FRAMES);
        let mut rows = memory.reserve();
        let mut round = 0;
        for part in 1..=8 {
            while !rows.grow_to(FRAMES * PAGE / 24 * part) {
                round += 1;
                assert!(round < 100, "{} of {} bytes", rows.bytes(), memory.bytes());
                look_at_all(&mut [&mut one, &mut other], round);
            }
        }
        look_at_all(&mut [&mut one, &mut other], round + 1);
        assert!(memory.taken() <= memory.bytes() && memory.reserved() >= FRAMES * PAGE / 24 * 8);
        drop(rows);
        check(&memory, &[&mut one, &mut other]);
    }

    /// Houses, readers and closing at the same time.
    #[test]
    fn databases_that_come_and_go_share_while_others_read() {
        let memory = Memory::shared(FRAMES * PAGE);
        std::thread::scope(|scope| {
            for seed in 0..3_usize {
                let memory = &memory;
                scope.spawn(move || {
                    for turn in 0..4 {
                        let mut own = Database::new(memory, FRAMES);
                        for round in 1..40 {
                            own.read(500, FRAMES >> ((seed + turn) % 3));
                            own.pages.share_memory(SOON * round, &mut own.sharing);
                            assert!(own.pages.memory_taken() <= own.frames() * PAGE);
                        }
                        assert_eq!(own.pages.broken_frames(true), Vec::<String>::new());
                    }
                });
            }
        });
        assert_eq!(memory.taken(), 0);
    }
}
