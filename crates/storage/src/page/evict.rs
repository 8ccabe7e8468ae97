//! Making frames free: a clock hand passes over them; pages that nobody looked at since it last came by go.
//!
//! What must hold:
//! - A dirty page is in the file before its frame goes.
//! - An evicted frame waits in *limbo* until every reader that could have found it is gone.
//! - Whatever can go does go before the cache counts as full, or the failure of a write is told.

use std::ops::Range;
use std::time::Duration;

use super::cache::Pages;
use super::frames::{COOLING, DIRTY, FIXED, Frame, Place, WRITING};
use super::write::RUN;
use crate::broken::{self, Broken};
use crate::sync::{Ordering, step};
use crate::{Error, PageRef, Result};

/// How often nothing is found to evict, and nothing is on its way to be, before the cache counts as full.
const IDLE_ROUNDS: u32 = 64;
/// As `IDLE_ROUNDS`, where nothing can be written out and a new page needs the frame. Who loads a page waits as ever: only
/// others who load have the frames that he could get.
const FAILED_ROUNDS: u32 = 2;
/// How often an operation is begun again with frames made free for it, which others may take first.
const TRIES: u32 = 1000;
/// How long it is waited for readers that still look, and for writes of others: so many naps.
const PATIENCE: u32 = 20_000;
/// A cache with no more than one free frame in so many is full: eviction makes half as many free at a time.
const FULL: usize = 16;
pub(super) const NAP: Duration = Duration::from_micros(500);

#[derive(Debug, Default)]
pub(super) struct Evictor {
    hand: u32,
    /// Evicted frames with the epoch they were evicted in.
    limbo: Vec<(u64, Frame)>,
    pub(super) leaving: Option<Leaving>,
}

/// A chunk whose memory is to go back to the system (see `release`), and those of its frames that are nobody's else.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) chunk: Range<u32>,
    pub(super) gathered: Vec<Frame>,
    /// Those without memory.
    pub(super) cold: Vec<Frame>,
}

/// How often an operation found no frame, and what kept pages from going when it last did.
#[derive(Debug, Default)]
pub(crate) struct Lack {
    times: u32,
    failed: Option<Error>,
}

impl Evictor {
    /// Frames that still wait for readers, or for the others of their chunk.
    #[cfg(any(test, feature = "broken-for-tests"))]
    pub(super) fn in_limbo(&self) -> impl Iterator<Item = &Frame> {
        let gathered = self.leaving.iter().flat_map(|leaving| leaving.gathered.iter().chain(&leaving.cold));
        self.limbo.iter().map(|(_, frame)| frame).chain(gathered)
    }
}

impl Pages {
    /// A frame for a page to be loaded. The caller must not be pinned.
    pub(super) fn take_frame(&self) -> Result<Frame> {
        loop {
            if let Some(frame) = self.pop_frame() {
                return Ok(frame);
            }
            self.free_frames(1, self.frame_count() / 32 + 8, IDLE_ROUNDS)?;
        }
    }

    /// Makes room for an operation that found no frame for a new page, and is begun again then. The caller must not be pinned.
    /// Where it was begun too often, it is told what kept pages from going: a full disk is told as one.
    #[cold]
    pub(crate) fn make_room(&self, lack: &mut Lack) -> Result<()> {
        if lack.times >= TRIES {
            return Err(lack.failed.take().unwrap_or(Error::CacheFull));
        }
        lack.failed = self.free_some_frames()?;
        // Where nothing can go, what is free is too little, or others take it.
        lack.times += if lack.failed.is_none() { 1 } else { TRIES / 10 };
        Ok(())
    }

    /// Sees to it that some frames are free for new pages. Returns why nothing can go, where a few are free nevertheless.
    fn free_some_frames(&self) -> Result<Option<Error>> {
        let wanted = (self.frame_count() / 8).min(64);
        match self.free_frames(self.frames_kept() + wanted, wanted, FAILED_ROUNDS) {
            Err(error) if self.frames_for_new() > 0 => Ok(Some(error)),
            result => result.map(|()| None),
        }
    }

