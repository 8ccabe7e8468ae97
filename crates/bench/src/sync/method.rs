//! Ways to make a write durable, and kinds of space to write into.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::Result;
use crate::floor::{write_at, write_dsync};

/// How a write is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `O_DIRECT`, `pwritev2` with `RWF_DSYNC`.
    DirectDsync,
    /// Through the cache, `pwritev2` with `RWF_DSYNC`.
    Dsync,
    /// A write, then `fdatasync`.
    Fdatasync,
    /// A write, then `fsync`.
    Fsync,
    /// A write to a file opened with `O_SYNC`.
    OSync,
}

/// What is written into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Written before and synced.
    Written,
    /// Allocated, never written.
    Allocated,
    /// Behind the file's end.
    Growing,
}

impl Method {
    pub const ALL: [Method; 5] = [Method::DirectDsync, Method::Dsync, Method::Fdatasync, Method::Fsync, Method::OSync];

    pub fn name(self) -> &'static str {
        match self {
            Method::DirectDsync => "O_DIRECT+RWF_DSYNC",
            Method::Dsync => "RWF_DSYNC",
            Method::Fdatasync => "fdatasync",
            Method::Fsync => "fsync",
            Method::OSync => "O_SYNC",
        }
    }

    /// What `sync_method` calls it, where CairnDB offers it.
    pub fn setting(self) -> Option<&'static str> {
        match self {
            Method::DirectDsync => Some("DirectDsync"),
            Method::Dsync => Some("Dsync"),
            Method::Fdatasync => Some("WriteSync"),
            Method::Fsync | Method::OSync => None,
        }
    }

    pub fn open(self, path: &Path) -> Result<File> {
        let mut options = OpenOptions::new();
        options.write(true);
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::OpenOptionsExt;
            let flags = match self {
                Method::DirectDsync => rustix::fs::OFlags::DIRECT,
                Method::OSync => rustix::fs::OFlags::SYNC,
                _ => rustix::fs::OFlags::empty(),
            };
            options.custom_flags(flags.bits() as i32);
        }
        #[cfg(not(target_os = "linux"))]
        if matches!(self, Method::DirectDsync | Method::Dsync | Method::OSync) {
            return Err("only on Linux".into());
        }
        Ok(options.open(path)?)
    }

    /// One durable write.
    pub fn write(self, file: &File, bytes: &[u8], offset: u64) -> Result<()> {
        match self {
            Method::DirectDsync | Method::Dsync => write_dsync(file, bytes, offset),
            Method::Fdatasync => write_at(file, bytes, offset).and_then(|()| Ok(file.sync_data()?)),
            Method::Fsync => write_at(file, bytes, offset).and_then(|()| Ok(file.sync_all()?)),
            Method::OSync => write_at(file, bytes, offset),
        }
    }
}

impl Space {
    pub const ALL: [Space; 3] = [Space::Written, Space::Allocated, Space::Growing];

    pub fn name(self) -> &'static str {
        match self {
            Space::Written => "written before",
            Space::Allocated => "allocated, never written",
            Space::Growing => "behind the file's end",
        }
    }

    /// A new file with this much space of the kind, durable.
    pub fn create(self, path: &Path, bytes: u64) -> Result<()> {
        let mut file = File::create(path)?;
        match self {
            // In pieces of a page: what was written in large ones syncs slower through the cache, for it is kept in them.
            Space::Written => (0..bytes / 4096).try_for_each(|_| file.write_all(&[0; 4096]))?,
            Space::Allocated => allocate(&file, bytes)?,
            Space::Growing => {}
        }
        Ok(file.sync_all()?)
    }
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, bytes: u64) -> Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes)?)
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: u64) -> Result<()> {
    Err("only on Linux".into())
}
