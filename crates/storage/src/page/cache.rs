//! The page cache: from a page's id to its bytes with one load.
//!
//! `table[id]` is the address of the page's frame, or 0. What must hold:
//! - A page is *unsealed* only while one owner (a private tree, or the holder of the commit lock) may change it; nobody
//!   else can reach it then. Once sealed its bytes never change, in memory or on disk, until its id is free.
//! - A frame is reused only when its page is free (nobody's version holds it, see `reuse`) or when it was evicted and
//!   every reader that could have found it is gone (epochs, see `slots`).
//! - `FIXED` frames (unsealed, or not yet published) are neither evicted nor written out, except that a transaction
//!   may give up its own (`unfix`), after it has sealed them.
//! - A page is written under its id only while that id is its own: freeing an id waits for a write in flight.

use std::sync::Arc;

use super::evict::Evictor;
use super::layout::{self, Kind, PageRef};
use super::memory::{Frames, ZeroAtomic, prefetch_value, zeroed};
use super::reuse::Reuse;
use super::slots::{Pin, Slots};
use super::supply::Supply;
use crate::broken::{self, Broken};
use crate::io::{AlignedBuf, File};
use crate::stats::Counters;
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering};
use crate::tree::node::Node;
use crate::{Error, Result};

/// Low bit of a table entry: the page is about to be evicted unless somebody looks at it again.
pub(super) const COOLING: u64 = 1;

/// Bytes of a page that are asked for together before it is searched.
const SEARCHED: usize = 256;

/// Bits of a frame's state above its page id.
pub(super) const DIRTY: u64 = 1 << 32;
pub(super) const FIXED: u64 = 1 << 33;
/// The frame holds a page (otherwise it is free, or waits in limbo).
pub(super) const USED: u64 = 1 << 34;

/// Pages written in one go.
pub(super) const RUN: usize = 32;

/// Counters of new pages, by id: some ids share one.
const RENEWALS: usize = 1024;

/// The most bytes of frames whose memory is asked for ahead of their first use: half as many as are in use.
const AHEAD: usize = 16 << 20;

/// What is known of a page besides its bytes. Versions are those of published roots.
#[derive(Debug)]
pub(super) struct PageInfo {
    /// The first version that holds it; 0: free, or private to a transaction.
    pub(super) adopted: AtomicU64,
    /// The first version that no longer does; 0: the newest still does.
    pub(super) death: AtomicU64,
    /// The next page in the same list of dead pages; before it was published: its place in its owner's list.
    pub(super) next: AtomicU32,
    /// A write is in flight (1); it was freed meanwhile (2).
    pub(super) writing: AtomicU32,
}

impl ZeroAtomic for PageInfo {
    fn zero() -> Self {
        let (adopted, death) = (AtomicU64::new(0), AtomicU64::new(0));
        PageInfo { adopted, death, next: AtomicU32::new(0), writing: AtomicU32::new(0) }
    }
}

impl PageInfo {
    /// Whether the page belongs to `version`, which must be held.
    pub(super) fn lives_in(&self, version: u64) -> bool {
        // Death first: freeing clears `adopted` before `death`, so a freed page can not look alive.
        let death = self.death.load(Ordering::Acquire);
        let adopted = self.adopted.load(Ordering::Acquire);
        adopted != 0 && adopted <= version && (death == 0 || death > version)
    }
}

/// The cache and the allocation of page ids.
#[derive(Debug)]
pub(crate) struct Pages {
    page_size: usize,
    max_pages: u32,
    pub(super) table: Box<[AtomicU64]>,
    pub(super) info: Box<[PageInfo]>,
    pub(super) frames: Frames,
    /// Per frame: page id and state bits.
    pub(super) states: Box<[AtomicU64]>,
    /// No frame at or beyond this was ever used; only grows.
    touched: AtomicU32,
    /// Frames before this have their memory.
    populated: AtomicU32,
    pub(super) reuse: Mutex<Reuse>,
    pub(super) supply: Mutex<Supply>,
    /// Held while something that was dropped is retired, and while a free map is made.
    pub(super) retiring: Mutex<()>,
    pub(super) evictor: Mutex<Evictor>,
    /// One loader at a time per page.
    loading: Box<[Mutex<()>]>,
    /// How often ids were given to new pages, those that share a counter together.
    renewals: Box<[AtomicU32]>,
    file: Arc<dyn File>,
    pub(crate) slots: Slots,
    pub(crate) counters: Arc<Counters>,
}

