//! Files in memory with something that is told of each call, and may refuse it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairn_storage::io::{File, FileSystem, LockGuard, LockOutcome, MemFs, OpenHow, SyncMethod};

/// What is about to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Opened,
    Read,
    Write,
    WriteDurable,
    Sync,
    SetLength,
    Remove,
    Rename,
    Lock,
    Unlock,
}

/// Told of each call: with which file, and through which of the times it was opened.
type Watch = dyn Fn(&Path, usize, Call) -> io::Result<()> + Send + Sync;

#[derive(Clone)]
pub struct WatchedFiles {
    files: MemFs,
    opened: Arc<AtomicUsize>,
    watch: Arc<Watch>,
}

impl WatchedFiles {
    pub fn new(
        files: MemFs,
        watch: impl Fn(&Path, usize, Call) -> io::Result<()> + Send + Sync + 'static,
    ) -> WatchedFiles {
        WatchedFiles { files, opened: Arc::default(), watch: Arc::new(watch) }
    }
}

impl fmt::Debug for WatchedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchedFiles")
    }
}

impl FileSystem for WatchedFiles {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn File>> {
        let file = self.files.open(path, how)?;
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        (self.watch)(path, number, Call::Opened)?;
        Ok(Arc::new(WatchedFile { file, path: path.to_path_buf(), number, watch: self.watch.clone() }))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.files.exists(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        (self.watch)(path, usize::MAX, Call::Remove)?;
        self.files.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.watch)(from, usize::MAX, Call::Rename)?;
        self.files.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.watch)(from, usize::MAX, Call::Rename)?;
        self.files.rename_new(from, to)
    }

    fn sync_directory(&self, path_of_file: &Path) -> io::Result<()> {
        self.files.sync_directory(path_of_file)
    }

    fn lock(&self, path: &Path) -> io::Result<LockOutcome> {
        (self.watch)(path, usize::MAX, Call::Lock)?;
        Ok(match self.files.lock(path)? {
            LockOutcome::Held(lock) => LockOutcome::Held(Box::new(WatchedLock {
                _lock: lock,
                path: path.to_path_buf(),
                watch: self.watch.clone(),
            })),
            busy => busy,
        })
    }
}

struct WatchedLock {
    _lock: LockGuard,
    path: PathBuf,
    watch: Arc<Watch>,
}

impl Drop for WatchedLock {
    fn drop(&mut self) {
        let _ = (self.watch)(&self.path, usize::MAX, Call::Unlock);
    }
}

struct WatchedFile {
    file: Arc<dyn File>,
    path: PathBuf,
    number: usize,
    watch: Arc<Watch>,
}

impl WatchedFile {
    fn tell(&self, call: Call) -> io::Result<()> {
        (self.watch)(&self.path, self.number, call)
    }
}

impl fmt::Debug for WatchedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchedFile")
    }
}

impl File for WatchedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.tell(Call::Read)?;
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.tell(Call::Write)?;
        self.file.write_at(buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.tell(Call::WriteDurable)?;
        self.file.write_durable_at(buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.tell(Call::Sync)?;
        self.file.sync()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn has_name(&self, path: &Path) -> io::Result<bool> {
        self.file.has_name(path)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.tell(Call::SetLength)?;
        self.file.set_len(len)
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }

    fn sync_method(&self) -> SyncMethod {
        self.file.sync_method()
    }

    fn choose_sync_method(&self, wanted: SyncMethod, block: &[u8], offset: u64) -> io::Result<SyncMethod> {
        self.file.choose_sync_method(wanted, block, offset)
    }
}
