//! An open database.

use std::path::Path;
use std::sync::atomic::Ordering;

use cairn_storage::Store;

use super::{Connection, Notice, Options};
use crate::session::{Handle, Shared};
use crate::verify::{Verified, Violation};
use crate::{Result, SqlState};

/// An open database file (or one in memory). Cheap to clone; shared between threads.
///
/// It is the process's that opened it: in a child of that by `fork`, everything fails (SQLSTATE 55000), and dropping it there leaves the
/// files as they are. Fork first, or open the database in the child once the parent has closed it.
///
/// ```
/// use cairndb::{Database, Options};
///
/// let path = std::env::temp_dir().join(format!("cairndb-doc-{}.cairn", std::process::id()));
/// let db = Database::open_with(&path, Options::default().cache_bytes(64 << 20))?;
/// db.connect()?.execute_script("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")?;
/// db.close()?;
///
/// let conn = Database::open(&path)?.connect()?;
/// assert_eq!(conn.query_row("SELECT sum(a) FROM t", (), |row| row.get::<i64>(0))?, 3);
/// # drop(conn);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Handle,
}

/// The path that means a database in memory, by the custom of embedded databases. (A file of that name is `./:memory:`.)
const IN_MEMORY: &str = ":memory:";

impl Database {
    fn new(store: Store, options: Options) -> Result<Database> {
        Ok(Database { shared: Handle::new(Shared::new(store, options)?) })
    }

