//! A large transaction that the log gave up while its operations are being read back.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use cairn_storage::io::{File, FileSystem, LockOutcome, MemFs, OpenHow, SyncMethod};
use cairn_storage::{Environment, Error, Options, RealHost, Result, Store, TreeId};

type Work = Box<dyn FnOnce() + Send>;

/// Files of which the log does some work before it is read the next time.
#[derive(Clone, Default)]
struct Files {
    memory: MemFs,
    work: Arc<Mutex<Option<Work>>>,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Files")
    }
}

impl FileSystem for Files {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn File>> {
        let file = self.memory.open(path, how)?;
        match path.to_string_lossy().ends_with("-log") {
            true => Ok(Arc::new(Log { file, work: self.work.clone() })),
            false => Ok(file),
        }
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.memory.exists(path)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.memory.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.memory.rename(from, to)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.memory.sync_directory(path)
    }
    fn lock(&self, path: &Path) -> io::Result<LockOutcome> {
        self.memory.lock(path)
    }
}

struct Log {
    file: Arc<dyn File>,
    work: Arc<Mutex<Option<Work>>>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Log")
    }
}

impl File for Log {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let work = self.work.lock().unwrap().take();
        if let Some(work) = work {
            work();
        }
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(buf, offset)
    }
    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_durable_at(buf, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
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

fn put(store: &Store, key: &[u8], value: &[u8]) -> Result<()> {
    let transaction = store.begin()?;
    transaction.put(TreeId::CATALOG, key, value)?;
    transaction.commit(None)
}

/// The log had used the place of its operations again: it was told that the database is corrupt.
#[test]
fn a_transaction_whose_operations_the_log_gave_up_is_told_so() {
    let files = Files::default();
    let env = Environment { files: Arc::new(files.clone()), host: Arc::new(RealHost::default()) };
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = 4096 * 512;
    options.log_segment_bytes = 64 << 10;
    options.log_limit_bytes = 512 << 10;
    options.checkpoint_log_bytes = 128 << 10;
    let store = Store::open_with("parts", options, env).unwrap();
    let large = store.begin().unwrap();
    for i in 0..1000u32 {
        large.put(TreeId::CATALOG, &i.to_be_bytes(), &[3; 100]).unwrap();
    }
    put(&store, b"zz", b"the tree is another one now").unwrap();
    let other = store.clone();
    // Others fill the log, wait for room in it, and the large transaction is ended.
    *files.work.lock().unwrap() = Some(Box::new(move || {
        for i in 0..3000u32 {
            put(&other, &(1_000_000 + i).to_be_bytes(), &[5; 200]).unwrap();
        }
    }));
    let result = large.commit(None);
    assert!(matches!(result, Err(Error::OutlivedLog)), "{result:?}");
    assert!(files.work.lock().unwrap().is_none(), "the operations were not read back");
}

#[test]
fn what_is_told_as_damage_and_is_none_is_noticed() {
    let test = a_transaction_whose_operations_the_log_gave_up_is_told_so;
    cairn_storage::broken::must_be_caught(cairn_storage::broken::Broken::GivenUpAsDamage, test);
}
