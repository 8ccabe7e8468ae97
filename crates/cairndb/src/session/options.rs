//! How a database is opened.

use std::path::PathBuf;
use std::time::Duration;

pub use cairn_storage::{Durability, Memory, OpeningListener, OpeningProgress};

use super::Ceilings;

/// Options of [`Database::open_with`](crate::Database::open_with). Start from `Options::default()`.
///
/// ```
/// use std::time::Duration;
/// use cairndb::{Database, Durability, Options};
///
/// let options = Options::default()
///     .durability(Durability::Group)
///     .cache_bytes(64 << 20)
///     .checkpoint_log_bytes(32 << 20)
///     .work_mem(16 << 20)
///     .statement_mem(256 << 20)
///     .temp_file_limit(4 << 30)
///     .temp_table_limit(64 << 20)
///     .temp_directory(std::env::temp_dir())
///     .statement_timeout(Duration::from_secs(30))
///     .idle_in_transaction_session_timeout(Duration::from_secs(60))
///     .transaction_timeout(Duration::from_secs(120))
///     .max_snapshot_age(Duration::from_secs(600))
///     .max_transaction_bytes(256 << 20);
/// let conn = Database::open_in_memory_with(options)?.connect()?;
/// assert_eq!(conn.query_row_as::<String>("SHOW statement_timeout", ())?, "30s");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// What SQL calls the database (`current_database()`); `None`: `cairndb`. Nothing of it is in the file.
    pub name: Option<String>,
    /// What the acknowledgement of a commit means, unless the connection or transaction says otherwise.
    pub durability: Durability,
    /// Refuse every change; works on read-only media.
    pub read_only: bool,
    /// The most bytes of memory for pages, taken as they are used (`SHOW cache_bytes`); 0 means the default: what there is of `memory`;
    /// for a database in memory 256 MiB.
    pub cache_bytes: usize,
    /// Memory for pages that is shared with other databases: each gets what it makes use of. `None` means the default: a quarter of
    /// the memory that the process may use (the machine's, its control group's, or `ulimit -v`), which all of its databases share
    /// that say nothing else. One with `cache_bytes` has those for itself.
    pub memory: Option<Memory>,
    /// Bytes of log after which a checkpoint begins; 0 means the default. More of them make checkpoints rarer and
    /// reopening after a crash longer.
    pub checkpoint_log_bytes: u64,
    /// The longest a statement may run on new connections; `None`: no limit.
    pub statement_timeout: Option<Duration>,
    /// Bytes of memory that one sort, hash table or materialised result of a query may hold before it goes on in a
    /// temporary file (`SET work_mem`); 0 means the default, 256 MiB.
    pub work_mem: usize,
    /// Bytes of memory that one statement may hold for all of them (`SET statement_mem`), SQLSTATE 53200 beyond; 0 means
    /// the default, 1 GiB.
    pub statement_mem: usize,
    /// Bytes that the temporary files of one connection may take together (`SET temp_file_limit`), SQLSTATE 53400 beyond;
    /// `None`: no limit.
    pub temp_file_limit: Option<u64>,
    /// Bytes that the temporary tables and indexes of one connection may take together, in memory (`SET temp_table_limit`,
    /// before the connection makes the first), SQLSTATE 53100 beyond; `None`: 256 MiB.
    pub temp_table_limit: Option<u64>,
    /// Where temporary files are written; `None`: the system's folder for them. They have no name there (Unix) or are
    /// deleted on closing (Windows), and only their owner can open them.
    pub temp_directory: Option<PathBuf>,
    /// How long an open transaction may wait for its next statement on new connections
    /// (`SET idle_in_transaction_session_timeout`); then it is rolled back, and the next statement is told with SQLSTATE
    /// 25P03. `None`: no limit. Noticed by the next statement.
    pub idle_in_transaction_session_timeout: Option<Duration>,
    /// How long a transaction may take on new connections (`SET transaction_timeout`), SQLSTATE 25P04 beyond; `None`: no
    /// limit.
    pub transaction_timeout: Option<Duration>,
    /// How long a snapshot, a query's or a transaction's, may keep what newer commits replaced: then it is ended, with
    /// SQLSTATE 72000, so that the file does not grow for a reader that is stuck. `None`: as long as it lives. Backups
    /// are not ended.
    pub max_snapshot_age: Option<Duration>,
    /// Bytes of changes (keys and values, as the log has them) that one transaction may make, SQLSTATE 53400 beyond; 0: no
    /// limit but the log's.
    pub max_transaction_bytes: u64,
    /// IANA name of the time zone of new connections; `None`: UTC.
    pub time_zone: Option<String>,
    /// How much time a crash may lose under [`Durability::Interval`]; `None`: 10 ms.
    pub sync_interval: Option<Duration>,
    /// How many commits that wait under [`Durability::Group`] are not kept waiting for more; 0: 64.
    pub group_size: u32,
    /// Is told how far an opening is that takes longer than a second; `None`: nobody is.
    pub on_opening: Option<OpeningListener>,
}

