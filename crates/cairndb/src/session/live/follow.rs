//! Materialized views that follow their queries: each is a live query whose only consumer writes the view's rows.
//!
//! ```text
//! commit -> live query -> its net change -> (a thread for each view) one transaction: rows that go, rows that come, the position
//! ```
//! What must hold:
//! - The view's rows are its query's result at the position that stands beside them: both are written by one transaction.
//! - A thread that begins to follow takes the whole result first, and changes what differs: whatever was lost or missed before, by
//!   a crash, a REFRESH, or somebody else's change of the schema, is found then.
//! - What can not be followed any more is not read any more: the view says why.
//! - The threads keep the database open only while they write. Whoever drops its last handle waits for them.

mod shown;
mod writing;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use cairn_storage::{Join, Process, TreeId};

use super::service::Service;
use super::subscriber::End;
use super::subscription::Subscription;
use crate::catalog::{Catalog, CatalogStore, Materialized, ObjectId, Table, followed_tree_of};
use crate::dml::Target;
use crate::session::shared::{Handle, Shared};
use crate::session::{InterruptHandle, Session};
use crate::sql::parse_one;
use crate::sync::{self, Mutex, ThreadId};
use crate::{Error, Result, SqlState};
use writing::{Work, Writing, Written};

/// Before what failed is tried again.
const PAUSE: Duration = Duration::from_millis(100);
/// How often a view's query may fail, before the view is given up: what it speaks of may be about to be renamed.
const TRIES: usize = 3;
/// How long the last handle of a database waits for its views.
const LAST: Duration = Duration::from_millis(500);
/// How long writing a small change takes, about.
const WRITING: Duration = Duration::from_micros(50);

/// The views of a database that follow.
#[derive(Default)]
pub(crate) struct Followers {
    running: Mutex<BTreeMap<ObjectId, Arc<Follower>>>,
    /// The thread that keeps live queries current, which ends when there are none.
    watching: Mutex<Option<(Arc<Service>, Join)>>,
    /// Handles of the database that are not the threads' own.
    users: AtomicUsize,
    /// That of the threads.
    process: Process,
}

/// What each such handle has: the last that goes waits for the threads.
pub(crate) struct User(Arc<Followers>);

impl User {
    pub(crate) fn new(followers: &Arc<Followers>) -> User {
        followers.users.fetch_add(1, Ordering::SeqCst);
        User(followers.clone())
    }
}

impl Clone for User {
    fn clone(&self) -> User {
        User::new(&self.0)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, Ordering::SeqCst) == 1 && self.0.process.is_current() {
            self.0.settle();
            self.0.stop();
            // It may hold the database while it works; with no handle left nobody has a live query.
            if let Some((service, join)) = self.0.watching.lock().take().filter(|(service, _)| !service.is_here()) {
                service.stop();
                join();
            }
        }
    }
}

/// One of them.
struct Follower {
    view: ObjectId,
    /// The view's rows: REFRESH gives it another tree, and another follower.
    tree: TreeId,
    shared: Weak<Shared>,
    /// What it takes, while it does.
    subscription: Mutex<Option<Arc<Subscription>>>,
    /// How often it failed since it wrote last.
    failures: AtomicUsize,
    /// The position of what it wrote last; 0: nothing of this subscription so far.
    written: AtomicU64,
    is_over: AtomicBool,
    /// Ends what it runs.
    interrupt: Mutex<InterruptHandle>,
    thread: OnceLock<ThreadId>,
    join: Mutex<Option<Join>>,
}

impl Followers {
    /// Has those views followed that the newest state has, and no others.
    fn look(&self, shared: &Arc<Shared>) -> Result<()> {
        let (_, catalog) = shared.catalog(shared.store.snapshot()?.reader())?;
        let is_followed = |view: &&Arc<Table>| view.is_follower() && view.refuse_unpopulated().is_ok();
        let wanted: BTreeMap<ObjectId, TreeId> =
            catalog.tables().filter(is_followed).map(|view| (view.id, view.tree)).collect();
        let mut running = self.running.lock();
        running.retain(|view, follower| {
            let stays = wanted.get(view) == Some(&follower.tree) && !follower.is_over.load(Ordering::SeqCst);
            if !stays {
                follower.end();
            }
            stays
        });
        for (view, tree) in wanted {
            if let std::collections::btree_map::Entry::Vacant(place) = running.entry(view) {
                place.insert(Follower::start(shared, view, tree)?);
            }
        }
        Ok(())
    }

    /// Lets them write what was committed so far, for a while: a program that only comes and goes would leave its views behind.
    pub(crate) fn settle(&self) {
        let until = sync::now() + LAST;
        let all: Vec<Arc<Follower>> = self.running.lock().values().cloned().collect();
        for follower in all {
            while follower.is_behind() && sync::now() < until {
                sync::sleep(WRITING);
            }
        }
    }

