//! What differs between operating systems, each behind a function of one meaning. No policy here.

#[cfg(target_os = "linux")]
pub(super) use linux::*;
#[cfg(not(target_os = "linux"))]
pub(super) use other::*;
#[cfg(unix)]
pub(super) use unix::*;
#[cfg(windows)]
pub(super) use windows::*;

/// Whether the error says that the file system or kernel cannot do this at all, rather than that it failed.
pub(super) fn is_unsupported(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidInput, Unsupported};
    matches!(error.kind(), InvalidInput | Unsupported)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{File, OpenOptions};
    use std::io::{self, IoSlice, IoSliceMut};
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::fs::{CWD, FallocateFlags, OFlags, RenameFlags};
    use rustix::io::{Errno, ReadWriteFlags};

    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;

    /// Whether two open files are one.
    pub(in crate::io) fn is_same(one: &File, other: &File) -> bool {
        let identity = |file: &File| file.metadata().map(|known| (known.dev(), known.ino()));
        matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
    }

    pub(in crate::io) fn lives_in_memory(file: &File) -> bool {
        #[allow(clippy::unnecessary_cast, reason = "the field's type differs between architectures")]
        rustix::fs::fstatfs(file).is_ok_and(|stat| matches!(stat.f_type as i64 & 0xffff_ffff, TMPFS | RAMFS))
    }

    /// Makes a hole of a range of bytes, where that can be done, and nothing comes between.
    pub(in crate::io) fn give_back(file: &File, offset: u64, length: u64) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(file, hole, offset, length) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR) => Ok(()),
            made => Ok(made?),
        }
    }

    pub(in crate::io) fn ask_for_direct(options: &mut OpenOptions) -> bool {
        options.custom_flags(OFlags::DIRECT.bits() as i32);
        true
    }

    /// More buffers than one call takes.
    const TOO_MANY: usize = 1025;

    /// Reads at most all of what the buffers hold; how many bytes were read.
    pub(in crate::io) fn read_vectored(file: &File, bufs: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<usize> {
        match bufs.len() {
            0 | TOO_MANY.. => Ok(0),
            _ => Ok(rustix::io::preadv(file, bufs, offset)?),
        }
    }

    /// Renames where nothing has the new name.
    pub(in crate::io) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::Unsupported.into()),
            result => Ok(result?),
        }
    }

    /// One synchronous write of at most all of `buf`; how many bytes were written.
    pub(in crate::io) fn write_dsync(file: &File, buf: &[u8], offset: u64) -> io::Result<usize> {
        loop {
            match rustix::io::pwritev2(file, &[IoSlice::new(buf)], offset, ReadWriteFlags::DSYNC) {
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Err(io::ErrorKind::Unsupported.into()),
                result => return Ok(result?),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::fs::{File, OpenOptions};
    use std::io::{self, IoSliceMut};
    use std::path::Path;

    pub(in crate::io) fn read_vectored(_file: &File, _bufs: &mut [IoSliceMut<'_>], _offset: u64) -> io::Result<usize> {
        Ok(0)
    }

    pub(in crate::io) fn is_same(_one: &File, _other: &File) -> bool {
        true
    }

    pub(in crate::io) fn lives_in_memory(_file: &File) -> bool {
        false
    }

    pub(in crate::io) fn give_back(_file: &File, _offset: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    pub(in crate::io) fn ask_for_direct(_options: &mut OpenOptions) -> bool {
        false
    }

    pub(in crate::io) fn rename_new(_from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::io) fn write_dsync(_file: &File, _buf: &[u8], _offset: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{File, OpenOptions, TryLockError};
    use std::io;
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::path::Path;

    pub(in crate::io) fn read_some_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(buf, offset)
    }

    pub(in crate::io) fn write_some_at(file: &File, buf: &[u8], offset: u64) -> io::Result<usize> {
        file.write_at(buf, offset)
    }

    pub(in crate::io) fn sync_directory(directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }

    /// Opens or creates a lock file and locks it; `None` if another open file has it locked.
    pub(in crate::io) fn open_lock_file(path: &Path) -> io::Result<Option<File>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether `path` still is the name of the open file: not where nothing has it, nor where a file has its folder's.
    pub(in crate::io) fn still_named(file: &File, path: &Path) -> io::Result<bool> {
        let open = file.metadata()?;
        match std::fs::metadata(path) {
            Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Bytes that are left, for who is not the system's administrator. (A file system that says it has no blocks at all tells
    /// nothing.)
    pub(in crate::io) fn room(file: &File) -> io::Result<u64> {
        let told = rustix::fs::fstatvfs(file)?;
        Ok(match told.f_blocks.checked_mul(told.f_frsize) {
            Some(0) => u64::MAX,
            _ => told.f_bavail.saturating_mul(told.f_frsize),
        })
    }

    /// Whether someone has the lock file locked, for who can at most read it. Of one that may not even be read nothing is
    /// known; its owner has locked the database file, too.
    pub(in crate::io) fn lock_is_held(path: &Path) -> io::Result<bool> {
        use io::ErrorKind::{NotFound, PermissionDenied};
        let file = match File::open(path) {
            Err(error) if matches!(error.kind(), NotFound | PermissionDenied) => return Ok(false),
            result => result?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::windows::fs::{FileExt, OpenOptionsExt};
    use std::path::Path;

    const SHARE_READ_AND_DELETE: u32 = 1 | 4;
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;

    pub(in crate::io) fn read_some_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        file.seek_read(buf, offset)
    }

    pub(in crate::io) fn write_some_at(file: &File, buf: &[u8], offset: u64) -> io::Result<usize> {
        file.seek_write(buf, offset)
    }

    /// NTFS journals directory changes in order; there is no call that syncs a directory.
    pub(in crate::io) fn sync_directory(_directory: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Opens or creates a lock file. Having it open is the lock: nobody else can open it for writing, but for reading.
    pub(in crate::io) fn open_lock_file(path: &Path) -> io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).share_mode(SHARE_READ_AND_DELETE);
        match options.open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
            // A removed file keeps its name until its last handle is closed.
            Err(error) if error.raw_os_error() == Some(ACCESS_DENIED) && path.exists() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(in crate::io) fn still_named(_file: &File, _path: &Path) -> io::Result<bool> {
        Ok(true)
    }

    pub(in crate::io) fn room(_file: &File) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    /// Whether someone has the lock file open for writing.
    pub(in crate::io) fn lock_is_held(path: &Path) -> io::Result<bool> {
        let opened = OpenOptions::new().read(true).share_mode(SHARE_READ_AND_DELETE).open(path);
        Ok(opened.is_err_and(|error| error.raw_os_error() == Some(SHARING_VIOLATION)))
    }
}
