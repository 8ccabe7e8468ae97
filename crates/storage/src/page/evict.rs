//! Making frames free: a clock hand passes over them; pages that nobody looked at since it last came by go.
//!
//! What must hold:
//! - A dirty page is in the file before its frame goes.
//! - An evicted frame waits in *limbo* until every reader that could have found it is gone.
//! - Whatever can go does go before the cache counts as full.

use std::time::Duration;

use super::cache::{COOLING, DIRTY, FIXED, Pages, RUN, USED};
use crate::broken::{self, Broken};
use crate::sync::Ordering;
use crate::{Error, Result};

/// How often nothing is found to evict before the cache counts as full: what others write out just now can go soon.
const IDLE_ROUNDS: u32 = 64;
/// How long it is waited for readers: so many naps.
const PATIENCE: u32 = 20_000;
const NAP: Duration = Duration::from_micros(500);

#[derive(Debug, Default)]
pub(super) struct Evictor {
    hand: u32,
    /// Evicted frames with the epoch they were evicted in.
    limbo: Vec<(u64, u32)>,
}

impl Pages {
    /// A frame for a page to be loaded. The caller must not be pinned.
    pub(super) fn take_frame(&self) -> Result<u32> {
        loop {
            if let Some(frame) = self.pop_frame() {
                return Ok(frame);
            }
            self.free_frames(1, self.frames.count() as usize / 32 + 8)?;
        }
    }

    /// Sees to it that some frames are free. The caller must not be pinned.
    #[cold]
    pub(crate) fn make_room(&self) -> Result<()> {
        let wanted = (self.frames.count() as usize / 8).min(64);
        match self.free_frames(wanted, wanted) {
            Err(Error::CacheFull) if self.frames_free() > 0 => Ok(()),
            result => result,
        }
    }

    /// Evicts, `step` pages at a time, until so many frames are free.
    ///
    /// The cache counts as full only when there is nothing to evict. Frames that others took meanwhile are evicted again;
    /// those in limbo come back as soon as readers that were interrupted while they looked at pages go on, which on a
    /// busy machine takes them a while. They need nothing that the caller could hold, so the wait ends.
    fn free_frames(&self, needed: usize, step: usize) -> Result<()> {
        let (mut idle, mut naps) = (0, 0);
        while idle < IDLE_ROUNDS && naps < PATIENCE {
            if self.frames_free() >= needed {
                return Ok(());
            }
            let waiting = self.reclaim_now();
            if waiting >= step || self.evict(step)? == 0 {
                crate::sync::thread::sleep(NAP);
                *(if waiting > 0 { &mut naps } else { &mut idle }) += 1;
            }
        }
        Err(Error::CacheFull)
    }

    /// Returns how many frames still wait for readers.
    fn reclaim_now(&self) -> usize {
        let mut evictor = self.evictor.lock();
        self.reclaim(&mut evictor);
        evictor.limbo.len()
    }

    /// Makes up to `wanted` frames free: pages that nobody looked at since the hand last passed go; dirty ones are
    /// written first, and go then. Returns how many went.
    pub(crate) fn evict(&self, wanted: usize) -> Result<usize> {
        let mut dirty = Vec::new();
        let mut gone = self.turn_hand(wanted, &mut dirty);
        if gone < wanted {
            self.counters.pages_written_back.add(dirty.len() as u64);
            self.write_out(&mut dirty)?;
            gone += self.drop_written(&dirty);
        }
        Ok(gone)
    }

    /// Moves the hand over the frames, twice round at most; returns how many it evicted, and in `dirty` the pages that
    /// would have gone if they were in the file.
    fn turn_hand(&self, wanted: usize, dirty: &mut Vec<u32>) -> usize {
        let mut evictor = self.evictor.lock();
        let mut gone = 0;
        for _ in 0..2 * self.frames.count() {
            if gone >= wanted || dirty.len() >= wanted.max(RUN) {
                break;
            }
            evictor.hand = (evictor.hand + 1) % self.frames.count();
            let frame = evictor.hand;
            match self.cool(frame) {
                Cooled::Evicted => {
                    evictor.limbo.push((0, frame));
                    gone += 1;
                }
                Cooled::Dirty(id) => dirty.push(id),
                Cooled::Kept => {}
            }
        }
        self.retire_frames(&mut evictor, gone);
        gone
    }

