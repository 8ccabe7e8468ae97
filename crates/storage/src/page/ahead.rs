//! Reading pages before anybody asks for them, many with one call.
//!
//! What must hold:
//! - It is a favour: whatever goes wrong here is left to [`Pages::load`], which finds it again and tells of it. Nothing
//!   is waited for: no reader, no frame that others still look at.
//! - A page that was read ahead was checked as any other, and is the first to be evicted until somebody looks at it.
//! - Pages that lie between wanted ones are read too, into frames that go back unseen: others may be writing them.

use std::io::IoSliceMut;

use super::cache::Pages;
use super::frames::{COOLING, Frame};
use crate::broken::{self, Broken};
use crate::io::BLOCK;
use crate::sync::Ordering;
use crate::{PageRef, Wait};

/// The most pages that are read ahead at a time.
const MOST: usize = 512;

/// The most pages read with one call, those between wanted ones included.
const CALL: usize = 128;

/// So many calls read what is read ahead at a time where it lies side by side, so that the medium has something to do while the pages
/// of one are checked; but not for few pages, so many.
const CALLS: usize = 4;
const FEW: usize = 32;

/// Pages that are not wanted cost less to read than another call, up to so many in a row.
const GAP: u32 = 16;

/// As `GAP`, where the other call is somebody else's, and both are under way at the same time.
const APART: u32 = 3;

/// No more than this share of the cache's frames is read ahead at a time.
const SHARE: usize = 32;

/// A page that was not in memory when its id's renewals were counted.
struct Coming {
    page: PageRef,
    renewals: u32,
}

impl Pages {
    /// How many pages it is reasonable to read ahead at a time.
    pub(crate) fn ahead_limit(&self) -> usize {
        (self.frame_count() / SHARE).min(MOST)
    }

    /// How many pages one call reads, those between wanted ones included.
    pub(super) fn call_limit(&self) -> u32 {
        let limit = self.ahead_limit();
        (limit / CALLS).clamp(limit.clamp(1, FEW), CALL) as u32
    }

    /// Which of the pages are not in memory.
    pub(crate) fn missing(&self, pages: &[PageRef]) -> Vec<PageRef> {
        pages.iter().filter_map(|&page| self.coming(page)).map(|coming| coming.page).collect()
    }

    /// Brings those of the pages into memory that are not there, as far as that is easily done. The caller must not be
    /// pinned.
    #[cold]
    pub(crate) fn read_ahead(&self, pages: &[PageRef]) {
        let mut coming: Vec<Coming> = pages.iter().filter_map(|&page| self.coming(page)).collect();
        coming.sort_unstable_by_key(|coming| coming.page.id);
        coming.dedup_by_key(|coming| coming.page.id);
        let mut rest = coming.as_slice();
        while !rest.is_empty() {
            let (run, others) = rest.split_at(self.run_length(rest));
            self.read_run(run);
            rest = others;
        }
    }

    fn coming(&self, page: PageRef) -> Option<Coming> {
        if page.is_none() || !self.is_known(page.id) {
            return None;
        }
        let renewals = self.renewals(page.id).load(Ordering::SeqCst);
        let is_missing = self.frames.address_of(page.id) == 0;
        is_missing.then_some(Coming { page, renewals })
    }

    /// How many of the first pages one call reads.
    fn run_length(&self, coming: &[Coming]) -> usize {
        let gap = self.between(GAP);
        let (first, limit) = (coming[0].page.id, self.call_limit());
        let follows = |pair: &&[Coming]| {
            let (id, next) = (pair[0].page.id, pair[1].page.id);
            next - id <= gap + 1 && next - first < limit
        };
        1 + coming.windows(2).take_while(follows).count()
    }

    /// So many pages between two that are wanted, where those may be read.
    fn between(&self, most: u32) -> u32 {
        // Others' writes of small pages share blocks with this file's: see `File`.
        if self.page_size().is_multiple_of(BLOCK) { most } else { 0 }
    }

    /// How pages are cut into what is read at the same time: with more pages between two of them they are not read together, nor are
    /// more in all.
    pub(super) fn cut(&self) -> (u32, u32) {
        (self.between(APART), self.call_limit())
    }

    /// Reads the pages, and those that lie between them, into frames; the frames of these go back.
    fn read_run(&self, run: &[Coming]) {
        let first = run[0].page.id;
        let mut frames = self.spare_frames((run[run.len() - 1].page.id - first) as usize + 1);
        let is_read = !frames.is_empty() && self.read_into(first, &mut frames).is_ok();
        let mut coming = run.iter().peekable();
        for (id, frame) in (first..).zip(frames) {
            let coming = coming.next_if(|coming| coming.page.id == id).filter(|_| is_read);
            match coming.filter(|coming| self.is_good(coming.page, &frame)) {
                Some(coming) => drop(self.enter(coming.page, frame, coming.renewals, COOLING)),
                None => self.give_back(frame),
            }
        }
    }

