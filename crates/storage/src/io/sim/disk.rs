//! The living machine: a file system over the simulated disk, usable from several threads.
//!
//! Every call takes one lock, so operations have one order, and their numbers follow it.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::content::CHUNK;
use super::crash::{CrashStrategy, DiskImage};
use super::faults::{FaultCounts, Faults, input_output_error};
use super::locks::{Held, Locks};
use super::random::Random;
use super::recording::Recording;
use super::state::{DiskState, FileRef, NameChange, Operation, directory_of};
use crate::io::aligned::BLOCK;
use crate::io::face::{Create, File, FileSystem, LockOutcome, OpenHow, SyncMethod};

/// A simulated disk with its file system. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk {
    machine: Arc<Mutex<Machine>>,
}

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) state: DiskState,
    next_file: u64,
    operations: u64,
    crash_at: Option<u64>,
    crashed: bool,
    recording: Option<Recording>,
    pub(super) faults: Faults,
    /// Of a file: how often its unsynced data could not be brought to the disk.
    lost: HashMap<u64, u64>,
    random: Random,
    pub(super) locks: Locks,
    best_method: SyncMethod,
}

impl SimDisk {
    /// An empty disk. All that happens by chance on it follows from `seed`.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk::from_image(&DiskImage::new(), seed)
    }

    /// A machine switched on with the disk of another, usually crashed one.
    pub fn from_image(image: &DiskImage, seed: u64) -> SimDisk {
        let machine = Machine {
            state: DiskState::from_image(image),
            next_file: image.files.len() as u64,
            operations: 0,
            crash_at: None,
            crashed: false,
            recording: None,
            faults: Faults::default(),
            lost: HashMap::new(),
            random: Random::new(seed),
            locks: Locks::default(),
            best_method: SyncMethod::DirectDsync,
        };
        SimDisk { machine: Arc::new(Mutex::new(machine)) }
    }

    pub(super) fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many operations that change something were performed; this is the number of the next one. What was
    /// acknowledged at count `c` must survive a crash at every point of number `c` and later.
    pub fn operation_count(&self) -> u64 {
        self.machine().operations
    }

    /// Begins to record operations.
    pub fn start_recording(&self) {
        let mut machine = self.machine();
        let (initial, first) = (machine.state.clone(), machine.operations);
        machine.recording = Some(Recording { initial, first, operations: Vec::new() });
    }

    /// Ends recording and returns what was recorded, nothing if recording was not begun.
    pub fn take_recording(&self) -> Recording {
        self.machine().recording.take().unwrap_or_default()
    }

    /// Lets the machine crash at operation `number`: it is begun, and it and every later call fail.
    pub fn crash_at(&self, number: u64) {
        self.machine().crash_at = Some(number);
    }

    /// Whether the machine has crashed.
    pub fn has_crashed(&self) -> bool {
        self.machine().crashed
    }

    /// Crashes now, unless it has crashed already, and returns the disk it leaves. Later calls fail. May be called
    /// again for what other strategies would leave.
    pub fn crash(&self, strategy: CrashStrategy) -> DiskImage {
        let mut machine = self.machine();
        machine.crashed = true;
        machine.state.crash(strategy)
    }

    /// How many syncs were attempted.
    pub fn sync_count(&self) -> u64 {
        self.machine().faults.syncs
    }

    /// How many operations failed because they were asked to, since the disk was made.
    pub fn fault_counts(&self) -> FaultCounts {
        self.machine().faults.counts
    }

    /// Sets what [`SyncMethod::Auto`] finds to work best on files opened from now on; at first
    /// [`SyncMethod::DirectDsync`].
    pub fn set_best_sync_method(&self, method: SyncMethod) {
        self.machine().best_method = method;
    }

    /// Inverts bit `bit % 8` of byte `bit / 8` on the medium and in the cache; false if there is no such byte.
    pub fn flip_bit(&self, path: &Path, bit: u64) -> bool {
        let mut machine = self.machine();
        let Some(&id) = machine.state.names.get(path) else { return false };
        machine.state.files.get_mut(&id).is_some_and(|file| file.flip_bit(bit))
    }

    /// The content of a file as a reader sees it now.
    pub fn snapshot(&self, path: &Path) -> Option<Vec<u8>> {
        let machine = self.machine();
        let id = machine.state.names.get(path)?;
        Some(machine.state.files.get(id)?.cached.to_vec())
    }

    /// The names of all files, in order.
    pub fn paths(&self) -> Vec<Arc<Path>> {
        self.machine().state.names.keys().cloned().collect()
    }
}

