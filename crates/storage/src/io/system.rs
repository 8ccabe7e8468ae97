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
    use std::io::{self, IoSlice};
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;
    use rustix::io::{Errno, ReadWriteFlags};

    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;

    pub(in crate::io) fn lives_in_memory(file: &File) -> bool {
        #[allow(clippy::unnecessary_cast, reason = "the field's type differs between architectures")]
        rustix::fs::fstatfs(file).is_ok_and(|stat| matches!(stat.f_type as i64 & 0xffff_ffff, TMPFS | RAMFS))
    }

    pub(in crate::io) fn ask_for_direct(options: &mut OpenOptions) -> bool {
        options.custom_flags(OFlags::DIRECT.bits() as i32);
        true
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
    use std::io;

    pub(in crate::io) fn lives_in_memory(_file: &File) -> bool {
        false
    }

    pub(in crate::io) fn ask_for_direct(_options: &mut OpenOptions) -> bool {
        false
    }

    pub(in crate::io) fn write_dsync(_file: &File, _buf: &[u8], _offset: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;
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
}

#[cfg(windows)]
mod windows {
    use std::fs::File;
    use std::io;
    use std::os::windows::fs::FileExt;
    use std::path::Path;

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
}
