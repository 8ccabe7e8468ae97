//! Files in memory, for `:memory:` databases.
//!
//! A file is a list of fixed chunks, each behind its own lock, so that threads on different parts of a file do not
//! wait for each other; only a change of length locks the whole file. Nothing is lost but by the process ending, so
//! there is nothing to sync. What they take may be of memory that is shared ([`Memory`]): where there is none they grow all the same,
//! and whoever fills them is to ask whether there is before he goes on.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::face::{Create, File, FileSystem, LockOutcome, OpenHow, SyncMethod};
use crate::{Memory, Reserved};

const CHUNK: usize = 64 * 1024;

/// So much is taken at a time of memory that is shared, and so much is not asked for.
const STEP: usize = 1 << 20;
const FREE: usize = 1 << 20;

/// A file system in memory. Clones share their files.
#[derive(Clone, Debug, Default)]
pub struct MemFs {
    shared: Arc<Mutex<Names>>,
    taken: Option<Arc<Taken>>,
}

/// What files take of memory that is shared.
#[derive(Debug)]
struct Taken {
    /// In bytes, and what is reserved for them.
    all: Mutex<(usize, Reserved)>,
    /// There was none for some of it.
    is_lacking: AtomicBool,
}

impl Taken {
    fn change(&self, change: impl FnOnce(usize) -> usize) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, reserved) = &mut *all;
        *bytes = change(*bytes);
        let needed = bytes.saturating_sub(FREE).next_multiple_of(STEP);
        reserved.shrink_to(needed);
        self.is_lacking.store(!reserved.grow_to(needed), Ordering::Relaxed);
    }

    fn is_lacking(&self) -> bool {
        if self.is_lacking.load(Ordering::Relaxed) {
            self.change(|bytes| bytes);
        }
        self.is_lacking.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
struct Names {
    files: HashMap<PathBuf, Arc<MemFile>>,
    locked: HashSet<PathBuf>,
}

impl MemFs {
    /// A file system without files.
    pub fn new() -> MemFs {
        MemFs::default()
    }

    /// The same, whose files take of the memory.
    pub fn within(memory: &Memory) -> MemFs {
        let taken = Taken { all: Mutex::new((0, memory.reserve())), is_lacking: AtomicBool::new(false) };
        MemFs { shared: Arc::default(), taken: Some(Arc::new(taken)) }
    }

    /// Whether all that files take could be had of the memory; it is asked for again.
    pub fn has_memory(&self) -> bool {
        self.taken.as_ref().is_none_or(|taken| !taken.is_lacking())
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_found(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no file {}", path.display()))
}

impl FileSystem for MemFs {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn File>> {
        let mut names = self.names();
        match names.files.get(path) {
            Some(_) if how.create == Create::New => Err(io::ErrorKind::AlreadyExists.into()),
            Some(file) => Ok(file.clone()),
            None if how.create == Create::Never => Err(not_found(path)),
            None => {
                let new = || Arc::new(MemFile { content: RwLock::default(), taken: self.taken.clone() });
                Ok(names.files.entry(path.to_owned()).or_insert_with(new).clone())
            }
        }
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.names().files.contains_key(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.names().files.remove(path).map(drop).ok_or_else(|| not_found(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut names = self.names();
        let file = names.files.remove(from).ok_or_else(|| not_found(from))?;
        names.files.insert(to.to_owned(), file);
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut names = self.names();
        if names.files.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = names.files.remove(from).ok_or_else(|| not_found(from))?;
        names.files.insert(to.to_owned(), file);
        Ok(())
    }

    fn sync_directory(&self, _path_of_file: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<LockOutcome> {
        if !self.names().locked.insert(path.to_owned()) {
            return Ok(LockOutcome::Busy { pid: Some(std::process::id()) });
        }
        Ok(LockOutcome::Held(Box::new(MemLock { fs: self.clone(), path: path.to_owned() })))
    }
}

struct MemLock {
    fs: MemFs,
    path: PathBuf,
}

impl Drop for MemLock {
    fn drop(&mut self) {
        self.fs.names().locked.remove(&self.path);
    }
}

#[derive(Debug, Default)]
struct MemFile {
    content: RwLock<Content>,
    taken: Option<Arc<Taken>>,
}

impl MemFile {
    fn set_len(&self, content: &mut Content, len: u64) -> io::Result<()> {
        let before = content.chunks.len();
        content.set_len(len)?;
        self.note_taken(before, content.chunks.len());
        Ok(())
    }

    fn note_taken(&self, before: usize, after: usize) {
        if let Some(taken) = self.taken.as_ref().filter(|_| before != after) {
            taken.change(|bytes| bytes + after * CHUNK - before * CHUNK);
        }
    }
}

impl Drop for MemFile {
    fn drop(&mut self) {
        let content = self.content.get_mut().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut content.chunks).len();
        self.note_taken(before, 0);
    }
}

#[derive(Debug, Default)]
struct Content {
    chunks: Vec<RwLock<Box<[u8]>>>,
    len: u64,
}

impl Content {
    /// Changes the length, keeping all bytes past it zero so that growing again shows zeros.
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let chunks = usize::try_from(len.div_ceil(CHUNK as u64)).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.chunks.resize_with(chunks, || RwLock::new(vec![0; CHUNK].into_boxed_slice()));
        let used = (len % CHUNK as u64) as usize;
        if let (true, Some(last)) = (len < self.len && used != 0, self.chunks.last_mut()) {
            last.get_mut().unwrap_or_else(PoisonError::into_inner)[used..].fill(0);
        }
        self.len = len;
        Ok(())
    }
}

/// Cuts the range of `length` bytes from `offset` at chunk borders: (chunk, start in the chunk, range in the buffer).
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let start = (at % CHUNK as u64) as usize;
        let piece = done..length.min(done + CHUNK - start);
        done = piece.end;
        (!piece.is_empty()).then_some(((at / CHUNK as u64) as usize, start, piece))
    })
}

fn end_of(offset: u64, length: usize) -> io::Result<u64> {
    offset.checked_add(length as u64).ok_or_else(|| io::ErrorKind::FileTooLarge.into())
}

impl File for MemFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        if end_of(offset, buf.len())? > content.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (chunk, start, piece) in pieces(offset, buf.len()) {
            let bytes = content.chunks[chunk].read().unwrap_or_else(PoisonError::into_inner);
            let length = piece.len();
            buf[piece].copy_from_slice(&bytes[start..start + length]);
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let end = end_of(offset, buf.len())?;
        let mut content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        while !buf.is_empty() && content.len < end {
            drop(content);
            let mut growing = self.content.write().unwrap_or_else(PoisonError::into_inner);
            if growing.len < end {
                self.set_len(&mut growing, end)?;
            }
            drop(growing);
            content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        }
        for (chunk, start, piece) in pieces(offset, buf.len()) {
            let mut bytes = content.chunks[chunk].write().unwrap_or_else(PoisonError::into_inner);
            bytes[start..start + piece.len()].copy_from_slice(&buf[piece]);
        }
        Ok(())
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.read().unwrap_or_else(PoisonError::into_inner).len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.set_len(&mut self.content.write().unwrap_or_else(PoisonError::into_inner), len)
    }

    fn alignment(&self) -> usize {
        1
    }

    fn sync_method(&self) -> SyncMethod {
        SyncMethod::MemoryFile
    }

    fn choose_sync_method(&self, _wanted: SyncMethod, _block: &[u8], _offset: u64) -> io::Result<SyncMethod> {
        Ok(SyncMethod::MemoryFile)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn create(fs: &MemFs, name: &str) -> Arc<dyn File> {
        fs.open(Path::new(name), OpenHow { create: Create::IfMissing, ..OpenHow::default() }).unwrap()
    }

    #[test]
    fn reads_and_writes_cross_chunks() {
        let file = create(&MemFs::new(), "db");
        let bytes: Vec<u8> = (0..200_000_u32).map(|index| index as u8).collect();
        file.write_at(&bytes, 30_000).unwrap();
        let mut seen = vec![9; 230_000];
        file.read_at(&mut seen, 0).unwrap();
        assert!(seen[..30_000].iter().all(|&byte| byte == 0) && seen[30_000..] == bytes);
        assert_eq!(file.read_at(&mut [0], 230_000).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_file_cut_and_extended_again_shows_zeros() {
        let file = create(&MemFs::new(), "db");
        file.write_durable_at(&[1; 100_000], 0).unwrap();
        file.set_len(10).unwrap();
        file.set_len(100_000).unwrap();
        let mut seen = vec![9; 100_000];
        file.read_at(&mut seen, 0).unwrap();
        assert!(seen[..10] == [1; 10] && seen[10..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn names_come_and_go_while_open_files_stay() {
        let fs = MemFs::new();
        let file = create(&fs, "a");
        file.write_at(b"a", 0).unwrap();
        create(&fs, "b");
        fs.rename(Path::new("a"), Path::new("b")).unwrap();
        assert!(!fs.exists(Path::new("a")).unwrap());
        assert_eq!(create(&fs, "b").len().unwrap(), 1);
        fs.remove(Path::new("b")).unwrap();
        assert_eq!(file.len().unwrap(), 1);
        assert_eq!(fs.remove(Path::new("b")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(fs.open(Path::new("b"), OpenHow::default()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn one_user_holds_the_lock() {
        let fs = MemFs::new();
        let held = fs.lock(Path::new("db")).unwrap();
        assert!(matches!(fs.clone().lock(Path::new("db")).unwrap(), LockOutcome::Busy { pid: Some(_) }));
        drop(held);
        assert!(matches!(fs.lock(Path::new("db")).unwrap(), LockOutcome::Held(_)));
    }

    #[test]
    fn files_take_of_shared_memory_and_say_whether_there_was_some() {
        let memory = Memory::shared(8 << 20);
        let fs = MemFs::within(&memory);
        let [one, other] = ["a", "b"].map(|name| create(&fs, name));
        one.set_len(3 << 20).unwrap();
        other.write_at(&[1; 100_000], 2 << 20).unwrap();
        assert_eq!((memory.reserved(), fs.has_memory()), (5 << 20, true));
        other.set_len(6 << 20).unwrap();
        assert_eq!((memory.reserved(), fs.has_memory()), (5 << 20, false));
        one.set_len(100_000).unwrap();
        assert_eq!((memory.reserved(), fs.has_memory()), (6 << 20, true));
        fs.remove(Path::new("b")).unwrap();
        drop(other);
        assert_eq!(memory.reserved(), 0);
        drop((one, fs));
        assert_eq!(memory.reserved(), 0);
    }

    #[test]
    fn threads_extend_a_file_together() {
        let file = create(&MemFs::new(), "db");
        thread::scope(|scope| {
            for thread in 0..4_u64 {
                let file = &file;
                scope.spawn(move || {
                    for round in 0..100 {
                        file.write_at(&[thread as u8 + 1; 1000], (round * 4 + thread) * 1000).unwrap();
                    }
                });
            }
        });
        let mut seen = vec![0; 400_000];
        file.read_at(&mut seen, 0).unwrap();
        assert!(
            seen.chunks(1000).enumerate().all(|(index, piece)| piece.iter().all(|&b| usize::from(b) == index % 4 + 1))
        );
    }
}
