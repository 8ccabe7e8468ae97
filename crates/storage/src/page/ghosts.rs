//! Pages that were evicted lately: one that comes back while it is known would have been kept by more memory.

use std::sync::Arc;

use super::memory::zeroed;
use crate::budget::{Gain, Member, rate};
use crate::sync::{AtomicU64, Ordering};
use crate::{Error, Result};

/// There are as many ghosts as there could be frames, but no more than this.
const GHOSTS_MAX: usize = 1 << 21;

/// Memory that would have kept a ghost is told apart up to so many doublings of a page.
const NEARNESSES: usize = 24;

/// So many pages came back that were ghosts, since the house last counted: it is told.
const MANY: u64 = 32;

/// Which pages were evicted lately, and what came back of them.
#[derive(Debug)]
pub(super) struct Ghosts {
    /// By a part of the id the last of those that share it: its id, and above that how many were evicted before it.
    evicted: Box<[AtomicU64]>,
    /// Whose they are: it is told of many that come back.
    member: Arc<Member>,
    count: AtomicU64,
    /// How many came back since that was last asked, by how much more memory would have kept them: of the first those that a page more
    /// would have, and then twice as many each.
    back: [AtomicU64; NEARNESSES],
    all_back: AtomicU64,
}

impl Ghosts {
    pub(super) fn new(member: Arc<Member>, frames: usize) -> Result<Ghosts> {
        let evicted = zeroed(frames.next_power_of_two().clamp(64, GHOSTS_MAX))
            .ok_or(Error::NoMemory { bytes: 8 * GHOSTS_MAX })?;
        let back = std::array::from_fn(|_| AtomicU64::new(0));
        Ok(Ghosts { evicted, member, count: AtomicU64::new(0), back, all_back: AtomicU64::new(0) })
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

    /// The page was loaded.
    pub(super) fn look(&self, id: u32) {
        let place = self.place(id);
        let found = place.load(Ordering::Relaxed);
        if found as u32 != id || found == 0 {
            return;
        }
        place.store(0, Ordering::Relaxed);
        let since = (self.count.load(Ordering::Relaxed) as u32).wrapping_sub((found >> 32) as u32);
        let nearness = since.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1);
        self.back[(nearness as usize).min(NEARNESSES - 1)].fetch_add(1, Ordering::Relaxed);
        if self.all_back.fetch_add(1, Ordering::Relaxed) + 1 == MANY {
            self.member.note_return();
        }
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
    use crate::budget::Memory;

    fn ghosts(frames: usize) -> Ghosts {
        let part = Memory::shared(1 << 20).join(1 << 20, 4096).unwrap();
        Ghosts::new(part.0.clone(), frames).unwrap()
    }

    #[test]
    fn a_page_that_comes_back_while_it_is_a_ghost_is_counted_once() {
        let ghosts = ghosts(256);
        (2..258).for_each(|id| ghosts.note(id));
        let told = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let count = told.clone();
        ghosts.member.wake_by(move || _ = count.fetch_add(1, Ordering::Relaxed));
        (2..300).chain(2..300).for_each(|id| ghosts.look(id));
        assert_eq!(told.load(Ordering::Relaxed), 1);
        // Half of them lie within 128 pages, all within 256: it is the same for each page.
        assert_eq!(ghosts.gain(4 << 20, 1000), Gain { rate: 256, bytes: 4 << 20 });
        assert_eq!(ghosts.gain(4 << 20, 1000), Gain::default());
        // A later one took its place.
        ghosts.note(7);
        ghosts.note(7 + 256);
        ghosts.look(7);
        assert_eq!(ghosts.gain(4 << 20, 1000).rate, 0);
    }

    #[test]
    fn how_much_more_memory_would_have_kept_a_page_is_learned_from_how_many_went_after_it() {
        let ghosts = ghosts(1024);
        // In a circle of 200 pages, of which 20 are in memory.
        for at in 0..2000 {
            ghosts.look(2 + at % 200);
            ghosts.note(2 + (at + 180) % 200);
        }
        assert_eq!(ghosts.gain(1 << 20, 1000), Gain { rate: 1820 * 1024 / 256, bytes: 256 << 20 });
    }
}
