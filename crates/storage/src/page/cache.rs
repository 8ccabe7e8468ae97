//! The page cache: from a page's id to its bytes with one load.
//!
//! What must hold, beside what `frames` says of who has which frame:
//! - A page is *unsealed* only while one owner (a private tree, or the holder of the commit lock) may change it; nobody
//!   else can reach it then. Once sealed its bytes never change, in memory or on disk, until its id is free.
//! - A page is made `FIXED`, which no other page's change can clear: an unsealed page is in memory, and is not written.
//!   Its owner gives it to eviction (`allow_eviction`) after he has sealed it, at the latest when it is published.
//! - A frame is given to another page only when its page is free (nobody's version holds it, see `reuse`) or when it was
//!   evicted and every reader that could have found it is gone (epochs, see `slots`).
//! - A page is written under its id only while that id is its own: freeing an id waits for a write in flight (`write`).

use std::sync::Arc;

use super::evict::Evictor;
use super::fetch::Fetches;
use super::frames::{COOLING, DIRTY, FIXED, Frame, FrameTable, State};
use super::ghosts::Ghosts;
use super::layout;
use super::memory::{ZeroAtomic, prefetch_value};
use super::release::Grown;
use super::reuse::Reuse;
use super::share::Share;
use super::slots::{Pin, Slots};
use super::supply::{Needs, Supply, reserve_of};
use super::table::{CHUNK, Table};
use crate::budget::{Memory, Part};
use crate::io::File;
use crate::stats::Counters;
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering};
use crate::{Error, PageRef, Result};

/// Bytes of a page that are asked for together before it is searched.
const SEARCHED: usize = 256;

/// Counters of new pages, by id: some ids share one.
const RENEWALS: usize = if cfg!(cairn_loom) { 2 } else { 1024 };

/// Locks of loaders, by id.
const LOADERS: usize = if cfg!(cairn_loom) { 1 } else { 64 };

/// The least frames of a cache.
const FRAMES_MIN: usize = if cfg!(cairn_loom) { 2 } else { 64 };

/// The least ids that are near (`table.rs`).
const NEAR_MIN: u32 = if cfg!(cairn_loom) { 4 } else { 1 << 15 };

/// One frame in so many is kept for who loads pages, and how many at most.
const KEPT: usize = 8;
const KEPT_MAX: usize = 64;

/// The most frames that are made free ahead of need.
const AHEAD_MAX: usize = 8192;

/// The most bytes of frames whose memory is asked for ahead of their first use: half as many as are in use.
const AHEAD: usize = 16 << 20;

/// A cache that took less memory is not what takes it from others.
pub(crate) const LARGE: usize = 32 << 20;

/// A page that dies with no version, for it is a checkpoint's own. It may have the id of a page that was dropped and is free, with
/// that one's bytes until its own are written: who comes by there, on the way through what was dropped, leaves it alone.
pub(super) const NO_VERSIONS: u64 = u64::MAX;

/// What is known of a page besides its bytes. Versions are those of published roots.
#[derive(Debug)]
pub(super) struct PageInfo {
    /// The first version that holds it; 0: free, or private to a transaction.
    pub(super) joined: AtomicU64,
    /// The first version that no longer does; 0: the newest still does; [`NO_VERSIONS`].
    pub(super) death: AtomicU64,
    /// The next page in the same list of dead pages; before it was published: its place in its owner's list.
    pub(super) next: AtomicU32,
}

impl ZeroAtomic for PageInfo {
    fn zero() -> Self {
        let (joined, death) = (AtomicU64::new(0), AtomicU64::new(0));
        PageInfo { joined, death, next: AtomicU32::new(0) }
    }
}

impl PageInfo {
    /// Whether the page belongs to `version`, which must be held.
    pub(super) fn lives_in(&self, version: u64) -> bool {
        // Death first: freeing clears `joined` before `death`, so a freed page can not look alive.
        let death = self.death.load(Ordering::Acquire);
        let joined = self.joined.load(Ordering::Acquire);
        joined != 0 && joined <= version && (death == 0 || death > version)
    }
}

