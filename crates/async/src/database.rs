//! An open database, for asynchronous programs.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cairndb::internals::text_for;
use cairndb::{
    CollectionInfo, Connection, Error, InterruptHandle, NonBlocking, Params, Pooled, Position, Result, Row, RowRef,
    SqlState, Ticket, Value,
};

use crate::batch::Batch;
use crate::changes::Changes;
use crate::error::closed;
use crate::live::Live;
use crate::notifications::Notifications;
use crate::options::Options;
use crate::rows::{Next, Rows, Source};
use crate::shared::{Handle, Shared, owned, statement};
use crate::task::task;
use crate::transaction::Transaction;

/// An open database. Cheap to clone; any task may use it, any number at a time.
///
/// Futures do nothing before they are polled, and may be dropped at any time: see the [crate](crate).
///
/// ```
/// # let work = async {
/// use cairndb_async::{Database, Options};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.cairn");
/// let db = Database::open_with(&path, Options::default().workers(2)).await?;
/// db.execute("CREATE TABLE t (id int)", ()).await?;
/// let found = db.query_optional("SELECT id FROM t", (), |row| row.get::<i32>(0)).await?;
/// assert_eq!(found, None);
/// db.close().await?;
/// let db = Database::open(&path).await?;
/// db.close().await?;
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
#[derive(Clone)]
pub struct Database {
    handle: Arc<Handle>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Database")
    }
}

impl Database {
    /// Opens or creates the database file at `path`.
    pub async fn open(path: impl AsRef<Path>) -> Result<Database> {
        Self::open_with(path, Options::default()).await
    }

    /// Opens or creates the database file at `path`.
    pub async fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Database> {
        let path = path.as_ref().to_owned();
        apart(move || Database::of(cairndb::Database::open_with(path, options.database.clone())?, &options, true)).await
    }

    /// A database in memory, gone with its last handle.
    pub async fn open_in_memory() -> Result<Database> {
        Self::open_in_memory_with(Options::default()).await
    }

    /// A database in memory, gone with its last handle.
    ///
    /// ```
    /// # let work = async {
    /// let options = cairndb_async::Options::default().workers(1);
    /// let db = cairndb_async::Database::open_in_memory_with(options).await?;
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn open_in_memory_with(options: Options) -> Result<Database> {
        apart(move || Database::of(cairndb::Database::open_in_memory_with(options.database.clone())?, &options, true))
            .await
    }

    /// One that is open already, and that others may use beside this: dropping the last handle lets go of it, and
    /// [`Database::close`] closes it for all. Of the options' [`database`](Options::database) nothing matters then.
    ///
    /// ```
    /// # let work = async {
    /// let database = cairndb::Database::open_in_memory()?;
    /// let db = cairndb_async::Database::over(database.clone(), &cairndb_async::Options::default())?;
    /// db.execute("CREATE TABLE t (id int)", ()).await?;
    /// database.connect()?.execute("INSERT INTO t VALUES (1)", ())?;
    /// drop(db);
    /// database.connect()?.execute("INSERT INTO t VALUES (2)", ())?;
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub fn over(database: cairndb::Database, options: &Options) -> Result<Database> {
        Database::of(database, options, false)
    }

    fn of(database: cairndb::Database, options: &Options, is_own: bool) -> Result<Database> {
        Ok(Database { handle: Handle::new(Shared::new(database, options, is_own)?) })
    }

    /// Runs one statement; the number of rows it inserted, updated or deleted. Ready once that is durable, as the database's
    /// durability says.
    pub async fn execute(&self, sql: &str, params: impl Params) -> Result<u64> {
        if let Some(ticket) = self.handle.non_blocking(|one| one.execute(sql, &params)) {
            return durable(ticket).await;
        }
        let (sql, params) = (text_for(sql, &params)?.into_owned(), owned(&params));
        let run = move |pooled: &Pooled| statement(pooled, |connection| connection.execute(&sql, params));
        let (affected, ticket) = self.handle.run(run).await?;
        settled(affected, ticket).await
    }

    /// Runs all statements of a text, ignoring their results. Stops at the first error, whose position counts from the
    /// start of the whole text. What the text leaves behind in its session goes with it.
    pub async fn execute_script(&self, sql: &str) -> Result<()> {
        let sql = sql.to_owned();
        self.handle.run(move |pooled| pooled.connection().execute_script(&sql)).await
    }

