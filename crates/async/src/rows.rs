//! The rows of a query, batch by batch.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use cairndb::{Error, Field, InterruptHandle, Prefetched, Result, Row};
use futures_core::Stream;

use crate::shared::Handle;
use crate::transaction::Open;

/// Rows of the first batch, and of each that follows, at least, unless they take longer than this to work out.
const FIRST: usize = 1024;
const ROWS: usize = 4096;
const TIME: Duration = Duration::from_millis(10);

/// The rows of a query, produced as they are asked for: nothing is worked out before, and nobody is kept from other work while
/// nothing is asked for. Dropping it ends the query.
///
/// As a [`Stream`] it gives batches of rows, each as [`cairndb::Rows`] that are there already.
///
/// ```
/// # let work = async {
/// # let db = cairndb_async::Database::open_in_memory().await?;
/// # db.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10), (2, 20)").await?;
/// let mut rows = db.query("SELECT id, n FROM t ORDER BY id", ()).await?;
/// assert_eq!(rows.columns()[1].name, "n");
/// while let Some(row) = rows.next().await? {
///     println!("{}", row.get::<i32>("n")?);
/// }
/// // Many at a time, as they come:
/// let mut rows = db.query("SELECT id, n FROM t", ()).await?;
/// while let Some(batch) = rows.next_batch().await? {
///     for row in batch {
///         println!("{}", row?.get::<i32>("n")?);
///     }
/// }
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
pub struct Rows {
    handle: Arc<Handle>,
    /// The transaction that it belongs to.
    open: Option<Arc<Open>>,
    /// The batch that is being read, and how many of its rows were not given out.
    current: cairndb::Rows,
    left: usize,
    rest: Rest,
}

/// What is not yet worked out.
enum Rest {
    Nothing,
    Waiting(Source),
    Running(Pin<Box<dyn Future<Output = Result<Next>> + Send>>),
}

/// A query that goes on where it stands, on whichever thread.
pub(crate) struct Source {
    pub(crate) rows: cairndb::Rows,
    pub(crate) interrupt: InterruptHandle,
}

/// A batch, and what is to come.
pub(crate) struct Next {
    pub(crate) ahead: Prefetched,
    pub(crate) source: Source,
}

impl Source {
    /// Begins with a query's first rows.
    pub(crate) fn begin(mut rows: cairndb::Rows, interrupt: InterruptHandle) -> Result<Next> {
        let ahead = rows.ahead(FIRST, TIME)?;
        Ok(Next { ahead, source: Source { rows, interrupt } })
    }

    fn go_on(mut self) -> Result<Next> {
        let ahead = self.rows.ahead(ROWS, TIME)?;
        Ok(Next { ahead, source: self })
    }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rows")
    }
}

impl Rows {
    pub(crate) fn new(handle: &Arc<Handle>, open: Option<Arc<Open>>, next: Next) -> Rows {
        let Next { ahead: Prefetched { rows, count, is_end, .. }, source } = next;
        let rest = if is_end { Rest::Nothing } else { Rest::Waiting(source) };
        Rows { handle: handle.clone(), open, current: rows, left: count, rest }
    }

    /// Rows that are all there.
    pub(crate) fn ready(handle: &Arc<Handle>, mut rows: cairndb::Rows) -> Result<Rows> {
        let Prefetched { rows, count, .. } = rows.ahead(usize::MAX, Duration::ZERO)?;
        Ok(Rows { handle: handle.clone(), open: None, current: rows, left: count, rest: Rest::Nothing })
    }

    /// The output columns.
    pub fn columns(&self) -> &[Field] {
        self.current.columns()
    }

