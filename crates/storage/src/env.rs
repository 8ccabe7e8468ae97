//! What the engine takes from its surroundings: files, time, randomness, threads. One value, handed over at open, so
//! that a simulation can own all of it.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[cfg(not(any(cairn_shuttle, cairn_loom)))]
use crate::crew::Crew;
use crate::io::{FileSystem, MemFs, RealFs};
#[cfg(not(any(cairn_shuttle, cairn_loom)))]
use crate::process::PerProcess;
use crate::process::Process;
use crate::system_memory::{self, MemoryLeft};

/// Files, clock, randomness and threads.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Where the database's files are.
    pub files: Arc<dyn FileSystem>,
    /// Time, randomness and threads.
    pub host: Arc<dyn Host>,
}

/// Clock, randomness and threads.
pub trait Host: Send + Sync + Debug {
    /// Monotonic time since some fixed point.
    fn now(&self) -> Duration;
    /// A random number, for ids and epochs.
    fn random(&self) -> u64;
    /// Waits.
    fn sleep(&self, time: Duration);
    /// Starts a background thread; the returned closure waits for its end.
    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<Join>;
    /// Has background work done, which begins soon: it does not wait for other work to end. Threads for it may be shared.
    fn serve(&self, work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        self.spawn("cairn-keeper", work).map(drop)
    }
    /// While the returned value lives, what [`Host::serve`] is given is done, be it late, where a thread could be started now.
    fn enlist(&self) -> std::io::Result<Enlistment> {
        Ok(Box::new(()))
    }
    /// How much memory is left for the process; `None`: that is not known, or no matter.
    fn memory_left(&self) -> Option<MemoryLeft> {
        None
    }
    /// Whether what is started runs. Where it never does, who needs a checkpoint makes it himself.
    fn has_threads(&self) -> bool {
        true
    }
}

/// Keeps a thread for background work, until it is dropped.
pub type Enlistment = Box<dyn Send + Sync>;

/// Waits for a thread to end.
pub type Join = Box<dyn FnOnce() + Send>;

impl Environment {
    /// The real machine.
    pub fn real() -> Environment {
        Environment { files: Arc::new(RealFs), host: Arc::new(RealHost::default()) }
    }

    /// Real time and threads, files in memory.
    pub fn in_memory() -> Environment {
        Environment { files: Arc::new(MemFs::default()), host: Arc::new(RealHost::default()) }
    }

    /// Files in memory, and nothing that runs in the background: see [`Store::keep_house`](crate::Store::keep_house).
    pub fn in_memory_without_threads(files: MemFs) -> Environment {
        let host = QuietHost::new(RealHost::default().random());
        Environment { files: Arc::new(files), host: Arc::new(host) }
    }
}

/// The real clock, randomness and threads.
#[derive(Debug)]
pub struct RealHost {
    start: Instant,
}

impl Default for RealHost {
    fn default() -> Self {
        RealHost { start: Instant::now() }
    }
}

impl Host for RealHost {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn random(&self) -> u64 {
        use std::hash::{BuildHasher, Hasher};
        // Each `RandomState` is keyed by the system's randomness; ids and epochs need no more than that.
        std::collections::hash_map::RandomState::new().build_hasher().finish()
    }

    fn sleep(&self, time: Duration) {
        crate::sync::thread::sleep(time);
    }

    fn memory_left(&self) -> Option<MemoryLeft> {
        system_memory::left(&system_memory::read)
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<Join> {
        let handle = crate::sync::thread::Builder::new().name(name.to_string()).spawn(work)?;
        // In a child there is no such thread to wait for, and what the system calls by its number may be another.
        let mut started = Here(Some(handle), Process::current());
        Ok(Box::new(move || {
            if let Some(handle) = started.take()
                && handle.thread().id() != crate::sync::thread::current().id()
            {
                let _ = handle.join();
            }
        }))
    }

    #[cfg(not(any(cairn_shuttle, cairn_loom)))]
    fn serve(&self, work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        shared_crew().run(work, &start_keeper)
    }

    #[cfg(not(any(cairn_shuttle, cairn_loom)))]
    fn enlist(&self) -> std::io::Result<Enlistment> {
        Ok(Box::new(Here(Some(shared_crew().enlist(&start_keeper)?), Process::current())))
    }
}

/// Bytes of stack of a thread that does background work.
#[cfg(not(any(cairn_shuttle, cairn_loom)))]
const KEEPER_STACK: usize = 256 << 10;

#[cfg(not(any(cairn_shuttle, cairn_loom)))]
fn start_keeper(name: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).stack_size(KEEPER_STACK).spawn(work).map(drop)
}

/// The crew of all databases of the process. A child has one of its own: a thread that is not there may have the lock of its
/// parent's, which is never given back.
#[cfg(not(any(cairn_shuttle, cairn_loom)))]
fn shared_crew() -> &'static Crew {
    static CREW: PerProcess<Crew> = PerProcess::new();
    let Ok(crew) = CREW.get(|| Ok::<_, std::convert::Infallible>(Crew::default()));
    crew
}

/// What is dropped in the process that made it, and only forgotten in its children.
struct Here<T>(Option<T>, Process);

impl<T> Here<T> {
    fn take(&mut self) -> Option<T> {
        if self.1.is_current() { self.0.take() } else { None }
    }
}

impl<T> Drop for Here<T> {
    fn drop(&mut self) {
        drop(self.take());
        std::mem::forget(self.0.take());
    }
}

/// A machine without threads, for tests that shall go the same way each time, and for small stores in memory: time passes
/// only when it is looked at (100 microseconds each time), random numbers follow from a seed, nothing runs in the
/// background.
#[derive(Debug, Default)]
pub struct QuietHost {
    looks: AtomicU64,
    seed: u64,
    drawn: AtomicU64,
}

impl QuietHost {
    /// Random numbers that follow from `seed`.
    pub fn new(seed: u64) -> QuietHost {
        QuietHost { seed, ..QuietHost::default() }
    }
}

impl Host for QuietHost {
    fn now(&self) -> Duration {
        Duration::from_micros(100 * self.looks.fetch_add(1, Ordering::Relaxed))
    }

    /// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    fn random(&self) -> u64 {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        let mut bits = self.seed.wrapping_add(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn sleep(&self, _time: Duration) {}

    fn spawn(&self, _name: &str, _work: Box<dyn FnOnce() + Send>) -> std::io::Result<Join> {
        Ok(Box::new(|| ()))
    }

    fn has_threads(&self) -> bool {
        false
    }
}