    /// Opens or creates the database file at `path`; an empty file becomes a new database, and `:memory:` means one in memory.
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Self::open_with(path, Options::default())
    }

    /// As [`Database::open`], with options.
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Database> {
        if path.as_ref() == Path::new(IN_MEMORY) {
            return Self::open_in_memory_with(options);
        }
        let store = Store::open(path.as_ref(), options.storage())?;
        Database::new(store, options)
    }

    /// A database in memory, gone with its last handle.
    pub fn open_in_memory() -> Result<Database> {
        Self::open_in_memory_with(Options::default())
    }

    /// A database in memory, gone with its last handle.
    ///
    /// ```
    /// let mut options = cairndb::Options::default();
    /// options.time_zone = Some("Europe/Berlin".to_string());
    /// let conn = cairndb::Database::open_in_memory_with(options)?.connect()?;
    /// assert_eq!(conn.time_zone(), "Europe/Berlin");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn open_in_memory_with(options: Options) -> Result<Database> {
        let store = Store::open_in_memory(options.storage())?;
        Database::new(store, options)
    }

    /// A database in a store that the caller opened: on a simulated disk, or with options that [`Options`] leaves out.
    /// Of `options` only those of new connections matter, and `read_only`, which must say what the store is.
    pub fn over(store: Store, options: Options) -> Result<Database> {
        Database::new(store, options)
    }

    /// What SQL calls it: [`Options::name`](crate::Options::name).
    ///
    /// ```
    /// assert_eq!(cairndb::Database::open_in_memory()?.name(), "cairndb");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        self.shared.name()
    }

    /// Names this opening of the database: another text after each crash, and of each other database. What may come again after a crash that took
    /// commits of a weak mode (versions of documents, numbers of sequences) comes once in an opening.
    ///
    /// ```
    /// let (one, other) = (cairndb::Database::open_in_memory()?, cairndb::Database::open_in_memory()?);
    /// assert!(one.opening() == one.clone().opening() && one.opening() != other.opening());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn opening(&self) -> String {
        self.shared.opening()
    }

    /// A new connection. Each thread uses its own.
    pub fn connect(&self) -> Result<Connection> {
        Connection::new(self.clone())
    }

    /// Counters since the database was opened.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE t (a int)", ())?;
    /// for (name, value) in db.stats().entries() {
    ///     println!("{name}: {value}");
    /// }
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn stats(&self) -> cairn_storage::Stats {
        let mut stats = self.shared.store.stats();
        stats.spill_files = self.shared.spilled.files.load(Ordering::Relaxed);
        let handed_over = &self.shared.handed_over;
        stats.handed_over = handed_over.all.load(Ordering::Relaxed);
        stats.handed_over_for_plan = handed_over.for_plan.load(Ordering::Relaxed);
        stats.handed_over_for_sequence = handed_over.for_sequence.load(Ordering::Relaxed);
        stats.spill_bytes_written = self.shared.spilled.bytes_written.load(Ordering::Relaxed);
        stats
    }

    /// Writes what the log holds to the database file.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE t (a int)", ())?;
    /// db.checkpoint()?;
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn checkpoint(&self) -> Result<()> {
        Ok(self.shared.store.checkpoint()?)
    }

    /// Gives memory of the page cache back to the system, so many bytes if it can, of pages that nobody looked at for longest first;
    /// how many it was, in chunks of 2 MiB (of an eighth where the cache has less than 16 MiB). Changed pages are written to the file. The cache
    /// grows again when pages are read. While memory is short this is done without being asked for (docs/guarantees.md).
    ///
    /// # Errors
    /// SQLSTATE 58030 where the file can not be written; a full disk is none: what can not be written stays.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # db.connect()?.execute("CREATE TABLE t AS SELECT g AS n FROM generate_series(1, 1000) AS s(g)", ())?;
    /// let before = db.stats().cache_bytes_released;
    /// let released = db.release_memory(64 << 20)?;
    /// assert_eq!(db.stats().cache_bytes_released - before, released as u64);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn release_memory(&self, bytes: usize) -> Result<usize> {
        Ok(self.shared.store.release_memory(bytes)?)
    }

    /// Checks every page, checksum, order and the free space, and compares every index with its table, both ways; what it
    /// looked at. The functions of the schema's that indexes rest on are run, for up to a minute an index, and change nothing. An error
    /// tells of all that is wrong, or could not be checked; everything else was.
    pub fn verify(&self) -> Result<Verified> {
        crate::verify::verify(&self.shared)
    }

    /// Checks every row against NOT NULL, the CHECK constraints and the foreign keys of its table; those that are violated.
    /// No statement leaves such a row: a salvage may, and an older version whose condition meant something else.
    /// (Uniqueness is what [`Database::verify`] shows.)
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute_script("CREATE TABLE t (a int CHECK (a > 0)); INSERT INTO t VALUES (1)")?;
    /// assert!(db.verify_constraints()?.is_empty());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn verify_constraints(&self) -> Result<Vec<Violation>> {
        crate::verify::verify_constraints(&self.shared)
    }

    /// Copies the database to a new file while it is in use; the copy is consistent. Of a database that another process has
    /// open: [`Database::request_backup`].
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let copy = folder.path().join("copy.cairn");
    /// conn.execute_script("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")?;
    /// db.backup_to(&copy)?;
    /// let (count,): (i64,) = cairndb::Database::open(&copy)?.connect()?.query_row_as("SELECT count(*) FROM t", ())?;
    /// assert_eq!(count, 1);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn backup_to(&self, path: impl AsRef<Path>) -> Result<()> {
        self.backup_with_progress(path, |_| {})
    }

    /// As [`Database::backup_to`]; `progress` hears of the bytes copied so far.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let copy = folder.path().join("copy.cairn");
    /// db.backup_with_progress(&copy, |bytes| println!("{bytes} bytes"))?;
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn backup_with_progress(&self, path: impl AsRef<Path>, mut progress: impl FnMut(u64)) -> Result<()> {
        Ok(self.shared.store.backup_to(path.as_ref(), &mut progress)?)
    }

    /// Gives free space back to the file system; the file's bytes before and after.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Database::open(folder.path().join("x.cairn"))?;
    /// let (before, after) = db.compact()?;
    /// println!("{before} bytes before, {after} now");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn compact(&self) -> Result<(u64, u64)> {
        Ok(self.shared.store.compact()?)
    }

    /// How commits reach the medium; `None` in a database opened for reading.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// println!("commits are durable by {:?}", db.sync_method());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn sync_method(&self) -> Option<cairn_storage::SyncMethod> {
        self.shared.store.sync_method()
    }

    /// A warning where the files were moved, replaced or removed since the database was opened. It goes on with the files that it
    /// has open, and closes them cleanly; its log and its lock file it does not remove then, wherever they lie, for what has
    /// their names may be another database's. The next opening of the moved file does.
    ///
    /// ```
    /// let db = cairndb::Database::open_in_memory()?;
    /// assert!(db.misplaced().is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn misplaced(&self) -> Option<Notice> {
        let store = &self.shared.store;
        // What can not be looked at is told by who has to do something there.
        if store.has_its_name().unwrap_or(true) {
            return None;
        }
        Some(Notice {
            severity: "WARNING",
            code: SqlState::WARNING,
            message: format!(
                "the files of database \"{}\" were moved, replaced or removed while it was open",
                store.path().display()
            ),
            detail: Some("It goes on where they are now; what has their names there is left alone.".to_owned()),
        })
    }

    /// Checkpoints and closes, with the errors that dropping the last handle could not tell. Where the files were moved meanwhile
    /// they are closed where they are ([`Database::misplaced`]).
    ///
    /// It is closed for all that have it, clones, connections, statements and pools: from now on they change nothing (SQLSTATE
    /// 55000; so does closing it again), and what an open transaction has not committed is gone. Whatever they still read is as it
    /// was. The last of them gives the file free: until then opening it again is SQLSTATE 55006.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("x.cairn");
    /// use cairndb::{Database, SqlState};
    ///
    /// let database = Database::open(&path)?;
    /// let conn = database.connect()?;
    /// conn.execute_script("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")?;
    /// database.close()?;
    /// let refused = conn.execute("INSERT INTO t VALUES (2)", ()).unwrap_err();
    /// assert_eq!(refused.sqlstate(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    /// assert_eq!(Database::open(&path).err().expect("still there").sqlstate(), SqlState::OBJECT_IN_USE);
    /// drop(conn);
    /// Database::open(&path)?.close()?;
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn close(self) -> Result<()> {
        self.shared.store.process().check()?;
        self.shared.backup_answers.stop();
        // Nothing writes any more but the caller.
        self.shared.followers.settle();
        self.shared.followers.stop();
        let store = self.shared.store.clone();
        self.shared.followers.stop_watching(store.snapshot().map_or(0, |newest| newest.position()));
        self.shared.channels.close();
        // The last handle settles the sequences before the store closes.
        drop(self);
        Ok(store.close()?)
    }
}
