//! A temporary file: private to its owner, without a name where the platform allows, appended to and read at random.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use cairn_storage::Process;

use super::space::SpillSpace;
use crate::sync;
use crate::{Error, Result, SqlState};

/// Names that turn out to be taken before giving up.
const ATTEMPTS: u32 = 100;

/// Where some bytes lie in a [`SpillFile`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    offset: u64,
    length: usize,
}

/// An open temporary file, gone when it is dropped.
#[derive(Debug)]
pub(super) struct SpillFile {
    file: File,
    end: u64,
    space: SpillSpace,
    /// A child of it would move the place in the file that both share, and write over what its parent reads.
    process: Process,
}

impl SpillFile {
    pub(super) fn create(space: &SpillSpace) -> Result<SpillFile> {
        Ok(SpillFile { file: space.create()?, end: 0, space: space.clone(), process: Process::current() })
    }

    /// Appends bytes; SQLSTATE 53400 beyond the session's limit, 53100 on a full disk.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<Extent> {
        self.process.check()?;
        self.space.take(bytes.len() as u64)?;
        let extent = Extent { offset: self.end, length: bytes.len() };
        // Counted even if the write fails half-way: the file may have grown.
        self.end += bytes.len() as u64;
        let place = SeekFrom::Start(extent.offset);
        let written = self.file.seek(place).and_then(|_| self.file.write_all(bytes));
        written.map_err(io_error("write to a temporary file"))?;
        Ok(extent)
    }

    pub(super) fn read(&mut self, extent: Extent, into: &mut Vec<u8>) -> Result<()> {
        self.process.check()?;
        into.clear();
        into.resize(extent.length, 0);
        let read = self.file.seek(SeekFrom::Start(extent.offset)).and_then(|_| self.file.read_exact(into));
        read.map_err(io_error("read a temporary file"))
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.space.give_back(self.end);
    }
}

/// A new file that only this process can reach: readable and writable by its owner alone, and removed from its folder
/// at once (Unix), or by the system when it is closed (Windows).
pub(super) fn create_private(directory: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    restrict(&mut options);
    for _ in 0..ATTEMPTS {
        let path = directory.join(unused_name());
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => return unlink(path, file),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "every name that was tried is taken"))
}

fn unused_name() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nanos = sync::wall_clock().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("cairndb-{}-{nanos}-{number}.tmp", process::id()).into()
}

#[cfg(unix)]
fn restrict(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(windows)]
fn restrict(options: &mut OpenOptions) {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_ATTRIBUTE_TEMPORARY: u32 = 0x100;
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    options.share_mode(0).attributes(FILE_ATTRIBUTE_TEMPORARY).custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
}

#[cfg(not(any(unix, windows)))]
fn restrict(_options: &mut OpenOptions) {}

#[cfg(unix)]
fn unlink(path: PathBuf, file: File) -> io::Result<File> {
    std::fs::remove_file(path)?;
    Ok(file)
}

#[cfg(not(unix))]
fn unlink(_path: PathBuf, file: File) -> io::Result<File> {
    Ok(file)
}

/// SQLSTATE 53100 where the disk is full, 58030 otherwise.
pub(super) fn io_error(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Error::new(SqlState::DISK_FULL, format!("could not {what}: no space left"))
                .with_hint("Free some space, choose another temp_directory, or raise work_mem.")
        }
        _ => Error::new(SqlState::IO_ERROR, format!("could not {what}: {error}"))
            .with_hint("Temporary files are written to temp_directory."),
    }
}