impl Pages {
    pub(crate) fn new(
        file: Arc<dyn File>,
        options: &crate::Options,
        page_size: usize,
        counters: Arc<Counters>,
    ) -> Pages {
        let count = (options.cache_bytes / page_size).clamp(64, 1 << 31) as u32;
        Pages {
            page_size,
            max_pages: options.max_pages,
            table: zeroed(options.max_pages as usize),
            info: zeroed(options.max_pages as usize),
            frames: Frames::new(page_size, count),
            states: zeroed(count as usize),
            touched: AtomicU32::new(0),
            populated: AtomicU32::new(0),
            reuse: Mutex::new(Reuse::default()),
            supply: Mutex::new(Supply::new(options.max_pages, count)),
            retiring: Mutex::new(()),
            evictor: Mutex::new(Evictor::default()),
            loading: (0..64).map(|_| Mutex::new(())).collect(),
            renewals: (0..RENEWALS).map(|_| AtomicU32::new(0)).collect(),
            file,
            slots: Slots::new(options.max_snapshots),
            counters,
        }
    }

    pub(crate) fn page_size(&self) -> usize {
        self.page_size
    }

    pub(crate) fn max_pages(&self) -> u32 {
        self.max_pages
    }

    pub(crate) fn frame_count(&self) -> usize {
        self.frames.count() as usize
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

    /// # Safety
    /// The caller holds a pin, and nobody changes the page while the slice lives.
    #[inline]
    pub(crate) unsafe fn peek<'p>(&self, page: PageRef) -> Option<&'p [u8]> {
        let entry = self.table.get(page.id as usize)?.load(Ordering::SeqCst);
        if entry == 0 {
            return None;
        }
        if entry & COOLING != 0 {
            self.warm(page.id, entry);
        }
        // The header and the slots that a search begins with lie in different lines: ask for them at once.
        self.frames.prefetch(entry & !COOLING, SEARCHED);
        // SAFETY: the address came from the table under a pin.
        let bytes = unsafe { self.frames.page(entry & !COOLING) };
        (layout::get_u64(bytes, 16) == page.birth).then_some(bytes)
    }

    /// Asks the processor for the beginning of a page that is about to be read, if it is in memory: it arrives while
    /// the caller does something else.
    #[inline]
    pub(crate) fn prefetch(&self, page: PageRef) {
        let Some(entry) = self.table.get(page.id as usize) else { return };
        let address = entry.load(Ordering::Relaxed) & !COOLING;
        if address != 0 {
            self.frames.prefetch(address, SEARCHED);
        }
    }

    /// As `prefetch`, for a page that is about to be copied and replaced: all of it, and what is known of it.
    #[inline]
    pub(crate) fn prefetch_whole(&self, page: PageRef) {
        let (Some(entry), Some(info)) = (self.table.get(page.id as usize), self.info.get(page.id as usize)) else {
            return;
        };
        prefetch_value(info);
        let address = entry.load(Ordering::Relaxed) & !COOLING;
        if address != 0 {
            self.frames.prefetch(address, self.page_size);
            prefetch_value(&self.states[self.frames.frame_of(address) as usize]);
        }
    }

    #[cold]
    fn warm(&self, id: u32, entry: u64) {
        let _ = self.table[id as usize].compare_exchange(entry, entry & !COOLING, Ordering::SeqCst, Ordering::Relaxed);
    }

    /// # Safety
    /// The page is unsealed and the caller is its owner; no other slice of it lives.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn unsealed<'p>(&self, page: PageRef) -> &'p mut [u8] {
        let entry = self.table[page.id as usize].load(Ordering::Acquire);
        assert!(entry != 0, "an unsealed page is always in memory");
        // SAFETY: by the caller's promise.
        unsafe { self.frames.page_mut(entry & !COOLING) }
    }

