//! The thread that tells: it takes one durable state after the other, and brings to each the queries that may tell it from the one
//! before.
//!
//! What must hold:
//! - It is never away from what is new for long: a query has [`PIECE`] there, all those of a step [`STEP`], the cheapest first, and
//!   finding out which they are has as long; what does not fit is left behind, from where it is taken up between steps, or goes on
//!   in other threads (`long`).
//! - However many commits there are: whoever is behind has his turn (`behind`).
//! - It waits for no subscriber, and for no query that runs elsewhere: that is looked at again.

use std::any::Any;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cairn_storage::{Changed, KeyRanges, Observer, Snapshot, Step};

use super::behind::Behind;
use super::changes::Changes;
use super::definition::Limits;
use super::query::{Query, Relevant};
use super::result::Weights;
use super::service::Service;
use super::shown::Shown;
use super::subscriber::{End, Together};
use super::wakes::Wakes;
use crate::clock;
use crate::columns::QuickHashes;
use crate::plan::{Fault, has_fault};
use crate::session::shared::Shared;
use crate::sync::{self, MutexGuard};
use crate::{Error, Result, SqlState};

/// A query has so long in this thread.
const PIECE: Duration = Duration::from_millis(3);
/// The queries of a step have so long together, and so long it takes to find out which they are.
const STEP: Duration = Duration::from_millis(10);
/// After so many changes the clock is read.
const LOOKED_AT: usize = if cfg!(test) { 1 } else { 256 };
/// Where they are expected to take longer, those that take less than this are cheap.
const CHEAP: Duration = Duration::from_micros(16);

/// The queries that a step concerns, each once.
#[derive(Default)]
struct Affected {
    /// What they are expected to take, and their numbers.
    ids: Vec<(Duration, u64)>,
    known: HashSet<u64, QuickHashes>,
    together: Duration,
}

impl Affected {
    fn has(&self, id: u64) -> bool {
        self.known.contains(&id)
    }

    fn add(&mut self, id: u64, expected: Duration) {
        if self.known.insert(id) {
            self.ids.push((expected, id));
            self.together = self.together.saturating_add(expected);
        }
    }

    /// In the order in which they began; where all of them take long, the cheap ones first.
    fn in_order(mut self) -> Vec<u64> {
        let are_many = self.together > STEP;
        let rank = |expected: Duration| if are_many && expected > CHEAP { expected } else { Duration::ZERO };
        self.ids.sort_unstable_by_key(|(expected, id)| (rank(*expected), *id));
        self.ids.into_iter().map(|(_, id)| id).collect()
    }
}

/// Where a query comes from that is brought to a newer state.
#[derive(Clone, Copy)]
pub(super) enum Since<'a> {
    /// The thread's state before.
    Step(&'a Changes),
    /// A state of its own.
    Own(&'a Snapshot),
    Unknown,
}

impl Since<'_> {
    fn state(self) -> Option<Arc<Snapshot>> {
        match self {
            Since::Step(changes) => changes.older.clone().map(Arc::new),
            Since::Own(own) => Some(Arc::new(own.clone())),
            Since::Unknown => None,
        }
    }
}

impl Service {
    /// The thread.
    pub(super) fn run(self: &Arc<Service>, observer: Observer) {
        let _ = self.thread.set(sync::this_thread());
        self.observe(observer);
        self.long.end();
        self.long.join();
    }

    fn observe(self: &Arc<Service>, mut observer: Observer) {
        let mut has_more = Some(false);
        while let Some(more) = has_more {
            has_more = self.look_once(&mut observer, more.then_some(Duration::ZERO));
        }
        self.queries.lock().is_over = true;
    }

