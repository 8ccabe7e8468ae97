//! The live queries that there are, and those of them that are not in the state that the thread looked at last.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use cairn_storage::Snapshot;

use super::shown::{Identity, Shown};
use crate::clock;
use crate::columns::QuickHashes;

/// So many states are held for queries that are behind; for more of them what changed is found out by running them.
const OWN_STATES: usize = 64;

/// Whoever waits for longer than this is not passed by any more.
const PATIENCE: Duration = Duration::from_millis(100);

/// When a query comes: whoever waited longest of those that waited for long, then the cheapest. (Where the cheapest always comes
/// first, and commits never end, others never come.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    Waited(Instant, u64),
    Costs(Duration, u64),
}

impl Turn {
    pub(super) fn of(shown: &Shown, now: Instant) -> Turn {
        match shown.waits_since().filter(|since| now.saturating_duration_since(*since) > PATIENCE) {
            Some(since) => Turn::Waited(since, shown.id),
            None => Turn::Costs(shown.expected(), shown.id),
        }
    }

    fn id(self) -> u64 {
        let (Turn::Waited(_, id) | Turn::Costs(_, id)) = self;
        id
    }
}

#[derive(Default)]
pub(super) struct Queries {
    pub(super) by_id: HashMap<u64, Arc<Shown>, QuickHashes>,
    pub(super) by_identity: HashMap<Identity, u64>,
    behind: BTreeMap<u64, Behind>,
    /// The states that these hold.
    own_states: Vec<Weak<Snapshot>>,
    /// The thread is gone, or about to be: begin another.
    pub(super) is_over: bool,
}

/// A query that has to be brought to a newer state though no step tells it what changed: it was busy, or had not said yet that
/// it looks at it, or is in a state that the thread has not looked at, or there was no time for it. (What changed before that and is
/// undone after it is no difference between the thread's two states.)
#[derive(Default)]
pub(super) struct Behind {
    /// The state's position, at least.
    pub(super) wanted: u64,
    /// The state that its result is of, where it is at hand.
    pub(super) own: Option<Arc<Snapshot>>,
    /// Another thread has it, or will: see `long`.
    is_handed_over: bool,
}

impl Queries {
    pub(super) fn is_behind(&self, id: u64) -> bool {
        self.behind.contains_key(&id)
    }

    /// Notes that a query is behind; `own`: the state that its result is of.
    pub(super) fn note_behind(&mut self, id: u64, wanted: u64, own: Option<Arc<Snapshot>>) {
        let Some(shown) = self.by_id.get(&id) else { return };
        shown.wait();
        let own = own.and_then(|own| self.share(own));
        let known = self.behind.entry(id).or_default();
        known.wanted = wanted.max(known.wanted);
        // The last of them: it is used only for a result that is of this state.
        known.own = own.or(known.own.take());
    }

    /// Notes that a query is behind for which there was no time, and which was of the state `own`: unless it is behind already, and was
    /// not.
    pub(super) fn leave_behind(&mut self, id: u64, wanted: u64, own: Option<Arc<Snapshot>>) {
        let own = own.filter(|_| !self.is_behind(id));
        self.note_behind(id, wanted, own);
    }

    /// The state as others have it, or itself where there is room for one more.
    fn share(&mut self, own: Arc<Snapshot>) -> Option<Arc<Snapshot>> {
        let known = self.own_states.iter().rev().find_map(|state| {
            let state = state.upgrade()?;
            (state.position() == own.position()).then_some(state)
        });
        if known.is_some() {
            return known;
        }
        self.own_states.retain(|state| state.strong_count() > 0);
        (self.own_states.len() < OWN_STATES).then(|| {
            self.own_states.push(Arc::downgrade(&own));
            own
        })
    }

    /// As `note_behind`, for another thread; false: one has the query already.
    pub(super) fn hand_over(&mut self, id: u64, wanted: u64, own: Option<Arc<Snapshot>>) -> bool {
        self.note_behind(id, wanted, own);
        let known = self.behind.get_mut(&id);
        known.is_some_and(|known| !std::mem::replace(&mut known.is_handed_over, true))
    }

    /// What another thread is to bring to a newer state.
    pub(super) fn handed_over(&self, id: u64) -> Option<(Arc<Shown>, Option<Arc<Snapshot>>)> {
        let own = self.behind.get(&id).filter(|known| known.is_handed_over)?.own.clone();
        Some((self.by_id.get(&id)?.clone(), own))
    }

    /// That is done with it.
    pub(super) fn give_back(&mut self, id: u64) {
        if let Some(known) = self.behind.get_mut(&id) {
            known.is_handed_over = false;
        }
    }

    /// Those that this thread is to look at, in their turn.
    pub(super) fn due(&self) -> Vec<u64> {
        let own = self.behind.iter().filter(|(_, behind)| !behind.is_handed_over);
        let now = clock::now();
        let mut due: Vec<Turn> = own.filter_map(|(id, _)| Some(Turn::of(self.by_id.get(id)?, now))).collect();
        due.sort_unstable();
        due.into_iter().map(Turn::id).collect()
    }

    /// One of these, which is not behind any more.
    pub(super) fn take_due(&mut self, id: u64) -> Option<Behind> {
        self.behind.get(&id).filter(|behind| !behind.is_handed_over)?;
        self.behind.remove(&id)
    }

    pub(super) fn forget(&mut self, shown: &Shown) {
        self.by_id.remove(&shown.id);
        self.behind.remove(&shown.id);
        if let Some(identity) = &shown.identity
            && self.by_identity.get(identity) == Some(&shown.id)
        {
            self.by_identity.remove(identity);
        }
    }
}
