//! Who is reading what: a slot per running statement, held snapshot or cursor. Who does nothing has none.
//!
//! A slot names the *version* its owner reads (pages of that version are not reused) and, while it looks at pages, the
//! *epoch* in which it began (frames evicted since are not reused). Both are published by one locked operation and
//! need no other lock; naming the version is what claims the slot. Invariants:
//! - whoever scans the slots after publishing version V sees every reader of versions before V, or that reader's
//!   recheck sees V and it registers again (store, fence, recheck: Dekker's pattern; all accesses are SeqCst);
//! - whoever scans after clearing a table entry sees every reader that could have loaded the entry.
//!
//! Slots lie in three ranges, so that nobody waits for those who keep theirs: the engine's own (checkpoints, drops,
//! validation, backups; the first belongs to the holder of the commit lock), those of statements, of which each thread
//! has one at hand, and those of who holds something for long, as many as the options allow.
//!
//! A snapshot may be *ended* by force (`store::ending`): its pages are then reused although it lives. Who looks at pages
//! for a snapshot, through whichever slot, pins first and then looks whether the snapshot was ended; who ends it marks
//! it, ends the epoch, and lets go of its version once every pin began later. So either the reader sees the mark, or
//! the pages stay until its pin is gone: no byte is read of a page that was reused.

use std::cell::Cell;

use super::memory::{Lines, ZeroAtomic};
use crate::broken::{self, Broken};
use crate::process::Process;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::{Error, Result};

/// No version, no epoch.
const NONE: u64 = 0;

/// In place of a version: claimed for looking at pages whose version another slot names.
pub(crate) const PAGES_ONLY: u64 = u64::MAX;

/// Slots of the engine, and of statements. Beyond these they take those of who holds something.
const ENGINE: usize = if cfg!(cairn_loom) { 2 } else { 64 };
const STATEMENTS: usize = if cfg!(cairn_loom) { 2 } else { 64 };

/// Slots looked at per publication, on average, when many are in use.
const LOOK: usize = 32;

/// What a slot is claimed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Engine = 0,
    Statement = 1,
    Held = 2,
}

#[derive(Debug)]
#[repr(align(128))]
struct Slot {
    /// [`NONE`]: it is free.
    version: AtomicU64,
    epoch: AtomicU64,
    /// Pages found in memory, and look-ups of keys, by all owners so far. Only the owner adds.
    hits: AtomicU64,
    searches: AtomicU64,
    /// The thread that takes this one first for its statements.
    home: AtomicUsize,
    /// The version of a snapshot that may be ended.
    may_end: AtomicU64,
    /// The version whose reading was ended here. A mark that comes too late, when the slot is another's, names a version
    /// that nobody registers with any more.
    ended: AtomicU64,
    /// As `ended`, once nobody looks at its pages any more: it is not held.
    gone: AtomicU64,
}

impl ZeroAtomic for Slot {
    fn zero() -> Slot {
        let zero = || AtomicU64::new(0);
        Slot {
            version: zero(),
            epoch: zero(),
            hits: zero(),
            searches: zero(),
            home: AtomicUsize::new(0),
            may_end: zero(),
            ended: zero(),
            gone: zero(),
        }
    }
}

/// A part of the slots.
#[derive(Debug)]
struct Range {
    first: usize,
    end: usize,
    /// None of it at or beyond this was ever claimed.
    used: AtomicUsize,
}

/// In a line of its own: whoever looks at pages reads what would lie beside it.
#[derive(Debug)]
#[repr(align(128))]
struct Alone(AtomicUsize);

/// All slots of a store.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Lines<Slot>,
    /// By [`Owner`].
    ranges: [Range; 3],
    /// Where one may be free for who holds something. Low ones are taken first, whoever let go of them: who looks at all looks
    /// up to the highest that was ever used.
    hint: Alone,
    /// Frames evicted in an epoch are free once every reader began in a later one. Begins at 1.
    epoch: AtomicU64,
    /// Where they are looked at.
    pub(crate) process: Process,
    /// Slots looked at for their versions.
    #[cfg(test)]
    pub(crate) looks: AtomicUsize,
}

thread_local! {
    /// This thread's slot for statements, in the store where it claimed one the last time. Its address tells threads apart.
    static HOME: Cell<usize> = const { Cell::new(0) };
}

