//! Memory of the cache that goes back to the system: whole chunks of frames, those with the fewest pages in use first. Their pages
//! are written if they have to be, and evicted by name; the frames are used again after all others, when the cache grows.
//! (A chunk with a page that its owner still changes stays: to move that page, he would have to be asked.)
//!
//! What must hold:
//! - The memory of a chunk goes back while all of its frames are in the hands of who gives it back: no page has one, no
//!   reader can still look at one, and nobody is given one meanwhile.
//! - Who gives a chunk back holds its frames for a moment only, and no more than an eighth of all: to others they are in use.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use super::cache::Pages;
use super::evict::Leaving;
use super::frames::{COOLING, DIRTY, FIXED};
use crate::broken::{self, Broken};
use crate::budget::{CHUNK, CHUNKS_MIN};
use crate::sync::Ordering;
use crate::{Error, Result};

/// How often the frames of a chunk are asked for, before it stays.
const ROUNDS: u32 = 8;

/// How often it is waited in all, for readers and writes of others: who gives memory back has other things to do.
pub(super) const NAPS: u32 = 64;

/// Whom to tell.
#[derive(Default)]
pub(crate) struct Grown(OnceLock<Box<dyn Fn() + Send + Sync>>);

impl Grown {
    /// Called from within a read or a commit: it is to be short. Only the first one is kept.
    pub(crate) fn set(&self, tell: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.set(Box::new(tell));
    }

    #[cold]
    pub(super) fn tell(&self) {
        self.0.get().into_iter().for_each(|tell| tell());
    }
}

impl fmt::Debug for Grown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Grown")
    }
}

