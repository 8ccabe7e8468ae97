//! What takes long goes on in other threads, so that nobody else's change waits for it: one for what takes a while, in which
//! nothing stays for longer than [`WHILE`], and one for what takes longer than that. (With one for both, what was only unlucky in the
//! first thread waited for hours.)
//!
//! What must hold:
//! - A query that is handed over stays among those that are behind, and is nobody's but these threads', until it is given back: with
//!   the state that its result is of, from which the first thread goes on.
//! - In each of them the cheapest comes first, unless others have waited for long: see [`Turn`].
//! - Whoever ends the first thread ends these, and what they run.

use std::sync::Arc;
use std::time::Duration;

use cairn_storage::{Join, Snapshot};

use super::behind::Turn;
use super::service::Service;
use super::shown::Shown;
use super::steps::Since;
use super::subscriber::End;
use super::wakes::Wakes;
use crate::clock;
use crate::session::shared::Shared;
use crate::sync::{self, Condvar, Mutex, ThreadId};

/// What takes longer goes to the last thread.
const WHILE: Duration = Duration::from_millis(200);

/// The threads, by how long a query has there.
const LANES: [(&str, Option<Duration>); 2] = [("cairn-live-while", Some(WHILE)), ("cairn-live-long", None)];

/// See the module.
#[derive(Default)]
pub(super) struct Long([Lane; LANES.len()]);

#[derive(Default)]
struct Lane {
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<u64>,
    /// Once there is such a thread.
    join: Option<Join>,
    thread: Option<ThreadId>,
    is_over: bool,
}

impl Long {
    /// Whether this is one of the threads.
    pub(super) fn is_here(&self) -> bool {
        let this = Some(sync::this_thread());
        self.0.iter().any(|lane| lane.state.lock().thread == this)
    }

    /// The threads end when they have done what they do.
    pub(super) fn end(&self) {
        for lane in &self.0 {
            lane.state.lock().is_over = true;
            lane.called.notify_all();
        }
    }

    /// Waits for their ends.
    pub(super) fn join(&self) {
        for lane in &self.0 {
            let join = lane.state.lock().join.take();
            join.into_iter().for_each(|join| join());
        }
    }
}

impl Lane {
    /// Waits for the next; `None`: there will be none. `turn`: of a query that is there yet.
    fn next(&self, turn: impl Fn(u64) -> Option<Turn>) -> Option<u64> {
        let mut state = self.state.lock();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(at) = (0..state.waiting.len()).min_by_key(|at| turn(state.waiting[*at])) {
                return Some(state.waiting.swap_remove(at));
            }
            state = self.called.wait(state);
        }
    }
}

impl Service {
    /// Has another thread bring a query to a state of this position, or a later one. `own`: the state that its result is of.
    pub(super) fn hand_over(
        self: &Arc<Service>,
        shared: &Shared,
        shown: &Shown,
        wanted: u64,
        own: Option<Arc<Snapshot>>,
    ) {
        if self.queries.lock().hand_over(shown.id, wanted, own) {
            self.put_in_lane(usize::from(shown.expected() > WHILE), shared, shown);
        }
    }

    fn put_in_lane(self: &Arc<Service>, number: usize, shared: &Shared, shown: &Shown) {
        let lane = &self.long.0[number];
        let mut state = lane.state.lock();
        state.waiting.push(shown.id);
        if state.join.is_none() && !state.is_over {
            let service = self.clone();
            match shared.store.spawn(LANES[number].0, Box::new(move || service.work(number))) {
                Ok(join) => state.join = Some(join),
                Err(error) => {
                    drop(state);
                    return self.end(shown, &End::Failed(error.into()));
                }
            }
        }
        drop(state);
        lane.called.notify_one();
    }

    /// One of the threads.
    fn work(self: &Arc<Service>, number: usize) {
        let lane = &self.long.0[number];
        lane.state.lock().thread = Some(sync::this_thread());
        let turn = |id| self.queries.lock().by_id.get(&id).map(|shown| Turn::of(shown, clock::now()));
        while let Some(id) = lane.next(turn) {
            let Some(shared) = self.shared.upgrade() else { return };
            self.work_on(number, id, &shared);
        }
    }

    fn work_on(self: &Arc<Service>, number: usize, id: u64, shared: &Shared) {
        let Some((shown, own)) = self.queries.lock().handed_over(id) else { return };
        if self.bring_in_lane(number, (shared, &shown), own.as_deref()) {
            self.queries.lock().give_back(id);
            self.call();
        } else {
            self.put_in_lane(number + 1, shared, &shown);
        }
    }

    /// False: there was no time for it.
    fn bring_in_lane(
        self: &Arc<Service>,
        number: usize,
        (shared, shown): (&Shared, &Arc<Shown>),
        own: Option<&Snapshot>,
    ) -> bool {
        let mut wakes = Wakes::default();
        // Once it is closed, the first thread ends all.
        let Ok(state) = shared.store.durable_snapshot() else { return true };
        let query = shown.query.lock();
        if state.position() > query.position {
            let since = own.map_or(Since::Unknown, Since::Own);
            if !self.bring_in_time((shared, shown), query, (&state, since), LANES[number].1, &mut wakes) {
                return false;
            }
        }
        self.note_behind(shown.id, state.position(), Some(Arc::new(state)));
        true
    }
}

/// Tests are the threads.
#[cfg(test)]
impl Service {
    /// There are none.
    pub(super) fn has_no_lanes(&self) {
        self.long.0.iter().for_each(|lane| lane.state.lock().join = Some(Box::new(|| {})));
    }

    /// What the thread of this number would do next. False: nothing, or somebody else has the query.
    pub(super) fn work_once(self: &Arc<Service>, number: usize, shared: &Shared) -> bool {
        let is_free = |id: &u64| {
            let shown = self.queries.lock().by_id.get(id).cloned();
            shown.is_none_or(|shown| shown.query.try_lock().is_some())
        };
        let mut state = self.long.0[number].state.lock();
        let Some(at) = state.waiting.iter().position(is_free) else { return false };
        let id = state.waiting.swap_remove(at);
        drop(state);
        self.work_on(number, id, shared);
        true
    }
}
