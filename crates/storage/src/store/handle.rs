//! The public handle of an open database.

use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::background::Background;
use super::open;
use super::verify::Verified;
use crate::broken::{self, Broken};
use crate::engine::{Act, Engine, Handle, Losses, Position, Stage};
use crate::env::Environment;
use crate::io::{LockGuard, LockOutcome};
use crate::log::log_path;
use crate::options::IN_MEMORY_CACHE;
use crate::process::Process;
use crate::stats::Stats;
use crate::sync::{Mutex, Ordering};
use crate::txn::{AppendListener, Interest, Observer, Patience, Session, Snapshot, Transaction};
use crate::{Error, Memory, Options, Result, Wait};

/// For how long closing frees what was dropped.
const FREES_AT_CLOSE: Duration = Duration::from_millis(250);

/// An open database. Cheap to clone. It is closed, with a last checkpoint, when its last clone and everything that
/// reads from it is gone.
#[derive(Clone)]
pub struct Store {
    handle: Arc<Handle>,
    opened: Arc<Opened>,
}

/// What was opened; dropping it closes the database.
pub(super) struct Opened {
    engine: Arc<Engine>,
    /// `None` once the database is being closed.
    background: Mutex<Option<Background>>,
    /// Where backups go.
    copies: Environment,
    /// Kept while the database is open, and given back last: what locks a file that was made here, and the database's lock.
    _lock: (Option<LockGuard>, Option<LockGuard>),
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({:?})", self.path())
    }
}

impl Opened {
    /// Stops the background and, if it may, leaves a clean database without a log. Errors leave it to recovery.
    fn close(&self) -> Result<()> {
        self.engine.check_process()?;
        // One closes at a time.
        let mut background = self.background.lock();
        let settled = self.settle();
        self.engine.watch.close();
        self.engine.ring_all();
        drop(background.take());
        settled?;
        if self.engine.publisher.life.stage() == Stage::ReadOnly {
            return Ok(());
        }
        // What is not freed by then is named in the checkpoint.
        let end = self.engine.env.host.now() + FREES_AT_CLOSE;
        let _ = self.engine.work_off_drops_for(Some(&|| self.engine.env.host.now() >= end));
        if broken::is(Broken::LogRemovedFirst) {
            let _ = self.engine.env.files.remove(&log_path(&self.engine.path));
        }
        // The meta pages say then that no log is needed, and nothing is written any more.
        self.engine.checkpoint_clean()?;
        self.remove_log()
    }

    /// Unless another file has its name: whoever moved a database away may have put another in its place, which needs its own.
    /// A clean database does not mind its log.
    fn remove_log(&self) -> Result<()> {
        let (log, files) = (log_path(&self.engine.path), &self.engine.env.files);
        let file = &self.engine.segments()?.file;
        let is_own = file.has_name(&log).map_err(Error::io("look for the log"))?;
        if !is_own && !broken::is(Broken::RemovedByName) {
            return Ok(());
        }
        if !broken::is(Broken::LogRemovedFirst) {
            files.remove(&log).map_err(Error::io("remove the log"))?;
        }
        files.sync_directory(&log).map_err(Error::io("sync the log's directory"))
    }

    /// Until nothing is committed any more the background does what it promised to those who did not wait.
    fn settle(&self) -> Result<()> {
        let life = &self.engine.publisher.life;
        if life.stage() == Stage::ReadOnly {
            return Ok(());
        }
        life.check(Act::Log)?;
        // A file that is too long is no error: the next close tries again.
        let _ = super::compact::compact_at_close(&self.engine);
        self.engine.accept_no_more()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Who wants to hear of errors calls `Store::close`; what failed here is made good by the next open.
        let _ = self.close();
    }
}