/// The cache and the allocation of page ids.
#[derive(Debug)]
pub(crate) struct Pages {
    page_size: usize,
    max_pages: u32,
    pub(super) frames: FrameTable,
    /// Given back behind the frames.
    _share: Share,
    /// What it may have of memory that it shares with others; `None`: all of its frames may have memory. Given back behind the frames.
    pub(super) part: Option<Part>,
    /// As many as it could have frames, where it shares memory.
    pub(super) ghosts: Option<Ghosts>,
    pub(super) info: Table<PageInfo>,
    /// Whether a page's body is what its header says it is: the layer that made it knows.
    pub(super) is_well_formed: fn(&[u8]) -> bool,
    /// No frame at or beyond this was ever used; only grows.
    touched: AtomicU32,
    /// Frames before this have their memory.
    populated: AtomicU32,
    /// Told once, when the cache has come to be large.
    pub(crate) grown: Grown,
    pub(super) reuse: Mutex<Reuse>,
    pub(super) supply: Mutex<Supply>,
    /// Held while something that was dropped is buried, and while a free map is made.
    pub(super) burying: Mutex<()>,
    pub(super) evictor: Mutex<Evictor>,
    /// One loader at a time per page.
    pub(super) loading: Box<[Mutex<()>]>,
    /// How often ids were given to new pages, those that share a counter together.
    pub(super) renewals: Box<[AtomicU32]>,
    file: Arc<dyn File>,
    /// Held by who makes frames free for what is read ahead.
    pub(super) making_room: Mutex<()>,
    /// What is to be read by other threads.
    pub(crate) fetches: Fetches,
    pub(crate) slots: Slots,
    pub(crate) counters: Arc<Counters>,
}

impl Pages {
    /// `end`: of the pages that there are, about.
    pub(crate) fn new(
        file: Arc<dyn File>,
        options: &crate::Options,
        page_size: usize,
        counters: Arc<Counters>,
        is_well_formed: fn(&[u8]) -> bool,
        end: u32,
    ) -> Result<Pages> {
        let memory = match options.cache_bytes {
            0 => Some(options.memory.clone().unwrap_or_else(Memory::of_the_process)),
            _ => options.memory.clone(),
        };
        let mut share = Share::new(options.cache_bytes, memory.as_ref());
        let reserve = reserve_of(options);
        let max_pages = options.max_pages + reserve;
        let near = end.saturating_mul(2).max(NEAR_MIN).min(max_pages);
        let (table, mut frames) = loop {
            let count = (share.bytes() / page_size).clamp(FRAMES_MIN, 1 << 31) as u32;
            match FrameTable::new(page_size, max_pages, near, count) {
                Some(made) => break made,
                None if share.halve() => {}
                None => return Err(Error::NoMemory { bytes: share.bytes() }),
            }
        };
        let part =
            memory.map(|memory| memory.join(u64::from(table.count()) * page_size as u64, page_size)).transpose()?;
        if let Some(part) = &part {
            frames.share(part.0.clone());
        }
        let most = table.count() as usize;
        let ghosts = part.as_ref().map(|part| Ghosts::new(part.0.clone(), most)).transpose()?;
        let first = part.as_ref().map_or(frames.len(), |part| part.0.may_have() as usize / page_size);
        let kept = (first / KEPT).min(KEPT_MAX);
        Ok(Pages {
            page_size,
            max_pages,
            frames: table,
            _share: share,
            part,
            ghosts,
            info: Table::new(max_pages, near).ok_or_else(|| Error::NoMemory { bytes: max_pages as usize })?,
            is_well_formed,
            touched: AtomicU32::new(0),
            populated: AtomicU32::new(0),
            grown: Grown::default(),
            reuse: Mutex::new(Reuse::default()),
            supply: Mutex::new(Supply::new(options.max_pages, reserve, frames, kept)),
            burying: Mutex::new(()),
            evictor: Mutex::new(Evictor::default()),
            loading: (0..LOADERS).map(|_| Mutex::new(())).collect(),
            renewals: (0..RENEWALS).map(|_| AtomicU32::new(0)).collect(),
            file,
            making_room: Mutex::default(),
            fetches: Fetches::default(),
            slots: Slots::new(options.max_snapshots)
                .ok_or_else(|| Error::NoMemory { bytes: Slots::bytes(options.max_snapshots) })?,
            counters,
        })
    }

