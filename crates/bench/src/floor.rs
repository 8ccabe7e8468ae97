//! The least that a durable commit can cost on a medium: one write, and nothing else.
//!
//! On disk, one overwrite of 4 KiB past the system's cache with `RWF_DSYNC`, in a file that is already there, filled
//! with zeros and synced, so that no metadata changes; on a memory file system a plain write.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::Result;

const BLOCK: usize = 4096;
const BLOCKS: u64 = 4096;

/// Memory as `O_DIRECT` wants it.
#[repr(C, align(4096))]
struct Block([u8; BLOCK]);

/// How a floor is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// `pwritev2` with `RWF_DSYNC` on a file opened with `O_DIRECT`.
    DirectDsync,
    /// A write and `fdatasync`, where that does not work.
    WriteSync,
    /// A write.
    Write,
}

/// A file to overwrite.
pub struct Floor {
    file: File,
    block: Box<Block>,
    bytes: usize,
    method: Method,
    at: u64,
}

impl Floor {
    /// The floor of a disk.
    pub fn disk(dir: &Path) -> Result<Floor> {
        let path = dir.join("floor");
        create(&path)?;
        let mut floor = Floor::over(open_direct(&path)?, BLOCK, Method::DirectDsync);
        if floor.write().is_err() {
            floor = Floor::over(OpenOptions::new().write(true).open(&path)?, BLOCK, Method::WriteSync);
        }
        Ok(floor)
    }

    /// The floor of a memory file system, in writes of this many bytes.
    pub fn tmpfs(dir: &Path, bytes: usize) -> Result<Floor> {
        let path = dir.join(format!("floor-{bytes}"));
        create(&path)?;
        Ok(Floor::over(OpenOptions::new().write(true).open(&path)?, bytes.min(BLOCK), Method::Write))
    }

    fn over(file: File, bytes: usize, method: Method) -> Floor {
        Floor { file, block: Box::new(Block([0x5a; BLOCK])), bytes, method, at: 0 }
    }

    /// What one write is, in words.
    pub fn setting(&self) -> String {
        let how = match self.method {
            Method::DirectDsync => "O_DIRECT, pwritev2 with RWF_DSYNC",
            Method::WriteSync => "pwrite and fdatasync",
            Method::Write => "pwrite",
        };
        format!("one overwrite of {} bytes: {how}", self.bytes)
    }

    /// Overwrites the file's next bytes.
    pub fn write(&mut self) -> Result<()> {
        let offset = (self.at % BLOCKS) * BLOCK as u64;
        self.at += 1;
        // As a log does, each block differs from what was there.
        self.block.0[..8].copy_from_slice(&self.at.to_le_bytes());
        let bytes = &self.block.0[..self.bytes];
        match self.method {
            Method::DirectDsync => write_dsync(&self.file, bytes, offset),
            Method::WriteSync => write_at(&self.file, bytes, offset).and_then(|()| Ok(self.file.sync_data()?)),
            Method::Write => write_at(&self.file, bytes, offset),
        }
    }
}

/// A file of zeros, on the medium.
fn create(path: &Path) -> Result<()> {
    let mut file = File::create(path)?;
    for _ in 0..BLOCKS {
        file.write_all(&[0; BLOCK])?;
    }
    Ok(file.sync_all()?)
}

#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    // Where the file system refuses O_DIRECT, the first write fails too, and the caller takes the other way.
    let opened = OpenOptions::new().write(true).custom_flags(direct).open(path);
    Ok(opened.or_else(|_| File::open(path))?)
}

#[cfg(not(target_os = "linux"))]
fn open_direct(path: &Path) -> Result<File> {
    Ok(File::open(path)?)
}

#[cfg(target_os = "linux")]
pub fn write_dsync(file: &File, bytes: &[u8], offset: u64) -> Result<()> {
    use rustix::io::{ReadWriteFlags, pwritev2};
    let written = pwritev2(file, &[std::io::IoSlice::new(bytes)], offset, ReadWriteFlags::DSYNC)?;
    if written == bytes.len() { Ok(()) } else { Err("the floor's write was cut short".into()) }
}

#[cfg(not(target_os = "linux"))]
pub fn write_dsync(_: &File, _: &[u8], _: u64) -> Result<()> {
    Err("only on Linux".into())
}

#[cfg(unix)]
pub fn write_at(file: &File, bytes: &[u8], offset: u64) -> Result<()> {
    Ok(std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)?)
}

#[cfg(windows)]
pub fn write_at(file: &File, bytes: &[u8], offset: u64) -> Result<()> {
    let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
    if written == bytes.len() { Ok(()) } else { Err("the floor's write was cut short".into()) }
}
