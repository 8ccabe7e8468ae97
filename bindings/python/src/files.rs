//! The databases that this process has open: one a file, however often it is connected to, closed with its last connection.
//!
//! - A file is known by its path, links followed, and by its identity: a second name of it is the same database.
//! - Opening and closing are done under the file's own lock: who connects while the last connection closes waits for that, and
//!   opens it anew. Nobody holds the interpreter meanwhile.
//! - In a child of `fork` the list is another, empty one: what the parent has open stays the parent's, and no lock that a thread
//!   of the parent's held is asked for.

use std::convert::Infallible;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cairndb::{Connection, Database, Error, Options, PerProcess, Result, SqlState};

/// The path of a database in memory, of which each connection has its own.
pub(crate) const IN_MEMORY: &str = ":memory:";

/// A file that is open, is being opened or closed.
struct Slot {
    path: PathBuf,
    opened: Mutex<Option<Opened>>,
}

struct Opened {
    database: Database,
    options: FileOptions,
    identity: Option<Identity>,
    connections: usize,
}

/// What is said of a file when it is opened, and has to be the same for all who connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileOptions {
    pub(crate) read_only: bool,
    /// `None`: whatever it is.
    pub(crate) cache_bytes: Option<usize>,
}

/// A part in an open file. To be given to [`close`].
pub(crate) struct Handle {
    slot: Option<Arc<Slot>>,
    database: Database,
}

#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = Infallible;

#[cfg(unix)]
fn identity(of: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((of.dev(), of.ino()))
}

#[cfg(not(unix))]
fn identity(_of: &Metadata) -> Option<Identity> {
    None
}

/// This process's files.
fn files() -> &'static Mutex<Vec<Arc<Slot>>> {
    static FILES: PerProcess<Mutex<Vec<Arc<Slot>>>> = PerProcess::new();
    let Ok(files) = FILES.get(|| Ok::<_, Infallible>(Mutex::default()));
    files
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one path that all names through links lead to; the file need not exist.
fn resolve(path: &Path) -> PathBuf {
    let beside = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(beside).unwrap_or_else(|| path.to_owned())
}

/// Connects to a file, which is opened if it is not.
pub(crate) fn connect(path: &Path, options: FileOptions) -> Result<(Handle, Connection)> {
    if path == Path::new(IN_MEMORY) {
        let database = Database::open_in_memory_with(engine_options(options))?;
        let connection = database.connect()?;
        return Ok((Handle { slot: None, database }, connection));
    }
    let slot = slot_of(path);
    let mut opened = lock(&slot.opened);
    let found = match &mut *opened {
        Some(found) => {
            found.check(path, options)?;
            found
        }
        none => none.insert(open(path, options)?),
    };
    let connected = found.database.connect();
    if connected.is_ok() {
        found.connections += 1;
    }
    let handle = Handle { slot: Some(slot.clone()), database: found.database.clone() };
    if found.connections == 0 {
        *opened = None;
    }
    Ok((handle, connected?))
}

fn slot_of(path: &Path) -> Arc<Slot> {
    let resolved = resolve(path);
    let identity = std::fs::metadata(path).ok().and_then(|found| identity(&found));
    let mut slots = lock(files());
    // Whoever has a part in one took it under this lock.
    slots.retain(|slot| Arc::strong_count(slot) > 1);
    let is_it = |slot: &&Arc<Slot>| slot.path == resolved || (identity.is_some() && slot.identity() == identity);
    if let Some(found) = slots.iter().find(is_it) {
        return found.clone();
    }
    let slot = Arc::new(Slot { path: resolved, opened: Mutex::default() });
    slots.push(slot.clone());
    slot
}

impl Slot {
    /// Of the open file; `None` while it is being opened or closed, too.
    fn identity(&self) -> Option<Identity> {
        self.opened.try_lock().ok()?.as_ref()?.identity
    }
}

impl Opened {
    fn check(&self, path: &Path, options: FileOptions) -> Result<()> {
        let same_bytes = options.cache_bytes.is_none() || options.cache_bytes == self.options.cache_bytes;
        if self.options.read_only == options.read_only && same_bytes {
            return Ok(());
        }
        let message = format!("database \"{}\" is open in this process with other options", path.display());
        let hint = "read_only and cache_bytes are of the file, for all connections of a process: give the same, or close the others first.";
        Err(Error::new(SqlState::OBJECT_IN_USE, message).with_hint(hint))
    }
}

fn engine_options(options: FileOptions) -> Options {
    Options::default().read_only(options.read_only).cache_bytes(options.cache_bytes.unwrap_or(0))
}

fn open(path: &Path, options: FileOptions) -> Result<Opened> {
    let database = Database::open_with(path, engine_options(options)).map_err(|error| told(path, error))?;
    let identity = std::fs::metadata(path).ok().and_then(|found| identity(&found));
    Ok(Opened { database, options, identity, connections: 0 })
}

/// Who comes second is told what to do.
fn told(path: &Path, error: Error) -> Error {
    if error.sqlstate() != SqlState::OBJECT_IN_USE || error.hint().is_some() {
        return error;
    }
    error.with_hint(format!(
        "One process has a file open for writing. Let it serve the others (cairn serve {}), which then connect with any \
         PostgreSQL driver; or let all of them only read (read_only=True).",
        path.display()
    ))
}

impl Handle {
    /// Another connection to the same database.
    pub(crate) fn again(&self) -> Result<(Handle, Connection)> {
        let connection = self.database.connect()?;
        if let Some(slot) = &self.slot
            && let Some(opened) = &mut *lock(&slot.opened)
        {
            opened.connections += 1;
        }
        Ok((Handle { slot: self.slot.clone(), database: self.database.clone() }, connection))
    }

    /// The database.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Ends a part in a file; the last one closes it, and tells what went wrong. Nothing else of the part's may use the database any more.
    pub(crate) fn close(self) -> Result<()> {
        let Handle { slot, database } = self;
        let Some(slot) = slot else {
            drop(database);
            return Ok(());
        };
        let mut opened = lock(&slot.opened);
        let Some(found) = &mut *opened else { return Ok(()) };
        found.connections -= 1;
        if found.connections > 0 {
            return Ok(());
        }
        let last = opened.take();
        drop(database);
        last.map_or(Ok(()), |last| last.database.close())
    }
}
