//! The threads that do what can not be answered where it is asked, for any number of databases.
//!
//! What must hold:
//! - A database that has something to do stands in the line once, and after each turn behind the others.
//! - It never has all threads while others are open: it leaves one for each of them, where there are as many.
//! - Threads are begun when there is more to do than there are, up to the pool's limit, and end when they are idle for a while; one stays.
//! - What was accepted is done; then, once, a thread lets go of a database that was closed.
//!
//! One lock is over it all, for as long as something is put into a queue or taken out of it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cairndb::{Error, Process, Result, SqlState};

use crate::shared::Shared;

/// Something to do for a database.
pub(crate) type Job = Box<dyn FnOnce(&Arc<Shared>) + Send>;

/// However many databases there are.
const THREADS_MAX: usize = 256;
/// After which a thread without work ends.
const IDLE: Duration = Duration::from_secs(5);

/// Threads that databases share: see [`Options::pool`](crate::Options::pool). They end with the last database that uses them, once nobody
/// has the pool any more.
///
/// ```
/// # let work = async {
/// use cairndb_async::{Database, Options, Pool};
///
/// let pool = Pool::sized(256);
/// let options = || Options::default().pool(&pool).queue(100).refuse_when_full();
/// let (notes, orders) = (Database::open_in_memory_with(options()).await?, Database::open_in_memory_with(options()).await?);
/// notes.execute("CREATE TABLE note (id int PRIMARY KEY)", ()).await?;
/// orders.execute("CREATE TABLE item (id int PRIMARY KEY)", ()).await?;
/// assert_eq!(pool.status().databases, 2);
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Owner>);

/// How it stands with a [`Pool`].
///
/// ```
/// # let work = async {
/// let pool = cairndb_async::Pool::fixed(2);
/// let options = cairndb_async::Options::default().pool(&pool);
/// let db = cairndb_async::Database::open_in_memory_with(options).await?;
/// let status = pool.status();
/// assert_eq!((status.databases, status.waiting, status.workers_max), (1, 0, 2));
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatus {
    /// Threads that there are.
    pub workers: usize,
    /// Threads that there may be, with so many databases.
    pub workers_max: usize,
    /// Threads that wait for work.
    pub idle: usize,
    /// Databases that are open.
    pub databases: usize,
    /// What waits for a thread, of all databases together.
    pub waiting: usize,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.status().fmt(f)
    }
}

impl Pool {
    /// It may have so many threads, 256 at most.
    ///
    /// ```
    /// let status = cairndb_async::Pool::fixed(4).status();
    /// // None is begun before there is a database.
    /// assert_eq!((status.workers, status.workers_max), (0, 4));
    /// ```
    pub fn fixed(workers: usize) -> Pool {
        Pool::new(Some(workers), THREADS_MAX)
    }

    /// It may have twice as many threads as there are processors, or as there are databases, what is more; but no more than so many, 256 at most.
    ///
    /// ```
    /// let pool = cairndb_async::Pool::sized(3);
    /// assert!(pool.status().workers_max <= 3);
    /// ```
    pub fn sized(workers_max: usize) -> Pool {
        Pool::new(None, workers_max)
    }

    fn new(workers: Option<usize>, most: usize) -> Pool {
        let (workers, most) = (workers.map(|count| count.max(1)), most.clamp(1, THREADS_MAX));
        // Asked once: the system reads files to tell it.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let inner = Inner { state: Mutex::default(), changed: Condvar::new(), workers, most, processors };
        Pool(Arc::new(Owner(Arc::new(inner), Process::current())))
    }

    /// How it stands with it now.
    pub fn status(&self) -> PoolStatus {
        let inner = &self.0.0;
        if !self.0.1.is_current() {
            return PoolStatus { workers: 0, workers_max: 0, idle: 0, databases: 0, waiting: 0 };
        }
        let state = inner.state();
        PoolStatus {
            workers: state.threads,
            workers_max: inner.limit(&state),
            idle: state.idle,
            databases: state.queues.len(),
            waiting: state.queues.values().map(|queue| queue.jobs.len()).sum(),
        }
    }

    /// A queue for a database, of which `shared` is told to let go at its end; and a thread, if there is none yet.
    pub(crate) fn open(&self, shared: &Arc<Shared>) -> Result<u64> {
        let inner = &self.0.0;
        let mut state = inner.state();
        let id = state.next;
        state.next += 1;
        state.queues.insert(id, Queue::new(shared.clone()));
        if state.threads == 0
            && let Err(error) = inner.begin_thread(&mut state)
        {
            state.queues.remove(&id);
            return Err(error);
        }
        Ok(id)
    }

    /// Puts a job behind the database's others; gives it back where the database is closed.
    pub(crate) fn put(&self, id: u64, job: Job) -> Result<(), Job> {
        let inner = &self.0.0;
        let mut state = inner.state();
        match state.queues.get_mut(&id) {
            Some(queue) if !queue.is_closed => queue.jobs.push_back(job),
            _ => return Err(job),
        }
        inner.line_up(&mut state, id);
        inner.call(state);
        Ok(())
    }

    /// How many jobs of a database wait.
    pub(crate) fn waiting(&self, id: u64) -> usize {
        self.0.0.state().queues.get(&id).map_or(0, |queue| queue.jobs.len())
    }

