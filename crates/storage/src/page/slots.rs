//! Who is reading what: a slot per session, snapshot or cursor.
//!
//! A slot names the *version* its owner reads (pages of that version are not reused) and, while it looks at pages, the
//! *epoch* in which it began (frames evicted since are not reused). Both are published by one locked operation and
//! need no other lock. Invariants:
//! - whoever scans the slots after publishing version V sees every reader of versions before V, or that reader's
//!   recheck sees V and it registers again (store, fence, recheck: Dekker's pattern; all accesses are SeqCst);
//! - whoever scans after clearing a table entry sees every reader that could have loaded the entry.

use std::cell::Cell;

use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::{Error, Result};

/// No version, no epoch.
const NONE: u64 = 0;

#[derive(Debug)]
#[repr(align(128))]
struct Slot {
    claimed: AtomicU64,
    version: AtomicU64,
    epoch: AtomicU64,
    /// Pages found in memory, and look-ups of keys, by all owners so far. Only the owner adds.
    hits: AtomicU64,
    searches: AtomicU64,
}

/// All slots of a store.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    /// No slot at or beyond this was ever claimed.
    used: AtomicUsize,
    /// Frames evicted in an epoch are free once every reader began in a later one. Begins at 1.
    epoch: AtomicU64,
}

thread_local! {
    /// Where this thread found a free slot the last time.
    static HINT: Cell<usize> = const { Cell::new(0) };
}

impl Slots {
    pub(crate) fn new(count: usize) -> Slots {
        let zero = || AtomicU64::new(0);
        let slot = |_| Slot { claimed: zero(), version: zero(), epoch: zero(), hits: zero(), searches: zero() };
        Slots { slots: (0..count).map(slot).collect(), used: AtomicUsize::new(0), epoch: AtomicU64::new(1) }
    }

    /// Claims a slot; give it back with [`Slots::release`].
    pub(crate) fn claim(&self) -> Result<SlotId> {
        let start = HINT.get();
        for i in 0..self.slots.len() {
            let at = (start + i) % self.slots.len();
            let claimed = &self.slots[at].claimed;
            if claimed.load(Ordering::Relaxed) == 0
                && claimed.compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed).is_ok()
            {
                self.used.fetch_max(at + 1, Ordering::SeqCst);
                HINT.set(at);
                return Ok(SlotId(at));
            }
        }
        Err(Error::TooManySnapshots { limit: self.slots.len() })
    }

    pub(crate) fn release(&self, id: SlotId) {
        let slot = &self.slots[id.0];
        slot.epoch.store(NONE, Ordering::Release);
        slot.version.store(NONE, Ordering::Release);
        slot.claimed.store(0, Ordering::Release);
        // Low slots first: whoever scans them scans up to the highest that was ever used.
        HINT.set(HINT.get().min(id.0));
    }

    /// Names the version that the slot's owner is about to read; the caller rechecks that it is still current.
    pub(crate) fn set_version(&self, id: SlotId, version: u64) {
        self.slots[id.0].version.store(version, Ordering::SeqCst);
    }

    pub(crate) fn clear_version(&self, id: SlotId) {
        self.slots[id.0].version.store(NONE, Ordering::Release);
    }

    /// Begins looking at pages.
    pub(crate) fn pin(&self, id: SlotId) -> Pin<'_> {
        let slot = &self.slots[id.0];
        // A swap is a full fence on every processor: the entries loaded after it are no older than the epoch.
        slot.epoch.swap(self.epoch.load(Ordering::SeqCst), Ordering::SeqCst);
        Pin { slot, hits: Cell::new(0), searches: Cell::new(0) }
    }

    /// How many pages were found in memory, and how many keys were looked up.
    pub(crate) fn hits_and_searches(&self) -> (u64, u64) {
        let used = &self.slots[..self.used.load(Ordering::SeqCst)];
        let sum =
            |counter: fn(&Slot) -> &AtomicU64| used.iter().map(|slot| counter(slot).load(Ordering::Relaxed)).sum();
        (sum(|slot| &slot.hits), sum(|slot| &slot.searches))
    }

    /// Collects the versions being read, in no order.
    pub(crate) fn versions(&self, into: &mut Vec<u64>) {
        let used = self.used.load(Ordering::SeqCst);
        for slot in &self.slots[..used] {
            let version = slot.version.load(Ordering::SeqCst);
            if version != NONE {
                into.push(version);
            }
        }
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

/// A claimed slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotId(usize);

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
