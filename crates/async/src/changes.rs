//! The change feed as a stream.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use cairndb::{Change, Position, Result, StopHandle};
use futures_core::Stream;

use crate::error::SHUTDOWN;
use crate::shared::Handle;

/// What commits did to tables with a change feed, as a stream: see [`cairndb::Changes`]. What was read ahead is given at once; more
/// is read by the threads that do what takes longer, and while there is nothing none of them waits. It keeps the database open; dropping
/// it ends it.
///
/// ```
/// # let work = async {
/// # let db = cairndb_async::Database::open_in_memory().await?;
/// db.execute("CREATE TABLE task (id int PRIMARY KEY, title text) WITH (change_feed = on)", ()).await?;
/// let mut changes = db.changes(None).await?;
/// db.execute("INSERT INTO task VALUES (1, 'told')", ()).await?;
/// let change = changes.next_change().await?.expect("a change");
/// assert_eq!(change.new_row().expect("a row").get::<String>("title")?, "told");
/// let later = db.changes(Some(changes.token())).await?;
/// # drop(later);
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
pub struct Changes {
    state: State,
    token: Position,
    stop: StopHandle,
    /// Its workers read for it.
    handle: Arc<Handle>,
}

/// What a worker gives back, and what it found.
type Read = (cairndb::Changes, Poll<Result<Option<Change>>>);

enum State {
    Here(Box<cairndb::Changes>),
    /// A worker reads on. The waker is woken when there may be something.
    Reading(Pin<Box<dyn Future<Output = Result<Read>> + Send>>, Waker),
    Over,
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Changes({})", self.token)
    }
}

impl Changes {
    pub(crate) fn new(changes: cairndb::Changes, handle: Arc<Handle>) -> Changes {
        let (token, stop) = (changes.token(), changes.stop_handle());
        Changes { state: State::Here(Box::new(changes)), token, stop, handle }
    }

    /// Where to go on from: see [`cairndb::Changes::token`].
    pub fn token(&self) -> Position {
        self.token
    }

    /// Ends it from elsewhere.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// let mut changes = db.changes(None).await?;
    /// changes.stop_handle().stop();
    /// assert!(changes.next_change().await?.is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// The next change; `None`: the database was closed, or it was stopped.
    ///
    /// # Errors
    ///
    /// See [`cairndb::Changes::next_change`].
    pub async fn next_change(&mut self) -> Result<Option<Change>> {
        std::future::poll_fn(|context| self.poll_change(context)).await
    }

    fn poll_change(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Change>>> {
        loop {
            match &mut self.state {
                State::Over => return Poll::Ready(Ok(None)),
                State::Here(changes) => {
                    if let Some(change) = changes.take_read() {
                        self.token = changes.token();
                        return Poll::Ready(Ok(Some(change)));
                    }
                    let State::Here(changes) = std::mem::replace(&mut self.state, State::Over) else { continue };
                    let waker = context.waker().clone();
                    self.state = State::Reading(read(self.handle.clone(), *changes, waker.clone()), waker);
                }
                State::Reading(reading, waker) => {
                    let (read, waker) = (std::task::ready!(reading.as_mut().poll(context)), waker.clone());
                    self.state = State::Over;
                    let (changes, came) = match read {
                        Ok(read) => read,
                        Err(error) if error.sqlstate() == SHUTDOWN => return Poll::Ready(Ok(None)),
                        Err(error) => return Poll::Ready(Err(error)),
                    };
                    self.token = changes.token();
                    self.state = State::Here(Box::new(changes));
                    match came {
                        // The task is another by now, which nobody would wake.
                        Poll::Pending if !waker.will_wake(context.waker()) => {}
                        came => return came,
                    }
                }
            }
        }
    }
}

fn read(
    handle: Arc<Handle>,
    mut changes: cairndb::Changes,
    waker: Waker,
) -> Pin<Box<dyn Future<Output = Result<Read>> + Send>> {
    Box::pin(async move {
        let poll = move |_: &cairndb::Pooled| {
            let came = changes.poll_change(&mut Context::from_waker(&waker));
            Ok((changes, came))
        };
        handle.run(poll).await
    })
}

impl Stream for Changes {
    type Item = Result<Change>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_change(context).map(Result::transpose)
    }
}
