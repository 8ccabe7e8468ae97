//! A live query as its user has it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::change::{ChangedRows, LiveChange};
use super::query::LiveStatistics;
use super::subscriber::{End, Taken, TakenRows};
use super::subscription::Subscription;
use crate::Result;
use crate::plan::Field;
use crate::session::next::{Next, StopHandle};
use crate::session::shared::Handle;
use crate::sync;

/// A query whose result is kept current: first the whole result, then, after commits that change it, what changed.
///
/// - Every state that is told is the query's result in one committed, durable state of the database, none older than the last.
/// - Commits that do not change what the query reads cost it nothing; a result that stays the same is not told.
/// - Who takes changes slower than they come gets them together: the net change since what was taken last. No writer waits.
///
/// It ends with an error when a table of it is dropped, or altered so that the result's columns are others, or when a change takes
/// longer than the session's `statement_timeout`; and quietly when the database is closed, or by its [handle](LiveQuery::stop_handle).
/// Dropping it ends it.
///
/// ```
/// let db = cairndb::Database::open_in_memory()?;
/// let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE task (id int PRIMARY KEY, title text, done bool); INSERT INTO task VALUES (1, 'live', false)")?;
/// let mut open = conn.live("SELECT id, title FROM task WHERE NOT done", ())?;
/// assert_eq!(open.next_change()?.expect("the result").added().count(), 1);
///
/// conn.execute("INSERT INTO task VALUES (2, 'feed', false)", ())?;
/// let change = open.next_change()?.expect("a change");
/// let added: Vec<String> = change.added().map(|row| row.get("title")).collect::<Result<_, _>>()?;
/// assert_eq!(added, ["feed"]);
///
/// conn.execute("UPDATE task SET title = 'live queries' WHERE id = 1", ())?;
/// let change = open.next_change()?.expect("a change");
/// let (old, new) = change.updated().next().expect("a row");
/// assert_eq!((old.get::<String>(1)?, new.get::<String>(1)?), ("live".into(), "live queries".into()));
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct LiveQuery {
    pub(super) subscription: Subscription,
    ended: bool,
    /// Keeps the database open; let go of last.
    handle: Handle,
}

impl fmt::Debug for LiveQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LiveQuery")
    }
}

impl LiveQuery {
    pub(super) fn of(subscription: Subscription, handle: Handle) -> LiveQuery {
        LiveQuery { subscription, ended: false, handle }
    }

    /// The result's columns.
    pub fn columns(&self) -> &[Field] {
        &self.subscription.fields
    }

    /// Positions of columns of which no two rows of the result have the same values: by these rows are told as updated.
    /// No columns: there is one row at most. `None`: the plan does not show that there are any.
    pub fn key(&self) -> Option<&[usize]> {
        self.subscription.key.as_deref()
    }