impl Pages {
    /// Gives so much memory back, if it can. How much it was.
    pub(crate) fn release_memory(&self, bytes: usize) -> Result<usize> {
        let (mut released, mut naps) = (0, NAPS);
        for chunk in self.chunks_by_use() {
            if released >= bytes || naps == 0 {
                break;
            }
            match self.release_chunk(chunk, &mut naps) {
                Ok(size) => {
                    released += size;
                    self.part.iter().for_each(|part| part.0.give_up(size as u64, None));
                }
                // What is in the way of one is in the way of others.
                Err(Error::DiskFull { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(released)
    }

    /// The memory that frames have now, or had and were not asked to give back.
    pub(crate) fn memory_taken(&self) -> usize {
        let cold = self.supply.lock().frames.cold_count();
        (self.touched_frames() as usize).saturating_sub(cold) * self.page_size()
    }

    /// Whether frames that have no memory may be used. Without, those of other pages are, as in a full cache.
    pub(crate) fn let_grow(&self, may_grow: bool) {
        self.supply.lock().frames.may_grow = may_grow;
    }

    pub(super) fn chunk_frames(&self) -> u32 {
        ((CHUNK / self.page_size() as u64) as u32).min(self.frames.count() / CHUNKS_MIN as u32).max(1)
    }

    /// The chunks that have memory.
    pub(super) fn warm_chunks(&self) -> Vec<Range<u32>> {
        let (each, touched) = (self.chunk_frames(), self.touched_frames());
        let mut cold = vec![0; touched.div_ceil(each) as usize];
        for frame in self.supply.lock().frames.cold() {
            cold.get_mut((frame / each) as usize).into_iter().for_each(|count| *count += 1);
        }
        let chunks = (0..).step_by(each as usize).map(|first| first..first + each);
        let is_warm = |(chunk, cold): &(Range<u32>, u32)| *cold < each && chunk.end <= touched;
        chunks.zip(cold).filter(is_warm).map(|(chunk, _)| chunk).collect()
    }

    /// The chunks that have memory, those with the fewest pages in use first.
    fn chunks_by_use(&self) -> Vec<Range<u32>> {
        let in_use = |chunk: &Range<u32>| chunk.clone().filter(|&frame| self.is_in_use(frame)).count();
        let mut found: Vec<_> = self.warm_chunks().into_iter().map(|chunk| (in_use(&chunk), chunk)).collect();
        found.sort_by_key(|(used, _)| *used);
        found.into_iter().map(|(_, chunk)| chunk).collect()
    }

    /// Whether somebody looked at the frame's page since the hand last passed it.
    pub(super) fn is_in_use(&self, frame: u32) -> bool {
        let entry = self.frames.state(frame).page().and_then(|id| self.frames.entry(id));
        entry.is_some_and(|entry| entry.load(Ordering::Relaxed) & COOLING == 0)
    }

    /// The bytes that went back: none where not all of it was to be had.
    pub(super) fn release_chunk(&self, chunk: Range<u32>, naps: &mut u32) -> Result<usize> {
        {
            let mut evictor = self.evictor.lock();
            if evictor.leaving.is_some() {
                return Ok(0);
            }
            let gathered = Vec::with_capacity(chunk.len());
            evictor.leaving = Some(Leaving { chunk: chunk.clone(), gathered, cold: Vec::new() });
        }
        let result = self.gather(&chunk, naps);
        let (gathered, cold) = match self.evictor.lock().leaving.take() {
            Some(Leaving { gathered, cold, .. }) => (gathered, cold),
            None => (Vec::new(), Vec::new()),
        };
        let is_whole = gathered.len() + cold.len() == chunk.len();
        if is_whole || broken::is(Broken::ChunkInUse) {
            // SAFETY: all frames of the chunk are this thread's: pages, limbo and supply have none of them. (Those of the canary are not,
            // which is what it is for: bytes change then under who reads them, and its test is to notice that.)
            unsafe { self.frames.memory.release(chunk) };
        }
        let released = if is_whole { gathered.len() * self.page_size() } else { 0 };
        let mut supply = self.supply.lock();
        supply.frames.extend_cold(cold);
        match is_whole {
            true => supply.frames.extend_released(gathered),
            false => supply.frames.extend(gathered.into_iter()),
        }
        drop(supply);
        self.counters.cache_bytes_released.add(released as u64);
        result.map(|()| released)
    }

    /// Collects the chunk's frames, as far as they can be had.
    fn gather(&self, chunk: &Range<u32>, naps: &mut u32) -> Result<()> {
        for round in 0..ROUNDS.min(*naps + 1) {
            if round > 0 {
                *naps -= 1;
                crate::sync::thread::sleep(super::evict::NAP);
            }
            let Some(mut ids) = self.cool_all(chunk) else { return Ok(()) };
            let mut dirty: Vec<u32> = ids.extract_if(.., |(_, is_dirty)| *is_dirty).map(|(id, _)| id).collect();
            let clean = ids.into_iter().map(|(id, _)| id);
            self.drop_cooling(clean);
            if !dirty.is_empty() {
                self.write_out(&mut dirty)?;
                self.drop_cooling(dirty.into_iter());
            }
            if self.take_free(chunk) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Has the chunk's pages go next, whoever looked at them: their ids, and whether they are dirty. `None`: one of them can not.
    fn cool_all(&self, chunk: &Range<u32>) -> Option<Vec<(u32, bool)>> {
        let mut pages = Vec::new();
        for frame in chunk.clone() {
            let state = self.frames.state(frame);
            let Some(id) = state.page() else { continue };
            if state.is(FIXED) {
                return None;
            }
            let (entry, address) = (self.frames.entry(id)?, self.frames.memory.address(frame));
            let _ = entry.compare_exchange(address, address | COOLING, Ordering::SeqCst, Ordering::Relaxed);
            pages.push((id, state.is(DIRTY)));
        }
        Some(pages)
    }

    /// Takes those of the chunk's frames that are free by now. Whether all are there.
    fn take_free(&self, chunk: &Range<u32>) -> bool {
        let mut evictor = self.evictor.lock();
        self.reclaim(&mut evictor);
        let Some(leaving) = &mut evictor.leaving else { return false };
        self.supply.lock().frames.take_within(chunk, &mut leaving.gathered, &mut leaving.cold);
        leaving.gathered.len() + leaving.cold.len() == chunk.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::{PAGE, SlowFile, create, few_pages, few_pages_all_for_new};
    use super::super::{Owner, PAGES_ONLY, PageRef, Pages};
    use crate::broken::{Broken, must_be_caught};

    /// Its byte, read by whatever way there is.
    fn byte_of(pages: &Pages, page: PageRef) -> u8 {
        let slot = pages.slots.claim(Owner::Engine, PAGES_ONLY).unwrap();
        let found = loop {
            pages.load(page).unwrap();
            // (It may go again in between.)
            if let Some(bytes) = pages.get(&pages.slots.pin(slot).unwrap(), page) {
                break bytes[PAGE - 1];
            }
        };
        pages.slots.release(slot);
        found
    }

    fn full() -> (Pages, Vec<PageRef>) {
        let pages = few_pages_all_for_new(SlowFile::new());
        let made = (0..64).map(|birth| create(&pages, birth + 1)).collect();
        (pages, made)
    }

    #[test]
    fn a_chunk_goes_back_and_comes_again_and_its_pages_are_what_they_were() {
        let (pages, made) = full();
        assert_eq!(pages.memory_taken(), 64 * PAGE);
        assert_eq!(pages.release_memory(1).unwrap(), 8 * PAGE);
        assert_eq!((pages.memory_taken(), pages.frames_free()), (56 * PAGE, 8));
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
        // All of it: there is nothing that its owner changes.
        assert_eq!(pages.release_memory(usize::MAX).unwrap(), 56 * PAGE);
        assert_eq!((pages.memory_taken(), pages.frames_free()), (0, 64));
        assert_eq!(pages.release_memory(usize::MAX).unwrap(), 0);
        for &page in &made {
            assert_eq!(byte_of(&pages, page), page.birth as u8);
        }
        assert_eq!(pages.memory_taken(), 64 * PAGE);
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
    }

    #[test]
    fn a_cache_that_may_not_grow_makes_do_with_what_it_has() {
        let (pages, made) = full();
        pages.release_memory(32 * PAGE).unwrap();
        pages.let_grow(false);
        assert_eq!(pages.frames_free(), 0);
        for &page in made.iter().chain(&made) {
            assert_eq!(byte_of(&pages, page), page.birth as u8);
        }
        assert_eq!(pages.memory_taken(), 32 * PAGE);
        let free = pages.frames_free();
        pages.let_grow(true);
        assert_eq!(pages.frames_free(), free + 32);
    }

    #[test]
    fn where_nothing_can_go_a_cache_grows_after_all() {
        let pages = few_pages_all_for_new(SlowFile::new());
        pages.let_grow(false);
        let made = create_in_hand(&pages, 40);
        assert_eq!(made.len(), 40);
        // No chunk with an unsealed page goes, and no other has memory.
        assert_eq!(pages.release_memory(usize::MAX).unwrap(), 0);
        pages.allow_eviction(&made.iter().map(|page| page.id).collect::<Vec<_>>());
        assert_eq!(pages.release_memory(usize::MAX).unwrap(), 40 * PAGE);
    }

    /// New pages of somebody who still changes them, each after as much asking for room as he needs.
    fn create_in_hand(pages: &Pages, count: u64) -> Vec<PageRef> {
        let mut lack = crate::page::Lack::default();
        let mut make = |birth| loop {
            match pages.create(birth, None) {
                Ok(page) => return page,
                Err(_) => pages.make_room(&mut lack).unwrap(),
            }
        };
        (0..count).map(|birth| make(birth + 1)).collect()
    }

    #[test]
    fn what_a_full_disk_keeps_from_being_written_stays() {
        let file = SlowFile::new();
        let pages = few_pages(file.clone());
        let made: Vec<PageRef> = (0..40).map(|birth| create(&pages, birth + 1)).collect();
        file.refuse_writes(true);
        assert_eq!(pages.release_memory(usize::MAX).unwrap(), 0);
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
        file.refuse_writes(false);
        assert_eq!(pages.release_memory(usize::MAX).unwrap(), 40 * PAGE);
        assert!(made.iter().all(|&page| byte_of(&pages, page) == page.birth as u8));
    }

    #[test]
    fn what_a_reader_looks_at_keeps_its_memory() {
        let (pages, made) = full();
        let slot = pages.slots.claim(Owner::Engine, PAGES_ONLY).unwrap();
        let pin = pages.slots.pin(slot).unwrap();
        let seen: Vec<_> = made.iter().map(|&page| (page, pages.get(&pin, page).unwrap())).collect();
        assert_eq!(pages.release_memory(8 * PAGE).unwrap(), 0);
        for (page, bytes) in seen {
            assert!(bytes[PAGE / 2..].iter().all(|&byte| byte == page.birth as u8), "{page:?}");
        }
        drop(pin);
        assert_eq!(pages.release_memory(8 * PAGE).unwrap(), 8 * PAGE);
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
    }

    #[test]
    fn a_chunk_that_goes_under_a_reader_is_noticed() {
        must_be_caught(Broken::ChunkInUse, what_a_reader_looks_at_keeps_its_memory);
    }

    #[test]
    fn chunks_go_back_beside_who_makes_loads_and_frees_pages() {
        let (pages, made) = full();
        let (pages, made) = (Arc::new(pages), Arc::new(made));
        std::thread::scope(|scope| {
            for seed in 0..3_usize {
                let (pages, made) = (pages.clone(), made.clone());
                scope.spawn(move || {
                    for at in 0..4000 {
                        let page = made[(at * (7 + 2 * seed)) % made.len()];
                        assert_eq!(byte_of(&pages, page), page.birth as u8);
                    }
                });
            }
            scope.spawn(|| {
                let released: usize = (0..300).map(|_| pages.release_memory(16 * PAGE).unwrap()).sum();
                assert!(released > 0);
            });
        });
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
    }
}
