//! Who watches which query, and how that begins and ends.
//!
//! ```text
//! commit -> (leader) keys that somebody is interested in -> the thread (`steps`): which queries, and do they look at what changed?
//!        -> each of them to the new state -> net change to each subscriber
//! ```
//! What must hold:
//! - A query that begins says first that it is interested in all of its tables, then takes its state, then runs, and then says
//!   what it has really read: so no commit is missed that its state does not have. Where the thread's next state is a newer
//!   one, it is brought there from its own: see `Behind`.
//! - A query that read more than before in a newer state looks whether that has changed since, before it relies on being told.
//! - Who begins to watch is told first of a state that is no older than his call, also where others watch the query.
//! - It begins within the limits of the statement that begins it; from then on each change has the time that its session gave a
//!   statement, and nothing runs that nobody watches.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use cairn_storage::{Interest, KeyRanges, Observer, Snapshot};

use super::behind::Queries;
use super::definition::{Definition, Limits};
use super::long::Long;
use super::plans::Plans;
use super::query::Query;
use super::shown::{Identity, Shown};
use super::steps::tell;
use super::subscriber::{End, Subscriber};
use super::subscription::{Subscription, Watching};
use super::wakes::Wakes;
use crate::clock;
use crate::session::settings::Settings;
use crate::session::shared::Shared;
use crate::sync::{self, Condvar, Mutex, MutexGuard, ThreadId};
use crate::{Error, Result, SqlState};

/// The live queries of a database.
#[derive(Default)]
pub(crate) struct LiveQueries {
    running: Mutex<Option<Arc<Service>>>,
    /// Settings that were looked at last, and as text: many queries have the same.
    settings: Mutex<Option<(Arc<Settings>, Arc<str>)>>,
}

/// While there are some.
pub(super) struct Service {
    pub(super) shared: Weak<Shared>,
    pub(super) interest: Interest,
    pub(super) queries: Mutex<Queries>,
    pub(super) plans: Plans,
    /// The position of the state that the thread looked at last, with all queries that were not busy; 0: it is about to.
    pub(super) looked: Mutex<u64>,
    pub(super) has_looked: Condvar,
    pub(super) thread: OnceLock<ThreadId>,
    pub(super) long: Long,
    /// Whoever had the database is gone, or has closed it.
    pub(super) is_stopped: AtomicBool,
}

/// So long who joins waits for the thread to have looked at what was committed before; then he runs the query himself.
const AWHILE: Duration = Duration::from_millis(10);

/// No two queries have the same number, also of threads that follow each other: who was left of one would have the other's forgotten.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl LiveQueries {
    /// All of a session's settings, by which queries know whether they are the same.
    pub(super) fn text_of(&self, settings: &Arc<Settings>) -> Arc<str> {
        let mut last = self.settings.lock();
        match &*last {
            Some((known, text)) if Arc::ptr_eq(known, settings) => text.clone(),
            _ => {
                let text: Arc<str> = format!("{settings:?}").into();
                let text = last.take().map(|(_, known)| known).filter(|known| *known == text).unwrap_or(text);
                *last = Some((settings.clone(), text.clone()));
                text
            }
        }
    }

    /// Watches a query, which begins within these limits.
    pub(super) fn subscribe(
        &self,
        shared: &Arc<Shared>,
        definition: Definition,
        identity: Option<Identity>,
        limits: &Limits,
    ) -> Result<Subscription> {
        loop {
            limits.check()?;
            let service = self.service(shared)?;
            match service.subscribe(shared, &definition, identity.as_ref(), limits) {
                Ok(Some(subscription)) => return Ok(subscription),
                Ok(None) => {}
                Err(error) => {
                    // A thread that has none ends.
                    service.call();
                    return Err(error);
                }
            }
        }
    }

    fn service(&self, shared: &Arc<Shared>) -> Result<Arc<Service>> {
        let mut running = self.running.lock();
        if let Some(service) = &*running
            && !service.queries.lock().is_over
        {
            return Ok(service.clone());
        }
        let (service, observer) = Service::new(shared)?;
        let watching = service.clone();
        let join = shared.store.spawn("cairn-live", Box::new(move || watching.run(observer)))?;
        shared.followers.watched_by(service.clone(), join);
        *running = Some(service.clone());
        Ok(service)
    }

    /// One that has no threads: who has the observer is the first of them.
    #[cfg(test)]
    pub(super) fn with_no_threads(&self, shared: &Arc<Shared>) -> Result<(Arc<Service>, Observer)> {
        let (service, observer) = Service::new(shared)?;
        service.has_no_lanes();
        let _ = service.thread.set(sync::this_thread());
        *self.running.lock() = Some(service.clone());
        Ok((service, observer))
    }
}

