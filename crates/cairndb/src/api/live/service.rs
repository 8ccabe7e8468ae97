//! Keeps the live queries of a database current: one thread, as long as there are any.
//!
//! ```text
//! commit -> (leader) keys that somebody is interested in -> this thread: which queries, and do they look at what changed?
//!        -> each of them to the new state -> net change to each subscriber
//! ```
//! What must hold:
//! - A query that begins says first that it is interested in all of its tables, then takes its state, then runs, and then says
//!   what it has really read: so no commit is missed that its state does not have. Where the thread's next state is a newer
//!   one, it is brought there from its own: see `Behind`.
//! - A query that read more than before in a newer state looks whether that has changed since, before it relies on being told.
//! - The thread waits for no subscriber, and for no query that runs elsewhere (its first time): that is looked at again.

use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use cairn_storage::{Changed, Interest, KeyRanges, Observer, Snapshot, Step};

use super::changes::Changes;
use super::plans::Plans;
use super::query::{Definition, Done, Query, Relevant};
use super::result::{RowForm, Weights};
use super::subscriber::{End, Subscriber};
use crate::api::database::Shared;
use crate::api::locked;
use crate::exec::QuickHashes;
use crate::plan::Field;
use crate::{Error, Result, SqlState};

/// The live queries of a database.
#[derive(Default)]
pub(crate) struct LiveQueries {
    running: Mutex<Option<Arc<Service>>>,
}

/// While there are some.
pub(super) struct Service {
    shared: Weak<Shared>,
    interest: Interest,
    queries: Mutex<Queries>,
    plans: Plans,
    /// The position of the state that the thread looked at last, with all queries that were not busy; 0: it is about to.
    looked: Mutex<u64>,
    has_looked: Condvar,
    thread: OnceLock<ThreadId>,
}

#[derive(Default)]
struct Queries {
    by_id: HashMap<u64, Arc<Shown>, QuickHashes>,
    by_identity: HashMap<Identity, u64>,
    behind: BTreeMap<u64, Behind>,
    /// Different states that these hold.
    own_states: usize,
    /// The thread is gone, or about to be: begin another.
    is_over: bool,
}

/// A query that has to be brought to a newer state though no step tells it what changed: it was busy, or had not said yet that
/// it looks at it, or is in a state that the thread has not looked at. (What changed before that and is undone after it is no
/// difference between the thread's two states.)
#[derive(Default)]
struct Behind {
    /// The state's position, at least.
    wanted: u64,
    /// The state that its result is of, where it is at hand.
    own: Option<Snapshot>,
}

/// So many states are held for queries that are behind; for more of them what changed is found out by running them.
const OWN_STATES: usize = 64;

/// The queries that a step concerns, each once.
#[derive(Default)]
struct Affected {
    ids: Vec<u64>,
    known: HashSet<u64, QuickHashes>,
}

impl Affected {
    fn has(&self, id: u64) -> bool {
        self.known.contains(&id)
    }

    fn add(&mut self, id: u64) {
        if self.known.insert(id) {
            self.ids.push(id);
        }
    }

    /// In the order in which they began.
    fn in_order(mut self) -> Vec<u64> {
        self.ids.sort_unstable();
        self.ids
    }
}

/// Where a query comes from that is brought to a newer state.
#[derive(Clone, Copy)]
enum Since<'a> {
    /// The thread's state before.
    Step(&'a Changes),
    /// A state of its own.
    Own(&'a Snapshot),
    Unknown,
}

/// Queries that are the same in all of this share one maintenance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) text: Box<str>,
    /// Values and types of the parameters, and the settings that results depend on.
    pub(super) context: Box<str>,
}

/// A query and who watches it.
struct Shown {
    id: u64,
    identity: Option<Identity>,
    query: Mutex<Query>,
    /// Apart, for who asks while the query runs.
    relevant: Mutex<Arc<Relevant>>,
    done: Mutex<Done>,
    /// How long it took to bring it to a newer state the last time, in nanoseconds.
    took: AtomicU64,
    subscribers: Mutex<Vec<Arc<Subscriber>>>,
}

