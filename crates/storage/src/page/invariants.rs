//! What must hold of frames, looked at as a whole, for tests and simulations.

use super::cache::Pages;
use super::frames::{COOLING, FIXED, FREED, Frame, WRITING};

impl Pages {
    /// What does not hold. Frames that are in somebody's hands are in no place; `at_rest`: nobody does anything, so each
    /// frame must be in one.
    pub(crate) fn broken_frames(&self, at_rest: bool) -> Vec<String> {
        // In the order in which others take them.
        let reuse = self.reuse.lock();
        let evictor = self.evictor.lock();
        let supply = self.supply.lock();
        let mut broken = Vec::new();
        let mut places = vec![0; self.frames.count() as usize];
        let waiting = evictor.in_limbo().chain(reuse.freed_frames()).map(Frame::index);
        waiting.chain(supply.frames.indexes()).for_each(|frame| places[frame as usize] += 1);
        for (frame, place) in (0..).zip(&mut places) {
            let state = self.frames.state(frame);
            let is_in_table = |id| self.frames.address_of(id) & !COOLING == self.frames.memory.address(frame);
            *place += usize::from(state.page().is_some_and(is_in_table));
            if *place > 1 || (at_rest && *place == 0) {
                broken.push(format!("frame {frame} is in {place} places: {state:x?}"));
            }
            if at_rest && state.page().is_some_and(|id| !is_in_table(id)) {
                broken.push(format!("frame {frame} is given to a page that is not resident: {state:x?}"));
            }
            if at_rest && state.any(WRITING | FREED) {
                broken.push(format!("frame {frame} is being written: {state:x?}"));
            }
            if state.page().is_none() && state.any(FIXED) {
                broken.push(format!("frame {frame} is unsealed and no page's: {state:x?}"));
            }
        }
        let ids = if at_rest { 0..supply.end } else { 0..0 };
        for id in ids.filter(|&id| self.frames.address_of(id) != 0) {
            let frame = self.frames.memory.frame_of(self.frames.address_of(id) & !COOLING);
            if self.frames.state(frame).page() != Some(id) {
                broken.push(format!("page {id} has frame {frame}, which is another's"));
            }
        }
        broken
    }

    /// Whether the page is in memory, and nothing but its owner can change that.
    #[cfg(test)]
    pub(super) fn is_fixed(&self, page: super::PageRef) -> bool {
        self.frames.find(page.id).is_some_and(|place| place.state.is(FIXED))
            && self.frames.identity_at(self.frames.address_of(page.id)) == page
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};

    use super::super::testing::{PAGE, SlowFile, create, evict_all, few_pages, few_pages_all_for_new};
    use super::super::{PageRef, Pages};
    use crate::Error;
    use crate::sync::steps;

    /// Whoever made a page cleared, when it was published, the mark of the unsealed page that had its frame by then: that
    /// one was evicted while it was changed.
    #[test]
    fn a_page_whose_frame_went_to_an_unsealed_one_leaves_that_as_it_is() {
        let pages = Arc::new(few_pages_all_for_new(SlowFile::new()));
        let old = create(&pages, 1);
        let (others, made) = (pages.clone(), Arc::new(Mutex::new(Vec::new())));
        let unsealed = made.clone();
        steps::at_each(move || {
            evict_all(&others);
            let all = (0..64).map(|birth| others.create(100 + birth, None).unwrap());
            unsealed.lock().unwrap().extend(all);
            false
        });
        // The page was given to eviction when its owner had filled it, and is now published.
        pages.join_version(1, &[old.id]);
        let made = made.lock().unwrap();
        assert_eq!(made.len(), 64);
        assert!(made.iter().all(|&page| pages.is_fixed(page)));
        assert_eq!(pages.evict(64).unwrap(), 0);
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
    }

    #[test]
    fn an_unsealed_page_that_loses_its_frame_is_noticed() {
        let test = a_page_whose_frame_went_to_an_unsealed_one_leaves_that_as_it_is;
        crate::broken::must_be_caught(crate::broken::Broken::AnothersFrame, test);
    }

    /// Lets other threads go on at about every second step of the calling thread.
    fn hesitate(seed: u64) {
        let state = Cell::new(seed);
        steps::at_each(move || {
            state.set(state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            match state.get() >> 61 {
                0..4 => std::thread::yield_now(),
                4 => std::thread::sleep(std::time::Duration::from_micros(20)),
                _ => {}
            }
            true
        });
    }

    /// As a commit whose pages were given to eviction before, like those of long values.
    fn publish_and_free(pages: &Pages, known: &Mutex<Vec<PageRef>>, round: u64) {
        let made: Vec<PageRef> = (0..6).filter_map(|at| pages.create(round * 8 + at, None).ok()).collect();
        let ids: Vec<u32> = made.iter().map(|page| page.id).collect();
        for &page in &made {
            // SAFETY: just created, and nobody else has it.
            let bytes = unsafe { pages.unsealed(page) };
            bytes[PAGE - 1] = page.birth as u8;
            pages.allow_eviction(&[page.id]);
        }
        *known.lock().unwrap() = made;
        for _ in 0..4 {
            pages.join_version(1, &ids);
        }
        pages.free_private(&ids);
    }

    /// As a transaction that changes pages of its own.
    fn change_unsealed(pages: &Pages, round: u64) {
        let made: Vec<PageRef> = (0..40).map_while(|at| pages.create(1 << 32 | round << 8 | at, None).ok()).collect();
        for _ in 0..3 {
            for page in &made {
                // SAFETY: just created, and nobody else has it.
                let bytes = unsafe { pages.unsealed(*page) };
                bytes[100] += 1;
            }
            std::thread::yield_now();
        }
        for &page in &made {
            assert!(pages.is_fixed(page), "{page:?} is unsealed and may be evicted");
            // SAFETY: as above.
            assert_eq!(unsafe { pages.unsealed(page) }[100], 3);
        }
        pages.free_private(&made.iter().map(|page| page.id).collect::<Vec<_>>());
    }

    #[test]
    fn threads_that_hesitate_before_every_change_break_nothing() {
        const ROUNDS: u64 = 60;
        let pages = few_pages(SlowFile::new());
        let (known, over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let background = |seed, work: &'static (dyn Fn(&Pages, &[PageRef]) + Sync)| {
                let (pages, known, over) = (&pages, &known, &over);
                scope.spawn(move || {
                    hesitate(seed);
                    while !over.load(Ordering::Relaxed) {
                        let known: Vec<PageRef> = known.lock().unwrap().clone();
                        work(pages, &known);
                        assert_eq!(pages.broken_frames(false), Vec::<String>::new());
                    }
                });
            };
            background(1, &|pages, _| drop(pages.evict(16)));
            background(2, &|pages, _| drop(pages.evict(3)));
            background(3, &|pages, known| {
                let mut ids = known.iter().map(|page| page.id).collect();
                pages.write_out(&mut ids).unwrap();
            });
            // Whoever loads a page that he does not hold may find another one's bytes.
            background(4, &|pages, known| {
                for &page in known {
                    assert!(matches!(pages.load(page), Ok(()) | Err(Error::Corrupt { .. } | Error::CacheFull)));
                }
            });
            background(5, &|pages, known| pages.read_ahead(known));
            let publisher = scope.spawn(|| {
                hesitate(6);
                (0..ROUNDS).for_each(|round| publish_and_free(&pages, &known, round));
            });
            hesitate(7);
            while !publisher.is_finished() {
                change_unsealed(&pages, 1);
            }
            over.store(true, Ordering::Relaxed);
        });
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
        assert_eq!(pages.page_counts().1 + 2, pages.page_counts().0);
    }
}