    fn is_good(&self, page: PageRef, frame: &Frame) -> bool {
        self.counters.pages_read_ahead.add(1);
        // SAFETY: the frame is this thread's alone, and `read_into` gave it its first bytes.
        let bytes = unsafe { self.frames.memory.page(self.frames.memory.address(frame.index())) };
        self.check(page, bytes).is_ok() || broken::is(Broken::AheadUnchecked)
    }

    /// Sees to it that so many frames are free, as far as that is easily done.
    pub(super) fn make_room_ahead(&self, wanted: usize) {
        let is_short = || self.frames_free() < wanted;
        if is_short() {
            self.reclaim_now();
        }
        if is_short() {
            // One after the other: the first mostly makes room for all who came here at the same time.
            let _one = self.making_room.lock();
            if is_short() {
                // Who needs a frame evicts again, and tells of what goes wrong.
                let _ = self.evict(wanted.max(self.frame_count() / SHARE));
            }
        }
    }

    /// Up to so many frames, which others then lack.
    fn spare_frames(&self, wanted: usize) -> Vec<Frame> {
        self.make_room_ahead(wanted);
        let mut frames: Vec<Frame> = (0..wanted).map_while(|_| self.pop_frame()).collect();
        // Pages side by side in memory are fewer pieces for the disk.
        frames.sort_unstable_by_key(Frame::index);
        frames
    }