impl Service {
    fn new(shared: &Arc<Shared>) -> Result<(Arc<Service>, Observer)> {
        let (observer, interest) = loop {
            // The last thread may not have let go of it yet.
            match shared.store.observe()? {
                Some(began) => break began,
                None => sync::yield_now(),
            }
        };
        let service = Service {
            shared: Arc::downgrade(shared),
            interest,
            queries: Mutex::default(),
            plans: Plans::default(),
            looked: Mutex::default(),
            has_looked: Condvar::new(),
            thread: OnceLock::new(),
            long: Long::default(),
            is_stopped: AtomicBool::new(false),
        };
        Ok((Arc::new(service), observer))
    }

    /// Has the thread look, which ends it where there is no query.
    pub(super) fn call(&self) {
        self.interest.call();
    }

    /// Whether this is one of its threads: who is told something may let go of everything there.
    pub(super) fn is_here(&self) -> bool {
        self.thread.get() == Some(&sync::this_thread()) || self.long.is_here()
    }

    /// Waits until what was committed up to this position was looked at, for at most so long.
    pub(super) fn settle(&self, position: u64, time: Duration) {
        let until = sync::now() + time;
        let mut looked = self.looked.lock();
        while *looked < position && !self.is_here() && !self.queries.lock().is_over {
            let left = until.saturating_duration_since(sync::now());
            if left.is_zero() {
                return;
            }
            self.call();
            looked = self.has_looked.wait_for(looked, left);
        }
    }

