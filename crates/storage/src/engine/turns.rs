//! A turn for who lost often.
//!
//! A transaction that reads much loses to those that write little, again and again. After [`LOSSES`] times it gets a turn: it
//! announces what its last try read, and reads on as it reads; until it is through, commits that would change any of that
//! wait.
//!
//! What must hold:
//! - It is announced under the commit lock, and the owner begins with a state that holds all that was appended before. So no
//!   commit beats it on what it announced at its start.
//! - There is one turn at a time, it lasts no longer than its time, and longer than that many times over there is none
//!   before the next: others keep most of the time, and nobody waits for ever.
//! - Who waits holds no lock, and the owner waits for nobody who waits for it.

use std::sync::Arc;
use std::time::Duration;

use super::announced::Announced;
use super::commit::WriterGuard;
use super::handle::Handle;
use super::ops::Ops;
use super::reads::{Bounds, Reads};
use super::shared::Engine;
use crate::broken::{self, Broken};
use crate::sync::{AtomicBool, Condvar, Mutex, Ordering};
use crate::{Error, Result, TreeId, Wait};

/// How often a transaction loses before it gets a turn.
const LOSSES: u32 = 8;
/// A turn is over after this and twice what the longest lost try took, and at the latest after [`LONGEST`].
const LEAST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);
/// How often who waits for a turn looks whether its caller has given up.
const LOOK: Duration = Duration::from_millis(10);
/// How many times as long as a turn took there is none after it.
const PAUSE: u32 = 8;

/// What tries that lost leave to the next one of the same work.
#[derive(Debug, Default)]
pub struct Losses {
    pub(crate) reads: Reads,
    times: u32,
    longest: Duration,
}

impl Losses {
    /// How often the work has lost.
    pub fn times(&self) -> u32 {
        self.times
    }

    /// One try more has lost, that had read this.
    pub(crate) fn note(&mut self, reads: Reads, took: Duration) {
        self.reads = reads;
        self.times += 1;
        self.longest = self.longest.max(took);
    }

    pub(crate) fn is_due(&self) -> bool {
        self.times >= LOSSES
    }
}

/// Says that the caller waits no longer. `None`: he waits.
pub(crate) type GivesUp<'g> = Option<&'g dyn Fn() -> bool>;

/// Who has a turn, and what they announced.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Whether there is a turn. Changed under the commit lock when it begins; what every commit looks at.
    taken: AtomicBool,
    state: Mutex<TurnState>,
    over: Condvar,
}

#[derive(Debug, Default)]
struct TurnState {
    /// Of the turn; each has another.
    number: u64,
    /// What its owner's tries read, and what it has read since.
    announced: Announced,
    began: Duration,
    until: Duration,
    /// No other turn before that.
    next: Duration,
}

impl TurnState {
    /// The turn is over, or its time is, which is longer ago then: the pause begins.
    fn end(&mut self, now: Duration) {
        let over = now.min(self.until);
        self.next = over + PAUSE * over.saturating_sub(self.began);
    }

    /// Until when a turn lasts.
    fn until_of(&self, number: u64) -> Duration {
        if self.number == number { self.until } else { Duration::ZERO }
    }
}