    /// Runs one statement with each of many sets of parameters, in one transaction: all of it is done, or nothing. The number of
    /// rows it changed altogether.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// db.execute("CREATE TABLE t (id int PRIMARY KEY, square int)", ()).await?;
    /// let rows = (0..100).map(|n| (n, n * n));
    /// assert_eq!(db.execute_batch("INSERT INTO t VALUES ($1, $2)", rows).await?, 100);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn execute_batch<P: Params>(&self, sql: &str, sets: impl IntoIterator<Item = P>) -> Result<u64> {
        let batch = Batch::of(sql, sets)?;
        let all = move |connection: &Connection| connection.transaction(|_| batch.run(connection));
        let (affected, ticket) = self.handle.run(move |pooled| statement(pooled, all)).await?;
        settled(affected, ticket).await
    }

    /// Runs a query (or a statement with RETURNING).
    pub async fn query(&self, sql: &str, params: impl Params) -> Result<Rows> {
        if let Some((rows, ticket)) = self.handle.non_blocking(|one| one.query(sql, &params)) {
            let rows = settled(rows, ticket).await?;
            return Rows::ready(&self.handle, rows);
        }
        let (sql, params) = (text_for(sql, &params)?.into_owned(), owned(&params));
        let (next, ticket) = self.handle.run(move |pooled| begin_query(pooled, &sql, params)).await?;
        Ok(Rows::new(&self.handle, None, settled(next, ticket).await?))
    }

    /// Runs a query that must give at least one row, and converts the first. No row: SQLSTATE P0002.
    pub async fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnOnce(Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.query_optional(sql, params, map).await?.ok_or_else(no_row)
    }

    /// Runs a query and converts its first row, if it gives one.
    pub async fn query_optional<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnOnce(Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut rows = self.first(sql, params).await?;
        rows.next()?.map(map).transpose()
    }

    /// Runs a query and hands its first row to `read`. Where the statement reads one row by its key, and its pages are in
    /// memory, the row is not copied: this is the quickest way to read one.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// db.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10)").await?;
    /// let n = db.query_point("SELECT n FROM t WHERE id = $1", (1,), |row| row.get_i64(0)).await?;
    /// assert_eq!(n, Some(Some(10)));
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn query_point<R>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let mut read = Some(read);
        let mut once = |row: RowRef<'_>| read.take().map(|read| read(row));
        if let Some(found) = self.handle.non_blocking(|one| one.query_point(sql, &params, &mut once)) {
            return Ok(found.flatten());
        }
        let mut rows = self.first(sql, params).await?;
        Ok(rows.next()?.and_then(|row| once(row.into())))
    }

    /// The first row of a query, if there is one, and perhaps more of them.
    pub(crate) async fn first(&self, sql: &str, params: impl Params) -> Result<cairndb::Rows> {
        if let Some((rows, ticket)) = self.handle.non_blocking(|one| one.query(sql, &params)) {
            return settled(rows, ticket).await;
        }
        let (sql, params) = (text_for(sql, &params)?.into_owned(), owned(&params));
        self.first_handed_over(sql, params).await
    }

    /// The same, by a worker.
    pub(crate) async fn first_handed_over(&self, sql: String, params: Vec<Value>) -> Result<cairndb::Rows> {
        let run = move |pooled: &Pooled| statement(pooled, |connection| first_of(connection.query(&sql, params)?));
        let (rows, ticket) = self.handle.run(run).await?;
        settled(rows, ticket).await
    }

    /// Runs `body` in a transaction and commits it; rolls back when it fails, or when this future is dropped. When another
    /// transaction got in the way (SQLSTATE 40001) the whole body runs again, so it must not keep anything from a failed run;
    /// after 100 times the error is the caller's.
    ///
    /// The transaction's statements run one after the other. It is over when `body` is: clones of it that are kept are of no
    /// use then.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// # db.execute_script("CREATE TABLE account (id int PRIMARY KEY, amount int); INSERT INTO account VALUES (1, 10), (2, 0)").await?;
    /// db.transaction(async |tx| {
    ///     tx.execute("UPDATE account SET amount = amount - 5 WHERE id = 1", ()).await?;
    ///     tx.execute("UPDATE account SET amount = amount + 5 WHERE id = 2", ()).await
    /// })
    /// .await?;
    /// let amount: i32 = db.query_row("SELECT amount FROM account WHERE id = 2", (), |row| row.get(0)).await?;
    /// assert_eq!(amount, 5);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn transaction<T, F, Fut>(&self, body: F) -> Result<T>
    where
        F: FnMut(Transaction) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        crate::transaction::run(&self.handle, body).await
    }

    /// Runs `work` with a connection, on one of the threads that do what takes longer: for several statements in a row, which are
    /// not handed over one by one. What it leaves behind in the connection's session goes with it. Dropping the future interrupts
    /// it; what it has committed by then stays.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// # db.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10), (2, 20)").await?;
    /// let sum = db.call(|connection| {
    ///     connection.execute("UPDATE t SET n = n + 1", ())?;
    ///     connection.query_row("SELECT sum(n) FROM t", (), |row| row.get::<i64>(0))
    /// });
    /// assert_eq!(sum.await?, 32);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.handle.run(move |pooled| work(pooled.connection())).await
    }

    /// As [`call`](Database::call), but where there is no place for it it waits for one, also where the options have others refused
    /// ([`Options::refuse_when_full`]): for what was begun, and is not to break off because others ask for much.
    ///
    /// ```
    /// # let work = async {
    /// let options = cairndb_async::Options::default().workers(1).queue(1).refuse_when_full();
    /// let db = cairndb_async::Database::open_in_memory_with(options).await?;
    /// let count = || db.call_in_turn(|connection| connection.query_row("SELECT 1", (), |row| row.get::<i32>(0)));
    /// let counted = futures_util::future::join_all((0..20).map(|_| count())).await;
    /// assert!(counted.iter().all(Result::is_ok));
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn call_in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.handle.run_in_turn(move |pooled| work(pooled.connection())).await
    }

    /// As [`call`](Database::call), for work that commits at most once: its future is ready once that is durable, and no thread waits for that. What
    /// `work` would leave behind in the connection's session is refused.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// db.call(|connection| connection.create_collection("notes").map(drop)).await?;
    /// let written = db.call_pipelined(|connection| connection.collection("notes")?.insert(r#"{"title": "Tides"}"#)).await?;
    /// assert_eq!(written.version, 1);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn call_pipelined<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (value, ticket) = self.handle.run(move |pooled| statement(pooled, work)).await?;
        settled(value, ticket).await
    }

    /// Runs one statement of any kind; what it did, and its rows as they come.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// let made = db.perform("CREATE TABLE t (id int)", ()).await?;
    /// assert_eq!((made.command, made.rows.is_some()), ("CREATE TABLE", false));
    /// let mut read = db.perform("SELECT count(*) FROM t", ()).await?;
    /// let row = read.rows.as_mut().expect("it gives rows").next().await?.expect("a row").get::<i64>(0)?;
    /// assert_eq!(row, 0);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn perform(&self, sql: &str, params: impl Params) -> Result<Performed> {
        let (sql, params) = (text_for(sql, &params)?.into_owned(), owned(&params));
        let run = move |pooled: &Pooled| {
            let interrupt = pooled.connection().interrupt_handle();
            statement(pooled, |connection| {
                let mut done = connection.perform(&sql, params)?;
                let next = done.take_rows().map(|rows| Source::begin(rows, interrupt)).transpose()?;
                Ok((done.command(), done.affected(), next))
            })
        };
        let (done, ticket) = self.handle.run(run).await?;
        let (command, affected, next) = settled(done, ticket).await?;
        let rows = next.map(|next| Rows::new(&self.handle, None, next));
        Ok(Performed { command, affected, rows })
    }

    /// Watches a query's result: see [`cairndb::LiveQuery`].
    ///
    /// ```
    /// # use futures_util::StreamExt;
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// db.execute("CREATE TABLE task (id int PRIMARY KEY, title text)", ()).await?;
    /// let mut tasks = db.live("SELECT title FROM task", ()).await?;
    /// assert!(tasks.next().await.expect("the result")?.is_first());
    /// db.execute("INSERT INTO task VALUES (1, 'stream')", ()).await?;
    /// let change = tasks.next().await.expect("a change")?;
    /// assert_eq!(change.added().count(), 1);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn live(&self, sql: &str, params: impl Params) -> Result<Live> {
        let (sql, params) = (text_for(sql, &params)?.into_owned(), owned(&params));
        self.handle.run(move |pooled| pooled.connection().live(&sql, params)).await.map(Live::new)
    }

    /// What commits do to tables with a change feed, behind the token or (`None`) from now on: see [`cairndb::Database::changes`].
    ///
    /// ```
    /// # use futures_util::StreamExt;
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// db.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on)", ()).await?;
    /// let mut changes = db.changes(None).await?;
    /// db.execute("INSERT INTO task VALUES (1)", ()).await?;
    /// let change = changes.next().await.expect("it is told")?;
    /// assert_eq!(change.kind(), cairndb::ChangeKind::Insert);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn changes(&self, from: Option<Position>) -> Result<Changes> {
        let changes = self.handle.run(move |pooled| pooled.connection().database().changes(from)).await?;
        Ok(Changes::new(changes, self.handle.clone()))
    }

    /// Listens to channels, whose names are taken as they are: what `NOTIFY` and `pg_notify()` tell them from now on.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// let mut orders = db.listen(["orders"]).await?;
    /// db.execute("SELECT pg_notify('orders', $1)", ("placed",)).await?;
    /// let told = orders.next_notification().await.expect("the commit has told it");
    /// assert_eq!((told.channel(), told.payload()), ("orders", "placed"));
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn listen<C: Into<String>>(&self, channels: impl IntoIterator<Item = C>) -> Result<Notifications> {
        let channels: Vec<String> = channels.into_iter().map(Into::into).collect();
        let listen = move |pooled: &Pooled| Notifications::of(pooled.connection().database().connect()?, &channels);
        self.handle.run(listen).await
    }

    /// What is done where nothing has to be waited for.
    pub(crate) fn at_once<T>(&self, work: impl FnOnce(&NonBlocking) -> Option<T>) -> Option<T> {
        self.handle.non_blocking(work)
    }

    /// A collection, where nothing has to be read to know of it.
    pub(crate) fn known_collection(&self, name: &str) -> Option<CollectionInfo> {
        self.handle.non_blocking(|one| one.collection(name))
    }

    /// How many statements wait for a worker, of [`Options::queue`] that may.
    ///
    /// ```
    /// # let work = async {
    /// let db = cairndb_async::Database::open_in_memory().await?;
    /// assert_eq!(db.waiting(), 0);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub fn waiting(&self) -> usize {
        self.handle.waiting()
    }

    /// Lets go of the database, which others may have beside this and go on using: what was asked for before is done, what comes later is
    /// refused (SQLSTATE 57P01). Ready when no worker has it any more, and what of it is open can be closed. One that nobody else has
    /// is closed by it.
    ///
    /// ```
    /// # let work = async {
    /// let database = cairndb::Database::open_in_memory()?;
    /// let db = cairndb_async::Database::over(database.clone(), &cairndb_async::Options::default())?;
    /// let other = db.clone();
    /// db.execute("CREATE TABLE t (id int)", ()).await?;
    /// db.let_go().await?;
    /// assert!(other.execute("INSERT INTO t VALUES (1)", ()).await.is_err());
    /// database.connect()?.execute("INSERT INTO t VALUES (2)", ())?;
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn let_go(self) -> Result<()> {
        self.handle.process.check()?;
        self.handle.close();
        self.handle.ended().await
    }

    /// Closes the database, for all who have it: what was asked for before is done, what is acknowledged is durable, what comes
    /// later is refused (SQLSTATE 57P01), and so are the next statements of transactions that are open, which are rolled back.
    /// Ready when the file is closed.
    pub async fn close(self) -> Result<()> {
        self.handle.process.check()?;
        self.handle.close_for_all();
        self.handle.ended().await
    }
}