    /// Evicts, `step` pages at a time, until so many frames are free.
    ///
    /// The cache counts as full only when there is nothing to evict. Frames that others took meanwhile are evicted again;
    /// those in limbo come back as soon as readers that were interrupted while they looked at pages go on, and those that
    /// others write as soon as these do, which on a busy machine takes them a while. They need nothing that the caller
    /// could hold, so the wait ends. Where dirty pages can not be written (the disk is full), clean ones go; only when there are none, `patience` rounds long, is the
    /// failure told.
    fn free_frames(&self, needed: usize, step: usize, patience: u32) -> Result<()> {
        let (mut idle, mut naps, mut failed) = (0, 0, None);
        loop {
            if self.frames_free() >= needed {
                return Ok(());
            }
            if idle >= if failed.is_some() { patience } else { IDLE_ROUNDS } || naps >= PATIENCE {
                // Memory is short, and nothing can go: what is needed is needed.
                if self.supply.lock().frames.grow_after_all() {
                    continue;
                }
                return Err(failed.unwrap_or(Error::CacheFull));
            }
            let waiting = self.reclaim_now();
            let gone = match &failed {
                _ if waiting >= step => 0,
                // No more than is needed: they are few by now.
                Some(_) => self.turn_hand(needed.saturating_sub(self.frames_free()), None),
                None => match self.evict(step) {
                    Ok(gone) => gone,
                    Err(error) if broken::is(Broken::FullDiskFailsReads) => return Err(error),
                    Err(error) => {
                        failed = Some(error);
                        0
                    }
                },
            };
            if gone == 0 {
                let comes_back = waiting > 0 || failed.is_none() && self.states().any(|state| state.is(WRITING));
                crate::sync::thread::sleep(NAP);
                *(if comes_back { &mut naps } else { &mut idle }) += 1;
            }
        }
    }

    /// Returns how many frames still wait for readers.
    pub(super) fn reclaim_now(&self) -> usize {
        let mut evictor = self.evictor.lock();
        self.reclaim(&mut evictor);
        evictor.limbo.len()
    }

    /// Makes up to `wanted` frames free: pages that nobody looked at since the hand last passed go; dirty ones are
    /// written first, and go then. Returns how many went; fails where none did, and a write failed.
    pub(crate) fn evict(&self, wanted: usize) -> Result<usize> {
        let mut dirty = Vec::new();
        let mut gone = self.turn_hand(wanted, Some(&mut dirty));
        if gone < wanted {
            self.counters.pages_written_back.add(dirty.len() as u64);
            let written = self.write_out(&mut dirty);
            gone += self.drop_cooling(dirty.iter().copied());
            if let Err(error) = written {
                if broken::is(Broken::FullDiskFailsReads) {
                    return Err(error);
                }
                gone += self.turn_hand(wanted.saturating_sub(gone), None);
                return if gone > 0 { Ok(gone) } else { Err(error) };
            }
        }
        Ok(gone)
    }

    /// Moves the hand over the frames, twice round at most; returns how many it evicted, and in `dirty` the pages that
    /// would have gone if they were in the file. Without `dirty` it passes over these.
    fn turn_hand(&self, wanted: usize, mut dirty: Option<&mut Vec<u32>>) -> usize {
        let mut evictor = self.evictor.lock();
        let mut gone = 0;
        // (Frames that were never used have no pages.)
        let touched = self.touched_frames().max(1);
        for _ in 0..2 * touched {
            if gone >= wanted || dirty.as_ref().is_some_and(|dirty| dirty.len() >= wanted.max(RUN)) {
                break;
            }
            evictor.hand = (evictor.hand + 1) % touched;
            let frame = evictor.hand;
            match self.cool(frame) {
                Cooled::Evicted(frame) => {
                    evictor.limbo.push((0, frame));
                    gone += 1;
                }
                Cooled::Dirty(id) => dirty.iter_mut().for_each(|dirty| dirty.push(id)),
                Cooled::Kept => {}
            }
        }
        self.close_epoch(&mut evictor, gone);
        gone
    }

