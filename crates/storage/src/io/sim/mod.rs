//! A disk for tests that keeps what was synced apart from what was not, and fails on demand.
//!
//! [`SimDisk`] is a file system of a simulated machine. Its operations that change something are counted; a test
//! records them once and then asks for the disk's content after a crash at any of them, in as many variants as it likes:
//!
//! ```
//! use std::path::Path;
//! use cairn_storage::io::{Create, CrashStrategy, FileSystem, OpenHow, SimDisk};
//!
//! let disk = SimDisk::new(1);
//! disk.start_recording();
//! let file = disk.open(Path::new("db"), OpenHow { create: Create::New, ..OpenHow::default() })?;
//! disk.sync_directory(Path::new("db"))?;
//! file.write_at(b"one", 0)?;
//! file.sync()?;
//! let acknowledged = disk.operation_count();
//! file.write_at(b"two", 0)?;
//!
//! let mut points = disk.take_recording().crash_points();
//! while let Some(at) = points.advance() {
//!     let image = points.image(CrashStrategy::Random { seed: 7 });
//!     if at >= acknowledged {
//!         let recovered = SimDisk::from_image(&image, 2);
//!         assert_eq!(recovered.snapshot(Path::new("db")).map(|bytes| bytes.len()), Some(3));
//!     }
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! What a crash at operation N means: operations before N returned to their callers, N was begun and never returned,
//! none was begun after it. Each unsynced write may be kept or lost, 512-byte sector by sector; where several kept
//! writes touch a sector the latest wins. Of the unsynced changes of a file's length, the first so many are kept, as a
//! journaling file system would; data beyond the length is lost. Unsynced entries of directories are kept or lost
//! one by one, a rename as a whole.
//!
//! Files: `content` (copy-on-write bytes), `file` and `state` (what one file, and the disk, remember), `crash` (what
//! a crash keeps), `recording` (images of every crash point), `faults`, `locks` and `disk` (the living machine), `asked` (what
//! a test asks of it).

mod asked;
mod content;
mod crash;
mod disk;
mod faults;
mod file;
mod locks;
mod random;
mod recording;
mod state;
#[cfg(test)]
mod tests;

pub use crash::{CrashStrategy, DiskImage};
pub use disk::SimDisk;
pub use faults::FaultCounts;
pub use recording::{CrashPoints, Recording};