    /// Fills the frames with what the file has from page `first` on.
    fn read_into(&self, first: u32, frames: &mut [Frame]) -> std::io::Result<()> {
        let mut pieces: Vec<IoSliceMut<'_>> =
            frames.iter_mut().map(|frame| IoSliceMut::new(self.bytes_of(frame))).collect();
        let read = || self.file().read_vectored_at(&mut pieces, u64::from(first) * self.page_size() as u64);
        Wait::PageRead.during(read)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::{PAGE, SlowFile, create, evict_all, few_pages, few_pages_all_for_new, pages_of};
    use super::*;
    use crate::page::{Owner, PAGES_ONLY};

    fn is_resident(pages: &Pages, page: PageRef) -> bool {
        pages.frames.address_of(page.id) != 0
    }

    /// Pages in the file, and none in memory.
    fn written(pages: &Pages, count: u64) -> Vec<PageRef> {
        let created = (0..count).map(|birth| create(pages, birth + 1)).collect();
        evict_all(pages);
        created
    }

    #[test]
    fn pages_that_were_read_ahead_are_not_read_again() {
        let pages = few_pages(SlowFile::new());
        let all = written(&pages, 20);
        pages.load(all[5]).unwrap();
        let wanted: Vec<PageRef> = all.iter().rev().copied().filter(|page| page.birth != 9).collect();
        pages.read_ahead(&wanted);
        let read = pages.counters.read();
        assert_eq!((read.pages_read, read.pages_read_ahead, read.page_misses), (1, 18, 1));
        assert!(!is_resident(&pages, all[8]));
        for &page in &wanted {
            pages.load(page).unwrap();
            // SAFETY: nothing is evicted meanwhile.
            let bytes = unsafe { pages.peek(page) }.unwrap();
            assert!(super::super::layout::identity(bytes) == page && bytes[PAGE - 1] == page.birth as u8);
        }
        assert_eq!(pages.counters.read().pages_read, 1);
    }

    #[test]
    fn pages_between_those_that_are_wanted_are_not_brought_in() {
        let pages = pages_of(4096, 1024, SlowFile::new());
        let all = written(&pages, 100);
        let wanted: Vec<PageRef> = all.iter().step_by(3).copied().collect();
        pages.read_ahead(&wanted);
        assert!(all.iter().all(|&page| is_resident(&pages, page) == wanted.contains(&page)));
        assert_eq!(pages.counters.read().pages_read_ahead, wanted.len() as u64);
        assert_eq!(pages.frames_free(), 1024 - wanted.len());
        wanted.iter().for_each(|&page| pages.load(page).unwrap());
    }

    #[test]
    fn a_damaged_page_is_not_brought_in_and_its_neighbours_are() {
        let file = SlowFile::new();
        let pages = few_pages(file.clone());
        let all = written(&pages, 8);
        crate::io::File::write_at(&*file, &[0x55], u64::from(all[3].id) * PAGE as u64 + 100).unwrap();
        pages.read_ahead(&all);
        let resident: Vec<bool> = all.iter().map(|&page| is_resident(&pages, page)).collect();
        assert_eq!(resident, [true, true, true, false, true, true, true, true]);
        assert!(matches!(pages.load(all[3]), Err(crate::Error::Corrupt { .. })));
        assert_eq!(pages.frames_free(), 64 - 7);
    }

    #[test]
    fn pages_that_can_not_be_read_are_left_to_whoever_needs_them() {
        let pages = few_pages(SlowFile::new());
        let all = written(&pages, 2);
        let beyond = PageRef { id: 200, birth: 3 };
        pages.read_ahead(&[all[0], all[1], beyond, PageRef::NONE, PageRef { id: 1 << 30, birth: 1 }]);
        assert!(is_resident(&pages, all[0]) && is_resident(&pages, all[1]) && !is_resident(&pages, beyond));
        assert_eq!(pages.frames_free(), 62);
    }

    #[test]
    fn pages_nobody_looked_at_go_before_those_that_somebody_did() {
        let pages = few_pages(SlowFile::new());
        let all = written(&pages, 12);
        let (hot, cold) = all.split_at(6);
        hot.iter().for_each(|&page| pages.load(page).unwrap());
        pages.read_ahead(cold);
        assert_eq!(pages.evict(6).unwrap(), 6);
        assert!(hot.iter().all(|&page| is_resident(&pages, page)));
        assert!(!cold.iter().any(|&page| is_resident(&pages, page)));
    }

    #[test]
    fn pages_that_were_passed_go_unless_somebody_looked_at_them() {
        let pages = few_pages(SlowFile::new());
        let all = written(&pages, 6);
        pages.read_ahead(&all);
        let slot = pages.slots.claim(Owner::Engine, PAGES_ONLY).unwrap();
        {
            let pin = pages.slots.pin(slot).unwrap();
            assert!(pages.get_passing(&pin, all[1]).is_some() && pages.get(&pin, all[2]).is_some());
        }
        let dirty = create(&pages, 9);
        pages.let_go(&[&all[..], &[dirty]].concat());
        let resident: Vec<bool> = all.iter().map(|&page| is_resident(&pages, page)).collect();
        assert_eq!(resident, [false, false, true, false, false, false]);
        assert!(is_resident(&pages, dirty));
        assert_eq!((pages.frames_free(), pages.broken_frames(true)), (62, vec![]));
        pages.load(all[1]).unwrap();
    }

    #[test]
    fn a_full_cache_makes_room_only_with_what_can_go_at_once() {
        let pages = few_pages_all_for_new(SlowFile::new());
        let all = written(&pages, 4);
        let fixed: Vec<PageRef> = (0..62).map(|birth| pages.create(100 + birth, None).unwrap()).collect();
        pages.read_ahead(&all);
        assert_eq!(all.iter().filter(|&&page| is_resident(&pages, page)).count(), 2);
        assert!(fixed.iter().all(|&page| is_resident(&pages, page)));
    }

    /// As for a page that is loaded.
    #[test]
    fn bytes_that_arrive_late_do_not_stay_under_an_id_that_is_anothers() {
        let slow = SlowFile::new();
        let pages = Arc::new(few_pages(slow.clone()));
        let old = written(&pages, 2);
        let id = old[0].id;
        pages.free_private(&[id]);
        let shared = pages.clone();
        slow.during_next_read(move || {
            assert_eq!(create(&shared, 7).id, id);
            evict_all(&shared);
        });
        pages.read_ahead(&old);
        let renewed = PageRef { id, birth: 7 };
        assert!(!is_resident(&pages, renewed) && is_resident(&pages, old[1]));
        pages.load(renewed).unwrap();
        assert_eq!(pages.frames_free(), 62);
    }

    /// As for a page that is loaded, but nobody else waits for who reads ahead: who loaded the id's new page, and held it,
    /// met the old one there and was told of damage.
    #[test]
    fn who_meets_bytes_that_arrived_late_is_told_of_no_damage() {
        let slow = SlowFile::new();
        let pages = Arc::new(few_pages(slow.clone()));
        let old = written(&pages, 1);
        let renewed = PageRef { id: old[0].id, birth: 7 };
        pages.free_private(&[renewed.id]);
        let (first, second) = (pages.clone(), pages.clone());
        slow.during_next_read(move || {
            assert_eq!(create(&first, 7), renewed);
            evict_all(&first);
        });
        slow.during_next_read(move || second.load(renewed).unwrap());
        pages.read_ahead(&old);
        assert!(is_resident(&pages, renewed));
        pages.load(renewed).unwrap();
        assert!(matches!(pages.load(old[0]), Err(crate::Error::Corrupt { .. })));
        pages.load(renewed).unwrap();
        assert_eq!(pages.frames_free(), 63);
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
    }

    /// While one reads ahead, another loads the page itself.
    #[test]
    fn a_page_that_came_meanwhile_stays_the_one_that_came() {
        let slow = SlowFile::new();
        let pages = Arc::new(few_pages(slow.clone()));
        let all = written(&pages, 2);
        let (ahead, wanted) = (pages.clone(), all.clone());
        slow.during_next_read(move || ahead.read_ahead(&wanted));
        pages.load(all[0]).unwrap();
        assert_eq!(pages.frames_free(), 62);
        assert!(all.iter().all(|&page| is_resident(&pages, page)));
    }
}
