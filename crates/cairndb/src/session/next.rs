//! What comes by and by: waited for, for a while, and no more from another thread on.

use std::fmt;
use std::sync::{Arc, Weak};

/// What waiting for a while came to: of [`LiveQuery::next_change_within`](super::LiveQuery::next_change_within) and its kin.
///
/// ```
/// use std::time::Duration;
/// use cairndb::Next;
///
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.execute_script("CREATE TABLE t (id int PRIMARY KEY)")?;
/// let mut live = conn.live("SELECT id FROM t", ())?;
/// loop {
///     match live.next_change_within(Duration::from_millis(10))? {
///         Next::Item(change) => println!("{} rows came", change.added().count()),
///         Next::NotYet => break, // There is time for something else.
///         Next::End => return Ok(()),
///     }
/// }
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// The next one.
    Item(T),
    /// The time is over, and there was none so far.
    NotYet,
    /// There will be none: the database was closed, or it was [stopped](StopHandle::stop).
    End,
}

impl<T> Next<T> {
    /// The next one, if it came.
    ///
    /// ```
    /// use cairndb::Next;
    ///
    /// assert_eq!((Next::Item(1).item(), Next::<i32>::NotYet.item(), Next::<i32>::End.item()), (Some(1), None, None));
    /// ```
    pub fn item(self) -> Option<T> {
        match self {
            Next::Item(item) => Some(item),
            Next::NotYet | Next::End => None,
        }
    }

    /// Whether there will be none.
    ///
    /// ```
    /// assert!(cairndb::Next::<i32>::End.is_end() && !cairndb::Next::<i32>::NotYet.is_end());
    /// ```
    pub fn is_end(&self) -> bool {
        matches!(self, Next::End)
    }
}

/// What can be stopped while it is waited for.
pub(crate) trait Stop: Send + Sync {
    fn stop(&self);
}

/// Ends a [`LiveQuery`](super::LiveQuery), [`Changes`](crate::Changes) or [`Notifications`](super::Notifications) from another
/// thread. Cheap to clone; it keeps nothing open.
///
/// ```
/// let db = cairndb::Database::open_in_memory()?;
/// let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (id int PRIMARY KEY)")?;
/// let live = conn.live("SELECT id FROM t", ())?;
/// let handle = live.stop_handle();
/// let watching = std::thread::spawn(move || live.map(|change| change.map(|change| change.added().count())).collect::<Vec<_>>());
/// handle.stop();
/// assert!(watching.join().expect("it ends").len() <= 1);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone)]
pub struct StopHandle(Weak<dyn Stop>);

impl StopHandle {
    pub(crate) fn of<S: Stop + 'static>(of: &Arc<S>) -> StopHandle {
        let of: Weak<S> = Arc::downgrade(of);
        StopHandle(of)
    }

    /// Whoever waits for the next one hears that there will be none, and so does whoever asks later. What was not taken is dropped.
    pub fn stop(&self) {
        if let Some(of) = self.0.upgrade() {
            of.stop();
        }
    }
}

impl fmt::Debug for StopHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StopHandle")
    }
}
