//! The thread that reads a database's change feeds, and the streams that it tells.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use cairndb::internals::Equalities;
use cairndb::{Change, Changes, Connection, Database, Error, Next, Position, SqlState, StopHandle};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, channel};

use super::subscribers::{Heard, Item, Subscriber, Subscribers};
use super::told::{Place, Told, What};

/// Changes that are kept for a stream.
const QUEUE: usize = 256;
/// Bytes of documents that are kept for all of them; beyond that only for those who have taken what was before.
const KEPT_MAX: usize = 32 << 20;
/// How often it is noted how far the feeds were read while nothing comes.
const LOOK: Duration = Duration::from_secs(2);
/// How long is waited when as many as not have no room: they are not slow, there is much to tell.
const PATIENCE: Duration = Duration::from_millis(50);
const STEP: Duration = Duration::from_millis(1);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What streams of a database have threads do at a time: others' requests wait for the same ones.
const TURNS: usize = 16;

/// A database's change feeds, for all who listen; nothing is read while nobody does.
pub(crate) struct Feed {
    running: Mutex<Option<(Arc<Shared>, JoinHandle<()>)>>,
    turns: Semaphore,
    /// How often it was asked whether documents are in sight.
    questions: AtomicU64,
}

struct Shared {
    state: Mutex<State>,
    /// Bytes of documents that are kept for streams.
    kept: Arc<AtomicUsize>,
}

struct State {
    tables: HashMap<u32, Subscribers>,
    count: usize,
    next_id: u64,
    /// What was told so far.
    place: Place,
    /// The last commit all of which was.
    whole: Position,
    /// `None`: the thread has ended, or is about to.
    stop: Option<StopHandle>,
    /// Why nothing more comes, though there are streams; no error: the database was closed.
    end: Option<Option<Error>>,
}

impl Feed {
    pub(crate) fn new() -> Feed {
        Feed { running: Mutex::default(), turns: Semaphore::new(TURNS), questions: AtomicU64::new(0) }
    }

    /// Has a thread of the database's do what a stream needs. It is not refused, however much there is to do.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        database: &cairndb_async::Database,
        work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let _turn = self.turns.acquire().await.map_err(|_| internal("turns that nobody gives"))?;
        database.call_in_turn(work).await
    }

    /// Tells of a table's changes from now on: those of documents that have these values, if any are named, and maybe others. May wait for the disk.
    ///
    /// # Errors
    ///
    /// XX000 where there is no thread to be had; those of [`Database::changes`].
    pub(crate) fn subscribe(
        &self,
        database: &Database,
        table: u32,
        wanted: Option<Arc<Equalities>>,
    ) -> Result<Subscription, Error> {
        let mut running = lock(&self.running);
        if let Some((shared, _)) = &*running
            && let Some(subscription) = Shared::subscribe(shared, table, wanted.clone())
        {
            return Ok(subscription);
        }
        let changes = database.changes(None)?;
        let shared = Arc::new(Shared::new(&changes));
        let subscription = Shared::subscribe(&shared, table, wanted);
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new().name("cairn-feed".into()).spawn(move || of_thread.read(changes));
        let thread = thread.map_err(|error| internal(&format!("could not start a thread: {error}")))?;
        if let Some((_, before)) = running.replace((shared, thread)) {
            let _ = before.join();
        }
        subscription.ok_or_else(|| internal("a feed that nobody reads"))
    }

    /// It is asked whether documents are in sight.
    pub(crate) fn count_question(&self) {
        self.questions.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it was since the database was opened.
    pub(crate) fn questions(&self) -> u64 {
        self.questions.load(Ordering::Relaxed)
    }

    /// How many listen.
    pub(crate) fn subscribers(&self) -> usize {
        lock(&self.running).as_ref().map_or(0, |(shared, _)| shared.state().count)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((shared, thread)) = running.take() {
            shared.state().stop();
            // It lets go of the database before that is.
            let _ = thread.join();
        }
    }
}

fn internal(message: &str) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, message)
}

impl State {
    /// Has the thread end.
    fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.stop();
        }
    }

    fn left(&mut self) {
        self.count -= 1;
        if self.count == 0 {
            self.stop();
        }
    }

    /// Those of a table are told why they hear no more.
    fn fail(&mut self, table: u32, error: &Error) {
        for subscriber in self.tables.remove(&table).into_iter().flat_map(|mut all| all.take_all()) {
            let _ = subscriber.is_late(Item::Failed(error.clone()));
            self.left();
        }
    }

    /// He is a subscriber no more, and goes on by himself where he has heard what he was sent.
    fn remove(&mut self, table: u32, id: u64, wanted: Option<&Equalities>) {
        let Some(subscribers) = self.tables.get_mut(&table) else { return };
        let was_there = subscribers.remove(id, wanted);
        if subscribers.is_empty() {
            self.tables.remove(&table);
        }
        if was_there {
            self.left();
        }
    }
}