/// What a statement did: from [`Database::perform`].
///
/// ```
/// # let work = async {
/// # let db = cairndb_async::Database::open_in_memory().await?;
/// db.execute("CREATE TABLE t (id int)", ()).await?;
/// let written = db.perform("INSERT INTO t VALUES (1), (2)", ()).await?;
/// assert_eq!((written.command, written.affected, written.rows.is_none()), ("INSERT", 2, true));
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Performed {
    /// As PostgreSQL's command tag has it, without numbers.
    pub command: &'static str,
    /// How many rows it inserted, updated or deleted.
    pub affected: u64,
    /// `None`: it gives none.
    pub rows: Option<Rows>,
}

/// Waits for a commit.
pub(crate) async fn durable(mut ticket: Ticket) -> Result<u64> {
    std::future::poll_fn(|context| ticket.poll(context)).await
}

/// `value`, once what it rests on is durable.
pub(crate) async fn settled<T>(value: T, ticket: Option<Ticket>) -> Result<T> {
    match ticket {
        Some(ticket) => durable(ticket).await.map(|_| value),
        None => Ok(value),
    }
}

pub(crate) fn no_row() -> Error {
    Error::new(SqlState::NO_DATA_FOUND, "query returned no rows")
}

/// A query's first batch, and what is to come.
pub(crate) fn begin_query(pooled: &Pooled, sql: &str, params: Vec<Value>) -> Result<(Next, Option<Ticket>)> {
    let interrupt = pooled.connection().interrupt_handle();
    statement(pooled, |connection| Source::begin(connection.query(sql, params)?, interrupt))
}

/// At least the first of the rows, if there is any.
pub(crate) fn first_of(mut rows: cairndb::Rows) -> Result<cairndb::Rows> {
    Ok(rows.ahead(1, Duration::MAX)?.rows)
}

/// Does what may take long on a thread of its own.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (task, answer) = task();
    let run = move || task.run(InterruptHandle::default(), work).tell();
    std::thread::Builder::new().name("cairn-async-open".into()).spawn(run).map_err(|_| closed())?;
    answer.await
}