/// So long who waits may wait for others to be woken with him; longer where the next query takes longer than it did before.
const TOGETHER: Duration = Duration::from_micros(100);

/// Those who wait for what they were told. They are woken together: who takes from many finds all of it at once, and falls asleep
/// once.
struct Wakes {
    waiting: Vec<Arc<Subscriber>>,
    since: Option<Instant>,
    /// When the clock was read last: once for each query.
    now: Instant,
}

impl Default for Wakes {
    fn default() -> Wakes {
        Wakes { waiting: vec![], since: None, now: Instant::now() }
    }
}

impl Wakes {
    fn add(&mut self, subscriber: &Arc<Subscriber>) {
        self.since.get_or_insert(self.now);
        self.waiting.push(subscriber.clone());
    }

    /// Wakes them if they would wait for too long, the next query taking as long as it did the last time.
    fn look(&mut self, next: Duration) {
        if self.since.is_some_and(|since| self.now.duration_since(since) + next >= TOGETHER) {
            self.wake();
        }
    }

    /// Reads the clock; how long it is since it was read last.
    fn lap(&mut self) -> Duration {
        let before = std::mem::replace(&mut self.now, Instant::now());
        self.now.duration_since(before)
    }

    fn wake(&mut self) {
        self.since = None;
        for subscriber in self.waiting.drain(..) {
            // A waker is the user's: what it does wrong is nothing to the others.
            let _ = catch_unwind(AssertUnwindSafe(|| subscriber.wake()));
        }
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        self.wake();
    }
}

/// One who watches.
pub(super) struct Subscription {
    service: Arc<Service>,
    shown: Arc<Shown>,
    pub(super) subscriber: Arc<Subscriber>,
    pub(super) fields: Arc<[Field]>,
    pub(super) key: Option<Arc<[usize]>>,
    pub(super) form: Arc<RowForm>,
}