    /// A new unsealed page with the given bytes (a copy, or zeroes), its identity set.
    ///
    /// Takes what frames are free: to evict others, the caller would have to let go of its pin first. So after
    /// [`Error::CacheFull`] it does, calls [`Pages::make_room`] and begins again.
    pub(crate) fn create(&self, birth: u64, copy_of: Option<&[u8]>) -> Result<PageRef> {
        let (frame, id) = self.supply.lock().take(self.max_pages)?;
        self.touch(frame);
        let page = PageRef { id, birth };
        let address = self.frames.address(frame);
        // SAFETY: the frame was free: nobody refers to it.
        unsafe { self.frames.clear_or_copy(address, copy_of) };
        // SAFETY: as above; its bytes are initialised now.
        layout::set_identity(unsafe { self.frames.page_mut(address) }, page);
        self.states[frame as usize].store(id as u64 | DIRTY | FIXED | USED, Ordering::Relaxed);
        let stale = self.table[id as usize].swap(address, Ordering::AcqRel);
        // After the entry, and before anybody can write the page out and evict it: see `load`.
        self.renewals(id).fetch_add(1, Ordering::SeqCst);
        if stale != 0 {
            self.drop_stale(stale);
        }
        Ok(page)
    }

    pub(super) fn renewals(&self, id: u32) -> &AtomicU32 {
        &self.renewals[id as usize % RENEWALS]
    }

    /// Somebody without a registered version loaded the id's last page while it was being freed. Nothing refers to that
    /// page, so nobody looks at its frame.
    #[cold]
    fn drop_stale(&self, entry: u64) {
        self.give_back(self.frames.frame_of(entry & !COOLING));
    }

    /// Brings a page into memory. The caller must not be pinned: making room may have to wait for readers.
    ///
    /// The caller's version may be gone by now (it let go of the commit lock, or its snapshot was ended), and the id
    /// another page's, which was written out and evicted while the old bytes were on their way: they must not stay under
    /// the new page's id. Who meets them there comes here, and waits.
    #[cold]
    pub(crate) fn load(&self, page: PageRef) -> Result<()> {
        if page.is_none() || page.id >= self.max_pages {
            return Err(Error::corrupt(format!("reference to page {}, which can not exist", page.id)));
        }
        let _one = self.loading[page.id as usize % self.loading.len()].lock();
        // Who reads ahead does not wait for others: the page may have come meanwhile, and may even have gone again.
        while !self.is_loaded(page)? {}
        Ok(())
    }

    /// Whether the page is in memory now; if not, it has to be tried again.
    fn is_loaded(&self, page: PageRef) -> Result<bool> {
        let renewals = self.renewals(page.id).load(Ordering::SeqCst);
        let entry = self.table[page.id as usize].load(Ordering::SeqCst);
        if entry != 0 {
            // SAFETY: reading the identity of a resident page that some live version refers to.
            let found = layout::identity(unsafe { self.frames.page(entry & !COOLING) });
            // Without a pin, the frame may have become another page's since the entry was looked at.
            let is_still_there = || self.table[page.id as usize].load(Ordering::SeqCst) & !COOLING == entry & !COOLING;
            return match found == page {
                false if is_still_there() => Err(misplaced(page, found)),
                is_loaded => Ok(is_loaded),
            };
        }
        self.counters.page_misses.add(1);
        let frame = self.take_frame()?;
        // SAFETY: the frame was free: nobody refers to it.
        let bytes = unsafe { self.blank(frame, true) };
        self.read(page, bytes).inspect_err(|_| self.give_back(frame))?;
        self.enter(page, frame, renewals, 0)
    }

