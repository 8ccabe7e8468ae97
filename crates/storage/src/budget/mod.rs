//! Memory that the caches of several databases have together: who may have more of it, and from whom it comes.
//!
//! Where there is some left, who needs it takes it, a chunk at a time. Where there is none, a cache gets what others make no use of,
//! by hits that it would have brought (`page::ghosts`). So a scan of more than there is room for, which comes back to nothing, gets
//! nothing from who comes back to what he has. (The house thread of each database counts: `page::balance`.)
//!
//! Statements and whatever else has memory for a while ([`Reserved`]) take it from the same: where there is none left they have some
//! at once, up to an eighth more than there is, and caches make that good. A quarter of all is for caches alone.
//!
//! What must hold:
//! - What members may have is together at most what there is, but for the chunk that each begins with, and for what one that has
//!   less than [`LEAST`] takes where nothing can be evicted.
//! - A member's frames have no more memory than it may have.
//! - What a member gives is another's or nobody's at once. Nothing is lost or counted twice, also where who is to get it closes.
//! - No lock is taken on the way to a frame; that of the members only by who comes, goes, or lacks memory.

mod member;
mod reserved;

use std::fmt;
use std::sync::{Arc, OnceLock};

pub(crate) use member::{Gain, Member, Part, Rate, is_worth, rate};
pub use reserved::Reserved;

use crate::process::{PerProcess, Process};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering};
use crate::{Error, Result, system_memory};

/// Bytes that change hands at a time: those of a large page of the system.
pub(crate) const CHUNK: u64 = 2 << 20;

/// What each has from the beginning is a chunk, and at least so many frames.
const FRAMES_MIN: u64 = 64;

/// A cache is so many chunks at least: one with less room has smaller ones.
pub(crate) const CHUNKS_MIN: u64 = 8;

/// The part of the memory that the process may use which its databases have together, where nobody says another.
const PART: u64 = 4;

/// Memory that several databases share for their pages, a chunk at a time, and for what statements hold: who needs more gets what
/// others make no use of. Clones are the same memory.
///
/// ```
/// use cairn_storage::{Memory, Options, Store};
///
/// let memory = Memory::shared(64 << 20);
/// let mut options = Options::default();
/// options.memory = Some(memory.clone());
/// let stores = [Store::open_in_memory(options.clone())?, Store::open_in_memory(options)?];
/// assert!(memory.taken() >= stores.len() * (2 << 20) && memory.taken() <= memory.bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Memory(Arc<Budget>);

struct Budget {
    bytes: u64,
    /// What members may have.
    taken: AtomicU64,
    /// Members that get what others can do without. While there are some, all count what they use.
    lacking: AtomicUsize,
    /// Chunks that members gave to others.
    moved: AtomicU64,
    /// Of what is taken, what is nobody's cache.
    reserved: AtomicU64,
    /// What members are about to give up, so that no more is taken than there is.
    repaid: AtomicU64,
    members: Mutex<Vec<Arc<Member>>>,
    process: Process,
}

impl Memory {
    /// So many bytes. Each database that is opened with them has 2 MiB (or an eighth), even where that is more together, and up to
    /// 16 MiB where it can not do with less.
    pub fn shared(bytes: usize) -> Memory {
        Memory(Arc::new(Budget {
            bytes: bytes as u64,
            taken: AtomicU64::new(0),
            lacking: AtomicUsize::new(0),
            moved: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            repaid: AtomicU64::new(0),
            members: Mutex::default(),
            process: Process::current(),
        }))
    }

    /// What databases share that nobody chose a size for: a quarter of what the process may use.
    pub(crate) fn of_the_process() -> Memory {
        static ITS: PerProcess<Memory> = PerProcess::new();
        let make = || Ok::<_, Error>(Memory::shared(usize::try_from(usable() / PART).unwrap_or(usize::MAX)));
        ITS.get(make).expect("making it does not fail").clone()
    }

    /// How many there are.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.0.bytes).unwrap_or(usize::MAX)
    }

    /// How many of them databases may use now. A little more than there are, where many databases are open.
    pub fn taken(&self) -> usize {
        usize::try_from(self.0.taken.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }

    /// How many chunks went from one database to another so far.
    pub fn moved(&self) -> u64 {
        self.0.moved.load(Ordering::Relaxed)
    }

    /// Has a cache of at most so many bytes take part.
    pub(crate) fn join(&self, most: u64, page_size: usize) -> Result<Part> {
        // The lock of the members may be that of a thread that is not here.
        self.0.process.check()?;
        let chunk = CHUNK.min(most / CHUNKS_MIN).max(page_size as u64);
        let first = chunk.max(FRAMES_MIN * page_size as u64).min(most);
        let member = Arc::new(Member::new(self.0.clone(), [most, chunk, first], page_size as u64));
        self.0.taken.fetch_add(first, Ordering::Relaxed);
        let mut members = self.0.members.lock();
        members.push(member.clone());
        // Who was alone, and had pages come back, was not told of it.
        let told: Vec<_> = members.iter().filter(|other| other.came_back()).cloned().collect();
        drop(members);
        told.iter().for_each(|other| other.wake());
        Ok(Part(member))
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} of {} bytes)", self.taken(), self.bytes())
    }
}

impl Budget {
    /// What is taken beyond what there is, and nobody is about to give up.
    fn overdrawn(&self) -> u64 {
        let lacking = self.taken.load(Ordering::Relaxed).saturating_sub(self.bytes);
        lacking.saturating_sub(self.repaid.load(Ordering::Relaxed))
    }

    /// What caches can be told to give up.
    fn can_be_given(&self) -> u64 {
        let members = self.members.lock();
        members.iter().filter(|member| member.wake.get().is_some()).map(|member| member.spare()).sum()
    }

    /// Tells who can give up most.
    fn collect(&self) {
        let members = self.members.lock();
        let most = members.iter().filter(|member| member.has_spare()).max_by_key(|member| member.spare()).cloned();
        drop(members);
        most.iter().for_each(|member| member.wake());
    }
}

/// What the process may use, as it was when that was first asked for.
pub(crate) fn usable() -> u64 {
    static USABLE: OnceLock<u64> = OnceLock::new();
    *USABLE.get_or_init(|| system_memory::usable(&system_memory::read))
}
