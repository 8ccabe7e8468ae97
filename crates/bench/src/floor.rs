//! The least that a durable commit can cost on a medium: one write, and nothing else.
//!
//! On disk, one overwrite of 4 KiB past the system's cache with `RWF_DSYNC`, in a file that is already there, filled
//! with zeros and synced, so that no metadata changes; on a memory file system a plain write.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::Result;
use crate::keys::Keys;

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

/// The least that a read of a page that is in no cache can cost: `BLOCK` bytes at a random place of a file, past the
/// system's cache where `O_DIRECT` works.
pub struct ReadFloor {
    file: File,
    block: Box<Block>,
    blocks: u64,
    random: Keys,
    direct: bool,
}

impl ReadFloor {
    pub fn over(path: &Path, seed: u64) -> Result<ReadFloor> {
        let blocks = std::fs::metadata(path)?.len() / BLOCK as u64;
        if blocks == 0 {
            return Err(format!("{} has no whole block", path.display()).into());
        }
        let (block, random) = (Box::new(Block([0; BLOCK])), Keys::new(seed));
        let mut floor = ReadFloor { file: open_direct_to_read(path)?, block, blocks, random, direct: true };
        if floor.read().is_err() {
            (floor.file, floor.direct) = (File::open(path)?, false);
        }
        Ok(floor)
    }

    /// What one read is, in words.
    pub fn setting(&self) -> String {
        let how = if self.direct { "O_DIRECT" } else { "through the system's cache" };
        format!("one read of {BLOCK} bytes at a random place of the database's file: pread, {how}")
    }

    pub fn read(&mut self) -> Result<()> {
        let offset = self.random.draw() % self.blocks * BLOCK as u64;
        read_at(&self.file, &mut self.block.0, offset)
    }
}

#[cfg(target_os = "linux")]
fn open_direct_to_read(path: &Path) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    Ok(OpenOptions::new().read(true).custom_flags(direct).open(path).or_else(|_| File::open(path))?)
}

#[cfg(not(target_os = "linux"))]
fn open_direct_to_read(path: &Path) -> Result<File> {
    Ok(File::open(path)?)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> Result<()> {
    Ok(std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)?)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> Result<()> {
    let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
    if read == bytes.len() { Ok(()) } else { Err("the floor's read was cut short".into()) }
}

/// Gives up what the system's cache holds of a file, so that the next reads come from the medium.
#[cfg(target_os = "linux")]
pub fn forget_cached(path: &Path) -> Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// Gives up what the system's cache holds of a file: not here.
#[cfg(not(target_os = "linux"))]
pub fn forget_cached(_: &Path) -> Result<()> {
    Ok(())
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
