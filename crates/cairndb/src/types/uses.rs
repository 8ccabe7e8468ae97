//! How often tables are read whole, and indexes asked, since the database was opened: for `pg_stat_user_tables` and its kin.
//!
//! - Who counts shares nothing with others. A session has slots that it alone writes, by loads and stores ([`SessionUses`], of point
//!   statements); an execution adds up what its operators tell, and hands it over once, when it is over ([`ExecutionUses`]).
//! - Nothing that was counted is lost: what a session's slots had goes to the totals of its shard when it ends, and when a slot gives way to
//!   another relation, under the lock under which slots and totals are read together.
//! - What is the session's own (temporary tables) is not counted: its number means another thing elsewhere.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::ObjectId;
use crate::sync::Mutex;

/// Shards of the totals: sessions that end executions at the same time mostly meet none.
const SHARDS: usize = 16;
/// Relations that a session counts at once.
const SLOTS: usize = 32;
/// Slots behind a relation's own that are looked at for it.
const NEAR: usize = 8;

/// The number of a relation that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Used(u32);

impl Used {
    /// No relation has these: a slot that is free, and what is counted for nobody.
    const FREE: Used = Used(u32::MAX);
    const NOBODY: Used = Used(u32::MAX - 1);

    pub(crate) fn of(id: Option<ObjectId>) -> Used {
        id.filter(|id| !id.is_temporary()).map_or(Used::NOBODY, |id| Used(id.0))
    }
}

/// How often a relation was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// Of an index, how often it was asked; of a table, how often it was read without one.
    pub(crate) scans: u64,
    /// Entries of the index, or rows of the table, that this went through.
    pub(crate) read: u64,
    /// Rows of the table that were looked at by the index's entries.
    pub(crate) fetched: u64,
}

impl AddAssign for Uses {
    fn add_assign(&mut self, more: Uses) {
        self.scans += more.scans;
        self.read += more.read;
        self.fetched += more.fetched;
    }
}

/// The uses of a point statement, in one word: of each kind fewer than a million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FewUses(u64);

impl FewUses {
    /// A key that is not there.
    pub(crate) const NOTHING: FewUses = FewUses(1);
    /// An entry.
    pub(crate) const ENTRY: FewUses = FewUses(1 << 20);
    /// The row of an entry.
    pub(crate) const FETCHED: FewUses = FewUses(1 << 40);
    /// A key, and its row.
    pub(crate) const ROW: FewUses = FewUses(1 | 1 << 20 | 1 << 40);

    #[inline]
    pub(crate) fn add(&mut self, more: FewUses) {
        self.0 += more.0;
    }

    /// So many times the same.
    pub(crate) fn times(self, count: usize) -> FewUses {
        FewUses(self.0 * count as u64)
    }

    fn all(self) -> Uses {
        let part = |at: u32| (self.0 >> at) & 0xf_ffff;
        Uses { scans: part(0), read: part(20), fetched: part(40) }
    }
}

/// What a database counts.
#[derive(Debug)]
pub(crate) struct UseCounts {
    shards: [Arc<UseShard>; SHARDS],
    /// Where the next session counts.
    next: AtomicUsize,
}

/// What some of the sessions have counted.
#[derive(Debug, Default)]
pub(crate) struct UseShard(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    totals: HashMap<Used, Uses>,
    /// The slots of sessions that are there.
    sessions: Vec<Arc<Slots>>,
}

/// A session's: it alone writes them.
#[derive(Debug)]
struct Slots([Slot; SLOTS]);

#[derive(Debug)]
struct Slot {
    relation: AtomicU32,
    /// Keys whose row was found: mostly there is nothing else to count.
    rows: AtomicU64,
    scans: AtomicU64,
    read: AtomicU64,
    fetched: AtomicU64,
}

/// Adds, where nobody else does.
#[inline]
fn bump(count: &AtomicU64, by: u64) {
    count.store(count.load(Relaxed) + by, Relaxed);
}

