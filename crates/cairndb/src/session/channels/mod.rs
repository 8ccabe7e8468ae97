//! LISTEN, NOTIFY and UNLISTEN: messages between the connections of a database.

mod hub;
mod listener;
mod said;
mod session;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

pub(crate) use hub::Channels;
pub(crate) use listener::Hold;
use listener::{Listener, Taken};
pub(crate) use session::{Leaving, SessionChannels};

use cairn_storage::Process;

use super::Executed;
use super::Session;
use super::next::{Next, Stop, StopHandle};
use super::shared::Shared;
use crate::command::ChannelCommand;
use crate::sync;
use crate::{Error, Result};

/// What NOTIFY, or `pg_notify()`, told a channel.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.listen("news")?;
/// let mut notifications = conn.notifications();
/// conn.execute("NOTIFY news, 'hello'", ())?;
/// let told = notifications.next_notification().expect("it was committed");
/// assert_eq!((told.channel(), told.payload(), told.missed()), ("news", "hello", 0));
/// assert!(told.is_own());
/// assert_eq!(told.process(), std::process::id() as i32);
/// assert_eq!(told.to_string(), "Asynchronous notification \"news\" with payload \"hello\" received.");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    channel: Arc<str>,
    payload: Arc<str>,
    missed: u64,
    is_own: bool,
    process: i32,
}

impl Notification {
    /// The channel's name.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// What was told; empty where nothing was.
    pub fn payload(&self) -> &str {
        &self.payload
    }

    /// How many notifications right before this one were dropped, because they were not taken: what was derived of them has to
    /// be read anew. 0, unless the connection lets 4 MiB of them wait.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Whether the connection that hears it has sent it itself.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// The number of the session that has sent it: what `pg_backend_pid()` gives there. Of a server's sessions each has its own; others have
    /// their process's.
    pub fn process(&self) -> i32 {
        self.process
    }
}

/// As `psql` shows it, but for the process.
impl fmt::Display for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Notification { channel, payload, missed, .. } = self;
        write!(f, "Asynchronous notification \"{channel}\"")?;
        if !payload.is_empty() {
            write!(f, " with payload \"{payload}\"")?;
        }
        f.write_str(" received.")?;
        if *missed > 0 {
            write!(f, " ({missed} before it were dropped.)")?;
        }
        Ok(())
    }
}

/// What the channels tell to which a connection listens: what others notified, and itself, after their transactions are
/// committed, in the order of commits.
///
/// It may be taken to another thread. While the connection has a transaction open, nothing is given out. It ends, without an
/// error, with the connection, or when the database is closed. Of several for one connection each gives out what the others
/// do not.
///
/// What is not taken waits, up to 4 MiB of it; beyond that the oldest is dropped, which the next one
/// [counts](Notification::missed). No writer waits for who listens.
///
/// ```
/// let db = cairndb::Database::open_in_memory()?;
/// let (listener, writer) = (db.connect()?, db.connect()?);
/// listener.execute("LISTEN orders", ())?;
/// let mut notifications = listener.notifications();
///
/// writer.transaction(|tx| {
///     tx.execute("CREATE TABLE IF NOT EXISTS placed (id int)", ())?;
///     tx.execute("INSERT INTO placed VALUES (1)", ())?;
///     tx.query("SELECT pg_notify('orders', $1)", ("1",)).map(drop)
/// })?;
/// let told = notifications.next_notification().expect("the commit has told it");
/// assert_eq!((told.channel(), told.payload()), ("orders", "1"));
/// assert!(notifications.drain().is_empty());
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Notifications {
    listener: Arc<Listener>,
    /// Its place among those whose wakers are woken, once it has one.
    place: Option<u64>,
    stop: Arc<Stopped>,
    shared: Weak<Shared>,
}

/// Whether somebody has stopped them, and whom that is said.
struct Stopped {
    is_stopped: AtomicBool,
    listener: Weak<Listener>,
    /// The database's: in a child of it they are over.
    process: Process,
}

impl Stopped {
    fn is(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst) || !self.process.is_current()
    }
}

impl Stop for Stopped {
    fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        if let Some(listener) = self.listener.upgrade().filter(|listener| listener.is_here()) {
            listener.rouse();
        }
    }
}

impl fmt::Debug for Notifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notifications")
    }
}

impl Notifications {
    /// All that wait now, without waiting for others.
    pub fn drain(&mut self) -> Vec<Notification> {
        if self.listener.is_here() { self.listener.take_all() } else { Vec::new() }
    }

    /// Waits for the next one. `None`: the connection is gone, the database was closed, or they were
    /// [stopped](Notifications::stop_handle).
    ///
    /// The thread that has a transaction open on the connection would wait for ever.
    pub fn next_notification(&mut self) -> Option<Notification> {
        self.next_until(None).item()
    }