impl Slots {
    /// `count`: for those who hold something. `None`: there is no memory for them.
    pub(crate) fn new(count: usize) -> Option<Slots> {
        let range = |first, length| Range { first, end: first + length, used: AtomicUsize::new(first) };
        let ranges = [range(0, ENGINE), range(ENGINE, STATEMENTS), range(ENGINE + STATEMENTS, count)];
        ranges[0].used.store(COMMIT.at + 1, Ordering::Relaxed);
        Some(Slots {
            slots: Lines::zeroed(ENGINE + STATEMENTS + count)?,
            ranges,
            hint: Alone(AtomicUsize::new(ENGINE + STATEMENTS)),
            epoch: AtomicU64::new(1),
            process: Process::current(),
            #[cfg(test)]
            looks: AtomicUsize::new(0),
        })
    }

    /// What so many take.
    pub(crate) fn bytes(count: usize) -> usize {
        count.saturating_mul(size_of::<Slot>())
    }

    /// Claims a slot, and names the version that its owner is about to read (he rechecks that it is still current), or
    /// [`PAGES_ONLY`]. Give it back with [`Slots::release`].
    #[inline]
    pub(crate) fn claim(&self, owner: Owner, version: u64) -> Result<SlotId> {
        if owner == Owner::Statement {
            let at = HOME.get();
            if let Some(slot) = self.slots.get(at)
                && slot.home.load(Ordering::Relaxed) == this_thread()
                && self.try_claim(at, version)
            {
                return Ok(SlotId::new(at));
            }
        }
        self.claim_any(owner, version)
    }