impl Slot {
    const fn free() -> Slot {
        Slot {
            relation: AtomicU32::new(Used::FREE.0),
            rows: AtomicU64::new(0),
            scans: AtomicU64::new(0),
            read: AtomicU64::new(0),
            fetched: AtomicU64::new(0),
        }
    }

    #[inline]
    fn is_of(&self, relation: Used) -> bool {
        self.relation.load(Relaxed) == relation.0
    }

    fn add(&self, uses: FewUses) {
        if uses == FewUses::ROW {
            return bump(&self.rows, 1);
        }
        let Uses { scans, read, fetched } = uses.all();
        bump(&self.scans, scans);
        bump(&self.read, read);
        bump(&self.fetched, fetched);
    }

    fn counted(&self) -> (Used, Uses) {
        let rows = self.rows.load(Relaxed);
        let all = |count: &AtomicU64| rows + count.load(Relaxed);
        let uses = Uses { scans: all(&self.scans), read: all(&self.read), fetched: all(&self.fetched) };
        (Used(self.relation.load(Relaxed)), uses)
    }

    /// Is another relation's from now on.
    fn begin(&self, relation: Used) {
        self.relation.store(relation.0, Relaxed);
        [&self.rows, &self.scans, &self.read, &self.fetched].into_iter().for_each(|count| count.store(0, Relaxed));
    }
}

impl Default for UseCounts {
    fn default() -> UseCounts {
        UseCounts { shards: std::array::from_fn(|_| Arc::default()), next: AtomicUsize::new(0) }
    }
}

impl UseCounts {
    /// Where a new session counts.
    pub(crate) fn shard(&self) -> Arc<UseShard> {
        self.shards[self.next.fetch_add(1, Relaxed) % SHARDS].clone()
    }

    /// What was counted so far, by relation.
    pub(crate) fn all(&self) -> HashMap<ObjectId, Uses> {
        let mut all = HashMap::<ObjectId, Uses>::new();
        for shard in &self.shards {
            let counted = shard.0.lock();
            let slots = counted.sessions.iter().flat_map(|slots| slots.0.iter().map(Slot::counted));
            for (relation, uses) in counted.totals.iter().map(|(relation, uses)| (*relation, *uses)).chain(slots) {
                if relation != Used::FREE && relation != Used::NOBODY {
                    *all.entry(ObjectId(relation.0)).or_default() += uses;
                }
            }
        }
        all
    }
}

impl UseShard {
    fn add(&self, all: &[(Used, Uses)]) {
        let mut counted = self.0.lock();
        all.iter().for_each(|(relation, uses)| *counted.totals.entry(*relation).or_default() += *uses);
    }
}

/// What a session's point statements count.
#[derive(Debug, Default)]
pub(crate) struct SessionUses {
    shard: Option<Arc<UseShard>>,
    /// `None`: nothing was counted yet.
    slots: Option<Arc<Slots>>,
}

impl SessionUses {
    pub(crate) fn of(shard: Arc<UseShard>) -> SessionUses {
        SessionUses { shard: Some(shard), slots: None }
    }

    /// Counts uses.
    #[inline]
    pub(crate) fn note(&mut self, relation: Used, uses: FewUses) {
        if let Some(slots) = &self.slots {
            let slot = &slots.0[relation.0 as usize % SLOTS];
            if slot.is_of(relation) {
                return slot.add(uses);
            }
        }
        self.note_elsewhere(relation, uses);
    }

    /// Where the relation's own slot is another's: in one near to it, or in place of the other.
    #[cold]
    fn note_elsewhere(&mut self, relation: Used, uses: FewUses) {
        let Some(shard) = &self.shard else { return };
        let slots = self.slots.get_or_insert_with(|| {
            let slots = Arc::new(Slots([const { Slot::free() }; SLOTS]));
            shard.0.lock().sessions.push(slots.clone());
            slots
        });
        let own = relation.0 as usize;
        let near = || (own..own + NEAR).map(|at| &slots.0[at % SLOTS]);
        let slot = near().find(|slot| slot.is_of(relation)).or_else(|| near().find(|slot| slot.is_of(Used::FREE)));
        let slot = slot.unwrap_or(&slots.0[own % SLOTS]);
        if !slot.is_of(relation) {
            let mut counted = shard.0.lock();
            let (other, before) = slot.counted();
            if other != Used::FREE {
                *counted.totals.entry(other).or_default() += before;
            }
            slot.begin(relation);
        }
        slot.add(uses);
    }
}

