//! The log file's space: which segment lies where, what is ready for use, what may be used again.
//!
//! A segment's place is taken from those that are *ready*: filled with zeroes and synced (so that a batch written there
//! touches no file metadata), by a background thread ahead of need, or given back after a checkpoint. What bounds the
//! log is that no place is added beyond the limit. Before a new place is used, the file's header durably counts it: a log
//! that was cut back to an earlier length is noticed.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{BLOCK, LogIdentity};
use super::kept::{PlacesGuard, Promises, Taker};
use crate::broken::{self, Broken};
use crate::io::{AlignedBuf, Create, File, FileSystem, OpenHow, SyncMethod};
use crate::options::LOG_SEGMENTS_MIN;
use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};
use crate::{Error, Result};

const EXTEND: &str = "extend the log";

/// Zeroes are written in pieces of this size: small, so that commits hardly notice.
const FILL: usize = 256 << 10;

/// The log file and its places.
#[derive(Debug)]
pub(crate) struct Segments {
    pub(crate) file: Arc<dyn File>,
    /// The same file, opened once more for making it longer. Linux tells each open file once of bytes that could not be
    /// written: a sync of new space through `file` would take the error that the sync of a batch should have had.
    pub(super) growing: Arc<dyn File>,
    pub(crate) identity: LogIdentity,
    limit: AtomicUsize,
    places: Mutex<Places>,
    /// One filler at a time.
    pub(super) filling: Mutex<()>,
    /// Who waits for segments is to look again.
    pub(super) changed: Condvar,
    /// The file system had no room for another place (`give_back.rs`).
    pub(super) is_short: AtomicBool,
    /// A write or a sync failed other than for want of space: it may have been the bytes of a batch.
    pub(super) failed: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct Places {
    /// Live segments, oldest first: (number, place).
    pub(super) live: VecDeque<(u64, u32)>,
    pub(super) ready: VecDeque<u32>,
    pub(super) count: u32,
    /// The most places that the file's header may say there are: more than there are if it could not be written.
    pub(super) noted: u32,
    /// Of those that there may still be.
    pub(super) promises: Promises,
}

impl Places {
    /// The lowest: what is not in use lies at the file's end then, where it can be given back.
    fn take_lowest(&mut self) -> Option<u32> {
        let lowest = (0..self.ready.len()).min_by_key(|&at| self.ready[at])?;
        self.ready.swap_remove_front(lowest)
    }

    pub(super) fn take_back(&mut self, withdrawn: Vec<u32>) {
        self.ready.extend(withdrawn);
    }
}

impl Segments {
    /// Creates the log file, durably; nothing has its name.
    pub(crate) fn create(
        files: &dyn FileSystem,
        path: &Path,
        identity: LogIdentity,
        limit_bytes: u64,
        method: SyncMethod,
    ) -> Result<Segments> {
        let how = OpenHow { create: Create::New, read_only: false, direct: true };
        let file = files.open(path, how).map_err(Error::io("create the log"))?;
        let mut block = AlignedBuf::zeroed(BLOCK);
        block.copy_from_slice(&identity.encode(0));
        file.write_at(&block, 0).map_err(Error::io("write the log's header"))?;
        file.sync().map_err(Error::io("sync the log"))?;
        if !broken::is(Broken::LogUnnamed) {
            files.sync_directory(path).map_err(Error::io("sync the log's directory"))?;
        }
        file.choose_sync_method(method, &block, 0).map_err(Error::io("probe the log's sync method"))?;
        Ok(Self::new(file, Self::open_to_grow(files, path)?, identity, limit_bytes))
    }

    /// Opens an existing log file; with `None` if it is no log.
    pub(crate) fn open(
        files: &dyn FileSystem,
        path: &Path,
        read_only: bool,
    ) -> Result<(Arc<dyn File>, Option<LogIdentity>)> {
        let how = OpenHow { create: Create::Never, read_only, direct: true };
        let file = files.open(path, how).map_err(Error::io("open the log"))?;
        let mut block = AlignedBuf::zeroed(BLOCK);
        if file.len().map_err(Error::io("read the log's length"))? < BLOCK as u64 {
            return Ok((file, None));
        }
        file.read_at(&mut block, 0).map_err(Error::io("read the log's header"))?;
        let identity = LogIdentity::decode(&block)?;
        Ok((file, identity))
    }