    #[inline]
    fn try_claim(&self, at: usize, version: u64) -> bool {
        self.slots[at].version.compare_exchange(NONE, version, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn claim_any(&self, owner: Owner, version: u64) -> Result<SlotId> {
        let first = match owner {
            Owner::Engine if broken::is(Broken::EngineWithoutSlots) => None,
            Owner::Engine => self.claim_in(Owner::Engine, COMMIT.at + 1, version, |_| true),
            Owner::Statement => self.claim_home(version),
            Owner::Held => None,
        };
        let held = || {
            let hint = self.hint.0.load(Ordering::Relaxed);
            self.claim_in(Owner::Held, hint, version, |_| true).inspect(|&at| {
                // Who let go of a lower one meanwhile is right.
                let _ = self.hint.0.compare_exchange(hint, at + 1, Ordering::Relaxed, Ordering::Relaxed);
            })
        };
        let Range { first: start, end, .. } = &self.ranges[Owner::Held as usize];
        first.or_else(held).map(SlotId::new).ok_or_else(|| Error::TooManySnapshots { limit: end - start })
    }

    /// A slot that this thread takes first from now on: one that no other thread does so, or any.
    fn claim_home(&self, version: u64) -> Option<usize> {
        let thread = this_thread();
        let is_ours = |slot: &Slot| [0, thread].contains(&slot.home.load(Ordering::Relaxed));
        let at = self
            .claim_in(Owner::Statement, 0, version, is_ours)
            .or_else(|| self.claim_in(Owner::Statement, 0, version, |_| true))?;
        self.slots[at].home.store(thread, Ordering::Relaxed);
        HOME.set(at);
        Some(at)
    }

    /// Claims the first free one of the owner's slots from `start` on, and round.
    fn claim_in(&self, owner: Owner, start: usize, version: u64, wanted: impl Fn(&Slot) -> bool) -> Option<usize> {
        let Range { first, end, used } = &self.ranges[owner as usize];
        let start = start.clamp(*first, *end);
        let skipped = if owner == Owner::Engine { COMMIT.at + 1 } else { *first };
        let found = (start..*end).chain(skipped..start).find(|&at| {
            let slot = &self.slots[at];
            slot.version.load(Ordering::Relaxed) == NONE && wanted(slot) && self.try_claim(at, version)
        })?;
        used.fetch_max(found + 1, Ordering::SeqCst);
        Some(found)
    }

    /// The slots that were ever claimed, and where they are.
    fn used_slots(&self) -> impl Iterator<Item = (usize, &Slot)> {
        self.ranges.iter().flat_map(|range| {
            let used = range.used.load(Ordering::SeqCst);
            (range.first..used).zip(&self.slots[range.first..used])
        })
    }

    #[inline]
    pub(crate) fn release(&self, id: SlotId) {
        self.slots[id.at].version.store(NONE, Ordering::Release);
        if id.at >= self.ranges[Owner::Held as usize].first {
            self.hint.0.fetch_min(id.at, Ordering::Relaxed);
        }
    }

    /// Claims a slot as a reader of the newest published version, which `newest` returns with its number, and returns it.
    #[inline]
    pub(crate) fn enter<V: PartialEq>(&self, owner: Owner, newest: impl Fn() -> (V, u64)) -> Result<(SlotId, V)> {
        let mut named = newest();
        let id = self.claim(owner, named.1)?;
        loop {
            let again = newest();
            if broken::is(Broken::NoRecheck) || again == named {
                return Ok((id, named.0));
            }
            named = again;
            self.slots[id.at].version.store(named.1, Ordering::SeqCst);
        }
    }

    /// Registers the slot with another version instead, which is the newest and stays so meanwhile.
    pub(crate) fn move_on(&self, id: SlotId, version: u64) -> SlotId {
        self.slots[id.at].version.store(version, Ordering::SeqCst);
        self.set_may_end(id, Some(version));
        id.registered(version)
    }

    /// Lets the snapshot that registered with this version be ended by force, or no longer: not the slot's next owner.
    pub(crate) fn set_may_end(&self, id: SlotId, version: Option<u64>) {
        self.slots[id.at].may_end.store(version.unwrap_or(NONE), Ordering::Release);
    }

    /// Begins looking at pages; fails where the snapshot that they belong to was ended, and in a child of the process.
    #[inline]
    pub(crate) fn pin(&self, id: SlotId) -> Result<Pin<'_>> {
        self.process.check()?;
        let slot = &self.slots[id.at];
        // A swap is a full fence on every processor: the entries loaded after it are no older than the epoch.
        let fence = if broken::is(Broken::PinUnfenced) { Ordering::Release } else { Ordering::SeqCst };
        slot.epoch.swap(self.epoch.load(Ordering::SeqCst), fence);
        let pin = Pin { slot, hits: Cell::new(0), searches: Cell::new(0) };
        // After the fence: a mark that this does not see was set by one who sees the pin.
        match self.is_ended(id) && !broken::is(Broken::EndedUntold) {
            true => Err(Error::SnapshotTooOld),
            false => Ok(pin),
        }
    }

    /// How many pages were found in memory, and how many keys were looked up.
    pub(crate) fn hits_and_searches(&self) -> (u64, u64) {
        let add = |(hits, searches), (_, slot): (usize, &Slot)| {
            (hits + slot.hits.load(Ordering::Relaxed), searches + slot.searches.load(Ordering::Relaxed))
        };
        self.used_slots().fold((0, 0), add)
    }

    /// Whether the snapshot that the slot looks at pages for was ended.
    #[inline]
    pub(crate) fn is_ended(&self, id: SlotId) -> bool {
        id.version != NONE && self.slots[id.holder].ended.load(Ordering::SeqCst) == id.version
    }

    /// What a failure means: a page that is not what was expected is no damage if its snapshot was ended.
    pub(crate) fn explain(&self, id: SlotId, error: Error) -> Error {
        if self.is_ended(id) { Error::SnapshotTooOld } else { error }
    }

    /// Whether to look at all of them after so many publications: not for each where many are in use.
    pub(crate) fn are_looked_at_after(&self, publications: usize) -> bool {
        publications * LOOK >= self.used()
    }

    /// How many slots [`Slots::versions`] looks at.
    fn used(&self) -> usize {
        self.ranges.iter().map(|range| range.used.load(Ordering::Relaxed) - range.first).sum()
    }

    /// Collects the versions being read whose pages must stay, in no order.
    pub(crate) fn versions(&self, into: &mut Vec<u64>) {
        self.collect(into, |slot, version| slot.gone.load(Ordering::SeqCst) != version);
    }

    /// Collects the versions that slots name, ended ones included, in no order.
    pub(crate) fn named_versions(&self, into: &mut Vec<u64>) {
        self.collect(into, |_, _| true);
    }

    fn collect(&self, into: &mut Vec<u64>, wanted: impl Fn(&Slot, u64) -> bool) {
        #[cfg(test)]
        self.looks.fetch_add(self.used(), Ordering::Relaxed);
        for range in &self.ranges {
            for slot in &self.slots[range.first..range.used.load(Ordering::SeqCst)] {
                let version = slot.version.load(Ordering::SeqCst);
                if version != NONE && version != PAGES_ONLY && wanted(slot, version) {
                    into.push(version);
                }
            }
        }
    }

    /// The snapshots that may be ended and were not, each by its slot's place and its version.
    pub(crate) fn may_end(&self) -> impl Iterator<Item = (usize, u64)> {
        self.used_slots().filter_map(|(at, slot)| {
            let version = slot.version.load(Ordering::SeqCst);
            let may = version != NONE && slot.may_end.load(Ordering::SeqCst) == version;
            (may && slot.ended.load(Ordering::SeqCst) != version).then_some((at, version))
        })
    }

    /// Marks a snapshot as ended. No reader may register with the version any more: it is not the newest.
    pub(crate) fn end(&self, at: usize, version: u64) {
        self.slots[at].ended.store(version, Ordering::SeqCst);
    }

    /// Nobody looks at the pages of a snapshot that was ended: they need not stay.
    pub(crate) fn let_go(&self, at: usize, version: u64) {
        self.slots[at].gone.store(version, Ordering::SeqCst);
    }

    /// Ends the current epoch and returns it: to be called after the entries were cleared.
    pub(crate) fn next_epoch(&self) -> u64 {
        self.epoch.fetch_add(1, Ordering::SeqCst)
    }

    /// The oldest epoch that somebody still looks at pages in.
    pub(crate) fn oldest_epoch(&self) -> u64 {
        let epochs = self.used_slots().map(|(_, slot)| slot.epoch.load(Ordering::SeqCst));
        epochs.filter(|&epoch| epoch != NONE).min().unwrap_or(u64::MAX)
    }
}

/// Tells the calling thread from others that live.
#[inline]
fn this_thread() -> usize {
    HOME.with(|home| std::ptr::from_ref(home).addr())
}

/// A claimed slot, and for which snapshot its owner looks at pages through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotId {
    at: usize,
    /// The slot registered with the version; often the same.
    holder: usize,
    /// [`NONE`]: for no snapshot that might be ended.
    version: u64,
}

