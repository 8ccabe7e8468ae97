//! Room in the log that is promised to commits, and the line of those who wait for it.
//!
//! A commit that goes in parts holds all of the log from its first part on: had it to wait for more of it half sent, everybody
//! might wait for what only it can let go of. So it is promised what it needs before it sends anything.
//!
//! What must hold:
//! - The segments that there may still be are no fewer than those promised: to who is about to send, and one to each
//!   transaction that has parts in the log and will send the rest with its commit. Nobody else gets one of these.
//! - A promise lasts for what is left to send, and not for so many segments entered: others write into those, too. When no
//!   more is left than what is promised, they wait before they write.
//! - Who was promised segments waits for nobody who waits for some. (He gives them back before he waits for a turn, `turns.rs`:
//!   what is left of him is a record, for which a transaction with parts has its segment.)
//! - Who waits stands in line, and nobody passes the first but transactions that have parts in the log: what they hold, others wait
//!   for. Once who was promised much is done, those go first who need little and have waited for him: a small commit waits
//!   for one large one, however many follow.

use std::cell::Cell;
use std::time::Duration;

use super::segments::Segments;
use crate::broken::{self, Broken};
use crate::sync::MutexGuard;

/// Who is promised no more than this needs little.
const LITTLE: usize = 1;

/// Who enters a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taker {
    Anybody,
    /// Who was promised segments: the number of [`KeptSegments`].
    Keeper(u64),
    /// Who has parts in the log, and little left to send.
    Begun,
}

/// What is promised, and who waits.
#[derive(Debug, Default)]
pub(super) struct Promises {
    keepers: Vec<Keeper>,
    waiting: Vec<Waiting>,
    /// Transactions that have parts in the log, which stay.
    begun: usize,
    /// Of who comes next.
    number: u64,
    /// Who needs little and came before this number goes first: somebody who needed much is done since.
    little_before: u64,
    /// How often something changed for the better for who waits.
    changes: u64,
    /// How often one who needs much went before one who needs little and has waited for longer.
    passed: u64,
}

#[derive(Debug)]
struct Keeper {
    number: u64,
    wanted: usize,
    /// Segments that he may still need.
    left: usize,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u64,
    is_little: bool,
    has_parts: bool,
}

impl Promises {
    /// So many segments are for others than anybody.
    pub(super) fn segments(&self) -> usize {
        self.begun + self.keepers.iter().map(|keeper| keeper.left).sum::<usize>()
    }

    /// Whether nobody gets any of the segments that are `left` who was not promised it.
    pub(super) fn are_all(&self, left: usize) -> bool {
        let promised = self.segments();
        !self.waiting.is_empty() || promised > 0 && left <= promised
    }

    /// He needs no more than so many from now on.
    fn needs(&mut self, number: u64, segments: usize) {
        if let Some(keeper) = self.keepers.iter_mut().find(|keeper| keeper.number == number) {
            keeper.left = keeper.left.min(segments);
        }
    }

    /// Who waits is to look again.
    pub(super) fn note_change(&mut self) {
        self.changes += 1;
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Who is first in line.
    fn first(&self) -> Option<u64> {
        let rank = |waiting: &Waiting| match waiting {
            Waiting { has_parts: true, .. } => 0,
            Waiting { is_little: true, number, .. } if *number < self.little_before => 1,
            _ => 2,
        };
        if broken::is(Broken::LineReversed) {
            return self.waiting.last().map(|waiting| waiting.number);
        }
        self.waiting.iter().min_by_key(|waiting| (rank(waiting), waiting.number)).map(|waiting| waiting.number)
    }

    fn note_passed(&mut self, by: u64) {
        let is_passed = |waiting: &Waiting| waiting.is_little && waiting.number < by;
        self.passed += u64::from(self.waiting.iter().any(is_passed));
    }

    fn promise(&mut self, number: u64, wanted: usize) {
        let left = if broken::is(Broken::LogUnkept) { 0 } else { wanted };
        self.keepers.push(Keeper { number, wanted, left });
    }

    fn is_done(&mut self, number: u64) {
        if let Some(at) = self.keepers.iter().position(|keeper| keeper.number == number)
            && self.keepers.swap_remove(at).wanted > LITTLE
        {
            self.little_before = self.number + 1;
        }
    }
}

/// Segments that are promised to the holder.
#[derive(Debug)]
pub(crate) struct KeptSegments<'s> {
    segments: &'s Segments,
    number: u64,
}

impl KeptSegments<'_> {
    pub(crate) fn taker(&self) -> Taker {
        Taker::Keeper(self.number)
    }

    /// Some of what it was kept for is sent: no more than so many are needed for the rest.
    pub(crate) fn needs(&self, segments: usize) {
        self.segments.promises(|promises| promises.needs(self.number, segments));
    }
}

impl Drop for KeptSegments<'_> {
    fn drop(&mut self) {
        if !broken::is(Broken::PromiseKept) {
            self.segments.promises(|promises| promises.is_done(self.number));
        }
    }
}

