//! Room in the log that is promised to commits, and the line of those who wait for it.
//!
//! A commit that goes in parts holds all of the log from its first part on: had it to wait for more of it half sent, everybody
//! might wait for what only it can let go of. So it is promised what it needs before it sends anything.
//!
//! What must hold:
//! - The segments that there may still be are never fewer than those promised: to who is about to send, and one to each
//!   transaction that has parts in the log and will send the rest with its commit. Nobody gets one beyond that.
//! - Who was promised segments waits for nobody who waits for some. (He gives them back before he waits for a turn, `turns.rs`:
//!   what is left of him is a record, for which a transaction with parts has its segment.)
//! - Who waits stands in line, and nobody passes the first but transactions that have parts in the log: what they hold, others wait
//!   for. Once who was promised much is done, those go first who need little and have waited for him: a small commit waits
//!   for one large one, however many follow.

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
}

#[derive(Debug)]
struct Keeper {
    number: u64,
    wanted: usize,
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

    /// Notes that a segment was taken.
    pub(super) fn take(&mut self, by: Taker) {
        if let Taker::Keeper(number) = by
            && let Some(keeper) = self.keepers.iter_mut().find(|keeper| keeper.number == number)
        {
            keeper.left = keeper.left.saturating_sub(1);
        }
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
        self.waiting.iter().min_by_key(|waiting| (rank(waiting), waiting.number)).map(|waiting| waiting.number)
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
}

impl Drop for KeptSegments<'_> {
    fn drop(&mut self) {
        self.segments.promises(|promises| promises.is_done(self.number));
    }
}

/// A place in the line of those who wait for segments.
#[derive(Debug)]
pub(crate) struct InLine<'s> {
    segments: &'s Segments,
    number: u64,
    has_parts: bool,
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
        if places.promises.first() != Some(self.number) {
            return Waited::ForOthers;
        }
        if left >= self.needed(&places.promises, wanted) {
            places.promises.promise(self.number, wanted);
            return Waited::Kept(KeptSegments { segments: self.segments, number: self.number });
        }
        match places.promises.keepers.is_empty() {
            true => Waited::First { left: left.saturating_sub(self.needed(&places.promises, wanted) - wanted) },
            false => Waited::ForOthers,
        }
    }

    /// With one for what comes behind, where there will be parts; who has parts was promised that before.
    fn needed(&self, promises: &Promises, wanted: usize) -> usize {
        promises.segments() + wanted + usize::from(!self.has_parts && wanted > LITTLE)
    }

    /// Waits until something has changed, or for this time.
    pub(crate) fn wait(&self, longest: Duration) {
        drop(self.segments.changed.wait_for(self.segments.lock_places(), longest));
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
        InLine { segments: self, number, has_parts }
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

    /// Whether somebody was promised segments, and is about to be done.
    pub(crate) fn has_keeper(&self) -> bool {
        !self.lock_places().promises.keepers.is_empty()
    }

    fn promises<R>(&self, change: impl FnOnce(&mut Promises) -> R) -> R {
        let changed = change(&mut self.lock_places().promises);
        self.changed.notify_all();
        changed
    }
}

/// What the guards above rest on.
pub(super) type PlacesGuard<'s> = MutexGuard<'s, super::segments::Places>;
