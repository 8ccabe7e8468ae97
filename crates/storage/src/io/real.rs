//! Files of the operating system.
//!
//! A file opened `direct` has two descriptors: one that bypasses the operating system's cache, for what is aligned,
//! and a buffered one for the rest. The kernel keeps the two coherent (a direct write drops cached pages of its range,
//! a direct read writes them back first), as long as callers keep to the rule at [`File`].
//!
//! Until [`File::choose_sync_method`] says otherwise, a durable write is a write and a sync, which works everywhere.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::aligned::BLOCK;
use super::face::{Create, File, FileSystem, LockOutcome, OpenHow, SyncMethod};
use super::{lock, system};

/// The machine's own file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFs;

impl FileSystem for RealFs {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(RealFile::open(path, how)?))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_directory(&self, path_of_file: &Path) -> io::Result<()> {
        match path_of_file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => system::sync_directory(parent),
            _ => system::sync_directory(Path::new(".")),
        }
    }

    fn lock(&self, path: &Path) -> io::Result<LockOutcome> {
        lock::lock(path)
    }
}

#[derive(Debug)]
struct RealFile {
    buffered: fs::File,
    direct: Option<fs::File>,
    /// Cleared when the file system refuses a direct call that should have worked.
    direct_works: AtomicBool,
    in_memory: bool,
    method: AtomicU8,
}

/// The methods in the order of their codes in `RealFile::method`.
const METHODS: [SyncMethod; 6] = [
    SyncMethod::Auto,
    SyncMethod::DirectDsync,
    SyncMethod::Dsync,
    SyncMethod::WriteSync,
    SyncMethod::FullFsync,
    SyncMethod::MemoryFile,
];

/// A write and a sync: `sync_data` is `fdatasync`, on macOS `F_FULLFSYNC`, on Windows `FlushFileBuffers`.
const PORTABLE: SyncMethod = if cfg!(target_vendor = "apple") { SyncMethod::FullFsync } else { SyncMethod::WriteSync };

impl RealFile {
    fn open(path: &Path, how: OpenHow) -> io::Result<RealFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(!how.read_only);
        match how.create {
            Create::Never => options.open(path),
            Create::IfMissing => options.create(!how.read_only).open(path),
            Create::New => options.create_new(true).open(path),
        }
        .map(|buffered| RealFile::with_direct(buffered, path, how))
    }

    fn with_direct(buffered: fs::File, path: &Path, how: OpenHow) -> RealFile {
        let in_memory = system::lives_in_memory(&buffered);
        let direct = if how.direct && !in_memory { open_direct(path, how) } else { None };
        let file = RealFile {
            buffered,
            direct_works: AtomicBool::new(direct.is_some()),
            direct,
            in_memory,
            method: AtomicU8::new(0),
        };
        file.set_method(if in_memory { SyncMethod::MemoryFile } else { PORTABLE });
        file
    }

    fn set_method(&self, method: SyncMethod) {
        let code = METHODS.iter().position(|&known| known == method).unwrap_or(0);
        self.method.store(code as u8, Ordering::Release);
    }

    /// The descriptor past the cache, if this range and memory suit it.
    fn direct_for(&self, address: *const u8, length: usize, offset: u64) -> Option<&fs::File> {
        let aligned = (address as usize | length | offset as usize).is_multiple_of(BLOCK);
        let direct = self.direct.as_ref().filter(|_| aligned && length > 0)?;
        self.direct_works.load(Ordering::Relaxed).then_some(direct)
    }

    /// How much of the call the direct descriptor did; 0 if it is of no use here.
    fn try_direct(&self, call: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
            Err(error) if system::is_unsupported(&error) => {
                self.direct_works.store(false, Ordering::Relaxed);
                Ok(0)
            }
            result => result,
        }
    }

    fn write_with(&self, method: SyncMethod, buf: &[u8], offset: u64) -> io::Result<()> {
        match method {
            SyncMethod::DirectDsync => match self.direct_for(buf.as_ptr(), buf.len(), offset) {
                Some(direct) => write_dsync(direct, buf, offset, BLOCK),
                None => write_dsync(&self.buffered, buf, offset, 1),
            },
            SyncMethod::Dsync => write_dsync(&self.buffered, buf, offset, 1),
            SyncMethod::MemoryFile => write_all_at(&self.buffered, buf, offset),
            SyncMethod::Auto | SyncMethod::WriteSync | SyncMethod::FullFsync => {
                write_all_at(&self.buffered, buf, offset)?;
                self.buffered.sync_data()
            }
        }
    }

    fn candidates(&self, wanted: SyncMethod) -> Vec<SyncMethod> {
        let best = if self.in_memory { SyncMethod::MemoryFile } else { SyncMethod::DirectDsync };
        [wanted, best, SyncMethod::Dsync, PORTABLE].into_iter().filter(|&method| self.may_work(method)).collect()
    }

    fn may_work(&self, method: SyncMethod) -> bool {
        match method {
            SyncMethod::Auto => false,
            SyncMethod::DirectDsync => self.direct_works.load(Ordering::Relaxed),
            SyncMethod::Dsync => cfg!(target_os = "linux"),
            SyncMethod::WriteSync => !cfg!(target_vendor = "apple"),
            SyncMethod::FullFsync => cfg!(target_vendor = "apple"),
            SyncMethod::MemoryFile => self.in_memory,
        }
    }
}

