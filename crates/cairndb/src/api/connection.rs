//! A connection: where statements run, and the session's state.

use std::cell::{Cell, RefCell, RefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cairn_parser::Room;
use cairn_storage::Losses;

use super::advisory::SessionLocks;
use super::channels::{Leaving, SessionChannels};
use super::database::Shared;
use super::execute::{Executed, Runnable, retry};
use super::named_params::{numbered, text_for};
use super::point::Buffers;
use super::prepared::Prepared;
use super::runner::RoutineSession;
use super::sequences::{SessionSequences, StatementSequences};
use super::session::{SessionState, Settings};
use super::statement_cache::{StatementCache, TextHash};
use super::{
    Database, Durability, FromRow, Mapped, Notice, Outcome, Params, PlanCache, Row, Rows, RowsAs, Statement,
    Transaction,
};
use crate::catalog::Catalog;
use crate::command;
use crate::dml::InsertRoom;
use crate::exec::SpillSpace;
use crate::sql::{ParsedStatement, Script, parse_one_in, split_script};
use crate::types::EvalContext;
use crate::types::datetime::clock_micros;
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
    pub(super) database: Database,
    pub(super) interrupt: Arc<AtomicBool>,
    pub(super) state: RefCell<SessionState>,
    pub(super) sequences: Arc<Mutex<SessionSequences>>,
    /// What the last statement had of them; the next one mostly has the same.
    pub(super) statement_sequences: RefCell<Option<Arc<StatementSequences>>>,
    /// Room for the temporary files of its statements.
    pub(super) spill: SpillSpace,
    /// For point statements.
    pub(super) session: RefCell<cairn_storage::Session>,
    cache: RefCell<StatementCache>,
    /// What the connections of its pool have planned.
    plans: Option<PlanCache>,
    /// An interrupt is for all that is run from then on: see [`Pooled`](super::Pooled).
    pub(super) keeps_interrupt: bool,
    /// Its commits are not waited for; the last of them, until it is taken.
    pub(super) pipelines: Cell<bool>,
    pub(super) pending: Cell<Option<cairn_storage::Ticket>>,
    /// The buffers of point statements; borrowed while one runs.
    buffers: RefCell<Buffers>,
    /// Those of other INSERTs.
    pub(super) insert_room: Cell<InsertRoom>,
    /// The parser's buffers.
    room: RefCell<Room>,
    /// What functions have of the session, and the notices.
    pub(super) routines: Arc<RoutineSession>,
    /// The position of the last commit; 0 before the first.
    pub(super) committed: Cell<u64>,
    _leaving: Leaving,
}

/// Stops the statement that a connection is running, from another thread. Cheap to clone. (The default one is no connection's.)
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let handle = conn.interrupt_handle();
/// std::thread::scope(|scope| {
///     scope.spawn(move || {
///         std::thread::sleep(std::time::Duration::from_millis(50));
///         handle.interrupt();
///     });
///     let error = conn.query_row("SELECT count(*) FROM generate_series(1, 1000000000)", (), |row| row.get::<i64>(0));
///     assert_eq!(error.unwrap_err().sqlstate(), cairndb::SqlState::QUERY_CANCELED);
/// });
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct InterruptHandle(Arc<AtomicBool>);

impl InterruptHandle {
    /// The running statement fails with SQLSTATE 57014; nothing happens when none is running.
    pub fn interrupt(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    pub(crate) fn new(database: Database) -> Result<Connection> {
        let session = database.shared.store.session()?;
        let interrupt: Arc<AtomicBool> = Arc::default();
        let locks = SessionLocks::new(&database.shared.advisory, &interrupt);
        let channels = SessionChannels::new(&database.shared, locks);
        let routines = RoutineSession::of(&channels);
        let state = SessionState::new(Settings::of(&database), channels.clone(), &routines.names);
        Ok(Connection {
            interrupt,
            state: RefCell::new(state),
            sequences: Arc::default(),
            statement_sequences: RefCell::default(),
            session: RefCell::new(session),
            spill: database.shared.spill_space(),
            cache: RefCell::default(),
            plans: None,
            keeps_interrupt: false,
            pipelines: Cell::new(false),
            pending: Cell::default(),
            buffers: RefCell::default(),
            insert_room: Cell::default(),
            room: RefCell::default(),
            routines,
            _leaving: Leaving(channels),
            committed: Cell::new(0),
            database,
        })
    }

    /// What a point statement works in.
    ///
    /// # Errors
    ///
    /// [`row_is_lent`].
    #[inline]
    pub(super) fn point_buffers(&self) -> Result<RefMut<'_, Buffers>> {
        self.buffers.try_borrow_mut().map_err(|_| row_is_lent())
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.database.shared
    }