    /// Ends all, and waits for their ends.
    pub(crate) fn stop(&self) {
        let all = std::mem::take(&mut *self.running.lock());
        all.values().for_each(|follower| follower.end());
        for follower in all.into_values() {
            // Whoever held the last handle may be one of them.
            let is_this = follower.thread.get() == Some(&sync::this_thread());
            if let Some(join) = follower.join.lock().take().filter(|_| !is_this) {
                join();
            }
        }
    }

    /// Ends live queries, and what they run. They are told of what was committed up to this position before, if that takes no time.
    pub(crate) fn stop_watching(&self, position: u64) {
        let service = self.watching.lock().as_ref().map(|(service, _)| service.clone());
        if let Some(service) = service {
            service.settle(position, PAUSE);
            service.stop();
        }
    }

    /// Another thread keeps live queries current; the one before is at its end.
    pub(super) fn watched_by(&self, service: Arc<Service>, join: Join) {
        self.watching.lock().replace((service, join));
    }

    fn of(&self, view: ObjectId) -> Option<Arc<Follower>> {
        self.running.lock().get(&view).cloned()
    }
}

impl Shared {
    /// Has the materialized views followed that ask for it.
    pub(crate) fn follow_views(self: &Arc<Shared>) -> Result<()> {
        match self.options.read_only {
            true => Ok(()),
            false => self.followers.look(self),
        }
    }

    /// The same when the database is opened: most have none, and need not read their schema for it.
    pub(crate) fn follow_views_there_are(self: &Arc<Shared>) -> Result<()> {
        let has_any = followed_tree_of(self.store.snapshot()?.reader())?.is_some();
        if has_any { self.follow_views() } else { Ok(()) }
    }
}

impl Follower {
    fn start(shared: &Arc<Shared>, view: ObjectId, tree: TreeId) -> Result<Arc<Follower>> {
        let follower = Arc::new(Follower {
            view,
            tree,
            shared: Arc::downgrade(shared),
            subscription: Mutex::default(),
            failures: AtomicUsize::new(0),
            written: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            interrupt: Mutex::default(),
            thread: OnceLock::new(),
            join: Mutex::default(),
        });
        let follows = follower.clone();
        let run = move || {
            let _ = follows.thread.set(sync::this_thread());
            follows.run();
            follows.is_over.store(true, Ordering::SeqCst);
            *follows.subscription.lock() = None;
        };
        *follower.join.lock() = Some(shared.store.spawn("cairn-view", Box::new(run))?);
        Ok(follower)
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.interrupt.lock().interrupt();
        if let Some(subscription) = &*self.subscription.lock() {
            subscription.subscriber().end(End::Closed);
        }
    }

