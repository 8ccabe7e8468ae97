//! What a pool of connections needs of one.

use std::sync::Arc;

use super::{Connection, InterruptHandle, PlanCache, Ticket};
use crate::Result;
use crate::session::Settings;

/// A connection that one user after the other has: it shares plans with the others of its pool, and knows whether a user left
/// something behind.
///
/// ```
/// use cairndb::{Database, PlanCache, Pooled};
///
/// let db = Database::open_in_memory()?;
/// let plans = PlanCache::new();
/// let pooled = Pooled::new(db.connect()?, &plans);
/// let one: i32 = pooled.connection().query_row("SELECT 1", (), |row| row.get(0))?;
/// assert!(one == 1 && pooled.end_use());
/// pooled.connection().execute("SET work_mem = '1MB'", ())?;
/// assert!(!pooled.end_use(), "not for the next user");
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Pooled {
    connection: Connection,
    /// As they were when it came into the pool.
    settings: Arc<Settings>,
}

impl Pooled {
    /// A connection as it is to be for every user: what was set, registered and made on it so far stays.
    pub fn new(mut connection: Connection, plans: &PlanCache) -> Pooled {
        connection.session.share_plans(plans);
        let settings = connection.session.settings();
        Pooled { connection, settings }
    }

    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// A handle that interrupts what is run until this is called again: what runs when it is used, and all that begins after
    /// that. Rows that were begun before keep their own.
    pub fn renew_interrupt(&mut self) -> InterruptHandle {
        self.connection.session.renew_interrupt()
    }

    /// Runs `work`, whose commits are not waited for; a ticket for them, if there are any to wait for. What comes after a commit
    /// within `work` need not see it: it should be one statement.
    pub fn pipelined<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> (Result<T>, Option<Ticket>) {
        let (done, pending) = self.connection.session.pipelined(|| work(&self.connection));
        (done, pending.map(|commit| Ticket::new(0, Some(commit))))
    }

    /// The next transaction gets no turn for what those before it have lost: whoever else commits would wait for it, and may have
    /// the thread that it needs to go on.
    pub fn forget_losses(&self) {
        // While a row of it is lent it runs nothing that would get one.
        let _ = self.connection.session.forget_losses();
    }

    /// Forgets what does not matter to the next user; false: something of the last user's would matter (an open transaction,
    /// changed settings, temporary relations, what PREPARE and DECLARE made, a channel listened to, an advisory lock), and the connection is to be dropped.
    pub fn end_use(&self) -> bool {
        self.connection.session.end_use(&self.settings)
    }
}
