//! The simulated machine that the engine runs on: clock, randomness and threads of the scheduler, and files on a
//! simulated disk whose operations take time.
//!
//! A write or sync takes effect at the begin or at the end of its time, or (a durable write) in part at both: so a crash
//! or another thread's operation may come before, after, or in between.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use cairn_storage::io::{File, FileSystem, LockOutcome, OpenHow, SimDisk, SyncMethod};
use cairn_storage::{Crew, Enlistment, Environment, Host, simulated::Scheduler as _};

use crate::random::Random;
use crate::scheduler;
use crate::shape::is_tried;

/// Whether a sync has failed.
pub type SyncFailed = Arc<AtomicBool>;

/// The engine's surroundings on a disk; `failed` is set by the first sync that fails.
pub fn environment(disk: &SimDisk, failed: &SyncFailed) -> Environment {
    environment_with(disk, failed, u64::MAX)
}

/// As `environment`, where so many threads can be started, and then one can not.
pub fn environment_with(disk: &SimDisk, failed: &SyncFailed, spawns: u64) -> Environment {
    let files = SlowFiles { disk: disk.clone(), failed: failed.clone() };
    let host = SimHost { spawns: AtomicU64::new(spawns), crew: Crew::default() };
    Environment { files: Arc::new(files), host: Arc::new(host) }
}

#[derive(Debug)]
struct SimHost {
    /// Threads that can be started before one can not.
    spawns: AtomicU64,
    /// Does the background work of the databases in these surroundings.
    crew: Crew,
}

impl Host for SimHost {
    fn now(&self) -> Duration {
        scheduler::current().now()
    }

    fn random(&self) -> u64 {
        scheduler::current().random()
    }

    fn sleep(&self, time: Duration) {
        scheduler::current().sleep(time);
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<Box<dyn FnOnce() + Send>> {
        if self.spawns.fetch_sub(1, Ordering::Relaxed) == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // A thread begins to run when the system lets it.
        let mut random = Random::new(scheduler::current().random());
        let late = Duration::from_micros(if random.one_in(4) { random.below(30_000) } else { 0 });
        let work = move || {
            if !late.is_zero() {
                scheduler::current().sleep(late);
            }
            work();
        };
        let number = scheduler::current().spawn(name, Box::new(work));
        Ok(Box::new(move || scheduler::current().join(number)))
    }

    fn serve(&self, work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        self.crew.run(work, &|name, work| self.spawn(name, work).map(drop))
    }

    fn enlist(&self) -> io::Result<Enlistment> {
        Ok(Box::new(self.crew.enlist(&|name, work| self.spawn(name, work).map(drop))?))
    }
}

#[derive(Debug)]
struct SlowFiles {
    disk: SimDisk,
    failed: SyncFailed,
}

#[derive(Debug)]
struct SlowFile {
    file: Arc<dyn File>,
    failed: SyncFailed,
}

/// Lets the time of a file operation pass: mostly none, often some, seldom much.
fn pass() {
    let scheduler = scheduler::current();
    let mut random = Random::new(scheduler.random());
    match random.below(20) {
        0..12 => scheduler.point(),
        12..19 => scheduler.sleep(Duration::from_micros(5 + random.below(100))),
        _ => scheduler.sleep(Duration::from_micros(100 + random.below(4000))),
    }
}

/// Runs an operation at the begin or at the end of its time, and traces it.
fn timed<R>(what: u64, operation: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    let late = scheduler::current().random() & 1 == 1;
    if late {
        pass();
    }
    let result = operation();
    scheduler::current().trace(what << 1 | u64::from(result.is_ok()));
    if !late {
        pass();
    }
    result
}

fn place(kind: u64, offset: u64, length: usize) -> u64 {
    kind << 56 ^ offset << 24 ^ length as u64
}

impl FileSystem for SlowFiles {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn File>> {
        let file = timed(1, || self.disk.open(path, how))?;
        Ok(Arc::new(SlowFile { file, failed: self.failed.clone() }))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        timed(2, || self.disk.remove(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        timed(3, || self.disk.rename(from, to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        timed(3, || self.disk.rename_new(from, to))
    }

    fn sync_directory(&self, path_of_file: &Path) -> io::Result<()> {
        timed(4, || self.disk.sync_directory(path_of_file))
    }

    fn lock(&self, path: &Path) -> io::Result<LockOutcome> {
        self.disk.lock(path)
    }

    fn lock_made(&self, path: &Path) -> io::Result<LockOutcome> {
        self.disk.lock_made(path)
    }
}

impl File for SlowFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let read = timed(place(5, offset, buf.len()), || self.file.read_at(buf, offset));
        // What was read is long on its way, now and then: much may become of the page meanwhile.
        let mut random = Random::new(scheduler::current().random());
        if random.one_in(40) {
            scheduler::current().sleep(Duration::from_micros(random.below(30_000)));
        }
        read
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        timed(place(6, offset, buf.len()), || self.file.write_at(buf, offset))
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let is_direct = self.sync_method() == SyncMethod::DirectDsync;
        let has_two_steps =
            matches!(self.sync_method(), SyncMethod::WriteSync | SyncMethod::FullFsync) && is_tried("descriptors");
        let is_slow = scheduler::current().random().is_multiple_of(3);
        if is_slow || has_two_steps {
            // On its way for a while, in any part.
            self.file.write_at(buf, offset)?;
            pass();
        }
        // Through the system's cache, where anybody's sync takes the data along, and hears of it if that fails.
        if has_two_steps || (is_slow && !is_direct && is_tried("descriptors")) {
            return self.sync();
        }
        timed(place(7, offset, buf.len()), || self.file.write_durable_at(buf, offset))
    }

    fn sync(&self) -> io::Result<()> {
        // Known at once: others may read what the failure took before this thread hears of it.
        timed(8, || {
            let synced = self.file.sync();
            self.failed.fetch_or(synced.is_err(), Ordering::Relaxed);
            synced
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn has_name(&self, path: &Path) -> io::Result<bool> {
        self.file.has_name(path)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        timed(place(9, len, 0), || self.file.set_len(len))
    }

    fn give_back(&self, offset: u64, length: u64) -> io::Result<()> {
        timed(place(10, offset, length as usize), || self.file.give_back(offset, length))
    }

    fn room(&self) -> io::Result<u64> {
        self.file.room()
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }

    fn sync_method(&self) -> SyncMethod {
        self.file.sync_method()
    }

    fn choose_sync_method(&self, wanted: SyncMethod, block: &[u8], offset: u64) -> io::Result<SyncMethod> {
        self.file.choose_sync_method(wanted, block, offset)
    }
}
