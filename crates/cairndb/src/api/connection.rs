//! A connection: the public face of a session.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::{
    Database, Durability, FromRow, InterruptHandle, Mapped, Notice, Outcome, Params, Row, RowRef, Rows, RowsAs,
    Statement, Transaction,
};
use crate::catalog::Catalog;
use crate::session::{Session, retry};
use crate::types::EvalContext;
use crate::{Error, Result, SqlState};

/// A connection to a database. `Send`, used by one thread at a time.
///
/// ```
/// let db = cairndb::Database::open_in_memory()?;
/// let conn = db.connect()?;
/// conn.execute("CREATE TABLE planet (id int PRIMARY KEY, name text NOT NULL)", ())?;
/// conn.execute("INSERT INTO planet VALUES ($1, $2), (4, 'Mars')", (3, "Earth"))?;
/// let name: String = conn.query_row("SELECT name FROM planet WHERE id = $1", (3,), |row| row.get(0))?;
/// assert_eq!(name, "Earth");
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Connection {
    database: Database,
    pub(crate) session: Session,
}

impl Connection {
    pub(crate) fn new(database: Database) -> Result<Connection> {
        let session = Session::new(database.shared.clone())?;
        Ok(Connection { database, session })
    }

    /// The schema as it sees it now.
    pub(crate) fn catalog(&self) -> Result<Arc<Catalog>> {
        self.session.catalog()
    }

    /// The database this is a connection to.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Runs one statement; the number of rows it inserted, updated or deleted.
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<u64> {
        self.session.execute(sql, &params)
    }

    /// Runs a query (or a statement with RETURNING).
    pub fn query(&self, sql: &str, params: impl Params) -> Result<Rows> {
        self.session.query(sql, &params)
    }

    /// Runs a query whose plan is known as a point SELECT: see [`Session::try_read`]. `None`: it is none, and some of its rows may have been
    /// handed over.
    pub(crate) fn read_known<R>(
        &self,
        sql: &str,
        params: &dyn Params,
        read: impl FnMut(RowRef<'_>) -> ControlFlow<R>,
    ) -> Result<Option<Option<R>>> {
        match self.session.known_plan(sql) {
            Some(prepared) => self.session.try_read(&prepared, params, read),
            None => Ok(None),
        }
    }

    /// Runs a query that must give at least one row, and converts the first. No row: SQLSTATE P0002.
    pub fn query_row<T>(&self, sql: &str, params: impl Params, map: impl FnOnce(Row<'_>) -> Result<T>) -> Result<T> {
        self.query_optional(sql, params, map)?
            .ok_or_else(|| Error::new(SqlState::NO_DATA_FOUND, "query returned no rows"))
    }

    /// Runs a query and converts its first row, if it gives one.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE t (a int PRIMARY KEY)", ())?;
    /// let found = conn.query_optional("SELECT a FROM t WHERE a = $1", (1,), |row| row.get::<i32>("a"))?;
    /// assert_eq!(found, None);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn query_optional<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnOnce(Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut rows = self.query(sql, params)?;
        rows.next()?.map(map).transpose()
    }

    /// Runs a query; an iterator over its rows, each converted by `map`.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let squares = conn.query_map("SELECT n * n FROM generate_series(1, 3) AS s(n)", (), |row| row.get::<i64>(0))?;
    /// assert_eq!(squares.collect::<cairndb::Result<Vec<_>>>()?, [1, 4, 9]);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn query_map<T, F: FnMut(Row<'_>) -> Result<T>>(
        &self,
        sql: &str,
        params: impl Params,
        map: F,
    ) -> Result<Mapped<F>> {
        Ok(self.query(sql, params)?.mapped(map))
    }

    /// Runs a query (or a statement with RETURNING); an iterator over its rows, each as a tuple or a struct. See [`FromRow`].
    pub fn query_as<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<RowsAs<T>> {
        Ok(self.query(sql, params)?.read_as())
    }

    /// The first row of a query that must give at least one, as a tuple or a struct. No row: SQLSTATE P0002.
    pub fn query_row_as<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<T> {
        self.query_row(sql, params, |row| row.read())
    }