    /// Takes the next step, once there is one or for at most so long, and looks at who is behind. True: there are more of these than
    /// there was time for; `None`: this was the last.
    pub(super) fn look_once(self: &Arc<Service>, observer: &mut Observer, longest: Option<Duration>) -> Option<bool> {
        let step = observer.next(longest);
        let shared = self.shared.upgrade()?;
        *self.looked.lock() = 0;
        let step = if self.is_stopped.load(Ordering::SeqCst) { Err(cairn_storage::Error::Closed) } else { step };
        match step {
            Ok(Some(step)) => self.take_step(&shared, &step),
            Ok(None) => {}
            Err(error) => {
                self.end_all(error);
                return None;
            }
        }
        let has_more = self.look_again(&shared, observer.state());
        *self.looked.lock() = observer.position().unwrap_or_default();
        self.has_looked.notify_all();
        let mut queries = self.queries.lock();
        queries.is_over = queries.by_id.is_empty();
        (!queries.is_over).then_some(has_more)
    }

    fn end_all(&self, error: cairn_storage::Error) {
        let end = match error {
            cairn_storage::Error::Closed => End::Closed,
            error => End::Failed(error.into()),
        };
        let mut queries = self.queries.lock();
        queries.is_over = true;
        let all: Vec<_> = queries.by_id.values().cloned().collect();
        drop(queries);
        for shown in all {
            shown.interrupt.store(true, Ordering::SeqCst);
            self.end(&shown, &end);
        }
    }

    /// Brings those queries to the step's newer state that may tell it from the older.
    fn take_step(self: &Arc<Service>, shared: &Shared, step: &Step) {
        let mut affected = Affected::default();
        let mut changes = Changes::of(step);
        let (mut asked, mut looked, began) = (Vec::new(), 0_usize, clock::now());
        let mut has_time = || {
            looked += 1;
            !looked.is_multiple_of(LOOKED_AT) || clock::since(began) < STEP
        };
        let told = step.each(&mut has_time, &mut |changed| {
            changes.note(changed);
            asked.clear();
            let mut add = |id| asked.push(id);
            match changed {
                Changed::Entry(tree, key, ..) => step.who(tree, key, &mut add),
                Changed::Dropped(tree) => step.who_of(tree, &mut add),
                Changed::Anything => self.queries.lock().by_id.keys().copied().for_each(add),
            }
            self.add_told(&asked, changed, &mut affected);
        });
        if matches!(told, Ok(false)) {
            return self.leave_all_behind(step);
        }
        if told.is_err() {
            // What can not be told is found out by who reads it.
            changes.note_incomplete();
            self.queries.lock().by_id.iter().for_each(|(id, shown)| affected.add(*id, shown.expected()));
        }
        let mut wakes = Wakes::default();
        let began = wakes.now;
        for id in affected.in_order() {
            match wakes.now.duration_since(began) < STEP {
                true => self.advance(shared, id, step.newer(), Since::Step(&changes), &mut wakes),
                false => self.queries.lock().leave_behind(id, step.newer().position(), Since::Step(&changes).state()),
            }
        }
    }

    /// Each query finds out what the step is to it.
    fn leave_all_behind(&self, step: &Step) {
        let older = step.older().cloned().map(Arc::new);
        let mut queries = self.queries.lock();
        let all: Vec<u64> = queries.by_id.keys().copied().collect();
        all.into_iter().for_each(|id| queries.leave_behind(id, step.newer().position(), older.clone()));
    }

    /// Adds those of the queries that may tell the difference; some are asked more than once. Queries of the same plan look at the
    /// same columns.
    fn add_told(&self, asked: &[u64], changed: Changed<'_>, affected: &mut Affected) {
        let queries = self.queries.lock();
        let mut last: Option<(Arc<Relevant>, bool)> = None;
        for &id in asked {
            if affected.has(id) {
                continue;
            }
            let Some(shown) = queries.by_id.get(&id) else { continue };
            let relevant = shown.relevant.lock();
            let is_told = match &last {
                Some((known, is_told)) if Arc::ptr_eq(known, &relevant) => *is_told,
                _ => {
                    let is_told = relevant.is_told(changed);
                    last = Some((relevant.clone(), is_told));
                    is_told
                }
            };
            if is_told {
                affected.add(id, shown.expected());
            }
        }
    }

