//! Ends snapshots that keep pages for too long, so that a stuck reader cannot make the file grow without bound.
//!
//! A snapshot's age counts from when it was first seen to be older than the newest version: before, it keeps nothing. It
//! is ended in two steps, argued in `page::slots`: it is marked, and once every reader that may have missed the mark
//! has let go of the pages it looked at, its version is no longer held.
//!
//! That is the log's duty, which stands still only while the log can not be written: then nothing is committed, and no snapshot
//! keeps more than before. (Who keeps house also makes segments and writes pages, for as long as a slow disk
//! takes, while commits go on.)
//!
//! Who does it may leave once none is outdated and none is marked: no other comes to be before the next commit, and that calls him.
//! (A version of the same content, which a checkpoint may publish, makes snapshots older and keeps no more pages.)

use std::time::Duration;

use crate::broken::{self, Broken};
use crate::engine::{Engine, Signal};

/// How often ages are looked at: so many times within the limit, within these bounds.
const LOOKS: u32 = 8;
const LOOK_AFTER_MIN: Duration = Duration::from_millis(1);
const LOOK_AFTER_MAX: Duration = Duration::from_secs(1);

/// What the one who ends snapshots remembers between looks.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// Outdated snapshots, by slot and version, and when each was first seen to be.
    outdated: Vec<(usize, u64, Duration)>,
    /// Marked ones, with the epoch that their readers' pins must not have begun in or before.
    marked: Vec<(usize, u64, u64)>,
    /// When it is looked next, by the host's clock.
    next: Duration,
}

impl Ending {
    /// How long to wait, who would wait for so long, until it is to be looked again.
    pub(super) fn wait(&mut self, engine: &Engine, longest: Option<Duration>) -> Option<Duration> {
        let Some(between) = engine.look_after() else { return longest };
        if longest.is_none() {
            engine.end_old_snapshots(self);
            if self.outdated.is_empty() && self.marked.is_empty() {
                return None;
            }
        }
        let left = self.next.saturating_sub(engine.env.host.now()).clamp(LOOK_AFTER_MIN, between);
        Some(longest.map_or(left, |longest| longest.min(left)))
    }

    /// Looks, if it is time to.
    pub(super) fn look(&mut self, engine: &Engine) {
        let Some(between) = engine.look_after() else { return };
        let now = engine.env.host.now();
        if now >= self.next {
            self.next = now + between;
            engine.end_old_snapshots(self);
        }
    }
}

impl Engine {
    /// When to look again; `None`: never.
    fn look_after(&self) -> Option<Duration> {
        let age = self.options.max_snapshot_age?;
        Some((age / LOOKS).clamp(LOOK_AFTER_MIN, LOOK_AFTER_MAX))
    }

    /// Marks the snapshots that are too old, and lets go of those that were marked before: what these kept can be freed.
    fn end_old_snapshots(&self, ending: &mut Ending) {
        let Some(age) = self.options.max_snapshot_age else { return };
        let (slots, now) = (&self.pages.slots, self.env.host.now());
        let newest = self.publisher.newest_number();
        let since = |at: usize, version: u64| {
            let known = ending.outdated.iter().find(|known| (known.0, known.1) == (at, version));
            known.map_or(now, |known| known.2)
        };
        let outdated: Vec<_> = slots
            .may_end()
            .filter(|&(_, version)| version < newest)
            .map(|(at, version)| (at, version, since(at, version)))
            .collect();
        let (old, young) = outdated.into_iter().partition(|&(_, _, since)| now.saturating_sub(since) >= age);
        ending.outdated = young;
        self.mark(old, ending);
        let (oldest, marked) = (slots.oldest_epoch(), ending.marked.len());
        ending.marked.retain(|&(at, version, epoch)| {
            let wait = epoch >= oldest && !broken::is(Broken::EndedUnpinned);
            if !wait {
                slots.let_go(at, version);
            }
            wait
        });
        if ending.marked.len() < marked {
            self.signals.raise(Signal::House);
        }
    }

    fn mark(&self, old: Vec<(usize, u64, Duration)>, ending: &mut Ending) {
        if old.is_empty() {
            return;
        }
        old.iter().for_each(|&(at, version, _)| self.pages.slots.end(at, version));
        self.counters.snapshots_ended.add(old.len() as u64);
        let epoch = self.pages.slots.next_epoch();
        ending.marked.extend(old.into_iter().map(|(at, version, _)| (at, version, epoch)));
    }
}
