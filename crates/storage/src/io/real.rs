//! Files of the operating system.
//!
//! A file opened `direct` has two descriptors: one that bypasses the operating system's cache, for what is aligned,
//! and a buffered one for the rest. The kernel keeps the two coherent (a direct write drops cached pages of its range,
//! a direct read writes them back first), as long as callers keep to the rule at [`File`].
//!
//! Until [`File::choose_sync_method`] says otherwise, a durable write is a write and a sync, which works everywhere.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, IoSliceMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::aligned::BLOCK;
use super::face::{Create, File, FileSystem, LockOutcome, OpenHow, SyncMethod};
use super::{lock, system};
use crate::process::Process;

/// The machine's own file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFs;

impl FileSystem for RealFs {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(RealFile::open(path, how)?))
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        match fs::canonicalize(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            result => return result,
        }
        let (parent, name) = (path.parent().unwrap_or(Path::new("")), path.file_name());
        let directory = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        // A link to what is still to be created.
        match fs::read_link(path) {
            Ok(target) => return self.absolute(&directory.join(target)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {}
            Err(error) => return Err(error),
        }
        match name {
            Some(name) => Ok(fs::canonicalize(directory)?.join(name)),
            None => Err(ErrorKind::NotFound.into()),
        }
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

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match system::rename_new(from, to) {
            Err(error) if system::is_unsupported(&error) => {}
            result => return result,
        }
        // A second name is never given over another file, and costs no copy.
        match fs::hard_link(from, to) {
            Ok(()) => return fs::remove_file(from),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
        // A file system without either: what comes between these two calls is not seen.
        match to.symlink_metadata() {
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => fs::rename(from, to),
            Err(error) => Err(error),
        }
    }

    fn take_place(&self, from: &Path, to: &Path) -> io::Result<()> {
        match fs::metadata(to) {
            Ok(metadata) => fs::set_permissions(from, metadata.permissions())?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        self.rename(from, to)
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

    fn lock_shared(&self, path: &Path) -> io::Result<LockOutcome> {
        lock::lock_shared(path)
    }

    fn lock_made(&self, path: &Path) -> io::Result<LockOutcome> {
        lock::lock_made(path)
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
    /// A child of it shares the file, and uses it for nothing.
    process: Process,
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
        let direct = if how.direct && !in_memory { open_direct(&buffered, path, how) } else { None };
        let file = RealFile {
            buffered,
            direct_works: AtomicBool::new(direct.is_some()),
            direct,
            in_memory,
            method: AtomicU8::new(0),
            process: Process::current(),
        };
        file.set_method(if in_memory { SyncMethod::MemoryFile } else { PORTABLE });
        file
    }

    fn check_process(&self) -> io::Result<()> {
        self.process.check().map_err(io::Error::other)
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

    /// As many of the buffers' bytes as one call reads; the rest is left to others.
    fn read_at_once(&self, bufs: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<usize> {
        let is_direct = bufs.iter().all(|buf| self.direct_for(buf.as_ptr(), buf.len(), offset).is_some());
        match self.direct.as_ref().filter(|_| is_direct) {
            Some(direct) => self.try_direct(|| system::read_vectored(direct, bufs, offset)),
            None => match system::read_vectored(&self.buffered, bufs, offset) {
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
                result => result,
            },
        }
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

/// Opens a second descriptor of the file past the cache. The file exists by now; failing only means that the cache is used. So does
/// another file that got its name in between.
fn open_direct(file: &fs::File, path: &Path, how: OpenHow) -> Option<fs::File> {
    let mut options = OpenOptions::new();
    options.read(true).write(!how.read_only);
    if !system::ask_for_direct(&mut options) {
        return None;
    }
    options.open(path).ok().filter(|direct| system::is_same(direct, file))
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
        self.check_process()?;
        let done = match self.direct_for(buf.as_ptr(), buf.len(), offset) {
            Some(direct) => self.try_direct(|| system::read_some_at(direct, buf, offset))?,
            None => 0,
        };
        read_all_at(&self.buffered, &mut buf[done..], offset + done as u64)
    }

    fn read_vectored_at(&self, bufs: &mut [IoSliceMut<'_>], mut offset: u64) -> io::Result<()> {
        self.check_process()?;
        let mut done = self.read_at_once(bufs, offset)?;
        for buf in bufs {
            let filled = done.min(buf.len());
            if filled < buf.len() {
                self.read_at(&mut buf[filled..], offset + filled as u64)?;
            }
            done -= filled;
            offset += buf.len() as u64;
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_process()?;
        let done = match self.direct_for(buf.as_ptr(), buf.len(), offset) {
            Some(direct) => self.try_direct(|| system::write_some_at(direct, buf, offset))?,
            None => 0,
        };
        write_all_at(&self.buffered, &buf[done..], offset + done as u64)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_process()?;
        self.write_with(self.sync_method(), buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.check_process()?;
        match self.sync_method() {
            SyncMethod::MemoryFile => Ok(()),
            _ => self.buffered.sync_data(),
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.check_process()?;
        Ok(self.buffered.metadata()?.len())
    }

    fn has_name(&self, path: &Path) -> io::Result<bool> {
        self.check_process()?;
        system::still_named(&self.buffered, path)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_process()?;
        self.buffered.set_len(len)
    }

    fn give_back(&self, offset: u64, length: u64) -> io::Result<()> {
        self.check_process()?;
        system::give_back(&self.buffered, offset, length)
    }

    fn room(&self) -> io::Result<u64> {
        system::room(&self.buffered)
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
        self.check_process()?;
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::io::AlignedBuf;
    use crate::io::testing::TempDir;

    fn create(dir: &TempDir, direct: bool) -> Arc<dyn File> {
        let how = OpenHow { create: Create::New, read_only: false, direct };
        RealFs.open(&dir.path().join("db"), how).unwrap()
    }

    /// A directory on a medium that is not memory, and one that is, where the machine has them.
    fn directories() -> Vec<TempDir> {
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp");
        let memory = Path::new("/dev/shm");
        let mut directories = vec![TempDir::within(&build)];
        if memory.is_dir() {
            directories.push(TempDir::within(memory));
        }
        directories
    }

    /// The name may be another file's by the time that it is opened past the cache.
    #[test]
    fn what_is_written_past_the_cache_is_written_to_the_file_that_was_opened() {
        for dir in directories() {
            let [path, other] = ["db", "other"].map(|name| dir.path().join(name));
            fs::write(&other, [1; 8192]).unwrap();
            let buffered = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
            let how = OpenHow { create: Create::Never, read_only: false, direct: true };
            let file = RealFile::with_direct(buffered, &other, how);
            file.write_at(&AlignedBuf::zeroed(4096), 0).unwrap();
            assert_eq!(file.len().unwrap(), 4096);
            assert!(fs::read(&other).unwrap().iter().all(|byte| *byte == 1));
        }
    }

    #[test]
    fn what_is_written_is_read_in_every_mixture_of_direct_and_buffered_calls() {
        for dir in directories() {
            let file = create(&dir, true);
            let mut expected = vec![0; 40_000];
            for (round, (offset, length)) in
                [(0, 8192), (100, 9000), (4096, 4096), (4095, 2), (20_480, 12_288), (39_000, 1000)]
                    .into_iter()
                    .enumerate()
            {
                let mut buf = AlignedBuf::zeroed(length);
                buf.fill(round as u8 + 1);
                file.write_at(&buf, offset as u64).unwrap();
                expected[offset..offset + length].copy_from_slice(&buf);
            }
            let mut seen = AlignedBuf::zeroed(36_864);
            file.read_at(&mut seen, 0).unwrap();
            assert!(seen[..] == expected[..36_864]);
            file.read_at(&mut seen[1..100], 39_901).unwrap();
            assert!(seen[1..100] == expected[39_901..]);
            assert_eq!(file.len().unwrap(), 40_000);
        }
    }

    #[test]
    fn buffers_are_filled_one_after_the_other() {
        for dir in directories() {
            let file = create(&dir, true);
            let bytes: Vec<u8> = (0..50_000_u32).map(|i| (i / 100) as u8).collect();
            file.write_at(&bytes, 0).unwrap();
            for lengths in [vec![4096; 8], vec![4096, 8192, 4096], vec![100, 0, 5000, 4096], vec![], vec![1; 2000]] {
                for offset in [0, 4096, 77] {
                    let mut bufs: Vec<AlignedBuf> = lengths.iter().map(|&length| AlignedBuf::zeroed(length)).collect();
                    let mut pieces: Vec<_> = bufs.iter_mut().map(|buf| IoSliceMut::new(buf)).collect();
                    file.read_vectored_at(&mut pieces, offset as u64).unwrap();
                    let seen: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
                    assert!(seen == bytes[offset..offset + seen.len()], "{lengths:?} at {offset}");
                }
            }
            let mut bufs: Vec<AlignedBuf> = (0..4).map(|_| AlignedBuf::zeroed(BLOCK)).collect();
            let mut pieces: Vec<_> = bufs.iter_mut().map(|buf| IoSliceMut::new(buf)).collect();
            let error = file.read_vectored_at(&mut pieces, 40_960).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn reading_past_the_end_says_so() {
        for dir in directories() {
            let file = create(&dir, true);
            file.write_at(&[1; 5000], 0).unwrap();
            for (offset, length) in [(0, 8192), (4096, 4096), (5000, 1), (1 << 40, 4096)] {
                let error = file.read_at(&mut AlignedBuf::zeroed(length), offset).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{length} bytes at {offset}");
            }
            file.read_at(&mut [], 5000).unwrap();
        }
    }

    #[test]
    fn what_is_given_back_is_zeros_or_as_it_was_and_all_else_stays() {
        for dir in directories() {
            let file = create(&dir, true);
            file.write_at(&[1; 40_000], 0).unwrap();
            file.give_back(8192, 16_384).unwrap();
            let mut seen = vec![0; 40_000];
            file.read_at(&mut seen, 0).unwrap();
            assert!(seen[..8192].iter().chain(&seen[24_576..]).all(|&byte| byte == 1));
            assert!(seen[8192..24_576].iter().all(|&byte| byte == seen[8192]));
            assert_eq!(file.len().unwrap(), 40_000);
        }
    }

    #[test]
    fn every_method_that_works_writes_the_bytes() {
        for dir in directories() {
            let file = create(&dir, true);
            file.set_len(16_384).unwrap();
            let mut block = AlignedBuf::zeroed(BLOCK);
            for (round, &wanted) in METHODS.iter().enumerate() {
                let chosen = file.choose_sync_method(wanted, &block, 4096).unwrap();
                assert_eq!(file.sync_method(), chosen);
                block.fill(round as u8 + 1);
                file.write_durable_at(&block, 4096).unwrap();
                file.write_durable_at(&block[..1000], 9000).unwrap();
                let mut seen = vec![0; 16_384];
                file.read_at(&mut seen, 0).unwrap();
                assert!(seen[4096..8192] == block[..] && seen[9000..10_000] == block[..1000], "{chosen:?}");
                assert!(seen[..4096].iter().chain(&seen[10_000..]).all(|&byte| byte == 0));
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_in_memory_are_not_synced_and_others_always_are() {
        for dir in directories() {
            let file = create(&dir, true);
            let block = AlignedBuf::zeroed(BLOCK);
            file.write_at(&block, 0).unwrap();
            let in_memory = system::lives_in_memory(&fs::File::open(dir.path()).unwrap());
            assert!(in_memory || !dir.path().starts_with("/dev/shm"));
            let chosen = file.choose_sync_method(SyncMethod::Auto, &block, 0).unwrap();
            assert_eq!(chosen == SyncMethod::MemoryFile, in_memory, "{chosen:?}");
            let asked_for = file.choose_sync_method(SyncMethod::MemoryFile, &block, 0).unwrap();
            assert_eq!(asked_for, chosen, "no file on a disk may be treated as one in memory");
            assert_eq!(file.choose_sync_method(SyncMethod::WriteSync, &block, 0).unwrap(), SyncMethod::WriteSync);
            assert_eq!(file.alignment(), 1);
        }
    }

    #[test]
    fn a_file_not_opened_direct_needs_no_alignment() {
        for dir in directories() {
            let file = create(&dir, false);
            file.write_at(&[0; BLOCK], 0).unwrap();
            let chosen = file.choose_sync_method(SyncMethod::DirectDsync, &[0; BLOCK], 0).unwrap();
            assert_ne!(chosen, SyncMethod::DirectDsync);
            assert_eq!(file.alignment(), 1);
        }
    }

    /// The link itself became the database.
    #[cfg(unix)]
    #[test]
    fn a_link_to_what_is_still_to_be_created_leads_there() {
        let dir = TempDir::new();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(root.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere/link", root.join("db")).unwrap();
        std::os::unix::fs::symlink(root.join("elsewhere/new"), root.join("elsewhere/link")).unwrap();
        assert_eq!(RealFs.absolute(&root.join("db")).unwrap(), root.join("elsewhere/new"));
        std::os::unix::fs::symlink("nowhere/new", root.join("broken")).unwrap();
        assert_eq!(RealFs.absolute(&root.join("broken")).unwrap_err().kind(), ErrorKind::NotFound);
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        assert!(RealFs.absolute(&root.join("loop")).is_err());
        assert_eq!(RealFs.absolute(&root.join("none")).unwrap(), root.join("none"));
    }

    #[test]
    fn opening_creates_only_when_told_to() {
        let dir = TempDir::new();
        let path = dir.path().join("db");
        let open = |create, read_only| RealFs.open(&path, OpenHow { create, read_only, direct: false });
        assert_eq!(open(Create::Never, false).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(open(Create::IfMissing, true).unwrap_err().kind(), ErrorKind::NotFound);
        open(Create::IfMissing, false).unwrap().write_at(b"kept", 0).unwrap();
        open(Create::IfMissing, false).unwrap();
        assert_eq!(open(Create::New, false).unwrap_err().kind(), ErrorKind::AlreadyExists);
        let read_only = open(Create::Never, true).unwrap();
        assert_eq!(read_only.len().unwrap(), 4);
        assert!(read_only.write_at(b"x", 0).is_err());
        RealFs.rename(&path, &dir.path().join("other")).unwrap();
        assert!(!RealFs.exists(&path).unwrap());
        RealFs.remove(&dir.path().join("other")).unwrap();
        RealFs.sync_directory(&path).unwrap();
    }

    #[test]
    fn threads_write_side_by_side() {
        let dir = TempDir::new();
        let file = create(&dir, true);
        thread::scope(|scope| {
            for thread in 0..4_u8 {
                let file = &file;
                scope.spawn(move || {
                    let mut block = AlignedBuf::zeroed(BLOCK);
                    block.fill(thread + 1);
                    for round in 0..16 {
                        file.write_at(&block, (round * 4 + u64::from(thread)) * BLOCK as u64).unwrap();
                    }
                });
            }
        });
        let mut all = AlignedBuf::zeroed(64 * BLOCK);
        file.read_at(&mut all, 0).unwrap();
        assert!(
            all.chunks(BLOCK).enumerate().all(|(index, block)| block.iter().all(|&b| usize::from(b) == index % 4 + 1))
        );
    }
}
