//! What channels tell, as streams.

use std::pin::Pin;
use std::task::{Context, Poll};

use cairndb::{Connection, Notification, Result, StopHandle};
use futures_core::Stream;

/// What the channels tell to which it listens, as a stream: see [`cairndb::Notifications`]. It has a connection of its own, and
/// keeps the database open; dropping it ends it.
///
/// ```
/// # let work = async {
/// # let db = cairndb_async::Database::open_in_memory().await?;
/// # db.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10), (2, 20)").await?;
/// let mut news = db.listen(["news"]).await?;
/// db.execute("SELECT pg_notify('news', 'hello')", ()).await?;
/// assert_eq!(news.next_notification().await.expect("it is told").payload(), "hello");
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
pub struct Notifications {
    heard: cairndb::Notifications,
    /// With it the listening ends.
    _connection: Connection,
}

impl Notifications {
    pub(crate) fn of(connection: Connection, channels: &[String]) -> Result<Notifications> {
        channels.iter().try_for_each(|channel| connection.listen(channel))?;
        Ok(Notifications { heard: connection.notifications(), _connection: connection })
    }

    /// Ends it from elsewhere: see [`cairndb::Notifications::stop_handle`].
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// let mut news = db.listen(["news"]).await?;
    /// news.stop_handle().stop();
    /// assert!(news.next_notification().await.is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub fn stop_handle(&self) -> StopHandle {
        self.heard.stop_handle()
    }

    /// The next one; `None`: the database was closed, or it was stopped.
    pub async fn next_notification(&mut self) -> Option<Notification> {
        std::future::poll_fn(|context| self.heard.poll_notification(context)).await
    }
}

impl Stream for Notifications {
    type Item = Notification;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.heard.poll_notification(context)
    }
}