    /// Evicts pages that were just written, unless somebody looked at them meanwhile. Left to the hand, they would have
    /// to wait until it has gone all the way round, while whoever needs a frame counts the cache as full.
    fn drop_written(&self, ids: &[u32]) -> usize {
        let mut evictor = self.evictor.lock();
        let mut gone = 0;
        for &id in ids {
            let entry = self.table[id as usize].load(Ordering::SeqCst);
            if entry & COOLING == 0 {
                continue;
            }
            let frame = self.frames.frame_of(entry & !COOLING);
            if matches!(self.cool(frame), Cooled::Evicted) {
                evictor.limbo.push((0, frame));
                gone += 1;
            }
        }
        self.retire_frames(&mut evictor, gone);
        gone
    }

    /// After the entries of frames in limbo were cleared: they are free once every reader of this epoch is gone.
    fn retire_frames(&self, evictor: &mut Evictor, gone: usize) {
        self.counters.pages_evicted.add(gone as u64);
        let epoch = self.slots.next_epoch();
        evictor.limbo.iter_mut().filter(|(at, _)| *at == 0).for_each(|(at, _)| *at = epoch);
        self.reclaim(evictor);
    }

    fn cool(&self, frame: u32) -> Cooled {
        let state = self.states[frame as usize].load(Ordering::Acquire);
        if state & USED == 0 || state & FIXED != 0 {
            return Cooled::Kept;
        }
        let id = state as u32;
        let entry = &self.table[id as usize];
        let address = self.frames.address(frame);
        match entry.load(Ordering::SeqCst) {
            hot if hot == address => {
                let _ = entry.compare_exchange(hot, hot | COOLING, Ordering::SeqCst, Ordering::Relaxed);
                Cooled::Kept
            }
            cool if cool == address | COOLING && state & DIRTY != 0 && !broken::is(Broken::EvictedDirty) => {
                Cooled::Dirty(id)
            }
            cool if cool == address | COOLING => {
                // From here on a loader may give the page another frame; this one is nobody's until it leaves limbo.
                if entry.compare_exchange(cool, 0, Ordering::SeqCst, Ordering::Relaxed).is_err() {
                    return Cooled::Kept;
                }
                self.states[frame as usize].store(0, Ordering::Relaxed);
                Cooled::Evicted
            }
            _ => Cooled::Kept,
        }
    }

    /// Returns evicted frames that no reader can still be looking at to the supply.
    fn reclaim(&self, evictor: &mut Evictor) {
        let oldest = self.slots.oldest_epoch();
        let mut supply = self.supply.lock();
        evictor.limbo.retain(|&(epoch, frame)| {
            let wait = epoch >= oldest && !broken::is(Broken::FramesUnderReaders);
            if !wait {
                supply.frames.push(frame);
            }
            wait
        });
    }
}

enum Cooled {
    Evicted,
    Dirty(u32),
    Kept,
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::io::{Create, FileSystem, MemFs, OpenHow};
    use crate::stats::Counters;

    fn pages(frames: usize) -> Pages {
        let options =
            crate::Options { page_size: 512, cache_bytes: frames * 512, max_pages: 1 << 18, ..Default::default() };
        let how = OpenHow { create: Create::New, read_only: false, direct: false };
        let file = MemFs::default().open(Path::new("pages"), how).unwrap();
        Pages::new(file, &options, 512, Arc::new(Counters::default()))
    }

    /// Eviction wrote dirty pages out and left them where they were until its hand came round again; with more of them
    /// than its rounds wrote, it gave up before that, although every one of them could have gone.
    #[test]
    fn a_cache_full_of_dirty_pages_makes_room() {
        let pages = pages(16 << 10);
        while let Ok(page) = pages.create(1, None) {
            pages.unfix(&[page.id]);
        }
        assert_eq!(pages.frames_free(), 0);
        pages.make_room().unwrap();
        assert!(pages.frames_free() > 0);
    }
}