/// The slot through which the holder of the commit lock looks at pages.
pub(crate) const COMMIT: SlotId = SlotId::new(0);

impl SlotId {
    /// For no snapshot.
    const fn new(at: usize) -> SlotId {
        SlotId { at, holder: at, version: NONE }
    }

    /// The slot, registered with a version itself.
    pub(crate) fn registered(self, version: u64) -> SlotId {
        SlotId { holder: self.at, version, ..self }
    }

    /// The slot, for looking at the pages of the version that another one is registered with.
    pub(crate) fn following(self, holder: SlotId) -> SlotId {
        SlotId { at: self.at, ..holder }
    }
}

/// While it lives, no frame that its owner can find through the table is reused.
///
/// It counts what its owner does and adds it to the slot at its end: the counters lie beside the epoch, in a line that
/// nobody else writes.
#[derive(Debug)]
pub(crate) struct Pin<'a> {
    slot: &'a Slot,
    hits: Cell<u64>,
    searches: Cell<u64>,
}

impl Pin<'_> {
    #[inline]
    pub(crate) fn count_hits(&self, pages: u64) {
        self.hits.set(self.hits.get() + pages);
    }

    #[inline]
    pub(crate) fn count_search(&self) {
        self.searches.set(self.searches.get() + 1);
    }
}

/// Only the slot's owner adds, so it needs no locked operation.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        add(&self.slot.hits, self.hits.get());
        add(&self.slot.searches, self.searches.get());
        self.slot.epoch.store(NONE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_takes_its_slot_again_and_others_have_their_own() {
        let slots = Slots::new(4).unwrap();
        let at = || {
            let id = slots.claim(Owner::Statement, PAGES_ONLY).unwrap();
            slots.release(id);
            id.at
        };
        let here = at();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let other = at();
                assert_eq!(other, at());
                other
            });
            assert_ne!(other.join().unwrap(), here);
        });
        assert_eq!(at(), here);
    }

    /// Whoever holds things for a moment that others let go of would use all of them, and have all looked at for ever.
    #[test]
    fn what_another_thread_let_go_of_is_taken_again_first() {
        let slots = Slots::new(100).unwrap();
        let before = slots.used();
        std::thread::scope(|scope| {
            let (send, taken) = std::sync::mpsc::sync_channel(0);
            let slots = &slots;
            scope.spawn(move || taken.iter().for_each(|id| slots.release(id)));
            (0..50).for_each(|_| send.send(slots.claim(Owner::Held, 7).unwrap()).unwrap());
        });
        assert!(slots.used() <= before + 3, "{} used", slots.used());
    }

    #[test]
    fn each_owner_has_slots_that_others_can_not_take() {
        let slots = Slots::new(4).unwrap();
        let all = |owner| std::iter::from_fn(|| slots.claim(owner, 7).ok()).collect::<Vec<_>>();
        let held = all(Owner::Held);
        assert_eq!(held.len(), 4);
        let statements = all(Owner::Statement);
        assert_eq!(statements.len(), STATEMENTS);
        assert_eq!(all(Owner::Engine).len(), ENGINE - 1);
        slots.pin(COMMIT).unwrap();
        held.into_iter().for_each(|id| slots.release(id));
        // Who finds none of his own takes one of those.
        assert_eq!(all(Owner::Statement).len(), 4);
        let mut versions = Vec::new();
        slots.versions(&mut versions);
        assert_eq!(versions, vec![7; 4 + STATEMENTS + ENGINE - 1]);
    }
}