    /// Refuses everything in a child of the process that opened the database, before anything is locked.
    pub(super) fn check_process(&self) -> Result<()> {
        Ok(self.shared().store.process().check()?)
    }

    /// The database this is a connection to.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The statement of a text, planned before if the text was seen before.
    pub(super) fn runnable(&self, sql: &str) -> Result<Runnable> {
        self.parsed(sql).inspect_err(|_| self.state.borrow().fail())
    }

    fn parsed(&self, sql: &str) -> Result<Runnable> {
        self.check_process()?;
        let mut cache = self.cache.borrow_mut();
        let hash = cache.hash(sql);
        if let Some(prepared) = self.find_plan(&mut cache, hash, sql) {
            let parsed = prepared.parsed.clone();
            return Ok(Runnable { prepared: Some(prepared), hash: Some(hash), ..Runnable::new(parsed) });
        }
        let parsed = Arc::new(parse_one_in(sql, &mut self.room.borrow_mut())?);
        Ok(Runnable { hash: Some(hash), ..Runnable::new(parsed) })
    }

    /// A statement to be prepared, and the names of its parameters, by their numbers. What reads without such has none: `a[1:n]`
    /// is a slice.
    pub(super) fn runnable_with_names(&self, sql: &str) -> Result<(Runnable, Vec<String>)> {
        let found = match (self.parsed(sql), numbered(sql)) {
            (Err(_), Some((text, names))) => self.parsed(&text).map(|runnable| (runnable, names)),
            (found, _) => found.map(|runnable| (runnable, Vec::new())),
        };
        found.inspect_err(|_| self.state.borrow().fail())
    }

    /// Remembers the plan of the statement of this hash.
    pub(super) fn remember(&self, hash: TextHash, prepared: &Arc<Prepared>) {
        self.cache.borrow_mut().put(hash, prepared);
        if let Some(plans) = &self.plans {
            plans.put(hash, prepared);
        }
    }

    /// From now on it has part in these plans.
    pub(super) fn share_plans(&mut self, plans: &PlanCache) {
        self.cache = RefCell::new(plans.of_connection());
        self.plans = Some(plans.clone());
    }

    /// The plan of a text that this connection, or another of its pool, has made.
    pub(super) fn known_plan(&self, sql: &str) -> Option<Arc<Prepared>> {
        let mut cache = self.cache.borrow_mut();
        let hash = cache.hash(sql);
        self.find_plan(&mut cache, hash, sql)
    }

    fn find_plan(&self, cache: &mut StatementCache, hash: TextHash, sql: &str) -> Option<Arc<Prepared>> {
        cache.get(hash, sql).or_else(|| {
            let prepared = self.plans.as_ref()?.get(hash, sql)?;
            cache.put(hash, &prepared);
            Some(prepared)
        })
    }

    /// A plan that another connection of the pool has made in place of this one.
    pub(super) fn newer_plan(&self, sql: &str, known: &Arc<Prepared>) -> Option<Arc<Prepared>> {
        let plans = self.plans.as_ref()?;
        let mut cache = self.cache.borrow_mut();
        let hash = cache.hash(sql);
        let newer = plans.get(hash, sql).filter(|newer| !Arc::ptr_eq(newer, known))?;
        cache.put(hash, &newer);
        Some(newer)
    }

    /// Forgets every statement's plan.
    pub(super) fn forget_plans(&self) {
        self.cache.take();
    }

    pub(super) fn run_text(&self, sql: &str, params: &dyn Params) -> Result<Executed> {
        let sql = text_for(sql, params).inspect_err(|_| self.state.borrow().fail())?;
        self.run_one(&mut self.runnable(&sql)?, params)
    }

    /// Runs one statement; the number of rows it inserted, updated or deleted.
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<u64> {
        exhaust(self.run_text(sql, &params)?)
    }

    /// Runs a query (or a statement with RETURNING).
    pub fn query(&self, sql: &str, params: impl Params) -> Result<Rows> {
        Ok(self.run_text(sql, &params)?.rows.unwrap_or_else(Rows::empty))
    }

