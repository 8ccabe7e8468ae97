//! A disk that takes no writes for as long as the test says, of the database's file, of batches of the log, or of new segments:
//! what waits for it, and what ends anyway.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

use cairn_storage::io::{File, FileSystem, LockOutcome, OpenHow, SyncMethod};
use cairn_storage::{Acknowledge, Environment, Error, Losses, Options, Store, TreeId, WriteError};

/// Waiting for the background takes as long as a busy machine makes it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Which writes do not come through.
#[derive(Debug, Default)]
struct Gates {
    stuck: Mutex<[bool; 3]>,
    changed: Condvar,
    /// Whether somebody waits.
    waited: AtomicBool,
}

const FILE: usize = 0;
const BATCHES: usize = 1;
const SEGMENTS: usize = 2;

impl Gates {
    fn set(&self, which: usize, is_stuck: bool) {
        self.stuck.lock().unwrap()[which] = is_stuck;
        self.waited.store(false, Ordering::SeqCst);
        self.changed.notify_all();
    }

    fn pass(&self, which: usize) {
        let mut stuck = self.stuck.lock().unwrap();
        while stuck[which] {
            self.waited.store(true, Ordering::SeqCst);
            stuck = self.changed.wait(stuck).unwrap();
        }
    }

    fn until_waited(&self) {
        until(|| self.waited.load(Ordering::SeqCst));
    }
}

fn until(done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "it did not come to that");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[derive(Debug)]
struct Files {
    inner: Arc<dyn FileSystem>,
    gates: Arc<Gates>,
}

#[derive(Debug)]
struct Gated {
    inner: Arc<dyn File>,
    gates: Arc<Gates>,
    /// Of the file: both the same.
    which: usize,
    durably: usize,
}

impl FileSystem for Files {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn File>> {
        let is_log = path.to_string_lossy().ends_with("-log");
        let (which, durably) = if is_log { (SEGMENTS, BATCHES) } else { (FILE, FILE) };
        Ok(Arc::new(Gated { inner: self.inner.open(path, how)?, gates: self.gates.clone(), which, durably }))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_directory(path)
    }

    fn lock(&self, path: &Path) -> io::Result<LockOutcome> {
        self.inner.lock(path)
    }
}

impl File for Gated {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.gates.pass(self.which);
        self.inner.write_at(buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.gates.pass(self.durably);
        self.inner.write_durable_at(buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.gates.pass(self.which);
        self.inner.sync()
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.gates.pass(self.which);
        self.inner.set_len(len)
    }

    fn alignment(&self) -> usize {
        self.inner.alignment()
    }

    fn sync_method(&self) -> SyncMethod {
        self.inner.sync_method()
    }

    fn choose_sync_method(&self, wanted: SyncMethod, block: &[u8], offset: u64) -> io::Result<SyncMethod> {
        self.inner.choose_sync_method(wanted, block, offset)
    }
}

fn open(options: Options) -> (Store, Arc<Gates>) {
    let Environment { files, host } = Environment::in_memory();
    let gates = Arc::new(Gates::default());
    let files = Arc::new(Files { inner: files, gates: gates.clone() });
    (Store::open_with("stuck", options, Environment { files, host }).unwrap(), gates)
}

fn put(store: &Store, key: u32, bytes: usize) -> Result<(), Error> {
    let transaction = store.begin()?;
    transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &vec![7; bytes])?;
    transaction.commit(None)
}

fn small_log() -> Options {
    let mut options = Options::default();
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 4 * options.log_segment_bytes as u64;
    options.checkpoint_log_bytes = options.log_limit_bytes;
    options
}

/// A point write and a transaction's commit, each of which has a limit of time, while no checkpoint gets on.
#[test]
fn waiting_for_room_in_the_log_ends_with_the_statement_behind_a_checkpoint_that_is_stuck() {
    let (store, gates) = open(small_log());
    gates.set(FILE, true);
    let in_transactions = |key: u32, gives_up: &dyn Fn() -> bool| {
        let transaction = store.begin()?;
        transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &[7; 1500])?;
        transaction.commit_or_note(None, &mut Losses::default(), gives_up).map(drop)
    };
    let as_points = |key: u32, gives_up: &dyn Fn() -> bool| {
        let mut session = store.session()?;
        let written = session.write_unless::<_, ()>(Acknowledge::Now(None), gives_up, |writer| {
            Ok(writer.put(TreeId::CATALOG, &key.to_be_bytes(), &[7; 1500])?)
        });
        match written {
            Ok(_) => Ok(()),
            Err(WriteError::Storage(error)) => Err(error),
            Err(WriteError::Caller(())) => unreachable!("it does not fail"),
        }
    };
    type Write<'w> = &'w dyn Fn(u32, &dyn Fn() -> bool) -> Result<(), Error>;
    let writes: [Write<'_>; 2] = [&in_transactions, &as_points];
    for write in writes {
        let limit = Instant::now() + Duration::from_millis(200);
        let told = (0..1000).find_map(|key| write(key, &|| Instant::now() > limit).err());
        assert!(matches!(told, Some(Error::GivenUp)), "{told:?}");
        assert!(limit.elapsed() < Duration::from_secs(20), "{:?} after its limit", limit.elapsed());
    }
    gates.set(FILE, false);
    put(&store, 7, 1500).unwrap();
    store.close().unwrap();
}

/// What is in the log may be durable: who was told that it is not would do it again.
#[test]
fn a_commit_that_is_appended_waits_for_its_outcome_whatever_its_limit_says() {
    let (store, gates) = open(Options::default());
    gates.set(BATCHES, true);
    let (send, told) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let transaction = store.begin().unwrap();
            transaction.put(TreeId::CATALOG, b"key", b"value").unwrap();
            send.send(transaction.commit_or_note(None, &mut Losses::default(), &|| true)).unwrap();
        });
        gates.until_waited();
        let early = told.recv_timeout(Duration::from_millis(300));
        gates.set(BATCHES, false);
        assert!(early.is_err(), "told {early:?} while its record was being written");
        told.recv_timeout(PATIENCE).unwrap().unwrap();
    });
    assert_eq!(
        store.snapshot().unwrap().reader().get(TreeId::CATALOG, b"key").unwrap().as_deref(),
        Some(&b"value"[..])
    );
}

/// The thread that looks after ages also makes segments of the log, which may take as long as the disk likes.
#[test]
fn a_snapshot_is_ended_in_time_while_a_new_segment_of_the_log_is_not() {
    const AGE: Duration = Duration::from_millis(500);
    let mut options = Options::default();
    options.max_snapshot_age = Some(AGE);
    options.log_segment_bytes = 64 << 10;
    let (store, gates) = open(options);
    gates.set(SEGMENTS, true);
    // Until it begins to make one, which is before the last is begun.
    let mut key = 0;
    while !gates.waited.load(Ordering::SeqCst) {
        put(&store, key, 100).unwrap();
        key += 1;
        std::thread::sleep(Duration::from_micros(100));
    }
    let snapshot = store.snapshot().unwrap();
    put(&store, 0, 100).unwrap();
    let began = Instant::now();
    until(|| matches!(snapshot.reader().get(TreeId::CATALOG, b"none"), Err(Error::SnapshotTooOld)));
    let took = began.elapsed();
    gates.set(SEGMENTS, false);
    assert!(took >= AGE - Duration::from_millis(10), "ended after {took:?}");
    // (And what a busy machine adds.)
    assert!(took < 2 * AGE + Duration::from_secs(2), "ended after {took:?}");
}