/// A place in the line of those who wait for segments.
#[derive(Debug)]
pub(crate) struct InLine<'s> {
    segments: &'s Segments,
    number: u64,
    has_parts: bool,
    /// The changes that there had been when he looked.
    seen: Cell<u64>,
}

/// What has become of who waits.
#[derive(Debug)]
pub(crate) enum Waited<'s> {
    Kept(KeptSegments<'s>),
    /// It is others' turn, or others are about to be done.
    ForOthers,
    /// He is first, and nobody is about to be done: what there is beyond those `left`, checkpoints have to free.
    First {
        left: usize,
    },
}

impl<'s> InLine<'s> {
    /// Looks whether so many segments are to be had now.
    pub(crate) fn look(&self, wanted: usize) -> Waited<'s> {
        let mut places = self.segments.lock_places();
        let left = self.segments.left(&places);
        self.seen.set(places.promises.changes);
        if places.promises.first() != Some(self.number) {
            return Waited::ForOthers;
        }
        if left >= self.needed(&places.promises, wanted) {
            if wanted > LITTLE && !self.has_parts {
                places.promises.note_passed(self.number);
            }
            places.promises.promise(self.number, wanted + self.behind(wanted));
            return Waited::Kept(KeptSegments { segments: self.segments, number: self.number });
        }
        match places.promises.keepers.is_empty() {
            true => Waited::First { left: left.saturating_sub(self.needed(&places.promises, wanted) - wanted) },
            false => Waited::ForOthers,
        }
    }

    /// Is promised so many, be they to be had or not.
    pub(crate) fn keep(&self, wanted: usize) -> KeptSegments<'s> {
        self.segments.promises(|promises| promises.promise(self.number, wanted));
        KeptSegments { segments: self.segments, number: self.number }
    }

    fn needed(&self, promises: &Promises, wanted: usize) -> usize {
        promises.segments() + wanted + self.behind(wanted)
    }

    /// One for what comes behind, where there will be parts.
    fn behind(&self, wanted: usize) -> usize {
        usize::from(!self.has_parts && wanted > LITTLE)
    }

    /// Waits until something has changed since he looked, or for this time.
    pub(crate) fn wait(&self, longest: Duration) {
        let places = self.segments.lock_places();
        if places.promises.changes == self.seen.get() {
            drop(self.segments.changed.wait_for(places, longest));
        }
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.segments.promises(|promises| promises.waiting.retain(|waiting| waiting.number != self.number));
    }
}

impl Segments {
    /// Has the caller wait in line for so many segments, those of the log not yet there included.
    pub(crate) fn stand_in_line(&self, wanted: usize, has_parts: bool) -> InLine<'_> {
        let number = self.promises(|promises| {
            let number = promises.next_number();
            promises.waiting.push(Waiting { number, is_little: wanted <= LITTLE, has_parts });
            number
        });
        InLine { segments: self, number, has_parts, seen: Cell::new(0) }
    }

    /// The caller has parts in the log, and is about to commit with what he was promised when he sent them.
    pub(crate) fn keep_begun(&self) -> KeptSegments<'_> {
        let number = self.promises(|promises| {
            let number = promises.next_number();
            promises.promise(number, 0);
            number
        });
        KeptSegments { segments: self, number }
    }

    /// A transaction has parts in the log from now on, which stay.
    pub(crate) fn begin_parts(&self) {
        self.lock_places().promises.begun += 1;
    }

    /// Its parts are others' business no more.
    pub(crate) fn end_parts(&self) {
        self.promises(|promises| promises.begun -= 1);
    }

    /// Whether there is who was promised segments, and nobody else gets one.
    pub(crate) fn must_wait(&self) -> bool {
        let places = self.lock_places();
        let promises = &places.promises;
        !promises.waiting.is_empty() || !promises.keepers.is_empty() && promises.are_all(self.left(&places))
    }

    /// For `Store::passed_in_line`.
    #[cfg(feature = "broken-for-tests")]
    pub(crate) fn passed(&self) -> u64 {
        self.lock_places().promises.passed
    }

    /// Whether somebody waits for segments, or was promised some.
    pub(crate) fn is_waited_for(&self) -> bool {
        let places = self.lock_places();
        !places.promises.waiting.is_empty() || !places.promises.keepers.is_empty()
    }

    /// Whether somebody was promised segments, and is about to be done.
    pub(crate) fn has_keeper(&self) -> bool {
        !self.lock_places().promises.keepers.is_empty()
    }

    fn promises<R>(&self, change: impl FnOnce(&mut Promises) -> R) -> R {
        let mut places = self.lock_places();
        let changed = change(&mut places.promises);
        places.promises.note_change();
        drop(places);
        self.changed.notify_all();
        changed
    }
}

/// What the guards above rest on.
pub(super) type PlacesGuard<'s> = MutexGuard<'s, super::segments::Places>;