    /// A frame's bytes; `cleared`: zeroes.
    ///
    /// # Safety
    /// The frame was free, nobody else refers to it, and it was cleared since then, if it is not now.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn blank(&self, frame: u32, cleared: bool) -> &mut [u8] {
        let address = self.frames.address(frame);
        // SAFETY: by the caller's promise.
        unsafe {
            if cleared {
                self.frames.clear_or_copy(address, None);
            }
            self.frames.page_mut(address)
        }
    }

    /// Takes back a frame that nobody found in the table.
    pub(super) fn give_back(&self, frame: u32) {
        self.states[frame as usize].store(0, Ordering::Relaxed);
        self.supply.lock().frames.push(frame);
    }

    /// Shows everybody a page that was read into a frame, and how it is to stand in the table: `mark`. `renewals`: as
    /// counted before the page was seen to be missing. False: something else is there by now.
    pub(super) fn enter(&self, page: PageRef, frame: u32, renewals: u32, mark: u64) -> Result<bool> {
        let address = self.frames.address(frame);
        self.states[frame as usize].store(page.id as u64 | USED, Ordering::Relaxed);
        let entry = &self.table[page.id as usize];
        if entry.compare_exchange(0, address | mark, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            self.give_back(frame);
            return Ok(false);
        }
        match self.renewals(page.id).load(Ordering::SeqCst) == renewals || broken::is(Broken::LateBytes) {
            true => Ok(true),
            false => self.check_again(page, address).map(|()| true),
        }
    }

    /// Makes sure that the file still has the page that was just read from it and brought to `address`.
    #[cold]
    fn check_again(&self, page: PageRef, address: u64) -> Result<()> {
        let mut bytes = AlignedBuf::zeroed(self.page_size);
        self.read(page, &mut bytes).inspect_err(|_| {
            let entry = &self.table[page.id as usize];
            // It may have been evicted by now, and its frame given to the id's new page.
            let is_there = |entry: u64| {
                // SAFETY: reading the identity of a resident page; a new one of this id has it since before it was there.
                entry & !COOLING == address && layout::identity(unsafe { self.frames.page(address) }) == page
            };
            // Nothing refers to the old page, so nobody looks at its frame.
            while let Some(found) = Some(entry.load(Ordering::SeqCst)).filter(|&found| is_there(found)) {
                if entry.compare_exchange(found, 0, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                    self.drop_stale(found);
                }
            }
        })
    }

    /// Reads a page from the file and checks it.
    pub(crate) fn read(&self, page: PageRef, bytes: &mut [u8]) -> Result<()> {
        self.counters.pages_read.add(1);
        self.file.read_at(bytes, page.id as u64 * self.page_size as u64).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                Error::corrupt(format!("page {} is beyond the end of the file", page.id))
            }
            _ => Error::io("read a page")(error),
        })?;
        self.check(page, bytes)
    }

    /// Checks a page's bytes as the file has them.
    pub(super) fn check(&self, page: PageRef, bytes: &[u8]) -> Result<()> {
        if !broken::is(Broken::Checksums) {
            layout::check(bytes, page)?;
        }
        let is_node = matches!(Kind::of(bytes), Some(Kind::Leaf | Kind::Inner));
        match is_node && !Node::is_valid(bytes) {
            true => Err(Error::corrupt(format!("page {}: its entries are malformed", page.id))),
            false => Ok(()),
        }
    }

    /// Publishes pages to eviction and write-out: they are sealed for good.
    pub(crate) fn unfix(&self, ids: &[u32]) {
        for &id in ids {
            let entry = self.table[id as usize].load(Ordering::Relaxed);
            if entry != 0 {
                self.states[self.frames.frame_of(entry & !COOLING) as usize].fetch_and(!FIXED, Ordering::Release);
            }
        }
    }

    /// Takes a page's frame from it, which the caller gives back; its id is being freed.
    pub(super) fn discard(&self, id: u32) -> Option<u32> {
        let entry = self.table[id as usize].swap(0, Ordering::SeqCst);
        (entry != 0).then(|| {
            let frame = self.frames.frame_of(entry & !COOLING);
            self.states[frame as usize].store(0, Ordering::Relaxed);
            frame
        })
    }

    /// For simulations: whoever still looks at a frame that is free sees it at once, not only when it is used again.
    pub(super) fn spoil(&self, frame: u32) {
        // SAFETY: nobody refers to a free frame; its bytes were initialised by its page.
        unsafe { self.frames.page_mut(self.frames.address(frame)) }.fill(0xDB);
    }

    pub(super) fn pop_frame(&self) -> Option<u32> {
        let frame = self.supply.lock().frames.pop()?;
        self.touch(frame);
        Some(frame)
    }

    fn touch(&self, frame: u32) {
        if frame >= self.touched.load(Ordering::Relaxed) {
            self.touched.fetch_max(frame + 1, Ordering::Relaxed);
        }
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
            self.frames.populate(from, to);
            self.populated.store(to, Ordering::Relaxed);
        }
    }

    /// Up to which frame memory is wanted when `touched` were used; `part`: of the way.
    fn ahead_of(&self, touched: u32, part: u32) -> u32 {
        let ahead = (touched / 2).min((AHEAD / self.page_size) as u32) / part;
        touched.saturating_add(ahead).min(self.frames.count())
    }

    /// Frames that could be had at once.
    pub(crate) fn frames_free(&self) -> usize {
        self.supply.lock().frames.len()
    }

    /// Dirty sealed pages that belong to `version`, ascending.
    pub(crate) fn dirty_in(&self, version: u64) -> Vec<u32> {
        let mut ids: Vec<u32> = self
            .states
            .iter()
            .map(|state| state.load(Ordering::Acquire))
            .filter(|state| state & (USED | DIRTY | FIXED) == USED | DIRTY)
            .map(|state| state as u32)
            .filter(|&id| self.info[id as usize].lives_in(version))
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Whether the newest copy of the page is not in the file yet.
    pub(crate) fn is_dirty(&self, id: u32) -> bool {
        let entry = self.table[id as usize].load(Ordering::Acquire);
        entry != 0 && {
            let frame = self.frames.frame_of(entry & !COOLING);
            self.states[frame as usize].load(Ordering::Acquire) & DIRTY != 0
        }
    }

    pub(crate) fn dirty_count(&self) -> usize {
        self.states.iter().filter(|state| state.load(Ordering::Relaxed) & DIRTY != 0).count()
    }

    /// Writes sealed dirty pages to their places, neighbours together, without syncing.
    pub(crate) fn write_out(&self, ids: &mut Vec<u32>) -> Result<()> {
        ids.sort_unstable();
        let mut staging = AlignedBuf::zeroed(RUN * self.page_size);
        let mut rest = ids.as_slice();
        while let Some(&first) = rest.first() {
            let run = rest.iter().enumerate().take(RUN).take_while(|&(i, &id)| id == first + i as u32).count();
            let written = self.write_run(&rest[..run], &mut staging)?;
            // A page that was freed, cleaned or is being written since it was chosen ends the run before it.
            rest = &rest[run.min(written + 1)..];
        }
        Ok(())
    }

    /// Writes the first of these neighbours, up to one that can not be written; how many.
    fn write_run(&self, ids: &[u32], staging: &mut AlignedBuf) -> Result<usize> {
        let count = ids.iter().take_while(|&&id| self.begin_write(id)).count();
        let ids_written = &ids[..count];
        for (i, &id) in ids_written.iter().enumerate() {
            let entry = self.table[id as usize].load(Ordering::Acquire);
            // SAFETY: begun writes keep the page and its frame; it is sealed, so its bytes do not change.
            let bytes = unsafe { self.frames.page(entry & !COOLING) };
            let copy = &mut staging[i * self.page_size..(i + 1) * self.page_size];
            copy.copy_from_slice(bytes);
            layout::seal_checksum(copy);
        }
        let result = match count {
            0 => Ok(()),
            _ => self.file.write_at(&staging[..count * self.page_size], ids[0] as u64 * self.page_size as u64),
        };
        for &id in ids_written {
            self.end_write(id, result.is_ok());
        }
        result.map_err(Error::io("write pages"))?;
        self.counters.pages_written.add(count as u64);
        Ok(count)
    }

    /// Claims a dirty sealed page for writing.
    fn begin_write(&self, id: u32) -> bool {
        let _reuse = self.reuse.lock();
        let entry = self.table[id as usize].load(Ordering::Acquire);
        if entry == 0 {
            return false;
        }
        let state = self.states[self.frames.frame_of(entry & !COOLING) as usize].load(Ordering::Acquire);
        let ready = state & (USED | DIRTY | FIXED) == USED | DIRTY && state as u32 == id;
        ready && self.info[id as usize].writing.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn end_write(&self, id: u32, written: bool) {
        let mut reuse = self.reuse.lock();
        let freed = self.info[id as usize].writing.swap(0, Ordering::AcqRel) == 2;
        if freed {
            return self.free_written(&mut reuse, id);
        }
        if written {
            let entry = self.table[id as usize].load(Ordering::Acquire);
            self.states[self.frames.frame_of(entry & !COOLING) as usize].fetch_and(!DIRTY, Ordering::Release);
        }
    }
}

fn misplaced(expected: PageRef, found: PageRef) -> Error {
    Error::corrupt(format!(
        "page {}: expected birth {}, found page {} of birth {}",
        expected.id, expected.birth, found.id, found.birth
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SlowFile, create, evict_all, few_pages};
    use super::*;

    /// A page that was freed while somebody without a hold on it was loading it, and its id given to another, which was
    /// evicted before the old bytes arrived: readers of the new page found the old one, and called that damage.
    #[test]
    fn a_page_that_arrives_late_does_not_stay_under_an_id_that_is_anothers() {
        let slow = SlowFile::new();
        let pages = Arc::new(few_pages(slow.clone()));
        let old = create(&pages, 1);
        evict_all(&pages);
        pages.free_private(&[old.id]);
        let shared = pages.clone();
        slow.during_next_read(move || {
            assert_eq!(create(&shared, 2).id, old.id);
            evict_all(&shared);
        });
        assert!(matches!(pages.load(old), Err(Error::Corrupt { .. })));
        pages.load(PageRef { id: old.id, birth: 2 }).unwrap();
        assert_eq!(pages.frames_free(), 63);
    }

    /// Who found out that the page it had loaded late was another's by now took the frame's newest page, which nothing
    /// had written yet, for the old one, and dropped it.
    #[test]
    fn a_page_that_arrives_late_does_not_take_a_new_page_with_it() {
        let slow = SlowFile::new();
        let pages = Arc::new(few_pages(slow.clone()));
        let old = create(&pages, 1);
        evict_all(&pages);
        pages.free_private(&[old.id]);
        let (first, second) = (pages.clone(), pages.clone());
        slow.during_next_read(move || {
            assert_eq!(create(&first, 2).id, old.id);
            evict_all(&first);
        });
        slow.during_next_read(move || {
            second.free_private(&[old.id]);
            assert_eq!(create(&second, 3).id, old.id);
        });
        assert!(matches!(pages.load(old), Err(Error::Corrupt { .. })));
        assert!(pages.is_dirty(old.id));
        evict_all(&pages);
        pages.load(PageRef { id: old.id, birth: 3 }).unwrap();
    }

    /// Each page that could not be written began another call, with memory of its own, for those behind it.
    #[test]
    fn pages_that_others_write_are_passed_over() {
        let pages = few_pages(SlowFile::new());
        let ids: Vec<u32> = (0..40).map(|birth| create(&pages, birth + 1).id).collect();
        let are_others = |at: usize| matches!(at, 0 | 3 | 4 | 31 | 39);
        let others: Vec<u32> = (0..40).filter(|&at| are_others(at)).map(|at| ids[at]).collect();
        assert!(others.iter().all(|&id| pages.begin_write(id)));
        pages.write_out(&mut ids.clone()).unwrap();
        assert_eq!(pages.counters.read().pages_written, 35);
        ids.iter().for_each(|&id| assert_eq!(pages.is_dirty(id), others.contains(&id)));
        others.iter().for_each(|&id| pages.end_write(id, false));
        pages.write_out(&mut ids.clone()).unwrap();
        assert!(!ids.iter().any(|&id| pages.is_dirty(id)));
    }
}