    /// The first row of a query, if it gives one, as a tuple or a struct.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE t (a int PRIMARY KEY)", ())?;
    /// let found: Option<i32> = conn.query_optional_as("SELECT a FROM t WHERE a = $1", (1,))?;
    /// assert_eq!(found, None);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn query_optional_as<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<Option<T>> {
        self.query_optional(sql, params, |row| row.read())
    }

    /// Prepares one statement. Statements are cached by their text, so preparing again is cheap. Its parameters are `$1`, `$2`,
    /// or all have names (`:name`), and are given as [`params!`](crate::params) with names, or in the order in which the text
    /// first has them.
    ///
    /// ```
    /// use cairndb::params;
    ///
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE t (id int PRIMARY KEY, name text)", ())?;
    /// let mut insert = conn.prepare("INSERT INTO t VALUES (:id, :name)")?;
    /// insert.execute(params! { name: "one", id: 1 })?;
    /// insert.execute((2, "two"))?;
    /// let names = conn.query_as::<String>("SELECT name FROM t ORDER BY id", ())?.collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(names, ["one", "two"]);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        Statement::new(&self.session, sql)
    }

    /// Runs all statements of a text, ignoring their results. Stops at the first error, whose position counts from the
    /// start of the whole text.
    pub fn execute_script(&self, sql: &str) -> Result<()> {
        self.run(sql, |_| Ok(()))
    }

    /// Runs the statements of a text one by one and hands each outcome to `each`. Stops at the first error, the
    /// statement's or the callback's; an error's position counts from the start of the whole text.
    ///
    /// The data of a `COPY .. FROM STDIN` stands behind it, from the next line to one of `\.`.
    ///
    /// Statements before the one that fails stay in effect, unless the text itself opened a transaction.
    pub fn run(&self, sql: &str, mut each: impl FnMut(&mut Outcome<'_>) -> Result<()>) -> Result<()> {
        self.session.run(sql, &mut each)
    }

    /// Begins a transaction; dropping the guard rolls it back. SQLSTATE 25001 where one is open.
    pub fn begin(&self) -> Result<Transaction<'_>> {
        self.session.check_process()?;
        if self.in_transaction() {
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress"));
        }
        self.session.begin_now()?;
        Ok(Transaction::new(self))
    }

    /// Runs `body` in a transaction and commits it; rolls back when it fails. When another transaction got in the way
    /// (SQLSTATE 40001) the whole body runs again, so it must not keep anything from a failed run. Once it has lost several
    /// times, commits that would get in its way again wait for it, for a bounded time.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// # conn.execute_script("CREATE TABLE account (id int PRIMARY KEY, amount int); INSERT INTO account VALUES (1, 10), (2, 0)")?;
    /// conn.transaction(|tx| {
    ///     tx.execute("UPDATE account SET amount = amount - 5 WHERE id = 1", ())?;
    ///     tx.execute("UPDATE account SET amount = amount + 5 WHERE id = 2", ())
    /// })?;
    /// assert_eq!(conn.query_row("SELECT amount FROM account WHERE id = 2", (), |row| row.get::<i32>(0))?, 5);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn transaction<T>(&self, mut body: impl FnMut(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let done = retry(|| {
            let tx = self.begin()?;
            let value = body(&tx)?;
            tx.commit().map(|()| value)
        });
        self.session.forget_losses()?;
        done
    }

    /// Whether a transaction is open, failed ones included.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// assert!(!conn.in_transaction());
    /// conn.execute("BEGIN", ())?;
    /// assert!(conn.in_transaction() && !conn.transaction_failed());
    /// conn.execute("SELECT 1 / 0", ()).unwrap_err();
    /// assert!(conn.transaction_failed());
    /// conn.execute("ROLLBACK", ())?;
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    /// Whether the open transaction has failed and only ROLLBACK is accepted.
    pub fn transaction_failed(&self) -> bool {
        self.session.transaction_failed()
    }

    /// A handle with which other threads can stop this connection's running statement.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.session.interrupt_handle()
    }

    /// While a statement runs, the thread that runs it asks the handler about so often whether to go on; false stops it with
    /// SQLSTATE 57014. For who has to look after something else meanwhile: signals, a progress bar. `None`: nobody is asked.
    ///
    /// It is asked between steps (see [`Rows::next_within`]), and where a statement waits for others; it must not use the
    /// connection.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use std::time::Duration;
    ///
    /// let asked = AtomicU32::new(0);
    /// conn.set_progress_handler(Some((Duration::from_millis(1), move || asked.fetch_add(1, Ordering::Relaxed) < 10)));
    /// let slow = conn.query_row("SELECT count(*) FROM generate_series(1, 1000000000)", (), |row| row.get::<i64>(0));
    /// assert_eq!(slow.unwrap_err().sqlstate(), cairndb::SqlState::QUERY_CANCELED);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn set_progress_handler<F: Fn() -> bool + Send + Sync + 'static>(&self, handler: Option<(Duration, F)>) {
        let handler = handler.map(|(every, handler)| (every, Arc::new(handler) as Arc<_>));
        self.session.interrupt.set_handler(handler);
    }

    /// The longest a statement may run (SQLSTATE 57014 beyond); `None`: no limit.
    ///
    /// # Errors
    ///
    /// 55006 within the callback that reads a row of [`Statement::query_point`].
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.set_statement_timeout(Some(std::time::Duration::from_millis(20)))?;
    /// let slow = conn.query_row("SELECT count(*) FROM generate_series(1, 1000000000)", (), |row| row.get::<i64>(0));
    /// assert_eq!(slow.unwrap_err().sqlstate(), cairndb::SqlState::QUERY_CANCELED);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn set_statement_timeout(&self, limit: Option<Duration>) -> Result<()> {
        self.session.change_settings(|settings| settings.statement_timeout = limit)
    }

    /// What the acknowledgement of this connection's commits means.
    ///
    /// # Errors
    ///
    /// 55006 within the callback that reads a row of [`Statement::query_point`].
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// // What a crash may take back, for work that can be done again.
    /// conn.set_durability(cairndb::Durability::Interval)?;
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn set_durability(&self, durability: Durability) -> Result<()> {
        self.session.change_settings(|settings| settings.durability = Some(durability))
    }

    /// What [`to_text`](crate::to_text) needs to write values as this session shows them: in its time zone, its `datestyle`,
    /// `intervalstyle`, `bytea_output` and `extra_float_digits`; and what oids are called that are a `regclass` or one of its kin.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("SET DateStyle = 'German'", ())?;
    /// let day = conn.query_row("SELECT date '2024-02-29'", (), |row| Ok(row.value(0).clone()))?;
    /// assert_eq!(cairndb::to_text(&day, &conn.text_context()), "29.02.2024");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn text_context(&self) -> EvalContext {
        self.session.text_context()
    }

    /// IANA name of the session's time zone.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// assert_eq!(conn.time_zone(), "UTC");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn time_zone(&self) -> String {
        self.session.state.borrow().settings.time_zone.to_string()
    }

    /// The warnings and notices since the last call.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("DROP TABLE IF EXISTS nothing", ())?;
    /// assert_eq!(conn.take_notices().len(), 1);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn take_notices(&self) -> Vec<Notice> {
        self.session.take_notices()
    }
}