impl Machine {
    fn check_alive(&self) -> io::Result<()> {
        match self.crashed {
            true => Err(io::Error::other("the simulated machine has crashed")),
            false => Ok(()),
        }
    }

    /// Before a call that is neither a read, a write nor a sync.
    fn begin_call(&mut self) -> io::Result<()> {
        self.check_alive()?;
        self.faults.check_name(&mut self.random)
    }

    /// Performs an operation, or begins it and crashes.
    pub(super) fn perform(&mut self, operation: Operation) -> io::Result<()> {
        self.check_alive()?;
        if self.crash_at.is_some_and(|number| number <= self.operations) {
            self.state.begin(self.operations, &operation);
            self.crashed = true;
            return self.check_alive();
        }
        self.state.apply(self.operations, &operation);
        self.operations += 1;
        if let Some(recording) = &mut self.recording {
            recording.operations.push(operation);
        }
        Ok(())
    }

    fn find(&self, path: &Path) -> io::Result<u64> {
        self.check_alive()?;
        let missing = || io::Error::new(ErrorKind::NotFound, format!("no file {}", path.display()));
        self.state.names.get(path).copied().ok_or_else(missing)
    }

    fn open(&mut self, path: &Path, create: Create) -> io::Result<FileRef> {
        let path: Arc<Path> = path.into();
        match self.find(&path) {
            Ok(_) if create == Create::New => Err(ErrorKind::AlreadyExists.into()),
            Ok(id) => Ok(FileRef { id, path }),
            Err(error) if create == Create::Never || self.crashed => Err(error),
            Err(_) => {
                let id = self.next_file;
                self.perform(Operation::Name(NameChange::Create { path: path.clone(), id }))?;
                self.next_file += 1;
                self.state.files.entry(id).or_default();
                Ok(FileRef { id, path })
            }
        }
    }