impl Drop for SessionUses {
    fn drop(&mut self) {
        let (Some(shard), Some(slots)) = (&self.shard, &self.slots) else { return };
        let mut counted = shard.0.lock();
        for (relation, uses) in slots.0.iter().map(Slot::counted).filter(|(relation, _)| *relation != Used::FREE) {
            *counted.totals.entry(relation).or_default() += uses;
        }
        counted.sessions.retain(|other| !Arc::ptr_eq(other, slots));
    }
}

/// What the operators of an execution tell: counted when it is over, however it ends.
#[derive(Debug, Default)]
pub(crate) struct ExecutionUses {
    /// `None`: nobody counts.
    shard: Option<Arc<UseShard>>,
    /// Of the few relations of a plan.
    noted: RefCell<Vec<(Used, Uses)>>,
}

impl ExecutionUses {
    pub(crate) fn of(shard: Option<Arc<UseShard>>) -> ExecutionUses {
        ExecutionUses { shard, noted: RefCell::default() }
    }

    pub(crate) fn note(&self, relation: Used, uses: Uses) {
        if self.shard.is_none() || relation == Used::NOBODY {
            return;
        }
        let mut noted = self.noted.borrow_mut();
        match noted.iter_mut().find(|(other, _)| *other == relation) {
            Some((_, so_far)) => *so_far += uses,
            None => noted.push((relation, uses)),
        }
    }
}

impl Drop for ExecutionUses {
    fn drop(&mut self) {
        let noted = self.noted.get_mut();
        if let Some(shard) = self.shard.as_ref().filter(|_| !noted.is_empty()) {
            shard.add(noted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: u32) -> Used {
        Used::of(Some(ObjectId(number)))
    }

    #[test]
    fn relations_that_share_a_slot_and_sessions_that_end_lose_nothing() {
        let counts = UseCounts::default();
        let relations = (0..200_u32).map(|n| n % 7 * SLOTS as u32 + n % 50).collect::<Vec<_>>();
        let mut expected = HashMap::<ObjectId, Uses>::new();
        let mut sessions: Vec<_> = (0..20).map(|_| SessionUses::of(counts.shard())).collect();
        for (at, number) in relations.iter().cycle().take(5000).enumerate() {
            let session = &mut sessions[at % 20];
            let (few, uses) = match at % 3 {
                0 => (FewUses::ROW, Uses { scans: 1, read: 1, fetched: 1 }),
                1 => (FewUses::NOTHING, Uses { scans: 1, read: 0, fetched: 0 }),
                _ => (FewUses::ENTRY.times(64), Uses { scans: 0, read: 64, fetched: 0 }),
            };
            session.note(of(*number), few);
            *expected.entry(ObjectId(*number)).or_default() += uses;
            if at % 97 == 0 {
                *session = SessionUses::of(counts.shard());
            }
        }
        assert_eq!(counts.all(), expected);
        drop(sessions);
        assert_eq!(counts.all(), expected);
        assert!(counts.shards.iter().all(|shard| shard.0.lock().sessions.is_empty()));
    }

    #[test]
    fn executions_are_counted_when_they_are_over_and_what_is_a_sessions_own_never() {
        let counts = UseCounts::default();
        let uses = Uses { scans: 1, read: 3, fetched: 2 };
        let running = ExecutionUses::of(Some(counts.shard()));
        running.note(of(3), uses);
        running.note(of(3), uses);
        running.note(Used::of(Some(ObjectId(ObjectId::TEMPORARY.0 + 3))), uses);
        assert!(counts.all().is_empty());
        drop(running);
        assert_eq!(counts.all(), HashMap::from([(ObjectId(3), Uses { scans: 2, read: 6, fetched: 4 })]));
    }
}
