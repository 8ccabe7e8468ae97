//! The databases that requests are about: each open while it is used, and a little longer.
//!
//! Whoever has one keeps the server from closing it (DROP DATABASE waits for nobody: it is refused as long), so it is let go of soon.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cairn_server::{Lease, Services};
use cairndb::{Ceilings, Error, SqlState};
use cairndb_async::{Database, Options, Pool, PoolStatus};

use crate::events::Streams;
use crate::feed::Feed;

/// How long a database is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(5);

/// A database that requests use.
pub(crate) struct Open {
    /// What becomes of its documents, for streams.
    pub(crate) feed: Feed,
    /// Answers that go on.
    pub(crate) streams: Streams,
    /// For all that a token may do.
    pub(crate) database: Database,
    /// For SQL that only reads.
    reading: OnceLock<Result<Database, Error>>,
    within: (Ceilings, Vec<(String, String)>),
    /// Those that databases share, and how much may wait for one.
    threads: (Pool, usize),
    /// Let go of last.
    lease: Lease,
}

impl Open {
    fn new(services: &Services, name: &str, pool: &Pool, queue: usize) -> Result<Open, Error> {
        let lease = services.lease(name)?;
        let ceilings = services.options().ceilings.clone();
        let ceilings = ceilings.map_or_else(|| lease.database().map(cairndb::Database::ceilings), Ok)?;
        let within = (ceilings, services.settings(name));
        let threads = (pool.clone(), queue);
        let database = over(&lease, &within, &threads)?;
        let (feed, streams, reading) = (Feed::new(), Streams::default(), OnceLock::new());
        Ok(Open { feed, streams, database, reading, within, threads, lease })
    }

    /// With connections that read only.
    pub(crate) fn reading(&self) -> Result<&Database, Error> {
        let made = self.reading.get_or_init(|| {
            let (ceilings, settings) = self.within.clone();
            over(&self.lease, &(Ceilings { reads_only: true, ..ceilings }, settings), &self.threads)
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// What waits for a thread.
    fn waiting(&self) -> usize {
        let reading = self.reading.get().and_then(|reading| reading.as_ref().ok());
        self.database.waiting() + reading.map_or(0, Database::waiting)
    }
}

fn over(
    lease: &Lease,
    within: &(Ceilings, Vec<(String, String)>),
    (pool, queue): &(Pool, usize),
) -> Result<Database, Error> {
    let (ceilings, settings) = within.clone();
    let options = Options::default().pool(pool).queue(*queue).refuse_when_full().within(ceilings, settings);
    Database::over(lease.database()?.clone(), &options)
}

/// See the module.
pub(crate) struct Databases {
    services: Services,
    /// That all of them share.
    pool: Pool,
    queue: usize,
    open: Mutex<HashMap<String, (Arc<Open>, Instant)>>,
}

impl Databases {
    pub(crate) fn new(services: Services, pool: Pool, queue: usize) -> Databases {
        Databases { services, pool, queue, open: Mutex::default() }
    }

    /// How it stands with the threads that they share.
    pub(crate) fn pool(&self) -> PoolStatus {
        self.pool.status()
    }

    /// Of each that is open what waits for a thread, by name.
    pub(crate) fn waiting(&self) -> Vec<(String, usize)> {
        self.counted(Open::waiting)
    }

    /// Of each that is open how many streams are told what becomes of its documents, by name.
    pub(crate) fn streams(&self) -> Vec<(String, usize)> {
        self.counted(|open| open.feed.subscribers())
    }

    /// Of each that is open how often it was asked who sees a change, by name.
    pub(crate) fn questions(&self) -> Vec<(String, u64)> {
        self.counted(|open| open.feed.questions())
    }

    fn counted<T: Ord>(&self, count: fn(&Open) -> T) -> Vec<(String, T)> {
        let mut counted: Vec<_> = self.lock().iter().map(|(name, (open, _))| (name.clone(), count(open))).collect();
        counted.sort();
        counted
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Arc<Open>, Instant)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, name: &str) -> Option<Arc<Open>> {
        let mut open = self.lock();
        let (known, used) = open.get_mut(name)?;
        *used = Instant::now();
        Some(known.clone())
    }

    /// The database of a name. SQLSTATE 3D000.
    pub(crate) async fn get(&self, name: &str) -> Result<Arc<Open>, Error> {
        if let Some(known) = self.known(name) {
            return Ok(known);
        }
        let (services, asked) = (self.services.clone(), name.to_owned());
        let (pool, queue) = (self.pool.clone(), self.queue);
        // It may have a log to read.
        let opened = tokio::task::spawn_blocking(move || Open::new(&services, &asked, &pool, queue)).await;
        let opened = opened.map_err(|_| Error::new(SqlState::INTERNAL_ERROR, "opening a database panicked"))??;
        let mut open = self.lock();
        // Somebody else may have been faster.
        let (kept, _) = open.entry(name.to_owned()).or_insert_with(|| (Arc::new(opened), Instant::now()));
        Ok(kept.clone())
    }

    /// Lets go of those that nobody has used for a while.
    pub(crate) fn close_idle(&self) {
        let is_used = |open: &Arc<Open>, used: &Instant| Arc::strong_count(open) > 1 || used.elapsed() < IDLE;
        self.lock().retain(|_, (open, used)| is_used(open, used));
    }

    /// Lets go of one, if nobody uses it; by force, whoever does: streams end, and requests have to come to theirs.
    pub(crate) fn let_go(&self, name: &str, by_force: bool) {
        let mut open = self.lock();
        let is_free = open.get(name).is_some_and(|(open, _)| by_force || Arc::strong_count(open) == 1);
        let gone = is_free.then(|| open.remove(name)).flatten();
        drop(open);
        if let Some((gone, _)) = gone
            && by_force
        {
            gone.streams.end("the database is dropped");
        }
    }

    /// Lets go of all.
    pub(crate) fn close(&self) {
        self.lock().clear();
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }
}