    /// Takes over an opened log file, durable as it is, with the segments found in it.
    pub(crate) fn resume(
        file: Arc<dyn File>,
        growing: Arc<dyn File>,
        identity: LogIdentity,
        limit_bytes: u64,
        method: SyncMethod,
        live: VecDeque<(u64, u32)>,
        count: u32,
    ) -> Result<Segments> {
        let mut block = AlignedBuf::zeroed(BLOCK);
        block.copy_from_slice(&identity.encode(count));
        let segments = Self::new(file, growing, identity, limit_bytes);
        // A crash may have come between a segment and its count.
        segments.note_places(count)?;
        segments.file.choose_sync_method(method, &block, 0).map_err(Error::io("probe the log's sync method"))?;
        {
            let mut places = segments.places.lock();
            places.ready = (0..count).filter(|place| live.iter().all(|(_, at)| at != place)).collect();
            places.live = live;
            places.count = count;
        }
        Ok(segments)
    }

    /// Opens the log file for [`Segments::grow`] alone.
    pub(crate) fn open_to_grow(files: &dyn FileSystem, path: &Path) -> Result<Arc<dyn File>> {
        let how = OpenHow { create: Create::Never, read_only: false, direct: true };
        files.open(path, how).map_err(Error::io("open the log"))
    }

    fn new(file: Arc<dyn File>, growing: Arc<dyn File>, identity: LogIdentity, limit_bytes: u64) -> Segments {
        let growing = if broken::is(Broken::GrowUnheard) { file.clone() } else { growing };
        let least = if broken::is(Broken::LogLimitAsAsked) { 0 } else { LOG_SEGMENTS_MIN };
        let limit = (limit_bytes / identity.segment_bytes as u64).max(least) as usize;
        let (places, filling, changed) = (Mutex::default(), Mutex::default(), Condvar::new());
        let limit = AtomicUsize::new(limit);
        let (is_short, failed) = (AtomicBool::new(false), AtomicBool::new(false));
        Segments { file, growing, identity, limit, places, filling, changed, is_short, failed }
    }

    pub(crate) fn size(&self) -> u64 {
        self.identity.segment_bytes as u64
    }

    /// Where a place begins in the file.
    pub(crate) fn offset(&self, place: u32) -> u64 {
        BLOCK as u64 + place as u64 * self.size()
    }

    /// Puts a segment on a ready place; `None` if there is none, or none that is not promised to somebody else.
    pub(crate) fn take(&self, number: u64, by: Taker) -> Option<u32> {
        let mut places = self.places.lock();
        if by == Taker::Anybody && places.promises.are_all(self.left(&places)) {
            return None;
        }
        let place = places.take_lowest()?;
        places.live.push_back((number, place));
        Some(place)
    }

    pub(super) fn lock_places(&self) -> PlacesGuard<'_> {
        self.places.lock()
    }

    /// How many segments more there may be.
    pub(super) fn left(&self, places: &Places) -> usize {
        self.limit().saturating_sub(places.live.len())
    }

    /// The most segments that there may be.
    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Lets there be at least so many.
    pub(crate) fn allow(&self, segments: usize) {
        self.limit.fetch_max(segments, Ordering::Relaxed);
    }

    /// Gives back the places of the segments before `position`.
    pub(crate) fn release_before(&self, position: u64) {
        let mut places = self.places.lock();
        while let Some(&(number, place)) = places.live.front()
            && (number + 1) * self.size() <= position
        {
            places.live.pop_front();
            places.ready.push_back(place);
        }
        places.promises.note_change();
        drop(places);
        self.changed.notify_all();
    }

    /// The number of the oldest segment that is in use.
    pub(crate) fn oldest_live(&self) -> Option<u64> {
        self.places.lock().live.front().map(|(number, _)| *number)
    }

    pub(crate) fn ready(&self) -> usize {
        self.places.lock().ready.len()
    }