impl Options {
    /// Sets [`Options::name`].
    ///
    /// ```
    /// let options = cairndb::Options::default().name("shop");
    /// let conn = cairndb::Database::open_in_memory_with(options)?.connect()?;
    /// assert_eq!(conn.query_row_as::<String>("SELECT current_database()", ())?, "shop");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Options {
        self.name = Some(name.into());
        self
    }

    /// Sets [`Options::durability`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Options {
        self.durability = durability;
        self
    }

    /// Sets [`Options::read_only`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("x.cairn");
    /// # cairndb::Database::open(&path)?.close()?;
    /// let reader = cairndb::Database::open_with(&path, cairndb::Options::default().read_only(true))?;
    /// assert_eq!(reader.connect()?.execute("CREATE TABLE t ()", ()).unwrap_err().sqlstate().as_str(), "25006");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Options {
        self.read_only = read_only;
        self
    }

    /// Sets [`Options::cache_bytes`].
    #[must_use]
    pub fn cache_bytes(mut self, cache_bytes: usize) -> Options {
        self.cache_bytes = cache_bytes;
        self
    }

    /// Sets [`Options::memory`].
    ///
    /// ```
    /// use cairndb::{Database, Memory, Options};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let memory = Memory::shared(64 << 20);
    /// let options = Options::default().memory(memory.clone());
    /// let shop = Database::open_with(folder.path().join("shop.cairn"), options.clone())?;
    /// let blog = Database::open_with(folder.path().join("blog.cairn"), options)?;
    /// assert!(memory.taken() <= memory.bytes());
    /// # drop((shop, blog));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn memory(mut self, memory: Memory) -> Options {
        self.memory = Some(memory);
        self
    }

    /// Sets [`Options::checkpoint_log_bytes`].
    #[must_use]
    pub fn checkpoint_log_bytes(mut self, checkpoint_log_bytes: u64) -> Options {
        self.checkpoint_log_bytes = checkpoint_log_bytes;
        self
    }

    /// Sets [`Options::statement_timeout`].
    #[must_use]
    pub fn statement_timeout(mut self, limit: Duration) -> Options {
        self.statement_timeout = Some(limit);
        self
    }

    /// Sets [`Options::work_mem`].
    #[must_use]
    pub fn work_mem(mut self, bytes: usize) -> Options {
        self.work_mem = bytes;
        self
    }

    /// Sets [`Options::statement_mem`].
    #[must_use]
    pub fn statement_mem(mut self, bytes: usize) -> Options {
        self.statement_mem = bytes;
        self
    }

    /// Sets [`Options::temp_file_limit`].
    #[must_use]
    pub fn temp_file_limit(mut self, bytes: u64) -> Options {
        self.temp_file_limit = Some(bytes);
        self
    }

    /// Sets [`Options::temp_table_limit`].
    pub fn temp_table_limit(mut self, bytes: u64) -> Options {
        self.temp_table_limit = Some(bytes);
        self
    }

    /// Sets [`Options::temp_directory`].
    #[must_use]
    pub fn temp_directory(mut self, directory: impl Into<PathBuf>) -> Options {
        self.temp_directory = Some(directory.into());
        self
    }

    /// Sets [`Options::idle_in_transaction_session_timeout`].
    #[must_use]
    pub fn idle_in_transaction_session_timeout(mut self, limit: Duration) -> Options {
        self.idle_in_transaction_session_timeout = Some(limit);
        self
    }

    /// Sets [`Options::transaction_timeout`].
    #[must_use]
    pub fn transaction_timeout(mut self, limit: Duration) -> Options {
        self.transaction_timeout = Some(limit);
        self
    }

    /// Sets [`Options::max_snapshot_age`].
    #[must_use]
    pub fn max_snapshot_age(mut self, limit: Duration) -> Options {
        self.max_snapshot_age = Some(limit);
        self
    }

    /// Sets [`Options::max_transaction_bytes`].
    #[must_use]
    pub fn max_transaction_bytes(mut self, bytes: u64) -> Options {
        self.max_transaction_bytes = bytes;
        self
    }

    /// Has `hear` called while a database is opened that was not closed and has much in its log, after a second and then every
    /// tenth of one at the most, on the thread that opens, which waits meanwhile. A panic in it is one of the opening, which
    /// leaves the files as one that fails does. Of a database in memory it hears nothing.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("x.cairn");
    /// let options = cairndb::Options::default().on_opening(|progress| {
    ///     eprintln!("applied {} of {} bytes of log", progress.applied_bytes, progress.log_bytes);
    /// });
    /// let db = cairndb::Database::open_with(&path, options)?;
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    #[must_use]
    pub fn on_opening(mut self, hear: impl Fn(&OpeningProgress) + Send + Sync + 'static) -> Options {
        self.on_opening = Some(OpeningListener::new(hear));
        self
    }

    /// What the settings of sessions can not go beyond that others' statements run in, where nothing else is said:
    /// [`Database::ceilings`](crate::Database::ceilings).
    ///
    /// ```
    /// let ceilings = cairndb::Options::default().work_mem(1 << 20).ceilings();
    /// assert_eq!(ceilings.work_mem, Some(1 << 20));
    /// ```
    #[must_use]
    pub fn ceilings(&self) -> Ceilings {
        Ceilings::of(self)
    }

    pub(crate) fn storage(&self) -> cairn_storage::Options {
        let mut options = cairn_storage::Options::default();
        options.durability = self.durability;
        options.read_only = self.read_only;
        options.max_snapshot_age = self.max_snapshot_age;
        options.max_transaction_bytes = self.max_transaction_bytes;
        options.cache_bytes = self.cache_bytes;
        options.memory.clone_from(&self.memory);
        options.on_opening.clone_from(&self.on_opening);
        if let Some(interval) = self.sync_interval {
            options.sync_interval = interval;
        }
        if self.group_size > 0 {
            options.group_size = self.group_size;
        }
        if self.checkpoint_log_bytes > 0 {
            options.checkpoint_log_bytes = self.checkpoint_log_bytes;
        }
        options
    }
}