    /// As `next_notification`, for at most so long.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// let mut notifications = conn.notifications();
    /// let soon = std::time::Duration::from_millis(10);
    /// assert_eq!(notifications.next_notification_within(soon), cairndb::Next::NotYet);
    /// drop((conn, db));
    /// assert_eq!(notifications.next_notification_within(soon), cairndb::Next::End);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn next_notification_within(&mut self, time: Duration) -> Next<Notification> {
        self.next_until(sync::now().checked_add(time))
    }

    fn next_until(&mut self, until: Option<Instant>) -> Next<Notification> {
        let taken = if self.stop.is() { None } else { self.listener.take(until, &|| self.stop.is()) };
        match taken {
            Some(notification) => Next::Item(notification),
            None if self.has_ended() => Next::End,
            None => Next::NotYet,
        }
    }

    /// Ends them from another thread, also while they are waited for. The connection listens to what it does.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle::of(&self.stop)
    }

    /// For tasks of an asynchronous program: the next one, or its waker is woken once there is one.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// let mut notifications = conn.notifications();
    /// let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// assert!(notifications.poll_notification(&mut context).is_pending());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn poll_notification(&mut self, context: &mut Context<'_>) -> Poll<Option<Notification>> {
        if self.stop.is() {
            return Poll::Ready(None);
        }
        match self.listener.poll(&mut self.place, context.waker()) {
            Taken::Some(notification) => Poll::Ready(Some(notification)),
            Taken::Over => Poll::Ready(None),
            Taken::Nothing if self.stop.is() => Poll::Ready(None),
            Taken::Nothing => Poll::Pending,
        }
    }

    /// Whether they have ended, and all was taken.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let news = conn.notifications();
    /// assert!(!news.has_ended());
    /// news.stop_handle().stop();
    /// assert!(news.has_ended());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn has_ended(&self) -> bool {
        self.stop.is() || self.listener.is_over()
    }

    /// Calls `each` with every notification, on a thread of its own, until they end or the returned guard is dropped. A panic in
    /// `each` ends the calls and nothing else.
    pub fn on_notification(self, mut each: impl FnMut(Notification) + Send + 'static) -> Result<NotificationGuard> {
        let shared = self.shared.upgrade().ok_or_else(|| Error::from(cairn_storage::Error::Closed))?;
        let guard = NotificationGuard { handle: self.stop_handle() };
        let mut notifications = self;
        let work = move || {
            while let Some(notification) = notifications.next_notification() {
                each(notification);
            }
        };
        let _ = shared.store.spawn("cairn-notify-call", Box::new(work))?;
        Ok(guard)
    }
}

impl Drop for Notifications {
    fn drop(&mut self) {
        if let Some(place) = self.place.filter(|_| self.listener.is_here()) {
            self.listener.forget(place);
        }
    }
}

/// Notifications until they end.
impl Iterator for Notifications {
    type Item = Notification;

    fn next(&mut self) -> Option<Notification> {
        self.next_notification()
    }
}

/// From [`Notifications::on_notification`]: dropping it ends the calls (one that runs is not waited for).
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.listen("news")?;
/// let (tell, told) = std::sync::mpsc::channel();
/// let guard = conn.notifications().on_notification(move |news| {
///     let _ = tell.send(news.payload().to_string());
/// })?;
/// conn.execute("NOTIFY news, 'hello'", ())?;
/// assert_eq!(told.recv().expect("it is called"), "hello");
/// drop(guard); // From now on it is not.
/// # Ok::<(), cairndb::Error>(())
/// ```
#[must_use = "dropping it ends the calls"]
pub struct NotificationGuard {
    handle: StopHandle,
}

impl fmt::Debug for NotificationGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotificationGuard")
    }
}

impl Drop for NotificationGuard {
    fn drop(&mut self) {
        self.handle.stop();
    }
}

impl Session {
    /// What the channels tell to which this connection listens, now and later: see [`Notifications`].
    pub(crate) fn notifications(&self) -> Notifications {
        let process = self.shared().store.process();
        if process.is_current() {
            self.begin_to_hear();
        }
        let listener = self.channels().listener().clone();
        let stop = Stopped { is_stopped: AtomicBool::new(false), listener: Arc::downgrade(&listener), process };
        Notifications { listener, place: None, stop: Arc::new(stop), shared: Arc::downgrade(self.shared()) }
    }

    /// `LISTEN` to the channel of this name, taken as it is.
    pub(crate) fn listen(&self, channel: &str) -> Result<()> {
        said::Note::new(channel, "")?;
        let command = ChannelCommand::Listen(channel.to_owned());
        self.run_as_statement(false, || self.channel_command(&command)).map(drop)
    }

    pub(super) fn channels(&self) -> &Arc<SessionChannels> {
        &self.routines.channels
    }

    /// What is heard waits for the end of the open transaction, also where that began before.
    fn begin_to_hear(&self) {
        if !self.channels().is_listening() {
            self.channels().listener();
            if let Ok(mut state) = self.state.try_borrow_mut() {
                state.hold_notifications();
            }
        }
    }

    /// Done at the commit: at once, where no transaction is open.
    pub(super) fn channel_command(&self, command: &ChannelCommand) -> Result<Executed> {
        if self.transaction_failed() {
            return Err(Error::aborted_transaction());
        }
        let is_alone = !self.in_transaction();
        if is_alone {
            self.channels().forget();
        }
        if matches!(command, ChannelCommand::Listen(_)) {
            let there = self.channels().count_channels();
            self.state.borrow().settings.check_names("channels", there, 0)?;
            self.begin_to_hear();
        }
        self.channels().command(command)?;
        if is_alone {
            self.shared().channels.check_open()?;
            self.channels().telling().into_iter().for_each(|telling| telling.acknowledged(None));
        }
        Ok(Executed::tag(match command {
            ChannelCommand::Listen(_) => "LISTEN",
            ChannelCommand::Unlisten(_) => "UNLISTEN",
            ChannelCommand::Notify { .. } => "NOTIFY",
        }))
    }
}