    /// The thread.
    fn run(&self) {
        while !self.is_over.load(Ordering::SeqCst) {
            match self.begin() {
                Ok(Some(subscription)) => match self.follow(&subscription) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) if !self.outlives(&error) => return,
                    Err(_) => {}
                },
                Ok(None) => return,
                Err(error) if !self.outlives(&error) => return,
                Err(_) => {}
            }
        }
    }

    /// Whether what failed may go well another time; the view is given up otherwise.
    fn outlives(&self, error: &Error) -> bool {
        let Some(shared) = self.shared.upgrade() else { return false };
        // The database is closed, or was hurt: nothing is written to it any more.
        let is_closed = shared.store.snapshot().is_err() || error.sqlstate() == SqlState::READ_ONLY_SQL_TRANSACTION;
        if is_closed || self.is_over.load(Ordering::SeqCst) {
            return false;
        }
        drop(shared);
        let class = error.sqlstate().0.get(..2).unwrap_or_default();
        // Lost to others; no room; an operator at work, or a view that it reads is not populated: it waits for better times.
        let is_passing = matches!(class, "40" | "53" | "55" | "57" | "58");
        if !is_passing && self.failures.fetch_add(1, Ordering::SeqCst) + 1 >= TRIES && self.give_up(error).is_ok() {
            return false;
        }
        sync::sleep(PAUSE);
        true
    }

    /// Begins to watch the view's query; `None`: the view is not to be followed any more.
    fn begin(&self) -> Result<Option<Arc<Subscription>>> {
        let Some(shared) = self.shared.upgrade() else { return Ok(None) };
        let (_, catalog) = shared.catalog(shared.store.snapshot()?.reader())?;
        let Some(Materialized { query, .. }) = self.seen(&catalog).and_then(|view| view.materialized().cloned()) else {
            return Ok(None);
        };
        let session = self.connect(&shared)?;
        // Whatever is not named with its schema is the system's. It has the time that it takes.
        session.run("SET search_path = ''; SET statement_timeout = 0", &mut |_| Ok(()))?;
        let catalog = session.catalog()?;
        let subscription = Arc::new(session.subscription(&catalog.text_of(&query), ())?);
        self.written.store(0, Ordering::SeqCst);
        *self.subscription.lock() = Some(subscription.clone());
        // Who ended it meanwhile found none.
        Ok((!self.is_over.load(Ordering::SeqCst)).then_some(subscription))
    }

    /// A session that is interrupted when this ends.
    fn connect(&self, shared: &Arc<Shared>) -> Result<Session> {
        let mut session = Session::new(Handle::of_engine(shared))?;
        session.keeps_interrupt = true;
        let handle = session.interrupt_handle();
        *self.interrupt.lock() = handle.clone();
        if self.is_over.load(Ordering::SeqCst) {
            handle.interrupt();
        }
        Ok(session)
    }

    /// The view, if it is the one that this follows.
    fn seen<'c>(&self, catalog: &'c Catalog) -> Option<&'c Arc<Table>> {
        catalog.table_by_id(self.view).filter(|view| view.tree == self.tree && view.is_follower())
    }

    /// Writes what comes, until it is to begin again (`true`), or is over.
    fn follow(&self, subscription: &Subscription) -> Result<bool> {
        loop {
            let taken = match subscription.subscriber().take(None) {
                Ok(Some(taken)) => taken,
                Ok(None) => continue,
                Err(End::Closed) => return Ok(false),
                // Something was renamed, perhaps: it begins again.
                Err(End::Failed(error)) => return Err(error),
            };
            let work = Work::of(taken);
            loop {
                let Some(shared) = self.shared.upgrade() else { return Ok(false) };
                if self.is_over.load(Ordering::SeqCst) {
                    return Ok(false);
                }
                match self.write(&shared, subscription, &work) {
                    Ok(Written::All) => {
                        self.written.store(work.position(), Ordering::SeqCst);
                        self.failures.store(0, Ordering::SeqCst);
                        break;
                    }
                    Ok(Written::Some) => {}
                    Ok(Written::Differs) => return Ok(true),
                    Ok(Written::Gone) => return Ok(false),
                    // Somebody changed the schema, most likely.
                    Err(error) if error.sqlstate().0 == "40001" => drop(shared),
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Writes a part of what was taken.
    fn write(&self, shared: &Arc<Shared>, subscription: &Subscription, work: &Work) -> Result<Written> {
        let session = self.connect(shared)?;
        let parsed = Arc::new(parse_one("COMMIT")?);
        let mut written = Written::Gone;
        let done = session.write_by(&parsed, "REFRESH", |dml| {
            // It may be another try.
            written = Written::Gone;
            let Some(view) = self.seen(dml.catalog).cloned() else { return Ok(0) };
            let writing = Writing { dml, target: Target::of(&view, dml.catalog)?, subscription };
            written = match work {
                Work::First(rows, _) => writing.bring(rows)?,
                Work::Change(change, _) => writing.change(change)?,
            };
            match written {
                Written::All => writing.put_position(self.view, work.position()).map(|()| 0),
                // Nothing of it is to stay.
                Written::Differs => Err(Error::internal("the view has not the rows that go")),
                Written::Some | Written::Gone => Ok(0),
            }
        });
        match written {
            Written::Differs => Ok(written),
            _ => done.map(|_| written),
        }
    }

    /// The view can not be read from now on, for this reason.
    fn give_up(&self, error: &Error) -> Result<()> {
        let Some(shared) = self.shared.upgrade() else { return Ok(()) };
        let session = Session::new(Handle::of_engine(&shared))?;
        let parsed = Arc::new(parse_one("COMMIT")?);
        let reason = format!("{} (SQLSTATE {})", error.message(), error.sqlstate().0);
        session.write_by(&parsed, "REFRESH", |dml| {
            let Some(view) = self.seen(dml.catalog) else { return Ok(0) };
            let mut view = Table::clone(view);
            if let Some(of) = view.materialized_mut() {
                of.stopped = Some(reason);
            }
            CatalogStore::new(dml.tx).put_table(&view).map(|()| 0)
        })?;
        Ok(())
    }
}

impl Follower {
    /// Whether there is a commit that it may have to write yet.
    fn is_behind(&self) -> bool {
        let is_here = self.thread.get() == Some(&sync::this_thread());
        if is_here || self.is_over.load(Ordering::SeqCst) {
            return false;
        }
        let Some(newest) = self.shared.upgrade().and_then(|shared| shared.store.snapshot().ok()) else { return false };
        match self.subscription.lock().clone() {
            Some(subscription) => !subscription.has_reached(newest.position(), PAUSE) || !self.is_idle(&subscription),
            // It is about to begin.
            None => true,
        }
    }

    /// Whether all that its query told is written.
    fn is_idle(&self, subscription: &Subscription) -> bool {
        subscription.subscriber().told().is_some_and(|told| told <= self.written.load(Ordering::SeqCst))
    }
}