impl Shared {
    fn new(changes: &Changes) -> Shared {
        let whole = changes.token();
        let state = State {
            tables: HashMap::new(),
            count: 0,
            next_id: 0,
            place: Place::behind(whole),
            whole,
            stop: Some(changes.stop_handle()),
            end: None,
        };
        Shared { state: Mutex::new(state), kept: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn is_crowded(&self) -> bool {
        self.kept.load(Ordering::Relaxed) > KEPT_MAX
    }

    /// `None`: the thread ends.
    fn subscribe(shared: &Arc<Shared>, table: u32, wanted: Option<Arc<Equalities>>) -> Option<Subscription> {
        let (sender, items) = channel(QUEUE);
        let mut state = shared.state();
        state.stop.as_ref()?;
        let id = state.next_id;
        state.next_id += 1;
        state.count += 1;
        state.tables.entry(table).or_default().add(Subscriber { id, sender, wanted: wanted.clone() });
        Some(Subscription { shared: shared.clone(), table, id, wanted, items })
    }

    /// Reads until nobody listens, or nothing more comes.
    fn read(&self, changes: Changes) {
        let read = catch_unwind(AssertUnwindSafe(|| self.read_on(changes)));
        let end = read.unwrap_or_else(|_| Some(internal("the reader of the change feed panicked")));
        let mut state = self.state();
        // Where nobody listens it was stopped, and there is nobody to tell.
        if state.stop.take().is_some() {
            state.end = Some(end);
        }
        let tables = std::mem::take(&mut state.tables);
        state.count = 0;
        drop(state);
        drop(tables);
    }

    fn read_on(&self, mut changes: Changes) -> Option<Error> {
        loop {
            match changes.next_change_within(LOOK) {
                Ok(Next::Item(change)) => self.tell(&change),
                Ok(Next::NotYet) => self.note(changes.token()),
                Ok(Next::End) => return None,
                Err(error) => return Some(error),
            }
        }
    }

    /// There was nothing up to there.
    fn note(&self, token: Position) {
        let mut state = self.state();
        (state.place, state.whole) = (Place::behind(token), token);
    }

    fn tell(&self, change: &Change) {
        let mut state = self.state();
        let place = state.place.next(change.position());
        state.place = place;
        let told = Told::of(change, place);
        let table = told.table;
        let mut late = Vec::new();
        if !matches!(told.what, What::Nothing)
            && let Some(subscribers) = state.tables.get_mut(&table)
        {
            let is_crowded = self.is_crowded();
            let told = told.with_documents(change).map(Arc::new);
            match told.and_then(|told| Ok((subscribers.tell(&told, is_crowded)?, told))) {
                Ok((heard, told)) => {
                    if heard.count > 0 {
                        told.count(&self.kept);
                    }
                    late.push((table, heard, Item::Change(told)));
                }
                Err(error) => state.fail(table, &error),
            }
        }
        if change.is_last() {
            let commit = change.position();
            state.whole = commit;
            for (&table, subscribers) in &mut state.tables {
                late.push((table, subscribers.pass(commit), Item::Passed(commit)));
            }
        }
        drop(state);
        late.into_iter().for_each(|(table, heard, item)| self.wait_for(table, heard, &item));
    }

    /// Those who had no room for it are subscribers no more, unless they are so many that there is just much to tell.
    fn wait_for(&self, table: u32, heard: Heard, item: &Item) {
        let Heard { count, mut late, .. } = heard;
        if late.is_empty() {
            return;
        }
        let mut waited = Duration::ZERO;
        while late.len() * 2 > count && waited < PATIENCE {
            std::thread::sleep(STEP);
            waited += STEP;
            let is_crowded = self.is_crowded();
            late.retain(|subscriber| is_crowded && subscriber.has_some() || subscriber.is_late(item.clone()));
        }
        let mut state = self.state();
        late.iter().for_each(|subscriber| state.remove(table, subscriber.id, subscriber.wanted.as_deref()));
    }
}

/// What a stream hears.
#[derive(Debug)]
pub(crate) enum News {
    Change(Arc<Told>),
    /// A commit of which it has heard is over, and its last change was not for it.
    Passed(Position),
    /// Nothing more comes, for this reason; none: the database was closed.
    Over(Option<Error>),
    /// It has not taken what there was in time: from the place on that it has heard, it has to read by itself.
    Behind,
}

/// A stream among those that are told.
pub(crate) struct Subscription {
    shared: Arc<Shared>,
    table: u32,
    id: u64,
    wanted: Option<Arc<Equalities>>,
    items: Receiver<Item>,
}

impl Subscription {
    /// Waits for what is told next; nothing is lost where this is dropped before that.
    pub(crate) async fn next(&mut self) -> News {
        match self.items.recv().await {
            Some(Item::Change(told)) => News::Change(told),
            Some(Item::Passed(commit)) => News::Passed(commit),
            Some(Item::Failed(error)) => News::Over(Some(error)),
            None => self.shared.state().end.clone().map_or(News::Behind, News::Over),
        }
    }

    /// The last commit all of which was told, where nothing of it is still to be taken.
    pub(crate) fn passed(&self) -> Option<Position> {
        let state = self.shared.state();
        (self.items.is_empty() && !self.items.is_closed()).then_some(state.whole)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.state().remove(self.table, self.id, self.wanted.as_deref());
    }
}