    /// Accepts no more of a database; what there is will be done, and then a thread lets go of it.
    pub(crate) fn close(&self, id: u64) {
        let inner = &self.0.0;
        let mut state = inner.state();
        let Some(queue) = state.queues.get_mut(&id).filter(|queue| !queue.is_closed) else { return };
        queue.is_closed = true;
        inner.line_up(&mut state, id);
        inner.call(state);
    }
}

/// Who has the threads: they end when nobody has this any more.
struct Owner(Arc<Inner>, Process);

impl Drop for Owner {
    fn drop(&mut self) {
        // A child of the process has no threads, and may have the lock of one that it has not.
        if self.1.is_current() {
            self.0.state().is_closed = true;
            self.0.changed.notify_all();
        }
    }
}

struct Inner {
    state: Mutex<State>,
    changed: Condvar,
    /// `None`: by processors and databases.
    workers: Option<usize>,
    most: usize,
    processors: usize,
}

#[derive(Default)]
struct State {
    queues: HashMap<u64, Queue>,
    next: u64,
    /// Databases that have something to do, and a thread for it.
    line: VecDeque<u64>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

/// What is to be done for one database, in the order in which it came. Whoever puts something here has a place for it
/// ([`Gate`](crate::gate::Gate)), so it does not grow beyond that; but for what transactions leave to be undone, one each.
struct Queue {
    shared: Arc<Shared>,
    jobs: VecDeque<Job>,
    /// It stands in the line.
    is_lined: bool,
    /// Jobs that threads do now.
    running: usize,
    is_closed: bool,
}

impl Queue {
    fn new(shared: Arc<Shared>) -> Queue {
        Queue { shared, jobs: VecDeque::new(), is_lined: false, running: 0, is_closed: false }
    }

    /// All was done that was accepted, and nothing will be.
    fn is_over(&self) -> bool {
        self.is_closed && self.jobs.is_empty() && self.running == 0
    }
}

/// What a thread does next.
enum Turn {
    Job(u64, Arc<Shared>, Job),
    /// Lets go of a database.
    End(Arc<Shared>),
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many threads there may be.
    fn limit(&self, state: &State) -> usize {
        self.workers.unwrap_or_else(|| 2 * self.processors.max(state.queues.len())).min(self.most)
    }

    /// How many of them one database may have.
    fn share(&self, state: &State) -> usize {
        self.limit(state).saturating_sub(state.queues.len().saturating_sub(1)).max(1)
    }

    /// Puts a database into the line, where it has something to do, may have a thread for it, and does not stand there.
    fn line_up(&self, state: &mut State, id: u64) {
        let share = self.share(state);
        let Some(queue) = state.queues.get_mut(&id) else { return };
        if !queue.is_lined && (queue.is_over() || !queue.jobs.is_empty() && queue.running < share) {
            queue.is_lined = true;
            state.line.push_back(id);
        }
    }

    /// Has a thread look at the line, a new one where all have work.
    fn call(self: &Arc<Inner>, mut state: MutexGuard<'_, State>) {
        if state.idle > 0 {
            drop(state);
            self.changed.notify_one();
        } else if !state.line.is_empty() && state.threads < self.limit(&state) {
            // Where the system has none to give, those that there are do it.
            let _ = self.begin_thread(&mut state);
        }
    }

    fn begin_thread(self: &Arc<Inner>, state: &mut State) -> Result<()> {
        let inner = self.clone();
        let begun = std::thread::Builder::new().name("cairn-async".into()).spawn(move || inner.work());
        begun.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, format!("could not start a worker: {error}")))?;
        state.threads += 1;
        Ok(())
    }

    /// Waits for a turn; `None`: the thread is to end.
    fn take(self: &Arc<Inner>) -> Option<Turn> {
        let mut state = self.state();
        loop {
            if let Some(id) = state.line.pop_front() {
                let Some(queue) = state.queues.get_mut(&id) else { continue };
                queue.is_lined = false;
                if queue.is_over() {
                    return state.queues.remove(&id).map(|queue| Turn::End(queue.shared));
                }
                let Some(job) = queue.jobs.pop_front() else { continue };
                queue.running += 1;
                let shared = queue.shared.clone();
                self.line_up(&mut state, id);
                if !state.line.is_empty() {
                    self.call(state);
                }
                return Some(Turn::Job(id, shared, job));
            }
            if state.is_closed {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            let (woken, waited) = self.changed.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.threads > 1 && state.line.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }

    /// A job of a database was done.
    fn done(&self, id: u64) {
        let mut state = self.state();
        if let Some(queue) = state.queues.get_mut(&id) {
            queue.running -= 1;
        }
        self.line_up(&mut state, id);
    }

    fn work(self: &Arc<Inner>) {
        while let Some(turn) = self.take() {
            match turn {
                Turn::Job(id, shared, job) => {
                    // A task tells of its work's panic itself; this is one of what is around it, of dropping what nobody takes say.
                    let _ = catch_unwind(AssertUnwindSafe(|| job(&shared)));
                    drop(shared);
                    self.done(id);
                }
                Turn::End(shared) => shared.end(),
            }
        }
    }
}