    fn read(&mut self, file: &FileRef, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.check_alive()?;
        self.faults.check_read(file.id, &range(offset, buf)?, &mut self.random)?;
        match self.state.file(file).cached.read(offset, buf) {
            true => Ok(()),
            false => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    pub(super) fn chunks_used(&self) -> u64 {
        let named = self.state.names.values().filter_map(|id| self.state.files.get(id));
        named.map(|file| file.cached.allocated_chunks()).sum()
    }

    /// Fails a write that the faults forbid. Returns how many bytes there is space for.
    fn admit_write(&mut self, file: &FileRef, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.check_alive()?;
        self.faults.check_write(file.id, &range(offset, buf)?, &mut self.random)?;
        let Some(free) = self.chunks_free() else { return Ok(buf.len()) };
        Ok(self.state.file(file).cached.fitting(offset, buf.len(), free))
    }

    /// `None`: without end.
    fn chunks_free(&self) -> Option<u64> {
        self.faults.capacity.map(|capacity| (capacity / CHUNK).saturating_sub(self.chunks_used()))
    }

    fn write(&mut self, file: &FileRef, buf: &[u8], offset: u64, durable: bool) -> io::Result<()> {
        let fitting = self.admit_write(file, buf, offset)?;
        let (file, bytes) = (file.clone(), Arc::from(&buf[..fitting]));
        if fitting < buf.len() {
            self.faults.counts.full += 1;
            self.perform(Operation::Write { file, offset, bytes })?;
            return Err(ErrorKind::StorageFull.into());
        }
        if !durable {
            let written = file.clone();
            self.perform(Operation::Write { file, offset, bytes })?;
            return match self.faults.writeback_fails(&mut self.random) {
                Some(seed) => self.lose_unsynced(written, seed),
                None => Ok(()),
            };
        }
        let failed = self.faults.next_sync_fails(&mut self.random);
        self.perform(Operation::WriteDurable { file, offset, bytes, failed })?;
        sync_outcome(failed)
    }

    fn set_len(&mut self, file: &FileRef, len: u64) -> io::Result<()> {
        self.check_alive()?;
        self.faults.check_write(file.id, &(len..len), &mut self.random)?;
        self.perform(Operation::SetLen { file: file.clone(), len })
    }

    fn give_back(&mut self, file: &FileRef, offset: u64, length: u64) -> io::Result<()> {
        self.check_alive()?;
        self.faults.check_write(file.id, &(offset..offset + length), &mut self.random)?;
        self.perform(Operation::GiveBack { file: file.clone(), offset, length })
    }

    fn sync(&mut self, file: &FileRef) -> io::Result<()> {
        self.check_alive()?;
        match self.faults.next_sync_of_fails(file.id, &mut self.random) {
            None => self.perform(Operation::Sync { file: file.clone(), failed: None }),
            Some(seed) => {
                self.lose_unsynced(file.clone(), seed)?;
                Err(input_output_error())
            }
        }
    }

    /// Brings what it can of a file's unsynced data to the disk; the rest never will be there.
    fn lose_unsynced(&mut self, file: FileRef, seed: u64) -> io::Result<()> {
        *self.lost.entry(file.id).or_default() += 1;
        self.perform(Operation::Sync { file, failed: Some(seed) })
    }

    fn times_lost(&self, file: &FileRef) -> u64 {
        self.lost.get(&file.id).copied().unwrap_or(0)
    }
}

fn sync_outcome(failed: Option<u64>) -> io::Result<()> {
    failed.map_or(Ok(()), |_| Err(input_output_error()))
}

/// The largest file is far smaller than where arithmetic on offsets would overflow.
fn range(offset: u64, buf: &[u8]) -> io::Result<Range<u64>> {
    const LARGEST: u64 = 1 << 40;
    match offset.checked_add(buf.len() as u64) {
        Some(end) if end <= LARGEST => Ok(offset..end),
        _ => Err(ErrorKind::FileTooLarge.into()),
    }
}

impl FileSystem for SimDisk {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn File>> {
        let mut machine = self.machine();
        machine.begin_call()?;
        let create = if how.read_only { Create::Never } else { how.create };
        let file = machine.open(path, create)?;
        let best_method = match machine.best_method {
            SyncMethod::DirectDsync if !how.direct => SyncMethod::Dsync,
            method => method,
        };
        let method = Mutex::new(best_method);
        let told = AtomicU64::new(machine.times_lost(&file));
        Ok(Arc::new(SimFile { disk: self.clone(), file, read_only: how.read_only, best_method, method, told }))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let mut machine = self.machine();
        machine.begin_call()?;
        Ok(machine.state.names.contains_key(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.machine();
        machine.begin_call()?;
        machine.find(path)?;
        machine.perform(Operation::Name(NameChange::Remove { path: path.into() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut machine = self.machine();
        machine.begin_call()?;
        machine.find(from)?;
        machine.perform(Operation::Name(NameChange::Rename { from: from.into(), to: to.into() }))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut machine = self.machine();
        machine.begin_call()?;
        machine.find(from)?;
        if machine.state.names.contains_key(to) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        machine.perform(Operation::Name(NameChange::Rename { from: from.into(), to: to.into() }))
    }

    fn sync_directory(&self, path_of_file: &Path) -> io::Result<()> {
        let mut machine = self.machine();
        machine.check_alive()?;
        let machine = &mut *machine;
        let failed = machine.faults.next_sync_fails(&mut machine.random);
        machine.perform(Operation::SyncDirectory { directory: directory_of(path_of_file).into(), failed })?;
        sync_outcome(failed)
    }

    fn lock(&self, path: &Path) -> io::Result<LockOutcome> {
        let mut machine = self.machine();
        machine.begin_call()?;
        let file = machine.state.names.get(path).copied();
        Ok(self.locked(machine.locks.take(path, file)))
    }

    fn lock_made(&self, path: &Path) -> io::Result<LockOutcome> {
        let mut machine = self.machine();
        machine.begin_call()?;
        let file = machine.find(path)?;
        Ok(self.locked(machine.locks.take_file(file)))
    }
}

impl SimDisk {
    fn locked(&self, held: Option<Held>) -> LockOutcome {
        match held {
            Some(held) => LockOutcome::Held(Box::new(SimLock { disk: self.clone(), held })),
            None => LockOutcome::Busy { pid: Some(std::process::id()) },
        }
    }
}

struct SimLock {
    disk: SimDisk,
    held: Held,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.machine().locks.give_back(&self.held);
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    file: FileRef,
    read_only: bool,
    /// What works best on this file.
    best_method: SyncMethod,
    method: Mutex<SyncMethod>,
    /// How often the file had lost data when this open file last heard of it.
    told: AtomicU64,
}

impl SimFile {
    /// What a sync tells: as in Linux, each open file hears once of data that was lost, whoever's it was and whoever asked
    /// for the sync that lost it; and so who shares an open file with another may not hear of it.
    fn hear(&self, machine: &Machine, synced: io::Result<()>) -> io::Result<()> {
        let lost = machine.times_lost(&self.file);
        let is_news = self.told.swap(lost, Ordering::Relaxed) != lost;
        match synced {
            Ok(()) if is_news => Err(input_output_error()),
            synced => synced,
        }
    }

    fn write_durable(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut machine = self.disk.machine();
        let written = machine.write(&self.file, buf, offset, true);
        self.hear(&machine, written)
    }

    fn check_writable(&self) -> io::Result<()> {
        match self.read_only {
            true => Err(ErrorKind::PermissionDenied.into()),
            false => Ok(()),
        }
    }

    /// Stricter than real files, where the kernel falls back: who misses the alignment misses the fast path.
    fn check_alignment(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let all = buf.as_ptr() as usize | buf.len() | offset as usize;
        match all.is_multiple_of(self.alignment()) {
            true => Ok(()),
            false => Err(io::Error::new(ErrorKind::InvalidInput, "a durable write that is not aligned")),
        }
    }
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.disk.machine().read(&self.file, buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        self.disk.machine().write(&self.file, buf, offset, false)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        self.check_alignment(buf, offset)?;
        match self.sync_method() {
            SyncMethod::DirectDsync | SyncMethod::Dsync => self.write_durable(buf, offset),
            _ => {
                self.write_at(buf, offset)?;
                self.sync()
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut machine = self.disk.machine();
        let synced = machine.sync(&self.file);
        self.hear(&machine, synced)
    }

    fn len(&self) -> io::Result<u64> {
        let mut machine = self.disk.machine();
        machine.begin_call()?;
        Ok(machine.state.file(&self.file).cached.len())
    }

    fn has_name(&self, path: &Path) -> io::Result<bool> {
        let mut machine = self.disk.machine();
        machine.begin_call()?;
        Ok(machine.state.names.get(path) == Some(&self.file.id))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        self.disk.machine().set_len(&self.file, len)
    }

    fn give_back(&self, offset: u64, length: u64) -> io::Result<()> {
        self.check_writable()?;
        self.disk.machine().give_back(&self.file, offset, length)
    }

    fn room(&self) -> io::Result<u64> {
        let mut machine = self.disk.machine();
        machine.begin_call()?;
        Ok(machine.chunks_free().map_or(u64::MAX, |chunks| chunks * CHUNK))
    }

    fn alignment(&self) -> usize {
        match self.sync_method() {
            SyncMethod::DirectDsync => BLOCK,
            _ => 1,
        }
    }

    fn sync_method(&self) -> SyncMethod {
        *self.method.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn choose_sync_method(&self, wanted: SyncMethod, block: &[u8], offset: u64) -> io::Result<SyncMethod> {
        let method = match wanted {
            SyncMethod::Dsync | SyncMethod::WriteSync | SyncMethod::FullFsync => wanted,
            SyncMethod::Auto | SyncMethod::DirectDsync | SyncMethod::MemoryFile => self.best_method,
        };
        *self.method.lock().unwrap_or_else(PoisonError::into_inner) = method;
        self.write_durable_at(block, offset)?;
        Ok(method)
    }
}
