//! Transactions: a connection of their own, and no thread.
//!
//! What must hold:
//! - Statements of a transaction have turns: one at a time has its connection.
//! - None gets a turn of the engine's, for which others would wait on threads that its own next statement needs. (Where it did,
//!   all of them waited until its time was over, again and again.) Who lost runs again, that is all.
//! - One whose future is gone, and whose statements are over, is rolled back.

use std::fmt;
use std::sync::{Arc, Mutex};

use cairndb::internals::text_for;
use cairndb::{Connection, Error, Params, Pooled, Result, Row, SqlState, Ticket};

use crate::batch::Batch;
use crate::database::{first_of, no_row, settled};
use crate::error::is_over;
use crate::gate::{Gate, Place};
use crate::rows::{Rows, Source};
use crate::shared::{Handle, Shared, lock, owned};
use crate::task::Work;

/// How often a transaction that loses to others runs again.
const ATTEMPTS: u32 = 100;

/// An open transaction, as the body of [`Database::transaction`](crate::Database::transaction) has it. Cheap to clone.
///
/// ```
/// # let work = async {
/// # let db = cairndb_async::Database::open_in_memory().await?;
/// # db.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10), (2, 20)").await?;
/// db.transaction(async |tx| {
///     let n = tx.query_optional("SELECT n FROM t WHERE id = 1", (), |row| row.get::<i32>(0)).await?.unwrap_or(0);
///     tx.execute_batch("INSERT INTO t VALUES ($1, $2)", [(3, n), (4, n)]).await?;
///     tx.call(|connection| connection.execute("DELETE FROM t WHERE id = 2", ())).await
/// })
/// .await?;
/// let count: i64 = db.query_row("SELECT count(*) FROM t WHERE n = 10", (), |row| row.get(0)).await?;
/// assert_eq!(count, 3);
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
#[derive(Clone)]
pub struct Transaction(Arc<Open>);

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transaction")
    }
}

/// What is open.
pub(crate) struct Open {
    handle: Arc<Handle>,
    turns: Arc<Gate>,
    /// `None`: a statement has it, or the transaction is over.
    connection: Mutex<Option<Pooled>>,
    /// Among those that may be open.
    place: Mutex<Option<Place>>,
}

/// See [`Database::transaction`](crate::Database::transaction).
pub(crate) async fn run<T, F, Fut>(handle: &Arc<Handle>, mut body: F) -> Result<T>
where
    F: FnMut(Transaction) -> Fut,
    Fut: Future<Output = Result<T>>,
{
    handle.process.check()?;
    let place = handle.transaction_place().await?;
    let (connection, turns) = (Mutex::new(Some(handle.take_idle()?)), Gate::new(1));
    let open = Arc::new(Open { handle: handle.clone(), turns, connection, place: Mutex::new(Some(place)) });
    let mut attempt = 1;
    loop {
        let done = match body(Transaction(open.clone())).await {
            Ok(value) => open.commit().await.map(|()| value),
            Err(error) => open.rollback().await.and(Err(error)),
        };
        match done {
            Err(error) if error.sqlstate() == SqlState::SERIALIZATION_FAILURE && attempt < ATTEMPTS => attempt += 1,
            done => {
                open.end();
                return done;
            }
        }
    }
}

impl Open {
    /// Waits until no statement of the transaction runs.
    pub(crate) async fn turn(&self) -> Result<Place> {
        self.turns.enter().await
    }

