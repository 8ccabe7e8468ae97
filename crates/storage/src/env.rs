//! What the engine takes from its surroundings: files, time, randomness, threads. One value, handed over at open, so
//! that a simulation can own all of it.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::io::{FileSystem, MemFs, RealFs};
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
    /// How much memory is left for the process; `None`: that is not known, or no matter.
    fn memory_left(&self) -> Option<MemoryLeft> {
        None
    }
    /// Whether what is started runs. Where it never does, who needs a checkpoint makes it himself.
    fn has_threads(&self) -> bool {
        true
    }
}

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
    pub fn in_memory_without_threads() -> Environment {
        let host = QuietHost::new(RealHost::default().random());
        Environment { files: Arc::new(MemFs::default()), host: Arc::new(host) }
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
        let mut started = Started(Some(handle), Process::current());
        Ok(Box::new(move || {
            // What a waker lets go of may be the last that kept a database open: then its own thread closes it.
            if let Some(handle) = started.here()
                && handle.thread().id() != crate::sync::thread::current().id()
            {
                let _ = handle.join();
            }
        }))
    }
}

/// A thread's handle, in the process that started it. In a child there is no such thread to wait for, and what the system calls by
/// its number may be another.
struct Started<H>(Option<H>, Process);

impl<H> Started<H> {
    fn here(&mut self) -> Option<H> {
        if self.1.is_current() { self.0.take() } else { None }
    }
}

impl<H> Drop for Started<H> {
    fn drop(&mut self) {
        let here = self.here();
        drop(here);
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