impl Turns {
    /// The turn that this record, about to be appended by somebody else, has to wait for. Under the commit lock.
    #[inline]
    pub(crate) fn before(&self, engine: &Engine, operations: &[u8]) -> Option<u64> {
        match self.taken.load(Ordering::Relaxed) {
            true => self.in_the_way(engine, |state| {
                let changes = |op: super::ops::Op<'_>| match op.key() {
                    Some(key) => state.announced.covers(op.tree(), key),
                    None => state.announced.has_any_of(op.tree()),
                };
                Ops::new(operations).filter_map(Result::ok).any(changes)
            }),
            false => None,
        }
    }

    /// As `before`, of whoever changes these trees, in places that are not looked at.
    pub(crate) fn before_trees(&self, engine: &Engine, mut trees: impl Iterator<Item = TreeId>) -> Option<u64> {
        match self.taken.load(Ordering::Relaxed) {
            true => self.in_the_way(engine, |state| trees.any(|tree| state.announced.has_any_of(tree))),
            false => None,
        }
    }

    #[cold]
    fn in_the_way(&self, engine: &Engine, mut hits: impl FnMut(&TurnState) -> bool) -> Option<u64> {
        if broken::is(Broken::TurnUnseen) {
            return None;
        }
        let state = self.state.lock();
        let is_hit = engine.env.host.now() < state.until && hits(&state);
        is_hit.then_some(state.number)
    }

    /// Waits until a turn is over; fails soon after the caller gives up. Not under the commit lock.
    pub(crate) fn wait_for(&self, engine: &Engine, number: u64, gives_up: GivesUp<'_>) -> Result<()> {
        loop {
            if gives_up.is_some_and(|gives_up| gives_up()) {
                return Err(Error::GivenUp);
            }
            let state = self.state.lock();
            let is_over = state.number != number || !self.taken.load(Ordering::Relaxed);
            let left = state.until.saturating_sub(engine.env.host.now());
            if is_over || left.is_zero() {
                return Ok(());
            }
            let left = if gives_up.is_some() { left.min(LOOK) } else { left };
            drop(Wait::Turn.during(|| self.over.wait_for(state, left)));
        }
    }

    /// Waits until nobody has a turn and the pause after the last is over, then takes it. `None`: others had it for too
    /// long, or the caller gave up.
    fn take(&self, engine: &Engine, lost: &Losses, gives_up: &dyn Fn() -> bool) -> Option<u64> {
        let now = || engine.env.host.now();
        let patience = now() + LONGEST;
        loop {
            // Under the commit lock, so that no commit is between its look at the turn and its record.
            let writer: WriterGuard<'_> = engine.lock_writer();
            let mut state = self.state.lock();
            let is_taken = self.taken.load(Ordering::Relaxed);
            let is_free = !is_taken || now() >= state.until;
            if is_taken && is_free {
                let now = now();
                state.end(now);
            }
            if is_free && now() >= state.next {
                state.number += 1;
                state.announced = Announced::of(lost.reads.to_sorted_ranges());
                state.began = now();
                state.until = now() + (LEAST + 2 * lost.longest).min(LONGEST);
                self.taken.store(true, Ordering::Relaxed);
                return Some(state.number);
            }
            drop(writer);
            if now() >= patience {
                return None;
            }
            let until = if is_free { state.next } else { state.until };
            let left = until.min(patience).saturating_sub(now()).clamp(Duration::from_micros(100), LOOK);
            drop(Wait::Turn.during(|| self.over.wait_for(state, left)));
            if gives_up() {
                return None;
            }
        }
    }

    /// What the owner reads beyond what it announced: commits wait for that too from now on.
    fn announce(&self, engine: &Engine, number: u64, tree: TreeId, range: Bounds<'_>) {
        let (lower, upper) = range;
        // Over: nobody waits for it any more, so nobody needs to know.
        if engine.env.host.now() >= self.state.lock().until_of(number) {
            return;
        }
        if let (std::ops::Bound::Included(key), true) = (lower, lower == upper)
            && self.state.lock().announced.covers(tree, key)
        {
            return;
        }
        let _writer: WriterGuard<'_> = engine.lock_writer();
        let mut state = self.state.lock();
        if state.number == number {
            state.announced.add(tree, range);
        }
    }

    fn end(&self, engine: &Engine, number: u64) {
        let mut state = self.state.lock();
        if state.number == number {
            let now = engine.env.host.now();
            state.end(now);
            self.taken.store(false, Ordering::Relaxed);
            if !broken::is(Broken::TurnKept) {
                self.over.notify_all();
            }
        }
    }
}

/// A transaction's turn; over when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    handle: Arc<Handle>,
    number: u64,
}

impl Turn {
    /// Takes a turn for what the lost tries read, and waits until the newest published state has all that was committed
    /// before. `None`: no turn was to be had in time.
    pub(crate) fn take(handle: &Arc<Handle>, lost: &Losses, gives_up: &dyn Fn() -> bool) -> Result<Option<Turn>> {
        let engine = handle.engine_here()?;
        let Some(number) = engine.turns.take(engine, lost, gives_up) else { return Ok(None) };
        let turn = Turn { handle: handle.clone(), number };
        engine.wait_for_all()?;
        engine.counters.turns.add(1);
        Ok(Some(turn))
    }

    pub(crate) fn announce(&self, tree: TreeId, range: Bounds<'_>) {
        let engine = self.handle.engine();
        engine.turns.announce(engine, self.number, tree, range);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Ok(engine) = self.handle.engine_here() {
            engine.turns.end(engine, self.number);
        }
    }
}