impl Store {
    /// Opens the database file at `path`, or creates it.
    ///
    /// One process, and one `Store`, has a database open for writing at a time; others get [`Error::Busy`]. Where nobody does,
    /// several may have it open for reading.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Store> {
        Self::open_with(path, options, Environment::real())
    }

    /// A database in memory, gone with its last handle. Its backups are files.
    pub fn open_in_memory(options: Options) -> Result<Store> {
        let cache_bytes = if options.cache_bytes == 0 { IN_MEMORY_CACHE } else { options.cache_bytes };
        let options = Options { cache_bytes, log_limit_bytes: 64 << 20, checkpoint_log_bytes: 16 << 20, ..options };
        Self::open_and_copy_to(Path::new("memory"), options, Environment::in_memory(), Environment::real())
    }

    /// As `open`, in surroundings of the caller's choice.
    pub fn open_with(path: impl AsRef<Path>, options: Options, env: Environment) -> Result<Store> {
        Self::open_and_copy_to(path.as_ref(), options, env.clone(), env)
    }

    fn open_and_copy_to(path: &Path, options: Options, env: Environment, copies: Environment) -> Result<Store> {
        options.check()?;
        let path = Self::absolute(path, &env)?;
        let locked = if options.read_only { env.files.lock_shared(&path) } else { env.files.lock(&path) };
        match locked {
            Ok(LockOutcome::Held(guard)) => Self::open_held(path, options, env, copies, Some(guard)),
            Ok(LockOutcome::Busy { pid }) => {
                let shared = || env.files.lock_shared(&path);
                let is_read = !options.read_only && matches!(shared(), Ok(LockOutcome::Held(_)));
                Err(Error::Busy { path, pid, is_read })
            }
            Err(error) => Err(Error::CannotOpen { path, error: Arc::new(error) }),
        }
    }

    fn absolute(path: &Path, env: &Environment) -> Result<PathBuf> {
        let absolute = match broken::is(Broken::PathAsGiven) {
            true => Ok(path.to_path_buf()),
            false => env.files.absolute(path),
        };
        absolute.map_err(|error| Error::CannotOpen { path: path.to_path_buf(), error: Arc::new(error) })
    }

    /// Of a database whose lock is held: by this store from now on, or by somebody who outlives it.
    pub(super) fn open_held(
        path: PathBuf,
        options: Options,
        env: Environment,
        copies: Environment,
        lock: Option<LockGuard>,
    ) -> Result<Store> {
        options.check()?;
        let (engine, own) = open::open(&path, &options, &env)?;
        let background = Mutex::new(Some(Background::start(&engine)?));
        let opened = Arc::new(Opened { engine: engine.clone(), background, copies, _lock: (own, lock) });
        let handle = Arc::new(Handle::new(engine, opened.clone()));
        Ok(Store { handle, opened })
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.handle.engine()
    }

    /// Where backups go.
    pub(super) fn copies(&self) -> &Environment {
        &self.opened.copies
    }

    /// The latest durable state, for reading. It stays as it is, and costs the pages that changed since, while it lives.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Snapshot::newest(&self.handle)
    }

    /// A serializable transaction on the latest durable state.
    pub fn begin(&self) -> Result<Transaction> {
        Transaction::begin(&self.handle)
    }

    /// As `begin`, for work whose earlier tries lost: after many of them commits of others that would beat it once more
    /// wait until it has ended, for a bounded time. This waits until nobody else is served so.
    pub fn begin_after(&self, lost: &Losses) -> Result<Transaction> {
        Transaction::begin_after(&self.handle, lost, &|| false)
    }

    /// As `begin_after`; soon after `gives_up` returns true it waits no longer, and the transaction begins like any other.
    pub fn begin_after_unless(&self, lost: &Losses, gives_up: &dyn Fn() -> bool) -> Result<Transaction> {
        Transaction::begin_after(&self.handle, lost, gives_up)
    }

    /// As `begin_after_unless`, for who must not be kept waiting by what he changes either: where that needs room in the log that
    /// others have, or pages that only a checkpoint frees, it fails with [`Error::GivenUp`] soon after `patience` is over.
    pub fn begin_patiently(
        &self,
        lost: &Losses,
        patience: Arc<dyn Patience>,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Transaction> {
        Transaction::begin_patiently(&self.handle, lost, patience, gives_up)
    }

    /// A handle for point statements; one per connection.
    pub fn session(&self) -> Result<Session> {
        self.handle.engine_here()?;
        Session::new(&self.handle)
    }

    /// As `snapshot`, of a state that no crash takes back, whatever the durability of its commits.
    pub fn durable_snapshot(&self) -> Result<Snapshot> {
        let snapshot = self.snapshot()?;
        let (engine, position) = (self.engine(), snapshot.position());
        if engine.durable() < position {
            engine.wait_durable(engine.lock_writer(), position)?;
        }
        Ok(snapshot)
    }

    /// Starts a thread, as the database's surroundings do it; the returned closure waits for its end.
    pub fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> Result<crate::Join> {
        self.handle.engine_here()?.env.host.spawn(name, work).map_err(Error::io("start a thread"))
    }

    /// Watches the database from now on; `None` while somebody else does.
    pub fn observe(&self) -> Result<Option<(Observer, Interest)>> {
        Observer::begin(&self.handle)
    }

    /// Hears of commits that append from now on.
    pub fn listen_to_appends(&self) -> AppendListener {
        AppendListener::new(&self.handle)
    }

    /// A place in this database's log, as users are told it.
    pub fn told(&self, position: u64) -> Position {
        self.engine().told(position)
    }

    /// The place in this database's log that was told, here or by an earlier opening. [`Error::NoSuchPosition`] where it was told
    /// by another database, is of a commit that a crash took, or so old that this is not known.
    pub fn place_of(&self, told: &Position) -> Result<u64> {
        self.handle.engine_here()?.place_of(told)
    }

    /// A number that no other opening of a database has; 0 where it is only read.
    pub fn session_number(&self) -> u64 {
        self.engine().opening.session
    }

    /// Waits until a snapshot has the commit at this log position, for at most so long; false: it has not so far. Soon after
    /// `gives_up` returns true it fails with [`Error::GivenUp`].
    pub fn wait_visible(&self, position: u64, longest: Option<Duration>, gives_up: &dyn Fn() -> bool) -> Result<bool> {
        self.handle.engine_here()?.wait_visible(position, longest, gives_up)
    }

    /// The process that opened it: in children of that every call fails ([`Error::Forked`]).
    #[inline]
    pub fn process(&self) -> Process {
        self.engine().pages.slots.process
    }

    /// Tells the database from all others, its own copies included.
    pub fn database_id(&self) -> u128 {
        self.engine().database
    }

    /// The bytes of memory that its cache takes at most.
    pub fn cache_bytes(&self) -> usize {
        self.engine().pages.most_bytes()
    }

    /// The memory that its cache shares with others; `None`: it has its own.
    pub fn memory(&self) -> Option<Memory> {
        self.engine().pages.memory()
    }

    /// Counters since the database was opened.
    pub fn stats(&self) -> Stats {
        let engine = self.engine();
        let counters = &engine.counters;
        if !self.handle.is_here() {
            return counters.read();
        }
        let page = engine.pages.page_size() as u64;
        let (total, free) = engine.pages.page_counts();
        counters.cache_bytes.set(self.cache_bytes() as u64);
        counters.cache_bytes_used.set(engine.pages.memory_taken() as u64);
        counters.dirty_bytes.set(engine.pages.dirty_count() as u64 * page);
        let (hits, searches) = engine.pages.slots.hits_and_searches();
        counters.page_hits.set(hits);
        counters.tree_searches.set(searches);
        counters.pages_total.set(total as u64);
        counters.drops_left.set(engine.drops.lock().len() as u64);
        counters.pages_free.set(free as u64);
        counters.log_bytes_live.set(engine.segments.as_ref().map_or(0, |segments| segments.live_bytes()));
        counters.since_sync_us.set(engine.since_sync().map_or(0, |time| time.as_micros() as u64));
        let newest = self.snapshot().map(|snapshot| snapshot.view().version().number.load(Ordering::Acquire));
        let newest = newest.unwrap_or(0);
        counters.snapshot_age_versions.set(newest - engine.pages.oldest_reader(newest));
        counters.read()
    }

    /// Writes the newest state to the database file now; commits go on meanwhile.
    pub fn checkpoint(&self) -> Result<()> {
        let engine = self.handle.engine_here()?;
        Wait::Checkpoint.during(|| engine.run_checkpoint())
    }

    /// Does now what the background does when it has time: frees what was dropped, and writes a checkpoint, so that the log
    /// can be used again. For a store in surroundings without threads.
    pub fn keep_house(&self) -> Result<()> {
        self.handle.engine_here()?.work_off_drops()?;
        self.engine().run_checkpoint()
    }

    /// Gives memory of the cache back to the system, so many bytes if it can, by pages that were not looked at for longest first; how
    /// many it was. Pages that are not in the file are written to it. The cache grows again when pages are read. (While memory is
    /// short, on the machine or in a control group of the process's, this is done without being asked for.)
    ///
    /// # Errors
    /// The file can not be written.
    pub fn release_memory(&self, bytes: usize) -> Result<usize> {
        self.handle.engine_here()?.pages.release_memory(bytes)
    }

    /// Reads every page of the newest state and of the newest checkpoint and checks all there is to check.
    pub fn verify(&self) -> Result<Verified> {
        self.handle.engine_here()?;
        super::verify::verify(self)
    }

    /// How much room a tree takes; all of it is read. A tree that is not there takes none.
    pub fn tree_size(&self, tree: crate::TreeId) -> Result<super::TreeSize> {
        self.handle.engine_here()?;
        super::measure::measure(self, tree)
    }

    /// A consistent copy of the newest durable state in a new file, made while the database is in use. The file has its
    /// name once it is whole. `progress` hears of the bytes written so far.
    pub fn backup_to(&self, path: impl AsRef<Path>, progress: &mut dyn FnMut(u64)) -> Result<()> {
        self.handle.engine_here()?;
        super::backup::backup(self, path.as_ref(), progress)
    }

    /// Sends a consistent copy of the newest durable state to another process, which makes a file of it by
    /// [`Store::receive_copy`].
    pub fn send_copy(&self, to: &mut dyn Write) -> Result<()> {
        self.handle.engine_here()?;
        super::transfer::send_copy(self, to)
    }

    /// Makes a new database file of what [`Store::send_copy`] sent. The file has its name once it is whole. `progress` hears
    /// of the bytes written so far.
    pub fn receive_copy(from: &mut dyn Read, path: impl AsRef<Path>, progress: &mut dyn FnMut(u64)) -> Result<()> {
        super::transfer::receive_copy(from, path.as_ref(), progress)
    }

    /// Moves what lies at the end of the file into free space and gives the rest back. Returns (bytes before, after).
    pub fn compact(&self) -> Result<(u64, u64)> {
        super::compact::compact(self.handle.engine_here()?)
    }

    /// Where the database lies.
    pub fn path(&self) -> &Path {
        &self.engine().path
    }

    /// Whether the database's path still names its file: files are moved, replaced and removed while they are open.
    pub fn has_its_name(&self) -> Result<bool> {
        let engine = self.handle.engine_here()?;
        engine.pages.file().has_name(&engine.path).map_err(Error::io("look for the database file"))
    }

    /// How the log reaches the medium.
    pub fn sync_method(&self) -> Option<crate::io::SyncMethod> {
        self.engine().segments.as_ref().map(|segments| segments.file.sync_method())
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> usize {
        self.engine().pages.page_size()
    }

    /// Checkpoints, gives back free space where the database is not too large (`Options::close_compact_bytes`), closes, and
    /// tells what went wrong, which dropping the last handle could not.
    ///
    /// Snapshots, transactions and sessions that still live can no longer change anything.
    pub fn close(self) -> Result<()> {
        self.opened.close()
    }
}
