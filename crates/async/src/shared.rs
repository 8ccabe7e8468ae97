//! What the handles of an asynchronous database, its workers, and what it gave out share.

use std::cell::Cell;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::task::{Context, Poll};

use cairndb::{Connection, NonBlocking, PlanCache, Pooled, Process, Result, Ticket, Value};

use crate::error::{closed, leaves_something};
use crate::gate::{Gate, Place};
use crate::options::{OnConnect, Options, Within};
use crate::pool::{Job, Pool};
use crate::task::{Work, task};
use cairndb::internals::{Wakers, wake_caught};

/// See the module.
pub(crate) struct Shared {
    /// `None`: closed.
    database: Mutex<Option<cairndb::Database>>,
    plans: PlanCache,
    within: Within,
    on_connect: Option<OnConnect>,
    /// Where statements are answered that take no waiting. A thread mostly finds its own free.
    non_blocking: Box<[Mutex<Option<NonBlocking>>]>,
    pool: Pool,
    /// Of its queue in the pool.
    queue: OnceLock<u64>,
    places: Arc<Gate>,
    /// Where there is no place, who asks is refused rather than that he waits.
    refuses: bool,
    /// For open transactions.
    transactions: Arc<Gate>,
    /// Connections that nobody uses, the last used last.
    idle: Mutex<Vec<Pooled>>,
    /// Whether the end is the database's, too: others may have one that was open already.
    closes: AtomicBool,
    ending: Mutex<Ending>,
    /// That of the workers: a child of it has none.
    pub(crate) process: Process,
}

fn connect(database: &cairndb::Database, within: &Within) -> Result<cairndb::Connection> {
    match within.as_deref() {
        Some((ceilings, settings)) => database.connect_within(ceilings, settings),
        None => database.connect(),
    }
}

/// The last one that is dropped ends the workers, and closes the database where that is nobody else's.
pub(crate) struct Handle(Arc<Shared>);

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Arc<Handle> {
        Arc::new(Handle(shared))
    }
}

impl Deref for Handle {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.0.process.is_current() {
            self.0.close();
        }
    }
}

