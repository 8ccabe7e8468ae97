//! What the tests of pages share.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::layout::{self, Kind};
use super::{Pages, layout::HEADER};
use crate::PageRef;
use crate::budget::Memory;
use crate::io::{Create, File, FileSystem, MemFs, OpenHow, SyncMethod};
use crate::stats::Counters;

pub(super) const PAGE: usize = 512;

type Hook = Box<dyn FnOnce() + Send>;

/// Does something else between reading bytes and returning them, or before it writes some, or has no room.
pub(super) struct SlowFile {
    file: Arc<dyn File>,
    during_reads: Mutex<VecDeque<Hook>>,
    during_writes: Mutex<VecDeque<Hook>>,
    is_full: AtomicBool,
}

impl SlowFile {
    pub(super) fn new() -> Arc<SlowFile> {
        let how = OpenHow { create: Create::New, read_only: false, direct: false };
        let file = MemFs::default().open(Path::new("pages"), how).unwrap();
        let (during_reads, during_writes) = (Mutex::default(), Mutex::default());
        Arc::new(SlowFile { file, during_reads, during_writes, is_full: AtomicBool::new(false) })
    }

    /// Has no more room, or has it again.
    pub(super) fn refuse_writes(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Called once for each of the coming reads, the first one's first.
    pub(super) fn during_next_read(&self, work: impl FnOnce() + Send + 'static) {
        self.during_reads.lock().unwrap().push_back(Box::new(work));
    }

    /// As `during_next_read`, for writes.
    pub(super) fn during_next_write(&self, work: impl FnOnce() + Send + 'static) {
        self.during_writes.lock().unwrap().push_back(Box::new(work));
    }
}

impl std::fmt::Debug for SlowFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SlowFile")
    }
}

impl File for SlowFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
        let read = self.file.read_at(buf, offset);
        let work = self.during_reads.lock().unwrap().pop_front();
        work.into_iter().for_each(|work| work());
        read
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> std::io::Result<()> {
        let work = self.during_writes.lock().unwrap().pop_front();
        work.into_iter().for_each(|work| work());
        if self.is_full.load(Ordering::Relaxed) {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.file.write_at(buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> std::io::Result<()> {
        self.file.write_durable_at(buf, offset)
    }

    fn sync(&self) -> std::io::Result<()> {
        self.file.sync()
    }

    fn len(&self) -> std::io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.file.set_len(len)
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }

    fn sync_method(&self) -> SyncMethod {
        self.file.sync_method()
    }

    fn choose_sync_method(&self, wanted: SyncMethod, block: &[u8], offset: u64) -> std::io::Result<SyncMethod> {
        self.file.choose_sync_method(wanted, block, offset)
    }
}

/// A cache of 64 frames for 256 pages.
pub(super) fn few_pages(file: Arc<dyn File>) -> Pages {
    pages_of(PAGE, 64, file)
}

/// As `few_pages`, where new pages may have every frame.
pub(super) fn few_pages_all_for_new(file: Arc<dyn File>) -> Pages {
    let pages = few_pages(file);
    pages.supply.lock().kept = 0;
    pages
}

/// A cache for 256 pages.
pub(super) fn pages_of(page_size: usize, frames: usize, file: Arc<dyn File>) -> Pages {
    let options = crate::Options { page_size, cache_bytes: frames * page_size, max_pages: 256, ..Default::default() };
    Pages::new(file, &options, page_size, Arc::new(Counters::default()), |_| true, 0).unwrap()
}

/// A cache that shares this memory, for 8192 pages.
pub(super) fn sharing_pages(memory: &Memory, page_size: usize, file: Arc<dyn File>) -> Pages {
    let options = crate::Options { page_size, memory: Some(memory.clone()), max_pages: 8192, ..Default::default() };
    Pages::new(file, &options, page_size, Arc::new(Counters::default()), |_| true, 0).unwrap()
}

/// A page that anybody may write out and evict.
pub(super) fn create(pages: &Pages, birth: u64) -> PageRef {
    let page = pages.create(birth, None).unwrap();
    // SAFETY: just created, and nobody else has it.
    let bytes = unsafe { pages.unsealed(page) };
    layout::format(bytes, Kind::Overflow, 0, 1, page);
    bytes[HEADER..].fill(birth as u8);
    pages.allow_eviction(&[page.id]);
    page
}

pub(super) fn evict_all(pages: &Pages) {
    for _ in 0..4 {
        pages.evict(1000).unwrap();
    }
}