/// No two queries have the same number, also of threads that follow each other: who was left of one would have the other's forgotten.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl LiveQueries {
    /// Watches a query.
    pub(super) fn subscribe(
        &self,
        shared: &Arc<Shared>,
        definition: Definition,
        identity: Option<Identity>,
    ) -> Result<Subscription> {
        loop {
            let service = self.service(shared)?;
            match service.subscribe(shared, &definition, identity.as_ref()) {
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
        let mut running = locked(&self.running);
        if let Some(service) = &*running
            && !locked(&service.queries).is_over
        {
            return Ok(service.clone());
        }
        let (observer, interest) = loop {
            // The last thread may not have let go of it yet.
            match shared.store.observe()? {
                Some(began) => break began,
                None => std::thread::yield_now(),
            }
        };
        let service = Arc::new(Service {
            shared: Arc::downgrade(shared),
            interest,
            queries: Mutex::default(),
            plans: Plans::default(),
            looked: Mutex::default(),
            has_looked: Condvar::new(),
            thread: OnceLock::new(),
        });
        let watching = service.clone();
        let join = shared.store.spawn("cairn-live", Box::new(move || watching.run(observer)))?;
        shared.followers.watched_by(service.clone(), join);
        *running = Some(service.clone());
        Ok(service)
    }
}

impl Service {
    /// Has the thread look, which ends it where there is no query.
    pub(super) fn call(&self) {
        self.interest.call();
    }

    /// Whether this is its thread: who is told something may let go of everything there.
    pub(super) fn is_here(&self) -> bool {
        self.thread.get() == Some(&std::thread::current().id())
    }

    /// `None`: the thread is gone, or the query was ended by somebody else.
    fn subscribe(
        self: &Arc<Service>,
        shared: &Shared,
        definition: &Definition,
        identity: Option<&Identity>,
    ) -> Result<Option<Subscription>> {
        let known = |queries: &Queries| {
            let id = identity.and_then(|identity| queries.by_identity.get(identity));
            id.and_then(|id| queries.by_id.get(id)).cloned()
        };
        let first = known(&locked(&self.queries));
        if let Some(shown) = first {
            return self.join(shared, &shown);
        }
        // Planned before anybody else has to wait for it.
        let query = Query::new(definition.clone(), shared, &self.plans, &shared.store.snapshot()?)?;
        let mut queries = locked(&self.queries);
        if queries.is_over {
            return Ok(None);
        }
        if let Some(shown) = known(&queries) {
            drop(queries);
            return self.join(shared, &shown);
        }
        let shown = Arc::new(Shown {
            id: next_id(),
            identity: identity.cloned(),
            relevant: Mutex::new(query.relevant()),
            query: Mutex::new(query),
            done: Mutex::default(),
            took: AtomicU64::new(0),
            subscribers: Mutex::default(),
        });
        // Whoever finds it waits until it has run and has its first subscriber.
        let query = locked(&shown.query);
        queries.by_id.insert(shown.id, shown.clone());
        if let Some(identity) = identity {
            queries.by_identity.insert(identity.clone(), shown.id);
        }
        drop(queries);
        self.begin(shared, &shown, query)
    }

    /// Runs the query for the first time, for its first subscriber.
    fn begin(
        self: &Arc<Service>,
        shared: &Shared,
        shown: &Arc<Shown>,
        mut query: MutexGuard<'_, Query>,
    ) -> Result<Option<Subscription>> {
        match self.run_first(shared, shown, &mut query) {
            Ok(state) => self.note_behind(shown.id, state.position(), Some(state)),
            Err(error) => {
                drop(query);
                self.end(shown, &End::Failed(error.clone()));
                self.call();
                return Err(error);
            }
        }
        Ok(self.add_subscriber(shown, query))
    }

    /// Returns the state.
    fn run_first(&self, shared: &Shared, shown: &Shown, query: &mut Query) -> Result<Snapshot> {
        let began = Instant::now();
        self.interest.set(shown.id, query.wide_ranges());
        let snapshot = shared.store.durable_snapshot()?;
        query.advance(shared, &self.plans, &snapshot)?;
        self.interest.set(shown.id, KeyRanges::clone(&query.ranges));
        *locked(&shown.relevant) = query.relevant();
        *locked(&shown.done) = query.done;
        shown.note_time(began.elapsed());
        Ok(snapshot)
    }

    /// One more who watches the query; `None`: it has ended.
    fn join(self: &Arc<Service>, shared: &Shared, shown: &Arc<Shown>) -> Result<Option<Subscription>> {
        // Woken when nothing is locked any more.
        let mut wakes = Wakes::default();
        let mut query = locked(&shown.query);
        if !self.is_there(shown) {
            return Ok(None);
        }
        if query.compiled.is_ordered && query.rows.in_order().is_none() {
            // What came by changes since has no place in the order.
            let brought = shared.store.durable_snapshot().map_err(Error::from).and_then(|snapshot| {
                let change = self.bring(shared, shown, &mut query, &snapshot, None)?;
                self.note_behind(shown.id, snapshot.position(), Some(snapshot));
                Ok(change)
            });
            match brought {
                Ok(change) => tell(shown, change, &query, &mut wakes),
                Err(error) => {
                    // The others may have missed a change by it.
                    drop(query);
                    self.end(shown, &End::Failed(error.clone()));
                    return Err(error);
                }
            }
        }
        Ok(self.add_subscriber(shown, query))
    }

    /// `None`: the query has ended.
    fn add_subscriber(self: &Arc<Service>, shown: &Arc<Shown>, query: MutexGuard<'_, Query>) -> Option<Subscription> {
        let queries = locked(&self.queries);
        if !queries.by_id.contains_key(&shown.id) {
            self.interest.forget(shown.id);
            return None;
        }
        let subscriber = Arc::new(Subscriber::default());
        subscriber.begin(query.rows.in_any_order(), query.position);
        locked(&shown.subscribers).push(subscriber.clone());
        drop(queries);
        let compiled = query.compiled.clone();
        drop(query);
        // The thread passed the query by if it came meanwhile: perhaps nothing else calls it.
        self.call();
        Some(Subscription {
            service: self.clone(),
            shown: shown.clone(),
            subscriber,
            fields: compiled.fields.clone(),
            key: compiled.key.clone(),
            form: compiled.form.clone(),
        })
    }

    fn is_there(&self, shown: &Shown) -> bool {
        locked(&self.queries).by_id.contains_key(&shown.id)
    }

    fn forget(&self, shown: &Shown) {
        locked(&self.queries).forget(shown);
        self.interest.forget(shown.id);
    }

    /// Ends the query for all who watch it.
    fn end(&self, shown: &Shown, end: &End) {
        self.forget(shown);
        for subscriber in locked(&shown.subscribers).drain(..) {
            subscriber.end(end.clone());
        }
    }

    /// The thread.
    fn run(&self, mut observer: Observer) {
        let _ = self.thread.set(std::thread::current().id());
        loop {
            let step = observer.next(None);
            let Some(shared) = self.shared.upgrade() else { break };
            *locked(&self.looked) = 0;
            match step {
                Ok(Some(step)) => self.take_step(&shared, &step),
                Ok(None) => {}
                Err(error) => {
                    let end = match error {
                        cairn_storage::Error::Closed => End::Closed,
                        error => End::Failed(error.into()),
                    };
                    let mut queries = locked(&self.queries);
                    queries.is_over = true;
                    let all: Vec<_> = queries.by_id.values().cloned().collect();
                    drop(queries);
                    all.iter().for_each(|shown| self.end(shown, &end));
                    return;
                }
            }
            self.look_again(&shared, observer.state());
            *locked(&self.looked) = observer.position().unwrap_or_default();
            self.has_looked.notify_all();
            let mut queries = locked(&self.queries);
            if queries.by_id.is_empty() {
                queries.is_over = true;
                return;
            }
        }
        locked(&self.queries).is_over = true;
    }

    /// Brings those queries to the step's newer state that may tell it from the older.
    fn take_step(&self, shared: &Shared, step: &Step) {
        let mut affected = Affected::default();
        let mut changes = Changes::of(step);
        let mut asked = Vec::new();
        let told = step.each(&mut |changed| {
            changes.note(changed);
            asked.clear();
            let mut add = |id| asked.push(id);
            match changed {
                Changed::Entry(tree, key, ..) => step.who(tree, key, &mut add),
                Changed::Dropped(tree) => step.who_of(tree, &mut add),
                Changed::Anything => locked(&self.queries).by_id.keys().copied().for_each(add),
            }
            self.add_told(&asked, changed, &mut affected);
        });
        if told.is_err() {
            // What can not be told is found out by who reads it.
            changes.note_incomplete();
            locked(&self.queries).by_id.keys().for_each(|id| affected.add(*id));
        }
        let mut wakes = Wakes::default();
        for id in affected.in_order() {
            self.advance(shared, id, step.newer(), Since::Step(&changes), &mut wakes);
        }
    }

    /// Adds those of the queries that may tell the difference; some are asked more than once. Queries of the same plan look at the
    /// same columns.
    fn add_told(&self, asked: &[u64], changed: Changed<'_>, affected: &mut Affected) {
        let queries = locked(&self.queries);
        let mut last: Option<(Arc<Relevant>, bool)> = None;
        for &id in asked {
            if affected.has(id) {
                continue;
            }
            let Some(shown) = queries.by_id.get(&id) else { continue };
            let relevant = locked(&shown.relevant);
            let is_told = match &last {
                Some((known, is_told)) if Arc::ptr_eq(known, &relevant) => *is_told,
                _ => {
                    let is_told = relevant.is_told(changed);
                    last = Some((relevant.clone(), is_told));
                    is_told
                }
            };
            if is_told {
                affected.add(id);
            }
        }
    }

    /// Those that are behind, as far as this state helps; for the rest the thread is called once there is a newer one.
    fn look_again(&self, shared: &Shared, state: Option<&Snapshot>) {
        let behind = {
            let mut queries = locked(&self.queries);
            queries.own_states = 0;
            std::mem::take(&mut queries.behind)
        };
        let mut wakes = Wakes::default();
        for (id, Behind { wanted, own }) in behind {
            if let Some(state) = state {
                self.advance(shared, id, state, own.as_ref().map_or(Since::Unknown, Since::Own), &mut wakes);
            }
            if state.is_none_or(|state| state.position() < wanted) {
                self.note_behind(id, wanted, own);
            }
        }
    }

    fn note_behind(&self, id: u64, wanted: u64, own: Option<Snapshot>) {
        let mut queries = locked(&self.queries);
        if queries.by_id.contains_key(&id) {
            let own = own.and_then(|own| queries.share(own));
            let known = queries.behind.entry(id).or_default();
            known.wanted = wanted.max(known.wanted);
            // The last of them: it is used only for a result that is of this state.
            known.own = own.or(known.own.take());
        }
    }

    fn advance(&self, shared: &Shared, id: u64, state: &Snapshot, since: Since<'_>, wakes: &mut Wakes) {
        let queries = locked(&self.queries);
        if matches!(since, Since::Step(_)) && queries.behind.contains_key(&id) {
            // It is not in the state before; it is looked at again next.
            return;
        }
        let Some(shown) = queries.by_id.get(&id).cloned() else { return };
        drop(queries);
        wakes.look(Duration::from_nanos(shown.took.load(Ordering::Relaxed)));
        let mut query = match shown.query.try_lock() {
            Ok(query) => query,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.note_behind(id, state.position(), None);
                return;
            }
        };
        if state.position() <= query.position {
            return;
        }
        let advanced = catch_unwind(AssertUnwindSafe(|| self.bring_from(since, shared, &shown, &mut query, state)));
        match advanced.unwrap_or_else(|panic| Err(panicked(&*panic))) {
            Ok(change) => tell(&shown, change, &query, wakes),
            Err(error) => {
                drop(query);
                self.end(&shown, &End::Failed(error));
            }
        }
        shown.note_time(wakes.lap());
    }

    fn bring_from(
        &self,
        since: Since<'_>,
        shared: &Shared,
        shown: &Shown,
        query: &mut Query,
        state: &Snapshot,
    ) -> Result<Weights> {
        let between;
        let changes = match since {
            Since::Step(changes) => Some(changes),
            Since::Own(own) => {
                let relevant = query.relevant();
                between = Changes::between(own, state, &query.ranges, &|changed| relevant.is_told(changed));
                Some(&between)
            }
            Since::Unknown => None,
        };
        let begins_with_its_result =
            |changes: &&Changes| changes.older.as_ref().is_some_and(|older| query.position <= older.position());
        match changes.filter(begins_with_its_result) {
            Some(changes) if changes.are_none() => Ok(Weights::default()),
            changes => self.bring(shared, shown, query, state, changes),
        }
    }

    /// `changes`: what led to this state from one in which its result is what it is.
    fn bring(
        &self,
        shared: &Shared,
        shown: &Shown,
        query: &mut Query,
        state: &Snapshot,
        changes: Option<&Changes>,
    ) -> Result<Weights> {
        let (before, compiled) = (query.ranges.clone(), query.compiled.clone());
        let followed = match changes {
            // What can not be told by changes, for whatever reason, is found out by running the query.
            Some(changes) => query.follow(shared, &self.plans, changes).unwrap_or(None),
            None => None,
        };
        let change = match followed {
            Some(change) => change,
            None => query.advance(shared, &self.plans, state)?,
        };
        if !Arc::ptr_eq(&compiled, &query.compiled) {
            *locked(&shown.relevant) = query.relevant();
        }
        *locked(&shown.done) = query.done;
        if !Arc::ptr_eq(&query.ranges, &before) && query.ranges != before {
            let ranges = KeyRanges::clone(&query.ranges);
            let is_current = self.interest.set_since(shown.id, ranges, &before, state);
            if !self.is_there(shown) {
                // Whoever was the last to watch it has let go of it, and of what it was interested in before this.
                self.interest.forget(shown.id);
            }
            let is_current = is_current?;
            if !is_current {
                self.note_behind(shown.id, state.position() + 1, Some(state.clone()));
                self.interest.call();
            }
        }
        Ok(change)
    }
}

