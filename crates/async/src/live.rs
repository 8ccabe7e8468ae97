//! Live queries as streams.

use std::pin::Pin;
use std::task::{Context, Poll};

use cairndb::{Field, LiveChange, LiveQuery, Result, StopHandle};
use futures_core::Stream;

/// A query whose result is kept current, as a stream of its changes, the whole result first: see [`cairndb::LiveQuery`].
/// It keeps the database open; dropping it ends it.
///
/// ```
/// # let work = async {
/// # let db = cairndb_async::Database::open_in_memory().await?;
/// # db.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10), (2, 20)").await?;
/// let mut live = db.live("SELECT id, n FROM t", ()).await?;
/// assert_eq!((live.columns().len(), live.key()), (2, Some(&[0][..])));
/// let result = live.next_change().await?.expect("the result");
/// assert_eq!(result.added().count(), 2);
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
pub struct Live(LiveQuery);

impl Live {
    pub(crate) fn new(live: LiveQuery) -> Live {
        Live(live)
    }

    /// The result's columns.
    pub fn columns(&self) -> &[Field] {
        self.0.columns()
    }

    /// See [`LiveQuery::key`].
    pub fn key(&self) -> Option<&[usize]> {
        self.0.key()
    }

    /// Ends it from elsewhere: see [`LiveQuery::stop_handle`].
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// let mut live = db.live("SELECT 1", ()).await?;
    /// live.next_change().await?;
    /// live.stop_handle().stop();
    /// assert!(live.next_change().await?.is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub fn stop_handle(&self) -> StopHandle {
        self.0.stop_handle()
    }

    /// The next change; `None`: the database was closed, or it was stopped.
    ///
    /// # Errors
    ///
    /// Why the query ended.
    pub async fn next_change(&mut self) -> Result<Option<LiveChange>> {
        std::future::poll_fn(|context| self.0.poll_change(context)).await
    }
}

impl Stream for Live {
    type Item = Result<LiveChange>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_change(context).map(Result::transpose)
    }
}
