//! Memory for something else than pages.

use super::Memory;
use crate::sync::{AtomicU64, Ordering};

/// What is reserved may pass what there is by one part in so many, if caches can give that up.
const OVERDRAWN: u64 = 8;

/// For one part in so many of what there is, caches have no others beside them.
const FOR_CACHES: u64 = 4;

impl Memory {
    /// How many bytes of them are reserved for what is no cache.
    pub fn reserved(&self) -> usize {
        usize::try_from(self.0.reserved.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }

    /// Memory for something else than pages, none at first.
    pub fn reserve(&self) -> Reserved {
        Reserved { memory: self.clone(), bytes: 0 }
    }
}

/// Memory that is taken for something else than pages, a statement's rows say, and given back when this goes.
///
/// ```
/// let memory = cairn_storage::Memory::shared(64 << 20);
/// let mut rows = memory.reserve();
/// assert!(rows.grow_to(48 << 20) && memory.taken() == 48 << 20);
/// // A quarter of all is for caches.
/// assert!(!rows.grow_to(49 << 20) && rows.bytes() == 48 << 20);
/// rows.shrink_to(1 << 20);
/// assert_eq!(memory.reserved(), 1 << 20);
/// drop(rows);
/// assert_eq!(memory.taken(), 0);
/// ```
#[derive(Debug)]
pub struct Reserved {
    memory: Memory,
    bytes: u64,
}

impl Reserved {
    /// How much it is.
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Makes it so much, or leaves it as it is: false. Caches are told to give up what is lacking.
    #[must_use]
    pub fn grow_to(&mut self, bytes: usize) -> bool {
        let budget = &self.memory.0;
        let Some(more @ 1..) = (bytes as u64).checked_sub(self.bytes) else { return true };
        // In a child of the process that had the caches, these are nobody's.
        if !budget.process.is_current() {
            return true;
        }
        let most = match budget.taken.load(Ordering::Relaxed).saturating_add(more) > budget.bytes {
            true => budget.bytes + budget.can_be_given().min(budget.bytes / OVERDRAWN),
            false => budget.bytes,
        };
        let grow = |all: &AtomicU64, most: u64| {
            let is_there = |all: u64| all.checked_add(more).filter(|all| *all <= most);
            all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_there)
        };
        if grow(&budget.reserved, budget.bytes - budget.bytes / FOR_CACHES).is_err() {
            return false;
        }
        let before = grow(&budget.taken, most);
        match before {
            Ok(_) => self.bytes += more,
            Err(_) => _ = budget.reserved.fetch_sub(more, Ordering::Relaxed),
        }
        // Who was refused may ask again.
        if before.is_err() || before.is_ok_and(|before| before + more > budget.bytes) {
            budget.collect();
        }
        before.is_ok()
    }

    /// Gives back what is more.
    pub fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes as u64);
        if self.memory.0.process.is_current() {
            self.memory.0.taken.fetch_sub(less, Ordering::Relaxed);
            self.memory.0.reserved.fetch_sub(less, Ordering::Relaxed);
        }
        self.bytes -= less;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_quarter_of_all_is_for_caches() {
        let memory = Memory::shared(64 * MIB);
        let (mut one, mut other) = (memory.reserve(), memory.reserve());
        assert!(one.grow_to(40 * MIB) && !other.grow_to(9 * MIB) && other.grow_to(8 * MIB));
        assert!(other.grow_to(6 * MIB) && other.bytes() == 8 * MIB, "less is none more");
        assert!(!one.grow_to(40 * MIB + 1) && one.bytes() == 40 * MIB);
        drop(other);
        assert!(one.grow_to(48 * MIB) && memory.reserved() == 48 * MIB);
        one.shrink_to(65 * MIB);
        one.shrink_to(MIB);
        assert_eq!((one.bytes(), memory.reserved(), memory.taken()), (MIB, MIB, MIB));
    }

    /// Caches have all; what is reserved passes that by an eighth, and they are told.
    #[test]
    fn some_can_be_had_at_once_from_caches_that_are_told_to_make_it_good() {
        let memory = Memory::shared(64 * MIB);
        let part = memory.join(64 * MIB as u64, 4096).unwrap();
        while part.0.take() > 0 {}
        let mut rows = memory.reserve();
        assert!(!rows.grow_to(1), "nobody is there to be told");
        let told = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = told.clone();
        part.0.wake_by(move || _ = count.fetch_add(1, Ordering::Relaxed));
        assert!(rows.grow_to(8 * MIB) && !rows.grow_to(8 * MIB + 1));
        assert_eq!((told.load(Ordering::Relaxed), memory.taken()), (2, 72 * MIB));
        // It is told once what it owes, and gives it up.
        let owed = part.0.owes();
        assert_eq!((owed, part.0.owes()), (8 * MIB as u64, 0));
        part.0.give_up(owed, None);
        part.0.repaid(owed);
        part.0.repaid(0);
        assert_eq!((part.0.owes(), memory.taken()), (0, 64 * MIB));
        drop(rows);
        assert_eq!(memory.taken(), 56 * MIB);
    }

    /// What caches began with they are not asked for.
    #[test]
    fn a_cache_keeps_its_first() {
        let memory = Memory::shared(16 * MIB);
        let parts = [0; 4].map(|_| memory.join(16 * MIB as u64, 4096).unwrap());
        parts.iter().for_each(|part| part.0.wake_by(|| {}));
        let mut rows = memory.reserve();
        assert!(rows.grow_to(8 * MIB) && !rows.grow_to(9 * MIB));
        assert!(parts.iter().all(|part| part.0.owes() == 0));
    }

    #[test]
    fn threads_that_grow_and_shrink_lose_nothing_and_pass_what_there_is_by_no_more_than_is_said() {
        let memory = Memory::shared(16 * MIB);
        std::thread::scope(|scope| {
            for seed in 1..5 {
                let memory = &memory;
                scope.spawn(move || {
                    let mut rows = memory.reserve();
                    for round in 0..5000 {
                        let bytes = (round * seed * 7919) % (8 * MIB);
                        if !rows.grow_to(bytes) {
                            rows.shrink_to(bytes / 4);
                        }
                        rows.shrink_to(bytes);
                        assert!(memory.taken() <= 12 * MIB);
                    }
                });
            }
        });
        assert_eq!((memory.taken(), memory.reserved()), (0, 0));
    }
}
