//! How an asynchronous database is opened.

use std::fmt;
use std::sync::Arc;

use cairndb::{Ceilings, Connection, Result};

/// What connections can not go beyond, and begin with.
pub(crate) type Within = Option<Arc<(Ceilings, Vec<(String, String)>)>>;

/// Run on every new connection.
pub(crate) type OnConnect = Arc<dyn Fn(&Connection) -> Result<()> + Send + Sync>;

/// Options of [`Database::open_with`](crate::Database::open_with). Start from `Options::default()`.
///
/// ```
/// # let work = async {
/// let options = cairndb_async::Options::default()
///     .database(cairndb::Options::default().cache_bytes(64 << 20))
///     .workers(2)
///     .queue(100)
///     .transactions(10)
///     .on_connect(|connection| connection.execute("SET TIME ZONE 'Asia/Tokyo'", ()).map(drop));
/// let db = cairndb_async::Database::open_in_memory_with(options).await?;
/// let zone: String = db.query_row("SHOW TIME ZONE", (), |row| row.get(0)).await?;
/// assert_eq!(zone, "Asia/Tokyo");
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Those of the database itself.
    pub database: cairndb::Options,
    /// Threads that run what can not be answered where it is asked; as many as there are processors, at most 4, by default.
    pub workers: usize,
    /// Statements that may wait for such a thread (1024); who asks for more waits until there is a place.
    pub queue: usize,
    /// Transactions that may be open at a time (64); who begins one more waits until one ends, however long that is: as many tasks
    /// that begin a second one within their first wait for each other for ever, so put a time limit of the runtime's around such.
    pub transactions: usize,
    /// What settings of its connections can not go beyond, and what they begin with, for statements that come from others.
    pub(crate) within: Within,
    pub(crate) on_connect: Option<OnConnect>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { database, workers, queue, transactions, .. } = self;
        write!(f, "Options {{ {database:?}, workers: {workers}, queue: {queue}, transactions: {transactions} }}")
    }
}

impl Default for Options {
    fn default() -> Options {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let database = cairndb::Options::default();
        Options { database, workers: processors.min(4), queue: 1024, transactions: 64, within: None, on_connect: None }
    }
}

impl Options {
    /// Sets [`Options::database`].
    #[must_use]
    pub fn database(mut self, options: cairndb::Options) -> Options {
        self.database = options;
        self
    }

    /// Sets [`Options::workers`], at least one.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Options {
        self.workers = workers.max(1);
        self
    }

    /// Sets [`Options::queue`], at least one.
    #[must_use]
    pub fn queue(mut self, statements: usize) -> Options {
        self.queue = statements.max(1);
        self
    }

    /// Sets [`Options::transactions`], at least one.
    #[must_use]
    pub fn transactions(mut self, transactions: usize) -> Options {
        self.transactions = transactions.max(1);
        self
    }

    /// Connections for statements that come from others: no setting goes beyond these ceilings, and they begin with these settings. See
    /// [`cairndb::Database::connect_within`].
    ///
    /// ```
    /// # let work = async {
    /// let ceilings = cairndb::Ceilings { reads_only: true, ..Default::default() };
    /// let options = cairndb_async::Options::default().within(ceilings, Vec::new());
    /// let db = cairndb_async::Database::open_in_memory_with(options).await?;
    /// let refused = db.execute("CREATE TABLE t (id int)", ()).await.unwrap_err();
    /// assert_eq!(refused.sqlstate().as_str(), "25006");
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    #[must_use]
    pub fn within(mut self, ceilings: Ceilings, settings: Vec<(String, String)>) -> Options {
        self.within = Some(Arc::new((ceilings, settings)));
        self
    }

    /// Runs `work` on every connection before its first use: settings that all statements are to have (`SET ..`), functions of
    /// the program's own.
    #[must_use]
    pub fn on_connect(mut self, work: impl Fn(&Connection) -> Result<()> + Send + Sync + 'static) -> Options {
        self.on_connect = Some(Arc::new(work));
        self
    }
}