    /// Runs a query that must give at least one row, and converts the first. No row: SQLSTATE P0002.
    pub fn query_row<T>(&self, sql: &str, params: impl Params, map: impl FnOnce(Row<'_>) -> Result<T>) -> Result<T> {
        self.query_optional(sql, params, map)?.ok_or_else(|| Error::new(SqlState("P0002"), "query returned no rows"))
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
        Statement::new(self, sql)
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
        let mut script = split_script(sql);
        while let Some((text, parsed)) = self.next_parsed(&mut script) {
            let parsed = parsed.inspect_err(|_| self.state.borrow().fail())?;
            if parsed.parameters > 0 && !command::is_prepare(&parsed) {
                self.state.borrow().fail();
                return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
            }
            let mut runnable = Runnable::new(Arc::new(parsed));
            let executed = match command::reads_data(&runnable.parsed) {
                true => {
                    let mut data = script.take_data().inspect_err(|_| self.state.borrow().fail())?.as_bytes();
                    self.copy_in_parsed(&runnable.parsed, &mut data)?
                }
                false => self.run_one(&mut runnable, &())?,
            };
            let mut outcome = Outcome {
                statement: text,
                tag: executed.tag,
                affected: executed.affected,
                rows: executed.rows,
                notices: self.take_notices(),
            };
            each(&mut outcome)?;
            // What the callback did not look at must still be known to succeed.
            outcome.rows.as_mut().map_or(Ok(()), Rows::exhaust)?;
        }
        Ok(())
    }

    /// The buffers are lent no longer than this: a callback may run statements too.
    fn next_parsed<'s>(&self, script: &mut Script<'s>) -> Option<(&'s str, Result<ParsedStatement>)> {
        script.next_parsed(&mut self.room.borrow_mut())
    }

    /// Begins a transaction; dropping the guard rolls it back. SQLSTATE 25001 where one is open.
    pub fn begin(&self) -> Result<Transaction<'_>> {
        self.check_process()?;
        if self.in_transaction() {
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress"));
        }
        self.begin_now()?;
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
        self.state_mut()?.lost = Losses::default();
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
        self.state.borrow().transaction.is_some()
    }

    /// Whether the open transaction has failed and only ROLLBACK is accepted.
    pub fn transaction_failed(&self) -> bool {
        self.state.borrow().failed()
    }

    /// A handle with which other threads can stop this connection's running statement.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.interrupt.clone())
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
        self.change_settings(|settings| settings.statement_timeout = limit)
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
        self.change_settings(|settings| settings.durability = Some(durability))
    }

    pub(super) fn change_settings(&self, change: impl Fn(&mut Settings)) -> Result<()> {
        self.check_process()?;
        let mut state = self.state_mut()?;
        if let Some(kept) = state.kept() {
            change(kept);
        }
        change(Arc::make_mut(&mut state.settings));
        Ok(())
    }

    /// The session's state, to be changed.
    ///
    /// # Errors
    ///
    /// [`row_is_lent`].
    pub(super) fn state_mut(&self) -> Result<RefMut<'_, SessionState>> {
        self.state.try_borrow_mut().map_err(|_| row_is_lent())
    }

    /// What [`to_text`](crate::to_text) needs to write values as this session shows them: in its time zone, its `datestyle`,
    /// `intervalstyle`, `bytea_output` and `extra_float_digits`.
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
        let now = clock_micros();
        self.state.borrow().eval(now, now)
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
        self.state.borrow().settings.time_zone.to_string()
    }

    /// What this session's commits promise; `None`: what the database's do.
    pub(super) fn durability(&self) -> Option<Durability> {
        self.state.borrow().settings.durability
    }

    pub(super) fn notice(&self, severity: &'static str, code: SqlState, message: impl Into<String>) {
        self.notice_with(Notice { severity, code, message: message.into(), detail: None });
    }

    pub(super) fn notice_with(&self, notice: Notice) {
        self.routines.notices.add(notice);
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
        let level = self.state.borrow().settings.min_messages;
        let mut notices = self.routines.notices.take();
        notices.retain(|notice| notice.is_heard(level));
        notices
    }

    /// The catalog as this connection sees it now.
    pub(crate) fn catalog(&self) -> Result<Arc<Catalog>> {
        match &self.state.borrow().transaction {
            Some(open) => self.catalog_in(open).map(|(_, catalog)| catalog),
            None => Ok(self.seen(self.shared().catalog(self.shared().store.snapshot()?.reader())?.1)),
        }
    }
}

/// SQLSTATE 55006: the statement was called by who reads a row that the connection lends him.
#[cold]
pub(super) fn row_is_lent() -> Error {
    Error::new(SqlState::OBJECT_IN_USE, "the connection is in use: a row of it is being read").with_hint(
        "Copy what is needed of the row, and run the statement after the callback, or use another connection.",
    )
}

/// The rows that a statement affected; reads through rows that nobody wants, for their errors.
pub(super) fn exhaust(mut executed: Executed) -> Result<u64> {
    if let Some(rows) = &mut executed.rows {
        rows.exhaust()?;
    }
    Ok(executed.affected)
}