    /// Whether new frames come from evicted pages only, but for what eviction makes free ahead and what is read ahead.
    pub(crate) fn is_full(&self) -> bool {
        self.frames_free() <= self.frame_count() / FULL + 4 * self.ahead_limit()
    }

    /// Makes the frames of pages free that were read ahead and that nobody looked at, but for who passed them and tells so
    /// here. The caller must not be pinned.
    pub(crate) fn let_go(&self, passed: &[PageRef]) {
        // (A damaged page may name pages that there can not be.)
        self.drop_cooling(passed.iter().map(|page| page.id).filter(|&id| self.is_known(id)));
    }

    /// Evicts pages that were just written, or passed, unless somebody looked at them meanwhile. Left to the hand, they
    /// would have to wait until it has gone all the way round, while whoever needs a frame counts the cache as full.
    pub(super) fn drop_cooling(&self, ids: impl Iterator<Item = u32>) -> usize {
        let mut evictor = self.evictor.lock();
        let mut gone = 0;
        for id in ids {
            if let Some(Place { frame, .. }) = self.frames.find(id)
                && self.frames.address_of(id) & COOLING != 0
                && let Cooled::Evicted(frame) = self.cool(frame)
            {
                evictor.limbo.push((0, frame));
                gone += 1;
            }
        }
        self.close_epoch(&mut evictor, gone);
        gone
    }

    /// After the entries of frames in limbo were removed: they are free once every reader of this epoch is gone.
    fn close_epoch(&self, evictor: &mut Evictor, gone: usize) {
        self.counters.pages_evicted.add(gone as u64);
        let epoch = self.slots.next_epoch();
        evictor.limbo.iter_mut().filter(|(at, _)| *at == 0).for_each(|(at, _)| *at = epoch);
        self.reclaim(evictor);
    }

    fn cool(&self, frame: u32) -> Cooled {
        let state = self.frames.state(frame);
        let Some(id) = state.page().filter(|_| !state.any(FIXED | WRITING)) else { return Cooled::Kept };
        let Some(entry) = self.frames.entry(id) else { return Cooled::Kept };
        let address = self.frames.memory.address(frame);
        match entry.load(Ordering::SeqCst) {
            hot if hot == address => {
                step();
                let _ = entry.compare_exchange(hot, hot | COOLING, Ordering::SeqCst, Ordering::Relaxed);
                Cooled::Kept
            }
            cool if cool == address | COOLING && state.is(DIRTY) && !broken::is(Broken::EvictedDirty) => {
                Cooled::Dirty(id)
            }
            // From then on a loader may give the page another frame; this one is nobody's until it leaves limbo.
            cool if cool == address | COOLING => {
                let Some(frame) = self.frames.take(id, Place { frame, state }) else { return Cooled::Kept };
                self.ghosts.iter().for_each(|ghosts| ghosts.note(id));
                Cooled::Evicted(frame)
            }
            _ => Cooled::Kept,
        }
    }

    /// Returns evicted frames that no reader can still be looking at to the supply.
    pub(super) fn reclaim(&self, evictor: &mut Evictor) {
        let oldest = self.slots.oldest_epoch();
        let mut supply = self.supply.lock();
        let is_over = |epoch: u64| epoch < oldest || broken::is(Broken::FramesUnderReaders);
        let Evictor { limbo, leaving, .. } = evictor;
        let free = limbo.extract_if(.., |(epoch, _)| is_over(*epoch)).map(|(_, frame)| frame);
        match leaving {
            None => supply.frames.extend(free),
            Some(leaving) => {
                for frame in free {
                    match leaving.chunk.contains(&frame.index()) {
                        true => leaving.gathered.push(frame),
                        false => supply.frames.push(frame),
                    }
                }
            }
        }
    }
}