/// How the closing of the database goes.
#[derive(Default)]
struct Ending {
    /// Once it is over.
    result: Option<Result<()>>,
    wakers: Wakers,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number for each thread.
fn thread_number() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    NUMBER.with(|number| {
        if number.get() == usize::MAX {
            number.set(THREADS.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

impl Shared {
    /// With a queue in the pool. `is_own`: nobody else has the database.
    pub(crate) fn new(database: cairndb::Database, options: &Options, is_own: bool) -> Result<Arc<Shared>> {
        let plans = PlanCache::new();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let non_blocking = (0..processors).map(|_| {
            let connection = connect(&database, &options.within)?;
            options.on_connect.as_ref().map_or(Ok(()), |work| work(&connection))?;
            Ok(Mutex::new(Some(NonBlocking::new(connection, &plans)?)))
        });
        let non_blocking = non_blocking.collect::<Result<_>>()?;
        let shared = Arc::new(Shared {
            database: Mutex::new(Some(database)),
            plans,
            within: options.within.clone(),
            on_connect: options.on_connect.clone(),
            non_blocking,
            pool: options.pool.clone().unwrap_or_else(|| Pool::fixed(options.workers)),
            queue: OnceLock::new(),
            places: Gate::new(options.queue.max(1)),
            refuses: options.refuses,
            transactions: Gate::new(options.transactions.max(1)),
            idle: Mutex::default(),
            closes: AtomicBool::new(is_own),
            ending: Mutex::default(),
            process: Process::current(),
        });
        let opened = shared.pool.open(&shared);
        if opened.is_err() {
            shared.end();
        }
        _ = shared.queue.set(opened?);
        Ok(shared)
    }

    /// Asks where nothing is waited for; `None`: a worker must.
    pub(crate) fn non_blocking<T>(&self, ask: impl FnOnce(&NonBlocking) -> Option<T>) -> Option<T> {
        let (count, first) = (self.non_blocking.len(), thread_number());
        let free = (0..count).find_map(|n| match self.non_blocking[first.wrapping_add(n) % count].try_lock() {
            Ok(one) => Some(one),
            // Of a closure that panicked: what it was lent is whole.
            Err(TryLockError::Poisoned(poison)) => Some(poison.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        ask(free?.as_ref()?)
    }

    /// A connection as the options ask for it.
    pub(crate) fn connect(&self) -> Result<Pooled> {
        let connection = connect(lock(&self.database).as_ref().ok_or_else(closed)?, &self.within)?;
        self.on_connect.as_ref().map_or(Ok(()), |work| work(&connection))?;
        Ok(Pooled::new(connection, &self.plans))
    }

    /// A connection that somebody else has used, or another.
    pub(crate) fn take_idle(&self) -> Result<Pooled> {
        let idle = lock(&self.idle).pop();
        idle.map_or_else(|| self.connect(), Ok)
    }

    /// Keeps a connection for the next who needs one, if nothing was left behind in it.
    pub(crate) fn give_back(&self, pooled: Pooled) {
        if pooled.end_use() && lock(&self.database).is_some() {
            lock(&self.idle).push(pooled);
        }
    }

    /// Has a worker do something, with a connection; refused where there is no place, if the options say so.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Pooled) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.process.check()?;
        let place = if self.refuses { self.places.enter_now()? } else { self.places.enter().await? };
        self.do_at(place, move |task, shared| shared.work(task, work)).await
    }

    /// The same, and waits for a place where there is none.
    pub(crate) async fn run_in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Pooled) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.go_on(move |task, shared| shared.work(task, work)).await
    }

    /// Has a worker go on with something that was begun, which is never refused.
    pub(crate) async fn go_on<T: Send + 'static>(
        &self,
        job: impl FnOnce(Work<T>, &Arc<Shared>) + Send + 'static,
    ) -> Result<T> {
        self.process.check()?;
        let place = self.places.enter().await?;
        self.do_at(place, job).await
    }

    async fn do_at<T: Send + 'static>(
        &self,
        place: Place,
        job: impl FnOnce(Work<T>, &Arc<Shared>) + Send + 'static,
    ) -> Result<T> {
        let (work, answer) = task();
        let job = move |shared: &Arc<Shared>| {
            drop(place);
            job(work, shared);
        };
        self.put(Box::new(job)).map_err(|_| closed())?;
        answer.await
    }

    /// A place among open transactions.
    pub(crate) async fn transaction_place(&self) -> Result<Place> {
        if self.refuses { self.transactions.enter_now() } else { self.transactions.enter().await }
    }

    /// Puts a job behind the others; gives it back where the database is closed.
    pub(crate) fn put(&self, job: Job) -> std::result::Result<(), Job> {
        match self.queue.get() {
            Some(queue) => self.pool.put(*queue, job),
            None => Err(job),
        }
    }

    /// How many jobs wait for a worker.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.get().map_or(0, |queue| self.pool.waiting(*queue))
    }

    /// Does the work of a task on a connection, for whose user it stands only that long.
    fn work<T>(&self, task: Work<T>, work: impl FnOnce(&Pooled) -> Result<T>) {
        let mut pooled = match self.take_idle() {
            Ok(pooled) => pooled,
            Err(error) => return task.fail(error),
        };
        let interrupt = pooled.renew_interrupt();
        let ran = task.run(interrupt, || work(&pooled));
        let is_whole = ran.is_whole();
        ran.tell();
        if is_whole {
            self.give_back(pooled);
        }
    }

    /// As [`Shared::close`], and has the database closed whoever else has it.
    pub(crate) fn close_for_all(&self) {
        self.closes.store(true, Ordering::SeqCst);
        self.close();
    }

    /// Accepts nothing more. What was accepted is done; then a worker lets go of the database.
    pub(crate) fn close(&self) {
        self.places.close();
        self.transactions.close();
        if let Some(queue) = self.queue.get() {
            self.pool.close(*queue);
        }
    }

    /// Lets go of the database: all that was accepted is done.
    pub(crate) fn end(&self) {
        let Some(database) = lock(&self.database).take() else { return };
        let idle = std::mem::take(&mut *lock(&self.idle));
        drop(idle);
        self.non_blocking.iter().for_each(|one| drop(lock(one).take()));
        let result = match self.closes.load(Ordering::SeqCst) {
            true => database.close(),
            false => {
                drop(database);
                Ok(())
            }
        };
        let mut ending = lock(&self.ending);
        ending.result = Some(result);
        let wakers = ending.wakers.take_all();
        drop(ending);
        for waker in wakers {
            wake_caught(waker);
        }
    }

    /// Ready once the database is closed.
    pub(crate) fn ended(&self) -> Ended<'_> {
        Ended { shared: self, place: None }
    }
}

/// From [`Shared::ended`].
pub(crate) struct Ended<'a> {
    shared: &'a Shared,
    /// Once it waits.
    place: Option<u64>,
}

impl Future for Ended<'_> {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.shared.process.check()?;
        let waker = context.waker().clone();
        let mut ending = lock(&self.shared.ending);
        if let Some(result) = &ending.result {
            return Poll::Ready(result.clone());
        }
        let before = ending.wakers.put(&mut self.place, waker);
        drop(ending);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let forgotten = self.place.and_then(|place| lock(&self.shared.ending).wakers.take(place));
        drop(forgotten);
    }
}

/// Parameters that outlast the call.
pub(crate) fn owned(params: &dyn cairndb::Params) -> Vec<Value> {
    (0..params.count()).map(|at| params.value(at).to_value()).collect()
}

/// Runs one statement, whose commit is not waited for.
pub(crate) fn statement<T>(
    pooled: &Pooled,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<(T, Option<Ticket>)> {
    let (done, ticket) = pooled.pipelined(work);
    let done = done?;
    if pooled.end_use() { Ok((done, ticket)) } else { Err(leaves_something()) }
}