    /// Reads and writes through another face of the same file, while nobody else uses the pages.
    pub(crate) fn go_through(&mut self, file: Arc<dyn File>) {
        self.file = file;
    }

    pub(crate) fn page_size(&self) -> usize {
        self.page_size
    }

    pub(crate) fn max_pages(&self) -> u32 {
        self.max_pages
    }

    /// How many frames may have memory, as others take part in it now.
    pub(crate) fn frame_count(&self) -> usize {
        self.part.as_ref().map_or(self.frames.count() as usize, |part| part.0.reachable())
    }

    /// What it shares with others.
    pub(crate) fn memory(&self) -> Option<Memory> {
        self.part.as_ref().map(|part| part.0.memory())
    }

    /// Its bytes, where others leave all of it to this cache.
    pub(crate) fn most_bytes(&self) -> usize {
        self.frames.count() as usize * self.page_size
    }

    pub(crate) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// The page's bytes, if it is in memory. One load of the table, one compare of the identity.
    #[inline]
    pub(crate) fn get<'p>(&self, pin: &'p Pin<'_>, page: PageRef) -> Option<&'p [u8]> {
        // SAFETY: the pin keeps the frame from reuse; sealed pages do not change, and the owner of an unsealed one
        // does not hold a slice of it while it changes it.
        let found = unsafe { self.peek(page) };
        pin.count_hits(found.is_some() as u64);
        found
    }

    /// As [`Pages::get`], for who passes and will not come back: it does not keep the page from being evicted.
    #[inline]
    pub(crate) fn get_passing<'p>(&self, pin: &'p Pin<'_>, page: PageRef) -> Option<&'p [u8]> {
        let entry = self.frames.entry(page.id)?.load(Ordering::SeqCst);
        // SAFETY: as in `get`.
        let found = unsafe { self.at(entry, page) };
        pin.count_hits(found.is_some() as u64);
        found
    }

    /// # Safety
    /// The caller holds a pin, and nobody changes the page while the slice lives.
    #[inline]
    pub(crate) unsafe fn peek<'p>(&self, page: PageRef) -> Option<&'p [u8]> {
        let entry = self.frames.entry(page.id)?.load(Ordering::SeqCst);
        if entry & COOLING != 0 {
            self.warm(page.id, entry);
        }
        // SAFETY: by the caller's promise.
        unsafe { self.at(entry, page) }
    }

    /// The page's bytes, if this entry of the table is its own.
    ///
    /// # Safety
    /// As for [`Pages::peek`]; the entry was loaded under the pin.
    #[inline(always)]
    unsafe fn at<'p>(&self, entry: u64, page: PageRef) -> Option<&'p [u8]> {
        if entry == 0 {
            return None;
        }
        // The header and the slots that a search begins with lie in different lines: ask for them at once.
        self.frames.memory.prefetch(entry & !COOLING, SEARCHED);
        // SAFETY: the address came from the table under a pin.
        let bytes = unsafe { self.frames.memory.page(entry & !COOLING) };
        (crate::bytes::get_u64(bytes, 16) == page.birth).then_some(bytes)
    }

    /// Asks the processor for the beginning of a page that is about to be read, if it is in memory: it arrives while
    /// the caller does something else.
    #[inline]
    pub(crate) fn prefetch(&self, page: PageRef) {
        let Some(entry) = self.frames.entry(page.id) else { return };
        let address = entry.load(Ordering::Relaxed) & !COOLING;
        if address != 0 {
            self.frames.memory.prefetch(address, SEARCHED);
        }
    }

    /// As `prefetch`, for a page that is about to be copied and replaced: all of it, and what is known of it.
    #[inline]
    pub(crate) fn prefetch_whole(&self, page: PageRef) {
        let (Some(entry), Some(info)) = (self.frames.entry(page.id), self.info.get(page.id)) else {
            return;
        };
        prefetch_value(info);
        let address = entry.load(Ordering::Relaxed) & !COOLING;
        if address != 0 {
            self.frames.memory.prefetch(address, self.page_size);
            prefetch_value(self.frames.word(address));
        }
    }