    /// Ends what runs, and all queries, quietly.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.queries.lock().by_id.values().for_each(|shown| shown.interrupt.store(true, Ordering::SeqCst));
        self.call();
    }

    /// `None`: the thread is gone, or the query was ended by somebody else.
    fn subscribe(
        self: &Arc<Service>,
        shared: &Shared,
        definition: &Definition,
        identity: Option<&Identity>,
        limits: &Limits,
    ) -> Result<Option<Subscription>> {
        let known = |queries: &Queries| {
            let id = identity.and_then(|identity| queries.by_identity.get(identity));
            id.and_then(|id| queries.by_id.get(id)).cloned()
        };
        let first = known(&self.queries.lock());
        if let Some(shown) = first {
            return self.join(shared, &shown, limits);
        }
        // Planned before anybody else has to wait for it.
        let query = Query::new(definition.clone(), shared, &self.plans, &shared.store.snapshot()?)?;
        let mut queries = self.queries.lock();
        if queries.is_over {
            return Ok(None);
        }
        if let Some(shown) = known(&queries) {
            drop(queries);
            return self.join(shared, &shown, limits);
        }
        let shown = Arc::new(Shown {
            id: next_id(),
            identity: identity.cloned(),
            relevant: Mutex::new(query.relevant()),
            query: Mutex::new(query),
            done: Mutex::default(),
            expected: AtomicU64::new(0),
            waits: Mutex::default(),
            subscribers: Mutex::default(),
            interrupt: Arc::default(),
            timeout: definition.timeout,
        });
        // Whoever finds it waits until it has run and has its first subscriber.
        let query = shown.query.lock();
        queries.by_id.insert(shown.id, shown.clone());
        if let Some(identity) = identity {
            queries.by_identity.insert(identity.clone(), shown.id);
        }
        drop(queries);
        self.begin(shared, &shown, query, limits)
    }

    /// Runs the query for the first time, for its first subscriber.
    fn begin(
        self: &Arc<Service>,
        shared: &Shared,
        shown: &Arc<Shown>,
        mut query: MutexGuard<'_, Query>,
        limits: &Limits,
    ) -> Result<Option<Subscription>> {
        query.limits = limits.clone();
        let ran = catch_unwind(AssertUnwindSafe(|| self.run_first(shared, shown, &mut query)));
        let (error, panic) = match ran {
            Ok(Ok(state)) => {
                self.note_behind(shown.id, state.position(), Some(Arc::new(state)));
                return Ok(self.add_subscriber(shown, query));
            }
            Ok(Err(error)) => (error, None),
            Err(panic) => (Error::internal("the live query did not begin"), Some(panic)),
        };
        drop(query);
        self.end(shown, &End::Failed(error.clone()));
        self.call();
        panic.map_or(Err(error), |panic| resume_unwind(panic))
    }

    /// Returns the state.
    fn run_first(&self, shared: &Shared, shown: &Shown, query: &mut Query) -> Result<Snapshot> {
        let began = clock::now();
        self.interest.set(shown.id, query.wide_ranges());
        let snapshot = shared.store.durable_snapshot()?;
        query.advance(shared, &self.plans, &snapshot)?;
        self.interest.set(shown.id, KeyRanges::clone(&query.ranges));
        *shown.relevant.lock() = query.relevant();
        *shown.done.lock() = query.done;
        shown.expect(query.expected.take().unwrap_or_else(|| clock::since(began)));
        Ok(snapshot)
    }

    /// One more who watches the query; `None`: it has ended.
    fn join(self: &Arc<Service>, shared: &Shared, shown: &Arc<Shown>, limits: &Limits) -> Result<Option<Subscription>> {
        // Woken when nothing is locked any more.
        let mut wakes = Wakes::default();
        let newest = shared.store.snapshot()?.position();
        self.settle(newest, AWHILE);
        let mut query = shown.lock_within(limits)?;
        if !self.is_there(shown) {
            return Ok(None);
        }
        // What came by changes since has no place in the order.
        let has_order = !query.compiled.is_ordered || query.rows.in_order().is_some();
        if !has_order || self.current_position(shown, &query) < newest {
            query.limits = limits.clone();
            let brought = shared.store.durable_snapshot().map_err(Error::from).and_then(|snapshot| {
                let change = self.bring(shared, shown, &mut query, &snapshot, None)?;
                self.note_behind(shown.id, snapshot.position(), Some(Arc::new(snapshot)));
                Ok(change)
            });
            match brought {
                Ok(change) => tell(shown, change, &query, &mut wakes),
                // It is who joins that has no time; the others may have missed a change meanwhile.
                Err(error) if error.sqlstate() == SqlState::QUERY_CANCELED => {
                    self.note_behind(shown.id, query.position + 1, None);
                    self.call();
                    return Err(error);
                }
                Err(error) => {
                    drop(query);
                    self.end(shown, &End::Failed(error.clone()));
                    return Err(error);
                }
            }
        }
        Ok(self.add_subscriber(shown, query))
    }

    /// That of the newest state of which the query's result is known to be.
    fn current_position(&self, shown: &Shown, query: &Query) -> u64 {
        let looked = self.looked.lock();
        let is_behind = self.queries.lock().is_behind(shown.id);
        if is_behind { query.position } else { query.position.max(*looked) }
    }

    /// `None`: the query has ended.
    fn add_subscriber(self: &Arc<Service>, shown: &Arc<Shown>, query: MutexGuard<'_, Query>) -> Option<Subscription> {
        let position = self.current_position(shown, &query);
        let queries = self.queries.lock();
        if !queries.by_id.contains_key(&shown.id) {
            self.interest.forget(shown.id);
            return None;
        }
        let subscriber = Arc::new(Subscriber::default());
        subscriber.begin(query.rows.in_any_order(), position);
        shown.subscribers.lock().push(subscriber.clone());
        drop(queries);
        let compiled = query.compiled.clone();
        drop(query);
        // The thread passed the query by if it came meanwhile: perhaps nothing else calls it.
        self.call();
        Some(Subscription {
            watching: Arc::new(Watching { service: self.clone(), shown: shown.clone(), subscriber }),
            fields: compiled.fields.clone(),
            key: compiled.key.clone(),
            form: compiled.form.clone(),
        })
    }

    pub(super) fn is_there(&self, shown: &Shown) -> bool {
        self.queries.lock().by_id.contains_key(&shown.id)
    }

    fn forget(&self, shown: &Shown) {
        self.queries.lock().forget(shown);
        self.interest.forget(shown.id);
    }

    /// Ends the query for all who watch it.
    pub(super) fn end(&self, shown: &Shown, end: &End) {
        self.forget(shown);
        // Whom it wakes may leave at once, for which he needs the list.
        let all = std::mem::take(&mut *shown.subscribers.lock());
        all.iter().for_each(|subscriber| subscriber.end(end.clone()));
    }
}

impl Service {
    /// Forgets a query that nobody watches, and has the thread end that has none left.
    pub(super) fn leave(&self, shown: &Shown) {
        let mut queries = self.queries.lock();
        if shown.subscribers.lock().is_empty() {
            shown.interrupt.store(true, Ordering::SeqCst);
            queries.forget(shown);
            self.interest.forget(shown.id);
        }
        drop(queries);
        self.interest.call();
    }
}
