//! The face of the files layer: what the log and the page store may ask of a disk, and what it owes them.
//!
//! What must hold of every implementation:
//! - Bytes written by `write_at`, and a changed length, are durable only after a later [`File::sync`] that succeeded;
//!   a crash before may keep any subset of them, sector by sector, in any order.
//! - [`File::write_durable_at`] makes exactly its own range durable, and what is needed to find it again.
//! - After a failed sync nothing is known of the unsynced bytes, and no later sync brings them back.
//! - A created, removed or renamed entry is durable only after [`FileSystem::sync_directory`].

use std::fmt::Debug;
use std::io::{self, IoSliceMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether opening a file may or must create it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Create {
    /// The file must exist.
    #[default]
    Never,
    /// An existing file is opened, a missing one is created empty.
    IfMissing,
    /// The file must not exist.
    New,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenHow {
    /// Whether the file may or must be created.
    pub create: Create,
    /// Only reads will follow; works on read-only media.
    pub read_only: bool,
    /// Bypass the operating system's cache where file system and alignment allow; silently buffered elsewhere.
    pub direct: bool,
}

/// How [`File::write_durable_at`] reaches the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SyncMethod {
    /// Let a probe choose the quickest method that works.
    #[default]
    Auto,
    /// One synchronous write past the operating system's cache (`O_DIRECT`, `RWF_DSYNC`).
    DirectDsync,
    /// One synchronous write through the cache (`RWF_DSYNC`).
    Dsync,
    /// A write, then `fdatasync` (on Windows `FlushFileBuffers`).
    WriteSync,
    /// A write, then `F_FULLFSYNC` (macOS, whose `fsync` leaves data in the drive's cache).
    FullFsync,
    /// The file lives in memory: a write, and nothing to sync.
    MemoryFile,
}

/// Keeps a lock until dropped.
pub type LockGuard = Box<dyn Send + Sync>;

/// What came of an attempt to lock a database.
pub enum LockOutcome {
    /// The caller has the lock until it drops the guard, or dies.
    Held(LockGuard),
    /// Someone else has it.
    Busy {
        /// The holder's process id, where it could be learned.
        pid: Option<u32>,
    },
}

impl Debug for LockOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LockOutcome::Held(_) => f.write_str("Held"),
            LockOutcome::Busy { pid } => f.debug_struct("Busy").field("pid", pid).finish(),
        }
    }
}

/// A place that holds files by name.
pub trait FileSystem: Send + Sync + Debug {
    /// Opens or creates a file. A created file's entry is durable after [`FileSystem::sync_directory`].
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn File>>;

    /// The path under which the file is found, also if the working directory changes: the file's own, not that of a
    /// link to it. Of a file that is still to be created, the one it will have.
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    /// Whether there is a file of this name.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// Removes a file's name; who has it open keeps it.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, replacing one that has the new name, at once for every observer.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// As `rename`, where nothing has the new name; otherwise [`io::ErrorKind::AlreadyExists`], and nothing is done.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.exists(to)? {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => self.rename(from, to),
        }
    }

    /// As `rename`; where a file of that name exists, its permissions become those of the one that takes its place.
    fn take_place(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.rename(from, to)
    }

    /// Makes created, removed and renamed entries in the directory of `path_of_file` durable.
    fn sync_directory(&self, path_of_file: &Path) -> io::Result<()>;

    /// Tries to become the one user of the database file `path`, among processes and within this one.
    fn lock(&self, path: &Path) -> io::Result<LockOutcome>;

    /// As `lock`, for who only reads: where the system can tell them apart, several such are there at a time, and no other.
    fn lock_shared(&self, path: &Path) -> io::Result<LockOutcome> {
        self.lock(path)
    }

    /// Locks the file `path` itself, which whoever holds the lock of a database has just made and is about to give the
    /// database's name: from then on a second name of it, or the loss of what marks the lock, lets nobody in.
    fn lock_made(&self, path: &Path) -> io::Result<LockOutcome> {
        let _ = path;
        Ok(LockOutcome::Held(Box::new(())))
    }
}

/// An open file, used by position and from any thread.
///
/// Two concurrent calls may overlap only if both are reads, or if the reader makes no use of the bytes that both touch.
/// On a direct file, calls of which one is aligned and the other is not must not touch the same 4096-byte block at the
/// same time.
pub trait File: Send + Sync + Debug {
    /// Fills the whole of `buf`, or fails with [`io::ErrorKind::UnexpectedEof`] where the file ends before.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;

    /// Fills the buffers, one after the other, with what lies side by side in the file from `offset` on; fails as
    /// [`File::read_at`] does. One system call where the system allows.
    fn read_vectored_at(&self, bufs: &mut [IoSliceMut<'_>], mut offset: u64) -> io::Result<()> {
        for buf in bufs {
            self.read_at(buf, offset)?;
            offset += buf.len() as u64;
        }
        Ok(())
    }

    /// Writes all of `buf`, extending the file where needed. Durable after [`File::sync`].
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Writes all of `buf`; durable on return. One system call where the medium allows.
    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Makes everything written so far durable, with the metadata needed to reach it.
    fn sync(&self) -> io::Result<()>;

    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Whether this is the file that has the name `path` now: files are moved, replaced and removed while they are open. True
    /// where files can not be told apart.
    fn has_name(&self, path: &Path) -> io::Result<bool> {
        let _ = path;
        Ok(true)
    }

    /// Cuts the file, or extends it with zeros (holes where the file system has them).
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Gives the file system back what it has for a range of bytes that nobody needs: afterwards they are zeros, or, where the file
    /// system can not do that, what they were. The length stays.
    fn give_back(&self, offset: u64, length: u64) -> io::Result<()> {
        let _ = (offset, length);
        Ok(())
    }

    /// How many bytes the file system has left, as far as it tells; others may take them meanwhile.
    fn room(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    /// What buffers, offsets and lengths of [`File::write_durable_at`] must be multiples of; 1 where it does not matter.
    fn alignment(&self) -> usize;

    /// How [`File::write_durable_at`] works now.
    fn sync_method(&self) -> SyncMethod;

    /// Chooses how [`File::write_durable_at`] works from now on: `wanted` if it works here, otherwise the next best.
    ///
    /// Probes by rewriting `block`, which must be aligned, a multiple of 4096 bytes long, and what the file already
    /// holds at `offset`. Returns the method it settled on.
    fn choose_sync_method(&self, wanted: SyncMethod, block: &[u8], offset: u64) -> io::Result<SyncMethod>;
}
