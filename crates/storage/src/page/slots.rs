//! Who is reading what: a slot per session, snapshot or cursor.
//!
//! A slot names the *version* its owner reads (pages of that version are not reused) and, while it looks at pages, the
//! *epoch* in which it began (frames evicted since are not reused). Both are published by one locked operation and
//! need no other lock. Invariants:
//! - whoever scans the slots after publishing version V sees every reader of versions before V, or that reader's
//!   recheck sees V and it registers again (store, fence, recheck: Dekker's pattern; all accesses are SeqCst);
//! - whoever scans after clearing a table entry sees every reader that could have loaded the entry.
//!
//! A snapshot may be *ended* by force (`store::ending`): its pages are then reused although it lives. Who looks at pages
//! for a snapshot, through whichever slot, pins first and then looks whether the snapshot was ended; who ends it marks
//! it, ends the epoch, and lets go of its version once every pin began later. So either the reader sees the mark, or
//! the pages stay until its pin is gone: no byte is read of a page that was reused.

use std::cell::Cell;

use crate::broken::{self, Broken};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::{Error, Result};

/// No version, no epoch.
const NONE: u64 = 0;

/// What a slot is claimed for: 0: nothing.
const CLAIMED: u64 = 1;
/// For a snapshot that may be ended.
const MAY_END: u64 = 2;

#[derive(Debug)]
#[repr(align(128))]
struct Slot {
    claimed: AtomicU64,
    version: AtomicU64,
    epoch: AtomicU64,
    /// Pages found in memory, and look-ups of keys, by all owners so far. Only the owner adds.
    hits: AtomicU64,
    searches: AtomicU64,
    /// The version whose reading was ended here. A mark that comes too late, when the slot is another's, names a version
    /// that nobody registers with any more.
    ended: AtomicU64,
    /// As `ended`, once nobody looks at its pages any more: it is not held.
    gone: AtomicU64,
}

/// All slots of a store.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    /// No slot at or beyond this was ever claimed.
    used: AtomicUsize,
    /// Frames evicted in an epoch are free once every reader began in a later one. Begins at 1.
    epoch: AtomicU64,
    /// Slots looked at for their versions.
    #[cfg(test)]
    pub(crate) looks: AtomicUsize,
}

thread_local! {
    /// Where this thread found a free slot the last time.
    static HINT: Cell<usize> = const { Cell::new(0) };
}

impl Slots {
    pub(crate) fn new(count: usize) -> Slots {
        let zero = || AtomicU64::new(0);
        let slot = |_| Slot {
            claimed: zero(),
            version: zero(),
            epoch: zero(),
            hits: zero(),
            searches: zero(),
            ended: zero(),
            gone: zero(),
        };
        Slots {
            slots: (0..count).map(slot).collect(),
            used: AtomicUsize::new(0),
            epoch: AtomicU64::new(1),
            #[cfg(test)]
            looks: AtomicUsize::new(0),
        }
    }

    /// Claims a slot; give it back with [`Slots::release`].
    pub(crate) fn claim(&self) -> Result<SlotId> {
        self.claim_as(CLAIMED)
    }

    /// Claims a slot for a snapshot that may be ended by force.
    pub(crate) fn claim_to_end(&self) -> Result<SlotId> {
        self.claim_as(MAY_END)
    }

    fn claim_as(&self, kind: u64) -> Result<SlotId> {
        let start = HINT.get();
        for i in 0..self.slots.len() {
            let at = (start + i) % self.slots.len();
            let claimed = &self.slots[at].claimed;
            if claimed.load(Ordering::Relaxed) == 0
                && claimed.compare_exchange(0, kind, Ordering::SeqCst, Ordering::Relaxed).is_ok()
            {
                self.used.fetch_max(at + 1, Ordering::SeqCst);
                HINT.set(at);
                return Ok(SlotId { at, holder: at, version: NONE });
            }
        }
        Err(Error::TooManySnapshots { limit: self.slots.len() })
    }

    pub(crate) fn release(&self, id: SlotId) {
        let slot = &self.slots[id.at];
        slot.epoch.store(NONE, Ordering::Release);
        slot.version.store(NONE, Ordering::Release);
        slot.claimed.store(0, Ordering::Release);
        // Low slots first: whoever scans them scans up to the highest that was ever used.
        HINT.set(HINT.get().min(id.at));
    }

    /// Names the version that the slot's owner is about to read; the caller rechecks that it is still current.
    pub(crate) fn set_version(&self, id: SlotId, version: u64) {
        self.slots[id.at].version.store(version, Ordering::SeqCst);
    }

    pub(crate) fn clear_version(&self, id: SlotId) {
        self.slots[id.at].version.store(NONE, Ordering::Release);
    }

    /// Begins looking at pages; fails where the snapshot that they belong to was ended.
    #[inline]
    pub(crate) fn pin(&self, id: SlotId) -> Result<Pin<'_>> {
        let slot = &self.slots[id.at];
        // A swap is a full fence on every processor: the entries loaded after it are no older than the epoch.
        slot.epoch.swap(self.epoch.load(Ordering::SeqCst), Ordering::SeqCst);
        let pin = Pin { slot, hits: Cell::new(0), searches: Cell::new(0) };
        // After the fence: a mark that this does not see was set by one who sees the pin.
        match self.is_ended(id) && !broken::is(Broken::EndedUntold) {
            true => Err(Error::SnapshotTooOld),
            false => Ok(pin),
        }
    }

    /// How many pages were found in memory, and how many keys were looked up.
    pub(crate) fn hits_and_searches(&self) -> (u64, u64) {
        let used = &self.slots[..self.used.load(Ordering::SeqCst)];
        let sum =
            |counter: fn(&Slot) -> &AtomicU64| used.iter().map(|slot| counter(slot).load(Ordering::Relaxed)).sum();
        (sum(|slot| &slot.hits), sum(|slot| &slot.searches))
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

    /// How many slots [`Slots::versions`] looks at.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
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
        let used = self.used.load(Ordering::SeqCst);
        #[cfg(test)]
        self.looks.fetch_add(used, Ordering::Relaxed);
        for slot in &self.slots[..used] {
            let version = slot.version.load(Ordering::SeqCst);
            if version != NONE && wanted(slot, version) {
                into.push(version);
            }
        }
    }

    /// The snapshots that may be ended and were not, each by its slot's place and its version.
    pub(crate) fn may_end(&self) -> impl Iterator<Item = (usize, u64)> {
        let used = self.used.load(Ordering::SeqCst);
        self.slots[..used].iter().enumerate().filter_map(|(at, slot)| {
            let version = slot.version.load(Ordering::SeqCst);
            let may = slot.claimed.load(Ordering::SeqCst) == MAY_END && version != NONE;
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
        let used = self.used.load(Ordering::SeqCst);
        let epochs = self.slots[..used].iter().map(|slot| slot.epoch.load(Ordering::SeqCst));
        epochs.filter(|&epoch| epoch != NONE).min().unwrap_or(u64::MAX)
    }
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

impl SlotId {
    /// The slot, registered with a version itself.
    pub(crate) fn registered(self, version: u64) -> SlotId {
        SlotId { holder: self.at, version, ..self }
    }

    /// The slot, for looking at pages that are held in another way.
    pub(crate) fn following_nobody(self) -> SlotId {
        SlotId { holder: self.at, version: NONE, ..self }
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