    /// Those that are behind, as far as this state helps; for the rest the thread is called once there is a newer one. True: there
    /// are more, for which there was no time.
    fn look_again(self: &Arc<Service>, shared: &Shared, state: Option<&Snapshot>) -> bool {
        let due = self.queries.lock().due();
        let mut wakes = Wakes::default();
        let began = wakes.now;
        for id in due {
            if wakes.now.duration_since(began) >= PIECE {
                return true;
            }
            let Some(Behind { wanted, own, .. }) = self.queries.lock().take_due(id) else { continue };
            if let Some(state) = state {
                self.advance(shared, id, state, own.as_deref().map_or(Since::Unknown, Since::Own), &mut wakes);
            }
            if state.is_none_or(|state| state.position() < wanted) {
                self.note_behind(id, wanted, own);
            }
        }
        false
    }

    pub(super) fn note_behind(&self, id: u64, wanted: u64, own: Option<Arc<Snapshot>>) {
        self.queries.lock().note_behind(id, wanted, own);
    }

    fn advance(self: &Arc<Service>, shared: &Shared, id: u64, state: &Snapshot, since: Since<'_>, wakes: &mut Wakes) {
        let mut queries = self.queries.lock();
        if matches!(since, Since::Step(_)) && queries.is_behind(id) && !has_fault(Fault::PassedBy) {
            // It is not in the state before; it is looked at again next.
            queries.note_behind(id, state.position(), None);
            return;
        }
        let Some(shown) = queries.by_id.get(&id).cloned() else { return };
        drop(queries);
        let expected = shown.expected();
        wakes.look(expected);
        let Some(query) = shown.query.try_lock() else {
            self.note_behind(id, state.position(), None);
            return;
        };
        if state.position() <= query.position {
            return shown.is_brought();
        }
        if expected > PIECE && !is_unchanged(&query, since, state, &shown.limits(wakes.now, Some(PIECE))) {
            drop(query);
            return self.hand_over(shared, &shown, state.position(), since.state());
        }
        if !self.bring_in_time((shared, &shown), query, (state, since), Some(PIECE), wakes) {
            self.hand_over(shared, &shown, state.position(), since.state());
        }
    }