/// Opens a second descriptor past the cache. The file exists by now; failing only means that the cache is used.
fn open_direct(path: &Path, how: OpenHow) -> Option<fs::File> {
    let mut options = OpenOptions::new();
    options.read(true).write(!how.read_only);
    if !system::ask_for_direct(&mut options) {
        return None;
    }
    options.open(path).ok()
}

fn read_all_at(file: &fs::File, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buf.is_empty() {
        match system::read_some_at(file, buf, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buf = &mut buf[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write_all_at(file: &fs::File, mut buf: &[u8], mut offset: u64) -> io::Result<()> {
    while !buf.is_empty() {
        match system::write_some_at(file, buf, offset) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => {
                buf = &buf[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Synchronous writes until all is written; after a short one the next begins at a multiple of `alignment`.
fn write_dsync(file: &fs::File, mut buf: &[u8], mut offset: u64, alignment: usize) -> io::Result<()> {
    while !buf.is_empty() {
        let count = system::write_dsync(file, buf, offset)?;
        let count = if count < buf.len() { count - count % alignment } else { count };
        if count == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        buf = &buf[count..];
        offset += count as u64;
    }
    Ok(())
}

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let done = match self.direct_for(buf.as_ptr(), buf.len(), offset) {
            Some(direct) => self.try_direct(|| system::read_some_at(direct, buf, offset))?,
            None => 0,
        };
        read_all_at(&self.buffered, &mut buf[done..], offset + done as u64)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let done = match self.direct_for(buf.as_ptr(), buf.len(), offset) {
            Some(direct) => self.try_direct(|| system::write_some_at(direct, buf, offset))?,
            None => 0,
        };
        write_all_at(&self.buffered, &buf[done..], offset + done as u64)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.write_with(self.sync_method(), buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        match self.sync_method() {
            SyncMethod::MemoryFile => Ok(()),
            _ => self.buffered.sync_data(),
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.buffered.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.buffered.set_len(len)
    }

    fn alignment(&self) -> usize {
        match self.sync_method() {
            SyncMethod::DirectDsync => BLOCK,
            _ => 1,
        }
    }

    fn sync_method(&self) -> SyncMethod {
        METHODS[usize::from(self.method.load(Ordering::Acquire)) % METHODS.len()]
    }

    fn choose_sync_method(&self, wanted: SyncMethod, block: &[u8], offset: u64) -> io::Result<SyncMethod> {
        for method in self.candidates(wanted) {
            match self.write_with(method, block, offset) {
                Ok(()) => {
                    self.set_method(method);
                    return Ok(method);
                }
                Err(error) if system::is_unsupported(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::Unsupported.into())
    }
}