    /// The next row; it lives until the next call. After an error there are no more rows.
    pub async fn next(&mut self) -> Result<Option<Row<'_>>> {
        while self.left == 0 {
            if !std::future::poll_fn(|context| self.poll_fetch(context)).await? {
                return Ok(None);
            }
        }
        self.left -= 1;
        self.current.next()
    }

    /// The next rows, at least one, as they come: [`cairndb::Rows`] that are there already. `None`: there are no more.
    pub async fn next_batch(&mut self) -> Result<Option<cairndb::Rows>> {
        std::future::poll_fn(|context| self.poll_batch(context)).await
    }

    /// A stream of the rows, each turned into a value by `map`.
    ///
    /// ```
    /// # use futures_util::StreamExt;
    /// # let work = async {
    /// let db = cairndb_async::Database::open_in_memory().await?;
    /// let rows = db.query("SELECT n * n FROM generate_series(1, 3) AS s(n)", ()).await?;
    /// let squares: Vec<cairndb::Result<i64>> = rows.mapped(|row| row.get(0)).collect().await;
    /// assert_eq!(squares.into_iter().collect::<cairndb::Result<Vec<_>>>()?, [1, 4, 9]);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub fn mapped<T, F: FnMut(Row<'_>) -> Result<T>>(self, map: F) -> Mapped<F> {
        Mapped { rows: self, map }
    }

    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<cairndb::Rows>>> {
        while self.left == 0 {
            match self.poll_fetch(context) {
                Poll::Ready(Ok(true)) => {}
                Poll::Ready(done) => return Poll::Ready(done.map(|_| None)),
                Poll::Pending => return Poll::Pending,
            }
        }
        self.left = 0;
        // Its columns stay.
        let batch = self.current.ahead(usize::MAX, Duration::ZERO)?;
        Poll::Ready(Ok(Some(batch.rows)))
    }

    /// Gets the next batch, which may be empty; false: there is none.
    fn poll_fetch(&mut self, context: &mut Context<'_>) -> Poll<Result<bool>> {
        let mut running = match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Nothing => return Poll::Ready(Ok(false)),
            Rest::Running(running) => running,
            Rest::Waiting(source) => fetch(self.handle.clone(), self.open.clone(), source),
        };
        match running.as_mut().poll(context) {
            Poll::Pending => {
                self.rest = Rest::Running(running);
                Poll::Pending
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(Next { ahead: Prefetched { rows, count, is_end, .. }, source })) => {
                (self.current, self.left) = (rows, count);
                self.rest = if is_end { Rest::Nothing } else { Rest::Waiting(source) };
                Poll::Ready(Ok(true))
            }
        }
    }
}

/// Has a worker go on with a query.
fn fetch(
    handle: Arc<Handle>,
    open: Option<Arc<Open>>,
    source: Source,
) -> Pin<Box<dyn Future<Output = Result<Next>> + Send>> {
    Box::pin(async move {
        let turn = match &open {
            Some(open) => Some(open.turn().await?),
            None => None,
        };
        let go_on = move |task: crate::task::Work<Next>, _: &mut crate::worker::Worker| {
            let interrupt = source.interrupt.clone();
            // The query itself is gone then, which is all that was worked on.
            let ran = task.run(interrupt, || source.go_on());
            drop((turn, open));
            ran.tell();
        };
        handle.run_job(go_on).await
    })
}

impl Stream for Rows {
    type Item = Result<cairndb::Rows>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_batch(context).map(Result::transpose)
    }
}

/// From [`Rows::mapped`].
///
/// ```
/// # let work = async {
/// # let db = cairndb_async::Database::open_in_memory().await?;
/// # db.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10), (2, 20)").await?;
/// use futures_util::TryStreamExt;
///
/// let rows = db.query("SELECT n FROM t ORDER BY id", ()).await?;
/// let numbers: Vec<i32> = rows.mapped(|row| row.get::<i32>(0)).try_collect().await?;
/// assert_eq!(numbers, [10, 20]);
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
pub struct Mapped<F> {
    rows: Rows,
    map: F,
}

impl<F> Unpin for Mapped<F> {}

impl<T, F: FnMut(Row<'_>) -> Result<T>> Stream for Mapped<F> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Mapped { rows, map } = &mut *self;
        while rows.left == 0 {
            match rows.poll_fetch(context) {
                Poll::Ready(Ok(true)) => {}
                Poll::Ready(Ok(false)) => return Poll::Ready(None),
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                Poll::Pending => return Poll::Pending,
            }
        }
        rows.left -= 1;
        let row: Result<Option<Row<'_>>, Error> = rows.current.next();
        Poll::Ready(row.transpose().map(|row| row.and_then(map)))
    }
}