    /// Has a worker run something with the transaction's connection.
    async fn run<T: Send + 'static>(
        self: &Arc<Open>,
        work: impl FnOnce(&Pooled) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (turn, open) = (self.turn().await?, self.clone());
        let job = move |task: Work<T>, _: &Arc<Shared>| {
            let Some(mut pooled) = lock(&open.connection).take() else { return task.fail(is_over()) };
            let interrupt = pooled.renew_interrupt();
            let ran = task.run(interrupt, || work(&pooled));
            // Before anybody hears of it: who does may end the transaction.
            if ran.is_whole() {
                *lock(&open.connection) = Some(pooled);
            }
            drop((turn, open));
            ran.tell();
        };
        self.handle.go_on(job).await
    }

    /// Runs a statement in the transaction, which the first of them begins.
    async fn statement<T: Send + 'static>(
        self: &Arc<Open>,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(move |pooled| {
            let connection = pooled.connection();
            if !connection.in_transaction() {
                pooled.forget_losses();
                connection.execute("BEGIN", ())?;
            }
            let done = work(connection)?;
            if connection.in_transaction() { Ok(done) } else { Err(ended_by_hand()) }
        })
        .await
    }

    async fn commit(self: &Arc<Open>) -> Result<()> {
        let commit = |pooled: &Pooled| -> Result<Option<Ticket>> {
            let connection = pooled.connection();
            if connection.transaction_failed() {
                connection.execute("ROLLBACK", ())?;
                let message = "the transaction was rolled back: one of its statements had failed";
                return Err(Error::new(SqlState::IN_FAILED_SQL_TRANSACTION, message));
            }
            if !connection.in_transaction() {
                return Ok(None);
            }
            let (done, ticket) = pooled.pipelined(|connection| connection.execute("COMMIT", ()));
            done.map(|_| ticket)
        };
        let ticket = self.run(commit).await?;
        settled((), ticket).await
    }

    async fn rollback(self: &Arc<Open>) -> Result<()> {
        let undone = self.run(roll_back).await;
        // A panic took the connection with it, which rolled back.
        if lock(&self.connection).is_none() { Ok(()) } else { undone }
    }

    /// It is over: whoever has a clone of it has nothing.
    fn end(&self) {
        if let Some(pooled) = lock(&self.connection).take() {
            self.handle.give_back(pooled);
        }
    }
}

fn roll_back(pooled: &Pooled) -> Result<()> {
    let connection = pooled.connection();
    if connection.in_transaction() { connection.execute("ROLLBACK", ()).map(drop) } else { Ok(()) }
}

fn ended_by_hand() -> Error {
    let message = "the transaction was ended by a statement of its own";
    Error::new(SqlState::INVALID_TRANSACTION_STATE, message)
        .with_hint("It is committed when its closure is done, and rolled back when that fails.")
}

/// Its future was dropped: a worker rolls back.
impl Drop for Open {
    fn drop(&mut self) {
        if !self.handle.process.is_current() {
            return;
        }
        let Some(pooled) = lock(&self.connection).take() else { return };
        let place = lock(&self.place).take();
        let undo = move |shared: &Arc<Shared>| {
            if roll_back(&pooled).is_ok() {
                shared.give_back(pooled);
            }
            drop(place);
        };
        // Where there are no workers any more it goes with the connection.
        drop(self.handle.put(Box::new(undo)));
    }
}

impl Transaction {
    /// Runs one statement; the number of rows it inserted, updated or deleted.
    pub async fn execute(&self, sql: &str, params: impl Params) -> Result<u64> {
        let (sql, params) = (text_for(sql, &params)?.into_owned(), owned(&params));
        self.0.statement(move |connection| connection.execute(&sql, params)).await
    }

    /// Runs one statement with each of many sets of parameters.
    pub async fn execute_batch<P: Params>(&self, sql: &str, sets: impl IntoIterator<Item = P>) -> Result<u64> {
        let batch = Batch::of(sql, sets)?;
        self.0.statement(move |connection: &Connection| batch.run(connection)).await
    }

    /// Runs a query (or a statement with RETURNING). Its rows can be read for as long as the transaction is open.
    pub async fn query(&self, sql: &str, params: impl Params) -> Result<Rows> {
        let (sql, params) = (text_for(sql, &params)?.into_owned(), owned(&params));
        let begin = move |connection: &Connection| {
            let interrupt = connection.interrupt_handle();
            Source::begin(connection.query(&sql, params)?, interrupt)
        };
        let next = self.0.statement(begin).await?;
        Ok(Rows::new(&self.0.handle, Some(self.0.clone()), next))
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
        let (sql, params) = (text_for(sql, &params)?.into_owned(), owned(&params));
        let mut rows = self.0.statement(move |connection| first_of(connection.query(&sql, params)?)).await?;
        rows.next()?.map(map).transpose()
    }

    /// Runs several statements in a row, on one of the threads that do what takes longer.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.0.statement(work).await
    }
}
