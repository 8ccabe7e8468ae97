//! A pool of connections, for threads that each need one now and then.
//!
//! What must hold: never more than so many are lent at a time, and whoever waits gets the next that comes back; a user finds a
//! connection as it was when the pool was made.

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Connection, Database, PlanCache, Pooled};
use crate::sync::{self, Condvar, Mutex, MutexGuard};
use crate::{Error, Result, SqlState};

/// Connections that are lent to whoever needs one. They share their statements' plans. Cheap to clone, and the same pool.
///
/// ```
/// let pool = cairndb::Database::open_in_memory()?.pool(4);
/// pool.get()?.execute("CREATE TABLE visit (page text, at timestamptz DEFAULT now())", ())?;
/// std::thread::scope(|scope| {
///     for page in ["home", "about", "home"] {
///         let pool = &pool;
///         scope.spawn(move || pool.get()?.execute("INSERT INTO visit (page) VALUES ($1)", (page,)));
///     }
/// });
/// let (count,): (i64,) = pool.get()?.query_row_as("SELECT count(*) FROM visit", ())?;
/// assert_eq!(count, 3);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    database: Database,
    plans: PlanCache,
    size: usize,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Pooled>,
    lent: usize,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Database {
    /// A pool of at most `size` connections (at least one), which are made as they are needed.
    pub fn pool(&self, size: usize) -> Pool {
        let (state, returned) = (Mutex::default(), Condvar::new());
        Pool(Arc::new(Shared { database: self.clone(), plans: PlanCache::new(), size: size.max(1), state, returned }))
    }
}

impl Pool {
    /// A connection, once there is one. Dropping it gives it back: an open transaction is rolled back, and what else was changed
    /// in its session (settings, temporary tables, prepared statements) does not reach the next user.
    pub fn get(&self) -> Result<PooledConnection> {
        self.get_until(None).and_then(|got| got.ok_or_else(|| Error::internal("a wait without end has ended")))
    }

    /// As [`Pool::get`]. Where none comes back in time: SQLSTATE 53300.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// let pool = db.pool(1);
    /// let lent = pool.get()?;
    /// let refused = pool.get_within(std::time::Duration::from_millis(10)).err().expect("it is lent");
    /// assert_eq!(refused.sqlstate().as_str(), "53300");
    /// drop(lent);
    /// assert!(pool.get_within(std::time::Duration::ZERO).is_ok());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn get_within(&self, time: Duration) -> Result<PooledConnection> {
        self.get_until(sync::now().checked_add(time))?.ok_or_else(|| {
            let message = format!("all {} connections of the pool are in use", self.0.size);
            Error::new(SqlState::TOO_MANY_CONNECTIONS, message)
                .with_hint("Give them back sooner, or make the pool larger.")
        })
    }

    fn get_until(&self, until: Option<Instant>) -> Result<Option<PooledConnection>> {
        self.0.database.shared.store.process().check()?;
        let mut state = self.0.state();
        while state.lent >= self.0.size {
            state = match until.map(|until| until.saturating_duration_since(sync::now())) {
                None => self.0.returned.wait(state),
                Some(Duration::ZERO) => return Ok(None),
                Some(left) => self.0.returned.wait_for(state, left),
            };
        }
        state.lent += 1;
        let idle = state.idle.pop();
        drop(state);
        // Counted first, and given back where no connection can be made.
        let mut lent = PooledConnection { pooled: idle, pool: self.0.clone() };
        if lent.pooled.is_none() {
            lent.pooled = Some(Pooled::new(self.0.database.connect()?, &self.0.plans));
        }
        Ok(Some(lent))
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.0.state();
        let State { idle, lent } = &*state;
        f.debug_struct("Pool").field("size", &self.0.size).field("idle", &idle.len()).field("lent", lent).finish()
    }
}

/// A connection of a [`Pool`], which it derefs to.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let pool = db.pool(2);
/// let lent = pool.get()?; // A connection.
/// let (one,): (i32,) = lent.query_row_as("SELECT 1", ())?;
/// assert_eq!(one, 1);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct PooledConnection {
    /// `None` only where it could not be made, or is given back.
    pooled: Option<Pooled>,
    pool: Arc<Shared>,
}

impl Deref for PooledConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.pooled.as_ref().expect("there until it is dropped").connection()
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        // One with something left in its session ends here, and a new one takes its place when it is needed.
        // In a child of the process nobody gives it back.
        if !self.pool.database.shared.store.process().is_current() {
            return;
        }
        let whole = self.pooled.take().filter(Pooled::end_use);
        let mut state = self.pool.state();
        state.idle.extend(whole);
        state.lent -= 1;
        drop(state);
        self.pool.returned.notify_one();
    }
}