/// Tells those who watch a query how it changed.
fn tell(shown: &Shown, change: Weights, query: &Query, wakes: &mut Wakes) {
    if change.is_empty() {
        return;
    }
    let change = Arc::new(change);
    locked(&shown.subscribers).retain(|subscriber| {
        let told = subscriber.change(&change, query.position);
        if told == Some(true) {
            wakes.add(subscriber);
        }
        told.is_some()
    });
}

impl Shown {
    fn note_time(&self, took: Duration) {
        self.took.store(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    Error::new(SqlState::INTERNAL_ERROR, format!("the live query panicked: {text}"))
}

impl Subscription {
    /// How its query was kept current so far, for all who watch it.
    pub(super) fn done(&self) -> Done {
        *locked(&self.shown.done)
    }
}

impl Subscription {
    /// Whether the query was brought to a state of this position, or one behind it: its changes are there to be taken. Waits for a
    /// while otherwise.
    pub(super) fn has_reached(&self, position: u64, time: Duration) -> bool {
        let looked = locked(&self.service.looked);
        let is_behind = || locked(&self.service.queries).behind.contains_key(&self.shown.id);
        if *looked >= position && !is_behind() {
            return true;
        }
        // Commits that are nothing to the query do not wake the thread.
        self.service.interest.call();
        let waited = self.service.has_looked.wait_timeout(looked, time);
        let (looked, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *looked >= position && !is_behind()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.subscriber.leave();
        let mut subscribers = locked(&self.shown.subscribers);
        subscribers.retain(|subscriber| !Arc::ptr_eq(subscriber, &self.subscriber));
        // Who joins holds the list of queries, too: nobody comes in between.
        let is_last = subscribers.is_empty();
        drop(subscribers);
        if is_last {
            self.service.leave(&self.shown);
        }
    }
}

impl Service {
    /// Forgets a query that nobody watches, and has the thread end that has none left.
    fn leave(&self, shown: &Shown) {
        let mut queries = locked(&self.queries);
        if locked(&shown.subscribers).is_empty() {
            queries.forget(shown);
            self.interest.forget(shown.id);
        }
        drop(queries);
        self.interest.call();
    }
}

impl Queries {
    /// The state as who was noted last has it, or itself where there is room for one more.
    fn share(&mut self, own: Snapshot) -> Option<Snapshot> {
        let last = self.behind.values().next_back().and_then(|last| last.own.as_ref());
        if let Some(last) = last.filter(|last| last.position() == own.position()) {
            return Some(last.clone());
        }
        self.own_states += 1;
        (self.own_states <= OWN_STATES).then_some(own)
    }

    fn forget(&mut self, shown: &Shown) {
        self.by_id.remove(&shown.id);
        self.behind.remove(&shown.id);
        if let Some(identity) = &shown.identity
            && self.by_identity.get(identity) == Some(&shown.id)
        {
            self.by_identity.remove(identity);
        }
    }
}