    /// How it was kept current so far, for all who watch the same query.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute_script("CREATE TABLE t (id int PRIMARY KEY)")?;
    /// let mut live = conn.live("SELECT id FROM t", ())?;
    /// live.next_change()?;
    /// assert_eq!(live.statistics().rows, 0);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn statistics(&self) -> LiveStatistics {
        self.subscription.done()
    }

    /// Waits for the next change; the first is the whole result. `None`: the database was closed, or it was
    /// [stopped](LiveQuery::stop_handle).
    ///
    /// # Errors
    ///
    /// Why the query ended: a table was dropped or altered, or running it failed. After that, `None`.
    pub fn next_change(&mut self) -> Result<Option<LiveChange>> {
        self.take(None)
    }

    /// As `next_change`, for at most so long.
    ///
    /// # Errors
    ///
    /// See [`LiveQuery::next_change`].
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute_script("CREATE TABLE t (id int PRIMARY KEY)")?;
    /// let mut live = conn.live("SELECT id FROM t", ())?;
    /// live.next_change()?;
    /// let next = live.next_change_within(std::time::Duration::from_millis(10))?;
    /// assert!(matches!(next, cairndb::Next::NotYet));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn next_change_within(&mut self, time: Duration) -> Result<Next<LiveChange>> {
        let change = self.take(sync::now().checked_add(time))?;
        Ok(match change {
            Some(change) => Next::Item(change),
            None if self.ended => Next::End,
            None => Next::NotYet,
        })
    }

    /// Ends it from another thread, also while it is waited for; what runs for nobody else is interrupted.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle::of(&self.subscription.watching)
    }

    /// For tasks of an asynchronous program: the next change, or its waker is woken once there is one.
    ///
    /// # Errors
    ///
    /// See [`LiveQuery::next_change`].
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute_script("CREATE TABLE t (id int PRIMARY KEY)")?;
    /// let mut live = conn.live("SELECT id FROM t", ())?;
    /// live.next_change()?;
    /// let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// assert!(live.poll_change(&mut context)?.is_pending());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn poll_change(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<LiveChange>>> {
        if self.ended {
            return Poll::Ready(Ok(None));
        }
        self.subscription.subscriber().process.check()?;
        match self.subscription.subscriber().poll(context.waker()) {
            Ok(None) => Poll::Pending,
            taken => Poll::Ready(self.told(taken)),
        }
    }

    /// Whether it has ended: so it was told by the last call that took a change.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut live = conn.live("SELECT 1", ())?;
    /// live.next_change()?;
    /// live.stop_handle().stop();
    /// assert!(live.next_change()?.is_none() && live.has_ended());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Calls `each` with every change, the whole result first, on a thread of its own, until the query ends (the error, if it
    /// was one, is the last call's) or the returned guard is dropped. A panic in `each` ends this watching and nothing else.
    pub fn on_change(self, mut each: impl FnMut(Result<LiveChange>) + Send + 'static) -> Result<LiveGuard> {
        let stopped = Arc::new(AtomicBool::new(false));
        let (seen, handle) = (stopped.clone(), self.stop_handle());
        let store = self.handle.store.clone();
        let mut live = self;
        let work = move || {
            loop {
                let change = live.next_change();
                if seen.load(Ordering::SeqCst) {
                    return;
                }
                let is_last = change.is_err();
                match change.transpose() {
                    None => return,
                    Some(change) => each(change),
                }
                if is_last {
                    return;
                }
            }
        };
        let _ = store.spawn("cairn-live-call", Box::new(work))?;
        Ok(LiveGuard { stopped, handle })
    }

    fn take(&mut self, until: Option<Instant>) -> Result<Option<LiveChange>> {
        if self.ended {
            return Ok(None);
        }
        self.subscription.subscriber().process.check()?;
        let taken = self.subscription.subscriber().take(until);
        self.told(taken)
    }

    fn told(&mut self, taken: Result<Option<Taken>, End>) -> Result<Option<LiveChange>> {
        match taken {
            Ok(taken) => taken.map(|taken| self.change_of(taken)).transpose(),
            Err(end) => {
                self.ended = true;
                match end {
                    End::Closed => Ok(None),
                    End::Failed(error) => Err(error),
                }
            }
        }
    }

    fn change_of(&self, taken: Taken) -> Result<LiveChange> {
        let Subscription { form, fields, key, .. } = &self.subscription;
        let rows = match &taken.rows {
            TakenRows::First(rows) => ChangedRows::all(rows, form)?,
            TakenRows::Change(change) => ChangedRows::of(change, form, key.as_deref())?,
        };
        let is_first = matches!(taken.rows, TakenRows::First(_));
        let position = self.handle.told(taken.position);
        Ok(LiveChange::new(fields.clone(), position, is_first, rows))
    }
}

/// Changes until the query ends: an iterator of them.
impl Iterator for LiveQuery {
    type Item = Result<LiveChange>;

    fn next(&mut self) -> Option<Result<LiveChange>> {
        self.next_change().transpose()
    }
}

/// From [`LiveQuery::on_change`]: dropping it ends the calls (one that runs is not waited for).
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (id int PRIMARY KEY)")?;
/// let (tell, told) = std::sync::mpsc::channel();
/// let guard = conn.live("SELECT id FROM t", ())?.on_change(move |change| {
///     let _ = tell.send(change.map(|change| change.added().count()));
/// })?;
/// assert_eq!(told.recv().expect("the result")?, 0);
/// conn.execute("INSERT INTO t VALUES (1), (2)", ())?;
/// assert_eq!(told.recv().expect("a change")?, 2);
/// drop(guard); // Ends it.
/// # Ok::<(), cairndb::Error>(())
/// ```
#[must_use = "dropping it ends the calls"]
pub struct LiveGuard {
    stopped: Arc<AtomicBool>,
    handle: StopHandle,
}

impl fmt::Debug for LiveGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LiveGuard")
    }
}

impl Drop for LiveGuard {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.handle.stop();
    }
}