enum Cooled {
    Evicted(Frame),
    Dirty(u32),
    Kept,
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::super::testing::{SlowFile, create, evict_all, few_pages, few_pages_all_for_new};
    use super::*;
    use crate::io::{Create, FileSystem, MemFs, OpenHow};
    use crate::stats::Counters;

    fn pages(frames: usize) -> Pages {
        let options =
            crate::Options { page_size: 512, cache_bytes: frames * 512, max_pages: 1 << 18, ..Default::default() };
        let how = OpenHow { create: Create::New, read_only: false, direct: false };
        let file = MemFs::default().open(Path::new("pages"), how).unwrap();
        Pages::new(file, &options, 512, Arc::new(Counters::default()), |_| true, 0).unwrap()
    }

    /// Eviction wrote dirty pages out and left them where they were until its hand came round again; with more of them
    /// than its rounds wrote, it gave up before that, although every one of them could have gone.
    #[test]
    fn a_cache_full_of_dirty_pages_makes_room() {
        let pages = pages(16 << 10);
        while let Ok(page) = pages.create(1, None) {
            pages.allow_eviction(&[page.id]);
        }
        assert_eq!(pages.frames_for_new(), 0);
        pages.free_some_frames().unwrap();
        assert!(pages.frames_for_new() > 0);
    }

    /// A full disk failed every read that needed a frame as soon as the hand met a dirty page, and then those for which
    /// there was no clean one left: new pages had taken all.
    #[test]
    fn pages_are_loaded_while_the_disk_is_full_however_many_are_dirty() {
        let file = SlowFile::new();
        let pages = few_pages(file.clone());
        let clean: Vec<_> = (0..50).map(|birth| create(&pages, birth + 1)).collect();
        evict_all(&pages);
        file.refuse_writes(true);
        let mut dirty = Vec::new();
        for _ in 0..100 {
            let made =
                pages.create(100, None).or_else(|_| pages.free_some_frames().and_then(|_| pages.create(100, None)));
            pages.allow_eviction(&made.iter().map(|page| page.id).collect::<Vec<_>>());
            dirty.extend(made.ok());
            clean.iter().for_each(|&page| pages.load(page).unwrap());
        }
        assert_eq!(dirty.len(), 56);
        assert!(dirty.iter().all(|page| pages.is_dirty(page.id)));
        assert!(matches!(pages.free_some_frames(), Err(Error::DiskFull { .. })));
        file.refuse_writes(false);
        pages.free_some_frames().unwrap();
        clean.iter().for_each(|&page| pages.load(page).unwrap());
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
    }

    /// While whoever wrote pages was interrupted, for longer than a moment, a small cache counted as full.
    #[test]
    fn what_others_write_is_waited_for() {
        let file = SlowFile::new();
        let pages = few_pages_all_for_new(file.clone());
        let ids: Vec<u32> = (0..64).map(|birth| create(&pages, birth + 1).id).collect();
        let (first, second) = ids.split_at(RUN);
        let (began, has_begun) = std::sync::mpsc::channel();
        for _ in 0..2 {
            let began = began.clone();
            file.during_next_write(move || {
                began.send(()).unwrap();
                std::thread::sleep(Duration::from_millis(200));
            });
        }
        std::thread::scope(|scope| {
            scope.spawn(|| pages.write_out(&mut first.to_vec()).unwrap());
            scope.spawn(|| pages.write_out(&mut second.to_vec()).unwrap());
            (0..2).for_each(|_| has_begun.recv().unwrap());
            assert!(pages.free_some_frames().unwrap().is_none());
        });
    }

    #[test]
    fn reads_that_a_full_disk_fails_are_noticed() {
        let test = pages_are_loaded_while_the_disk_is_full_however_many_are_dirty;
        crate::broken::must_be_caught(Broken::FullDiskFailsReads, test);
        crate::broken::must_be_caught(Broken::ReadersStarved, test);
    }
}