    /// Live segments against the most there may be: how full the log is.
    pub(crate) fn fullness(&self) -> f64 {
        self.places.lock().live.len() as f64 / self.limit() as f64
    }

    pub(crate) fn live_bytes(&self) -> u64 {
        self.places.lock().live.len() as u64 * self.size()
    }

    /// Whether another place could be added.
    pub(crate) fn can_grow(&self) -> bool {
        (self.places.lock().count as usize) < self.limit()
    }

    /// Adds a place: zeroes, synced. False at the limit. `room`: bytes that have to be left on the disk, which are counted where it
    /// has little left.
    pub(crate) fn grow(&self, room: impl FnOnce() -> u64) -> Result<bool> {
        let one = self.filling.lock();
        match self.can_grow() {
            true => self.fill_place(one, room).map(|()| true),
            false => Ok(false),
        }
    }

    /// How many segments have room in the file.
    pub(crate) fn places(&self) -> u32 {
        self.places.lock().count
    }

    /// Whether the log could not be extended for another reason than that there is no space.
    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// As `grow`, whatever the limit: a recovery needs one even if the log that it found is full.
    pub(crate) fn add_place(&self, room: impl FnOnce() -> u64) -> Result<()> {
        self.fill_place(self.filling.lock(), room)
    }

    fn fill_place(&self, one_at_a_time: MutexGuard<'_, ()>, room: impl FnOnce() -> u64) -> Result<()> {
        // Where nothing is told of that it is tried.
        let left = if broken::is(Broken::LogKeepsAll) { u64::MAX } else { self.growing.room().unwrap_or(u64::MAX) };
        let room = if left < 2 * self.size() { room().min(self.size()) } else { 0 };
        let filled = match left < self.size() + room {
            true => Err(Error::DiskFull { what: EXTEND, needed: 0 }),
            false => self.fill_next(&one_at_a_time),
        };
        match &filled {
            Err(Error::DiskFull { .. }) => self.stop_short(),
            Ok(()) => self.look_again(),
            Err(_) => {}
        }
        filled.map_err(|error| error.needing(self.size() + room))
    }

    fn fill_next(&self, _one_at_a_time: &MutexGuard<'_, ()>) -> Result<()> {
        let place = self.places.lock().count;
        let zeroes = AlignedBuf::zeroed(FILL.min(self.size() as usize));
        let start = self.offset(place);
        for piece in 0..self.size() / zeroes.len() as u64 {
            let at = start + piece * zeroes.len() as u64;
            self.write(&zeroes, at, EXTEND)?;
        }
        if !broken::is(Broken::ExtensionUnsynced) {
            self.sync()?;
        }
        self.note_places(place + 1)?;
        let mut places = self.places.lock();
        places.count += 1;
        places.ready.push_back(place);
        Ok(())
    }

    /// Says in the header how many places there are, durably. If that fails, it may say so or not.
    pub(super) fn note_places(&self, count: u32) -> Result<()> {
        let mut block = AlignedBuf::zeroed(BLOCK);
        block.copy_from_slice(&self.identity.encode(count));
        self.raise_noted(count);
        self.write(&block, 0, "write the log's header")?;
        self.sync()?;
        self.places.lock().noted = count;
        Ok(())
    }

    fn raise_noted(&self, count: u32) {
        let mut places = self.places.lock();
        places.noted = places.noted.max(count);
    }

    fn write(&self, bytes: &[u8], offset: u64, what: &'static str) -> Result<()> {
        let written = self.growing.write_at(bytes, offset).map_err(Error::io(what));
        written.inspect_err(|error| {
            let failed = !matches!(error, Error::DiskFull { .. });
            self.failed.fetch_or(failed, Ordering::AcqRel);
        })
    }

    pub(super) fn sync(&self) -> Result<()> {
        let synced = self.growing.sync().map_err(Error::io("sync the extended log"));
        synced.inspect_err(|_| self.failed.store(true, Ordering::Release))
    }
}

/// Where a database's log is.
pub(crate) fn log_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_os_string();
    name.push("-log");
    PathBuf::from(name)
}