    /// Brings the query to this state, and tells who watches it. `piece`: how long it has in this thread. False: that was not enough.
    pub(super) fn bring_in_time(
        self: &Arc<Service>,
        (shared, shown): (&Shared, &Arc<Shown>),
        mut query: MutexGuard<'_, Query>,
        (state, since): (&Snapshot, Since<'_>),
        piece: Option<Duration>,
        wakes: &mut Wakes,
    ) -> bool {
        query.limits = shown.limits(wakes.now, piece);
        let before = query.done;
        let brought = catch_unwind(AssertUnwindSafe(|| self.bring_from(since, shared, shown, &mut query, state)));
        let brought = brought.unwrap_or_else(|panic| Err(panicked(&*panic)));
        let expected = (query.done != before).then(|| query.expected.take());
        let error = match brought {
            Ok(change) => {
                shown.is_brought();
                tell(shown, change, &query, wakes);
                drop(query);
                None
            }
            Err(error) => {
                drop(query);
                Some(error)
            }
        };
        let took = wakes.lap();
        if let Some(expected) = expected {
            // What took long though it was not to is not believed to be shorter the next time.
            let is_believed = piece == Some(PIECE) || took < PIECE;
            shown.expect(expected.filter(|_| is_believed).unwrap_or(took));
        }
        let Some(error) = error else { return true };
        let is_late = error.sqlstate() == SqlState::QUERY_CANCELED;
        // Nobody watches it any more, or all is over.
        if is_late && shown.interrupt.load(Ordering::SeqCst) {
            return true;
        }
        if is_late && piece.is_some_and(|piece| shown.timeout.is_none_or(|timeout| timeout > piece)) {
            return false;
        }
        self.end(shown, &End::Failed(error));
        true
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
                between = changes_since(own, query, state, &query.limits)?;
                Some(&between)
            }
            Since::Unknown => None,
        };
        match changes.filter(|changes| begin_with_its_result(changes, query)) {
            Some(changes) if changes.are_none() => Ok(Weights::default()),
            changes => self.bring(shared, shown, query, state, changes),
        }
    }

    /// `changes`: what led to this state from one in which its result is what it is.
    pub(super) fn bring(
        &self,
        shared: &Shared,
        shown: &Shown,
        query: &mut Query,
        state: &Snapshot,
        changes: Option<&Changes>,
    ) -> Result<Weights> {
        let (before, compiled) = (query.ranges.clone(), query.compiled.clone());
        let change = match changes.map(|changes| query.follow(shared, &self.plans, changes)) {
            Some(Ok(Some(change))) => Ok(change),
            Some(Err(error)) if error.sqlstate() == SqlState::QUERY_CANCELED => Err(error),
            // What can not be told by changes, for whatever reason, is found out by running the query.
            _ => query.advance(shared, &self.plans, state),
        };
        // (It has another plan also where there was no time for that.)
        if !Arc::ptr_eq(&compiled, &query.compiled) {
            *shown.relevant.lock() = query.relevant();
        }
        if change.is_err() {
            // What it came to read meanwhile is not what its result is of, and nobody was told that it is interested in it.
            query.ranges = before.clone();
        }
        let change = change?;
        *shown.done.lock() = query.done;
        if !Arc::ptr_eq(&query.ranges, &before) && query.ranges != before {
            let ranges = KeyRanges::clone(&query.ranges);
            let is_current = self.interest.set_since(shown.id, ranges, &before, state);
            if !self.is_there(shown) {
                // Whoever was the last to watch it has let go of it, and of what it was interested in before this.
                self.interest.forget(shown.id);
            }
            let is_current = is_current?;
            if !is_current {
                self.note_behind(shown.id, state.position() + 1, Some(Arc::new(state.clone())));
                self.interest.call();
            }
        }
        Ok(change)
    }
}

/// # Errors
///
/// 57014 where that takes longer than the limits allow.
fn changes_since(own: &Snapshot, query: &Query, state: &Snapshot, limits: &Limits) -> Result<Changes> {
    let relevant = query.relevant();
    let mut looked = 0_usize;
    Changes::between(own, state, &query.ranges, &mut |changed| {
        looked += 1;
        if looked.is_multiple_of(LOOKED_AT) {
            limits.check()?;
        }
        Ok(relevant.is_told(changed))
    })
}

fn begin_with_its_result(changes: &Changes, query: &Query) -> bool {
    changes.older.as_ref().is_some_and(|older| query.position <= older.position())
}

/// Whether nothing has changed for the query since it was in a state of its own; false where that is not found out in time.
fn is_unchanged(query: &Query, since: Since<'_>, state: &Snapshot, limits: &Limits) -> bool {
    let Since::Own(own) = since else { return false };
    let changes = changes_since(own, query, state, limits);
    changes.is_ok_and(|changes| begin_with_its_result(&changes, query) && changes.are_none())
}

/// Tells those who watch a query how it changed.
pub(super) fn tell(shown: &Shown, change: Weights, query: &Query, wakes: &mut Wakes) {
    if change.is_empty() {
        return;
    }
    let (change, mut together) = (Arc::new(change), Together::default());
    shown.subscribers.lock().retain(|subscriber| {
        let told = subscriber.change(&change, query.position, &mut together);
        if told == Some(true) {
            wakes.add(subscriber);
        }
        told.is_some()
    });
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    Error::new(SqlState::INTERNAL_ERROR, format!("the live query panicked: {text}"))
}