    #[cold]
    fn warm(&self, id: u32, entry: u64) {
        let Some(place) = self.frames.entry(id) else { return };
        let _ = place.compare_exchange(entry, entry & !COOLING, Ordering::SeqCst, Ordering::Relaxed);
    }

    /// # Safety
    /// The page is unsealed and the caller is its owner; no other slice of it lives.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn unsealed<'p>(&self, page: PageRef) -> &'p mut [u8] {
        let entry = self.frames.address_of(page.id);
        assert!(entry != 0, "an unsealed page is always in memory");
        // SAFETY: by the caller's promise.
        unsafe { self.frames.memory.page_mut(entry & !COOLING) }
    }

    /// A new unsealed page with the given bytes (a copy, or zeroes), its identity set.
    ///
    /// Takes what frames are free beyond those that are kept for who loads: to evict others, the caller would have to let go of its pin first. So after
    /// [`Error::CacheFull`] it does, calls [`Pages::make_room`] and begins again.
    pub(crate) fn create(&self, birth: u64, copy_of: Option<&[u8]>) -> Result<PageRef> {
        let taken = self.supply.lock().take(Needs::More);
        let (frame, id) = match taken {
            Err(Error::DiskFull { .. }) => match self.take_further(Needs::More) {
                Err(Error::DiskFull { .. }) => {
                    self.look_for_free_ids();
                    self.take_further(Needs::More)?
                }
                taken => taken?,
            },
            taken => taken?,
        };
        Ok(self.make(frame, id, birth, copy_of))
    }

    /// As `create`, for who frees pages, where others find no id.
    #[cold]
    pub(crate) fn create_to_free(&self, birth: u64, copy_of: Option<&[u8]>) -> Result<PageRef> {
        let (frame, id) = self.take_further(Needs::Less)?;
        Ok(self.make(frame, id, birth, copy_of))
    }

    /// What is kept by id reaches as far as is needed, before an id is taken. (Asked each time, in front of the common way, that
    /// cost 40 instructions a page.)
    #[cold]
    fn take_further(&self, needs: Needs) -> Result<(Frame, u32)> {
        let mut supply = self.supply.lock();
        self.reach(&mut supply, 1)?;
        supply.take(needs)
    }

    /// Lets what is kept by id be there for so many ids behind the end.
    pub(super) fn reach(&self, supply: &mut Supply, ids: u32) -> Result<()> {
        match supply.end.saturating_add(ids) > supply.reached {
            true => self.reach_on(supply, ids),
            false => Ok(()),
        }
    }

    #[cold]
    fn reach_on(&self, supply: &mut Supply, ids: u32) -> Result<()> {
        let end = (supply.end.saturating_add(ids) as usize).next_multiple_of(CHUNK).min(self.max_pages as usize) as u32;
        if !(self.frames.reach(end) && self.info.reach(end) && supply.ids.reach(end)) {
            return Err(Error::NoMemory { bytes: CHUNK * (size_of::<PageInfo>() + size_of::<AtomicU64>()) });
        }
        // Beyond the last id none is handed out.
        supply.reached = if end < self.max_pages { end } else { u32::MAX };
        Ok(())
    }

    /// Whether there is an entry for the id. Where there is none it was never handed out: a reference to it is damage.
    #[inline]
    pub(super) fn is_known(&self, id: u32) -> bool {
        self.frames.entry(id).is_some()
    }

    #[inline(always)]
    fn make(&self, frame: Frame, id: u32, birth: u64, copy_of: Option<&[u8]>) -> PageRef {
        self.touch(&frame);
        let page = PageRef { id, birth };
        let address = self.frames.memory.address(frame.index());
        // SAFETY: the frame is this thread's alone.
        unsafe { self.frames.memory.clear_or_copy(address, copy_of) };
        // SAFETY: as above; its bytes are initialised now.
        layout::set_identity(unsafe { self.frames.memory.page_mut(address) }, page);
        if let Err(frame) = self.frames.give(frame, id, DIRTY | FIXED, 0) {
            self.give_after_late(frame, id);
        }
        // After the entry, and before anybody can write the page out and evict it: see `load`.
        self.renewals(id).fetch_add(1, Ordering::SeqCst);
        page
    }

    /// Gives the frame to a new page although its id's last page is in memory: somebody without a registered version
    /// loaded that while it was being freed. Nothing refers to it, so nobody looks at its frame.
    #[cold]
    fn give_after_late(&self, mut frame: Frame, id: u32) {
        loop {
            match self.frames.find(id) {
                Some(place) => self.frames.take(id, place).into_iter().for_each(|late| self.give_back(late)),
                // Eviction is taking its frame from it, and is between two instructions.
                None => crate::sync::give_way(),
            }
            match self.frames.give(frame, id, DIRTY | FIXED, 0) {
                Ok(()) => return,
                Err(again) => frame = again,
            }
        }
    }

    /// Gives sealed pages, the caller's own, to eviction and write-out.
    pub(crate) fn allow_eviction(&self, ids: &[u32]) {
        ids.iter().for_each(|&id| self.frames.allow_eviction(id));
    }

    /// For simulations: whoever still looks at a frame that is free sees it at once, not only when it is used again.
    pub(super) fn spoil(&self, frame: &Frame) {
        // SAFETY: nobody refers to a frame that is no page's any more; its bytes were initialised by its page.
        unsafe { self.frames.memory.page_mut(self.frames.memory.address(frame.index())) }.fill(0xDB);
    }

    pub(super) fn pop_frame(&self) -> Option<Frame> {
        let frame = self.supply.lock().frames.pop()?;
        self.touch(&frame);
        Some(frame)
    }

    fn touch(&self, frame: &Frame) {
        let frame = frame.index();
        if frame >= self.touched.load(Ordering::Relaxed) {
            self.touched.fetch_max(frame + 1, Ordering::Relaxed);
            if frame as usize == LARGE / self.page_size {
                self.grown.tell();
            }
        }
    }

    /// Whether it ever took so much memory that it matters to others.
    pub(crate) fn is_large(&self) -> bool {
        self.touched_frames() as usize > LARGE / self.page_size
    }

    pub(super) fn touched_frames(&self) -> u32 {
        self.touched.load(Ordering::Relaxed)
    }

    /// Whether frames will soon be used whose memory was not asked for yet.
    pub(crate) fn is_memory_short(&self) -> bool {
        let touched = self.touched.load(Ordering::Relaxed);
        self.populated.load(Ordering::Relaxed) < self.ahead_of(touched, 2)
    }

    /// Asks for the memory of the frames that will be used next. For a background thread.
    pub(crate) fn populate_ahead(&self) {
        let touched = self.touched.load(Ordering::Relaxed);
        let (from, to) = (self.populated.load(Ordering::Relaxed).max(touched), self.ahead_of(touched, 1));
        if from < to {
            self.frames.memory.populate(from, to);
            self.populated.store(to, Ordering::Relaxed);
        }
    }

    /// Up to which frame memory is wanted when `touched` were used; `part`: of the way.
    fn ahead_of(&self, touched: u32, part: u32) -> u32 {
        let ahead = (touched / 2).min((AHEAD / self.page_size) as u32) / part;
        let ahead = self.part.as_ref().map_or(ahead, |part| ahead.min(part.0.available() as u32));
        touched.saturating_add(ahead).min(self.frames.count())
    }

    /// The words of the frames that were ever used.
    pub(super) fn states(&self) -> impl Iterator<Item = State> {
        self.frames.states(self.touched.load(Ordering::Relaxed))
    }

    /// Whether so few frames are free for new pages that some are to be made free ahead of need.
    pub(crate) fn are_frames_few(&self) -> bool {
        self.frames_for_new() < (self.frame_count() / 32).min(AHEAD_MAX / 2)
    }

    /// How many frames are made free ahead at a time: who does it has other things to do.
    pub(crate) fn frames_ahead(&self) -> usize {
        (self.frame_count() / 16).min(AHEAD_MAX)
    }

    /// Frames that are nobody's.
    pub(super) fn frames_free(&self) -> usize {
        self.supply.lock().frames.len()
    }

    /// Frames that new pages could have at once.
    pub(crate) fn frames_for_new(&self) -> usize {
        let supply = self.supply.lock();
        supply.frames.len().saturating_sub(supply.kept)
    }

    pub(super) fn frames_kept(&self) -> usize {
        self.supply.lock().kept
    }
}
