//! Files: the only place where the engine meets the operating system's storage.
//!
//! [`FileSystem`] and [`File`] are the seam. [`RealFs`] is the machine's disk, [`MemFs`] holds `:memory:` databases,
//! [`SimDisk`] is a disk for tests that forgets, tears and reorders what was not synced.

mod aligned;
mod face;
mod lock;
mod mem;
mod overlay;
mod real;
mod sim;
mod system;
#[cfg(test)]
pub(crate) mod testing;

pub use aligned::{AlignedBuf, BLOCK};
pub use face::{Create, File, FileSystem, LockGuard, LockOutcome, OpenHow, SyncMethod};
pub use mem::MemFs;
pub(crate) use overlay::Overlay;
pub use real::RealFs;
pub use sim::{CrashPoints, CrashStrategy, DiskImage, FaultCounts, Recording, SimDisk};
